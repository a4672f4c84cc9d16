//! A circuit as its generator knows it: everything follows from its seed.
//!
//! From the seed come, in this order: Δ, the start point, R, a seed for the scheme, the seed ω of
//! the evaluator's select bits; labels of 0 of the generator's input, of the evaluator's encoded
//! input and of loaded values. The select bit of the label of 0 of encoded bit j is bit j of
//! PRG(ω), which starts at a place of the run's and the circuit's own: who knows ω knows which of
//! two labels is at which position of their commitments, and 16 bytes a circuit say it. Blinds are
//! *not* from the seed: a checked circuit's delivered labels stay hidden.

use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::work::{SEED_BYTES, ServerRun};
use crate::bits::{append_blocks, bit, bytes_for, read_block, select_bits, unpack};
use crate::malicious::commitment::{Committing, PAIR_BYTES};
use crate::malicious::oracle::{Domain, HASH_BYTES, Oracle};
use crate::malicious::walk::{InputLabels, Material};
use crate::saved::{SavedCopy, follow_gates, write_gates};

/// What a circuit follows from. Secret until it is checked.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct CopySeed(pub(super) [u8; SEED_BYTES]);

impl CopySeed {
    /// The seed of circuit `copy` under the generator's.
    pub(super) fn derive(oracle: &Oracle, root: &[u8; 32], copy: usize) -> Self {
        Self(oracle.parts(Domain::CircuitSeed, copy as u32, 0, &[root]))
    }
}

/// What follows from a circuit's seed before anything is garbled.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct CopySecrets {
    #[zeroize(skip)]
    copy: usize,
    pub(super) delta: Block,
    #[zeroize(skip)]
    pub(super) start: Block,
    #[zeroize(skip)]
    pub(super) link_start: Block,
    garbling_seed: [u8; 32],
    /// ω.
    pub(super) order: Block,
    /// Labels of 0 of the generator's input.
    pub(super) own: Vec<Block>,
    /// Labels of 0 of the evaluator's encoded input.
    pub(super) encoded: Vec<Block>,
    /// Labels of 0 of loaded values.
    pub(super) loaded: Vec<Block>,
}

impl CopySecrets {
    /// Those of circuit `copy`.
    pub(super) fn derive<S: Scheme<Wire = Block>>(
        work: &ServerRun<'_, S>,
        oracle: &Oracle,
        copy: usize,
        seed: &CopySeed,
    ) -> Self {
        let mut prg = Prg::from_seed(&seed.0);
        let delta = prg.next_block().with_lsb(1.into());
        let (start, link_start) = (prg.next_block(), prg.next_block());
        let mut garbling_seed = [0; 32];
        prg.fill_bytes(&mut garbling_seed);
        let order = prg.next_block();
        let mut draw = |count| {
            let mut blocks = vec![Block::ZERO; count];
            prg.fill_blocks(&mut blocks);
            blocks
        };
        let own = draw(work.own_bits);
        let mut encoded = draw(work.transfers());
        let loaded = draw(work.loaded_bits);
        let selects = order_bits(oracle, copy, order, encoded.len());
        for (i, label) in encoded.iter_mut().enumerate() {
            *label = label.with_lsb(u8::from(bit(&selects, i)).into());
        }
        Self {
            copy,
            delta,
            start,
            link_start,
            garbling_seed,
            order,
            own,
            encoded,
            loaded,
        }
    }

    /// Appends the head without what is under keys.
    pub(super) fn write_head(&self, oracle: &Oracle, out: &mut Vec<u8>) {
        append_blocks(out, &[self.start, self.link_start]);
        self.commit(oracle, Domain::GarblerInput, &self.own, out);
    }

    /// The permute bits of the generator's input.
    pub(super) fn permute_bits(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(select_bits(&self.own))
    }

    /// Appends the labels of the generator's input of these bits.
    pub(super) fn write_opening(&self, input: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        out.resize(begin + Block::BYTES * self.own.len(), 0);
        let labels = out[begin..]
            .as_chunks_mut::<{ Block::BYTES }>()
            .0
            .iter_mut();
        for (i, (zero, label)) in self.own.iter().zip(labels).enumerate() {
            let value = u8::from(bit(input, i)).into();
            *label = (*zero ^ self.delta.and_bit(value)).to_bytes();
        }
    }

    /// Appends the body, with gates from what was `saved`; gives labels of 0 of what is saved now.
    pub(super) fn write_body<'a, S: Scheme<Wire = Block>>(
        &self,
        work: &ServerRun<'_, S>,
        oracle: &Oracle,
        saved: impl Iterator<Item = &'a SavedCopy>,
        out: &mut Vec<u8>,
    ) -> SavedCopy {
        self.commit(oracle, Domain::EvaluatorInput, &self.encoded, out);
        write_gates(self.link_start, saved, &self.loaded, self.delta, out);
        let material = Material {
            seed: self.garbling_seed,
            start: self.start,
            delta: self.delta,
        };
        let chosen = Zeroizing::new(work.encoding.decode_blocks(&self.encoded));
        let inputs = InputLabels {
            garbler: &self.own[..work.garbled_bits],
            evaluator: &chosen,
            loaded: &self.loaded,
        };
        let zeros = work.whole().garble(&material, inputs, out);
        let (masked, saved) = zeros.split_at(work.all_masked_bits());
        out.extend_from_slice(&select_bits(masked));
        SavedCopy {
            delta: self.delta,
            labels: saved.to_vec(),
        }
    }

    /// Appends commitments to both labels of each of `zeros`, at position p the one with select bit
    /// p.
    fn commit(&self, oracle: &Oracle, domain: Domain, zeros: &[Block], out: &mut Vec<u8>) {
        let first = zeros
            .iter()
            .map(|zero| *zero ^ self.delta.and_bit(zero.lsb()));
        let first = Zeroizing::new(first.collect::<Vec<_>>());
        Committing::new(oracle, domain, self.copy as u32).commit(&first, self.delta, out);
    }
}

