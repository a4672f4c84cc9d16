//! `related-key-…` and `circular-…`: wires with offsets, and a hash keyed by labels.
//!
//! XOR is free among wires of one offset. These schemes differ in the number of offsets and in the
//! form of an AND gate. All of them call F(k, x) = `AES_k(x)`, where k is bits 1 to 127 of a label.
//!
//! | scheme | offsets | AND | assumption on F |
//! |---|---|---|---|
//! | `related-key-monotone` | one for each level | three rows | related keys, no circularity |
//! | `related-key-safemon1`, `-safemon2` | each AND gate makes its own | two rows | the same |
//! | `circular-and3` | Δ | three rows | related keys and circularity |
//! | `circular-half-gates` | Δ | half-gates | the same |
//!
//! **Related keys**: Gueron, Lindell, Nof and Pinkas, "Fast garbling of circuits under standard
//! assumptions" (2015), section 5, after Kolesnikov, Mohassel and Rosulek, "FleXOR" (CRYPTO 2014).
//! The orderings are those of [`tacit_circuit::OrderingRule`]. A wire that a XOR gate needs under
//! another offset is *translated* to it in one ciphertext ([`rows`]). An input of the program that
//! a XOR gate reads is translated at the start of the program, since inputs come with any offset.
//!
//! **Circular**: free XOR (Kolesnikov and Schneider, ICALP 2008), with AND in three rows or as
//! half-gates (Zahur, Rosulek and Evans, EUROCRYPT 2015).
//!
//! **Assumption.** Related keys: F is pseudorandom under keys that differ by secret random offsets,
//! none of which is encrypted under a key that has it. Circular: F also hides b Δ if Δ is the
//! difference of its keys, in the sense of Choi, Katz, Kumaresan and Zhou ("On the security of the
//! free-XOR technique", TCC 2012). No σ and no feed-forward is needed, because an attacker that
//! does not know the key can invert nothing.
//!
//! **Deviations.** (1) The two inputs of a gate have points of their own. (2) In the two-row AND
//! the output's permute bit is not random but makes the first of the four bits, t_0, zero, so that
//! three are sent: 257 bits, not 258.
//!
//! **Tables** of a segment: in the first segment, a ciphertext for each bridged input; one for each
//! translation, by gate and side; the rows of each AND gate; and for two rows a bit for each AND
//! gate, eight per byte. A ciphertext has 16 bytes with bit 0 zero, which the evaluator ignores.
//!
//! **Links** are one label under the circular schemes, in which all wires have Δ, and two hashed
//! ciphertexts under the related-key ones, in which they do not.
//!
//! **Cost** of a translation: 127 bits, 2 cipher calls and key schedules for the garbler, 1 for
//! the evaluator; of an AND: 384 bits (three rows) or 257 (two), 8 calls and 4 key schedules, and
//! 2 and 2; as half-gates 256 bits, 4 calls and key schedules, and 2 and 2.
//!
//! **Concrete security**: 126 bits. No two gates share a point, and at most two unknown keys are
//! used at one, so work on one gate does not help against another.

mod evaluator;
mod garbler;
mod rows;

pub use evaluator::FlexOrEvaluator;
pub use garbler::FlexOrGarbler;

use tacit_circuit::{AndGate, OrderingRule, Program, Translation, WireOrdering, XorGate};
use tacit_kernels::{Block, Cpu, wiping_stack};

use crate::link::{HASHED_LINK_BYTES, OFFSET_LINK_BYTES};
use crate::prf_calls::DECODING_BYTES;
use crate::{LabelPair, Scheme, SchemeId, StartPoint};

/// The bytes of a translation's ciphertext.
const CIPHERTEXT_BYTES: usize = Block::BYTES;
/// The number of gates that are processed together: enough to keep the cipher busy, and few enough
/// for the keys and points to stay in the first-level cache.
const TOGETHER: usize = 64;

/// The form of a scheme with offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlexOrForm {
    /// `related-key-…`: offsets by an ordering.
    RelatedKey(OrderingRule),
    /// `circular-and3`.
    CircularAnd3,
    /// `circular-half-gates`.
    CircularHalfGates,
}

/// The form of an AND gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AndForm {
    ThreeRows,
    TwoRows,
    HalfGates,
}

