//! From a scheme's id to its type, where the scheme is chosen at run time.

use crate::{PrfXor1And3, Scheme, SchemeId, SchemeName, UnknownScheme};

/// Work to be done with a scheme that is only known at run time.
pub trait SchemeVisitor {
    /// What the work gives.
    type Output;

    /// Does it with `scheme`.
    fn visit<S: Scheme>(self, scheme: S) -> Self::Output;
}

/// Gives the scheme named `id` to `visitor`.
///
/// # Errors
///
/// The id's fields form no scheme of this version.
pub fn with_scheme<V: SchemeVisitor>(id: SchemeId, visitor: V) -> Result<V::Output, UnknownScheme> {
    id.rung()?;
    Ok(match id.name {
        SchemeName::HalfGates => return Err(UnknownScheme(id.to_bytes())),
        SchemeName::PrfXor1And3 => visitor.visit(PrfXor1And3::new()),
    })
}
