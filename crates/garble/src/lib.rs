//! Garbling schemes behind one interface; no I/O.
#![forbid(unsafe_code)]

mod decoding;
mod half_gates;
pub mod hazmat;
mod id;
mod label_keyed;
mod ladder;
mod link;
mod prf;
mod prf_xor1_and3;
mod prf_xor3_and3;
mod privacy_free;
mod program_cost;
mod relations;
mod scheme;
mod shape;
mod three_halves;
mod visit;
mod with_offsets;
mod without_offset;

pub use half_gates::{HalfGates, HalfGatesEvaluator, HalfGatesGarbler};
pub use id::{Hash, Ordering, SchemeId, SchemeName, UnknownScheme, UnknownSchemeName};
pub use label_keyed::LabelPair;
pub use ladder::{Assumption, Cost, GateCost, LADDER, Rung, UnknownAssumption};
pub use prf::Prf;
pub use prf_xor1_and3::PrfXor1And3;
pub use prf_xor3_and3::PrfXor3And3;
pub use privacy_free::{
    NotAuthentic, Opening, PrivacyFree, PrivacyFreeEvaluator, PrivacyFreeGarbler, PrivacyFreeWire,
    ValuedLabel,
};
pub use program_cost::ProgramCost;
pub use relations::PublicRelation;
pub use scheme::{Evaluator, Garbler, Scheme, StartPoint, WholeGarbling};
pub use shape::Shape;
pub use three_halves::{ThreeHalves, ThreeHalvesEvaluator, ThreeHalvesGarbler};
pub use visit::{SchemeVisitor, with_scheme, with_scheme_on};
pub use with_offsets::{OffsetForm, WithOffsets, WithOffsetsEvaluator, WithOffsetsGarbler};
pub use without_offset::{WithoutOffset, WithoutOffsetEvaluator, WithoutOffsetGarbler};

/// Decoding information does not fit the labels it should decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The decoding information is longer or shorter than the outputs need.
    #[error("decoding information is {found} bytes long where {expected} were expected")]
    WrongLength {
        /// Bytes that the outputs need.
        expected: usize,
        /// Bytes received.
        found: usize,
    },
    /// The label of this output stands for neither value: ⊥.
    #[error("the label of output bit {0} stands for neither value")]
    NeitherValue(u64),
}
