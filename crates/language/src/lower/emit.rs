//! The function of a run: its ports, its components, and the steps that move wires between them.
//!
//! All wires that calls read and give stand in one value, each at a place of its own.

mod costs;
mod region;
mod roll;
mod text;

use std::collections::HashMap;

use costs::Costs;
use roll::Steps;
use tacit_circuit::{Component, Digest, Port, Wire};
use tacit_function::{FunctionBuilder, Recipient, Role};

use super::cut::{Levels, Live, Shape, Source, Traced, levels};
use super::lines::LineCosts;
use super::run::{Origin, Run, port_type, shape, trace};
use super::trace::Call;
use super::{CircuitFiles, Error, Lower, Lowered, Progress, Watch, component, size};
use crate::program::{Body, Entry, EntryId, FunctionId, Program};
use crate::source::Span;

/// Most gates of all components that a run calls together: they are in memory at once, and take
/// up to 24 bytes each once they are compiled.
const MAX_GATES_TOGETHER: usize = 1 << 26;

/// The function of a run.
pub(super) fn function(
    program: &Program,
    name: &str,
    id: EntryId,
    (files, watch): (&dyn CircuitFiles, Watch<'_>),
    recorded: bool,
) -> Lower<(Lowered, LineCosts)> {
    let entry = &program.entries[id.0 as usize];
    let steps = size::check(program, entry)?;
    // The traces, and then about as long what becomes of them.
    let traces = if program.draws_random { 2 } else { 1 };
    let total = (traces + 1) * steps;
    let tell = |done| watch(Progress { done, total });
    let random = match program.draws_random {
        true => trace(program, entry, (files, &tell), 0, false)?.drawn,
        false => 0,
    };
    let second = |done| tell(steps + done);
    let told: &dyn Fn(u64) = if traces == 2 { &second } else { &tell };
    let run = trace(program, entry, (files, told), random, recorded)?;
    let emitted = |level: u64, levels: u64| tell(traces * steps + steps * level / levels);
    Emitter::new(program, entry, &run, files)?.emit(name, &emitted)
}

/// The place of a gate that nothing outside its region reads.
const NO_PLACE: u32 = u32::MAX;

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
    /// The first of the outputs that are the run's.
    results: usize,
    live: Live,
    levels: Levels,
    builder: FunctionBuilder,
    steps: Steps,
    /// The name of the value that holds all wires.
    value: String,
    /// Places of the value that are taken.
    size: usize,
    /// Where the gates are that something outside their region reads; [`NO_PLACE`] of others.
    gates: Vec<u32>,
    /// The wire of each gate in its region, once that is made.
    wires: Vec<Wire>,
    /// The input wire of the region at hand for each place that it reads.
    ports: Vec<Wire>,
    components: HashMap<FunctionId, usize>,
    /// The gates of these together.
    component_gates: usize,
    regions: HashMap<Digest, usize>,
    /// The names of the function's components, by number.
    names: Vec<String>,
    /// The widths of their results.
    widths: Vec<Vec<usize>>,
    costs: Costs,
}

impl<'r, 'p> Emitter<'r, 'p> {
    fn new(
        program: &'p Program,
        entry: &'p Entry,
        run: &'r Run,
        files: &'p dyn CircuitFiles,
    ) -> Lower<Self> {
        let mut shape = shape(run);
        let traced = Traced::new(&run.circuit, &shape);
        let results = shape.arguments.last().map_or(0, |range| range.end);
        let live = Live::new(&traced, &shape, results);
        // What nobody needs does not wait for anything.
        for (arguments, live) in shape.arguments.iter_mut().zip(&live.calls) {
            if !live {
                arguments.end = arguments.start;
            }
        }
        let levels = levels(&traced, &shape);
        let value = unused(run, "wires", |name, taken| taken == name);
        Ok(Self {
            program,
            entry,
            run,
            files,
            shape,
            results,
            live,
            levels,
            builder: FunctionBuilder::new(entry.name.as_str()),
            steps: Steps::default(),
            value,
            size: run.circuit.input_bits(),
            gates: vec![NO_PLACE; traced.gates.len()],
            wires: vec![0; traced.gates.len()],
            ports: Vec::new(),
            traced,
            components: HashMap::new(),
            component_gates: 0,
            regions: HashMap::new(),
            names: Vec::new(),
            widths: Vec::new(),
            costs: Costs::default(),
        })
    }

