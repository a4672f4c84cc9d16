//! Reading kept keys and seeds, and dropping scripts at an await, leaves no secret in freed memory.

use std::collections::BTreeMap;

use tacit_circuit::Port;
use tacit_components::library;
use tacit_function::{Function, FunctionBuilder, Recipient, Role};
use tacit_garble::{HalfGates, Scheme};
use tacit_kernels::leftovers::{Memory, Watching, watch};
use tacit_kernels::{Block, Construction, Prg};
use tacit_ot::Security;
use tacit_protocol::Error;
use tacit_protocol::batch::{
    Batch, EvaluatorExecution, GarblerExecution, OnlineEvaluator, OnlineGarbler, Plan,
};
use tacit_protocol::io::Io;
use tacit_protocol::io::memory::{Ended, run_both, run_three, run_two};
use tacit_protocol::message::Kind;
use tacit_protocol::outsourced::{
    Cloud, CloudChain, CloudStart, Evaluator, EvaluatorBits, Generator, GeneratorChain,
    GeneratorStart, Parameters, Terms, Verdict,
};
use tacit_protocol::prepared::{
    Demand, EvaluatorOts, GarblerInstance, GarblerOts, InstanceSeed, InstanceTables, Past,
    QueuedInstances, Run,
};
use tacit_protocol::saved::{ChainId, StoredChain};
use tacit_protocol::session::{Hello, Proposal, ProtocolId, SessionTag};
use tacit_protocol::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, OtSettings};
use zeroize::Zeroizing;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Returns a key or seed whose bytes occur nowhere else.
fn key(number: usize) -> [u8; 32] {
    [100 + number as u8; 32]
}

fn assert_wiped(memory: &Memory, keys: usize) {
    for number in 0..keys {
        assert_eq!(memory.freed(&key(number)), 0, "key {number}");
    }
}

#[test]
fn a_chain_that_was_read_leaves_no_key() {
    const COPIES: usize = 9;
    // The chain of a generator, of 9 circuits, at k = 8; its id; its attempt.
    let mut bytes = vec![1, 1, COPIES as u8, 0, 8];
    bytes.extend_from_slice(&[9; 16]);
    bytes.extend_from_slice(&4_u64.to_le_bytes());
    (0..2 * COPIES).for_each(|number| bytes.extend_from_slice(&key(number)));
    let (read, memory) = watch(|| GeneratorChain::from_bytes(&bytes).map(drop));
    read.expect("a chain");
    assert_wiped(&memory, 2 * COPIES);
}

/// Returns a function that adds two numbers. The first is the garbler's, and both parties get the
/// sum.
fn adder() -> Function {
    let circuit = library::find("adder", &BTreeMap::new()).expect("the library has it");
    let first = circuit.inputs()[0].name.clone();
    let owner = |port: &Port| {
        if port.name == first {
            Role::Garbler
        } else {
            Role::Evaluator
        }
    };
    let function = Function::of_circuit("adder", circuit, owner, |_| Recipient::Both);
    function.expect("a function")
}

fn batch(function: &Function, bits: u8) -> Batch<'_, HalfGates> {
    let plan = Plan::cheapest(function, 1, bits).expect("a plan");
    let scheme = HalfGates::new(Construction::TwoCall);
    Batch::named(scheme, function, plan, [7; 16]).expect("a batch")
}

#[test]
fn an_execution_that_was_read_leaves_no_seed() {
    let function = adder();
    let batch = batch(&function, 40);
    let seeds = GarblerExecution::bytes(&batch) / (4 + 32);
    assert!(seeds > 4, "as many as no vector has room for by itself");
    let circuit = |number: usize| [&(number as u32).to_le_bytes()[..], &key(number)].concat();
    let bytes: Vec<u8> = (0..seeds).flat_map(circuit).collect();
    let (read, memory) = watch(|| GarblerExecution::from_bytes(&batch, &bytes).map(drop));
    read.expect("an execution");
    assert_wiped(&memory, seeds);
}

/// Returns maliciously secure OTs of a session.
fn ots() -> (GarblerOt, EvaluatorOt) {
    let settings = OtSettings::default();
    let hello = [1, 2].map(|byte| Hello::of([byte; 32]));
    let tag = SessionTag::new(&[3; 32], (&[4; 32], &hello[0]), (&[5; 32], &hello[1]));
    let tag = tag.setup(Role::Garbler, settings.base, settings.extension);
    let mut prg = Prg::new(Block::from_u128(3));
    let garbler = GarblerSetup::with(settings, &tag, &mut prg).expect("a setup");
    let evaluator = EvaluatorSetup::with(settings, &tag, &mut prg).expect("a setup");
    let made = run_both(
        async |io| garbler.secured(Security::Malicious).run(io).await?.ots(),
        async |io| evaluator.secured(Security::Malicious).run(io).await?.ots(),
    );
    made.expect("honest")
}

