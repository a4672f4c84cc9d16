//! A gate that is alone in its batch: its two halves in the lanes of a vector.
//!
//! A lone gate waits for the one before, and the next gate waits for it. Its latency matters, and
//! it should take few instructions, so that the CPU can look ahead to the next gate. The label that
//! was written last stays in a register: reading it back from its slot takes about as long as two
//! rounds of AES.
//!
//! A *pair* is `N` vectors that hold a block of the first half and one of the second: in the first
//! two lanes of one vector, or each in a vector of a single lane. Further lanes repeat the second.

use tacit_circuit::{NEGATED, XorGate};
use tacit_kernels::{Block, Numbered, Simd, SlotView};

/// The most XOR gates before a lone gate for which the register is checked for its label.
const FEW_XORS: usize = 4;

/// The masks of a pair's blocks: the first half's, then the second's.
const HALVES: [Block; 2] = [Block::ONES, Block::ZERO];

/// Returns the half to which lane `lane` of vector `v` of a pair belongs.
#[inline(always)]
pub(crate) fn half_of_lane<S: Simd>(v: usize, lane: usize) -> usize {
    (v * S::LANES + lane).min(1)
}

/// Returns the pair with the lanes of `first` and `second`.
#[inline(always)]
pub(crate) fn pair<S: Simd, const N: usize>(
    simd: S,
    first: S::Vector,
    second: S::Vector,
) -> [S::Vector; N] {
    let (mut pair, between) = ([second; N], simd.xor(first, second));
    for (v, vector) in pair.iter_mut().enumerate() {
        let mask = simd.gather(&HALVES, |lane| half_of_lane::<S>(v, lane));
        *vector = simd.xor(*vector, simd.and(between, mask));
    }
    pair
}

/// The label that was written last, in every lane, and its slot. The slots that are read are
/// public.
pub(super) struct Recent<S: Simd> {
    slot: u32,
    label: S::Vector,
}

impl<S: Simd> Recent<S> {
    /// Returns a state without a label.
    #[inline(always)]
    pub(super) fn none(simd: S) -> Self {
        Self {
            // This is not the number of a slot.
            slot: NEGATED,
            label: simd.splat(Block::ZERO),
        }
    }

    /// Returns the label in `slot`, in every lane.
    #[inline(always)]
    pub(super) fn read(&self, simd: S, slots: &SlotView<'_>, slot: u32) -> S::Vector {
        if slot == self.slot {
            self.label
        } else {
            simd.splat(*slots.at(slot as usize))
        }
    }

    #[inline(always)]
    pub(super) fn write(&mut self, simd: S, slots: &mut SlotView<'_>, slot: u32, label: S::Vector) {
        simd.store_first(label, slots.at_mut(slot as usize));
        *self = Self { slot, label };
    }

    /// Computes the XOR gates before a lone gate, in order.
    #[inline(always)]
    pub(super) fn xor_gates(&mut self, simd: S, slots: &mut SlotView<'_>, gates: &[XorGate]) {
        if gates.len() > FEW_XORS {
            super::gates::xor_gates(slots, gates);
            *self = Self::none(simd);
            return;
        }
        for gate in gates {
            let a = self.read(simd, slots, gate.a);
            let label = simd.xor(a, self.read(simd, slots, gate.b));
            self.write(simd, slots, gate.out, label);
        }
    }
}
