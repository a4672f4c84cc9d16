//! What a party refuses before or after all messages were as they should be.

use tacit_function::{Recipient, Role};
use tacit_ot::Security;

use super::against_evaluator::{against, of_buckets, plan};
use super::duel::{How, batch};
use super::{OtSettings, function, session};
use crate::Error;
use crate::batch::{Caught, PreparingEvaluator, PreparingGarbler};
use crate::io::memory::run_in_memory;
use crate::setup::{EvaluatorSetup, GarblerSetup};

/// Circuits that all give nothing are caught, and never taken for a result.
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

/// OTs against which a party could cheat.
#[test]
fn semi_honest_transfers_are_refused() {
    let function = function("adder", Recipient::Both);
    let batch = batch(&function, plan(&function));
    let settings = OtSettings::default();
    let tag = session().setup(Role::Garbler, settings.base, settings.extension);
    let mut garbler = GarblerSetup::with(settings, &tag, &mut super::rng()).unwrap();
    let mut evaluator = EvaluatorSetup::with(settings, &tag, &mut super::rng()).unwrap();
    run_in_memory([&mut garbler, &mut evaluator]).unwrap();
    let (garbler, evaluator) = (garbler.finish().unwrap(), evaluator.finish().unwrap());
    assert_eq!(garbler.security(), Security::SemiHonest);
    let garbler = PreparingGarbler::new(&batch, garbler, Vec::new(), 1, &mut super::rng());
    let evaluator = PreparingEvaluator::new(&batch, evaluator, Vec::new(), 1, &mut super::rng());
    for refused in [garbler.err(), evaluator.err()] {
        assert!(matches!(refused, Some(Error::ApiMisuse(_))), "{refused:?}");
    }
}
