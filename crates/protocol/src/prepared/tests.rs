//! Runs in memory against the plain function, and peers that lie.

mod lots;
mod saved;

use std::collections::{BTreeMap, VecDeque};

use tacit_components::library;
use tacit_function::{Function, Recipient, Role};
use tacit_garble::{Garbler, LADDER, Scheme, SchemeId, SchemeVisitor, with_scheme};
use tacit_kernels::Prg;
use zeroize::Zeroizing;

use super::*;
use crate::Misbehaviour;
use crate::io::memory::run_in_memory;
use crate::message::Kind;
use crate::party::{Action, Party};
use crate::saved::{EvaluatorHalf, GarblerHalf};
use crate::session::{Hello, Proposal, ProtocolId, RunTag, SessionTag};

/// A scheme with two calls a gate, one that re-keys, and one without Δ.
const SAMPLE: [SchemeId; 3] = [
    SchemeId::HALF_GATES_TWO_CALL,
    SchemeId::HALF_GATES_REKEYED,
    SchemeId::PRF,
];

fn tag(function: &Function, scheme: SchemeId) -> RunTag {
    let [a, b] = [1, 2].map(|byte| Hello { nonce: [byte; 32] });
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b)).run(&Proposal {
        protocol: ProtocolId::Prepared,
        role: Role::Garbler,
        statistical_security_bits: 0,
        base_ot: Default::default(),
        ot_extension: Default::default(),
        scheme,
        run: 0,
        function: function.digest(),
    })
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

type GarblingShelf<'f, S> = Garbling<'f, S, Shelf<GarblerInstance<<S as Scheme>::Wire>>>;
type EvaluatingShelf<'f, S> = Evaluating<'f, S, Shelf<InstanceTables>>;

/// What the evaluator has before a run.
struct Prepared<'f, S> {
    scheme: S,
    function: &'f Function,
    inputs: Vec<bool>,
    past: Past<'f, EvaluatorHalf>,
    ots: EvaluatorOts,
    tables: Shelf<InstanceTables>,
}

impl<'f, S: Scheme> Prepared<'f, S> {
    fn evaluating(self, early: EarlyLinks) -> EvaluatingShelf<'f, S> {
        let (scheme, function) = (self.scheme, self.function);
        let tag = tag(function, scheme.id());
        let given = (&self.inputs[..], self.past);
        Evaluating::new(scheme, function, tag, given, early, &self.ots, self.tables)
            .expect("in bounds")
    }
}

/// The garbler's side of a run and what the evaluator has, with freshly prepared material.
fn sides<'f, S: Scheme>(
    scheme: S,
    function: &'f Function,
    inputs: [&[bool]; 2],
) -> (GarblingShelf<'f, S>, Prepared<'f, S>) {
    let past = (Past::NOTHING, Past::NOTHING);
    sides_after(scheme, function, inputs, past, 7)
}

/// The same where the parties go on from `past`, with material that is drawn from `seed`.
fn sides_after<'f, S: Scheme>(
    scheme: S,
    function: &'f Function,
    inputs: [&[bool]; 2],
    past: (Past<'_, GarblerHalf>, Past<'f, EvaluatorHalf>),
    seed: u8,
) -> (GarblingShelf<'f, S>, Prepared<'f, S>) {
    let mut prg = Prg::new(Block::from_u128(10 + u128::from(seed)));
    let delta = prg.next_block().with_lsb(1.into());
    let demand = Demand::of(function).expect("in bounds");
    let (mut mine, mut theirs) = (Shelf(Vec::new()), Shelf(Vec::new()));
    for (component, count) in function.components().iter().zip(&demand.instances) {
        let program = component.program();
        let (mut wires, mut tables) = (VecDeque::new(), VecDeque::new());
        for _ in 0..*count {
            let seed = InstanceSeed::random(&mut prg);
            let seed = InstanceSeed::from_bytes(&seed.to_bytes());
            let mut bytes = Vec::new();
            seed.garble(scheme, program, delta, &mut bytes);
            assert!(InstanceTables::from_bytes(scheme, program, bytes[1..].to_vec()).is_none());
            tables.extend(InstanceTables::from_bytes(scheme, program, bytes));
            wires.push_back(seed.wires(scheme, program, delta));
        }
        mine.0.push(wires);
        theirs.0.push(tables);
    }
    let count = demand.ots as usize;
    let q: Vec<_> = (0..count).map(|_| prg.next_block()).collect();
    let choices: Vec<bool> = q.iter().map(|_| prg.next_block().lsb().into()).collect();
    let labels = q.iter().zip(&choices);
    let labels = labels
        .map(|(q, b)| *q ^ delta.and_bit(u8::from(*b).into()))
        .collect();
    let numbers: Vec<_> = (99..).take(count).collect();
    let ots = EvaluatorOts {
        numbers: numbers.clone(),
        choices,
        labels,
    };
    let offers = (delta, GarblerOts { numbers, q });
    let (tag, seed) = (tag(function, scheme.id()), Zeroizing::new([seed; 32]));
    let given = (inputs[0], past.0);
    let garbler = Garbling::new(scheme, function, tag, given, offers, mine, &seed);
    let prepared = Prepared {
        scheme,
        function,
        inputs: inputs[1].to_vec(),
        past: past.1,
        ots,
        tables: theirs,
    };
    (garbler.expect("in bounds"), prepared)
}

