//! `tacit demo`: both parties on this machine, over TLS on loopback, as two threads that share only
//! the connection.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Instant;

use serde_json::json;
use tacit::cost::Cost;
use tacit::garble::SchemeId;
use tacit::protocols::{Protocol, ThreatModel};
use tacit::{
    Fingerprint, Function, Identity, Job, Listener, Outcome, Role, Session, Settings, Value,
    library,
};

use crate::args::DemoArgs;
use crate::cancel;
use crate::failure::Failure;
use crate::log::Log;
use crate::output;
use crate::progress::Bar;
use crate::report::{cost_json, micros, outputs_json, outputs_text, security};

/// From FIPS 197, appendix C.1, so that anybody can look the result up.
const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const BLOCK: [u8; 16] = [
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
];
const CIPHERTEXT: [u8; 16] = [
    0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a,
];

const INTRODUCTION: &str = "\
Two parties, Alice and Bob, each a thread of this process with an identity of its own, connected by
TLS 1.3 on loopback. Alice garbles, Bob evaluates. Neither sends its input to the other.
";

const NEXT: &str = "\
What to try next:
  tacit inspect --list              what else there is to compute
  tacit pair --help                 make another party known, for runs from two terminals
  tacit run --help                  how to run it, with examples
";

/// A function and each party's input.
struct Task {
    what: &'static str,
    function: Function,
    inputs: [(Role, &'static str, Value); 2],
    /// Results known from another source.
    known: Option<(&'static str, Value)>,
}

/// Both parties' outcomes.
struct Done {
    garbler: Outcome,
    evaluator: Outcome,
}

/// Runs the command.
pub(crate) fn demo(args: &DemoArgs, log: Log) -> Result<(), Failure> {
    let begun = Instant::now();
    let tasks = tasks()?;
    if !args.json {
        eprintln!("{INTRODUCTION}");
    }
    let folder = tempfile::tempdir().map_err(|error| Failure::read("a temporary folder", error))?;
    let alice = identity(&folder.path().join("alice.key"))?;
    let bob = identity(&folder.path().join("bob.key"))?;
    let settings = Settings {
        cancel: cancel::on_signal()?,
        ..Settings::default()
    };
    let listener = Listener::bind("127.0.0.1:0")?;
    let address = listener.local_address().to_string();
    log.step(format_args!("Bob listens on {address}"));
    let fingerprints = (alice.fingerprint(), bob.fingerprint());

    let done = thread::scope(|scope| {
        let connected = Instant::now();
        let garbling = scope.spawn(|| {
            let session = Session::connect(&address, &alice, &fingerprints.1, &settings)?;
            play(&tasks, Role::Garbler, session, false)
        });
        let evaluating = listener
            .accept(&bob, &fingerprints.0, &settings)
            .map_err(Failure::from)
            .and_then(|session| play(&tasks, Role::Evaluator, session, !args.json));
        // If Bob failed, the listener closes and Alice's session with it, so her thread ends.
        let garbling = match garbling.join() {
            Ok(outcomes) => outcomes,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        log.step(format_args!(
            "both parties have finished after {:?}",
            connected.elapsed()
        ));
        let (evaluating, garbling) = (evaluating?, garbling?);
        let pairs = garbling.into_iter().zip(evaluating);
        Ok::<Vec<Done>, Failure>(
            pairs
                .map(|(garbler, evaluator)| Done { garbler, evaluator })
                .collect(),
        )
    })?;

    for (task, done) in tasks.iter().zip(&done) {
        check(task, done)?;
    }
    tell(args, &tasks, &done, fingerprints, begun)
}

fn tasks() -> Result<[Task; 2], Failure> {
    let aes = library::function("aes-128", &BTreeMap::new())?;
    let bits = BTreeMap::from([("bits".to_owned(), 32)]);
    let millionaires = library::function("millionaires", &bits)?;
    Ok([
        Task {
            what: "AES-128 of Alice's key on Bob's block",
            function: aes,
            inputs: [
                (Role::Garbler, "key", Value::from(KEY)),
                (Role::Evaluator, "block", Value::from(BLOCK)),
            ],
            known: Some(("ciphertext", Value::from(CIPHERTEXT))),
        },
        Task {
            what: "the millionaires' comparison",
            function: millionaires,
            inputs: [
                (Role::Garbler, "a", Value::from(41_000_000_u32)),
                (Role::Evaluator, "b", Value::from(40_999_999_u32)),
            ],
            known: Some(("a_is_richer", Value::from(true))),
        },
    ])
}

/// Makes an identity in a file and reads it back, as two people do.
fn identity(path: &Path) -> Result<Identity, Failure> {
    let made = Identity::generate().and_then(|identity| identity.save(path));
    made.and_then(|()| Identity::load(path))
        .map_err(|error| tacit::Error::from(error).into())
}

/// Makes one party's runs, in order, over one session.
fn play(
    tasks: &[Task],
    role: Role,
    mut session: Session,
    visible: bool,
) -> Result<Vec<Outcome>, Failure> {
    let mut outcomes = Vec::new();
    for Task {
        what,
        function,
        inputs,
        ..
    } in tasks
    {
        let bar = Bar::new(what, function.and_gates(), visible);
        let mut job = Job::new(function, role)
            .scheme(SchemeId::HALF_GATES_TWO_CALL)
            .watch(|at| bar.show(at));
        for (_, name, value) in inputs.iter().filter(|(owner, ..)| *owner == role) {
            job = job.input(name, value.clone());
        }
        outcomes.push(job.run(&mut session)?);
    }
    Ok(outcomes)
}

/// Compares both parties' results with each other, with the plain computation and with the known
/// ones.
fn check(task: &Task, done: &Done) -> Result<(), Failure> {
    let wrong = || Failure::wrong_result(task.what);
    let inputs = task.function.inputs().iter().map(|input| {
        let mut given = task.inputs.iter();
        let given = given.find(|(_, name, _)| *name == input.port.name);
        given.map(|(_, _, value)| value.clone()).ok_or_else(wrong)
    });
    let inputs = inputs.collect::<Result<Vec<Value>, _>>()?;
    let results = task.function.evaluate_values(&inputs);
    let outputs = task.function.outputs().iter();
    let names = outputs.map(|output| output.port.name.clone());
    let expected: BTreeMap<String, Value> =
        names.zip(results.map_err(tacit::Error::from)?).collect();
    let known = task
        .known
        .as_ref()
        .is_none_or(|(name, value)| expected.get(*name) == Some(value));
    if known && done.garbler.outputs == expected && done.evaluator.outputs == expected {
        Ok(())
    } else {
        Err(wrong())
    }
}

fn tell(
    args: &DemoArgs,
    tasks: &[Task],
    done: &[Done],
    fingerprints: (Fingerprint, Fingerprint),
    begun: Instant,
) -> Result<(), Failure> {
    let scheme = SchemeId::HALF_GATES_TWO_CALL.rung();
    let scheme = scheme.map_err(|error| Failure::usage(error.to_string()))?;
    if args.json {
        let run = |(task, done): (&Task, &Done)| {
            json!({
                "what": task.what,
                "function": {
                    "name": task.function.name(),
                    "digest": task.function.digest().to_string(),
                },
                "outputs": outputs_json(&done.evaluator.outputs),
                "correct": true,
                "cost": {
                    "garbler": cost_json(&done.garbler.cost),
                    "evaluator": cost_json(&done.evaluator.cost),
                },
            })
        };
        return output::print_json(json!({
            "protocol": Protocol::Direct.name(),
            "threat_model": ThreatModel::SemiHonest.to_string(),
            "scheme": scheme.id.to_string(),
            "assumption": scheme.assumption.to_string(),
            "garbler": fingerprints.0.to_string(),
            "evaluator": fingerprints.1.to_string(),
            "runs": tasks.iter().zip(done).map(run).collect::<Vec<_>>(),
            "wall_us": micros(begun.elapsed()),
        }));
    }
    let mut text = format!(
        "protocol  direct, {}\n\
         scheme    {}, rests on {} ({} bits)\n\
         Alice     {}\nBob       {}\n\n",
        security(ThreatModel::SemiHonest, None),
        scheme.id,
        scheme.assumption,
        scheme.security_bits,
        fingerprints.0,
        fingerprints.1
    );
    for (task, done) in tasks.iter().zip(done) {
        text.push_str(&format!("{}:\n", task.what));
        for line in outputs_text(&task.function, &done.evaluator.outputs).lines() {
            text.push_str(&format!(
                "  {line}    (checked: the plain computation agrees)\n"
            ));
        }
        text.push_str(&indented(&done.evaluator.cost));
        text.push('\n');
    }
    text.push_str(&format!(
        "Times, bytes and rounds are Bob's. All of it took {:.2} s.\n\n{NEXT}",
        begun.elapsed().as_secs_f64()
    ));
    output::print(text)
}

fn indented(cost: &Cost) -> String {
    cost.to_string()
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect()
}
