//! Runs in memory compared with the plain function, and peers that lie.

mod lots;
mod saved;

use std::collections::BTreeMap;

use tacit_circuit::Span;
use tacit_components::library;
use tacit_function::{Function, Operand, Recipient, Role};
use tacit_garble::{Garbler, SCHEMES, Scheme, SchemeId, SchemeVisitor, with_scheme};
use tacit_kernels::Prg;
use zeroize::Zeroizing;

use super::*;
use crate::Misbehaviour;
use crate::io::memory::{Ended, OnItsWay, run_two};
use crate::message::Kind;
use crate::party::OnlyPeer;
use crate::saved::{ChainId, EvaluatorHalf, GarblerHalf};
use crate::session::{Hello, Proposal, ProtocolId, RunTag, SessionTag};

/// A scheme with two calls a gate, one that re-keys, and one without Δ.
const SAMPLE: [SchemeId; 3] = [
    SchemeId::HALF_GATES_TWO_CALL,
    SchemeId::HALF_GATES_REKEYED,
    SchemeId::PRF,
];

fn tag(function: &Function, scheme: SchemeId) -> RunTag {
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b)).run(&Proposal::first(
        ProtocolId::Prepared,
        scheme,
        function.digest(),
    ))
}

const CHAIN: ChainId = ChainId([9; 16]);

/// The state of both parties before a run.
struct Sides<'f, S: Scheme> {
    run: Run<'f, S>,
    inputs: [Vec<bool>; 2],
    past: (Past<'f, GarblerHalf>, Past<'f, EvaluatorHalf>),
    delta: Block,
    ots: (GarblerOts, EvaluatorOts),
    instances: (
        QueuedInstances<GarblerInstance<S::Wire>>,
        QueuedInstances<InstanceTables>,
    ),
    seed: Zeroizing<[u8; 32]>,
}

/// The values that a party saves, and its results if it opened them.
type Ran<V> = (Vec<V>, Zeroizing<Vec<bool>>);

impl<S: Scheme> Sides<'_, S> {
    /// Runs both parties up to what they save and, if `opens`, to their results.
    fn run(
        self,
        opens: bool,
        on_its_way: OnItsWay<'_, OnlyPeer>,
    ) -> Ended<Ran<GarblerHalf>, Ran<EvaluatorHalf>> {
        let (run, delta, seed) = (self.run, self.delta, self.seed);
        let (mine, theirs) = self.instances;
        run_two(
            async |io| {
                let (given, offers) = ((&self.inputs[0][..], self.past.0), (&delta, &self.ots.0));
                let linked = run.garble(io, given, offers, mine, &seed).await?;
                let (saves, opening) = linked.save(CHAIN);
                Ok(if opens {
                    (saves, opening.open(io).await?)
                } else {
                    (saves, Zeroizing::default())
                })
            },
            async |io| {
                let early = run.gather(io).await?;
                let given = (&self.inputs[1][..], self.past.1);
                let linked = run.evaluate(io, given, early, &self.ots.1, theirs).await?;
                let (saves, opening) = linked.save(CHAIN);
                Ok(if opens {
                    (saves, opening.open(io).await?)
                } else {
                    (saves, Zeroizing::default())
                })
            },
            on_its_way,
        )
    }
}

/// Returns the state of both parties before a run, with freshly prepared material.
fn sides<'f, S: Scheme>(scheme: S, function: &'f Function, inputs: [&[bool]; 2]) -> Sides<'f, S> {
    let past = (Past::NOTHING, Past::NOTHING);
    sides_after(scheme, function, inputs, past, 7)
}

/// Returns the same where the parties continue from `past`, with material drawn from `seed`.
fn sides_after<'f, S: Scheme>(
    scheme: S,
    function: &'f Function,
    inputs: [&[bool]; 2],
    past: (Past<'f, GarblerHalf>, Past<'f, EvaluatorHalf>),
    seed: u8,
) -> Sides<'f, S> {
    let mut prg = Prg::new(Block::from_u128(10 + u128::from(seed)));
    let delta = prg.next_block().with_lsb(1.into());
    let demand = Demand::of(function).expect("in bounds");
    let (mut mine, mut theirs) = (QueuedInstances(Vec::new()), QueuedInstances(Vec::new()));
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
    Sides {
        run: Run {
            scheme,
            function,
            tag: tag(function, scheme.id()),
        },
        inputs: inputs.map(<[bool]>::to_vec),
        past,
        delta,
        ots: (GarblerOts { numbers, q }, ots),
        instances: (mine, theirs),
        seed: Zeroizing::new([seed; 32]),
    }
}

