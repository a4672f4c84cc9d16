//! Tweakable circular correlation-robust hashes of labels, from AES as an ideal cipher.
//!
//! Two constructions, both public functions of a start point, a tweak i and a label x:
//!
//! - *two-call* (TMMO of Guo, Katz, Wang and Yu, "Efficient and secure multiparty computation from
//!   fixed-key block ciphers", IEEE S&P 2020): H(x, i) = π(π(x) ⊕ i) ⊕ π(x), with π = AES under
//!   start ⊕ tweak(key epoch, number / 2^10). The tweak enters linearly, so the security depends on
//!   the number of hashes that share a key. A key for each 2^10 numbers leaves 116 to 118 bits
//!   ([`Construction::security_bits`]), for 2^40 gates as for 2^10, whereas one key for 2^40 would
//!   leave 88. Cost: two cipher calls per hash, one key schedule for 2^10 numbers.
//! - *re-keyed* (Guo, Katz, Wang, Weng and Yu, "Better concrete security for half-gates garbling in
//!   the multi-instance setting", CRYPTO 2020): H(x, i) = AES_k(σ(x)) ⊕ σ(x), k = start ⊕ i and
//!   σ(high ‖ low) = (high ⊕ low ‖ high). Without σ, decryption would reveal Δ. A key is used with
//!   two labels of one half-gate and no other, so the bound does not grow with the gates under a
//!   start point: 126 bits, for 2^40 gates too. Cost: a key schedule per tweak, a cipher call per
//!   hash.
//!
//! Both need the tweaks under a start point to be distinct, which [`Tweak`] ensures, and start
//! points to be random.

use core::ops::Range;

use zeroize::Zeroize;

use crate::simd::{MAX_LANES, Simd};
use crate::{Block, Cpu, Kernel, Tweak, Use};

/// The construction of a hash from AES.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Construction {
    /// H(x, i) = π(π(x) ⊕ i) ⊕ π(x), where π has a new key for each 2^10 numbers.
    TwoCall,
    /// H(x, i) = AES_k(σ(x)) ⊕ σ(x), k = start ⊕ i.
    Rekeyed,
}

impl Construction {
    /// Returns the bits of concrete security if an evaluator that looks for Δ can attack `targets`
    /// hidden hashes for each 2^[`EPOCH_BITS`] numbers of an instance.
    ///
    /// The two-call hash has one key for them all, so that one table of the cipher attacks all
    /// targets: 128 bits less log₂ of their number, rounded down. A key of the re-keyed hash is
    /// used with only two labels, which differ by Δ, of which 127 bits are secret. The number of
    /// gates does not matter.
    pub const fn security_bits(self, targets: u32) -> u8 {
        match self {
            Self::TwoCall => 128 - targets.next_power_of_two().ilog2() as u8,
            Self::Rekeyed => 126,
        }
    }
}

/// The number of items (gates, OTs) that share a key of the two-call construction, as a power of
/// two.
pub const EPOCH_BITS: u32 = 10;

/// The vectors of labels, with as many tweaks, in one step of [`TweakableHash`].
const VECTORS: usize = 4;

/// Returns the two-call construction's public AES key for `tweak`: one for each 2^[`EPOCH_BITS`]
/// numbers of an instance.
#[inline(always)]
pub fn epoch_key(start: Block, tweak: Tweak) -> Block {
    let epoch = Tweak {
        usage: Use::KeyEpoch,
        instance: tweak.instance,
        number: tweak.number >> EPOCH_BITS,
        a: 0,
        b: 0,
    };
    start ^ epoch.to_block()
}

/// Returns the vector of tweaks with `first` in lane 0 and numbers that increase from lane to lane.
#[inline(always)]
pub fn counting_tweaks<S: Simd>(simd: S, first: Tweak) -> S::Vector {
    let mut lanes = [first.to_block(); MAX_LANES];
    for (i, lane) in lanes.iter_mut().enumerate() {
        let number = first.number.wrapping_add(i as u64);
        *lane = Tweak { number, ..first }.to_block();
    }
    simd.load(&lanes)
}

