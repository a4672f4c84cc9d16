//! The evaluator of an execution.

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use tacit_function::Role;
use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::outcome::{CircuitOutcome, Outcome};
use crate::Error;
use crate::batch::circuit::{lock, unmask};
use crate::batch::consistency::Pairs;
use crate::batch::execution::{EvaluatorExecution, KeptCircuit};
use crate::batch::layout::{Batch, KEY_BITS, LOCK_BYTES};
use crate::batch::messages;
use crate::batch::oracle::{Domain, HASH_BYTES, Hash};
use crate::batch::{Caught, cheated, parallel, returned};
use crate::bits::{bit, check_bits, pack, read_block, unpack};
use crate::io::Io;
use crate::malicious::commitment::{Committing, PAIR_BYTES, pads_of_pairs};
use crate::malicious::walk::InputLabels;
use crate::message::Kind;

/// An execution on the evaluator's side.
pub struct OnlineEvaluator<'a, 'f, S: Scheme> {
    batch: &'a Batch<'f, S>,
    execution: EvaluatorExecution<'a>,
    /// y.
    inputs: &'a [bool],
    /// y2.
    masked: Vec<u8>,
    threads: usize,
    /// The seed of the value that replaces D if it was not found.
    seed: &'a Zeroizing<[u8; 32]>,
}

/// The state after message 2.
struct Evaluated {
    outcome: Outcome,
    /// x ⊕ m of each circuit of the chain.
    positions: Vec<Vec<u8>>,
    key_hash: Hash,
    /// Both masks of each output of each circuit.
    masks: Vec<[u8; Block::BYTES]>,
    /// e.
    choice: Block,
}

/// The content of message 4.
struct Answer<'m> {
    /// D.
    key: Block,
    /// e ⊕ D.
    choices: [u8; Block::BYTES],
    /// Second shares of D's wires, circuit by circuit.
    second: &'m [[u8; Block::BYTES]],
    /// Both O of each output of each circuit.
    outputs: &'m [[u8; Block::BYTES]],
}

/// The data that message 4 gives for a circuit.
struct Recovered {
    /// Whether the lock of the circuit opens.
    opens: Choice,
    /// x, if the lock opens.
    inputs: Zeroizing<Vec<u8>>,
    /// R of each output.
    randoms: Vec<Block>,
}

