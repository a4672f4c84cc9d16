//! Complete batches in memory: prepared, stored as bytes, and run, by honest and by cheating
//! parties.

mod against_evaluator;
mod against_garbler;
mod duel;
mod forging;
mod rates;
mod reading;
mod refused;

use std::collections::BTreeMap;

use rand_core::{CryptoRng, Rng, UnwrapErr};
use sha2::Digest as _;
use tacit_circuit::Port;
use tacit_components::library;
use tacit_function::{Function, Recipient, Role};
use tacit_garble::{HalfGates, Scheme, SchemeId, ThreeHalves};
use tacit_kernels::{Block, Construction};
use tacit_ot::Security;
use tacit_ot::source::Extension;
use zeroize::Zeroizing;

use super::*;
use crate::Error;
use crate::io::memory::run_both;
use crate::message::Kind;
use crate::outline::message_bytes;
use crate::session::{Hello, Proposal, ProtocolId, RunTag, SessionTag};
use crate::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, OtSettings};

pub(super) use duel::Spoiling;
use duel::{Cheater, Kept, honest};

fn rng() -> impl CryptoRng {
    UnwrapErr(getrandom::SysRng)
}

pub(crate) fn session() -> SessionTag {
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b))
}

fn tag(function: &Function) -> RunTag {
    tag_of(ProtocolId::Prepare, function)
}

/// Returns the tag of the session's first run of `function`.
pub(crate) fn tag_of(protocol: ProtocolId, function: &Function) -> RunTag {
    session().run(&Proposal {
        statistical_security_bits: 40,
        ..Proposal::first(protocol, SchemeId::HALF_GATES_TWO_CALL, function.digest())
    })
}

/// Returns the OTs of a session. If the extension makes OTs ahead, `count` of them are made
/// already.
fn ots(extension: Extension, count: u64) -> (GarblerOt, EvaluatorOt) {
    let settings = OtSettings {
        extension,
        ..OtSettings::default()
    };
    let tag = session().setup(Role::Garbler, settings.base, extension);
    let malicious = Security::Malicious;
    let garbler = GarblerSetup::with(settings, &tag, &mut rng()).unwrap();
    let evaluator = EvaluatorSetup::with(settings, &tag, &mut rng()).unwrap();
    let made = run_both(
        async |io| {
            let mut ot = garbler.secured(malicious).run(io).await?.ots()?;
            ot.refill(io, count, &seed()).await?;
            Ok(ot)
        },
        async |io| {
            let mut ot = evaluator.secured(malicious).run(io).await?.ots()?;
            ot.refill(io, count, &seed()).await?;
            Ok(ot)
        },
    );
    made.unwrap()
}

type Prepared = (Vec<GarblerExecution>, Vec<EvaluatorExecution<'static>>);

fn prepare<S: Scheme<Wire = Block>>(
    batch: &Batch<'_, S>,
    threads: usize,
    (mut garbler, mut evaluator): (GarblerOt, EvaluatorOt),
) -> Prepared {
    let seed = seed();
    let prepared = run_both(
        async |io| {
            let prepared = batch.prepare_as_garbler(io, &mut garbler, Vec::new(), threads, &seed);
            prepared.await
        },
        async |io| {
            let (ot, kept, mut rng) = (&mut evaluator, Vec::new(), rng());
            let prepared = batch.prepare_as_evaluator(io, ot, kept, threads, &mut rng);
            prepared.await
        },
    );
    prepared.unwrap()
}

fn seed() -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    rng().fill_bytes(&mut *seed);
    seed
}

pub(crate) fn random_bits(count: usize) -> Vec<bool> {
    (0..count).map(|_| rng().next_u32() & 1 == 1).collect()
}

