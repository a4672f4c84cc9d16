//! Runs of `direct` on several threads, which send the same bytes as those on one thread.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Poll;
use std::thread;

use tacit_components::library;
use tacit_function::{Function, FunctionBuilder, Part, Recipient, Role};
use tacit_garble::{SCHEMES, Scheme, SchemeVisitor, with_scheme};
use tacit_ot::Security;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use tacit_protocol::Error;
use tacit_protocol::direct::Run;
use tacit_protocol::io::{Io, Wire, complete};
use tacit_protocol::message::Kind;
use tacit_protocol::party::OnlyPeer;
use tacit_protocol::session::ProtocolId;

use crate::{Transcript, ots, prg, run_tag, seed, settings};

/// A wire whose calls block, and the messages sent over it.
struct Blocking {
    to: Sender<(Kind, Vec<u8>)>,
    from: Receiver<(Kind, Vec<u8>)>,
    received: Vec<u8>,
    sent: Transcript,
    /// The number of frames of tables that were sent.
    frames: usize,
    /// The fault in one of them.
    fault: Option<Fault>,
}

/// The number of a frame of tables, and the change of it.
type Fault = (usize, fn(&mut Vec<u8>));

impl Blocking {
    fn pair() -> [Self; 2] {
        let ((to, from_here), (back, from)) = (channel(), channel());
        [(to, from), (back, from_here)].map(|(to, from)| Self {
            to,
            from,
            received: Vec::new(),
            sent: Transcript::default(),
            frames: 0,
            fault: None,
        })
    }
}

impl Wire for Blocking {
    fn send(&mut self, _: OnlyPeer, kind: Kind, payload: &[u8]) -> Result<(), Error> {
        self.sent.note((0, 1), kind.byte(), payload);
        let mut payload = payload.to_vec();
        if kind == Kind::Tables {
            if let Some((_, edit)) = self.fault.filter(|(frame, _)| *frame == self.frames) {
                edit(&mut payload);
            }
            self.frames += 1;
        }
        self.to.send((kind, payload)).map_err(|_| Error::Wire)
    }

    fn poll_message(&mut self, _: OnlyPeer) -> Poll<()> {
        Poll::Ready(())
    }

    fn receive(&mut self, _: OnlyPeer, kind: Kind, max_bytes: usize) -> Result<&[u8], Error> {
        let (found, payload) = self.from.recv().map_err(|_| Error::Wire)?;
        assert!(found == kind && payload.len() <= max_bytes, "{found:?}");
        self.received = payload;
        Ok(&self.received)
    }

    fn poll_breathe(&mut self) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }
}

/// A run with these numbers of threads at garbler and evaluator.
struct OnThreads<'f> {
    function: &'f Function,
    inputs: [&'f [bool]; 2],
    threads: [usize; 2],
    fault: Option<Fault>,
}

/// The outcome of a run.
struct Ended {
    results: [Result<Vec<bool>, Error>; 2],
    /// A digest of the messages of each party.
    sent: [String; 2],
    /// The number of frames of tables.
    frames: usize,
}

impl SchemeVisitor for OnThreads<'_> {
    type Output = Ended;

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        let Self {
            function,
            inputs: [mine, yours],
            threads,
            fault,
        } = self;
        let settings = settings(BaseOt::default(), Extension::default());
        let (how, count) = ((settings, Security::SemiHonest), yours.len() as u64);
        let (mut offers, mut choices) = ots(how, count, &mut prg(1), &mut Transcript::default());
        let tag = run_tag(ProtocolId::Direct, scheme.id(), function);
        let [garbling, evaluating] = threads.map(|threads| Run {
            scheme,
            function,
            tag,
            threads,
        });
        let (seed, [mut here, mut there]) = (seed(7), Blocking::pair());
        here.fault = fault;
        thread::scope(|scope| {
            // Each end is dropped with its script, so that the other party does not wait for it.
            let evaluator = scope.spawn(move || {
                let mut io = Io::new(&mut there);
                let ended = complete(evaluating.evaluate(&mut io, yours, &mut choices));
                (ended.map(|bits| bits.to_vec()), there.sent.digest())
            });
            let mut io = Io::new(&mut here);
            let ours = complete(garbling.garble(&mut io, mine, &mut offers, &seed));
            let ours = ours.map(|bits| bits.to_vec());
            let frames = here.frames;
            let sent = here.sent.digest();
            let (theirs, theirs_sent) = evaluator.join().expect("no panic");
            Ended {
                results: [ours, theirs],
                sent: [sent, theirs_sent],
                frames,
            }
        })
    }
}

