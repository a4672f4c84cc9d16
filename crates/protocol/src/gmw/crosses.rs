//! Crosses: correlated OTs hashed to masks, without a message.
//!
//! The OTs of a direction have a sender S, with q and Δ, and a receiver R, with a random choice b
//! and t = q ⊕ bΔ. A cross of width w takes one OT for each instance, and the lowest w bits of the
//! OT's hashes:
//!
//! ```text
//! S: r = H(q), α = H(q) ⊕ H(q ⊕ Δ)          R: b, ρ = H(t) = r ⊕ bα
//! ```
//!
//! With d = s ⊕ b from R and e = v ⊕ α from S, s·e ⊕ ρ and r ⊕ d·α are shares of s·v. Each mask is
//! used once: a mask that is used twice reveals the XOR of two secrets.
//!
//! H is that of [`hashed`](super::hashed).
//!
//! **Cost**: two hashes an OT at S, one at R. **Memory**: 2w bits for each cross and instance at S,
//! w + 1 at R, from the making of the OTs to the step that takes them.

use core::iter;
use core::ops::Range;
use std::collections::VecDeque;

use tacit_circuit::Role;
use tacit_function::Schedule;
use tacit_function::schedule::StepWork;

use super::hashed::{HASHED_OTS, HashedOtSink, NextParts};
use super::packing::{OtPart, rows_of_cross};
use super::queue::BitQueue;
use super::rows::{BitWriter, CrossMasks, CrossOts, LayerCrosses, gates_of};
use crate::Error;

/// The number of OTs from which a device hashes them apart from others.
const DEVICE_OTS: usize = 1 << 14;

/// The number of OTs of narrow crosses that are stored as one.
const NARROW_OTS: usize = 1 << 18;

/// Consecutive crosses that are stored in the queues as one.
#[derive(Clone, Copy)]
struct StoredCrosses {
    width: usize,
    /// The OTs of each cross or, if the width is 1, of all crosses together.
    instances: usize,
    /// The number of crosses. It exceeds 1 only if each has one instance.
    crosses: usize,
}

impl StoredCrosses {
    fn ots(self) -> usize {
        self.instances * self.crosses
    }

    /// Merges `next` into these crosses, if the rows of both can be stored as those of one. Returns
    /// whether it did.
    fn join(&mut self, next: Self) -> bool {
        let most = match self.width {
            1 => NARROW_OTS,
            _ => HASHED_OTS,
        };
        let fit = self.ots() + next.ots() <= most && self.width == next.width;
        if fit && self.width == 1 {
            self.instances += next.instances;
        } else if fit && self.instances == 1 && next.instances == 1 {
            self.crosses += next.crosses;
        } else {
            return false;
        }
        true
    }
}

/// Returns the crosses of a run whose OTs `sender` sends, in the order of their OTs.
fn merged_crosses(
    schedule: &Schedule,
    sender: Role,
) -> impl Iterator<Item = StoredCrosses> + Send + Sync + '_ {
    let crosses = schedule.steps().flat_map(move |step| {
        step.at_work.into_iter().flat_map(move |at_work| {
            let group = schedule.group(at_work.group);
            let instances = group.instances();
            let widths = group.program().pieces(at_work.layer);
            let widths = widths.map(move |piece| piece.widths[sender.other() as usize]);
            widths
                .filter(|width| *width > 0)
                .map(move |width| StoredCrosses {
                    width,
                    instances,
                    crosses: 1,
                })
        })
    });
    let mut crosses = crosses.peekable();
    iter::from_fn(move || {
        let mut merged = crosses.next()?;
        while crosses.next_if(|next| merged.join(*next)).is_some() {}
        Some(merged)
    })
}

/// The start of the step's crosses: the number of the first OT, and of its first gate, where each
/// gate counts once for each instance.
#[derive(Clone, Copy, Default)]
struct StepStart {
    number: u64,
    gates: u64,
}

/// A cross that lacks some of its OTs.
struct Unfinished {
    stored: StoredCrosses,
    /// The number of its first bit in both queues.
    bits: [u64; 2],
    filled: usize,
}

impl Unfinished {
    fn left(&self) -> usize {
        self.stored.ots() - self.filled
    }

