//! The catalogue: a row for every scheme of this version, with its name, assumption, promises, cost
//! and type.
//!
//! To add a scheme, add a row here, its file of formulas, its page and its vectors. Rows are in the
//! order of the ladder of assumptions, the default first. Figures are those of the scheme's own
//! header and page; the tests compare them with what the scheme really sends.
//!
//! On the wire an id is four bytes:
//!
//! | byte | field |
//! |---|---|
//! | 0 | scheme |
//! | 1 | hash |
//! | 2 | ordering of offsets, 0 where the scheme has none |
//! | 3 | version of the table layout |
//!
//! In text it is the scheme's name. If a scheme comes under several hashes, the hash's name follows
//! after a slash: `prf-xor1-and3`, `half-gates/two-call`. A scheme's bare name means its default.

use core::fmt;
use core::str::FromStr;

use tacit_circuit::OrderingRule;
use tacit_kernels::hash::EPOCH_BITS;
use tacit_kernels::{Construction, Cpu};

use crate::cost::{Cost, GateCost};
use crate::{Assumption, FlexOr, FlexOrForm, HalfGates, Prf, PrfXor1And3, PrfXor3And3};
use crate::{Scheme, ThreeHalves};

/// The meaning of a garbled table: scheme, hash, ordering and layout version, in four bytes on the
/// wire. The only values are those of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SchemeId([u8; 4]);

/// The hash under a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hash {
    /// π(π(x) ⊕ i) ⊕ π(x), π = AES under a public key that changes every 2^10 AND gates.
    TwoCall,
    /// `AES_k(σ(x)) ⊕ σ(x)`, a public key for every half-gate.
    Rekeyed,
    /// AES keyed by the label, as a pseudorandom function.
    Prf,
}

/// A relation among hidden labels that the evaluator may know. The scheme's page argues for each
/// under *Public relations*. A test looks for all others
/// (`crates/testkit/src/garbling/relations.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PublicRelation {
    /// Two wires of one offset: the sum of their hidden labels is that of their active labels. This
    /// relation makes XOR free.
    EqualOffsets,
    /// A XOR gate, and its input that is not translated (procedure G′) and that no other gate
    /// reads: the sum of their hidden labels is the other input's translated label.
    UntranslatedInput,
}

/// The number of AND gates that one cipher key of the two-call hash serves. In instance 0 the key
/// also serves as many outputs, whose tags are one target each.
const KEY_GATES: u32 = 1 << EPOCH_BITS;

/// A scheme's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeInfo {
    /// The scheme's id.
    pub id: SchemeId,
    /// The scheme's name.
    pub name: &'static str,
    /// Its assumption about AES.
    pub assumption: Assumption,
    /// Its hash.
    pub hash: Hash,
    /// The order of its wires' offsets, where they have several.
    pub ordering: Option<OrderingRule>,
    /// The relations among hidden labels that it makes public.
    pub public_relations: &'static [PublicRelation],
    /// Its cost.
    pub cost: Cost,
    /// Its concrete security in bits: no attack on a garbling of up to 2^40 gates is better than
    /// work of two to this number.
    pub security_bits: u8,
    /// The reason for that number.
    pub security: &'static str,
}

/// Work with a scheme that is only known at run time.
pub trait SchemeVisitor {
    /// The result of the work.
    type Output;

    /// Does the work with `scheme`.
    fn visit<S: Scheme>(self, scheme: S) -> Self::Output;
}

