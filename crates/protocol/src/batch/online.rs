//! A prepared execution: four messages whose size does not depend on the circuit, and a fifth if
//! the garbler gets a result.
//!
//! | | message | from | bytes | field |
//! |---|---|---|---|---|
//! | 1 | masked input | evaluator | ⌈\|y\|/8⌉ | y2 = y ⊕ y1 |
//! | 2 | input labels | garbler | ⌈\|x\|/8⌉ | x ⊕ m of the first circuit |
//! | | | | 32 | H(D) |
//! | | | | for each circuit: 16 | λ |
//! | | | | 16 \|y\| | second shares at y2 |
//! | | | | 16 \|x\| | labels of x, under λ |
//! | | | | for each circuit and output: 2 · 16 | H(mask, O^b) ⊕ R ⊕ b·D |
//! | 3 | recovery choice | evaluator | 16 | e = D′ ⊕ c |
//! | 4 | recovery labels | garbler | 16 | D |
//! | | | | for each circuit: 16 · 128 | second shares of D's wires at e ⊕ D |
//! | | | | for each circuit and output: 2 · 16 | O^0, O^1 |
//! | 5 | masked result | evaluator | | (f ‖ MAC_k(f)) ⊕ p, see `returned` |
//!
//! Before the first message, and before inputs matter, the garbler tells in an empty `execution
//! ready` that it has garbled the bucket again.
//!
//! The evaluator evaluates the whole bucket. Two circuits that give an output two values give it D
//! = R ⊕ (R ⊕ D); otherwise its D′ is random. The garbler cannot tell: c hides D′. With D′ = D the
//! wires of D have value 0 and the locks open; the evaluator then computes f(x, y) in the clear.
//! **What the evaluator does, and when, does not depend on whether D′ = D**: it tries the locks and
//! computes in the clear in every run, and selects.

mod evaluator;
mod garbler;
mod outcome;

pub use evaluator::OnlineEvaluator;
pub use garbler::{OnlineGarbler, ReadyExecution};

use tacit_garble::Scheme;
use tacit_kernels::Block;

use super::layout::{Batch, KEY_BITS};
use super::oracle::HASH_BYTES;

impl<S: Scheme<Wire = Block>> Batch<'_, S> {
    /// Bytes of what message 2 holds of one circuit.
    pub(super) fn labels_bytes(&self) -> usize {
        (1 + self.choice_bits + self.input_bits) * Block::BYTES
    }

    /// Both masks, or both O, of all outputs of all circuits.
    fn output_pairs_bytes(&self) -> usize {
        2 * self.bucket() * self.output_bits * Block::BYTES
    }

    pub(super) fn input_labels_bytes(&self) -> usize {
        self.chaining.half_bytes()
            + HASH_BYTES
            + self.bucket() * self.labels_bytes()
            + self.output_pairs_bytes()
    }

    pub(super) fn recovery_labels_bytes(&self) -> usize {
        let shares = self.bucket() * KEY_BITS * Block::BYTES;
        Block::BYTES + shares + self.output_pairs_bytes()
    }
}
