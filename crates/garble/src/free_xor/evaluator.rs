//! The evaluator, which has one label of each wire.

use core::fmt;

use subtle::ConstantTimeEq;
use tacit_circuit::{Output, Program};
use tacit_kernels::{Block, Kernel, Simd, TweakableHash};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::{Ands, FreeXor, OUTPUT_BYTES, Segment, TAG_BYTES, output_tag, output_tweak};
use crate::decoding::{self, Fit};
use crate::link::follow_offset_links;
use crate::walk::{Gates, Slots};
use crate::{DecodeError, Evaluator, StartPoint};

/// The evaluator's half of a scheme with free XOR. Wiped on drop.
#[derive(ZeroizeOnDrop)]
pub struct FreeXorEvaluator<A: Ands> {
    #[zeroize(skip)]
    scheme: FreeXor<A>,
    start: StartPoint,
    instance: u32,
    /// The next segment.
    next: usize,
    slots: Slots,
}

impl<A: Ands> FreeXorEvaluator<A> {
    pub(super) fn new(scheme: FreeXor<A>, start: StartPoint) -> Self {
        Self {
            scheme,
            start,
            instance: 0,
            next: 0,
            slots: Slots::default(),
        }
    }

    /// Implements [`Ands::evaluate_segment`].
    pub(crate) fn evaluate_next(&mut self, program: &Program, segment: usize, tables: &[u8]) {
        assert_eq!(segment, self.next, "segments are evaluated in order");
        self.next += 1;
        let gates = Gates::of(program, segment);
        assert_eq!(
            tables.len(),
            A::BYTES * gates.ands.len(),
            "tables hold the segment's AND gates"
        );
        self.scheme.cpu.dispatch(EvaluateSegment {
            ands: self.scheme.ands,
            of: Segment::new(self.start, self.instance, gates, &mut self.slots),
            tables,
        });
    }
}

impl<A: Ands> Evaluator for FreeXorEvaluator<A> {
    fn label_from_cot(&self, _index: u64, t: Block, _bit: bool) -> Block {
        t
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Block]) {
        self.slots.begin(program, inputs);
        self.instance = instance;
        self.next = 0;
    }

    fn evaluate(&mut self, program: &Program, segment: usize, tables: &[u8]) {
        A::evaluate_segment(self, program, segment, tables);
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>) {
        assert_eq!(
            self.next,
            program.segments().len(),
            "every segment is evaluated before the end"
        );
        outputs.extend(program.outputs().iter().map(|output| match *output {
            Output::Slot { slot, .. } => self.slots.get(slot),
            Output::Constant(_) => Block::ZERO,
        }));
    }

    fn follow_links(&self, _: StartPoint, _: u64, labels: &mut [Block], links: &[u8]) {
        follow_offset_links(labels, links);
    }

    fn decode(
        &self,
        first: u64,
        labels: &[Block],
        decoding: &[u8],
    ) -> Result<Zeroizing<Vec<bool>>, DecodeError> {
        let expected = OUTPUT_BYTES * labels.len();
        if decoding.len() != expected {
            return Err(DecodeError::WrongLength {
                expected,
                found: decoding.len(),
            });
        }
        let FreeXor { cpu, ands } = self.scheme;
        let mut hashes = Zeroizing::new(labels.to_vec());
        TweakableHash::on(cpu, ands.construction(), self.start)
            .hash(output_tweak(first), &mut hashes);
        let tags = decoding.chunks_exact(OUTPUT_BYTES);
        let fits = hashes.iter().zip(tags).map(|(hash, tags)| {
            let (zero, one) = tags.split_at(TAG_BYTES);
            let tag = Zeroizing::new(output_tag(*hash));
            Fit {
                zero: tag.ct_eq(zero),
                one: tag.ct_eq(one),
            }
        });
        decoding::values(first, fits).map_err(DecodeError::NeitherValue)
    }
}

impl<A: Ands> fmt::Debug for FreeXorEvaluator<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FreeXorEvaluator({:?})", self.scheme)
    }
}

/// The evaluation of one segment.
pub(crate) struct EvaluateSegment<'a, A> {
    pub(crate) ands: A,
    pub(crate) of: Segment<'a>,
    pub(crate) tables: &'a [u8],
}

impl<A: Ands> Kernel for EvaluateSegment<'_, A> {
    type Output = ();

    fn gains_by_width(&self) -> bool {
        self.of.gates.has_batches_of(self.ands.wide_from()[1])
    }

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.ands.evaluate(simd, self.of, self.tables);
    }
}
