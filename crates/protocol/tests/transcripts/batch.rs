//! Batches and their executions.

use tacit_garble::{HalfGates, Scheme as _};
use tacit_kernels::Construction;
use tacit_ot::Security;
use tacit_protocol::batch::{
    Batch, EvaluatorExecution, GarblerExecution, OnlineEvaluator, OnlineGarbler, Plan,
};
use tacit_protocol::io::Io;
use tacit_protocol::session::ProtocolId;

use crate::{INPUTS, Transcript, adder, check, default_ots, prg, run_tag, seed};

fn run(construction: Construction, executions: u64, bits: u8) -> Transcript {
    let (scheme, function) = (HalfGates::new(construction), adder());
    let mut prg = prg(3);
    let (garbler, evaluator) = default_ots(Security::Malicious, &mut prg);
    let plan = Plan::cheapest(&function, executions, bits).expect("a plan");
    let tag = run_tag(ProtocolId::Prepare, scheme.id(), &function);
    let batch = Batch::new(scheme, &function, plan, &tag).expect("a batch");
    let (mut garbler_ot, mut evaluator_ot, mut root) = (garbler, evaluator, seed(0));
    prg.fill_bytes(&mut *root);
    let mut transcript = Transcript::default();
    let (garblers, evaluators): (Vec<GarblerExecution>, Vec<EvaluatorExecution<'_>>) = transcript
        .run_scripts(
            async |io: &mut Io<'_>| {
                let (ot, kept) = (&mut garbler_ot, Vec::new());
                batch.prepare_as_garbler(io, ot, kept, 1, &root).await
            },
            async |io: &mut Io<'_>| {
                let (ot, kept) = (&mut evaluator_ot, Vec::new());
                let prepared = batch.prepare_as_evaluator(io, ot, kept, 1, &mut prg);
                prepared.await
            },
        );
    for (garbler, evaluator) in garblers.into_iter().zip(evaluators) {
        let ready = garbler.ready(&batch, 1);
        let seeds = [8, 9].map(seed);
        let garbler = OnlineGarbler::new(&batch, ready, &INPUTS[0], &seeds[0]).expect("a run");
        let evaluator = OnlineEvaluator::new(&batch, evaluator, &INPUTS[1], 1, &seeds[1]);
        let evaluator = evaluator.expect("a run");
        let (garbler, evaluator) = transcript.run_scripts(
            async |io: &mut Io<'_>| garbler.run(io).await,
            async |io: &mut Io<'_>| evaluator.run(io).await,
        );
        assert_eq!(garbler, evaluator);
    }
    transcript
}

#[test]
fn batches_and_their_executions() {
    let runs = [
        ("two-call, 1 at 4 bits", Construction::TwoCall, 1, 4),
        ("two-call, 3 at 10 bits", Construction::TwoCall, 3, 10),
        ("re-keyed, 1 at 4 bits", Construction::Rekeyed, 1, 4),
    ];
    let runs = runs.map(|(name, construction, executions, bits)| {
        (name.to_owned(), run(construction, executions, bits))
    });
    check("batch", runs.into());
}
