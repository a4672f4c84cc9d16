//! Starts the parties.
//!
//! A party reads its [`Order`] as one line of JSON and answers with [`Answer`]s, one per line. The
//! first party (garbler or generator) answers first with its address for each of the others, and
//! every party answers last with its report.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tacit::cost::peak_memory_bytes;
use tacit_net::{Link, Settings, plain};

use super::{Both, Exchange, Memory, Task, Wire};
use crate::{Error, Options};

/// The link between the parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartyLink(pub(crate) Option<Link>);

impl PartyLink {
    /// Returns the name in records.
    pub(crate) fn name(self) -> String {
        self.0
            .map_or_else(|| "loopback".to_owned(), |link| link.to_string())
    }
}

/// The order for a party.
#[derive(Serialize, Deserialize)]
struct Order {
    task: Task,
    /// The seat of the party to play.
    seat: usize,
    /// The link to imitate, as text.
    link: Option<String>,
    /// The core to which the party is pinned.
    core: Option<usize>,
    /// The address of the first party, for the others.
    address: Option<String>,
}

/// An answer of a party.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    /// An address for each of the other parties.
    Listening(Vec<String>),
    Report {
        report: Json,
        peak_memory_bytes: Option<u64>,
    },
    Failed(String),
}

/// A party's final answer: its report and its peak memory.
pub(crate) type LastWord = (Json, Option<u64>);

/// Makes both parties do `task` at `place`.
pub(crate) fn both<E: Exchange>(
    task: &E,
    place: PartyLink,
    options: &Options,
) -> Result<Both<E::Report>, Error> {
    let words: [LastWord; 2] = all(&task.clone().into(), place, options)?;
    let [(garbler, garbler_bytes), (evaluator, evaluator_bytes)] = words;
    Ok(Both {
        garbler: serde_json::from_value(garbler)?,
        evaluator: serde_json::from_value(evaluator)?,
        memory: Memory {
            garbler_bytes,
            evaluator_bytes,
        },
    })
}

/// Makes the `N` parties of `task` do it at `place`. Returns their final answers, in their order.
pub(crate) fn all<const N: usize>(
    task: &Task,
    place: PartyLink,
    options: &Options,
) -> Result<[LastWord; N], Error> {
    let names = task.parties();
    let order = |seat: usize, address| Order {
        task: task.clone(),
        seat,
        link: place.0.map(|link| link.to_string()),
        // A cloud does the evaluator's work, so it gets its core.
        core: options.pin.map(|cores| cores[seat.min(1)]),
        address,
    };
    let words = match &options.party_command {
        Some(command) => by_processes(command, names, order),
        None => by_threads(names, order),
    };
    let wrong = |_| Error::of(names[0], format!("its task has {} parties", names.len()));
    words?.try_into().map_err(wrong)
}

