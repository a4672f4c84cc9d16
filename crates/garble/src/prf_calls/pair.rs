//! The data of garblers of schemes without a global offset: pairs of labels, and random keys.

use core::fmt;

use subtle::{Choice, ConditionallySelectable};
use tacit_kernels::{Aes128, Block, Cpu, Tweak, Use};
use zeroize::{Zeroize, Zeroizing};

use super::KEY;

/// The garbler's representation of a wire: its labels for 0 and for 1, whose select bits differ.
#[derive(Clone, Copy, Default)]
pub struct LabelPair([Block; 2]);

impl LabelPair {
    /// Returns the pair of these labels, for 0 and for 1. Their select bits must differ.
    pub(crate) const fn new(labels: [Block; 2]) -> Self {
        Self(labels)
    }

    /// Returns the label for `value`, which is public.
    pub(crate) fn of(&self, value: bool) -> Block {
        self.0[usize::from(value)]
    }

    /// Returns the pair whose label for `bit` is `active`. The other is `key` with the other select
    /// bit.
    pub(crate) fn with_active(active: Block, bit: Choice, key: Block) -> Self {
        let other = key.with_lsb(!active.lsb());
        let zero = Block::conditional_select(&active, &other, bit);
        let one = Block::conditional_select(&other, &active, bit);
        Self([zero, one])
    }

    /// Returns the pair of the wire's negation, if `negated`, which is public.
    pub(crate) fn negated_if(self, negated: bool) -> Self {
        let Self([zero, one]) = self;
        if negated { Self([one, zero]) } else { self }
    }

    /// Returns π: the value of the label with select bit 0.
    pub(crate) fn permute_bit(&self) -> Choice {
        self.0[0].lsb()
    }

    /// Returns the labels with select bits 0 and 1.
    pub(crate) fn by_select(&self) -> [Block; 2] {
        let Self([mut with_0, mut with_1]) = *self;
        Block::conditional_swap(&mut with_0, &mut with_1, self.permute_bit());
        [with_0, with_1]
    }

    /// Returns the label with this select bit, which is public, and its value.
    pub(crate) fn with_select(&self, select: bool) -> (Block, bool) {
        let select = Choice::from(u8::from(select));
        let [with_0, with_1] = self.by_select();
        let label = Block::conditional_select(&with_0, &with_1, select);
        (label, (self.permute_bit() ^ select).into())
    }

    /// Returns the keys in the order of the select bit, each with its value in bit 0. The keys are
    /// then at the places that an evaluator's point requires, without a choice by a secret.
    pub(crate) fn to_slot(self) -> [Block; 2] {
        let [with_0, with_1] = self.by_select();
        let value = self.permute_bit();
        [with_0.with_lsb(value), with_1.with_lsb(!value)]
    }

    /// Returns the pair that [`LabelPair::to_slot`] converts to these blocks.
    pub(crate) fn from_slot([with_0, with_1]: [Block; 2]) -> Self {
        let value_of_0 = with_0.lsb();
        let mut zero = with_0.with_lsb(Choice::from(0));
        let mut one = with_1.with_lsb(Choice::from(1));
        Block::conditional_swap(&mut zero, &mut one, value_of_0);
        Self([zero, one])
    }
}

impl Zeroize for LabelPair {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for LabelPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LabelPair(..)")
    }
}

/// The random keys of one seed, from AES in counter mode: `AES_{seed[..16]}(seed[16..] ⊕ tweak)`,
/// with bit 0 cleared. They do not depend on the order in which they are drawn.
pub(crate) struct Coins {
    cipher: Aes128,
    first: Zeroizing<Block>,
}

impl Coins {
    pub(crate) fn new(cpu: Cpu, seed: &Zeroizing<[u8; 32]>) -> Self {
        let (mut key, mut first) = (Zeroizing::new([0; 16]), Zeroizing::new([0; 16]));
        key.copy_from_slice(&seed[..16]);
        first.copy_from_slice(&seed[16..]);
        let cipher = Aes128::new(cpu, Block::from_bytes(*key));
        Self {
            cipher,
            first: Zeroizing::new(Block::from_bytes(*first)),
        }
    }

    /// Returns the key for the item with this number.
    pub(crate) fn one(&self, usage: Use, instance: u32, number: u64) -> Block {
        let mut coins = [Block::ZERO];
        self.fill(usage, instance, number, &mut coins);
        coins[0]
    }

    /// Writes the keys for the items from number `first` on.
    pub(crate) fn fill(&self, usage: Use, instance: u32, first: u64, coins: &mut [Block]) {
        self.draw(usage, instance, first, coins);
        coins.iter_mut().for_each(|coin| *coin = *coin & KEY);
    }

    /// Writes all 128 bits of the blocks that [`Coins::fill`] converts to keys.
    pub(crate) fn draw(&self, usage: Use, instance: u32, first: u64, coins: &mut [Block]) {
        for (number, coin) in (first..).zip(&mut *coins) {
            let counter = Tweak {
                usage,
                instance,
                number,
                a: 0,
                b: 0,
            };
            *coin = *self.first ^ counter.to_block();
        }
        self.cipher.encrypt_blocks(coins);
    }
}