/// Gathers what `garbler` sends first, and records it.
fn gather<S: Scheme>(
    garbler: &mut GarblingShelf<'_, S>,
    prepared: &Prepared<'_, S>,
    sent: &mut Vec<(Kind, Vec<u8>)>,
) -> EarlyLinks {
    let mut gathering = Gathering::new(prepared.scheme, prepared.function).expect("in bounds");
    let mut message = Vec::new();
    while let Action::Receive { .. } = gathering.next(&mut message).expect("honest") {
        let Action::Send { kind, .. } = garbler.next(&mut message).expect("honest") else {
            panic!("the garbler waits for nothing yet");
        };
        gathering.receive(&message).expect("honest");
        sent.push((kind, message.clone()));
    }
    gathering.finish().expect("done")
}

/// A run on random inputs gives each side what the plain function gives it.
struct RightResult<'f>(&'f Function);

impl SchemeVisitor for RightResult<'_> {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        let function = self.0;
        let mut prg = Prg::new(Block::from_u128(23));
        let mut bits = |role| -> Vec<bool> {
            (0..function.input_bits(role))
                .map(|_| prg.next_block().lsb().into())
                .collect()
        };
        let (mine, theirs) = (bits(Role::Garbler), bits(Role::Evaluator));
        let (mut garbler, prepared) = sides(scheme, function, [&mine, &theirs]);
        let early = gather(&mut garbler, &prepared, &mut Vec::new());
        let mut evaluator = prepared.evaluating(early);
        run_in_memory([&mut garbler, &mut evaluator]).expect("both are honest");
        let (mut mine, mut theirs) = (mine.into_iter(), theirs.into_iter());
        let mut all = Vec::new();
        for input in function.inputs() {
            let bits = match input.owner {
                Role::Garbler => &mut mine,
                Role::Evaluator => &mut theirs,
            };
            all.extend(bits.take(input.port.ty.width()));
        }
        let plain = function.evaluate(&all);
        let due = |role| {
            let (mut due, mut rest) = (Vec::new(), &plain[..]);
            for output in function.outputs() {
                let (bits, after) = rest.split_at(output.port.ty.width());
                rest = after;
                if output.recipient.includes(role) {
                    due.extend_from_slice(bits);
                }
            }
            due
        };
        assert_eq!(
            *garbler.finish().expect("done"),
            due(Role::Garbler),
            "{}",
            scheme.id()
        );
        assert_eq!(
            *evaluator.finish().expect("done"),
            due(Role::Evaluator),
            "{}",
            scheme.id()
        );
    }
}

fn shipped_function(name: &str, parameters: &[(&str, u64)]) -> Function {
    let parameters = parameters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value));
    let shipped = tacit_language::shipped::find(name).expect("it comes with Tacit");
    let typed = shipped.function(&parameters.collect()).expect("in range");
    typed.function().clone()
}

fn comparison(recipient: Recipient) -> Function {
    let circuit = library::find("millionaires", &BTreeMap::new()).expect("in the library");
    let owner = |port: &tacit_circuit::Port| match port.name.as_str() {
        "a" => Role::Garbler,
        _ => Role::Evaluator,
    };
    Function::of_circuit("compared", circuit, owner, |_| recipient).expect("well formed")
}

#[test]
fn every_scheme_links_right() {
    let functions = [
        shipped_function("levenshtein", &[("n", 3), ("m", 2)]),
        shipped_function("aes-128-rounds", &[]),
        comparison(Recipient::Garbler),
        comparison(Recipient::Evaluator),
        comparison(Recipient::Both),
    ];
    for function in &functions {
        for rung in &LADDER {
            with_scheme(rung.id, RightResult(function)).expect("it is on the ladder");
        }
    }
}

/// Results that are an input or a constant, and never were in an instance.
#[test]
fn values_that_pass_no_instance() {
    let function = crate::saved::functions::function(|f| {
        f.input("a", "u8", Role::Garbler)
            .input("b", "u8", Role::Evaluator)
            .output("x", "u8", Recipient::Garbler, "b")
            .output("y", "u8", Recipient::Evaluator, "a")
            .output("z", "u8", Recipient::Both, "77");
    });
    for rung in &LADDER {
        with_scheme(rung.id, RightResult(&function)).expect("it is on the ladder");
    }
}