/// Returns a function with products of inputs, a sum of them in a chain, and products by that sum:
/// calls that wait for no other call, for one, and for all.
fn products() -> Function {
    let (count, many) = (64, "u32[64]");
    let mut builder = FunctionBuilder::new("products");
    builder
        .library("mul", "multiplier", &[("bits", 32)])
        .library("add", "adder", &[("bits", 32)])
        .input("x", many, Role::Garbler)
        .input("y", many, Role::Evaluator)
        .value("p", many)
        .value("q", many)
        .value("s", "u32[65]")
        .assign(Part::of("s").at(0), Part::of("x").at(0))
        .repeat("i", 0, count, |each, i| {
            let [x, y, p] = ["x", "y", "p"].map(|name| Part::of(name).at(i.clone()));
            each.call([p], "mul", [x, y]);
        })
        .repeat("i", 0, count, |each, i| {
            let [s, p] = ["s", "p"].map(|name| Part::of(name).at(i.clone()));
            each.call([Part::of("s").at(i.plus(1))], "add", [s, p]);
        })
        .repeat("i", 0, count, |each, i| {
            let [p, q] = ["p", "q"].map(|name| Part::of(name).at(i.clone()));
            each.call([q], "mul", [p, Part::of("s").at(count)]);
        })
        .output("q", many, Recipient::Both, "q");
    builder.finish().expect("a function")
}

fn inputs(function: &Function) -> [Vec<bool>; 2] {
    Role::BOTH.map(|role| {
        let bits = 0..function.input_bits(role);
        bits.map(|bit| bit % 3 == 0).collect()
    })
}

/// Under fixed seeds, the numbers of threads of both parties change no result and no byte, however
/// calls depend on each other, and even if one call is long.
#[test]
fn threads_change_nothing() {
    let copies = BTreeMap::from([("copies".to_owned(), 16)]);
    let circuit = library::find("aes-128-copies", &copies).expect("in the library");
    let long = Function::of_circuit("long", circuit, |_| Role::Garbler, |_| Recipient::Both);
    for function in [products(), long.expect("a function")] {
        assert!(function.and_gates() >= 1 << 16, "{}", function.and_gates());
        let [mine, yours] = inputs(&function);
        let expected = function.evaluate(&[&mine[..], &yours].concat());
        for scheme in &SCHEMES {
            let on = |threads| {
                let run = OnThreads {
                    function: &function,
                    inputs: [&mine, &yours],
                    threads,
                    fault: None,
                };
                with_scheme(scheme.id, run).expect("known")
            };
            let alone = on([1, 1]);
            for threads in [[2, 1], [5, 1], [1, 2], [5, 5]] {
                let ended = on(threads);
                for result in &ended.results {
                    assert_eq!(
                        result.as_ref(),
                        Ok(&expected),
                        "{}, {threads:?}",
                        scheme.name
                    );
                }
                assert_eq!(ended.sent, alone.sent, "{}, {threads:?}", scheme.name);
            }
        }
    }
}

/// An evaluator on several threads refuses frames whose lengths do not match the function.
#[test]
fn frames_of_other_lengths_are_refused_on_threads() {
    let function = products();
    let [mine, yours] = inputs(&function);
    let with = |fault| {
        let run = OnThreads {
            function: &function,
            inputs: [&mine, &yours],
            threads: [1, 3],
            fault,
        };
        with_scheme(SCHEMES[0].id, run).expect("known")
    };
    let honest = with(None);
    assert!(honest.results[1].is_ok());
    let last = honest.frames - 1;
    assert!(last > 2);
    let longer: fn(&mut Vec<u8>) = |frame| frame.resize(frame.len() + 64, 0);
    let shorter: fn(&mut Vec<u8>) = |frame| frame.truncate(frame.len() - 64);
    let empty: fn(&mut Vec<u8>) = |frame| frame.clear();
    for fault in [
        (0, longer),
        (1, shorter),
        (1, empty),
        (last, longer),
        (last, shorter),
    ] {
        let [_, theirs] = with(Some(fault)).results;
        let is_refused = matches!(theirs, Err(Error::PeerMisbehaved(_)));
        assert!(is_refused, "frame {}: {theirs:?}", fault.0);
    }
}
