//! Programs: what a circuit is compiled to for garbling.
//!
//! A program fixes gate numbers, the order of tables and where each wire's label is kept. Both
//! parties compute it for themselves from the circuit, so it depends on the circuit and on
//! [`Program::VERSION`] alone: never on the CPU, the cache or the number of threads.
//!
//! # Invariants
//!
//! A program is built only by `compile`, which guarantees, and tests check, that
//! 1. every slot named is below [`Program::slots`], and is written before it is read;
//! 2. the AND gates of one batch do not depend on each other: none writes a slot that any gate
//!    of the same batch reads, and no two write the same slot;
//! 3. no gate reads one slot twice (AND(x, x), XOR(x, x) and their negations are folded away);
//! 4. a batch has at most [`Program::MAX_BATCH_ANDS`] AND gates, a segment is a whole number of
//!    batches and has at most [`Program::MAX_SEGMENT_ANDS`] AND and
//!    [`Program::MAX_SEGMENT_XORS`] XOR gates;
//! 5. no INV gate is left: a negation is a flag on the AND input or the output that sees it.

use core::ops::Range;
use std::sync::OnceLock;

use crate::Digest;
use crate::ordering::WireOrdering;
use crate::xor_levels::XorLevels;

/// The bit of an [`AndGate`] input that says "negated"; the other 31 bits are the slot.
pub const NEGATED: u32 = 1 << 31;

/// `slots[out] = slots[a] XOR slots[b]`. Executed in order: `out` may be a slot read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct XorGate {
    /// Slot of the first input.
    pub a: u32,
    /// Slot of the second input.
    pub b: u32,
    /// Slot of the output.
    pub out: u32,
}

/// `slots[out] = (slots[a] ^ na) AND (slots[b] ^ nb)`, the negations in bit 31 of `a` and `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct AndGate {
    /// Slot of the first input, with [`NEGATED`].
    pub a: u32,
    /// Slot of the second input, with [`NEGATED`].
    pub b: u32,
    /// Slot of the output.
    pub out: u32,
}

/// XOR gates, in order, and then AND gates that do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// How many XOR gates.
    pub xors: u32,
    /// How many AND gates.
    pub ands: u32,
}

/// A run of batches whose tables travel together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its batches.
    pub batches: Range<usize>,
    /// Its XOR gates, as numbers: gate `xors.start` is the first.
    pub xors: Range<usize>,
    /// Its AND gates, as numbers.
    pub ands: Range<usize>,
}

/// Where an output bit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A slot's value, negated if the flag is set. One slot may serve several outputs.
    Slot {
        /// The slot, which keeps its value to the program's end.
        slot: u32,
        /// Whether the output is the negation of the slot's value.
        negated: bool,
    },
    /// The circuit computes a constant here.
    Constant(bool),
}

/// A circuit compiled for garbling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub(crate) digest: Digest,
    pub(crate) slots: u32,
    pub(crate) inputs: u32,
    pub(crate) xors: Vec<XorGate>,
    pub(crate) ands: Vec<AndGate>,
    pub(crate) batches: Vec<Batch>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) derived: Derived,
}

/// What follows from the rest of a program, each computed when it is first asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derived {
    pub(crate) xor_levels: OnceLock<XorLevels>,
    pub(crate) private_inputs: OnceLock<u64>,
    /// By rule.
    pub(crate) orderings: [OnceLock<Box<WireOrdering>>; 3],
    pub(crate) monotone_translations: OnceLock<u64>,
    /// SafeMon1 and SafeMon2.
    pub(crate) safe_translations: OnceLock<[u64; 2]>,
    head: OnceLock<Box<Program>>,
}

/// All are equal, since they belong to programs that are compared otherwise.
impl PartialEq for Derived {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Derived {}

impl Program {
    /// The compiler's version. A change of anything that it decides changes this number.
    pub const VERSION: u16 = 2;
    /// Most AND gates in a batch.
    pub const MAX_BATCH_ANDS: usize = 1024;
    /// Most AND gates in a segment.
    pub const MAX_SEGMENT_ANDS: usize = 2048;
    /// Most XOR gates in a segment.
    pub const MAX_SEGMENT_XORS: usize = 8192;

    /// Most segments of a program's [head](Program::head).
    const HEAD_SEGMENTS: usize = 64;

    /// The program's first segments, without outputs: what is measured in place of all of it. The
    /// program itself where it has few. Copied on the first call, and kept.
    #[must_use]
    pub fn head(&self) -> &Self {
        if self.segments.len() <= Self::HEAD_SEGMENTS {
            return self;
        }
        self.derived.head.get_or_init(|| {
            let segments = self.segments[..Self::HEAD_SEGMENTS].to_vec();
            let end = segments.last().expect("a program of many segments");
            Box::new(Self {
                digest: self.digest,
                slots: self.slots,
                inputs: self.inputs,
                xors: self.xors[..end.xors.end].to_vec(),
                ands: self.ands[..end.ands.end].to_vec(),
                batches: self.batches[..end.batches.end].to_vec(),
                outputs: Vec::new(),
                segments,
                derived: Derived::default(),
            })
        })
    }

    /// The digest of the circuit it was compiled from.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// How many labels are live at once at most. Input bit `i` starts in slot `i`.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots as usize
    }

    /// Number of input bits.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs as usize
    }

    /// All XOR gates, in order; a gate's number is its index.
    #[must_use]
    pub fn xors(&self) -> &[XorGate] {
        &self.xors
    }

    /// All AND gates, in order; a gate's number is its index.
    #[must_use]
    pub fn ands(&self) -> &[AndGate] {
        &self.ands
    }

    /// All batches, in order.
    #[must_use]
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// All segments, in order. Together they hold every batch once.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The output bits, in port order.
    #[must_use]
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }
}
