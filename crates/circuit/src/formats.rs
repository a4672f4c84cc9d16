//! Public circuit file formats: Bristol Fashion and the old Bristol format.
//!
//! Sources: N. Smart and others, "'Bristol Fashion' MPC Circuits", and the page of the old
//! format, "(Bristol Format) Circuits of Basic Functions Suitable For MPC and FHE". Both consist of
//! lines of numbers: a header with counts, then one gate a line, `inputs outputs wires… NAME`. In
//! Bristol Fashion, the header's second line holds the number of input values and the width of
//! each, and its third line the same for output values. The old format has one line with the widths
//! of two inputs (the second may be 0) and of one output.
//!
//! The wires of the inputs come first and those of the outputs last. Gates are in topological
//! order. A file has no names or types: its values become ports `in0…` and `out0…` of type
//! `bits[n]`. [`BitOrder`] tells how their bits are numbered.

mod header;
mod lexer;
mod order;
mod read;
mod wires;
mod write;

pub use order::{BitOrder, NotABitOrder};
pub use read::{Import, Limits, read_bristol, read_bristol_file};
pub use write::write_bristol;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BristolFormat {
    /// Bristol Fashion: any number of input and output values.
    Fashion,
    /// The old Bristol format: one or two input values, one output value.
    Old,
}
