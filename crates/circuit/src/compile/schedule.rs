//! The order of gates: list scheduling in a window that slides over the given order.
//!
//! The window holds the gates from the oldest that is not yet placed to [`WINDOW`] further on. A
//! XOR gate is placed as soon as its inputs are. AND gates whose inputs are placed are ready; the
//! oldest of them, at most [`BATCH`], are the next batch. The oldest gate of the window is always
//! placed or ready, so the window always moves on: a chain of AND gates costs what it must, one
//! batch a gate, and nothing else, and a wide circuit fills its batches without being read ahead
//! further than the window.
//!
//! The XOR gates of a batch go by levels: first those that read no other XOR gate of the batch,
//! then those that read the first ones, and so on. Whoever computes them one after the other then
//! rarely waits for a result that was only just stored: garbling an AES-128 takes an eighth less.
//!
//! # Constants
//!
//! Chosen by measurement on one AES-128, 160 of them, SHA-256 and random circuits. A window of 2^14
//! gates is half an AES-128; doubling it again widens the batches of 160 copies from 158 to 202
//! AND gates and a single copy's not at all, where the ciphers' pipelines are full from about 16;
//! it moves SHA-256 from 1152 live labels to 1495. Placing XOR gates late, only when an AND gate
//! asks for them, was tried: it spares one live label in a hundred and narrows batches by a third.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use super::slots::Slots;
use super::wires::{GateLocation, Wires};
use crate::circuit::PackedGate;
use crate::netlist::Literal;
use crate::{AndGate, Batch, Circuit, NEGATED, Program, Segment, XorGate};

/// Gates that are looked at together; a power of two.
const WINDOW: u32 = 1 << 14;

/// Most AND gates of a batch that this compiler makes: enough for any pipeline, and few enough
/// that a batch's labels and hashes stay in a first-level cache.
const BATCH: usize = 512;

/// Wider batches than this are a multiple of it, since kernels take AND gates by eights; the
/// gates that are left stay ready.
const LANES: usize = 8;

const _: () = assert!(WINDOW.is_power_of_two() && BATCH <= Program::MAX_BATCH_ANDS);
const _: () = assert!(
    WINDOW <= GateLocation::MOST && Program::MAX_SEGMENT_XORS < GateLocation::MOST as usize
);

/// A program's gates in their final order.
pub(super) struct Schedule {
    pub(super) slots: Slots,
    pub(super) xors: Vec<XorGate>,
    pub(super) ands: Vec<AndGate>,
    pub(super) batches: Vec<Batch>,
    pub(super) segments: Vec<Segment>,
}

impl Schedule {
    /// Schedules the gates of `circuit` that are left and needed; `wires` says then where each is.
    pub(super) fn of(circuit: &Circuit, wires: &mut Wires) -> Self {
        let inputs = 0..circuit.input_bits() as u32;
        let slots = Slots::new(inputs.clone().map(|input| wires.readers(input)).collect());
        for input in inputs.clone() {
            wires.put(input, GateLocation::Slot(input));
        }
        let mut scheduler = Scheduler {
            done: Self {
                slots,
                xors: Vec::with_capacity(wires.xors),
                ands: Vec::with_capacity(wires.ands),
                batches: Vec::new(),
                segments: Vec::new(),
            },
            rest: (inputs.end..).zip(circuit.packed_gates()),
            wires,
            window: Window::new(),
            ready: BinaryHeap::new(),
            woken: Vec::new(),
            open: OpenXors::default(),
        };
        scheduler.run();
        scheduler.done
    }

    /// Appends a batch, to the last segment if it still fits there.
    fn append_batch(&mut self, batch: Batch) {
        let (xors, ands) = (batch.xors as usize, batch.ands as usize);
        let fits = self.segments.last().is_some_and(|segment| {
            segment.xors.len() + xors <= Program::MAX_SEGMENT_XORS
                && segment.ands.len() + ands <= Program::MAX_SEGMENT_ANDS
        });
        if !fits {
            let (xor, and) = self
                .segments
                .last()
                .map_or((0, 0), |s| (s.xors.end, s.ands.end));
            let batch = self.batches.len();
            self.segments.push(Segment {
                batches: batch..batch,
                xors: xor..xor,
                ands: and..and,
            });
        }
        self.batches.push(batch);
        let segment = self.segments.last_mut().expect("a segment was opened");
        segment.batches.end += 1;
        segment.xors.end += xors;
        segment.ands.end += ands;
    }

    fn push_xor(&mut self, wires: &mut Wires, gate: &OpenXor) {
        let [a, b] = gate.sources.map(|source| wires.slot(source));
        self.slots.release(a);
        self.slots.release(b);
        let out = self.slots.take_for_xor(gate.readers);
        wires.put(gate.wire, GateLocation::Slot(out));
        self.xors.push(XorGate { a, b, out });
    }

