//! A peer that misbehaves in several ways, in turn, for as long as the others run.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use tacit::stock::Preparation;
use tacit::{Identity, Job, Role, Session, Settings};

use super::load::{Dice, Field, PATIENCE};
use super::scene::{STOCKED, values};

/// The pause between two attempts: a flood of some fifty a second.
const PAUSE: Duration = Duration::from_millis(20);
/// The number of silent connections at once.
const MAX_SILENT: usize = 12;

/// An attempt with its name.
type Attempt = (&'static str, fn(&Field, &Identity, &mut Vec<TcpStream>));

const ATTEMPTS: [Attempt; 8] = [
    ("silent-connection", silent),
    ("garbage", garbage),
    ("stranger", stranger),
    ("another-function", another_function),
    ("another-order", another_order),
    ("left-run", left_run),
    ("idle-session", idle),
    ("many-sessions", many),
];

/// Attacks the service until the load is over. Returns the number of attempts by name.
pub(super) fn annoy(field: &Field, identity: &Identity) -> BTreeMap<String, u64> {
    let mut dice = Dice(666);
    let mut silent = Vec::new();
    let mut tried = BTreeMap::new();
    while !field.is_over() {
        let (name, attempt) = ATTEMPTS[(dice.roll() % ATTEMPTS.len() as u64) as usize];
        attempt(field, identity, &mut silent);
        *tried.entry(name.to_owned()).or_insert(0) += 1;
        thread::sleep(PAUSE);
    }
    tried
}

fn silent(field: &Field, _: &Identity, held: &mut Vec<TcpStream>) {
    if held.len() == MAX_SILENT {
        held.remove(0);
    }
    held.extend(TcpStream::connect(&field.address));
}

fn garbage(field: &Field, _: &Identity, _: &mut Vec<TcpStream>) {
    let Ok(mut socket) = TcpStream::connect(&field.address) else {
        return;
    };
    let _ = socket.set_read_timeout(Some(Duration::from_millis(100)));
    let _ = socket.write_all(&[0x16, 3, 1, 0xff, 0xff, 1, 2, 3]);
    let _ = socket.read(&mut [0; 64]);
}

fn stranger(field: &Field, _: &Identity, _: &mut Vec<TcpStream>) {
    if let Ok(stranger) = Identity::generate() {
        let _ = session(field, &stranger);
    }
}

/// Starts a session with less patience than an honest peer has.
fn session(field: &Field, identity: &Identity) -> Option<Session> {
    let settings = Settings {
        connect_timeout: Duration::from_secs(1),
        timeout: Duration::from_millis(500),
        ..Settings::default()
    };
    Session::connect(&field.address, identity, &field.service, &settings).ok()
}

/// Asks for a function of other peers.
fn another_function(field: &Field, identity: &Identity, _: &mut Vec<TcpStream>) {
    run(field, identity, 1, PATIENCE);
}

/// Runs its own function, and leaves as soon as it has started.
fn left_run(field: &Field, identity: &Identity, _: &mut Vec<TcpStream>) {
    run(field, identity, 0, Duration::from_micros(500));
}

fn run(field: &Field, identity: &Identity, offer: usize, limit: Duration) {
    let Some(mut session) = session(field, identity) else {
        return;
    };
    let function = &field.functions[offer];
    let Ok(inputs) = values(function, Role::Evaluator, |_| true) else {
        return;
    };
    let job = Job::new(function, Role::Evaluator).time_limit(limit);
    let job = inputs
        .into_iter()
        .fold(job, |job, (name, value)| job.input(&name, value));
    let _ = job.run(&mut session);
}

/// Places an order for which there is no level.
fn another_order(field: &Field, identity: &Identity, _: &mut Vec<TcpStream>) {
    let Some(mut session) = session(field, identity) else {
        return;
    };
    let Ok(folder) = tempfile::tempdir() else {
        return;
    };
    let Ok(stocks) = tacit::stock::Stocks::open(folder.path(), 1 << 20) else {
        return;
    };
    let order = Preparation::new(Role::Evaluator).enough_for(&field.functions[STOCKED], 7);
    let _ = order.map(|order| order.run(&mut session, &stocks).map(drop));
}

/// Opens a session and asks for nothing.
fn idle(field: &Field, identity: &Identity, _: &mut Vec<TcpStream>) {
    if let Some(session) = session(field, identity) {
        thread::sleep(Duration::from_millis(100));
        drop(session);
    }
}

/// Opens more sessions than one peer may have.
fn many(field: &Field, identity: &Identity, _: &mut Vec<TcpStream>) {
    let sessions: Vec<_> = (0..6).filter_map(|_| session(field, identity)).collect();
    drop(sessions);
}
