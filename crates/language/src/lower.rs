//! From a typed program to functions of the circuit crate.
//!
//! A run is traced over a circuit builder with every loop unrolled. A `component fn` becomes a
//! component of its own, and its calls calls; everything else is cut into components between them.
//!
//! | file | what it does |
//! |---|---|
//! | `size` | whether a run has more values than a function may have |
//! | `trace` | runs functions over wires in place of values |
//! | `place` | reads and writes parts of values, under secret indices and conditions |
//! | `branch` | both branches of a secret condition |
//! | `adding` | calls of functions that only add, as additions |
//! | `order_free` | which loops add up, in any order |
//! | `addends` | what they add up, as trees where few layers count |
//! | `pairs` | loops over the pairs of a join, which stay loops |
//! | `operators` | what each operator costs in gates |
//! | `pieces` | wires in a row, as what steps read |
//! | `component` | the circuits of `component fn`s |
//! | `cut` | which gates between the calls form one component |
//! | `run` | a run as one circuit: inputs, states, results |
//! | `emit` | the function: ports, components, steps, and loops of steps that repeat |
//! | `lines` | what each line costs |
//! | `chains` | which loops wait for each turn |

mod addends;
mod adding;
mod branch;
mod chains;
mod component;
mod cut;
mod emit;
mod lines;
mod operators;
mod order_free;
mod pairs;
mod pieces;
mod place;
mod run;
mod size;
mod trace;

pub(crate) use order_free::{Judged, Kind, addition, variable};
pub(crate) use trace::Variable;

pub use chains::ChainedLoop;
pub use lines::{CostFrame, CostStack, Line, LineCost, LineCosts};
use tacit_circuit::Circuit;
use tacit_function::Function;
use tacit_function::join::JoinPlan;

use crate::diagnostic::Diagnostic;
use crate::program::{BitOrder, EntryId, Program};
use crate::source::Span;

/// Gives the circuit files that a program names. The crate itself does no I/O.
pub trait CircuitFiles {
    /// The circuit in the file `path`, whose numbers are in this bit order.
    ///
    /// # Errors
    ///
    /// The reason why there is none, as the end of a sentence: `it does not exist`.
    fn circuit(&self, path: &str, order: BitOrder) -> Result<Circuit, String>;
}

/// No circuit files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCircuitFiles;

impl CircuitFiles for NoCircuitFiles {
    fn circuit(&self, _path: &str, _order: BitOrder) -> Result<Circuit, String> {
        Err("no circuit files are given here".to_owned())
    }
}

/// How far the compilation of a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Steps that are done.
    pub done: u64,
    /// All steps.
    pub total: u64,
}

/// Hears of the progress of a compilation, some hundred times at most.
pub type Watch<'w> = &'w dyn Fn(Progress);

/// A run as a function.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The function. Its inputs are those of the run in order, then those of `random`.
    pub function: Function,
    /// The inputs that carry random bits, one of each party; their XOR is what the run draws.
    pub random: Vec<String>,
    /// The join whose stage gives two more inputs of the function, if the run joins tables.
    pub join: Option<JoinPlan>,
}

impl Program {
    /// The function of a run of the program called `name`.
    ///
    /// # Errors
    ///
    /// The run is beyond a limit, or names a circuit that there is not.
    pub fn lower(
        &self,
        name: &str,
        entry: EntryId,
        files: &dyn CircuitFiles,
    ) -> Result<Lowered, Diagnostic> {
        self.lower_watched(name, entry, files, &|_| {})
    }

    /// The same, and `watch` hears of its progress.
    ///
    /// # Errors
    ///
    /// As [`Program::lower`].
    pub fn lower_watched(
        &self,
        name: &str,
        entry: EntryId,
        files: &dyn CircuitFiles,
        watch: Watch<'_>,
    ) -> Result<Lowered, Diagnostic> {
        let lowered = emit::function(self, name, entry, (files, watch), false);
        lowered.map(|(lowered, _)| lowered).map_err(diagnostic)
    }

    /// Refuses a run that is too large by what can be counted before anything is built: what takes
    /// no time, and what [`Program::lower`] would refuse.
    ///
    /// # Errors
    ///
    /// The run is beyond a limit.
    pub fn check_size(&self, entry: EntryId) -> Result<(), Diagnostic> {
        let checked = size::check(self, &self.entries[entry.0 as usize]);
        checked.map(drop).map_err(diagnostic)
    }

    /// The same, and what each line costs.
    ///
    /// # Errors
    ///
    /// As [`Program::lower`].
    pub fn lower_with_costs(
        &self,
        name: &str,
        entry: EntryId,
        files: &dyn CircuitFiles,
    ) -> Result<(Lowered, LineCosts), Diagnostic> {
        emit::function(self, name, entry, (files, &|_| {}), true).map_err(diagnostic)
    }
}

/// Why a run has no function.
#[derive(Debug)]
enum Error {
    /// What is written there is the reason.
    At(Span, String),
}

fn diagnostic(error: Error) -> Diagnostic {
    match error {
        Error::At(span, message) => Diagnostic::new(span, message),
    }
}

/// The circuit of the library or a file that a function stands for.
pub(crate) fn external(
    program: &Program,
    function: &crate::program::Function,
    files: &dyn CircuitFiles,
) -> Result<Circuit, Diagnostic> {
    component::external(program, function, files).map_err(diagnostic)
}

type Lower<T> = Result<T, Error>;
