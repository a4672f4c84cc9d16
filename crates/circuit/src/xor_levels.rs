//! XOR gates by level, for schemes in which a XOR costs cipher calls. Gates that do not depend on
//! each other share the cipher's pipelines.
//!
//! The levels are derived from the program alone, once, and kept with it ([`Program::xor_levels`]).

use core::mem;

use crate::ordering::backwards;
use crate::{AndGate, NEGATED, Output, Program, XorGate};

/// A program's XOR gates, batch by batch, in levels of gates that do not depend on each other.
///
/// # Invariants
///
/// Executing a batch's gates in this order gives the same results as the program's own order. The
/// gates of a part of a level may be executed in steps of any size that read all their inputs
/// before they write:
/// 1. a gate's level is above the levels of the batch's gates that write its inputs;
/// 2. a slot is not written before all earlier readers of its previous value.
///
/// Each level begins with its gates whose input `b` is *private*: the output of a gate that only
/// this gate reads and that is no output of the program. The inputs of a gate are swapped if that
/// makes `b` private.
#[derive(Clone, Debug)]
pub struct XorLevels {
    gates: Vec<XorGate>,
    levels: Vec<XorLevel>,
    /// The number of levels of each batch and all batches before it.
    ends: Vec<u32>,
}

/// The numbers of gates of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XorLevel {
    /// The number of gates whose input `b` has no other use. These come first.
    pub private: u32,
    /// The number of all other gates.
    pub shared: u32,
}

impl XorLevels {
    /// Returns the gates, in the order of levels. A batch's gates have the same range here as in
    /// the program.
    pub fn gates(&self) -> &[XorGate] {
        &self.gates
    }

    /// Returns the levels of batch number `batch`.
    pub fn levels(&self, batch: usize) -> &[XorLevel] {
        let start = batch.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.levels[start as usize..self.ends[batch] as usize]
    }

    /// Sorts a program's gates.
    fn of(program: &Program) -> Self {
        let uses = Uses::of(program);
        let mut values = Values::new(program);
        let mut sorter = Sorter::new(program);
        let (mut xors, mut ands) = (program.xors(), program.ands());
        for batch in program.batches() {
            let of_batch = xors.split_off(..batch.xors as usize).expect("its gates");
            sorter.begin();
            for gate in of_batch {
                let [a, b] = [gate.a, gate.b].map(|slot| uses.is_private(values.in_slot(slot)));
                let gate = if a && !b {
                    XorGate {
                        a: gate.b,
                        b: gate.a,
                        out: gate.out,
                    }
                } else {
                    *gate
                };
                sorter.push(gate, a || b);
                values.write(gate.out);
            }
            sorter.end();
            for gate in ands.split_off(..batch.ands as usize).expect("its gates") {
                values.write(gate.out);
            }
        }
        sorter.sorted
    }
}

impl Program {
    /// Returns the XOR gates by level. The first call computes them, in time linear in the gates,
    /// and the program keeps them, in 12 bytes a gate.
    pub fn xor_levels(&self) -> &XorLevels {
        self.derived.xor_levels.get_or_init(|| XorLevels::of(self))
    }

    /// Returns the number of XOR gates with a private input, which is the sum of
    /// [`XorLevel::private`]. The first call counts them, without the levels, and the program keeps
    /// the count.
    pub fn private_inputs(&self) -> u64 {
        *self
            .derived
            .private_inputs
            .get_or_init(|| private_inputs(self))
    }
}

/// The value that each slot holds, by number. Inputs come first, then outputs of gates in the
/// program's order.
struct Values {
    in_slot: Vec<u32>,
    count: u32,
}

impl Values {
    fn new(program: &Program) -> Self {
        let mut in_slot: Vec<u32> = vec![0; program.slots()];
        for (value, slot) in (0..program.inputs).zip(&mut in_slot) {
            *slot = value;
        }
        Self {
            in_slot,
            count: program.inputs,
        }
    }

    fn in_slot(&self, slot: u32) -> u32 {
        self.in_slot[slot as usize]
    }

    fn write(&mut self, slot: u32) {
        self.in_slot[slot as usize] = self.count;
        self.count += 1;
    }
}

/// The number of uses of each value. Two means two or more.
struct Uses(Vec<u8>);

impl Uses {
    const MANY: u8 = 2;

    fn of(program: &Program) -> Self {
        let count = program.inputs() + program.xors().len() + program.ands().len();
        let mut uses = Self(vec![0; count]);
        // The caller of the program may use an input elsewhere.
        uses.0[..program.inputs()].fill(Self::MANY);
        let mut values = Values::new(program);
        let (mut xors, mut ands) = (program.xors(), program.ands());
        for batch in program.batches() {
            for gate in xors.split_off(..batch.xors as usize).expect("its gates") {
                uses.count(values.in_slot(gate.a));
                uses.count(values.in_slot(gate.b));
                values.write(gate.out);
            }
            let ands = ands.split_off(..batch.ands as usize).expect("its gates");
            for AndGate { a, b, .. } in ands {
                uses.count(values.in_slot(a & !NEGATED));
                uses.count(values.in_slot(b & !NEGATED));
            }
            ands.iter().for_each(|gate| values.write(gate.out));
        }
        for output in program.outputs() {
            if let Output::Slot { slot, .. } = output {
                uses.0[values.in_slot(*slot) as usize] = Self::MANY;
            }
        }
        uses
    }

