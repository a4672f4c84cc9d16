//! A join of two tables, the input stage of a function: what both parties must know to run it.
//!
//! A program's `pairs: join LEFT by KEY with RIGHT by KEY` is lowered to an ordinary function and a
//! [`JoinPlan`]. The function does not know the tables. It begins where the stage ends: in each
//! *bin* the placer has o ‖ row ‖ p', the programmer r ‖ p, and the first calls of the function
//! find out by o = r which bins hold a pair. `tacit_protocol::matching` is the stage; the integers
//! of [`Sizes`] stand here since both sides need them.
//!
//! # The two inputs
//!
//! The function has an input of the placer, [`JoinPlan::placer_input`], and one of the programmer,
//! [`JoinPlan::programmer_input`]. Each is an array with an element for each bin, shard by shard,
//! in the order of [bins](Sizes::bins) within each: `bits[w][b]` with b = [`JoinPlan::bin_count`].
//! An element's bits, the lowest first:
//!
//! | input | bits | what |
//! |---|---|---|
//! | placer's | [`Sizes::tag_bits`] | o |
//! | | [`Sizes::placer_bits`] | the placer's row in the bin, zero in an empty bin |
//! | | [`Sizes::payload_bits`] | p' |
//! | programmer's | [`Sizes::tag_bits`] | r |
//! | | [`Sizes::payload_bits`] | p |
//!
//! A *row* is the fields of [`JoinTable::row`], one after the other, each with its lowest bit
//! first: `bits` of them as the language has them (`bytes` and `text` in their order, each byte
//! lowest bit first). A *payload*, p' ⊕ p where o = r, is a row where
//! [`JoinPlan::most_rows_of_key`] is 1. Else it is the number of rows, in the bits of that number,
//! and then as many rows as there may be, in the order of the table, missing ones zero.
//!
//! The first component of the function, `test_and_mask`, is called for each bin in order, before
//! anything else. Its ports:
//!
//! | port | bits | what |
//! |---|---|---|
//! | `placer` | an element of the placer's input | |
//! | `programmer` | an element of the programmer's input | |
//! | `pair` | 1 + [`Sizes::placer_bits`] + [`Sizes::payload_bits`] | result: whether o = r, the row, p' ⊕ p; all zero unless o = r |
//!
//! They are one port for each party since a function counts what is read apart.
//!
//! # A result by pair
//!
//! Where [`JoinPlan::by_pair`] is there, the output of that name is an array with an element for
//! each bin, and goes to the placer alone. The placer puts the element of a bin at the place of
//! the row that it has in it, and zeros where its table has no row.
//!
//! # Without keys
//!
//! Where a table is agreed to have no keys, the function has neither input nor calls of
//! `test_and_mask`, there are no pairs, and no stage runs: [`JoinPlan::bin_count`] is 0.

pub mod sizes;
#[cfg(test)]
mod tests;

pub use sizes::{MAX_KEYS, MAX_ROWS_OF_KEY, PlainSizes, Sizes, TooLarge, Widths};

use crate::Role;

/// One of the two tables of a join, as the program names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinSide {
    /// The table after `join`, in which each key stands once.
    Left,
    /// The table after `with`, in which a key may stand up to [`JoinPlan::most_rows_of_key`] times.
    Right,
}

impl JoinSide {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// What both parties must know of a join to run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinPlan {
    /// The table after `join`.
    pub left: JoinTable,
    /// The table after `with`.
    pub right: JoinTable,
    /// Most rows of a key in the right table: D of `upto D`, else 1.
    pub most_rows_of_key: u64,
    /// Whose owner is the placer. The owner of the other table is the programmer.
    pub placer: JoinSide,
    /// The sizes of the stage, by placer and programmer.
    pub sizes: Sizes,
    /// The name of the function's input that holds what the placer has of each bin.
    pub placer_input: String,
    /// The name of the function's input that holds what the programmer has of each bin.
    pub programmer_input: String,
    /// The result that has an element for each pair, if there is one.
    pub by_pair: Option<ResultByPair>,
}

