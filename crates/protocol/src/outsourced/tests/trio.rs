//! Three parties in memory, one of which may have its messages rewritten.

use rand_core::UnwrapErr;
use tacit_function::{Function, FunctionBuilder, Recipient, Role};
use tacit_garble::{HalfGates, Scheme as _};
use tacit_kernels::{Block, Construction, Prg};
use zeroize::Zeroizing;

use crate::Error;
use crate::message::{AbortReason, Kind};
use crate::outsourced::party::Queue;
use crate::outsourced::{
    Cloud, CloudChain, CloudOutcome, CloudStart, CloudValue, Evaluator, Generator, GeneratorChain,
    GeneratorOutcome, GeneratorStart, GeneratorValue, Parameters, Peer, Shape, Step, Terms,
    ThreeParty,
};
use crate::party::admit;
use crate::saved::{StoredChain as _, StoredValue as _};
use crate::session::{Hello, SessionTag};
use crate::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, dealt};

pub(super) fn scheme() -> HalfGates {
    HalfGates::new(Construction::TwoCall)
}

pub(super) fn malicious(copies: u32) -> Parameters {
    Parameters::insecure_for_measurements(copies, 8).expect("parameters")
}

/// Adds a number of each party, and gives the sum to `to`.
pub(in crate::outsourced) fn adder(bits: u64, to: Recipient) -> Function {
    let mut builder = FunctionBuilder::new("adder");
    let ty = format!("u{bits}");
    builder
        .library("add", "adder", &[("bits", bits)])
        .input("x", &ty, Role::Garbler)
        .input("y", &ty, Role::Evaluator)
        .value("sum", &ty)
        .step("sum = add(x, y)")
        .output("sum", &ty, to, "sum");
    builder.finish().expect("a function")
}

/// What a run starts from: state of generator and cloud, if there is.
#[derive(Default)]
pub(super) struct Past {
    pub(super) chains: Option<(GeneratorChain, CloudChain)>,
    pub(super) generator: Vec<GeneratorValue>,
    pub(super) cloud: Vec<CloudValue>,
}

/// The state after a run, in which all that was saved is loaded next, through its bytes.
pub(super) fn kept(generator: GeneratorOutcome, cloud: CloudOutcome) -> Past {
    let chain = |bytes: &[u8]| GeneratorChain::from_bytes(bytes).expect("its bytes");
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

/// The parties of a run.
pub(super) struct Trio<'f> {
    pub(super) generator: Generator<'f, HalfGates>,
    pub(super) evaluator: Evaluator,
    pub(super) cloud: Cloud<'f, HalfGates>,
}

fn session_tag(number: u8) -> crate::session::RunTag {
    let [a, b] = [number, number + 1].map(|byte| Hello { nonce: [byte; 32] });
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b)).setup(
        Role::Garbler,
        Default::default(),
        Default::default(),
    )
}

/// OTs whose receiver is not checked.
pub(super) fn semi_honest_ots() -> (GarblerOt, EvaluatorOt) {
    let mut rng = UnwrapErr(getrandom::SysRng);
    let tag = session_tag(1);
    let mut garbler = GarblerSetup::new(&tag, &mut rng).expect("a setup");
    let mut evaluator = EvaluatorSetup::new(&tag, &mut rng).expect("a setup");
    crate::party::run_in_memory(&mut garbler, &mut evaluator).expect("a setup");
    (
        garbler.finish().expect("done"),
        evaluator.finish().expect("done"),
    )
}

