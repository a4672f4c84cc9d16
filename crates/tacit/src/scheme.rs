//! The garbling scheme of a run that names none.
//!
//! Every protocol and every preparation follows this one rule, so a run finds the material prepared
//! for its function. The rule depends on the function alone, so both parties compute the same
//! scheme on any machine.

use tacit_circuit::{Component, Program};
use tacit_function::Function;
use tacit_garble::{AndCounts, Assumption, HalfGates, Scheme, SchemeId, ThreeHalves};
use tacit_kernels::{Block, Construction};

use crate::Error;
use crate::protocols::Protocol;

/// Returns the scheme of a run of `function` that names none: half-gates, re-keyed if most AND
/// gates wait for another one ([`AndCounts::half_gates`]), or else two-call.
pub fn default_scheme(function: &Function) -> SchemeId {
    best_scheme(Assumption::IdealCipher, function)
}

/// Returns the best scheme for `function` that rests on `assumption` alone
/// ([`Assumption::scheme_for`]).
pub fn best_scheme(assumption: Assumption, function: &Function) -> SchemeId {
    assumption.scheme_for(&programs(function))
}

/// Returns how the AND gates of all calls of `function` form batches.
pub fn shape(function: &Function) -> AndCounts {
    AndCounts::of(&programs(function))
}

/// Returns the components' programs, each with the number of its calls.
fn programs(function: &Function) -> Vec<(&Program, u64)> {
    let programs = function.components().iter().map(Component::program);
    let calls = function.component_calls().iter().copied().map(u64::from);
    programs.zip(calls).collect()
}

/// An action for a scheme whose wires are blocks.
pub(crate) trait BlockVisitor {
    /// The result.
    type Output;

    /// Performs the action.
    fn visit<S: Scheme<Wire = Block>>(self, scheme: S) -> Self::Output;
}

/// An action that does nothing, to check only whether a protocol supports a scheme.
impl BlockVisitor for () {
    type Output = ();

    fn visit<S: Scheme<Wire = Block>>(self, _scheme: S) {}
}

/// Calls `visitor` with the scheme `id`, for a run by `protocol`: half-gates and, under `batch`,
/// three-halves.
pub(crate) fn with_block_scheme<V: BlockVisitor>(
    id: SchemeId,
    protocol: Protocol,
    visitor: V,
) -> Result<V::Output, Error> {
    Ok(match id {
        SchemeId::HALF_GATES_TWO_CALL => visitor.visit(HalfGates::new(Construction::TwoCall)),
        SchemeId::HALF_GATES_REKEYED => visitor.visit(HalfGates::new(Construction::Rekeyed)),
        SchemeId::THREE_HALVES if protocol == Protocol::Batch => visitor.visit(ThreeHalves::new()),
        scheme => return Err(Error::SchemeNotFor { protocol, scheme }),
    })
}