/// What is done to a message.
type Fault = fn(&mut Vec<u8>);

/// The messages that the garbler sends in a run, in order.
fn record<S: Scheme>(
    garbler: &mut GarblingShelf<'_, S>,
    prepared: Prepared<'_, S>,
) -> Vec<(Kind, Vec<u8>)> {
    let mut sent = Vec::new();
    let early = gather(garbler, &prepared, &mut sent);
    let (mut message, mut corrections) = (Vec::new(), Vec::new());
    let first = prepared.evaluating(early).next(&mut corrections);
    assert_eq!(first, Ok(Action::send(Kind::Corrections)));
    loop {
        match garbler.next(&mut message).expect("honest") {
            Action::Send { kind, .. } => sent.push((kind, message.clone())),
            Action::Receive { .. } => garbler.receive(&corrections).expect("honest"),
            Action::Done => return sent,
            _ => {}
        }
    }
}

/// A run of the evaluator against these messages of a garbler.
fn replay<S: Scheme>(
    prepared: Prepared<'_, S>,
    messages: &[(Kind, Vec<u8>)],
) -> Result<Zeroizing<Vec<bool>>, Error> {
    let mut messages = messages.iter().map(|(_, payload)| payload.as_slice());
    let mut drive = |party: &mut dyn Party| -> Result<(), Error> {
        loop {
            match party.next(&mut Vec::new())? {
                Action::Receive { max_bytes, .. } => match messages.next() {
                    Some(payload) if payload.len() <= max_bytes => party.receive(payload)?,
                    // What the driver refuses.
                    _ => return Err(Misbehaviour::NotTacit.into()),
                },
                Action::Done => return Ok(()),
                _ => {}
            }
        }
    };
    let mut gathering = Gathering::new(prepared.scheme, prepared.function)?;
    drive(&mut gathering)?;
    let mut evaluator = prepared.evaluating(gathering.finish()?);
    drive(&mut evaluator)?;
    evaluator.finish()
}

/// A damaged message of the garbler ends in an error, or in ⊥ at the latest.
struct Damaged<'f>(&'f Function);

impl SchemeVisitor for Damaged<'_> {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        let function = self.0;
        let inputs =
            [Role::Garbler, Role::Evaluator].map(|role| vec![true; function.input_bits(role)]);
        let fresh = || sides(scheme, function, [&inputs[0], &inputs[1]]);
        let (mut garbler, prepared) = fresh();
        let sent = record(&mut garbler, prepared);
        assert_eq!(sent.len(), 5, "start, links, mask, links, decoding");
        replay(fresh().1, &sent).expect("nothing is damaged");
        for broken in 0..sent.len() {
            let faults: [Fault; 4] = [
                |payload| payload.truncate(payload.len() - 1),
                |payload| payload.push(0),
                Vec::clear,
                |payload| payload.iter_mut().for_each(|byte| *byte ^= 0x5a),
            ];
            for (number, fault) in faults.iter().enumerate() {
                let mut sent = sent.clone();
                fault(&mut sent[broken].1);
                let outcome = replay(fresh().1, &sent);
                assert!(
                    matches!(outcome, Err(Error::PeerMisbehaved(_))),
                    "{}: fault {number} in message {broken} ({}): {outcome:?}",
                    scheme.id(),
                    sent[broken].0
                );
            }
        }
    }
}

#[test]
fn damage_never_passes_for_a_result() {
    let function = comparison(Recipient::Evaluator);
    for rung in &LADDER {
        with_scheme(rung.id, Damaged(&function)).expect("it is on the ladder");
    }
}

#[test]
fn corrections_are_checked() {
    struct Check<'f>(&'f Function);
    impl SchemeVisitor for Check<'_> {
        type Output = ();
        fn visit<S: Scheme>(self, scheme: S) {
            let inputs =
                [Role::Garbler, Role::Evaluator].map(|role| vec![false; self.0.input_bits(role)]);
            for bad in [&[][..], &[0; 3], &[0; 5], &[0, 0, 0, 0, 1]] {
                let (mut garbler, _) = sides(scheme, self.0, [&inputs[0], &inputs[1]]);
                let mut message = Vec::new();
                while let Action::Send { .. } = garbler.next(&mut message).expect("honest") {}
                let error = garbler.receive(bad).expect_err("they are not 32 bits");
                assert!(matches!(
                    error,
                    Error::PeerMisbehaved(Misbehaviour::WrongLength {
                        kind: Kind::Corrections,
                        ..
                    })
                ));
                assert!(garbler.next(&mut message).is_err(), "the run is spent");
            }
        }
    }
    let function = comparison(Recipient::Both);
    assert_eq!(function.input_bits(Role::Evaluator), 32);
    with_scheme(SchemeId::HALF_GATES_TWO_CALL, Check(&function)).expect("known");
}

