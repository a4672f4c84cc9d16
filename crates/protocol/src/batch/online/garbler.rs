//! The garbler of an execution.

use tacit_function::Role;
use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use crate::Error;
use crate::batch::circuit::Secrets;
use crate::batch::execution::GarblerExecution;
use crate::batch::layout::Batch;
use crate::batch::messages;
use crate::batch::oracle::Domain;
use crate::batch::{Caught, cheated, parallel, returned};
use crate::bits::{
    append_blocks, bit, check_bits, pack, random_bits, read_blocks, unpack, xor_into,
};
use crate::io::Io;
use crate::malicious::commitment::pads_of_pairs;
use crate::message::Kind;

/// An execution that the garbler has made again from its seeds, off the online path. Secret; used
/// once.
pub struct ReadyExecution {
    /// The circuits, in the chain's order.
    circuits: Vec<Secrets>,
    /// O^0 and O^1 of each output of each circuit.
    outputs: Vec<Zeroizing<Vec<Block>>>,
}

impl GarblerExecution {
    /// Makes the execution again on this number of threads. Its circuits are garbled for the labels
    /// of their outputs.
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

/// An execution on the garbler's side. Everything that depends on no message is computed when it is
/// created.
pub struct OnlineGarbler<'a, 'f, S: Scheme> {
    batch: &'a Batch<'f, S>,
    ready: ReadyExecution,
    /// x, with the bits that were added for the result.
    inputs: Zeroizing<Vec<bool>>,
    /// The seed of D.
    seed: &'a Zeroizing<[u8; 32]>,
    /// The parts of message 2 that do not depend on the evaluator: x ⊕ m and H(D); the masks.
    head: Vec<u8>,
    masks: Vec<u8>,
}

impl<'a, 'f, S: Scheme<Wire = Block>> OnlineGarbler<'a, 'f, S> {
    /// Returns an execution with the garbler's input bits, in port order. `seed` is random, secret
    /// and used for this run alone.
    ///
    /// # Errors
    ///
    /// The number of `inputs` is not what the function takes from the garbler.
    pub fn new(
        batch: &'a Batch<'f, S>,
        ready: ReadyExecution,
        inputs: &[bool],
        seed: &'a Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        if inputs.len() != batch.function.input_bits(Role::Garbler) {
            return Err(Error::ApiMisuse(
                "as many input bits as the garbler's ports have",
            ));
        }
        let mut prg = Prg::from_seed(seed);
        let key = prg.next_block();
        let added = random_bits(&mut prg, batch.input_bits - inputs.len());
        let inputs = Zeroizing::new([inputs, &added].concat());
        let mut head = pack(&inputs);
        xor_into(&mut head, &ready.circuits[0].pairs.mask);
        let first = ready.circuits[0].number;
        head.extend(batch.oracle.block(Domain::RecoveryKey, first, 0, key));
        let mut masks = Vec::with_capacity(messages::output_pairs_bytes(batch));
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
            inputs,
            seed,
            head,
            masks,
        })
    }

    /// Runs the execution. Returns the garbler's output bits, in port order.
    ///
    /// # Errors
    ///
    /// The evaluator cheats, or the wire fails. The execution is spent in any case.
    pub async fn run(self, io: &mut Io<'_>) -> Result<Zeroizing<Vec<bool>>, Error> {
        let batch = self.batch;
        let masked = io.receive(messages::masked_input(batch)).await?;
        check_bits(Kind::MaskedInput, masked, batch.choice_bits)?;
        let masked = masked.to_vec();
        self.input_labels(&masked, io.message());
        io.send(messages::input_labels(batch))?;
        let payload = io.receive(messages::RECOVERY_CHOICE).await?;
        let [choice] = read_blocks(Kind::RecoveryChoice, payload)?;
        self.recovery_labels(choice, io.message());
        io.send(messages::recovery_labels(batch))?;
        match messages::masked_result(batch) {
            None => Ok(Zeroizing::default()),
            Some(result) => self.result(io.receive(result).await?),
        }
    }

    fn input_labels(&self, masked: &[u8], message: &mut Vec<u8>) {
        message.clear();
        message.extend_from_slice(&self.head);
        let bits = self.batch.choice_bits;
        for circuit in &self.ready.circuits {
            message.extend_from_slice(&circuit.lambda.to_bytes());
            open_second(circuit, &circuit.second[..bits], masked, message);
            for (zero, value) in circuit.inputs.iter().zip(&*self.inputs) {
                message.extend_from_slice(&circuit.label(*zero, *value).to_bytes());
            }
        }
        message.extend_from_slice(&self.masks);
    }

    fn recovery_labels(&self, choice: Block, message: &mut Vec<u8>) {
        let key = Prg::from_seed(self.seed).next_block();
        message.clear();
        message.extend_from_slice(&key.to_bytes());
        let choices = (choice ^ key).to_bytes();
        let bits = self.batch.choice_bits;
        for circuit in &self.ready.circuits {
            open_second(circuit, &circuit.second[bits..], &choices, message);
        }
        for outputs in &self.ready.outputs {
            append_blocks(message, outputs);
        }
    }

    fn result(&self, payload: &[u8]) -> Result<Zeroizing<Vec<bool>>, Error> {
        let function = self.batch.function;
        let bits = returned::returned_bits(function.output_bits(Role::Garbler));
        check_bits(Kind::MaskedResult, payload, bits)?;
        let added = &self.inputs[function.input_bits(Role::Garbler)..];
        let result = returned::unmask(&unpack(payload, bits), added);
        result.ok_or(cheated(Caught::ReturnedResult))
    }
}

/// Appends the second shares `zeros` at `choices`, which the evaluator has sent.
fn open_second(circuit: &Secrets, zeros: &[Block], choices: &[u8], message: &mut Vec<u8>) {
    for (w, zero) in zeros.iter().enumerate() {
        message.extend_from_slice(&circuit.label(*zero, bit(choices, w)).to_bytes());
    }
}
