//! `half-gates`: free XOR, and AND in two ciphertexts, in the ideal-cipher model.
//!
//! Zahur, Rosulek and Evans, "Two halves make a whole" (EUROCRYPT 2015), figure 2, with
//! point-and-permute on bit 0 of a label. NOT is free: the garbler adds Δ, the evaluator does
//! nothing.
//!
//! **Assumption.** AES is an ideal cipher, under either construction of [`tacit_kernels::hash`],
//! whose [`Construction::security_bits`] computes the concrete security: 117 bits *two-call*, where
//! a key serves decoding as well, and 126 *re-keyed*.
//!
//! **In the paper's notation**: W^0 is the label of value 0, p the permute bit, H(x, i) the hash;
//! gate g hashes its first input with tweak (AND, g, 0), the garbler's half (G), and its second
//! with (AND, g, 1), the evaluator's half (E). With W_a^0, W_b^0 the inputs:
//! `T_G` = H(W_a^0) ⊕ H(W_a^1) ⊕ p_b Δ, `T_E` = H(W_b^0) ⊕ H(W_b^1) ⊕ W_a^0.
//!
//! **Tables**, in the program's order: for each AND gate `T_G` and `T_E`, 32 bytes. **Decoding**:
//! for each output j the tags of W^0 and of W^1, 16 bytes: the first 8 bytes of H(W, (out, j)). A
//! label with neither tag is ⊥, so that a table damaged on its way never passes for a result. (Bit
//! 0 of W^0 alone, as in the paper, would decode any label to something.) A constant output has the label 0 for its value.
//!
//! **Cost** of an AND: 256 ciphertext bits; two-call 8 cipher calls for the garbler, 4 for the
//! evaluator; re-keyed 4 and 2, and 2 key schedules for each. A XOR is free.
//!
//! **How it is computed**: a vector holds one input of several gates, a gate a lane; the AND
//! gates of a batch are worked on a few vectors at once ([`hashing`]), the same code for each
//! backend. What is left of a batch is filled up with gates on slots of their own. Re-keyed, the
//! keys of the next gates are expanded before their labels are known, so that a chain of gates
//! waits for one cipher call each; two-call it waits for two. A gate that is alone in its batch has
//! its two halves in the lanes instead ([`lone`]).

pub(crate) mod evaluator;
pub(crate) mod garbler;
pub(crate) mod gates;
pub(crate) mod hashing;
mod lone;
mod side_by_side;

pub use evaluator::HalfGatesEvaluator;
pub use garbler::HalfGatesGarbler;

use tacit_circuit::Program;
use tacit_kernels::{Block, Construction, Cpu, Tweak, Use};

use crate::link::OFFSET_LINK_BYTES;
use crate::{Scheme, SchemeId, StartPoint, WholeGarbling};

/// Bytes of an AND gate's table.
const AND_BYTES: usize = 2 * Block::BYTES;

/// Bytes of an output's tag for one value.
const TAG_BYTES: usize = 8;

/// Bytes of an output's decoding information.
const OUTPUT_BYTES: usize = 2 * TAG_BYTES;

/// The tweak of output number `number`, whose instance is 0: outputs are numbered across them.
const fn output_tweak(number: u64) -> Tweak {
    Tweak {
        usage: Use::Out,
        instance: 0,
        number,
        a: 0,
        b: 0,
    }
}

/// The tag of an output label with this hash.
fn output_tag(hash: Block) -> [u8; TAG_BYTES] {
    let mut tag = [0; TAG_BYTES];
    tag.copy_from_slice(&hash.to_bytes()[..TAG_BYTES]);
    tag
}

/// The scheme `half-gates`, under one of its two hashes. See the module's header.
#[derive(Clone, Copy, Debug)]
pub struct HalfGates {
    construction: Construction,
    cpu: Cpu,
}

impl HalfGates {
    /// The scheme, on the fastest backend that this CPU has.
    #[must_use]
    pub fn new(construction: Construction) -> Self {
        Self::on(Cpu::detect(), construction)
    }

    /// The scheme on a given backend. All backends compute the same bits.
    #[must_use]
    pub const fn on(cpu: Cpu, construction: Construction) -> Self {
        Self { construction, cpu }
    }
}

impl Scheme for HalfGates {
    type Wire = Block;
    type Garbler = HalfGatesGarbler;
    type Evaluator = HalfGatesEvaluator;

    fn id(self) -> SchemeId {
        match self.construction {
            Construction::Rekeyed => SchemeId::HALF_GATES_REKEYED,
            _ => SchemeId::HALF_GATES_TWO_CALL,
        }
    }

    fn table_bytes(self, program: &Program, segment: usize) -> usize {
        AND_BYTES * program.segments()[segment].ands.len()
    }

    fn decoding_bytes(self, outputs: usize) -> usize {
        OUTPUT_BYTES * outputs
    }

    fn link_bytes(self) -> usize {
        OFFSET_LINK_BYTES
    }

    /// The seed is not used: a garbling is fixed by Δ, the start point, the instance and the
    /// input wires.
    fn garbler(self, seed: [u8; 32], start: StartPoint, delta: Block) -> HalfGatesGarbler {
        drop(zeroize::Zeroizing::new(seed));
        HalfGatesGarbler::new(self.cpu, self.construction, start, delta)
    }

    fn evaluator(self, start: StartPoint) -> HalfGatesEvaluator {
        HalfGatesEvaluator::new(self.cpu, self.construction, start)
    }

    fn garble_side_by_side(
        self,
        instance: u32,
        program: &Program,
        garblings: &mut [WholeGarbling<'_, Self>],
    ) {
        side_by_side::garble(self, instance, program, garblings);
    }
}

#[cfg(test)]
mod tests;
