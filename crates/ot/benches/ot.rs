//! Time of base OTs and of correlated OTs, one thread, each party in turn; one JSON record a line.
//!
//! `cargo bench -p tacit-ot`, or `cargo bench -p tacit-ot -- quick` for the smallest sizes only.

use std::time::{Duration, Instant};

use getrandom::SysRng;
use rand_core::UnwrapErr;
use tacit_kernels::Block;
use tacit_ot::base::{Key, Receiver, Sender};
use tacit_ot::correlated::{CotReceiver, CotSender};
use tacit_ot::silent::{SilentReceiver, SilentSender};
use tacit_ot::{Delta, FieldBits, Security, SessionTag};

const TAG: SessionTag = SessionTag::new([1; 32]);

fn main() {
    let quick = std::env::args().any(|argument| argument == "quick");
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name\t: "));
    let cpu = cpu.unwrap_or("unknown").replace(['"', '\\'], "");
    println!("{{\"machine\":\"{cpu}\",\"threads\":1,\"runs\":\"best of several\"}}");
    base_ots(20);
    for security in [Security::SemiHonest, Security::Malicious] {
        silent_ots(security, if quick { 1 << 21 } else { 1 << 23 });
    }
    if std::env::args().any(|a| a == "silent") {
        return;
    }
    let sizes = if quick { 14..=18 } else { 20..=23 };
    for k in [1, 2, 4, 8] {
        for log_count in sizes.clone() {
            for security in [Security::SemiHonest, Security::Malicious] {
                correlated_ots(
                    FieldBits::new(k).expect("k is possible"),
                    security,
                    1 << log_count,
                );
            }
        }
    }
}

fn silent_ots(security: Security, count: usize) {
    let delta = Delta::from_block(Block::from_u128(0x1234_5678_9abc_def1 << 60 | 1)).expect("odd");
    let (chosen, pairs) = dealt(&delta);
    let field = FieldBits::new(8).expect("8 is possible");
    let mut rng = UnwrapErr(SysRng);
    let mut setup = Duration::ZERO;
    let cot = CotReceiver::with_security(pairs, &TAG, field, security).expect("128 base OTs");
    let started = timed(&mut setup, || SilentReceiver::start(cot, &TAG, &mut rng));
    let (mut receiver, message) = started.expect("in bounds");
    let mut setup_bytes = message.len();
    let cot = CotSender::with_security(delta, chosen, &TAG, field, security);
    let cot = cot.expect("128 base OTs");
    let sender = timed(&mut setup, || SilentSender::start(cot, &TAG, &message));
    let mut sender = sender.expect("honest");
    let (mut made, mut bytes) = (0, 0);
    let (mut sending, mut receiving) = (Duration::ZERO, Duration::ZERO);
    while made < count {
        let boot = sender.next_count() == 0;
        let (batch_s, trees) = timed(&mut sending, || sender.begin(&mut rng));
        let taken = timed(&mut receiving, || receiver.take(&trees));
        let (batch_r, reply) = taken.expect("honest");
        let ended = timed(&mut sending, || batch_s.finish(&reply)).expect("honest");
        let answer;
        let (q, t);
        (sender, q, answer) = ended;
        (receiver, t) = timed(&mut receiving, || batch_r.finish(&answer)).expect("honest");
        made += q.len().min(t.len());
        let sent = trees.len() + reply.len() + answer.len();
        if boot {
            setup_bytes += sent;
            setup += sending + receiving;
            (sending, receiving) = (Duration::ZERO, Duration::ZERO);
        } else {
            bytes += sent;
        }
    }
    let [sender_m, receiver_m] =
        [sending, receiving].map(|time| made as f64 / time.as_secs_f64() / 1e6);
    println!(
        "{{\"bench\":\"silent-ot\",\"security\":\"{security:?}\",\"count\":{made},\"setup_ms\":{:.2},\
         \"setup_bytes\":{setup_bytes},\"bits_per_ot\":{:.3},\"sender_m_per_s\":{sender_m:.1},\
         \"receiver_m_per_s\":{receiver_m:.1}}}",
        setup.as_secs_f64() * 1e3,
        bytes as f64 * 8.0 / made as f64
    );
}

/// Runs `step` and adds the time it took to `total`.
fn timed<T>(total: &mut Duration, step: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = step();
    *total += start.elapsed();
    result
}

