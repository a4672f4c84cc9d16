//! A circuit as its garbler knows it: its seed determines everything.
//!
//! The seed gives, in this order: Δ, the start point, λ, a seed for the scheme and one for m and
//! its pairs; the labels of 0 of the garbler's input; first shares of 0, one for each encoded bit;
//! and second shares of 0, one for each bit of the evaluator's input and of D. The label of 0 of
//! such a bit is
//!
//! W_w = (M · first shares)_w ⊕ second share_w (⊕ PRG(λ)\[w\] for an input),
//!
//! so that the first share of value a and the second share of value b give the label of a ⊕ b. The
//! labels of the garbler's input are committed to and opened under PRG(λ), too.
//!
//! **Recovery is a lock that can be checked.** A circuit publishes z = (seed of m and its pairs) ⊕
//! H(labels of 0 of D's 128 wires). A party that has label 0 of each of these wires, that is, a
//! party that sent e = D ⊕ c, gets the seed, makes the pairs again, and compares *all* their
//! commitments. Then m is the one to which the garbler committed, twice in each pair, before
//! anything was opened, and by the chain x ⊕ m of this circuit belongs to the x of every good
//! circuit ([`consistency`](super::consistency)). So a lock that opens gives the right x, even if
//! everything else about its circuit is wrong, and **one good circuit of a bucket is enough** for
//! recovery as it is for the result: neither separate circuits nor a majority is needed. D's wires
//! enter no gate. The evaluator only ever has one label of each. The lock hashes all of them
//! together, because a sum of labels would cancel Δ.

use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::consistency::Pairs;
use super::layout::{Batch, LOCK_BYTES};
use super::oracle::{Domain, Hash, Oracle};
use crate::bits::{append_blocks, bit, xor_into};
use crate::malicious::commitment::Committing;
use crate::malicious::walk::{InputLabels, Material};

/// The seed of a circuit. Secret until the circuit is checked.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct CircuitSeed(pub(super) [u8; CircuitSeed::BYTES]);

impl CircuitSeed {
    pub(super) const BYTES: usize = 32;

    /// Returns the seed of circuit `number` under the garbler's seed.
    pub(super) fn derive(oracle: &Oracle, root: &[u8; 32], number: u32) -> Self {
        Self(oracle.parts(Domain::CircuitSeed, number, 0, &[root]))
    }
}

/// The values that a circuit's seed gives before anything is garbled.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Secrets {
    #[zeroize(skip)]
    pub(super) number: u32,
    seed: CircuitSeed,
    pub(super) delta: Block,
    #[zeroize(skip)]
    start: Block,
    pub(super) lambda: Block,
    garbling_seed: [u8; 32],
    /// The seed that the lock hides.
    pairs_seed: [u8; LOCK_BYTES],
    /// Labels of 0 of the garbler's input, under λ.
    pub(super) inputs: Vec<Block>,
    /// First shares of 0, one for each encoded bit.
    pub(super) first: Vec<Block>,
    /// Second shares of 0, one for each bit.
    pub(super) second: Vec<Block>,
    pub(super) pairs: Pairs,
}

impl Secrets {
    /// Returns the secrets of circuit `number`.
    pub(super) fn derive<S: Scheme<Wire = Block>>(
        batch: &Batch<'_, S>,
        number: u32,
        seed: CircuitSeed,
    ) -> Self {
        let mut prg = Prg::from_seed(&seed.0);
        let delta = prg.next_block().with_lsb(1.into());
        let (start, lambda) = (prg.next_block(), prg.next_block());
        let mut garbling_seed = [0; 32];
        prg.fill_bytes(&mut garbling_seed);
        let mut pairs_seed = [0; LOCK_BYTES];
        prg.fill_bytes(&mut pairs_seed);
        let mut draw = |count| {
            let mut blocks = vec![Block::ZERO; count];
            prg.fill_blocks(&mut blocks);
            blocks
        };
        let inputs = draw(batch.input_bits);
        let first = draw(batch.encoding.encoded_bits());
        let second = draw(batch.encoding.bits());
        Self {
            number,
            seed,
            delta,
            start,
            lambda,
            garbling_seed,
            pairs: Pairs::draw(batch.chaining, &mut Prg::from_seed(&pairs_seed)),
            pairs_seed,
            inputs,
            first,
            second,
        }
    }

    /// Returns the labels of 0 of the evaluator's input and of D, without λ.
    fn choices<S: Scheme<Wire = Block>>(&self, batch: &Batch<'_, S>) -> Zeroizing<Vec<Block>> {
        let mut labels = Zeroizing::new(batch.encoding.decode_blocks(&self.first));
        for (label, second) in labels.iter_mut().zip(&self.second) {
            *label ^= *second;
        }
        labels
    }

    /// Garbles the circuit. Appends its tables, and returns its outputs' labels of 0.
    pub(super) fn garble<S: Scheme<Wire = Block>>(
        &self,
        batch: &Batch<'_, S>,
        tables: &mut Vec<u8>,
    ) -> Zeroizing<Vec<Block>> {
        self.garble_with(batch, self.choices(batch), tables)
    }