/// Makes the ids, [`SCHEMES`] and [`with_scheme_on`] from rows.
macro_rules! catalogue {
    ($($(#[$doc:meta])* $id:ident $bytes:tt $name:literal, $make:expr, {$($row:tt)*};)+) => {
        impl SchemeId {
            $($(#[$doc])* pub const $id: Self = Self($bytes);)+
        }

        /// Every scheme of this version, the default first.
        pub const SCHEMES: [SchemeInfo; [$(SchemeId::$id),+].len()] = [$(SchemeInfo {
            id: SchemeId::$id,
            name: $name,
            $($row)*
        }),+];

        /// Passes the scheme named `id`, on the backend of `cpu`, to `visitor`. For measurements
        /// and tests: the result is the same on each backend.
        ///
        /// # Errors
        ///
        /// None: every id belongs to this version.
        pub fn with_scheme_on<V: SchemeVisitor>(
            cpu: Cpu,
            id: SchemeId,
            visitor: V,
        ) -> Result<V::Output, UnknownScheme> {
            match id {
                $(SchemeId::$id => Ok(visitor.visit($make(cpu))),)+
                unknown => Err(UnknownScheme(unknown.0)),
            }
        }
    };
}

catalogue! {
    /// Half-gates under the two-call hash: the default, except for circuits that are chains.
    HALF_GATES_TWO_CALL [1, 1, 0, 1] "half-gates/two-call",
    |cpu| HalfGates::on(cpu, Construction::TwoCall), {
        assumption: Assumption::IdealCipher,
        hash: Hash::TwoCall,
        ordering: None,
        public_relations: &[PublicRelation::EqualOffsets],
        cost: Cost::free_xor(GateCost::of(256, 32, [8, 4], [0, 0])),
        security_bits: Construction::TwoCall.security_bits(KEY_GATES + KEY_GATES),
        security: "128 bits less the 11 of the 2^11 hashes, of 2^10 AND gates and as many outputs, \
                   that can be aimed at under one cipher key; it does not fall with the number \
                   of gates",
    };
    /// Half-gates under the re-keyed hash, for circuits that are chains rather than wide.
    HALF_GATES_REKEYED [1, 2, 0, 1] "half-gates/re-keyed",
    |cpu| HalfGates::on(cpu, Construction::Rekeyed), {
        assumption: Assumption::IdealCipher,
        hash: Hash::Rekeyed,
        ordering: None,
        public_relations: &[PublicRelation::EqualOffsets],
        cost: Cost::free_xor(GateCost::of(256, 32, [4, 2], [2, 2])),
        security_bits: Construction::Rekeyed.security_bits(KEY_GATES + KEY_GATES),
        security: "a cipher key meets two labels of one half-gate and no other, so that work on \
                   one gate helps against no other",
    };
    /// Three halves under the two-call hash, with the fewest bytes of all.
    THREE_HALVES [8, 1, 0, 1] "three-halves", ThreeHalves::on, {
        assumption: Assumption::IdealCipher,
        hash: Hash::TwoCall,
        ordering: None,
        public_relations: &[PublicRelation::EqualOffsets],
        cost: Cost::free_xor(GateCost::of(197, 25, [12, 6], [0, 0])),
        security_bits: Construction::TwoCall.security_bits(3 * KEY_GATES / 2 + KEY_GATES),
        security: "128 bits less the 11.3 of the 5/2 · 2^10 hashes, of 2^10 AND gates and as many \
                   outputs, that can be aimed at under one cipher key; it does not fall with the \
                   number of gates",
    };
    /// The default of the schemes that assume only a pseudorandom function.
    PRF [3, 3, 0, 1] "prf", Prf::on, {
        assumption: Assumption::PseudorandomFunction,
        hash: Hash::Prf,
        ordering: None,
        public_relations: &[PublicRelation::UntranslatedInput],
        cost: Cost { xor: ONE_ROW, and: GateCost::of(258, 32, [8, 2], [4, 2]) },
        security_bits: 126,
        security: PRF_SECURITY,
    };
    /// The same with AND gates of three rows. Its first layout did not have G′.
    PRF_XOR1_AND3 [2, 3, 0, 2] "prf-xor1-and3", PrfXor1And3::on, {
        assumption: Assumption::PseudorandomFunction,
        hash: Hash::Prf,
        ordering: None,
        public_relations: &[PublicRelation::UntranslatedInput],
        cost: Cost { xor: ONE_ROW, and: THREE_ROWS },
        security_bits: 126,
        security: PRF_SECURITY,
    };
    /// The same with XOR gates of three rows as well.
    PRF_XOR3_AND3 [4, 3, 0, 1] "prf-xor3-and3", PrfXor3And3::on, {
        assumption: Assumption::PseudorandomFunction,
        hash: Hash::Prf,
        ordering: None,
        public_relations: &[],
        cost: Cost { xor: THREE_ROWS, and: THREE_ROWS },
        security_bits: 126,
        security: PRF_SECURITY,
    };
    /// Related keys, by the monotone ordering: the fewest translations, three rows per AND gate.
    RELATED_KEY_MONOTONE [5, 3, 1, 1] "related-key-monotone",
    |cpu| FlexOr::on(cpu, FlexOrForm::RelatedKey(OrderingRule::Monotone)), {
        assumption: Assumption::RelatedKey,
        hash: Hash::Prf,
        ordering: Some(OrderingRule::Monotone),
        public_relations: &[PublicRelation::EqualOffsets],
        cost: Cost { xor: TRANSLATION, and: THREE_ROWS },
        security_bits: 126,
        security: PRF_SECURITY,
    };
    /// Related keys, by the safe and monotone ordering that starts with the least offset that a
    /// wire may have: two rows per AND gate.
    RELATED_KEY_SAFEMON1 [5, 3, 2, 1] "related-key-safemon1",
    |cpu| FlexOr::on(cpu, FlexOrForm::RelatedKey(OrderingRule::SafeMon1)), {
        assumption: Assumption::RelatedKey,
        hash: Hash::Prf,
        ordering: Some(OrderingRule::SafeMon1),
        public_relations: &[PublicRelation::EqualOffsets],
        cost: Cost { xor: TRANSLATION, and: TWO_ROWS_AND_A_BIT },
        security_bits: 126,
        security: PRF_SECURITY,
    };
    /// Related keys, by the safe and monotone ordering that starts with the greatest offsets.
    RELATED_KEY_SAFEMON2 [5, 3, 3, 1] "related-key-safemon2",
    |cpu| FlexOr::on(cpu, FlexOrForm::RelatedKey(OrderingRule::SafeMon2)), {
        assumption: Assumption::RelatedKey,
        hash: Hash::Prf,
        ordering: Some(OrderingRule::SafeMon2),
        public_relations: &[PublicRelation::EqualOffsets],
        cost: Cost { xor: TRANSLATION, and: TWO_ROWS_AND_A_BIT },
        security_bits: 126,
        security: PRF_SECURITY,
    };
    /// Free XOR with half-gates, under a hash keyed by labels.
    CIRCULAR_HALF_GATES [7, 3, 0, 1] "circular-half-gates",
    |cpu| FlexOr::on(cpu, FlexOrForm::CircularHalfGates), {
        assumption: Assumption::Circular,
        hash: Hash::Prf,
        ordering: None,
        public_relations: &[PublicRelation::EqualOffsets],
        cost: Cost::free_xor(GateCost::of(256, 32, [4, 2], [4, 2])),
        security_bits: 126,
        security: CIRCULAR_SECURITY,
    };
    /// Free XOR with three rows per AND gate, under a hash keyed by labels.
    CIRCULAR_AND3 [6, 3, 0, 1] "circular-and3",
    |cpu| FlexOr::on(cpu, FlexOrForm::CircularAnd3), {
        assumption: Assumption::Circular,
        hash: Hash::Prf,
        ordering: None,
        public_relations: &[PublicRelation::EqualOffsets],
        cost: Cost::free_xor(THREE_ROWS),
        security_bits: 126,
        security: CIRCULAR_SECURITY,
    };
}

/// The reason for the security of schemes whose keys are random labels.
const PRF_SECURITY: &str = "a key has 127 bits, and every point of the function meets one \
                            key, so that work on one gate helps against no other";
/// The same for schemes whose keys differ by Δ.
const CIRCULAR_SECURITY: &str = "a key has 127 bits, and one unknown key is used at one point of \
                                 the function, so that work on one gate helps against no other";

/// A XOR gate in one ciphertext, by procedure G. With G′ the garbler has one call less.
const ONE_ROW: GateCost = GateCost::of(127, 16, [4, 2], [4, 2]);
/// A gate in three ciphertexts under AES keyed by labels.
const THREE_ROWS: GateCost = GateCost::of(384, 48, [8, 2], [4, 2]);
/// AND in two rows and a bit, which is packed at the end of a segment.
const TWO_ROWS_AND_A_BIT: GateCost = GateCost::of(257, 32, [8, 2], [4, 2]);
/// The cost of a XOR gate for each of its inputs that has another offset.
const TRANSLATION: GateCost = GateCost::of(127, 16, [2, 1], [2, 1]);

/// Passes the scheme named `id`, on this CPU's fastest backend, to `visitor`.
///
/// # Errors
///
/// In a browser, the scheme was not loaded: it is one that a run only has if an option names it,
/// and no page does so. Elsewhere none, since every id belongs to this version.
pub fn with_scheme<V: SchemeVisitor>(id: SchemeId, visitor: V) -> Result<V::Output, UnknownScheme> {
    let cpu = Cpu::detect();
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    {
        let construction = match id {
            SchemeId::HALF_GATES_TWO_CALL => Construction::TwoCall,
            SchemeId::HALF_GATES_REKEYED => Construction::Rekeyed,
            other => return Err(UnknownScheme(other.0)),
        };
        Ok(visitor.visit(HalfGates::on(cpu, construction)))
    }
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    with_scheme_on(cpu, id, visitor)
}

/// The error of four bytes that name no scheme known to this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:02x?} names no garbling scheme that this version of Tacit knows")]
pub struct UnknownScheme(pub [u8; 4]);

/// The error of a text that names no scheme known to this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` names no garbling scheme; known are {}",
    SCHEMES.map(|rung| rung.name).join(", ")
)]
pub struct UnknownSchemeName {
    /// The text, cut to its first 64 characters.
    pub found: String,
}

impl SchemeId {
    /// Returns the id's four bytes on the wire.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 4] {
        self.0
    }

    /// Returns the id with these bytes on the wire.
    ///
    /// # Errors
    ///
    /// No scheme of this version has these bytes.
    pub fn from_bytes(bytes: [u8; 4]) -> Result<Self, UnknownScheme> {
        let known = SCHEMES.iter().find(|rung| rung.id.0 == bytes);
        known.map(|rung| rung.id).ok_or(UnknownScheme(bytes))
    }

    /// Returns the scheme's row.
    ///
    /// # Errors
    ///
    /// None: every id belongs to this version.
    pub fn rung(self) -> Result<&'static SchemeInfo, UnknownScheme> {
        static ROWS: &[SchemeInfo] = &SCHEMES;
        let row = ROWS.iter().find(|rung| rung.id == self);
        row.ok_or(UnknownScheme(self.0))
    }
}

