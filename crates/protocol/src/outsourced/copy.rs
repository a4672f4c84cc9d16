//! A circuit as its generator knows it: its seed determines everything.
//!
//! The seed gives, in this order: Δ, the start point, R, a seed for the scheme, and the seed ω of
//! the evaluator's select bits; then labels of 0 of the generator's input, of the evaluator's
//! encoded input and of loaded values. The select bit of the label of 0 of encoded bit j is bit j
//! of PRG(ω), whose start point is specific to the run and the circuit. So 16 bytes for each
//! circuit, ω, tell which of two labels is at which position of their commitments. Blinds do *not*
//! come from the seed: a checked circuit's delivered labels stay hidden.

use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::same_input::InputHash;
use super::work::{SEED_BYTES, ServerRun};
use crate::bits::{append_blocks, bit, bit_mask, bytes_for, read_block, select_bits};
use crate::malicious::commitment::{Committing, WIRES};
use crate::malicious::oracle::{Domain, HASH_BYTES, Oracle};
use crate::malicious::walk::{Garbling, InputLabels, MaskedWalk, Material};
use crate::saved::{SavedCopy, write_gates};

/// The seed of a circuit. Secret until the circuit is checked.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct CopySeed(pub(super) [u8; SEED_BYTES]);

impl CopySeed {
    /// Returns the seed of circuit `copy` under the generator's seed.
    pub(super) fn derive(oracle: &Oracle, root: &[u8; 32], copy: usize) -> Self {
        Self(oracle.parts(Domain::CircuitSeed, copy as u32, 0, &[root]))
    }
}

/// The first values of a circuit's seed, and its labels, which are drawn one after the other.
pub(super) struct Drawing {
    pub(super) delta: Zeroizing<Block>,
    pub(super) start: Block,
    pub(super) link_start: Block,
    garbling_seed: Zeroizing<[u8; 32]>,
    /// ω.
    pub(super) order: Zeroizing<Block>,
    prg: Prg,
}

impl Drawing {
    /// Starts the drawing for the circuit of `seed`.
    pub(super) fn begin(seed: &CopySeed) -> Self {
        let mut prg = Prg::from_seed(&seed.0);
        let delta = Zeroizing::new(prg.next_block().with_lsb(1.into()));
        let (start, link_start) = (prg.next_block(), prg.next_block());
        let mut garbling_seed = Zeroizing::new([0; 32]);
        prg.fill_bytes(&mut *garbling_seed);
        Self {
            delta,
            start,
            link_start,
            garbling_seed,
            order: Zeroizing::new(prg.next_block()),
            prg,
        }
    }

    /// Draws the next labels.
    pub(super) fn labels(&mut self, labels: &mut [Block]) {
        self.prg.fill_blocks(labels);
    }

    fn next_labels(&mut self, count: usize) -> Vec<Block> {
        let mut labels = vec![Block::ZERO; count];
        self.labels(&mut labels);
        labels
    }

    /// Returns the next labels as those of 0 of the evaluator's encoded input to circuit `copy`.
    fn encoded(&mut self, oracle: &Oracle, copy: usize, count: usize) -> Vec<Block> {
        let mut encoded = self.next_labels(count);
        let selects = order_bits(oracle, copy, *self.order, count);
        for (i, label) in encoded.iter_mut().enumerate() {
            *label = label.with_lsb(u8::from(bit(&selects, i)).into());
        }
        encoded
    }

    /// Returns only the labels of 0 of the evaluator's encoded input to circuit `copy`.
    pub(super) fn encoded_alone<S: Scheme<Wire = Block>>(
        mut self,
        work: &ServerRun<'_, S>,
        oracle: &Oracle,
        copy: usize,
    ) -> Zeroizing<Vec<Block>> {
        self.prg.skip_blocks(work.own_bits);
        Zeroizing::new(self.encoded(oracle, copy, work.transfers()))
    }

    /// Returns H·π: `hash` of the permute bits of the generator's input, whose labels are the next
    /// ones.
    pub(super) fn hash_permute_bits(mut self, hash: &InputHash) -> Block {
        let mut labels = Zeroizing::new([Block::ZERO; WIRES]);
        let mut sum = Block::ZERO;
        for from in (0..hash.columns()).step_by(WIRES) {
            let labels = &mut labels[..WIRES.min(hash.columns() - from)];
            self.labels(labels);
            sum ^= hash.of(from, labels);
        }
        sum
    }
}

/// The values that a circuit's seed gives before anything is garbled.
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
    /// Labels of 0 of the generator's input.
    pub(super) own: Vec<Block>,
    /// Labels of 0 of the evaluator's encoded input.
    pub(super) encoded: Vec<Block>,
    /// Labels of 0 of loaded values.
    pub(super) loaded: Vec<Block>,
}

impl CopySecrets {
    /// Returns the secrets of circuit `copy`.
    pub(super) fn derive<S: Scheme<Wire = Block>>(
        work: &ServerRun<'_, S>,
        oracle: &Oracle,
        copy: usize,
        seed: &CopySeed,
    ) -> Self {
        let mut drawing = Drawing::begin(seed);
        let own = drawing.next_labels(work.own_bits);
        let encoded = drawing.encoded(oracle, copy, work.transfers());
        let loaded = drawing.next_labels(work.loaded_bits);
        Self {
            copy,
            delta: *drawing.delta,
            start: drawing.start,
            link_start: drawing.link_start,
            garbling_seed: *drawing.garbling_seed,
            own,
            encoded,
            loaded,
        }
    }

