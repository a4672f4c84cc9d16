//! A run of `prepared` in memory, to see what it takes apart from the evaluation of components:
//! walking the function, undoing the mask, following links, beginning and ending a call, decoding.
//!
//! Runs of four sizes, of a component without gates, give four numbers. Before each the thread
//! sleeps, as an evaluator does while it waits: what wakes up finds its caches cold.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use tacit_circuit::Component;
use tacit_circuit::builder::{Builder, Bytes};
use tacit_function::{Function, FunctionBuilder, Recipient, Role};
use tacit_garble::{Scheme, SchemeId, SchemeVisitor, with_scheme};
use tacit_kernels::{Block, Prg};
use tacit_protocol::party::{Action, Party};
use tacit_protocol::prepared::{
    Evaluating, EvaluatorOts, GarblerInstance, GarblerOts, Garbling, Gathering, InstanceSeed,
    InstanceTables, Instances, Past,
};
use tacit_protocol::session::{Hello, Proposal, ProtocolId, RunTag, SessionTag};
use zeroize::Zeroizing;

use crate::Error;

/// How often a run of each size is rehearsed.
const TIMES: usize = 5;
/// The wait before the evaluator goes on.
const WAIT: Duration = Duration::from_micros(300);

/// Calls and bytes of a component of each size: eight links a call and byte, eight outputs a byte.
const SIZES: [(u64, u64); 4] = [(2, 1), (64, 1), (64, 16), (2, 128)];

/// What a run of `prepared` takes the evaluator apart from evaluating components, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Handling {
    /// Of the run.
    pub(super) start: f64,
    /// Of each call.
    pub(super) call: f64,
    /// Of each link.
    pub(super) link: f64,
    /// Of each output bit.
    pub(super) output: f64,
    /// Of the garbler for each output bit.
    pub(super) garbler_output: f64,
}

impl Handling {
    /// Measures it under a scheme.
    ///
    /// # Errors
    ///
    /// The id's fields form no scheme of this version.
    pub(super) fn measure(scheme: SchemeId) -> Result<Self, Error> {
        let mut evaluator = [0.0; 4];
        let mut garbler = 0.0;
        for (median, (calls, bytes)) in evaluator.iter_mut().zip(SIZES) {
            let function = chain(calls, bytes)?;
            let rehearsal = Rehearsal {
                function: &function,
            };
            [*median, garbler] = with_scheme(scheme, rehearsal)
                .map_err(|_| Error::ApiMisuse("this scheme is not offered by any protocol"))??;
        }
        let (_, bytes) = SIZES[3];
        Ok(Self {
            garbler_output: garbler / (8 * bytes) as f64,
            ..Self::fitted(evaluator)
        })
    }

    /// What gives these times of the evaluator for runs of the [`SIZES`], where eight outputs are
    /// of the run.
    fn fitted([few, short, long, wide]: [f64; 4]) -> Self {
        let links = SIZES.map(|(calls, bytes)| (8 * calls * bytes) as f64);
        let outputs = SIZES.map(|(_, bytes)| (8 * bytes - 8) as f64);
        let calls = SIZES.map(|(calls, _)| calls as f64);
        // Two equations for a link and an output: the long run less the short one, and the wide
        // less the one of few calls.
        let (more, wider) = (long - short, wide - few);
        let (l1, o1) = (links[2] - links[1], outputs[2] - outputs[1]);
        let (l2, o2) = (links[3] - links[0], outputs[3] - outputs[0]);
        let link = ((more * o2 - wider * o1) / (l1 * o2 - l2 * o1)).max(0.0);
        let output = ((wider - link * l2) / o2).max(0.0);
        let of_calls = (short - few - link * (links[1] - links[0])) / (calls[1] - calls[0]);
        let call = of_calls.max(0.0);
        let start = (few - link * links[0] - call * calls[0]).max(0.0);
        Self {
            start,
            call,
            link,
            output,
            garbler_output: 0.0,
        }
    }
}

/// A chain of calls that hand bytes of the evaluator on, through a component without gates.
fn chain(calls: u64, bytes: u64) -> Result<Function, Error> {
    let builder = Builder::new();
    let handed: Bytes<'_> = builder.bytes("handed", bytes as usize);
    builder.output("on", &handed);
    let component = Component::new("hand", builder.finish()?);
    let ty = format!("bytes[{bytes}]");
    let mut builder = FunctionBuilder::new("rehearsal");
    builder
        .component("hand", component)
        .input("y", &ty, Role::Evaluator)
        .value("on", &format!("{ty}[{}]", calls + 1))
        .step("on[0] = y")
        .repeat(&format!("i in 0..{calls}"), |each| {
            each.step("on[i+1] = hand(on[i])");
        })
        .output("result", &ty, Recipient::Both, &format!("on[{calls}]"));
    Ok(builder.finish()?)
}

/// Runs of a function in memory.
struct Rehearsal<'f> {
    function: &'f Function,
}

impl SchemeVisitor for Rehearsal<'_> {
    type Output = Result<[f64; 2], Error>;

    /// The median times of the evaluator and of the garbler, in seconds.
    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        let runs = (0..TIMES).map(|_| once(scheme, self.function));
        let runs = runs.collect::<Result<Vec<_>, Error>>()?;
        Ok([0, 1].map(|party| {
            let mut times: Vec<f64> = runs.iter().map(|of| of[party]).collect();
            times.sort_by(f64::total_cmp);
            times[TIMES / 2]
        }))
    }
}

