//! The ladder: what each scheme assumes, promises and costs, as data.
//!
//! A scheme of a lower rung rests on less and costs more. Figures are those of the scheme's own
//! header and page; the tests hold them against what the scheme really sends.

use core::fmt;
use core::str::FromStr;

use tacit_kernels::Construction;
use tacit_kernels::hash::EPOCH_BITS;

use crate::{SchemeId, UnknownScheme};

/// What a scheme assumes of AES. A later one implies the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Assumption {
    /// AES under a random key is a pseudorandom function.
    PseudorandomFunction,
    /// It stays one under keys that differ by secret, random offsets.
    RelatedKey,
    /// The same where what it hides may depend on the offset of its keys.
    Circular,
    /// AES is an ideal cipher: an independent random permutation for every key, also public ones.
    IdealCipher,
}

/// Text that names no assumption.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` names no assumption; known are prf, related-key, circular and ideal-cipher")]
pub struct UnknownAssumption {
    /// The text, cut to its first 64 characters.
    pub found: String,
}

impl Assumption {
    /// The best scheme that rests on this assumption alone, whatever the circuit. Which ordering
    /// of the related-key rung is smallest depends on the circuit, and so does which hash of
    /// half-gates is the faster: [`Assumption::scheme_for`] looks.
    #[must_use]
    pub fn default_scheme(self) -> SchemeId {
        match self {
            Self::PseudorandomFunction => SchemeId::PRF,
            Self::RelatedKey => SchemeId::RELATED_KEY_MONOTONE,
            Self::Circular => SchemeId::CIRCULAR_HALF_GATES,
            Self::IdealCipher => SchemeId::HALF_GATES_TWO_CALL,
        }
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PseudorandomFunction => "prf",
            Self::RelatedKey => "related-key",
            Self::Circular => "circular",
            Self::IdealCipher => "ideal-cipher",
        })
    }
}

impl FromStr for Assumption {
    type Err = UnknownAssumption;

    fn from_str(text: &str) -> Result<Self, UnknownAssumption> {
        match text {
            "prf" => Ok(Self::PseudorandomFunction),
            "related-key" => Ok(Self::RelatedKey),
            "circular" => Ok(Self::Circular),
            "ideal-cipher" => Ok(Self::IdealCipher),
            _ => Err(UnknownAssumption {
                found: text.chars().take(64).collect(),
            }),
        }
    }
}

/// What one gate costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateCost {
    /// Ciphertext bits, as papers count them.
    pub bits: u16,
    /// Whole bytes in the tables. What [`GateCost::bits`] has beyond them is packed bit by bit at
    /// a segment's end.
    pub table_bytes: u8,
    /// Cipher calls of the garbler, without those that draw its random keys.
    pub garbler_calls: u8,
    /// Key schedules of the garbler; 0 where a key serves many gates.
    pub garbler_key_schedules: u8,
    /// Cipher calls of the evaluator.
    pub evaluator_calls: u8,
    /// Key schedules of the evaluator; 0 where a key serves many gates.
    pub evaluator_key_schedules: u8,
}

impl GateCost {
    /// Of a gate that is free.
    pub const FREE: Self = Self {
        bits: 0,
        table_bytes: 0,
        garbler_calls: 0,
        garbler_key_schedules: 0,
        evaluator_calls: 0,
        evaluator_key_schedules: 0,
    };
}

/// A scheme's costs. Negations are free in every scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Of a XOR gate; under an ordering of offsets, of each translation that its inputs need.
    pub xor: GateCost,
    /// Of an AND gate.
    pub and: GateCost,
}

/// A scheme on the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Which.
    pub id: SchemeId,
    /// What it assumes of AES.
    pub assumption: Assumption,
    /// What it costs.
    pub cost: Cost,
    /// Concrete security in bits: no attack on a garbling of up to 2^40 gates does better than a
    /// work of two to this number.
    pub security_bits: u8,
    /// Where that number comes from.
    pub security: &'static str,
}

