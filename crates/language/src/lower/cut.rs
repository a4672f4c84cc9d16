//! The division of a run's gates between calls into components.
//!
//! The *level* of a gate is the least number of successive calls for which its value waits. The
//! gates of one level form a region, which is one component. A gate may move to a later level if no
//! reader of the gate has to wait for that, and moves only to levels that already have a region.
//! Regions and calls then alternate, level by level.

use std::ops::Range;

use tacit_circuit::netlist::{Literal, Node};
use tacit_circuit::{Gate, Wire};

use super::pieces::Piece;
use super::run::Run;
use super::trace::Call;

/// The levels of wires and calls.
pub(super) struct Levels {
    /// The region of each gate, indexed by the gate's number.
    pub(super) gates: Vec<u32>,
    /// The number of successive calls for which each call waits, including itself: 1 or more.
    pub(super) calls: Vec<u32>,
}

/// The source of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// An input, by its number among the inputs that gates read.
    Input(usize),
    /// A gate, by its number.
    Gate(usize),
}

/// A value for which a gate, an argument or a result waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Gate(usize),
    Call(usize),
}

/// The gates that a call or a result needs. A negation that is read is a gate, right before the
/// first gate that reads it.
pub(super) struct Traced<'r> {
    calls: &'r [Call],
    pub(super) gates: Vec<Gate>,
    /// For each gate, the number of gates that the trace had made before the gate from which it
    /// comes.
    pub(super) numbers: Vec<u32>,
    /// The inputs that gates read.
    inputs: Vec<Input>,
    /// The wires of each node and of its negation, or [`NONE`].
    wires: Vec<[Wire; 2]>,
    /// The sources of the arguments of each call, followed by those of the results. `starts` holds
    /// the start of each.
    needs: Vec<Awaited>,
    starts: Vec<usize>,
    /// The number of gates before each call. These include all gates needed by its arguments and
    /// those of earlier calls, and none that reads its result. Gates and calls are in the order of
    /// the trace, except for inverters. An inverter may be anywhere after its input and counts as
    /// that input.
    ready: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Input {
    place: u32,
    /// The call whose result the input is, if any.
    call: Option<u32>,
    /// The number of gates that the trace had made before the input existed.
    gates: usize,
}

/// The absence of a wire.
const NONE: Wire = Wire::MAX;

impl<'r> Traced<'r> {
    pub(super) fn new(run: &'r Run) -> Self {
        let inputs = run.read.iter().map(|&place| {
            let call = calls_of(&run.calls.list, place as usize..place as usize + 1).next();
            Input {
                place,
                call: call.map(|call| call as u32),
                gates: call.map_or(0, |call| run.calls.list[call].gates),
            }
        });
        let mut traced = Self {
            calls: &run.calls.list,
            gates: Vec::new(),
            numbers: Vec::new(),
            inputs: inputs.collect(),
            wires: vec![[NONE; 2]; run.netlist.node_count()],
            needs: Vec::new(),
            starts: Vec::with_capacity(run.calls.list.len() + 1),
            ready: Vec::with_capacity(run.calls.list.len()),
        };
        let results = run.results.iter().flatten();
        let roots: Vec<Literal> = run
            .calls
            .arguments
            .all()
            .iter()
            .chain(results)
            .filter_map(|piece| match piece {
                Piece::Gate(literal) => Some(*literal),
                _ => None,
            })
            .collect();
        traced.write(run, &run.netlist.live(&roots));
        for root in roots {
            traced.wire(root, traced.numbers.last().copied().unwrap_or(0));
        }
        for call in &run.calls.list {
            traced.add_needs(run.calls.arguments_of(call).flatten());
        }
        traced.add_needs(run.results.iter().flatten());
        let mut ready = 0;
        for call in 0..run.calls.list.len() {
            for &need in traced.arguments(call) {
                if let Some(Awaited::Gate(gate)) = traced.inverted(need) {
                    ready = ready.max(gate as u32 + 1);
                }
            }
            traced.ready.push(ready);
        }
        traced
    }

    /// Writes the live gates, in order.
    fn write(&mut self, run: &Run, live: &[bool]) {
        // The number of gates before each node.
        let mut numbers = Vec::with_capacity(live.len());
        let mut number = 0;
        for node in 0..live.len() as u32 {
            numbers.push(number);
            let (kind, [a, b]): (fn(Wire, Wire) -> Gate, _) = match run.netlist.node(node) {
                Node::Input(input) => {
                    self.wires[node as usize] = [input, NONE];
                    continue;
                }
                Node::Xor(a, b) => (Gate::Xor, [a, b]),
                Node::And(a, b) => (Gate::And, [a, b]),
            };
            if live[node as usize] {
                // An input is as old as the call that returns it, even if it was first read later.
                let age = |literal: Literal| {
                    let number = numbers[literal.node() as usize];
                    match self.wires[literal.node() as usize] {
                        [wire, _] if (wire as usize) < self.inputs.len() => {
                            let input = self.inputs[wire as usize];
                            (input.gates, Some(input.place))
                        }
                        _ => (number as usize + 1, None),
                    }
                };
                let reads = if age(b) < age(a) { [b, a] } else { [a, b] };
                let [a, b] = reads.map(|literal| self.wire(literal, number));
                self.wires[node as usize] = [self.push(kind(a, b), number), NONE];
            }
            number += 1;
        }
    }

