//! The LPN expansion: adds ten elements of the secret to each output.
//!
//! Source: Yang, Weng, Lan, Zhang, Wang, "Ferret" (CCS 2020), section 3 and figure 5; local linear
//! code of weight 10 (Boyle et al., CCS 2018). Columns are drawn with repetition, anew for each
//! batch, from a public seed that both parties derive from the session's tag. Two AES blocks per
//! output give five indices each, from the lowest bits on: three from the low half and two from the
//! high half. Over GF(2^128), five more blocks give ten coefficients, each half of a block one, in
//! the order of the indices.
//!
//! Cost: ten reads per output from a secret of 4 MiB, at public places. They miss the second-level
//! cache, so those of the next outputs are requested while these are summed up.

use core::iter;
use core::num::NonZeroUsize;

use tacit_kernels::{Block, Cpu, Kernel, MAX_LANES, Prg, Simd, prefetch_later, share_out, workers};

use super::params::{BOOTSTRAP, ROUND, WEIGHT};

/// The number of outputs whose indices are made at once.
pub(super) const CHUNK: usize = 64;

/// Outputs that a thread takes at a time: whole chunks, some 40 µs of work.
const SPAN: usize = 64 * CHUNK;

/// The blocks of indices per output.
const BLOCKS: usize = 2;

const LOG_SECRET: u32 = ROUND.log_secret;
const LOG_BOOTSTRAP: u32 = BOOTSTRAP.log_secret;

/// An element of `V` secrets that lie side by side.
pub(super) trait Element<const V: usize>: Copy + Sync {
    fn blocks(&self) -> &[Block; V];
}

impl Element<1> for Block {
    #[inline(always)]
    fn blocks(&self) -> &[Block; 1] {
        core::array::from_ref(self)
    }
}

/// An element of two secrets. It does not straddle a line of the cache.
#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
pub(super) struct Pair(pub(super) [Block; 2]);

impl zeroize::DefaultIsZeroes for Pair {}

impl Element<2> for Pair {
    #[inline(always)]
    fn blocks(&self) -> &[Block; 2] {
        &self.0
    }
}

/// Cuts outputs into parts of this size: of each part, the outputs by every secret.
fn parts<const V: usize>(
    outputs: [&mut [Block]; V],
    size: usize,
) -> impl Iterator<Item = [&mut [Block]; V]> {
    let mut parts = outputs.map(|outputs| outputs.chunks_mut(size));
    iter::from_fn(move || {
        let next = parts.each_mut().map(Iterator::next);
        let is_there = next[0].is_some();
        is_there.then(|| next.map(Option::unwrap_or_default))
    })
}

/// Adds its ten elements of each secret, whose length is a power of two, to each output, on this
/// many threads. The elements are drawn from `seed`, the same ones of all secrets. There are as
/// many outputs of each.
pub(super) fn add_columns<E: Element<V>, const V: usize>(
    (cpu, threads): (Cpu, NonZeroUsize),
    seed: &[u8; 32],
    secrets: &[E],
    outputs: [&mut [Block]; V],
) {
    let spans: Vec<_> = parts(outputs, SPAN).enumerate().collect();
    share_out(&mut workers(threads), spans, |(), (number, outputs)| {
        add_columns_from(cpu, seed, SPAN * number, secrets, outputs);
    });
}

/// [`add_columns`] for the outputs from number `first` on, a multiple of [`CHUNK`].
pub(super) fn add_columns_from<E: Element<V>, const V: usize>(
    cpu: Cpu,
    seed: &[u8; 32],
    first: usize,
    secrets: &[E],
    outputs: [&mut [Block]; V],
) {
    assert!(secrets.len().is_power_of_two() && secrets.len() <= 1 << 21);
    assert!(first.is_multiple_of(CHUNK), "whole chunks before");
    let mut prg = Prg::from_seed(seed);
    prg.skip_blocks(BLOCKS * first);
    let mut random = [Block::ZERO; BLOCKS * CHUNK];
    let mut indices = [[[Block::ZERO; BLOCKS * CHUNK]; 3]; 2];
    let [now, next] = &mut indices;
    let (mut now, mut next) = (now, next);
    let mut add = |outputs: [&mut [Block]; V]| {
        // The indices are always made in whole chunks, so that they do not depend on how outputs
        // are split.
        prg.fill_blocks(&mut random);
        cpu.dispatch(AddColumns {
            random: &random,
            next: &mut *next,
            indices: &*now,
            secrets,
            outputs,
        });
        core::mem::swap(&mut now, &mut next);
    };
    add([(); V].map(|()| Default::default()));
    parts(outputs, CHUNK).for_each(add);
}

