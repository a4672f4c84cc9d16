//! Two parties in memory, one of which lies from some message on. The other gets its result or an
//! error that does not blame its own side.
//!
//! All randomness comes from the fuzzer's bytes, so that an input has the same effect each time.

use std::collections::VecDeque;
use std::sync::OnceLock;

use tacit_function::{Function, FunctionBuilder, Recipient, Role};
use tacit_garble::{HalfGates, Scheme as _};
use tacit_kernels::{Block, Construction, Prg};
use tacit_ot::Security;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use tacit_protocol::Error;
use tacit_protocol::authenticated::{self, EpochSetup, EpochTags, SecurityBits};
use tacit_protocol::batch::{
    Batch, EvaluatorExecution, GarblerExecution, OnlineEvaluator, OnlineGarbler, Plan,
};
use tacit_protocol::direct;
use tacit_protocol::io::Io;
use tacit_protocol::io::memory::{STUCK, Sent, run_both, run_two};
use tacit_protocol::message::Kind;
use tacit_protocol::prepared::{
    self, Demand, EvaluatorOts, GarblerInstance, GarblerOts, InstanceSeed, InstanceTables, Past,
    QueuedInstances,
};
use tacit_protocol::saved::ChainId;
use tacit_protocol::session::{Hello, Proposal, ProtocolId, RunTag, SessionTag};
use tacit_protocol::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, OtSettings};
use zeroize::Zeroizing;

use super::edits::Edits;

const SEED: [u8; 32] = [7; 32];

/// Returns a function that adds a number of each party; both get the sum.
pub(super) fn adder() -> Function {
    let mut builder = FunctionBuilder::new("adder");
    builder
        .library("add", "adder", &[("bits", 8)])
        .input("x", "u8", Role::Garbler)
        .input("y", "u8", Role::Evaluator)
        .value("sum", "u8")
        .call(["sum"], "add", ["x", "y"])
        .output("sum", "u8", Recipient::Both, "sum");
    builder.finish().expect("a function")
}

pub(super) fn shared_adder() -> &'static Function {
    static MADE: OnceLock<Function> = OnceLock::new();
    MADE.get_or_init(adder)
}

pub(super) fn scheme() -> HalfGates {
    HalfGates::new(Construction::TwoCall)
}

pub(super) fn session() -> SessionTag {
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b))
}

pub(super) fn run_tag(protocol: ProtocolId, bits: u8) -> RunTag {
    session().run(&Proposal {
        statistical_security_bits: bits,
        ..Proposal::first(protocol, scheme().id(), shared_adder().digest())
    })
}

/// The results of the scripts of two parties.
pub(super) type Both<A, B> = (Result<A, Error>, Result<B, Error>);