impl FromStr for SchemeId {
    type Err = UnknownSchemeName;

    fn from_str(text: &str) -> Result<Self, UnknownSchemeName> {
        let bare = |name: &str| name.split('/').next() == Some(text);
        let named = SCHEMES.iter().find(|rung| rung.name == text);
        let named = named.or_else(|| SCHEMES.iter().find(|rung| bare(rung.name)));
        named.map(|rung| rung.id).ok_or_else(|| UnknownSchemeName {
            found: text.chars().take(64).collect(),
        })
    }
}

impl fmt::Display for SchemeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rung().map_err(|_| fmt::Error)?.name)
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
        assert_eq!(known, SCHEMES.len());
    }

    struct Id;

    impl SchemeVisitor for Id {
        type Output = SchemeId;

        fn visit<S: Scheme>(self, scheme: S) -> SchemeId {
            scheme.id()
        }
    }

    #[test]
    fn each_row_leads_to_its_own_scheme() {
        for rung in &SCHEMES {
            assert_eq!(with_scheme(rung.id, Id), Ok(rung.id), "{}", rung.name);
            assert_eq!(rung.id.rung(), Ok(rung));
        }
    }

    #[test]
    fn text_is_read_back() {
        for rung in &SCHEMES {
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

    #[test]
    fn every_scheme_promises_at_least_115_bits() {
        assert!(SCHEMES.iter().all(|rung| rung.security_bits >= 115));
    }
}