/// The select bits of circuit `copy` that ω gives, eight a byte.
pub(super) fn order_bits(
    oracle: &Oracle,
    copy: usize,
    order: Block,
    count: usize,
) -> Zeroizing<Vec<u8>> {
    masking_bits(oracle, (Domain::OrderStart, copy as u32), order, count)
}

/// p, from its seed, eight a byte.
pub(super) fn permutation(oracle: &Oracle, seed: Block, count: usize) -> Zeroizing<Vec<u8>> {
    masking_bits(oracle, (Domain::PermutationStart, 0), seed, count)
}

/// What masks the encoded input, for one use and circuit.
fn masking_bits(
    oracle: &Oracle,
    (domain, circuit): (Domain, u32),
    seed: Block,
    count: usize,
) -> Zeroizing<Vec<u8>> {
    let mut bits = Zeroizing::new(vec![0; bytes_for(count)]);
    oracle.prg(domain, circuit, 0, seed).fill_bytes(&mut bits);
    crate::bits::clear_unused(&mut bits, count);
    bits
}

/// The hash of the select bits that labels of encoded bits should have: a ⊕ PRG(ω).
pub(super) fn expected_selects(oracle: &Oracle, copy: usize, selects: &[u8]) -> [u8; HASH_BYTES] {
    oracle.parts(Domain::Selects, copy as u32, 0, &[selects])
}

/// The seed of the blinds of a circuit's delivered labels under the run's.
pub(super) fn blind_seed(oracle: &Oracle, root: &[u8; 32], copy: usize) -> Block {
    read_block(&oracle.parts(Domain::Blind, copy as u32, 0, &[root]))
}

/// The active labels of a circuit's inputs.
pub(super) struct ActiveLabels<'a> {
    /// Of the generator's input, all bits of it.
    pub(super) own: &'a [Block],
    /// Of the evaluator's encoded input.
    pub(super) encoded: &'a [Block],
}

/// What an evaluated circuit gives.
pub(super) struct Evaluated {
    /// The masked results, evaluator's first.
    pub(super) masked: Zeroizing<Vec<bool>>,
    /// Labels of what is saved.
    pub(super) saved: Zeroizing<Vec<Block>>,
}

/// Evaluates a circuit whose head and body came from the generator; any bytes of the right length
/// give something.
pub(super) fn evaluate<'a, S: Scheme<Wire = Block>>(
    work: &ServerRun<'_, S>,
    [start, link_start]: [Block; 2],
    active: &ActiveLabels<'_>,
    saved: impl Iterator<Item = &'a SavedCopy>,
    body: &[u8],
) -> Evaluated {
    let gates = &body[PAIR_BYTES * work.transfers()..work.before_tables_bytes()];
    let loaded = follow_gates(link_start, saved, gates);
    let chosen = Zeroizing::new(work.encoding.decode_blocks(active.encoded));
    let inputs = InputLabels {
        garbler: &active.own[..work.garbled_bits],
        evaluator: &chosen,
        loaded: &loaded,
    };
    let tables = &body[work.before_tables_bytes()..work.tables_end()];
    let labels = work.whole().evaluate(start, tables, inputs);
    let (masked, saved) = labels.split_at(work.all_masked_bits());
    let decoding = unpack(&body[work.tables_end()..], masked.len());
    let values = masked.iter().zip(decoding.iter());
    let values = values.map(|(label, bit)| bool::from(label.lsb()) ^ bit);
    Evaluated {
        masked: Zeroizing::new(values.collect()),
        saved: Zeroizing::new(saved.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cloud has a ⊕ PRG(ω) of every circuit that it evaluates, and a ⊕ p. Where it knows bits
    /// of a it knows what the seeds gave: were that alike for a seed, one call of the cipher would
    /// test a guess against the seeds of all circuits and runs.
    #[test]
    fn a_guess_at_a_seed_is_tested_against_one_circuit_of_one_run() {
        let seed = Block::from_u128(3);
        let mut alone = vec![0; 16];
        Prg::new(seed).fill_bytes(&mut alone);
        let mut all = vec![alone];
        for run in [1, 2] {
            let oracle = Oracle::named([run; 16]);
            let orders = (0..3).map(|copy| order_bits(&oracle, copy, seed, 128).to_vec());
            all.extend(orders);
            all.push(permutation(&oracle, seed, 128).to_vec());
        }
        for (i, bits) in all.iter().enumerate() {
            assert!(!all[..i].contains(bits), "bits {i}");
        }
    }
}
