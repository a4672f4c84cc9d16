//! The interpreter: what a typed program computes, in the clear. It is written apart from the
//! lowering and serves as its oracle.

mod intrinsic;
pub(crate) mod join;
pub(crate) mod operators;
mod place;
mod run;

pub(crate) use intrinsic::intrinsic;
pub(crate) use run::{Machine, Ran, Random, call};

use crate::diagnostic::Diagnostic;
use crate::program::{EntryId, Program, Value};

/// Most steps of a run in the clear.
pub(crate) const MAX_STEPS: u64 = 1 << 32;

/// What a run in the clear gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The results; of several, a list of them.
    pub results: Value,
    /// The values of all states after the run.
    pub states: Vec<Value>,
}

impl Program {
    /// What a run gives for these inputs, states before it and random bits, in the clear.
    ///
    /// # Errors
    ///
    /// It takes too many steps, or calls a circuit of a file.
    pub fn evaluate(
        &self,
        entry: EntryId,
        inputs: Vec<Value>,
        states: Vec<Value>,
        mut random: Vec<bool>,
    ) -> Result<Outcome, Diagnostic> {
        random.reverse();
        let mut machine = Machine::new(self, MAX_STEPS, Random::Bits(random));
        machine.states = states;
        match machine.run(entry, inputs) {
            Ok(results) => Ok(Outcome {
                results,
                states: machine.states,
            }),
            Err(failure) => Err(Diagnostic::new(failure.span, failure.message)),
        }
    }
}