/// The instances of a function's only component.
struct Shelf<T>(VecDeque<T>);

impl<T> Instances for Shelf<T> {
    type Instance = T;

    fn next(&mut self, _: usize) -> Result<T, tacit_protocol::Error> {
        let missing = || tacit_protocol::Error::Material("no instance is left".to_owned());
        self.0.pop_front().ok_or_else(missing)
    }
}

/// Messages that one party sent.
type Sent = VecDeque<Vec<u8>>;

/// Seconds of the evaluator from the garbler's answer to its result, and of the garbler for that
/// answer. Nothing here is a secret: the material belongs to no one.
fn once<S: Scheme>(scheme: S, function: &Function) -> Result<[f64; 2], Error> {
    let mut prg = Prg::new(Block::ONES);
    let delta = prg.next_block().with_lsb(1.into());
    let (mut wires, mut tables) = (VecDeque::new(), VecDeque::new());
    let component = &function.components()[0];
    for _ in 0..function.call_count() {
        let seed = InstanceSeed::random(&mut prg);
        let mut bytes = Vec::new();
        seed.garble(scheme, component.program(), delta, &mut bytes);
        tables.extend(InstanceTables::from_bytes(
            scheme,
            component.program(),
            bytes,
        ));
        wires.push_back(seed.wires(scheme, component.program(), delta));
    }
    let count = function.input_bits(Role::Evaluator);
    let q: Vec<Block> = (0..count).map(|_| prg.next_block()).collect();
    let numbers: Vec<u64> = (0..count as u64).collect();
    let ots = EvaluatorOts {
        numbers: numbers.clone(),
        choices: vec![false; count],
        labels: q.clone(),
    };
    let [mine, theirs] = [Role::Garbler, Role::Evaluator]
        .map(|role| Zeroizing::new(vec![false; function.input_bits(role)]));
    let tag = tag(function, scheme.id());
    let seed = Zeroizing::new([7; 32]);
    let offers = (delta, GarblerOts { numbers, q });
    let wires: Shelf<GarblerInstance<S::Wire>> = Shelf(wires);
    let mine = (&mine[..], Past::NOTHING);
    let mut garbler = Garbling::new(scheme, function, tag, mine, offers, wires, &seed)?;
    let mut sent = until_it_waits(&mut garbler)?;
    let mut gathering = Gathering::new(scheme, function)?;
    until_done(&mut gathering, &mut sent)?;
    let early = gathering.finish()?;
    let tables = Shelf(tables);
    let theirs = (&theirs[..], Past::NOTHING);
    let mut evaluator = Evaluating::new(scheme, function, tag, theirs, early, &ots, tables)?;
    let mut choices = until_it_waits(&mut evaluator)?;
    while let Some(message) = choices.pop_front() {
        garbler.receive(&message)?;
    }
    thread::sleep(WAIT);
    let begun = Instant::now();
    let mut sent = until_it_waits(&mut garbler)?;
    let answering = begun.elapsed().as_secs_f64();
    thread::sleep(WAIT);
    let begun = Instant::now();
    until_done(&mut evaluator, &mut sent)?;
    Ok([begun.elapsed().as_secs_f64(), answering])
}

/// What `party` sends before it waits for a message or ends.
fn until_it_waits(party: &mut dyn Party) -> Result<Sent, Error> {
    let (mut sent, mut message) = (Sent::new(), Vec::new());
    loop {
        match party.next(&mut message)? {
            Action::Send { .. } => sent.push_back(message.clone()),
            Action::Receive { .. } | Action::Done => return Ok(sent),
            Action::Continue | Action::Keep => {}
        }
    }
}

/// Gives `party` these messages until it ends.
fn until_done(party: &mut dyn Party, messages: &mut Sent) -> Result<(), Error> {
    let mut message = Vec::new();
    loop {
        match party.next(&mut message)? {
            Action::Done => return Ok(()),
            Action::Send { .. } | Action::Continue | Action::Keep => {}
            Action::Receive { .. } => match messages.pop_front() {
                Some(message) => party.receive(&message)?,
                None => return Err(Error::ApiMisuse("a rehearsal waits for no message")),
            },
        }
    }
}

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

#[cfg(test)]
mod tests {
    use tacit_garble::LADDER;

    use super::*;

    #[test]
    fn four_runs_give_four_numbers() {
        let expected = Handling {
            start: 5.0,
            call: 0.25,
            link: 0.125,
            output: 0.5,
            garbler_output: 0.0,
        };
        let times = SIZES.map(|(calls, bytes)| {
            let links = expected.link * (8 * calls * bytes) as f64;
            let outputs = expected.output * (8 * bytes - 8) as f64;
            expected.start + expected.call * calls as f64 + links + outputs
        });
        let found = Handling::fitted(times);
        let pairs = [
            (found.start, expected.start),
            (found.call, expected.call),
            (found.link, expected.link),
            (found.output, expected.output),
        ];
        assert!(pairs.iter().all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
        // A pause in one of them makes no time negative.
        let found = Handling::fitted([9.0, 3.0, 2.0, 1.0]);
        let least = found
            .start
            .min(found.call)
            .min(found.link)
            .min(found.output);
        assert!(least >= 0.0, "{found:?}");
    }

    #[test]
    fn every_scheme_is_rehearsed() {
        for rung in &LADDER {
            let handling = Handling::measure(rung.id).expect("a run");
            assert!(
                handling.start + handling.call + handling.link > 0.0,
                "{}",
                rung.id
            );
        }
    }
}
