//! The function as generator and cloud see it, and the byte layout of a circuit.
//!
//! *Head*, the first part of a circuit:
//!
//! | bytes | field |
//! |---|---|
//! | 16 | start point |
//! | 16 | R, the start point of the partial-input gates |
//! | 64 a bit | commitments to both labels of the generator's input, by select bit |
//! | 16 a bit | encrypted under the evaluation key: labels of the generator's input |
//! | 32 | encrypted under the check key: the seed |
//!
//! *Body*:
//!
//! | bytes | field |
//! |---|---|
//! | 64 a bit | commitments to both labels of the evaluator's encoded input, by select bit |
//! | 32 a bit | partial-input gates of loaded values |
//! | tables | of all calls, then of the components that mask results |
//! | ⌈n/8⌉ | select bits of the labels of 0 of the n masked outputs |

use tacit_circuit::Component;
use tacit_function::{Function, Role};
use tacit_garble::Scheme;
use tacit_kernels::Block;
use tacit_ot::Security;

use super::chain::Head;
use super::parameters::Parameters;
use super::terms::{EvaluatorBits, Terms};
use crate::Error;
use crate::bits::bytes_for;
use crate::malicious::commitment::PAIR_BYTES;
use crate::malicious::encoding::Encoding;
use crate::malicious::oracle::Oracle;
use crate::malicious::returned::{added_inputs, component, returned_bits};
use crate::malicious::walk::Whole;
use crate::party::Progress;
use crate::saved::{
    ChainId, GATE_BYTES, Labels, MAX_SAVED_BITS, SavedCopy, check_loads, keeps_under,
};

/// The largest size of one circuit, which generator and cloud hold at once, in bytes.
const MAX_BODY_BYTES: usize = 1 << 30;

/// The size of a circuit's seed in bytes.
pub(super) const SEED_BYTES: usize = 32;

/// Returns the encoding of the evaluator's input: the input of the computation, and the mask of its
/// result.
pub(super) fn encoding_of(
    counts: EvaluatorBits,
    parameters: &Parameters,
) -> Result<Encoding, Error> {
    let bits = counts.input_bits + added_inputs(counts.output_bits);
    Encoding::new(bits, parameters.encoding_distance())
}

/// Returns the number of AND gates of one circuit of a run of `function`: its own, and those that
/// mask and authenticate both parties' results.
///
/// # Errors
///
/// A result is too large for a circuit.
pub fn circuit_and_gates(function: &Function) -> Result<u64, Error> {
    let mut ands = function.and_gates();
    for role in Role::BOTH {
        let mask = masking(function.output_bits(role))?;
        ands += mask.map_or(0, |mask| mask.program().ands().len() as u64);
    }
    Ok(ands)
}

/// Returns the component that masks a result of `bits` bits, if there is a result.
fn masking(bits: usize) -> Result<Option<Component>, Error> {
    let masking = (bits > 0).then(|| component(bits)).transpose();
    masking.map_err(|_| Error::ApiMisuse("a result that fits a circuit"))
}

/// Checks that OTs withstand the assumed behaviour of the parties.
pub(super) fn check_transfers(parameters: &Parameters, security: Security) -> Result<(), Error> {
    if parameters.is_semi_honest() || security == Security::Malicious {
        return Ok(());
    }
    Err(Error::ApiMisuse(
        "`outsourced` against malicious parties takes OTs of a setup that was secured so",
    ))
}

/// A run as generator and cloud know it.
pub(super) struct ServerRun<'f, S> {
    pub(super) scheme: S,
    pub(super) function: &'f Function,
    pub(super) parameters: Parameters,
    for_garbler: Option<Component>,
    for_evaluator: Option<Component>,
    /// The number of bits of the generator's input that enter gates: its own bits, and the mask of
    /// its result.
    pub(super) garbled_bits: usize,
    /// The number of all bits of the generator's input, including those that hide it under the
    /// hash.
    pub(super) own_bits: usize,
    pub(super) encoding: Encoding,
    pub(super) loaded_bits: usize,
    /// The numbers of bits of the masked results of evaluator and generator.
    pub(super) masked_bits: [usize; 2],
    table_bytes: usize,
}

