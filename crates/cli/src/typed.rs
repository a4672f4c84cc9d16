//! Programs of the language as functions of two parties: a party's values, and its results.

mod checked;
mod text;
mod wanted;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};
use tacit::{Function, Role, Value};
use tacit_language::{CsvTexts, LeftOut, PortValue, Signature, TypedFunction};
use zeroize::Zeroize;

pub(crate) use checked::{CheckedProgram, values};
pub(crate) use text::{results_text, signature_json, signature_text};
pub(crate) use wanted::{InputsOf, WantedInputs};

use crate::args::OutputArgs;
use crate::failure::{Failure, usage};
use crate::inputs::{OfRole, Reading};
use crate::new_file::{Readers, check_new, write_new};
use crate::output::counted;
use crate::program::plain_failure;
use crate::report;

/// A function of bits, or a program, which has types for its bits.
pub(crate) enum Runnable {
    Bits(Box<Function>),
    Typed(Box<TypedFunction>),
}

impl Runnable {
    /// Returns the function that the protocols run.
    pub(crate) fn function(&self) -> &Function {
        match self {
            Self::Bits(function) => function,
            Self::Typed(typed) => typed.function(),
        }
    }

    /// Returns the ports of a program, or nothing if it is no program.
    pub(crate) fn signature(&self) -> Option<&Signature> {
        self.typed().map(TypedFunction::signature)
    }

    /// Returns the program, if it is one.
    pub(crate) fn typed(&self) -> Option<&TypedFunction> {
        match self {
            Self::Bits(_) => None,
            Self::Typed(typed) => Some(typed),
        }
    }

    /// Returns the values of a role's inputs, including its random bits. The values of a program
    /// may have been read `ahead`.
    pub(crate) fn inputs(
        &self,
        role: Role,
        reading: &Reading<'_>,
        ahead: Option<&BTreeMap<String, PortValue>>,
    ) -> Result<BTreeMap<String, Value>, Failure> {
        match self {
            Self::Bits(function) => reading.values(&OfRole { function, role }),
            Self::Typed(typed) => {
                let signature = typed.signature();
                let party = signature.party_of(role);
                let read;
                let values = match ahead {
                    Some(values) => values,
                    None => {
                        read = values(signature, role, reading)?;
                        &read
                    }
                };
                let mut failed = None;
                let mut draw = |bytes: &mut [u8]| {
                    failed = getrandom::fill(bytes).err().or(failed);
                };
                let inputs = typed
                    .inputs(party, values, &mut draw)
                    .map_err(plain_failure)?;
                match failed {
                    None => Ok(inputs),
                    Some(error) => Err(tacit::Error::from(error).into()),
                }
            }
        }
    }

    /// Returns results as JSON.
    pub(crate) fn outputs_json(&self, outputs: &BTreeMap<String, Value>) -> Result<Json, Failure> {
        match self {
            Self::Bits(_) => Ok(report::outputs_json(outputs)),
            Self::Typed(typed) => {
                let results = typed.results(outputs).map_err(plain_failure)?;
                let signature = typed.signature();
                let fields = results.iter();
                let fields =
                    fields.map(|(name, value)| ((*name).to_owned(), signature.json(value)));
                Ok(Json::Object(fields.collect::<Map<_, _>>()))
            }
        }
    }

    /// Returns results as text.
    pub(crate) fn outputs_text(
        &self,
        outputs: &BTreeMap<String, Value>,
    ) -> Result<String, Failure> {
        match self {
            Self::Bits(function) => Ok(report::outputs_text(function, outputs)),
            Self::Typed(typed) => {
                let results = typed.results(outputs).map_err(plain_failure)?;
                Ok(results_text(typed.signature(), &results))
            }
        }
    }
}

/// The files for results.
#[derive(Debug)]
pub(crate) struct OutputFiles {
    files: Vec<(String, PathBuf)>,
    texts: CsvTexts,
}

impl OutputFiles {
    /// Checks `given` before anything runs: each name must be a table that `party` gets, or any
    /// table if there is no party, and each file must be new and in a folder that can be written.
    pub(crate) fn new(
        given: &OutputArgs,
        signature: Option<&Signature>,
        party: Option<usize>,
    ) -> Result<Self, Failure> {
        let mut files = Vec::new();
        for (name, path) in &given.outputs {
            let Some(signature) = signature else {
                return Err(usage!(
                    "--output writes the tables of programs of the language";
                    "leave it out, and take the results from standard output"
                ));
            };
            let is_own = |to: Option<usize>| to.is_none() || party.is_none() || to == party;
            let mut mine = signature
                .results()
                .iter()
                .filter(|result| is_own(result.to));
            let Some(result) = mine.find(|result| result.name.as_str() == name) else {
                let who = party.map_or("the program", |party| signature.party_name(party));
                let own = signature
                    .results()
                    .iter()
                    .filter(|result| is_own(result.to));
                let own: Vec<&str> = own.map(|result| result.name.as_str()).collect();
                return Err(usage!(
                    "--output {name}: {who} gets no result of that name";
                    "name one of: {}", own.join(", ")
                ));
            };
            if !signature.is_table(result.ty) {
                return Err(usage!(
                    "--output {name}: a {} is not a table", signature.type_name(result.ty);
                    "take it from standard output"
                ));
            }
            let path = PathBuf::from(path);
            check_new(&path, Readers::Owner)?;
            files.push((name.clone(), path));
        }
        let texts = if given.plain_texts {
            CsvTexts::Plain
        } else {
            CsvTexts::Marked
        };
        Ok(Self { files, texts })
    }

    /// Writes the results into the files. Calls `unwritten` with the text of each file that cannot
    /// be written, since the run cannot be had again.
    pub(crate) fn write(
        &self,
        signature: &Signature,
        results: &[(&str, PortValue)],
        mut unwritten: impl FnMut(&[u8]),
    ) -> Result<(), Failure> {
        let mut ended = Ok(());
        for (name, value) in results {
            let files = self.files.iter().filter(|(output, _)| output == name);
            for (_, path) in files {
                let mut text = signature.csv(value, name, self.texts).unwrap_or_default();
                let written = write_new(path, Readers::Owner, |file| {
                    file.write_all(&text)
                        .map_err(|error| Failure::write(path, &error))
                });
                if written.is_err() {
                    unwritten(&text);
                }
                text.zeroize();
                ended = ended.and(written);
            }
        }
        ended
    }
}

/// Tells the user how many rows of this party's table were left out: rows that lack a value, and,
/// for the reason `repeated`, rows of keys that have enough of them. `table` follows the number.
pub(crate) fn tell_left_out(rows: LeftOut, table: &str, repeated: &str) {
    let (missing, repeated) = (
        (rows.missing, "with no valid value"),
        (rows.repeated, repeated),
    );
    for (rows, why) in [missing, repeated] {
        if rows > 0 {
            eprintln!("left out {}{table} {why}", counted(rows, "row"));
        }
    }
}

/// Returns the same numbers as JSON.
pub(crate) fn left_out_json(rows: LeftOut) -> Json {
    json!({ "missing": rows.missing, "repeated": rows.repeated })
}

/// Tells the user that an array was padded, or that rows of a table were left out.
pub(crate) fn tell_changed(name: &str, value: &PortValue) {
    let repeated = "whose key was already taken as often as the join allows";
    tell_left_out(value.left_out(), &format!(" of {name}"), repeated);
    match value.filled_up() {
        0 => {}
        1 => eprintln!("input {name} is 1 element shorter than its type; a zero fills it up"),
        n => eprintln!("input {name} is {n} elements shorter than its type; zeros fill it up"),
    }
}
