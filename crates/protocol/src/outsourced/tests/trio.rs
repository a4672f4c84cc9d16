//! Three parties in memory. The messages of one of them may be rewritten.

use rand_core::UnwrapErr;
use tacit_function::{Function, FunctionBuilder, Recipient, Role};
use tacit_garble::{HalfGates, Scheme as _};
use tacit_kernels::{Block, Construction, Prg};
use zeroize::Zeroizing;

use crate::Error;
use crate::io::memory::{run_both, run_three};
use crate::message::Kind;
use crate::outsourced::{
    Cloud, CloudChain, CloudKept, CloudStart, CloudValue, Evaluator, EvaluatorBits,
    EvaluatorOutcome, Generator, GeneratorChain, GeneratorKept, GeneratorStart, GeneratorValue,
    Parameters, Peer, Terms, Verdict,
};
use crate::saved::{StoredChain as _, StoredValue as _};
use crate::session::{Hello, SessionTag};
use crate::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, OtSettings, dealt};

pub(super) fn scheme() -> HalfGates {
    HalfGates::new(Construction::TwoCall)
}

pub(super) fn malicious(copies: u32) -> Parameters {
    Parameters::insecure_for_measurements(copies, 8).expect("parameters")
}

/// Returns a function that adds a number of each party, and gives the sum to `to`.
pub(in crate::outsourced) fn adder(bits: u64, to: Recipient) -> Function {
    let mut builder = FunctionBuilder::new("adder");
    let ty = format!("u{bits}");
    builder
        .library("add", "adder", &[("bits", bits)])
        .input("x", &ty, Role::Garbler)
        .input("y", &ty, Role::Evaluator)
        .value("sum", &ty)
        .call(["sum"], "add", ["x", "y"])
        .output("sum", &ty, to, "sum");
    builder.finish().expect("a function")
}

/// The starting state of a run at generator and cloud, if there is any.
#[derive(Default)]
pub(super) struct Past {
    pub(super) chains: Option<(GeneratorChain, CloudChain)>,
    pub(super) generator: Vec<GeneratorValue>,
    pub(super) cloud: Vec<CloudValue>,
}

/// Returns the state after a run. The next run loads all saved values, converted to bytes and back.
pub(super) fn kept(generator: GeneratorOutcome, cloud: CloudKept) -> Past {
    let chain = |bytes: &[u8]| GeneratorChain::from_bytes(bytes).expect("its bytes");
    let generator = generator.kept;
    let mut chains = (
        chain(&generator.chain.to_bytes()),
        CloudChain::from_bytes(&cloud.chain.to_bytes()).expect("its bytes"),
    );
    let next = chains.0.attempt().max(chains.1.attempt()) + 1;
    chains.0.forward_to(next).expect("a later attempt");
    chains.1.forward_to(next).expect("a later attempt");
    let generators = generator.saved.iter();
    let generators = generators.map(|value| GeneratorValue::from_bytes(&value.to_bytes()));
    let clouds = cloud.saved.iter();
    let clouds = clouds.map(|value| CloudValue::from_bytes(&value.to_bytes()));
    Past {
        chains: Some(chains),
        generator: generators.collect::<Result<_, _>>().expect("its bytes"),
        cloud: clouds.collect::<Result<_, _>>().expect("its bytes"),
    }
}

/// The data that a run leaves the generator, and the generator's outputs.
pub(super) struct GeneratorOutcome {
    pub(super) kept: GeneratorKept,
    pub(super) outputs: Zeroizing<Vec<bool>>,
}

/// The parties of a run.
pub(super) struct Trio<'f> {
    pub(super) generator: Generator<'f, HalfGates>,
    pub(super) evaluator: Evaluator,
    pub(super) cloud: Cloud<'f, HalfGates>,
}

fn session_tag(number: u8) -> crate::session::RunTag {
    let [a, b] = [number, number + 1].map(|byte| Hello::of([byte; 32]));
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b)).setup(
        Role::Garbler,
        Default::default(),
        Default::default(),
    )
}

/// Returns OTs whose receiver is not checked.
pub(super) fn semi_honest_ots() -> (GarblerOt, EvaluatorOt) {
    let mut rng = UnwrapErr(getrandom::SysRng);
    let tag = session_tag(1);
    let garbler = GarblerSetup::with(OtSettings::default(), &tag, &mut rng).expect("a setup");
    let evaluator = EvaluatorSetup::with(OtSettings::default(), &tag, &mut rng).expect("a setup");
    let made = run_both(
        async |io| garbler.run(io).await?.ots(),
        async |io| evaluator.run(io).await?.ots(),
    );
    made.expect("a setup")
}