/// Runs two scripts against each other, with the liar's messages changed by `edits`. The honest one
/// must not report misuse, unless both wait for each other.
pub(super) fn play_two<A, B>(
    a: impl AsyncFnOnce(&mut Io<'_>) -> Result<A, Error>,
    b: impl AsyncFnOnce(&mut Io<'_>) -> Result<B, Error>,
    edits: &mut Edits,
) -> Both<A, B> {
    let liar = edits.liar(2);
    let ended = run_two(a, b, &mut lies(edits, liar));
    let (a, b) = &ended.results;
    check_misuse(liar, [a.as_ref().err(), b.as_ref().err()]);
    ended.results
}

/// Changes the liar's messages by `edits`.
pub(super) fn lies<P>(
    edits: &mut Edits,
    liar: usize,
) -> impl FnMut(usize, P, Kind, &mut Sent) -> Result<(), Error> {
    let mut messages = 0;
    move |own, _, _, (kind, payload)| {
        messages += 1;
        assert!(messages < 1 << 20, "the parties go on for ever");
        if own == liar {
            edits.change(kind, payload);
        }
        Ok(())
    }
}

/// Checks that no party except the liar reports misuse, unless all wait for each other.
pub(super) fn check_misuse<const N: usize>(liar: usize, failures: [Option<&Error>; N]) {
    for (own, failure) in failures.into_iter().enumerate() {
        if let Some(Error::ApiMisuse(what)) = failure {
            assert!(own == liar || *what == STUCK, "an honest party: {what}");
        }
    }
}

/// Returns a generator of the run's randomness.
fn prg(data: &[u8]) -> Prg {
    Prg::new(Block::from_u128(data.len() as u128))
}

pub(super) fn settings(base: BaseOt, extension: Extension) -> OtSettings {
    OtSettings {
        base,
        extension,
        ..OtSettings::default()
    }
}

fn setups(
    settings: OtSettings,
    security: Security,
    prg: &mut Prg,
) -> (GarblerSetup, EvaluatorSetup) {
    let tag = session().setup(Role::Garbler, settings.base, settings.extension);
    let garbler = GarblerSetup::with(settings, &tag, prg).expect("a setup");
    let evaluator = EvaluatorSetup::with(settings, &tag, prg).expect("a setup");
    (garbler.secured(security), evaluator.secured(security))
}

/// Returns honest OTs of a session.
pub(super) fn ots(
    extension: Extension,
    security: Security,
    prg: &mut Prg,
) -> (GarblerOt, EvaluatorOt) {
    let (garbler, evaluator) = setups(settings(BaseOt::MlKem768, extension), security, prg);
    let made = run_both(
        async |io| garbler.run(io).await?.ots(),
        async |io| evaluator.run(io).await?.ots(),
    );
    made.expect("both are honest")
}

/// Fuzzes base OTs of both kinds.
pub fn base_ots(data: &[u8]) {
    let mut edits = Edits::new(data);
    let base = BaseOt::ALL[edits.choice(2) % BaseOt::ALL.len()];
    let settings = settings(base, Extension::default());
    let (garbler, evaluator) = setups(settings, Security::Malicious, &mut prg(data));
    let _ = play_two(
        async |io| garbler.run(io).await?.ots(),
        async |io| evaluator.run(io).await?.ots(),
        &mut edits,
    );
}

/// Fuzzes OT extension, with and without a check.
pub fn extension(data: &[u8]) {
    let mut edits = Edits::new(data);
    let softspoken = Extension::NAMED
        .into_iter()
        .filter(|name| *name != Extension::Silent);
    let kinds: Vec<Extension> = softspoken.collect();
    let choice = edits.choice(2);
    let security = [Security::SemiHonest, Security::Malicious][choice % 2];
    let kind = kinds[choice / 2 % kinds.len()];
    let mut prg = prg(data);
    let (mut garbler, mut evaluator) = ots(kind, security, &mut prg);
    let choices: Vec<bool> = (0..300).map(|number| number % 3 == 0).collect();
    let _ = play_two(
        async |io| garbler.offer(io, choices.len()).await,
        async |io| evaluator.choose(io, &choices),
        &mut edits,
    );
}

/// Fuzzes silent OT.
pub fn silent(data: &[u8]) {
    let mut edits = Edits::new(data);
    let security = [Security::SemiHonest, Security::Malicious][edits.choice(2) % 2];
    let mut prg = prg(data);
    let (mut garbler, mut evaluator) = ots(Extension::Silent, security, &mut prg);
    let seed = Zeroizing::new(SEED);
    let _ = play_two(
        async |io| garbler.refill(io, 1, &seed).await,
        async |io| evaluator.refill(io, 1, &seed).await,
        &mut edits,
    );
}

/// The input bits of both parties for [`adder`].
const INPUTS: [[bool; 8]; 2] = [
    [true; 8],
    [false, true, false, true, false, true, false, true],
];

/// Fuzzes a run of `direct` with honest base OTs.
pub fn direct(data: &[u8]) {
    let mut edits = Edits::new(data);
    let (mut offers, mut choices) = ots(Extension::default(), Security::SemiHonest, &mut prg(data));
    let run = direct::Run {
        scheme: scheme(),
        function: shared_adder(),
        tag: run_tag(ProtocolId::Direct, 0),
        threads: 1,
    };
    let seed = Zeroizing::new(SEED);
    let _ = play_two(
        async |io| run.garble(io, &INPUTS[0], &mut offers, &seed).await,
        async |io| run.evaluate(io, &INPUTS[1], &mut choices).await,
        &mut edits,
    );
}

/// Fuzzes a run of `prepared` from material that a trusted dealer made.
pub fn prepared(data: &[u8]) {
    let mut edits = Edits::new(data);
    let mut prg = prg(data);
    let (function, scheme) = (shared_adder(), scheme());
    let delta = prg.next_block().with_lsb(1.into());
    let demand = Demand::of(function).expect("in bounds");
    let mut mine: QueuedInstances<GarblerInstance<Block>> = QueuedInstances(Vec::new());
    let mut theirs = QueuedInstances(Vec::new());
    for (component, count) in function.components().iter().zip(&demand.instances) {
        let program = component.program();
        let (mut wires, mut tables) = (VecDeque::new(), VecDeque::new());
        for _ in 0..*count {
            let seed = InstanceSeed::random(&mut prg);
            let mut bytes = Vec::new();
            seed.garble(scheme, program, delta, &mut bytes);
            tables.extend(InstanceTables::from_bytes(scheme, program, bytes));
            wires.push_back(seed.wires(scheme, program, delta));
        }
        mine.0.push(wires);
        theirs.0.push(tables);
    }
    let numbers: Vec<u64> = (0..demand.ots).collect();
    let q: Vec<Block> = numbers.iter().map(|_| prg.next_block()).collect();
    let choices: Vec<bool> = numbers.iter().map(|number| number % 2 == 1).collect();
    let labels = q.iter().zip(&choices);
    let labels = labels.map(|(q, choice)| *q ^ delta.and_bit(u8::from(*choice).into()));
    let ots = EvaluatorOts {
        numbers: numbers.clone(),
        choices: choices.clone(),
        labels: labels.collect(),
    };
    let run = prepared::Run {
        scheme,
        function,
        tag: run_tag(ProtocolId::Prepared, 0),
    };
    let (offers, seed) = (GarblerOts { numbers, q }, Zeroizing::new(SEED));
    let nothing = ChainId([0; 16]);
    let _ = play_two(
        async |io| {
            let (given, offers) = ((&INPUTS[0][..], Past::NOTHING), (&delta, &offers));
            let linked = run.garble(io, given, offers, mine, &seed).await?;
            linked.save(nothing).1.open(io).await
        },
        async |io| {
            let (early, given) = (run.gather(io).await?, (&INPUTS[1][..], Past::NOTHING));
            let linked = run.evaluate(io, given, early, &ots, theirs).await?;
            linked.save(nothing).1.open(io).await
        },
        &mut edits,
    );
}

/// The s of batches here: low, so that a batch is a few circuits.
const BATCH_BITS: u8 = 4;

fn plan() -> Plan {
    Plan::cheapest(shared_adder(), 1, BATCH_BITS).expect("a plan")
}

fn fresh_batch() -> Batch<'static, HalfGates> {
    let tag = run_tag(ProtocolId::Prepare, BATCH_BITS);
    Batch::new(scheme(), shared_adder(), plan(), &tag).expect("a batch")
}

/// Makes a preparation of both parties. Returns what each keeps of its executions.
fn prepare(
    batch: &Batch<'_, HalfGates>,
    edits: &mut Edits,
    prg: &mut Prg,
) -> Both<Vec<GarblerExecution>, Vec<EvaluatorExecution<'static>>> {
    let (mut garbler, mut evaluator) = ots(Extension::default(), Security::Malicious, prg);
    let seed = Zeroizing::new(SEED);
    let make = async |io: &mut Io<'_>| {
        let prepared = batch.prepare_as_garbler(io, &mut garbler, Vec::new(), 1, &seed);
        prepared.await
    };
    let check = async |io: &mut Io<'_>| {
        let prepared = batch.prepare_as_evaluator(io, &mut evaluator, Vec::new(), 1, prg);
        prepared.await
    };
    play_two(make, check, edits)
}

