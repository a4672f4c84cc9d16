//! Wires as the text of values in steps.

use std::fmt::Write as _;

use super::{Emitter, Location};

/// Most pieces that a step puts together, which bounds its text.
const MAX_PIECES: usize = 40;

/// Wires in a row, or constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Piece {
    /// The first wire and how many there are.
    Wires(usize, usize),
    /// A number of at most 32 bits and how many there are.
    Constant(u64, usize),
}

impl Piece {
    fn width(self) -> usize {
        match self {
            Self::Wires(_, width) | Self::Constant(_, width) => width,
        }
    }
}

/// The text of pieces of `value`; `place` gives where the wires of the next piece begin, and what
/// counters add to it.
pub(super) fn pieces_text(
    value: &str,
    pieces: &[Piece],
    place: &mut impl FnMut() -> (usize, String),
) -> String {
    let mut text = String::new();
    for (number, piece) in pieces.iter().enumerate() {
        if number > 0 {
            text += "++";
        }
        let _ = match *piece {
            Piece::Constant(number, width) => write!(text, "{number}:u{width}"),
            Piece::Wires(_, width) => {
                let (start, counters) = place();
                let end = start + width;
                write!(text, "{value}[{start}{counters}..{end}{counters}]")
            }
        };
    }
    text
}

impl Emitter<'_, '_> {
    /// Wires in a row as pieces. Where they are in many places, steps bring them together first.
    pub(super) fn joined(&mut self, locations: &[Location]) -> Vec<Piece> {
        self.joined_of(locations, MAX_PIECES)
    }

    /// The same for a place whose bits mean a number: it takes bits that stand in a row.
    pub(super) fn in_a_row(&mut self, locations: &[Location]) -> Vec<Piece> {
        match locations.first() {
            Some(Location::Constant(_)) => self.joined_of(locations, 0),
            _ => self.joined_of(locations, 1),
        }
    }

    fn joined_of(&mut self, locations: &[Location], most: usize) -> Vec<Piece> {
        let pieces = pieces(locations);
        if pieces.len() <= most {
            return pieces;
        }
        let start = self.size;
        self.size += locations.len();
        let mut at = start;
        for chunk in pieces.chunks(MAX_PIECES) {
            let width: usize = chunk.iter().map(|piece| piece.width()).sum();
            self.steps.push((at, width), None, vec![chunk.to_vec()]);
            at += width;
        }
        vec![Piece::Wires(start, at - start)]
    }

    /// The text of pieces outside all loops.
    pub(super) fn text(&self, pieces: &[Piece]) -> String {
        let mut starts = pieces.iter().filter_map(|piece| match piece {
            Piece::Wires(start, _) => Some((*start, String::new())),
            Piece::Constant(..) => None,
        });
        let mut next = || starts.next().unwrap_or_default();
        pieces_text(&self.value, pieces, &mut next)
    }
}

/// Runs of wires that stand in a row, and constants.
fn pieces(locations: &[Location]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = locations;
    while let Some(first) = rest.first() {
        let length = match *first {
            Location::At(start) => {
                let follows =
                    |(k, location): &(usize, &Location)| **location == Location::At(start + k);
                rest.iter().enumerate().take_while(follows).count()
            }
            Location::Constant(_) => {
                let is_constant = |location: &&Location| matches!(location, Location::Constant(_));
                rest.iter().take(32).take_while(is_constant).count()
            }
        };
        let (run, after) = rest.split_at(length);
        rest = after;
        pieces.push(match *first {
            Location::At(start) => Piece::Wires(start, length),
            Location::Constant(_) => {
                let bits = run.iter().enumerate();
                let number = bits.fold(0_u64, |sum, (place, location)| {
                    let is_one = *location == Location::Constant(true);
                    sum | u64::from(is_one) << place
                });
                Piece::Constant(number, length)
            }
        });
    }
    pieces
}