    fn garble_with<S: Scheme<Wire = Block>>(
        &self,
        batch: &Batch<'_, S>,
        mut choices: Zeroizing<Vec<Block>>,
        tables: &mut Vec<u8>,
    ) -> Zeroizing<Vec<Block>> {
        choices.truncate(batch.choice_bits);
        let mut inputs = Zeroizing::new(self.inputs.clone());
        unmask(self.lambda, &mut inputs, &mut choices);
        let material = Material {
            seed: self.garbling_seed,
            start: self.start,
            delta: self.delta,
        };
        let inputs = InputLabels {
            garbler: &inputs,
            evaluator: &choices,
            loaded: &[],
        };
        batch.whole().garble(&material, inputs, tables)
    }

    /// Appends everything that is published of the circuit.
    pub(super) fn publish<S: Scheme<Wire = Block>>(&self, batch: &Batch<'_, S>, out: &mut Vec<u8>) {
        let (oracle, number) = (&batch.oracle, self.number);
        #[cfg(test)]
        let begin = out.len();
        out.reserve(batch.layout.total);
        out.extend_from_slice(&self.start.to_bytes());
        let choices = self.choices(batch);
        let mut locked = self.pairs_seed;
        lock(oracle, number, &choices[batch.choice_bits..], &mut locked);
        let outputs = self.garble_with(batch, choices, out);
        self.commit_inputs(oracle, out);
        let derived = self.derived_outputs(batch, &outputs);
        let committing = Committing::new(oracle, Domain::OutputCommitment, number);
        committing.commit_pairs(derived.as_chunks().0, out);
        self.commit_labels(oracle, Domain::SecondShare, &self.second, out);
        out.extend_from_slice(&oracle.block(Domain::Lambda, number, 0, self.lambda));
        out.extend_from_slice(&locked);
        self.commit_labels(oracle, Domain::FirstShare, &self.first, out);
        self.pairs.commit(oracle, number, out);
        out.extend_from_slice(&oracle.parts(Domain::Seed, number, 0, &[&self.seed.0]));
        #[cfg(test)]
        if let Some(spoiling) = &batch.spoiling {
            spoiling.spoil(number, &batch.layout, &mut out[begin..]);
        }
    }

    /// Appends commitments to both labels of wires, of which those in `first` come first.
    fn commit_labels(&self, oracle: &Oracle, domain: Domain, first: &[Block], out: &mut Vec<u8>) {
        Committing::new(oracle, domain, self.number).commit(first, self.delta, out);
    }

    /// Appends commitments to both labels of the garbler's inputs. At position p is the label of p
    /// ⊕ m.
    fn commit_inputs(&self, oracle: &Oracle, out: &mut Vec<u8>) {
        let inputs = self.inputs.iter().enumerate();
        let first = inputs.map(|(i, zero)| self.label(*zero, bit(&self.pairs.mask, i)));
        let first = Zeroizing::new(first.collect::<Vec<_>>());
        self.commit_labels(oracle, Domain::GarblerInput, &first, out);
    }

    /// Returns O^0 and O^1 of each output, from the labels of 0.
    pub(super) fn derived_outputs<S: Scheme<Wire = Block>>(
        &self,
        batch: &Batch<'_, S>,
        zeros: &[Block],
    ) -> Zeroizing<Vec<Block>> {
        let mut derived = Zeroizing::new(Vec::with_capacity(2 * zeros.len()));
        for (i, zero) in (0..).zip(zeros) {
            for label in [*zero, *zero ^ self.delta] {
                derived.push(derive_output(&batch.oracle, self.number, i, label));
            }
        }
        #[cfg(test)]
        if let Some(spoiling) = &batch.spoiling {
            spoiling.spoil_outputs(self.number, &mut derived);
        }
        derived
    }

    /// Returns the label for `value` of the wire whose label of 0 is `zero`.
    pub(super) fn label(&self, zero: Block, value: bool) -> Block {
        zero ^ self.delta.and_bit(u8::from(value).into())
    }
}

/// Returns O for a label of output `output`.
pub(super) fn derive_output(oracle: &Oracle, circuit: u32, output: u32, label: Block) -> Block {
    oracle.block_to_block(Domain::Output, circuit, output, label)
}

/// Adds or removes λ.
pub(super) fn unmask(lambda: Block, inputs: &mut [Block], choices: &mut [Block]) {
    let mut prg = Prg::new(lambda);
    let mut masks = Zeroizing::new(vec![Block::ZERO; inputs.len() + choices.len()]);
    prg.fill_blocks(&mut masks);
    for (label, mask) in inputs.iter_mut().chain(choices).zip(&*masks) {
        *label ^= *mask;
    }
}

/// Locks or unlocks a seed under the labels of 0 of D's wires.
pub(super) fn lock(oracle: &Oracle, circuit: u32, zeros: &[Block], seed: &mut [u8; LOCK_BYTES]) {
    let mut bytes = Zeroizing::new(Vec::with_capacity(zeros.len() * Block::BYTES));
    append_blocks(&mut bytes, zeros);
    let key: Zeroizing<Hash> = Zeroizing::new(oracle.parts(Domain::Lock, circuit, 0, &[&bytes]));
    xor_into(seed, &*key);
}