/// The first, second and third index in each half of a chunk's random blocks, if it has one.
type Indices = [[Block; BLOCKS * CHUNK]; 3];

/// Implements [`add_columns`] for a chunk of outputs. First it makes all indices of the next chunk,
/// with vectors. Then it reads the elements of this one, and requests those of the next one for the
/// second-level cache: so its many reads follow each other closely, and do not wait for the third.
struct AddColumns<'a, E, const V: usize> {
    /// The random blocks of the next chunk.
    random: &'a [Block; BLOCKS * CHUNK],
    /// Room for its indices.
    next: &'a mut Indices,
    indices: &'a Indices,
    secrets: &'a [E],
    outputs: [&'a mut [Block]; V],
}

impl<E: Element<V>, const V: usize> AddColumns<'_, E, V> {
    /// Makes the indices into secrets of 2^`LOG` elements.
    #[inline(always)]
    fn index<S: Simd, const LOG: i32>(&mut self, simd: S) {
        let mask = (1 << LOG) - 1;
        let mask = simd.splat(Block::from_u128(mask << 64 | mask));
        for at in (0..BLOCKS * CHUNK).step_by(S::LANES) {
            let mut random = simd.load(&self.random[at..]);
            for indices in self.next.iter_mut() {
                simd.store(simd.and(random, mask), &mut indices[at..]);
                random = simd.shift_down::<LOG>(random);
            }
        }
    }

    /// Makes them for secrets of another size.
    #[cfg(test)]
    fn index_any(&mut self) {
        let (mask, bits) = (
            self.secrets.len() as u64 - 1,
            self.secrets.len().trailing_zeros(),
        );
        for (at, random) in self.random.iter().enumerate() {
            let random = random.to_u128();
            for (shift, indices) in (0..).step_by(bits as usize).zip(self.next.iter_mut()) {
                let halves = [random >> 64, random].map(|half| half as u64 >> shift & mask);
                let halves = halves.map(u128::from);
                indices[at] = Block::from_u128(halves[0] << 64 | halves[1]);
            }
        }
    }
}

/// Calls `each` with the ten indices of output `number` of a chunk.
#[inline(always)]
fn for_indices(indices: &Indices, number: usize, mut each: impl FnMut(usize)) {
    let [first, second, third] = indices
        .each_ref()
        .map(|row| &row.as_chunks::<BLOCKS>().0[number]);
    for index in first.iter().chain(second) {
        each(index.to_u128() as usize);
        each((index.to_u128() >> 64) as usize);
    }
    for index in third {
        each(index.to_u128() as usize);
    }
}

impl<E: Element<V>, const V: usize> Kernel for AddColumns<'_, E, V> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        match self.secrets.len().trailing_zeros() {
            LOG_SECRET => self.index::<S, { LOG_SECRET as i32 }>(simd),
            LOG_BOOTSTRAP => self.index::<S, { LOG_BOOTSTRAP as i32 }>(simd),
            #[cfg(test)]
            _ => self.index_any(),
            #[cfg(not(test))]
            _ => unreachable!("a secret of a round or of the first one"),
        }
        let Self {
            secrets,
            next,
            indices,
            mut outputs,
            ..
        } = self;
        let mask = secrets.len() - 1;
        for number in 0..outputs[0].len().min(CHUNK) {
            for_indices(next, number, |index| prefetch_later(secrets, index));
            let mut sums = outputs.each_ref().map(|outputs| outputs[number]);
            for_indices(indices, number, |index| {
                for (sum, block) in sums.iter_mut().zip(secrets[index & mask].blocks()) {
                    *sum ^= *block;
                }
            });
            for (outputs, sum) in outputs.iter_mut().zip(sums) {
                outputs[number] = sum;
            }
        }
    }
}

/// Returns the indices of one output, not reduced yet.
#[inline(always)]
fn indices(random: &[Block], bits: u32) -> [usize; WEIGHT] {
    let [a, b] = [random[0].to_u128(), random[1].to_u128()];
    let [a, c] = [a as u64, (a >> 64) as u64];
    let [b, d] = [b as u64, (b >> 64) as u64];
    let (once, twice) = (bits, 2 * bits);
    [
        a,
        a >> once,
        a >> twice,
        c,
        c >> once,
        b,
        b >> once,
        b >> twice,
        d,
        d >> once,
    ]
    .map(|index| index as usize)
}

