//! The garbler of an execution.

use core::mem;

use tacit_function::Role;
use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::Error;
use crate::batch::circuit::Secrets;
use crate::batch::execution::GarblerExecution;
use crate::batch::layout::Batch;
use crate::batch::oracle::Domain;
use crate::batch::{Caught, cheated, parallel, returned};
use crate::bits::{
    append_blocks, bit, bytes_for, check_bits, pack, random_bits, read_blocks, unpack, xor_into,
};
use crate::malicious::commitment::pads_of_pairs;
use crate::message::Kind;
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, SPENT};

/// An execution that the garbler has made again from its seeds, off the online path. Secret; used
/// once.
pub struct ReadyExecution {
    /// In the chain's order.
    circuits: Vec<Secrets>,
    /// O^0 and O^1 of each output of each circuit.
    outputs: Vec<Zeroizing<Vec<Block>>>,
}

impl GarblerExecution {
    /// Makes the execution again, on this many threads: its circuits are garbled for their
    /// outputs' labels.
    #[must_use]
    pub fn ready<S: Scheme<Wire = Block>>(
        self,
        batch: &Batch<'_, S>,
        threads: usize,
    ) -> ReadyExecution {
        let made = parallel::map(threads, &self.circuits, |scratch, (number, seed)| {
            let circuit = Secrets::derive(batch, *number, seed.clone());
            let zeros = circuit.garble(batch, scratch);
            let outputs = circuit.derived_outputs(batch, &zeros);
            (circuit, outputs)
        });
        let (circuits, outputs) = made.into_iter().unzip();
        ReadyExecution { circuits, outputs }
    }
}

/// An execution on the garbler's side.
pub struct OnlineGarbler<'a, 'f, S: Scheme> {
    batch: &'a Batch<'f, S>,
    ready: ReadyExecution,
    secrets: Secret,
    /// Of message 2, all that does not depend on the evaluator's: x ⊕ m and H(D); the masks.
    head: Vec<u8>,
    masks: Vec<u8>,
    state: Option<State>,
}

#[derive(Zeroize, ZeroizeOnDrop)]
struct Secret {
    /// x, with the bits that were added for the result.
    inputs: Vec<bool>,
    /// D.
    key: Block,
    result: Vec<bool>,
}

pub(crate) enum State {
    AwaitingInput,
    /// y2 has come.
    Answering(Vec<u8>),
    AwaitingChoice,
    /// e has come.
    Opening(Block),
    AwaitingResult,
    Done,
}

impl<'a, 'f, S: Scheme<Wire = Block>> OnlineGarbler<'a, 'f, S> {
    /// An execution with the garbler's input bits, in port order. `seed` is random, secret and used
    /// for this run alone.
    ///
    /// # Errors
    ///
    /// `inputs` are not as many as the function asks of the garbler.
    pub fn new(
        batch: &'a Batch<'f, S>,
        ready: ReadyExecution,
        inputs: &[bool],
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        if inputs.len() != batch.function.input_bits(Role::Garbler) {
            return Err(Error::ApiMisuse(
                "as many input bits as the garbler's ports have",
            ));
        }
        let mut prg = Prg::from_seed(seed);
        let key = prg.next_block();
        let added = random_bits(&mut prg, batch.input_bits - inputs.len());
        let inputs = [inputs, &added].concat();
        let mut head = pack(&inputs);
        xor_into(&mut head, &ready.circuits[0].pairs.mask);
        head.extend(
            batch
                .oracle
                .block(Domain::RecoveryKey, ready.circuits[0].number, 0, key),
        );
        let mut masks = Vec::with_capacity(batch.output_pairs_bytes());
        let mut randoms = Zeroizing::new(vec![Block::ZERO; batch.output_bits]);
        prg.fill_blocks(&mut randoms);
        for (circuit, outputs) in ready.circuits.iter().zip(&ready.outputs) {
            let mut pads = outputs.clone();
            let (pads, _) = pads.as_chunks_mut();
            pads_of_pairs(&batch.oracle, Domain::OutputMask, circuit.number, pads);
            for (pair, random) in pads.iter().zip(randoms.iter()) {
                for (pad, value) in pair.iter().zip([*random, *random ^ key]) {
                    masks.extend_from_slice(&(*pad ^ value).to_bytes());
                }
            }
        }
        Ok(Self {
            batch,
            ready,
            secrets: Secret {
                inputs,
                key,
                result: Vec::new(),
            },
            head,
            masks,
            state: Some(State::AwaitingInput),
        })
    }

