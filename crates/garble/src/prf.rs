//! `prf`: XOR in one ciphertext and AND in two, from a pseudorandom function alone. The default
//! under this assumption.
//!
//! Gueron, Lindell, Nof and Pinkas, "Fast garbling of circuits under standard assumptions" (CCS
//! 2015, J. Cryptology 2018): the XOR of figure 1 (procedure G, and G′ where the untranslated input
//! has no other use), the AND of section 4 with its 4–2 row reduction by XORs (procedure G″),
//! evaluation and decoding as of figures 5 and 6.
//!
//! **Assumption.** AES under a random key is a pseudorandom function: F(k, x) = `AES_k(x)`, where
//! the key k is bits 1 to 127 of a label. No two keys are related. A wire made from a correlated OT
//! also relies on the hash that breaks the correlation, which is in the ideal-cipher model.
//!
//! **Tables** of a segment: for each batch its XOR gates' ciphertexts C, 16 bytes each, by level,
//! with bit 0 zero and ignored by the evaluator, then its AND gates' rows T_1 and T_2, 32 bytes
//! each; at the end two more bits for each AND gate. **Decoding**: for each output d[0] and d[1],
//! 16 bytes each, with bit 0 zero.
//!
//! **Random bits** (π of AND gates, keys of constants) are AES in counter mode under the seed's
//! first half. The counter is the tweak of their purpose, XORed with the seed's second half.
//! Garbling is a function of the seed, the instance, the inputs and the program.
//!
//! **Cost** of a XOR: 127 ciphertext bits, 4 cipher calls for the garbler (3 in G′), 2 for the
//! evaluator, each with a key schedule; of an AND: 258 bits, 8 calls with 4 key schedules, and 2.
//!
//! **Concrete security**: 126 bits. No two gates share a tweak, and every tweak is used with one
//! key, so work on one gate does not help against another. That AES is a permutation shows after f
//! calls under one key with probability f²/2^129, where f is the number of calls of the gates that
//! a wire feeds.
//!
//! # `prf-xor1-and3`
//!
//! The same, with the AND of figure 2 and its 4–3 row reduction. It needs no further assumption,
//! costs more bytes, and exists because the paper's tables have it. **Tables**: the rows T_1, T_2,
//! T_3 of an AND, 48 bytes each, and nothing at the end. **Cost** of an AND: 384 bits, 8 calls and
//! 2.
//!
//! # `prf-xor3-and3`
//!
//! The naive line of the paper's tables: XOR gates, too, by the 4–3 row reduction of Naor, Pinkas
//! and Sumner ("Privacy preserving auctions and mechanism design", EC 1999). It exists for
//! comparison: `prf` is better in every respect. **Tables**: for each batch the rows of its XOR
//! gates by level, then those of its AND gates, 48 bytes each. **Cost** of a gate: 384 bits, 8
//! cipher calls for the garbler with 4 key schedules, 2 calls for the evaluator.

use crate::SchemeId;
use crate::glnp::{Gates, Glnp, GlnpEvaluator, GlnpGarbler, OneRow, ThreeRows, TwoRows};
use crate::scheme::compiled_here;

/// Makes a scheme from its XOR and AND gates, and whether it keeps round keys.
macro_rules! scheme {
    (
        $(#[$doc:meta])*
        $name:ident, $gates:ident, $id:ident, $xor:ident, $and:ident, $keeps:literal
    ) => {
        /// The gates of the scheme.
        #[derive(Clone, Copy, Debug)]
        pub enum $gates {}

        impl Gates for $gates {
            const ID: SchemeId = SchemeId::$id;
            const KEEPS: bool = $keeps;
            type Xor = $xor;
            type And = $and;

            compiled_here!(GlnpGarbler, GlnpEvaluator);
        }

        $(#[$doc])*
        pub type $name = Glnp<$gates>;
    };
}

scheme! {
    /// The scheme `prf`. See the module's header.
    Prf, PrfGates, PRF, OneRow, TwoRows, true
}
scheme! {
    /// The scheme `prf-xor1-and3`. See the module's header.
    PrfXor1And3, PrfXor1And3Gates, PRF_XOR1_AND3, OneRow, ThreeRows, false
}
scheme! {
    /// The scheme `prf-xor3-and3`. See the module's header.
    PrfXor3And3, PrfXor3And3Gates, PRF_XOR3_AND3, ThreeRows, ThreeRows, false
}
