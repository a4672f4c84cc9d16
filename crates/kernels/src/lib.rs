//! Blocks, AES, hashing and bit matrices at the speed of the CPU; the only unsafe code of Tacit.

mod block;
mod tweak;

pub use block::Block;
pub use tweak::{Tweak, Use};
