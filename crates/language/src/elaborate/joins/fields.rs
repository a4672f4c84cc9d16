//! The fields of rows that a `main` reads through its pairs. The other fields take no bits.

use std::collections::{BTreeSet, HashMap};

use crate::program::{
    Body, Expression, ExpressionKind, Function, LocalId, Root, Statement, StatementKind, Step,
    TypeId, TypeKind, TypeTable, ValuePath, Visit, in_statement,
};

/// The number of the field `left` of a pair. The field `right` is the next one.
const LEFT: usize = 1;

/// Returns the fields of the left and of the right rows that are read, in ascending order.
pub(super) fn read(
    types: &TypeTable,
    function: &Function,
    pairs: LocalId,
    rows: &[TypeId; 2],
) -> [Vec<u32>; 2] {
    let counts = rows.map(|row| types.fields(row).len() as u32);
    let mut reads = Reads {
        parts: HashMap::from([(pairs, Vec::new())]),
        read: [BTreeSet::new(), BTreeSet::new()],
        counts,
        is_table: false,
    };
    let local = &function.locals[pairs.0 as usize];
    if let Some((pair, _)) = types.element(local.ty) {
        let right = types.fields(pair)[LEFT + 1];
        reads.is_table = matches!(types.kind(right), TypeKind::Table(..)) && right != rows[1];
    }
    if let Body::Block(block) = &function.body {
        reads.block(block);
    }
    reads.read.map(|fields| fields.into_iter().collect())
}

struct Reads {
    /// For each variable that was given a part of a pair, the fields that lead to the part.
    parts: HashMap<LocalId, Vec<u32>>,
    read: [BTreeSet<u32>; 2],
    counts: [u32; 2],
    /// Whether a pair has several right rows.
    is_table: bool,
}

impl Reads {
    /// Returns the fields that lead from a pair to a place, if the place is part of a pair.
    fn part(&self, place: &ValuePath) -> Option<Vec<u32>> {
        let mut part = self.parts.get(&place.local()?)?.clone();
        part.extend(place.path.iter().filter_map(|step| match step {
            Step::Field(field) => Some(*field),
            _ => None,
        }));
        Some(part)
    }

    /// Records a read of the place at these fields.
    fn note(&mut self, part: &[u32]) {
        let Some((&first, rest)) = part.split_first() else {
            (0..2).for_each(|side| self.all(side));
            return;
        };
        let Some(side) = (first as usize).checked_sub(LEFT) else {
            return;
        };
        // The rows of a table are its field `items`. Its field `len` is not a field of a row.
        let rest = match (side == 1 && self.is_table, rest) {
            (true, [0, ..]) => return,
            (true, [_, rest @ ..]) => rest,
            (_, rest) => rest,
        };
        match rest.first() {
            Some(field) => _ = self.read[side].insert(*field),
            None => self.all(side),
        }
    }

    fn all(&mut self, side: usize) {
        self.read[side].extend(0..self.counts[side]);
    }
}

impl<'p> Visit<'p> for Reads {
    fn statement(&mut self, of: &'p Statement) {
        // A variable that is given a part of a pair stands for that part.
        if let StatementKind::Let(local, value) = &of.kind
            && let Expression {
                kind: ExpressionKind::Read(place),
                ..
            } = value
            && let Some(part) = self.part(place)
        {
            self.indices(place);
            self.parts.insert(*local, part);
            return;
        }
        in_statement(self, of);
    }

    fn place(&mut self, of: &'p ValuePath) {
        match self.part(of) {
            Some(part) => self.note(&part),
            None => {
                if let Root::Value(value) = &of.root {
                    self.expression(value);
                }
            }
        }
        self.indices(of);
    }
}
