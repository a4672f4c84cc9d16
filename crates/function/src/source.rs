//! The source form of a function: components, ports, values and steps, by name.
//!
//! # Digests
//!
//! The *canonical text* consists of ASCII lines, each terminated by `\n`, in this order, and within
//! each kind in the order of declaration:
//!
//! | line | for each |
//! |---|---|
//! | `component library NAME PARAMETER=NUMBER…` | component of the library, its parameters in alphabetical order |
//! | `component circuit DIGEST` | any other component, with its circuit's digest in hex |
//! | `input NAME TYPE OWNER` | input; the owner is `garbler`, `evaluator` or `saved` |
//! | `value NAME TYPE` | value whose elements are assigned once |
//! | `variable NAME TYPE` | value whose elements may be assigned again |
//! | a step without spaces, or `for NAME in FROM..TO`, its steps, and `end` | step |
//! | `output NAME TYPE RECIPIENT VALUE` | output; the recipient is `garbler`, `evaluator`, `both` or `saved` |
//!
//! A step refers to a component by its position, `#0` and so on. Numbers are decimal. No name
//! contains a space or a line end, so no two functions have the same text.
//!
//! A *function's digest* is SHA-256 over
//!
//! | bytes | field |
//! |---|---|
//! | 18 | the tag `tacit function v2\0` |
//! | 32 | SHA-256 over the tag `tacit family v1\0` and the canonical text |
//! | 4 | 0 |
//! | 4 | number of components |
//! | 32 each | the component's circuit's digest |
//!
//! with integers in little-endian. If the function has a meaning, its digest is SHA-256 over the
//! tag `tacit function with meaning v1\0`, the digest above and the meaning. Neither digest covers
//! the names of the function and of its components.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use tacit_circuit::{Component, Digest, Port, Type};

use crate::steps::{Assignment, Head, Operand};
use crate::{ErrorLocation, FunctionError, Recipient, Role};

/// The most steps as written, including loops.
pub(super) const MAX_STEPS: usize = 1 << 16;
/// The most components, inputs, values and outputs, for each of these.
pub(super) const MAX_DECLARATIONS: usize = 1 << 12;
/// The deepest nesting of loops.
pub(super) const MAX_LOOPS: usize = 8;

/// A component under the name by which steps call it.
#[derive(Clone, Debug)]
pub(super) struct ComponentSource {
    pub(super) name: String,
    pub(super) component: Component,
    /// The component's name in the library and its parameters, if it comes from there.
    pub(super) library: Option<(String, BTreeMap<String, u64>)>,
}

/// The owner of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Party(Role),
    Saved,
}

/// The destination of an output.
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
    pub(super) ty: Type,
    pub(super) owner: Owner,
}

/// A value that steps assign.
#[derive(Clone, Debug)]
pub(super) struct ValueSource {
    pub(super) name: String,
    pub(super) ty: Type,
    /// Whether steps may assign an element again.
    pub(super) is_variable: bool,
}

/// An output.
#[derive(Clone, Debug)]
pub(super) struct OutputSource {
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) destination: Destination,
    pub(super) value: Operand,
}

/// A function in its written form.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) components: Vec<ComponentSource>,
    pub(super) inputs: Vec<InputSource>,
    pub(super) values: Vec<ValueSource>,
    pub(super) steps: Vec<StepSource>,
    pub(super) outputs: Vec<OutputSource>,
    /// See [`FunctionBuilder::over_shares`](crate::FunctionBuilder::over_shares). Digests do not
    /// cover it.
    pub(super) is_over_shares: bool,
}

