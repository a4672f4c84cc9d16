//! Garbling schemes behind one interface, without I/O.
#![forbid(unsafe_code)]

mod assumption;
mod catalogue;
mod cost;
mod decoding;
mod flexor;
mod free_xor;
mod glnp;
mod half_gates;
mod hashing;
mod link;
mod prf;
mod prf_calls;
mod scheme;
mod three_halves;
mod walk;

pub use assumption::{AndCounts, Assumption, UnknownAssumption};
pub use catalogue::{
    Hash, PublicRelation, SCHEMES, SchemeId, SchemeInfo, SchemeVisitor, UnknownScheme,
    UnknownSchemeName, with_scheme, with_scheme_on,
};
pub use cost::{Cost, GateCost, ProgramCost};
pub use flexor::{FlexOr, FlexOrEvaluator, FlexOrForm, FlexOrGarbler};
pub use free_xor::{Ands, FreeXor, FreeXorEvaluator, FreeXorGarbler};
pub use glnp::{Glnp, GlnpEvaluator, GlnpGarbler};
pub use half_gates::HalfGates;
pub use prf::{Prf, PrfXor1And3, PrfXor3And3};
pub use prf_calls::LabelPair;
pub use scheme::{Evaluator, Garbler, Scheme, StartPoint, WholeGarbling};
pub use three_halves::ThreeHalves;

/// Decoding information does not fit the labels to be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The decoding information is longer or shorter than the outputs need.
    #[error("decoding information is {found} bytes long where {expected} were expected")]
    WrongLength {
        /// The bytes that the outputs need.
        expected: usize,
        /// The bytes received.
        found: usize,
    },
    /// The label of this output belongs to neither value: ⊥.
    #[error("the label of output bit {0} stands for neither value")]
    NeitherValue(u64),
}
