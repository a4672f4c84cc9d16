//! Garbling for comparison only, which no protocol uses: it does not implement
//! [`Scheme`](tacit_garble::Scheme), and this crate is the only one that has it.
//!
//! | what | file |
//! |---|---|
//! | half-gates under one public key for all gates, as in JustGarble and libgarble | `fixed_key` |
//! | three rows an AND gate under such a key, as in JustGarble | `fixed_key_and3` |
//!
//! Each is a rule for AND gates, walked through as the schemes' rules are.

mod fixed_key;
mod fixed_key_and3;
#[cfg(test)]
mod tests;

pub(crate) use fixed_key::FixedKeyHalfGates;
pub(crate) use fixed_key_and3::FixedKeyAnd3;

use tacit_circuit::{Output, Program};
use tacit_garble::rule::{Gates, Segment, Slots};
use tacit_kernels::{Block, Cpu, Kernel, Simd};

/// A rule for AND gates and what stands around it, where XOR is free.
pub(crate) trait Comparison: Copy {
    /// What it is called.
    const NAME: &'static str;
    /// Bytes of an AND gate's table.
    const AND_BYTES: usize;
    /// Cipher calls of an AND gate, of the garbler and of the evaluator.
    const CALLS: [u64; 2];

    /// Garbles a segment under this Δ, whose bit 0 is set.
    fn garble<S: Simd>(self, simd: S, of: Segment<'_>, delta: Block, tables: &mut [u8]);

    /// Evaluates a segment.
    fn evaluate<S: Simd>(self, simd: S, of: Segment<'_>, tables: &[u8]);
}

/// Bytes of a program's tables.
pub(crate) fn table_bytes<C: Comparison>(_: C, program: &Program) -> usize {
    C::AND_BYTES * program.ands().len()
}

/// One party: its slots, and what the other party has as well.
pub(crate) struct Party {
    pub(crate) cpu: Cpu,
    pub(crate) start: Block,
    pub(crate) instance: u32,
    slots: Slots,
}

impl Party {
    pub(crate) fn new(cpu: Cpu, start: Block, instance: u32) -> Self {
        Self {
            cpu,
            start,
            instance,
            slots: Slots::default(),
        }
    }

    /// Garbles `program`, given the inputs' labels of value 0; the outputs' go to `outputs`.
    pub(crate) fn garble<C: Comparison>(
        &mut self,
        what: C,
        delta: Block,
        program: &Program,
        inputs: &[Block],
        mut tables: &mut [u8],
        outputs: &mut Vec<Block>,
    ) {
        self.slots.begin(program, inputs);
        for segment in 0..program.segments().len() {
            let bytes = C::AND_BYTES * program.segments()[segment].ands.len();
            let these;
            (these, tables) = tables.split_at_mut(bytes);
            let of = Segment::new(
                self.start,
                self.instance,
                Gates::of(program, segment),
                &mut self.slots,
            );
            self.cpu.dispatch(Garble {
                what,
                of,
                delta,
                tables: these,
            });
        }
        self.outputs(program, delta, outputs);
    }

    /// Evaluates `program` on labels of its inputs; the outputs' go to `outputs`.
    pub(crate) fn evaluate<C: Comparison>(
        &mut self,
        what: C,
        program: &Program,
        inputs: &[Block],
        mut tables: &[u8],
        outputs: &mut Vec<Block>,
    ) {
        self.slots.begin(program, inputs);
        for segment in 0..program.segments().len() {
            let bytes = C::AND_BYTES * program.segments()[segment].ands.len();
            let these;
            (these, tables) = tables.split_at(bytes);
            let of = Segment::new(
                self.start,
                self.instance,
                Gates::of(program, segment),
                &mut self.slots,
            );
            self.cpu.dispatch(Evaluate {
                what,
                of,
                tables: these,
            });
        }
        self.outputs(program, Block::ZERO, outputs);
    }

    /// Adds the outputs' labels, given what a negation adds to one.
    fn outputs(&self, program: &Program, negation: Block, outputs: &mut Vec<Block>) {
        let negated = |negated: bool| if negated { negation } else { Block::ZERO };
        outputs.extend(program.outputs().iter().map(|output| match *output {
            Output::Slot { slot, negated: by } => self.slots.get(slot) ^ negated(by),
            Output::Constant(bit) => negated(bit),
        }));
    }
}

struct Garble<'a, C> {
    what: C,
    of: Segment<'a>,
    delta: Block,
    tables: &'a mut [u8],
}

impl<C: Comparison> Kernel for Garble<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.what.garble(simd, self.of, self.delta, self.tables);
    }
}

struct Evaluate<'a, C> {
    what: C,
    of: Segment<'a>,
    tables: &'a [u8],
}

impl<C: Comparison> Kernel for Evaluate<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.what.evaluate(simd, self.of, self.tables);
    }
}
