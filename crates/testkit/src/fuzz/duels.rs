//! Two parties in memory, one of which lies from some message on. The other gets its result or an
//! error that blames nobody on its own side.
//!
//! All randomness comes from the fuzzer's bytes, so that an input does the same each time.

use std::collections::VecDeque;
use std::sync::OnceLock;

use tacit_function::{Function, FunctionBuilder, Recipient, Role};
use tacit_garble::{HalfGates, Scheme as _};
use tacit_kernels::{Block, Construction, Prg};
use tacit_ot::Security;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use tacit_protocol::Error;
use tacit_protocol::authenticated::{
    self, AuthenticatedParty as _, EpochSetup, EpochTags, SecurityBits,
};
use tacit_protocol::batch::{
    Batch, EvaluatorExecution, GarblerExecution, OnlineEvaluator, OnlineGarbler, Plan,
    PreparingEvaluator, PreparingGarbler,
};
use tacit_protocol::direct;
use tacit_protocol::io::Io;
use tacit_protocol::io::memory::{STUCK, run_two};
use tacit_protocol::io::memory::{run_in_memory, run_through};
use tacit_protocol::party::{Action, Party, PeerName, admit};
use tacit_protocol::prepared::{
    self, ChoosingOts, Demand, EvaluatorOts, GarblerInstance, GarblerOts, Gathering, InstanceSeed,
    InstanceTables, Instances, OfferingOts, Past,
};
use tacit_protocol::session::{Hello, Proposal, ProtocolId, RunTag, SessionTag};
use tacit_protocol::setup::{
    EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, OtSettings, Refill,
};
use zeroize::Zeroizing;

use super::edits::Edits;

const SEED: [u8; 32] = [7; 32];

/// Adds a number of each party; both get the sum.
pub(super) fn adder() -> Function {
    let mut builder = FunctionBuilder::new("adder");
    builder
        .library("add", "adder", &[("bits", 8)])
        .input("x", "u8", Role::Garbler)
        .input("y", "u8", Role::Evaluator)
        .value("sum", "u8")
        .step("sum = add(x, y)")
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

fn session() -> SessionTag {
    let [a, b] = [1, 2].map(|byte| Hello { nonce: [byte; 32] });
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b))
}

fn run_tag(protocol: ProtocolId, bits: u8) -> RunTag {
    session().run(&Proposal {
        protocol,
        role: Role::Garbler,
        statistical_security_bits: bits,
        base_ot: BaseOt::default(),
        ot_extension: Extension::default(),
        scheme: scheme().id(),
        run: 0,
        function: shared_adder().digest(),
    })
}

/// Moves the messages of all parties, the liar's through `edits`, until each is done, has failed or
/// waits for ever. Returns whether all are done.
pub(super) fn play<P: PeerName, const N: usize>(
    parties: [&mut dyn Party<P>; N],
    edits: &mut Edits,
) -> bool {
    let (liar, mut own) = (edits.liar(N as u8), 0..);
    let mut judged = parties.map(|party| Judged {
        party,
        is_liar: own.next() == Some(liar),
        steps: 0,
    });
    let parties = judged.each_mut().map(|party| party as &mut dyn Party<P>);
    let failures = run_through(parties, &mut |own, _, _, (kind, payload)| {
        if own == liar {
            edits.change(kind, payload);
        }
        Ok(())
    });
    failures.is_empty()
}

/// Runs two scripts against each other, the liar's messages through `edits`. One that is not the
/// liar reports no misuse, unless both wait for each other.
fn play_two<A, B>(
    a: impl AsyncFnOnce(&mut Io<'_>) -> Result<A, Error>,
    b: impl AsyncFnOnce(&mut Io<'_>) -> Result<B, Error>,
    edits: &mut Edits,
) {
    let (liar, mut messages) = (edits.liar(2), 0);
    let ended = run_two(a, b, &mut |own, _, _, (kind, payload)| {
        messages += 1;
        assert!(messages < 1 << 20, "the parties go on for ever");
        if own == liar {
            edits.change(kind, payload);
        }
        Ok(())
    });
    let (a, b) = ended.results;
    let honest = [a.err(), b.err()].into_iter().nth(1 - liar).flatten();
    if let Some(Error::ApiMisuse(what)) = honest {
        assert_eq!(what, STUCK, "the honest party was used wrongly");
    }
}

/// A party whose errors are looked at. One that is not the liar reports no misuse.
struct Judged<'a, P> {
    party: &'a mut dyn Party<P>,
    is_liar: bool,
    steps: usize,
}

impl<P> Judged<'_, P> {
    fn judge<T>(&mut self, step: Result<T, Error>) -> Result<T, Error> {
        step.inspect_err(|error| {
            let is_misuse = matches!(error, Error::ApiMisuse(_));
            assert!(self.is_liar || !is_misuse, "{error}");
            let next = self.party.next(&mut Vec::new());
            assert!(next.is_err(), "a party that failed is spent");
        })
    }
}

