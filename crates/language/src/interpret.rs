//! The interpreter: evaluates a typed program in the clear. It is independent of the lowering and
//! serves as its oracle.

mod intrinsic;
pub(crate) mod join;
pub(crate) mod operators;
mod place;
mod run;

pub(crate) use intrinsic::intrinsic;
pub(crate) use run::{CompletedRun, Machine, Random, call};

use crate::diagnostic::Diagnostic;
use crate::program::{EntryId, Program, Value};

/// The greatest number of steps of a run in the clear.
pub(crate) const MAX_STEPS: u64 = 1 << 32;

/// The result of a run in the clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The results. Several results form a list.
    pub results: Value,
    /// The values of all states after the run.
    pub states: Vec<Value>,
}

impl Program {
    /// Evaluates a run in the clear on these inputs, earlier states and random bits.
    ///
    /// # Errors
    ///
    /// The run takes too many steps, or calls a circuit from a file.
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
        let results = machine.run(entry, inputs).map_err(|error| *error)?;
        let states = machine.states;
        Ok(Outcome { results, states })
    }
}
