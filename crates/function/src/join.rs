//! A join of two tables, as the input stage of a function: the plan that both parties must know to
//! run it.
//!
//! A program's `pairs: join LEFT by KEY with RIGHT by KEY` is lowered to an ordinary function and a
//! [`JoinPlan`]. The function does not know the tables. It starts where the stage ends: in each
//! *bin* the placer has o ‖ row ‖ p', and the programmer has r ‖ p. The first calls of the function
//! test o = r to find out which bins hold a pair. `tacit_protocol::matching` is the stage. The
//! integers of [`Sizes`] are defined here since both sides need them.
//!
//! # The inputs
//!
//! The bins of all shards, shard by shard and in the order of [bins](Sizes::bins) within each, are
//! cut into the [spans](JoinPlan::spans) of the plan. A join that is not large has one span. For
//! each span, the function has an input of the placer and one of the programmer:
//! `bits[w][b]`, an array with an element for each bin. The inputs of a party follow each other
//! among its inputs, in the order of the spans. An element has [`Sizes::placer_element_bits`] or
//! [`Sizes::programmer_element_bits`], the lowest first:
//!
//! | input | bits | what |
//! |---|---|---|
//! | placer's | [`Sizes::tag_bits`] | o |
//! | | [`Sizes::placer_bits`] | the placer's row in the bin, zero in an empty bin |
//! | | [`Sizes::payload_bits`] | p' |
//! | programmer's | [`Sizes::tag_bits`] | r |
//! | | [`Sizes::payload_bits`] | p |
//!
//! A *row* consists of the fields of [`JoinTable::row`], one after another, each with its lowest
//! bit first and with the `bits` that the language gives it (`bytes` and `text` in their order,
//! each byte lowest bit first). A *payload* is p' ⊕ p in a bin with o = r. If
//! [`JoinPlan::most_rows_of_key`] is 1, it is a row. Otherwise it is the number of rows, in as many
//! bits as that needs, followed by the most rows that there may be, in the order of the table, with
//! zeros for missing rows.
//!
//! The function's first component, `test_and_mask`, is called for each bin in order, before
//! anything else. Its ports:
//!
//! | port | bits | what |
//! |---|---|---|
//! | `placer` | an element of an input of the placer | |
//! | `programmer` | an element of an input of the programmer | |
//! | `pair` | [`Sizes::pair_bits`] | result: whether o = r, the row, p' ⊕ p; all zero unless o = r |
//!
//! Each party has one port, because a function counts separately read parts.
//!
//! # A result by pair
//!
//! If [`JoinPlan::by_pair`] is present, the output of that name is an array with an element for
//! each bin, for the placer alone. The placer moves the element of each bin to the row of its table
//! that is in the bin. It puts zeros where its table has no row.
//!
//! # Without keys
//!
//! If a table is agreed to have no keys, the function has no such inputs and no calls of
//! `test_and_mask`. There are no pairs, and no stage runs: [`JoinPlan::bin_count`] is 0.

mod alike;
mod part;
mod rows;
pub mod sizes;
#[cfg(test)]
mod tests;

pub use alike::KeyNormalization;
pub use part::{Cut, MAX_PARTS, Part, PartTooFull, WrongPart};
pub use rows::{KeyEncoding, TableRows};
pub use sizes::{MAX_HINT_BYTES, MAX_KEYS, MAX_ROWS_OF_KEY, PlainSizes, Sizes, TooLarge, Widths};

use crate::Role;

/// One of the two tables of a join, as the program names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinSide {
    /// The table after `join`, in which each key occurs once.
    Left,
    /// The table after `with`, in which a key may occur up to [`JoinPlan::most_rows_of_key`] times.
    Right,
}

impl JoinSide {
    /// Returns the other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// The parameters of a join that both parties must know to run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinPlan {
    /// The table after `join`.
    pub left: JoinTable,
    /// The table after `with`.
    pub right: JoinTable,
    /// The most rows of a key in the right table: D of `upto D`, or else 1.
    pub most_rows_of_key: u64,
    /// The side whose owner is the placer. The owner of the other table is the programmer.
    pub placer: JoinSide,
    /// The sizes of the stage, by placer and programmer.
    pub sizes: Sizes,
    /// The spans into which the bins are cut, in order. If a table has no keys, there is one span
    /// without bins.
    pub spans: Vec<JoinSpan>,
    /// The result that has an element for each pair, if there is one.
    pub by_pair: Option<ResultByPair>,
    /// The part of the tables' keys that is joined, if it is not all of them.
    pub part: Option<Part>,
}

/// Consecutive bins of a join, and the function's inputs with an element for each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinSpan {
    /// The number of bins.
    pub bins: u64,
    /// The name of the input with the placer's part of each bin.
    pub placer_input: String,
    /// The name of the input with the programmer's part of each bin.
    pub programmer_input: String,
}

