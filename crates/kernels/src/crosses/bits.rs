//! Bit 0 of each hash, for crosses with one gate.
//!
//! The bits are taken from the vectors in which the hashes are made, so no hash is written to
//! memory. The OTs are read once, and their memory is wiped as they are.

use zeroize::Zeroize;

use super::{CrossHash, low_bits};
use crate::hash::{EPOCH_BITS, rekeyed_expanded};
use crate::simd::{MAX_LANES, Simd};
use crate::{Block, Kernel};

/// The number of OTs whose bits make a word.
const WORD: usize = u64::BITS as usize;

impl CrossHash {
    /// Writes the choice of each OT, numbered from `number` on, and bit 0 of H(t), 64 of each to a
    /// word, from the lowest on: the receiver's half. Bits after the last are zero. Wipes `t`.
    ///
    /// # Panics
    ///
    /// If the rows do not have as many words as the bits need, or the numbers exceed 64 bits.
    pub fn hash_to_bits(&self, number: u64, t: &mut [Block], rows: [&mut [u64]; 2]) {
        self.hash_words::<1, 8>(number, &Block::ZERO, t, rows);
    }

    /// Writes bit 0 of r = H(q) and of α = H(q) ⊕ H(q ⊕ `delta`) of each OT, as
    /// [`hash_to_bits`](Self::hash_to_bits) does: the sender's half. Wipes `q`.
    ///
    /// # Panics
    ///
    /// As [`hash_to_bits`](Self::hash_to_bits).
    pub fn hash_both_to_bits(
        &self,
        number: u64,
        delta: &Block,
        q: &mut [Block],
        rows: [&mut [u64]; 2],
    ) {
        self.hash_words::<2, 4>(number, delta, q, rows);
    }

    /// Writes both rows. OTs that are no whole word under one key are hashed as blocks first.
    fn hash_words<const M: usize, const V: usize>(
        &self,
        number: u64,
        delta: &Block,
        ots: &mut [Block],
        rows: [&mut [u64]; 2],
    ) {
        let words = ots.len().div_ceil(WORD);
        assert!(
            rows.iter().all(|row| row.len() == words),
            "rows of as many words"
        );
        let [first, second] = rows;
        let mut done = 0;
        while done < words {
            let begin = done * WORD;
            let number = number.checked_add(begin as u64);
            let number = number.expect("numbers of OTs fit in 64 bits");
            let in_epoch = (1 << EPOCH_BITS) - (number as usize & ((1 << EPOCH_BITS) - 1));
            let count = in_epoch.min(ots.len() - begin) / WORD;
            let end = done + count.max(1);
            let ots_end = ots.len().min(end * WORD);
            let ots = &mut ots[begin..ots_end];
            let rows = [&mut first[done..end], &mut second[done..end]];
            if count > 0 {
                self.cpu.dispatch_and_wipe(EpochBits::<M, V> {
                    key: self.key(number),
                    delta,
                    ots,
                    rows,
                });
            } else {
                let mut hashes = [Block::ZERO; WORD];
                let hashes = &mut hashes[..ots.len()];
                if M == 1 {
                    hashes.copy_from_slice(ots);
                    self.hash(number, hashes);
                } else {
                    self.hash_both(number, delta, ots, hashes);
                    for (one, zero) in hashes.iter_mut().zip(&*ots) {
                        *one ^= *zero;
                    }
                }
                let [first, second] = rows;
                low_bits(ots, first);
                low_bits(hashes, second);
                ots.zeroize();
                hashes.zeroize();
            }
            done = end;
        }
    }
}

/// Makes the bits of whole words under one key. The parameters are those of
/// [`Epoch`](super::Epoch).
struct EpochBits<'a, const M: usize, const V: usize> {
    key: Block,
    delta: &'a Block,
    ots: &'a mut [Block],
    rows: [&'a mut [u64]; 2],
}

