//! Which gates between the calls of a run form one component.
//!
//! The traced run is one circuit whose inputs are the run's and the results of its calls, and
//! whose outputs are the arguments of the calls and the run's results. A gate has a *level*: how
//! many calls in a row its value waits for at least. Gates of one level form a region, which is
//! one component; a gate may move to a later level as long as what reads it does not wait, and
//! moves to a level that has a region anyway. Regions and calls then alternate, level by level.

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
    /// How many gates stand before each call: all that its arguments and those of earlier calls are
    /// made of, and none that reads its result. Both were made in the order of the trace, but for
    /// inverters, which stand anywhere behind what they invert and count as that.
    ready: Vec<u32>,
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
        let mut traced = Self {
            inputs,
            gates,
            outputs: circuit.output_wires(),
            constants,
            call_of,
            ready: Vec::with_capacity(shape.arguments.len()),
        };
        let mut ready = 0;
        for arguments in &shape.arguments {
            for &wire in &traced.outputs[arguments.clone()] {
                if let Source::Gate(gate) = traced.inverted(traced.source(wire)) {
                    ready = ready.max(gate as u32 + 1);
                }
            }
            traced.ready.push(ready);
        }
        traced
    }

    /// What an inverter inverts; other sources as they are.
    fn inverted(&self, source: Source) -> Source {
        match source {
            Source::Gate(gate) => match self.gates[gate] {
                Gate::Inv(of) => self.source(of),
                _ => source,
            },
            source => source,
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
    /// Outputs from `results` on are those of the run. One walk from the last gate to the first,
    /// each call between the gates that read its result and those that its arguments are made of.
    pub(super) fn new(traced: &Traced<'_>, shape: &Shape, results: usize) -> Self {
        let mut live = Self {
            gates: vec![false; traced.gates.len()],
            calls: vec![false; shape.results.len()],
        };
        live.need_all(traced, &traced.outputs[results..]);
        let mut calls = shape.results.len();
        for gate in (0..traced.gates.len()).rev() {
            while calls > 0 && traced.ready[calls - 1] as usize > gate {
                calls -= 1;
                live.need_arguments(traced, shape, calls);
            }
            if live.gates[gate] {
                traced.reads(gate).for_each(|read| live.need(traced, read));
            }
        }
        for call in (0..calls).rev() {
            live.need_arguments(traced, shape, call);
        }
        live
    }

    fn need_arguments(&mut self, traced: &Traced<'_>, shape: &Shape, call: usize) {
        if self.calls[call] {
            self.need_all(traced, &traced.outputs[shape.arguments[call].clone()]);
        }
    }

    fn need_all(&mut self, traced: &Traced<'_>, wires: &[Wire]) {
        for &wire in wires {
            let source = traced.source(wire);
            self.need(traced, source);
            // The walk may be past the inverter.
            self.need(traced, traced.inverted(source));
        }
    }

    fn need(&mut self, traced: &Traced<'_>, source: Source) {
        match source {
            Source::Constant(_) => {}
            Source::Gate(gate) => self.gates[gate] = true,
            Source::Input(wire) => {
                if let Some(call) = traced.call_of(wire) {
                    self.calls[call] = true;
                }
            }
        }
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
    let mut open = LevelSet::below(last + 1);
    let mut gates = earliest.gates;
    for (earliest, latest) in gates.iter().zip(&latest) {
        if earliest == latest {
            open.insert(*latest);
        }
    }
    for gate in 0..traced.gates.len() {
        let mut least = 0;
        for read in traced.reads(gate) {
            least = least.max(match read {
                Source::Gate(read) => gates[read],
                Source::Input(wire) => traced.call_of(wire).map_or(0, |call| calls[call]),
                Source::Constant(_) => 0,
            });
        }
        let latest = latest[gate];
        let level = open.first_from(least).filter(|level| *level <= latest);
        gates[gate] = level.unwrap_or(latest);
        open.insert(gates[gate]);
    }
    Levels { gates, calls }
}

/// A set of levels, a bit for each, and a bit for each word of them that is not empty.
struct LevelSet {
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl LevelSet {
    fn below(end: u32) -> Self {
        let words = end.div_ceil(64) as usize;
        Self {
            words: vec![0; words],
            summary: vec![0; words.div_ceil(64)],
        }
    }

    fn insert(&mut self, level: u32) {
        let word = level as usize / 64;
        self.words[word] |= 1 << (level % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    /// The first level from this one on.
    fn first_from(&self, least: u32) -> Option<u32> {
        let first_set = |words: &[u64], from: usize| {
            let from_bit = |word: usize| match word == from / 64 {
                true => words[word] >> (from % 64) << (from % 64),
                false => words[word],
            };
            let word = (from / 64..words.len()).find(|word| from_bit(*word) != 0)?;
            Some(word * 64 + from_bit(word).trailing_zeros() as usize)
        };
        let word = least as usize / 64;
        let here = self.words.get(word)? >> (least % 64);
        if here != 0 {
            return Some(least + here.trailing_zeros());
        }
        let word = first_set(&self.summary, word + 1)?;
        Some(word as u32 * 64 + self.words[word].trailing_zeros())
    }
}

/// The least level of everything.
struct Earliest {
    gates: Vec<u32>,
    calls: Vec<u32>,
}

impl Earliest {
    /// One walk from the first gate to the last, each call as soon as all is there that its
    /// arguments are made of.
    fn new(traced: &Traced<'_>, shape: &Shape) -> Self {
        let mut levels = Self {
            gates: Vec::with_capacity(traced.gates.len()),
            calls: Vec::with_capacity(shape.results.len()),
        };
        let ready = |call: usize| traced.ready.get(call).map(|ready| *ready as usize);
        for gate in 0..traced.gates.len() {
            while ready(levels.calls.len()).is_some_and(|ready| ready <= gate) {
                levels.push_call(traced, shape);
            }
            let reads = traced.reads(gate).map(|read| levels.of(read, traced));
            let level = reads.max().unwrap_or(0);
            levels.gates.push(level);
        }
        while levels.calls.len() < shape.results.len() {
            levels.push_call(traced, shape);
        }
        levels
    }

    /// The level of the next call.
    fn push_call(&mut self, traced: &Traced<'_>, shape: &Shape) {
        let wires = &traced.outputs[shape.arguments[self.calls.len()].clone()];
        let sources = wires
            .iter()
            .map(|wire| traced.inverted(traced.source(*wire)));
        let level = sources.map(|source| self.of(source, traced)).max();
        self.calls.push(level.unwrap_or(0) + 1);
    }

    /// The level of a source that stands before.
    fn of(&self, source: Source, traced: &Traced<'_>) -> u32 {
        match source {
            Source::Constant(_) => 0,
            Source::Gate(gate) => self.gates[gate],
            Source::Input(wire) => traced.call_of(wire).map_or(0, |call| self.calls[call]),
        }
    }
}
