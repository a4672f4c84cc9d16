//! Refusals before any message is sent, or after all messages were correct.

use tacit_function::{Recipient, Role};
use tacit_ot::Security;

use super::against_evaluator::{against, of_buckets, plan};
use super::duel::{How, batch};
use super::{OtSettings, function, session};
use crate::Error;
use crate::batch::{Caught, GarblerExecution};
use crate::io::memory::{run_both, run_two};
use crate::setup::{EvaluatorSetup, GarblerSetup};

/// A bucket in which no circuit gives a result is caught, and never taken for a result.
#[test]
fn a_bucket_without_a_result_is_found() {
    let function = function("adder", Recipient::Both);
    let found = against(&function, |batch| {
        let circuits = of_buckets(batch, 0, batch.bucket());
        let rows = (0..16).map(|row| How::Flipped(|layout| layout.tables.clone(), 16 * row));
        rows.map(|how| (circuits.clone(), how)).collect()
    });
    assert!(
        found.iter().all(|caught| *caught == Some(Caught::NoResult)),
        "{found:?}"
    );
}

/// OTs against which a party could cheat are refused.
#[test]
fn semi_honest_transfers_are_refused() {
    let function = function("adder", Recipient::Both);
    let batch = batch(&function, plan(&function));
    let settings = OtSettings::default();
    let tag = session().setup(Role::Garbler, settings.base, settings.extension);
    let garbler = GarblerSetup::with(settings, &tag, &mut super::rng()).unwrap();
    let evaluator = EvaluatorSetup::with(settings, &tag, &mut super::rng()).unwrap();
    let made = run_both(
        async |io| garbler.run(io).await?.ots(),
        async |io| evaluator.run(io).await?.ots(),
    );
    let (garbler, evaluator) = made.unwrap();
    assert_eq!(garbler.security(), Security::SemiHonest);
    let (mut garbler, mut evaluator, seed) = (garbler, evaluator, super::seed());
    let ended = run_two(
        async |io| {
            let kept: Vec<GarblerExecution> = Vec::new();
            let prepared = batch.prepare_as_garbler(io, &mut garbler, kept, 1, &seed);
            prepared.await.map(drop)
        },
        async |io| {
            let (kept, mut rng) = (Vec::new(), super::rng());
            let prepared = batch.prepare_as_evaluator(io, &mut evaluator, kept, 1, &mut rng);
            prepared.await.map(drop)
        },
        &mut |_, _, kind, _| panic!("{kind} was sent"),
    );
    let (garbler, evaluator) = ended.results;
    for refused in [garbler.err(), evaluator.err()] {
        assert!(matches!(refused, Some(Error::ApiMisuse(_))), "{refused:?}");
    }
}