/// Runs both scripts until they have sent `messages` messages, and drops them there. The next
/// message, whose kind is returned, is written but not sent.
fn stopped_after<A, B>(
    messages: usize,
    a: impl AsyncFnOnce(&mut Io<'_>) -> Result<A, Error>,
    b: impl AsyncFnOnce(&mut Io<'_>) -> Result<B, Error>,
) -> (Option<Kind>, Ended<A, B>) {
    let (mut sent, mut last) = (0, None);
    // The frames of futures are memory that is freed.
    let boxed_a = async |io: &mut Io<'_>| Box::pin(a(io)).await;
    let boxed_b = async |io: &mut Io<'_>| Box::pin(b(io)).await;
    let ended = run_two(boxed_a, boxed_b, &mut |_, _, kind, _| {
        (sent, last) = (sent + 1, Some(kind));
        if sent <= messages {
            Ok(())
        } else {
            Err(Error::Wire)
        }
    });
    (last, ended)
}

#[test]
fn a_preparation_that_is_dropped_leaves_no_choice() {
    let function = adder();
    let batch = batch(&function, 4);
    // The evaluator draws its seed, the openings of check set and buckets, and W.
    let mut draws = Prg::new(Block::from_u128(9));
    let mut drawn = [[0; 32]; 3];
    drawn.iter_mut().for_each(|bytes| draws.fill_bytes(bytes));
    let mut w = [0; 16];
    draws.fill_bytes(&mut w);
    let mut seen = Vec::new();
    for messages in 0.. {
        let (mut garbler, mut evaluator) = ots();
        let seed = Zeroizing::new(key(0));
        let mut rng = Prg::new(Block::from_u128(9));
        let garble = async |io: &mut Io<'_>| {
            let (kept, ot): (Vec<GarblerExecution>, _) = (Vec::new(), &mut garbler);
            batch.prepare_as_garbler(io, ot, kept, 1, &seed).await
        };
        let evaluate = async |io: &mut Io<'_>| {
            let (kept, ot) = (Vec::new(), &mut evaluator);
            let prepared = batch.prepare_as_evaluator(io, ot, kept, 1, &mut rng);
            prepared.await
        };
        let ((last, ended), memory) = watch(|| stopped_after(messages, garble, evaluate));
        seen.extend(last);
        let unsent = |kind, bytes: &[u8]| {
            if seen.contains(&kind) {
                0
            } else {
                memory.freed(bytes)
            }
        };
        let leftovers = [
            memory.freed(&*seed),
            memory.freed(&drawn[0]),
            unsent(Kind::CheckSet, &drawn[1]),
            unsent(Kind::Buckets, &drawn[2]),
            unsent(Kind::HalfChoices, &w),
        ];
        assert_eq!(leftovers, [0; 5], "after {messages} messages");
        if let (Ok(_), Ok(_)) = ended.results {
            break;
        }
    }
    assert!(seen.contains(&Kind::BatchChecked));
}

