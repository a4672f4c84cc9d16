//! Scheme ids: scheme, hash, ordering, table layout and version in one value that both compare.

use core::fmt;

/// A scheme's name, as in the ladder of assumptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum SchemeName {
    /// Half-gates with free XOR, in the ideal-cipher model: the default.
    HalfGates = 1,
    /// XOR in one ciphertext and AND in three rows, from a pseudorandom function alone.
    PrfXor1And3 = 2,
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
}

/// What a garbled table means: scheme, hash, ordering and layout version, in four bytes on the
/// wire.
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

impl SchemeId {
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
}

impl fmt::Display for SchemeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HalfGates => "half-gates",
            Self::PrfXor1And3 => "prf-xor1-and3",
        })
    }
}
