//! Blocks, AES, hashing and bit matrices at the speed of the CPU; the only unsafe code of Tacit.
//!
//! | for | see |
//! |---|---|
//! | 128-bit values | [`Block`], [`Tweak`] |
//! | choice of instructions at run time | [`Cpu`], [`Backend`], [`Kernel`] |
//! | vectors of blocks | [`Simd`], [`BlockVectors`] |
//! | labels by number in kernels | [`SlotView`], [`Numbered`], [`KeyedPair`] |
//! | AES-128 in bulk | [`Aes128`], [`encrypt_each`], [`encrypt_each_twice`] |
//! | pseudorandom streams | [`Prg`] |
//! | hashes of labels | [`TweakableHash`], [`Construction`], and [`hash`] for use in kernels |
//! | masks from correlated OTs | [`CrossHash`], [`low_bits`] |
//! | OT extension's matrix | [`transpose_128`] |
//! | memory for many blocks | [`zero_blocks`], [`hint_large_pages`] |
//! | many secrets | [`WipedVec`] |
//! | work on several threads | [`share_out`], [`map_each`], [`map_parts`], [`KeyHashes`] |
//! | telling a process from its forks | [`process_generation`] |
//! | universal hashing, GF(2^128) | [`inner_products`], [`Gf128Sum`], [`gf128_multiply`] |
//!
//! Other crates write their inner loops in safe code over [`Simd`] and run them by
//! [`Cpu::dispatch`].

mod aes;
mod block;
mod cpu;
mod crosses;
mod forks;
mod gf128;
pub mod hash;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod lanes;
mod large_pages;
#[cfg(feature = "leftovers")]
pub mod leftovers;
#[cfg(feature = "poison")]
pub mod poison;
// In builds for WebAssembly with vectors only tests run it.
#[cfg_attr(
    all(not(test), target_arch = "wasm32", target_feature = "simd128"),
    allow(dead_code)
)]
mod portable;
mod prefetch;
mod prg;
mod repeated;
mod simd;
mod slots;
mod stack;
mod threads;
mod transpose;
mod tweak;
mod wiped;

pub use aes::{Aes128, encrypt_each, encrypt_each_twice};
pub use block::Block;
pub use cpu::{Backend, Cpu, Kernel};
pub use crosses::{CrossHash, low_bits};
pub use forks::process_generation;
pub use gf128::{Gf128Sum, gf128_multiply, inner_products};
pub use hash::{Construction, TweakableHash};
pub use large_pages::{ZeroBytes, hint_large_pages, zero_blocks};
pub use prefetch::{prefetch_beyond, prefetch_later};
pub use prg::Prg;
pub use repeated::KeyHashes;
pub use simd::{BlockVectors, MAX_LANES, Simd};
pub use slots::{KeyedPair, Numbered, SlotView};
pub use stack::wiping_stack;
pub use threads::{map_each, map_parts, share_out, workers};
pub use transpose::transpose_128;
pub use tweak::{Tweak, Use};
pub use wiped::WipedVec;
