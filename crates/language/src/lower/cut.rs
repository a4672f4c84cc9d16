//! Which gates between the calls of a run form one component.
//!
//! The traced run is one circuit whose inputs are the run's and the results of its calls, and
//! whose outputs are the arguments of the calls and the run's results. A gate has a *level*: how
//! many calls in a row its value waits for at least. Gates of one level form a region, which is
//! one component; a gate may move to a later level as long as what reads it does not wait, and
//! moves to a level that has a region anyway. Regions and calls then alternate, level by level.

use std::collections::BTreeSet;
use std::ops::Range;

use tacit_circuit::{Circuit, Gate, Wire};

/// Where calls stand in the traced circuit.
pub(super) struct Shape {
    /// The input wires that are each call's result.
    pub(super) results: Vec<Range<usize>>,
    /// The outputs that are each call's arguments.
    pub(super) arguments: Vec<Range<usize>>,
}

/// Levels of wires and calls.
pub(super) struct Levels {
    /// The region of each gate, by its number among the gates.
    pub(super) gates: Vec<u32>,
    /// How many calls in a row each call waits for, itself among them: 1 or more.
    pub(super) calls: Vec<u32>,
}

/// What a wire that is no gate of its own stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// An input wire.
    Input(usize),
    /// A gate, by its number.
    Gate(usize),
    /// A constant.
    Constant(bool),
}

/// The traced circuit, to be cut.
pub(super) struct Traced<'c> {
    pub(super) inputs: usize,
    pub(super) gates: Vec<Gate>,
    pub(super) outputs: &'c [Wire],
    /// Of each gate whether it is a constant, and which.
    constants: Vec<Option<bool>>,
    /// The call whose result each input wire is, or [`NO_CALL`].
    call_of: Vec<u32>,
}

const NO_CALL: u32 = u32::MAX;

impl<'c> Traced<'c> {
    pub(super) fn new(circuit: &'c Circuit, shape: &Shape) -> Self {
        let inputs = circuit.input_bits();
        let mut call_of = vec![NO_CALL; inputs];
        for (call, result) in shape.results.iter().enumerate() {
            call_of[result.clone()].fill(call as u32);
        }
        let gates: Vec<Gate> = circuit.gates().collect();
        let mut constants: Vec<Option<bool>> = Vec::with_capacity(gates.len());
        for gate in &gates {
            let of = |wire: Wire| {
                let number = (wire as usize).checked_sub(inputs)?;
                constants[number]
            };
            constants.push(match gate {
                Gate::Xor(a, b) if a == b => Some(false),
                Gate::Inv(a) => of(*a).map(|bit| !bit),
                _ => None,
            });
        }
        Self {
            inputs,
            gates,
            outputs: circuit.output_wires(),
            constants,
            call_of,
        }
    }

    /// The call whose result an input wire is, if it is one.
    fn call_of(&self, wire: usize) -> Option<usize> {
        let call = self.call_of[wire];
        (call != NO_CALL).then_some(call as usize)
    }

    /// What a wire is.
    pub(super) fn source(&self, wire: Wire) -> Source {
        match (wire as usize).checked_sub(self.inputs) {
            None => Source::Input(wire as usize),
            Some(number) => match self.constants[number] {
                Some(bit) => Source::Constant(bit),
                None => Source::Gate(number),
            },
        }
    }

    /// What a gate reads.
    pub(super) fn reads(&self, gate: usize) -> impl Iterator<Item = Source> + '_ {
        let (a, b) = match self.gates[gate] {
            Gate::Xor(a, b) | Gate::And(a, b) => (a, Some(b)),
            Gate::Inv(a) => (a, None),
        };
        [Some(a), b]
            .into_iter()
            .flatten()
            .map(|wire| self.source(wire))
    }
}

/// Which gates and calls a result depends on.
pub(super) struct Live {
    pub(super) gates: Vec<bool>,
    pub(super) calls: Vec<bool>,
}

impl Live {
    /// Outputs from `results` on are those of the run.
    pub(super) fn new(traced: &Traced<'_>, shape: &Shape, results: usize) -> Self {
        let mut live = Self {
            gates: vec![false; traced.gates.len()],
            calls: vec![false; shape.results.len()],
        };
        let source = |wire: &Wire| traced.source(*wire);
        let mut open = Vec::new();
        live.need(
            traced,
            traced.outputs[results..].iter().map(source),
            &mut open,
        );
        while let Some(next) = open.pop() {
            match next {
                Source::Constant(_) => {}
                Source::Gate(gate) => live.need(traced, traced.reads(gate), &mut open),
                Source::Input(wire) => {
                    if let Some(call) = traced.call_of(wire) {
                        let arguments = traced.outputs[shape.arguments[call].clone()].iter();
                        live.need(traced, arguments.map(source), &mut open);
                    }
                }
            }
        }
        live
    }

