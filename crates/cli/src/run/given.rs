//! What a party gives to a run and where its results go.

use std::collections::BTreeMap;

use tacit::protocols::Protocol;
use tacit_language::PortValue;

use super::role;
use crate::args::RunArgs;
use crate::config::Config;
use crate::failure::Failure;
use crate::function::Found;
use crate::typed::OutputFiles;

/// What this party gives and where its results go, as far as that is checked before the function is
/// compiled: of a program all of it.
pub(super) struct GivenInputs {
    /// The values of a program's inputs.
    pub(super) values: Option<BTreeMap<String, PortValue>>,
    pub(super) files: OutputFiles,
}

impl GivenInputs {
    /// Reads and checks it.
    ///
    /// # Errors
    ///
    /// An input is missing or not of its type, or a file for a result is there or not a table's.
    pub(super) fn new(
        args: &RunArgs,
        (found, protocol): (&Found, Protocol),
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
            values: match program.program().states.is_empty() || protocol.keeps_values() {
                true => found.values(role, &args.inputs.reading())?,
                // Once it is compiled it shows whether the run keeps any, which is told first.
                false => None,
            },
        })
    }
}
