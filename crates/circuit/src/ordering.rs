//! Orderings of wire offsets, for garbling where XOR is free among wires of one offset only.
//!
//! Kolesnikov, Mohassel and Rosulek, "FleXOR" (CRYPTO 2014), and Gueron, Lindell, Nof and Pinkas,
//! "Fast garbling of circuits under standard assumptions" (2015), section 5. An ordering φ gives
//! each wire the index of its offset. It is *monotone* if an AND gate's output lies above its
//! inputs and a XOR gate's not below them, and *safe* if an AND gate's output lies above every
//! wire that comes before it. A XOR gate then costs one *translation*, from one offset to another,
//! for each input whose φ is not the output's.
//!
//! - *Monotone* (of the first paper): φ = L − d for inputs and AND outputs, d the most AND gates
//!   on a path to an output; for XOR outputs the maximum of the inputs.
//! - *SafeMon1, SafeMon2* (of the second): φ = 0 for inputs, for AND outputs the gate's number
//!   from 1; XOR outputs begin with the least (1) or the greatest (2) φ that they may have, and
//!   backwards each takes the least φ of the gates that read it, if it may have that, else the
//!   maximum of what its inputs began with.
//!
//! An ordering is of a [`Program`], in the order of its gates, whose negations are flags and
//! cost nothing; it depends on the program alone, and is computed once and kept with it
//! ([`Program::ordering`]).
//!
//! **Inputs.** A program's inputs may come from anywhere, each with an offset of its own. Those
//! that a XOR gate reads are *bridged*: translated once, as the program begins, to the offset that
//! φ gives them.
//!
//! # Cost
//!
//! Three passes over the gates. What is kept takes 12 bytes a XOR gate, 4 an AND gate and 16 a
//! translation; 8 a XOR gate and 16 a slot in addition while it is computed. Counting translations
//! takes two passes, for both safe rules at once, with 8 bytes a XOR gate and 20 a slot, and keeps
//! nothing. The pass backwards meets the gates that read a wire before the gate that drives it.
//! None of them has a lower φ than the wire; those with the same need no translation.

mod phi;
mod plan;
mod walk;

use crate::{Program, XorGate};
pub(crate) use walk::backwards;

/// How offsets are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderingRule {
    /// Monotone and not safe: fewest translations, three rows an AND gate.
    Monotone,
    /// Safe and monotone, from the least φ.
    SafeMon1,
    /// Safe and monotone, from the greatest φ.
    SafeMon2,
}

/// A translation of a wire, as a XOR gate reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The slot that holds the wire.
    pub slot: u32,
    /// The number of the XOR gate that reads it.
    pub xor: u32,
    /// Which of the gate's inputs it is: 0 is `a`, 1 is `b`. The upper 31 bits are the
    /// translation's place among its segment's.
    packed: u32,
    /// The offset that it gets.
    pub offset: u32,
}

impl Translation {
    /// Which of the gate's inputs it is: 0 is `a`, 1 is `b`.
    #[must_use]
    pub fn side(self) -> u8 {
        (self.packed & 1) as u8
    }

    /// Its place among the translations of its segment, by gate and side.
    #[must_use]
    pub fn place(self) -> usize {
        (self.packed >> 1) as usize
    }
}

/// The translation of an input as the program begins, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// The input, and its slot.
    pub input: u32,
    /// The offset that it gets.
    pub offset: u32,
}

/// Translations that do not wait for each other, and XOR gates to be computed after them in
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// How many translations.
    pub translations: u32,
    /// How many XOR gates.
    pub xors: u32,
}

/// A program's translations under an ordering, and how its XOR gates are computed among them.
///
/// The XOR gates of a batch are cut into levels: first the level's translations, the `i`-th from
/// its slot into slot `scratch + i` after the program's own, then its gates, some of which read
/// those slots. All that a level translates is there when the level before has been computed.
#[derive(Clone, Debug)]
pub struct WireOrdering {
    offsets: u32,
    bridges: Vec<Bridge>,
    translations: Vec<Translation>,
    xors: Vec<XorGate>,
    levels: Vec<Level>,
    /// For each batch, one past its last level.
    batch_levels: Vec<u32>,
    /// For each segment, one past its last translation.
    segment_translations: Vec<u32>,
    /// For each AND gate the number of its offset, or [`Self::UNNAMED`].
    and_offsets: Vec<u32>,
    scratch_slots: u32,
}

impl WireOrdering {
    /// The offset of an AND gate's output to which nothing is translated.
    pub const UNNAMED: u32 = u32::MAX;

    /// How many offsets have a number: those that something is translated to and, under the
    /// monotone rule, those of AND gates' outputs.
    #[must_use]
    pub fn offsets(&self) -> usize {
        self.offsets as usize
    }

    /// Inputs that are translated as the program begins, in order.
    #[must_use]
    pub fn bridges(&self) -> &[Bridge] {
        &self.bridges
    }

    /// All translations that XOR gates need, level by level.
    #[must_use]
    pub fn translations(&self) -> &[Translation] {
        &self.translations
    }

    /// The XOR gates, level by level. Their slots are the program's and the scratch slots.
    #[must_use]
    pub fn xors(&self) -> &[XorGate] {
        &self.xors
    }

    /// The levels of batch `batch`.
    #[must_use]
    pub fn levels(&self, batch: usize) -> &[Level] {
        let start = batch
            .checked_sub(1)
            .map_or(0, |last| self.batch_levels[last]);
        &self.levels[start as usize..self.batch_levels[batch] as usize]
    }

    /// Which of [`WireOrdering::translations`] belong to segment `segment`.
    #[must_use]
    pub fn segment_translations(&self, segment: usize) -> core::ops::Range<usize> {
        let ends = &self.segment_translations;
        let start = segment.checked_sub(1).map_or(0, |last| ends[last]);
        start as usize..ends[segment] as usize
    }

    /// For each AND gate the number of its output's offset, or [`Self::UNNAMED`].
    #[must_use]
    pub fn and_offsets(&self) -> &[u32] {
        &self.and_offsets
    }

    /// How many slots after the program's own its levels need.
    #[must_use]
    pub fn scratch_slots(&self) -> usize {
        self.scratch_slots as usize
    }
}

impl Program {
    /// The program's ordering by `rule`: computed when it is first asked for, and kept.
    #[must_use]
    pub fn ordering(&self, rule: OrderingRule) -> &WireOrdering {
        self.derived.orderings[rule as usize].get_or_init(|| {
            let phi = phi::Phi::of(self, rule);
            Box::new(plan::plan(self, &phi))
        })
    }

    /// How many [bridges](WireOrdering::bridges) and [translations](WireOrdering::translations)
    /// the ordering by `rule` has together: counted when it is first asked for, without the
    /// ordering's plan and for both safe rules at once, and kept.
    #[must_use]
    pub fn translation_count(&self, rule: OrderingRule) -> u64 {
        let derived = &self.derived;
        let safe = || {
            let counts = &derived.safe_translations;
            counts.get_or_init(|| phi::safe_translations(self))
        };
        match rule {
            OrderingRule::Monotone => {
                let count = || phi::monotone_translations(self);
                *derived.monotone_translations.get_or_init(count)
            }
            OrderingRule::SafeMon1 => safe()[0],
            OrderingRule::SafeMon2 => safe()[1],
        }
    }
}

#[cfg(test)]
mod tests;