impl<P> Party<P> for Judged<'_, P> {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action<P>, Error> {
        // Each step takes a message or bounded work: a run here has some thousand.
        self.steps += 1;
        assert!(self.steps < 1 << 20, "the parties go on for ever");
        let step = self.party.next(message);
        self.judge(step)
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        let step = self.party.receive(payload);
        self.judge(step)
    }
}

/// A generator of the run's randomness.
fn prg(data: &[u8]) -> Prg {
    Prg::new(Block::from_u128(data.len() as u128))
}

fn settings(base: BaseOt, extension: Extension) -> OtSettings {
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

/// Honest OTs of a session.
pub(super) fn ots(
    extension: Extension,
    security: Security,
    prg: &mut Prg,
) -> (GarblerOt, EvaluatorOt) {
    let (mut garbler, mut evaluator) = setups(settings(BaseOt::MlKem768, extension), security, prg);
    run_in_memory([&mut garbler, &mut evaluator]).expect("both are honest");
    (
        garbler.finish().expect("done"),
        evaluator.finish().expect("done"),
    )
}

/// Base OTs of both kinds.
pub fn base_ots(data: &[u8]) {
    let mut edits = Edits::new(data);
    let base = BaseOt::ALL[edits.choice(2) % BaseOt::ALL.len()];
    let settings = settings(base, Extension::default());
    let (mut garbler, mut evaluator) = setups(settings, Security::Malicious, &mut prg(data));
    if play([&mut garbler, &mut evaluator], &mut edits) {
        assert!(garbler.finish().is_ok() && evaluator.finish().is_ok());
    }
}

/// OT extension, with and without a check.
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
    let mut offering = OfferingOts::new(&mut garbler, choices.len());
    let mut choosing = ChoosingOts::new(&mut evaluator, Zeroizing::new(choices));
    if play([&mut offering, &mut choosing], &mut edits) {
        assert!(offering.finish().is_ok() && choosing.finish().is_ok());
    }
}

/// Silent OT.
pub fn silent(data: &[u8]) {
    let mut edits = Edits::new(data);
    let security = [Security::SemiHonest, Security::Malicious][edits.choice(2) % 2];
    let mut prg = prg(data);
    let (mut garbler, mut evaluator) = ots(Extension::Silent, security, &mut prg);
    let mut making = Refill::new(&mut garbler, 1, &mut prg);
    let mut taking = Refill::new(&mut evaluator, 1, &mut prg);
    play([&mut making, &mut taking], &mut edits);
}

/// Input bits of both parties for [`adder`].
const INPUTS: [[bool; 8]; 2] = [
    [true; 8],
    [false, true, false, true, false, true, false, true],
];

/// A run of `direct`, its base OTs honest.
pub fn direct(data: &[u8]) {
    let mut edits = Edits::new(data);
    let (mut offers, mut choices) = ots(Extension::default(), Security::SemiHonest, &mut prg(data));
    let run = direct::Run {
        scheme: scheme(),
        function: shared_adder(),
        tag: run_tag(ProtocolId::Direct, 0),
    };
    let seed = Zeroizing::new(SEED);
    play_two(
        async |io| run.garble(io, &INPUTS[0], &mut offers, &seed).await,
        async |io| run.evaluate(io, &INPUTS[1], &mut choices).await,
        &mut edits,
    );
}

/// Instances by component, first in first out.
struct Shelf<T>(Vec<VecDeque<T>>);

impl<T> Instances for Shelf<T> {
    type Instance = T;

    fn next(&mut self, component: usize) -> Result<T, Error> {
        let missing = || Error::Material(format!("no instance of component {component}"));
        self.0[component].pop_front().ok_or_else(missing)
    }
}

/// A run of `prepared` from material that a trusted dealer made.
pub fn prepared(data: &[u8]) {
    let mut edits = Edits::new(data);
    let mut prg = prg(data);
    let (function, scheme) = (shared_adder(), scheme());
    let delta = prg.next_block().with_lsb(1.into());
    let demand = Demand::of(function).expect("in bounds");
    let mut mine: Shelf<GarblerInstance<Block>> = Shelf(Vec::new());
    let mut theirs = Shelf(Vec::new());
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
    let tag = run_tag(ProtocolId::Prepared, 0);
    let offers = (delta, GarblerOts { numbers, q });
    let seed = Zeroizing::new(SEED);
    let given = (&INPUTS[0][..], Past::NOTHING);
    let garbler = prepared::Garbling::new(scheme, function, tag, given, offers, mine, &seed);
    let mut garbler = garbler.expect("a run");
    let mut gathering = Gathering::new(scheme, function).expect("in bounds");
    // What the garbler sends first is gathered before the run: a lie ends it there.
    let mut message = Vec::new();
    while let Ok(Action::Receive {
        kind, max_bytes, ..
    }) = gathering.next(&mut message)
    {
        let Ok(Action::Send { kind: sent, .. }) = garbler.next(&mut message) else {
            // After a lie the evaluator waits for more than is sent, and its time limit ends it.
            return;
        };
        let mut sent = sent.byte();
        if edits.liar(2) == 0 {
            edits.change(&mut sent, &mut message);
        }
        let taken = admit(kind, max_bytes, sent, &message);
        if taken.and_then(|()| gathering.receive(&message)).is_err() {
            return;
        }
    }
    let early = gathering.finish().expect("done");
    let given = (&INPUTS[1][..], Past::NOTHING);
    let evaluator = prepared::Evaluating::new(scheme, function, tag, given, early, &ots, theirs);
    if let Ok(mut evaluator) = evaluator {
        play([&mut garbler, &mut evaluator], &mut edits);
    }
}

