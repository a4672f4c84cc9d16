//! The conformance suite can fail: it must find schemes with one fault each.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tacit_circuit::Program;
use tacit_garble::{DecodeError, Evaluator, Garbler, Prf, Scheme, SchemeId, StartPoint};
use tacit_kernels::Block;
use tacit_testkit::garbling::{conformance, refuses_other_labels};
use zeroize::Zeroizing;

type Wire = <Prf as Scheme>::Wire;

/// The fault of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// A bit of the tables is flipped by the garbler and flipped back by the evaluator.
    OtherTables,
    /// The last byte of the tables is not written.
    ByteLeftOut,
    /// The tables are stated to be a byte longer.
    LongerTables,
    /// All instances are garbled equally.
    OneInstance,
    /// The start point is ignored.
    OneStartPoint,
    /// A garbling depends on earlier garblings.
    Memory,
    /// Decoding information may be longer than it should.
    LooseLength,
    /// ⊥ is decoded as 0.
    LooseDecoding,
    /// An active label belongs to the other bit.
    OtherBit,
}

/// `prf-xor1-and3` with a fault.
#[derive(Clone, Copy)]
struct Faulty(Fault);

struct FaultyGarbler(<Prf as Scheme>::Garbler, Fault, u32);

struct FaultyEvaluator(<Prf as Scheme>::Evaluator, Fault);

impl Scheme for Faulty {
    type Wire = Wire;
    type Garbler = FaultyGarbler;
    type Evaluator = FaultyEvaluator;

    fn id(self) -> SchemeId {
        Prf::new().id()
    }

    fn table_bytes(self, program: &Program, segment: usize) -> usize {
        Prf::new().table_bytes(program, segment) + usize::from(self.0 == Fault::LongerTables)
    }

    fn decoding_bytes(self, outputs: usize) -> usize {
        Prf::new().decoding_bytes(outputs)
    }

    fn garbler(self, seed: [u8; 32], start: StartPoint, delta: Block) -> FaultyGarbler {
        let start = if self.0 == Fault::OneStartPoint {
            Block::ZERO
        } else {
            start
        };
        FaultyGarbler(Prf::new().garbler(seed, start, delta), self.0, 0)
    }

    fn evaluator(self, start: StartPoint) -> FaultyEvaluator {
        let start = if self.0 == Fault::OneStartPoint {
            Block::ZERO
        } else {
            start
        };
        FaultyEvaluator(Prf::new().evaluator(start), self.0)
    }
}

impl Garbler for FaultyGarbler {
    type Wire = Wire;

    fn wire_with_active(&mut self, active: Block, bit: bool) -> Wire {
        self.0
            .wire_with_active(active, bit ^ (self.1 == Fault::OtherBit))
    }

    fn wire_from_cot(&self, index: u64, q: Block) -> Wire {
        self.0.wire_from_cot(index, q)
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Wire]) {
        let instance = match self.1 {
            Fault::OneInstance => 0,
            Fault::Memory => instance + self.2,
            _ => instance,
        };
        self.2 += 1;
        self.0.begin(instance, program, inputs);
    }

    fn garble(&mut self, program: &Program, segment: usize, tables: &mut [u8]) {
        let last = tables.len().saturating_sub(1);
        match self.1 {
            Fault::LongerTables => self.0.garble(program, segment, &mut tables[..last]),
            Fault::ByteLeftOut if !tables.is_empty() => {
                let before = tables[last];
                self.0.garble(program, segment, tables);
                tables[last] = before;
            }
            Fault::OtherTables if !tables.is_empty() => {
                self.0.garble(program, segment, tables);
                tables[last] ^= 1;
            }
            _ => self.0.garble(program, segment, tables),
        }
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Wire>) {
        self.0.finish(program, outputs);
    }

    fn decoding(&self, first: u64, wires: &[Wire], out: &mut Vec<u8>) {
        self.0.decoding(first, wires, out);
    }

    fn label_with_select(&self, wire: &Wire, select: bool) -> (Block, bool) {
        self.0.label_with_select(wire, select)
    }
}

impl Evaluator for FaultyEvaluator {
    fn label_from_cot(&self, index: u64, t: Block, bit: bool) -> Block {
        self.0.label_from_cot(index, t, bit)
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Block]) {
        let instance = if self.1 == Fault::OneInstance {
            0
        } else {
            instance
        };
        self.0.begin(instance, program, inputs);
    }

    fn evaluate(&mut self, program: &Program, segment: usize, tables: &[u8]) {
        let mut tables = tables.to_vec();
        match (self.1, tables.last_mut()) {
            (Fault::OtherTables, Some(last)) => *last ^= 1,
            (Fault::LongerTables, Some(_)) => drop(tables.pop()),
            _ => {}
        }
        self.0.evaluate(program, segment, &tables);
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>) {
        self.0.finish(program, outputs);
    }

    fn decode(
        &self,
        first: u64,
        labels: &[Block],
        decoding: &[u8],
    ) -> Result<Zeroizing<Vec<bool>>, DecodeError> {
        let expected = 32 * labels.len();
        let decoding = match self.1 {
            Fault::LooseLength if decoding.len() > expected => &decoding[..expected],
            _ => decoding,
        };
        let decoded = self.0.decode(first, labels, decoding);
        match decoded {
            Err(DecodeError::NeitherValue(_)) if self.1 == Fault::LooseDecoding => {
                Ok(vec![false; labels.len()].into())
            }
            decoded => decoded,
        }
    }
}

fn passes(check: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(check)).is_ok()
}

#[test]
fn every_fault_is_found() {
    assert!(passes(|| conformance(Faulty(Fault::None))));
    assert!(passes(|| refuses_other_labels(Faulty(Fault::None))));
    let faults = [
        Fault::OtherTables,
        Fault::ByteLeftOut,
        Fault::LongerTables,
        Fault::OneInstance,
        Fault::OneStartPoint,
        Fault::Memory,
        Fault::LooseLength,
        Fault::OtherBit,
    ];
    for fault in faults {
        assert!(!passes(|| conformance(Faulty(fault))), "{fault:?} passes");
    }
    assert!(!passes(|| refuses_other_labels(Faulty(
        Fault::LooseDecoding
    ))));
}