/// The blocks of indices and coefficients per output over GF(2^128).
const SCALED_BLOCKS: usize = BLOCKS + WEIGHT / 2;

/// Adds its ten elements of `secret`, whose number is a power of two, to each output, each times a
/// coefficient of 64 bits, on this many threads. Elements and coefficients are drawn from `seed`.
/// An element and an output have `V` blocks each: values that meet the same coefficients. The
/// outputs are those of a batch from number `first` on.
pub(super) fn add_scaled_columns<const V: usize>(
    (cpu, threads): (Cpu, NonZeroUsize),
    (seed, first): (&[u8; 32], usize),
    secret: &[Block],
    outputs: &mut [Block],
) {
    let elements = secret.len() / V;
    assert!(elements.is_power_of_two() && elements <= 1 << 21);
    let spans = outputs.chunks_mut(V * SPAN).enumerate();
    share_out(&mut workers(threads), spans, |(), (number, outputs)| {
        let mut prg = Prg::from_seed(seed);
        prg.skip_blocks(SCALED_BLOCKS * (first + SPAN * number));
        let mut random = [Block::ZERO; SCALED_BLOCKS * CHUNK];
        for outputs in outputs.chunks_mut(V * CHUNK) {
            prg.fill_blocks(&mut random);
            cpu.dispatch(AddScaledColumns::<V> {
                random: &random,
                secret,
                outputs,
            });
        }
    });
}

/// Implements [`add_scaled_columns`] for a chunk of outputs.
struct AddScaledColumns<'a, const V: usize> {
    random: &'a [Block],
    secret: &'a [Block],
    outputs: &'a mut [Block],
}

impl<const V: usize> Kernel for AddScaledColumns<'_, V> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let elements = self.secret.len() / V;
        let (mask, bits) = (elements - 1, elements.trailing_zeros());
        let random = self.random.chunks_exact(SCALED_BLOCKS * S::LANES);
        let zero = simd.splat(Block::ZERO);
        for (outputs, random) in self.outputs.chunks_mut(V * S::LANES).zip(random) {
            let mut columns = [[0; MAX_LANES]; WEIGHT];
            for (lane, random) in random.chunks_exact(SCALED_BLOCKS).enumerate() {
                for (column, index) in columns.iter_mut().zip(indices(&random[..BLOCKS], bits)) {
                    column[lane] = (index & mask) * V;
                }
            }
            // Of each value the sums of products with low halves, and with high halves.
            let mut sums = [[zero; 2]; V];
            for (pair, columns) in columns.as_chunks::<2>().0.iter().enumerate() {
                let pair = simd.gather(random, |lane| SCALED_BLOCKS * lane + BLOCKS + pair);
                for (value, [low, high]) in sums.iter_mut().enumerate() {
                    let [a, b] =
                        [0, 1].map(|i| simd.gather(self.secret, |lane| columns[i][lane] + value));
                    for (sum, halves) in
                        [(low, simd.low_halves(a, b)), (high, simd.high_halves(a, b))]
                    {
                        *sum = simd.xor(*sum, simd.multiply_low(pair, halves));
                        *sum = simd.xor(*sum, simd.multiply_high(pair, halves));
                    }
                }
            }
            for (value, [low, high]) in sums.into_iter().enumerate() {
                let mut lanes = [Block::ZERO; MAX_LANES];
                simd.store(reduced(simd, low, high), &mut lanes);
                let outputs = outputs.iter_mut().skip(value).step_by(V);
                outputs.zip(lanes).for_each(|(output, sum)| *output ^= sum);
            }
        }
    }
}