/// s of batches here: low, so that a batch is a few circuits.
const BATCH_BITS: u8 = 4;

fn plan() -> Plan {
    Plan::cheapest(shared_adder(), 1, BATCH_BITS).expect("a plan")
}

fn fresh_batch() -> Batch<'static, HalfGates> {
    let tag = run_tag(ProtocolId::Prepare, BATCH_BITS);
    Batch::new(scheme(), shared_adder(), plan(), &tag).expect("a batch")
}

/// A batch that is prepared.
pub fn prepare_batch(data: &[u8]) {
    let mut edits = Edits::new(data);
    let mut prg = prg(data);
    let (garbler, evaluator) = ots(Extension::default(), Security::Malicious, &mut prg);
    let batch = fresh_batch();
    let garbler = PreparingGarbler::new(&batch, garbler, Vec::new(), 1, &mut prg);
    let evaluator = PreparingEvaluator::new(&batch, evaluator, Vec::new(), 1, &mut prg);
    let (mut garbler, mut evaluator) = (garbler.expect("a batch"), evaluator.expect("a batch"));
    play([&mut garbler, &mut evaluator], &mut edits);
}

/// An honest execution as both keep it: the batch's name, the garbler's bytes, the evaluator's
/// secret and published ones.
type KeptExecution = ([u8; 16], Vec<u8>, [Vec<u8>; 2]);

fn execution() -> &'static KeptExecution {
    static MADE: OnceLock<KeptExecution> = OnceLock::new();
    MADE.get_or_init(|| {
        let mut prg = prg(&[]);
        let (garbler, evaluator) = ots(Extension::default(), Security::Malicious, &mut prg);
        let batch = fresh_batch();
        let garbler = PreparingGarbler::new(&batch, garbler, Vec::new(), 1, &mut prg);
        let evaluator = PreparingEvaluator::new(&batch, evaluator, Vec::new(), 1, &mut prg);
        let (mut garbler, mut evaluator) = (garbler.expect("a batch"), evaluator.expect("a batch"));
        run_in_memory([&mut garbler, &mut evaluator]).expect("both are honest");
        let garblers: Vec<GarblerExecution> = garbler.finish().expect("done");
        let evaluators: Vec<EvaluatorExecution> = evaluator.finish().expect("done");
        let theirs = evaluators[0].to_bytes();
        let theirs = [theirs.secret.to_vec(), theirs.published];
        (batch.name(), garblers[0].to_bytes().to_vec(), theirs)
    })
}

/// A batch execution, whose bytes may also be another's: those that the stock keeps.
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
    if let (Ok(mut garbler), Ok(mut evaluator)) = (garbler, evaluator) {
        play([&mut garbler, &mut evaluator], &mut edits);
    }
}

/// A run of `authenticated`, its base OTs honest.
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
    let [mut ours, mut theirs] = [Role::Garbler, Role::Evaluator]
        .map(|role| EpochSetup::new(role, settings, tags, &mut prg).expect("a setup"));
    run_in_memory([&mut ours, &mut theirs]).expect("both are honest");
    let terms = authenticated::Terms {
        function: shared_adder(),
        tag: run_tag(ProtocolId::Authenticated, BATCH_BITS),
        security: SecurityBits::insecure_for_measurements(BATCH_BITS).expect("in bounds"),
        construction: Construction::TwoCall,
    };
    let (ours, theirs) = (ours.finish().expect("done"), theirs.finish().expect("done"));
    let seed = Zeroizing::new(SEED);
    let garbler = authenticated::Garbler::new(terms, &INPUTS[0], ours, &seed);
    let evaluator = authenticated::Evaluator::new(terms, &INPUTS[1], theirs, &seed);
    let (mut garbler, mut evaluator) = (garbler.expect("a run"), evaluator.expect("a run"));
    play([&mut garbler, &mut evaluator], &mut edits);
}
