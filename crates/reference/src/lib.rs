//! Textbook garbling: slow, short and without dependencies, the oracle of the fast schemes.
//!
//! Each scheme is written gate by gate as in its paper, with one cipher call at a time, branches on
//! secrets and table look-ups. That makes it easy to check by eye, and unfit for anything but
//! tests.
//!
//! Labels, tweaks and cipher blocks are `u128`, whose little-endian bytes are the bytes on the
//! wire; bit 0 of a label is its select bit.
#![forbid(unsafe_code)]

mod aes;
mod circuit;
pub mod flexor;
pub mod half_gates;
pub mod prf;
pub mod three_halves;
mod tweak;

pub use aes::aes_128;
pub use circuit::{Circuit, Gate, Output, Pin};
pub use tweak::{Use, tweak};

/// A garbled circuit from the garbler's view.
#[derive(Clone, PartialEq, Eq)]
pub struct Garbled {
    /// Both labels of every wire, inputs first, by value.
    pub wires: Vec<[u128; 2]>,
    /// Both labels of every output, by value.
    pub outputs: Vec<[u128; 2]>,
    /// The tables, gate after gate.
    pub tables: Vec<u8>,
}

/// Returns a label's select bit.
fn select_bit(label: u128) -> bool {
    label & 1 == 1
}

/// Returns `value` if `bit`, else zero.
fn times(bit: bool, value: u128) -> u128 {
    if bit { value } else { 0 }
}
