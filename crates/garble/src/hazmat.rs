//! Garbling that no protocol may use: for comparison with others, in benchmarks alone.
//!
//! What is here implements neither [`Scheme`](crate::Scheme) nor its halves, so that no protocol,
//! session or function of the library accepts it:
//!
//! ```compile_fail,E0277
//! fn run<G: tacit_garble::Garbler>(_: G) {}
//! # let cpu = tacit_kernels::Cpu::detect();
//! # let (key, delta) = (tacit_kernels::Block::ZERO, tacit_kernels::Block::ONES);
//! run(tacit_garble::hazmat::FixedKeyGarbler::new(cpu, key, delta));
//! ```
//!
//! **`hazmat-fixed-key-half-gates`**: half-gates (Zahur, Rosulek and Evans, EUROCRYPT 2015) under one
//! public key of AES for all gates ever garbled, as in JustGarble (Bellare, Hoang, Keelveedhi and
//! Rogaway, "Efficient garbling from a fixed-key blockcipher", IEEE S&P 2013) and libgarble.
//!
//! **Assumption.** AES under one fixed key is a public random permutation. **What is wrong with it**:
//! H(x, i) = π(σ(x) ⊕ i) ⊕ σ(x) ⊕ i lets work on one gate serve against every other, so that about
//! 128 − log₂(hashes under the key) bits are left: 87 after 2^40 AND gates, of all users of the key
//! together (Guo, Katz, Wang, Weng and Yu, CRYPTO 2020, show the attack).
//!
//! **Cost** of an AND: 256 ciphertext bits; 4 cipher calls for the garbler, 2 for the evaluator.

//!
//! **`hazmat-fixed-key-and3`**: the same with three rows an AND gate, in [`and3`].

pub mod and3;

use core::fmt;

use tacit_circuit::{Output, Program};
use tacit_kernels::{Block, Construction, Cpu, Kernel, Simd};
use zeroize::ZeroizeOnDrop;

use crate::half_gates::evaluator::Evaluate;
use crate::half_gates::garbler::Garble;
use crate::half_gates::gates::{Gates, Slots};
use crate::half_gates::hashing::FixedKey;

/// Bytes of an AND gate's table.
const AND_BYTES: usize = 2 * Block::BYTES;

/// Bytes of a program's tables under fixed-key half-gates.
#[must_use]
pub fn fixed_key_table_bytes(program: &Program) -> usize {
    AND_BYTES * program.ands().len()
}

/// The garbler of fixed-key half-gates. Not for use: see the module.
#[derive(ZeroizeOnDrop)]
pub struct FixedKeyGarbler {
    #[zeroize(skip)]
    cpu: Cpu,
    key: Block,
    delta: Block,
    slots: Slots,
}

impl FixedKeyGarbler {
    /// A garbler with this public cipher key and this secret Δ, of which bit 0 is set.
    ///
    /// # Panics
    ///
    /// If bit 0 of `delta` is not set.
    #[must_use]
    pub fn new(cpu: Cpu, key: Block, delta: Block) -> Self {
        assert!(
            bool::from(delta.lsb()),
            "bit 0 of Δ is set, so that the labels of a wire differ in their select bits"
        );
        Self {
            cpu,
            key,
            delta,
            slots: Slots::new(),
        }
    }

    /// Garbles `program`, given the inputs' labels of value 0, and appends the outputs' to
    /// `outputs`.
    ///
    /// # Panics
    ///
    /// If `inputs` are not as many as the program has, or `tables` not
    /// [`fixed_key_table_bytes`].
    pub fn garble(
        &mut self,
        program: &Program,
        inputs: &[Block],
        mut tables: &mut [u8],
        outputs: &mut Vec<Block>,
    ) {
        assert_eq!(tables.len(), fixed_key_table_bytes(program), "tables fit");
        self.slots.begin(program, inputs);
        for segment in 0..program.segments().len() {
            let gates = Gates::of(program, segment);
            let these;
            (these, tables) = tables.split_at_mut(AND_BYTES * gates.ands.len());
            self.cpu.dispatch(FixedKeyKernel(Garble {
                // Not asked for: the kernel below has the hash.
                construction: Construction::TwoCall,
                start: self.key,
                instance: 0,
                delta: self.delta,
                slots: self.slots.as_mut_slice(),
                gates,
                tables: these,
            }));
        }
        let negated = |negated: bool| if negated { self.delta } else { Block::ZERO };
        outputs.extend(program.outputs().iter().map(|output| match *output {
            Output::Slot { slot, negated: by } => self.slots.get(slot) ^ negated(by),
            Output::Constant(bit) => negated(bit),
        }));
    }
}

impl fmt::Debug for FixedKeyGarbler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FixedKeyGarbler({:?})", self.cpu)
    }
}

/// The evaluator of fixed-key half-gates. Not for use: see the module.
#[derive(ZeroizeOnDrop)]
pub struct FixedKeyEvaluator {
    #[zeroize(skip)]
    cpu: Cpu,
    key: Block,
    slots: Slots,
}

impl FixedKeyEvaluator {
    /// An evaluator with this public cipher key.
    #[must_use]
    pub fn new(cpu: Cpu, key: Block) -> Self {
        Self {
            cpu,
            key,
            slots: Slots::new(),
        }
    }

    /// Evaluates `program` on labels of its inputs, and appends the outputs' labels to `outputs`.
    ///
    /// # Panics
    ///
    /// If `inputs` are not as many as the program has, or `tables` not
    /// [`fixed_key_table_bytes`].
    pub fn evaluate(
        &mut self,
        program: &Program,
        inputs: &[Block],
        mut tables: &[u8],
        outputs: &mut Vec<Block>,
    ) {
        assert_eq!(tables.len(), fixed_key_table_bytes(program), "tables fit");
        self.slots.begin(program, inputs);
        for segment in 0..program.segments().len() {
            let gates = Gates::of(program, segment);
            let these;
            (these, tables) = tables.split_at(AND_BYTES * gates.ands.len());
            self.cpu.dispatch(FixedKeyKernel(Evaluate {
                // Not asked for: the kernel below has the hash.
                construction: Construction::TwoCall,
                start: self.key,
                instance: 0,
                slots: self.slots.as_mut_slice(),
                gates,
                tables: these,
            }));
        }
        outputs.extend(program.outputs().iter().map(|output| match *output {
            Output::Slot { slot, .. } => self.slots.get(slot),
            Output::Constant(_) => Block::ZERO,
        }));
    }
}

impl fmt::Debug for FixedKeyEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FixedKeyEvaluator({:?})", self.cpu)
    }
}

/// Work on a segment's gates, under the fixed-key hash and no other.
struct FixedKeyKernel<W>(W);

impl Kernel for FixedKeyKernel<Garble<'_>> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.0.walk::<S, FixedKey<S>>(simd);
    }
}

impl Kernel for FixedKeyKernel<Evaluate<'_>> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.0.walk::<S, FixedKey<S>>(simd);
    }
}
