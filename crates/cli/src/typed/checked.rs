//! A program that is checked and not compiled yet. Its ports are known, so that this party's inputs
//! and the files for its results are checked before a compilation that may take seconds.

use std::collections::BTreeMap;
use std::path::Path;

use tacit::Role;
use tacit_language::{PortValue, Signature, TypedFunction};

use super::wanted::{OfParty, Public};
use crate::args::FunctionArgs;
use crate::failure::Failure;
use crate::inputs::{self, Reading};
use crate::program::Program;
use crate::progress::Bar;

/// The run of a program, with values for its public inputs.
pub(crate) struct CheckedProgram {
    program: Program,
    signature: Signature,
    public: BTreeMap<String, PortValue>,
    name: String,
}

impl CheckedProgram {
    /// The program in a file.
    ///
    /// # Errors
    ///
    /// The program cannot be read, is wrong or is too large, or a public input has no value.
    pub(crate) fn read(path: &Path, choice: &FunctionArgs) -> Result<Self, Failure> {
        let program = Program::read(path)?;
        let signature = program.signature(&choice.params, choice.entry.as_deref())?;
        let public = inputs::gather(&Public(&signature), &choice.public, None)?;
        let checked = signature.check_size();
        checked.map_err(|error| program.failure(error))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self {
            name: name.into_owned(),
            program,
            signature,
            public,
        })
    }

    pub(crate) fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The program as a function. A bar shows on a terminal where that takes long, if `wanted`.
    ///
    /// # Errors
    ///
    /// The run is beyond a limit, or a circuit file that it uses is not there.
    pub(crate) fn compile(&self, wanted: bool) -> Result<TypedFunction, Failure> {
        let bar = Bar::compiling(wanted);
        let watch = |at| bar.show_compiled(at);
        let (signature, files) = (self.signature.clone(), self.program.folder());
        let compiled = TypedFunction::watched(signature, &self.name, &self.public, files, &watch);
        compiled.map_err(|error| self.program.failure(error))
    }
}

/// The values of a role's inputs in a program, without its random bits.
///
/// # Errors
///
/// As [`inputs::gather`].
pub(crate) fn values(
    signature: &Signature,
    role: Role,
    reading: &Reading<'_>,
) -> Result<BTreeMap<String, PortValue>, Failure> {
    let party = signature.party_of(role);
    let values = reading.values(&OfParty { signature, party })?;
    // A service has a log of its own.
    if matches!(reading, Reading::Command(..)) {
        values
            .iter()
            .for_each(|(name, value)| super::tell_filled(name, value));
    }
    Ok(values)
}