/// A table of a join. Its rows are not an input of the function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinTable {
    /// The name of the program's input.
    pub input: String,
    /// The owner of the table.
    pub owner: Role,
    /// The most rows that the table may have.
    pub most_rows: u64,
    /// The most different keys that the table may have.
    pub most_keys: u64,
    /// The parts of a row's key, in order. Both tables have the same number of parts, of the same
    /// kinds.
    pub key: Vec<KeyPart>,
    /// The fields of a row that the function reads, in the order in which the struct declares them.
    pub row: Vec<RowField>,
}

impl JoinTable {
    /// Returns the bits of a row.
    pub fn row_bits(&self) -> u64 {
        self.row.iter().map(|field| field.bits).sum()
    }
}

/// A part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// The field's name in this table.
    pub field: String,
    /// The encoding of the part.
    pub kind: KeyKind,
}

/// The encoding of a part of a key. A key is encoded as the sequence of its encoded parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// `text` of any length: its length in bytes (8 bytes, little-endian) and its bytes, in UTF-8
    /// without the zeros that fill up a `text<n>`.
    Text(KeyNormalization),
    /// `bytes` of any length: their number (8 bytes, little-endian) and the bytes.
    Bytes,
    /// Anything else: the value's bits in ⌈bits/8⌉ bytes, little-endian.
    Fixed {
        /// The bits of the value.
        bits: u32,
    },
}

impl KeyKind {
    /// Returns the code of the kind and the bits of the value, of which digests are made.
    #[must_use]
    pub const fn code(self) -> (u8, u32) {
        match self {
            Self::Text(KeyNormalization::None) => (1, 0),
            Self::Text(KeyNormalization::Email) => (5, 0),
            Self::Text(KeyNormalization::Phone) => (6, 0),
            Self::Text(KeyNormalization::Date) => (7, 0),
            Self::Bytes => (3, 0),
            Self::Fixed { bits } => (4, bits),
        }
    }
}

/// A field of a row that the function reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowField {
    /// The field's name.
    pub field: String,
    /// The field's bits.
    pub bits: u64,
}

/// A result that has an element for each pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultByPair {
    /// The name of the function's output.
    pub output: String,
    /// The bits of an element.
    pub element_bits: u64,
    /// The number of elements of the program's result: the most rows of the placer's table.
    pub rows: u64,
}

impl JoinPlan {
    /// Returns the table of a side.
    pub fn table(&self, side: JoinSide) -> &JoinTable {
        match side {
            JoinSide::Left => &self.left,
            JoinSide::Right => &self.right,
        }
    }

    /// Returns the placer's table.
    pub fn placers(&self) -> &JoinTable {
        self.table(self.placer)
    }

    /// Returns the programmer's table.
    pub fn programmers(&self) -> &JoinTable {
        self.table(self.placer.other())
    }

    /// Whether the stage makes the function's input of this name.
    pub fn gives(&self, input: &str) -> bool {
        let names = |span: &JoinSpan| span.placer_input == input || span.programmer_input == input;
        self.spans.iter().any(names)
    }

    /// Returns the number of bins of all shards together, or 0 if a table has no keys.
    pub fn bin_count(&self) -> u64 {
        self.sizes.all_bins()
    }
}

/// Returns the default placer: the side whose placing has the lower [price](Sizes::price_bits), or
/// the left one if both are equal. The choice depends on the agreed numbers of keys and on the bits
/// of rows, never on tables.
///
/// # Errors
///
/// The same as for [`Sizes::of`], whichever side places.
pub fn cheaper_placer(keys: [u64; 2], row_bits: [u32; 2]) -> Result<(JoinSide, Sizes), TooLarge> {
    let [left, right] = [JoinSide::Left, JoinSide::Right].map(|placer| {
        let (mine, other) = if placer == JoinSide::Left {
            (0, 1)
        } else {
            (1, 0)
        };
        let widths = Widths {
            placer_bits: row_bits[mine],
            programmer_bits: row_bits[other],
        };
        Sizes::of(keys[mine], keys[other], 1, widths)
    });
    match (left, right) {
        (Ok(left), Ok(right)) if right.price_bits() < left.price_bits() => {
            Ok((JoinSide::Right, right))
        }
        (Ok(left), _) => Ok((JoinSide::Left, left)),
        (Err(_), Ok(right)) => Ok((JoinSide::Right, right)),
        (Err(error), Err(_)) => Err(error),
    }
}

/// A param whose value the owner of a joined table announces before the parties propose: the
/// program's `param N: 0..=1_000_000 = len(customers);`. The language lists a program's open params
/// in the order of their declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenParam {
    /// The param's name.
    pub name: String,
    /// The least value.
    pub minimum: u64,
    /// The greatest value.
    pub maximum: u64,
    /// The program's input whose rows or keys are counted.
    pub input: String,
    /// The party that announces the value: the owner of that input.
    pub owner: Role,
    /// The thing that is counted.
    pub counted: Counted,
}

/// The thing that an [`OpenParam`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Rows: `len(TABLE)`.
    Rows,
    /// Different keys: `keys(TABLE)`.
    Keys,
}
