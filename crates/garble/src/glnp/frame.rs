//! A series of gates in terms of vectors: labels in slots, and the points at which F is called.

use tacit_circuit::{AndGate, XorGate};
use tacit_kernels::{Block, KeyedPair, MAX_LANES, Simd, SlotView, Use};

use crate::prf_calls::{KEY, Points};

/// Bit 0 of a block.
pub(super) const ONE: Block = Block::from_u128(1);
/// The most vectors of gates in a step.
pub(super) const MAX_VECTORS: usize = 4;
/// The most gates in a step.
pub(super) const MAX_STEP: usize = MAX_LANES * MAX_VECTORS;

/// The blocks zero and one.
const BITS: [Block; 2] = [Block::ZERO, ONE];
/// Numbers from zero on, in the high half of a block.
const NUMBERS: [Block; MAX_STEP + 1] = {
    let mut numbers = [Block::ZERO; MAX_STEP + 1];
    let mut i = 0;
    while i <= MAX_STEP {
        numbers[i] = Block::from_u128((i as u128) << 64);
        i += 1;
    }
    numbers
};

/// Returns the number of blocks for a program with this many slots of this many labels each: a
/// power of two, whose last slot no program uses.
pub(super) const fn blocks_for(slots: usize, labels: usize) -> usize {
    (labels * (slots + 1)).next_power_of_two()
}

/// A gate in steps that are always full.
pub(super) trait Gate: Copy {
    /// Returns a gate that only reads and writes `slot`.
    fn idle(slot: u32) -> Self;

    /// Returns the slots of both inputs, with their flags, and of the output.
    fn slots(&self) -> [u32; 3];
}

impl Gate for XorGate {
    #[inline(always)]
    fn idle(slot: u32) -> Self {
        let (a, b, out) = (slot, slot, slot);
        Self { a, b, out }
    }

    #[inline(always)]
    fn slots(&self) -> [u32; 3] {
        [self.a, self.b, self.out]
    }
}

impl Gate for AndGate {
    #[inline(always)]
    fn idle(slot: u32) -> Self {
        let (a, b, out) = (slot, slot, slot);
        Self { a, b, out }
    }

    #[inline(always)]
    fn slots(&self) -> [u32; 3] {
        [self.a, self.b, self.out]
    }
}

/// The slots of a program, and the points of the gates of one kind from a certain number on.
pub struct Frame<'a, S: Simd> {
    pub(super) simd: S,
    /// The labels; the garbler has two blocks per slot. Flags above a slot's number are masked off.
    slots: SlotView<'a>,
    /// The garbler's labels with their round keys, if these are kept; used instead of `slots`.
    kept: Option<SlotView<'a, KeyedPair>>,
    /// The slot that no program uses.
    spare: u32,
    /// The point of gate 0, row 0 and side 0 in each lane.
    base: S::Vector,
    /// The number of the next gate, in the high half of each lane.
    number: S::Vector,
}

impl<'a, S: Simd> Frame<'a, S> {
    /// Returns a frame over `blocks`, whose number is that of [`blocks_for`], with this many labels
    /// per slot.
    #[inline(always)]
    pub(super) fn new(
        simd: S,
        blocks: &'a mut [Block],
        labels: usize,
        points: Points,
        usage: Use,
        first: usize,
    ) -> Self {
        let slots = SlotView::new(blocks);
        let spare = (slots.count() / labels - 1) as u32;
        Self {
            simd,
            slots,
            kept: None,
            spare,
            base: simd.splat(points.at(usage, 0, 0, 0)),
            number: simd.splat(Block::from_u128((first as u128) << 64)),
        }
    }

    /// Uses `kept`, with one entry per slot, unless it is empty.
    #[inline(always)]
    pub(super) fn keeping(mut self, kept: &'a mut [KeyedPair]) -> Self {
        if !kept.is_empty() {
            self.kept = Some(SlotView::new(kept));
        }
        self
    }

    /// Returns the point of row 0 on `side` for the gates with these numbers; a row is added by
    /// XOR.
    #[inline(always)]
    pub(super) fn point(&self, row: u8, side: u8, numbers: S::Vector) -> S::Vector {
        let place = self.simd.splat(tweak_place(row, side));
        let base = self.simd.xor(self.base, place);
        self.simd.xor(base, numbers)
    }

    /// Returns the numbers of the gates of a step, where lane `l` of vector `v` is gate `place(v,
    /// l)`.
    #[inline(always)]
    pub(super) fn numbers<const V: usize>(
        &self,
        place: impl Fn(usize, usize) -> usize,
    ) -> [S::Vector; V] {
        // This and the kernels use loops and no closures over vectors: code that is not inlined is
        // not compiled for the vectors' instructions.
        let mut numbers = [self.number; V];
        for (v, number) in numbers.iter_mut().enumerate() {
            let offsets = self.simd.gather(&NUMBERS, |lane| place(v, lane));
            *number = self.simd.add_halves(*number, offsets);
        }
        numbers
    }

    /// Returns both of the garbler's labels of the slots that `slot` gives for each lane.
    #[inline(always)]
    pub(super) fn pair(&self, slot: impl Fn(usize) -> u32) -> [S::Vector; 2] {
        [self.pair_label(0, &slot), self.pair_label(1, &slot)]
    }

    /// Moves on by `count` gates, at most the [`MAX_STEP`] of one step.
    #[inline(always)]
    pub(super) fn advance(&mut self, count: usize) {
        let step = self.simd.splat(NUMBERS[count]);
        self.number = self.simd.add_halves(self.number, step);
    }

