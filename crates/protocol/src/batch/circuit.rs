//! A circuit as its garbler knows it: everything follows from its seed.
//!
//! From the seed come, in this order: Δ, the start point, λ and a seed for the scheme; the labels
//! of 0 of the garbler's input; first shares of 0, one an encoded bit; second shares of 0, one a
//! bit; and m with its halves. The label of bit w of the evaluator's input is
//!
//! W_w = (M · first shares)_w ⊕ second share_w (⊕ PRG(λ)\[w\] in a main circuit),
//!
//! so that the first share of y1_w and the second of y2_w give the label of y1_w ⊕ y2_w. The
//! labels of the garbler's input are committed to and opened under PRG(λ), too.
//!
//! **A recovery circuit is a lock on m.** It publishes z = m ⊕ H(all labels of 0 of its 128 wires).
//! Who has label 0 of each, that is, who chose e ⊕ c = D, gets m; and with it x = (x ⊕ m) ⊕ m,
//! since x ⊕ m of its circuit follows from the main circuits' and the chain's δ. So recovery
//! needs no gates and no labels of x: the AND gates of Lindell–Riva's circuit, whose master label
//! the same lock would hide, could give no more than this.

use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::bits::{bit, clear_unused, xor_into};
use super::consistency::Pairs;
use super::layout::{Batch, CircuitKind};
use super::oracle::{Domain, Hash, Oracle};
use super::walk::Material;

/// What a circuit follows from. Secret until the circuit is checked.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct CircuitSeed(pub(super) [u8; CircuitSeed::BYTES]);

impl CircuitSeed {
    pub(super) const BYTES: usize = 32;

    /// The seed of circuit `number` under the garbler's.
    pub(super) fn derive(oracle: &Oracle, root: &[u8; 32], number: u32) -> Self {
        Self(oracle.parts(Domain::CircuitSeed, number, 0, &[root]))
    }
}

/// What follows from a circuit's seed before anything is garbled.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Secrets {
    #[zeroize(skip)]
    kind: CircuitKind,
    #[zeroize(skip)]
    pub(super) number: u32,
    seed: CircuitSeed,
    pub(super) delta: Block,
    #[zeroize(skip)]
    start: Block,
    pub(super) lambda: Block,
    garbling_seed: [u8; 32],
    /// Labels of 0 of the garbler's input, under λ.
    pub(super) inputs: Vec<Block>,
    /// First shares of 0, one an encoded bit.
    pub(super) first: Vec<Block>,
    /// Second shares of 0, one a bit.
    pub(super) second: Vec<Block>,
    pub(super) pairs: Pairs,
}

impl Secrets {
    /// Those of circuit `number`.
    pub(super) fn derive<S: Scheme<Wire = Block>>(
        batch: &Batch<'_, S>,
        number: u32,
        seed: CircuitSeed,
    ) -> Self {
        let kind = batch.kind(number);
        let mut prg = Prg::from_seed(&seed.0);
        let delta = prg.next_block().with_lsb(1.into());
        let (start, lambda) = (prg.next_block(), prg.next_block());
        let mut garbling_seed = [0; 32];
        prg.fill_bytes(&mut garbling_seed);
        let mut draw = |count| {
            let mut blocks = vec![Block::ZERO; count];
            prg.fill_blocks(&mut blocks);
            blocks
        };
        let inputs = match kind {
            CircuitKind::Main => draw(batch.input_bits),
            CircuitKind::Recovery => Vec::new(),
        };
        let encoding = batch.encoding(kind);
        let (first, second) = (draw(encoding.encoded_bits()), draw(encoding.bits()));
        Self {
            kind,
            number,
            seed,
            delta,
            start,
            lambda,
            garbling_seed,
            inputs,
            first,
            second,
            pairs: Pairs::draw(batch.chaining, &mut prg),
        }
    }

    /// The labels of 0 of the evaluator's input, without λ.
    fn choices<S: Scheme<Wire = Block>>(&self, batch: &Batch<'_, S>) -> Zeroizing<Vec<Block>> {
        let mut labels = Zeroizing::new(batch.encoding(self.kind).decode_blocks(&self.first));
        for (label, second) in labels.iter_mut().zip(&self.second) {
            *label ^= *second;
        }
        labels
    }

    /// Garbles the circuit, a main one: appends its tables, and gives its outputs' labels of 0.
    pub(super) fn garble<S: Scheme<Wire = Block>>(
        &self,
        batch: &Batch<'_, S>,
        tables: &mut Vec<u8>,
    ) -> Zeroizing<Vec<Block>> {
        let (mut inputs, mut choices) = (Zeroizing::new(self.inputs.clone()), self.choices(batch));
        unmask(self.lambda, &mut inputs, &mut choices);
        let material = Material {
            seed: self.garbling_seed,
            start: self.start,
            delta: self.delta,
            inputs: &inputs,
            choices: &choices,
        };
        batch.garble(&material, tables)
    }

