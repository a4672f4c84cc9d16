//! OTs for crosses, made on a GPU: the same bits as `tacit-ot` makes on threads.
//!
//! | module | contents |
//! |---|---|
//! | [`card`] | an NVIDIA GPU: its driver, the kernels compiled for it, its memory |
//! | [`machine`] | what a half needs of a card: memory, copies and launches |
//! | [`half`](mod@half) | a half of silent OT on a machine |
//! | `cards` | the [`Choice`] of cards, and several side by side |
//!
//! The kernels are CUDA C, in `kernels.cu`. The driver and the compiler (NVRTC) are loaded when a
//! card is used and none is linked, so a program with this crate runs where there is neither. The
//! tests compile the kernels for the processor as well, and compare what they make with the code
//! for threads.
//!
//! This crate and `kernels` are the only ones with unsafe code.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod card;
mod cards;
mod error;
pub mod half;
pub mod machine;

pub use card::Card;
pub use cards::{Choice, NotAChoice, Notice};
pub use error::Error;
