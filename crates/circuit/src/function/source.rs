//! A function as it is written: parameters, components, ports, values and steps, by name.
//!
//! # Digests
//!
//! The *family digest* stands for a function whose parameters are open. It is SHA-256 over the tag
//! `tacit family v1\0` and the canonical text: ASCII lines, each ended by `\n`, in this order, and
//! within each kind in the order in which they are declared:
//!
//! | line | for each |
//! |---|---|
//! | `parameter NAME` | parameter |
//! | `component library NAME PARAMETER=EXPRESSION…` | component of the library, its parameters in alphabetical order |
//! | `component circuit DIGEST` | any other component, with its circuit's digest in hex |
//! | `input NAME TYPE OWNER` | input; the owner is `garbler`, `evaluator` or `saved` |
//! | `value NAME TYPE` | value |
//! | a step without spaces, or `for NAME in FROM..TO`, its steps, and `end` | step |
//! | `output NAME TYPE RECIPIENT VALUE` | output; the recipient is `garbler`, `evaluator`, `both` or `saved` |
//!
//! A step calls a component by its place, `#0` and so on. Numbers are decimal, `0x` constants in
//! lower case; expressions have the parentheses that they need and no others. No name has a space
//! or a line end in it, so that no two families have the same text.
//!
//! A *function's digest* is SHA-256 over
//!
//! | bytes | field |
//! |---|---|
//! | 18 | the tag `tacit function v2\0` |
//! | 32 | the family digest |
//! | 4 | number of parameters |
//! | 8 each | the parameter's value |
//! | 4 | number of components |
//! | 32 each | the component's circuit's digest |
//!
//! with integers in little-endian. Where the function has a meaning, its digest is SHA-256 over the
//! tag `tacit function with meaning v1\0`, the digest above and the meaning. The names of the
//! function and of its components, and the bounds and defaults of parameters are in
//! neither.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::expression::{Applied, Expression};
use super::syntax::{Assignment, Head, TypeExpression, Value, value_text};
use super::{Component, ErrorLocation, FunctionError, FunctionParameter, Recipient, Role};
use crate::{Digest, Port};

/// Most steps that are written, loops among them.
pub(super) const MAX_STEPS: usize = 1 << 16;
/// Most parameters, components, inputs, values and outputs, each.
pub(super) const MAX_DECLARATIONS: usize = 1 << 12;
/// Deepest nesting of loops.
pub(super) const MAX_LOOPS: usize = 8;

/// A component as it is named.
#[derive(Clone, Debug)]
pub(super) enum ComponentSource {
    /// A component of the library.
    Library {
        name: String,
        parameters: BTreeMap<String, Expression>,
    },
    /// A circuit that the builder was given.
    Given(Component),
}

/// Whose an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Party(Role),
    Saved,
}

/// Where an output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    Parties(Recipient),
    Saved,
}

/// A step.
#[derive(Clone, Debug)]
pub(super) enum StepSource {
    Assignment(Assignment),
    Loop(Head, Vec<StepSource>),
}

/// An input.
#[derive(Clone, Debug)]
pub(super) struct InputSource {
    pub(super) name: String,
    pub(super) ty: TypeExpression,
    pub(super) owner: Owner,
}

/// A value that steps assign.
#[derive(Clone, Debug)]
pub(super) struct ValueSource {
    pub(super) name: String,
    pub(super) ty: TypeExpression,
}

/// An output.
#[derive(Clone, Debug)]
pub(super) struct OutputSource {
    pub(super) name: String,
    pub(super) ty: TypeExpression,
    pub(super) destination: Destination,
    pub(super) value: Value,
}

/// A function as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) parameters: Vec<FunctionParameter>,
    pub(super) components: Vec<(String, ComponentSource)>,
    pub(super) inputs: Vec<InputSource>,
    pub(super) values: Vec<ValueSource>,
    pub(super) steps: Vec<StepSource>,
    pub(super) outputs: Vec<OutputSource>,
}

