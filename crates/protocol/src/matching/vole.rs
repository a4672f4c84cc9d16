//! VOLE over GF(2^128), packed from correlated OTs: w = v ⊕ uΔ.
//!
//! A column takes 128 OTs t_i = q_i ⊕ b_i Δ with random choices: u = Σ x^i b_i, w = Σ x^i t_i and
//! v = Σ x^i q_i. The VOLE needs no assumption beyond the OTs. The placer has u and w, the
//! programmer v and Δ. One VOLE serves one ask: two asks under the same u would reveal the sum of
//! both encodings, so each half is consumed by its ask.
//!
//! Cost of a column: 128 OTs, and 128 products with a factor x^i.

use tacit_kernels::{Block, Cpu, Gf128Sum, Prg, inner_products};
use zeroize::{Zeroize, Zeroizing};

use crate::Error;
use crate::io::Io;
use crate::setup::{self, EXTENSION_OTS, EvaluatorOt, GarblerOt};

/// The number of OTs of a column.
const OTS: usize = 128;

/// The largest number of OTs that a refill makes, so that their memory is bounded.
const REFILL_OTS: usize = 1 << 19;

/// The placer's half.
pub(crate) struct PlacerVole {
    u: Zeroizing<Vec<Block>>,
    w: Zeroizing<Vec<Block>>,
}

/// The programmer's half.
pub(crate) struct ProgrammerVole {
    v: Zeroizing<Vec<Block>>,
    delta: Zeroizing<Block>,
}

/// The multiplier a ↦ aΔ.
pub(crate) struct TimesDelta {
    cpu: Cpu,
    delta: Zeroizing<Block>,
}

impl TimesDelta {
    /// Adds Δ times each of `factors` to the block at the same position.
    pub(crate) fn add_to(&self, blocks: &mut [Block], factors: &[Block]) {
        let mut sums = Zeroizing::new(vec![Gf128Sum::default(); blocks.len()]);
        for (sum, block) in sums.iter_mut().zip(blocks.iter()) {
            sum.add(*block);
        }
        inner_products(self.cpu, &[*self.delta], factors, &mut sums);
        for (block, sum) in blocks.iter_mut().zip(sums.iter()) {
            *block = sum.reduce();
        }
    }
}

impl PlacerVole {
    /// Makes `columns` columns, and sends and receives the messages for them.
    pub(crate) async fn choose(
        io: &mut Io<'_>,
        ot: &mut EvaluatorOt,
        columns: usize,
        prg: &mut Prg,
    ) -> Result<Self, Error> {
        let mut u = Zeroizing::new(vec![Block::ZERO; columns]);
        let mut w = u.clone();
        let mut parts = Parts::new(columns);
        while let Some((range, refill)) = parts.next() {
            if ot.needs_refill((range.len() * OTS) as u64) {
                ot.refill(io, refill, &seed(prg)).await?;
            }
            let t = &mut parts.ots[..range.len() * OTS];
            ot.extend_random(prg, t, io.message())?;
            match io.message().len() {
                0 => io.breathe().await?,
                bytes => io.send(setup::extension(bytes))?,
            }
            for (u, t) in u[range.clone()].iter_mut().zip(t.chunks_exact(OTS)) {
                let bit = |bits, t: &Block| bits << 1 | t.to_u128() & 1;
                *u = Block::from_u128(t.iter().rev().fold(0, bit));
            }
            pack(&parts.powers, t, &mut w[range]);
        }
        Ok(Self { u, w })
    }

    /// Returns the encoding under u, which may be sent, and w.
    pub(crate) fn mask(self, encoding: &[[Block; 1]]) -> (Vec<Block>, Zeroizing<Vec<Block>>) {
        let masked = self.u.iter().zip(encoding);
        (masked.map(|(u, [block])| *u ^ *block).collect(), self.w)
    }
}

impl ProgrammerVole {
    /// Makes `columns` columns, from the messages for them.
    pub(crate) async fn offer(
        io: &mut Io<'_>,
        ot: &mut GarblerOt,
        columns: usize,
        prg: &mut Prg,
    ) -> Result<Self, Error> {
        let mut v = Zeroizing::new(vec![Block::ZERO; columns]);
        let mut parts = Parts::new(columns);
        while let Some((range, refill)) = parts.next() {
            let count = range.len() * OTS;
            if ot.needs_refill(count as u64) {
                ot.refill(io, refill, &seed(prg)).await?;
            }
            let q = &mut parts.ots[..count];
            match ot.random_bytes(count) {
                0 => {
                    io.breathe().await?;
                    ot.extend_random(q, &[])?;
                }
                bytes => ot.extend_random(q, io.receive(setup::extension(bytes)).await?)?,
            }
            pack(&parts.powers, q, &mut v[range]);
        }
        let delta = Zeroizing::new(ot.delta());
        Ok(Self { v, delta })
    }

    /// Returns K = v ⊕ eΔ for the encoding e that the placer sent under its u, and the multiplier
    /// by Δ.
    pub(crate) fn unmask(self, masked: &[Block]) -> (Zeroizing<Vec<Block>>, TimesDelta) {
        let (mut keys, delta) = (self.v, self.delta);
        let cpu = Cpu::detect();
        let times = TimesDelta { cpu, delta };
        times.add_to(&mut keys, masked);
        (keys, times)
    }
}

fn seed(prg: &mut Prg) -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    prg.fill_bytes(&mut *seed);
    seed
}

/// A split of columns into parts, one part for each message of OTs.
struct Parts {
    columns: usize,
    done: usize,
    /// The powers x^i.
    powers: Vec<Block>,
    /// Room for the OTs of a part.
    ots: Zeroizing<Vec<Block>>,
}

impl Parts {
    fn new(columns: usize) -> Self {
        Self {
            columns,
            done: 0,
            powers: (0..OTS).map(|i| Block::from_u128(1 << i)).collect(),
            ots: Zeroizing::new(vec![Block::ZERO; EXTENSION_OTS.min(columns * OTS)]),
        }
    }

    /// Returns the next columns, and the number of OTs to make if there are too few for them.
    fn next(&mut self) -> Option<(std::ops::Range<usize>, u64)> {
        let left = self.columns - self.done;
        let begin = self.done;
        self.done += left.min(EXTENSION_OTS / OTS);
        let refill = (left * OTS).min(REFILL_OTS) as u64;
        (left > 0).then_some((begin..self.done, refill))
    }
}

/// Sets each column to Σ x^i · ots\[i\] of its 128 OTs.
fn pack(powers: &[Block], ots: &[Block], columns: &mut [Block]) {
    let mut sums = vec![Gf128Sum::default(); columns.len()];
    inner_products(Cpu::detect(), powers, ots, &mut sums);
    for (column, sum) in columns.iter_mut().zip(&sums) {
        *column = sum.reduce();
    }
    sums.zeroize();
}

#[cfg(test)]
pub(super) fn packed_for_test(t: &[Block; OTS]) -> (u128, Block) {
    let powers = Parts::new(1).powers;
    let mut w = [Block::ZERO];
    pack(&powers, t, &mut w);
    let bit = |bits, t: &Block| bits << 1 | t.to_u128() & 1;
    (t.iter().rev().fold(0, bit), w[0])
}
