//! Runs of three parties that keep values.

use tacit_function::Function;
use tacit_garble::Scheme as _;
use tacit_ot::Security;
use tacit_protocol::io::memory::run_three;
use tacit_protocol::outsourced::{
    Cloud, CloudKept, CloudStart, Evaluator, EvaluatorBits, Generator, GeneratorKept,
    GeneratorStart, Parameters, Terms, Verdict,
};
use tacit_protocol::party::PeerName as _;
use tacit_protocol::saved::StoredChain as _;

use crate::{INPUTS, Transcript, check, default_ots, keeping, prg, scheme, seed};

fn run(
    function: &Function,
    past: Option<(GeneratorKept, CloudKept)>,
    transcript: &mut Transcript,
) -> (GeneratorKept, CloudKept) {
    let mut prg = prg(4);
    let parameters = Parameters::insecure_for_measurements(4, 8).expect("in bounds");
    let (with_evaluator, with_generator) = default_ots(Security::Malicious, &mut prg);
    let (generator, cloud, saved) = match past {
        None => {
            let (of_generator, of_cloud) = default_ots(Security::Malicious, &mut prg);
            let cloud = CloudStart::NewChain(of_cloud);
            (
                GeneratorStart::NewChain(of_generator),
                cloud,
                <_>::default(),
            )
        }
        Some((mut generator, mut cloud)) => {
            let next = generator.chain.attempt().max(cloud.chain.attempt()) + 1;
            generator.chain.forward_to(next).expect("a later attempt");
            cloud.chain.forward_to(next).expect("a later attempt");
            (
                GeneratorStart::Chain(generator.chain),
                CloudStart::Chain(cloud.chain),
                (generator.saved, cloud.saved),
            )
        }
    };
    let generator = Generator::new(
        scheme(),
        function,
        parameters,
        &INPUTS[0],
        generator,
        saved.0,
        with_evaluator,
        1,
        &seed(9),
    );
    let terms = Terms {
        function: function.digest(),
        scheme: scheme().id(),
        parameters,
    };
    let counts = EvaluatorBits::of(function);
    let evaluator = Evaluator::new(terms, counts, &INPUTS[1], with_generator, &seed(8));
    let cloud = Cloud::new(scheme(), function, parameters, cloud, saved.1, 1, &seed(7));
    let (generator, evaluator, cloud) = (
        generator.expect("a run"),
        evaluator.expect("a run"),
        cloud.expect("a run"),
    );
    let (generator, evaluator, cloud) = run_three(
        async |io| {
            let (kept, awaited) = generator.make(io).await?;
            awaited.receive(io).await.map(|_| kept)
        },
        async |io| evaluator.evaluate(io, &mut Verdict::default()).await,
        async |io| {
            let (kept, results) = cloud.judge(io).await?;
            results.give(io).map(|()| kept)
        },
        &mut |from, to, kind, (_, payload)| {
            transcript.note((from, to.number(from)), kind.byte(), payload);
            Ok(())
        },
    );
    evaluator.expect("honest");
    (generator.expect("honest"), cloud.expect("honest"))
}

#[test]
fn a_chain_of_three_parties() {
    let mut transcript = Transcript::default();
    let begun = run(&keeping(false), None, &mut transcript);
    let mut later = Transcript::default();
    run(&keeping(true), Some(begun), &mut later);
    let runs = [
        ("first run of a chain", transcript),
        ("second run of a chain", later),
    ];
    let runs = runs.map(|(name, transcript)| (name.to_owned(), transcript));
    check("outsourced", runs.into());
}
