//! `privacy-free`: free XOR, and AND in one ciphertext, for an evaluator that knows the input.
//!
//! Frederiksen, Nielsen and Orlandi, "Privacy-free garbled circuits with applications to efficient
//! zero-knowledge" (EUROCRYPT 2015), with the AND gate of Zahur, Rosulek and Evans, "Two halves
//! make a whole" (EUROCRYPT 2015): of their two half-gates the one whose evaluator knows an input.
//!
//! **It hides no input.** What it promises is *authenticity*: who has a label of each input wire has
//! the label of the result's value and cannot name the other. That is what zero-knowledge proofs
//! from garbled circuits ask for (Jawurek, Kerschbaum and Orlandi, CCS 2013): the verifier garbles,
//! the prover evaluates on its own witness, shows that it has the output's label of 1, and opens it
//! once the garbler has [opened](PrivacyFreeGarbler::open) everything and it was
//! [checked](PrivacyFree::is_opened_by). So it is no [`Scheme`](crate::Scheme), its halves are none
//! of a scheme's, and no protocol takes it:
//!
//! ```compile_fail,E0277
//! fn run<S: tacit_garble::Scheme>(_: S) {}
//! run(tacit_garble::PrivacyFree::new());
//! ```
//!
//! **Assumption.** AES is an ideal cipher, under the two-call hash of [`tacit_kernels::hash`]: 118
//! bits at 2^40 gates, since an AND gate gives one hash to aim at and a cipher key serves 2^10.
//!
//! **Notation.** W^v is the label of wire W for value v; its bit 0 is v, and no permute bit hides
//! it. So W^1 = W^0 ⊕ Δ, bit 0 of W^0 is 0, and H′(x) is H(x, (AND, g, 0)) with bit 0 cleared. Of
//! gate g with inputs A and B:
//! T = H′(A^0) ⊕ H′(A^1) ⊕ B^0, C^0 = H′(A^0);
//! the evaluator of labels A, B of values a, b has C = H′(A) ⊕ a(T ⊕ B), whose bit 0 is ab.
//! A negation adds Δ with bit 0 cleared to W^0, and flips bit 0 of the evaluator's label.
//!
//! **Deviation.** The papers hand the evaluator labels and values apart. Here a label's bit 0 is its
//! value ([`ValuedLabel`]), so that no value can go astray from its label.
//!
//! **Tables**, in the program's order: T of each AND gate, 16 bytes, bit 0 zero; the evaluator
//! ignores it. There is no decoding: the evaluator knows its result, and shows it by the label.
//!
//! **Cost** of an AND: 127 ciphertext bits; 4 cipher calls for the garbler, 2 for the evaluator. A
//! XOR is free.

mod evaluator;
mod garbler;

pub use evaluator::PrivacyFreeEvaluator;
pub use garbler::PrivacyFreeGarbler;

use core::fmt;

use subtle::{Choice, ConstantTimeEq};
use tacit_circuit::Program;
use tacit_kernels::{Block, Construction, Cpu};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::StartPoint;
use crate::ladder::KEY_GATES;

/// Bytes of an AND gate's table.
const AND_BYTES: usize = Block::BYTES;
/// All of a label but its value.
const KEY: Block = Block::from_u128(!1);
/// The value in a label.
const VALUE: Block = Block::from_u128(1);

/// A label together with the value that it stands for, which is its bit 0.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ValuedLabel(Block);

impl ValuedLabel {
    /// The label for `value` of which all bits but bit 0 are those of `label`: from an oblivious
    /// transfer, say, in which the evaluator chose `value`. With another value than that which the
    /// label was made for it is no label of its wire, and neither is what comes of it.
    #[must_use]
    pub fn new(label: Block, value: bool) -> Self {
        Self(label.with_lsb(Choice::from(u8::from(value))))
    }

    /// The value that it stands for.
    #[must_use]
    pub fn value(self) -> bool {
        self.0.lsb().into()
    }

    /// Its 16 bytes, which prove the value to the garbler.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_bytes()
    }

    /// The label with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Block::from_bytes(bytes))
    }

    /// The label of the wire's negation.
    fn negated_if(self, negated: bool) -> Self {
        Self(self.0 ^ VALUE.and_bit(Choice::from(u8::from(negated))))
    }
}