impl Source {
    /// Checks names, bounds and numbers: all that shows before parameters have values.
    pub(super) fn check(&self) -> Result<(), FunctionError> {
        let place = ErrorLocation::new(format!("function {:?}", shown(&self.name)));
        let counts = [
            ("parameters", self.parameters.len()),
            ("components", self.components.len()),
            ("inputs", self.inputs.len()),
            ("values", self.values.len()),
            ("outputs", self.outputs.len()),
        ];
        if let Some((what, _)) = counts.into_iter().find(|(_, n)| *n > MAX_DECLARATIONS) {
            let limit = MAX_DECLARATIONS as u64;
            return Err(FunctionError::TooMany { place, what, limit });
        }
        for parameter in &self.parameters {
            parameter.check()?;
        }
        let parameters = self.parameters.iter().map(|p| ("parameter", &p.name));
        let inputs = self.inputs.iter().map(|input| ("input", &input.name));
        let values = self.values.iter().map(|value| ("value", &value.name));
        check_names(parameters.chain(inputs).chain(values))?;
        check_names(self.components.iter().map(|(name, _)| ("component", name)))?;
        if let Some((name, _)) = self
            .components
            .iter()
            .find(|(n, _)| Applied::named(n).is_some())
        {
            let place = ErrorLocation::new(format!("component {name:?}"));
            let name = name.clone();
            return Err(FunctionError::Name { place, name });
        }
        check_names(self.outputs.iter().map(|output| ("output", &output.name)))?;
        if self.outputs.is_empty() {
            let function = self.name.clone();
            return Err(FunctionError::NoOutput { function });
        }
        let mut left = MAX_STEPS;
        self.check_steps(&self.steps, &mut Vec::new(), &mut left)
    }

    fn check_steps<'a>(
        &'a self,
        steps: &'a [StepSource],
        counters: &mut Vec<&'a str>,
        left: &mut usize,
    ) -> Result<(), FunctionError> {
        for step in steps {
            let too_many = |what, limit: usize| FunctionError::TooMany {
                place: ErrorLocation::new(format!("function {:?}", shown(&self.name))),
                what,
                limit: limit as u64,
            };
            *left = left
                .checked_sub(1)
                .ok_or_else(|| too_many("steps", MAX_STEPS))?;
            let StepSource::Loop(head, steps) = step else {
                continue;
            };
            let place = ErrorLocation::new(format!("for {head}"));
            if counters.len() == MAX_LOOPS {
                return Err(too_many("loops in each other", MAX_LOOPS));
            }
            check_name(&place, &head.counter)?;
            let parameters = self.parameters.iter().map(|p| &p.name);
            let ports = self.inputs.iter().map(|input| &input.name);
            let values = self.values.iter().map(|value| &value.name);
            let taken = parameters
                .chain(ports)
                .chain(values)
                .any(|name| *name == head.counter);
            if taken || counters.contains(&head.counter.as_str()) {
                let name = head.counter.clone();
                return Err(FunctionError::DuplicateName { place, name });
            }
            counters.push(&head.counter);
            self.check_steps(steps, counters, left)?;
            counters.pop();
        }
        Ok(())
    }

    /// The values of all parameters, in order, from those given and the defaults.
    pub(super) fn arguments(
        &self,
        given: &BTreeMap<String, u64>,
    ) -> Result<Vec<u64>, FunctionError> {
        let known = |name: &String| self.parameters.iter().any(|p| p.name == *name);
        if let Some(name) = given.keys().find(|&name| !known(name)) {
            let names: Vec<&str> = self.parameters.iter().map(|p| p.name.as_str()).collect();
            return Err(FunctionError::UnknownParameter {
                function: self.name.clone(),
                parameter: shown(name),
                known: if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                },
            });
        }
        let value = |parameter: &FunctionParameter| {
            parameter.value(&self.name, given.get(&parameter.name).copied())
        };
        self.parameters.iter().map(value).collect()
    }

    /// The canonical text, with the components as they were found.
    pub(super) fn canonical_text(&self, components: &[Component]) -> String {
        let mut text = String::new();
        for parameter in &self.parameters {
            let _ = writeln!(text, "parameter {}", parameter.name);
        }
        for ((_, source), component) in self.components.iter().zip(components) {
            match source {
                ComponentSource::Library { name, parameters } => {
                    let _ = write!(text, "component library {name}");
                    for (name, expression) in parameters {
                        let _ = write!(text, " {name}={expression}");
                    }
                    text.push('\n');
                }
                ComponentSource::Given(_) => {
                    let _ = writeln!(text, "component circuit {}", component.digest());
                }
            }
        }
        for InputSource { name, ty, owner } in &self.inputs {
            let owner = match owner {
                Owner::Party(role) => role.name(),
                Owner::Saved => "saved",
            };
            let _ = writeln!(text, "input {name} {ty} {owner}");
        }
        for ValueSource { name, ty } in &self.values {
            let _ = writeln!(text, "value {name} {ty}");
        }
        self.steps_text(&self.steps, &mut text);
        for OutputSource {
            name,
            ty,
            destination,
            value,
        } in &self.outputs
        {
            let recipient = match destination {
                Destination::Parties(recipient) => recipient.name(),
                Destination::Saved => "saved",
            };
            let _ = writeln!(text, "output {name} {ty} {recipient} {}", value_text(value));
        }
        text
    }

    fn steps_text(&self, steps: &[StepSource], text: &mut String) {
        let place = |name: &str| match self.components.iter().position(|(n, _)| n == name) {
            Some(place) => format!("#{place}"),
            None => name.to_owned(),
        };
        for step in steps {
            match step {
                StepSource::Assignment(assignment) => {
                    let _ = writeln!(text, "{}", assignment.text(place));
                }
                StepSource::Loop(head, steps) => {
                    let _ = writeln!(text, "for {head}");
                    self.steps_text(steps, text);
                    text.push_str("end\n");
                }
            }
        }
    }
}

