//! Shares of bits with MACs: ⟨v⟩ of Wang, Ranellucci and Katz (CCS 2017), section 3.
//!
//! v = a ⊕ b. The garbler holds a, its MAC M_a = K_a ⊕ aΔ_B and the key K_b; the evaluator holds b,
//! M_b = K_b ⊕ bΔ_A and K_a. **Bit 0** of both Δ is set and of every key clear, so that bit 0 of a
//! MAC is the bit that it authenticates. So each party's half is its MAC and its key of the other's,
//! and sums of shares are sums of halves.

use std::ops::{BitXor, BitXorAssign, Range};

use subtle::Choice;
use tacit_kernels::Block;
use tacit_ot::Outputs;
use zeroize::{DefaultIsZeroes, Zeroizing};

/// One party's half of ⟨v⟩. The half of ⟨0⟩ with no secrets is the default. Secret.
#[derive(Clone, Copy, Default)]
pub(super) struct Share {
    /// The MAC of this party's bit, with the bit in bit 0.
    pub(super) mac: Block,
    /// The key of the other party's bit.
    pub(super) key: Block,
}

impl DefaultIsZeroes for Share {}

impl BitXor for Share {
    type Output = Self;
    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self {
            mac: self.mac ^ other.mac,
            key: self.key ^ other.key,
        }
    }
}

impl BitXorAssign for Share {
    #[inline(always)]
    fn bitxor_assign(&mut self, other: Self) {
        *self = *self ^ other;
    }
}

impl Share {
    /// This half of ⟨bit · v⟩, for a public bit.
    #[inline(always)]
    pub(super) fn times(self, bit: Choice) -> Self {
        Self {
            mac: self.mac.and_bit(bit),
            key: self.key.and_bit(bit),
        }
    }

    /// This party's bit.
    #[inline(always)]
    pub(super) fn bit(self) -> Choice {
        self.mac.lsb()
    }

    /// This party's part of vΔ, with its own Δ; both parts sum to v(Δ_A ⊕ Δ_B): K ⊕ M ⊕ bit·Δ.
    #[inline(always)]
    pub(super) fn part_of_both(self, delta: Block) -> Block {
        self.key ^ self.mac ^ delta.and_bit(self.bit())
    }

    /// The garbler's part of vΔ_A; the evaluator's is its MAC.
    #[inline(always)]
    pub(super) fn garblers_part(self, delta: Block) -> Block {
        self.key ^ delta.and_bit(self.bit())
    }

    /// The MAC that the other party must have if its bit is this one.
    #[inline(always)]
    pub(super) fn others_mac(self, bit: Choice, delta: Block) -> Block {
        self.key ^ delta.and_bit(bit)
    }
}

/// Halves of many shares: MACs and keys apart, as OTs give them. Wiped when dropped.
#[derive(Default)]
pub(super) struct Shares {
    pub(super) macs: Outputs,
    pub(super) keys: Outputs,
}

impl Shares {
    /// Room for so many, all zero.
    pub(super) fn zeros(count: usize) -> Self {
        let zeros = || Zeroizing::new(vec![Block::ZERO; count]);
        Self {
            macs: zeros(),
            keys: zeros(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.macs.len()
    }

    #[inline(always)]
    pub(super) fn at(&self, i: usize) -> Share {
        Share {
            mac: self.macs[i],
            key: self.keys[i],
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, i: usize, share: Share) {
        (self.macs[i], self.keys[i]) = (share.mac, share.key);
    }

    /// Those of `range`, in order.
    pub(super) fn range(&self, range: Range<usize>) -> impl Iterator<Item = Share> {
        let both = self.macs[range.clone()].iter().zip(&self.keys[range]);
        both.map(|(mac, key)| Share {
            mac: *mac,
            key: *key,
        })
    }

    /// Those of `range`, to be written.
    pub(super) fn range_mut(
        &mut self,
        range: Range<usize>,
    ) -> impl Iterator<Item = (&mut Block, &mut Block)> {
        let macs = self.macs[range.clone()].iter_mut();
        macs.zip(&mut self.keys[range])
    }

    /// The first `count`, in memory of their own.
    pub(super) fn into_first(self, count: usize) -> Self {
        let first = |blocks: &[Block]| Zeroizing::new(blocks[..count].to_vec());
        Self {
            macs: first(&self.macs),
            keys: first(&self.keys),
        }
    }
}
