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
    /// The gates of `segment`.
    ///
    /// # Panics
    ///
    /// If the program has no such segment.
    #[must_use]
    pub fn of(program: &'a Program, segment: usize) -> Self {
        let segment = &program.segments()[segment];
        Self {
            batches: &program.batches()[segment.batches.clone()],
            xors: &program.xors()[segment.xors.clone()],
            ands: &program.ands()[segment.ands.clone()],
            first_and: segment.ands.start as u64,
        }
    }

    /// Whether a batch has at least this many AND gates, on average.
    pub(crate) fn has_batches_of(&self, ands: usize) -> bool {
        self.ands.len() / ands >= self.batches.len()
    }
}

/// Computes XOR gates, in order.
#[inline(always)]
pub(super) fn xor_gates(slots: &mut SlotView<'_>, gates: &[XorGate]) {
    slots.xor_gates(gates, |gate| [gate.a, gate.b, gate.out]);
}

/// Fills up a vector of gates whose lanes from `at` on are `gates`, with gates that read zeros and
/// write where nobody reads.
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

/// Slots at the end that no program uses: one that stays zero, and one that is only written.
const SPARE_SLOTS: usize = 2;

/// How many slots are kept for a program with `slots`: a power of two, the spare ones last.
pub(crate) const fn length_for(slots: usize) -> usize {
    (slots + SPARE_SLOTS).next_power_of_two()
}

/// Labels by slot, and some that no program uses. Wiped when dropped.
#[derive(Default)]
pub struct Slots(Vec<Block>);

impl Zeroize for Slots {
    fn zeroize(&mut self) {
        // Room behind the last program's slots, where those of larger programs were, would be wiped
        // byte by byte.
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
    /// Makes room for `program` and puts `inputs` where it expects them. Leaves no copy of old
    /// labels in freed memory.
    ///
    /// # Panics
    ///
    /// If `inputs` are not as many as the program has.
    pub fn begin(&mut self, program: &Program, inputs: &[Block]) {
        assert_eq!(
            inputs.len(),
            program.inputs(),
            "a program is begun with as many inputs as it has"
        );
        let length = length_for(program.slots());
        if length > self.0.capacity() {
            self.zeroize();
            self.0 = Vec::with_capacity(length);
        }
        self.0.resize(length, Block::ZERO);
        self.0[length - SPARE_SLOTS] = Block::ZERO;
        self.0[..inputs.len()].copy_from_slice(inputs);
    }

    /// All slots, a power of two of them, the spare ones last.
    pub fn as_mut_slice(&mut self) -> &mut [Block] {
        &mut self.0
    }

    /// The label in `slot`.
    #[must_use]
    pub fn get(&self, slot: u32) -> Block {
        self.0[slot as usize]
    }
}

impl core::fmt::Debug for Slots {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Slots(of {} labels)", self.0.len())
    }
}
