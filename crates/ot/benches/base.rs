//! Time and bytes of 128 base OTs, of each kind; one JSON record a line.
//!
//! `cargo bench -p tacit-ot --bench base`. `sender_ms` and `receiver_ms` are each party's own
//! work on one thread; `elapsed_ms` is from the moment both parties start, each on a thread of its
//! own, to the moment both have their keys, with `threads` threads a party. Each is the best of
//! the runs. The system's source of randomness is part of it, the session's network is not.

use std::num::NonZeroUsize;
use std::sync::Barrier;
use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox, channel};
use std::thread;
use std::time::{Duration, Instant};

use getrandom::SysRng;
use rand_core::UnwrapErr;
use tacit_ot::base::{BaseOt, Key, Receiver, Sender, ml_kem};
use tacit_ot::{Delta, SessionTag};

const TAG: SessionTag = SessionTag::new([1; 32]);
const RUNS: usize = 30;

fn main() {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name\t: "));
    let cpu = cpu.unwrap_or("unknown").replace(['"', '\\'], "");
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    println!("{{\"machine\":\"{cpu}\",\"cores\":{cores},\"runs\":\"best of {RUNS}\"}}");
    for kind in BaseOt::ALL {
        for threads in [1, 2, 4] {
            measure(kind, NonZeroUsize::new(threads).expect("not zero"));
        }
    }
}

/// What the best run took; each figure is the best by itself.
struct Best {
    sender: Duration,
    receiver: Duration,
    elapsed: Duration,
}

fn measure(kind: BaseOt, threads: NonZeroUsize) {
    let mut best = Best {
        sender: Duration::MAX,
        receiver: Duration::MAX,
        elapsed: Duration::MAX,
    };
    let mut bytes = [0; 2];
    for _ in 0..RUNS {
        let (to_sender, from_receiver) = channel();
        let (to_receiver, from_sender) = channel();
        let ready = &Barrier::new(2);
        let (sent, received) = thread::scope(|scope| {
            let sender = scope.spawn(move || {
                let mut party = Timed::new(to_receiver, from_receiver);
                ready.wait();
                party.begun = Instant::now();
                let pairs = send(kind, threads, &mut party);
                (pairs, party.work, party.sent_bytes, party.begun.elapsed())
            });
            let mut party = Timed::new(to_sender, from_sender);
            ready.wait();
            party.begun = Instant::now();
            let chosen = receive(kind, threads, &mut party);
            let received = (chosen, party.work, party.sent_bytes, party.begun.elapsed());
            (sender.join().expect("honest"), received)
        });
        assert_eq!(sent.0.len(), received.0.len());
        best.sender = best.sender.min(sent.1);
        best.receiver = best.receiver.min(received.1);
        best.elapsed = best.elapsed.min(sent.3.max(received.3));
        bytes = [sent.2, received.2];
    }
    let [sender_ms, receiver_ms, elapsed_ms] =
        [best.sender, best.receiver, best.elapsed].map(|time| time.as_secs_f64() * 1e3);
    println!(
        "{{\"bench\":\"base-ot\",\"kind\":\"{kind}\",\"count\":{},\"threads\":{threads},\
         \"sender_ms\":{sender_ms:.2},\"receiver_ms\":{receiver_ms:.2},\
         \"elapsed_ms\":{elapsed_ms:.2},\"sender_bytes\":{},\"receiver_bytes\":{}}}",
        Delta::BITS,
        bytes[0],
        bytes[1]
    );
}

/// A party's clock, which stands still while it waits, and its end of the two channels.
struct Timed {
    begun: Instant,
    work: Duration,
    sent_bytes: usize,
    outbox: Outbox<Vec<u8>>,
    inbox: Inbox<Vec<u8>>,
}

impl Timed {
    fn new(outbox: Outbox<Vec<u8>>, inbox: Inbox<Vec<u8>>) -> Self {
        Self {
            begun: Instant::now(),
            work: Duration::ZERO,
            sent_bytes: 0,
            outbox,
            inbox,
        }
    }

    fn work<T>(&mut self, step: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = step();
        self.work += start.elapsed();
        result
    }

    fn send(&mut self, message: Vec<u8>) {
        self.sent_bytes += message.len();
        self.outbox.send(message).expect("the peer listens");
    }

    fn wait(&self) -> Vec<u8> {
        self.inbox.recv().expect("the peer answers")
    }
}

fn send(kind: BaseOt, threads: NonZeroUsize, party: &mut Timed) -> Vec<[Key; 2]> {
    let mut rng = UnwrapErr(SysRng);
    match kind {
        BaseOt::Ristretto255 => {
            let started = party.work(|| Sender::start(Delta::BITS, &TAG, &mut rng));
            let (sender, message) = started.expect("128 base OTs start");
            party.send(message);
            let message = party.wait();
            let pairs = party.work(|| sender.finish_on(threads, &message));
            pairs.expect("the receiver is honest")
        }
        BaseOt::MlKem768 => {
            let sender = party.work(|| ml_kem::Sender::start(Delta::BITS, &TAG, &mut rng));
            let message = party.wait();
            let sender = sender.expect("128 base OTs start");
            let answered = party.work(|| sender.answer_on(threads, &message));
            let (pairs, answer) = answered.expect("the receiver is honest");
            party.send(answer);
            pairs
        }
        other => panic!("{other} is not measured"),
    }
}

fn receive(kind: BaseOt, threads: NonZeroUsize, party: &mut Timed) -> Vec<Key> {
    let mut rng = UnwrapErr(SysRng);
    let choices = Delta::random(&mut rng).choices();
    match kind {
        BaseOt::Ristretto255 => {
            let started = party.work(|| Receiver::start_on(threads, &choices, &TAG, &mut rng));
            let (receiver, message) = started.expect("128 base OTs start");
            party.send(message);
            let message = party.wait();
            let chosen = party.work(|| receiver.finish_on(threads, &message));
            chosen.expect("the sender is honest")
        }
        BaseOt::MlKem768 => {
            let started =
                party.work(|| ml_kem::Receiver::start_on(threads, &choices, &TAG, &mut rng));
            let (receiver, message) = started.expect("128 base OTs start");
            party.send(message);
            let message = party.wait();
            let chosen = party.work(|| receiver.finish_on(threads, &message));
            chosen.expect("the sender is honest")
        }
        other => panic!("{other} is not measured"),
    }
}