    /// Returns its next OTs. `sends` says whether this party sends them.
    fn next_part(&self, sends: bool) -> OtPart {
        OtPart {
            ots: self.left(),
            rows: rows_of_cross(self.stored.width, sends),
            is_of_single: self.stored.instances == 1,
        }
    }
}

/// A party's masks of one direction.
struct DirectionMasks<'s> {
    /// Whether the party sends the OTs. The sender has a first row for each gate, the receiver one
    /// in all.
    sends: bool,
    ahead: Box<dyn Iterator<Item = StoredCrosses> + Send + Sync + 's>,
    /// The crosses that come next.
    unfinished: VecDeque<Unfinished>,
    queues: [BitQueue; 2],
    /// The number of OTs that are still to come (`wanted`), and of those that have come (`taken`).
    wanted: u64,
    taken: u64,
    step: StepStart,
}

impl DirectionMasks<'_> {
    /// Names the parts in which it takes the next OTs.
    fn next_parts(&mut self, next: &mut NextParts) {
        let mut at = 0;
        while !next.is_full() && (at < self.unfinished.len() || self.begin_cross()) {
            let mut part = self.unfinished[at].next_part(self.sends);
            while part.ots > 0 && !next.is_full() {
                part.ots -= next.add(part);
            }
            at += 1;
        }
    }

    /// Returns the number of the next OTs that a device may hash: those of narrow crosses that are
    /// stored as one.
    fn next_bits(&mut self) -> u64 {
        if self.unfinished.is_empty() {
            self.begin_cross();
        }
        let next = self.unfinished.front();
        let next = next.filter(|cross| cross.stored.width == 1 && cross.left() >= DEVICE_OTS);
        next.map_or(0, |cross| cross.left() as u64)
    }

    /// Takes the next OTs, of the next cross.
    fn take_part(&mut self, part: &OtPart, rows: [&[u64]; 2]) {
        self.wanted -= part.ots as u64;
        self.taken += part.ots as u64;
        let Some(cross) = self.unfinished.front_mut() else {
            return;
        };
        let StoredCrosses { instances, .. } = cross.stored;
        for (of, words) in rows.into_iter().enumerate() {
            let (queue, bits) = (&mut self.queues[of], cross.bits[of]);
            if part.is_of_single {
                let width = part.rows[of];
                queue.put(
                    bits + (cross.filled * width) as u64,
                    words,
                    part.ots * width,
                );
                continue;
            }
            let first = bits + cross.filled as u64;
            for (row, words) in words.chunks_exact(part.ots.div_ceil(64)).enumerate() {
                queue.put(first + (row * instances) as u64, words, part.ots);
            }
        }
        cross.filled += part.ots;
        if cross.left() == 0 {
            self.unfinished.pop_front();
        }
    }

    /// Makes room for the crosses that come after those that are not finished. Returns whether
    /// there are any.
    fn begin_cross(&mut self) -> bool {
        let Some(stored) = self.ahead.next() else {
            return false;
        };
        let rows = rows_of_cross(stored.width, self.sends);
        let [first, second] = rows.map(|rows| (rows * stored.ots()) as u64);
        self.unfinished.push_back(Unfinished {
            stored,
            bits: [self.queues[0].add(first), self.queues[1].add(second)],
            filled: 0,
        });
        true
    }

    /// Returns the number of the first bit in both queues of the crosses whose OTs start at
    /// `number`, with `gates` gates before them.
    fn bits_of(&self, (number, gates): (u64, u64), ots: u64) -> [u64; 2] {
        assert!(number >= self.step.number, "crosses of this step");
        // Without its OTs a cross would have masks of zeros, and would open shares in the clear.
        assert!(number + ots <= self.taken, "the OTs of a cross are there");
        [if self.sends { gates } else { number }, gates]
    }

    fn read_packed(&self, crosses: &LayerCrosses<'_>, into: [&mut BitWriter; 2]) {
        let instances = crosses.instances as u64;
        let ots = crosses.crosses * instances;
        let bits = self.bits_of((crosses.start.ots, crosses.start.gates), ots);
        for (of, (into, rows)) in into.into_iter().zip(crosses.rows()).enumerate() {
            let (mut at, end) = (bits[of], bits[of] + rows * instances);
            while at < end {
                let count = (end - at).min(64);
                let mut word = [0];
                self.queues[of].read(at, count as usize, &mut word);
                into.push(word.into_iter(), count as usize);
                at += count;
            }
        }
    }

    fn read(&self, cross: &CrossOts, of: Range<usize>, into: [&mut [u64]; 2]) {
        let before = (cross.number, cross.gates_before);
        let bits = self.bits_of(before, cross.instances as u64);
        let words = of.len().div_ceil(64);
        let rows = cross.rows(self.sends);
        for ((queue, into), (bits, rows)) in
            self.queues.iter().zip(into).zip(bits.into_iter().zip(rows))
        {
            let mut at = bits + of.start as u64;
            for row in into[..rows * words].chunks_exact_mut(words) {
                queue.read(at, of.len(), row);
                at += cross.instances as u64;
            }
        }
    }

    /// Wipes the crosses of the finished step, which had this many OTs and gates.
    fn end_step(&mut self, ots: u64, gates: u64) {
        self.step.number += ots;
        self.step.gates += gates;
        let first = if self.sends {
            self.step.gates
        } else {
            self.step.number
        };
        self.queues[0].release(first);
        self.queues[1].release(self.step.gates);
    }
}

