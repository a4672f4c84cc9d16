//! `direct` message by message: frames of other lengths than the garbler's are refused, no step
//! works for long, and input bits come in as many messages as it takes.

use std::collections::{BTreeMap, VecDeque};

use rand_core::UnwrapErr;
use tacit_components::library;
use tacit_function::{Function, FunctionBuilder, Recipient, Role};
use tacit_garble::{HalfGates, Scheme, SchemeId};
use tacit_kernels::Construction;
use tacit_ot::source::Extension;
use tacit_protocol::direct::{Evaluating, FRAME_BYTES, Garbling};
use tacit_protocol::message::Kind;
use tacit_protocol::party::{Action, Party, run_in_memory};
use tacit_protocol::session::{Hello, Proposal, ProtocolId, RunTag, SessionTag};
use tacit_protocol::setup::{
    EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, OtSettings, Refill,
};
use tacit_protocol::{Error, Misbehaviour};
use zeroize::Zeroizing;

fn scheme() -> HalfGates {
    HalfGates::new(Construction::TwoCall)
}

fn session() -> SessionTag {
    let [a, b] = [1, 2].map(|byte| Hello { nonce: [byte; 32] });
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b))
}

/// The OTs of a session, of which `count` are made already where they have to be.
fn ots(extension: Extension, count: u64) -> (GarblerOt, EvaluatorOt) {
    let settings = OtSettings {
        extension,
        ..OtSettings::default()
    };
    let tag = session().setup(Role::Garbler, settings.base, extension);
    let mut rng = UnwrapErr(getrandom::SysRng);
    let mut garbler = GarblerSetup::with(settings, &tag, &mut rng).unwrap();
    let mut evaluator = EvaluatorSetup::with(settings, &tag, &mut rng).unwrap();
    run_in_memory([&mut garbler, &mut evaluator]).unwrap();
    let (mut garbler, mut evaluator) = (garbler.finish().unwrap(), evaluator.finish().unwrap());
    let mut making = Refill::new(&mut garbler, count, &mut rng);
    let mut taking = Refill::new(&mut evaluator, count, &mut rng);
    run_in_memory([&mut making, &mut taking]).unwrap();
    (garbler, evaluator)
}

fn run_tag(function: &Function) -> RunTag {
    session().run(&Proposal {
        protocol: ProtocolId::Direct,
        role: Role::Garbler,
        statistical_security_bits: 0,
        base_ot: Default::default(),
        ot_extension: Default::default(),
        scheme: SchemeId::HALF_GATES_TWO_CALL,
        run: 0,
        function: function.digest(),
    })
}

type Parties<'f> = (Garbling<'f, HalfGates>, Evaluating<'f, HalfGates>);

/// Both parties, whose input bits are all ones.
fn parties(function: &Function) -> Parties<'_> {
    parties_by(Extension::default(), function)
}

fn parties_by(extension: Extension, function: &Function) -> Parties<'_> {
    let count = function.input_bits(Role::Evaluator) as u64;
    let (garbler_ot, evaluator_ot) = ots(extension, count);
    let tag = run_tag(function);
    let ones = |role| vec![true; function.input_bits(role)];
    let (mine, yours) = (ones(Role::Garbler), ones(Role::Evaluator));
    let seed = Zeroizing::new([7; 32]);
    let garbler = Garbling::new(scheme(), function, tag, &mine, garbler_ot, &seed);
    let evaluator = Evaluating::new(scheme(), function, tag, &yours, evaluator_ot);
    (garbler.unwrap(), evaluator.unwrap())
}

/// The results on ones.
fn plain(function: &Function) -> Vec<bool> {
    let bits = function.input_bits(Role::Garbler) + function.input_bits(Role::Evaluator);
    function.evaluate(&vec![true; bits])
}