/// A run on random inputs gives each party the same result as the plain function.
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
        let ended = sides(scheme, function, [&mine, &theirs]).run(true, &mut |_, _, _, _| Ok(()));
        let ((_, garblers), (_, evaluators)) = ended.both().expect("both are honest");
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
        assert_eq!(*garblers, due(Role::Garbler), "{}", scheme.id());
        assert_eq!(*evaluators, due(Role::Evaluator), "{}", scheme.id());
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
        for scheme in &SCHEMES {
            with_scheme(scheme.id, RightResult(function)).expect("it is one of SCHEMES");
        }
    }
}

/// Some results are an input or a constant, and pass through no instance.
#[test]
fn values_that_pass_no_instance() {
    let function = crate::saved::functions::function(|f| {
        f.input("a", "u8", Role::Garbler)
            .input("b", "u8", Role::Evaluator)
            .output("x", "u8", Recipient::Garbler, "b")
            .output("y", "u8", Recipient::Evaluator, "a")
            .output("z", "u8", Recipient::Both, Operand::number(77));
    });
    for scheme in &SCHEMES {
        with_scheme(scheme.id, RightResult(&function)).expect("it is one of SCHEMES");
    }
}

/// A change to a message.
type Fault = fn(&mut Vec<u8>);

/// A damaged message of the garbler leads to an error, or to ⊥ at the latest.
struct Damaged<'f>(&'f Function);

impl SchemeVisitor for Damaged<'_> {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        let function = self.0;
        let inputs = Role::BOTH.map(|role| vec![true; function.input_bits(role)]);
        // Applies `fault` to one message of the garbler. Returns the evaluator's outcome, and the
        // number of messages that the garbler sends.
        let run = |broken: usize, fault: Fault| {
            let mut sent = 0;
            let sides = sides(scheme, function, [&inputs[0], &inputs[1]]);
            let ended = sides.run(true, &mut |own, _, _, (_, payload)| {
                if own == 0 {
                    if sent == broken {
                        fault(payload);
                    }
                    sent += 1;
                }
                Ok(())
            });
            (ended.results.1.map(drop), sent)
        };
        let (honest, messages) = run(usize::MAX, |_| ());
        honest.expect("nothing is damaged");
        assert_eq!(messages, 5, "start, links, mask, links, decoding");
        for broken in 0..messages {
            let faults: [Fault; 4] = [
                |payload| payload.truncate(payload.len() - 1),
                |payload| payload.push(0),
                Vec::clear,
                |payload| payload.iter_mut().for_each(|byte| *byte ^= 0x5a),
            ];
            for (number, fault) in faults.into_iter().enumerate() {
                let (outcome, _) = run(broken, fault);
                assert!(
                    matches!(outcome, Err(Error::PeerMisbehaved(_))),
                    "{}: fault {number} in message {broken}: {outcome:?}",
                    scheme.id(),
                );
            }
        }
    }
}

#[test]
fn damage_never_passes_for_a_result() {
    let function = comparison(Recipient::Evaluator);
    for scheme in &SCHEMES {
        with_scheme(scheme.id, Damaged(&function)).expect("it is one of SCHEMES");
    }
}

#[test]
fn corrections_are_checked() {
    struct Check<'f>(&'f Function);
    impl SchemeVisitor for Check<'_> {
        type Output = ();
        fn visit<S: Scheme>(self, scheme: S) {
            let inputs = Role::BOTH.map(|role| vec![false; self.0.input_bits(role)]);
            for bad in [&[][..], &[0; 3], &[0; 5], &[0, 0, 0, 0, 1]] {
                let sides = sides(scheme, self.0, [&inputs[0], &inputs[1]]);
                let ended = sides.run(true, &mut |_, _, kind, (_, payload)| {
                    if kind == Kind::Corrections {
                        *payload = bad.to_vec();
                    }
                    Ok(())
                });
                let refused = ended.results.0.map(drop);
                assert!(
                    matches!(
                        refused,
                        Err(Error::PeerMisbehaved(Misbehaviour::WrongLength {
                            kind: Kind::Corrections,
                            ..
                        }))
                    ),
                    "they are not 32 bits: {refused:?}"
                );
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

/// Instances that are garbled again together have the same wires as alone, small or large.
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
