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

use super::operands;
use super::slots::Slots;
use crate::netlist::{Literal, Netlist, Node};
use crate::{AndGate, Batch, NEGATED, Program, Segment, XorGate};

/// Gates that are looked at together; a power of two.
const WINDOW: u32 = 1 << 14;

/// Most AND gates of a batch that this compiler makes: enough for any pipeline, and few enough
/// that a batch's labels and hashes stay in a first-level cache.
const BATCH: usize = 512;

/// Wider batches than this are a multiple of it, since kernels take AND gates by eights; the
/// gates that are left stay ready.
const LANES: usize = 8;

const _: () = assert!(WINDOW.is_power_of_two() && BATCH <= Program::MAX_BATCH_ANDS);

/// A program's gates in their final order.
pub(super) struct Schedule {
    pub(super) slots: Slots,
    pub(super) xors: Vec<XorGate>,
    pub(super) ands: Vec<AndGate>,
    pub(super) batches: Vec<Batch>,
    pub(super) segments: Vec<Segment>,
}

impl Schedule {
    /// Schedules the gates of `netlist`, of which every one is needed by a root.
    pub(super) fn of(netlist: &Netlist, roots: &[Literal]) -> Self {
        let mut scheduler = Scheduler {
            netlist,
            done: Self {
                slots: Slots::new(netlist, roots),
                xors: Vec::new(),
                ands: Vec::new(),
                batches: Vec::new(),
                segments: Vec::new(),
            },
            window: Window::new(netlist.inputs()),
            ready: BinaryHeap::new(),
            woken: Vec::new(),
            open_xors: Vec::new(),
            ranks: Ranks::new(netlist),
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
}

struct Scheduler<'a> {
    netlist: &'a Netlist,
    done: Schedule,
    window: Window,
    /// AND gates whose inputs are placed, the oldest first.
    ready: BinaryHeap<Reverse<u32>>,
    /// Gates whose inputs are placed, not yet looked at.
    woken: Vec<u32>,
    /// XOR gates of the open batch.
    open_xors: Vec<u32>,
    ranks: Ranks,
}

impl Scheduler<'_> {
    fn run(&mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        self.admit();
        while !self.ready.is_empty() {
            self.take_batch(&mut batch);
            self.close_batch(&batch);
            for &node in &batch {
                self.window.wake(node, &mut self.woken);
                self.supply();
            }
            self.admit();
        }
        if !self.open_xors.is_empty() {
            self.close_batch(&[]);
        }
    }

    /// Moves the window past the gates that are placed, and fills it up.
    fn admit(&mut self) {
        let end = self.netlist.len() as u32;
        loop {
            let Window { low, high, .. } = self.window;
            if low < high && self.ranks.is_taken(low) {
                self.window.low += 1;
            } else if high < end && high - low < WINDOW {
                self.admit_gate(high);
            } else {
                break;
            }
        }
    }

    fn admit_gate(&mut self, node: u32) {
        let sources = operands(self.netlist.node(node)).map(Literal::node);
        let waits = sources.map(|source| !self.ranks.is_taken(source));
        self.window.enter(node, sources, waits);
        if waits == [false; 2] {
            self.woken.push(node);
            self.supply();
        }
    }

    /// The inputs of the woken gates are placed: AND gates are ready, XOR gates are placed at
    /// once, which may wake others.
    fn supply(&mut self) {
        while let Some(node) = self.woken.pop() {
            match self.netlist.node(node) {
                Node::Xor(a, b) => {
                    self.take_xor(node, [a.node(), b.node()]);
                    self.window.wake(node, &mut self.woken);
                }
                Node::And(..) => self.ready.push(Reverse(node)),
                Node::Input(_) => unreachable!("inputs are placed from the start"),
            }
        }
    }

    fn take_xor(&mut self, node: u32, sources: [u32; 2]) {
        self.ranks.take_xor(node, sources);
        self.open_xors.push(node);
        if self.open_xors.len() == Program::MAX_SEGMENT_XORS {
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
                .map(|Reverse(node)| node),
        );
    }

    /// Closes the open batch with these AND gates: places its XOR gates, level by level, and them.
    fn close_batch(&mut self, ands: &[u32]) {
        let mut xors = core::mem::take(&mut self.open_xors);
        xors.sort_by_key(|&node| self.ranks.of[node as usize]);
        for &node in &xors {
            self.place_xor(node);
        }
        for &node in ands {
            self.place_and(node);
        }
        let slots = &mut self.done.slots;
        for &node in ands {
            for literal in operands(self.netlist.node(node)) {
                slots.release(literal.node());
            }
        }
        self.done.append_batch(Batch {
            xors: xors.len() as u32,
            ands: ands.len() as u32,
        });
        self.done.slots.settle();
        self.ranks.close_batch(ands);
        xors.clear();
        self.open_xors = xors;
    }

