//! The placement of labels: slots for gates whose order is known.
//!
//! The XOR gates of a batch are ordered by level: first those that read no other XOR gate of the
//! batch, then those that read the first ones, and so on. Code that computes them one after the
//! other then rarely waits for a result that was only just stored. Garbling an AES-128 takes an
//! eighth less time.

use super::slots::Slots;
use super::wires::{GateLocation, Wires};
use crate::netlist::Literal;
use crate::{AndGate, Batch, NEGATED, Program, Segment, XorGate};

/// The greatest number of XOR gates of a batch.
pub(super) const OPEN: usize = Program::MAX_SEGMENT_XORS;

const _: () = assert!(OPEN <= GateLocation::MOST as usize);

/// A gate whose position in the order is known.
#[derive(Clone, Copy)]
pub(super) struct OrderedGate {
    /// The gate's inputs. For a XOR gate, the negations of the inputs have no meaning.
    pub(super) inputs: [Literal; 2],
    pub(super) wire: u32,
    pub(super) readers: u32,
}

/// Consecutive batches.
#[derive(Default)]
pub(super) struct OrderedBatches {
    /// The gates of each batch: first the XOR gates, in an order in which each gate follows those
    /// that it reads, and then the AND gates.
    pub(super) gates: Vec<OrderedGate>,
    pub(super) batches: Vec<Batch>,
}

impl OrderedBatches {
    pub(super) fn clear(&mut self) {
        self.gates.clear();
        self.batches.clear();
    }
}

/// The gates of a program in their final order.
pub(super) struct Placement {
    pub(super) slots: Slots,
    pub(super) xors: Vec<XorGate>,
    pub(super) ands: Vec<AndGate>,
    pub(super) batches: Vec<Batch>,
    pub(super) segments: Vec<Segment>,
}

/// Assigns slots to gates, batch by batch.
pub(super) struct Placer<'a> {
    wires: &'a Wires,
    done: Placement,
    open: OpenXors,
}

impl<'a> Placer<'a> {
    /// Creates a placer that has placed the inputs, but no gate.
    pub(super) fn new(inputs: u32, wires: &'a Wires) -> Self {
        let slots = Slots::new((0..inputs).map(|input| wires.readers(input)).collect());
        for input in 0..inputs {
            wires.put(input, GateLocation::slot(input));
        }
        Self {
            wires,
            done: Placement {
                slots,
                xors: Vec::with_capacity(wires.xors),
                ands: Vec::with_capacity(wires.ands),
                batches: Vec::new(),
                segments: Vec::new(),
            },
            open: OpenXors::new(),
        }
    }

    /// Places the next batches.
    pub(super) fn place(&mut self, next: &OrderedBatches) {
        let mut gates = next.gates.as_slice();
        for &batch in &next.batches {
            let xors = gates.split_off(..batch.xors as usize).expect("its gates");
            let ands = gates.split_off(..batch.ands as usize).expect("its gates");
            self.place_batch(xors, ands);
            self.done.append_batch(batch);
        }
    }

    fn place_batch(&mut self, xors: &[OrderedGate], ands: &[OrderedGate]) {
        let Self { done, wires, open } = self;
        for gate in xors {
            let sources = gate.inputs.map(|input| wires.location(input.node()));
            let place = open.push(sources, gate);
            wires.put(gate.wire, GateLocation::open(place));
        }
        open.place_by_level(|gate, sources| {
            let slot = done.push_xor(sources, gate.readers);
            wires.put(gate.wire, GateLocation::slot(slot));
            slot
        });
        let first = done.ands.len();
        for gate in ands {
            done.push_and(wires, gate);
        }
        for gate in &done.ands[first..] {
            done.slots.release(gate.a & !NEGATED);
            done.slots.release(gate.b & !NEGATED);
        }
        done.slots.settle();
    }

    /// Returns the placed gates, after the last batch.
    pub(super) fn finish(self) -> Placement {
        self.done
    }
}

impl Placement {
    /// Appends a batch, to the last segment if that has room for it.
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

    /// Places a XOR gate whose inputs are in these slots, and returns the slot of its output.
    #[inline]
    fn push_xor(&mut self, [a, b]: [u32; 2], readers: u32) -> u32 {
        self.slots.release(a);
        self.slots.release(b);
        let out = self.slots.take_for_xor(readers);
        self.xors.push(XorGate { a, b, out });
        out
    }

    fn push_and(&mut self, wires: &Wires, gate: &OrderedGate) {
        let negation = |literal: Literal| if literal.is_negated() { NEGATED } else { 0 };
        let input = |literal: Literal| wires.slot(literal.node()) | negation(literal);
        let [a, b] = gate.inputs.map(input);
        let out = self.slots.take_for_and(gate.readers);
        wires.put(gate.wire, GateLocation::slot(out));
        self.ands.push(AndGate { a, b, out });
    }
}

/// A XOR gate of the open batch.
struct OpenXor {
    sources: [GateLocation; 2],
    wire: u32,
    readers: u32,
    /// One more than the highest level of the gates of the batch that this gate reads.
    level: u32,
}

/// The XOR gates of the open batch.
struct OpenXors {
    gates: Vec<OpenXor>,
    /// For each gate one more than its level, and later its slot. The last entry is 0 and stands
    /// for all gates of earlier batches: no processor predicts which gates read those.
    noted: Box<[u32; OPEN + 1]>,
    /// For each level the number of its gates, and later the place of its next gate in `order`.
    levels: Box<[u32; OPEN]>,
    /// One more than the highest level of a gate.
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

    /// Appends a gate and returns its place.
    #[inline]
    fn push(&mut self, sources: [GateLocation; 2], gate: &OrderedGate) -> u32 {
        let [a, b] = sources.map(|source| self.noted[source.open_place_or(OPEN)]);
        let level = a.max(b);
        let place = self.gates.len();
        self.noted[place] = level + 1;
        self.height = self.height.max(level + 1);
        self.levels[level as usize] += 1;
        self.gates.push(OpenXor {
            sources,
            wire: gate.wire,
            readers: gate.readers,
            level,
        });
        place as u32
    }

    /// Takes the gates out level by level, and within a level in the order in which they came.
    /// `place` gets each gate with the slots that it reads, and returns the slot of the gate.
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
