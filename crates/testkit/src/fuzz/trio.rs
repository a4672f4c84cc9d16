//! Three parties of `outsourced` in memory, one of which lies from some message on.

use std::sync::LazyLock;

use tacit_function::Function;
use tacit_garble::Scheme as _;
use tacit_kernels::{Block, Prg};
use tacit_ot::Security;
use tacit_ot::source::Extension;
use tacit_protocol::io::memory::run_three;
use tacit_protocol::outsourced::{
    Cloud, CloudKept, CloudStart, Evaluator, EvaluatorBits, Generator, GeneratorKept,
    GeneratorStart, Parameters, Terms, Verdict,
};
use tacit_protocol::saved::{StoredChain as _, StoredValue as _};
use zeroize::Zeroizing;

use super::duels::{check_misuse, lies, ots, scheme};
use super::edits::Edits;
use crate::three::kept_riches;

/// Fuzzes a run over four circuits that starts a chain and saves a value.
pub fn outsourced(data: &[u8]) {
    run(data, |_, _| ());
}

/// Returns chains and values after an honest run: inputs of `saved`.
pub fn honest_state() -> Vec<Vec<u8>> {
    let mut state = Vec::new();
    run(&[], |generator, cloud| {
        state.push(generator.chain.to_bytes().to_vec());
        state.push(cloud.chain.to_bytes().to_vec());
        let generators = generator.saved.iter();
        state.extend(generators.map(|value| value.to_bytes().to_vec()));
        let clouds = cloud.saved.iter();
        state.extend(clouds.map(|value| value.to_bytes().to_vec()));
    });
    assert!(!state.is_empty(), "all are honest");
    state
}

fn run(data: &[u8], then: impl FnOnce(GeneratorKept, CloudKept)) {
    let mut edits = Edits::new(data);
    let mut prg = Prg::new(Block::from_u128(data.len() as u128));
    static FUNCTION: LazyLock<Function> = LazyLock::new(|| kept_riches(false));
    let function = &*FUNCTION;
    let parameters = Parameters::insecure_for_measurements(4, 8).expect("in bounds");
    let (extension, security) = (Extension::default(), Security::Malicious);
    let (with_evaluator, with_generator) = ots(extension, security, &mut prg);
    let (of_generator, of_cloud) = ots(extension, security, &mut prg);
    let seed = Zeroizing::new([9; 32]);
    let generator = Generator::new(
        scheme(),
        function,
        parameters,
        &[true; 8],
        GeneratorStart::NewChain(of_generator),
        Vec::new(),
        with_evaluator,
        1,
        &seed,
    );
    let terms = Terms {
        function: function.digest(),
        scheme: scheme().id(),
        parameters,
    };
    let counts = EvaluatorBits::of(function);
    let evaluator = Evaluator::new(terms, counts, &[true; 8], with_generator, &[8; 32].into());
    let start = CloudStart::NewChain(of_cloud);
    let seed = Zeroizing::new([7; 32]);
    let cloud = Cloud::new(scheme(), function, parameters, start, Vec::new(), 1, &seed);
    let (generator, evaluator, cloud) = (
        generator.expect("a run"),
        evaluator.expect("a run"),
        cloud.expect("a run"),
    );
    let liar = edits.liar(3);
    let ended = run_three(
        async |io| {
            let (kept, awaited) = generator.make(io).await?;
            awaited.receive(io).await.map(|_| kept)
        },
        async |io| evaluator.evaluate(io, &mut Verdict::default()).await,
        async |io| {
            let (kept, results) = cloud.judge(io).await?;
            results.give(io).map(|()| kept)
        },
        &mut lies(&mut edits, liar),
    );
    match ended {
        (Ok(generator), Ok(_), Ok(cloud)) => then(generator, cloud),
        (generator, evaluator, cloud) => {
            let (generator, evaluator) = (generator.as_ref().err(), evaluator.as_ref().err());
            check_misuse(liar, [generator, evaluator, cloud.as_ref().err()]);
        }
    }
}
