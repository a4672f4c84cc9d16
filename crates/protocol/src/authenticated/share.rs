//! Shares of bits with MACs: ⟨v⟩ of Wang, Ranellucci and Katz (CCS 2017), section 3.
//!
//! v = a ⊕ b. The garbler holds a, its MAC M_a = K_a ⊕ aΔ_B and the key K_b. The evaluator holds b,
//! M_b = K_b ⊕ bΔ_A and K_a. **Bit 0** of both Δ is set and bit 0 of every key is clear, so bit 0
//! of a MAC is the bit that it authenticates. So each party's half consists of its MAC and its key
//! of the other party's bit, and sums of shares are sums of halves.

use std::ops::{BitXor, BitXorAssign, Range};

use subtle::Choice;
use tacit_kernels::Block;
use tacit_ot::Outputs;
use zeroize::DefaultIsZeroes;

/// One party's half of ⟨v⟩. The default is the half of ⟨0⟩ without secrets. Secret.
#[derive(Clone, Copy, Default)]
pub(crate) struct Share {
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
    /// Returns this party's bit.
    #[inline(always)]
    pub(super) fn bit(self) -> Choice {
        self.mac.lsb()
    }

    /// Returns the share with this party's own bit, times its Δ, added to the key; or, from such a
    /// share, the original one. Such keys add up as bits do, and are parts of vΔ.
    #[inline(always)]
    pub(super) fn turned(self, delta: Block) -> Self {
        Self {
            mac: self.mac,
            key: self.others_mac(self.bit(), delta),
        }
    }

    /// Returns the MAC that the other party must have if its bit is `bit`.
    #[inline(always)]
    pub(super) fn others_mac(self, bit: Choice, delta: Block) -> Block {
        self.key ^ delta.and_bit(bit)
    }
}

/// Halves of many shares, with MACs and keys in separate columns, as OTs give them. Wiped when
/// dropped.
#[derive(Default)]
pub(super) struct Shares {
    pub(super) macs: Outputs,
    pub(super) keys: Outputs,
}

impl Shares {
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

    /// Returns the MACs of this party's bits, or the keys of the other party's.
    pub(super) fn column(&mut self, of_own_bits: bool) -> &mut Outputs {
        if of_own_bits {
            &mut self.macs
        } else {
            &mut self.keys
        }
    }

    /// Returns the MACs and keys of the shares in `range`.
    pub(super) fn columns(&self, range: Range<usize>) -> [&[Block]; 2] {
        [&self.macs[range.clone()], &self.keys[range]]
    }

    /// Returns the MACs and keys of the shares in `range`, mutably.
    pub(super) fn columns_mut(&mut self, range: Range<usize>) -> [&mut [Block]; 2] {
        [&mut self.macs[range.clone()], &mut self.keys[range]]
    }
}