/// AND gates that one cipher key of the two-call hash serves; in instance 0 also as many outputs,
/// whose tags are a target each.
pub(crate) const KEY_GATES: u32 = 1 << EPOCH_BITS;

/// Every scheme of this version, the default first.
pub const LADDER: [Rung; 11] = [
    Rung {
        id: SchemeId::HALF_GATES_TWO_CALL,
        assumption: Assumption::IdealCipher,
        cost: half_gates_cost(8, 4, 0),
        security_bits: Construction::TwoCall.security_bits(KEY_GATES + KEY_GATES),
        security: "128 bits less the 11 of the 2^11 hashes, of 2^10 AND gates and as many outputs, \
                   that can be aimed at under one cipher key; it does not fall with the number \
                   of gates",
    },
    Rung {
        id: SchemeId::HALF_GATES_REKEYED,
        assumption: Assumption::IdealCipher,
        cost: half_gates_cost(4, 2, 2),
        security_bits: Construction::Rekeyed.security_bits(KEY_GATES + KEY_GATES),
        security: "a cipher key meets two labels of one half-gate and no other, so that work on \
                   one gate helps against no other",
    },
    Rung {
        id: SchemeId::THREE_HALVES,
        assumption: Assumption::IdealCipher,
        cost: Cost {
            xor: GateCost::FREE,
            and: GateCost {
                bits: 197,
                table_bytes: 25,
                garbler_calls: 12,
                garbler_key_schedules: 0,
                evaluator_calls: 6,
                evaluator_key_schedules: 0,
            },
        },
        security_bits: Construction::TwoCall.security_bits(3 * KEY_GATES / 2 + KEY_GATES),
        security: "128 bits less the 11.3 of the 5/2 · 2^10 hashes, of 2^10 AND gates and as many \
                   outputs, that can be aimed at under one cipher key; it does not fall with the \
                   number of gates",
    },
    Rung {
        id: SchemeId::PRF,
        assumption: Assumption::PseudorandomFunction,
        cost: Cost {
            xor: ONE_ROW,
            and: GateCost {
                bits: 258,
                table_bytes: 32,
                ..THREE_ROWS
            },
        },
        security_bits: 126,
        security: LABEL_KEYED_SECURITY,
    },
    Rung {
        id: SchemeId::PRF_XOR1_AND3,
        assumption: Assumption::PseudorandomFunction,
        cost: Cost {
            xor: ONE_ROW,
            and: THREE_ROWS,
        },
        security_bits: 126,
        security: LABEL_KEYED_SECURITY,
    },
    Rung {
        id: SchemeId::PRF_XOR3_AND3,
        assumption: Assumption::PseudorandomFunction,
        cost: Cost {
            xor: THREE_ROWS,
            and: THREE_ROWS,
        },
        security_bits: 126,
        security: LABEL_KEYED_SECURITY,
    },
    related_key(SchemeId::RELATED_KEY_MONOTONE, THREE_ROWS),
    related_key(SchemeId::RELATED_KEY_SAFEMON1, LABEL_KEYED_TWO_ROWS),
    related_key(SchemeId::RELATED_KEY_SAFEMON2, LABEL_KEYED_TWO_ROWS),
    circular(SchemeId::CIRCULAR_HALF_GATES, LABEL_KEYED_HALF_GATES),
    circular(SchemeId::CIRCULAR_AND3, THREE_ROWS),
];

/// Where the security of the schemes comes from whose keys are random labels.
const LABEL_KEYED_SECURITY: &str = "a key has 127 bits, and every point of the function meets one \
                                    key, so that work on one gate helps against no other";

/// A XOR gate in one ciphertext, by procedure G; by G′ the garbler has one call less.
const ONE_ROW: GateCost = GateCost {
    bits: 127,
    table_bytes: 16,
    garbler_calls: 4,
    garbler_key_schedules: 4,
    evaluator_calls: 2,
    evaluator_key_schedules: 2,
};