impl AndForm {
    /// Returns the bytes of a gate's rows.
    const fn row_bytes(self) -> usize {
        match self {
            Self::ThreeRows => 3 * Block::BYTES,
            Self::TwoRows | Self::HalfGates => 2 * Block::BYTES,
        }
    }

    /// Returns the bytes for the bits that `gates` gates have next to their rows.
    const fn bit_bytes(self, gates: usize) -> usize {
        match self {
            Self::TwoRows => gates.div_ceil(8),
            Self::ThreeRows | Self::HalfGates => 0,
        }
    }
}

impl FlexOrForm {
    /// Returns the ordering, if there is more than one offset.
    pub const fn rule(self) -> Option<OrderingRule> {
        match self {
            Self::RelatedKey(rule) => Some(rule),
            Self::CircularAnd3 | Self::CircularHalfGates => None,
        }
    }

    /// Returns whether all wires have the offset Δ.
    const fn is_circular(self) -> bool {
        self.rule().is_none()
    }

    const fn and(self) -> AndForm {
        match self {
            Self::RelatedKey(OrderingRule::Monotone) | Self::CircularAnd3 => AndForm::ThreeRows,
            Self::RelatedKey(_) => AndForm::TwoRows,
            Self::CircularHalfGates => AndForm::HalfGates,
        }
    }
}

/// A scheme with offsets. See the module's header.
#[derive(Clone, Copy, Debug)]
pub struct FlexOr {
    cpu: Cpu,
    form: FlexOrForm,
}

impl FlexOr {
    /// Returns the scheme, on this CPU's fastest backend.
    pub fn new(form: FlexOrForm) -> Self {
        Self::on(Cpu::detect(), form)
    }

    /// Returns the scheme on a given backend. All backends compute the same bits.
    pub const fn on(cpu: Cpu, form: FlexOrForm) -> Self {
        Self { cpu, form }
    }
}

/// The ends of the parts of a segment's tables.
#[derive(Clone, Copy)]
struct Layout {
    bridges: usize,
    translations: usize,
    rows: usize,
    bits: usize,
}

impl Layout {
    fn of(form: FlexOrForm, program: &Program, segment: usize) -> Self {
        let ands = program.segments()[segment].ands.len();
        let (bridges, translations) = form.rule().map_or((0, 0), |rule| {
            let plan = program.ordering(rule);
            let bridges = if segment == 0 {
                plan.bridges().len()
            } else {
                0
            };
            (bridges, plan.segment_translations(segment).len())
        });
        Self {
            bridges: CIPHERTEXT_BYTES * bridges,
            translations: CIPHERTEXT_BYTES * translations,
            rows: form.and().row_bytes() * ands,
            bits: form.and().bit_bytes(ands),
        }
    }

    const fn bytes(self) -> usize {
        self.bridges + self.translations + self.rows + self.bits
    }
}

/// A translation of any kind.
#[derive(Clone, Copy)]
struct Step {
    from: u32,
    to: u32,
    number: usize,
    side: u8,
    offset: u32,
    /// The place of its ciphertext.
    place: usize,
}

/// The side in the point of a bridged input.
const BRIDGE_SIDE: u8 = 2;

impl Step {
    /// Returns the translations that bring inputs to the program's offsets.
    fn bridges(plan: &WireOrdering) -> impl Iterator<Item = Self> {
        (0..).zip(plan.bridges()).map(|(place, bridge)| Self {
            from: bridge.input,
            to: bridge.input,
            number: bridge.input as usize,
            side: BRIDGE_SIDE,
            offset: bridge.offset,
            place,
        })
    }

    /// Returns the translations of a level, into the slots from `scratch` on.
    fn level(scratch: usize, level: &[Translation]) -> impl Iterator<Item = Self> {
        (scratch as u32..).zip(level).map(|(to, one)| Self {
            from: one.slot,
            to,
            number: one.xor as usize,
            side: one.side(),
            offset: one.offset,
            place: one.place(),
        })
    }
}