impl Source {
    /// Checks the names and the numbers of declarations and steps.
    pub(super) fn check(&self) -> Result<(), FunctionError> {
        let counts = [
            ("components", self.components.len()),
            ("inputs", self.inputs.len()),
            ("values", self.values.len()),
            ("outputs", self.outputs.len()),
        ];
        if let Some((what, _)) = counts.into_iter().find(|(_, n)| *n > MAX_DECLARATIONS) {
            return Err(self.too_many(what, MAX_DECLARATIONS));
        }
        let inputs = self.inputs.iter().map(|input| ("input", &input.name));
        let values = self.values.iter().map(|value| ("value", &value.name));
        check_names(inputs.chain(values))?;
        check_names(self.components.iter().map(|c| ("component", &c.name)))?;
        check_names(self.outputs.iter().map(|output| ("output", &output.name)))?;
        if self.outputs.is_empty() {
            let function = self.name.clone();
            return Err(FunctionError::NoOutput { function });
        }
        let mut left = MAX_STEPS;
        self.check_steps(&self.steps, &mut Vec::new(), &mut left)
    }

    fn too_many(&self, what: &'static str, limit: usize) -> FunctionError {
        let place = format!("function {:?}", shown(&self.name));
        FunctionError::too_many(place, what, limit as u64)
    }

    fn check_steps<'a>(
        &'a self,
        steps: &'a [StepSource],
        counters: &mut Vec<&'a str>,
        left: &mut usize,
    ) -> Result<(), FunctionError> {
        for step in steps {
            let too_many = || self.too_many("steps", MAX_STEPS);
            *left = left.checked_sub(1).ok_or_else(too_many)?;
            let StepSource::Loop(head, steps) = step else {
                continue;
            };
            let place = ErrorLocation::new(format!("for {head}"));
            if counters.len() == MAX_LOOPS {
                return Err(self.too_many("loops in each other", MAX_LOOPS));
            }
            check_name(&place, &head.counter)?;
            let ports = self.inputs.iter().map(|input| &input.name);
            let values = self.values.iter().map(|value| &value.name);
            let taken = ports.chain(values).any(|name| *name == head.counter);
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

    /// Returns the index of the component of this name.
    pub(super) fn component(&self, name: &str) -> Option<usize> {
        self.components.iter().position(|c| c.name == name)
    }

    /// Returns the canonical text.
    pub(super) fn canonical_text(&self) -> String {
        let mut text = String::new();
        for declared in &self.components {
            match &declared.library {
                Some((name, parameters)) => {
                    let _ = write!(text, "component library {name}");
                    for (name, value) in parameters {
                        let _ = write!(text, " {name}={value}");
                    }
                    text.push('\n');
                }
                None => {
                    let _ = writeln!(text, "component circuit {}", declared.component.digest());
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
        for ValueSource {
            name,
            ty,
            is_variable,
        } in &self.values
        {
            let kind = if *is_variable { "variable" } else { "value" };
            let _ = writeln!(text, "{kind} {name} {ty}");
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
            let _ = writeln!(text, "output {name} {ty} {recipient} {value}");
        }
        text
    }

    fn steps_text(&self, steps: &[StepSource], text: &mut String) {
        let place = |name: &str| match self.component(name) {
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

/// Returns the digest of a function with this canonical text and these components.
pub(super) fn function_digest(text: &str, components: &[Component]) -> Digest {
    let text = Sha256::new_with_prefix(b"tacit family v1\0").chain_update(text);
    let mut hash = Sha256::new_with_prefix(b"tacit function v2\0")
        .chain_update(text.finalize())
        .chain_update([0; 4])
        .chain_update((components.len() as u32).to_le_bytes());
    components
        .iter()
        .for_each(|component| hash.update(component.digest().0));
    Digest(hash.finalize().into())
}

/// Returns the digest of a function with this digest and this meaning.
pub(super) fn digest_with_meaning(function: Digest, meaning: Digest) -> Digest {
    let hash = Sha256::new_with_prefix(b"tacit function with meaning v1\0");
    Digest(
        hash.chain_update(function.0)
            .chain_update(meaning.0)
            .finalize()
            .into(),
    )
}

/// Shortens a name to 64 characters, for messages.
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
