//! Consecutive wires that steps read: few pieces, even for many wires.

use std::ops::Range;

use tacit_circuit::Type;
use tacit_circuit::builder::Bit;
use tacit_circuit::netlist::Literal;
use tacit_function::{Operand, Part};

/// Consecutive wires, or constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Piece {
    /// The place of the first wire, and the number of wires.
    Wires(usize, usize),
    /// A number of at most 32 bits, and the number of its bits.
    Constant(u64, usize),
    /// The value of a gate that has no place yet.
    Gate(Literal),
}

impl Piece {
    pub(super) fn width(self) -> usize {
        match self {
            Self::Wires(_, width) | Self::Constant(_, width) => width,
            Self::Gate(_) => 1,
        }
    }

    fn of(bit: Bit<'_>) -> Self {
        let literal = bit.literal();
        match (literal.as_constant(), literal.as_late()) {
            (Some(bit), _) => Self::Constant(bit.into(), 1),
            (_, Some(place)) if !literal.is_negated() => Self::Wires(place as usize, 1),
            _ => Self::Gate(bit.settled()),
        }
    }
}

/// Returns wires as pieces. A late input's number is its place.
pub(super) fn pieces(bits: &[Bit<'_>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for bit in bits {
        push(&mut pieces, Piece::of(*bit));
    }
    pieces
}

/// Consecutive rows of pieces. Runs have many calls with few pieces each.
#[derive(Clone, Debug, Default)]
pub(super) struct PieceRows {
    pieces: Vec<Piece>,
    /// The end of each row's pieces.
    ends: Vec<u32>,
}

impl PieceRows {
    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a row.
    pub(super) fn push(&mut self, row: &[Piece]) {
        self.pieces.extend_from_slice(row);
        self.ends.push(self.pieces.len() as u32);
    }

    /// Returns the rows with these numbers.
    pub(super) fn rows(&self, numbers: Range<usize>) -> impl Iterator<Item = &[Piece]> + Clone {
        numbers.map(|number| {
            let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
            &self.pieces[start as usize..self.ends[number] as usize]
        })
    }

    /// Returns the pieces of all rows.
    pub(super) fn all(&self) -> &[Piece] {
        &self.pieces
    }
}

/// Appends a piece, or extends the last one if the piece continues it.
pub(super) fn push(pieces: &mut Vec<Piece>, next: Piece) {
    match (pieces.last_mut(), next) {
        (Some(Piece::Wires(start, width)), Piece::Wires(at, more)) if *start + *width == at => {
            *width += more;
        }
        (Some(Piece::Constant(number, width)), Piece::Constant(bits, more))
            if *width + more <= 32 =>
        {
            *number |= bits << *width;
            *width += more;
        }
        _ => pieces.push(next),
    }
}

/// Returns pieces as an operand. `wires` returns the part for a piece's first wire and number of
/// wires.
pub(super) fn operand(pieces: &[Piece], mut wires: impl FnMut(usize, usize) -> Part) -> Operand {
    let operands = pieces.iter().map(|piece| match *piece {
        Piece::Wires(start, width) => wires(start, width).into(),
        Piece::Constant(number, width) => Operand::typed(number.into(), Type::unsigned(width)),
        Piece::Gate(_) => unreachable!("a gate has a place before a step reads it"),
    });
    let together = operands.reduce(|first, next| first.then(next));
    together.unwrap_or_else(|| Operand::number(0))
}