/// Plays the party that `input` orders. A process that was started for a party calls this.
///
/// # Errors
///
/// Answers cannot be written. Any other failure is an answer itself.
pub fn party(input: &mut dyn BufRead, output: &mut dyn Write) -> Result<(), Error> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let mut answer = |answer: &Answer| -> Result<(), Error> {
        writeln!(output, "{}", serde_json::to_string(answer)?)?;
        Ok(output.flush()?)
    };
    let order = serde_json::from_str::<Order>(&line).map_err(Error::from);
    let played = order.and_then(|order| {
        play(&order, &mut |addresses| {
            // If this fails nobody learns of it, and the first party's wait ends in time.
            let _ = answer(&Answer::Listening(addresses));
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

/// Connects to the first party, or as the first party to all others, and plays. `listening`
/// receives the addresses at which the first party waits for each of them.
fn play(order: &Order, listening: &mut dyn FnMut(Vec<String>)) -> Result<Json, Error> {
    if let Some(core) = order.core {
        pin(core)?;
    }
    let direct = Settings::default();
    let shaped = Settings {
        link: order.link.as_deref().and_then(|link| link.parse().ok()),
        ..Settings::default()
    };
    let wires = match &order.address {
        None => {
            let others = 1..order.task.parties().len();
            let listeners = others.map(|_| plain::Listener::bind("127.0.0.1:0"));
            let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
            let addresses = listeners.iter().map(plain::Listener::local_address);
            listening(addresses.map(|address| address.to_string()).collect());
            let wires = listeners.iter().map(|listener| {
                let control = listener.accept(&direct)?;
                Ok(Wire::new(listener.accept(&shaped)?, control))
            });
            wires.collect::<Result<Vec<_>, Error>>()?
        }
        Some(address) => {
            let control = plain::connect(address, &direct)?;
            vec![Wire::new(plain::connect(address, &shaped)?, control)]
        }
    };
    order.task.play(order.seat, wires)
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

fn by_threads(
    names: &[&'static str],
    order: impl Fn(usize, Option<String>) -> Order,
) -> Result<Vec<LastWord>, Error> {
    let (tell, hear) = channel();
    let first = order(0, None);
    let mut playing = vec![thread::spawn(move || {
        play(&first, &mut |addresses| {
            let _ = tell.send(addresses);
        })
    })];
    // A first party that failed earlier sends no address, and gives the reason at the end.
    for (other, address) in hear.recv().unwrap_or_default().into_iter().enumerate() {
        let order = order(1 + other, Some(address));
        playing.push(thread::spawn(move || play(&order, &mut |_| ())));
    }
    let played = playing.into_iter().zip(names).map(|(playing, party)| {
        let report = playing
            .join()
            .unwrap_or_else(|_| Err(Error::of(party, "it panicked")))?;
        Ok((report, peak_memory_bytes()))
    });
    words_of(played.collect())
}

/// Returns all final answers, or the errors of the parties without one.
fn words_of(all: Vec<Result<LastWord, Error>>) -> Result<Vec<LastWord>, Error> {
    let (mut words, mut errors) = (Vec::new(), Vec::new());
    for one in all {
        match one {
            Ok(word) => words.push(word),
            Err(error) => errors.push(error),
        }
    }
    match errors.len() {
        0 => Ok(words),
        1 => Err(errors.remove(0)),
        _ => {
            let reasons = errors.iter().map(Error::to_string).collect();
            Err(Error::Parties { reasons })
        }
    }
}

/// A party's process, which ends when this is dropped.
struct Process {
    party: &'static str,
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Process {
    fn start(
        command: &[std::ffi::OsString],
        party: &'static str,
        order: &Order,
    ) -> Result<Self, Error> {
        let failed = |reason| Error::Start { party, reason };
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
        let process = Self {
            party,
            child,
            answers: BufReader::new(output),
        };
        match writeln!(input, "{}", serde_json::to_string(order)?) {
            // It ended before it read its order. The missing answer will show that.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(process),
            written => written.map(|()| process).map_err(failed),
        }
    }

    fn answer(&mut self) -> Result<Answer, Error> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.is_empty() {
            return Err(self.failed("its process ended without a word"));
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
            _ => Err(self.failed("it answered out of turn")),
        }
    }

    fn failed(&self, reason: impl Into<String>) -> Error {
        Error::of(self.party, reason)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process has ended or is no longer needed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn by_processes(
    command: &[std::ffi::OsString],
    names: &[&'static str],
    order: impl Fn(usize, Option<String>) -> Order,
) -> Result<Vec<LastWord>, Error> {
    let mut first = Process::start(command, names[0], &order(0, None))?;
    let addresses = match first.answer()? {
        Answer::Listening(addresses) => addresses,
        _ => return Err(first.failed("it does not listen")),
    };
    let others = (1..).zip(&names[1..]).zip(addresses);
    let others = others.map(|((seat, party), address)| {
        Process::start(command, party, &order(seat, Some(address)))
    });
    let mut others = others.collect::<Result<Vec<_>, _>>()?;
    let words: Vec<_> = others.iter_mut().map(Process::last_word).collect();
    // A first party that still waits for a failed one learns of it by this.
    drop(others);
    words_of([first.last_word()].into_iter().chain(words).collect())
}