impl<'f> Trio<'f> {
    /// The parties of run number `seed`, with the inputs of generator and evaluator.
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
        let generator = Generator::new(
            scheme(),
            function,
            parameters,
            inputs[0],
            at_generator,
            past.generator,
            with_evaluator,
            1,
            &draw(),
        );
        let terms = Terms {
            function: function.digest(),
            scheme: scheme().id(),
            parameters,
        };
        let shape = Shape::of(function);
        let evaluator = Evaluator::new(terms, shape, inputs[1], with_generator, &draw());
        let cloud = Cloud::new(
            scheme(),
            function,
            parameters,
            at_cloud,
            past.cloud,
            2,
            &draw(),
        );
        Self {
            generator: generator.expect("a run"),
            evaluator: evaluator.expect("a run"),
            cloud: cloud.expect("a run"),
        }
    }

    /// Runs to the end of all. `cheater`'s messages are given to `rewrite` before they leave.
    #[expect(clippy::too_many_lines, reason = "one loop over three parties")]
    pub(super) fn run(&mut self, cheater: Option<Peer>, rewrite: Rewrite<'_>) -> Ended {
        let mut parties: [&mut dyn ThreeParty; 3] =
            [&mut self.generator, &mut self.evaluator, &mut self.cloud];
        let mut queues: [[Queue; 3]; 3] = Default::default();
        let mut ends: [Option<Result<(), Error>>; 3] = [const { None }; 3];
        let mut sent: [Vec<(Peer, Kind, usize)>; 3] = Default::default();
        let (mut message, mut idle) = (Vec::new(), 0);
        let mut heard = Vec::new();
        // Whose message each reads.
        let mut reads = Peer::ALL;
        while ends.iter().any(Option::is_none) && idle < 4 {
            idle += 1;
            for own in 0..3 {
                if ends[own].is_some() {
                    continue;
                }
                let mut step = || -> Result<bool, Error> {
                    match parties[own].next(&mut message)? {
                        Step::Done => return Ok(true),
                        Step::Continue | Step::Keep => idle = 0,
                        Step::Send { to, kind } => {
                            if cheater == Some(Peer::ALL[own]) {
                                let all = sent[own].iter();
                                let before = all.filter(|(_, k, _)| *k == kind).count();
                                rewrite(to, kind, before, &mut message);
                            }
                            sent[own].push((to, kind, message.len()));
                            if cheater == Some(to) {
                                heard.push((Peer::ALL[own], kind, message.clone()));
                            }
                            queues[to as usize][own].push_back((kind, message.clone()));
                            idle = 0;
                        }
                        Step::Receive {
                            from,
                            kind,
                            max_bytes,
                        } => {
                            reads[own] = from;
                            // An abort is heard where it is read: from the peer that is waited for.
                            let queue = &mut queues[own][from as usize];
                            if let Some((found, payload)) = queue.pop_front() {
                                admit(kind, max_bytes, found.byte(), &payload)?;
                                parties[own].receive(&payload)?;
                                idle = 0;
                            }
                        }
                    }
                    Ok(false)
                };
                match step() {
                    Ok(false) => {}
                    Ok(true) => ends[own] = Some(Ok(())),
                    Err(error) => {
                        let reason = error.abort_reason();
                        ends[own] = Some(Err(error));
                        for to in (0..3).filter(|to| *to != own) {
                            queues[to][own].push_back((Kind::Abort, vec![reason.byte()]));
                        }
                        idle = 0;
                    }
                }
            }
        }
        let own = Peer::Evaluator as usize;
        if let Some(Err(error)) = &ends[own]
            && let Some(refusal) = self.evaluator.refusal(reads[own], error)
        {
            // What its user reads: the peers have been told without it.
            ends[own] = Some(Err(refusal));
        }
        let stuck = || Err(Error::PeerAborted(AbortReason::TimedOut));
        Ended {
            ends: ends.map(|end| end.unwrap_or_else(stuck)),
            sent,
            heard,
        }
    }
}

/// Changes a message, of which it is given the receiver, the kind, and the number among those of
/// that kind.
pub(super) type Rewrite<'r> = &'r mut dyn FnMut(Peer, Kind, usize, &mut Vec<u8>);

/// Changes nothing.
pub(super) fn honest(_: Peer, _: Kind, _: usize, _: &mut Vec<u8>) {}

/// How a run ended for generator, evaluator and cloud, what each sent, and what was sent to the
/// cheater, whether or not its own machine had ended before.
pub(super) struct Ended {
    pub(super) ends: [Result<(), Error>; 3],
    pub(super) sent: [Vec<(Peer, Kind, usize)>; 3],
    pub(super) heard: Vec<(Peer, Kind, Vec<u8>)>,
}

/// A number's bits.
pub(super) fn bits(number: u64, count: usize) -> Vec<bool> {
    (0..count).map(|i| number >> i & 1 == 1).collect()
}

/// The number of some bits.
pub(super) fn number(bits: &[bool]) -> u64 {
    (0..)
        .zip(bits)
        .fold(0, |sum, (i, bit)| sum | u64::from(*bit) << i)
}