    /// Returns the garbler's labels with `select` of the slots that `slot` gives for each lane.
    #[inline(always)]
    fn pair_label(&self, select: usize, slot: impl Fn(usize) -> u32) -> S::Vector {
        let index = |lane| 2 * slot(lane) as usize + select;
        self.simd.gather(&self.slots, index)
    }

    /// Returns the evaluator's labels of the slots that `slot` gives for each lane.
    #[inline(always)]
    pub(super) fn label(&self, slot: impl Fn(usize) -> u32) -> S::Vector {
        self.simd.gather(&self.slots, |lane| slot(lane) as usize)
    }

    /// Returns these gates, padded with idle ones from `room` if there are fewer than `count`.
    #[inline(always)]
    pub(super) fn full<'g, G: Gate>(
        &self,
        gates: &'g [G],
        count: usize,
        room: &'g mut Option<[G; MAX_STEP]>,
    ) -> &'g [G] {
        if gates.len() == count {
            return gates;
        }
        let filled = room.insert([G::idle(self.spare); MAX_STEP]);
        filled[..gates.len()].copy_from_slice(gates);
        &filled[..count]
    }

    /// Returns bit 0 set in the lanes for which `bit` is true. It is public.
    #[inline(always)]
    pub(super) fn public_bits(&self, bit: impl Fn(usize) -> bool) -> S::Vector {
        self.simd.gather(&BITS, |lane| usize::from(bit(lane)))
    }

    /// Returns only bits 1 to 127.
    #[inline(always)]
    pub(super) fn key(&self, label: S::Vector) -> S::Vector {
        self.simd.and(label, self.simd.splat(KEY))
    }

    /// Returns only bit 0.
    #[inline(always)]
    pub(super) fn bit(&self, label: S::Vector) -> S::Vector {
        self.simd.and(label, self.simd.splat(ONE))
    }

    /// Flips bit 0.
    #[inline(always)]
    pub(super) fn flip(&self, label: S::Vector) -> S::Vector {
        self.simd.xor(label, self.simd.splat(ONE))
    }

    /// Writes the garbler's pairs of labels to the slots that `slot` gives for each lane.
    #[inline(always)]
    pub(super) fn write_pair(&mut self, labels: [S::Vector; 2], slot: impl Fn(usize) -> u32) {
        for (select, label) in labels.into_iter().enumerate() {
            let index = |lane| 2 * slot(lane) as usize + select;
            self.simd.scatter(label, &mut self.slots, index);
        }
    }

    /// Returns the labels of the slots that `slot` gives for each lane, as [`Simd::pairs`] does, if
    /// round keys are kept.
    #[inline(always)]
    pub(super) fn kept_pairs(&self, slot: impl Fn(usize) -> u32) -> [S::Vector; 2] {
        let kept = self.kept.as_ref().expect("round keys are kept");
        self.simd.pairs(kept, |lane| slot(lane) as usize)
    }

    /// Calls F of these labels, at points that are pairs, too.
    #[inline(always)]
    pub(super) fn call_kept<const N: usize>(
        &self,
        slot: impl Fn(usize, usize) -> u32,
        points: [[S::Vector; 2]; N],
    ) -> [[S::Vector; 2]; N] {
        let kept = self.kept.as_ref().expect("round keys are kept");
        let slot = |n, lane| slot(n, lane) as usize;
        self.simd.encrypt_pairs(kept, slot, points)
    }

    /// Writes two times pairs of labels to the slots that `slot` gives for each number and lane,
    /// and expands them.
    #[inline(always)]
    pub(super) fn keep(&mut self, labels: [[S::Vector; 2]; 2], slot: impl Fn(usize, usize) -> u32) {
        let mut keys = labels;
        for key in keys.as_flattened_mut() {
            *key = self.key(*key);
        }
        let kept = self.kept.as_mut().expect("round keys are kept");
        let slot = |n, lane| slot(n, lane) as usize;
        self.simd.keep_pairs(labels, keys, kept, slot);
    }

    /// Returns the points of rows `rows[b]` on `side` for the gates with these numbers, as pairs.
    #[inline(always)]
    pub(super) fn points_of_pairs(
        &self,
        rows: [u8; 2],
        side: u8,
        numbers: S::Vector,
    ) -> [S::Vector; 2] {
        let points = rows.map(|row| tweak_place(row, side));
        let zero = self.simd.splat(points[0]);
        let both = self.simd.zip([zero, self.simd.splat(points[1])]);
        let mut numbers = self.simd.zip([numbers; 2]);
        for (number, point) in numbers.iter_mut().zip(both) {
            *number = self.simd.xor(self.simd.xor(self.base, point), *number);
        }
        numbers
    }

    /// Returns whether round keys are kept.
    #[inline(always)]
    pub(super) fn keeps(&self) -> bool {
        self.kept.is_some()
    }

    /// Writes the evaluator's labels to the slots that `slot` gives for each lane.
    #[inline(always)]
    pub(super) fn write(&mut self, label: S::Vector, slot: impl Fn(usize) -> u32) {
        self.simd
            .scatter(label, &mut self.slots, |lane| slot(lane) as usize);
    }
}

/// Returns the bits of a point that encode the row and the side; fields of
/// [`tacit_kernels::Tweak`].
pub(super) const fn tweak_place(row: u8, side: u8) -> Block {
    Block::from_u128((row as u128) << 8 | (side as u128) << 16)
}
