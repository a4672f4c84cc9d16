//! `prf-xor1-and3`: XOR in one ciphertext and AND in three, from a pseudorandom function alone.
//!
//! Gueron, Lindell, Nof and Pinkas, "Fast garbling of circuits under standard assumptions" (CCS
//! 2015, J. Cryptology 2018), sections 3.2 to 3.4: the XOR of figure 1 (procedure G), the AND of
//! figure 2 with its 4–3 row reduction, evaluation and decoding of figures 5 and 6. NOT is free:
//! the garbler swaps the two labels, the evaluator does nothing.
//!
//! **Assumption.** AES under a random key is a pseudorandom function: F(k, x) = `AES_k(x)`, with
//! the key k a label's bits 1 to 127. No two keys are related. A wire made from a correlated OT
//! rests on the hash that breaks the correlation as well, which is in the ideal-cipher model.
//!
//! **In the paper's notation**: a label is k‖λ, with the select bit λ^b = π ⊕ b of value b in
//! bit 0 and π the permute bit; `[1..n]` clears bit 0; g‖α is a tweak, XORed with the start point.
//!
//! **Deviations.** (1) The two inputs of a gate have tweaks of their own (`b` = 0 and 1): with the
//! paper's, a gate fed twice by one label would give its output labels away. (2) G′ (section 3.6)
//! saves the call for the input j where λ_j = 0 and passes k_j on as it is. Then, where λ_j = 1,
//! the hidden k_ℓ and the hidden k_j differ by a value that the evaluator knows, and if wire j is
//! used again, F runs under keys with a known difference, which a PRF does not promise. G′ is
//! sound only if wire j has no other use, as a gate's input, an output or a link; a program does
//! not say so of a wire, and the tables would not be smaller. So this scheme takes G everywhere.
//!
//! **Tables**, in the program's order: for each XOR gate the ciphertext C, 16 bytes, whose bit 0
//! is written as zero and ignored by the evaluator; for each AND gate the rows T_1, T_2, T_3,
//! 48 bytes. **Decoding**: for each output d[0] and d[1], 16 bytes each, with bit 0 zero.
//!
//! **Random keys** are AES in counter mode under the seed's first half, the counter being the
//! tweak of what the key is for, XORed with the seed's second half: garbling is a function of
//! the seed, the instance, the inputs and the program, in whatever order it is computed.
//!
//! **Cost** of a XOR: 127 ciphertext bits, 4 cipher calls for the garbler, 2 for the evaluator;
//! of an AND: 384 bits, 8 calls and 2. A key schedule serves one call, in the garbler's AND two.
//!
//! **Concrete security**: 126 bits. No two gates share a tweak, and at most two keys unknown to
//! the evaluator are used with one, so that work on one gate helps against no other. That AES is a
//! permutation shows after f calls under one key with probability f²/2^129, f a wire's fan-out.

mod evaluator;
mod garbler;
mod runs;

pub use evaluator::PrfXor1And3Evaluator;
pub use garbler::PrfXor1And3Garbler;

use tacit_circuit::Program;
use tacit_kernels::{Block, Construction, Cpu, Tweak, TweakableHash, Use};

use crate::label_keyed::DECODING_BYTES;
use crate::{LabelPair, Scheme, SchemeId, StartPoint};

/// Bytes of a XOR gate's table.
const XOR_BYTES: usize = 16;
/// Bytes of an AND gate's table.
const AND_BYTES: usize = 48;
/// Gates that are worked on together: enough to keep the cipher busy, and the keys and points in
/// the first-level cache.
const TOGETHER: usize = 64;

/// The scheme `prf-xor1-and3`. See the module's header.
#[derive(Clone, Copy, Debug)]
pub struct PrfXor1And3 {
    cpu: Cpu,
}

impl PrfXor1And3 {
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
}

impl Default for PrfXor1And3 {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheme for PrfXor1And3 {
    type Wire = LabelPair;
    type Garbler = PrfXor1And3Garbler;
    type Evaluator = PrfXor1And3Evaluator;

    fn id(self) -> SchemeId {
        SchemeId::PRF_XOR1_AND3
    }

    fn table_bytes(self, program: &Program, segment: usize) -> usize {
        let segment = &program.segments()[segment];
        XOR_BYTES * segment.xors.len() + AND_BYTES * segment.ands.len()
    }

    fn decoding_bytes(self, outputs: usize) -> usize {
        DECODING_BYTES * outputs
    }

    fn garbler(self, seed: [u8; 32], start: StartPoint, delta: Block) -> PrfXor1And3Garbler {
        PrfXor1And3Garbler::new(self.cpu, seed, start, delta)
    }

    fn evaluator(self, start: StartPoint) -> PrfXor1And3Evaluator {
        PrfXor1And3Evaluator::new(self.cpu, start)
    }
}

/// The label that correlated OT `index` gives for x: its key is H(x, index), its select bit x's.
///
/// x of the other value differs by Δ, so that a PRF keyed by x would not do: this is the re-keyed
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
