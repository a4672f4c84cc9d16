//! The function of a run: its ports, its components, and the steps that move wires between them.
//!
//! All wires that calls read and give stand in one value, each at a place of its own.

mod text;

use std::collections::{BTreeMap, HashMap};

use tacit_circuit::{
    Circuit, Component, Digest, FunctionBuilder, FunctionError, Gate, Port, Recipient, Role, Type,
    Wire,
};

use super::cut::{Levels, Shape, Source, Traced, levels};
use super::run::{Origin, Run, port_type, shape, trace};
use super::trace::Call;
use super::{CircuitFiles, Error, Lower, Lowered, component};
use crate::program::{Body, Entry, EntryId, FunctionId, Program};
use crate::source::Span;

/// The function of a run.
pub(super) fn function(
    program: &Program,
    name: &str,
    id: EntryId,
    files: &dyn CircuitFiles,
) -> Lower<Lowered> {
    let entry = &program.entries[id.0 as usize];
    let random = match program.draws_random {
        true => trace(program, entry, files, 0)?.drawn,
        false => 0,
    };
    let run = trace(program, entry, files, random)?;
    Emitter::new(program, entry, &run, files)?.emit(name)
}

/// A part of the function's one large value, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    At(usize),
    Constant(bool),
}

struct Emitter<'r, 'p> {
    program: &'p Program,
    entry: &'p Entry,
    run: &'r Run,
    files: &'p dyn CircuitFiles,
    traced: Traced<'r>,
    shape: Shape,
    levels: Levels,
    builder: FunctionBuilder,
    /// The name of the value that holds all wires.
    value: String,
    /// Places of the value that are taken.
    size: usize,
    /// Where the input wires are.
    inputs: Vec<usize>,
    /// Where the gates are that something outside their region reads.
    gates: Vec<Option<usize>>,
    components: HashMap<FunctionId, String>,
    regions: HashMap<Digest, String>,
    names: Vec<String>,
}

impl<'r, 'p> Emitter<'r, 'p> {
    fn new(
        program: &'p Program,
        entry: &'p Entry,
        run: &'r Run,
        files: &'p dyn CircuitFiles,
    ) -> Lower<Self> {
        let traced = Traced::new(&run.circuit);
        let shape = shape(run);
        let levels = levels(&traced, &shape);
        let mut value = "wires".to_owned();
        let taken = |value: &str| run.given.iter().any(|given| given.name == value);
        while taken(&value) {
            value.push('_');
        }
        Ok(Self {
            program,
            entry,
            run,
            files,
            shape,
            levels,
            builder: FunctionBuilder::new(entry.name.as_str()),
            value,
            size: run.circuit.input_bits(),
            inputs: (0..run.circuit.input_bits()).collect(),
            gates: vec![None; traced.gates.len()],
            traced,
            components: HashMap::new(),
            regions: HashMap::new(),
            names: Vec::new(),
        })
    }

    fn failed(&self, span: Span, error: &FunctionError) -> Error {
        Error::At(span, error.to_string())
    }

    fn emit(mut self, name: &str) -> Lower<Lowered> {
        self.builder = FunctionBuilder::new(name);
        let used = self.used_inputs();
        self.give(&used);
        let last = self.levels.calls.iter().copied().max().unwrap_or(0);
        let mut gates: Vec<Vec<usize>> = vec![Vec::new(); last as usize + 1];
        for (gate, &level) in self.levels.gates.iter().enumerate() {
            if self.traced.source((self.traced.inputs + gate) as Wire) == Source::Gate(gate) {
                gates[level as usize].push(gate);
            }
        }
        let mut calls: Vec<Vec<usize>> = vec![Vec::new(); last as usize + 1];
        for (call, &level) in self.levels.calls.iter().enumerate() {
            calls[level as usize].push(call);
        }
        let read_outside = self.read_outside();
        for level in 0..=last as usize {
            for &call in &calls[level] {
                self.call(call)?;
            }
            self.region(&gates[level], &read_outside)?;
        }
        self.outputs();
        let wires = format!("bits[{}]", self.size);
        self.builder.value(&self.value, &wires);
        let family = self.builder.finish();
        let family = family.map_err(|error| self.failed(self.entry.span, &error))?;
        let function = family
            .instantiate(&BTreeMap::new())
            .map_err(|error| self.failed(self.entry.span, &error))?;
        let random = self.run.given.iter();
        let random = random.filter(|given| matches!(given.from, Origin::Random(_)));
        Ok(Lowered {
            function,
            random: random.map(|given| given.name.clone()).collect(),
        })
    }

    /// Which input wires something reads.
    fn used_inputs(&self) -> Vec<bool> {
        let mut used = vec![false; self.traced.inputs];
        let mut note = |source: Source| {
            if let Source::Input(wire) = source {
                used[wire] = true;
            }
        };
        (0..self.traced.gates.len()).for_each(|gate| self.traced.reads(gate).for_each(&mut note));
        let outputs = self.traced.outputs.iter();
        outputs.for_each(|wire| note(self.traced.source(*wire)));
        used
    }

