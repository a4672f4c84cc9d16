//! The common part of all schemes with free XOR: wires with one global offset Δ, their links and
//! their decoding. Each scheme has its own rule for AND gates.
//!
//! Kolesnikov and Schneider, "Improved garbled circuit: free XOR gates and applications" (ICALP
//! 2008), with point-and-permute on bit 0 of a label. W^0 is a wire's label of value 0 and W^1 =
//! W^0 ⊕ Δ; the label of a XOR is the sum of its inputs'. NOT is free: the garbler adds Δ, the
//! evaluator does nothing.
//!
//! **Decoding**: for each output j the tags of W^0 and of W^1, 16 bytes; a tag is the first 8 bytes
//! of H(W, (out, j)). A label with neither tag is ⊥, so a table that was damaged on its way never
//! gives a result. (Bit 0 of W^0 alone, as in the papers, would decode any label to some value.) A
//! constant output has the label 0 for its value.

pub(crate) mod evaluator;
pub(crate) mod garbler;

pub use evaluator::FreeXorEvaluator;
pub use garbler::FreeXorGarbler;

use core::fmt::Debug;

use tacit_circuit::Program;
use tacit_kernels::{Block, Construction, Cpu, Simd, SlotView, Tweak, Use};

use crate::link::OFFSET_LINK_BYTES;
use crate::walk::{Gates, Slots};
use crate::{Scheme, SchemeId, StartPoint, WholeGarbling};

/// The bytes of an output's tag for one value.
const TAG_BYTES: usize = 8;

/// The bytes of an output's decoding information.
const OUTPUT_BYTES: usize = 2 * TAG_BYTES;

/// Returns the tweak of output number `number`. Its instance is 0: outputs are numbered across
/// instances.
const fn output_tweak(number: u64) -> Tweak {
    Tweak {
        usage: Use::Out,
        instance: 0,
        number,
        a: 0,
        b: 0,
    }
}

/// Returns the tag of an output label with this hash.
fn output_tag(hash: Block) -> [u8; TAG_BYTES] {
    let mut tag = [0; TAG_BYTES];
    tag.copy_from_slice(&hash.to_bytes()[..TAG_BYTES]);
    tag
}

/// The data that a segment's garbling and evaluation start with: the start point of its hashes, the
/// instance, the gates, and the labels by slot.
pub struct Segment<'a> {
    /// The start point.
    pub start: StartPoint,
    /// The instance.
    pub instance: u32,
    /// The gates.
    pub gates: Gates<'a>,
    /// The labels.
    pub slots: SlotView<'a>,
}

impl<'a> Segment<'a> {
    /// Returns the segment with these gates of a program whose labels are in `slots`.
    pub fn new(start: StartPoint, instance: u32, gates: Gates<'a>, slots: &'a mut Slots) -> Self {
        Self {
            start,
            instance,
            gates,
            slots: SlotView::new(slots.as_mut_slice()),
        }
    }
}

/// The secrets for garbling a segment.
#[derive(Clone, Copy)]
pub struct Secrets<'a> {
    /// Δ.
    pub delta: &'a Block,
    /// The random blocks, from that of the segment's first AND gate on.
    pub coins: &'a [Block],
}

/// The AND gates of a scheme with free XOR.
pub trait Ands: Copy + Debug + Send + Sync + 'static {
    /// The bytes of an AND gate's table.
    const BYTES: usize;
    /// The number of AND gates that share a random block of the garbler; 0 if it needs none.
    const GATES_A_COIN: u64;

    /// Returns the scheme's id.
    fn id(self) -> SchemeId;

    /// Returns the hash of its outputs' labels.
    fn construction(self) -> Construction;

    /// Returns the average number of AND gates per batch from which garbling and evaluating gain by
    /// [width](tacit_kernels::Kernel::gains_by_width).
    fn wide_from(self) -> [usize; 2] {
        [usize::MAX; 2]
    }

    /// Garbles a segment.
    fn garble<S: Simd>(self, simd: S, of: Segment<'_>, with: Secrets<'_>, tables: &mut [u8]);

    /// Evaluates a segment.
    fn evaluate<S: Simd>(self, simd: S, of: Segment<'_>, tables: &[u8]);

    /// Garbles the next segment.
    fn garble_segment(
        garbler: &mut FreeXorGarbler<Self>,
        program: &Program,
        segment: usize,
        tables: &mut [u8],
    );

    /// Evaluates the next segment.
    fn evaluate_segment(
        evaluator: &mut FreeXorEvaluator<Self>,
        program: &Program,
        segment: usize,
        tables: &[u8],
    );

    /// Implements [`Scheme::garble_side_by_side`].
    fn garble_side_by_side(
        scheme: FreeXor<Self>,
        instance: u32,
        program: &Program,
        garblings: &mut [WholeGarbling<'_, FreeXor<Self>>],
    ) {
        for one in garblings {
            one.garble(scheme, instance, program);
        }
    }
}

/// A scheme with free XOR and these AND gates.
#[derive(Clone, Copy, Debug)]
pub struct FreeXor<A> {
    pub(crate) cpu: Cpu,
    pub(crate) ands: A,
}

impl<A: Ands> Scheme for FreeXor<A> {
    type Wire = Block;
    type Garbler = FreeXorGarbler<A>;
    type Evaluator = FreeXorEvaluator<A>;

    fn id(self) -> SchemeId {
        self.ands.id()
    }

    fn table_bytes(self, program: &Program, segment: usize) -> usize {
        A::BYTES * program.segments()[segment].ands.len()
    }

    fn decoding_bytes(self, outputs: usize) -> usize {
        OUTPUT_BYTES * outputs
    }

    fn link_bytes(self) -> usize {
        OFFSET_LINK_BYTES
    }

    /// The seed is not used if the AND gates need no random blocks: Δ, the start point, the
    /// instance and the input wires determine the garbling.
    fn garbler(self, seed: [u8; 32], start: StartPoint, delta: Block) -> FreeXorGarbler<A> {
        FreeXorGarbler::new(self, seed, start, delta)
    }

    fn evaluator(self, start: StartPoint) -> FreeXorEvaluator<A> {
        FreeXorEvaluator::new(self, start)
    }

    fn garble_side_by_side(
        self,
        instance: u32,
        program: &Program,
        garblings: &mut [WholeGarbling<'_, Self>],
    ) {
        A::garble_side_by_side(self, instance, program, garblings);
    }
}