impl<'f, S: Scheme<Wire = Block>> ServerRun<'f, S> {
    /// Returns the run of `function` under `parameters`.
    pub(super) fn new(
        scheme: S,
        function: &'f Function,
        parameters: Parameters,
    ) -> Result<Self, Error> {
        if !keeps_under(scheme.id()) {
            return Err(Error::ApiMisuse(
                "`outsourced` takes half-gates or three-halves",
            ));
        }
        let [to_garbler, to_evaluator] = Role::BOTH.map(|role| function.output_bits(role));
        let width = |ports: &[tacit_circuit::Port]| -> usize {
            ports.iter().map(|port| port.ty.width()).sum()
        };
        let garbled_bits = function.input_bits(Role::Garbler) + added_inputs(to_garbler);
        let mut work = Self {
            scheme,
            function,
            parameters,
            for_garbler: masking(to_garbler)?,
            for_evaluator: masking(to_evaluator)?,
            garbled_bits,
            own_bits: garbled_bits + parameters.hiding_bits(),
            encoding: encoding_of(EvaluatorBits::of(function), &parameters)?,
            loaded_bits: width(function.loads()),
            masked_bits: [to_evaluator, to_garbler].map(returned_bits),
            table_bytes: 0,
        };
        let tables = work.whole().table_bytes();
        let saved_bits = width(function.saves());
        let most = [work.loaded_bits, saved_bits, work.own_bits];
        let fits = most.iter().all(|bits| *bits <= MAX_SAVED_BITS);
        work.table_bytes = tables
            .filter(|bytes| fits && *bytes <= MAX_BODY_BYTES)
            .filter(|bytes| work.body_bytes() + bytes <= MAX_BODY_BYTES)
            .ok_or(Error::ApiMisuse(
                "`outsourced` holds a whole circuit at once, and takes functions of at most 1 GiB \
                 of tables",
            ))?;
        Ok(work)
    }

    /// Checks the state that a server brings: the chain's parameters, and values of the chain that
    /// have the types of the function's ports.
    pub(super) fn check_state<'a>(
        &self,
        chain: Option<Head>,
        loads: impl ExactSizeIterator<Item = &'a Labels>,
    ) -> Result<(), Error> {
        if chain.is_some_and(|head| head.parameters != self.parameters) {
            return Err(Error::ApiMisuse(
                "a chain runs with the parameters that it started with",
            ));
        }
        let chain = chain.map(|head| head.id);
        check_loads(chain, self.copies(), loads, self.function.loads())
    }

    /// Returns the function to garble, with the results of each party.
    pub(super) fn whole(&self) -> Whole<'f, S> {
        Whole {
            scheme: self.scheme,
            function: self.function,
            for_garbler: self.for_garbler.clone(),
            for_evaluator: self.for_evaluator.clone(),
        }
    }

    /// Returns the terms that the parties compare.
    pub(super) fn terms(&self) -> Terms {
        Terms {
            function: self.function.digest(),
            scheme: self.scheme.id(),
            parameters: self.parameters,
        }
    }

    /// Returns σ.
    pub(super) fn copies(&self) -> usize {
        self.parameters.copies()
    }

    /// Returns the number of bits of the evaluator's encoded input, which is the number of its OTs.
    pub(super) fn transfers(&self) -> usize {
        self.encoding.encoded_bits()
    }

    /// Returns this server's half of each value that the function saves in a run of the chain.
    pub(super) fn saved(
        &self,
        id: ChainId,
        oracle: &Oracle,
        copies: Vec<SavedCopy>,
    ) -> Vec<Labels> {
        Labels::cut(id, oracle, copies, self.function.saves())
    }

    /// Returns the progress of a server with `done` circuits.
    pub(super) fn progress(&self, done: usize) -> Progress {
        let ands = self.function.and_gates();
        Progress {
            done_ands: ands * done as u64,
            total_ands: ands * self.copies() as u64,
        }
    }

    /// Returns the number of bits of both masked results.
    pub(super) fn all_masked_bits(&self) -> usize {
        self.masked_bits.iter().sum()
    }

    /// Returns the bytes of a head without the parts that keys encrypt.
    pub(super) fn open_head_bytes(&self) -> usize {
        2 * Block::BYTES + PAIR_BYTES * self.own_bits
    }

    /// Returns the bytes that the evaluation key encrypts.
    pub(super) fn opening_bytes(&self) -> usize {
        Block::BYTES * self.own_bits
    }

    /// Returns the bytes of a head.
    pub(super) fn head_bytes(&self) -> usize {
        self.open_head_bytes() + self.opening_bytes() + SEED_BYTES
    }

    /// Returns the bytes of a body before its tables.
    pub(super) fn before_tables_bytes(&self) -> usize {
        PAIR_BYTES * self.transfers() + GATE_BYTES * self.loaded_bits
    }

    /// Returns the end of a body's tables, in bytes.
    pub(super) fn tables_end(&self) -> usize {
        self.before_tables_bytes() + self.table_bytes
    }

    /// Returns the bytes of a body.
    pub(super) fn body_bytes(&self) -> usize {
        self.tables_end() + bytes_for(self.all_masked_bits())
    }

    /// Returns the bytes of both strings of an OT.
    pub(super) fn string_bytes(&self) -> usize {
        2 * self.copies() * Block::BYTES
    }

    /// Returns the bytes of a circuit's decoding of the hash of the generator's input.
    pub(super) fn decoding_bytes(&self) -> usize {
        bytes_for(self.parameters.hash_rows())
    }
}
