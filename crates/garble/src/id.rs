//! Scheme ids: scheme, hash, ordering, table layout and version in one value that both compare.
//!
//! On the wire an id is four bytes, each the number that its enum gives:
//!
//! | byte | field |
//! |---|---|
//! | 0 | scheme |
//! | 1 | hash |
//! | 2 | ordering of offsets, 0 where the scheme has none |
//! | 3 | version of the table layout |
//!
//! In text it is the scheme's name, and where a scheme comes under several hashes the hash's
//! after a slash: `prf-xor1-and3`, `half-gates/two-call`. A scheme's bare name means its default.
//! The ordering is part of the name: `related-key-monotone`.

use core::fmt;
use core::str::FromStr;

use crate::ladder::LADDER;

/// A scheme's name, as in the ladder of assumptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum SchemeName {
    /// Half-gates with free XOR, in the ideal-cipher model: the default.
    HalfGates = 1,
    /// XOR in one ciphertext and AND in three rows, from a pseudorandom function alone.
    PrfXor1And3 = 2,
    /// XOR free among wires of one offset, by an ordering of offsets: related keys.
    RelatedKey = 5,
    /// Free XOR and AND in three rows, under a hash keyed by labels: circular security.
    CircularAnd3 = 6,
    /// Free XOR and half-gates, under a hash keyed by labels: circular security.
    CircularHalfGates = 7,
    /// XOR in one ciphertext and AND in two, from a pseudorandom function alone.
    Prf = 3,
    /// XOR and AND in three ciphertexts each, from a pseudorandom function alone.
    PrfXor3And3 = 4,
    /// Free XOR and AND in one and a half ciphertexts, in the ideal-cipher model.
    ThreeHalves = 8,
}

/// The hash under a scheme, and what it is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Hash {
    /// π(π(x) ⊕ i) ⊕ π(x), π = AES under a public key that changes every 2^10 AND gates.
    TwoCall = 1,
    /// `AES_k(σ(x)) ⊕ σ(x)`, a public key for every half-gate.
    Rekeyed = 2,
    /// AES keyed by the label, as a pseudorandom function.
    LabelKeyed = 3,
}

/// The order of wire offsets, for schemes of the related-key rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Ordering {
    /// The scheme has none.
    None = 0,
    /// Monotone: fewest translations, three rows an AND gate.
    Monotone = 1,
    /// Safe and monotone, from the least offset that a wire may have: two rows an AND gate.
    SafeMon1 = 2,
    /// Safe and monotone, from the greatest.
    SafeMon2 = 3,
}

/// What a garbled table means: scheme, hash, ordering and layout version, in four bytes on the
/// wire.
///
/// The fields are free to combine; [`SchemeId::rung`] tells whether a combination exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SchemeId {
    /// The scheme.
    pub name: SchemeName,
    /// Its hash.
    pub hash: Hash,
    /// Its ordering of offsets.
    pub ordering: Ordering,
    /// Version of the table layout.
    pub layout: u8,
}

/// Four bytes that name no scheme known to this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:02x?} names no garbling scheme that this version of Tacit knows")]
pub struct UnknownScheme(pub [u8; 4]);

/// Text that names no scheme known to this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` names no garbling scheme; known are {}", known_names())]
pub struct UnknownSchemeName {
    /// The text, cut to its first 64 characters.
    pub found: String,
}

impl SchemeId {
    /// Half-gates under the two-call hash, the default of all.
    pub const HALF_GATES_TWO_CALL: Self = Self::new(SchemeName::HalfGates, Hash::TwoCall);
    /// Half-gates under the re-keyed hash, for circuits that are chains rather than wide.
    pub const HALF_GATES_REKEYED: Self = Self::new(SchemeName::HalfGates, Hash::Rekeyed);
    /// Three halves under the two-call hash, the fewest bytes of all.
    pub const THREE_HALVES: Self = Self::new(SchemeName::ThreeHalves, Hash::TwoCall);
    /// The default of the schemes that assume a pseudorandom function alone.
    pub const PRF: Self = Self::new(SchemeName::Prf, Hash::LabelKeyed);
    /// The same with AND gates of three rows. Its first layout knew no G′.
    pub const PRF_XOR1_AND3: Self = Self {
        layout: 2,
        ..Self::new(SchemeName::PrfXor1And3, Hash::LabelKeyed)
    };
    /// The same with XOR gates of three rows as well.
    pub const PRF_XOR3_AND3: Self = Self::new(SchemeName::PrfXor3And3, Hash::LabelKeyed);

    /// Related keys, by the monotone ordering.
    pub const RELATED_KEY_MONOTONE: Self = Self::related_key(Ordering::Monotone);
    /// Related keys, by the safe and monotone ordering from the least offsets.
    pub const RELATED_KEY_SAFEMON1: Self = Self::related_key(Ordering::SafeMon1);
    /// Related keys, by the safe and monotone ordering from the greatest offsets.
    pub const RELATED_KEY_SAFEMON2: Self = Self::related_key(Ordering::SafeMon2);
    /// Free XOR with three rows an AND gate, under a hash keyed by labels.
    pub const CIRCULAR_AND3: Self = Self::new(SchemeName::CircularAnd3, Hash::LabelKeyed);
    /// Free XOR with half-gates, under a hash keyed by labels.
    pub const CIRCULAR_HALF_GATES: Self =
        Self::new(SchemeName::CircularHalfGates, Hash::LabelKeyed);

    const fn related_key(ordering: Ordering) -> Self {
        Self {
            ordering,
            ..Self::new(SchemeName::RelatedKey, Hash::LabelKeyed)
        }
    }