    /// Notes gates and calls that are needed. Those that were not before are then open.
    fn need(
        &mut self,
        traced: &Traced<'_>,
        sources: impl Iterator<Item = Source>,
        open: &mut Vec<Source>,
    ) {
        open.extend(sources.filter(|source| {
            let known = match *source {
                Source::Constant(_) => return false,
                Source::Gate(gate) => &mut self.gates[gate],
                Source::Input(wire) => match traced.call_of(wire) {
                    Some(call) => &mut self.calls[call],
                    None => return false,
                },
            };
            !std::mem::replace(known, true)
        }));
    }
}

/// Gives each gate its region.
pub(super) fn levels(traced: &Traced<'_>, shape: &Shape) -> Levels {
    let earliest = Earliest::new(traced, shape);
    let calls = earliest.calls;
    let last = calls.iter().copied().max().unwrap_or(0);
    // The level at whose end a gate's value is needed.
    let mut latest = vec![last; traced.gates.len()];
    for (call, arguments) in shape.arguments.iter().enumerate() {
        for &wire in &traced.outputs[arguments.clone()] {
            if let Source::Gate(gate) = traced.source(wire) {
                latest[gate] = latest[gate].min(calls[call] - 1);
            }
        }
    }
    for gate in (0..traced.gates.len()).rev() {
        let level = latest[gate];
        for read in traced.reads(gate) {
            if let Source::Gate(read) = read {
                latest[read] = latest[read].min(level);
            }
        }
    }
    // Levels with a gate that stays there have a region anyway.
    let pairs = earliest.gates.iter().zip(&latest);
    let mut open: BTreeSet<u32> = pairs.filter(|(a, b)| a == b).map(|(a, _)| *a).collect();
    let mut gates = vec![0_u32; traced.gates.len()];
    for gate in 0..traced.gates.len() {
        let mut least = 0;
        for read in traced.reads(gate) {
            least = least.max(match read {
                Source::Gate(read) => gates[read],
                Source::Input(wire) => traced.call_of(wire).map_or(0, |call| calls[call]),
                Source::Constant(_) => 0,
            });
        }
        let level = open.range(least..=latest[gate]).next().copied();
        gates[gate] = level.unwrap_or(latest[gate]);
        open.insert(gates[gate]);
    }
    Levels { gates, calls }
}

/// The least level of everything.
struct Earliest {
    gates: Vec<u32>,
    calls: Vec<u32>,
}

impl Earliest {
    fn new(traced: &Traced<'_>, shape: &Shape) -> Self {
        const UNKNOWN: u32 = u32::MAX;
        let mut levels = Self {
            gates: vec![UNKNOWN; traced.gates.len()],
            calls: vec![UNKNOWN; shape.results.len()],
        };
        // What a call reads was made before what reads the call, so that nothing waits in vain.
        let mut open: Vec<Source> = Vec::new();
        for gate in 0..traced.gates.len() {
            levels.find(Source::Gate(gate), traced, shape, &mut open);
        }
        for call in 0..shape.results.len() {
            if levels.calls[call] == UNKNOWN {
                let wire = shape.results[call].start;
                levels.find(Source::Input(wire), traced, shape, &mut open);
            }
        }
        levels
    }

    /// The level of a source, once all that it waits for is known.
    fn known(&self, source: Source, traced: &Traced<'_>) -> Option<u32> {
        let level = match source {
            Source::Constant(_) => 0,
            Source::Gate(gate) => self.gates[gate],
            Source::Input(wire) => traced.call_of(wire).map_or(0, |call| self.calls[call]),
        };
        (level != u32::MAX).then_some(level)
    }

    fn find(&mut self, source: Source, traced: &Traced<'_>, shape: &Shape, open: &mut Vec<Source>) {
        open.push(source);
        while let Some(&next) = open.last() {
            if self.known(next, traced).is_some() {
                open.pop();
                continue;
            }
            let mut level = 0;
            let before = open.len();
            let mut wait = |source| match self.known(source, traced) {
                Some(known) => level = level.max(known),
                None => open.push(source),
            };
            match next {
                Source::Constant(_) => {}
                Source::Gate(gate) => {
                    traced.reads(gate).for_each(wait);
                    if open.len() == before {
                        self.gates[gate] = level;
                    }
                }
                Source::Input(wire) => {
                    let call = traced
                        .call_of(wire)
                        .expect("an input whose level is not known");
                    let arguments = &traced.outputs[shape.arguments[call].clone()];
                    arguments.iter().for_each(|wire| wait(traced.source(*wire)));
                    if open.len() == before {
                        self.calls[call] = level + 1;
                    }
                }
            }
        }
    }
}
