//! Inputs: from arguments, files and standard input to checked values.
//!
//! Everything is checked before a connection is made. Texts that may hold secrets are wiped when
//! they are dropped and appear in no message.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value as Json;
use tacit::circuit::{CircuitError, Port};
use tacit::{Function, Role, Value};
use tacit_serve::inputs::{Pairs, kind_of};
use tacit_serve::reading::read_wiped;
use zeroize::Zeroizing;

use crate::failure::{Failure, input, usage};

/// The longest text that is read for inputs, in bytes. Tables are read row by row instead.
const MAX_BYTES: u64 = 256 << 20;

/// The place and form of a value.
pub(crate) enum Source<'a> {
    /// In an argument.
    Text(&'a str),
    /// In a file or on standard input.
    File(&'a str),
    /// In a JSON object.
    Json(&'a Json),
    /// In a table file.
    Table(Table<'a>),
}

/// A table file, or one of its columns.
pub(crate) struct Table<'a> {
    pub(crate) name: &'a str,
    pub(crate) file: &'a File,
    /// The column, if only one is meant.
    pub(crate) column: Option<&'a str>,
    /// Whether to tell a person how the columns are read; a service has its own log.
    pub(crate) tells: bool,
}

/// The inputs that a command expects.
pub(crate) trait ExpectedInputs {
    /// The value of one input.
    type Value;

    /// Returns the flag that gives a value, for messages.
    fn flag(&self) -> &'static str {
        "--input"
    }

    /// Checks that an input of this name is expected.
    fn admit(&self, name: &str) -> Result<(), Failure>;

    /// Reads the value of an expected input.
    fn read(&self, name: &str, source: Source<'_>) -> Result<Self::Value, Failure>;

    /// Returns the names of all expected inputs, each with its type.
    fn names(&self) -> Vec<(String, String)>;

    /// Returns the failure for missing values.
    fn missing(&self, inputs: &str) -> Failure;

    /// Returns whether tables are read from files that end in `.csv`, in either case.
    fn has_tables(&self) -> bool;
}

/// The places of input values.
pub(crate) enum Reading<'a> {
    /// In arguments `name=value`, `name=@file` and `name=-`, and in a JSON object in a file or,
    /// with `-`, on standard input.
    Command(&'a [String], Option<&'a Path>),
    /// Each input where this function says. Other inputs are ignored.
    Named(&'a dyn Fn(&str) -> Option<InputOfService<'a>>),
}

/// The value of an input of a service, or its place.
pub(crate) enum InputOfService<'a> {
    /// This value.
    Json(&'a Json),
    /// In the file at this path, or a column of the table there.
    File(&'a str),
}

impl Reading<'_> {
    /// Reads the values of all expected inputs.
    pub(crate) fn values<W: ExpectedInputs>(
        &self,
        wanted: &W,
    ) -> Result<BTreeMap<String, W::Value>, Failure> {
        let find = match self {
            Self::Command(arguments, file) => return gather(wanted, arguments, *file),
            Self::Named(find) => find,
        };
        let names = wanted.names();
        let values = names.iter().map(|(name, _)| {
            let value = match find(name) {
                Some(InputOfService::Json(json)) => wanted.read(name, Source::Json(json)),
                Some(InputOfService::File(path)) => from_file(wanted, name, path, false),
                None => Err(input!("{name} is missing"; "this party gives {}", listed(&names))),
            };
            Ok((name.clone(), value?))
        });
        values.collect()
    }
}

/// Reads the values of all expected inputs from arguments `name=value`, `name=@file` and `name=-`,
/// and from a JSON object in a file or, with `-`, on standard input.
pub(crate) fn gather<W: ExpectedInputs>(
    wanted: &W,
    arguments: &[String],
    file: Option<&Path>,
) -> Result<BTreeMap<String, W::Value>, Failure> {
    let from_stdin = arguments
        .iter()
        .filter(|input| input.split_once('=').is_some_and(|(_, text)| text == "-"))
        .count()
        + usize::from(file == Some(Path::new("-")));
    if from_stdin > 1 {
        return Err(usage!(
            "standard input is asked for twice";
            "it can be read once, so put several inputs into one JSON object for --input-file -"
        ));
    }
    let mut gathered = Gathered {
        wanted,
        values: BTreeMap::new(),
    };
    for input in arguments {
        gathered.argument(input)?;
    }
    if let Some(path) = file {
        gathered.json(path)?;
    }
    gathered.complete()
}

struct Gathered<'w, W: ExpectedInputs> {
    wanted: &'w W,
    values: BTreeMap<String, W::Value>,
}

