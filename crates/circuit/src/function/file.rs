//! Function files: JSON whose schema is published as `docs/function.schema.json`.

use core::fmt;
use std::collections::BTreeMap;
use std::path::Path;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::expression::Expression;
use super::family::bounded;
use super::source::{
    ComponentSource, Destination, InputSource, OutputSource, Owner, Source, StepSource,
    ValueSource, shown,
};
use super::syntax::{Assignment, Head, TypeExpression, parse_value};
use super::{ErrorLocation, FunctionError, FunctionFamily, FunctionParameter, Recipient, Role};
use crate::formats::BitOrder;

/// Largest function file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The version of the format.
const VERSION: u64 = 1;

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a function: an object with tacit_function, name, inputs, steps and outputs"
)]
struct File {
    #[serde(rename = "$schema")]
    #[allow(dead_code, reason = "editors read it")]
    schema: Option<String>,
    tacit_function: u64,
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Vec<FunctionParameter>,
    #[serde(default)]
    components: Vec<ComponentEntry>,
    inputs: Vec<Input>,
    #[serde(default)]
    values: Vec<Declared>,
    #[serde(default)]
    steps: Vec<Step>,
    outputs: Vec<Output>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a component: an object with name, and library or file"
)]
struct ComponentEntry {
    name: String,
    library: Option<String>,
    #[serde(default)]
    parameters: BTreeMap<String, Size>,
    file: Option<String>,
    bit_order: Option<String>,
}

/// A whole number, or an expression of parameters as text.
enum Size {
    Number(u64),
    Text(String),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number such as 32, or an expression as a string such as \"2*n\"")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Size, E> {
        Ok(Size::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Size, E> {
        Ok(Size::Text(text.to_owned()))
    }
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an input: an object with name, type and owner"
)]
struct Input {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    owner: InputOwner,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct InputOwner(Owner);

impl TryFrom<String> for InputOwner {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Ok(Self(match text.as_str() {
            "garbler" => Owner::Party(Role::Garbler),
            "evaluator" => Owner::Party(Role::Evaluator),
            "saved" => Owner::Saved,
            _ => {
                let found = shown(&text);
                return Err(format!(
                    "owner is {found:?}, expected garbler, evaluator or saved"
                ));
            }
        }))
    }
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a value: an object with name and type"
)]
struct Declared {
    name: String,
    #[serde(rename = "type")]
    ty: String,
}

enum Step {
    Assignment(String),
    Loop(Loop),
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StepVisitor)
    }
}

struct StepVisitor;

impl<'de> Visitor<'de> for StepVisitor {
    type Value = Step;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step: a string such as \"c = add(a, b)\", or an object with for and do")
    }

    fn visit_str<E>(self, text: &str) -> Result<Step, E> {
        Ok(Step::Assignment(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Step, A::Error> {
        Loop::deserialize(MapAccessDeserializer::new(map)).map(Step::Loop)
    }
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a loop: an object with for, such as \"i in 0..n\", and do, a list of steps"
)]
struct Loop {
    #[serde(rename = "for")]
    head: String,
    #[serde(rename = "do")]
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an output: an object with name, type, to and value"
)]
struct Output {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    to: OutputTo,
    value: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct OutputTo(Destination);

impl TryFrom<String> for OutputTo {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Ok(Self(match text.as_str() {
            "garbler" => Destination::Parties(Recipient::Garbler),
            "evaluator" => Destination::Parties(Recipient::Evaluator),
            "both" => Destination::Parties(Recipient::Both),
            "saved" => Destination::Saved,
            _ => {
                let found = shown(&text);
                return Err(format!(
                    "to is {found:?}, expected garbler, evaluator, both or saved"
                ));
            }
        }))
    }
}

impl FunctionFamily {
    /// Reads a function from JSON. Its components come from the library; circuit files are for
    /// [`FunctionFamily::read`].
    ///
    /// # Errors
    ///
    /// [`FunctionError::File`] where the text breaks the schema, and whatever can be said of
    /// names, steps and expressions before the parameters have values.
    pub fn from_json(json: &str) -> Result<Self, FunctionError> {
        let file: File = serde_json::from_str(json).map_err(|error| FunctionError::File {
            line: error.line(),
            column: error.column(),
            message: plain_message(&error),
        })?;
        if file.tacit_function != VERSION {
            return Err(FunctionError::Version {
                found: file.tacit_function,
            });
        }
        Self::of_source(source(file)?)
    }

    /// Reads a function file; circuit files are looked for in its folder.
    ///
    /// # Errors
    ///
    /// [`FunctionError::Io`] where it cannot be read, and those of
    /// [`FunctionFamily::from_json`].
    pub fn read(path: &Path) -> Result<Self, FunctionError> {
        let failed = |message: String| FunctionError::Io {
            path: path.display().to_string(),
            message,
        };
        bounded(path, MAX_FILE_BYTES).map_err(failed)?;
        let file = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
        let mut json = String::new();
        let mut bounded = std::io::Read::take(file, MAX_FILE_BYTES);
        std::io::Read::read_to_string(&mut bounded, &mut json)
            .map_err(|error| failed(error.to_string()))?;
        let mut family = Self::from_json(&json)?;
        family.source.folder = Some(path.parent().unwrap_or(Path::new("")).to_owned());
        Ok(family)
    }
}

