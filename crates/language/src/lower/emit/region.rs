//! Regions: the gates between calls. Each region is one component that is called once, except for
//! its parts that are alike.

use tacit_circuit::builder::CircuitForm;
use tacit_circuit::{Circuit, Component, Gate, Port, Type, Wire};

use super::super::cut::Source;
use super::super::pieces::{Piece, push};
use super::super::{Diagnostic, Lower};
use super::{Emitter, MAX_PIECES};

impl Emitter<'_, '_> {
    /// Returns for each gate whether a gate of another region, a call or a result reads it.
    pub(super) fn read_outside(&self) -> Vec<bool> {
        let mut outside = vec![false; self.traced.gates.len()];
        for (gate, &level) in self.levels.gates.iter().enumerate() {
            if !self.live.gates[gate] {
                continue;
            }
            for wire in self.traced.reads(gate) {
                if let Source::Gate(read) = self.traced.source(wire)
                    && self.levels.gates[read] != level
                {
                    outside[read] = true;
                }
            }
        }
        let calls = &self.run.calls;
        let live = calls.list.iter().zip(&self.live.calls);
        let live = live.filter(|(_, live)| **live);
        let arguments = live.flat_map(|(call, _)| calls.arguments_of(call).flatten());
        for piece in arguments.chain(self.run.results.iter().flatten()) {
            if let Piece::Gate(literal) = piece
                && let Source::Gate(gate) = self.traced.source_of(*literal)
            {
                outside[gate] = true;
            }
        }
        outside
    }

    /// Emits the gates of a level. If layers must be few, alike parts become calls of one
    /// component. The other gates become one component that is called once.
    pub(super) fn region(&mut self, gates: &[u32], read_outside: &[bool]) -> Lower<()> {
        if self.program.form != CircuitForm::Shallow {
            let exported = gates.iter().map(|gate| read_outside[*gate as usize]);
            return self.called_once(gates, &exported.collect::<Vec<_>>());
        }
        let (parts, rest) = self.alike_parts(gates, read_outside);
        for part in parts.iter() {
            let exported = part.iter().map(|gate| self.exports(*gate, read_outside));
            let exported: Vec<bool> = exported.collect();
            self.called_once(part, &exported)?;
        }
        let exported = rest.iter().map(|gate| read_outside[*gate as usize]);
        self.called_once(&rest, &exported.collect::<Vec<_>>())
    }

    /// Assigns port numbers, from 1, to the wires that these gates of one level read from outside.
    /// Returns the places of these wires, and the wires.
    pub(super) fn number_ports(&mut self, gates: &[u32], counted: bool) -> Vec<(usize, Wire)> {
        let mut read: Vec<(usize, Wire)> = Vec::new();
        for &gate in gates {
            let gate = gate as usize;
            for wire in self.traced.reads(gate) {
                let source = self.traced.source(wire);
                if !self.is_inside(source, self.levels.gates[gate]) {
                    let place = self.place(source);
                    if counted {
                        self.costs.read(gate, place);
                    }
                    if std::mem::replace(&mut self.ports[wire as usize], 1) == 0 {
                        read.push((place, wire));
                    }
                }
            }
        }
        read.sort_unstable();
        for (port, (_, wire)) in (1..).zip(&read) {
            self.ports[*wire as usize] = port;
        }
        read
    }

    pub(super) fn forget_ports(&mut self, read: &[(usize, Wire)]) {
        for (_, wire) in read {
            self.ports[*wire as usize] = 0;
        }
    }

    /// Makes a component of gates of one level, and calls it once. `exported` marks the gates whose
    /// values are read elsewhere.
    fn called_once(&mut self, gates: &[u32], exported: &[bool]) -> Lower<()> {
        if gates.is_empty() {
            return Ok(());
        }
        self.costs.region(gates, &self.traced);
        let read = self.number_ports(gates, true);
        let circuit = self.region_circuit(gates, read.len(), exported);
        self.forget_ports(&read);
        let circuit = circuit?;
        let results = circuit.output_bits();
        let start = self.size;
        self.size += results;
        let outside = gates
            .iter()
            .zip(exported)
            .filter(|(_, exported)| **exported);
        for (place, (&gate, _)) in outside.enumerate() {
            self.gates[gate as usize] = (start + place) as u32;
        }
        let component = Component::new("between", circuit);
        let number = match self.regions.get(&component.digest()) {
            Some(number) => *number,
            None => {
                let name = self.free_name("between", vec![results]);
                let number = self.names.len() - 1;
                self.regions.insert(component.digest(), number);
                self.builder.component(&name, component);
                number
            }
        };
        let mut argument = Vec::new();
        for (place, _) in read {
            push(&mut argument, Piece::Wires(place, 1));
        }
        let argument = self.joined(&argument, MAX_PIECES);
        self.steps
            .push((start, results), Some(number), vec![argument]);
        Ok(())
    }

    /// Whether a source is a gate of this level.
    pub(super) fn is_inside(&self, source: Source, level: u32) -> bool {
        matches!(source, Source::Gate(gate) if self.levels.gates[gate] == level)
    }

    /// Returns the circuit of a level's gates, whose input wires are `self.ports`.
    fn region_circuit(
        &mut self,
        gates: &[u32],
        inputs: usize,
        exported: &[bool],
    ) -> Lower<Circuit> {
        let mut outputs = Vec::new();
        let mut made = Vec::with_capacity(gates.len());
        for (number, (&gate, exported)) in gates.iter().zip(exported).enumerate() {
            let gate = gate as usize;
            let wire = |wire: Wire| match (self.ports[wire as usize], self.traced.source(wire)) {
                (0, Source::Gate(of)) => self.wires[of],
                (port, _) => port - 1,
            };
            let mut reads = self.traced.reads(gate).map(wire);
            let a = reads.next().unwrap_or_default();
            made.push(match (self.traced.gates[gate], reads.next()) {
                (Gate::Xor(..), Some(b)) => Gate::Xor(a, b),
                (Gate::And(..), Some(b)) => Gate::And(a, b),
                _ => Gate::Inv(a),
            });
            let wire = (inputs + number) as Wire;
            self.wires[gate] = wire;
            if *exported {
                outputs.push(wire);
            }
        }
        let ports = |name: &str, width| vec![Port::new(name, Type::bits(width))];
        let circuit = Circuit::new(
            ports("in", inputs),
            ports("out", outputs.len()),
            made,
            outputs,
        );
        circuit.map_err(Diagnostic::at(self.entry.span))
    }
}
