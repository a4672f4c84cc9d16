//! Measured runs of a source: two threads, one a party, over channels in memory.
//!
//! A run is set up first (keys, and for silent OT its first batch) and makes as many OTs as it will
//! be measured for, which warms memory up; both parties wait for each other, and then the clock runs
//! from the first byte until both have all their OTs. On Linux each
//! party's own time on a core is noted too: on a machine that others use, it says more.

use std::sync::Barrier;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use getrandom::SysRng;
use rand_core::UnwrapErr;
use tacit_kernels::{Block, Prg};
use tacit_ot::base::Key;
use tacit_ot::source::{Extension, SourceReceiver, SourceSender, Turn};
use tacit_ot::{Delta, Security, SessionTag};

const TAG: SessionTag = SessionTag::new([1; 32]);

/// Messages on their way in one direction at most.
const IN_FLIGHT: usize = 8;

/// Marks when the measured refill is over: the start, and one a refill.
const MADE: usize = 4;

/// OTs of one message of an online form.
const ONLINE_CHUNK: usize = 1 << 15;

/// What the OTs are used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are made.
    Correlated,
    /// Hashed to random OTs.
    Random,
    /// Corrected and linked to labels.
    Linked,
    /// One of two blocks.
    Blocks,
    /// One of two strings of 256 bytes.
    Strings,
}

impl Form {
    pub(crate) const ALL: [Self; 5] = [
        Self::Correlated,
        Self::Random,
        Self::Linked,
        Self::Blocks,
        Self::Strings,
    ];

    const STRING_BYTES: usize = 256;
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) extension: Extension,
    pub(crate) security: Security,
    pub(crate) form: Form,
    pub(crate) count: usize,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// Time and bytes before the clock runs.
    pub(crate) setup: Duration,
    pub(crate) setup_bytes: usize,
    /// Time from the first byte until both parties have the correlated OTs.
    pub(crate) making: Duration,
    pub(crate) making_bytes: usize,
    pub(crate) made: u64,
    /// Time that the sender and the receiver were on a core meanwhile; zero where it is not known.
    pub(crate) busy: [Duration; 2],
    /// Time after that until both have them in their form.
    pub(crate) using: Duration,
    pub(crate) using_bytes: usize,
}

impl Run {
    /// The record as JSON.
    pub(crate) fn json(&self, record: &Record) -> String {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let bits = |bytes: usize, count: u64| bytes as f64 * 8.0 / count as f64;
        let million = record.made as f64 / record.making.as_secs_f64() / 1e6;
        let total = record
            .making
            .mul_f64(self.count as f64 / record.made as f64)
            + record.using;
        format!(
            "{{\"bench\":\"ot\",\"extension\":\"{}\",\"security\":\"{:?}\",\"form\":\"{:?}\",\
             \"count\":{},\"setup_ms\":{:.2},\"setup_bytes\":{},\"made\":{},\"making_ms\":{:.2},\
             \"making_bits_per_ot\":{:.3},\"making_m_per_s\":{million:.1},\
             \"sender_busy_ms\":{:.2},\"receiver_busy_ms\":{:.2},\"using_ms\":{:.2},\
             \"using_bits_per_ot\":{:.3},\"m_per_s\":{:.1}}}",
            self.extension,
            self.security,
            self.form,
            self.count,
            ms(record.setup),
            record.setup_bytes,
            record.made,
            ms(record.making),
            bits(record.making_bytes, record.made),
            ms(record.busy[0]),
            ms(record.busy[1]),
            ms(record.using),
            bits(record.using_bytes, self.count as u64),
            self.count as f64 / total.as_secs_f64() / 1e6,
        )
    }

    /// Runs once.
    pub(crate) fn measure(&self) -> Record {
        let (ours, theirs) = ends();
        let barrier = Barrier::new(2);
        let delta = Delta::random(&mut UnwrapErr(SysRng));
        let (chosen, pairs) = dealt(&delta);
        let (sender, receiver) = thread::scope(|scope| {
            let sender = scope.spawn(|| self.sender(delta, chosen, ours, &barrier));
            let receiver = self.receiver(pairs, theirs, &barrier);
            (sender.join().expect("the sender ends"), receiver)
        });
        let later = |step: usize| {
            let [s, r] =
                [&sender, &receiver].map(|times| times.marks[step] - times.marks[step - 1]);
            s.max(r)
        };
        let bytes = |step: usize| sender.bytes[step] + receiver.bytes[step];
        Record {
            setup: later(1),
            setup_bytes: bytes(0),
            making: later(3),
            making_bytes: bytes(2),
            made: sender.made,
            busy: [&sender, &receiver].map(|times| times.busy[3] - times.busy[2]),
            using: later(4),
            using_bytes: bytes(3),
        }
    }