/// Returns the value that adds `count` to the numbers of a vector of tweaks, by
/// [`add_halves`](crate::BlockVectors::add_halves).
#[inline(always)]
pub fn number_step<S: Simd>(simd: S, count: usize) -> S::Vector {
    simd.splat(Block::from_u128((count as u128) << 64))
}

/// Makes the second call of the two-call hash, for vectors whose first calls, π(x), are made:
/// `inner[i][..]` under π by `permutations[i]`, whose lanes may have keys of their own, with
/// `tweaks[i][..]`.
#[inline(always)]
pub fn second_call<S: Simd, const N: usize, const M: usize>(
    simd: S,
    permutations: [&S::Schedule; N],
    tweaks: [[S::Vector; M]; N],
    inner: [[S::Vector; M]; N],
) -> [[S::Vector; M]; N] {
    let outer = simd.encrypt(permutations, xor_all(simd, inner, tweaks));
    xor_all(simd, outer, inner)
}

/// Computes the re-keyed hash of vectors, `x[i][j][..]` under `keys[i][j]` = start ⊕ tweak.
#[inline(always)]
pub fn rekeyed<S: Simd, const G: usize, const M: usize>(
    simd: S,
    keys: [[S::Vector; 4]; G],
    mut x: [[[S::Vector; M]; 4]; G],
) -> [[[S::Vector; M]; 4]; G] {
    for x in &mut x {
        *x = sigma_all(simd, *x);
    }
    let mut hashes = simd.encrypt_rekeyed(keys, x);
    for (hashes, x) in hashes.iter_mut().zip(x) {
        *hashes = xor_all(simd, *hashes, x);
    }
    hashes
}

/// Does the same as [`rekeyed`] with keys that are already expanded, for cases where latency
/// matters.
#[inline(always)]
pub fn rekeyed_expanded<S: Simd, const N: usize, const M: usize>(
    simd: S,
    schedules: [&S::Schedule; N],
    x: [[S::Vector; M]; N],
) -> [[S::Vector; M]; N] {
    let x = sigma_all(simd, x);
    xor_all(simd, simd.encrypt(schedules, x), x)
}

#[inline(always)]
fn sigma_all<S: Simd, const N: usize, const M: usize>(
    simd: S,
    mut x: [[S::Vector; M]; N],
) -> [[S::Vector; M]; N] {
    for x in &mut x {
        for x in x {
            *x = simd.sigma(*x);
        }
    }
    x
}

#[inline(always)]
fn xor_all<S: Simd, const N: usize, const M: usize>(
    simd: S,
    mut a: [[S::Vector; M]; N],
    b: [[S::Vector; M]; N],
) -> [[S::Vector; M]; N] {
    for (a, b) in a.iter_mut().zip(b) {
        for (a, b) in a.iter_mut().zip(b) {
            *a = simd.xor(*a, b);
        }
    }
    a
}

/// A tweakable hash with its start point. It is public; the hashed values are not.
#[derive(Clone, Copy, Debug)]
pub struct TweakableHash {
    construction: Construction,
    start: Block,
    cpu: Cpu,
}

impl TweakableHash {
    /// Returns the hash that starts at `start`, on the fastest backend.
    pub fn new(construction: Construction, start: Block) -> Self {
        Self::on(Cpu::detect(), construction, start)
    }

    /// Returns the hash that starts at `start`, on a chosen backend.
    pub const fn on(cpu: Cpu, construction: Construction, start: Block) -> Self {
        Self {
            construction,
            start,
            cpu,
        }
    }

    /// Computes H(x, tweak).
    pub fn hash_one(&self, tweak: Tweak, x: Block) -> Block {
        let mut blocks = [x];
        self.hash(tweak, &mut blocks);
        blocks[0]
    }

    /// Replaces `blocks[i]` by its hash under `first` with i added to its number.
    ///
    /// # Panics
    ///
    /// If the numbers exceed 64 bits.
    pub fn hash(&self, first: Tweak, blocks: &mut [Block]) {
        self.run(first, &Block::ZERO, [blocks], None);
    }