    fn count(&mut self, value: u32) {
        let uses = &mut self.0[value as usize];
        *uses = (*uses + 1).min(Self::MANY);
    }

    fn is_private(&self, value: u32) -> bool {
        self.0[value as usize] == 1
    }
}

/// Returns the number of XOR gates with a private input. A single pass backwards meets the readers
/// of a value before the gate that writes it.
fn private_inputs(program: &Program) -> u64 {
    /// Nothing uses the slot's value so far.
    const NONE: u32 = u32::MAX;
    /// The user is not a single XOR gate, whose number would be the entry.
    const OTHER: u32 = u32::MAX - 1;
    let mut uses = vec![NONE; program.slots()];
    for output in program.outputs() {
        if let Output::Slot { slot, .. } = output {
            uses[*slot as usize] = OTHER;
        }
    }
    let gates = program.xors().len();
    // The last entry absorbs NONE and OTHER, so that the loop has no branch.
    let mut has_private = vec![false; gates + 1];
    let written = |uses: &mut [u32], has_private: &mut [bool], out: u32| {
        let user = mem::replace(&mut uses[out as usize], NONE);
        has_private[gates.min(user as usize)] = true;
    };
    backwards(
        program,
        &mut (&mut uses[..], &mut has_private[..]),
        |(uses, has_private), number, gate, _| {
            written(uses, has_private, gate.out);
            for input in [gate.a, gate.b] {
                let user = &mut uses[input as usize];
                *user = if *user == NONE { number as u32 } else { OTHER };
            }
        },
        |(uses, has_private), _, gate| {
            written(uses, has_private, gate.out);
            for input in [gate.a, gate.b] {
                uses[(input & !NEGATED) as usize] = OTHER;
            }
        },
    );
    let has_private = has_private[..gates].iter();
    has_private.map(|&has| u64::from(has)).sum()
}

/// Sorts the gates of one batch after another.
struct Sorter {
    sorted: XorLevels,
    /// The reads and writes of each slot in the open batch so far.
    slots: Vec<SlotUse>,
    /// The number of the open batch, from one.
    batch: u32,
    /// The batch's gates, and the rank of each.
    gates: Vec<(u32, XorGate)>,
}

/// The ranks of the gates of a batch that last read and wrote a slot, or 0 if none did.
#[derive(Clone, Copy, Default)]
struct SlotUse {
    batch: u32,
    read: u32,
    written: u32,
}

impl Sorter {
    fn new(program: &Program) -> Self {
        Self {
            sorted: XorLevels {
                gates: Vec::with_capacity(program.xors().len()),
                levels: Vec::new(),
                ends: Vec::with_capacity(program.batches().len()),
            },
            slots: vec![SlotUse::default(); program.slots()],
            batch: 0,
            gates: Vec::new(),
        }
    }

    fn begin(&mut self) {
        self.batch += 1;
        self.gates.clear();
    }

    /// Takes the batch's next gate. Its rank is twice its level, counted from one, plus one if its
    /// input b is not private.
    fn push(&mut self, gate: XorGate, private: bool) {
        let second = u32::from(!private);
        let [a, b, out] = [gate.a, gate.b, gate.out].map(|slot| self.touched(slot));
        let inputs = a.written.max(b.written) / 2 + 1;
        let earlier = out.read.max(out.written + 1);
        let level = inputs.max((earlier + 1 - second) / 2);
        let rank = 2 * level + second;
        for slot in [gate.a, gate.b] {
            let read = &mut self.slots[slot as usize].read;
            *read = (*read).max(rank);
        }
        self.slots[gate.out as usize].written = rank;
        self.gates.push((rank, gate));
    }

    fn touched(&mut self, slot: u32) -> SlotUse {
        let touched = &mut self.slots[slot as usize];
        if touched.batch != self.batch {
            *touched = SlotUse {
                batch: self.batch,
                ..SlotUse::default()
            };
        }
        *touched
    }

    /// Appends the batch's gates, level by level. The sort is stable.
    fn end(&mut self) {
        self.gates.sort_by_key(|(rank, _)| *rank);
        let sorted = &mut self.sorted;
        let before = sorted.levels.len();
        for (rank, gate) in &self.gates {
            let level = before + *rank as usize / 2 - 1;
            if sorted.levels.len() <= level {
                sorted.levels.resize(level + 1, XorLevel::default());
            }
            match rank % 2 {
                0 => sorted.levels[level].private += 1,
                _ => sorted.levels[level].shared += 1,
            }
            sorted.gates.push(*gate);
        }
        sorted.ends.push(sorted.levels.len() as u32);
    }
}

#[cfg(test)]
mod tests;
