//! A checker for the invariants of programs.

use core::ops::Range;

use crate::{Batch, NEGATED, Output, Program};

/// `Ok` if an invariant holds, or a description of the violation.
type CheckResult = Result<(), String>;

impl Program {
    /// Checks the invariants that the module documents. Does not check the computed outputs.
    ///
    /// # Errors
    ///
    /// The first invariant that does not hold, which is a bug of the compiler.
    pub fn check_invariants(&self) -> CheckResult {
        self.check_segments()?;
        let mut checker = Checker::new(self);
        let (mut xor, mut and) = (0, 0);
        for (number, batch) in self.batches.iter().enumerate() {
            let end = (xor + batch.xors as usize, and + batch.ands as usize);
            let all = end.0 <= self.xors.len() && end.1 <= self.ands.len();
            ensure(all, || not_a_partition("batch", number))?;
            checker.batch(number, xor..end.0, and..end.1)?;
            (xor, and) = end;
        }
        let number = self.batches.len();
        let all = (xor, and) == (self.xors.len(), self.ands.len());
        ensure(all, || not_a_partition("batch", number))?;
        self.outputs.iter().try_for_each(|output| match *output {
            Output::Slot { slot, .. } => checker.read(number, slot),
            Output::Constant(_) => Ok(()),
        })
    }

    fn check_segments(&self) -> CheckResult {
        let (mut batch, mut xor, mut and) = (0, 0, 0);
        for (number, segment) in self.segments.iter().enumerate() {
            let broken = || not_a_partition("segment", number);
            let starts = (
                segment.batches.start,
                segment.xors.start,
                segment.ands.start,
            );
            ensure(starts == (batch, xor, and), broken)?;
            let batches = self.batches.get(segment.batches.clone());
            let batches = batches.ok_or_else(broken)?;
            let total = |count: fn(&Batch) -> u32| batches.iter().map(|b| count(b) as usize).sum();
            let (xors, ands): (usize, usize) = (total(|b| b.xors), total(|b| b.ands));
            (batch, xor, and) = (segment.batches.end, xor + xors, and + ands);
            let ends = (segment.xors.end, segment.ands.end);
            ensure(ends == (xor, and) && !batches.is_empty(), broken)?;
            let is_small = xors <= Self::MAX_SEGMENT_XORS && ands <= Self::MAX_SEGMENT_ANDS;
            ensure(is_small, || too_large("segment", number))?;
        }
        let all = batch == self.batches.len();
        ensure(all, || not_a_partition("segment", self.segments.len()))
    }
}

fn ensure(holds: bool, broken: impl FnOnce() -> String) -> CheckResult {
    if holds { Ok(()) } else { Err(broken()) }
}

fn too_large(what: &str, number: usize) -> String {
    format!("{what} {number} is past its bounds")
}

fn not_a_partition(what: &str, number: usize) -> String {
    format!("{what} {number} does not go on where the one before ends, or the last ends early")
}

/// Walks a program. Tracks which slots have been written, and the last batch that read each slot
/// and whose AND gates wrote it.
struct Checker<'a> {
    program: &'a Program,
    written: Vec<bool>,
    /// One more than the number of the last batch in which a gate reads the slot.
    read_by: Vec<usize>,
    /// One more than the number of the last batch in which an AND gate writes the slot.
    written_by: Vec<usize>,
}

impl<'a> Checker<'a> {
    fn new(program: &'a Program) -> Self {
        let slots = program.slots();
        Self {
            program,
            written: (0..slots).map(|slot| slot < program.inputs()).collect(),
            read_by: vec![0; slots],
            written_by: vec![0; slots],
        }
    }

    fn batch(&mut self, batch: usize, xors: Range<usize>, ands: Range<usize>) -> CheckResult {
        let is_small = ands.len() <= Program::MAX_BATCH_ANDS;
        ensure(is_small, || too_large("batch", batch))?;
        for gate in &self.program.xors[xors] {
            self.read_two(batch, gate.a, gate.b)?;
            self.write(batch, gate.out)?;
        }
        let ands = &self.program.ands[ands];
        for gate in ands {
            self.read_two(batch, gate.a & !NEGATED, gate.b & !NEGATED)?;
        }
        for gate in ands {
            let slot = gate.out;
            self.write(batch, slot)?;
            let at = slot as usize;
            // Ensures that no gate of the batch reads the slot and no other AND gate of the batch
            // writes it.
            let is_alone = self.read_by[at] != batch + 1 && self.written_by[at] != batch + 1;
            ensure(is_alone, || {
                format!("an AND gate of batch {batch} writes slot {slot}, which the batch uses")
            })?;
            self.written_by[at] = batch + 1;
        }
        Ok(())
    }

    fn read_two(&mut self, batch: usize, a: u32, b: u32) -> CheckResult {
        self.read(batch, a)?;
        self.read(batch, b)?;
        ensure(a != b, || {
            format!("a gate of batch {batch} reads slot {a} twice")
        })?;
        self.read_by[a as usize] = batch + 1;
        self.read_by[b as usize] = batch + 1;
        Ok(())
    }

    fn read(&self, batch: usize, slot: u32) -> CheckResult {
        self.check_slot(batch, slot)?;
        ensure(self.written[slot as usize], || {
            format!("batch {batch} reads slot {slot} before it is written")
        })
    }

