//! Calls: numbers of arguments and results, and the kinds of numbers on both sides.

use tacit_circuit::{Kind, Port, Type};
use tacit_components::library;

use super::{FunctionError, Lowering};
use crate::plan::Operation;
use crate::reading::{self, PortTypes};
use crate::source::ComponentSource;
use crate::syntax::{Item, Reference, Value};

/// A call as it is written.
pub(super) struct CallSource<'s> {
    pub(super) declared: &'s ComponentSource,
    pub(super) arguments: &'s [Value],
    pub(super) targets: &'s [Option<Reference>],
}

impl Lowering<'_> {
    pub(super) fn call(
        &self,
        call: &CallSource<'_>,
        operation: &mut Operation,
    ) -> Result<(), FunctionError> {
        let ComponentSource {
            name,
            component,
            library,
        } = call.declared;
        let (inputs, outputs) = (component.circuit().inputs(), component.circuit().outputs());
        if call.arguments.len() != inputs.len() {
            return Err(FunctionError::Arguments {
                place: self.place.clone(),
                component: name.clone(),
                ports: names(inputs),
                expected: inputs.len(),
                found: call.arguments.len(),
            });
        }
        if call.targets.len() != outputs.len() {
            return Err(FunctionError::Results {
                place: self.place.clone(),
                component: name.clone(),
                ports: names(outputs),
                expected: outputs.len(),
                found: call.targets.len(),
            });
        }
        let library = library.as_ref();
        let alike = library.map_or(&[][..], |(name, _)| library::alike(name));
        let given = |port: &str| {
            let arguments = inputs.iter().zip(call.arguments);
            let mut argument = arguments.filter(|(input, _)| input.name == port);
            let mut target = outputs.iter().zip(call.targets);
            match argument.next() {
                Some((_, value)) => self.number_of(value),
                None => {
                    let target = target.find(|(output, _)| output.name == port)?.1.as_ref()?;
                    Some(reading::number(&self.picked(target)?)?.clone())
                }
            }
        };
        let types = PortTypes::of_call((inputs, outputs), alike, given);
        for ((value, port), ty) in call.arguments.iter().zip(inputs).zip(&types.inputs) {
            let shown = format!("port {} ({ty})", port.name);
            self.argument(value, ty, &shown, operation)?;
        }
        for ((target, port), ty) in call.targets.iter().zip(outputs).zip(&types.outputs) {
            self.result(target.as_ref(), port, ty, operation)?;
        }
        Ok(())
    }

    fn result(
        &self,
        target: Option<&Reference>,
        port: &Port,
        ty: &Type,
        operation: &mut Operation,
    ) -> Result<(), FunctionError> {
        let width = ty.width() as u64;
        let Some(target) = target else {
            operation.results.push((width, None));
            return Ok(());
        };
        let what = format!("port {}, {target}", port.name);
        let (part, found) = self.pick(target, &what, &mut operation.bounds)?;
        if found.width() as u64 != width {
            return Err(FunctionError::Width {
                place: self.place.clone(),
                port: format!("port {} ({ty})", port.name),
                value: format!("{target} ({found})"),
                expected: width,
                found: found.width() as u64,
            });
        }
        self.reads(
            &format!("port {}", port.name),
            ty,
            &target.to_string(),
            &found,
        )?;
        operation.results.push((width, Some(part)));
        Ok(())
    }

    /// Passes if `value`, of type `from`, means the same where a `to` is expected.
    pub(super) fn reads(
        &self,
        value: &str,
        from: &Type,
        to: &str,
        expected: &Type,
    ) -> Result<(), FunctionError> {
        // Where the widths of two numbers differ, that is what will be said.
        let is_part = matches!(expected.kind(), Kind::Array(..));
        let may_fit = is_part || from.width() == expected.width();
        if !may_fit || reading::reads_as(from, expected) {
            return Ok(());
        }
        Err(FunctionError::Meaning {
            place: self.place.clone(),
            value: value.to_owned(),
            found: Box::new(from.clone()),
            port: to.to_owned(),
            expected: Box::new(expected.clone()),
        })
    }

    /// The kind of the numbers that an argument is made of, where it says so.
    fn number_of(&self, value: &[Item]) -> Option<Type> {
        let [item] = value else { return None };
        let ty = match item {
            Item::Reference(reference) => self.picked(reference)?,
            Item::Constant(_, said) => said.clone()?,
        };
        Some(reading::number(&ty)?.clone())
    }

    /// The type of what a reference to an array picks.
    fn picked(&self, reference: &Reference) -> Option<Type> {
        self.arrays.get(reference.name.as_str())?;
        Some(self.pick(reference, "", &mut Vec::new()).ok()?.1)
    }
}

fn names(ports: &[Port]) -> String {
    let names: Vec<String> = ports
        .iter()
        .map(|port| format!("{} {}", port.name, port.ty))
        .collect();
    names.join(", ")
}
