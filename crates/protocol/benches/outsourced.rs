//! The protocol `outsourced` in memory: three parties as threads of one process, over queues.
//!
//! `cargo bench -p tacit-protocol --bench outsourced -- CIRCUITS FUNCTION [PARAMETER=VALUE…]`, with
//! a function of the library whose last port is the evaluator's, who gets the results, and whose
//! others are the generator's; without arguments the paper's programs at 256 circuits (1 is
//! semi-honest). Prints a JSON record for each: by the clock `total_ms`, from the first message to
//! the last, and for each party `…_cpu_ms`, what its own thread had of a core, and the bytes that
//! it sent; `evaluator_received_bytes` besides. Base OTs are made before, and not counted.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use rand_core::{Rng, UnwrapErr};
use tacit_circuit::{Function, Port, Recipient, Role, library};
use tacit_garble::{HalfGates, Scheme as _};
use tacit_kernels::Construction;
use tacit_ot::Security;
use tacit_protocol::message::Kind;
use tacit_protocol::outsourced::{
    Cloud, CloudStart, Evaluator, Generator, GeneratorStart, Parameters, Shape, Step, Terms,
    ThreeParty,
};
use tacit_protocol::party::{admit, run_in_memory};
use tacit_protocol::session::{Hello, SessionTag};
use tacit_protocol::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup};
use zeroize::Zeroizing;

const SECURITY_BITS: u8 = 40;

/// Messages that a queue holds: some 4 MiB of a stream, about what sockets hold.
const QUEUE: usize = 16;

type Message = (Kind, Vec<u8>);

/// One party's ends of its queues, by peer, and what it cost.
#[derive(Default)]
struct Ends {
    to: [Option<SyncSender<Message>>; 3],
    from: [Option<Receiver<Message>>; 3],
    sent_bytes: u64,
    received_bytes: u64,
    cpu_ms: f64,
}

fn ends() -> [Ends; 3] {
    let mut all: [Ends; 3] = Default::default();
    for (a, b) in [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)] {
        let (to, from) = sync_channel(QUEUE);
        all[a].to[b] = Some(to);
        all[b].from[a] = Some(from);
    }
    all
}

/// Milliseconds that this thread has had of a core.
fn thread_cpu_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split(' ').next();
    let nanoseconds = first.and_then(|field| field.parse::<f64>().ok());
    nanoseconds.unwrap_or(f64::NAN) / 1e6
}

impl Ends {
    fn run(&mut self, party: &mut dyn ThreeParty) {
        let before = thread_cpu_ms();
        let mut message = Vec::new();
        loop {
            match party.next(&mut message).expect("an honest run") {
                Step::Send { to, kind } => {
                    self.sent_bytes += message.len() as u64;
                    let to = self.to[to as usize].as_ref().expect("a peer");
                    to.send((kind, message.clone())).expect("a peer");
                }
                Step::Receive {
                    from,
                    kind,
                    max_bytes,
                } => {
                    let from = self.from[from as usize].as_ref().expect("a peer");
                    let (found, payload) = from.recv().expect("a peer");
                    admit(kind, max_bytes, found.byte(), &payload).expect("an honest peer");
                    self.received_bytes += payload.len() as u64;
                    party.receive(&payload).expect("an honest peer");
                }
                Step::Continue | Step::Keep => {}
                Step::Done => break,
            }
        }
        self.cpu_ms += thread_cpu_ms() - before;
    }
}

fn rng() -> UnwrapErr<getrandom::SysRng> {
    UnwrapErr(getrandom::SysRng)
}

fn seed() -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    rng().fill_bytes(&mut *seed);
    seed
}

fn ots(number: u8) -> (GarblerOt, EvaluatorOt) {
    let [a, b] = [number, number + 1].map(|byte| Hello { nonce: [byte; 32] });
    let session = SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b));
    let tag = session.setup(Role::Garbler, Default::default(), Default::default());
    let malicious = Security::Malicious;
    let garbler = GarblerSetup::new(&tag, &mut rng()).expect("a setup");
    let evaluator = EvaluatorSetup::new(&tag, &mut rng()).expect("a setup");
    let (mut garbler, mut evaluator) = (garbler.secured(malicious), evaluator.secured(malicious));
    run_in_memory(&mut garbler, &mut evaluator).expect("a setup");
    (
        garbler.finish().expect("done"),
        evaluator.finish().expect("done"),
    )
}

