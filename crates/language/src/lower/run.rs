//! A run traced as one netlist: its inputs, its states, its results.

use tacit_circuit::Type;
use tacit_circuit::builder::{Bit, Builder};
use tacit_circuit::netlist::Netlist;

use super::lines::{Recorder, SiteId};
use super::network::Network;
use super::operators::Bits;
use super::pairs::PairLoop;
use super::pieces::{Piece, pieces};
use super::size::Cuts;
use super::trace::{Calls, Components, MAX_GATES, Tracer};
use super::{CircuitFiles, Diagnostic, Lower};
use crate::program::{Entry, EntryKind, Program, TypeId, TypeKind};

/// A run as gates and calls. The run's inputs and the results of calls have consecutive places. A
/// gate that reads one of them reads an input of the netlist.
pub(super) struct Run {
    pub(super) netlist: Netlist,
    /// The place of each input of the netlist.
    pub(super) read: Vec<u32>,
    pub(super) calls: Calls,
    /// The run's results, followed by the states that it saves.
    pub(super) results: Vec<Vec<Piece>>,
    /// The wires of the run's inputs, random bits and states, in this order.
    pub(super) given: Vec<RunInput>,
    /// The states that the run assigns.
    pub(super) saved: Vec<usize>,
    pub(super) drawn: usize,
    /// The recorder of the gates' origins, if costs are recorded.
    pub(super) recorder: Option<Recorder>,
    /// The loops over pairs. The next field tells which of them gives a result with an element for
    /// each pair.
    pub(super) pair_loops: Vec<PairLoop>,
    pub(super) by_pair: Option<u32>,
    /// The networks of calls that stay loops.
    pub(super) networks: Vec<Network>,
    /// The site of the join, for costs.
    pub(super) join_site: SiteId,
}

impl Run {
    /// Returns the number of places.
    pub(super) fn places(&self) -> usize {
        let given = self.given.iter().map(|given| given.width).sum();
        self.calls.list.last().map_or(given, |call| call.result.end)
    }
}

/// An input of a run that is not a call's result.
#[derive(Clone, Debug)]
pub(super) struct RunInput {
    pub(super) name: String,
    pub(super) ty: String,
    pub(super) width: usize,
    pub(super) from: InputOrigin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputOrigin {
    Party(usize),
    Random(usize),
    State,
    /// The input of a run without inputs. Nobody gives it, but a circuit needs an input.
    Nobody,
}

/// Returns the type of a port on the border.
pub(super) fn port_type(program: &Program, ty: TypeId) -> String {
    let types = &program.types;
    let plain = match *types.kind(ty) {
        TypeKind::Bool => Some("bit".to_owned()),
        TypeKind::Unsigned(width) => Some(format!("u{width}")),
        TypeKind::Signed(width) => Some(format!("i{width}")),
        TypeKind::Fixed(integer, fraction) => Some(format!("fixed[{integer},{fraction}]")),
        TypeKind::Bytes(n) | TypeKind::Text(n) => Some(format!("bytes[{n}]")),
        TypeKind::Array(element, n) => {
            let element = port_type(program, element);
            let text = format!("{element}[{n}]");
            text.parse::<Type>().is_ok().then_some(text)
        }
        _ => None,
    };
    plain.unwrap_or_else(|| format!("bits[{}]", types.width(ty)))
}

fn given(program: &Program, entry: &Entry, random: usize) -> Lower<Vec<RunInput>> {
    let mut all = Vec::new();
    for (number, input) in entry.inputs.iter().enumerate() {
        // For a table that is joined, the run gets the stage's results.
        if entry.is_joined(number) {
            continue;
        }
        let Some(owner) = input.owner else {
            let message = format!("the public input `{}` cannot be lowered yet", input.name);
            return Err(Diagnostic::new(entry.span, message));
        };
        all.push(RunInput {
            name: input.name.to_string(),
            ty: port_type(program, input.ty),
            width: program.types.width(input.ty) as usize,
            from: InputOrigin::Party(owner),
        });
    }
    if random > 0 {
        for (number, party) in program.parties.iter().enumerate() {
            let mut name = format!("random_of_{party}");
            let is_state = |name: &str| program.states.iter().any(|s| s.name.as_str() == name);
            while is_state(&name) || all.iter().any(|given| given.name == name) {
                name.push('_');
            }
            all.push(RunInput {
                name,
                ty: format!("bits[{random}]"),
                width: random,
                from: InputOrigin::Random(number),
            });
        }
    }
    if entry.kind == EntryKind::Run {
        for state in &program.states {
            all.push(RunInput {
                name: state.name.to_string(),
                ty: port_type(program, state.ty),
                width: program.types.width(state.ty) as usize,
                from: InputOrigin::State,
            });
        }
    }
    if all.is_empty() {
        all.push(RunInput {
            name: String::new(),
            ty: "bit".to_owned(),
            width: 1,
            from: InputOrigin::Nobody,
        });
    }
    Ok(all)
}

/// The choices of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct TraceOptions {
    /// Whether the origins of gates are recorded.
    pub(super) is_recorded: bool,
    /// Whether networks of calls stay loops.
    pub(super) keeps_networks: bool,
    /// The elements into which the calls cut the run's value, as far as they were counted.
    pub(super) cuts: Cuts,
}

