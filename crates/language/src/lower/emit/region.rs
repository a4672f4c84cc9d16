//! Regions: the gates between calls, each region as one component that is called once.

use tacit_circuit::{Circuit, Component, Gate, Port, Type, Wire};

use super::super::cut::Source;
use super::super::{Error, Lower};
use super::{Emitter, Location};

/// Of a place that the region at hand does not read.
const NO_PORT: Wire = Wire::MAX;

impl Emitter<'_, '_> {
    /// For each gate whether a gate of another region, a call or a result reads it.
    pub(super) fn read_outside(&self) -> Vec<bool> {
        let mut outside = vec![false; self.traced.gates.len()];
        for (gate, &level) in self.levels.gates.iter().enumerate() {
            if !self.live.gates[gate] {
                continue;
            }
            for read in self.traced.reads(gate) {
                if let Source::Gate(read) = read
                    && self.levels.gates[read] != level
                {
                    outside[read] = true;
                }
            }
        }
        let arguments = self.shape.arguments.iter().cloned();
        let results = self.results..self.traced.outputs.len();
        for &wire in arguments
            .chain([results])
            .flat_map(|range| &self.traced.outputs[range])
        {
            if let Source::Gate(gate) = self.traced.source(wire) {
                outside[gate] = true;
            }
        }
        outside
    }

    /// The gates of a level as a component, and its one call.
    pub(super) fn region(&mut self, gates: &[u32], read_outside: &[bool]) -> Lower<()> {
        let Some(&first) = gates.first() else {
            return Ok(());
        };
        let level = self.levels.gates[first as usize];
        let mut read: Vec<usize> = Vec::new();
        self.costs.region(gates, &self.traced, self.run);
        self.ports.resize(self.size, NO_PORT);
        for &gate in gates {
            let gate = gate as usize;
            for source in self.traced.reads(gate) {
                if let Some(Location::At(at)) = self.outer_location(source, level) {
                    self.costs.read(gate, at, self.run);
                    if self.ports[at] == NO_PORT {
                        self.ports[at] = 0;
                        read.push(at);
                    }
                }
            }
        }
        read.sort_unstable();
        for (port, &at) in read.iter().enumerate() {
            self.ports[at] = port as Wire;
        }
        let circuit = self.region_circuit(gates, read.len(), read_outside);
        for &at in &read {
            self.ports[at] = NO_PORT;
        }
        let circuit = circuit?;
        let exported = circuit.output_bits();
        let start = self.size;
        self.size += exported;
        let outside = gates.iter().filter(|gate| read_outside[**gate as usize]);
        for (place, &gate) in outside.enumerate() {
            self.gates[gate as usize] = (start + place) as u32;
        }
        let component = Component::new("between", circuit);
        let number = match self.regions.get(&component.digest()) {
            Some(number) => *number,
            None => {
                let name = self.free_name("between", vec![exported]);
                let number = self.names.len() - 1;
                self.regions.insert(component.digest(), number);
                self.builder.component(&name, component);
                number
            }
        };
        let locations: Vec<Location> = read.into_iter().map(Location::At).collect();
        let argument = self.joined(&locations);
        self.steps
            .push((start, exported), Some(number), vec![argument]);
        Ok(())
    }

    /// Where a source is that is no gate of this level.
    fn outer_location(&self, source: Source, level: u32) -> Option<Location> {
        match source {
            Source::Gate(gate) if self.levels.gates[gate] == level => None,
            source => Some(self.location(source)),
        }
    }

    /// The circuit of a level's gates, whose input wires are `self.ports`.
    fn region_circuit(
        &mut self,
        gates: &[u32],
        inputs: usize,
        read_outside: &[bool],
    ) -> Lower<Circuit> {
        let level = self.levels.gates[gates[0] as usize];
        let mut outputs = Vec::new();
        let mut made = Vec::with_capacity(gates.len());
        for (number, &gate) in gates.iter().enumerate() {
            let gate = gate as usize;
            let wire = |source: Source| match (self.outer_location(source, level), source) {
                (Some(Location::At(at)), _) => self.ports[at],
                (None, Source::Gate(of)) => self.wires[of],
                _ => unreachable!("gates with constants are folded"),
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
            if read_outside[gate] {
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
        circuit.map_err(|error| Error::At(self.entry.span, error.to_string()))
    }
}
