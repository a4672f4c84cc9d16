//! `direct` message by message: frames of other lengths than the garbler's are refused, no step
//! works for long, and input bits arrive in the required number of messages.

use std::collections::BTreeMap;

use rand_core::UnwrapErr;
use tacit_components::library;
use tacit_function::{Function, FunctionBuilder, Part, Recipient, Role};
use tacit_garble::{HalfGates, Scheme, SchemeId};
use tacit_kernels::Construction;
use tacit_ot::source::Extension;
use tacit_protocol::direct::{FRAME_BYTES, Run};
use tacit_protocol::io::memory::{STUCK, run_both, run_two};
use tacit_protocol::io::{Io, Message};
use tacit_protocol::message::Kind;
use tacit_protocol::session::{Hello, Proposal, ProtocolId, RunTag, SessionTag};
use tacit_protocol::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, OtSettings};
use tacit_protocol::{Error, Misbehaviour};
use zeroize::Zeroizing;

fn scheme() -> HalfGates {
    HalfGates::new(Construction::TwoCall)
}

fn session() -> SessionTag {
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b))
}

/// Returns the OTs of a session. If the extension makes OTs ahead, `count` of them are made
/// already.
fn ots(extension: Extension, count: u64) -> (GarblerOt, EvaluatorOt) {
    let settings = OtSettings {
        extension,
        ..OtSettings::default()
    };
    let tag = session().setup(Role::Garbler, settings.base, extension);
    let mut rng = UnwrapErr(getrandom::SysRng);
    let garbler = GarblerSetup::with(settings, &tag, &mut rng).unwrap();
    let evaluator = EvaluatorSetup::with(settings, &tag, &mut rng).unwrap();
    let [mine, yours] = [1, 2].map(|byte| Zeroizing::new([byte; 32]));
    let made = run_both(
        async |io| {
            let mut ot = garbler.run(io).await?.ots()?;
            ot.refill(io, count, &mine).await?;
            Ok(ot)
        },
        async |io| {
            let mut ot = evaluator.run(io).await?.ots()?;
            ot.refill(io, count, &yours).await?;
            Ok(ot)
        },
    );
    made.unwrap()
}

fn run_tag(function: &Function) -> RunTag {
    session().run(&Proposal::first(
        ProtocolId::Direct,
        SchemeId::HALF_GATES_TWO_CALL,
        function.digest(),
    ))
}

/// A run between honest parties whose input bits are all ones, with its results and messages.
struct Ran {
    garbler: Zeroizing<Vec<bool>>,
    evaluator: Zeroizing<Vec<bool>>,
    sent: Vec<(Kind, Vec<u8>)>,
    breaths: [usize; 2],
}

impl Ran {
    /// Returns the payloads of one kind.
    fn payloads(&self, kind: Kind) -> Vec<Vec<u8>> {
        let those = self.sent.iter().filter(|(sent, _)| *sent == kind);
        those.map(|(_, payload)| payload.clone()).collect()
    }
}

const SEED: [u8; 32] = [7; 32];

fn run(function: &Function) -> Ran {
    run_by(ots_for(Extension::default(), function), function)
}

/// Returns the OTs for a run of `function`.
fn ots_for(extension: Extension, function: &Function) -> (GarblerOt, EvaluatorOt) {
    ots(extension, function.input_bits(Role::Evaluator) as u64)
}

fn run_of(function: &Function) -> Run<'_, HalfGates> {
    let (scheme, tag) = (scheme(), run_tag(function));
    Run {
        scheme,
        function,
        tag,
        threads: 1,
    }
}

fn ones(function: &Function, role: Role) -> Vec<bool> {
    vec![true; function.input_bits(role)]
}

fn run_by((mut offers, mut choices): (GarblerOt, EvaluatorOt), function: &Function) -> Ran {
    let (run, seed, mut sent) = (run_of(function), Zeroizing::new(SEED), Vec::new());
    let (mine, yours) = (
        ones(function, Role::Garbler),
        ones(function, Role::Evaluator),
    );
    let ended = run_two(
        async |io| run.garble(io, &mine, &mut offers, &seed).await,
        async |io| run.evaluate(io, &yours, &mut choices).await,
        &mut |_, _, kind, (_, payload)| {
            sent.push((kind, payload.clone()));
            Ok(())
        },
    );
    let (garbler, evaluator) = ended.results;
    Ran {
        garbler: garbler.expect("honest"),
        evaluator: evaluator.expect("honest"),
        sent,
        breaths: ended.breaths,
    }
}