/// Prepares an execution and returns both halves.
fn prepared(batch: &Batch<'_, HalfGates>) -> (GarblerExecution, EvaluatorExecution<'static>) {
    let ((mut garbler, mut evaluator), seed) = (ots(), Zeroizing::new(key(0)));
    let mut rng = Prg::new(Block::from_u128(9));
    let prepared = run_both(
        async |io| {
            let (kept, ot): (Vec<GarblerExecution>, _) = (Vec::new(), &mut garbler);
            batch.prepare_as_garbler(io, ot, kept, 1, &seed).await
        },
        async |io| {
            let (kept, ot): (Vec<EvaluatorExecution<'static>>, _) = (Vec::new(), &mut evaluator);
            let prepared = batch.prepare_as_evaluator(io, ot, kept, 1, &mut rng);
            prepared.await
        },
    );
    let (mut garblers, mut evaluators) = prepared.expect("honest");
    (garblers.remove(0), evaluators.remove(0))
}

#[test]
fn an_execution_that_is_dropped_leaves_no_seed_and_no_input() {
    let function = adder();
    let batch = batch(&function, 4);
    let (garbler, evaluator) = prepared(&batch);
    let kept = (garbler.to_bytes(), evaluator.to_bytes());
    let inputs = [0x9d1c_4e27_u32, 0x3ba8_f165];
    let inputs = inputs.map(|word| (0..32).map(|i| word >> i & 1 == 1).collect::<Vec<bool>>());
    let seeds = [1, 2].map(|number| Zeroizing::new(key(number)));
    for messages in 0.. {
        let ((_, ended), memory) = watch(|| {
            let garbler = GarblerExecution::from_bytes(&batch, &kept.0).expect("kept");
            let ready = garbler.ready(&batch, 1);
            let garbler = OnlineGarbler::new(&batch, ready, &inputs[0], &seeds[0]);
            let evaluator = EvaluatorExecution::from_bytes(&batch, kept.1.as_slices());
            let evaluator = evaluator.expect("kept");
            let evaluator = OnlineEvaluator::new(&batch, evaluator, &inputs[1], 1, &seeds[1]);
            let (garbler, evaluator) = (garbler.expect("a run"), evaluator.expect("a run"));
            let garble = async |io: &mut Io<'_>| garbler.run(io).await;
            stopped_after(messages, garble, async |io| evaluator.run(io).await)
        });
        for (seed, inputs) in seeds.iter().zip(&inputs) {
            let inputs: Vec<u8> = inputs.iter().map(|bit| u8::from(*bit)).collect();
            let leftovers = [memory.freed(&**seed), memory.freed(&inputs)];
            assert_eq!(leftovers, [0; 2], "after {messages} messages");
        }
        if let (Ok(_), Ok(_)) = ended.results {
            break;
        }
    }
}

/// Input bits of the evaluator, a pattern that occurs nowhere else.
const INPUT: u64 = 0x9d3c_51e8_7b06_af42;

/// Runs three parties with a new chain, and ends the run at message number `end` if it has that
/// many. Returns the number of messages sent, the memory, and both ends of the chain.
fn three(end: usize) -> (usize, Memory, Option<(GeneratorChain, CloudChain)>) {
    let mut builder = FunctionBuilder::new("adder");
    builder
        .library("add", "adder", &[("bits", 64)])
        .input("x", "u64", Role::Garbler)
        .input("y", "u64", Role::Evaluator)
        .value("sum", "u64")
        .call(["sum"], "add", ["x", "y"])
        .save("sum", "u64", "sum");
    let function = builder.finish().expect("a function");
    function.compile();
    let scheme = HalfGates::new(Construction::TwoCall);
    let parameters = Parameters::insecure_for_measurements(5, 8).expect("in bounds");
    let (with_evaluator, with_generator) = ots();
    let (of_generator, of_cloud) = ots();
    let input = bits(INPUT);
    let mut sent = 0;
    let (chains, memory) = watch(|| {
        let generator = Generator::new(
            scheme,
            &function,
            parameters,
            &[true; 64],
            GeneratorStart::NewChain(of_generator),
            Vec::new(),
            with_evaluator,
            1,
            &key(0).into(),
        );
        let terms = Terms {
            function: function.digest(),
            scheme: scheme.id(),
            parameters,
        };
        let counts = EvaluatorBits::of(&function);
        let evaluator = Evaluator::new(terms, counts, &input, with_generator, &key(1).into());
        let start = CloudStart::NewChain(of_cloud);
        let seed = key(2).into();
        let cloud = Cloud::new(scheme, &function, parameters, start, Vec::new(), 1, &seed);
        let (generator, evaluator, cloud) = (
            generator.expect("a run"),
            evaluator.expect("a run"),
            cloud.expect("a run"),
        );
        // Boxed, so that what a script leaves in its frame is visible.
        let (generator, _, cloud) = run_three(
            async |io| Ok(Box::pin(generator.make(io)).await?.0.chain),
            async |io| Box::pin(evaluator.evaluate(io, &mut Verdict::default())).await,
            async |io| {
                let (kept, results) = Box::pin(cloud.judge(io)).await?;
                results.give(io).map(|()| kept.chain)
            },
            &mut |_, _, _, _| {
                sent += 1;
                if sent > end { Err(Error::Wire) } else { Ok(()) }
            },
        );
        generator.ok().zip(cloud.ok())
    });
    (sent, memory, chains)
}

fn bits(number: u64) -> Vec<bool> {
    (0..64).map(|i| number >> i & 1 == 1).collect()
}

#[test]
fn a_run_of_three_that_ends_anywhere_leaves_no_secret() {
    let (messages, _, chains) = three(usize::MAX);
    let (generator, cloud) = chains.expect("a run to the end");
    // The values that the generator draws after its nonce.
    let mut root = [[0; 32]; 2];
    Prg::from_seed(&key(0)).fill_bytes(root.as_flattened_mut());
    let mut secrets = vec![root[1].to_vec()];
    secrets.push(bits(INPUT).iter().map(|bit| u8::from(*bit)).collect());
    let generators = generator.to_bytes();
    secrets.extend(generators[29..].chunks(32).map(<[u8]>::to_vec));
    for at_cloud in cloud.to_bytes()[29..].chunks(33) {
        assert!(secrets.iter().any(|key| *key == at_cloud[1..]), "one key");
    }
    for end in 0..=messages {
        let (_, memory, _) = three(end);
        for (number, secret) in secrets.iter().enumerate() {
            assert_eq!(memory.freed(secret), 0, "secret {number}, message {end}");
        }
    }
}

/// The state of both parties before a run of `prepared`.
struct Material {
    delta: Block,
    ots: (GarblerOts, EvaluatorOts),
    instances: (
        QueuedInstances<GarblerInstance<Block>>,
        QueuedInstances<InstanceTables>,
    ),
}

impl Material {
    fn of<S: Scheme<Wire = Block>>(scheme: S, function: &Function) -> Self {
        let mut prg = Prg::new(Block::from_u128(3));
        let delta = prg.next_block().with_lsb(1.into());
        let demand = Demand::of(function).expect("in bounds");
        let program = function.components()[0].program();
        let seeds: Vec<_> = (0..demand.instances[0])
            .map(|_| InstanceSeed::random(&mut prg))
            .collect();
        let wires = seeds.iter().map(|seed| seed.wires(scheme, program, delta));
        let tables = seeds.iter().filter_map(|seed| {
            let mut bytes = Vec::new();
            seed.garble(scheme, program, delta, &mut bytes);
            InstanceTables::from_bytes(scheme, program, bytes)
        });
        let instances = (
            QueuedInstances(vec![wires.collect()]),
            QueuedInstances(vec![tables.collect()]),
        );
        let numbers: Vec<u64> = (0..demand.ots).collect();
        let q: Vec<Block> = numbers.iter().map(|_| prg.next_block()).collect();
        let ots = EvaluatorOts {
            numbers: numbers.clone(),
            choices: vec![false; q.len()],
            labels: q.clone(),
        };
        Self {
            delta,
            ots: (GarblerOts { numbers, q }, ots),
            instances,
        }
    }
}

fn run_of<S: Scheme>(scheme: S, function: &Function) -> Run<'_, S> {
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    let tag = SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b)).run(&Proposal::first(
        ProtocolId::Prepared,
        scheme.id(),
        function.digest(),
    ));
    Run {
        scheme,
        function,
        tag,
    }
}