    fn place_xor(&mut self, node: u32) {
        let slots = &mut self.done.slots;
        let sources = operands(self.netlist.node(node)).map(Literal::node);
        let [a, b] = sources.map(|source| slots.slot(source));
        for source in sources {
            slots.release(source);
        }
        let out = slots.place_xor(node);
        self.done.xors.push(XorGate { a, b, out });
    }

    fn place_and(&mut self, node: u32) {
        let slots = &mut self.done.slots;
        let negation = |literal: Literal| if literal.is_negated() { NEGATED } else { 0 };
        let input = |literal: Literal| slots.slot(literal.node()) | negation(literal);
        let [a, b] = operands(self.netlist.node(node)).map(input);
        let out = slots.place_and(node);
        self.done.ands.push(AndGate { a, b, out });
    }
}

/// Which gates are taken into batches, and the order of a batch's XOR gates.
struct Ranks {
    /// The rank of each node, 0 before it is taken. That of a XOR gate is above the ranks of its
    /// inputs and of whatever earlier batches hold.
    of: Vec<u32>,
    /// The highest rank of the batches before the open one.
    floor: u32,
    /// The highest rank of all.
    top: u32,
}

impl Ranks {
    fn new(netlist: &Netlist) -> Self {
        let mut of = vec![0; netlist.len()];
        of[..netlist.inputs() as usize].fill(1);
        Self {
            of,
            floor: 1,
            top: 1,
        }
    }

    fn is_taken(&self, node: u32) -> bool {
        self.of[node as usize] != 0
    }

    fn take_xor(&mut self, node: u32, [a, b]: [u32; 2]) {
        let (a, b) = (self.of[a as usize], self.of[b as usize]);
        let rank = 1 + a.max(b).max(self.floor);
        self.of[node as usize] = rank;
        self.top = self.top.max(rank);
    }

    fn close_batch(&mut self, ands: &[u32]) {
        self.floor = self.top;
        for &node in ands {
            self.of[node as usize] = self.floor;
        }
    }
}

/// What is known of the gates `low..high`, in rings indexed by the lower bits of their numbers.
struct Window {
    low: u32,
    high: u32,
    /// How many inputs of each gate are not placed yet.
    pending: Vec<u8>,
    /// The first input that waits for each gate: twice the place of the gate that it belongs to,
    /// its index 0 or 1 there, and 1 added to all; 0 is none.
    first_waiter: Vec<u32>,
    /// For both inputs of each gate, the next input that waits for the same gate.
    next_waiter: Vec<[u32; 2]>,
}

impl Window {
    fn new(first: u32) -> Self {
        let size = WINDOW as usize;
        Self {
            low: first,
            high: first,
            pending: vec![0; size],
            first_waiter: vec![0; size],
            next_waiter: vec![[0; 2]; size],
        }
    }

    fn place(node: u32) -> u32 {
        node & (WINDOW - 1)
    }

    /// Puts gate `node`, the next one, into the window; of its inputs, which other gates
    /// `sources` drive, those that are flagged wait.
    fn enter(&mut self, node: u32, sources: [u32; 2], waits: [bool; 2]) {
        debug_assert!(node == self.high && node - self.low < WINDOW);
        self.high += 1;
        let place = Self::place(node);
        self.first_waiter[place as usize] = 0;
        self.pending[place as usize] = waits.into_iter().map(u8::from).sum();
        for index in (0..2).filter(|&index| waits[index]) {
            let first = &mut self.first_waiter[Self::place(sources[index]) as usize];
            self.next_waiter[place as usize][index] = *first;
            *first = 2 * place + index as u32 + 1;
        }
    }

    /// Gate `node` was placed: appends the gates that waited for nothing else to `woken`.
    fn wake(&mut self, node: u32, woken: &mut Vec<u32>) {
        let mut waiter = self.first_waiter[Self::place(node) as usize];
        while waiter != 0 {
            let (place, index) = ((waiter - 1) / 2, (waiter - 1) % 2);
            self.pending[place as usize] -= 1;
            if self.pending[place as usize] == 0 {
                woken.push(self.low + (place.wrapping_sub(self.low) & (WINDOW - 1)));
            }
            waiter = self.next_waiter[place as usize][index as usize];
        }
    }
}