    /// The refills: one that begins, one that warms memory up, and the one that is measured.
    fn refills(&self) -> [usize; 3] {
        let first = usize::from(self.extension == Extension::Silent);
        [first, self.count, self.count]
    }

    fn sender(&self, delta: Delta, base: Vec<Key>, mut end: End, barrier: &Barrier) -> Times {
        let mut rng = UnwrapErr(SysRng);
        let mut times = Times::start(barrier);
        let made = SourceSender::new(delta, base, &TAG, self.extension, self.security, 0);
        let mut source = made.expect("128 base OTs");
        for count in self.refills() {
            let before = source.available().end;
            source.refill(count).expect("in bounds");
            loop {
                match source.next(&mut rng, &mut end.message).expect("honest") {
                    Turn::Send => end.send(),
                    Turn::Receive { .. } => end.receive(|m| source.receive(m).expect("honest")),
                    Turn::Idle => break,
                }
            }
            times.made = source.available().end - before;
            times.mark(&mut end, barrier);
            if times.marks.len() < MADE {
                drop(source.take(source.available().end, 0));
            }
        }
        let end_of_all = source.available().end - self.count as u64;
        let mut held = None;
        for first in (0..self.count).step_by(ONLINE_CHUNK) {
            let count = ONLINE_CHUNK.min(self.count - first);
            if self.form == Form::Correlated {
                // All at once, as they are.
                held = Some(source.take(end_of_all, self.count).expect("made"));
                break;
            }
            let taken = source.take(end_of_all + first as u64, count).expect("made");
            if self.form == Form::Random {
                std::hint::black_box(taken.into_random(&TAG));
                continue;
            }
            let mut corrections = Vec::new();
            end.receive(|message| corrections.extend_from_slice(message));
            let labels = vec![Block::ONES; 2 * count];
            let answer = match self.form {
                Form::Linked => taken.link(&corrections, &labels[..count]),
                Form::Blocks => taken.send_blocks(&TAG, &corrections, labels.as_chunks().0),
                _ => {
                    let length = Form::STRING_BYTES;
                    let strings = vec![7; count * length];
                    taken.send_strings(&TAG, &corrections, length, &strings, &strings)
                }
            };
            end.message = answer.expect("honest");
            end.send();
        }
        times.mark(&mut end, barrier);
        drop(std::hint::black_box(held));
        times
    }

    fn receiver(&self, base: Vec<[Key; 2]>, mut end: End, barrier: &Barrier) -> Times {
        let mut rng = UnwrapErr(SysRng);
        let mut times = Times::start(barrier);
        let made = SourceReceiver::new(base, &TAG, self.extension, self.security, 0);
        let mut source = made.expect("128 base OTs");
        for count in self.refills() {
            source.refill(count).expect("in bounds");
            loop {
                match source.next(&mut rng, &mut end.message).expect("honest") {
                    Turn::Send => end.send(),
                    Turn::Receive { .. } => end.receive(|m| source.receive(m).expect("honest")),
                    Turn::Idle => break,
                }
            }
            times.mark(&mut end, barrier);
            if times.marks.len() < MADE {
                drop(source.take(source.available().end, 0));
            }
        }
        let end_of_all = source.available().end - self.count as u64;
        let mut held = None;
        let mut waiting = std::collections::VecDeque::new();
        for first in (0..self.count).step_by(ONLINE_CHUNK) {
            let count = ONLINE_CHUNK.min(self.count - first);
            if self.form == Form::Correlated {
                held = Some(source.take(end_of_all, self.count).expect("made"));
                break;
            }
            let taken = source.take(end_of_all + first as u64, count).expect("made");
            if self.form == Form::Random {
                std::hint::black_box(taken.into_random(&TAG));
                continue;
            }
            let choices: Vec<bool> = (0..count).map(|i| i % 3 == 0).collect();
            let (chosen, corrections) = taken.choose(&choices).expect("as many");
            waiting.push_back(chosen);
            end.message = corrections;
            end.send();
            // As many corrections ahead of answers as the channel holds.
            if waiting.len() > IN_FLIGHT / 2 {
                self.open(&mut waiting, &mut end);
            }
        }
        while !waiting.is_empty() {
            self.open(&mut waiting, &mut end);
        }
        times.mark(&mut end, barrier);
        drop(std::hint::black_box(held));
        times
    }

