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
//!
//! One thread orders gates and another places them. Whoever orders writes a gate's word until it
//! hands the gate over, and whoever places writes it from then on. Of a gate that was handed over
//! the first sees one location or another, none of which is one of the window's: all are the same
//! to it.

use core::hint::select_unpredictable;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::netlist::{Folded, Literal, fold_and, fold_xor};
use crate::{Circuit, Gate};

/// Where a gate is that was admitted, in 30 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GateLocation(u32);

impl GateLocation {
    /// Below are places of the window's ring, and from here on places among the open XOR gates.
    const OPEN: u32 = 1 << 14;
    /// From here on there are slots.
    const SLOT: u32 = 2 * Self::OPEN;

    /// Most places of the ring, and of the open XOR gates.
    pub(super) const MOST: u32 = Self::OPEN;

    /// It is in a batch, and not yet placed.
    pub(super) const TAKEN: Self = Self(Self::OPEN);

    /// It waits for its inputs, or for its turn, at this place of the window's ring.
    pub(super) fn waiting(place: u32) -> Self {
        debug_assert!(place < Self::MOST);
        Self(place)
    }

    /// It is this XOR gate of the open batch.
    pub(super) fn open(place: u32) -> Self {
        debug_assert!(place < Self::MOST);
        Self(Self::OPEN + place)
    }

    /// It is done, and its label in this slot.
    pub(super) fn slot(slot: u32) -> Self {
        Self(Self::SLOT + slot)
    }

    /// Whether it is in the ring.
    pub(super) fn is_waiting(self) -> bool {
        self.0 < Self::OPEN
    }

    /// Its place in the ring if it waits, or `other`, which is no smaller than any.
    pub(super) fn waiting_place_or(self, other: u32) -> u32 {
        debug_assert!(other == Self::MOST);
        self.0.min(other)
    }

    /// For a gate that does not wait, its place among the open XOR gates, or `other`, which is no
    /// smaller than any, if it is done.
    pub(super) fn open_place_or(self, other: usize) -> usize {
        debug_assert!(self.0 >= Self::OPEN, "a gate is read that waits");
        (self.0.wrapping_sub(Self::OPEN) as usize).min(other)
    }

    /// Its slot, if it is done.
    pub(super) fn as_slot(self) -> Option<u32> {
        self.0.checked_sub(Self::SLOT)
    }
}

/// The wires of a circuit under compilation.
pub(super) struct Wires {
    words: Vec<AtomicU32>,
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
        let mut words = folded_words(circuit);
        let (xors, ands) = count_readers(circuit, &mut words);
        Self {
            words: words.into_iter().map(AtomicU32::new).collect(),
            xors,
            ands,
        }
    }

    /// The literal of `wire`, which names an input or a gate that is left by its wire.
    #[inline]
    pub(super) fn literal(&self, wire: u32) -> Literal {
        literal(self.word(wire), wire)
    }

    /// Whether a gate that is not yet admitted is left, and has readers.
    #[inline]
    pub(super) fn is_needed(&self, wire: u32) -> bool {
        is_needed(self.word(wire))
    }

    /// How many read a gate that is not yet admitted.
    #[inline]
    pub(super) fn readers(&self, wire: u32) -> u32 {
        self.word(wire) & VALUE
    }

    /// Where a gate is that was admitted.
    #[inline]
    pub(super) fn location(&self, wire: u32) -> GateLocation {
        GateLocation(self.word(wire) & VALUE)
    }

    /// The slot of a gate that is done.
    #[inline]
    pub(super) fn slot(&self, wire: u32) -> u32 {
        let location = self.location(wire);
        match location.as_slot() {
            Some(slot) => slot,
            None => unreachable!("wire {wire} is read and {location:?}"),
        }
    }

    /// Notes where a gate is.
    #[inline]
    pub(super) fn put(&self, wire: u32, location: GateLocation) {
        let word = self.word(wire) & !VALUE | location.0;
        self.words[wire as usize].store(word, Ordering::Relaxed);
    }

    #[inline]
    fn word(&self, wire: u32) -> u32 {
        self.words[wire as usize].load(Ordering::Relaxed)
    }
}