/// A party's masks for both directions of a run, from OTs that are made during the run.
pub(super) struct MadeMasks<'s>([DirectionMasks<'s>; 2]);

impl<'s> MadeMasks<'s> {
    /// Returns empty masks for a run of `schedule` by the party in `role`.
    pub(super) fn new(schedule: &'s Schedule, role: Role) -> Self {
        let wanted = schedule.total_ots();
        Self(Role::BOTH.map(|sender| DirectionMasks {
            sends: sender == role,
            ahead: Box::new(merged_crosses(schedule, sender)),
            unfinished: VecDeque::new(),
            queues: Default::default(),
            wanted: wanted[sender as usize],
            taken: 0,
            step: StepStart::default(),
        }))
    }

    /// Wipes the masks of the finished step.
    pub(super) fn end_step(&mut self, step: &StepWork) {
        for (masks, sender) in self.0.iter_mut().zip(Role::BOTH) {
            masks.end_step(step.ots[sender as usize], gates_of(step, sender));
        }
    }
}

impl HashedOtSink for MadeMasks<'_> {
    fn wants(&self, sender: Role) -> u64 {
        self.0[sender as usize].wanted
    }

    fn next_parts(&mut self, sender: Role, next: &mut NextParts) {
        self.0[sender as usize].next_parts(next);
    }

    fn next_bits(&mut self, sender: Role) -> u64 {
        self.0[sender as usize].next_bits()
    }

    fn take_part(&mut self, sender: Role, part: &OtPart, rows: [&[u64]; 2]) -> Result<(), Error> {
        self.0[sender as usize].take_part(part, rows);
        Ok(())
    }
}

impl CrossMasks for MadeMasks<'_> {
    type Room = ();

    fn rows(&self, cross: &CrossOts, of: Range<usize>, (): &mut (), into: [&mut [u64]; 2]) {
        self.0[cross.sender as usize].read(cross, of, into);
    }

    fn packed_rows(&self, crosses: &LayerCrosses<'_>, (): &mut (), into: [&mut BitWriter; 2]) {
        self.0[crosses.sender as usize].read_packed(crosses, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Naming them all again for each part of them that is hashed would take quadratic time.
    #[test]
    fn no_more_parts_are_named_than_are_hashed_at_once() {
        let cross = StoredCrosses {
            width: 128,
            instances: 2,
            crosses: 1,
        };
        for sends in [false, true] {
            let mut masks = DirectionMasks {
                sends,
                ahead: Box::new(iter::repeat_n(cross, 1 << 17)),
                unfinished: VecDeque::new(),
                queues: Default::default(),
                wanted: 1 << 18,
                taken: 0,
                step: StepStart::default(),
            };
            let mut next = NextParts::new(1 << 18);
            masks.next_parts(&mut next);
            let words = next
                .parts()
                .iter()
                .map(|part| part.words(0) + part.words(1));
            let words = words.sum::<usize>();
            assert!((1 << 18..1 << 19).contains(&words), "{words}");
        }
    }
}