    fn push(&mut self, gate: Gate, number: u32) -> Wire {
        self.gates.push(gate);
        self.numbers.push(number);
        (self.inputs.len() + self.gates.len() - 1) as Wire
    }

    /// Returns the wire of a literal. Adds an inverter if the literal needs one that does not
    /// exist.
    fn wire(&mut self, literal: Literal, number: u32) -> Wire {
        let node = literal.node() as usize;
        let [wire, negation] = self.wires[node];
        match (literal.is_negated(), negation) {
            (false, _) => wire,
            (true, NONE) => {
                let negation = self.push(Gate::Inv(wire), number);
                self.wires[node][1] = negation;
                negation
            }
            (true, negation) => negation,
        }
    }

    /// Returns the source of a wire.
    pub(super) fn source(&self, wire: Wire) -> Source {
        match (wire as usize).checked_sub(self.inputs.len()) {
            None => Source::Input(wire as usize),
            Some(gate) => Source::Gate(gate),
        }
    }

    /// Returns the source of a literal that a call or a result needs.
    pub(super) fn source_of(&self, literal: Literal) -> Source {
        let wires = self.wires[literal.node() as usize];
        self.source(wires[usize::from(literal.is_negated())])
    }

    /// Returns the number of wires.
    pub(super) fn wire_count(&self) -> usize {
        self.inputs.len() + self.gates.len()
    }

    /// Returns the place of an input.
    pub(super) fn place(&self, input: usize) -> usize {
        self.inputs[input].place as usize
    }

    /// Returns the wires that a gate reads.
    pub(super) fn reads(&self, gate: usize) -> impl Iterator<Item = Wire> + use<> {
        let (a, b) = match self.gates[gate] {
            Gate::Xor(a, b) | Gate::And(a, b) => (a, Some(b)),
            Gate::Inv(a) => (a, None),
        };
        [Some(a), b].into_iter().flatten()
    }

    fn needs(&self, gate: usize) -> impl Iterator<Item = Awaited> + '_ {
        self.reads(gate)
            .filter_map(|wire| self.need(self.source(wire)))
    }

    fn need(&self, source: Source) -> Option<Awaited> {
        match source {
            Source::Gate(gate) => Some(Awaited::Gate(gate)),
            Source::Input(input) => self.inputs[input]
                .call
                .map(|call| Awaited::Call(call as usize)),
        }
    }

    /// Replaces an inverter by the source of its input. Other sources are unchanged.
    fn inverted(&self, need: Awaited) -> Option<Awaited> {
        match need {
            Awaited::Gate(gate) => match self.gates[gate] {
                Gate::Inv(of) => self.need(self.source(of)),
                _ => Some(need),
            },
            Awaited::Call(_) => Some(need),
        }
    }

    /// Adds the sources of these pieces to `needs`.
    fn add_needs<'p>(&mut self, pieces: impl Iterator<Item = &'p Piece>) {
        self.starts.push(self.needs.len());
        for piece in pieces {
            match *piece {
                Piece::Gate(literal) => self.needs.extend(self.need(self.source_of(literal))),
                Piece::Wires(start, width) => {
                    let calls = calls_of(self.calls, start..start + width);
                    self.needs.extend(calls.map(Awaited::Call));
                }
                Piece::Constant(..) => {}
            }
        }
    }

    /// Returns for each gate and each call the number of layers of AND gates up to its value.
    /// `depth` gives the layers of a call.
    pub(super) fn layers(&self, depth: impl Fn(usize) -> u32) -> [Vec<u32>; 2] {
        let arguments = |call: usize| self.arguments(call);
        self.longest(arguments, |gate| self.own_layers(gate), depth)
    }

    /// Returns for each gate and each call the weight of the heaviest path to its value. Walks from
    /// the first gate to the last, and visits a call as soon as the sources of its arguments are
    /// known.
    fn longest<'t>(
        &self,
        arguments: impl Fn(usize) -> &'t [Awaited],
        of_gate: impl Fn(usize) -> u32,
        of_call: impl Fn(usize) -> u32,
    ) -> [Vec<u32>; 2] {
        let (mut gates, mut calls) = (vec![0; self.gates.len()], vec![0; self.calls.len()]);
        let mut next = 0;
        for call in 0..=self.calls.len() {
            let ready = self.ready.get(call);
            let ready = ready.map_or(gates.len(), |ready| *ready as usize);
            let of = |need: Awaited, gates: &[u32], calls: &[u32]| match need {
                Awaited::Gate(gate) => gates[gate],
                Awaited::Call(call) => calls[call],
            };
            while next < ready {
                let needs = self.needs(next).map(|need| of(need, &gates, &calls));
                gates[next] = needs.max().unwrap_or(0) + of_gate(next);
                next += 1;
            }
            if call < calls.len() {
                // An inverter may come after the call.
                let needs = arguments(call).iter();
                let needs = needs.filter_map(|need| self.inverted(*need));
                let waits = needs.map(|need| of(need, &gates, &calls)).max();
                calls[call] = waits.unwrap_or(0) + of_call(call);
            }
        }
        [gates, calls]
    }

    /// Returns the layers of the gate alone.
    pub(super) fn own_layers(&self, gate: usize) -> u32 {
        u32::from(matches!(self.gates[gate], Gate::And(..)))
    }

    /// Returns the sources of a call's arguments.
    fn arguments(&self, call: usize) -> &[Awaited] {
        &self.needs[self.starts[call]..self.starts[call + 1]]
    }

    /// Returns the sources of the run's results.
    fn results(&self) -> &[Awaited] {
        &self.needs[self.starts[self.calls.len()]..]
    }
}

