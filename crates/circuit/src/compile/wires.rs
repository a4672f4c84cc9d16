//! What is known of each wire, in four bytes: what it folds to, and of a gate that is left first
//! how many read it and then where it is.
//!
//! | bits | of a wire that is a constant, an input or another gate's, or its negation |
//! |---|---|
//! | 31..0 | the [`Literal`], whose top bit is set for constants alone |
//!
//! | bits | of an input or a gate that is left |
//! |---|---|
//! | 31 | 1 |
//! | 30 | whether the wire is the negation of what the gate computes |
//! | 29..0 | its readers until the scheduler's window admits it; then its [`GateLocation`] |

use crate::netlist::{Folded, Literal, fold_and, fold_xor};
use crate::{Circuit, Gate};

/// Where a gate is that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateLocation {
    /// It waits for its inputs, or for its turn, at this place of the window's ring.
    Waiting(u32),
    /// It is a XOR gate of the open batch, of this level.
    Open(u32),
    /// It is done, and its label in this slot.
    Slot(u32),
}

impl GateLocation {
    /// Values below are places of the ring, and from here to twice this levels.
    const SPLIT: u32 = 1 << 14;

    /// Most places of a ring, and more than the highest level.
    pub(super) const MOST: u32 = Self::SPLIT;

    fn pack(self) -> u32 {
        match self {
            Self::Waiting(place) => place,
            Self::Open(level) => Self::SPLIT + level,
            Self::Slot(slot) => 2 * Self::SPLIT + slot,
        }
    }

    fn unpack(value: u32) -> Self {
        if value >= 2 * Self::SPLIT {
            Self::Slot(value - 2 * Self::SPLIT)
        } else if value >= Self::SPLIT {
            Self::Open(value - Self::SPLIT)
        } else {
            Self::Waiting(value)
        }
    }
}

/// The wires of a circuit under compilation.
pub(super) struct Wires {
    words: Vec<u32>,
    /// XOR gates that are left and needed.
    pub(super) xors: usize,
    /// AND gates that are left and needed.
    pub(super) ands: usize,
}

const LEFT: u32 = 1 << 31;
const NEGATION: u32 = 1 << 30;
const VALUE: u32 = NEGATION - 1;

impl Wires {
    /// Most wires and outputs: a gate reads two wires and has a slot at most, an output reads one,
    /// so that neither a number of readers nor a place takes more than 30 bits.
    pub(super) const MOST: usize = 1 << 29;

    /// Folds the gates, and counts the readers of those that are left and needed.
    pub(super) fn of(circuit: &Circuit) -> Self {
        let mut wires = Self::folded(circuit);
        wires.count_readers(circuit);
        wires
    }

    /// Constants, copies, negations and gates fed twice by one wire vanish.
    fn folded(circuit: &Circuit) -> Self {
        let mut words = Vec::with_capacity(circuit.wire_count());
        words.resize(circuit.input_bits(), LEFT);
        let mut wires = Self {
            words,
            xors: 0,
            ands: 0,
        };
        for gate in circuit.packed_gates() {
            let [a, b] = gate.wires().map(|wire| wires.literal(wire));
            let has_constant = a.as_constant().is_some() | b.as_constant().is_some();
            // Most gates are left, and no processor foresees of which kind they are.
            let word = if !has_constant && a.node() != b.node() && !gate.is_inv() {
                let is_negated = !gate.is_and() & (a.is_negated() != b.is_negated());
                LEFT | u32::from(is_negated) << NEGATION.trailing_zeros()
            } else {
                wires.fold(gate.unpack())
            };
            wires.words.push(word);
        }
        wires
    }

    /// The word of a gate that folds: with a constant, twice the same input, or one alone.
    #[cold]
    fn fold(&self, gate: Gate) -> u32 {
        let folded = match gate {
            Gate::Xor(a, b) => fold_xor(self.literal(a), self.literal(b)),
            Gate::And(a, b) => fold_and(self.literal(a), self.literal(b)),
            Gate::Inv(a) => Folded::Literal(!self.literal(a)),
        };
        match folded {
            Folded::Literal(literal) => literal.to_bits(),
            Folded::Gate(..) => unreachable!("a gate that is left was told by its inputs"),
        }
    }

    /// What no output needs has no readers.
    fn count_readers(&mut self, circuit: &Circuit) {
        for &wire in circuit.output_wires() {
            let root = self.literal(wire);
            if root.as_constant().is_none() {
                self.words[root.node() as usize] += 1;
            }
        }
        let driven = circuit.input_bits() as u32..circuit.wire_count() as u32;
        for (wire, gate) in driven.zip(circuit.packed_gates()).rev() {
            if !self.is_needed(wire) {
                continue;
            }
            self.ands += usize::from(gate.is_and());
            self.xors += usize::from(!gate.is_and());
            for wire in gate.wires() {
                let source = self.literal(wire).node();
                self.words[source as usize] += 1;
            }
        }
    }

    /// The literal of `wire`, which names an input or a gate that is left by its wire.
    #[inline]
    pub(super) fn literal(&self, wire: u32) -> Literal {
        let word = self.words[wire as usize];
        let literal = Literal::from_bits(word);
        if word & LEFT == 0 || literal.as_constant().is_some() {
            literal
        } else {
            Literal::of(wire).negated_if(word & NEGATION != 0)
        }
    }

    /// Whether a gate that is not yet admitted is left, and has readers.
    #[inline]
    pub(super) fn is_needed(&self, wire: u32) -> bool {
        let word = self.words[wire as usize];
        word & LEFT != 0 && word & VALUE != 0 && Literal::from_bits(word).as_constant().is_none()
    }

    /// How many read a gate that is not yet admitted.
    #[inline]
    pub(super) fn readers(&self, wire: u32) -> u32 {
        self.words[wire as usize] & VALUE
    }

    /// Where a gate is that was admitted.
    #[inline]
    pub(super) fn place(&self, wire: u32) -> GateLocation {
        GateLocation::unpack(self.words[wire as usize] & VALUE)
    }

    /// The slot of a gate that is done.
    #[inline]
    pub(super) fn slot(&self, wire: u32) -> u32 {
        match self.place(wire) {
            GateLocation::Slot(slot) => slot,
            place => unreachable!("wire {wire} is read and {place:?}"),
        }
    }

    /// Notes where a gate is.
    #[inline]
    pub(super) fn put(&mut self, wire: u32, place: GateLocation) {
        let word = &mut self.words[wire as usize];
        *word = *word & !VALUE | place.pack();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_what_they_were_packed_as() {
        let last = GateLocation::MOST - 1;
        for place in [0, 1, last].map(GateLocation::Waiting) {
            assert_eq!(GateLocation::unpack(place.pack()), place);
        }
        for place in [0, 1, last].map(GateLocation::Open) {
            assert_eq!(GateLocation::unpack(place.pack()), place);
        }
        for place in [0, 1, 1 << 29].map(GateLocation::Slot) {
            assert_eq!(GateLocation::unpack(place.pack()), place);
            assert!(place.pack() < NEGATION);
        }
    }
}
