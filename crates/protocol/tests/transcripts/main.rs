//! Every byte that honest parties send under fixed seeds, as one digest for each run.
//!
//! The digests are in `vectors/transcripts.txt`. A change of a protocol's bytes changes one line
//! there for each run; a change of code alone changes none. A digest depends on the order of each
//! party's messages, and not on the order between parties, which is up to the driver.

mod authenticated;
mod batch;
mod direct;
mod gmw;
mod matching;
mod on_threads;
mod outsourced;
mod prepared;
mod setup;

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use tacit_function::{Function, FunctionBuilder, Recipient, Role};
use tacit_garble::{HalfGates, SchemeId};
use tacit_kernels::{Block, Construction, Prg};
use tacit_ot::Security;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use tacit_protocol::Error;
use tacit_protocol::io::Io;
use tacit_protocol::io::memory::{run_both, run_two};
use tacit_protocol::session::{Hello, Proposal, ProtocolId, RunTag, SessionTag};
use tacit_protocol::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, OtSettings};
use zeroize::Zeroizing;

/// The messages sent in each direction, in order.
#[derive(Default)]
struct Transcript(Vec<((usize, usize), Sha256)>);

impl Transcript {
    /// Runs honest parties and records what they send. Returns the scripts' results.
    fn run_scripts<A, B>(
        &mut self,
        a: impl AsyncFnOnce(&mut Io<'_>) -> Result<A, Error>,
        b: impl AsyncFnOnce(&mut Io<'_>) -> Result<B, Error>,
    ) -> (A, B) {
        let ended = run_two(a, b, &mut |from, _, kind, (_, payload)| {
            self.note((from, 1 - from), kind.byte(), payload);
            Ok(())
        });
        ended.both().expect("honest")
    }

    /// Records a message.
    fn note(&mut self, direction: (usize, usize), kind: u8, payload: &[u8]) {
        let known = self.0.iter().position(|(known, _)| *known == direction);
        let place = known.unwrap_or_else(|| {
            self.0.push((direction, Sha256::new()));
            self.0.len() - 1
        });
        let hash = &mut self.0[place].1;
        hash.update([kind]);
        hash.update((payload.len() as u64).to_le_bytes());
        hash.update(payload);
    }

    /// Returns the digest of all directions.
    fn digest(mut self) -> String {
        self.0.sort_by_key(|(direction, _)| *direction);
        let mut all = Sha256::new();
        for ((from, to), hash) in self.0 {
            all.update([from as u8, to as u8]);
            all.update(hash.finalize());
        }
        let mut text = String::new();
        for byte in all.finalize() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

/// Checks that the lines of the table that start with `protocol` are these runs and their digests.
fn check(protocol: &str, found: Vec<(String, Transcript)>) {
    let table = include_str!("../../../../vectors/transcripts.txt");
    let prefix = format!("{protocol} ");
    let expected: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with(&prefix))
        .collect();
    let found: Vec<String> = found
        .into_iter()
        .map(|(run, transcript)| format!("{protocol} {run}: {}", transcript.digest()))
        .collect();
    assert!(expected == found, "found\n{}", found.join("\n"));
}

/// Returns a function that adds a number of each party. Both parties get the sum.
fn adder() -> Function {
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

/// Returns a function that saves a number of each party. With `loads`, it adds both numbers to the
/// saved ones of an earlier run instead.
fn keeping(loads: bool) -> Function {
    let mut builder = FunctionBuilder::new("keeping");
    builder
        .library("add", "adder", &[("bits", 8)])
        .input("x", "u8", Role::Garbler)
        .input("y", "u8", Role::Evaluator)
        .value("sum", "u8")
        .call(["sum"], "add", ["x", "y"]);
    if loads {
        builder
            .load("total", "u8")
            .value("after", "u8")
            .call(["after"], "add", ["total", "sum"])
            .output("shown", "u8", Recipient::Both, "after")
            .save("total", "u8", "after");
    } else {
        builder.save("total", "u8", "sum");
    }
    builder.finish().expect("a function")
}

/// Input bits of both parties.
const INPUTS: [[bool; 8]; 2] = [
    [true; 8],
    [false, true, false, true, false, true, false, true],
];

fn scheme() -> HalfGates {
    HalfGates::new(Construction::TwoCall)
}

fn seed(byte: u8) -> Zeroizing<[u8; 32]> {
    Zeroizing::new([byte; 32])
}

fn prg(number: u128) -> Prg {
    Prg::new(Block::from_u128(number))
}

fn session() -> SessionTag {
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b))
}

fn run_tag(protocol: ProtocolId, scheme: SchemeId, function: &Function) -> RunTag {
    session().run(&Proposal::first(protocol, scheme, function.digest()))
}

fn settings(base: BaseOt, extension: Extension) -> OtSettings {
    OtSettings {
        base,
        extension,
        ..OtSettings::default()
    }
}

/// Returns a session's OTs, of which `count` are made if the extension makes them ahead.
fn ots(
    (settings, security): (OtSettings, Security),
    count: u64,
    prg: &mut Prg,
    transcript: &mut Transcript,
) -> (GarblerOt, EvaluatorOt) {
    let tag = session().setup(Role::Garbler, settings.base, settings.extension);
    let garbler = GarblerSetup::with(settings, &tag, prg).expect("a setup");
    let evaluator = EvaluatorSetup::with(settings, &tag, prg).expect("a setup");
    let [mine, yours] = [(); 2].map(|()| {
        let mut seed = Zeroizing::new([0; 32]);
        prg.fill_bytes(&mut *seed);
        seed
    });
    transcript.run_scripts(
        async |io| {
            let mut ot = garbler.secured(security).run(io).await?.ots()?;
            ot.refill(io, count, &mine).await?;
            Ok(ot)
        },
        async |io| {
            let mut ot = evaluator.secured(security).run(io).await?.ots()?;
            ot.refill(io, count, &yours).await?;
            Ok(ot)
        },
    )
}

/// Returns OTs with the default base OTs and extension, without recording messages.
fn default_ots(security: Security, prg: &mut Prg) -> (GarblerOt, EvaluatorOt) {
    let settings = OtSettings::default();
    let tag = session().setup(Role::Garbler, settings.base, settings.extension);
    let garbler = GarblerSetup::with(settings, &tag, prg).expect("a setup");
    let evaluator = EvaluatorSetup::with(settings, &tag, prg).expect("a setup");
    let made = run_both(
        async |io| garbler.secured(security).run(io).await?.ots(),
        async |io| evaluator.secured(security).run(io).await?.ots(),
    );
    made.expect("honest")
}