    const fn new(name: SchemeName, hash: Hash) -> Self {
        Self {
            name,
            hash,
            ordering: Ordering::None,
            layout: 1,
        }
    }

    /// The id's four bytes on the wire.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 4] {
        [
            self.name as u8,
            self.hash as u8,
            self.ordering as u8,
            self.layout,
        ]
    }

    /// The id with these bytes on the wire.
    ///
    /// # Errors
    ///
    /// No scheme of this version has them.
    pub fn from_bytes(bytes: [u8; 4]) -> Result<Self, UnknownScheme> {
        let mut ids = LADDER.iter().map(|rung| rung.id);
        ids.find(|id| id.to_bytes() == bytes)
            .ok_or(UnknownScheme(bytes))
    }
}

/// The names of all schemes, for an error.
fn known_names() -> String {
    let names: Vec<String> = LADDER.iter().map(|rung| rung.id.to_string()).collect();
    names.join(", ")
}

impl FromStr for SchemeId {
    type Err = UnknownSchemeName;

    fn from_str(text: &str) -> Result<Self, UnknownSchemeName> {
        let named = |id: SchemeId| {
            id.to_string() == text || id.ordering == Ordering::None && id.name.to_string() == text
        };
        LADDER
            .iter()
            .map(|rung| rung.id)
            .find(|id| named(*id))
            .ok_or_else(|| UnknownSchemeName {
                found: text.chars().take(64).collect(),
            })
    }
}

impl fmt::Display for SchemeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        match self.name {
            SchemeName::HalfGates => write!(f, "/{}", self.hash),
            SchemeName::RelatedKey => write!(f, "-{}", self.ordering),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for SchemeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HalfGates => "half-gates",
            Self::PrfXor1And3 => "prf-xor1-and3",
            Self::RelatedKey => "related-key",
            Self::CircularAnd3 => "circular-and3",
            Self::CircularHalfGates => "circular-half-gates",
            Self::Prf => "prf",
            Self::PrfXor3And3 => "prf-xor3-and3",
            Self::ThreeHalves => "three-halves",
        })
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TwoCall => "two-call",
            Self::Rekeyed => "re-keyed",
            Self::LabelKeyed => "label-keyed",
        })
    }
}

impl fmt::Display for Ordering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Monotone => "monotone",
            Self::SafeMon1 => "safemon1",
            Self::SafeMon2 => "safemon2",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_frozen() {
        assert_eq!(SchemeId::HALF_GATES_TWO_CALL.to_bytes(), [1, 1, 0, 1]);
        assert_eq!(SchemeId::HALF_GATES_REKEYED.to_bytes(), [1, 2, 0, 1]);
        assert_eq!(SchemeId::RELATED_KEY_MONOTONE.to_bytes(), [5, 3, 1, 1]);
        assert_eq!(SchemeId::RELATED_KEY_SAFEMON1.to_bytes(), [5, 3, 2, 1]);
        assert_eq!(SchemeId::RELATED_KEY_SAFEMON2.to_bytes(), [5, 3, 3, 1]);
        assert_eq!(SchemeId::CIRCULAR_AND3.to_bytes(), [6, 3, 0, 1]);
        assert_eq!(SchemeId::CIRCULAR_HALF_GATES.to_bytes(), [7, 3, 0, 1]);
        assert_eq!(SchemeId::PRF_XOR1_AND3.to_bytes(), [2, 3, 0, 2]);
        assert_eq!(SchemeId::PRF.to_bytes(), [3, 3, 0, 1]);
        assert_eq!(SchemeId::PRF_XOR3_AND3.to_bytes(), [4, 3, 0, 1]);
        assert_eq!(SchemeId::THREE_HALVES.to_bytes(), [8, 1, 0, 1]);
    }

    #[test]
    fn only_the_bytes_of_a_scheme_are_one() {
        let mut known = 0;
        for number in 0..=u16::MAX {
            let [name, hash] = u16::to_le_bytes(number);
            for last in [[0, 1], [1, 1], [2, 1], [3, 1], [4, 1], [0, 2]] {
                let bytes = [name, hash, last[0], last[1]];
                match SchemeId::from_bytes(bytes) {
                    Ok(id) => {
                        assert_eq!(id.to_bytes(), bytes);
                        known += 1;
                    }
                    Err(error) => assert_eq!(error, UnknownScheme(bytes)),
                }
            }
        }
        assert_eq!(known, LADDER.len());
    }

    #[test]
    fn text_is_read_back() {
        for rung in &LADDER {
            assert_eq!(rung.id.to_string().parse(), Ok(rung.id));
        }
        assert_eq!("half-gates".parse(), Ok(SchemeId::HALF_GATES_TWO_CALL));
        assert_eq!(
            "half-gates/re-keyed".parse(),
            Ok(SchemeId::HALF_GATES_REKEYED)
        );
        assert_eq!("prf-xor1-and3".parse(), Ok(SchemeId::PRF_XOR1_AND3));
        assert_eq!("prf".parse(), Ok(SchemeId::PRF));
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        for text in [
            "",
            "half-gates/",
            "half-gates/label-keyed",
            "Half-Gates",
            "related-key",
        ] {
            let error = text.parse::<SchemeId>().expect_err("it names no scheme");
            assert_eq!(error.found, text);
            assert!(
                error
                    .to_string()
                    .contains("half-gates/two-call, half-gates/re-keyed")
            );
        }
        let long = "ß".repeat(100_000);
        assert_eq!(
            long.parse::<SchemeId>().expect_err("no scheme").found,
            "ß".repeat(64)
        );
    }
}
