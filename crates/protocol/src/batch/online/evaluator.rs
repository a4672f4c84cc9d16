//! The evaluator of an execution.

use core::mem;

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use tacit_function::Role;
use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::outcome::{CircuitOutcome, Outcome};
use crate::Error;
use crate::batch::circuit::{lock, unmask};
use crate::batch::consistency::Pairs;
use crate::batch::execution::{EvaluatorExecution, KeptCircuit};
use crate::batch::layout::{Batch, KEY_BITS, LOCK_BYTES};
use crate::batch::oracle::{Domain, HASH_BYTES, Hash};
use crate::batch::{Caught, cheated, parallel, returned};
use crate::bits::{bit, check_bits, pack, read_block, unpack};
use crate::malicious::commitment::{Committing, PAIR_BYTES, pads_of_pairs};
use crate::malicious::walk::InputLabels;
use crate::message::{Kind, exactly};
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, SPENT};

/// An execution on the evaluator's side.
pub struct OnlineEvaluator<'a, 'f, S: Scheme> {
    batch: &'a Batch<'f, S>,
    execution: EvaluatorExecution<'a>,
    threads: usize,
    secrets: Secret,
    state: Option<State>,
}

#[derive(Zeroize, ZeroizeOnDrop)]
struct Secret {
    /// y.
    inputs: Vec<bool>,
    /// y2.
    masked: Vec<u8>,
    /// Stands for D where it was not found.
    random: Block,
    /// What goes back to the garbler, and what stays.
    returned: Vec<bool>,
    result: Vec<bool>,
}

/// After message 2.
pub(crate) struct Evaluated {
    outcome: Outcome,
    /// x ⊕ m of each circuit of the chain.
    positions: Vec<Vec<u8>>,
    key_hash: Hash,
    /// Both masks of each output of each circuit.
    masks: Vec<[u8; Block::BYTES]>,
    /// e.
    choice: Block,
}

/// Message 4.
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

/// What message 4 gave of a circuit.
struct Recovered {
    /// Whether its lock opens.
    opens: Choice,
    /// x, if it does.
    inputs: Zeroizing<Vec<u8>>,
    /// R of each output.
    randoms: Vec<Block>,
}

pub(crate) enum State {
    Asking,
    AwaitingLabels,
    Choosing(Box<Evaluated>),
    AwaitingRecovery(Box<Evaluated>),
    Returning,
    Done,
}