/// Fuzzes the preparation of a batch.
pub fn prepare_batch(data: &[u8]) {
    let _ = prepare(&fresh_batch(), &mut Edits::new(data), &mut prg(data));
}

/// An honest execution in both parties' stored form: the batch's name, the garbler's bytes, the
/// evaluator's secret and published ones.
type KeptExecution = ([u8; 16], Vec<u8>, [Vec<u8>; 2]);

fn execution() -> &'static KeptExecution {
    static MADE: OnceLock<KeptExecution> = OnceLock::new();
    MADE.get_or_init(|| {
        let batch = fresh_batch();
        let kept = prepare(&batch, &mut Edits::new(&[]), &mut prg(&[]));
        let (garblers, evaluators) = (kept.0.expect("honest"), kept.1.expect("honest"));
        let theirs = evaluators[0].to_bytes();
        let theirs = [theirs.secret.to_vec(), theirs.published];
        (batch.name(), garblers[0].to_bytes().to_vec(), theirs)
    })
}

/// Fuzzes a batch execution. Its stored bytes may also be replaced.
pub fn batch(data: &[u8]) {
    let mut edits = Edits::new(data);
    let (name, garbler, [secret, published]) = execution();
    let batch = Batch::named(scheme(), shared_adder(), plan(), *name).expect("a batch");
    let [mut garbler, mut secret, mut published] =
        [garbler, secret, published].map(|bytes| Zeroizing::new(bytes.clone()));
    let which = [
        None,
        Some(&mut garbler),
        Some(&mut secret),
        Some(&mut published),
    ];
    if let Some(bytes) = which.into_iter().nth(edits.choice(2) % 4).flatten() {
        edits.change(&mut 0, bytes);
    }
    let theirs = tacit_protocol::batch::EvaluatorBytes {
        secret: &secret[..],
        published: &published[..],
    };
    let garbler = GarblerExecution::from_bytes(&batch, &garbler);
    let evaluator = EvaluatorExecution::from_bytes(&batch, theirs);
    let (Ok(garbler), Ok(evaluator)) = (garbler, evaluator) else {
        return;
    };
    let seed = Zeroizing::new(SEED);
    let ready = garbler.ready(&batch, 1);
    let garbler = OnlineGarbler::new(&batch, ready, &INPUTS[0], &seed);
    let evaluator = OnlineEvaluator::new(&batch, evaluator, &INPUTS[1], 1, &seed);
    if let (Ok(garbler), Ok(evaluator)) = (garbler, evaluator) {
        let garble = async |io: &mut Io<'_>| garbler.run(io).await;
        let _ = play_two(garble, async |io| evaluator.run(io).await, &mut edits);
    }
}