impl<'a, 'f, S: Scheme<Wire = Block>> OnlineEvaluator<'a, 'f, S> {
    /// Returns an execution with the evaluator's input bits, in port order, on this number of
    /// threads. `seed` is random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// The number of `inputs` is not what the function takes from the evaluator.
    pub fn new(
        batch: &'a Batch<'f, S>,
        execution: EvaluatorExecution<'a>,
        inputs: &'a [bool],
        threads: usize,
        seed: &'a Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        if inputs.len() != batch.function.input_bits(Role::Evaluator) {
            return Err(Error::ApiMisuse(
                "as many input bits as the evaluator's ports have",
            ));
        }
        let offset = &execution.offset[..batch.choice_bits];
        let masked = inputs.iter().zip(offset).map(|(bit, offset)| bit ^ offset);
        let masked = pack(&masked.collect::<Vec<_>>());
        Ok(Self {
            batch,
            execution,
            inputs,
            masked,
            threads,
            seed,
        })
    }

    /// Runs the execution. Returns the evaluator's output bits, in port order.
    ///
    /// # Errors
    ///
    /// The garbler cheats, or the wire fails. The execution is spent in any case.
    pub async fn run(self, io: &mut Io<'_>) -> Result<Zeroizing<Vec<bool>>, Error> {
        let batch = self.batch;
        io.message().clone_from(&self.masked);
        io.send(messages::masked_input(batch))?;
        let labels = io.receive(messages::input_labels(batch)).await?;
        let found = self.evaluate_all(labels)?;
        *io.message() = found.choice.to_bytes().to_vec();
        io.send(messages::RECOVERY_CHOICE)?;
        let labels = io.receive(messages::recovery_labels(batch)).await?;
        let mut outputs = self.recover_all(&found, labels)?;
        let own = batch.function.output_bits(Role::Evaluator);
        if let Some(returned) = messages::masked_result(batch) {
            *io.message() = pack(&outputs[own..]);
            io.send(returned)?;
        }
        outputs.truncate(own);
        Ok(outputs)
    }

    /// Returns the hash of D.
    fn key_hash(&self, key: Block) -> Hash {
        let (oracle, first) = (&self.batch.oracle, self.execution.circuits[0].number);
        oracle.block(Domain::RecoveryKey, first, 0, key)
    }

    /// Checks message 2 and evaluates the bucket.
    fn evaluate_all(&self, payload: &[u8]) -> Result<Box<Evaluated>, Error> {
        let batch = self.batch;
        let (first, rest) = payload.split_at(batch.chaining.half_bytes());
        check_bits(Kind::InputLabels, first, batch.input_bits)?;
        let positions = self.execution.positions(first);
        let (of_key, rest) = rest.split_at(HASH_BYTES);
        let mut key_hash = [0; HASH_BYTES];
        key_hash.copy_from_slice(of_key);
        let labels_bytes = messages::labels_bytes(batch);
        let (labels, masks) = rest.split_at(batch.bucket() * labels_bytes);
        let masks = masks.as_chunks::<{ Block::BYTES }>().0;
        let labels = labels.chunks_exact(labels_bytes);
        let circuits = self.execution.circuits.iter();
        let circuits = circuits.zip(labels).zip(&positions).enumerate();
        let circuits: Vec<_> = circuits.collect();
        let outcomes = parallel::map(self.threads, &circuits, |_, (place, circuit)| {
            let ((circuit, labels), positions) = circuit;
            let outputs = self.evaluate(circuit, labels, positions)?;
            let pairs = 2 * batch.output_bits;
            let masks = &masks[place * pairs..(place + 1) * pairs];
            Ok(CircuitOutcome::new(batch, circuit, &outputs, masks))
        });
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, Error>>()?;
        let random = Prg::from_seed(self.seed).next_block();
        let is_key = |key| self.key_hash(key).ct_eq(&key_hash);
        let outcome = Outcome::new(&outcomes, batch.output_bits, random, is_key);
        let offset = Zeroizing::new(pack(&self.execution.offset[batch.choice_bits..]));
        Ok(Box::new(Evaluated {
            choice: outcome.key ^ read_block(&offset),
            outcome,
            positions,
            key_hash,
            masks: masks.to_vec(),
        }))
    }

    /// Checks the labels of a circuit and evaluates it.
    pub(in crate::batch) fn evaluate(
        &self,
        circuit: &KeptCircuit<'_>,
        labels: &[u8],
        positions: &[u8],
    ) -> Result<Zeroizing<Vec<Block>>, Error> {
        let (batch, layout) = (self.batch, &self.batch.layout);
        let oracle = &batch.oracle;
        let mut labels = labels
            .as_chunks()
            .0
            .iter()
            .map(|bytes| Block::from_bytes(*bytes));
        let lambda = labels.next().unwrap_or_default();
        let expected = &circuit.published[layout.lambda.clone()];
        if oracle.block(Domain::Lambda, circuit.number, 0, lambda) != *expected {
            return Err(cheated(Caught::Lambda(circuit.number)));
        }
        let second: Vec<Block> = labels.by_ref().take(batch.choice_bits).collect();
        let mut choices = self.open_second(circuit, 0, &second, &self.masked)?;
        let mut inputs = Zeroizing::new(labels.collect::<Vec<_>>());
        let commitments = &circuit.published[layout.inputs.clone()];
        let committing = Committing::new(oracle, Domain::GarblerInput, circuit.number);
        if !committing.open(0, &inputs, position_of(positions), commitments) {
            return Err(cheated(Caught::GarblerInput(circuit.number)));
        }
        unmask(lambda, &mut inputs, &mut choices);
        let start = read_block(&circuit.published);
        let tables = &circuit.published[layout.tables.clone()];
        let inputs = InputLabels {
            garbler: &inputs,
            evaluator: &choices,
            loaded: &[],
        };
        Ok(batch.whole().evaluate(start, tables, inputs))
    }

    /// Checks second shares at `choices` of the wires from `first` on, and returns the wires'
    /// labels.
    pub(in crate::batch) fn open_second(
        &self,
        circuit: &KeptCircuit<'_>,
        first: usize,
        second: &[Block],
        choices: &[u8],
    ) -> Result<Zeroizing<Vec<Block>>, Error> {
        let commitments = &circuit.published[self.batch.layout.second.clone()];
        let these = PAIR_BYTES * first..PAIR_BYTES * (first + second.len());
        let commitments = &commitments[these];
        let committing = Committing::new(&self.batch.oracle, Domain::SecondShare, circuit.number);
        if !committing.open(first, second, position_of(choices), commitments) {
            return Err(cheated(Caught::SecondShare(circuit.number)));
        }
        let labels = second.iter().zip(&circuit.shares[first..]);
        let labels = labels.map(|(second, first)| *second ^ *first);
        Ok(Zeroizing::new(labels.collect()))
    }

    /// Checks message 4 and selects the result.
    fn recover_all(
        &self,
        found: &Evaluated,
        payload: &[u8],
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
        let batch = self.batch;
        let (key, rest) = payload.split_at(Block::BYTES);
        let key = read_block(key);
        if self.key_hash(key) != found.key_hash {
            return Err(cheated(Caught::RecoveryKey));
        }
        let (second, outputs) = rest.split_at(batch.bucket() * KEY_BITS * Block::BYTES);
        let answer = Answer {
            key,
            choices: (found.choice ^ key).to_bytes(),
            second: second.as_chunks().0,
            outputs: outputs.as_chunks().0,
        };
        let places: Vec<usize> = (0..batch.bucket()).collect();
        let recovered = parallel::map(self.threads, &places, |_, place| {
            self.recover(*place, found, &answer)
        });
        let recovered = recovered.into_iter().collect::<Result<Vec<_>, Error>>()?;
        for (circuit, other) in self.execution.circuits.iter().zip(&recovered) {
            if other.randoms != recovered[0].randoms {
                return Err(cheated(Caught::OutputMask(circuit.number)));
            }
        }
        let mut inputs = Zeroizing::new(vec![0; batch.chaining.half_bytes()]);
        let mut unlocked = Choice::from(0);
        for circuit in &recovered {
            let take = circuit.opens & !unlocked;
            for (input, own) in inputs.iter_mut().zip(&*circuit.inputs) {
                input.conditional_assign(own, take);
            }
            unlocked |= circuit.opens;
        }
        let inputs = unpack(&inputs, batch.input_bits);
        let recovered = found.outcome.key.ct_eq(&key) & unlocked;
        self.select(&found.outcome, &inputs, recovered)
    }

    /// Checks message 4 for one circuit, and tries the circuit's lock.
    fn recover(
        &self,
        place: usize,
        found: &Evaluated,
        answer: &Answer<'_>,
    ) -> Result<Recovered, Error> {
        let batch = self.batch;
        let circuit = &self.execution.circuits[place];
        let second = &answer.second[place * KEY_BITS..(place + 1) * KEY_BITS];
        let second: Vec<Block> = second.iter().copied().map(Block::from_bytes).collect();
        let zeros = self.open_second(circuit, batch.choice_bits, &second, &answer.choices)?;
        let (opens, pairs) = self.unlock(circuit, &zeros);
        let own = pairs.mask.iter().zip(&found.positions[place]);
        let own = own.map(|(mask, position)| mask ^ position);
        let outputs = 2 * batch.output_bits;
        let outputs = place * outputs..(place + 1) * outputs;
        let masks = &found.masks[outputs.clone()];
        Ok(Recovered {
            opens,
            inputs: Zeroizing::new(own.collect()),
            randoms: self.check_outputs(circuit, answer.key, &answer.outputs[outputs], masks)?,
        })
    }

    /// Tries the lock of a circuit with `zeros` as the labels of 0 of D's wires. Returns whether it
    /// opens, and the pairs. It opens if m and all halves match the commitments.
    pub(in crate::batch) fn unlock(
        &self,
        circuit: &KeptCircuit<'_>,
        zeros: &[Block],
    ) -> (Choice, Pairs) {
        let (batch, oracle) = (self.batch, &self.batch.oracle);
        let mut seed = Zeroizing::new([0; LOCK_BYTES]);
        seed.copy_from_slice(&circuit.published[batch.layout.lock.clone()]);
        lock(oracle, circuit.number, zeros, &mut seed);
        let pairs = Pairs::draw(batch.chaining, &mut Prg::from_seed(&seed));
        let mut commitments = Vec::with_capacity(batch.chaining.commitment_bytes());
        pairs.commit(oracle, circuit.number, &mut commitments);
        let hash = batch.hash_pairs(circuit.number, &commitments);
        (hash.ct_eq(&circuit.pairs), pairs)
    }

    /// Checks that every O of a circuit opens. Returns the R that each output's masks hide, which
    /// must be the same under both.
    fn check_outputs(
        &self,
        circuit: &KeptCircuit<'_>,
        key: Block,
        outputs: &[[u8; Block::BYTES]],
        masks: &[[u8; Block::BYTES]],
    ) -> Result<Vec<Block>, Error> {
        let (batch, oracle, number) = (self.batch, &self.batch.oracle, circuit.number);
        let given = outputs.as_chunks::<2>().0.iter();
        let given = given.map(|pair| pair.map(Block::from_bytes));
        let mut pads = Zeroizing::new(given.collect::<Vec<_>>());
        let mut commitments = Vec::with_capacity(PAIR_BYTES * pads.len());
        let committing = Committing::new(oracle, Domain::OutputCommitment, number);
        committing.commit_pairs(&pads, &mut commitments);
        if commitments != circuit.published[batch.layout.outputs.clone()] {
            return Err(cheated(Caught::Output(number)));
        }
        pads_of_pairs(oracle, Domain::OutputMask, number, &mut pads);
        let mut randoms: Vec<Block> = Vec::with_capacity(batch.output_bits);
        for (pads, masks) in pads.iter().zip(masks.as_chunks::<2>().0) {
            let [zero, one] = masks.map(Block::from_bytes);
            let random = pads[0] ^ zero;
            if random != pads[1] ^ one ^ key {
                return Err(cheated(Caught::OutputMask(number)));
            }
            randoms.push(random);
        }
        Ok(randoms)
    }

    /// Returns the outputs: the evaluator's, followed by those to be returned. They come from the
    /// circuits or, if the garbler's inputs were recovered, from a computation in the clear.
    fn select(
        &self,
        outcome: &Outcome,
        inputs: &[bool],
        recovered: Choice,
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
        if !bool::from(Choice::from(outcome.complete) | recovered) {
            return Err(cheated(Caught::NoResult));
        }
        let function = self.batch.function;
        let (own, added) = inputs.split_at(function.input_bits(Role::Garbler));
        let (mut own, mut mine) = (own.iter().copied(), self.inputs.iter().copied());
        let computed = function.interpret(|port| {
            let bit = match function.inputs()[port].owner {
                Role::Garbler => own.next(),
                Role::Evaluator => mine.next(),
            };
            bit.unwrap_or_default()
        });
        let returned = returned::mask(&computed.of(Role::Garbler), added);
        let computed = computed.of(Role::Evaluator);
        let computed = computed.iter().chain(&*returned);
        let mut selected = Zeroizing::new(outcome.outputs.clone());
        for (bit, computed) in selected.iter_mut().zip(computed) {
            let choice = u8::conditional_select(&u8::from(*bit), &u8::from(*computed), recovered);
            *bit = choice == 1;
        }
        Ok(selected)
    }
}

/// Returns the positions of the opened commitments.
fn position_of(positions: &[u8]) -> impl Fn(usize) -> Choice {
    |i| u8::from(bit(positions, i)).into()
}
