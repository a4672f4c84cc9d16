//! The function of a run: its ports, its components, and the steps that move wires between them.
//!
//! One value holds all wires that calls read and return, each at a separate place.

mod by_level;
mod components;
mod costs;
mod network;
mod pairs;
mod parts;
mod region;
mod roll;

use std::collections::HashMap;

use by_level::ByLevel;
use costs::Costs;
use pairs::Elements;
pub(super) use roll::{RolledSteps, Steps};
use tacit_circuit::builder::CircuitForm;
use tacit_circuit::{Digest, Wire};
use tacit_function::{FunctionBuilder, Part, Recipient};

use super::adding::with_additions;
use super::chains::chains;
use super::cut::{Levels, Live, Source, Traced, levels};
use super::lines::LineCosts;
use super::network::NetworkComponent;
use super::pieces::{Piece, operand, push};
use super::run::{InputOrigin, Run, TraceOptions, port_type, trace};
use super::trace::Called;
use super::{CircuitFiles, Diagnostic, Lower, Lowered, Progress, Watch, size};
use crate::program::{Body, Entry, EntryId, FunctionId, Program};

/// Makes the function of a run.
pub(super) fn function(
    program: &Program,
    name: &str,
    id: EntryId,
    (files, watch): (&dyn CircuitFiles, Watch<'_>),
    recorded: bool,
) -> Lower<(Lowered, LineCosts)> {
    let adding = (program.form == CircuitForm::Shallow).then(|| with_additions(program));
    // Additions of many parts may take more steps than one call that adds them all.
    let fits = |adding: &&Program| size::check(adding, &adding.entries[id.0 as usize]).is_ok();
    let program = adding.as_ref().filter(fits).unwrap_or(program);
    let entry = &program.entries[id.0 as usize];
    let size::Checked {
        steps,
        keeps_networks,
        cuts,
    } = size::check(program, entry)?;
    let options = TraceOptions {
        is_recorded: recorded,
        keeps_networks,
        cuts,
    };
    let uncounted = TraceOptions {
        is_recorded: false,
        ..options
    };
    // The traces, and then about as much time for emitting.
    let traces = if program.draws_random { 2 } else { 1 };
    let total = (traces + 1) * steps;
    let tell = |done| watch(Progress { done, total });
    let random = if program.draws_random {
        trace(program, entry, (files, &tell), 0, uncounted)?.drawn
    } else {
        0
    };
    let second = |done| tell(steps + done);
    let told: &dyn Fn(u64) = if traces == 2 { &second } else { &tell };
    let run = trace(program, entry, (files, told), random, options)?;
    let emitted = |level: u64, levels: u64| tell(traces * steps + steps * level / levels);
    Emitter::new(program, entry, &run, files).emit(name, &emitted)
}

/// The place of a gate that nothing outside its region reads.
const NO_PLACE: u32 = u32::MAX;

/// The greatest number of pieces that a step puts together.
const MAX_PIECES: usize = 40;

struct Emitter<'r, 'p> {
    program: &'p Program,
    entry: &'p Entry,
    run: &'r Run,
    files: &'p dyn CircuitFiles,
    traced: Traced<'r>,
    live: Live,
    levels: Levels,
    builder: FunctionBuilder,
    steps: Steps,
    /// The name of the value that holds all wires.
    value: String,
    /// The number of places of the value that are taken.
    size: usize,
    /// The places of the gates that are read outside of their region. Other gates have
    /// [`NO_PLACE`].
    gates: Vec<u32>,
    /// The wire of each gate in its region, once the region is made.
    wires: Vec<Wire>,
    /// The port number, from 1, of each wire that the current region reads from outside.
    ports: Vec<Wire>,
    components: HashMap<Called, usize>,
    /// The components whose results are cut into parts.
    cut_components: HashMap<NetworkComponent, usize>,
    /// The layers of each component, if costs are recorded.
    depths: HashMap<Called, u32>,
    /// The most layers of a component that a network calls, if costs are recorded.
    network_depth: u32,
    /// The total number of gates of the components.
    component_gates: usize,
    regions: HashMap<Digest, usize>,
    /// The names of the function's components, by number.
    names: Vec<String>,
    /// The widths of the components' results.
    widths: Vec<Vec<usize>>,
    costs: Costs,
    /// The names of other values, and of the values that a join provides.
    values: Vec<String>,
    /// The values that hold the pairs of a join, one for each span. The next field is the number of
    /// bits of a pair.
    pairs: Vec<Elements>,
    pair_bits: usize,
}

impl<'r, 'p> Emitter<'r, 'p> {
    fn new(
        program: &'p Program,
        entry: &'p Entry,
        run: &'r Run,
        files: &'p dyn CircuitFiles,
    ) -> Self {
        let traced = Traced::new(run);
        let live = Live::new(&traced);
        let levels = levels(&traced, &live);
        let costs = Costs::new(&traced, run);
        let value = unused(run, "wires", |name, taken| taken == name);
        Self {
            program,
            entry,
            run,
            files,
            live,
            levels,
            builder: FunctionBuilder::new(entry.name.as_str()),
            steps: Steps::default(),
            value,
            size: run.places(),
            gates: vec![NO_PLACE; traced.gates.len()],
            wires: vec![0; traced.gates.len()],
            ports: vec![0; traced.wire_count()],
            traced,
            values: Vec::new(),
            pairs: Vec::new(),
            pair_bits: 0,
            components: HashMap::new(),
            cut_components: HashMap::new(),
            depths: HashMap::new(),
            network_depth: 0,
            component_gates: 0,
            regions: HashMap::new(),
            names: Vec::new(),
            widths: Vec::new(),
            costs,
        }
    }

    /// Emits the function. `tell` gets the number of completed levels and of all levels.
    fn emit(mut self, name: &str, tell: &dyn Fn(u64, u64)) -> Lower<(Lowered, LineCosts)> {
        self.builder = FunctionBuilder::new(name);
        let join = self.test_bins()?;
        self.give(&self.used_inputs());
        let last = self.levels.calls.iter().copied().max().unwrap_or(0);
        let gates = ByLevel::new(last, &self.levels.gates, |gate| self.live.gates[gate]);
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
            size::check_elements(self.entry.span, self.size as u64, self.steps.divisor())?;
        }
        self.outputs()?;
        let steps = std::mem::take(&mut self.steps);
        let counter = unused(self.run, "k", |name, taken| taken.starts_with(name));
        let components = (&self.names[..], &self.widths[..]);
        steps.give(&mut self.builder, components, &self.value, &counter);
        let wires = format!("bits[{}]", self.size);
        self.builder.value(&self.value, &wires);
        let function = self.builder.finish();
        let function = function.map_err(Diagnostic::at(self.entry.span))?;
        let random = self.run.given.iter();
        let random = random.filter(|given| matches!(given.from, InputOrigin::Random(_)));
        let lowered = Lowered {
            function,
            random: random.map(|given| given.name.clone()).collect(),
            join,
        };
        let mut lines = self.costs.lines(self.run);
        if let Some(recorder) = &self.run.recorder {
            let depth = |call: usize| {
                let called = self.run.calls.list[call].called;
                if let Called::Network(number) = called {
                    let depth = self.run.networks[number as usize].depth;
                    return depth.saturating_mul(self.network_depth);
                }
                self.depths.get(&called).copied().unwrap_or(0)
            };
            lines.chains = chains(&self.traced, &recorder.loops, depth);
            lines.chains.extend(self.network_chains());
            lines
                .chains
                .sort_by_key(|one| (std::cmp::Reverse(one.layers), one.span));
        }
        Ok((lowered, lines))
    }

    /// Returns for each place of the run's inputs whether anything reads it.
    fn used_inputs(&self) -> Vec<bool> {
        let given = self.run.given.iter().map(|given| given.width).sum();
        let mut used = vec![false; given];
        let mut note = |start: usize, width: usize| {
            let end = (start + width).min(given);
            used[start.min(end)..end].fill(true);
        };
        for gate in 0..self.traced.gates.len() {
            for wire in self.traced.reads(gate) {
                if let Source::Input(input) = self.traced.source(wire) {
                    note(self.traced.place(input), 1);
                }
            }
        }
        let arguments = self.run.calls.arguments.all().iter();
        for piece in arguments.chain(self.run.results.iter().flatten()) {
            match *piece {
                Piece::Wires(start, width) => note(start, width),
                // A constant counts as a read of the first input. Digests cover the inputs that are
                // moved, so this cannot change.
                Piece::Constant(..) => note(0, 1),
                Piece::Gate(literal) => {
                    if let Source::Input(input) = self.traced.source_of(literal) {
                        note(self.traced.place(input), 1);
                    }
                }
            }
        }
        used
    }

    /// Declares inputs and copies them to their places. A state that the run neither reads nor
    /// changes is not loaded. A state that it sets without reading is loaded, so that no party
    /// takes the run for a `start`, which discards the values that a chain keeps.
    fn give(&mut self, used: &[bool]) {
        let mut start = 0;
        let saved = self.run.saved.iter();
        let saved: Vec<&str> = saved
            .map(|state| self.program.states[*state].name.as_str())
            .collect();
        for given in &self.run.given {
            let end = start + given.width;
            match given.from {
                InputOrigin::Party(owner) | InputOrigin::Random(owner) => {
                    let owner = self.program.role(owner);
                    self.builder.input(&given.name, &given.ty, owner);
                }
                InputOrigin::State
                    if used[start..end].contains(&true) || saved.contains(&given.name.as_str()) =>
                {
                    self.builder.load(&given.name, &given.ty);
                }
                InputOrigin::State | InputOrigin::Nobody => {
                    start = end;
                    continue;
                }
            }
            if used[start..end].contains(&true) {
                let wires = self.wires(start, end - start);
                self.builder.assign(wires, &*given.name);
            }
            start = end;
        }
    }

    fn wires(&self, start: usize, width: usize) -> Part {
        Part::of(&self.value).range(start as u64, (start + width) as u64)
    }

    /// Returns the place of a gate or an input.
    fn place(&self, source: Source) -> usize {
        match source {
            Source::Input(input) => self.traced.place(input),
            Source::Gate(gate) => {
                let place = self.gates[gate];
                assert_ne!(place, NO_PLACE, "a region comes before what reads it");
                place as usize
            }
        }
    }

    /// Returns pieces whose gates have places. If there are many, steps first bring them together,
    /// except for `most` of them.
    fn joined(&mut self, pieces: &[Piece], most: usize) -> Vec<Piece> {
        let mut placed = Vec::with_capacity(pieces.len());
        for &piece in pieces {
            push(
                &mut placed,
                match piece {
                    Piece::Gate(of) => Piece::Wires(self.place(self.traced.source_of(of)), 1),
                    others => others,
                },
            );
        }
        // The bits of a number are consecutive.
        let most = match placed.first() {
            Some(Piece::Constant(..)) if most == 1 => 0,
            _ => most,
        };
        if placed.len() <= most {
            return placed;
        }
        let start = self.size;
        for chunk in placed.chunks(MAX_PIECES) {
            let width: usize = chunk.iter().map(|piece| piece.width()).sum();
            self.steps
                .push((self.size, width), None, vec![chunk.to_vec()]);
            self.size += width;
        }
        vec![Piece::Wires(start, self.size - start)]
    }

    fn call(&mut self, number: usize) -> Lower<()> {
        let run = self.run;
        let call = &run.calls.list[number];
        if let Called::PairLoop(number) = call.called {
            return self.pair_loop(call, number);
        }
        if let Called::Network(number) = call.called {
            return self.network(call, number);
        }
        let component = self.component(call.called, call.span)?;
        if run.recorder.is_some() {
            let read = run.calls.arguments_of(call).flatten();
            let read = read.map(|piece| piece.width()).sum();
            self.costs.call(call.site, call.called, read);
        }
        // The ports of a circuit from elsewhere may be numbers. Those of other circuits are bits.
        let is_from_elsewhere = |id: FunctionId| {
            let body = &self.program.functions[id.0 as usize].body;
            matches!(body, Body::Library(..) | Body::File(..))
        };
        let most = match call.called {
            Called::Function(id) if is_from_elsewhere(id) => 1,
            _ => MAX_PIECES,
        };
        let arguments = run.calls.arguments_of(call);
        let arguments = arguments.map(|pieces| self.joined(pieces, most)).collect();
        let target = (call.result.start, call.result.len());
        self.steps.push(target, Some(component), arguments);
        Ok(())
    }

    /// Declares outputs and saved values.
    fn outputs(&mut self) -> Lower<()> {
        let run = self.run;
        let each = self.value_for_each_pair()?;
        let by_pair = self.entry.join.as_ref().and_then(|join| join.by_pair);
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
        for (number, ((name, ty, to), pieces)) in all.into_iter().zip(&run.results).enumerate() {
            if let (Some((value, ty)), Some(to)) = (&each, to)
                && by_pair == Some(number)
            {
                self.builder.output(&name, ty, to, value.clone());
                continue;
            }
            let pieces = self.joined(pieces, 1);
            let value = operand(&pieces, |start, width| self.wires(start, width));
            let ty = port_type(program, ty);
            match to {
                Some(to) => self.builder.output(&name, &ty, to, value),
                None => self.builder.save(&name, &ty, value),
            };
        }
        Ok(())
    }
}

/// Returns a name that clashes with no input. `clashes` compares it with an input's name.
fn unused(run: &Run, wanted: &str, clashes: impl Fn(&str, &str) -> bool) -> String {
    let mut name = wanted.to_owned();
    while run.given.iter().any(|given| clashes(&name, &given.name)) {
        name.push('_');
    }
    name
}
