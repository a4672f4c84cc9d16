//! The components that a function calls: their circuits, ports and names.

use tacit_circuit::{Circuit, Component, Port, Type};

use super::super::lines::LineCosts;
use super::super::trace::Called;
use super::super::{Diagnostic, Lower, component};
use super::Emitter;
use crate::source::Span;

/// The greatest number of gates of all components that a run calls. They are in memory at the same
/// time, and take up to 24 bytes each when compiled.
const MAX_GATES_TOGETHER: usize = 1 << 26;

impl Emitter<'_, '_> {
    /// Returns the number of a component. The first call makes the component.
    pub(super) fn component(&mut self, called: Called, span: Span) -> Lower<usize> {
        if let Some(number) = self.components.get(&called) {
            return Ok(*number);
        }
        let number = self.new_component(called, None, span)?;
        self.components.insert(called, number);
        Ok(number)
    }

    /// Makes a component, whose result may be cut into ports of these widths. Returns its number.
    pub(super) fn new_component(
        &mut self,
        called: Called,
        parts: Option<&[usize]>,
        span: Span,
    ) -> Lower<usize> {
        let (wanted, (circuit, lines)) = self.made(called, span)?;
        self.component_gates += circuit.gate_count();
        if self.component_gates > MAX_GATES_TOGETHER {
            let message = "with this call the components of this run have more than 2^26 gates \
                           together: call one component more often in place of several that \
                           differ, or compute it in several runs";
            return Err(Diagnostic::new(span, message));
        }
        if let Some(lines) = lines {
            self.depths.insert(called, circuit.statistics().and_depth);
            self.costs.component(called, lines);
        }
        // The program ensures the promises of a circuit's ports. The circuit is otherwise
        // unchanged, since other functions may have it in stock.
        let inputs = circuit.inputs().iter();
        let inputs = inputs.map(|port| Port::new(&port.name, port.ty.clone()));
        let part = |(number, width): (usize, &usize)| {
            Port::new(format!("part{number}"), Type::bits(*width))
        };
        let outputs: Vec<Port> = match parts {
            Some(parts) => parts.iter().enumerate().map(part).collect(),
            None => circuit.outputs().to_vec(),
        };
        let inputs = inputs.collect();
        let widths = outputs.iter().map(|port| port.ty.width()).collect();
        let circuit = circuit.with_ports(inputs, outputs);
        let circuit = circuit.map_err(Diagnostic::at(span))?;
        let name = self.free_name(&wanted, widths);
        self.builder
            .component(&name, Component::new(&name, circuit));
        Ok(self.names.len() - 1)
    }

    /// Returns the preferred name of a component, its circuit, and the costs of its lines.
    fn made(&self, called: Called, span: Span) -> Lower<(String, (Circuit, Option<LineCosts>))> {
        let recorded = self.run.recorder.is_some();
        match called {
            Called::Function(id) => {
                let name = self.program.functions[id.0 as usize].name.to_string();
                let made = component::circuit(self.program, id, self.files, recorded)?;
                Ok((name, made))
            }
            Called::Tree(tree) => {
                let circuit = tree.circuit(self.program);
                let circuit = circuit.map_err(Diagnostic::at(span))?;
                let lines = recorded.then(|| LineCosts::of_caller(&circuit));
                Ok((tree.name(), (circuit, lines)))
            }
            Called::PairLoop(number) => {
                let of = &self.run.pair_loops[number as usize];
                Ok(("turn".to_owned(), (of.turn.clone(), of.lines.clone())))
            }
            Called::Network(_) => unreachable!("a network has components of its own"),
        }
    }

    /// Returns a name for the next component, whose results have these widths.
    pub(super) fn free_name(&mut self, wanted: &str, widths: Vec<usize>) -> String {
        let wanted = wanted.trim_start_matches('_').replace("::", "_");
        let wanted: String = wanted.chars().take(40).collect();
        let mut name = wanted.clone();
        let mut number = 1;
        while name.is_empty() || self.names.contains(&name) {
            number += 1;
            name = format!("{wanted}_{number}");
            if wanted.is_empty() {
                name = format!("c{number}");
            }
        }
        self.names.push(name.clone());
        self.widths.push(widths);
        name
    }
}
