//! The sources of a service's inputs, and the places of its results.

use std::sync::Arc;
use std::time::Duration;

use tacit::{Function, Role};
use tacit_serve::inputs::{Border, FromCommand, FromFile, NoInputs};
use tacit_serve::results::{Dropped, ToCommand, ToFile};
use tacit_serve::{Inputs, Results, Server};

use super::border::{FromFiles, Offered};
use super::config::{Served, ServedRole};
use super::policy::wrong;
use crate::failure::Failure;

/// The default for the longest time of a command for inputs or results.
const COMMAND_TIME: Duration = Duration::from_secs(10);

/// Returns the source of this party's inputs.
pub(super) fn inputs(
    served: &Served,
    role: Role,
    functions: &[Arc<Function>],
    offered: &Arc<Offered>,
) -> Result<Arc<dyn Inputs>, Failure> {
    let gives_inputs = served.role != ServedRole::OfThree(Server::Cloud);
    let sources = [
        served.inputs_file.is_some(),
        served.inputs_command.is_some(),
        !served.input_files.is_empty(),
    ];
    let sources = sources.into_iter().filter(|is_given| *is_given).count();
    if !gives_inputs && sources > 0 {
        return Err(wrong("inputs", "the cloud has none; leave them out"));
    }
    let has_inputs = gives_inputs
        && functions
            .iter()
            .any(|function| function.input_bits(role) > 0);
    if sources > 1 {
        return Err(wrong(
            "inputs",
            "more than one of input_files, inputs_file and inputs_command is given; leave one",
        ));
    }
    let border: Arc<dyn Border> = Arc::<Offered>::clone(offered);
    match (&served.inputs_file, &served.inputs_command) {
        (Some(path), _) => Ok(Arc::new(FromFile {
            path: path.clone(),
            border,
        })),
        (_, Some(command)) => Ok(Arc::new(FromCommand {
            command: checked("inputs_command", command)?,
            patience: served.command_time.unwrap_or(COMMAND_TIME),
            border,
        })),
        (None, None) if sources > 0 => Ok(Arc::new(FromFiles {
            offered: Arc::clone(offered),
            files: served.input_files.clone(),
        })),
        (None, None) if has_inputs => Err(wrong(
            "inputs",
            "this party has inputs; write input_files, inputs_file or inputs_command",
        )),
        (None, None) => Ok(Arc::new(NoInputs)),
    }
}

/// Returns where results go.
pub(super) fn results(
    served: &Served,
    offered: &Arc<Offered>,
) -> Result<Arc<dyn Results>, Failure> {
    let border: Arc<dyn Border> = Arc::<Offered>::clone(offered);
    match (&served.results_file, &served.results_command) {
        (Some(file), None) => Ok(Arc::new(ToFile::new(file.clone(), border))),
        (None, Some(command)) => Ok(Arc::new(ToCommand {
            command: checked("results_command", command)?,
            patience: served.command_time.unwrap_or(COMMAND_TIME),
            border,
        })),
        (None, None) => Ok(Arc::new(Dropped)),
        (Some(_), Some(_)) => Err(wrong(
            "results",
            "both results_file and results_command are given; leave one out",
        )),
    }
}

fn checked(at: &str, command: &[String]) -> Result<Vec<String>, Failure> {
    if command.is_empty() {
        return Err(wrong(
            at,
            "it is empty; write the program and its arguments",
        ));
    }
    Ok(command.to_vec())
}