    /// The garbler's output bits in port order.
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

    fn input_labels(&self, masked: &[u8], message: &mut Vec<u8>) {
        message.clear();
        message.extend_from_slice(&self.head);
        let bits = self.batch.choice_bits;
        for circuit in &self.ready.circuits {
            message.extend_from_slice(&circuit.lambda.to_bytes());
            open_second(circuit, &circuit.second[..bits], masked, message);
            for (zero, value) in circuit.inputs.iter().zip(&self.secrets.inputs) {
                message.extend_from_slice(&circuit.label(*zero, *value).to_bytes());
            }
        }
        message.extend_from_slice(&self.masks);
    }

    fn recovery_labels(&self, choice: Block, message: &mut Vec<u8>) {
        message.clear();
        message.extend_from_slice(&self.secrets.key.to_bytes());
        let choices = (choice ^ self.secrets.key).to_bytes();
        let bits = self.batch.choice_bits;
        for circuit in &self.ready.circuits {
            open_second(circuit, &circuit.second[bits..], &choices, message);
        }
        for outputs in &self.ready.outputs {
            append_blocks(message, outputs);
        }
    }

    fn returned_bits(&self) -> usize {
        returned::returned_bits(self.batch.function.output_bits(Role::Garbler))
    }

    fn take_result(&mut self, payload: &[u8]) -> Result<State, Error> {
        let bits = self.returned_bits();
        check_bits(Kind::MaskedResult, payload, bits)?;
        let own = self.batch.function.input_bits(Role::Garbler);
        let added = &self.secrets.inputs[own..];
        let result = returned::unmask(&unpack(payload, bits), added);
        self.secrets.result = result.ok_or(cheated(Caught::ReturnedResult))?;
        Ok(State::Done)
    }
}

/// Appends the second shares `zeros` at `choices`, which the evaluator has sent.
fn open_second(circuit: &Secrets, zeros: &[Block], choices: &[u8], message: &mut Vec<u8>) {
    for (w, zero) in zeros.iter().enumerate() {
        message.extend_from_slice(&circuit.label(*zero, bit(choices, w)).to_bytes());
    }
}

impl<S: Scheme<Wire = Block>> Machine for OnlineGarbler<'_, '_, S> {
    type State = State;

    fn state(&mut self) -> &mut Option<State> {
        &mut self.state
    }

    fn awaited(&self, state: &State) -> Option<Action> {
        Some(match state {
            State::AwaitingInput => {
                Action::receive(Kind::MaskedInput, bytes_for(self.batch.choice_bits))
            }
            State::AwaitingChoice => Action::receive(Kind::RecoveryChoice, Block::BYTES),
            State::AwaitingResult => {
                Action::receive(Kind::MaskedResult, bytes_for(self.returned_bits()))
            }
            _ => return None,
        })
    }

    fn step(
        &mut self,
        state: State,
        message: &mut Vec<u8>,
    ) -> Result<(State, Option<Action>), Error> {
        let (state, kind) = match state {
            State::Answering(masked) => {
                self.input_labels(&masked, message);
                (State::AwaitingChoice, Kind::InputLabels)
            }
            State::Opening(choice) => {
                self.recovery_labels(choice, message);
                let state = match self.returned_bits() {
                    0 => State::Done,
                    _ => State::AwaitingResult,
                };
                (state, Kind::RecoveryLabels)
            }
            State::Done => return Ok((State::Done, Some(Action::Done))),
            _ => return Err(SPENT),
        };
        Ok((state, Some(Action::send(kind))))
    }

    fn take(&mut self, state: State, payload: &[u8]) -> Result<State, Error> {
        match state {
            State::AwaitingInput => {
                check_bits(Kind::MaskedInput, payload, self.batch.choice_bits)?;
                Ok(State::Answering(payload.to_vec()))
            }
            State::AwaitingChoice => {
                let [choice] = read_blocks(Kind::RecoveryChoice, payload)?;
                Ok(State::Opening(choice))
            }
            State::AwaitingResult => self.take_result(payload),
            _ => Err(NOT_ASKED),
        }
    }
}