impl Zeroize for ValuedLabel {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for ValuedLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ValuedLabel(..)")
    }
}

/// What the garbler knows of a wire: its label for 0.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct PrivacyFreeWire(Block);

impl PrivacyFreeWire {
    /// The wire whose label for 0 has the bits of `zero`, a secret block of which bit 0 is not
    /// used: drawn at random, or what the sender of a correlated OT with offset Δ holds.
    #[must_use]
    pub fn new(zero: Block) -> Self {
        Self(zero & KEY)
    }
}

impl Zeroize for PrivacyFreeWire {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for PrivacyFreeWire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivacyFreeWire(..)")
    }
}

/// Why labels do not prove values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAuthentic {
    /// There are not as many labels as wires.
    #[error("{found} labels were shown for {expected} wires")]
    WrongCount {
        /// Wires.
        expected: usize,
        /// Labels.
        found: usize,
    },
    /// The label shown for this wire stands for neither value: it is damaged, or forged.
    #[error("what was shown for wire {0} is neither of its labels")]
    NeitherLabel(u64),
}

/// All secrets of a garbling, which its garbler gives away after the evaluator's proof is fixed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Opening {
    /// Δ.
    pub delta: Block,
    /// The inputs' labels for 0.
    pub inputs: Vec<Block>,
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opening(of {} inputs)", self.inputs.len())
    }
}

/// Privacy-free garbling. See the module's header.
#[derive(Clone, Copy, Debug)]
pub struct PrivacyFree {
    cpu: Cpu,
}

impl PrivacyFree {
    /// Concrete security in bits, at 2^40 gates: see the module's header.
    pub const SECURITY_BITS: u8 = Construction::TwoCall.security_bits(KEY_GATES);

    /// It, on the fastest backend that this CPU has.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Cpu::detect())
    }

    /// It, on a given backend. All backends compute the same bits.
    #[must_use]
    pub const fn on(cpu: Cpu) -> Self {
        Self { cpu }
    }

    /// Exact size in bytes of the tables of one segment of `program`.
    #[must_use]
    pub fn table_bytes(self, program: &Program, segment: usize) -> usize {
        AND_BYTES * program.segments()[segment].ands.len()
    }

    /// A garbler. `start` is public and fresh; `delta` is secret and fresh, with bit 0 set, as is
    /// the offset of the correlated OTs by which the evaluator gets its labels.
    ///
    /// # Panics
    ///
    /// If bit 0 of `delta` is not set.
    #[must_use]
    pub fn garbler(self, start: StartPoint, delta: Block) -> PrivacyFreeGarbler {
        PrivacyFreeGarbler::new(self.cpu, start, delta)
    }

    /// An evaluator for garblings that begin at `start`.
    #[must_use]
    pub const fn evaluator(self, start: StartPoint) -> PrivacyFreeEvaluator {
        PrivacyFreeEvaluator::new(self.cpu, start)
    }

    /// Whether `tables`, of all segments, are those of `program` garbled as `instance` with the
    /// secrets of `opening`, all of which come from the garbler: by garbling again. That the opened
    /// labels are those that the garbler offered is the oblivious transfer's to show.
    #[must_use]
    pub fn is_opened_by(
        self,
        opening: &Opening,
        start: StartPoint,
        instance: u32,
        program: &Program,
        tables: &[u8],
    ) -> bool {
        let even = opening.inputs.iter().all(|zero| !bool::from(zero.lsb()));
        if !bool::from(opening.delta.lsb()) || !even || opening.inputs.len() != program.inputs() {
            return false;
        }
        let inputs = opening.inputs.iter().copied().map(PrivacyFreeWire::new);
        let inputs = Zeroizing::new(inputs.collect::<Vec<_>>());
        let mut garbler = self.garbler(start, opening.delta);
        garbler.begin(instance, program, &inputs);
        let (mut left, mut equal) = (tables, true);
        for segment in 0..program.segments().len() {
            let Some((these, rest)) = left.split_at_checked(self.table_bytes(program, segment))
            else {
                return false;
            };
            left = rest;
            let mut expected = vec![0; these.len()];
            garbler.garble(program, segment, &mut expected);
            equal &= bool::from(expected.ct_eq(these));
        }
        equal && left.is_empty()
    }
}

impl Default for PrivacyFree {
    fn default() -> Self {
        Self::new()
    }
}