/// A table of a join. Its rows are no input of the function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinTable {
    /// The name of the program's input.
    pub input: String,
    /// Whose table it is.
    pub owner: Role,
    /// Most rows that it may have.
    pub most_rows: u64,
    /// Most different keys that it may have.
    pub most_keys: u64,
    /// The parts of a row's key, in order. Both tables have as many, of the same kinds.
    pub key: Vec<KeyPart>,
    /// The fields that the function reads of a row, in the order in which the struct declares them.
    pub row: Vec<RowField>,
}

impl JoinTable {
    /// Bits of a row.
    #[must_use]
    pub fn row_bits(&self) -> u64 {
        self.row.iter().map(|field| field.bits).sum()
    }
}

/// A part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// The field's name in this table.
    pub field: String,
    /// How it is encoded.
    pub kind: KeyKind,
}

/// How a part of a key is encoded. The encoding of a key is that of its parts in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// `text` of any length: the number of its bytes (8 bytes, little-endian) and these, in UTF-8
    /// without the zeros that fill up a `text<n>`.
    Text(KeyNormalization),
    /// `bytes` without a length: the number of bytes (8 bytes, little-endian) and these.
    Bytes,
    /// Anything else: ⌈bits/8⌉ bytes, little-endian, of the value's bits.
    Fixed {
        /// Bits of the value.
        bits: u32,
    },
}

/// What is done with a text before it is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyNormalization {
    /// Nothing: keys are compared by their bytes.
    #[default]
    None,
    /// Addresses of mail: without white space at both ends, in lower case, as Unicode has these.
    Email,
}

/// A field that the function reads of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowField {
    /// Its name.
    pub field: String,
    /// Its bits.
    pub bits: u64,
}

/// A result that has an element for each pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultByPair {
    /// The name of the function's output.
    pub output: String,
    /// Bits of an element.
    pub element_bits: u64,
    /// Elements of the program's result: most rows of the placer's table.
    pub rows: u64,
}

impl JoinPlan {
    /// The table of a side.
    #[must_use]
    pub fn table(&self, side: JoinSide) -> &JoinTable {
        match side {
            JoinSide::Left => &self.left,
            JoinSide::Right => &self.right,
        }
    }

    /// The placer's table.
    #[must_use]
    pub fn placers(&self) -> &JoinTable {
        self.table(self.placer)
    }

    /// The programmer's table.
    #[must_use]
    pub fn programmers(&self) -> &JoinTable {
        self.table(self.placer.other())
    }

    /// Whether the stage gives the function's input of this name.
    #[must_use]
    pub fn gives(&self, input: &str) -> bool {
        [&self.placer_input, &self.programmer_input]
            .iter()
            .any(|name| *name == input)
    }

    /// Bins of all shards together, none where a table has no keys.
    #[must_use]
    pub fn bin_count(&self) -> u64 {
        self.sizes.all_bins()
    }

    /// Bits of an element of the placer's input.
    #[must_use]
    pub fn placer_element_bits(&self) -> u64 {
        u64::from(self.sizes.tag_bits) + self.sizes.placer_bits + self.sizes.payload_bits
    }

    /// Bits of an element of the programmer's input.
    #[must_use]
    pub fn programmer_element_bits(&self) -> u64 {
        u64::from(self.sizes.tag_bits) + self.sizes.payload_bits
    }
}

/// Who places, where nothing else says it: the side whose placing has the lower
/// [price](Sizes::price_bits), and the left one if both are equal. It follows from the numbers of
/// keys agreed on and from the bits of rows, never from tables.
///
/// # Errors
///
/// As [`Sizes::of`].
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
    let (left, right) = (left?, right?);
    match right.price_bits() < left.price_bits() {
        true => Ok((JoinSide::Right, right)),
        false => Ok((JoinSide::Left, left)),
    }
}

/// A param whose value the owner of a joined table announces before the parties propose: the
/// program's `param N: 0..=1_000_000 = len(customers);`. The language lists those of a program in
/// the order in which it declares them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenParam {
    /// Its name.
    pub name: String,
    /// The least value.
    pub minimum: u64,
    /// The greatest value.
    pub maximum: u64,
    /// The program's input that it is counted of.
    pub input: String,
    /// Who announces it: the owner of that input.
    pub owner: Role,
    /// What is counted.
    pub counted: Counted,
}

/// What an [`OpenParam`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Rows: `len(TABLE)`.
    Rows,
    /// Different keys: `keys(TABLE)`.
    Keys,
}