/// A gate in three ciphertexts under label-keyed AES.
const THREE_ROWS: GateCost = GateCost {
    bits: 384,
    table_bytes: 48,
    garbler_calls: 8,
    garbler_key_schedules: 4,
    evaluator_calls: 2,
    evaluator_key_schedules: 2,
};

/// AND in two rows and a bit, which is packed at a segment's end.
const LABEL_KEYED_TWO_ROWS: GateCost = GateCost {
    bits: 257,
    table_bytes: 32,
    ..THREE_ROWS
};

/// AND as half-gates under a hash keyed by labels.
const LABEL_KEYED_HALF_GATES: GateCost = GateCost {
    bits: 256,
    table_bytes: 32,
    garbler_calls: 4,
    ..THREE_ROWS
};

/// A scheme of the related-key rung. Its XOR gates cost what their translations do, each this.
const fn related_key(id: SchemeId, and: GateCost) -> Rung {
    let translation = GateCost {
        bits: 127,
        table_bytes: 16,
        garbler_calls: 2,
        garbler_key_schedules: 2,
        evaluator_calls: 1,
        evaluator_key_schedules: 1,
    };
    Rung {
        id,
        assumption: Assumption::RelatedKey,
        cost: Cost {
            xor: translation,
            and,
        },
        security_bits: 126,
        security: LABEL_KEYED_SECURITY,
    }
}

/// A scheme of the circular rung.
const fn circular(id: SchemeId, and: GateCost) -> Rung {
    Rung {
        id,
        assumption: Assumption::Circular,
        cost: Cost {
            xor: GateCost::FREE,
            and,
        },
        security_bits: 126,
        security: "a key has 127 bits, and one unknown key is used at one point of the function, \
                   so that work on one gate helps against no other",
    }
}

/// Half-gates with so many cipher calls an AND gate, and key schedules.
const fn half_gates_cost(garbler_calls: u8, evaluator_calls: u8, key_schedules: u8) -> Cost {
    let and = GateCost {
        bits: 256,
        table_bytes: 32,
        garbler_calls,
        garbler_key_schedules: key_schedules,
        evaluator_calls,
        evaluator_key_schedules: key_schedules,
    };
    Cost {
        xor: GateCost::FREE,
        and,
    }
}

impl SchemeId {
    /// What this scheme assumes, promises and costs.
    ///
    /// # Errors
    ///
    /// The fields form no scheme of this version.
    pub fn rung(self) -> Result<&'static Rung, UnknownScheme> {
        LADDER
            .iter()
            .find(|rung| rung.id == self)
            .ok_or(UnknownScheme(self.to_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hash, Ordering, SchemeName};

    #[test]
    fn an_assumption_leads_to_a_scheme_that_needs_no_more() {
        for assumption in [
            Assumption::PseudorandomFunction,
            Assumption::RelatedKey,
            Assumption::Circular,
            Assumption::IdealCipher,
        ] {
            let rung = assumption
                .default_scheme()
                .rung()
                .expect("it is on the ladder");
            assert_eq!(rung.assumption, assumption);
            assert_eq!(assumption.to_string().parse(), Ok(assumption));
        }
    }

    #[test]
    fn an_unknown_assumption_is_refused() {
        let error = "prayer".parse::<Assumption>().expect_err("it is none");
        assert_eq!(
            error,
            UnknownAssumption {
                found: "prayer".to_owned()
            }
        );
        assert!(
            error
                .to_string()
                .contains("known are prf, related-key, circular and ideal-cipher")
        );
    }

    #[test]
    fn a_combination_that_is_no_scheme_has_no_rung() {
        let id = SchemeId {
            name: SchemeName::HalfGates,
            hash: Hash::LabelKeyed,
            ordering: Ordering::None,
            layout: 1,
        };
        assert_eq!(id.rung(), Err(UnknownScheme([1, 3, 0, 1])));
    }

    #[test]
    fn every_scheme_promises_at_least_115_bits() {
        assert!(LADDER.iter().all(|rung| rung.security_bits >= 115));
    }
}