/// Returns both parties' results of one execution.
fn run<S: Scheme<Wire = Block>>(
    batch: &Batch<'_, S>,
    (garbler, evaluator): (GarblerExecution, EvaluatorExecution<'_>),
    inputs: [&[bool]; 2],
) -> Result<[Vec<bool>; 2], Error> {
    let ready = garbler.ready(batch, 1);
    let seeds = [seed(), seed()];
    let garbler = OnlineGarbler::new(batch, ready, inputs[0], &seeds[0])?;
    let evaluator = OnlineEvaluator::new(batch, evaluator, inputs[1], 1, &seeds[1])?;
    let (garbler, evaluator) = run_both(
        async |io| garbler.run(io).await,
        async |io| evaluator.run(io).await,
    )?;
    Ok([garbler.to_vec(), evaluator.to_vec()])
}

/// Returns each role's results of the function, computed in the clear.
pub(crate) fn plain(function: &Function, inputs: [&[bool]; 2]) -> [Vec<bool>; 2] {
    let mut given = inputs.map(|bits| bits.iter().copied());
    let mut bits = Vec::new();
    for input in function.inputs() {
        let side = usize::from(input.owner == Role::Evaluator);
        bits.extend(given[side].by_ref().take(input.port.ty.width()));
    }
    let outputs = function.evaluate(&bits);
    Role::BOTH.map(|role| {
        let mut rest = &outputs[..];
        let mut own = Vec::new();
        for output in function.outputs() {
            let (bits, after) = rest.split_at(output.port.ty.width());
            rest = after;
            if output.recipient.includes(role) {
                own.extend_from_slice(bits);
            }
        }
        own
    })
}

/// Returns a library circuit whose first port is the garbler's.
fn function(name: &str, to: Recipient) -> Function {
    with_parameters(name, &BTreeMap::new(), to)
}

fn with_parameters(name: &str, parameters: &BTreeMap<String, u64>, to: Recipient) -> Function {
    let circuit = library::find(name, parameters).unwrap();
    let first = circuit.inputs()[0].name.clone();
    let owner = |port: &Port| {
        if port.name == first {
            Role::Garbler
        } else {
            Role::Evaluator
        }
    };
    Function::of_circuit(name, circuit, owner, |_| to).unwrap()
}

fn check<S: Scheme<Wire = Block>>(scheme: S, function: &Function, executions: u64, s: u8) {
    check_by(Extension::default(), scheme, function, (executions, s));
}

fn check_by<S: Scheme<Wire = Block>>(
    extension: Extension,
    scheme: S,
    function: &Function,
    (executions, s): (u64, u8),
) {
    let plan = Plan::cheapest(function, executions, s).unwrap();
    let batch = Batch::new(scheme, function, plan, &tag(function)).unwrap();
    let (garbler, evaluator) = prepare(&batch, 2, ots(extension, batch.ots()));
    assert_eq!(garbler.len() as u64, executions);
    assert_eq!(evaluator.len() as u64, executions);
    let later = Batch::named(scheme, function, plan, batch.name()).unwrap();
    for (garbler, evaluator) in garbler.into_iter().zip(evaluator) {
        let (kept_g, kept_e) = (garbler.to_bytes(), evaluator.to_bytes());
        let garbler = GarblerExecution::from_bytes(&later, &kept_g).unwrap();
        let evaluator = EvaluatorExecution::from_bytes(&later, kept_e.as_slices()).unwrap();
        assert_eq!(kept_g.len(), GarblerExecution::bytes(&later));
        let due = EvaluatorExecution::bytes(&later);
        assert_eq!(
            (kept_e.secret.len(), kept_e.published.len()),
            (due.secret, due.published)
        );
        assert_eq!(garbler.to_bytes(), kept_g);
        assert_eq!(evaluator.to_bytes(), kept_e);
        let x = random_bits(function.input_bits(Role::Garbler));
        let y = random_bits(function.input_bits(Role::Evaluator));
        let found = run(&later, (garbler, evaluator), [&x, &y]).unwrap();
        assert_eq!(found, plain(function, [&x, &y]));
    }
}

#[test]
fn both_get_what_the_function_gives() {
    for to in [Recipient::Evaluator, Recipient::Both, Recipient::Garbler] {
        let function = function("adder", to);
        check(HalfGates::new(Construction::TwoCall), &function, 3, 6);
    }
}

#[test]
fn every_scheme_of_the_ideal_cipher() {
    let function = function("adder", Recipient::Both);
    check(HalfGates::new(Construction::Rekeyed), &function, 2, 4);
    check(ThreeHalves::new(), &function, 2, 4);
}

#[test]
fn every_extension_of_ots() {
    let function = function("adder", Recipient::Both);
    for extension in Extension::NAMED {
        let scheme = HalfGates::new(Construction::TwoCall);
        check_by(extension, scheme, &function, (2, 4));
    }
}

#[test]
fn aes_runs() {
    let function = function("aes-128", Recipient::Evaluator);
    check(HalfGates::new(Construction::TwoCall), &function, 3, 10);
}

/// The published bytes of a circuit under a fixed seed. Both the wire and the stock depend on them:
/// a change requires a new version of the wire.
#[test]
fn what_is_published_is_frozen() {
    let function = function("adder", Recipient::Both);
    let plan = Plan::cheapest(&function, 2, 40).unwrap();
    let scheme = HalfGates::new(Construction::TwoCall);
    let batch = Batch::named(scheme, &function, plan, [1; 16]).unwrap();
    let mut published = Vec::new();
    let seed = circuit::CircuitSeed([7; 32]);
    circuit::Secrets::derive(&batch, 3, seed).publish(&batch, &mut published);
    assert_eq!(published.len(), batch.layout.total);
    let digest = sha2::Sha256::digest(&published);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let expected = "66604b66d0d794cf41e9722840b1657e2fa3573413256e14f469fda271e4a18b";
    assert_eq!(digest, expected);
}

/// Both functions have 32 bits from each party and 32 bits of result, with 31 AND gates and with
/// hundreds.
#[test]
fn messages_do_not_grow_with_the_circuit() {
    let sizes = ["adder", "multiplier"].map(|name| {
        let function = function(name, Recipient::Evaluator);
        let cut = Plan::cheapest(&function, 2, 40).unwrap().cut();
        // Both functions get the same cut, even if another one is cheaper for one of them.
        let circuits = cut.circuits.max(1000);
        let cut = parameters::Cut {
            bucket: 20,
            circuits,
            ..cut
        };
        let plan = Plan::with_cut(40, cut).unwrap();
        let batch = Batch::new(
            HalfGates::new(Construction::TwoCall),
            &function,
            plan,
            &tag(&function),
        );
        let batch = batch.unwrap();
        let tables = batch.layout.tables.len();
        (
            tables,
            [
                messages::input_labels(&batch),
                messages::recovery_labels(&batch),
            ],
        )
    });
    let [(small, of_small), (large, of_large)] = sizes;
    assert!(large > 10 * small, "{small}, {large}");
    assert_eq!(of_small, of_large);
}

#[test]
fn the_outline_says_what_is_sent_and_kept() {
    for (to, executions) in [(Recipient::Both, 3), (Recipient::Evaluator, 1)] {
        let function = function("adder", to);
        let plan = Plan::cheapest(&function, executions, 8).unwrap();
        let batch = duel::batch(&function, plan);
        let outline = batch.outline();
        let lengths = |shapes: Vec<(Kind, usize)>| -> Vec<u64> {
            let bytes = shapes.iter().map(|(_, bytes)| message_bytes(*bytes as u64));
            bytes.collect()
        };
        let prepared = duel::prepare(&batch, &batch, 8, Cheater::Garbler, &mut honest);
        let sent: u64 = lengths(prepared.shapes(Cheater::Garbler)).iter().sum();
        assert_eq!(sent, batch.preparing_bytes());
        let kept = Kept::of(prepared);
        let preparation = outline.preparation;
        assert_eq!(kept.garbler[0].len() as u64, preparation.garbler_kept_bytes);
        let evaluators = &kept.evaluator[0];
        let bytes = (evaluators.secret.len() + evaluators.published.len()) as u64;
        assert_eq!(bytes, preparation.evaluator_kept_bytes);

        let x = random_bits(function.input_bits(Role::Garbler));
        let y = random_bits(function.input_bits(Role::Evaluator));
        let ended = kept.run([&batch; 2], 0, [&x, &y], Cheater::Garbler, &mut honest);
        let [labels, recovery] = [outline.input_labels_bytes, outline.recovery_labels_bytes];
        assert_eq!(lengths(ended.shapes(Cheater::Garbler)), [labels, recovery]);
        let asked = [outline.masked_input_bytes, outline.recovery_choice_bytes];
        let asked = asked.into_iter().chain(outline.masked_result_bytes);
        let asked: Vec<u64> = asked.collect();
        assert_eq!(lengths(ended.shapes(Cheater::Evaluator)), asked);
        assert!(ended.garbler.is_ok() && ended.evaluator.is_ok());
    }
}