    /// Appends all that is published of the circuit.
    pub(super) fn publish<S: Scheme<Wire = Block>>(&self, batch: &Batch<'_, S>, out: &mut Vec<u8>) {
        let oracle = &batch.oracle;
        out.reserve(batch.layout(self.kind).total);
        if self.kind == CircuitKind::Main {
            out.extend(self.start.to_bytes());
            let outputs = self.garble(batch, out);
            self.commit_inputs(oracle, out);
            for (number, derived) in (0..).zip(&*self.derived_outputs(batch, &outputs)) {
                out.extend(oracle.block(Domain::OutputCommitment, self.number, number, *derived));
            }
        }
        self.commit_pairs(oracle, Domain::SecondShare, &self.second, out);
        match self.kind {
            CircuitKind::Main => {
                out.extend(oracle.block(Domain::Lambda, self.number, 0, self.lambda));
            }
            CircuitKind::Recovery => {
                let mut locked = self.pairs.mask.clone();
                lock(
                    oracle,
                    self.number,
                    &self.choices(batch),
                    batch.input_bits,
                    &mut locked,
                );
                out.extend(locked);
            }
        }
        self.commit_pairs(oracle, Domain::FirstShare, &self.first, out);
        self.pairs.commit(oracle, self.number, out);
        out.extend(oracle.parts(Domain::Seed, self.number, 0, &[&self.seed.0]));
        #[cfg(test)]
        if let Some(spoiling) = &batch.spoiling {
            spoiling.spoil(self.number, batch.layout(self.kind), out);
        }
    }

    /// Commitments to both labels of each of `zeros`, that of 0 first.
    fn commit_pairs(&self, oracle: &Oracle, domain: Domain, zeros: &[Block], out: &mut Vec<u8>) {
        for (i, zero) in (0..).zip(zeros) {
            for (b, label) in (0..).zip([*zero, *zero ^ self.delta]) {
                out.extend(oracle.block(domain, self.number, 2 * i + b, label));
            }
        }
    }

    /// Commitments to both labels of the garbler's inputs, at position p the label of p ⊕ m.
    fn commit_inputs(&self, oracle: &Oracle, out: &mut Vec<u8>) {
        for (i, zero) in self.inputs.iter().enumerate() {
            let permuted = u8::from(bit(&self.pairs.mask, i)).into();
            let first = *zero ^ self.delta.and_bit(permuted);
            for (p, label) in (0..).zip([first, first ^ self.delta]) {
                let position = 2 * i as u32 + p;
                out.extend(oracle.block(Domain::GarblerInput, self.number, position, label));
            }
        }
    }

    /// O^0 and O^1 of each output, from the labels of 0.
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

    /// The label of `zero`'s wire for `value`.
    pub(super) fn label(&self, zero: Block, value: bool) -> Block {
        zero ^ self.delta.and_bit(u8::from(value).into())
    }
}

/// O of the label of output `output`.
pub(super) fn derive_output(oracle: &Oracle, circuit: u32, output: u32, label: Block) -> Block {
    oracle.block_to_block(Domain::Output, circuit, output, label)
}

/// Takes λ off, or puts it on.
pub(super) fn unmask(lambda: Block, inputs: &mut [Block], choices: &mut [Block]) {
    let mut prg = Prg::new(lambda);
    let mut masks = Zeroizing::new(vec![Block::ZERO; inputs.len() + choices.len()]);
    prg.fill_blocks(&mut masks);
    for (label, mask) in inputs.iter_mut().chain(choices).zip(&*masks) {
        *label ^= *mask;
    }
}

/// Locks or unlocks m under the labels of 0 of a recovery circuit's wires.
pub(super) fn lock(
    oracle: &Oracle,
    circuit: u32,
    zeros: &[Block],
    input_bits: usize,
    mask: &mut [u8],
) {
    let mut bytes = Zeroizing::new(Vec::with_capacity(zeros.len() * Block::BYTES));
    for zero in zeros {
        bytes.extend_from_slice(&zero.to_bytes());
    }
    let key: Zeroizing<Hash> = Zeroizing::new(oracle.parts(Domain::Lock, circuit, 0, &[&bytes]));
    let mut pad = Zeroizing::new(vec![0; mask.len()]);
    Prg::from_seed(&key).fill_bytes(&mut pad);
    xor_into(mask, &pad);
    clear_unused(mask, input_bits);
}
