//! `prf-xor1-and3`: XOR in one ciphertext and AND in three, from a pseudorandom function alone.
//!
//! Gueron, Lindell, Nof and Pinkas, "Fast garbling of circuits under standard assumptions" (CCS
//! 2015, J. Cryptology 2018), sections 3.2 to 3.6: the XOR of figure 1 (procedure G, and G′ where
//! the untranslated input has no other use), the AND of figure 2 with its 4–3 row reduction,
//! evaluation and decoding of figures 5 and 6.
//!
//! **Assumption.** AES under a random key is a pseudorandom function. See `prf`, from which this
//! scheme differs in its AND gates alone: it asks for no more, costs more bytes, and is here since
//! the paper's tables have it.
//!
//! **Tables** of a segment: for each batch its XOR gates' ciphertexts C, 16 bytes each, by level,
//! then its AND gates' rows T_1, T_2, T_3, 48 bytes each.
//!
//! **Cost** of a XOR: 127 ciphertext bits, 4 cipher calls for the garbler (3 in G′), 2 for the
//! evaluator; of an AND: 384 bits, 8 calls and 2.
//!
//! **Concrete security**: 126 bits, as for `prf`.

use crate::SchemeId;
use crate::without_offset::{Gates, OneRow, ThreeRows, WithoutOffset};

/// The gates of `prf-xor1-and3`.
#[derive(Clone, Copy, Debug)]
pub enum PrfXor1And3Gates {}

impl Gates for PrfXor1And3Gates {
    const ID: SchemeId = SchemeId::PRF_XOR1_AND3;
    const KEEPS: bool = false;
    type Xor = OneRow;
    type And = ThreeRows;
}

/// The scheme `prf-xor1-and3`. See the module's header.
pub type PrfXor1And3 = WithoutOffset<PrfXor1And3Gates>;
