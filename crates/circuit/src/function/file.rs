//! Function files: JSON whose schema is published as `docs/function.schema.json`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::expression::Expression;
use super::family::bounded;
use super::source::{
    ComponentSource, Destination, InputSource, OutputSource, Owner, Source, StepSource,
    ValueSource, shown,
};
use super::syntax::{Assignment, Head, TypeExpression, parse_value};
use super::{FunctionError, FunctionFamily, FunctionParameter, Place, Recipient, Role};
use crate::formats::BitOrder;

/// Largest function file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The version of the format.
const VERSION: u64 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "$schema")]
    #[allow(dead_code, reason = "editors read it")]
    schema: Option<String>,
    tacit_function: u64,
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Vec<Parameter>,
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
#[serde(deny_unknown_fields)]
struct Parameter {
    name: String,
    #[serde(default)]
    description: String,
    minimum: u64,
    maximum: u64,
    default: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComponentEntry {
    name: String,
    library: Option<String>,
    #[serde(default)]
    parameters: BTreeMap<String, Size>,
    file: Option<String>,
    bit_order: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Size {
    Number(u64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    owner: InputOwner,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum InputOwner {
    Garbler,
    Evaluator,
    Saved,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declared {
    name: String,
    #[serde(rename = "type")]
    ty: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Step {
    Assignment(String),
    Loop(Loop),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Loop {
    #[serde(rename = "for")]
    head: String,
    #[serde(rename = "do")]
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    to: OutputTo,
    value: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OutputTo {
    Garbler,
    Evaluator,
    Both,
    Saved,
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
        let file: File = serde_json::from_str(json).map_err(|error| {
            let mut message = error.to_string();
            // The position stands in fields of its own.
            if let Some(end) = message.rfind(" at line ") {
                message.truncate(end);
            }
            FunctionError::File {
                line: error.line(),
                column: error.column(),
                message,
            }
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

fn source(file: File) -> Result<Source, FunctionError> {
    let place = |kind: &str, name: &str| Place::new(format!("{kind} {}", shown(name)));
    let mut source = Source {
        name: file.name,
        description: file.description,
        ..Source::default()
    };
    source.parameters = file.parameters.into_iter().map(parameter).collect();
    for entry in file.components {
        source
            .components
            .push((entry.name.clone(), component(entry)?));
    }
    for Input { name, ty, owner } in file.inputs {
        let ty = TypeExpression::parse(&place("input", &name), &ty)?;
        let owner = match owner {
            InputOwner::Garbler => Owner::Party(Role::Garbler),
            InputOwner::Evaluator => Owner::Party(Role::Evaluator),
            InputOwner::Saved => Owner::Saved,
        };
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
        let destination = match to {
            OutputTo::Garbler => Destination::Parties(Recipient::Garbler),
            OutputTo::Evaluator => Destination::Parties(Recipient::Evaluator),
            OutputTo::Both => Destination::Parties(Recipient::Both),
            OutputTo::Saved => Destination::Saved,
        };
        source.outputs.push(OutputSource {
            name,
            ty,
            destination,
            value,
        });
    }
    Ok(source)
}

fn parameter(parameter: Parameter) -> FunctionParameter {
    let Parameter {
        name,
        description,
        minimum,
        maximum,
        default,
    } = parameter;
    FunctionParameter {
        name,
        description,
        minimum,
        maximum,
        default,
    }
}

fn component(entry: ComponentEntry) -> Result<ComponentSource, FunctionError> {
    let place = Place::new(format!("component {}", shown(&entry.name)));
    let is = |message: &str| {
        Err(FunctionError::File {
            line: 0,
            column: 0,
            message: format!("{place} {message}"),
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
                Some(Err(error)) => return is(&format!("has no such bit_order: {error}")),
            };
            Ok(ComponentSource::File { path, order })
        }
        (Some(_), None) => is("is of the library and has no bit_order"),
        (None, Some(_)) => is("is a circuit file and has no parameters"),
        _ => is("needs either library or file"),
    }
}

fn steps(steps: Vec<Step>) -> Result<Vec<StepSource>, FunctionError> {
    let read = |step| {
        Ok(match step {
            Step::Assignment(text) => {
                let place = Place::new("a step");
                StepSource::Assignment(Assignment::parse(&place, &text)?)
            }
            Step::Loop(repeated) => {
                let place = Place::new("a loop");
                let head = Head::parse(&place, &repeated.head)?;
                StepSource::Loop(head, self::steps(repeated.steps)?)
            }
        })
    };
    steps.into_iter().map(read).collect()
}
