//! The protocol `batch` in memory: both parties as threads of one process, over a queue.
//!
//! `cargo bench -p tacit-protocol --bench batch -- FUNCTION N THREADS`, where each may be left
//! out: aes-128, 32 and 128 and 1024 executions, and one thread a party. Prints a JSON record for
//! each N.
//!
//! `offline_ms` and `online_ms` are by the clock, an execution each, offline the mean over all and
//! online the median of [`RUNS`]. `…_cpu_ms` are what a party's own thread had of a core, which a
//! busy machine does not change much; with more than one thread a party they leave out the others.
//! Of the evaluator's executions the first [`RUNS`] are kept in memory and the others dropped.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use rand_core::{Rng, UnwrapErr};
use tacit_circuit::{Function, Port, Recipient, Role, library};
use tacit_garble::{HalfGates, SchemeId};
use tacit_kernels::Construction;
use tacit_ot::Security;
use tacit_protocol::Error;
use tacit_protocol::batch::{
    Batch, Circuits, EvaluatorExecution, GarblerExecution, OnlineEvaluator, OnlineGarbler, Plan,
    PreparingEvaluator, PreparingGarbler,
};
use tacit_protocol::message::Kind;
use tacit_protocol::party::{Action, Party, admit, run_in_memory};
use tacit_protocol::session::{Hello, Proposal, ProtocolId, RunTag, SessionTag};
use tacit_protocol::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup};
use zeroize::Zeroizing;

/// Executions that are kept and run.
const RUNS: usize = 48;

const SECURITY_BITS: u8 = 40;

type Message = (Kind, Vec<u8>);

/// One party's end of the queue, and what it cost.
struct End {
    to: Sender<Message>,
    from: Receiver<Message>,
    sent_bytes: u64,
    cpu_ms: f64,
}

fn ends() -> [End; 2] {
    let ((to_b, from_a), (to_a, from_b)) = (channel(), channel());
    [(to_b, from_b), (to_a, from_a)].map(|(to, from)| End {
        to,
        from,
        sent_bytes: 0,
        cpu_ms: 0.0,
    })
}

/// Milliseconds that this thread has had of a core.
fn thread_cpu_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text
        .split(' ')
        .next()
        .and_then(|field| field.parse::<f64>().ok());
    nanoseconds.unwrap_or(f64::NAN) / 1e6
}

impl End {
    fn run(&mut self, party: &mut dyn Party) {
        let before = thread_cpu_ms();
        let mut message = Vec::new();
        loop {
            match party.next(&mut message).expect("an honest run") {
                Action::Send(kind) => {
                    self.sent_bytes += message.len() as u64;
                    self.to.send((kind, message.clone())).expect("a peer");
                }
                Action::Receive { kind, max_bytes } => {
                    let (found, payload) = self.from.recv().expect("a peer");
                    admit(kind, max_bytes, found.byte(), &payload).expect("an honest peer");
                    party.receive(&payload).expect("an honest peer");
                }
                Action::Continue => {}
                Action::Done => break,
            }
        }
        self.cpu_ms += thread_cpu_ms() - before;
    }
}

/// Keeps the first executions.
struct First(Vec<EvaluatorExecution>);

impl Circuits<EvaluatorExecution> for First {
    fn keep(&mut self, number: u32, execution: EvaluatorExecution) -> Result<(), Error> {
        if (number as usize) < RUNS {
            self.0.push(execution);
        }
        Ok(())
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

fn session() -> SessionTag {
    let [a, b] = [1, 2].map(|byte| Hello { nonce: [byte; 32] });
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b))
}

fn tag(function: &Function) -> RunTag {
    session().run(&Proposal {
        protocol: ProtocolId::Prepare,
        role: Role::Garbler,
        statistical_security_bits: SECURITY_BITS,
        base_ot: Default::default(),
        ot_extension: Default::default(),
        scheme: SchemeId::HALF_GATES_TWO_CALL,
        run: 0,
        function: function.digest(),
    })
}