    /// `tell` hears how many of the levels are done.
    fn emit(mut self, name: &str, tell: &dyn Fn(u64, u64)) -> Lower<(Lowered, LineCosts)> {
        self.builder = FunctionBuilder::new(name);
        let used = self.used_inputs();
        self.give(&used);
        let last = self.levels.calls.iter().copied().max().unwrap_or(0);
        let gates = ByLevel::new(last, &self.levels.gates, |gate| {
            let wire = (self.traced.inputs + gate) as Wire;
            self.live.gates[gate] && self.traced.source(wire) == Source::Gate(gate)
        });
        let calls = ByLevel::new(last, &self.levels.calls, |call| self.live.calls[call]);
        let read_outside = self.read_outside();
        for level in 0..=last as usize {
            if level.is_multiple_of(last as usize / 64 + 1) {
                tell(level as u64, u64::from(last) + 1);
            }
            for &call in calls.at(level) {
                self.call(call as usize)?;
            }
            self.region(gates.at(level), &read_outside)?;
        }
        let outputs = self.outputs();
        let steps = std::mem::take(&mut self.steps);
        let counter = unused(self.run, "k", |name, taken| taken.starts_with(name));
        let components = (&self.names[..], &self.widths[..]);
        steps.give(&mut self.builder, components, &self.value, &counter);
        self.give_outputs(outputs);
        let wires = format!("bits[{}]", self.size);
        self.builder.value(&self.value, &wires);
        let function = self.builder.finish();
        let function = function.map_err(|error| Error::At(self.entry.span, error.to_string()))?;
        let random = self.run.given.iter();
        let random = random.filter(|given| matches!(given.from, Origin::Random(_)));
        let lowered = Lowered {
            function,
            random: random.map(|given| given.name.clone()).collect(),
        };
        let lines = self.costs.lines(self.program, self.run);
        Ok((lowered, lines))
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

    /// Declares inputs and copies them to their places. A state that the run neither reads nor
    /// changes is not loaded. One that it sets without reading it is: what a chain keeps is
    /// replaced by the next run as the program says, and by no `start`.
    fn give(&mut self, used: &[bool]) {
        let mut start = 0;
        let saved = self.run.saved.iter();
        let saved: Vec<&str> = saved
            .map(|state| self.program.states[*state].name.as_str())
            .collect();
        for given in &self.run.given {
            let end = start + given.width;
            match given.from {
                Origin::Party(owner) | Origin::Random(owner) => {
                    self.builder.input(&given.name, &given.ty, self.role(owner));
                }
                Origin::State
                    if used[start..end].contains(&true) || saved.contains(&given.name.as_str()) =>
                {
                    self.builder.load(&given.name, &given.ty);
                }
                Origin::State | Origin::Nobody => {
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

    fn location(&self, source: Source) -> Location {
        match source {
            Source::Constant(bit) => Location::Constant(bit),
            // The value begins with them.
            Source::Input(wire) => Location::At(wire),
            Source::Gate(gate) => {
                let place = self.gates[gate];
                assert_ne!(place, NO_PLACE, "a region comes before what reads it");
                Location::At(place as usize)
            }
        }
    }

    fn call(&mut self, number: usize) -> Lower<()> {
        let Call {
            function,
            span,
            site,
        } = self.run.calls[number];
        let component = self.component(function, span)?;
        let ports = self.arguments_of(function);
        if self.run.recorded.is_some() {
            self.costs.call(site, function, ports.iter().sum());
        }
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
        let result = &self.shape.results[number];
        let target = (result.start, result.len());
        self.steps.push(target, Some(component), arguments);
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

    /// The number of a component, which is made when it is first called.
    fn component(&mut self, id: FunctionId, span: Span) -> Lower<usize> {
        if let Some(number) = self.components.get(&id) {
            return Ok(*number);
        }
        let recorded = self.run.recorded.is_some();
        let (circuit, lines) = component::circuit(self.program, id, self.files, recorded)?;
        self.component_gates += circuit.gate_count();
        if self.component_gates > MAX_GATES_TOGETHER {
            let message = "with this call the components of this run have more than 2^26 gates \
                           together: call one component more often in place of several that \
                           differ, or compute it in several runs";
            return Err(Error::At(span, message.to_owned()));
        }
        if let Some(lines) = lines {
            self.costs.component(id, lines);
        }
        // What the ports of a circuit promise, a program sees to. Else it stays itself, since other
        // functions may have it in stock.
        let inputs = circuit.inputs().iter();
        let inputs = inputs.map(|port| Port::new(&port.name, port.ty.clone()));
        let (inputs, outputs) = (inputs.collect(), circuit.outputs().to_vec());
        let widths = outputs.iter().map(|port| port.ty.width()).collect();
        let circuit = circuit.with_ports(inputs, outputs);
        let circuit = circuit.map_err(|error| Error::At(span, error.to_string()))?;
        let wanted = self.program.functions[id.0 as usize].name.to_string();
        let name = self.free_name(&wanted, widths);
        self.builder
            .component(&name, Component::new(&name, circuit));
        let number = self.names.len() - 1;
        self.components.insert(id, number);
        Ok(number)
    }

    /// A name for the next component, whose results have these widths.
    fn free_name(&mut self, wanted: &str, widths: Vec<usize>) -> String {
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

    /// What the outputs and saved values are, as text.
    fn outputs(&mut self) -> Vec<Output> {
        let mut start = self.results;
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
        let mut outputs = Vec::with_capacity(all.len());
        for (name, ty, to) in all {
            let end = start + program.types.width(ty) as usize;
            let wires = &self.traced.outputs[start..end];
            start = end;
            let locations: Vec<Location> = wires
                .iter()
                .map(|wire| self.location(self.traced.source(*wire)))
                .collect();
            let pieces = self.in_a_row(&locations);
            outputs.push(Output {
                name,
                ty: port_type(program, ty),
                to,
                value: self.text(&pieces),
            });
        }
        outputs
    }

    fn give_outputs(&mut self, outputs: Vec<Output>) {
        for Output {
            name,
            ty,
            to,
            value,
        } in outputs
        {
            match to {
                Some(to) => self.builder.output(&name, &ty, to, &value),
                None => self.builder.save(&name, &ty, &value),
            };
        }
    }
}

/// Gates or calls, those of each level in their order.
struct ByLevel {
    numbers: Vec<u32>,
    /// Where each level begins among `numbers`, and behind them where the last one ends.
    starts: Vec<usize>,
}

impl ByLevel {
    /// Those that are `kept`, of which `levels` has the levels up to `last`.
    fn new(last: u32, levels: &[u32], kept: impl Fn(usize) -> bool) -> Self {
        let kept = || (0..levels.len()).filter(|number| kept(*number));
        let mut starts = vec![0; last as usize + 2];
        kept().for_each(|number| starts[levels[number] as usize + 1] += 1);
        for level in 0..=last as usize {
            starts[level + 1] += starts[level];
        }
        let mut next = starts.clone();
        let mut numbers = vec![0; starts[last as usize + 1]];
        for number in kept() {
            let place = &mut next[levels[number] as usize];
            numbers[*place] = number as u32;
            *place += 1;
        }
        Self { numbers, starts }
    }

    fn at(&self, level: usize) -> &[u32] {
        &self.numbers[self.starts[level]..self.starts[level + 1]]
    }
}

/// An output, or where it goes to nobody a saved value.
struct Output {
    name: String,
    ty: String,
    to: Option<Recipient>,
    value: String,
}

/// A name that no input has, of which `clashes` says when another one is in its way.
fn unused(run: &Run, wanted: &str, clashes: impl Fn(&str, &str) -> bool) -> String {
    let mut name = wanted.to_owned();
    while run.given.iter().any(|given| clashes(&name, &given.name)) {
        name.push('_');
    }
    name
}