    /// Does the same as [`TweakableHash::hash`] for `a[i]` and, with 1 added to the tweak's field
    /// a, for `b[i]`: both inputs of gates, under keys that are expanded once.
    ///
    /// # Panics
    ///
    /// If the lengths differ or the numbers exceed 64 bits.
    pub fn hash_inputs(&self, first: Tweak, [a, b]: [&mut [Block]; 2]) {
        self.run(first, &Block::ZERO, [a], Some([b]));
    }

    /// Replaces `zeros[i]` by its hash, as [`TweakableHash::hash`] does, and writes the hash of
    /// `zeros[i] ⊕ offset` under the same tweak to `ones[i]`, at the cost of one key schedule.
    /// Neither `offset` nor the hashed values stay on the stack.
    ///
    /// # Panics
    ///
    /// If the lengths differ or the numbers exceed 64 bits.
    pub fn hash_both(&self, first: Tweak, offset: &Block, zeros: &mut [Block], ones: &mut [Block]) {
        self.run(first, offset, [zeros, ones], None);
    }

    /// Does the same as [`TweakableHash::hash_both`]. Also replaces `others[i]`, which are
    /// unrelated blocks, by their hashes under the same tweaks, at the cost of one key schedule for
    /// all three.
    ///
    /// # Panics
    ///
    /// If the lengths differ or the numbers exceed 64 bits.
    pub fn hash_both_and(
        &self,
        first: Tweak,
        offset: &Block,
        zeros: &mut [Block],
        [ones, others]: [&mut [Block]; 2],
    ) {
        self.run(first, offset, [zeros, ones, others], None);
    }

    /// Does the same as [`TweakableHash::hash_both`] for the zeros and ones of both inputs of
    /// gates, as [`TweakableHash::hash_inputs`] does.
    ///
    /// # Panics
    ///
    /// If the lengths differ or the numbers exceed 64 bits.
    pub fn hash_both_inputs(&self, first: Tweak, offset: &Block, [a, b]: [[&mut [Block]; 2]; 2]) {
        self.run(first, offset, a, Some(b));
    }

    /// Makes up to three hashes per tweak: of a block, of it ⊕ `offset`, and of another block.
    /// Makes those of a second input, too, if there is one.
    fn run<const M: usize>(
        &self,
        first: Tweak,
        offset: &Block,
        mut blocks: [&mut [Block]; M],
        mut second: Option<[&mut [Block]; M]>,
    ) {
        let length = blocks[0].len();
        let mut all = blocks.iter().chain(second.iter().flatten());
        assert!(
            all.all(|blocks| blocks.len() == length),
            "as many hashes of each kind"
        );
        let mut done = 0;
        while done < length {
            let number = first
                .number
                .checked_add(done as u64)
                .expect("tweak numbers of a batch fit in 64 bits");
            // This takes one key epoch at a time, so that a kernel has one permutation.
            let in_epoch = (1 << EPOCH_BITS) - (number as usize & ((1 << EPOCH_BITS) - 1));
            let end = length.min(done + in_epoch);
            let epoch = HashEpoch {
                hash: *self,
                first: Tweak { number, ..first },
                offset,
                blocks: part(&mut blocks, done..end),
                second: second.as_mut().map(|blocks| part(blocks, done..end)),
            };
            match M {
                1 => self.cpu.dispatch(epoch),
                _ => self.cpu.dispatch_and_wipe(epoch),
            }
            done = end;
        }
    }
}

/// Returns this part of each.
fn part<'a, const M: usize>(
    blocks: &'a mut [&mut [Block]; M],
    range: Range<usize>,
) -> [&'a mut [Block]; M] {
    blocks
        .each_mut()
        .map(|blocks| &mut blocks[range.start..range.end])
}