    fn open(
        &self,
        waiting: &mut std::collections::VecDeque<tacit_ot::precomputed::ChosenOts>,
        end: &mut End,
    ) {
        let chosen = waiting.pop_front().expect("not empty");
        end.receive(|answer| match self.form {
            Form::Linked => drop(std::hint::black_box(chosen.open_links(answer))),
            Form::Blocks => drop(std::hint::black_box(chosen.open_blocks(&TAG, answer))),
            _ => drop(std::hint::black_box(chosen.open_strings(
                &TAG,
                Form::STRING_BYTES,
                answer,
            ))),
        });
    }
}

/// When a party reached each step, and what it had sent in each.
struct Times {
    marks: Vec<Instant>,
    busy: Vec<Duration>,
    bytes: Vec<usize>,
    made: u64,
}

impl Times {
    fn start(barrier: &Barrier) -> Self {
        barrier.wait();
        Self {
            marks: vec![Instant::now()],
            busy: vec![busy()],
            bytes: Vec::new(),
            made: 0,
        }
    }

    /// Notes the end of a step, and starts the next together.
    fn mark(&mut self, end: &mut End, barrier: &Barrier) {
        self.busy.push(busy());
        barrier.wait();
        self.marks.push(Instant::now());
        self.bytes.push(core::mem::take(&mut end.sent_bytes));
    }
}

/// How long this thread has been on a core; zero where the system does not say.
fn busy() -> Duration {
    let read = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = read.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// A party's end of the channels. Buffers go back to who filled them.
struct End {
    out: SyncSender<Vec<u8>>,
    inbox: Receiver<Vec<u8>>,
    give_back: Sender<Vec<u8>>,
    given_back: Receiver<Vec<u8>>,
    message: Vec<u8>,
    sent_bytes: usize,
}

impl End {
    fn send(&mut self) {
        self.sent_bytes += self.message.len();
        let next = self.given_back.try_recv().unwrap_or_default();
        let message = core::mem::replace(&mut self.message, next);
        self.out.send(message).expect("the peer listens");
    }

    fn receive(&mut self, take: impl FnOnce(&[u8])) {
        let message = self.inbox.recv().expect("the peer sends");
        take(&message);
        // Who has ended needs no buffers.
        let _ = self.give_back.send(message);
    }
}

fn ends() -> (End, End) {
    let (out_a, in_b) = sync_channel(IN_FLIGHT);
    let (out_b, in_a) = sync_channel(IN_FLIGHT);
    let (give_a, given_b) = channel();
    let (give_b, given_a) = channel();
    let end = |out, inbox, give_back, given_back| End {
        out,
        inbox,
        give_back,
        given_back,
        message: Vec::new(),
        sent_bytes: 0,
    };
    (
        end(out_a, in_a, give_a, given_a),
        end(out_b, in_b, give_b, given_b),
    )
}

/// Base OTs of a dealer, so that the time is that of the extension alone.
fn dealt(delta: &Delta) -> (Vec<Key>, Vec<[Key; 2]>) {
    let mut prg = Prg::new(Block::from_u128(1));
    let mut key = || {
        let mut bytes = [0; 32];
        prg.fill_bytes(&mut bytes);
        Key::from_bytes(bytes)
    };
    let pairs: Vec<[Key; 2]> = (0..Delta::BITS).map(|_| [key(), key()]).collect();
    let choices = delta.choices();
    let chosen = pairs.iter().zip(choices.iter());
    let chosen = chosen.map(|(pair, &c)| pair[usize::from(c)].clone());
    (chosen.collect(), pairs)
}
