//! The inputs that a command expects: those of a party, the public ones, or all.

use tacit_language::program::InputPort;
use tacit_language::{PortValue, Signature};

use crate::failure::{Failure, input};
use crate::inputs::{self, ExpectedInputs, Source};
use crate::program::plain_failure;

/// The inputs of a program that a command expects.
pub(crate) struct WantedInputs<'s>(pub(crate) &'s Signature, pub(crate) InputsOf);

/// The owners of expected inputs.
#[derive(Clone, Copy)]
pub(crate) enum InputsOf {
    /// The party of this number.
    Party(usize),
    /// Nobody: the public inputs.
    Public,
    /// All parties, and nobody.
    All,
}

fn read(signature: &Signature, name: &str, source: Source<'_>) -> Result<PortValue, Failure> {
    let input = signature.input(name).map_err(plain_failure)?;
    let value = match source {
        Source::Text(text) => signature.read_text(input, text),
        Source::File(text) => {
            let is_text = signature.is_text(input.ty);
            let line = text.strip_suffix('\n').unwrap_or(text);
            let line = line.strip_suffix('\r').unwrap_or(line);
            signature.read_text(input, if is_text { line } else { text.trim() })
        }
        Source::Json(json) => signature.read_json(input, json),
        Source::Table(table) => {
            if table.tells && signature.takes_columns_in_order(input.ty) {
                eprintln!(
                    "input {}: the columns of {} are taken in their order, since its rows have no \
                     names; a struct takes them by their names",
                    input.name, table.name
                );
            }
            let value = signature.read_csv(input, table.name, table.file, table.column);
            let names_are_texts = table.column.is_none() && signature.has_rows_of_texts(input.ty);
            if table.tells && value.is_ok() && names_are_texts {
                eprintln!(
                    "input {}: the first line of {} is taken for the names of its columns, not for \
                     texts",
                    input.name, table.name
                );
            }
            value
        }
    };
    value.map_err(plain_failure)
}

impl ExpectedInputs for WantedInputs<'_> {
    type Value = PortValue;

    fn flag(&self) -> &'static str {
        match self.1 {
            InputsOf::Party(_) | InputsOf::All => "--input",
            InputsOf::Public => "--public",
        }
    }

    fn admit(&self, name: &str) -> Result<(), Failure> {
        let signature = self.0;
        let input = signature.input(name).map_err(plain_failure)?;
        match (self.1, input.owner) {
            (InputsOf::All, _) | (InputsOf::Public, None) => Ok(()),
            (InputsOf::Party(party), Some(owner)) if owner == party => Ok(()),
            (InputsOf::Party(party), Some(owner)) => {
                let me = signature.party_name(party);
                Err(Failure::input(format!(
                    "input {name:?} is {other}'s and this party is {me}; leave it out, or start \
                     this party as {other} if it is {other} (inputs of {me}: {})",
                    inputs::listed(&self.names()),
                    other = signature.party_name(owner)
                )))
            }
            (InputsOf::Party(_), None) => Err(input!(
                "input {name:?} is public, so that both parties give it the same";
                "write --public {name}=VALUE"
            )),
            (InputsOf::Public, Some(owner)) => Err(input!(
                "--public {name}: it is a secret of {}, not public", signature.party_name(owner);
                "that party writes --input {name}=VALUE"
            )),
        }
    }

    fn read(&self, name: &str, source: Source<'_>) -> Result<PortValue, Failure> {
        read(self.0, name, source)
    }

    fn names(&self) -> Vec<(String, String)> {
        let is_wanted = |input: &&InputPort| match self.1 {
            InputsOf::Party(party) => input.owner == Some(party),
            InputsOf::Public => input.owner.is_none(),
            InputsOf::All => true,
        };
        let inputs = self.0.inputs().iter().filter(is_wanted);
        let name = |input: &InputPort| {
            let ty = self.0.type_name(input.ty);
            (input.name.to_string(), ty)
        };
        inputs.map(name).collect()
    }

    fn missing(&self, inputs: &str) -> Failure {
        const REMEDY: &str = "add --input NAME=VALUE for each, or --input-file";
        match self.1 {
            InputsOf::Party(party) => {
                let party = self.0.party_name(party);
                input!("{party} has given no value for {inputs}"; "{REMEDY}")
            }
            InputsOf::Public => input!(
                "no value is given for the public {inputs}";
                "both parties give the same --public NAME=VALUE"
            ),
            InputsOf::All => input!("no value is given for {inputs}"; "{REMEDY}"),
        }
    }

    fn has_tables(&self) -> bool {
        true
    }
}
