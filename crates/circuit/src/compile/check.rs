//! A checker of the invariants that a program promises.

use thiserror::Error;

use crate::{Batch, NEGATED, Output, Program};

/// An invariant of [`Program`] that does not hold: a fault of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BrokenInvariant {
    /// A slot that the program does not have.
    #[error("batch {batch} names slot {slot} of {slots}")]
    SlotOutOfRange {
        /// The batch; that after the last for an output.
        batch: usize,
        /// The slot.
        slot: u32,
        /// Slots of the program.
        slots: u32,
    },
    /// A slot that is read before anything was written to it.
    #[error("batch {batch} reads slot {slot} before it is written")]
    ReadBeforeWrite {
        /// The batch; that after the last for an output.
        batch: usize,
        /// The slot.
        slot: u32,
    },
    /// An AND gate that writes a slot which another gate of the same batch reads, or another AND
    /// gate writes.
    #[error("an AND gate of batch {batch} writes slot {slot}, which the batch uses otherwise")]
    DependentAnds {
        /// The batch.
        batch: usize,
        /// The slot.
        slot: u32,
    },
    /// A gate that reads one slot twice.
    #[error("a gate of batch {batch} reads slot {slot} twice")]
    ReadsTwice {
        /// The batch.
        batch: usize,
        /// The slot.
        slot: u32,
    },
    /// A batch or a segment past its bounds.
    #[error("{what} {number} is past its bounds")]
    TooLarge {
        /// `batch` or `segment`.
        what: &'static str,
        /// Its number.
        number: usize,
    },
    /// Batches that do not hold every gate once, or segments that do not hold every batch once.
    #[error("{what} {number} does not go on where the one before ends, or the last ends early")]
    NotAPartition {
        /// `batch` or `segment`.
        what: &'static str,
        /// Its number.
        number: usize,
    },
}

impl Program {
    /// Checks the invariants that the module documents, but for what the outputs compute.
    ///
    /// # Errors
    ///
    /// The first invariant that does not hold.
    pub fn check_invariants(&self) -> Result<(), BrokenInvariant> {
        self.check_segments()?;
        let mut checker = Checker::new(self);
        let (mut xor, mut and) = (0, 0);
        for (number, batch) in self.batches.iter().enumerate() {
            let end = (xor + batch.xors as usize, and + batch.ands as usize);
            if end.0 > self.xors.len() || end.1 > self.ands.len() {
                return Err(BrokenInvariant::NotAPartition {
                    what: "batch",
                    number,
                });
            }
            checker.batch(number, xor..end.0, and..end.1)?;
            (xor, and) = end;
        }
        let number = self.batches.len();
        if (xor, and) != (self.xors.len(), self.ands.len()) {
            return Err(BrokenInvariant::NotAPartition {
                what: "batch",
                number,
            });
        }
        self.outputs.iter().try_for_each(|output| match *output {
            Output::Slot { slot, .. } => checker.read(number, slot),
            Output::Constant(_) => Ok(()),
        })
    }

    fn check_segments(&self) -> Result<(), BrokenInvariant> {
        let (mut batch, mut xor, mut and) = (0, 0, 0);
        for (number, segment) in self.segments.iter().enumerate() {
            let starts = (
                segment.batches.start,
                segment.xors.start,
                segment.ands.start,
            );
            let batches = self.batches.get(segment.batches.clone());
            let Some(batches) = batches.filter(|_| starts == (batch, xor, and)) else {
                return Err(BrokenInvariant::NotAPartition {
                    what: "segment",
                    number,
                });
            };
            let total = |count: fn(&Batch) -> u32| batches.iter().map(|b| count(b) as usize).sum();
            let (xors, ands): (usize, usize) = (total(|b| b.xors), total(|b| b.ands));
            (batch, xor, and) = (segment.batches.end, xor + xors, and + ands);
            if (segment.xors.end, segment.ands.end) != (xor, and) || segment.batches.is_empty() {
                return Err(BrokenInvariant::NotAPartition {
                    what: "segment",
                    number,
                });
            }
            if xors > Self::MAX_SEGMENT_XORS || ands > Self::MAX_SEGMENT_ANDS {
                return Err(BrokenInvariant::TooLarge {
                    what: "segment",
                    number,
                });
            }
        }
        if batch != self.batches.len() {
            let number = self.segments.len();
            return Err(BrokenInvariant::NotAPartition {
                what: "segment",
                number,
            });
        }
        Ok(())
    }
}

/// Walks a program and knows which slots were written, and by which batch they were last read,
/// and written by AND gates.
struct Checker<'a> {
    program: &'a Program,
    written: Vec<bool>,
    /// One more than the last batch of which a gate reads the slot.
    read_by: Vec<usize>,
    /// One more than the last batch of which an AND gate writes the slot.
    written_by: Vec<usize>,
}

impl<'a> Checker<'a> {
    fn new(program: &'a Program) -> Self {
        let slots = program.slots();
        let mut written = vec![false; slots];
        written
            .iter_mut()
            .take(program.inputs())
            .for_each(|slot| *slot = true);
        Self {
            program,
            written,
            read_by: vec![0; slots],
            written_by: vec![0; slots],
        }
    }

