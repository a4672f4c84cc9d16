//! The order of a lot's OTs, and of the evaluator's blocks between them.

use std::ops::Range;

use tacit_function::Role;

use super::super::leaky::CHUNK;
use super::super::parameters::LotSize;

/// OTs of one message.
pub(in super::super) const EXTENSION_OTS: usize = 1 << 15;

/// What one message of a lot is of, before the garbler's blocks.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// OTs.
    Ots(Section, Range<usize>),
    /// The evaluator's blocks of leaky ANDs, all of whose OTs are there.
    Blocks(Range<usize>),
}

/// What OTs are for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Section {
    X,
    Y,
    Z,
    Masks,
    Inputs,
}

/// The parts of a lot, in order, each with the party whose choices or blocks it has. `inputs` says
/// how many bits for its inputs a party has.
///
/// The OTs of some x, of their y and of their z follow each other, and then the evaluator's blocks
/// of them, so that shares are worked on while they are in the cache.
pub(super) fn parts(size: LotSize, inputs: impl Fn(Role) -> usize) -> Vec<(Role, Part)> {
    let mut parts = Vec::new();
    for party in [Role::Garbler, Role::Evaluator] {
        for piece in pieces(0..size.leaky_ands(), EXTENSION_OTS) {
            let ots = |section| (party, Part::Ots(section, piece.clone()));
            parts.extend([Section::X, Section::Y, Section::Z].map(ots));
            if party == Role::Evaluator {
                parts.extend(pieces(piece, CHUNK).map(|range| (party, Part::Blocks(range))));
            }
        }
        for (section, count) in [
            (Section::Masks, size.triples),
            (Section::Inputs, inputs(party)),
        ] {
            let pieces = pieces(0..count, EXTENSION_OTS);
            parts.extend(pieces.map(|range| (party, Part::Ots(section, range))));
        }
    }
    parts
}

/// `of` in pieces of this length, the last one of what is left.
fn pieces(of: Range<usize>, length: usize) -> impl Iterator<Item = Range<usize>> {
    let end = of.end;
    of.step_by(length)
        .map(move |first| first..end.min(first + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every OT and every block once, and no block before the OTs that it is made of.
    #[test]
    fn parts_are_whole_and_in_order() {
        let size = LotSize {
            triples: EXTENSION_OTS + 7,
            layers: 2,
        };
        let leaky = size.leaky_ands();
        let mut made = [[0; 6]; 2];
        for (party, part) in parts(size, |party| 3 + usize::from(party == Role::Garbler)) {
            let made = &mut made[usize::from(party == Role::Evaluator)];
            let (at, range) = match part {
                Part::Ots(section, range) => (section as usize, range),
                Part::Blocks(range) => (5, range),
            };
            assert_eq!(made[at], range.start);
            made[at] = range.end;
            assert!(made[..3].iter().all(|ots| *ots >= made[5]));
        }
        let [ots, masks] = [leaky, size.triples];
        assert_eq!(made[0], [ots, ots, ots, masks, 4, 0]);
        assert_eq!(made[1], [ots, ots, ots, masks, 3, ots]);
    }
}
