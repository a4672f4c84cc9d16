//! Which parameter differs, where the peer wants another function than this party.
//!
//! The peer tells the digest of its function and nothing else. So this party tries its own function
//! with other values of one parameter, for a while, until one has that digest.

use std::time::{Duration, Instant};

use tacit::circuit::Digest;

use crate::args::{FunctionArgs, RunArgs};
use crate::failure::Failure;
use crate::function;
use crate::typed::Runnable;

/// For all tries together.
const PATIENCE: Duration = Duration::from_secs(2);
/// Values next to this party's own, and small ones, that are tried.
const NEAR: u64 = 8;
const SMALL: u64 = 64;

/// The failure that names the parameter, if it is found: the peer's function is the one with the
/// digest `theirs`.
pub(super) fn differing(args: &RunArgs, runnable: &Runnable, theirs: Digest) -> Option<Failure> {
    let end = Instant::now() + PATIENCE;
    let tried = |name: &str, value: u64| {
        let mut choice = args.choice.clone();
        choice.params.retain(|(other, _)| other != name);
        choice.params.push((name.to_owned(), value.to_string()));
        is_it(&args.function, &choice, theirs)
    };
    for (name, own) in parameters(args, runnable) {
        for value in candidates(own) {
            if Instant::now() >= end {
                return None;
            }
            if tried(&name, value) {
                return Some(Failure::OtherParam {
                    name,
                    own,
                    theirs: value,
                });
            }
        }
    }
    None
}

/// The parameters of a function, and what they are here.
fn parameters(args: &RunArgs, runnable: &Runnable) -> Vec<(String, u64)> {
    match runnable.typed() {
        Some(typed) => {
            let params = typed.signature().params().iter();
            let params = params.filter_map(|param| {
                let value = param.value.to_string().parse().ok()?;
                Some((param.name.to_string(), value))
            });
            params.collect()
        }
        // Those of a component are what was given.
        None if runnable.function().parameters().is_empty() => {
            let given = args.choice.params.iter();
            given
                .filter_map(|(name, value)| Some((name.clone(), value.parse().ok()?)))
                .collect()
        }
        None => runnable.function().parameters().to_vec(),
    }
}

/// Values that a person may have given in place of `own`.
fn candidates(own: u64) -> impl Iterator<Item = u64> {
    let near = own.saturating_sub(NEAR)..=own.saturating_add(NEAR);
    let powers = (0..20).map(|power| 1 << power);
    let tens = (0..7).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    let all = near.chain(powers).chain(tens).chain(0..=SMALL);
    // A much larger one may take long to compile, and the peer chooses the digest that is looked
    // for.
    let most = own.saturating_mul(2).max(SMALL);
    all.filter(move |value| *value != own && *value <= most)
}

/// Whether this party's function with `choice` has this digest.
fn is_it(name: &str, choice: &FunctionArgs, digest: Digest) -> bool {
    let found = function::find(name, choice).and_then(|found| found.runnable(choice));
    found.is_ok_and(|runnable| runnable.function().digest() == digest)
}