/// Traces a run that draws `random` bits. `tell` gets the number of completed steps.
pub(super) fn trace(
    program: &Program,
    entry: &Entry,
    (files, tell): (&dyn CircuitFiles, &dyn Fn(u64)),
    random: usize,
    options: TraceOptions,
) -> Lower<Run> {
    let given = given(program, entry, random)?;
    let builder = Builder::bounded(MAX_GATES + 1).in_form(program.form);
    let mut tracer = Tracer::new(&builder, program, files, Components::Call(Calls::default()));
    tracer.tell = tell;
    tracer.cuts = options.cuts;
    tracer.keeps_networks = options.keeps_networks;
    let recorder = Recorder::new(entry.function, entry.span);
    tracer.recorder = options.is_recorded.then_some(recorder);
    let mut inputs: Vec<Bits<'_>> = Vec::with_capacity(given.len());
    for port in &given {
        inputs.push(builder.late_inputs(port.width).bits().collect());
        tracer.given += port.width;
    }
    let mut arguments: Vec<Bits<'_>> = Vec::new();
    for (port, bits) in given.iter().zip(&inputs) {
        match port.from {
            InputOrigin::Party(_) => {
                while entry.is_joined(arguments.len()) {
                    arguments.push(Vec::new());
                }
                let input = &entry.inputs[arguments.len()];
                arguments.push(tracer.operators().canonical(input.ty, bits));
            }
            InputOrigin::Random(_) if tracer.random.is_empty() => tracer.random.clone_from(bits),
            InputOrigin::Random(_) => {
                let pairs = tracer.random.iter().zip(bits);
                tracer.random = pairs.map(|(a, b)| *a ^ *b).collect();
            }
            InputOrigin::State => tracer.states.push(bits.clone()),
            InputOrigin::Nobody => {}
        }
    }
    let begins = entry.kind == EntryKind::Start;
    for state in program.states.iter().filter(|_| begins) {
        let zero = || program.types.zero(state.ty);
        let value = state.value.clone().unwrap_or_else(zero);
        let bits = tracer.constant(state.ty, &value);
        tracer.states.push(bits);
    }
    // The joined tables after the last input, and the pairs, have no wires.
    let parameters = &program.functions[entry.function.0 as usize].parameters;
    arguments.resize(parameters.len(), Vec::new());
    let join = entry.join.as_ref();
    let join_site = join.map_or(0, |join| tracer.site_at(join.span));
    let result = tracer.call(entry.function, arguments)?;
    tracer.check_gates(0, entry.span)?;
    let mut results = results_of(program, entry, tracer.by_pair.is_some(), &result);
    let saved = assigned_states(program, entry);
    results.extend(saved.iter().map(|&state| pieces(&tracer.states[state])));
    let (drawn, recorder) = (tracer.drawn, tracer.recorder.take());
    let (pair_loops, by_pair) = (std::mem::take(&mut tracer.pair_loops), tracer.by_pair);
    let networks = std::mem::take(&mut tracer.networks);
    let Components::Call(calls) = tracer.components else {
        unreachable!("a run calls its components");
    };
    let made = builder.into_netlist();
    let (netlist, read) = made.map_err(Diagnostic::at(entry.span))?;
    Ok(Run {
        netlist,
        read,
        calls,
        results,
        given,
        saved,
        drawn,
        recorder,
        pair_loops,
        by_pair,
        networks,
        join_site,
    })
}

/// Returns the wires of each result. The loop over pairs provides the wires of a result with an
/// element for each pair.
fn results_of(
    program: &Program,
    entry: &Entry,
    has_by_pair: bool,
    bits: &[Bit<'_>],
) -> Vec<Vec<Piece>> {
    let by_pair = entry.join.as_ref().and_then(|join| join.by_pair);
    let by_pair = by_pair.filter(|_| has_by_pair);
    let mut rest = bits;
    let ports = entry.outputs.iter().enumerate();
    let results = ports.map(|(number, output)| {
        let width = if by_pair == Some(number) {
            0
        } else {
            program.types.width(output.ty) as usize
        };
        let (bits, after) = rest.split_at(width);
        rest = after;
        pieces(bits)
    });
    results.collect()
}

/// Returns the states that a run saves. A run saves the states that it assigns, and a `start` saves
/// all.
fn assigned_states(program: &Program, entry: &Entry) -> Vec<usize> {
    let all = 0..program.states.len();
    match entry.kind {
        EntryKind::Main => Vec::new(),
        EntryKind::Start => all.collect(),
        EntryKind::Run => all.filter(|state| entry.assigns.contains(state)).collect(),
    }
}