/// The digest of a family with this canonical text.
pub(super) fn family_digest(text: &str) -> Digest {
    let hash = Sha256::new_with_prefix(b"tacit family v1\0").chain_update(text);
    Digest(hash.finalize().into())
}

/// The digest of a family's function with these values of its parameters.
pub(super) fn function_digest(family: Digest, values: &[u64], components: &[Component]) -> Digest {
    let mut hash = Sha256::new_with_prefix(b"tacit function v2\0");
    hash.update(family.0);
    hash.update((values.len() as u32).to_le_bytes());
    values
        .iter()
        .for_each(|value| hash.update(value.to_le_bytes()));
    hash.update((components.len() as u32).to_le_bytes());
    components
        .iter()
        .for_each(|component| hash.update(component.digest().0));
    Digest(hash.finalize().into())
}

/// The digest of a function of this digest that has this meaning.
pub(super) fn digest_with_meaning(function: Digest, meaning: Digest) -> Digest {
    let hash = Sha256::new_with_prefix(b"tacit function with meaning v1\0");
    Digest(
        hash.chain_update(function.0)
            .chain_update(meaning.0)
            .finalize()
            .into(),
    )
}

/// A name for a message, cut to 64 characters.
pub(super) fn shown(name: &str) -> String {
    name.chars().take(Port::MAX_NAME_BYTES).collect()
}

fn check_names<'a>(
    names: impl Iterator<Item = (&'static str, &'a String)>,
) -> Result<(), FunctionError> {
    let mut seen = std::collections::HashSet::new();
    for (kind, name) in names {
        let place = ErrorLocation::new(format!("{kind} {:?}", shown(name)));
        check_name(&place, name)?;
        if !seen.insert(name) {
            let name = name.clone();
            return Err(FunctionError::DuplicateName { place, name });
        }
    }
    Ok(())
}

fn check_name(place: &ErrorLocation, name: &str) -> Result<(), FunctionError> {
    if Port::is_valid_name(name) {
        return Ok(());
    }
    Err(FunctionError::Name {
        place: place.clone(),
        name: shown(name),
    })
}
