//! Programs: circuits compiled for garbling.
//!
//! A program fixes the numbers of gates, the order of tables, and the place of each wire's label.
//! Each party computes the program from the circuit, so it depends only on the circuit and on
//! [`Program::VERSION`]: never on the CPU, the cache or the number of threads.
//!
//! # Invariants
//!
//! Only `compile` builds programs. It guarantees, and tests check:
//! 1. every slot named is below [`Program::slots`], and is written before it is read;
//! 2. the AND gates of one batch do not depend on each other: none writes a slot that any gate of
//!    the same batch reads, and no two write the same slot;
//! 3. no gate reads one slot twice (AND(x, x), XOR(x, x) and their negations are folded away);
//! 4. a batch has at most [`Program::MAX_BATCH_ANDS`] AND gates. A segment is a whole number of
//!    batches and has at most [`Program::MAX_SEGMENT_ANDS`] AND gates and
//!    [`Program::MAX_SEGMENT_XORS`] XOR gates;
//! 5. no INV gate is left: a negation is a flag on the AND input or the output that reads it.

use core::ops::Range;
use std::sync::OnceLock;

use crate::Digest;
use crate::ordering::WireOrdering;
use crate::xor_levels::XorLevels;

/// The bit of an [`AndGate`] input that marks a negation. The other 31 bits are the slot.
pub const NEGATED: u32 = 1 << 31;

/// `slots[out] = slots[a] XOR slots[b]`. XOR gates are executed in order, and `out` may be a slot
/// that an earlier gate reads.
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

/// `slots[out] = (slots[a] ^ na) AND (slots[b] ^ nb)`. The negations are in bit 31 of `a` and `b`.
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

/// XOR gates, in order, followed by AND gates that do not depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The number of XOR gates.
    pub xors: u32,
    /// The number of AND gates.
    pub ands: u32,
}

/// A run of batches whose tables are sent together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The segment's batches.
    pub batches: Range<usize>,
    /// The segment's XOR gates, by number: gate `xors.start` is the first.
    pub xors: Range<usize>,
    /// The segment's AND gates, by number.
    pub ands: Range<usize>,
}

/// The source of an output bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A slot's value, negated if the flag is set. One slot may serve several outputs.
    Slot {
        /// The slot, which keeps its value to the program's end.
        slot: u32,
        /// Whether the output is the negation of the slot's value.
        negated: bool,
    },
    /// A constant that the circuit computes.
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

/// Values derived from the rest of a program, each computed at its first use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derived {
    pub(crate) xor_levels: OnceLock<XorLevels>,
    pub(crate) private_inputs: OnceLock<u64>,
    /// The orderings, by rule.
    pub(crate) orderings: [OnceLock<Box<WireOrdering>>; 3],
    pub(crate) monotone_translations: OnceLock<u64>,
    /// The numbers of translations under SafeMon1 and SafeMon2.
    pub(crate) safe_translations: OnceLock<[u64; 2]>,
    head: OnceLock<Box<Program>>,
}

/// All values are equal, since the programs that own them are compared by their other fields.
impl PartialEq for Derived {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Derived {}

impl Program {
    /// The compiler's version. Every change to the compiler's output changes this number.
    pub const VERSION: u16 = 2;
    /// The greatest number of AND gates in a batch.
    pub const MAX_BATCH_ANDS: usize = 1024;
    /// The greatest number of AND gates in a segment.
    pub const MAX_SEGMENT_ANDS: usize = 2048;
    /// The greatest number of XOR gates in a segment.
    pub const MAX_SEGMENT_XORS: usize = 8192;

    /// The greatest number of segments of a program's [head](Program::head).
    const HEAD_SEGMENTS: usize = 64;

    /// Returns the program's first segments, without outputs. Measurements use them instead of the
    /// whole program. A program with few segments is its own head. The first call copies the
    /// segments, and the program keeps the copy.
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

    /// Returns the digest of the circuit from which the program was compiled.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the number of slots, which is the greatest number of labels that are live at once.
    /// Input bit `i` starts in slot `i`.
    pub fn slots(&self) -> usize {
        self.slots as usize
    }

    /// Returns the number of input bits.
    pub fn inputs(&self) -> usize {
        self.inputs as usize
    }

    /// Returns all XOR gates, in order. A gate's number is its index.
    pub fn xors(&self) -> &[XorGate] {
        &self.xors
    }

    /// Returns all AND gates, in order. A gate's number is its index.
    pub fn ands(&self) -> &[AndGate] {
        &self.ands
    }

    /// Returns all batches, in order.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// Returns all segments, in order. Together they contain every batch once.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the output bits, in port order.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }
}