/// Returns the results on inputs of ones.
fn plain(function: &Function) -> Vec<bool> {
    let bits = function.input_bits(Role::Garbler) + function.input_bits(Role::Evaluator);
    function.evaluate(&vec![true; bits])
}

/// Evaluates the messages of a garbler whose only tables are these frames, with nothing after them.
/// Succeeds if the evaluator takes all of them.
fn evaluate(function: &Function, frames: &[&[u8]]) -> Result<(), Error> {
    let (_, mut choices) = ots_for(Extension::default(), function);
    let yours = ones(function, Role::Evaluator);
    let send = |io: &mut Io<'_>, kind, payload: &[u8]| {
        io.message().clear();
        io.message().extend_from_slice(payload);
        io.send(Message::exactly(kind, payload.len()))
    };
    let ended = run_two(
        async |io| {
            send(io, Kind::GarblingStart, &[7; 32])?;
            let mut frames = frames.iter();
            frames.try_for_each(|frame| send(io, Kind::Tables, frame))
        },
        async |io| run_of(function).evaluate(io, &yours, &mut choices).await,
        &mut |_, _, _, _| Ok(()),
    );
    let sent: Result<(), Error> = ended.results.0;
    sent.expect("nothing stops the garbler");
    match ended.results.1 {
        Err(Error::ApiMisuse(STUCK)) => Ok(()),
        other => other.map(drop),
    }
}

#[test]
fn frames_of_other_lengths_are_refused() {
    let circuit = library::find("aes-128", &BTreeMap::new()).unwrap();
    let to = |_: &_| Recipient::Evaluator;
    let from = |_: &_| Role::Evaluator;
    let function = Function::of_circuit("aes-128", circuit, from, to).unwrap();
    let program = function.components()[0].program();
    let segments: Vec<usize> = (0..program.segments().len())
        .map(|segment| scheme().table_bytes(program, segment))
        .filter(|bytes| *bytes > 0)
        .collect();
    // Sends the tables in frames with these numbers of segments, and the rest in one frame.
    let run_in = |counts: &[usize]| {
        let tables = run(&function).payloads(Kind::Tables).concat();
        let (mut segments, mut rest, mut frames) = (&segments[..], &tables[..], Vec::new());
        for count in counts.iter().copied().chain([usize::MAX]) {
            let (now, after) = segments.split_at(count.min(segments.len()));
            let (frame, left) = rest.split_at(now.iter().sum());
            (segments, rest) = (after, left);
            frames.extend((!frame.is_empty()).then_some(frame));
        }
        evaluate(&function, &frames)
    };
    // The frames of an honest garbler.
    let (mut honest, mut count, mut filled) = (Vec::new(), 0, 0);
    for bytes in &segments {
        (count, filled) = (count + 1, filled + bytes);
        if filled >= FRAME_BYTES {
            honest.push(count);
            (count, filled) = (0, 0);
        }
    }
    assert!(honest[0] > 1 && honest.len() > 1, "{segments:?}");
    assert_eq!(run_in(&honest), Ok(()));
    let is_refused = |counts: &[usize]| match run_in(counts) {
        Err(Error::PeerMisbehaved(Misbehaviour::WrongLength { kind, .. })) => kind == Kind::Tables,
        other => panic!("{counts:?}: {other:?}"),
    };
    // One segment at a time; a short frame first; a long frame first; everything in one frame.
    assert!(is_refused(&vec![1; segments.len()]));
    assert!(is_refused(&[honest[0] - 1]));
    assert!(is_refused(&[honest[0] + 1]));
    assert!(is_refused(&[]));
    // An empty frame, a segment cut in two, and more bytes than there are.
    let other = |change: fn(&[u8]) -> Vec<u8>| {
        let frames = run(&function).payloads(Kind::Tables);
        let last = change(&frames[frames.len() - 1]);
        let mut frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        frames.pop();
        frames.push(&last);
        evaluate(&function, &frames)
    };
    assert_eq!(other(<[u8]>::to_vec), Ok(()));
    for change in [
        |_: &[u8]| vec![],
        |last: &[u8]| last[..last.len() - 1].to_vec(),
        |last: &[u8]| [last, &[0]].concat(),
    ] {
        let result = other(change);
        assert!(
            matches!(result, Err(Error::PeerMisbehaved(_))),
            "{result:?}"
        );
    }
}