impl<const M: usize, const V: usize> Kernel for EpochBits<'_, M, V> {
    type Output = ();

    fn gains_by_width(&self) -> bool {
        true
    }

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let schedule = simd.expand(simd.splat(self.key));
        let (delta, zero) = (simd.splat(*self.delta), simd.splat(Block::ZERO));
        let bit = simd.splat(Block::from_u128(1));
        let [first, second] = self.rows;
        let words = self.ots.as_chunks_mut::<WORD>().0.iter_mut();
        for (ots, (first, second)) in words.zip(first.iter_mut().zip(second)) {
            // The last vectors come first, so that each shift makes room for the bits before.
            let mut bits = [zero; 2];
            for step in ots.rchunks_exact_mut(V * S::LANES) {
                let mut x = [[delta; M]; V];
                for (i, x) in x.iter_mut().enumerate() {
                    x[0] = simd.load(&step[i * S::LANES..]);
                    for j in 1..M {
                        x[j] = simd.xor(x[0], delta);
                    }
                }
                let hashes = rekeyed_expanded(simd, [&schedule; V], x);
                for (x, hashes) in x.iter().zip(hashes).rev() {
                    let both = match M {
                        1 => [x[0], hashes[0]],
                        _ => [hashes[0], simd.xor(hashes[0], hashes[M - 1])],
                    };
                    for (bits, block) in bits.iter_mut().zip(both) {
                        let before = simd.shift_up::<1>(*bits);
                        *bits = simd.xor(before, simd.and(block, bit));
                    }
                }
                for vector in step.chunks_exact_mut(S::LANES) {
                    simd.store(zero, vector);
                }
            }
            [*first, *second] = bits.map(|bits| interleaved(simd, bits));
        }
    }
}

/// Returns the low halves of all lanes, bit by bit: bit 0 of each lane, then bit 1 of each.
#[inline(always)]
fn interleaved<S: Simd>(simd: S, bits: S::Vector) -> u64 {
    let mut lanes = [Block::ZERO; MAX_LANES];
    simd.store(bits, &mut lanes);
    let [a, b, c, d] = lanes.map(|lane| lane.to_u128() as u64);
    match S::LANES {
        1 => a,
        2 => spread(a) | spread(b) << 1,
        _ => {
            let [even, odd] = [[a, c], [b, d]].map(|[a, b]| spread(a) | spread(b) << 1);
            spread(even) | spread(odd) << 1
        }
    }
}

/// Moves bit i of the lowest 32 to bit 2i.
#[inline(always)]
const fn spread(bits: u64) -> u64 {
    let mut bits = bits & 0xffff_ffff;
    bits = (bits | bits << 16) & 0x0000_ffff_0000_ffff;
    bits = (bits | bits << 8) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
    (bits | bits << 1) & 0x5555_5555_5555_5555
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cpu, Prg};

    #[test]
    fn bits_are_the_lowest_of_the_hashes_on_every_backend() {
        let start = Block::from_u128(0x0123_4567_89ab_cdef_1122_3344_5566_7788);
        let delta = Block::from_u128(0xfeed_0000_1234_5678_9abc_def0_1357_9bdf);
        for (number, count) in [
            (0, 1),
            (3, 64),
            (1020, 70),
            (1024, 5000),
            (961, 130),
            (7, 0),
        ] {
            let mut ots = vec![Block::ZERO; count];
            Prg::new(Block::from_u128(count as u128)).fill_blocks(&mut ots);
            let words = count.div_ceil(64);
            let low = |blocks: &[Block]| {
                let mut words = vec![0; words];
                low_bits(blocks, &mut words);
                words
            };
            for cpu in Cpu::available() {
                let hash = CrossHash::on(cpu, start);
                let (mut received, mut zeros) = (ots.clone(), ots.clone());
                let mut ones = vec![Block::ZERO; count];
                hash.hash(number, &mut received);
                hash.hash_both(number, &delta, &mut zeros, &mut ones);
                let differences = ones.iter().zip(&zeros).map(|(one, zero)| *one ^ *zero);
                let differences: Vec<Block> = differences.collect();
                let sends = [low(&zeros), low(&differences)];
                let receives = [low(&ots), low(&received)];

                let rows = || [vec![u64::MAX; words], vec![u64::MAX; words]];
                let (mut sent, mut q) = (rows(), ots.clone());
                hash.hash_both_to_bits(
                    number,
                    &delta,
                    &mut q,
                    sent.each_mut().map(|row| &mut row[..]),
                );
                assert!(sent == sends, "{count} from {number} on {cpu:?}");
                let (mut got, mut t) = (rows(), ots.clone());
                hash.hash_to_bits(number, &mut t, got.each_mut().map(|row| &mut row[..]));
                assert!(got == receives, "{count} from {number} on {cpu:?}");
                assert!([q, t].concat().iter().all(|block| *block == Block::ZERO));
            }
        }
    }
}
