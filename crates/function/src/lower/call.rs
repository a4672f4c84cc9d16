//! The lowering of calls: the numbers of arguments and results, and the values of each port.

use tacit_circuit::{Kind, Port, Type};

use super::{FunctionError, Lowering};
use crate::plan::Operation;
use crate::reading;
use crate::source::ComponentSource;
use crate::steps::{Operand, Part};

impl Lowering<'_> {
    pub(super) fn call(
        &self,
        declared: &ComponentSource,
        targets: &[Option<Part>],
        arguments: &[Operand],
        operation: &mut Operation,
    ) -> Result<(), FunctionError> {
        let ComponentSource {
            name, component, ..
        } = declared;
        let (inputs, outputs) = (component.circuit().inputs(), component.circuit().outputs());
        if arguments.len() != inputs.len() {
            return Err(FunctionError::Arguments {
                place: self.place.clone(),
                component: name.clone(),
                ports: names(inputs),
                expected: inputs.len(),
                found: arguments.len(),
            });
        }
        if targets.len() != outputs.len() {
            return Err(FunctionError::Results {
                place: self.place.clone(),
                component: name.clone(),
                ports: names(outputs),
                expected: outputs.len(),
                found: targets.len(),
            });
        }
        for (value, port) in arguments.iter().zip(inputs) {
            let shown = format!("port {} ({})", port.name, port.ty);
            self.argument(value, &port.ty, &shown, operation)?;
        }
        for (target, port) in targets.iter().zip(outputs) {
            self.result(target.as_ref(), port, operation)?;
        }
        Ok(())
    }

    fn result(
        &self,
        target: Option<&Part>,
        port: &Port,
        operation: &mut Operation,
    ) -> Result<(), FunctionError> {
        let ty = &port.ty;
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

    /// Checks that `value`, of type `from`, has the same meaning where a `to` is expected.
    pub(super) fn reads(
        &self,
        value: &str,
        from: &Type,
        to: &str,
        expected: &Type,
    ) -> Result<(), FunctionError> {
        // If the widths of two numbers differ, a later error reports that.
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
}

fn names(ports: &[Port]) -> String {
    let names: Vec<String> = ports
        .iter()
        .map(|port| format!("{} {}", port.name, port.ty))
        .collect();
    names.join(", ")
}
