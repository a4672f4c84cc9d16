//! The border of a program: the meaning of its ports to people and to other languages. The command,
//! the Python package and the browser access programs through this module, which does no I/O.
//!
//! ```text
//! Loaded + params ─▶ Signature ── values: JSON, text, CSV ⇄ bits
//!                        │  public values, circuit files
//!                        ▼
//!                   TypedFunction ── function::Function, inputs of a party, results
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `signature` | the ports of a run, and its doc comment |
//! | `values` | the values of the ports; the run in the clear |
//! | `function` | the lowered function with its meaning; a party's inputs, including random bits |
//! | `read`, `write` | values of all types from JSON, text and memory, and as JSON and text |
//! | `table`, `csv` | values from CSV and as CSV; its records and cells |
//! | `joined`, `sizes` | the rows of tables that are joined; the sizes that their owners announce |
//! | `rows` | the rows of a table that a join or a matching takes |
//! | `part` | the rows of one part of a table |
//! | `meaning` | the digest of a program's meaning |
//!
//! JSON represents values as follows:
//! |---|---|
//! | `bool` | `true`, `false` |
//! | integers, `fixed` | a number; integers of 2^53 and above as a string |
//! | `bytes<n>` | hex digits in a string |
//! | `text<n>` | a string |
//! | an enum | the variant's name in a string |
//! | arrays, tables, tuples | a list |
//! | a struct | an object with its fields |
//!
//! The text of a value, as on a command line, is its JSON, but a string on its own has no quotes.
//! Values are secret: their bits are wiped when they are dropped, and errors state where a value is
//! and what was expected, never the value itself.

mod csv;
mod function;
mod joined;
mod meaning;
mod part;
mod read;
mod rows;
mod signature;
mod sizes;
mod strict;
mod table;
#[cfg(test)]
mod tests;
mod values;
mod write;

use tacit_circuit::CircuitError;
use zeroize::Zeroizing;

pub use csv::{ColumnCells, CsvError, CsvRecords, CsvTexts, KeepCell, Malformed, unmarked};
pub use function::TypedFunction;
pub use joined::JoinedRows;
pub(crate) use rows::check_number_of_keys;
pub use rows::{ChosenRows, LeftOut, RowRules, UnfitRows};
pub use signature::Signature;
pub(crate) use signature::said_above;
pub use sizes::WrongSize;
pub use tacit_circuit::WipedTexts;
pub use write::acts_on_a_terminal;

use crate::diagnostic::Diagnostic;
use crate::program::TypeId;

/// The value of a port of a program.
#[derive(Clone)]
pub struct PortValue {
    ty: TypeId,
    bits: Zeroizing<Vec<bool>>,
    filled_up: usize,
    left_out: LeftOut,
    /// The rows of a table that is joined, which has no other bits.
    rows: Option<joined::RowValues>,
}

impl PortValue {
    /// Returns the value of a port that is no table of a join.
    fn of_bits(ty: TypeId, bits: Zeroizing<Vec<bool>>) -> Self {
        Self {
            ty,
            bits,
            filled_up: 0,
            left_out: LeftOut::default(),
            rows: None,
        }
    }

    /// Returns the bits, in the order of the port's wires. A table that is joined has none.
    #[must_use]
    pub fn bits(&self) -> &[bool] {
        &self.bits
    }

    /// Returns the number of zeros that replace missing elements of a `sorted` array.
    #[must_use]
    pub fn filled_up(&self) -> usize {
        self.filled_up
    }

    /// Returns the number of rows of a joined table that were left out.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }
}

impl core::fmt::Debug for PortValue {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "PortValue({} bits)", self.bits.len())
    }
}

/// The reason that a program cannot be run or a value is not accepted.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BorderError {
    /// The program is wrong.
    #[error("the program has {} errors", .0.len())]
    Program(Vec<Diagnostic>),
    /// A value does not fit its type.
    #[error(transparent)]
    Value(#[from] CircuitError),
    /// A table file without the form that its value needs. No cell of a row is in the error.
    #[error("{at}: expected {expected}, found {found}")]
    Table {
        /// The input and the file.
        at: String,
        /// The form that the file should have.
        expected: String,
        /// A description of the form found, and the remedy after a semicolon.
        found: String,
    },
    /// Rows of a table that is joined do not fit.
    #[error(transparent)]
    Rows(#[from] UnfitRows),
    /// A request for something that does not exist, or one with a part missing.
    #[error("{0}")]
    Request(String),
}