impl<W: ExpectedInputs> Gathered<'_, W> {
    /// Reads `name=value`, `name=@file` or `name=-`.
    fn argument(&mut self, argument: &str) -> Result<(), Failure> {
        let Some((name, text)) = argument
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
        else {
            // The argument may be a secret without its name, so the message does not repeat it.
            let flag = self.wanted.flag();
            return Err(usage!("an {flag} has no `NAME=`"; "write {flag} NAME=VALUE"));
        };
        self.admit(name)?;
        let value = if text == "-" {
            let what = format!("input {name} from standard input");
            let text = text_of(read_bytes(std::io::stdin().lock(), 0, &what)?, &what)?;
            self.wanted.read(name, Source::File(&text))?
        } else if let Some(path) = text.strip_prefix('@') {
            from_file(self.wanted, name, path, true)?
        } else {
            let value = self.wanted.read(name, Source::Text(text));
            value.map_err(|failure| {
                if names_a_file(text) {
                    file_without_at(name)
                } else {
                    failure
                }
            })?
        };
        self.values.insert(name.to_owned(), value);
        Ok(())
    }

    /// Reads a JSON object of names and values.
    fn json(&mut self, path: &Path) -> Result<(), Failure> {
        let (what, bytes) = if path == Path::new("-") {
            let what = "the inputs from standard input".to_owned();
            let bytes = read_bytes(std::io::stdin().lock(), 0, &what)?;
            (what, bytes)
        } else {
            let what = format!("the inputs in {}", path.display());
            let bytes = read_file(path, &what)?;
            (what, bytes)
        };
        let text = text_of(bytes, &what)?;
        let pairs: Pairs = serde_json::from_str(&text).map_err(|error| {
            input!(
                "{what} are not a JSON object (line {}, column {}: {})",
                error.line(), error.column(), kind_of(&error);
                "write {{\"name\": value, …}}"
            )
        })?;
        for (name, json) in &pairs.0 {
            self.admit(name)?;
            let value = self.wanted.read(name, Source::Json(json))?;
            self.values.insert(name.clone(), value);
        }
        Ok(())
    }

    /// Checks that the input `name` is expected and has no value yet.
    fn admit(&self, name: &str) -> Result<(), Failure> {
        self.wanted.admit(name)?;
        if self.values.contains_key(name) {
            Err(input!("input {name:?} is given twice"; "give it once"))
        } else {
            Ok(())
        }
    }

    /// Returns all values, if none is missing.
    fn complete(self) -> Result<BTreeMap<String, W::Value>, Failure> {
        let missing: Vec<(String, String)> = self
            .wanted
            .names()
            .into_iter()
            .filter(|(name, _)| !self.values.contains_key(name))
            .collect();
        if missing.is_empty() {
            Ok(self.values)
        } else {
            Err(self.wanted.missing(&listed(&missing)))
        }
    }
}

/// Reads the value of an input from a file, or from a column of a table.
fn from_file<W: ExpectedInputs>(
    wanted: &W,
    name: &str,
    path: &str,
    tells: bool,
) -> Result<W::Value, Failure> {
    let table = wanted.has_tables().then(|| table_path(path)).flatten();
    let path = table.map_or(path, |(path, _)| path);
    let what = format!("input {name} from {path}");
    match table {
        Some((path, column)) => {
            let named = Path::new(path)
                .file_name()
                .unwrap_or_default()
                .to_string_lossy();
            let file = File::open(path).map_err(|error| Failure::read(what, error))?;
            let table = Table {
                name: &named,
                file: &file,
                column,
                tells,
            };
            wanted.read(name, Source::Table(table))
        }
        None => {
            let bytes = read_file(Path::new(path), &what)?;
            wanted.read(name, Source::File(&text_of(bytes, &what)?))
        }
    }
}

/// Splits `table.csv` or `table.csv:column`. A file of the whole name is meant if there is one.
fn table_path(path: &str) -> Option<(&str, Option<&str>)> {
    let (path, column) = split_column(path);
    let ending = Path::new(path).extension();
    let is_table = ending.is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    is_table.then_some((path, column))
}

/// Splits `table.csv:column` behind the last `.csv`, unless there is a file of the whole name.
pub(crate) fn split_column(text: &str) -> (&str, Option<&str>) {
    let end = text.to_ascii_lowercase().rfind(".csv:");
    match end.map(|at| at + ".csv".len()) {
        Some(end) if !Path::new(text).is_file() => (&text[..end], Some(&text[end + 1..])),
        _ => (text, None),
    }
}

/// Returns whether a text is the path of a file, or of a table with a column.
fn names_a_file(text: &str) -> bool {
    Path::new(table_path(text).map_or(text, |(path, _)| path)).is_file()
}

