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

use super::slots::Slots;
use super::window::{Stack, Waiting, Window};
use super::wires::{GateLocation, Wires};
use crate::circuit::PackedGate;
use crate::netlist::Literal;
use crate::{AndGate, Batch, Circuit, NEGATED, Program, Segment, XorGate};

/// Most AND gates of a batch that this compiler makes: enough for any pipeline, and few enough
/// that a batch's labels and hashes stay in a first-level cache.
const BATCH: usize = 512;

/// Wider batches than this are a multiple of it, since kernels take AND gates by eights; the
/// gates that are left stay ready.
const LANES: usize = 8;

/// Most XOR gates of a batch.
const OPEN: usize = Program::MAX_SEGMENT_XORS;

const _: () = assert!(BATCH <= Program::MAX_BATCH_ANDS && OPEN <= GateLocation::MOST as usize);

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
            wires.put(input, GateLocation::slot(input));
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
            woken: Stack::new(),
            open: OpenXors::new(),
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

    /// Places a XOR gate whose inputs are in these slots, and returns its own.
    #[inline]
    fn push_xor(&mut self, [a, b]: [u32; 2], readers: u32) -> u32 {
        self.slots.release(a);
        self.slots.release(b);
        let out = self.slots.take_for_xor(readers);
        self.xors.push(XorGate { a, b, out });
        out
    }

    fn push_and(&mut self, wires: &mut Wires, gate: &Waiting) {
        let negation = |literal: Literal| if literal.is_negated() { NEGATED } else { 0 };
        let input = |literal: Literal| wires.slot(literal.node()) | negation(literal);
        let [a, b] = gate.inputs.map(input);
        let out = self.slots.take_for_and(gate.readers);
        wires.put(gate.wire, GateLocation::slot(out));
        self.ands.push(AndGate { a, b, out });
    }
}

struct Scheduler<'a, G> {
    done: Schedule,
    /// The circuit's gates that were not looked at yet, and the wires that they drive.
    rest: G,
    wires: &'a mut Wires,
    window: Window,
    /// Places of gates that waited for their inputs and have them now, not yet looked at.
    woken: Stack,
    open: OpenXors,
}

