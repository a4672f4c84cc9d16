//! The walk through a segment's batches, and the slots that hold the labels.

use core::ops::Range;

use tacit_circuit::{AndGate, Batch, Program, XorGate};
use tacit_kernels::Block;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The gates of one segment, in the order in which they are computed.
#[derive(Clone, Copy)]
pub(super) struct Gates<'a> {
    pub(super) batches: &'a [Batch],
    pub(super) xors: &'a [XorGate],
    pub(super) ands: &'a [AndGate],
    /// The number of the first AND gate.
    pub(super) first_and: u64,
}

impl<'a> Gates<'a> {
    /// The gates of `segment`.
    pub(super) fn of(program: &'a Program, segment: usize) -> Self {
        let segment = &program.segments()[segment];
        let range = |range: &Range<usize>| range.clone();
        Self {
            batches: &program.batches()[range(&segment.batches)],
            xors: &program.xors()[range(&segment.xors)],
            ands: &program.ands()[range(&segment.ands)],
            first_and: segment.ands.start as u64,
        }
    }
}

/// Computes XOR gates, in order.
#[inline(always)]
pub(super) fn xor_gates(slots: &mut [Block], gates: &[XorGate]) {
    for gate in gates {
        slots[gate.out as usize] = slots[gate.a as usize] ^ slots[gate.b as usize];
    }
}

/// Labels by slot, and one slot more that fills up the last step of a batch. Wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Slots(Vec<Block>);

impl Slots {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Makes room for `program` and puts `inputs` where it expects them.
    pub(super) fn begin(&mut self, program: &Program, inputs: &[Block]) {
        assert_eq!(
            inputs.len(),
            program.inputs(),
            "a program is begun with as many inputs as it has"
        );
        self.reserve(program.slots());
        self.0[..inputs.len()].copy_from_slice(inputs);
    }

    /// Makes room for `slots` labels; never leaves a copy of old ones in freed memory.
    pub(super) fn reserve(&mut self, slots: usize) {
        if slots + 1 > self.0.capacity() {
            self.0.zeroize();
            self.0 = Vec::with_capacity(slots + 1);
        }
        self.0.resize(slots + 1, Block::ZERO);
    }

    /// All slots, the one for filling up last.
    pub(super) fn as_mut_slice(&mut self) -> &mut [Block] {
        &mut self.0
    }

    /// The label in `slot`.
    pub(super) fn get(&self, slot: u32) -> Block {
        self.0[slot as usize]
    }
}
