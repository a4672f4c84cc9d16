//! `three-halves`: free XOR, and AND in one and a half ciphertexts, in the ideal-cipher model.
//!
//! Rosulek and Roy, "Three halves make a whole? Beating the half-gates lower bound for garbled
//! circuits" (CRYPTO 2021): labels are *sliced* into halves, and which of the input labels' halves go
//! into the output label is *diced*: drawn by the garbler for each gate, and told to the evaluator
//! in control bits that are encrypted as the halves are.
//!
//! **Assumption.** AES is an ideal cipher, under the two-call hash of [`tacit_kernels::hash`]: about
//! 116 bits. Where a gate of half-gates adds 0 or Δ to a hash, one of three halves adds other
//! linear functions of Δ.
//!
//! **Notation.** A label is (L, R), its low and high 64 bits, an element of GF(4)⊗GF(2)^64: ω takes
//! (L, R) to (L ⊕ R, L), and ω² to (R, L ⊕ R), which is [`Simd::sigma`](tacit_kernels::Simd::sigma).
//! `A_i`, `B_j` are the inputs' labels of select bits i and j, and `S_k` = A_0 ⊕ B_0 ⊕ kΔ the labels'
//! sums; p_a and p_b the permute bits; t_ij = (i ⊕ p_a)(j ⊕ p_b). Hashes of a gate have the tweaks
//! (AND, g, 0) for A, 1 for B and 2 for S. The dice of a gate are λ = uω ⊕ v, two random bits.
//! With P = p_a ⊕ ω² p_b and λ_ij = λ ⊕ (i ⊕ ω² j)P, which alone is uniform whatever P is, the
//! output's label for select bits i and j is
//!
//! L: H(A_i) ⊕ H(S_{i⊕j}) ⊕ i G_0 ⊕ (i ⊕ j) G_2 ⊕ i B_j ⊕ λ_ij(A_i ⊕ ω² B_j),
//! R: H(B_j) ⊕ H(S_{i⊕j}) ⊕ j G_1 ⊕ (i ⊕ j) G_2 ⊕ j A_i ⊕ λ_ij(A_i ⊕ ω² B_j),
//!
//! L taking the low half of each label and of H(A), R the high half of each label and of H(B), and
//! both the high half of H(S). That these eight halves are those of C^0 ⊕ t_ij Δ are eight equations
//! in C^0 and the three G, of which, by the choice of λ_ij, three follow from the others. The
//! control bits obey the same equations: with α, β, σ bit 127 of H(A), bit 63 of H(B), bit 63 of
//! H(S), and λ_ij = u_ij ω ⊕ v_ij,
//! u_ij = α_i ⊕ σ_{i⊕j} ⊕ i z_0 ⊕ (i ⊕ j) z_2 ⊕ c_u, v_ij = β_j ⊕ σ_{i⊕j} ⊕ j z_1 ⊕ (i ⊕ j) z_2 ⊕ c_v.
//!
//! **Tables**, in the program's order: for each AND gate G_0 and G_1, 8 bytes each; a byte of z_2,
//! c_u, z_0, c_v, z_1 from bit 0 on, its high bits zero and ignored; G_2, 8 bytes. **Dice**: v and u
//! of gate g are bit g mod 64 of the low and high half of the random block number ⌊g / 64⌋, AES in
//! counter mode under the seed. **Decoding** is that of half-gates.
//!
//! **Cost** of an AND: 197 ciphertext bits in 25 bytes; 12 cipher calls for the garbler and a 64th
//! for its dice, 6 for the evaluator. A XOR is free.

mod evaluator;
mod garbler;

pub use evaluator::ThreeHalvesEvaluator;
pub use garbler::ThreeHalvesGarbler;

use tacit_circuit::Program;
use tacit_kernels::{Block, Construction, Cpu};
use zeroize::Zeroizing;

use crate::{HalfGates, Scheme, SchemeId, StartPoint};

/// Bytes of an AND gate's table.
const AND_BYTES: usize = 25;

/// Vectors of gates in one step of either role: 12 labels in flight.
const GARBLED: usize = 2;
/// See [`GARBLED`].
const EVALUATED: usize = 4;

/// Gates whose dice are one block.
const DICE_PER_BLOCK: u64 = 64;

/// Where the control byte stands in a gate's table.
const CONTROL_AT: usize = 16;
/// Where 16 bytes begin that end with the control byte and `G_2`.
const SECOND_AT: usize = 9;
/// Places in the control byte.
const Z_2: u32 = 0;
/// See [`Z_2`].
const C_U: u32 = 1;
/// See [`Z_2`].
const Z_0: u32 = 2;
/// See [`Z_2`].
const C_V: u32 = 3;
/// See [`Z_2`].
const Z_1: u32 = 4;

/// The scheme `three-halves`. See the module's header.
#[derive(Clone, Copy, Debug)]
pub struct ThreeHalves {
    cpu: Cpu,
}

impl ThreeHalves {
    /// The scheme, on the fastest backend that this CPU has.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Cpu::detect())
    }

    /// The scheme on a given backend. All backends compute the same bits.
    #[must_use]
    pub const fn on(cpu: Cpu) -> Self {
        Self { cpu }
    }

    /// The scheme whose wires, links and decoding are these.
    const fn half_gates(self) -> HalfGates {
        HalfGates::on(self.cpu, Construction::TwoCall)
    }
}

impl Default for ThreeHalves {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheme for ThreeHalves {
    type Wire = Block;
    type Garbler = ThreeHalvesGarbler;
    type Evaluator = ThreeHalvesEvaluator;

    fn id(self) -> SchemeId {
        SchemeId::THREE_HALVES
    }

    fn table_bytes(self, program: &Program, segment: usize) -> usize {
        AND_BYTES * program.segments()[segment].ands.len()
    }

    fn decoding_bytes(self, outputs: usize) -> usize {
        self.half_gates().decoding_bytes(outputs)
    }

    fn link_bytes(self) -> usize {
        self.half_gates().link_bytes()
    }

    fn garbler(self, seed: [u8; 32], start: StartPoint, delta: Block) -> ThreeHalvesGarbler {
        ThreeHalvesGarbler::new(self.cpu, &Zeroizing::new(seed), start, delta)
    }

    fn evaluator(self, start: StartPoint) -> ThreeHalvesEvaluator {
        ThreeHalvesEvaluator::new(self.half_gates().evaluator(start))
    }
}