impl<G: Iterator<Item = (u32, PackedGate)> + Clone> Scheduler<'_, G> {
    fn run(&mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        self.admit();
        while self.window.ready_count() > 0 {
            self.take_batch(&mut batch);
            self.close_batch(&batch);
            for &place in &batch {
                self.window.wake(place, &mut self.woken);
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
        // A variable of its own stays in registers.
        let mut rest = self.rest.clone();
        while self.window.has_room() {
            let Some((wire, gate)) = rest.next() else {
                break;
            };
            if self.wires.is_needed(wire) {
                self.admit_gate(wire, gate);
            }
        }
        self.rest = rest;
    }

    #[inline]
    fn admit_gate(&mut self, wire: u32, gate: PackedGate) {
        let [a, b] = gate.wires().map(|wire| self.wires.literal(wire));
        let inputs = [a.min(b), a.max(b)];
        let sources = inputs.map(|input| self.wires.location(input.node()));
        let readers = self.wires.readers(wire);
        let waits = sources.map(GateLocation::as_waiting);
        let has_inputs = waits == [None; 2];
        if has_inputs && !gate.is_and() {
            self.window.skip();
            self.open_xor(sources, wire, readers);
            return;
        }
        let gate = Waiting::new(inputs, wire, readers, gate.is_and());
        let place = self.window.enter(gate, waits);
        self.wires.put(wire, GateLocation::waiting(place));
        if has_inputs {
            self.window.make_ready(place);
        }
    }

    /// The inputs of the woken gates are placed: AND gates are ready, XOR gates are placed at
    /// once, which may wake others.
    fn supply(&mut self) {
        while let Some(place) = self.woken.pop() {
            if self.window.gate(place).is_and {
                self.window.make_ready(place);
                continue;
            }
            let &Waiting {
                inputs,
                wire,
                readers,
                ..
            } = self.window.take(place);
            let sources = inputs.map(|input| self.wires.location(input.node()));
            self.open_xor(sources, wire, readers);
            self.window.wake(place, &mut self.woken);
        }
    }

    /// Puts a XOR gate whose inputs are placed into the open batch.
    #[inline]
    fn open_xor(&mut self, sources: [GateLocation; 2], wire: u32, readers: u32) {
        let place = self.open.push(sources, wire, readers);
        self.wires.put(wire, GateLocation::open(place));
        if self.open.gates.len() == OPEN {
            self.close_batch(&[]);
        }
    }

    /// Takes the next batch of the gates that are ready.
    fn take_batch(&mut self, batch: &mut Vec<u32>) {
        let mut width = self.window.ready_count().min(BATCH);
        if width > LANES {
            width -= width % LANES;
        }
        batch.clear();
        self.window.take_ready(width, batch);
    }

    /// Closes the open batch with these AND gates: places its XOR gates, level by level, and them.
    fn close_batch(&mut self, ands: &[u32]) {
        let Self { done, wires, .. } = self;
        let xors = self.open.gates.len() as u32;
        self.open.place_by_level(|gate, sources| {
            let slot = done.push_xor(sources, gate.readers);
            wires.put(gate.wire, GateLocation::slot(slot));
            slot
        });
        let first = done.ands.len();
        for &place in ands {
            done.push_and(wires, self.window.take(place));
        }
        for gate in &done.ands[first..] {
            done.slots.release(gate.a & !NEGATED);
            done.slots.release(gate.b & !NEGATED);
        }
        done.append_batch(Batch {
            xors,
            ands: ands.len() as u32,
        });
        done.slots.settle();
    }
}

/// A XOR gate of the open batch.
struct OpenXor {
    sources: [GateLocation; 2],
    wire: u32,
    readers: u32,
    /// One above the levels of those gates of the batch that it reads.
    level: u32,
}

/// The XOR gates of the open batch.
struct OpenXors {
    gates: Vec<OpenXor>,
    /// For each of them one more than its level, and then its slot. The last is 0, and stands for
    /// all gates of earlier batches: no processor foresees which gates read those.
    noted: Box<[u32; OPEN + 1]>,
    /// For each level how many gates it has, and then the place of its next in `order`.
    levels: Box<[u32; OPEN]>,
    /// One above the highest level of a gate.
    height: u32,
    order: Vec<u32>,
}

impl OpenXors {
    fn new() -> Self {
        Self {
            gates: Vec::with_capacity(OPEN),
            noted: Box::new([0; OPEN + 1]),
            levels: Box::new([0; OPEN]),
            height: 0,
            order: Vec::new(),
        }
    }

    /// Appends a gate, and returns its place.
    #[inline]
    fn push(&mut self, sources: [GateLocation; 2], wire: u32, readers: u32) -> u32 {
        let [a, b] = sources.map(|source| self.noted[source.open_place_or(OPEN)]);
        let level = a.max(b);
        let place = self.gates.len();
        self.noted[place] = level + 1;
        self.height = self.height.max(level + 1);
        self.levels[level as usize] += 1;
        self.gates.push(OpenXor {
            sources,
            wire,
            readers,
            level,
        });
        place as u32
    }

    /// Takes the gates out, level by level, those of a level in the order in which they came.
    /// `place` is given each with the slots that it reads, and returns its slot.
    fn place_by_level(&mut self, mut place: impl FnMut(&OpenXor, [u32; 2]) -> u32) {
        let mut start = 0;
        let levels = &mut self.levels[..self.height as usize];
        for level in &mut *levels {
            start += core::mem::replace(level, start);
        }
        self.order.resize(self.gates.len(), 0);
        for (number, gate) in (0..).zip(&self.gates) {
            let next = &mut levels[gate.level as usize];
            self.order[*next as usize] = number;
            *next += 1;
        }
        for &number in &self.order {
            let gate = &self.gates[number as usize];
            let slots = gate.sources.map(|source| {
                let slot = self.noted[source.open_place_or(OPEN)];
                source.as_slot().unwrap_or(slot)
            });
            self.noted[number as usize] = place(gate, slots);
        }
        levels.fill(0);
        self.height = 0;
        self.gates.clear();
    }
}