#[test]
fn a_run_of_prepared_that_is_dropped_leaves_no_secret() {
    let (function, scheme) = (adder(), HalfGates::new(Construction::TwoCall));
    let run = run_of(scheme, &function);
    let bits = Role::BOTH.map(|role| vec![false; function.input_bits(role)]);
    let (seed, nothing) = (Zeroizing::new(key(7)), ChainId([0; 16]));
    for messages in 0.. {
        let Material {
            delta,
            ots,
            instances: (wires, tables),
        } = Material::of(scheme, &function);
        let garble = async |io: &mut Io<'_>| {
            let (given, offers) = ((&bits[0][..], Past::NOTHING), (&delta, &ots.0));
            let linked = run.garble(io, given, offers, wires, &seed).await?;
            linked.save(nothing).1.open(io).await
        };
        let evaluate = async |io: &mut Io<'_>| {
            let (early, given) = (run.gather(io).await?, (&bits[1][..], Past::NOTHING));
            let linked = run.evaluate(io, given, early, &ots.1, tables).await?;
            linked.save(nothing).1.open(io).await
        };
        let ((_, ended), memory) = watch(|| stopped_after(messages, garble, evaluate));
        assert_eq!(memory.freed(&*seed), 0, "the seed, {messages} messages");
        for secret in ots.1.labels.iter().chain([&delta]) {
            assert_eq!(memory.freed(&secret.to_bytes()), 0, "{messages} messages");
        }
        if let (Ok(_), Ok(_)) = ended.results {
            assert_eq!(messages, 7, "corrections, result, and five of the garbler");
            break;
        }
    }
}
