//! The order of gates: list scheduling in a window that slides over the given order.
//!
//! The window holds the gates from the oldest one not yet taken up to [`WINDOW`] further on. A XOR
//! gate is taken as soon as its inputs are. An AND gate is ready once its inputs are taken, and the
//! oldest ready AND gates, at most [`BATCH`], make the next batch. The oldest gate of the window is
//! always taken or ready, so the window always moves on. A chain of AND gates costs one batch a
//! gate, which is unavoidable, and nothing more. A wide circuit fills its batches without looking
//! further ahead than the window.
//!
//! # Constants
//!
//! The constants were chosen by measurements on one AES-128, 160 of them, SHA-256 and random
//! circuits. A window of 2^14 gates is half an AES-128. Doubling the window widens the batches of
//! 160 copies from 158 to 202 AND gates, but not those of a single copy. The ciphers' pipelines are
//! full from about 16 AND gates on. Doubling also raises SHA-256's live labels from 1152 to 1495.
//! Another variant placed XOR gates late, only when an AND gate needs them. It saves one live label
//! in a hundred and narrows batches by a third.

use core::mem;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use super::place::{OPEN, OrderedBatches, OrderedGate, Placement, Placer};
use super::window::{Stack, WaitingGate, Window};
use super::wires::{GateLocation, Wires};
use crate::circuit::PackedGate;
use crate::{Batch, Circuit, Program};

/// The greatest number of AND gates of a batch that this compiler makes. It is enough for any
/// pipeline, and small enough that a batch's labels and hashes stay in a first-level cache.
const BATCH: usize = 512;

/// Wider batches than this are a multiple of it, since kernels take AND gates by eights. The
/// remaining gates stay ready.
const LANES: usize = 8;

const _: () = assert!(BATCH <= Program::MAX_BATCH_ANDS);

/// The number of gates after which the batches so far are handed over to be placed.
const PART: usize = 1 << 12;
/// The number of such parts that may wait to be placed.
const AHEAD: usize = 4;

/// Orders and places the remaining gates of `circuit` that are needed. `wires` then holds the
/// location of each gate. If `spawns` is set and the platform has threads, a second thread orders
/// gates while this one places earlier ones.
pub(super) fn schedule(circuit: &Circuit, wires: &Wires, spawns: bool) -> Placement {
    let mut placer = Placer::new(circuit.input_bits() as u32, wires);
    let is_done = spawns && place_behind(circuit, wires, &mut placer);
    if !is_done {
        order(circuit, wires, |part| {
            placer.place(part);
            part.clear();
        });
    }
    placer.finish()
}

/// Places gates that another thread orders. Returns false, and does nothing, if no thread can be
/// started.
fn place_behind(circuit: &Circuit, wires: &Wires, placer: &mut Placer<'_>) -> bool {
    thread::scope(|scope| {
        let (sender, parts) = sync_channel(AHEAD);
        let (used, spare) = channel();
        let order_ahead = move || {
            order(circuit, wires, |part| {
                let next = spare.try_recv().unwrap_or_default();
                // Sending fails only if the placer has panicked, which ends the other thread.
                let _ = sender.send(mem::replace(part, next));
            });
        };
        if thread::Builder::new()
            .spawn_scoped(scope, order_ahead)
            .is_err()
        {
            return false;
        }
        for mut part in parts {
            placer.place(&part);
            part.clear();
            let _ = used.send(part);
        }
        true
    })
}

/// Orders the remaining gates that are needed. Calls `hand_over` with batches of at least [`PART`]
/// gates at a time; `hand_over` leaves the part empty. All inputs are placed already.
fn order(circuit: &Circuit, wires: &Wires, hand_over: impl FnMut(&mut OrderedBatches)) {
    let mut scheduler = Scheduler {
        rest: (circuit.input_bits() as u32..).zip(circuit.packed_gates()),
        wires,
        window: Window::new(),
        woken: Stack::new(),
        part: OrderedBatches::default(),
        open: 0,
        hand_over,
    };
    scheduler.run();
    (scheduler.hand_over)(&mut scheduler.part);
}