impl<'a, 'f, S: Scheme<Wire = Block>> OnlineEvaluator<'a, 'f, S> {
    /// An execution with the evaluator's input bits, in port order, on this many threads. `seed` is
    /// random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// `inputs` are not as many as the function asks of the evaluator.
    pub fn new(
        batch: &'a Batch<'f, S>,
        execution: EvaluatorExecution<'a>,
        inputs: &[bool],
        threads: usize,
        seed: &Zeroizing<[u8; 32]>,
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
            threads,
            secrets: Secret {
                inputs: inputs.to_vec(),
                masked,
                random: Prg::from_seed(seed).next_block(),
                returned: Vec::new(),
                result: Vec::new(),
            },
            state: Some(State::Asking),
        })
    }

    /// The evaluator's output bits in port order.
    ///
    /// # Errors
    ///
    /// The run is not done.
    pub fn finish(mut self) -> Result<Zeroizing<Vec<bool>>, Error> {
        match self.state {
            Some(State::Done) => Ok(Zeroizing::new(mem::take(&mut self.secrets.result))),
            _ => Err(NOT_DONE),
        }
    }

    /// Checks message 2 and evaluates the bucket.
    fn take_labels(&self, payload: &[u8]) -> Result<State, Error> {
        let batch = self.batch;
        exactly(Kind::InputLabels, payload, batch.input_labels_bytes())?;
        let (first, rest) = payload.split_at(batch.chaining.half_bytes());
        check_bits(Kind::InputLabels, first, batch.input_bits)?;
        let positions = self.execution.positions(first);
        let (key_hash, rest) = rest.split_at(HASH_BYTES);
        let (labels, masks) = rest.split_at(batch.bucket() * batch.labels_bytes());
        let masks = masks.as_chunks::<{ Block::BYTES }>().0;
        let mut key_hash_array = [0; HASH_BYTES];
        key_hash_array.copy_from_slice(key_hash);
        let labels = labels.chunks_exact(batch.labels_bytes());
        let circuits = self.execution.circuits.iter();
        let circuits: Vec<_> = circuits.zip(labels).zip(&positions).collect();
        let places: Vec<usize> = (0..circuits.len()).collect();
        let outcomes = parallel::map(self.threads, &places, |_, place| {
            let ((circuit, labels), positions) = circuits[*place];
            let outputs = self.evaluate(circuit, labels, positions)?;
            let pairs = 2 * batch.output_bits;
            let masks = &masks[place * pairs..(place + 1) * pairs];
            Ok(CircuitOutcome::new(batch, circuit, &outputs, masks))
        });
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, Error>>()?;
        let first_number = self.execution.circuits[0].number;
        let is_key = |key| {
            let hash = batch
                .oracle
                .block(Domain::RecoveryKey, first_number, 0, key);
            hash.ct_eq(&key_hash_array)
        };
        let outcome = Outcome::new(&outcomes, batch.output_bits, self.secrets.random, is_key);
        let offset = Zeroizing::new(pack(&self.execution.offset[batch.choice_bits..]));
        Ok(State::Choosing(Box::new(Evaluated {
            choice: outcome.key ^ read_block(&offset),
            outcome,
            positions,
            key_hash: key_hash_array,
            masks: masks.to_vec(),
        })))
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
        let mut choices = self.open_second(circuit, 0, &second, &self.secrets.masked)?;
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

    /// Checks second shares at `choices` of the wires from `first` on, and gives their labels.
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
    fn take_recovery(&mut self, found: Box<Evaluated>, payload: &[u8]) -> Result<State, Error> {
        let batch = self.batch;
        exactly(Kind::RecoveryLabels, payload, batch.recovery_labels_bytes())?;
        let (key, rest) = payload.split_at(Block::BYTES);
        let key = read_block(key);
        let first_number = self.execution.circuits[0].number;
        let domain = Domain::RecoveryKey;
        if batch.oracle.block(domain, first_number, 0, key) != found.key_hash {
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
            self.recover(*place, &found, &answer)
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

    /// Checks what message 4 says of a circuit, and tries its lock.
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

    /// Opens the lock of a circuit with what would be the labels of 0 of D's wires. Whether it
    /// opens, which it does if m and all halves are what was committed to.
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

    /// Checks that every O of a circuit opens. The R that each output's masks hide, the same under
    /// both.
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

    /// The result: that of the circuits, or if the garbler's inputs were recovered, computed.
    fn select(
        &mut self,
        outcome: &Outcome,
        inputs: &[bool],
        recovered: Choice,
    ) -> Result<State, Error> {
        let function = self.batch.function;
        if !bool::from(Choice::from(outcome.complete) | recovered) {
            return Err(cheated(Caught::NoResult));
        }
        let (own, added) = inputs.split_at(function.input_bits(Role::Garbler));
        let (mut own, mut mine) = (own.iter().copied(), self.secrets.inputs.iter().copied());
        // Room for all: a vector that grows would leave a copy behind.
        let mut bits = Zeroizing::new(Vec::with_capacity(own.len() + mine.len()));
        for input in function.inputs() {
            let width = input.port.ty.width();
            match input.owner {
                Role::Garbler => bits.extend(own.by_ref().take(width)),
                Role::Evaluator => bits.extend(mine.by_ref().take(width)),
            }
        }
        let outputs = Zeroizing::new(function.interpret(&bits));
        let mut rest = &outputs[..];
        let mut to_evaluator = Zeroizing::new(Vec::with_capacity(self.batch.output_bits));
        let to_garbler = function.output_bits(Role::Garbler);
        let mut to_garbler = Zeroizing::new(Vec::with_capacity(to_garbler));
        for output in function.outputs() {
            let (bits, after) = rest.split_at(output.port.ty.width());
            rest = after;
            if output.recipient.includes(Role::Evaluator) {
                to_evaluator.extend_from_slice(bits);
            }
            if output.recipient.includes(Role::Garbler) {
                to_garbler.extend_from_slice(bits);
            }
        }
        let kept = to_evaluator.len();
        to_evaluator.extend(returned::mask(&to_garbler, added));
        let mut selected = Zeroizing::new(outcome.outputs.clone());
        for (bit, computed) in selected.iter_mut().zip(&*to_evaluator) {
            let choice = u8::conditional_select(&u8::from(*bit), &u8::from(*computed), recovered);
            *bit = choice == 1;
        }
        self.secrets.returned = selected.split_off(kept);
        self.secrets.result = mem::take(&mut *selected);
        Ok(match self.secrets.returned.is_empty() {
            true => State::Done,
            false => State::Returning,
        })
    }
}

/// Where the commitments that are opened stand.
fn position_of(positions: &[u8]) -> impl Fn(usize) -> Choice {
    |i| u8::from(bit(positions, i)).into()
}

impl<S: Scheme<Wire = Block>> Machine for OnlineEvaluator<'_, '_, S> {
    type State = State;

    fn state(&mut self) -> &mut Option<State> {
        &mut self.state
    }

    fn awaited(&self, state: &State) -> Option<Action> {
        match state {
            State::AwaitingLabels => Some(Action::receive(
                Kind::InputLabels,
                self.batch.input_labels_bytes(),
            )),
            State::AwaitingRecovery(_) => {
                let bytes = self.batch.recovery_labels_bytes();
                Some(Action::receive(Kind::RecoveryLabels, bytes))
            }
            _ => None,
        }
    }

    fn step(
        &mut self,
        state: State,
        message: &mut Vec<u8>,
    ) -> Result<(State, Option<Action>), Error> {
        message.clear();
        let (state, kind) = match state {
            State::Asking => {
                message.extend_from_slice(&self.secrets.masked);
                (State::AwaitingLabels, Kind::MaskedInput)
            }
            State::Choosing(found) => {
                message.extend_from_slice(&found.choice.to_bytes());
                (State::AwaitingRecovery(found), Kind::RecoveryChoice)
            }
            State::Returning => {
                *message = pack(&self.secrets.returned);
                (State::Done, Kind::MaskedResult)
            }
            State::Done => return Ok((State::Done, Some(Action::Done))),
            _ => return Err(SPENT),
        };
        Ok((state, Some(Action::send(kind))))
    }

    fn take(&mut self, state: State, payload: &[u8]) -> Result<State, Error> {
        match state {
            State::AwaitingLabels => self.take_labels(payload),
            State::AwaitingRecovery(found) => self.take_recovery(found, payload),
            _ => Err(NOT_ASKED),
        }
    }
}