fn ots() -> (GarblerOt, EvaluatorOt) {
    let tag = session().setup(Role::Garbler, Default::default(), Default::default());
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

/// A library circuit whose first port is the garbler's and whose results are the evaluator's.
fn function(name: &str) -> Function {
    let circuit = library::find(name, &BTreeMap::new()).expect("a function of the library");
    let first = circuit.inputs()[0].name.clone();
    let owner = |port: &Port| {
        Ok(match port.name == first {
            true => Role::Garbler,
            false => Role::Evaluator,
        })
    };
    Function::of_circuit(name, circuit, owner, |_| Ok(Recipient::Evaluator)).expect("a function")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure(name: &str, function: &Function, executions: u64, threads: usize) {
    let plan = Plan::cheapest(function, executions, SECURITY_BITS).expect("a plan");
    let scheme = HalfGates::new(Construction::TwoCall);
    let batch = Batch::new(scheme, function, plan, &tag(function)).expect("a batch");
    let (garbler_ot, evaluator_ot) = ots();
    let [mut garbler_end, mut evaluator_end] = ends();
    let begun = Instant::now();
    let (garblers, evaluators) = thread::scope(|scope| {
        let (batch, end) = (&batch, &mut garbler_end);
        let garbler = scope.spawn(move || {
            let keep = Vec::new();
            let made = PreparingGarbler::new(batch, garbler_ot, keep, threads, &mut rng());
            let mut party = made.expect("a preparation");
            end.run(&mut party);
            party.finish().expect("done")
        });
        let keep = First(Vec::new());
        let made = PreparingEvaluator::new(batch, evaluator_ot, keep, threads, &mut rng());
        let mut party = made.expect("a preparation");
        evaluator_end.run(&mut party);
        (
            garbler.join().expect("an honest run"),
            party.finish().expect("done").0,
        )
    });
    let each = executions as f64;
    let offline_ms = begun.elapsed().as_secs_f64() * 1e3 / each;
    let kept = evaluators[0].to_bytes();
    let kept_bytes = kept.secret.len() + kept.published.len();
    let bound = plan.bound().expect("a plan").total_bits();
    print!(
        "{{\"function\":\"{name}\",\"executions\":{executions},\"threads\":{threads},\
         \"plan\":\"{plan}\",\"bound_bits\":{bound:.2},\"offline_ms\":{offline_ms:.3},\
         \"offline_garbler_cpu_ms\":{:.3},\"offline_evaluator_cpu_ms\":{:.3},\
         \"offline_garbler_kb\":{:.1},\"offline_evaluator_kb\":{:.1},\"kept_kb\":{:.1},",
        garbler_end.cpu_ms / each,
        evaluator_end.cpu_ms / each,
        garbler_end.sent_bytes as f64 / each / 1e3,
        evaluator_end.sent_bytes as f64 / each / 1e3,
        kept_bytes as f64 / 1e3,
    );
    run(&batch, threads, garblers, evaluators);
}

/// Runs executions one after the other, and prints what follows of the record.
fn run(
    batch: &Batch<'_, HalfGates>,
    threads: usize,
    garblers: Vec<GarblerExecution>,
    evaluators: Vec<EvaluatorExecution>,
) {
    let function = batch.function();
    let (mut online_ms, mut ready_ms) = (Vec::new(), Vec::new());
    let (mut garbler_cpu_ms, mut evaluator_cpu_ms) = (Vec::new(), Vec::new());
    let [mut garbler_bytes, mut evaluator_bytes] = [0; 2];
    for (garbler, evaluator) in garblers.into_iter().zip(evaluators) {
        let begun = Instant::now();
        let ready = garbler.ready(batch, threads);
        let x = vec![true; function.input_bits(Role::Garbler)];
        let y = vec![false; function.input_bits(Role::Evaluator)];
        let garbler = OnlineGarbler::new(batch, ready, &x, &seed());
        let mut garbler = garbler.expect("a run");
        ready_ms.push(begun.elapsed().as_secs_f64() * 1e3);
        let evaluator = OnlineEvaluator::new(batch, evaluator, &y, threads, &seed());
        let mut evaluator = evaluator.expect("a run");
        let [mut garbler_end, mut evaluator_end] = ends();
        let begun = thread::scope(|scope| {
            let end = &mut garbler_end;
            scope.spawn(move || end.run(&mut garbler));
            let begun = Instant::now();
            evaluator_end.run(&mut evaluator);
            begun.elapsed()
        });
        online_ms.push(begun.as_secs_f64() * 1e3);
        garbler_cpu_ms.push(garbler_end.cpu_ms);
        evaluator_cpu_ms.push(evaluator_end.cpu_ms);
        (garbler_bytes, evaluator_bytes) = (garbler_end.sent_bytes, evaluator_end.sent_bytes);
    }
    println!(
        "\"online_ms\":{:.3},\"online_garbler_cpu_ms\":{:.3},\"online_evaluator_cpu_ms\":{:.3},\
         \"garbler_ready_ms\":{:.3},\"online_garbler_bytes\":{garbler_bytes},\
         \"online_evaluator_bytes\":{evaluator_bytes}}}",
        median(online_ms),
        median(garbler_cpu_ms),
        median(evaluator_cpu_ms),
        median(ready_ms),
    );
}

fn main() {
    let words = std::env::args().skip(1);
    let words: Vec<String> = words.filter(|word| !word.starts_with('-')).collect();
    let name = words.first().map_or("aes-128", String::as_str);
    let number = |i: usize| words.get(i).and_then(|word| word.parse::<u64>().ok());
    let threads = number(2).unwrap_or(1) as usize;
    let function = function(name);
    match number(1) {
        Some(executions) => measure(name, &function, executions, threads),
        None => [32, 128, 1024]
            .into_iter()
            .for_each(|n| measure(name, &function, n, threads)),
    }
}