#[test]
fn leases_are_read_back() {
    let span = |first, count| Span { first, count };
    let counts = [5..=5, 0..=0, 6..=9];
    let mut message = Vec::new();
    for leases in [
        Leases::Named(vec![
            vec![span(0, 2), span(9, 3)],
            Vec::new(),
            vec![span(u64::MAX - 7, 7)],
        ]),
        Leases::Short { runs: 1 },
        Leases::Short { runs: 8 },
    ] {
        leases.write(&mut message).expect("few spans");
        assert!(message.len() <= Leases::max_bytes(3));
        assert_eq!(Leases::parse(&message, &counts, 8), Ok(leases));
        for cut in 0..message.len() {
            assert!(
                Leases::parse(&message[..cut], &counts, 8).is_err(),
                "{cut} bytes"
            );
        }
        message.push(0);
        assert!(Leases::parse(&message, &counts, 8).is_err());
    }
    for answer in [LeasesAnswer::Followed, LeasesAnswer::Behind(vec![1, 2, 3])] {
        answer.write(&mut message);
        assert!(message.len() <= LeasesAnswer::max_bytes(3));
        assert_eq!(LeasesAnswer::parse(&message, 3), Ok(answer));
        message.push(0);
        assert!(LeasesAnswer::parse(&message, 3).is_err());
    }
}

#[test]
fn leases_that_do_not_fit() {
    let span = |first, count| Span { first, count };
    let mut message = Vec::new();
    for bad in [
        Leases::Named(vec![vec![span(0, 4)]]),
        Leases::Named(vec![vec![span(0, 7)]]),
        Leases::Named(vec![vec![span(3, 2), span(0, 3)]]),
        Leases::Named(vec![vec![span(0, 3), span(2, 2)]]),
        Leases::Named(vec![vec![span(0, 0), span(0, 5)]]),
        Leases::Named(vec![vec![span(u64::MAX - 1, 5)]]),
        Leases::Short { runs: 0 },
        Leases::Short { runs: 7 },
    ] {
        bad.write(&mut message).expect("few spans");
        let read = Leases::parse(&message, &[5..=6], 6);
        assert!(matches!(read, Err(Error::PeerMisbehaved(_))), "{bad:?}");
    }
    assert!(Leases::parse(&[2], &[], 8).is_err());
    assert!(LeasesAnswer::parse(&[2], 0).is_err());
    let announced = [&[0][..], &u32::MAX.to_le_bytes()].concat();
    assert!(Leases::parse(&announced, &[5..=5], 8).is_err());
    let many = Leases::Named(vec![vec![span(0, 1); MAX_SPANS + 1]]);
    assert!(many.write(&mut message).is_err());
}

/// Instances garbled again together have the wires that each has alone, small or large.
#[test]
fn wires_of_several_instances_are_those_of_each() {
    struct Check;
    impl SchemeVisitor for Check {
        type Output = ();
        fn visit<S: Scheme>(self, scheme: S) {
            let small = shipped_function("levenshtein", &[("n", 1), ("m", 1)]);
            let large = shipped_function("sha-256-chain", &[("n", 1)]);
            let mut prg = Prg::new(Block::from_u128(31));
            let delta = prg.next_block().with_lsb(1.into());
            for (function, count) in [(small, 37), (large, 3)] {
                let program = function.components()[0].program();
                let seeds: Vec<_> = (0..count).map(|_| InstanceSeed::random(&mut prg)).collect();
                let together = InstanceSeed::wires_all(&seeds, scheme, program, delta);
                assert_eq!(together.len(), seeds.len());
                let mut prg = Prg::new(Block::ZERO);
                let garbler = scheme.garbler([0; 32], prg.next_block(), delta);
                let labels = |wires: &[S::Wire]| {
                    let both = |wire| [false, true].map(|bit| garbler.label_with_select(wire, bit));
                    wires.iter().map(both).collect::<Vec<_>>()
                };
                for (seed, found) in seeds.iter().zip(&together) {
                    let alone = seed.wires(scheme, program, delta);
                    assert!(labels(&found.inputs) == labels(&alone.inputs));
                    assert!(labels(&found.outputs) == labels(&alone.outputs));
                }
            }
        }
    }
    for id in SAMPLE {
        with_scheme(id, Check).expect("known");
    }
}