/// Returns a function of 2^23 XOR gates and nothing else.
fn xors() -> Function {
    let mut builder = FunctionBuilder::new("xors");
    builder
        .library("xor", "xor", &[("bytes", 4096)])
        .input("x", "bytes[4096]", Role::Garbler)
        .input("y", "bytes[4096]", Role::Evaluator)
        .value("v", "bytes[4096][257]")
        .assign(Part::of("v").at(0), "x")
        .repeat("i", 0, 256, |each, i| {
            each.call(
                [Part::of("v").at(i.plus(1))],
                "xor",
                [Part::of("v").at(i), Part::of("y")],
            );
        })
        .output("r", "bytes[4096]", Recipient::Both, Part::of("v").at(256));
    builder.finish().unwrap()
}

#[test]
fn work_without_messages_gives_way_now_and_then() {
    let function = xors();
    let ran = run(&function);
    // A step processes at most 2^20 gates, or bits that calls move.
    for breaths in ran.breaths {
        assert!((8..64).contains(&breaths), "{breaths}");
    }
    let expected = plain(&function);
    assert_eq!(*ran.garbler, expected);
    assert_eq!(*ran.evaluator, expected);
}

#[test]
fn giving_way_changes_no_frame() {
    // There are few AND gates among so many XOR gates that both parties yield within the only
    // frame.
    let mut builder = FunctionBuilder::new("mixed");
    builder
        .library("xor", "xor", &[("bytes", 4096)])
        .library("add", "adder", &[("bits", 8)])
        .input("x", "bytes[4096]", Role::Garbler)
        .input("y", "bytes[4096]", Role::Evaluator)
        .value("v", "bytes[4096][101]")
        .value("a", "bytes[1][101]")
        .assign(Part::of("v").at(0), "x")
        .assign(Part::of("a").at(0), Part::of("x").range(0, 1))
        .repeat("i", 0, 100, |each, i| {
            each.call(
                [Part::of("v").at(i.plus(1))],
                "xor",
                [Part::of("v").at(i), Part::of("y")],
            );
            each.call(
                [Part::of("a").at(i.plus(1))],
                "add",
                [Part::of("a").at(i), Part::of("y").range(i, i.plus(1))],
            );
        })
        .output(
            "r",
            "bytes[4096]",
            Recipient::Garbler,
            Part::of("v").at(100),
        )
        .output("s", "bytes[1]", Recipient::Evaluator, Part::of("a").at(100));
    let function = builder.finish().unwrap();
    let ran = run(&function);
    let lengths: Vec<usize> = ran.payloads(Kind::Tables).iter().map(Vec::len).collect();
    assert_eq!(lengths, [32 * 700]);
    assert!(ran.breaths.iter().all(|breaths| *breaths > 0));
    let expected = plain(&function);
    let (r, s) = expected.split_at(8 * 4096);
    assert_eq!(*ran.garbler, r);
    assert_eq!(*ran.evaluator, s);
}

/// Returns a function with 140,000 input bits of the evaluator.
fn many() -> Function {
    let mut builder = FunctionBuilder::new("many");
    builder
        .library("add", "adder", &[("bits", 8)])
        .input("x", "bytes[1]", Role::Garbler)
        .input("y", "bits[140000]", Role::Evaluator)
        .value("z", "bytes[1]")
        .call(
            ["z"],
            "add",
            [Part::of("x"), Part::of("y").range(139992, 140000)],
        )
        .output("z", "bytes[1]", Recipient::Both, "z");
    builder.finish().unwrap()
}

#[test]
fn many_input_bits_come_in_several_messages() {
    let function = many();
    // The messages have 2^16 OTs, twice, with the corrections of trees before the first; then the
    // other 8928.
    let softspoken = |k: usize, trees| {
        let row = 16 * 128 / k;
        [512 * row + trees, 512 * row, 70 * row]
    };
    let expected = [
        softspoken(2, 2048),
        softspoken(4, 3072),
        softspoken(8, 3584),
        [8192, 8192, 1116],
    ];
    for (extension, expected) in Extension::NAMED.into_iter().zip(expected) {
        assert_eq!(
            lengths_of_choices(extension, &function),
            expected,
            "{extension}"
        );
    }
}

/// Runs both parties to their results. Returns the lengths of the evaluator's messages of choices.
fn lengths_of_choices(extension: Extension, function: &Function) -> Vec<usize> {
    let ran = run_by(ots_for(extension, function), function);
    let expected = plain(function);
    assert_eq!(*ran.garbler, expected);
    assert_eq!(*ran.evaluator, expected);
    let choices = ran.payloads(Kind::CotExtension);
    choices.iter().map(Vec::len).collect()
}