    fn batch(
        &mut self,
        batch: usize,
        xors: core::ops::Range<usize>,
        ands: core::ops::Range<usize>,
    ) -> Result<(), BrokenInvariant> {
        if ands.len() > Program::MAX_BATCH_ANDS {
            return Err(BrokenInvariant::TooLarge {
                what: "batch",
                number: batch,
            });
        }
        for gate in &self.program.xors[xors] {
            self.read_two(batch, gate.a, gate.b)?;
            self.write(batch, gate.out)?;
        }
        let ands = &self.program.ands[ands];
        for gate in ands {
            let (a, b) = (gate.a & !NEGATED, gate.b & !NEGATED);
            self.read_two(batch, a, b)?;
        }
        for gate in ands {
            let slot = gate.out;
            self.write(batch, slot)?;
            let at = slot as usize;
            if self.read_by[at] == batch + 1 || self.written_by[at] == batch + 1 {
                return Err(BrokenInvariant::DependentAnds { batch, slot });
            }
            self.written_by[at] = batch + 1;
        }
        Ok(())
    }

    fn read_two(&mut self, batch: usize, a: u32, b: u32) -> Result<(), BrokenInvariant> {
        self.read(batch, a)?;
        self.read(batch, b)?;
        if a == b {
            return Err(BrokenInvariant::ReadsTwice { batch, slot: a });
        }
        self.read_by[a as usize] = batch + 1;
        self.read_by[b as usize] = batch + 1;
        Ok(())
    }

    fn read(&self, batch: usize, slot: u32) -> Result<(), BrokenInvariant> {
        match self.written.get(slot as usize) {
            Some(true) => Ok(()),
            Some(false) => Err(BrokenInvariant::ReadBeforeWrite { batch, slot }),
            None => Err(self.out_of_range(batch, slot)),
        }
    }

    fn write(&mut self, batch: usize, slot: u32) -> Result<(), BrokenInvariant> {
        let error = self.out_of_range(batch, slot);
        *self.written.get_mut(slot as usize).ok_or(error)? = true;
        Ok(())
    }

    fn out_of_range(&self, batch: usize, slot: u32) -> BrokenInvariant {
        BrokenInvariant::SlotOutOfRange {
            batch,
            slot,
            slots: self.program.slots,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AndGate, Circuit, Gate, Port, Segment, Type, XorGate};

    /// One XOR gate and two AND gates in one batch.
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

    fn broken(edit: impl FnOnce(&mut Program)) -> BrokenInvariant {
        let mut program = program();
        edit(&mut program);
        program.check_invariants().unwrap_err()
    }

    #[test]
    fn slots_are_in_range_and_written_first() {
        let slots = 5;
        let out_of_range = |batch| BrokenInvariant::SlotOutOfRange {
            batch,
            slot: 9,
            slots,
        };
        assert_eq!(program().slots, slots);
        assert_eq!(broken(|p| p.ands[0].out = 9), out_of_range(0));
        assert_eq!(broken(|p| p.xors[0].a = 9), out_of_range(0));
        let output = Output::Slot {
            slot: 9,
            negated: false,
        };
        assert_eq!(broken(|p| p.outputs[0] = output), out_of_range(1));
        let unwritten = BrokenInvariant::ReadBeforeWrite { batch: 0, slot: 4 };
        assert_eq!(broken(|p| p.ands[0].b = 4 | NEGATED), unwritten);
        assert_eq!(broken(|p| p.xors[0].b = 4), unwritten);
    }

    #[test]
    fn ands_of_a_batch_are_independent() {
        let shared = |slot| BrokenInvariant::DependentAnds { batch: 0, slot };
        assert_eq!(
            broken(|p| p.ands[0].out = p.ands[1].out),
            shared(program().ands[1].out)
        );
        assert_eq!(
            broken(|p| p.ands[0].out = p.ands[1].b),
            shared(program().ands[1].b)
        );
        // A slot that only a XOR gate of the batch reads.
        let (slot, gate) = (program().ands[0].out, AndGate { a: 0, b: 1, out: 0 });
        let edit = |p: &mut Program| {
            p.xors.push(XorGate { a: 0, b: 2, out: 2 });
            p.xors.insert(
                0,
                XorGate {
                    a: 0,
                    b: 1,
                    out: slot,
                },
            );
            p.xors[2].b = slot;
            p.ands[1] = AndGate {
                out: p.ands[1].out,
                ..gate
            };
            p.batches[0].xors = 3;
            p.segments[0].xors.end = 3;
        };
        assert_eq!(broken(edit), shared(slot));
    }

    #[test]
    fn no_gate_reads_a_slot_twice() {
        let twice = |slot| BrokenInvariant::ReadsTwice { batch: 0, slot };
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
        assert_eq!(
            broken(edit),
            BrokenInvariant::TooLarge {
                what: "batch",
                number: 0
            }
        );
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
        assert_eq!(
            broken(edit),
            BrokenInvariant::TooLarge {
                what: "segment",
                number: 0
            }
        );
    }

    #[test]
    fn batches_and_segments_hold_everything_once() {
        let batch = |number| BrokenInvariant::NotAPartition {
            what: "batch",
            number,
        };
        let segment = |number| BrokenInvariant::NotAPartition {
            what: "segment",
            number,
        };
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
