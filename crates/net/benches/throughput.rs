//! How fast 32 MB of garbled tables cross a channel, and how long a round trip takes.
//!
//! Prints one JSON object a line. Both ends run in this process, a thread each; on a machine with
//! two free cores a figure is that of one core a side.
#![forbid(unsafe_code)]

use std::thread;
use std::time::{Duration, Instant};

use tacit_net::{Channel, Identity, Link, Settings, memory, plain, tls};

/// The tables of 160 copies of AES-128, 1.024 million AND gates.
const TOTAL_BYTES: usize = 32 << 20;
const REPEATS: usize = 15;
const PINGS: u32 = 5_000;

fn main() {
    // Only `cargo bench` says so; under `cargo test` it is enough to show that this runs.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let total = if quick { 1 << 20 } else { TOTAL_BYTES };
    for (transport, connect) in [
        ("memory", memory::pair as fn() -> (Channel, Channel)),
        ("plain", plain_pair),
        ("tls", tls_pair),
    ] {
        for frame_bytes in [4 << 10, 16 << 10, 64 << 10] {
            let runs = throughput(connect, total, frame_bytes, REPEATS);
            report(transport, total, frame_bytes, &runs);
        }
        let setup = Instant::now();
        let pair = connect();
        let setup = setup.elapsed();
        let trip = round_trip(pair, if quick { 10 } else { PINGS });
        println!(
            "{{\"transport\":\"{transport}\",\"setup_us\":{},\"round_trip_ns\":{}}}",
            setup.as_micros(),
            trip.as_nanos()
        );
    }

    let link: Link = "5ms,200mbit".parse().expect("a link");
    let shaped = || {
        let (here, there) = memory::pair();
        (here.shaped(link), there.shaped(link))
    };
    let trip = round_trip(shaped(), 20);
    let runs = throughput(shaped, 1 << 20, 16 << 10, 3);
    println!(
        "{{\"link\":\"{link}\",\"round_trip_us\":{},\"transfer_us\":{},\"expected_us\":{}}}",
        trip.as_micros(),
        runs[1].as_micros(),
        (link.time_for(1 << 20) + 2 * link.one_way_delay()).as_micros(),
    );
}

fn report(transport: &str, total: usize, frame_bytes: usize, runs: &[Duration]) {
    let rate = |time: Duration| total as f64 / time.as_secs_f64() / 1e9;
    println!(
        "{{\"transport\":\"{transport}\",\"frame_bytes\":{frame_bytes},\"best_gb_per_s\":{:.2},\
         \"median_gb_per_s\":{:.2},\"median_ms\":{:.2}}}",
        rate(runs[0]),
        rate(runs[runs.len() / 2]),
        runs[runs.len() / 2].as_secs_f64() * 1e3
    );
}

/// The times of the runs, shortest first, over one connection.
fn throughput(
    connect: impl Fn() -> (Channel, Channel),
    total: usize,
    frame_bytes: usize,
    repeats: usize,
) -> Vec<Duration> {
    let (mut sender, mut receiver) = connect();
    let frames = total / frame_bytes;
    let mut runs = Vec::new();
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..repeats {
                for _ in 0..frames {
                    let frame = receiver.receive(frame_bytes).expect("a frame");
                    assert_eq!(frame.payload[0], 1);
                }
                receiver.send(1, &[]).expect("an answer is sent");
                receiver.flush().expect("an answer is sent");
            }
        });
        for _ in 0..repeats {
            let began = Instant::now();
            for _ in 0..frames {
                // A garbler would write its tables here.
                sender
                    .send_with(1, frame_bytes, |spare| spare[0] = 1)
                    .expect("a frame is sent");
            }
            sender.receive(0).expect("an answer");
            runs.push(began.elapsed());
        }
    });
    runs.sort_unstable();
    runs
}

fn round_trip((mut here, mut there): (Channel, Channel), pings: u32) -> Duration {
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..pings {
                let byte = there.receive(16).expect("a question").payload[0];
                there.send(1, &[byte; 16]).expect("an answer is sent");
                there.flush().expect("an answer is sent");
            }
        });
        let began = Instant::now();
        for _ in 0..pings {
            here.send(1, &[7; 16]).expect("a question is sent");
            here.receive(16).expect("an answer");
        }
        began.elapsed() / pings
    })
}

fn plain_pair() -> (Channel, Channel) {
    let settings = Settings::default();
    let listener = plain::Listener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_address().to_string();
    thread::scope(|scope| {
        let accepted = scope.spawn(|| listener.accept(&settings).expect("a connection"));
        let here = plain::connect(&address, &settings).expect("a connection");
        (here, accepted.join().expect("a connection"))
    })
}

fn tls_pair() -> (Channel, Channel) {
    let settings = Settings::default();
    let client = Identity::generate().expect("an identity");
    let server = Identity::generate().expect("an identity");
    let listener = tls::Listener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_address().to_string();
    thread::scope(|scope| {
        let accepted = scope.spawn(|| {
            let allowed = [client.fingerprint()];
            listener
                .accept(&server, &allowed, &settings)
                .expect("a connection")
        });
        let here = tls::connect(&address, &client, &server.fingerprint(), &settings)
            .expect("a connection");
        (here, accepted.join().expect("a connection"))
    })
}