    fn write(&mut self, batch: usize, slot: u32) -> CheckResult {
        self.check_slot(batch, slot)?;
        self.written[slot as usize] = true;
        Ok(())
    }

    fn check_slot(&self, batch: usize, slot: u32) -> CheckResult {
        let slots = self.program.slots;
        ensure(slot < slots, || {
            format!("batch {batch} names slot {slot} of {slots}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AndGate, Circuit, Gate, Port, Segment, Type, XorGate};

    /// Returns a program with one XOR gate and two AND gates in one batch.
    fn program() -> Program {
        let gates = [Gate::Xor(0, 1), Gate::And(2, 0), Gate::And(2, 1)];
        let input = Port::new("in", Type::bits(2));
        let output = Port::new("out", Type::bits(2));
        let circuit = Circuit::new(vec![input], vec![output], gates, vec![3, 4]).unwrap();
        let program = Program::compile(&circuit);
        assert_eq!(program.batches, [Batch { xors: 1, ands: 2 }]);
        assert_eq!(program.check_invariants(), Ok(()));
        program
    }

    fn broken(edit: impl FnOnce(&mut Program)) -> String {
        let mut program = program();
        edit(&mut program);
        program.check_invariants().unwrap_err()
    }

    #[test]
    fn slots_are_in_range_and_written_first() {
        assert_eq!(program().slots, 5);
        let out_of_range = |batch| format!("batch {batch} names slot 9 of 5");
        assert_eq!(broken(|p| p.ands[0].out = 9), out_of_range(0));
        assert_eq!(broken(|p| p.xors[0].a = 9), out_of_range(0));
        let output = Output::Slot {
            slot: 9,
            negated: false,
        };
        assert_eq!(broken(|p| p.outputs[0] = output), out_of_range(1));
        let unwritten = "batch 0 reads slot 4 before it is written";
        assert_eq!(broken(|p| p.ands[0].b = 4 | NEGATED), unwritten);
        assert_eq!(broken(|p| p.xors[0].b = 4), unwritten);
    }

    #[test]
    fn ands_of_a_batch_are_independent() {
        let shared =
            |slot| format!("an AND gate of batch 0 writes slot {slot}, which the batch uses");
        assert_eq!(
            broken(|p| p.ands[0].out = p.ands[1].out),
            shared(program().ands[1].out)
        );
        assert_eq!(
            broken(|p| p.ands[0].out = p.ands[1].b),
            shared(program().ands[1].b)
        );
        // This slot is read by a XOR gate of the batch only.
        let slot = program().ands[0].out;
        let xor = |a, b, out| XorGate { a, b, out };
        let edit = |p: &mut Program| {
            p.xors.push(xor(0, 2, 2));
            p.xors.insert(0, xor(0, 1, slot));
            p.xors[2].b = slot;
            (p.ands[1].a, p.ands[1].b) = (0, 1);
            p.batches[0].xors = 3;
            p.segments[0].xors.end = 3;
        };
        assert_eq!(broken(edit), shared(slot));
    }

    #[test]
    fn no_gate_reads_a_slot_twice() {
        let twice = |slot| format!("a gate of batch 0 reads slot {slot} twice");
        assert_eq!(
            broken(|p| p.ands[0].a = p.ands[0].b | NEGATED),
            twice(program().ands[0].b)
        );
        assert_eq!(
            broken(|p| p.xors[0].a = p.xors[0].b),
            twice(program().xors[0].b)
        );
    }

    #[test]
    fn batches_and_segments_are_bounded() {
        let many = |count: usize| vec![AndGate { a: 0, b: 1, out: 3 }; count];
        let edit = |p: &mut Program| {
            p.ands = many(Program::MAX_BATCH_ANDS + 1);
            p.batches[0].ands = p.ands.len() as u32;
            p.segments[0].ands.end = p.ands.len();
        };
        assert_eq!(broken(edit), too_large("batch", 0));
        let edit = |p: &mut Program| {
            p.ands = many(Program::MAX_SEGMENT_ANDS + 1);
            p.batches = vec![Batch { xors: 0, ands: 1 }; p.ands.len()];
            p.batches[0].xors = 1;
            let (batches, ands) = (p.batches.len(), p.ands.len());
            p.segments = vec![Segment {
                batches: 0..batches,
                xors: 0..1,
                ands: 0..ands,
            }];
        };
        assert_eq!(broken(edit), too_large("segment", 0));
    }

    #[test]
    fn batches_and_segments_hold_everything_once() {
        let batch = |number| not_a_partition("batch", number);
        let segment = |number| not_a_partition("segment", number);
        assert_eq!(broken(|p| p.segments.clear()), segment(0));
        assert_eq!(broken(|p| p.batches[0].ands = 1), segment(0));
        assert_eq!(broken(|p| p.segments[0].batches.end = 2), segment(0));
        assert_eq!(
            broken(|p| p.segments.push(p.segments[0].clone())),
            segment(1)
        );
        assert_eq!(broken(|p| p.batches.push(p.batches[0])), segment(1));
        assert_eq!(broken(|p| p.ands.truncate(1)), batch(0));
        assert_eq!(broken(|p| p.xors.push(p.xors[0])), batch(1));
    }
}