/// Returns the calls whose results are in these places.
fn calls_of(calls: &[Call], places: Range<usize>) -> Range<usize> {
    let first = calls.partition_point(|call| call.result.end <= places.start);
    let count = calls[first..].partition_point(|call| call.result.start < places.end);
    first..first + count
}

/// The gates and calls on which a result depends.
pub(super) struct Live {
    pub(super) gates: Vec<bool>,
    pub(super) calls: Vec<bool>,
}

impl Live {
    /// Walks from the last gate to the first. Each call is visited between the gates that read its
    /// result and those that its arguments need.
    pub(super) fn new(traced: &Traced<'_>) -> Self {
        let mut live = Self {
            gates: vec![false; traced.gates.len()],
            calls: vec![false; traced.calls.len()],
        };
        live.need_all(traced, traced.results());
        let mut calls = traced.calls.len();
        for gate in (0..traced.gates.len()).rev() {
            while calls > 0 && traced.ready[calls - 1] as usize > gate {
                calls -= 1;
                live.need_arguments(traced, calls);
            }
            if live.gates[gate] {
                traced.needs(gate).for_each(|need| live.note(need));
            }
        }
        for call in (0..calls).rev() {
            live.need_arguments(traced, call);
        }
        live
    }

    fn need_arguments(&mut self, traced: &Traced<'_>, call: usize) {
        if self.calls[call] {
            self.need_all(traced, traced.arguments(call));
        }
    }

    fn need_all(&mut self, traced: &Traced<'_>, needs: &[Awaited]) {
        for &need in needs {
            self.note(need);
            // The walk may already be past the inverter.
            if let Some(inverted) = traced.inverted(need) {
                self.note(inverted);
            }
        }
    }

    fn note(&mut self, need: Awaited) {
        match need {
            Awaited::Gate(gate) => self.gates[gate] = true,
            Awaited::Call(call) => self.calls[call] = true,
        }
    }
}

/// Assigns a region to each gate. Gates that no result needs wait for nothing.
pub(super) fn levels(traced: &Traced<'_>, live: &Live) -> Levels {
    let arguments = |call: usize| {
        if live.calls[call] {
            traced.arguments(call)
        } else {
            &[]
        }
    };
    let [mut gates, calls] = traced.longest(arguments, |_| 0, |_| 1);
    let last = calls.iter().copied().max().unwrap_or(0);
    // The last level at which each gate's value can be computed.
    let mut latest = vec![last; traced.gates.len()];
    for (call, level) in calls.iter().enumerate() {
        for need in arguments(call) {
            if let &Awaited::Gate(gate) = need {
                latest[gate] = latest[gate].min(level - 1);
            }
        }
    }
    for gate in (0..traced.gates.len()).rev() {
        let level = latest[gate];
        for need in traced.needs(gate) {
            if let Awaited::Gate(read) = need {
                latest[read] = latest[read].min(level);
            }
        }
    }
    // A level with a gate that cannot move has a region in any case.
    let mut open = LevelSet::below(last + 1);
    for (earliest, latest) in gates.iter().zip(&latest) {
        if earliest == latest {
            open.insert(*latest);
        }
    }
    for gate in 0..traced.gates.len() {
        let levels = traced.needs(gate).map(|need| match need {
            Awaited::Gate(read) => gates[read],
            Awaited::Call(call) => calls[call],
        });
        let (least, latest) = (levels.max().unwrap_or(0), latest[gate]);
        let level = open.first_from(least).filter(|level| *level <= latest);
        gates[gate] = level.unwrap_or(latest);
        open.insert(gates[gate]);
    }
    Levels { gates, calls }
}

/// A set of levels, with one bit for each, and one bit for each word that is not zero.
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

    /// Returns the first level from `least` on.
    fn first_from(&self, least: u32) -> Option<u32> {
        let first_set = |words: &[u64], from: usize| {
            let from_bit = |word: usize| {
                if word == from / 64 {
                    words[word] >> (from % 64) << (from % 64)
                } else {
                    words[word]
                }
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
