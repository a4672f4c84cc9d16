//! The promises of a function's inputs, which come from the ports that they go into.
//!
//! An input that goes into a port unchanged takes over the port's promise. A part of an input
//! cannot promise what is said of a whole value. No owner's machine knows the values that steps
//! compute, or saved values. That these keep a promise must follow from the function, or its author
//! has to ensure it.

use std::collections::{HashMap, HashSet};

use tacit_circuit::{Port, Promise, Type};

use crate::source::{Source, StepSource};
use crate::steps::{Assignment, Item, Operand, Part};
use crate::{ErrorLocation, FunctionError};

/// Sets the promise of each of `ports`, which are the inputs of `source` that parties own.
pub(super) fn promise(source: &Source, ports: &mut [Port]) -> Result<(), FunctionError> {
    let mut readers = Readers {
        source,
        inputs: HashMap::new(),
        copies: HashSet::new(),
    };
    for port in &*ports {
        let of = (port.ty.clone(), None);
        readers.inputs.insert(port.name.clone(), of);
    }
    while readers.find_copies(&source.steps) {}
    readers.steps(&source.steps)?;
    for port in ports {
        port.promise = readers.inputs[&port.name].1;
    }
    Ok(())
}

struct Readers<'s> {
    source: &'s Source,
    /// The type of each input, and what its readers so far ask it to promise.
    inputs: HashMap<String, (Type, Option<Promise>)>,
    /// The values to which steps move bits of inputs.
    copies: HashSet<&'s str>,
}

impl<'s> Readers<'s> {
    /// Records the values to which steps move bits of inputs. Returns whether it found new ones.
    fn find_copies(&mut self, steps: &'s [StepSource]) -> bool {
        steps.iter().fold(false, |more, step| {
            more | match step {
                StepSource::Loop(_, steps) => self.find_copies(steps),
                StepSource::Assignment(Assignment::Move(to, value)) => {
                    self.reads_an_input(value) && self.copies.insert(&to.name)
                }
                StepSource::Assignment(Assignment::Call(..)) => false,
            }
        })
    }

    fn steps(&mut self, steps: &'s [StepSource]) -> Result<(), FunctionError> {
        steps.iter().try_for_each(|step| match step {
            StepSource::Loop(_, steps) => self.steps(steps),
            StepSource::Assignment(assignment) => self.assignment(assignment),
        })
    }

    fn assignment(&mut self, assignment: &'s Assignment) -> Result<(), FunctionError> {
        let Assignment::Call(_, name, arguments) = assignment else {
            return Ok(());
        };
        // The lowering has already compared names and numbers of arguments.
        let Some(number) = self.source.component(name) else {
            return Ok(());
        };
        let ports = self.source.components[number].component.circuit().inputs();
        for (value, port) in arguments.iter().zip(ports) {
            if let Some(promise) = port.promise {
                self.promised(assignment, value, port, promise)?;
            }
        }
        Ok(())
    }

    fn promised(
        &mut self,
        assignment: &Assignment,
        value: &'s Operand,
        port: &Port,
        promise: Promise,
    ) -> Result<(), FunctionError> {
        let wrong = |why| FunctionError::Promise {
            place: ErrorLocation::new(assignment.text(str::to_owned)),
            port: format!("port {} ({})", port.name, port.ty),
            promise: promise.to_string(),
            value: value.to_string(),
            why,
        };
        match &value.0[..] {
            [Item::Part(Part { name, indices })]
                if indices.is_empty() && !self.copies.contains(name.as_str()) =>
            {
                if let Some((ty, promised)) = self.inputs.get_mut(name) {
                    if *ty != port.ty {
                        return Err(wrong("give the input the port's type"));
                    }
                    let together = match *promised {
                        Some(other) => promise.and(other),
                        None => Some(promise),
                    };
                    *promised = Some(together.ok_or_else(|| {
                        wrong("another port needs something else of the same input")
                    })?);
                }
                Ok(())
            }
            _ if self.reads_an_input(value) => Err(wrong(
                "an input can promise that only if it goes there as it is; make it an input of its \
                 own",
            )),
            _ => Ok(()),
        }
    }

    fn reads_an_input(&self, value: &Operand) -> bool {
        value.0.iter().any(|item| match item {
            Item::Part(Part { name, .. }) => {
                self.inputs.contains_key(name) || self.copies.contains(name.as_str())
            }
            Item::Constant(..) => false,
        })
    }
}