    /// Declares inputs and copies them to their places. A state that nothing reads is not loaded.
    fn give(&mut self, used: &[bool]) {
        let mut start = 0;
        for given in &self.run.given {
            let end = start + given.width;
            match given.from {
                Origin::Party(owner) | Origin::Random(owner) => {
                    self.builder.input(&given.name, &given.ty, self.role(owner));
                }
                Origin::State if used[start..end].contains(&true) => {
                    self.builder.load(&given.name, &given.ty);
                }
                Origin::State => {
                    start = end;
                    continue;
                }
            }
            if used[start..end].contains(&true) {
                let step = format!("{}[{start}..{end}]={}", self.value, given.name);
                self.builder.step(&step);
            }
            start = end;
        }
    }

    fn role(&self, party: usize) -> Role {
        match party == self.program.garbler {
            true => Role::Garbler,
            false => Role::Evaluator,
        }
    }

    /// For each gate whether a gate of another region, a call or a result reads it.
    fn read_outside(&self) -> Vec<bool> {
        let mut outside = vec![false; self.traced.gates.len()];
        for (gate, &level) in self.levels.gates.iter().enumerate() {
            for read in self.traced.reads(gate) {
                if let Source::Gate(read) = read
                    && self.levels.gates[read] != level
                {
                    outside[read] = true;
                }
            }
        }
        for &wire in self.traced.outputs {
            if let Source::Gate(gate) = self.traced.source(wire) {
                outside[gate] = true;
            }
        }
        outside
    }

    fn location(&self, source: Source) -> Location {
        match source {
            Source::Constant(bit) => Location::Constant(bit),
            Source::Input(wire) => Location::At(self.inputs[wire]),
            Source::Gate(gate) => {
                Location::At(self.gates[gate].expect("a region comes before what reads it"))
            }
        }
    }

    fn call(&mut self, number: usize) -> Lower<()> {
        let Call { function, span } = self.run.calls[number].clone();
        let name = self.component(function, span)?;
        let ports = self.arguments_of(function);
        // The ports of a circuit from elsewhere may mean numbers; those of others are bits.
        let body = &self.program.functions[function.0 as usize].body;
        let is_external = !matches!(body, Body::Block(_));
        let mut start = self.shape.arguments[number].start;
        let mut arguments = Vec::with_capacity(ports.len());
        for width in ports {
            let wires = &self.traced.outputs[start..start + width];
            start += width;
            let locations: Vec<Location> = wires
                .iter()
                .map(|wire| self.location(self.traced.source(*wire)))
                .collect();
            arguments.push(match is_external {
                true => self.in_a_row(&locations),
                false => self.joined(&locations),
            });
        }
        let result = self.shape.results[number].clone();
        let step = format!(
            "{}[{}..{}]={name}({})",
            self.value,
            result.start,
            result.end,
            arguments.join(",")
        );
        self.builder.step(&step);
        Ok(())
    }

    /// The widths of a component's ports.
    fn arguments_of(&self, function: FunctionId) -> Vec<usize> {
        let function = &self.program.functions[function.0 as usize];
        let widths = function.parameters.iter().map(|local| {
            let ty = function.locals[local.0 as usize].ty;
            self.program.types.width(ty) as usize
        });
        widths.filter(|width| *width > 0).collect()
    }

    /// The name of a component, which is made when it is first called.
    fn component(&mut self, id: FunctionId, span: Span) -> Lower<String> {
        if let Some(name) = self.components.get(&id) {
            return Ok(name.clone());
        }
        let circuit = component::circuit(self.program, id, self.files)?;
        let outputs = vec![Port::new("result", Type::bits(circuit.output_bits()))];
        let inputs = circuit.inputs().to_vec();
        let circuit = circuit.with_ports(inputs, outputs);
        let circuit = circuit.map_err(|error| Error::At(span, error.to_string()))?;
        let wanted = self.program.functions[id.0 as usize].name.to_string();
        let name = self.free_name(&wanted);
        self.builder
            .component(&name, Component::new(&name, circuit));
        self.components.insert(id, name.clone());
        Ok(name)
    }

    fn free_name(&mut self, wanted: &str) -> String {
        let wanted = wanted.trim_start_matches('_');
        let wanted: String = wanted.chars().take(40).collect();
        let is_free = |name: &String, names: &[String]| {
            !name.is_empty()
                && !["bits", "min", "max"].contains(&name.as_str())
                && !names.contains(name)
        };
        let mut name = wanted.clone();
        let mut number = 1;
        while !is_free(&name, &self.names) {
            number += 1;
            name = format!("{wanted}_{number}");
            if wanted.is_empty() {
                name = format!("c{number}");
            }
        }
        self.names.push(name.clone());
        name
    }

