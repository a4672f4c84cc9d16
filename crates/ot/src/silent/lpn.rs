//! The LPN expansion: adds ten elements of the secret to each output.
//!
//! Source: Yang, Weng, Lan, Zhang, Wang, "Ferret" (CCS 2020), section 3 and figure 5; local linear
//! code of weight 10 (Boyle et al., CCS 2018). Columns are drawn with repetition, anew for each
//! batch, from a public seed that both parties derive from the session's tag. Two AES blocks per
//! output give five indices each, from the lowest bits on: three from the low half and two from the
//! high half.
//!
//! Cost: ten reads per output from a secret of 4 MiB, at public places. They miss the second-level
//! cache but overlap, because none depends on another.

use core::num::NonZeroUsize;

use tacit_kernels::{Block, Cpu, Kernel, MAX_LANES, Prg, Simd, share_out, workers};

use super::params::WEIGHT;

/// The number of outputs whose indices are made at once.
const CHUNK: usize = 64;

/// Outputs that a thread takes at a time: whole chunks, some 40 µs of work.
const SPAN: usize = 64 * CHUNK;

/// The blocks of indices per output.
const BLOCKS: usize = 2;

/// Adds its ten elements of `secret`, whose length is a power of two, to each output, on this many
/// threads. The elements are drawn from `seed`.
pub(super) fn add_columns(
    (cpu, threads): (Cpu, NonZeroUsize),
    seed: &[u8; 32],
    secret: &[Block],
    outputs: &mut [Block],
) {
    assert!(secret.len().is_power_of_two() && secret.len() <= 1 << 21);
    let spans = outputs.chunks_mut(SPAN).enumerate();
    share_out(&mut workers(threads), spans, |(), (number, outputs)| {
        let mut prg = Prg::from_seed(seed);
        prg.skip_blocks(BLOCKS * SPAN * number);
        add_span(cpu, &mut prg, secret, outputs);
    });
}

/// [`add_columns`] for a span of outputs.
fn add_span(cpu: Cpu, prg: &mut Prg, secret: &[Block], outputs: &mut [Block]) {
    let mut random = [Block::ZERO; BLOCKS * CHUNK];
    for outputs in outputs.chunks_mut(CHUNK) {
        // The indices are always made in whole chunks, so that they do not depend on how outputs
        // are split.
        prg.fill_blocks(&mut random);
        cpu.dispatch(AddColumns {
            random: &random,
            secret,
            outputs,
        });
    }
}

/// Implements [`add_columns`] for a chunk of outputs.
struct AddColumns<'a> {
    random: &'a [Block],
    secret: &'a [Block],
    outputs: &'a mut [Block],
}

impl Kernel for AddColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let mask = self.secret.len() - 1;
        let bits = self.secret.len().trailing_zeros();
        let random = self.random.chunks_exact(BLOCKS * S::LANES);
        for (outputs, random) in self.outputs.chunks_mut(S::LANES).zip(random) {
            let mut columns = [[0; MAX_LANES]; WEIGHT];
            for (lane, random) in random.chunks_exact(BLOCKS).enumerate() {
                for (column, index) in columns.iter_mut().zip(indices(random, bits)) {
                    column[lane] = index;
                }
            }
            let mut sum = simd.splat(Block::ZERO);
            for column in &columns {
                sum = simd.xor(sum, simd.gather(self.secret, |lane| column[lane] & mask));
            }
            if outputs.len() == S::LANES {
                simd.store(simd.xor(sum, simd.load(outputs)), outputs);
            } else {
                let mut last = [Block::ZERO; MAX_LANES];
                simd.store(sum, &mut last);
                outputs
                    .iter_mut()
                    .zip(last)
                    .for_each(|(output, sum)| *output ^= sum);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_get_ten_elements_each() {
        let seed = [7; 32];
        for (log, count, threads) in [(3, 10, 1), (16, 200, 1), (19, 64, 1), (12, 9000, 3)] {
            let secret: Vec<Block> = (0..1u128 << log).map(|i| Block::from_u128(i * i)).collect();
            let mut outputs = vec![Block::from_u128(1 << 100); count];
            let threads = NonZeroUsize::new(threads).unwrap();
            add_columns((Cpu::detect(), threads), &seed, &secret, &mut outputs);
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