    /// Appends the head without the parts that keys encrypt.
    pub(super) fn write_head(&self, oracle: &Oracle, out: &mut Vec<u8>) {
        append_blocks(out, &[self.start, self.link_start]);
        self.commit(oracle, Domain::GarblerInput, &self.own, out);
    }

    /// Appends the labels of the generator's input for these bits.
    pub(super) fn write_opening(&self, input: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        out.resize(begin + Block::BYTES * self.own.len(), 0);
        let labels = out[begin..]
            .as_chunks_mut::<{ Block::BYTES }>()
            .0
            .iter_mut();
        for (i, (zero, label)) in self.own.iter().zip(labels).enumerate() {
            *label = (*zero ^ (self.delta & bit_mask(input, i))).to_bytes();
        }
    }

    /// Appends the part of a body before its tables, with the gates from the values in `saved`.
    fn write_before_tables<'a>(
        &self,
        oracle: &Oracle,
        saved: impl Iterator<Item = &'a SavedCopy>,
        out: &mut Vec<u8>,
    ) {
        self.commit(oracle, Domain::EvaluatorInput, &self.encoded, out);
        self.write_gates(saved, out);
    }

    /// Appends the gates from the values in `saved`.
    pub(super) fn write_gates<'a>(
        &self,
        saved: impl Iterator<Item = &'a SavedCopy>,
        out: &mut Vec<u8>,
    ) {
        write_gates(self.link_start, saved, &self.loaded, self.delta, out);
    }

    /// Returns the material that the circuit is garbled with.
    pub(super) fn material(&self) -> Material {
        Material {
            seed: self.garbling_seed,
            start: self.start,
            delta: self.delta,
        }
    }

    /// Returns the labels of 0 of the evaluator's input.
    pub(super) fn chosen<S>(&self, work: &ServerRun<'_, S>) -> Zeroizing<Vec<Block>> {
        Zeroizing::new(work.encoding.decode_blocks(&self.encoded))
    }

    /// Appends commitments to both labels of each of `zeros`. At position p is the label with
    /// select bit p.
    fn commit(&self, oracle: &Oracle, domain: Domain, zeros: &[Block], out: &mut Vec<u8>) {
        let committing = Committing::new(oracle, domain, self.copy as u32);
        committing.commit_by_select_bits(zeros, self.delta, out);
    }
}

/// Returns the select bits of circuit `copy` that ω gives, eight to a byte.
pub(super) fn order_bits(
    oracle: &Oracle,
    copy: usize,
    order: Block,
    count: usize,
) -> Zeroizing<Vec<u8>> {
    masking_bits(oracle, (Domain::OrderStart, copy as u32), order, count)
}

/// Returns p, from its seed, eight bits to a byte.
pub(super) fn permutation(oracle: &Oracle, seed: Block, count: usize) -> Zeroizing<Vec<u8>> {
    masking_bits(oracle, (Domain::PermutationStart, 0), seed, count)
}

/// Returns the bits that mask the encoded input, for one use and one circuit.
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

/// Returns the hash of the select bits that labels of encoded bits should have: a ⊕ PRG(ω).
pub(super) fn expected_selects(oracle: &Oracle, copy: usize, selects: &[u8]) -> [u8; HASH_BYTES] {
    oracle.parts(Domain::Selects, copy as u32, 0, &[selects])
}

/// Returns the seed of the blinds of a circuit's delivered labels, under the run's seed.
pub(super) fn blind_seed(oracle: &Oracle, root: &[u8; 32], copy: usize) -> Block {
    read_block(&oracle.parts(Domain::Blind, copy as u32, 0, &[root]))
}

/// A body during its creation. It pauses after each segment of its tables.
pub(super) struct Body<'f, S: Scheme<Wire = Block>> {
    delta: Zeroizing<Block>,
    masked_bits: usize,
    walk: MaskedWalk<'f, Garbling<S>>,
}

impl<'f, S: Scheme<Wire = Block>> Body<'f, S> {
    /// Appends the part before the tables, with the gates from the values in `saved`.
    pub(super) fn begin<'a>(
        work: &ServerRun<'f, S>,
        oracle: &Oracle,
        secrets: &CopySecrets,
        saved: impl Iterator<Item = &'a SavedCopy>,
        out: &mut Vec<u8>,
    ) -> Self {
        secrets.write_before_tables(oracle, saved, out);
        let chosen = secrets.chosen(work);
        let inputs = InputLabels {
            garbler: &secrets.own[..work.garbled_bits],
            evaluator: &chosen,
            loaded: &secrets.loaded,
        };
        Self {
            delta: Zeroizing::new(secrets.delta),
            masked_bits: work.all_masked_bits(),
            walk: work.whole().garbling(&secrets.material(), inputs),
        }
    }

    /// Appends the tables of the next segment. Returns `false` if there is none.
    pub(super) fn append(&mut self, out: &mut Vec<u8>) -> bool {
        self.walk.append(out)
    }

    /// Appends the part after the tables. Returns the labels of 0 of the values that are saved now.
    pub(super) fn finish(self, out: &mut Vec<u8>) -> SavedCopy {
        let zeros = self.walk.outputs();
        let (masked, saved) = zeros.split_at(self.masked_bits);
        out.extend_from_slice(&select_bits(masked));
        SavedCopy {
            delta: *self.delta,
            labels: saved.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cloud has a ⊕ PRG(ω) of every circuit that it evaluates, and a ⊕ p. If it knows bits of
    /// a, it knows bits of the seeds' output. If equal seeds had equal output, one call of the
    /// cipher would test a guess against the seeds of all circuits and runs.
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