    /// The gates of a region as a component, and its one call.
    fn region(&mut self, gates: &[usize], read_outside: &[bool]) -> Lower<()> {
        if gates.is_empty() {
            return Ok(());
        }
        let mut inside: HashMap<usize, Wire> = HashMap::with_capacity(gates.len());
        let mut read: Vec<usize> = Vec::new();
        for &gate in gates {
            for source in self.traced.reads(gate) {
                let is_inside = matches!(source, Source::Gate(g) if inside.contains_key(&g));
                if let (false, Location::At(at)) = (is_inside, self.outer_location(source, &inside))
                {
                    read.push(at);
                }
            }
            inside.insert(gate, 0);
        }
        read.sort_unstable();
        read.dedup();
        let circuit = self.region_circuit(gates, &read, read_outside, &mut inside)?;
        let exported = circuit.output_bits();
        let start = self.size;
        self.size += exported;
        let outside = gates.iter().filter(|gate| read_outside[**gate]);
        for (place, &gate) in outside.enumerate() {
            self.gates[gate] = Some(start + place);
        }
        let component = Component::new("between", circuit);
        let name = match self.regions.get(&component.digest()) {
            Some(name) => name.clone(),
            None => {
                let name = self.free_name("between");
                self.regions.insert(component.digest(), name.clone());
                self.builder.component(&name, component);
                name
            }
        };
        let locations: Vec<Location> = read.into_iter().map(Location::At).collect();
        let argument = self.joined(&locations);
        let end = start + exported;
        let step = format!("{}[{start}..{end}]={name}({argument})", self.value);
        self.builder.step(&step);
        Ok(())
    }

    fn outer_location(&self, source: Source, inside: &HashMap<usize, Wire>) -> Location {
        match source {
            Source::Gate(gate) if inside.contains_key(&gate) => Location::Constant(false),
            source => self.location(source),
        }
    }

    fn region_circuit(
        &self,
        gates: &[usize],
        read: &[usize],
        read_outside: &[bool],
        inside: &mut HashMap<usize, Wire>,
    ) -> Lower<Circuit> {
        let place_of: HashMap<usize, Wire> = read
            .iter()
            .enumerate()
            .map(|(wire, at)| (*at, wire as Wire))
            .collect();
        let mut outputs = Vec::new();
        let mut made = Vec::with_capacity(gates.len());
        for (number, &gate) in gates.iter().enumerate() {
            let wire = |source: Source| match source {
                Source::Gate(of) if inside.get(&of).is_some_and(|wire| *wire > 0) => inside[&of],
                source => match self.location(source) {
                    Location::At(at) => place_of[&at],
                    Location::Constant(_) => unreachable!("gates with constants are folded"),
                },
            };
            let reads: Vec<Wire> = self.traced.reads(gate).map(wire).collect();
            made.push(match (self.traced.gates[gate], &reads[..]) {
                (Gate::Xor(..), &[a, b]) => Gate::Xor(a, b),
                (Gate::And(..), &[a, b]) => Gate::And(a, b),
                (_, reads) => Gate::Inv(reads[0]),
            });
            let wire = (read.len() + number) as Wire;
            inside.insert(gate, wire);
            if read_outside[gate] {
                outputs.push(wire);
            }
        }
        let ports = |name: &str, width| vec![Port::new(name, Type::bits(width))];
        let circuit = Circuit::new(
            ports("in", read.len()),
            ports("out", outputs.len()),
            made,
            outputs,
        );
        circuit.map_err(|error| Error::At(self.entry.span, error.to_string()))
    }

    fn outputs(&mut self) {
        let calls = self.shape.arguments.last().map_or(0, |range| range.end);
        let mut start = calls;
        let program = self.program;
        let results = self.entry.outputs.iter().map(|output| {
            let to = match output.to {
                None => Recipient::Both,
                Some(party) if party == program.garbler => Recipient::Garbler,
                Some(_) => Recipient::Evaluator,
            };
            (output.name.to_string(), output.ty, Some(to))
        });
        let saved = self.run.saved.iter().map(|state| {
            let state = &program.states[*state];
            (state.name.to_string(), state.ty, None)
        });
        let all: Vec<_> = results.chain(saved).collect();
        for (name, ty, to) in all {
            let end = start + program.types.width(ty) as usize;
            let wires = &self.traced.outputs[start..end];
            start = end;
            let locations: Vec<Location> = wires
                .iter()
                .map(|wire| self.location(self.traced.source(*wire)))
                .collect();
            let value = self.in_a_row(&locations);
            let ty = port_type(program, ty);
            match to {
                Some(to) => self.builder.output(&name, &ty, to, &value),
                None => self.builder.save(&name, &ty, &value),
            };
        }
    }
}
