//! Orderings of wire offsets, for garbling in which XOR is free only among wires of one offset.
//!
//! Kolesnikov, Mohassel and Rosulek, "FleXOR" (CRYPTO 2014), and Gueron, Lindell, Nof and Pinkas,
//! "Fast garbling of circuits under standard assumptions" (2015), section 5. An ordering φ gives
//! each wire the index of its offset. It is *monotone* if an AND gate's output is above its inputs
//! and a XOR gate's output is not below its inputs. It is *safe* if an AND gate's output is above
//! every wire that comes before it. A XOR gate then costs one *translation* from one offset to
//! another for each input whose φ differs from the output's.
//!
//! - *Monotone* (of the first paper): φ = L − d for inputs and AND outputs, where d is the greatest
//!   number of AND gates on a path to an output. For XOR outputs, φ is the maximum of the inputs.
//! - *SafeMon1, SafeMon2* (of the second paper): φ = 0 for inputs, and the gate's number from 1 for
//!   AND outputs. A XOR output starts with the least (1) or the greatest (2) φ allowed. In a pass
//!   backwards, each XOR output then takes the least φ of the gates that read it if that is
//!   allowed, and otherwise the maximum of its inputs' start values.
//!
//! An ordering belongs to a [`Program`] and follows the order of its gates, whose negations are
//! flags and cost nothing. It depends on the program alone, and is computed once and kept with the
//! program ([`Program::ordering`]).
//!
//! **Inputs.** A program's inputs may come from anywhere, each with its own offset. The inputs that
//! a XOR gate reads are *bridged*: at the start of the program they are translated once to the
//! offset that φ gives them.
//!
//! # Cost
//!
//! Three passes over the gates. The result takes 12 bytes a XOR gate, 4 an AND gate and 16 a
//! translation. The computation takes 8 more a XOR gate and 16 a slot. Counting translations takes
//! two passes for both safe rules at once, with 8 bytes a XOR gate and 20 a slot, and keeps
//! nothing. The pass backwards meets the gates that read a wire before the gate that drives it.
//! None of them has a lower φ than the wire. Those with the same φ need no translation.

mod phi;
mod plan;
mod walk;

use crate::{Program, XorGate};
pub(crate) use walk::backwards;

/// The rule by which offsets are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderingRule {
    /// Monotone and not safe, with the fewest translations and three rows an AND gate.
    Monotone,
    /// Safe and monotone, from the least φ.
    SafeMon1,
    /// Safe and monotone, from the greatest φ.
    SafeMon2,
}

/// The translation of a wire that a XOR gate reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The slot that holds the wire.
    pub slot: u32,
    /// The number of the XOR gate that reads the wire.
    pub xor: u32,
    /// The input of the gate: 0 is `a`, 1 is `b`. The upper 31 bits are the translation's place
    /// among those of its segment.
    packed: u32,
    /// The offset to which the wire is translated.
    pub offset: u32,
}

impl Translation {
    /// Returns the input of the gate that is translated: 0 is `a`, 1 is `b`.
    pub fn side(self) -> u8 {
        (self.packed & 1) as u8
    }

    /// Returns the place among the translations of the segment, ordered by gate and side.
    pub fn place(self) -> usize {
        (self.packed >> 1) as usize
    }
}

/// The translation of an input at the start of the program, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// The input, which is also its slot.
    pub input: u32,
    /// The offset to which the input is translated.
    pub offset: u32,
}

/// Translations that do not depend on each other, followed by XOR gates that are computed in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The number of translations.
    pub translations: u32,
    /// The number of XOR gates.
    pub xors: u32,
}

/// The translations of a program under an ordering, with the order in which its XOR gates are
/// computed between them.
///
/// The XOR gates of a batch are cut into levels. Each level first translates: its `i`-th
/// translation goes from its slot into slot `scratch + i`, after the program's own slots. Then come
/// the level's gates, some of which read those slots. All wires that a level translates are known
/// once the level before has been computed.
#[derive(Clone, Debug)]
pub struct WireOrdering {
    offsets: u32,
    bridges: Vec<Bridge>,
    translations: Vec<Translation>,
    xors: Vec<XorGate>,
    levels: Vec<Level>,
    /// The end of each batch's levels.
    batch_levels: Vec<u32>,
    /// The end of each segment's translations.
    segment_translations: Vec<u32>,
    /// The number of the offset of each AND gate's output, or [`Self::UNNAMED`].
    and_offsets: Vec<u32>,
    scratch_slots: u32,
}

impl WireOrdering {
    /// The offset of an AND gate's output to which nothing is translated.
    pub const UNNAMED: u32 = u32::MAX;

    /// Returns how many offsets have a number. These are the targets of translations and, under the
    /// monotone rule, the offsets of AND gates' outputs.
    pub fn offsets(&self) -> usize {
        self.offsets as usize
    }

    /// Returns the inputs that are translated at the start of the program, in order.
    pub fn bridges(&self) -> &[Bridge] {
        &self.bridges
    }

    /// Returns all translations that XOR gates need, level by level.
    pub fn translations(&self) -> &[Translation] {
        &self.translations
    }

    /// Returns the XOR gates, level by level. Their slots are the program's and the scratch slots.
    pub fn xors(&self) -> &[XorGate] {
        &self.xors
    }

    /// Returns the levels of batch `batch`.
    pub fn levels(&self, batch: usize) -> &[Level] {
        let start = batch
            .checked_sub(1)
            .map_or(0, |last| self.batch_levels[last]);
        &self.levels[start as usize..self.batch_levels[batch] as usize]
    }

    /// Returns the range of [`WireOrdering::translations`] that belongs to segment `segment`.
    pub fn segment_translations(&self, segment: usize) -> core::ops::Range<usize> {
        let ends = &self.segment_translations;
        let start = segment.checked_sub(1).map_or(0, |last| ends[last]);
        start as usize..ends[segment] as usize
    }

    /// Returns for each AND gate the number of its output's offset, or [`Self::UNNAMED`].
    pub fn and_offsets(&self) -> &[u32] {
        &self.and_offsets
    }

    /// Returns the number of slots that the levels need after the program's own.
    pub fn scratch_slots(&self) -> usize {
        self.scratch_slots as usize
    }
}

impl Program {
    /// Returns the program's ordering by `rule`. The first call computes it, and the program keeps
    /// it.
    pub fn ordering(&self, rule: OrderingRule) -> &WireOrdering {
        self.derived.orderings[rule as usize].get_or_init(|| {
            let phi = phi::Phi::of(self, rule);
            Box::new(plan::plan(self, &phi))
        })
    }

    /// Returns the number of [bridges](WireOrdering::bridges) and
    /// [translations](WireOrdering::translations) of the ordering by `rule` together. The first
    /// call counts them, for both safe rules at once and without the ordering's plan, and the
    /// program keeps the counts.
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