/// A part of a segment.
enum Part<'a> {
    /// Translations of inputs, which do not wait for each other.
    Bridge(&'a [Step]),
    /// Translations for XOR gates, which do not wait for each other.
    Translate(&'a [Step]),
    /// XOR gates, in order.
    Xor(&'a [XorGate]),
    /// AND gates that do not wait for each other, from number `first` on. The first is number `at`
    /// of its segment.
    And {
        first: usize,
        gates: &'a [AndGate],
        at: usize,
    },
}

/// Walks through a segment, for either party, and then wipes the stack. Passes at most [`TOGETHER`]
/// translations or AND gates at once.
fn walk(form: FlexOrForm, program: &Program, number: usize, each: impl FnMut(Part<'_>)) {
    wiping_stack(|| walk_through(form, program, number, each));
}

/// Implements [`walk`] without the wiping.
fn walk_through(
    form: FlexOrForm,
    program: &Program,
    number: usize,
    mut each: impl FnMut(Part<'_>),
) {
    let plan = form.rule().map(|rule| program.ordering(rule));
    let mut chunk = Vec::with_capacity(TOGETHER);
    let mut translations = &[][..];
    let mut xors = program.xors();
    if let Some(plan) = plan {
        if number == 0 {
            together(&mut chunk, Step::bridges(plan), |steps| {
                each(Part::Bridge(steps));
            });
        }
        translations = &plan.translations()[plan.segment_translations(number)];
        xors = plan.xors();
    }
    let segment = &program.segments()[number];
    let (mut xor, mut and) = (segment.xors.start, segment.ands.start);
    for batch_number in segment.batches.clone() {
        let batch = &program.batches()[batch_number];
        let end = xor + batch.xors as usize;
        match plan {
            None => each(Part::Xor(&xors[xor..end])),
            Some(plan) => {
                for level in plan.levels(batch_number) {
                    let these;
                    (these, translations) = translations.split_at(level.translations as usize);
                    let steps = Step::level(program.slots(), these);
                    together(&mut chunk, steps, |steps| each(Part::Translate(steps)));
                    each(Part::Xor(&xors[xor..xor + level.xors as usize]));
                    xor += level.xors as usize;
                }
            }
        }
        xor = end;
        let ands = &program.ands()[and..and + batch.ands as usize];
        for gates in ands.chunks(TOGETHER) {
            let (first, at) = (and, and - segment.ands.start);
            each(Part::And { first, gates, at });
            and += gates.len();
        }
    }
}

/// Passes these steps to `translate`, at most [`TOGETHER`] at once, through `chunk`.
fn together(
    chunk: &mut Vec<Step>,
    mut steps: impl Iterator<Item = Step>,
    mut translate: impl FnMut(&[Step]),
) {
    loop {
        chunk.clear();
        chunk.extend(steps.by_ref().take(TOGETHER));
        if chunk.is_empty() {
            return;
        }
        translate(chunk);
    }
}

impl Scheme for FlexOr {
    type Wire = LabelPair;
    type Garbler = FlexOrGarbler;
    type Evaluator = FlexOrEvaluator;

    fn id(self) -> SchemeId {
        match self.form {
            FlexOrForm::RelatedKey(OrderingRule::Monotone) => SchemeId::RELATED_KEY_MONOTONE,
            FlexOrForm::RelatedKey(OrderingRule::SafeMon1) => SchemeId::RELATED_KEY_SAFEMON1,
            FlexOrForm::RelatedKey(OrderingRule::SafeMon2) => SchemeId::RELATED_KEY_SAFEMON2,
            FlexOrForm::CircularAnd3 => SchemeId::CIRCULAR_AND3,
            FlexOrForm::CircularHalfGates => SchemeId::CIRCULAR_HALF_GATES,
        }
    }

    fn table_bytes(self, program: &Program, segment: usize) -> usize {
        Layout::of(self.form, program, segment).bytes()
    }

    fn decoding_bytes(self, outputs: usize) -> usize {
        DECODING_BYTES * outputs
    }

    fn link_bytes(self) -> usize {
        if self.form.is_circular() {
            OFFSET_LINK_BYTES
        } else {
            HASHED_LINK_BYTES
        }
    }

    fn garbler(self, seed: [u8; 32], start: StartPoint, delta: Block) -> FlexOrGarbler {
        FlexOrGarbler::new(self.cpu, self.form, seed, start, delta)
    }

    fn evaluator(self, start: StartPoint) -> FlexOrEvaluator {
        FlexOrEvaluator::new(self.cpu, self.form, start)
    }
}
