//! `prf`: XOR in one ciphertext and AND in two, from a pseudorandom function alone. The default
//! under this assumption.
//!
//! Gueron, Lindell, Nof and Pinkas, "Fast garbling of circuits under standard assumptions" (CCS
//! 2015, J. Cryptology 2018): the XOR of figure 1 (procedure G, and G′ where the untranslated input
//! has no other use), the AND of section 4 with its 4–2 row reduction by XORs (procedure G″),
//! evaluation and decoding as of figures 5 and 6.
//!
//! **Assumption.** AES under a random key is a pseudorandom function: F(k, x) = `AES_k(x)`, with
//! the key k a label's bits 1 to 127. No two keys are related. A wire made from a correlated OT
//! rests on the hash that breaks the correlation as well, which is in the ideal-cipher model.
//!
//! **Tables** of a segment: for each batch its XOR gates' ciphertexts C, 16 bytes each, by level,
//! with bit 0 zero and ignored by the evaluator, then its AND gates' rows T_1 and T_2, 32 bytes
//! each; at the end two more bits for each AND gate. **Decoding**: for each output d[0] and d[1],
//! 16 bytes each, with bit 0 zero.
//!
//! **Random bits** (π of AND gates, keys of constants) are AES in counter mode under the seed's
//! first half, the counter being the tweak of what they are for, XORed with the seed's second half.
//! Garbling is a function of the seed, the instance, the inputs and the program.
//!
//! **Cost** of a XOR: 127 ciphertext bits, 4 cipher calls for the garbler (3 in G′), 2 for the
//! evaluator, each with a key schedule; of an AND: 258 bits, 8 calls with 4 key schedules, and 2.
//!
//! **Concrete security**: 126 bits. No two gates share a tweak, and every tweak meets one key, so
//! that work on one gate helps against no other. That AES is a permutation shows after f calls
//! under one key with probability f²/2^129, f being the calls of the gates that a wire feeds.

use crate::SchemeId;
use crate::without_offset::{Gates, OneRow, TwoRows, WithoutOffset};

/// The gates of `prf`.
#[derive(Clone, Copy, Debug)]
pub enum PrfGates {}

impl Gates for PrfGates {
    const ID: SchemeId = SchemeId::PRF;
    const KEEPS: bool = true;
    type Xor = OneRow;
    type And = TwoRows;
}

/// The scheme `prf`. See the module's header.
pub type Prf = WithoutOffset<PrfGates>;