/// Makes the hashes of blocks whose numbers are in one key epoch.
struct HashEpoch<'a, const M: usize> {
    hash: TweakableHash,
    first: Tweak,
    offset: &'a Block,
    blocks: [&'a mut [Block]; M],
    second: Option<[&'a mut [Block]; M]>,
}

impl<const M: usize> Kernel for HashEpoch<'_, M> {
    type Output = ();

    /// Returns whether it fills a step.
    fn gains_by_width(&self) -> bool {
        self.blocks[0].len() >= VECTORS * MAX_LANES
    }

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let permutation = simd.expand(simd.splat(epoch_key(self.hash.start, self.first)));
        let keys = |first| StepKeys {
            construction: self.hash.construction,
            start: simd.splat(self.hash.start),
            offset: simd.splat(*self.offset),
            permutation: &permutation,
            tweak: counting_tweaks(simd, first),
        };
        hash_all(simd, keys(self.first), self.blocks);
        if let Some(blocks) = self.second {
            let a = self.first.a + 1;
            hash_all(simd, keys(Tweak { a, ..self.first }), blocks);
        }
    }
}

/// Hashes the blocks of one input, step by step.
#[inline(always)]
fn hash_all<S: Simd, const M: usize>(
    simd: S,
    mut keys: StepKeys<'_, S>,
    mut blocks: [&mut [Block]; M],
) {
    let step = VECTORS * S::LANES;
    let length = blocks[0].len();
    let full = length - length % step;
    for at in (0..full).step_by(step) {
        let blocks = blocks.each_mut().map(|blocks| &mut blocks[at..at + step]);
        hash_step(simd, &mut keys, blocks);
    }
    if full < length {
        let mut padded = [[Block::ZERO; VECTORS * MAX_LANES]; M];
        padded[0][..length - full].copy_from_slice(&blocks[0][full..]);
        for j in OFFSET + 1..M {
            padded[j][..length - full].copy_from_slice(&blocks[j][full..]);
        }
        hash_step(simd, &mut keys, padded.each_mut().map(|b| &mut b[..]));
        for (blocks, padded) in blocks.into_iter().zip(&padded) {
            blocks[full..].copy_from_slice(&padded[..length - full]);
        }
        padded.as_flattened_mut().zeroize();
    }
}

/// The common part of the steps of [`HashEpoch`].
struct StepKeys<'a, S: Simd> {
    construction: Construction,
    start: S::Vector,
    offset: S::Vector,
    permutation: &'a S::Schedule,
    /// The tweaks of the next vector.
    tweak: S::Vector,
}

/// The index among a tweak's blocks of the one that is the first ⊕ the offset.
const OFFSET: usize = 1;

/// Makes one step of [`HashEpoch`]: [`VECTORS`] vectors of labels, with `M` hashes each.
#[inline(always)]
fn hash_step<S: Simd, const M: usize>(
    simd: S,
    keys: &mut StepKeys<'_, S>,
    mut blocks: [&mut [Block]; M],
) {
    let mut tweaks = [[keys.tweak; M]; VECTORS];
    let mut x = [[keys.offset; M]; VECTORS];
    for (i, (x, tweaks)) in x.iter_mut().zip(&mut tweaks).enumerate() {
        *tweaks = [keys.tweak; M];
        keys.tweak = simd.add_halves(keys.tweak, number_step(simd, S::LANES));
        x[0] = simd.load(&blocks[0][i * S::LANES..]);
        for j in 1..M {
            x[j] = match j {
                OFFSET => simd.xor(x[0], keys.offset),
                _ => simd.load(&blocks[j][i * S::LANES..]),
            };
        }
    }
    let hashes = match keys.construction {
        Construction::TwoCall => {
            let permutations = [keys.permutation; VECTORS];
            let inner = simd.encrypt(permutations, x);
            second_call(simd, permutations, tweaks, inner)
        }
        Construction::Rekeyed => {
            let mut round_zero = [keys.start; VECTORS];
            for (key, tweaks) in round_zero.iter_mut().zip(tweaks) {
                *key = simd.xor(*key, tweaks[0]);
            }
            let [hashes] = rekeyed(simd, [round_zero], [x]);
            hashes
        }
    };
    for (i, hashes) in hashes.into_iter().enumerate() {
        for (blocks, hash) in blocks.iter_mut().zip(hashes) {
            simd.store(hash, &mut blocks[i * S::LANES..]);
        }
    }
}

#[cfg(test)]
mod tests;