impl<'f> Trio<'f> {
    /// Returns the parties of run number `seed`, with the inputs of generator and evaluator.
    pub(super) fn new(
        function: &'f Function,
        parameters: Parameters,
        inputs: [&[bool]; 2],
        seed: u64,
        past: Past,
    ) -> Self {
        let mut prg = Prg::new(Block::from_u128(u128::from(seed)));
        let (with_evaluator, with_generator) = dealt(&session_tag(1), &mut prg);
        let (of_generator, of_cloud) = dealt(&session_tag(7), &mut prg);
        let mut draw = || {
            let mut bytes = Zeroizing::new([0; 32]);
            prg.fill_bytes(&mut *bytes);
            bytes
        };
        let (at_generator, at_cloud) = match past.chains {
            Some((generator, cloud)) => {
                (GeneratorStart::Chain(generator), CloudStart::Chain(cloud))
            }
            None => (
                GeneratorStart::NewChain(of_generator),
                CloudStart::NewChain(of_cloud),
            ),
        };
        // One server uses one thread, the other two.
        let threads = 1 + (seed % 2) as usize;
        let generator = Generator::new(
            scheme(),
            function,
            parameters,
            inputs[0],
            at_generator,
            past.generator,
            with_evaluator,
            threads,
            &draw(),
        );
        let terms = Terms {
            function: function.digest(),
            scheme: scheme().id(),
            parameters,
        };
        let counts = EvaluatorBits::of(function);
        let evaluator = Evaluator::new(terms, counts, inputs[1], with_generator, &draw());
        let cloud = Cloud::new(
            scheme(),
            function,
            parameters,
            at_cloud,
            past.cloud,
            3 - threads,
            &draw(),
        );
        Self {
            generator: generator.expect("a run"),
            evaluator: evaluator.expect("a run"),
            cloud: cloud.expect("a run"),
        }
    }

    /// Runs all parties to their ends. `rewrite` gets the messages of `cheater` before they are
    /// sent.
    pub(super) fn run(self, cheater: Option<Peer>, rewrite: Rewrite<'_>) -> Ended {
        let mut sent: [Vec<(Peer, Kind, usize)>; 3] = Default::default();
        let mut heard = Vec::new();
        let (mut verdict, mut from) = (Verdict::default(), None);
        let (generator, mut evaluator, cloud) = run_three(
            async |io| {
                let (kept, awaited) = self.generator.make(io).await?;
                let outputs = awaited.receive(io).await?;
                Ok(GeneratorOutcome { kept, outputs })
            },
            async |io| {
                let ended = self.evaluator.evaluate(io, &mut verdict).await;
                from = io.from();
                ended
            },
            async |io| {
                let (kept, results) = self.cloud.judge(io).await?;
                results.give(io)?;
                Ok(kept)
            },
            &mut |own, to, kind, (_, payload)| {
                if cheater == Some(Peer::ALL[own]) {
                    let before = sent[own].iter().filter(|(_, k, _)| *k == kind).count();
                    rewrite(to, kind, before, payload);
                }
                sent[own].push((to, kind, payload.len()));
                if cheater == Some(to) {
                    heard.push((Peer::ALL[own], kind, payload.clone()));
                }
                Ok(())
            },
        );
        if let Err(error) = &evaluator
            && let Some(refusal) = from.and_then(|from| verdict.refusal(from, error))
        {
            // The evaluator's user reads this; the peers have been told without it.
            evaluator = Err(refusal);
        }
        let (generator, generators_end) = apart(generator);
        let (evaluator, evaluators_end) = apart(evaluator);
        let (cloud, clouds_end) = apart(cloud);
        Ended {
            ends: [generators_end, evaluators_end, clouds_end],
            generator,
            evaluator,
            cloud,
            sent,
            heard,
        }
    }
}

fn apart<T>(ended: Result<T, Error>) -> (Option<T>, Result<(), Error>) {
    match ended {
        Ok(outcome) => (Some(outcome), Ok(())),
        Err(error) => (None, Err(error)),
    }
}

/// A change of a message, which gets the message's receiver, its kind, and its number among those
/// of that kind.
pub(super) type Rewrite<'r> = &'r mut dyn FnMut(Peer, Kind, usize, &mut Vec<u8>);

/// Changes nothing.
pub(super) fn honest(_: Peer, _: Kind, _: usize, _: &mut Vec<u8>) {}

/// The outcomes of generator, evaluator and cloud, their results, the messages that each sent, and
/// the messages to the cheater, including those after its own script had ended.
pub(super) struct Ended {
    pub(super) ends: [Result<(), Error>; 3],
    pub(super) generator: Option<GeneratorOutcome>,
    pub(super) evaluator: Option<EvaluatorOutcome>,
    pub(super) cloud: Option<CloudKept>,
    pub(super) sent: [Vec<(Peer, Kind, usize)>; 3],
    pub(super) heard: Vec<(Peer, Kind, Vec<u8>)>,
}

/// Returns the bits of a number.
pub(super) fn bits(number: u64, count: usize) -> Vec<bool> {
    (0..count).map(|i| number >> i & 1 == 1).collect()
}

/// Returns the number with these bits.
pub(super) fn number(bits: &[bool]) -> u64 {
    (0..)
        .zip(bits)
        .fold(0, |sum, (i, bit)| sum | u64::from(*bit) << i)
}
