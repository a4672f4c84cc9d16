//! A program of the language, read from a file, and the report of its errors.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;
use tacit::circuit::Digest;
use tacit_language::lower::CircuitFiles;
use tacit_language::{
    BorderError, Diagnostic, Loaded, ParamValues, PortValue, ProgramFolder, Signature, SourceMap,
    UnfitRows, read_source,
};

use crate::failure::{Failure, input, usage};
use crate::output::{counted, tell};
use crate::terminal::shown;

/// Returns whether a path is that of a program.
pub(crate) fn is_program(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("tacit"))
}

/// A program and the place of its files.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) loaded: Arc<Loaded>,
    folder: ProgramFolder,
}

impl Program {
    /// Reads the program in a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = read_source(path).map_err(|error| {
            let name = path.display();
            if error.kind() == std::io::ErrorKind::NotFound && !is_program(path) {
                return input!(
                    "there is no program {name}";
                    "give a file that ends in .tacit, and run functions of the library by \
                     `tacit run {name}`"
                );
            }
            Failure::read(format!("program {name}"), error)
        })?;
        let folder = ProgramFolder::of(path);
        let loaded = Arc::new(Loaded::new(&shown(path), &text, &folder));
        Ok(Self { loaded, folder })
    }

    /// Returns the folder of its circuit files.
    pub(crate) fn folder(&self) -> &dyn CircuitFiles {
        &self.folder
    }

    /// Returns the ports of the run of this name, or of `main`.
    pub(crate) fn signature(
        &self,
        given: &[(String, String)],
        entry: Option<&str>,
    ) -> Result<Signature, Failure> {
        self.warned(Signature::new(&self.loaded, &params(given)?, entry))
    }

    /// Returns the same ports, with the values that `debug` statements show.
    pub(crate) fn debugged(
        &self,
        given: &[(String, String)],
        entry: Option<&str>,
    ) -> Result<Signature, Failure> {
        self.warned(Signature::debugged(&self.loaded, &params(given)?, entry))
    }

    /// Returns the same run with the sizes of the tables that it joins. Without a param, a size is
    /// the greatest one.
    pub(crate) fn of_tables(
        &self,
        signature: Signature,
        values: &BTreeMap<String, PortValue>,
        given: &[(String, String)],
        entry: Option<&str>,
    ) -> Result<Signature, Failure> {
        let mut all = params(given)?;
        let before = all.len();
        for (name, size) in signature.sizes_of_tables(values) {
            all.entry(name).or_insert_with(|| size.into());
        }
        if all.len() == before {
            return Ok(signature);
        }
        let sized = Signature::debugged(&self.loaded, &all, entry);
        let sized = sized.map_err(|error| self.failure(error))?;
        let bits = |of: &Signature| -> Vec<u64> {
            let inputs = of.inputs().iter().enumerate();
            let inputs = inputs.filter(|(number, _)| !of.entry().is_joined(*number));
            inputs
                .map(|(_, input)| of.program().types.width(input.ty))
                .collect()
        };
        if bits(&sized) == bits(&signature) {
            Ok(sized)
        } else {
            Err(input!(
                "an input has a size that the tables' sizes set";
                "give these too, such as --param N=1000"
            ))
        }
    }

    fn warned(&self, signature: Result<Signature, BorderError>) -> Result<Signature, Failure> {
        let signature = signature.map_err(|error| self.failure(error))?;
        warn(&self.loaded, signature.program());
        Ok(signature)
    }

    /// Returns the digest that binds a chain to the program.
    pub(crate) fn chain_digest(&self, given: &[(String, String)]) -> Result<Digest, Failure> {
        let program = self.loaded.program(&params(given)?);
        let digest = program
            .map_err(BorderError::Program)
            .and_then(|program| program.chain_digest(&self.folder));
        digest
            .map_err(|error| self.failure(error))?
            .ok_or_else(|| Failure::input("the program has no state, so that no chain can be its"))
    }

    /// Converts an error of the program to a failure that shows its places.
    pub(crate) fn failure(&self, error: BorderError) -> Failure {
        match error {
            BorderError::Program(errors) => {
                let map = self.loaded.source_map();
                tell(&rendered(&errors, map));
                found(errors.len(), [("errors", all_json(&errors, map))])
            }
            other => plain_failure(other),
        }
    }
}

pub(crate) fn params(given: &[(String, String)]) -> Result<ParamValues, Failure> {
    let mut params = ParamValues::new();
    for (name, value) in given {
        let number = value.parse().map_err(|_| {
            input!(
                "--param {name}: {value:?} is not a whole number";
                "write it in decimal, such as {name}=32"
            )
        })?;
        if params.insert(name.clone(), number).is_some() {
            return Err(usage!("--param {name} is given twice"; "give it once"));
        }
    }
    Ok(params)
}

/// Returns errors as text for standard error.
pub(crate) fn rendered(errors: &[Diagnostic], map: &SourceMap) -> String {
    let colour = std::io::stderr().is_terminal();
    let texts: Vec<String> = errors
        .iter()
        .map(|error| error.render(map, colour))
        .collect();
    texts.join("\n\n") + "\n\n"
}

pub(crate) fn all_json(found: &[Diagnostic], map: &SourceMap) -> Vec<Json> {
    found.iter().map(|one| one.to_json(map)).collect()
}

/// Prints the warnings of a program.
pub(crate) fn warn(loaded: &Loaded, program: &tacit_language::program::Program) {
    if !program.warnings.is_empty() {
        tell(&rendered(&program.warnings, loaded.source_map()));
    }
}

pub(crate) fn found<const N: usize>(errors: usize, fields: [(&str, Vec<Json>); N]) -> Failure {
    let were = if errors == 1 { "was" } else { "were" };
    let what = format!("{} {were} found", counted(errors, "error"));
    wrong(what, "correct the places that are shown above", fields)
}

pub(crate) fn wrong<const N: usize>(
    what: String,
    remedy: &'static str,
    fields: [(&str, Vec<Json>); N],
) -> Failure {
    let fields = fields.into_iter();
    let fields = fields.map(|(name, all)| (name.to_owned(), Json::Array(all)));
    input!("{what}"; "{remedy}").with_fields(fields.collect())
}

/// Returns the failure for an error without a program text to show.
pub(crate) fn plain_failure(error: BorderError) -> Failure {
    match error {
        error @ (BorderError::Value(_) | BorderError::Table { .. }) => {
            let failure = Failure::input(format!("input {error}"));
            match failure.parts(None) {
                (_, Some(_)) => failure,
                (what, None) => input!(
                    "{what}";
                    "`tacit run --help` shows how values are written, such as 'NAME=[1, 2]', \
                     NAME=@FILE and NAME=@TABLE.csv, and docs/language-reference.md has it all"
                ),
            }
        }
        BorderError::Rows(rows) => unfit_rows(&rows, "one row (`upto D`: D rows)"),
        other => Failure::input(other.to_string()),
    }
}

/// Returns the failure of rows that a join or a matching does not take, of which each key may have
/// `few`.
pub(crate) fn unfit_rows(rows: &UnfitRows, few: &str) -> Failure {
    match rows {
        UnfitRows::Missing { .. } => input!(
            "{rows}";
            "fill them in, or give --drop-missing to leave such rows out (of a service, \
             drop_missing = true)"
        ),
        _ => input!(
            "{rows}";
            "leave {few} of each key, or give --keep first (of a service, keep = \"first\")"
        ),
    }
}