    fn push_and(&mut self, wires: &mut Wires, gate: &Waiting) {
        let negation = |literal: Literal| if literal.is_negated() { NEGATED } else { 0 };
        let input = |literal: Literal| wires.slot(literal.node()) | negation(literal);
        let [a, b] = gate.inputs.map(input);
        let out = self.slots.take_for_and(gate.readers);
        wires.put(gate.wire, GateLocation::Slot(out));
        self.ands.push(AndGate { a, b, out });
    }
}

struct Scheduler<'a, G> {
    done: Schedule,
    /// The circuit's gates that were not looked at yet, and the wires that they drive.
    rest: G,
    wires: &'a mut Wires,
    window: Window,
    /// AND gates whose inputs are placed, the oldest first.
    ready: BinaryHeap<Reverse<u32>>,
    /// Gates whose inputs are placed, not yet looked at.
    woken: Vec<u32>,
    open: OpenXors,
}

impl<G: Iterator<Item = (u32, PackedGate)>> Scheduler<'_, G> {
    fn run(&mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        self.admit();
        while !self.ready.is_empty() {
            self.take_batch(&mut batch);
            self.close_batch(&batch);
            for &number in &batch {
                self.window.wake(number, &mut self.woken);
                self.supply();
            }
            self.admit();
        }
        if !self.open.gates.is_empty() {
            self.close_batch(&[]);
        }
    }

    /// Moves the window past the gates that are placed, and fills it up.
    fn admit(&mut self) {
        loop {
            self.window.pass();
            if self.window.is_full() {
                break;
            }
            let wires = &*self.wires;
            let Some((wire, gate)) = self.rest.find(|&(wire, _)| wires.is_needed(wire)) else {
                break;
            };
            self.admit_gate(wire, gate);
        }
    }

    fn admit_gate(&mut self, wire: u32, gate: PackedGate) {
        let is_and = gate.is_and();
        let [a, b] = gate.wires().map(|wire| self.wires.literal(wire));
        let gate = Waiting {
            inputs: [a.min(b), a.max(b)],
            wire,
            readers: self.wires.readers(wire),
            is_and,
            is_taken: false,
            pending: 0,
        };
        let places = gate
            .inputs
            .map(|input| match self.wires.place(input.node()) {
                GateLocation::Waiting(place) => Some(place),
                GateLocation::Open(_) | GateLocation::Slot(_) => None,
            });
        let number = self.window.high;
        self.window.enter(gate, places);
        self.wires
            .put(wire, GateLocation::Waiting(Window::place(number)));
        if places == [None; 2] {
            self.woken.push(number);
            self.supply();
        }
    }

    /// The inputs of the woken gates are placed: AND gates are ready, XOR gates are placed at
    /// once, which may wake others.
    fn supply(&mut self) {
        while let Some(number) = self.woken.pop() {
            if self.window.gate(number).is_and {
                self.ready.push(Reverse(number));
            } else {
                self.take_xor(number);
                self.window.wake(number, &mut self.woken);
            }
        }
    }

    fn take_xor(&mut self, number: u32) {
        let gate = self.window.take(number);
        let sources = gate.inputs.map(Literal::node);
        let level_above = |source| match self.wires.place(source) {
            GateLocation::Open(level) => level + 1,
            GateLocation::Slot(_) => 0,
            GateLocation::Waiting(_) => unreachable!("wire {source} is still waited for"),
        };
        let [a, b] = sources.map(level_above);
        let level = a.max(b);
        self.wires.put(gate.wire, GateLocation::Open(level));
        self.open.push(OpenXor {
            sources,
            wire: gate.wire,
            readers: gate.readers,
            level,
        });
        if self.open.gates.len() == Program::MAX_SEGMENT_XORS {
            self.close_batch(&[]);
        }
    }

    /// Takes the next batch of the gates that are ready.
    fn take_batch(&mut self, batch: &mut Vec<u32>) {
        let mut width = self.ready.len().min(BATCH);
        if width > LANES {
            width -= width % LANES;
        }
        batch.clear();
        batch.extend(
            (0..width)
                .filter_map(|_| self.ready.pop())
                .map(|Reverse(number)| number),
        );
    }

    /// Closes the open batch with these AND gates: places its XOR gates, level by level, and them.
    fn close_batch(&mut self, ands: &[u32]) {
        let Self { done, wires, .. } = self;
        for gate in self.open.by_level() {
            done.push_xor(wires, gate);
        }
        for &number in ands {
            done.push_and(wires, self.window.take(number));
        }
        for &number in ands {
            for literal in self.window.gate(number).inputs {
                done.slots.release(wires.slot(literal.node()));
            }
        }
        done.append_batch(Batch {
            xors: self.open.gates.len() as u32,
            ands: ands.len() as u32,
        });
        done.slots.settle();
        self.open.clear();
    }
}

