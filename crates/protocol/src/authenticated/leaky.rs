//! Leaky ANDs: ⟨x⟩, ⟨y⟩, ⟨z⟩ with z = xy, of which a cheating party learns the other's x at a risk.
//!
//! Katz, Ranellucci, Rosulek and Wang (CRYPTO 2018), section 4.2, the improved leaky AND. With
//! c = y(Δ_A ⊕ Δ_B), of which both hold a part without a message, each sends one block
//! G = H(K) ⊕ H(K ⊕ Δ) ⊕ c, K its key of the other's part of x, and has
//! S = H(K) ⊕ H(M) ⊕ x·(G' ⊕ c) ⊕ z(Δ_A ⊕ Δ_B), its parts throughout. Both S sum to
//! (xy ⊕ z)(Δ_A ⊕ Δ_B), whose bit 1 is d = xy ⊕ z. z is turned by d, and then S ⊕ dΔ must be the
//! same at both: [`equality`](super::equality) compares a whole lot.
//!
//! Whoever sends a wrong G shifts the other's S by it if the other's bit of x is 1: it is caught
//! then, and else knows that this bit is 0. y and z never leak.
//!
//! **Assumption**: H is a tweakable hash, circular correlation robust for inputs that the peer
//! chooses (it chooses its MACs): the two-call construction of [`tacit_kernels::hash`], in the ideal-cipher model. Its
//! start comes from the epoch and the lot, its tweak names the leaky AND and whose key it is.
//!
//! **Cost**: three hashes, six cipher calls, at each party; 16 bytes and a bit each way.

use std::ops::Range;

use subtle::Choice;
use tacit_circuit::Role;
use tacit_kernels::{Block, Tweak, TweakableHash, Use};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::share::{Share, Shares};
use crate::malicious::bits::bit;

/// Leaky ANDs of a message.
pub(super) const CHUNK: usize = 4096;

/// What a lot's leaky ANDs are computed with.
pub(super) struct LeakyKeys {
    pub(super) role: Role,
    pub(super) delta: Zeroizing<Block>,
    pub(super) one: Zeroizing<Share>,
    pub(super) hash: TweakableHash,
}

/// The shares of leaky ANDs, n of them for each layer, layer after layer.
#[derive(Default)]
pub(super) struct LeakyShares {
    pub(super) x: Shares,
    pub(super) y: Shares,
    pub(super) z: Shares,
}

impl LeakyKeys {
    /// The tweak of leaky AND `number` for keys that `holder` holds.
    fn tweak(&self, number: usize, holder: Role) -> Tweak {
        Tweak {
            usage: Use::LeakyAnd,
            instance: 0,
            number: number as u64,
            a: u8::from(holder == Role::Evaluator),
            b: 0,
        }
    }

    /// This party's blocks G, and its S as far as it follows from its own shares.
    pub(super) fn blocks(
        &self,
        shares: &LeakyShares,
        range: Range<usize>,
        blocks: &mut [Block],
        sums: &mut [Block],
    ) {
        sums.copy_from_slice(&shares.x.keys[range.clone()]);
        let first = self.tweak(range.start, self.role);
        self.hash.hash_both(first, *self.delta, sums, blocks);
        let outputs = shares.y.range(range.clone()).zip(shares.z.range(range));
        for ((block, sum), (y, z)) in blocks.iter_mut().zip(sums).zip(outputs) {
            *block ^= *sum ^ y.part_of_both(*self.delta);
            *sum ^= z.part_of_both(*self.delta);
        }
    }

    /// Adds to `sums` what comes of the other party's blocks.
    pub(super) fn add_blocks(
        &self,
        shares: &LeakyShares,
        range: Range<usize>,
        others: impl Iterator<Item = Block>,
        sums: &mut [Block],
    ) {
        let macs = &shares.x.macs[range.clone()];
        let mut hashes = Zeroizing::new(macs.to_vec());
        let first = self.tweak(range.start, self.role.other());
        self.hash.hash(first, &mut hashes);
        let inputs = macs.iter().zip(shares.y.range(range)).zip(hashes.iter());
        for ((sum, other), ((x, y), hash)) in sums.iter_mut().zip(others).zip(inputs) {
            *sum ^= *hash ^ (other ^ y.part_of_both(*self.delta)).and_bit(x.lsb());
        }
    }

    /// Turns z where the bits of both parties say so, and S with it: then it is what both must
    /// have the same.
    pub(super) fn correct(
        &self,
        z: &mut Shares,
        range: Range<usize>,
        sums: &mut [Block],
        others: &[u8],
    ) {
        for (i, (sum, (mac, key))) in sums.iter_mut().zip(z.range_mut(range)).enumerate() {
            let turn = second_bit(*sum) ^ Choice::from(u8::from(bit(others, i)));
            *sum ^= self.delta.and_bit(turn);
            let one = self.one.times(turn);
            *mac ^= one.mac;
            *key ^= one.key;
        }
    }
}

/// Bit 1, which shows d.
fn second_bit(sum: Block) -> Choice {
    Choice::from((sum.to_u128() >> 1) as u8 & 1)
}

/// Bit 1 of each S, packed.
pub(super) fn correction_bits(sums: &[Block]) -> Vec<u8> {
    pack(sums.iter().map(|sum| second_bit(*sum)))
}

/// Bits, eight a byte, least significant first.
pub(super) fn pack(bits: impl Iterator<Item = Choice>) -> Vec<u8> {
    let mut packed = Vec::with_capacity(bits.size_hint().0.div_ceil(8));
    let (mut byte, mut filled) = (0, 0);
    for bit in bits {
        byte |= bit.unwrap_u8() << filled;
        filled += 1;
        if filled == 8 {
            packed.push(std::mem::take(&mut byte));
            filled = 0;
        }
    }
    if filled > 0 {
        packed.push(byte);
    }
    packed
}

/// The blocks of `bytes`.
pub(super) fn blocks_of(bytes: &[u8]) -> impl Iterator<Item = Block> {
    let (blocks, _) = bytes.as_chunks();
    blocks.iter().map(|bytes| Block::from_bytes(*bytes))
}

/// Appends the bytes of `blocks`.
pub(super) fn append_blocks(message: &mut Vec<u8>, blocks: &[Block]) {
    message.reserve(blocks.len() * Block::BYTES);
    for block in blocks {
        message.extend_from_slice(&block.to_bytes());
    }
}

/// So many blocks, all zero.
pub(super) fn zero_blocks(count: usize) -> Outputs {
    Zeroizing::new(vec![Block::ZERO; count])
}