/// What is wrong with the text, without the position and in JSON's words in place of Rust's.
fn plain_message(error: &serde_json::Error) -> String {
    let mut message = error.to_string();
    if let Some(end) = message.rfind(" at line ") {
        message.truncate(end);
    }
    if let Some(found) = message.strip_prefix("invalid type: ") {
        message = format!("found {found}");
    } else if let Some(found) = message.strip_prefix("invalid value: ") {
        message = format!("found {found}");
    }
    for (rust, json) in [
        ("EOF while parsing", "the file ends in the midst of"),
        ("expected `,` or `]`", "expected a comma or ]"),
        ("expected `,` or `}`", "expected a comma or }"),
        ("expected value", "expected a JSON value"),
        (
            "key must be a string",
            "a field's name must be a string in quotes",
        ),
        ("trailing comma", "a comma after the last element"),
        ("trailing characters", "text after the end of the function"),
        ("found map", "found an object"),
        ("found sequence", "found a list"),
        ("found integer", "found the number"),
        ("found floating point", "found the number"),
        ("found string", "found the string"),
        ("found boolean", "found"),
        ("expected a map", "expected an object"),
        ("expected a sequence", "expected a list"),
        ("expected u64", "expected a whole number from 0 to 2^64 - 1"),
        (
            "recursion limit exceeded",
            "lists and objects are nested too deep; at most 8 loops are",
        ),
    ] {
        message = message.replace(rust, json);
    }
    message
}

fn source(file: File) -> Result<Source, FunctionError> {
    let place = |kind: &str, name: &str| ErrorLocation::new(format!("{kind} {}", shown(name)));
    let mut source = Source {
        name: file.name,
        description: file.description,
        parameters: file.parameters,
        ..Source::default()
    };
    for entry in file.components {
        source
            .components
            .push((entry.name.clone(), component(entry)?));
    }
    for Input { name, ty, owner } in file.inputs {
        let ty = TypeExpression::parse(&place("input", &name), &ty)?;
        let InputOwner(owner) = owner;
        source.inputs.push(InputSource { name, ty, owner });
    }
    for Declared { name, ty } in file.values {
        let ty = TypeExpression::parse(&place("value", &name), &ty)?;
        source.values.push(ValueSource { name, ty });
    }
    source.steps = steps(file.steps)?;
    for Output {
        name,
        ty,
        to,
        value,
    } in file.outputs
    {
        let place = place("output", &name);
        let (ty, value) = (
            TypeExpression::parse(&place, &ty)?,
            parse_value(&place, &value)?,
        );
        let OutputTo(destination) = to;
        source.outputs.push(OutputSource {
            name,
            ty,
            destination,
            value,
        });
    }
    Ok(source)
}

fn component(entry: ComponentEntry) -> Result<ComponentSource, FunctionError> {
    let place = ErrorLocation::new(format!("component {}", shown(&entry.name)));
    let is = |message: &str| {
        Err(FunctionError::ComponentEntry {
            component: shown(&entry.name),
            message: message.to_owned(),
        })
    };
    match (entry.library, entry.file) {
        (Some(name), None) if entry.bit_order.is_none() => {
            let mut parameters = BTreeMap::new();
            for (parameter, size) in entry.parameters {
                let expression = match size {
                    Size::Number(number) => Expression::Number(number),
                    Size::Text(text) => Expression::parse(&place, &text)?,
                };
                parameters.insert(parameter, expression);
            }
            Ok(ComponentSource::Library { name, parameters })
        }
        (None, Some(path)) if entry.parameters.is_empty() => {
            let order = match entry.bit_order.as_deref().map(str::parse::<BitOrder>) {
                None => BitOrder::default(),
                Some(Ok(order)) => order,
                Some(Err(error)) => return is(&format!("has a bit_order that is none: {error}")),
            };
            Ok(ComponentSource::File { path, order })
        }
        (Some(_), None) => is("is of the library, which has no bit_order; leave it out"),
        (None, Some(_)) => is("is a circuit file, which has no parameters; leave them out"),
        _ => is("needs either library, with a name that `tacit inspect --list` shows, or file"),
    }
}

fn steps(steps: Vec<Step>) -> Result<Vec<StepSource>, FunctionError> {
    let read = |step| {
        Ok(match step {
            Step::Assignment(text) => {
                let place = ErrorLocation::new("a step");
                StepSource::Assignment(Assignment::parse(&place, &text)?)
            }
            Step::Loop(repeated) => {
                let place = ErrorLocation::new("a loop");
                let head = Head::parse(&place, &repeated.head)?;
                StepSource::Loop(head, self::steps(repeated.steps)?)
            }
        })
    };
    steps.into_iter().map(read).collect()
}
