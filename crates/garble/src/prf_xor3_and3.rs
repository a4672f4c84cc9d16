//! `prf-xor3-and3`: XOR and AND in three ciphertexts each, from a pseudorandom function alone.
//!
//! The naive line of the tables of Gueron, Lindell, Nof and Pinkas, "Fast garbling of circuits under
//! standard assumptions" (CCS 2015): both kinds of gates by the 4–3 row reduction of Naor, Pinkas
//! and Sumner ("Privacy preserving auctions and mechanism design", EC 1999). It is here to be
//! compared with: `prf` asks for no more and is better at everything.
//!
//! **Assumption.** AES under a random key is a pseudorandom function, as for `prf`.
//!
//! **Tables** of a segment: for each batch its XOR gates' rows T_1, T_2, T_3 by level, then those of
//! its AND gates, 48 bytes each.
//!
//! **Cost** of a gate: 384 ciphertext bits, 8 cipher calls for the garbler with 4 key schedules, 2
//! calls for the evaluator.
//!
//! **Concrete security**: 126 bits, as for `prf`.

use crate::SchemeId;
use crate::without_offset::{Gates, ThreeRows, WithoutOffset};

/// The gates of `prf-xor3-and3`.
#[derive(Clone, Copy, Debug)]
pub enum PrfXor3And3Gates {}

impl Gates for PrfXor3And3Gates {
    const ID: SchemeId = SchemeId::PRF_XOR3_AND3;
    const KEEPS: bool = false;
    type Xor = ThreeRows;
    type And = ThreeRows;
}

/// The scheme `prf-xor3-and3`. See the module's header.
pub type PrfXor3And3 = WithoutOffset<PrfXor3And3Gates>;
