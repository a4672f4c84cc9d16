//! Starting the two parties.
//!
//! A party reads its [`Order`] as one line of JSON and answers with [`Answer`]s, a line each: the
//! garbler first where it listens, and both at last what they report.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tacit::peak_memory_bytes;
use tacit_net::{Link, Settings, plain};

use super::{Both, Exchange, Memory, Party, Task, Wire};
use crate::{Error, Options};

/// Where the parties are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(pub(crate) Option<Link>);

impl Place {
    /// As records name it.
    pub(crate) fn name(self) -> String {
        self.0
            .map_or_else(|| "loopback".to_owned(), |link| link.to_string())
    }
}

/// What a party is told.
#[derive(Serialize, Deserialize)]
struct Order {
    task: Task,
    party: Party,
    /// The link to imitate, in text.
    link: Option<String>,
    /// The core to stay on.
    core: Option<usize>,
    /// Where the garbler listens; the evaluator is told.
    address: Option<String>,
}

/// What a party answers.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Listening(String),
    Report {
        report: Json,
        peak_memory_bytes: Option<u64>,
    },
    Failed(String),
}

/// A party's last word: its report and its peak memory.
type LastWord = (Json, Option<u64>);

/// Has both parties do `task` at `place`.
pub(crate) fn both<E: Exchange>(
    task: &E,
    place: Place,
    options: &Options,
) -> Result<Both<E::Report>, Error> {
    let order = |party, address| Order {
        task: task.clone().into(),
        party,
        link: place.0.map(|link| link.to_string()),
        core: options.pin.map(|cores| cores[party as usize]),
        address,
    };
    let words = match &options.party_command {
        Some(command) => by_processes(command, order),
        None => by_threads(order),
    };
    let [(garbler, garbler_bytes), (evaluator, evaluator_bytes)] = words?;
    Ok(Both {
        garbler: serde_json::from_value(garbler)?,
        evaluator: serde_json::from_value(evaluator)?,
        memory: Memory {
            garbler_bytes,
            evaluator_bytes,
        },
    })
}

/// Plays a party as told on `input`: what a process started for one does.
///
/// # Errors
///
/// Answers cannot be written. Whatever else goes wrong is an answer itself.
pub fn party(input: &mut dyn BufRead, output: &mut dyn Write) -> Result<(), Error> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let mut answer = |answer: &Answer| -> Result<(), Error> {
        writeln!(output, "{}", serde_json::to_string(answer)?)?;
        Ok(output.flush()?)
    };
    let order = serde_json::from_str::<Order>(&line).map_err(Error::from);
    let played = order.and_then(|order| {
        play(&order, &mut |address| {
            // Nobody hears of it if this fails, and the garbler's wait ends in time.
            let _ = answer(&Answer::Listening(address));
        })
    });
    answer(&match played {
        Ok(report) => Answer::Report {
            report,
            peak_memory_bytes: peak_memory_bytes(),
        },
        Err(error) => Answer::Failed(error.to_string()),
    })
}

/// Connects to the other party and plays; `listening` hears where the garbler waits for it.
fn play(order: &Order, listening: &mut dyn FnMut(String)) -> Result<Json, Error> {
    if let Some(core) = order.core {
        pin(core)?;
    }
    let direct = Settings::default();
    let shaped = Settings {
        link: order.link.as_deref().and_then(|link| link.parse().ok()),
        ..Settings::default()
    };
    let wire = match &order.address {
        None => {
            let listener = plain::Listener::bind("127.0.0.1:0")?;
            listening(listener.local_address().to_string());
            let control = listener.accept(&direct)?;
            Wire::new(listener.accept(&shaped)?, control)
        }
        Some(address) => {
            let control = plain::connect(address, &direct)?;
            Wire::new(plain::connect(address, &shaped)?, control)
        }
    };
    order.task.play(order.party, wire)
}

#[cfg(target_os = "linux")]
pub(crate) fn pin(core: usize) -> Result<(), Error> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let refused = |reason: String| Error::Pin { core, reason };
    if core >= CpuSet::MAX_CPU {
        return Err(refused(format!("cores go up to {}", CpuSet::MAX_CPU - 1)));
    }
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores).map_err(|error| refused(error.to_string()))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn pin(core: usize) -> Result<(), Error> {
    let reason = "this is only known for Linux".to_owned();
    Err(Error::Pin { core, reason })
}

fn by_threads(order: impl Fn(Party, Option<String>) -> Order) -> Result<[LastWord; 2], Error> {
    let (tell, hear) = channel();
    let garbler = order(Party::Garbler, None);
    let garbling = thread::spawn(move || {
        play(&garbler, &mut |address| {
            let _ = tell.send(address);
        })
    });
    let address = hear.recv().ok();
    let evaluated = match address {
        Some(address) => play(&order(Party::Evaluator, Some(address)), &mut |_| ()),
        // The garbler has failed before, and says why.
        None => Ok(Json::Null),
    };
    let garbled = garbling.join().unwrap_or_else(|_| {
        Err(Error::Party {
            party: Party::Garbler.name(),
            reason: "it panicked".to_owned(),
        })
    });
    let memory = peak_memory_bytes();
    Ok([(garbled?, memory), (evaluated?, memory)])
}

/// A party's process, which ends when this is dropped.
struct Process {
    party: Party,
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Process {
    fn start(command: &[std::ffi::OsString], order: &Order) -> Result<Self, Error> {
        let party = order.party;
        let failed = |reason| Error::Start {
            party: party.name(),
            reason,
        };
        let [program, arguments @ ..] = command else {
            return Err(failed(std::io::ErrorKind::NotFound.into()));
        };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(std::io::ErrorKind::BrokenPipe.into()));
        };
        writeln!(input, "{}", serde_json::to_string(order)?).map_err(failed)?;
        Ok(Self {
            party,
            child,
            answers: BufReader::new(output),
        })
    }

    fn answer(&mut self) -> Result<Answer, Error> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.is_empty() {
            return Err(self.failed("its process ended without a word".to_owned()));
        }
        match serde_json::from_str(&line)? {
            Answer::Failed(reason) => Err(self.failed(reason)),
            answer => Ok(answer),
        }
    }

    fn last_word(&mut self) -> Result<LastWord, Error> {
        match self.answer()? {
            Answer::Report {
                report,
                peak_memory_bytes,
            } => Ok((report, peak_memory_bytes)),
            _ => Err(self.failed("it answered out of turn".to_owned())),
        }
    }

    fn failed(&self, reason: String) -> Error {
        Error::Party {
            party: self.party.name(),
            reason,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended or is of no use any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn by_processes(
    command: &[std::ffi::OsString],
    order: impl Fn(Party, Option<String>) -> Order,
) -> Result<[LastWord; 2], Error> {
    let mut garbler = Process::start(command, &order(Party::Garbler, None))?;
    let address = match garbler.answer()? {
        Answer::Listening(address) => address,
        _ => return Err(garbler.failed("it does not listen".to_owned())),
    };
    let mut evaluator = Process::start(command, &order(Party::Evaluator, Some(address)))?;
    let evaluated = evaluator.last_word();
    // A garbler that still waits for an evaluator that failed hears of it by this.
    drop(evaluator);
    match (garbler.last_word(), evaluated) {
        (Ok(garbled), Ok(evaluated)) => Ok([garbled, evaluated]),
        (Err(garbled), Err(evaluated)) => Err(Error::BothParties {
            garbler: garbled.to_string(),
            evaluator: evaluated.to_string(),
        }),
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
    }
}
