//! The join of two tables.

use tacit_function::join::{JoinSide, JoinTable, KeyKind, KeyPart, RowField, Sizes};

use super::{LocalId, Program, TypeId, TypeKind};
use crate::source::{Span, Symbol};

/// A join of two inputs of `main`. Arrays hold one entry for each table, the left one first.
#[derive(Clone, Debug)]
pub struct Join {
    /// The name of the pairs.
    pub name: Symbol,
    /// The numbers of the inputs.
    pub tables: [usize; 2],
    /// The variable that holds the pairs: an array with an element for each bin.
    pub pairs: LocalId,
    /// The type of a pair.
    pub pair: TypeId,
    /// The type of a row in a pair: that of a row of the table, without the fields that have no
    /// fixed length.
    pub rows: [TypeId; 2],
    /// The parts of the key, in order.
    pub key: [Vec<JoinKeyField>; 2],
    /// The greatest number of rows of the right table with one key: D of `upto D`, otherwise 1.
    pub most_rows_of_key: u32,
    /// The greatest number of distinct keys of each table.
    pub keys: [u64; 2],
    /// The numbers of the fields of rows in a pair that are read, in ascending order.
    pub read: [Vec<u32>; 2],
    /// The side whose owner is the placer.
    pub placer: JoinSide,
    /// The sizes of the stage.
    pub sizes: Sizes,
    /// The most bins that the lowering puts into one span. A span has fewer if its values would be
    /// too wide, and a whole number of 64 bins unless it is the last.
    pub most_span_bins: u64,
    /// The number of the result that has an element for each pair.
    pub by_pair: Option<usize>,
    /// The join's place in the source.
    pub span: Span,
}

/// A part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinKeyField {
    /// The field's number in the struct of the table's rows.
    pub field: u32,
    /// The encoding of the field.
    pub kind: KeyKind,
}

impl Join {
    /// Returns the index of a side in the arrays with one entry for each table.
    pub const fn place(side: JoinSide) -> usize {
        match side {
            JoinSide::Left => 0,
            JoinSide::Right => 1,
        }
    }

    /// Returns the greatest number of rows with one key in the left (0) or the right (1) table.
    pub const fn most_rows_of(&self, place: usize) -> usize {
        match place {
            0 => 1,
            _ => self.most_rows_of_key as usize,
        }
    }

    /// Returns the number of the input that is the placer's table.
    pub const fn placers_input(&self) -> usize {
        self.tables[self.placers()]
    }

    /// Returns the part of one of the tables that the parties must know to run the join of
    /// `program`.
    pub(crate) fn table(&self, program: &Program, side: JoinSide) -> JoinTable {
        let side = Self::place(side);
        let entry = program.entries.iter().find(|entry| entry.join.is_some());
        let inputs = entry.map_or(&[][..], |entry| &entry.inputs[..]);
        let types = &program.types;
        let input = &inputs[self.tables[side]];
        let (row, most_rows) = match *types.kind(input.ty) {
            TypeKind::Table(row, most_rows) => (row, most_rows),
            _ => (self.rows[side], 0),
        };
        let key = self.key[side].iter().map(|part| KeyPart {
            field: types.named_fields(row)[part.field as usize].0.to_string(),
            kind: part.kind,
        });
        let fields = self.read[side].iter().map(|field| {
            let (name, ty) = &types.named_fields(self.rows[side])[*field as usize];
            RowField {
                field: name.to_string(),
                bits: types.width(*ty),
            }
        });
        JoinTable {
            input: input.name.to_string(),
            owner: program.role(input.owner.unwrap_or(0)),
            most_rows: most_rows.into(),
            most_keys: self.keys[side],
            key: key.collect(),
            row: fields.collect(),
        }
    }

    /// Returns the index of the placer's table in the arrays with one entry for each table.
    pub const fn placers(&self) -> usize {
        Self::place(self.placer)
    }
}
