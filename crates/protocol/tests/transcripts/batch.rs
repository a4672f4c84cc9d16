//! Batches and their executions.

use tacit_garble::{HalfGates, Scheme as _};
use tacit_kernels::Construction;
use tacit_ot::Security;
use tacit_protocol::batch::{
    Batch, EvaluatorExecution, GarblerExecution, OnlineEvaluator, OnlineGarbler, Plan,
    PreparingEvaluator, PreparingGarbler,
};
use tacit_protocol::session::ProtocolId;

use crate::{INPUTS, Transcript, adder, check, default_ots, prg, run_tag, seed};

fn run(construction: Construction, executions: u64, bits: u8) -> Transcript {
    let (scheme, function) = (HalfGates::new(construction), adder());
    let mut prg = prg(3);
    let (garbler, evaluator) = default_ots(Security::Malicious, &mut prg);
    let plan = Plan::cheapest(&function, executions, bits).expect("a plan");
    let tag = run_tag(ProtocolId::Prepare, scheme.id(), &function);
    let batch = Batch::new(scheme, &function, plan, &tag).expect("a batch");
    let garbler = PreparingGarbler::new(&batch, garbler, Vec::new(), 1, &mut prg);
    let evaluator = PreparingEvaluator::new(&batch, evaluator, Vec::new(), 1, &mut prg);
    let (mut garbler, mut evaluator) = (garbler.expect("a batch"), evaluator.expect("a batch"));
    let mut transcript = Transcript::default();
    transcript.run([&mut garbler, &mut evaluator]);
    let garblers: Vec<GarblerExecution> = garbler.finish().expect("done");
    let evaluators: Vec<EvaluatorExecution<'_>> = evaluator.finish().expect("done");
    for (garbler, evaluator) in garblers.into_iter().zip(evaluators) {
        let ready = garbler.ready(&batch, 1);
        let garbler = OnlineGarbler::new(&batch, ready, &INPUTS[0], &seed(8));
        let evaluator = OnlineEvaluator::new(&batch, evaluator, &INPUTS[1], 1, &seed(9));
        let (mut garbler, mut evaluator) = (garbler.expect("a run"), evaluator.expect("a run"));
        transcript.run([&mut garbler, &mut evaluator]);
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
