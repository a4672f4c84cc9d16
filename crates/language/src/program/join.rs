//! The join of two tables.

use tacit_function::join::{JoinSide, KeyKind, Sizes};

use super::{LocalId, TypeId};
use crate::source::{Span, Symbol};

/// A join of two inputs of `main`. What there is for each table stands for the left one first.
#[derive(Clone, Debug)]
pub struct Join {
    /// What the pairs are called.
    pub name: Symbol,
    /// The numbers of the inputs.
    pub tables: [usize; 2],
    /// The variable that holds the pairs: an array with an element for each bin.
    pub pairs: LocalId,
    /// The type of a pair.
    pub pair: TypeId,
    /// The type of a row in a pair: that of a row of the table without fields of no length.
    pub rows: [TypeId; 2],
    /// The parts of the key, in order.
    pub key: [Vec<JoinKeyField>; 2],
    /// Most rows of the right table with one key: D of `upto D`, else 1.
    pub most_rows_of_key: u32,
    /// Most different keys of each table.
    pub keys: [u64; 2],
    /// The fields of rows in a pair that are read, by number, ascending.
    pub read: [Vec<u32>; 2],
    /// Whose owner places.
    pub placer: JoinSide,
    /// The sizes of the stage.
    pub sizes: Sizes,
    /// The number of the result that has an element for each pair.
    pub by_pair: Option<usize>,
    /// Where it is written.
    pub span: Span,
}

/// A part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinKeyField {
    /// The field's number in the struct of the table's rows.
    pub field: u32,
    /// How it is encoded.
    pub kind: KeyKind,
}

impl Join {
    /// The place of a side among what there is for each table.
    #[must_use]
    pub const fn place(side: JoinSide) -> usize {
        match side {
            JoinSide::Left => 0,
            JoinSide::Right => 1,
        }
    }

    /// Most rows of a key of the left table, or of the right one.
    #[must_use]
    pub const fn most_rows_of(&self, place: usize) -> usize {
        match place {
            0 => 1,
            _ => self.most_rows_of_key as usize,
        }
    }

    /// The number of the input that is the placer's table.
    #[must_use]
    pub const fn placers_input(&self) -> usize {
        self.tables[self.placers()]
    }

    /// The place of the placer's table among what there is for each.
    #[must_use]
    pub const fn placers(&self) -> usize {
        Self::place(self.placer)
    }
}
