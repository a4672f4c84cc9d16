//! This party's inputs: from arguments, files and standard input to checked values.
//!
//! Everything is checked before a connection is made. Texts that may hold secrets are wiped when
//! they are dropped and appear in no message.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use tacit::{CircuitError, Function, Port, Role, Value};
use tacit_serve::inputs::{Pairs, kind_of};
use zeroize::Zeroizing;

use crate::args::RunArgs;
use crate::failure::Failure;

/// The longest text that is read for inputs, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// The values of `role`'s inputs, one for each.
///
/// # Errors
///
/// An input is missing, unknown, the peer's, given twice, or not of its type.
pub(crate) fn gather(
    function: &Function,
    role: Role,
    args: &RunArgs,
) -> Result<BTreeMap<String, Value>, Failure> {
    let mut gathered = Gathered {
        function,
        role,
        values: BTreeMap::new(),
    };
    let from_stdin = args
        .inputs
        .iter()
        .filter(|input| input.ends_with("=-"))
        .count()
        + usize::from(args.input_file.as_deref() == Some(Path::new("-")));
    if from_stdin > 1 {
        return Err(Failure::Usage(
            "standard input is asked for twice; it can be read once, so put several inputs into \
             one JSON object for --input-file -"
                .to_owned(),
        ));
    }
    for input in &args.inputs {
        gathered.argument(input)?;
    }
    if let Some(path) = &args.input_file {
        gathered.json(path)?;
    }
    gathered.complete()
}

struct Gathered<'f> {
    function: &'f Function,
    role: Role,
    values: BTreeMap<String, Value>,
}

impl<'f> Gathered<'f> {
    /// `name=value`, `name=@file` or `name=-`.
    fn argument(&mut self, argument: &str) -> Result<(), Failure> {
        let Some((name, text)) = argument
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
        else {
            // The argument may be a secret whose name was forgotten, so it is not repeated.
            return Err(Failure::Usage(
                "an --input has no name; write --input NAME=VALUE".to_owned(),
            ));
        };
        let port = self.admit(name)?;
        let read;
        let text = if text == "-" {
            read = read_text(
                std::io::stdin().lock(),
                &format!("input {name} from standard input"),
            )?;
            read.trim()
        } else if let Some(path) = text.strip_prefix('@') {
            let what = format!("input {name} from {path}");
            let file = File::open(path).map_err(|error| Failure::read(what.clone(), error))?;
            read = read_text(file, &what)?;
            read.trim()
        } else {
            text
        };
        self.insert(port, port.parse_value(text))
    }

    /// A JSON object of names and values.
    fn json(&mut self, path: &Path) -> Result<(), Failure> {
        let (what, text) = if path == Path::new("-") {
            let what = "the inputs from standard input".to_owned();
            let text = read_text(std::io::stdin().lock(), &what)?;
            (what, text)
        } else {
            let what = format!("the inputs in {}", path.display());
            let file = File::open(path).map_err(|error| Failure::read(what.clone(), error))?;
            let text = read_text(file, &what)?;
            (what, text)
        };
        let pairs: Pairs = serde_json::from_str(&text).map_err(|error| {
            Failure::Input(format!(
                "{what} are no JSON object (line {}, column {}: {}); write \
                 {{\"name\": value, …}}",
                error.line(),
                error.column(),
                kind_of(&error)
            ))
        })?;
        for (name, json) in &pairs.0 {
            let port = self.admit(name)?;
            self.insert(port, port.value_from_json(json))?;
        }
        Ok(())
    }

    /// The port of this party's input `name`, which has no value yet.
    fn admit(&self, name: &str) -> Result<&'f Port, Failure> {
        let found = self
            .function
            .inputs()
            .iter()
            .find(|input| input.port.name == name);
        match found {
            None => Err(Failure::Input(format!(
                "{} has no input {name:?}; inputs of the {} are: {}",
                self.function.name(),
                self.role.name(),
                self.own_names()
            ))),
            Some(input) if input.owner != self.role => Err(Failure::Input(format!(
                "input {name:?} is the {}'s and this party is the {}; leave it out (inputs of the {}: \
                 {})",
                input.owner.name(),
                self.role.name(),
                self.role.name(),
                self.own_names()
            ))),
            Some(_) if self.values.contains_key(name) => Err(Failure::Input(format!(
                "input {name:?} is given twice; give it once"
            ))),
            Some(input) => Ok(&input.port),
        }
    }

    fn insert(&mut self, port: &Port, value: Result<Value, CircuitError>) -> Result<(), Failure> {
        let value = value.map_err(|error| {
            // Texts are inputs of such a type, and nothing else says how they are written.
            let of_texts = match port.ty.to_string().starts_with("u8[") {
                true => "a text is the list of its bytes, such as [72,105] for Hi; ",
                false => "",
            };
            Failure::Input(format!(
                "input {error}; {of_texts}`tacit run --help` shows how values are written"
            ))
        })?;
        self.values.insert(port.name.clone(), value);
        Ok(())
    }

    fn own_names(&self) -> String {
        let own = self
            .function
            .inputs()
            .iter()
            .filter(|input| input.owner == self.role);
        let names: Vec<String> = own
            .map(|input| format!("{} ({})", input.port.name, input.port.ty))
            .collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    }

    /// All values, if none is missing.
    fn complete(self) -> Result<BTreeMap<String, Value>, Failure> {
        let own = self
            .function
            .inputs()
            .iter()
            .filter(|input| input.owner == self.role);
        let missing: Vec<String> = own
            .filter(|input| !self.values.contains_key(&input.port.name))
            .map(|input| format!("{} ({})", input.port.name, input.port.ty))
            .collect();
        if missing.is_empty() {
            return Ok(self.values);
        }
        Err(Failure::Input(format!(
            "the {} has given no value for {}; add --input NAME=VALUE for each, or --input-file",
            self.role.name(),
            missing.join(", ")
        )))
    }
}

/// All of `from`, which is UTF-8 and not longer than [`MAX_BYTES`].
fn read_text(from: impl Read, what: &str) -> Result<Zeroizing<String>, Failure> {
    let mut bytes = Zeroizing::new(Vec::new());
    from.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::read(what, error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::Input(format!(
            "{what}: there are more than {MAX_BYTES} bytes; no input is that long, so see whether \
             it is the right file"
        )));
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(Zeroizing::new(text.to_owned())),
        Err(_) => Err(Failure::Input(format!(
            "{what}: it is no text; write byte strings in hexadecimal, such as xxd -p prints them"
        ))),
    }
}