/// Returns the failure for a file name that was given without `@`.
fn file_without_at(name: &str) -> Failure {
    input!(
        "the text for input {name} is not a value of its type, and there is a file of that name";
        "write {name}=@FILE to read a file"
    )
}

/// Lists names and types in one line.
pub(crate) fn listed(inputs: &[(String, String)]) -> String {
    let texts: Vec<String> = inputs
        .iter()
        .map(|(name, ty)| format!("{name} ({ty})"))
        .collect();
    if texts.is_empty() {
        "none".to_owned()
    } else {
        texts.join(", ")
    }
}

/// The inputs of a role of a function.
pub(crate) struct OfRole<'f> {
    pub(crate) function: &'f Function,
    pub(crate) role: Role,
}

impl OfRole<'_> {
    fn port(&self, name: &str) -> Option<(&Port, Role)> {
        let inputs = &mut self.function.inputs().iter();
        let found = inputs.find(|input| input.port.name == name)?;
        Some((&found.port, found.owner))
    }
}

impl ExpectedInputs for OfRole<'_> {
    type Value = Value;

    fn admit(&self, name: &str) -> Result<(), Failure> {
        let role = self.role.name();
        match self.port(name) {
            None => Err(input!(
                "{} has no input {name:?}", self.function.name();
                "inputs of the {role} are: {}", listed(&self.names())
            )),
            Some((_, owner)) if owner != self.role => Err(input!(
                "input {name:?} is the {}'s and this party is the {role}", owner.name();
                "leave it out (inputs of the {role}: {})", listed(&self.names())
            )),
            Some(_) => Ok(()),
        }
    }

    fn read(&self, name: &str, source: Source<'_>) -> Result<Value, Failure> {
        let Some((port, _)) = self.port(name) else {
            return Err(Failure::input(format!("there is no input {name:?}")));
        };
        let value: Result<Value, CircuitError> = match source {
            Source::Text(text) => port.parse_value(text),
            Source::File(text) => port.parse_value(text.trim()),
            Source::Json(json) => port.value_from_json(json),
            Source::Table(..) => unreachable!("functions of bits take no tables"),
        };
        value.map_err(|error| {
            // Texts are inputs of such a type, and no other message says how to write them.
            let of_texts = if port.ty.to_string().starts_with("u8[") {
                "a text is the list of its bytes, such as [72,105] for Hi; "
            } else {
                ""
            };
            input!("input {error}"; "{of_texts}`tacit run --help` shows how values are written")
        })
    }

    fn names(&self) -> Vec<(String, String)> {
        let own = self.function.inputs().iter();
        let own = own.filter(|input| input.owner == self.role);
        own.map(|input| (input.port.name.clone(), input.port.ty.to_string()))
            .collect()
    }

    fn missing(&self, inputs: &str) -> Failure {
        input!(
            "the {} has given no value for {inputs}", self.role.name();
            "add --input NAME=VALUE for each, or --input-file"
        )
    }

    fn has_tables(&self) -> bool {
        false
    }
}

fn read_file(path: &Path, what: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let file = File::open(path).map_err(|error| Failure::read(what, error))?;
    let length = file.metadata().map_or(0, |file| file.len());
    read_bytes(file, length, what)
}

/// Reads all of `from`, at most [`MAX_BYTES`]. The probable length is `length`.
fn read_bytes(from: impl Read, length: u64, what: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let read = read_wiped(from, length, MAX_BYTES);
    let bytes = read.map_err(|error| Failure::read(what, error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(input!(
            "{what}: there are more than {MAX_BYTES} bytes";
            "no input is that long, so see whether it is the right file"
        ));
    }
    Ok(bytes)
}

/// Returns bytes as UTF-8, without the byte order mark that some editors put first.
fn text_of(bytes: Zeroizing<Vec<u8>>, what: &str) -> Result<Zeroizing<String>, Failure> {
    match std::str::from_utf8(&bytes) {
        Ok(text) => {
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            Ok(Zeroizing::new(text.to_owned()))
        }
        Err(_) => Err(input!(
            "{what}: it is not UTF-8";
            "save a text as UTF-8, and write byte strings in hexadecimal, such as xxd -p prints \
             them"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_named_behind_the_path_of_a_table() {
        for (path, expected) in [
            ("a.csv", Some(("a.csv", None))),
            ("a/b.csv:id", Some(("a/b.csv", Some("id")))),
            ("a.csv:b.csv:id", Some(("a.csv:b.csv", Some("id")))),
            ("DATA.CSV", Some(("DATA.CSV", None))),
            ("Ü/Data.Csv:Größe", Some(("Ü/Data.Csv", Some("Größe")))),
            ("a.json", None),
            ("csv", None),
        ] {
            assert_eq!(table_path(path), expected, "{path}");
        }
    }
}
