//! The lowering of typed programs to functions of the circuit crate.
//!
//! A run is traced over a circuit builder with every loop unrolled. A `component fn` becomes a
//! separate component, and its calls become calls. All other gates are cut into components between
//! the calls.
//!
//! | file | contents |
//! |---|---|
//! | `size` | checks that a run has no more values than a function may have |
//! | `trace` | runs functions over wires in place of values |
//! | `place` | reads and writes parts of values, under secret indices and conditions |
//! | `branch` | both branches of a secret condition |
//! | `adding` | calls of functions that only add, as additions |
//! | `order_free` | finds the loops that add up, in any order |
//! | `addends` | the addends of these loops, as trees if layers must be few |
//! | `pairs` | loops over the pairs of a join, which stay loops |
//! | `network` | loops of calls that exchange elements, which stay loops |
//! | `operators` | operators as gates |
//! | `pieces` | rows of wires that steps read |
//! | `component` | the circuits of `component fn`s |
//! | `cut` | the division of the gates between calls into components |
//! | `run` | a run as one circuit: inputs, states, results |
//! | `emit` | the function: ports, components, steps, and loops of steps that repeat |
//! | `lines` | the costs of each line |
//! | `chains` | the loops whose turns wait for each other |

mod addends;
mod adding;
mod branch;
mod chains;
mod component;
mod cut;
mod emit;
mod lines;
mod network;
mod operators;
mod order_free;
mod pairs;
mod pieces;
mod place;
mod run;
mod size;
mod trace;

pub(crate) use component::external;
pub(crate) use order_free::{Judged, Kind, addition, same_value, variable};

pub use chains::ChainedLoop;
pub use lines::{CostStack, Line, LineCost, LineCosts};
use tacit_circuit::Circuit;
use tacit_function::Function;
use tacit_function::join::JoinPlan;

use crate::diagnostic::Diagnostic;
use crate::program::{BitOrder, EntryId, Program};

/// Provides the circuit files that a program names. The crate itself does no I/O.
pub trait CircuitFiles {
    /// Returns the circuit in the file `path`, whose numbers are in this bit order.
    ///
    /// # Errors
    ///
    /// The reason that there is none, as the end of a sentence: `it does not exist`.
    fn circuit(&self, path: &str, order: BitOrder) -> Result<Circuit, String>;
}

/// Provides no circuit files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCircuitFiles;

impl CircuitFiles for NoCircuitFiles {
    fn circuit(&self, _path: &str, _order: BitOrder) -> Result<Circuit, String> {
        Err("no circuit files are given here".to_owned())
    }
}

/// The progress of the compilation of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of completed steps.
    pub done: u64,
    /// The number of all steps.
    pub total: u64,
}

/// A callback for the progress of a compilation. It is called a few hundred times at most.
pub type Watch<'w> = &'w dyn Fn(Progress);

/// A run as a function.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The function. Its inputs are those of the run in order, then those of `random`.
    pub function: Function,
    /// The inputs that carry random bits, one for each party. The run's random bits are their XOR.
    pub random: Vec<String>,
    /// The join whose stage provides two more inputs of the function, if the run joins tables.
    pub join: Option<JoinPlan>,
}

impl Program {
    /// Lowers a run to a function called `name`.
    ///
    /// # Errors
    ///
    /// The run exceeds a limit, or names a circuit that does not exist.
    pub fn lower(
        &self,
        name: &str,
        entry: EntryId,
        files: &dyn CircuitFiles,
    ) -> Result<Lowered, Diagnostic> {
        self.lower_watched(name, entry, files, &|_| {})
    }

    /// Lowers like [`Program::lower`], and reports progress to `watch`.
    ///
    /// # Errors
    ///
    /// Those of [`Program::lower`].
    pub fn lower_watched(
        &self,
        name: &str,
        entry: EntryId,
        files: &dyn CircuitFiles,
        watch: Watch<'_>,
    ) -> Result<Lowered, Diagnostic> {
        let (lowered, _) = emit::function(self, name, entry, (files, watch), false)?;
        Ok(lowered)
    }

    /// Refuses a run that is too large by the sizes that can be counted before anything is built.
    /// It takes no time, and [`Program::lower`] would refuse the same run.
    ///
    /// # Errors
    ///
    /// The run exceeds a limit.
    pub fn check_size(&self, entry: EntryId) -> Result<(), Diagnostic> {
        size::check(self, &self.entries[entry.0 as usize]).map(drop)
    }

    /// Lowers like [`Program::lower`], and returns the costs of each line.
    ///
    /// # Errors
    ///
    /// Those of [`Program::lower`].
    pub fn lower_with_costs(
        &self,
        name: &str,
        entry: EntryId,
        files: &dyn CircuitFiles,
    ) -> Result<(Lowered, LineCosts), Diagnostic> {
        emit::function(self, name, entry, (files, &|_| {}), true)
    }
}

type Lower<T> = Result<T, Diagnostic>;
