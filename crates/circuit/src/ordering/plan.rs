//! From φ to translations, and to the levels of XOR gates between them.

use super::phi::Phi;
use super::walk::forwards;
use super::{Bridge, Level, Translation, WireOrdering};
use crate::{Program, XorGate};

/// A XOR gate of the current batch.
struct Pending {
    gate: XorGate,
    number: u32,
    /// Whether each input is translated.
    translated: [bool; 2],
    /// The φ of the gate's output.
    phi: u32,
    level: u32,
}

/// The levels of the gates that last read and wrote a slot within a batch.
#[derive(Clone, Copy, Default)]
struct Seen {
    batch: u32,
    read: u32,
    written: u32,
}

/// The plan under construction.
struct Planner<'p> {
    program: &'p Program,
    plan: WireOrdering,
    /// The φ of the value in each slot.
    phi: Vec<u32>,
    /// The number of each φ that is the target of a translation, or [`WireOrdering::UNNAMED`].
    names: Vec<u32>,
    seen: Vec<Seen>,
    batch: u32,
    pending: Vec<Pending>,
    /// The first translation of the current segment.
    segment_start: usize,
}

/// Returns the plan of `program` under the ordering `phi`.
pub(super) fn plan(program: &Program, phi: &Phi) -> WireOrdering {
    let slots = program.slots();
    let mut first = phi.inputs.clone();
    first.resize(slots, 0);
    let most = phi.inputs.iter().chain(&phi.ands).copied().max();
    let mut planner = Planner {
        program,
        plan: WireOrdering {
            offsets: 0,
            bridges: Vec::new(),
            translations: Vec::new(),
            xors: Vec::with_capacity(program.xors().len()),
            levels: Vec::new(),
            batch_levels: Vec::with_capacity(program.batches().len()),
            segment_translations: Vec::with_capacity(program.segments().len()),
            and_offsets: Vec::new(),
            scratch_slots: 0,
        },
        phi: first,
        names: vec![WireOrdering::UNNAMED; most.map_or(0, |most| most as usize + 1)],
        seen: vec![Seen::default(); slots],
        batch: 0,
        pending: Vec::new(),
        segment_start: 0,
    };
    planner.bridge(phi);
    let (mut xor, mut and) = (0, 0);
    for segment in program.segments() {
        for batch in &program.batches()[segment.batches.clone()] {
            planner.batch(phi, xor, batch.xors as usize);
            xor += batch.xors as usize;
            for number in and..and + batch.ands as usize {
                planner.phi[program.ands()[number].out as usize] = phi.ands[number];
            }
            and += batch.ands as usize;
        }
        planner.segment_start = planner.plan.translations.len();
        let end = planner.segment_start as u32;
        planner.plan.segment_translations.push(end);
    }
    planner.finish(phi)
}

impl Planner<'_> {
    /// Returns the number of the offset that `phi` stands for.
    fn name(&mut self, phi: u32) -> u32 {
        let name = &mut self.names[phi as usize];
        if *name == WireOrdering::UNNAMED {
            *name = self.plan.offsets;
            self.plan.offsets += 1;
        }
        *name
    }

    /// Bridges the inputs that a XOR gate reads.
    fn bridge(&mut self, phi: &Phi) {
        let inputs = self.program.inputs();
        let mut read = vec![false; inputs];
        let mut holds_input = vec![true; inputs];
        holds_input.resize(self.program.slots(), false);
        forwards(
            self.program,
            &mut (&mut read[..], &mut holds_input[..]),
            |(read, holds_input), _, gate, _| {
                for input in [gate.a as usize, gate.b as usize] {
                    if holds_input[input] {
                        read[input] = true;
                    }
                }
                holds_input[gate.out as usize] = false;
            },
            |(_, holds_input), _, gate| holds_input[gate.out as usize] = false,
        );
        for input in (0..inputs).filter(|&input| read[input]) {
            let offset = self.name(phi.inputs[input]);
            let input = input as u32;
            self.plan.bridges.push(Bridge { input, offset });
        }
    }

    /// Cuts the XOR gates of a batch into levels. A gate's level is above the levels of the inputs
    /// that it translates, and not below those of its other inputs. It is also not below the level
    /// of an earlier gate that reads or writes the slot that this gate writes. The gates of one
    /// level keep their order.
    fn batch(&mut self, phi: &Phi, first: usize, count: usize) {
        self.batch += 1;
        self.pending.clear();
        for number in first..first + count {
            let gate = self.program.xors()[number];
            let out = phi.xors[number];
            let translated = [gate.a, gate.b].map(|input| self.phi[input as usize] != out);
            self.phi[gate.out as usize] = out;
            let mut level = 0;
            for (input, translated) in [gate.a, gate.b].into_iter().zip(translated) {
                level = level.max(self.seen(input).written + u32::from(translated));
            }
            let slot = self.seen(gate.out);
            level = level.max(slot.read).max(slot.written);
            slot.written = level;
            for input in [gate.a, gate.b] {
                let seen = self.seen(input);
                seen.read = seen.read.max(level);
            }
            self.pending.push(Pending {
                gate,
                number: number as u32,
                translated,
                phi: out,
                level,
            });
        }
        self.emit();
    }

    /// Returns this batch's record of `slot`.
    fn seen(&mut self, slot: u32) -> &mut Seen {
        let seen = &mut self.seen[slot as usize];
        if seen.batch != self.batch {
            *seen = Seen {
                batch: self.batch,
                ..Seen::default()
            };
        }
        seen
    }

    /// Appends the pending gates, level by level.
    fn emit(&mut self) {
        let mut pending = core::mem::take(&mut self.pending);
        let mut place = (self.plan.translations.len() - self.segment_start) as u32;
        let places: Vec<u32> = pending
            .iter()
            .map(|gate| {
                let here = place;
                place += gate.translated.iter().map(|&t| u32::from(t)).sum::<u32>();
                here
            })
            .collect();
        let first = pending.first().map_or(0, |gate| gate.number);
        pending.sort_by_key(|gate| gate.level);
        for gates in pending.chunk_by(|a, b| a.level == b.level) {
            let scratch = self.program.slots() as u32;
            let mut translations = 0;
            for one in gates {
                let mut place = places[(one.number - first) as usize];
                let mut gate = one.gate;
                for (side, input) in [(0, &mut gate.a), (1, &mut gate.b)] {
                    if one.translated[side] {
                        let offset = self.name(one.phi);
                        self.plan.translations.push(Translation {
                            slot: *input,
                            xor: one.number,
                            packed: place << 1 | side as u32,
                            offset,
                        });
                        *input = scratch + translations;
                        translations += 1;
                        place += 1;
                    }
                }
                self.plan.xors.push(gate);
            }
            self.plan.scratch_slots = self.plan.scratch_slots.max(translations);
            let xors = gates.len() as u32;
            self.plan.levels.push(Level { translations, xors });
        }
        self.plan.batch_levels.push(self.plan.levels.len() as u32);
        self.pending = pending;
    }

    fn finish(mut self, phi: &Phi) -> WireOrdering {
        let mut and_offsets = Vec::with_capacity(phi.ands.len());
        for &phi_out in &phi.ands {
            let name = if phi.is_safe {
                self.names[phi_out as usize]
            } else {
                self.name(phi_out)
            };
            and_offsets.push(name);
        }
        self.plan.and_offsets = and_offsets;
        self.plan.translations.shrink_to_fit();
        self.plan.levels.shrink_to_fit();
        self.plan
    }
}
