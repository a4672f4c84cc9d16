//! From a scheme's id to its type, where the scheme is chosen at run time.

use tacit_circuit::OrderingRule;
use tacit_kernels::{Construction, Cpu};

use crate::{HalfGates, Hash, OffsetForm, Prf, PrfXor1And3, PrfXor3And3, ThreeHalves, WithOffsets};
use crate::{Ordering, Scheme, SchemeId, SchemeName, UnknownScheme};

/// Work to be done with a scheme that is only known at run time.
pub trait SchemeVisitor {
    /// What the work gives.
    type Output;

    /// Does it with `scheme`.
    fn visit<S: Scheme>(self, scheme: S) -> Self::Output;
}

/// Gives the scheme named `id`, on the fastest backend that this CPU has, to `visitor`.
///
/// # Errors
///
/// The id's fields form no scheme of this version.
pub fn with_scheme<V: SchemeVisitor>(id: SchemeId, visitor: V) -> Result<V::Output, UnknownScheme> {
    with_scheme_on(Cpu::detect(), id, visitor)
}

/// Gives the scheme named `id`, on the backend that `cpu` stands for, to `visitor`. For
/// measurements and tests: the result is the same on each.
///
/// # Errors
///
/// The id's fields form no scheme of this version.
pub fn with_scheme_on<V: SchemeVisitor>(
    cpu: Cpu,
    id: SchemeId,
    visitor: V,
) -> Result<V::Output, UnknownScheme> {
    id.rung()?;
    Ok(match (id.name, id.hash) {
        (SchemeName::HalfGates, Hash::TwoCall) => {
            visitor.visit(HalfGates::on(cpu, Construction::TwoCall))
        }
        (SchemeName::HalfGates, Hash::Rekeyed) => {
            visitor.visit(HalfGates::on(cpu, Construction::Rekeyed))
        }
        (SchemeName::Prf, Hash::LabelKeyed) => visitor.visit(Prf::on(cpu)),
        (SchemeName::PrfXor3And3, Hash::LabelKeyed) => visitor.visit(PrfXor3And3::on(cpu)),
        (SchemeName::PrfXor1And3, Hash::LabelKeyed) => visitor.visit(PrfXor1And3::on(cpu)),
        (SchemeName::RelatedKey, Hash::LabelKeyed) => {
            let rule = id.ordering.rule().ok_or(UnknownScheme(id.to_bytes()))?;
            visitor.visit(WithOffsets::on(cpu, OffsetForm::RelatedKey(rule)))
        }
        (SchemeName::CircularAnd3, Hash::LabelKeyed) => {
            visitor.visit(WithOffsets::on(cpu, OffsetForm::CircularAnd3))
        }
        (SchemeName::CircularHalfGates, Hash::LabelKeyed) => {
            visitor.visit(WithOffsets::on(cpu, OffsetForm::CircularHalfGates))
        }
        (SchemeName::ThreeHalves, Hash::TwoCall) => visitor.visit(ThreeHalves::on(cpu)),
        _ => return Err(UnknownScheme(id.to_bytes())),
    })
}

impl Ordering {
    /// The rule by which it is computed, if it is one.
    #[must_use]
    pub const fn rule(self) -> Option<OrderingRule> {
        match self {
            Self::None => None,
            Self::Monotone => Some(OrderingRule::Monotone),
            Self::SafeMon1 => Some(OrderingRule::SafeMon1),
            Self::SafeMon2 => Some(OrderingRule::SafeMon2),
        }
    }
}
