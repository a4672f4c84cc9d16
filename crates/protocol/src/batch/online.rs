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
//! Before the first message, and before inputs are used, the garbler reports in an empty `execution
//! ready` that it has garbled the bucket again.
//!
//! The evaluator evaluates the whole bucket. Two circuits that give an output different values
//! reveal D = R ⊕ (R ⊕ D); otherwise the evaluator's D′ is random. The garbler cannot tell the
//! difference, because c hides D′. If D′ = D, the wires of D have value 0 and the locks open; the
//! evaluator then computes f(x, y) in the clear. **The evaluator's actions and their times do not
//! depend on whether D′ = D**: it tries the locks and computes in the clear in every run, and
//! selects a result.

mod evaluator;
mod garbler;
mod outcome;

pub use evaluator::OnlineEvaluator;
pub use garbler::{OnlineGarbler, ReadyExecution};