/// A XOR gate of the open batch.
struct OpenXor {
    sources: [u32; 2],
    wire: u32,
    readers: u32,
    /// One above the levels of those gates of the batch that it reads.
    level: u32,
}

/// The XOR gates of the open batch.
#[derive(Default)]
struct OpenXors {
    gates: Vec<OpenXor>,
    /// For each level how many gates it has, and then the place of its next in `order`.
    levels: Vec<u32>,
    order: Vec<u32>,
}

impl OpenXors {
    fn push(&mut self, gate: OpenXor) {
        let level = gate.level as usize;
        if level >= self.levels.len() {
            self.levels.resize(level + 1, 0);
        }
        self.levels[level] += 1;
        self.gates.push(gate);
    }

    /// The gates, level by level; those of a level in the order in which they came.
    fn by_level(&mut self) -> impl Iterator<Item = &OpenXor> {
        let mut start = 0;
        for level in &mut self.levels {
            start += core::mem::replace(level, start);
        }
        self.order.resize(self.gates.len(), 0);
        for (number, gate) in (0..).zip(&self.gates) {
            let place = &mut self.levels[gate.level as usize];
            self.order[*place as usize] = number;
            *place += 1;
        }
        self.order
            .iter()
            .map(|&number| &self.gates[number as usize])
    }

    fn clear(&mut self) {
        self.gates.clear();
        self.levels.clear();
    }
}

/// A gate in the window.
#[derive(Clone, Copy)]
struct Waiting {
    /// Its inputs; those of a XOR gate without their negations' meaning.
    inputs: [Literal; 2],
    wire: u32,
    readers: u32,
    is_and: bool,
    /// Whether it is in a batch.
    is_taken: bool,
    /// How many of its inputs are not in a batch yet.
    pending: u8,
}

/// The gates `low..high`, numbered as they come, in rings indexed by the lower bits of their
/// numbers.
struct Window {
    low: u32,
    high: u32,
    gates: Vec<Waiting>,
    /// The first input that waits for each gate: twice the place of the gate that it belongs to,
    /// its index 0 or 1 there, and 1 added to all; 0 is none.
    first_waiter: Vec<u32>,
    /// For both inputs of each gate, the next input that waits for the same gate.
    next_waiter: Vec<[u32; 2]>,
}

impl Window {
    fn new() -> Self {
        let size = WINDOW as usize;
        let none = Waiting {
            inputs: [Literal::FALSE; 2],
            wire: 0,
            readers: 0,
            is_and: false,
            is_taken: true,
            pending: 0,
        };
        Self {
            low: 0,
            high: 0,
            gates: vec![none; size],
            first_waiter: vec![0; size],
            next_waiter: vec![[0; 2]; size],
        }
    }

    fn place(number: u32) -> u32 {
        number & (WINDOW - 1)
    }

    fn gate(&self, number: u32) -> &Waiting {
        &self.gates[Self::place(number) as usize]
    }

    /// Takes gate `number` into a batch.
    fn take(&mut self, number: u32) -> &Waiting {
        let gate = &mut self.gates[Self::place(number) as usize];
        gate.is_taken = true;
        gate
    }

    /// Moves on past the oldest gates that are taken.
    fn pass(&mut self) {
        while self.low < self.high && self.gate(self.low).is_taken {
            self.low += 1;
        }
    }

    fn is_full(&self) -> bool {
        self.high - self.low == WINDOW
    }

    /// Puts the next gate into the window; its inputs wait for the gates at these places.
    fn enter(&mut self, gate: Waiting, waits: [Option<u32>; 2]) {
        debug_assert!(self.high - self.low < WINDOW);
        let place = Self::place(self.high);
        self.high += 1;
        self.first_waiter[place as usize] = 0;
        for (index, source) in (0..).zip(waits) {
            if let Some(source) = source {
                let first = &mut self.first_waiter[source as usize];
                self.next_waiter[place as usize][index as usize] = *first;
                *first = 2 * place + index + 1;
            }
        }
        self.gates[place as usize] = Waiting {
            pending: waits.iter().flatten().count() as u8,
            ..gate
        };
    }

    /// Gate `number` was taken: appends the gates that waited for nothing else to `woken`.
    fn wake(&mut self, number: u32, woken: &mut Vec<u32>) {
        let mut waiter = self.first_waiter[Self::place(number) as usize];
        while waiter != 0 {
            let (place, index) = ((waiter - 1) / 2, (waiter - 1) % 2);
            let pending = &mut self.gates[place as usize].pending;
            *pending -= 1;
            if *pending == 0 {
                woken.push(self.low + (place.wrapping_sub(self.low) & (WINDOW - 1)));
            }
            waiter = self.next_waiter[place as usize][index as usize];
        }
    }
}
