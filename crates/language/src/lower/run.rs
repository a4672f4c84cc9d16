//! A run traced as one circuit: its inputs, its states, its results.

use tacit_circuit::builder::{Builder, Bus};
use tacit_circuit::{Circuit, Type};

use super::cut::Shape;
use super::lines::{Recorder, SiteId};
use super::operators::Bits;
use super::trace::{Call, Components, MAX_GATES, Tracer};
use super::{CircuitFiles, Error, Lower};
use crate::program::{Entry, EntryKind, Program, TypeId, TypeKind};

/// A run as one circuit.
pub(super) struct Run {
    pub(super) circuit: Circuit,
    pub(super) calls: Vec<Call>,
    /// Wires of the run's inputs, random bits and states, in this order.
    pub(super) given: Vec<Given>,
    /// Which states the run assigns.
    pub(super) saved: Vec<usize>,
    pub(super) drawn: usize,
    /// Who made the gates and which, where that is recorded.
    pub(super) recorded: Option<(Recorder, Vec<SiteId>)>,
}

/// An input of the traced circuit that is no call's result.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) name: String,
    pub(super) ty: String,
    pub(super) width: usize,
    pub(super) from: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Party(usize),
    Random(usize),
    State,
    /// A run without inputs has this one, which nobody gives, as a circuit needs an input.
    Nobody,
}

/// The type of a port on the border.
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

fn given(program: &Program, entry: &Entry, random: usize) -> Lower<Vec<Given>> {
    let mut all = Vec::new();
    for input in &entry.inputs {
        let Some(owner) = input.owner else {
            let message = format!("the public input `{}` cannot be lowered yet", input.name);
            return Err(Error::At(entry.span, message));
        };
        all.push(Given {
            name: input.name.to_string(),
            ty: port_type(program, input.ty),
            width: program.types.width(input.ty) as usize,
            from: Origin::Party(owner),
        });
    }
    if random > 0 {
        for (number, party) in program.parties.iter().enumerate() {
            let mut name = format!("random_of_{party}");
            let is_state = |name: &str| program.states.iter().any(|s| s.name.as_str() == name);
            while is_state(&name) || all.iter().any(|given| given.name == name) {
                name.push('_');
            }
            all.push(Given {
                name,
                ty: format!("bits[{random}]"),
                width: random,
                from: Origin::Random(number),
            });
        }
    }
    if entry.kind == EntryKind::Run {
        for state in &program.states {
            all.push(Given {
                name: state.name.to_string(),
                ty: port_type(program, state.ty),
                width: program.types.width(state.ty) as usize,
                from: Origin::State,
            });
        }
    }
    if all.is_empty() {
        all.push(Given {
            name: String::new(),
            ty: "bit".to_owned(),
            width: 1,
            from: Origin::Nobody,
        });
    }
    Ok(all)
}

/// Traces a run that draws `random` bits, and where `recorded` who makes its gates. `tell` hears
/// how many steps are done.
pub(super) fn trace(
    program: &Program,
    entry: &Entry,
    (files, tell): (&dyn CircuitFiles, &dyn Fn(u64)),
    random: usize,
    recorded: bool,
) -> Lower<Run> {
    let given = given(program, entry, random)?;
    let builder = Builder::bounded(MAX_GATES + 1);
    let mut tracer = Tracer::new(&builder, program, files, Components::Call(Vec::new()));
    tracer.tell = tell;
    tracer.recorder = recorded.then(|| Recorder::new(entry.function, entry.span));
    let mut inputs: Vec<Bits<'_>> = Vec::with_capacity(given.len());
    for (number, port) in given.iter().enumerate() {
        let bus = builder.bus(&format!("g{number}"), port.width);
        inputs.push(bus.bits().collect());
    }
    let mut arguments = Vec::new();
    for (port, bits) in given.iter().zip(&inputs) {
        match port.from {
            Origin::Party(_) => {
                let input = &entry.inputs[arguments.len()];
                arguments.push(tracer.operators().canonical(input.ty, bits));
            }
            Origin::Random(_) if tracer.random.is_empty() => tracer.random.clone_from(bits),
            Origin::Random(_) => {
                let pairs = tracer.random.iter().zip(bits);
                tracer.random = pairs.map(|(a, b)| *a ^ *b).collect();
            }
            Origin::State => tracer.states.push(bits.clone()),
            Origin::Nobody => {}
        }
    }
    if entry.kind == EntryKind::Start {
        for state in &program.states {
            let zero = || program.types.zero(state.ty);
            let value = state.value.clone().unwrap_or_else(zero);
            let bits = tracer.constant(state.ty, &value);
            tracer.states.push(bits);
        }
    }
    let result = tracer.call(entry.function, arguments)?;
    tracer.check_gates(0, entry.span)?;
    let mut rest = &result[..];
    for (number, output) in entry.outputs.iter().enumerate() {
        let (bits, after) = rest.split_at(program.types.width(output.ty) as usize);
        rest = after;
        let bus = Bus::from_bits(&builder, bits.iter().copied());
        builder.output(&format!("o{number}"), &bus);
    }
    let assigned = assigned_states(program, entry);
    for &state in &assigned {
        let bus = Bus::from_bits(&builder, tracer.states[state].iter().copied());
        builder.output(&format!("s{state}"), &bus);
    }
    let (drawn, recorder) = (tracer.drawn, tracer.recorder.take());
    let Components::Call(calls) = tracer.components else {
        unreachable!("a run calls its components");
    };
    let error = |error: tacit_circuit::CircuitError| Error::At(entry.span, error.to_string());
    let (circuit, recorded) = match recorder {
        None => (builder.finish().map_err(error)?, None),
        Some(recorder) => {
            let (circuit, numbers) = builder.finish_numbered().map_err(error)?;
            let sites = recorder.sites_of(&numbers);
            (circuit, Some((recorder, sites)))
        }
    };
    Ok(Run {
        circuit,
        calls,
        given,
        saved: assigned,
        drawn,
        recorded,
    })
}

/// The states that a run saves: those that it assigns, and all where it begins a chain.
fn assigned_states(program: &Program, entry: &Entry) -> Vec<usize> {
    let all = 0..program.states.len();
    match entry.kind {
        EntryKind::Main => Vec::new(),
        EntryKind::Start => all.collect(),
        EntryKind::Run => all.filter(|state| entry.assigns.contains(state)).collect(),
    }
}

/// Where the calls of a traced run stand among its wires.
pub(super) fn shape(run: &Run) -> Shape {
    let given = run.given.len();
    let mut start: usize = run.given.iter().map(|given| given.width).sum();
    let results = run.circuit.inputs()[given..].iter().map(|port| {
        let range = start..start + port.ty.width();
        start = range.end;
        range
    });
    let results = results.collect();
    let mut arguments: Vec<std::ops::Range<usize>> = Vec::with_capacity(run.calls.len());
    let mut start = 0;
    for port in run.circuit.outputs() {
        let end = start + port.ty.width();
        // The arguments of call n are called c{n}_0, c{n}_1 and so on.
        let call = port
            .name
            .strip_prefix('c')
            .and_then(|rest| rest.split_once('_'));
        if let Some(number) = call.and_then(|(number, _)| number.parse::<usize>().ok()) {
            match arguments.get_mut(number) {
                Some(range) => range.end = end,
                None => arguments.push(start..end),
            }
        }
        start = end;
    }
    Shape { results, arguments }
}