fn base_ots(runs: usize) {
    let mut rng = UnwrapErr(SysRng);
    let mut best = [Duration::MAX; 2];
    for _ in 0..runs {
        let choices = Delta::random(&mut rng).choices();
        let (mut sending, mut receiving) = (Duration::ZERO, Duration::ZERO);
        let started = timed(&mut sending, || Sender::start(Delta::BITS, &TAG, &mut rng));
        let (sender, from_sender) = started.expect("128 base OTs start");
        let started = timed(&mut receiving, || Receiver::start(&choices, &TAG, &mut rng));
        let (receiver, from_receiver) = started.expect("128 base OTs start");
        let pairs = timed(&mut sending, || sender.finish(&from_receiver));
        let chosen = timed(&mut receiving, || receiver.finish(&from_sender));
        assert_eq!(pairs.expect("honest").len(), chosen.expect("honest").len());
        best = [best[0].min(sending), best[1].min(receiving)];
    }
    let [sender_ms, receiver_ms] = best.map(|time| time.as_secs_f64() * 1e3);
    let total_ms = sender_ms + receiver_ms;
    println!(
        "{{\"bench\":\"base-ot\",\"count\":{},\"sender_ms\":{sender_ms:.2},\
         \"receiver_ms\":{receiver_ms:.2},\"total_ms\":{total_ms:.2}}}",
        Delta::BITS
    );
}

/// Base OTs of a trusted dealer.
fn dealt(delta: &Delta) -> (Vec<Key>, Vec<[Key; 2]>) {
    let key = |i: usize, x: u8| Key::from_bytes(std::array::from_fn(|b| (i + b) as u8 ^ (x << 7)));
    let pairs: Vec<_> = (0..Delta::BITS).map(|i| [key(i, 0), key(i, 1)]).collect();
    let choices = delta.choices();
    let chosen = pairs
        .iter()
        .zip(choices.iter())
        .map(|(pair, &c)| pair[usize::from(c)].clone());
    (chosen.collect(), pairs)
}

fn correlated_ots(field: FieldBits, security: Security, count: usize) {
    let delta = Delta::from_block(Block::from_u128(0x1234_5678_9abc_def1 << 60 | 1)).expect("odd");
    let (chosen, pairs) = dealt(&delta);
    let choices: Vec<bool> = (0..count).map(|i| i * 7 % 3 == 0).collect();
    let mut setup = Duration::ZERO;
    let sender = timed(&mut setup, || {
        CotSender::with_security(delta, chosen, &TAG, field, security)
    });
    let mut sender = sender.expect("128 base OTs");
    let receiver = timed(&mut setup, || {
        CotReceiver::with_security(pairs, &TAG, field, security)
    });
    let mut receiver = receiver.expect("128 base OTs");
    let first = timed(&mut setup, || receiver.extend(&[]))
        .expect("in bounds")
        .0;
    timed(&mut setup, || sender.extend(0, &first)).expect("honest");
    let mut best = [Duration::MAX; 2];
    let mut message = Vec::new();
    let (mut q, mut t) = (vec![Block::ZERO; count], vec![Block::ZERO; count]);
    for _ in 0..((1 << 23) / count).clamp(3, 200) {
        let (mut sending, mut receiving) = (Duration::ZERO, Duration::ZERO);
        timed(&mut receiving, || {
            receiver.extend_into(&choices, &mut t, &mut message)
        })
        .expect("in bounds");
        timed(&mut sending, || sender.extend_into(&mut q, &message)).expect("honest");
        assert!((q[1] == t[1]) && (q[0] != t[0]));
        best = [best[0].min(sending), best[1].min(receiving)];
    }
    let [sender_m, receiver_m] = best.map(|time| count as f64 / time.as_secs_f64() / 1e6);
    let setup_ms = setup.as_secs_f64() * 1e3;
    println!(
        "{{\"bench\":\"correlated-ot\",\"k\":{},\"security\":\"{security:?}\",\"count\":{count},\"setup_ms\":{setup_ms:.2},\
         \"bits_per_ot\":{:.2},\"sender_m_per_s\":{sender_m:.1},\
         \"receiver_m_per_s\":{receiver_m:.1}}}",
        field.get(),
        message.len() as f64 * 8.0 / count as f64
    );
}