/// Runs the garbler up to its last frame of tables, and the evaluator up to where it waits for
/// the first. Returns the frames.
fn tables_of((garbler, evaluator): &mut Parties<'_>) -> Vec<Vec<u8>> {
    let (mut message, mut frames) = (Vec::new(), Vec::new());
    let (mut choices, mut sent) = (Vec::new(), VecDeque::new());
    // The choices wait for nothing.
    while evaluator.next(&mut choices).unwrap() == Action::send(Kind::CotExtension) {
        sent.push_back(choices.clone());
    }
    loop {
        match garbler.next(&mut message).unwrap() {
            Action::Send {
                kind: Kind::Tables, ..
            } => frames.push(message.clone()),
            Action::Send {
                kind: Kind::GarblingStart,
                ..
            } => {
                evaluator.receive(&message).unwrap();
            }
            Action::Receive {
                kind: Kind::CotExtension,
                ..
            } => {
                let choices = sent.pop_front().expect("as many as are taken");
                garbler.receive(&choices).unwrap();
            }
            Action::Continue => {}
            _ => return frames,
        }
    }
}

/// Gives frames to the evaluator; the first error.
fn evaluate(evaluator: &mut dyn Party, frames: &[&[u8]]) -> Result<(), Error> {
    let mut message = Vec::new();
    for frame in frames {
        loop {
            match evaluator.next(&mut message)? {
                Action::Continue => {}
                Action::Receive { kind, .. } => {
                    assert_eq!(kind, Kind::Tables);
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        evaluator.receive(frame)?;
    }
    while evaluator.next(&mut message)? == Action::Continue {}
    Ok(())
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
    // Gives the tables in frames of this many segments each, and what is left in one.
    let run = |counts: &[usize]| {
        let mut both = parties(&function);
        let tables = tables_of(&mut both).concat();
        let (mut segments, mut rest, mut frames) = (&segments[..], &tables[..], Vec::new());
        for count in counts.iter().copied().chain([usize::MAX]) {
            let (now, after) = segments.split_at(count.min(segments.len()));
            let (frame, left) = rest.split_at(now.iter().sum());
            (segments, rest) = (after, left);
            frames.extend((!frame.is_empty()).then_some(frame));
        }
        evaluate(&mut both.1, &frames)
    };
    // As an honest garbler cuts them.
    let (mut honest, mut count, mut filled) = (Vec::new(), 0, 0);
    for bytes in &segments {
        (count, filled) = (count + 1, filled + bytes);
        if filled >= FRAME_BYTES {
            honest.push(count);
            (count, filled) = (0, 0);
        }
    }
    assert!(honest[0] > 1 && honest.len() > 1, "{segments:?}");
    assert_eq!(run(&honest), Ok(()));
    let is_refused = |counts: &[usize]| match run(counts) {
        Err(Error::PeerMisbehaved(Misbehaviour::WrongLength { kind, .. })) => kind == Kind::Tables,
        other => panic!("{counts:?}: {other:?}"),
    };
    // One segment at a time, a short frame first, a long one first, all in one.
    assert!(is_refused(&vec![1; segments.len()]));
    assert!(is_refused(&[honest[0] - 1]));
    assert!(is_refused(&[honest[0] + 1]));
    assert!(is_refused(&[]));
    // Nothing, a segment cut in two, and more than there is.
    let other = |change: fn(&[u8]) -> Vec<u8>| {
        let mut both = parties(&function);
        let frames = tables_of(&mut both);
        let last = change(&frames[frames.len() - 1]);
        let mut frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        frames.pop();
        frames.push(&last);
        evaluate(&mut both.1, &frames)
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

/// A function of 2^23 XOR gates and nothing else.
fn xors() -> Function {
    let mut builder = FunctionBuilder::new("xors");
    builder
        .library("xor", "xor", &[("bytes", 4096)])
        .input("x", "bytes[4096]", Role::Garbler)
        .input("y", "bytes[4096]", Role::Evaluator)
        .value("v", "bytes[4096][257]")
        .step("v[0] = x")
        .repeat("i in 0..256", |each| {
            each.step("v[i+1] = xor(v[i], y)");
        })
        .output("r", "bytes[4096]", Recipient::Both, "v[256]");
    builder.finish().unwrap()
}

/// Counts how often a party gives way.
struct Counted<'a>(&'a mut dyn Party, usize);

impl Party for Counted<'_> {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        let action = self.0.next(message)?;
        self.1 += usize::from(action == Action::Continue);
        Ok(action)
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.0.receive(payload)
    }
}

#[test]
fn work_without_messages_gives_way_now_and_then() {
    let function = xors();
    let (mut garbler, mut evaluator) = parties(&function);
    let (mut a, mut b) = (Counted(&mut garbler, 0), Counted(&mut evaluator, 0));
    run_in_memory([&mut a, &mut b]).unwrap();
    // 2^20 gates at most, or bits that calls move, at a time.
    assert!((8..64).contains(&a.1), "{}", a.1);
    assert!((8..64).contains(&b.1), "{}", b.1);
    let expected = plain(&function);
    assert_eq!(*garbler.finish().unwrap().0, expected);
    assert_eq!(*evaluator.finish().unwrap().0, expected);
}

#[test]
fn giving_way_changes_no_frame() {
    // Few AND gates among so many XOR gates that both sides give way within the one frame.
    let mut builder = FunctionBuilder::new("mixed");
    builder
        .library("xor", "xor", &[("bytes", 4096)])
        .library("add", "adder", &[("bits", 8)])
        .input("x", "bytes[4096]", Role::Garbler)
        .input("y", "bytes[4096]", Role::Evaluator)
        .value("v", "bytes[4096][101]")
        .value("a", "bytes[1][101]")
        .step("v[0] = x")
        .step("a[0] = x[0..1]")
        .repeat("i in 0..100", |each| {
            each.step("v[i+1] = xor(v[i], y)");
            each.step("a[i+1] = add(a[i], y[i..i+1])");
        })
        .output("r", "bytes[4096]", Recipient::Garbler, "v[100]")
        .output("s", "bytes[1]", Recipient::Evaluator, "a[100]");
    let function = builder.finish().unwrap();
    let frames = tables_of(&mut parties(&function));
    let lengths: Vec<usize> = frames.iter().map(Vec::len).collect();
    assert_eq!(lengths, [32 * 700]);
    let (mut garbler, mut evaluator) = parties(&function);
    run_in_memory([&mut garbler, &mut evaluator]).unwrap();
    let expected = plain(&function);
    let (r, s) = expected.split_at(8 * 4096);
    assert_eq!(*garbler.finish().unwrap().0, r);
    assert_eq!(*evaluator.finish().unwrap().0, s);
}

/// A function with 140,000 input bits of the evaluator.
fn many() -> Function {
    let mut builder = FunctionBuilder::new("many");
    builder
        .library("add", "adder", &[("bits", 8)])
        .input("x", "bytes[1]", Role::Garbler)
        .input("y", "bits[140000]", Role::Evaluator)
        .value("z", "bytes[1]")
        .step("z = add(x, y[139992..140000])")
        .output("z", "bytes[1]", Recipient::Both, "z");
    builder.finish().unwrap()
}

#[test]
fn many_input_bits_come_in_several_messages() {
    let function = many();
    // 2^16 OTs, twice, with the corrections of trees before the first; then the other 8928.
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

/// Runs both parties to their results; the lengths of the evaluator's messages of choices.
fn lengths_of_choices(extension: Extension, function: &Function) -> Vec<usize> {
    let (mut garbler, mut evaluator) = parties_by(extension, function);
    let (mut message, mut lengths) = (Vec::new(), Vec::new());
    let mut start = Vec::new();
    garbler.next(&mut start).unwrap();
    while lengths.len() < 3 {
        let kind = Kind::CotExtension;
        assert_eq!(evaluator.next(&mut message), Ok(Action::send(kind)));
        let max_bytes = message.len();
        let receive = Action::receive(kind, max_bytes);
        assert_eq!(garbler.next(&mut Vec::new()), Ok(receive));
        garbler.receive(&message).unwrap();
        lengths.push(message.len());
    }
    evaluator.receive(&start).unwrap();
    run_in_memory([&mut garbler, &mut evaluator]).unwrap();
    let expected = plain(function);
    assert_eq!(*garbler.finish().unwrap().0, expected);
    assert_eq!(*evaluator.finish().unwrap().0, expected);
    lengths
}