/// Fuzzes a run of `authenticated` with honest base OTs.
pub fn authenticated(data: &[u8]) {
    let mut edits = Edits::new(data);
    let mut prg = prg(data);
    let settings = settings(BaseOt::MlKem768, Extension::default());
    let setup = |sender| {
        session().authenticated_setup(Role::Garbler, sender, settings.base, settings.extension)
    };
    let tags = EpochTags {
        garbler: setup(Role::Garbler),
        evaluator: setup(Role::Evaluator),
    };
    let [ours, theirs] =
        Role::BOTH.map(|role| EpochSetup::new(role, settings, tags, &mut prg).expect("a setup"));
    let epochs = run_both(
        async |io| ours.run(io).await?.epoch(),
        async |io| theirs.run(io).await?.epoch(),
    );
    let (ours, theirs) = epochs.expect("both are honest");
    let terms = authenticated::Terms {
        function: shared_adder(),
        tag: run_tag(ProtocolId::Authenticated, BATCH_BITS),
        security: SecurityBits::insecure_for_measurements(BATCH_BITS).expect("in bounds"),
        construction: Construction::TwoCall,
    };
    let seed = Zeroizing::new(SEED);
    let _ = play_two(
        async |io| terms.run(io, &INPUTS[0], ours, &seed).await,
        async |io| terms.run(io, &INPUTS[1], theirs, &seed).await,
        &mut edits,
    );
}
