//! A program that is checked and not compiled yet. Its ports are known, so that this party's inputs
//! and the files for its results can be checked before a compilation that may take seconds.

use std::collections::BTreeMap;
use std::path::Path;

use tacit::Role;
use tacit::circuit::Digest;
use tacit::circuit::builder::CircuitForm;
use tacit_language::lower::{LineCosts, Progress};
use tacit_language::{PortValue, Signature, Span, TypedFunction};

use super::wanted::{InputsOf, WantedInputs};
use crate::args::FunctionArgs;
use crate::failure::Failure;
use crate::inputs::{self, Reading};
use crate::program::Program;
use crate::progress::Bar;

/// A run of a program, with values for its public inputs.
#[derive(Clone)]
pub(crate) struct CheckedProgram {
    program: Program,
    signature: Signature,
    public: BTreeMap<String, PortValue>,
    name: String,
}

/// The rows of each table of an example.
const EXAMPLE_ROWS: u64 = 100_000;

impl CheckedProgram {
    /// Reads the program in a file.
    pub(crate) fn read(path: &Path, choice: &FunctionArgs) -> Result<Self, Failure> {
        let program = Program::read(path)?;
        let signature = program.signature(&choice.params, choice.entry.as_deref())?;
        let public = inputs::gather(
            &WantedInputs(&signature, InputsOf::Public),
            &choice.public,
            None,
        )?;
        // With sizes that the parties announce, the program is the largest possible one.
        if signature.open_params().is_empty() {
            let checked = signature.check_size();
            checked.map_err(|error| program.failure(error))?;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self {
            name: name.into_owned(),
            program,
            signature,
            public,
        })
    }

    /// Returns the digest of the program's meaning, with all announced sizes open.
    pub(crate) fn open_meaning(&self) -> Result<Digest, Failure> {
        let (loaded, folder) = (&self.program.loaded, self.program.folder());
        let meaning = self.signature.open_meaning(loaded, folder);
        meaning.map_err(|error| self.program.failure(error))
    }

    /// Returns the program with the sizes that the parties have announced.
    pub(crate) fn with_sizes(
        self,
        choice: &FunctionArgs,
        sizes: &BTreeMap<String, u64>,
    ) -> Result<Self, Failure> {
        let signature = self.signature.with_sizes(&self.program.loaded, sizes);
        let signature = signature.map_err(|error| self.program.failure(error))?;
        let public = inputs::gather(
            &WantedInputs(&signature, InputsOf::Public),
            &choice.public,
            None,
        )?;
        Ok(Self {
            signature,
            public,
            ..self
        })
    }

    /// Returns the program with example sizes in place of those that the parties announce and the
    /// arguments leave open, and these sizes as text, if it is too large with the largest ones.
    pub(crate) fn with_example_sizes(
        self,
        choice: &FunctionArgs,
    ) -> Result<(Self, String), Failure> {
        let mut open = self.signature.open_params();
        open.retain(|param| choice.params.iter().all(|(name, _)| *name != param.name));
        if open.is_empty() || self.signature.check_size().is_ok() {
            return Ok((self, String::new()));
        }
        let size = |maximum: u64| maximum.min(EXAMPLE_ROWS);
        let sizes = open
            .into_iter()
            .map(|param| (param.name, size(param.maximum)));
        let sizes: BTreeMap<_, _> = sizes.collect();
        let text = sizes.iter().map(|(name, size)| format!("{name} = {size}"));
        let text = text.collect::<Vec<_>>().join(", ");
        Ok((self.with_sizes(choice, &sizes)?, text))
    }

    /// Returns the program made of operations of this form.
    pub(crate) fn in_form(self, form: CircuitForm) -> Self {
        let signature = self.signature.in_form(form);
        Self { signature, ..self }
    }

    pub(crate) fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Compiles the program to a function. If `wanted`, a bar shows on a terminal when that takes
    /// long.
    pub(crate) fn compile(&self, wanted: bool) -> Result<TypedFunction, Failure> {
        let bar = Bar::percent("compiling", wanted);
        let watch = |at: Progress| bar.show_part(at.done, at.total);
        let (signature, files) = (self.signature.clone(), self.program.folder());
        let compiled = TypedFunction::watched(signature, &self.name, &self.public, files, &watch);
        compiled.map_err(|error| self.program.failure(error))
    }

    /// Compiles the program, and returns the cost of its lines too.
    pub(crate) fn compile_with_costs(&self) -> Result<(TypedFunction, LineCosts), Failure> {
        let (signature, files) = (self.signature.clone(), self.program.folder());
        let compiled = TypedFunction::with_costs(signature, &self.name, &self.public, files);
        compiled.map_err(|error| self.program.failure(error))
    }

    /// Returns the line of a place, and the file if it is not the program's own.
    pub(crate) fn place(&self, span: Span) -> String {
        let map = self.program.loaded.source_map();
        let (line, _) = map.line_and_column(span);
        let file = &map.file(span.file).name;
        if *file == map.files()[0].name {
            format!("line {line}")
        } else {
            format!("{file}:{line}")
        }
    }
}

/// Reads the values of a role's inputs in a program, without its random bits.
pub(crate) fn values(
    signature: &Signature,
    role: Role,
    reading: &Reading<'_>,
) -> Result<BTreeMap<String, PortValue>, Failure> {
    let party = signature.party_of(role);
    let values = reading.values(&WantedInputs(signature, InputsOf::Party(party)))?;
    // A service has its own log.
    if matches!(reading, Reading::Command(..)) {
        values
            .iter()
            .for_each(|(name, value)| super::tell_changed(name, value));
    }
    Ok(values)
}
