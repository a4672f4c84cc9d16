//! A party's inputs to a run and the files for its results.

use std::collections::BTreeMap;

use tacit::protocols::Protocol;
use tacit_language::PortValue;

use super::role;
use crate::args::RunArgs;
use crate::config::Config;
use crate::failure::Failure;
use crate::function::FoundFunction;
use crate::typed::OutputFiles;

/// The inputs and result files, as far as they are checked before the function is compiled. For a
/// program that is all of them.
pub(super) struct GivenInputs {
    /// The values of a program's inputs.
    pub(super) values: Option<BTreeMap<String, PortValue>>,
    pub(super) files: OutputFiles,
}

impl GivenInputs {
    /// Reads and checks the inputs and the names of result files.
    pub(super) fn new(
        args: &RunArgs,
        (found, protocol): (&FoundFunction, Protocol),
        config: &Config,
    ) -> Result<Self, Failure> {
        let signature = found.signature();
        let Some(program) = signature else {
            return Ok(Self {
                values: None,
                files: OutputFiles::new(&args.outputs, None, None)?,
            });
        };
        let role = role(&args.who, args.meet.peer.as_deref(), signature, config)?;
        Ok(Self {
            files: OutputFiles::new(&args.outputs, signature, Some(program.party_of(role)))?,
            values: if program.program().states.is_empty() || protocol.keeps_values() {
                found.values(role, &args.inputs.reading())?
            } else {
                // Only after the compilation is it known whether the run keeps any, and that is
                // reported first.
                None
            },
        })
    }
}
