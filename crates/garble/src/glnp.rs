//! The common part of the schemes from a pseudorandom function alone: wires without a global
//! offset, gates that each cost calls of F(k, x) = `AES_k(x)`, and the walk through a program.
//!
//! Gueron, Lindell, Nof and Pinkas, "Fast garbling of circuits under standard assumptions" (CCS
//! 2015, J. Cryptology 2018). In the paper's notation: a label is k‖λ, with the select bit
//! λ^b = π ⊕ b of value b in bit 0 and π the permute bit; `[1..n]` clears bit 0; g‖α is a tweak,
//! XORed with the start point. NOT is free: the garbler swaps the two labels.
//!
//! A scheme names its XOR and its AND ([`Gates`]):
//!
//! | gate | rows | where |
//! |---|---|---|
//! | XOR in one ciphertext, procedures G and G′ | 1 | [`one_row`] |
//! | AND with the 4–2 reduction by XORs, procedure G″ | 2, and 4 bits | [`two_rows`] |
//! | AND and XOR with the 4–3 reduction | 3 | [`three_rows`] |
//!
//! **Deviation.** The two inputs of a gate have tweaks of their own (`b` = 0 and 1): with the
//! paper's tweaks, a gate with one label at both inputs would reveal its output labels.
//!
//! **Order.** XOR gates are processed and numbered by level ([`Program::xor_levels`]), so that the
//! cipher works on many gates at once; AND gates are processed by batch.
//!
//! **Round keys.** A wire's keys serve every gate that it feeds. If a scheme says so
//! ([`Gates::KEEPS`]) and the program is small enough for the cache, the garbler expands them once,
//! when the wire's labels are made, and keeps them with the labels.
//!
//! **Secrets.** The garbler represents a wire by its two keys in the order of the select bit, each
//! with its value in bit 0. No branch and no index depends on either.

mod evaluator;
mod frame;
mod garbler;
mod one_row;
mod three_rows;
mod two_rows;

use core::fmt::Debug;
use core::marker::PhantomData;

pub use evaluator::GlnpEvaluator;
pub use garbler::GlnpGarbler;
pub(crate) use one_row::OneRow;
pub(crate) use three_rows::ThreeRows;
pub(crate) use two_rows::TwoRows;

use frame::Frame;
use tacit_circuit::{AndGate, Program, Segment, XorGate};
use tacit_kernels::{Block, Construction, Cpu, Simd, Tweak, TweakableHash, Use};

use crate::prf_calls::DECODING_BYTES;
use crate::{LabelPair, Scheme, SchemeId, StartPoint};

/// The form of a scheme's XOR and AND gates.
pub trait Gates: Copy + Debug + Send + Sync + 'static {
    /// The scheme's id.
    const ID: SchemeId;
    /// Whether its garbler keeps round keys, for programs small enough for the cache. Both kinds of
    /// gates must then support that.
    const KEEPS: bool;
    /// Its XOR.
    type Xor: XorRows;
    /// Its AND.
    type And: AndRows;

    /// Garbles the next segment.
    fn garble_segment(
        garbler: &mut GlnpGarbler<Self>,
        program: &Program,
        segment: usize,
        tables: &mut [u8],
    );

    /// Evaluates the next segment.
    fn evaluate_segment(
        evaluator: &mut GlnpEvaluator<Self>,
        program: &Program,
        segment: usize,
        tables: &[u8],
    );
}

/// The form of XOR gates.
pub trait XorRows: 'static {
    /// The bytes of a gate's table.
    const BYTES: usize;
    /// Whether a gate needs a random block.
    const COINS: bool;

    /// Garbles gates that do not wait for each other. `private` says that no other gate reads their
    /// inputs b. `coins` start with the gates' random blocks, if they need any, and continue for
    /// two vectors.
    fn garble<S: Simd>(
        frame: &mut Frame<'_, S>,
        gates: &[XorGate],
        private: bool,
        coins: &[Block],
        tables: &mut [u8],
    );

    /// Evaluates such gates.
    fn evaluate<S: Simd>(frame: &mut Frame<'_, S>, gates: &[XorGate], private: bool, tables: &[u8]);
}

/// The form of AND gates.
pub trait AndRows: 'static {
    /// The bytes of a gate's rows.
    const BYTES: usize;
    /// The number of a gate's bits next to its rows, less than 8. A segment's tables end with the
    /// bits of all its gates, gate after gate from bit 0 of the first byte.
    const BITS: usize;

    /// Garbles gates that do not wait for each other. `coins` start with a random block for each,
    /// and continue for two vectors. `bits` are the segment's; those of the first gate start at
    /// gate `at`.
    fn garble<S: Simd>(
        frame: &mut Frame<'_, S>,
        gates: &[AndGate],
        coins: &[Block],
        rows: &mut [u8],
        bits: &mut [u8],
        at: usize,
    );

    /// Evaluates such gates.
    fn evaluate<S: Simd>(
        frame: &mut Frame<'_, S>,
        gates: &[AndGate],
        rows: &[u8],
        bits: &[u8],
        at: usize,
    );
}

/// A scheme without a global offset, with the gates `G`.
#[derive(Clone, Copy, Debug)]
pub struct Glnp<G> {
    cpu: Cpu,
    gates: PhantomData<G>,
}

impl<G: Gates> Glnp<G> {
    /// Returns the scheme, on this CPU's fastest backend.
    pub fn new() -> Self {
        Self::on(Cpu::detect())
    }

    /// Returns the scheme on a given backend. All backends compute the same bits.
    pub const fn on(cpu: Cpu) -> Self {
        Self {
            cpu,
            gates: PhantomData,
        }
    }
}

impl<G: Gates> Default for Glnp<G> {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the bytes at the end of a segment's tables for the bits next to its AND gates' rows.
fn bits_bytes<G: Gates>(segment: &Segment) -> usize {
    (G::And::BITS * segment.ands.len()).div_ceil(8)
}

impl<G: Gates> Scheme for Glnp<G> {
    type Wire = LabelPair;
    type Garbler = GlnpGarbler<G>;
    type Evaluator = GlnpEvaluator<G>;

    fn id(self) -> SchemeId {
        G::ID
    }

    fn table_bytes(self, program: &Program, segment: usize) -> usize {
        let segment = &program.segments()[segment];
        G::Xor::BYTES * segment.xors.len()
            + G::And::BYTES * segment.ands.len()
            + bits_bytes::<G>(segment)
    }

    fn decoding_bytes(self, outputs: usize) -> usize {
        DECODING_BYTES * outputs
    }

    fn garbler(self, seed: [u8; 32], start: StartPoint, delta: Block) -> GlnpGarbler<G> {
        GlnpGarbler::new(self.cpu, seed, start, delta)
    }

    fn evaluator(self, start: StartPoint) -> GlnpEvaluator<G> {
        GlnpEvaluator::new(self.cpu, start)
    }
}

/// Returns the label that correlated OT `index` gives for x: its key is H(x, index), its select bit
/// is x's.
///
/// x of the other value differs by Δ, so a PRF keyed by x is not sufficient. This is the re-keyed
/// hash `AES_k(σ(x)) ⊕ σ(x)`, with a public key for every index.
fn cot_label(cpu: Cpu, start: StartPoint, index: u64, x: Block) -> Block {
    let tweak = Tweak {
        usage: Use::CorrelatedOt,
        instance: 0,
        number: index,
        a: 0,
        b: 0,
    };
    TweakableHash::on(cpu, Construction::Rekeyed, start)
        .hash_one(tweak, x)
        .with_lsb(x.lsb())
}
