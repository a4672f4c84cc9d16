//! The gates of a segment, and the slots that hold the labels.

use tacit_circuit::{AndGate, Batch, Program, XorGate};
use tacit_kernels::{Block, SlotView};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The gates of one segment, in the order in which they are computed.
#[derive(Clone, Copy, Debug)]
pub struct Gates<'a> {
    pub(crate) batches: &'a [Batch],
    pub(crate) xors: &'a [XorGate],
    pub(crate) ands: &'a [AndGate],
    /// The number of the first AND gate.
    pub(crate) first_and: u64,
}

impl<'a> Gates<'a> {
    /// Returns the gates of `segment`.
    ///
    /// # Panics
    ///
    /// If the program has no such segment.
    pub fn of(program: &'a Program, segment: usize) -> Self {
        let segment = &program.segments()[segment];
        Self {
            batches: &program.batches()[segment.batches.clone()],
            xors: &program.xors()[segment.xors.clone()],
            ands: &program.ands()[segment.ands.clone()],
            first_and: segment.ands.start as u64,
        }
    }

    /// Returns whether a batch has at least this many AND gates, on average.
    pub(crate) fn has_batches_of(&self, ands: usize) -> bool {
        self.ands.len() / ands >= self.batches.len()
    }
}

/// Computes XOR gates, in order.
#[inline(always)]
pub(super) fn xor_gates(slots: &mut SlotView<'_>, gates: &[XorGate]) {
    slots.xor_gates(gates, |gate| [gate.a, gate.b, gate.out]);
}

/// Returns a full vector of gates: `gates` in the lanes from `at` on, and in the others gates that
/// read zeros and write to a slot that is never read.
#[inline(always)]
pub(super) fn fill_up<const LENGTH: usize>(
    gates: &[AndGate],
    at: usize,
    slots: &SlotView<'_>,
) -> [AndGate; LENGTH] {
    let spare = slots.count() as u32;
    let idle = AndGate {
        a: spare - SPARE_SLOTS as u32,
        b: spare - SPARE_SLOTS as u32,
        out: spare - 1,
    };
    let mut filled = [idle; LENGTH];
    for (filled, gate) in filled[at..].iter_mut().zip(gates) {
        *filled = *gate;
    }
    filled
}

/// The number of slots at the end that no program uses: one that stays zero, and one that is only
/// written.
const SPARE_SLOTS: usize = 2;

/// Returns the number of slots that are kept for a program with `slots`: a power of two, with the
/// spare ones last.
pub(crate) const fn length_for(slots: usize) -> usize {
    (slots + SPARE_SLOTS).next_power_of_two()
}

/// Labels by slot, with some slots that no program uses. Wiped on drop.
#[derive(Default)]
pub struct Slots(Vec<Block>);

impl Zeroize for Slots {
    fn zeroize(&mut self) {
        // Room behind the last program's slots, where larger programs had theirs, would otherwise
        // be wiped byte by byte.
        self.0.resize(self.0.capacity(), Block::ZERO);
        self.0.zeroize();
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl ZeroizeOnDrop for Slots {}

impl Slots {
    /// Makes room for `program` and puts `inputs` into their slots. Leaves no copy of old labels in
    /// freed memory.
    ///
    /// # Panics
    ///
    /// If the number of `inputs` is not the program's.
    pub fn begin(&mut self, program: &Program, inputs: &[Block]) {
        assert_eq!(
            inputs.len(),
            program.inputs(),
            "a program is begun with as many inputs as it has"
        );
        let length = length_for(program.slots());
        self.make_room(length);
        self.0.resize(length, Block::ZERO);
        self.0[length - SPARE_SLOTS] = Block::ZERO;
        self.0[..inputs.len()].copy_from_slice(inputs);
    }

    /// Makes room for this number of labels. Leaves no copy of old labels in freed memory.
    fn make_room(&mut self, length: usize) {
        if length > self.0.capacity() {
            self.zeroize();
            self.0 = Vec::with_capacity(length);
        }
    }

    /// Holds only these `count` labels, from slot 0 on, until the next program begins.
    pub fn hold(&mut self, labels: impl Iterator<Item = Block>, count: usize) {
        self.zeroize();
        self.make_room(count);
        self.0.clear();
        self.0.extend(labels.take(count));
    }

    /// Returns all slots, a power of two of them, with the spare ones last.
    pub fn as_mut_slice(&mut self) -> &mut [Block] {
        &mut self.0
    }

    /// Returns the label in `slot`.
    pub fn get(&self, slot: u32) -> Block {
        self.0[slot as usize]
    }
}

impl core::fmt::Debug for Slots {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Slots(of {} labels)", self.0.len())
    }
}