/// Returns low + x^64 · high, reduced. x^128 is x^7 + x^2 + x + 1, and the part of `high` that goes
/// past x^127 is below x^63.
#[inline(always)]
fn reduced<S: Simd>(simd: S, low: S::Vector, high: S::Vector) -> S::Vector {
    let modulus = simd.splat(Block::from_u128(0x87 << 64));
    let shifted = simd.halves(simd.splat(Block::ZERO), simd.swap_halves(high));
    let folded = simd.multiply_high(high, modulus);
    simd.xor(simd.xor(low, shifted), folded)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Multiplies by the definition, one bit at a time.
    fn product(coefficient: u64, mut element: u128) -> u128 {
        let mut sum = 0;
        for i in 0..64 {
            sum ^= element * u128::from(coefficient >> i & 1);
            element = (element << 1) ^ ((element >> 127) * 0x87);
        }
        sum
    }

    /// Returns the ten non-zeros of an output: elements and coefficients.
    pub(in crate::silent) fn non_zeros(prg: &mut Prg, log: u32) -> [(usize, u64); WEIGHT] {
        let [a, b, coefficients @ ..] = [(); SCALED_BLOCKS].map(|()| prg.next_block().to_u128());
        let shifts = [0, log, 2 * log, 64, 64 + log];
        let indices = [a, b].map(|random| shifts.map(|shift| random >> shift & ((1 << log) - 1)));
        core::array::from_fn(|i| {
            let coefficient = coefficients[i / 2] >> (64 * (i % 2));
            (indices.as_flattened()[i] as usize, coefficient as u64)
        })
    }

    /// Returns the products that an output gets, of each block of its elements.
    pub(in crate::silent) fn defined<const V: usize>(
        prg: &mut Prg,
        log: u32,
        secret: &[Block],
    ) -> [u128; V] {
        let mut sums = [0; V];
        for (element, coefficient) in non_zeros(prg, log) {
            for (value, sum) in sums.iter_mut().enumerate() {
                *sum ^= product(coefficient, secret[element * V + value].to_u128());
            }
        }
        sums
    }

    fn scaled_sums_are_defined<const V: usize>(log: u32, count: usize, threads: usize) {
        let (seed, mut secret) = ([8; 32], vec![Block::ZERO; V << log]);
        Prg::new(Block::ONES).fill_blocks(&mut secret);
        for cpu in Cpu::available() {
            let mut outputs = vec![Block::from_u128(1 << 100); V * count];
            let threads = NonZeroUsize::new(threads).unwrap();
            // Any part of a batch gets the same as in the whole.
            let (head, tail) = outputs.split_at_mut(V * (count / 3));
            let on = (cpu, threads);
            add_scaled_columns::<V>(on, (&seed, 0), &secret, head);
            add_scaled_columns::<V>(on, (&seed, count / 3), &secret, tail);
            let mut prg = Prg::from_seed(&seed);
            for output in outputs.as_chunks::<V>().0 {
                let expected = defined::<V>(&mut prg, log, &secret);
                assert_eq!(
                    output.map(Block::to_u128),
                    expected.map(|sum| 1 << 100 ^ sum)
                );
            }
        }
    }

    #[test]
    fn outputs_get_ten_products_each() {
        for (log, count, threads) in [(3, 10, 1), (16, 203, 1), (12, 5000, 3)] {
            scaled_sums_are_defined::<1>(log, count, threads);
            scaled_sums_are_defined::<2>(log, count, threads);
        }
    }

    #[test]
    fn outputs_get_ten_elements_each() {
        let seed = [7; 32];
        for (log, count, threads) in [(3, 10, 1), (15, 200, 1), (19, 64, 1), (18, 9000, 3)] {
            let secret: Vec<Block> = (0..1u128 << log).map(|i| Block::from_u128(i * i)).collect();
            let threads = NonZeroUsize::new(threads).unwrap();
            for cpu in Cpu::available() {
                let mut outputs = vec![Block::from_u128(1 << 100); count];
                add_columns((cpu, threads), &seed, &secret[..], [&mut outputs[..]]);
                // Of a second secret of twice these numbers there are twice these sums.
                let twice = |block: Block| Block::from_u128(block.to_u128() << 1);
                let pairs: Vec<Pair> = secret.iter().map(|one| Pair([*one, twice(*one)])).collect();
                let mut both = [vec![Block::ZERO; count], vec![Block::ZERO; count]];
                let of_both = both.each_mut().map(|outputs| &mut outputs[..]);
                add_columns((cpu, threads), &seed, &pairs[..], of_both);
                let sums = outputs.iter().map(|sum| *sum ^ Block::from_u128(1 << 100));
                assert!(sums.clone().eq(both[0].iter().copied()));
                assert!(sums.map(twice).eq(both[1].iter().copied()));
                let mut prg = Prg::from_seed(&seed);
                for output in outputs {
                    let mut expected = 1 << 100;
                    for _ in 0..2 {
                        let random = prg.next_block().to_u128();
                        for shift in [0, log, 2 * log, 64, 64 + log] {
                            let index = random >> shift & ((1 << log) - 1);
                            expected ^= index * index;
                        }
                    }
                    assert_eq!(output.to_u128(), expected);
                }
            }
        }
    }
}