fn function(name: &str, parameters: &BTreeMap<String, u64>) -> Function {
    let circuit = library::find(name, parameters).expect("a function of the library");
    let last = circuit.inputs().last().map(|port| port.name.clone());
    let owner = |port: &Port| {
        Ok(match last.as_deref() == Some(port.name.as_str()) {
            true => Role::Evaluator,
            false => Role::Garbler,
        })
    };
    Function::of_circuit(name, circuit, owner, |_| Ok(Recipient::Evaluator)).expect("a function")
}

fn measure(copies: u32, name: &str, given: &BTreeMap<String, u64>) {
    let function = function(name, given);
    let parameters = match copies {
        1 => Parameters::SEMI_HONEST,
        copies => Parameters::insecure_for_measurements(copies, SECURITY_BITS).expect("parameters"),
    };
    let scheme = HalfGates::new(Construction::TwoCall);
    let ((with_evaluator, with_generator), (of_generator, of_cloud)) = (ots(1), ots(5));
    let x = vec![true; function.input_bits(Role::Garbler)];
    let y = vec![false; function.input_bits(Role::Evaluator)];
    let start = GeneratorStart::NewChain(of_generator);
    let generator = Generator::new(
        scheme,
        &function,
        parameters,
        &x,
        start,
        Vec::new(),
        with_evaluator,
        1,
        &seed(),
    );
    let terms = Terms {
        function: function.digest(),
        scheme: scheme.id(),
        parameters,
    };
    let evaluator = Evaluator::new(terms, Shape::of(&function), &y, with_generator, &seed());
    let start = CloudStart::NewChain(of_cloud);
    let cloud = Cloud::new(scheme, &function, parameters, start, Vec::new(), 1, &seed());
    let mut generator = generator.expect("a run");
    let mut evaluator = evaluator.expect("a run");
    let mut cloud = cloud.expect("a run");
    let [mut at_generator, mut at_evaluator, mut at_cloud] = ends();
    let begun = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| at_generator.run(&mut generator));
        scope.spawn(|| at_cloud.run(&mut cloud));
        at_evaluator.run(&mut evaluator);
    });
    let total_ms = begun.elapsed().as_secs_f64() * 1e3;
    println!(
        "{{\"function\":\"{name}\",\"parameters\":{given:?},\"circuits\":{copies},\"ands\":{},\
         \"total_ms\":{total_ms:.1},\"generator_cpu_ms\":{:.1},\"evaluator_cpu_ms\":{:.1},\
         \"cloud_cpu_ms\":{:.1},\"generator_bytes\":{},\"evaluator_sent_bytes\":{},\
         \"evaluator_received_bytes\":{},\"cloud_bytes\":{}}}",
        function.and_gates(),
        at_generator.cpu_ms,
        at_evaluator.cpu_ms,
        at_cloud.cpu_ms,
        at_generator.sent_bytes,
        at_evaluator.sent_bytes,
        at_evaluator.received_bytes,
        at_cloud.sent_bytes,
    );
}

fn main() {
    let words = std::env::args().skip(1);
    let words: Vec<String> = words.filter(|word| !word.starts_with('-')).collect();
    let pair = |word: &String| {
        let (name, value) = word.split_once('=').expect("PARAMETER=VALUE");
        (name.to_owned(), value.parse().expect("a number"))
    };
    if let [copies, name, parameters @ ..] = &words[..] {
        let copies = copies.parse().expect("a number of circuits");
        return measure(copies, name, &parameters.iter().map(pair).collect());
    }
    let programs: [(&str, &[&str]); 4] = [
        ("keyed-database", &["entries=256"]),
        ("millionaires", &["bits=8192"]),
        ("edit-distance", &["x_symbols=128", "y_symbols=128"]),
        ("matrix-product", &["n=8", "bits=32"]),
    ];
    for (name, parameters) in programs {
        let parameters = parameters.iter().map(|word| pair(&(*word).to_owned()));
        measure(256, name, &parameters.collect());
    }
}