struct Scheduler<'a, G, H> {
    /// The gates that the scheduler has not looked at yet, and the wires that they drive.
    rest: G,
    wires: &'a Wires,
    window: Window,
    /// The places of gates that waited for their inputs and now have them, but have not been looked
    /// at.
    woken: Stack,
    /// The batches that are not yet handed over, followed by the XOR gates of the open batch.
    part: OrderedBatches,
    /// The number of XOR gates of the open batch.
    open: usize,
    hand_over: H,
}

impl<G, H> Scheduler<'_, G, H>
where
    G: Iterator<Item = (u32, PackedGate)> + Clone,
    H: FnMut(&mut OrderedBatches),
{
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
        if self.open > 0 {
            self.close_batch(&[]);
        }
    }

    /// Moves the window past the gates that are taken, and refills it.
    fn admit(&mut self) {
        // A local variable stays in registers.
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
        let has_inputs = !(sources[0].is_waiting() | sources[1].is_waiting());
        if has_inputs && !gate.is_and() {
            self.window.skip();
            self.open_xor(OrderedGate {
                inputs,
                wire,
                readers,
            });
            return;
        }
        let gate = WaitingGate::new(inputs, wire, readers, gate.is_and());
        let place = self.window.enter(gate, sources);
        self.wires.put(wire, GateLocation::waiting(place));
        if has_inputs {
            self.window.make_ready(place);
        }
    }

    /// Handles the woken gates, whose inputs are now taken. AND gates become ready. XOR gates are
    /// taken at once, which may wake others.
    fn supply(&mut self) {
        while let Some(place) = self.woken.pop() {
            if self.window.gate(place).is_and {
                self.window.make_ready(place);
                continue;
            }
            let gate = self.window.take(place).ordered();
            self.open_xor(gate);
            self.window.wake(place, &mut self.woken);
        }
    }

    /// Puts a XOR gate whose inputs are taken into the open batch.
    #[inline]
    fn open_xor(&mut self, gate: OrderedGate) {
        self.take(gate);
        self.open += 1;
        if self.open == OPEN {
            self.close_batch(&[]);
        }
    }

    #[inline]
    fn take(&mut self, gate: OrderedGate) {
        self.wires.put(gate.wire, GateLocation::TAKEN);
        self.part.gates.push(gate);
    }

    /// Takes the next batch from the ready gates.
    fn take_batch(&mut self, batch: &mut Vec<u32>) {
        let mut width = self.window.ready_count().min(BATCH);
        if width > LANES {
            width -= width % LANES;
        }
        batch.clear();
        self.window.take_ready(width, batch);
    }

    /// Closes the open batch with these AND gates.
    fn close_batch(&mut self, ands: &[u32]) {
        for &place in ands {
            let gate = self.window.take(place).ordered();
            self.take(gate);
        }
        self.part.batches.push(Batch {
            xors: mem::take(&mut self.open) as u32,
            ands: ands.len() as u32,
        });
        if self.part.gates.len() >= PART {
            (self.hand_over)(&mut self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Builder;

    #[test]
    fn another_thread_changes_nothing() {
        let builder = Builder::new();
        let (a, b) = (builder.uint("a", 64), builder.uint("b", 64));
        let product = (0..8).fold(a, |product, _| &product * &b);
        builder.output("product", &product);
        let circuit = builder.finish().expect("a circuit");
        assert!(circuit.gate_count() > (AHEAD + 2) * PART);
        let [apart, alone] = [true, false].map(|spawns| {
            let placed = schedule(&circuit, &Wires::of(&circuit), spawns);
            (
                placed.slots.count(),
                placed.xors,
                placed.ands,
                placed.batches,
                placed.segments,
            )
        });
        assert_eq!(apart, alone);
    }
}
