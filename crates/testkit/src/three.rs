//! The common part of tests of `outsourced`: three parties with links in memory, each of which may
//! change its outgoing messages.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use tacit::outsourced::{OutsourcedJob, OutsourcedRole};
use tacit::session::Side;
use tacit::{Error, Fingerprint, Function, FunctionBuilder, Outcome, Recipient, Role, Session};
use tacit_net::{Channel, Transport, memory};

use OutsourcedRole::{Cloud, Evaluator, Generator};

/// A direction of a link: the sender and the receiver.
pub type Direction = (OutsourcedRole, OutsourcedRole);

/// The result of a run for each party, in the order of [`OutsourcedRole::ALL`].
pub type Ends = [Result<Outcome, Error>; 3];

/// Returns a party's fingerprint.
pub fn fingerprint(role: OutsourcedRole) -> Fingerprint {
    Fingerprint([1 + role as u8; 32])
}

/// Returns the parties to which a party has links, in the order in which it works on them.
pub fn others(role: OutsourcedRole) -> [OutsourcedRole; 2] {
    match role {
        Generator => [Cloud, Evaluator],
        Evaluator => [Generator, Cloud],
        Cloud => [Generator, Evaluator],
    }
}

/// Returns a function that compares the generator's `a` and the evaluator's `b`, and keeps `a` as
/// `wealth`. If it `loads` the value of an earlier run, it also compares that with `b`.
///
/// # Panics
///
/// Never.
pub fn kept_riches(loads: bool) -> Function {
    let mut builder = FunctionBuilder::new("kept-riches");
    builder
        .library("richer", "millionaires", &[("bits", 8)])
        .input("a", "u8", Role::Garbler)
        .input("b", "u8", Role::Evaluator)
        .value("now", "bit")
        .call(["now"], "richer", ["a", "b"])
        .output("a_is_richer", "bit", Recipient::Both, "now")
        .save("wealth", "u8", "a");
    if loads {
        builder
            .load("wealth", "u8")
            .value("before", "bit")
            .call(["before"], "richer", ["wealth", "b"])
            .output("a_was_richer", "bit", Recipient::Evaluator, "before");
    }
    builder.finish().expect("a function")
}

/// A party's ends of its links, by the party at the other end.
type Links = BTreeMap<u8, Channel>;

/// Runs `job` of each party with the others. `below` wraps each party's end of a link, by the
/// direction in which it sends. No wait takes longer than `timeout`.
///
/// # Panics
///
/// If a party panics: not even a liar may.
pub fn run_three<'f>(
    job: &(dyn Fn(OutsourcedRole) -> OutsourcedJob<'f> + Sync),
    below: &(dyn Fn(Direction, Transport) -> Transport + Sync),
    timeout: Duration,
) -> Ends {
    let mut channels: [Links; 3] = Default::default();
    for (a, b) in [
        (Generator, Cloud),
        (Generator, Evaluator),
        (Evaluator, Cloud),
    ] {
        let (at_a, at_b) = memory::raw_pair(memory::PIPE_BYTES);
        for (transport, direction) in [(at_a, (a, b)), (at_b, (b, a))] {
            let transport = below(direction, transport.into_transport());
            let channel = crate::sessions::channel(transport, fingerprint(direction.1), timeout);
            channels[direction.0 as usize].insert(direction.1 as u8, channel);
        }
    }
    thread::scope(|scope| {
        let mut channels = channels.into_iter();
        let parties = OutsourcedRole::ALL.map(|role| {
            let channels = channels.next().expect("links of three parties");
            scope.spawn(move || party(role, job(role), channels))
        });
        parties.map(|party| party.join().expect("no panic"))
    })
}

fn party(
    role: OutsourcedRole,
    job: OutsourcedJob<'_>,
    mut channels: Links,
) -> Result<Outcome, Error> {
    let mut sessions = Vec::new();
    for other in others(role) {
        let channel = channels.remove(&(other as u8)).expect("a link");
        let side = match (role, other) {
            (Generator, _) | (Cloud, Evaluator) => Side::Listening,
            _ => Side::Connecting,
        };
        sessions.push(Session::over(channel, side, Some(&fingerprint(role)))?);
    }
    let [first, second] = &mut sessions[..] else {
        panic!("a party has two links");
    };
    match role {
        Generator => job.generate(second, first),
        Evaluator => job.evaluate(first, second),
        Cloud => job.serve(first, second),
    }
}
