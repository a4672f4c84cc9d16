//! The garbling scheme of a run for which nobody names one.
//!
//! Every protocol follows this one rule, and so do preparations: what was prepared for a function
//! is there when the function runs. The rule looks at the function alone, so both parties compute
//! the same scheme on any machine.

use tacit_circuit::{Component, Program};
use tacit_function::Function;
use tacit_garble::{AndCounts, Assumption, SchemeId};

/// The scheme of a run of `function` that names none: half-gates, re-keyed where most AND gates
/// wait for another one ([`AndCounts::half_gates`]), else two-call.
#[must_use]
pub fn default_scheme(function: &Function) -> SchemeId {
    best_scheme(Assumption::IdealCipher, function)
}

/// The best scheme for `function` that rests on `assumption` alone ([`Assumption::scheme_for`]).
#[must_use]
pub fn best_scheme(assumption: Assumption, function: &Function) -> SchemeId {
    assumption.scheme_for(&programs(function))
}

/// How the AND gates of all calls of `function` lie in batches.
#[must_use]
pub fn shape(function: &Function) -> AndCounts {
    AndCounts::of(&programs(function))
}

/// The components' programs, with the number of calls of each.
fn programs(function: &Function) -> Vec<(&Program, u64)> {
    let programs = function.components().iter().map(Component::program);
    let calls = function.component_calls().iter().copied().map(u64::from);
    programs.zip(calls).collect()
}
