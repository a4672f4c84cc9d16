//! The inputs that a command expects: those of a party, the public ones, or all.

use tacit_language::program::InputPort;
use tacit_language::{PortValue, Signature};

use crate::failure::{Failure, input};
use crate::inputs::{self, ExpectedInputs, Source};
use crate::program::plain_failure;

/// The inputs of a party.
pub(crate) struct OfParty<'s> {
    pub(crate) signature: &'s Signature,
    pub(crate) party: usize,
}

/// The public inputs.
pub(crate) struct Public<'s>(pub(crate) &'s Signature);

/// The inputs of all parties, and the public ones.
pub(crate) struct OfAll<'s>(pub(crate) &'s Signature);

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

fn names<'s>(
    signature: &'s Signature,
    wanted: impl Fn(&InputPort) -> bool + 's,
) -> Vec<(String, String)> {
    let inputs = signature.inputs().iter().filter(|input| wanted(input));
    let names = inputs.map(|input| (input.name.to_string(), signature.type_name(input.ty)));
    names.collect()
}

impl ExpectedInputs for OfParty<'_> {
    type Value = PortValue;
    const FLAG: &'static str = "--input";

    fn admit(&self, name: &str) -> Result<(), Failure> {
        let signature = self.signature;
        let input = signature.input(name).map_err(plain_failure)?;
        let me = signature.party_name(self.party);
        match input.owner {
            Some(owner) if owner == self.party => Ok(()),
            Some(owner) => Err(Failure::input(format!(
                "input {name:?} is {other}'s and this party is {me}; leave it out, or start this \
                 party as {other} if it is {other} (inputs of {me}: {})",
                inputs::listed(&self.names()),
                other = signature.party_name(owner)
            ))),
            None => Err(input!(
                "input {name:?} is public, so that both parties give it the same";
                "write --public {name}=VALUE"
            )),
        }
    }

    fn read(&self, name: &str, source: Source<'_>) -> Result<PortValue, Failure> {
        read(self.signature, name, source)
    }

    fn names(&self) -> Vec<(String, String)> {
        names(self.signature, |input| input.owner == Some(self.party))
    }

    fn missing(&self, inputs: &str) -> Failure {
        input!(
            "{} has given no value for {inputs}", self.signature.party_name(self.party);
            "add --input NAME=VALUE for each, or --input-file"
        )
    }

    fn has_tables(&self) -> bool {
        true
    }
}

impl ExpectedInputs for Public<'_> {
    type Value = PortValue;
    const FLAG: &'static str = "--public";

    fn admit(&self, name: &str) -> Result<(), Failure> {
        let input = self.0.input(name).map_err(plain_failure)?;
        match input.owner {
            None => Ok(()),
            Some(owner) => Err(input!(
                "--public {name}: it is a secret of {}, not public", self.0.party_name(owner);
                "that party writes --input {name}=VALUE"
            )),
        }
    }

    fn read(&self, name: &str, source: Source<'_>) -> Result<PortValue, Failure> {
        read(self.0, name, source)
    }

    fn names(&self) -> Vec<(String, String)> {
        names(self.0, |input| input.owner.is_none())
    }

    fn missing(&self, inputs: &str) -> Failure {
        input!(
            "no value is given for the public {inputs}";
            "both parties give the same --public NAME=VALUE"
        )
    }

    fn has_tables(&self) -> bool {
        true
    }
}

impl ExpectedInputs for OfAll<'_> {
    type Value = PortValue;
    const FLAG: &'static str = "--input";

    fn admit(&self, name: &str) -> Result<(), Failure> {
        self.0.input(name).map(drop).map_err(plain_failure)
    }

    fn read(&self, name: &str, source: Source<'_>) -> Result<PortValue, Failure> {
        read(self.0, name, source)
    }

    fn names(&self) -> Vec<(String, String)> {
        names(self.0, |_| true)
    }

    fn missing(&self, inputs: &str) -> Failure {
        input!(
            "no value is given for {inputs}";
            "add --input NAME=VALUE for each, or --input-file"
        )
    }

    fn has_tables(&self) -> bool {
        true
    }
}
