//! The compiler's knowledge of each wire, in four bytes: the literal that the wire folds to. For a
//! gate that is left, the word holds first the number of its readers and later its location.
//!
//! | bits | of a wire that is a constant, an input or another gate's, or its negation |
//! |---|---|
//! | 31..0 | the [`Literal`], whose top bit is set for constants alone |
//!
//! | bits | of an input or a gate that is left |
//! | bits | of an input or a gate that is left |
//! |---|---|
//! | 31 | 1 |
//! | 30 | whether the wire is the negation of the gate's result |
//! | 29..0 | its readers until the scheduler's window admits it, then its [`GateLocation`] |
//! One thread orders gates and another places them. The ordering thread writes a gate's word until
//! it hands the gate over, and the placing thread writes the word from then on. For a gate that has
//! been handed over, the ordering thread may see any of several locations. None of them is a place
//! of the window, so the ordering thread treats all of them alike.

use core::hint::select_unpredictable;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::netlist::{FoldedGate, Literal, fold_and, fold_xor};
use crate::{Circuit, Gate};

/// The location of a gate that was admitted, in 30 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GateLocation(u32);

impl GateLocation {
    /// The start of the places among the open XOR gates. Smaller values are places of the window's
    /// ring.
    const OPEN: u32 = 1 << 14;
    /// The start of the slots.
    const SLOT: u32 = 2 * Self::OPEN;

    /// The greatest number of places of the ring, and of open XOR gates.
    pub(super) const MOST: u32 = Self::OPEN;

    /// The location of a gate that is in a batch but not yet placed.
    pub(super) const TAKEN: Self = Self(Self::OPEN);

    /// Returns the location of a gate that waits at this place of the window's ring, for its inputs
    /// or for its turn.
    pub(super) fn waiting(place: u32) -> Self {
        debug_assert!(place < Self::MOST);
        Self(place)
    }

    /// Returns the location of this XOR gate of the open batch.
    pub(super) fn open(place: u32) -> Self {
        debug_assert!(place < Self::MOST);
        Self(Self::OPEN + place)
    }

    /// Returns the location of a gate that is done and whose label is in `slot`.
    pub(super) fn slot(slot: u32) -> Self {
        Self(Self::SLOT + slot)
    }

    /// Whether the gate is in the ring.
    pub(super) fn is_waiting(self) -> bool {
        self.0 < Self::OPEN
    }

    /// Returns the gate's place in the ring if it waits, otherwise `other`, which is above all
    /// places.
    pub(super) fn waiting_place_or(self, other: u32) -> u32 {
        debug_assert!(other == Self::MOST);
        self.0.min(other)
    }

    /// Returns, for a gate that does not wait, its place among the open XOR gates. If the gate is
    /// done, returns `other`, which is above all places.
    pub(super) fn open_place_or(self, other: usize) -> usize {
        debug_assert!(self.0 >= Self::OPEN, "a gate is read that waits");
        (self.0.wrapping_sub(Self::OPEN) as usize).min(other)
    }

    /// Returns the gate's slot if the gate is done.
    pub(super) fn as_slot(self) -> Option<u32> {
        self.0.checked_sub(Self::SLOT)
    }
}

/// The wires of a circuit under compilation.
pub(super) struct Wires {
    words: Vec<AtomicU32>,
    /// The number of XOR gates that are left and needed.
    pub(super) xors: usize,
    /// The number of AND gates that are left and needed.
    pub(super) ands: usize,
}

const LEFT: u32 = 1 << 31;
const NEGATION: u32 = 1 << 30;
const VALUE: u32 = NEGATION - 1;

impl Wires {
    /// The greatest number of wires and outputs. A gate reads two wires and has at most one slot,
    /// and an output reads one wire, so that neither the number of readers nor a place takes more
    /// than 30 bits.
    pub(super) const MOST: usize = 1 << 29;

    /// Folds the gates and counts the readers of those that are left and needed.
    pub(super) fn of(circuit: &Circuit) -> Self {
        let mut words = folded_words(circuit);
        let (xors, ands) = count_readers(circuit, &mut words);
        Self {
            words: words.into_iter().map(AtomicU32::new).collect(),
            xors,
            ands,
        }
    }

    /// Returns the literal of `wire`. A literal names an input or a gate that is left by its wire.
    #[inline]
    pub(super) fn literal(&self, wire: u32) -> Literal {
        literal(self.word(wire), wire)
    }

    /// Whether a gate that is not yet admitted is left and has readers.
    #[inline]
    pub(super) fn is_needed(&self, wire: u32) -> bool {
        is_needed(self.word(wire))
    }

    /// Returns the number of readers of a gate that is not yet admitted.
    #[inline]
    pub(super) fn readers(&self, wire: u32) -> u32 {
        self.word(wire) & VALUE
    }

    /// Returns the location of a gate that was admitted.
    #[inline]
    pub(super) fn location(&self, wire: u32) -> GateLocation {
        GateLocation(self.word(wire) & VALUE)
    }

    /// Returns the slot of a gate that is done.
    #[inline]
    pub(super) fn slot(&self, wire: u32) -> u32 {
        let location = self.location(wire);
        match location.as_slot() {
            Some(slot) => slot,
            None => unreachable!("wire {wire} is read and {location:?}"),
        }
    }

    /// Stores the location of a gate.
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

/// Folds the gates: removes constants, copies, negations and gates whose two inputs are one wire.
fn folded_words(circuit: &Circuit) -> Vec<u32> {
    let mut words = vec![0; circuit.wire_count()];
    words[..circuit.input_bits()].fill(LEFT);
    for (wire, gate) in (circuit.input_bits()..).zip(circuit.packed_gates()) {
        let [a, b] = gate.wires().map(|wire| literal(words[wire as usize], wire));
        let has_constant = a.as_constant().is_some() | b.as_constant().is_some();
        // Most gates are left, and no processor predicts their kinds.
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

/// Counts the readers of gates that are left and needed. A gate that no output needs has none.
/// Returns the numbers of XOR and AND gates that are left and needed.
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

/// Returns the literal of `wire`, whose word is `word`.
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

/// Returns the literal that a gate folds to. One of its inputs is constant, both are the same, or
/// it has only one.
#[cold]
fn folded(gate: Gate, [a, b]: [Literal; 2]) -> Literal {
    let folded = match gate {
        Gate::Xor(..) => fold_xor(a, b),
        Gate::And(..) => fold_and(a, b),
        Gate::Inv(_) => FoldedGate::Literal(!a),
    };
    match folded {
        FoldedGate::Literal(literal) => literal,
        FoldedGate::Gate(..) => unreachable!("a gate that is left was told by its inputs"),
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