/// Constants, copies, negations and gates fed twice by one wire vanish.
fn folded_words(circuit: &Circuit) -> Vec<u32> {
    let mut words = vec![0; circuit.wire_count()];
    words[..circuit.input_bits()].fill(LEFT);
    for (wire, gate) in (circuit.input_bits()..).zip(circuit.packed_gates()) {
        let [a, b] = gate.wires().map(|wire| literal(words[wire as usize], wire));
        let has_constant = a.as_constant().is_some() | b.as_constant().is_some();
        // Most gates are left, and no processor foresees of which kind they are.
        let is_left = !has_constant & (a.node() != b.node()) & !gate.is_inv();
        words[wire] = if is_left {
            let is_negated = !gate.is_and() & (a.is_negated() != b.is_negated());
            LEFT | u32::from(is_negated) << NEGATION.trailing_zeros()
        } else {
            folded(gate.unpack(), [a, b]).to_bits()
        };
    }
    words
}

/// Counts the readers of gates that are left and needed; what no output needs has none. Returns how
/// many XOR and AND gates those are.
fn count_readers(circuit: &Circuit, words: &mut [u32]) -> (usize, usize) {
    for &wire in circuit.output_wires() {
        let root = literal(words[wire as usize], wire);
        if root.as_constant().is_none() {
            words[root.node() as usize] += 1;
        }
    }
    let (mut gates, mut ands) = (0, 0);
    let mut wire = words.len();
    for gate in circuit.packed_gates().rev() {
        wire -= 1;
        if !is_needed(words[wire]) {
            continue;
        }
        gates += 1;
        ands += usize::from(gate.is_and());
        for source in gate.wires() {
            let source = literal(words[source as usize], source).node();
            words[source as usize] += 1;
        }
    }
    (gates - ands, ands)
}

/// What `wire` is whose word this is.
#[inline]
fn literal(word: u32, wire: u32) -> Literal {
    let folded = Literal::from_bits(word);
    let own = Literal::of(wire).negated_if(word & NEGATION != 0);
    let is_left = (word & LEFT != 0) & folded.as_constant().is_none();
    select_unpredictable(is_left, own, folded)
}

#[inline]
fn is_needed(word: u32) -> bool {
    (word & LEFT != 0) & (word & VALUE != 0) & Literal::from_bits(word).as_constant().is_none()
}

/// What a gate with these inputs folds to: with a constant, twice the same input, or one alone.
#[cold]
fn folded(gate: Gate, [a, b]: [Literal; 2]) -> Literal {
    let folded = match gate {
        Gate::Xor(..) => fold_xor(a, b),
        Gate::And(..) => fold_and(a, b),
        Gate::Inv(_) => Folded::Literal(!a),
    };
    match folded {
        Folded::Literal(literal) => literal,
        Folded::Gate(..) => unreachable!("a gate that is left was told by its inputs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_one_of_three() {
        let last = GateLocation::MOST - 1;
        for place in [0, 1, last] {
            let waiting = GateLocation::waiting(place);
            assert!(waiting.is_waiting());
            assert_eq!(waiting.waiting_place_or(last + 1), place);
            assert_eq!(waiting.as_slot(), None);
            let open = GateLocation::open(place);
            assert_eq!((open.is_waiting(), open.as_slot()), (false, None));
            assert_eq!(open.open_place_or(last as usize), place as usize);
        }
        for slot in [0, 1, 1 << 29] {
            let done = GateLocation::slot(slot);
            assert_eq!((done.is_waiting(), done.as_slot()), (false, Some(slot)));
            assert_eq!(done.waiting_place_or(last + 1), last + 1);
            assert_eq!(done.open_place_or(last as usize), last as usize);
            assert!(done.0 < NEGATION);
        }
    }
}
