//! Functions under `batch`, secure against a malicious party. Repeats the per-execution figures of
//! Lindell and Riva, *Blazing Fast 2PC in the Offline/Online Setting with Security for Malicious
//! Adversaries* (CCS 2015, section 6).
//!
//! Both parties prepare and check a batch over TLS on loopback, and then run executions of it, over
//! each link in turn. *Offline* is the wall time of the preparation divided by its executions, with
//! the base OTs and the disk; *online* is the evaluator's time from its first byte to its result. A
//! chain of AES-128 has a hundred times the gates of one AES-128 and the same inputs and outputs:
//! its online messages differ only through the size of its buckets.

use std::num::NonZeroUsize;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tacit::garble::SchemeId;
use tacit::protocols::StatisticalSecurity;
use tacit::stock::BatchPreparation;
use tacit::{Function, FunctionBuilder, Part, Recipient, Role};

use crate::meeting::{Meeting, Timed, end, job, last, timed, times};
use crate::parties::{Both, Exchange, Memory, PartyLink, Wire, both};
use crate::record::Traffic;
use crate::spread::{Mean, Spread};
use crate::table::{Column, Row, known, mebibytes, number, short, text};
use crate::workload::Workload;
use crate::{Error, Options, Tell};

/// A function under `batch`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchFigures {
    /// The function.
    #[serde(flatten)]
    pub workload: Workload,
    /// The garbling scheme.
    pub scheme: String,
    /// s.
    pub statistical_security_bits: u8,
    /// N: the number of executions that were prepared together.
    pub executions: u64,
    /// B: the number of circuits of an execution.
    pub bucket: u64,
    /// M: the number of circuits of the batch.
    pub circuits: u64,
    /// Threads of each party.
    pub threads: usize,
    /// `loopback`, or the link, of the runs.
    pub link: String,
    /// AND gates.
    pub ands: u64,
    /// The time to prepare an execution, on loopback: both parties' wall time divided by the
    /// executions.
    pub offline_ms: f64,
    /// The bytes and rounds of the whole preparation; the bytes are per execution.
    pub offline_traffic: Traffic,
    /// The time from the evaluator's first byte to its result.
    pub online_ms: Spread,
    /// The mean of this time, as the paper states it.
    pub online_mean_ms: Mean,
    /// The same, including the agreement, the leases and the garbler's repeated garbling before it.
    pub agreed_online_ms: Spread,
    /// The bytes and rounds of a run from the evaluator's first byte on.
    pub online_traffic: Traffic,
    /// The paper's figures.
    pub paper: Option<Paper>,
    /// Peak memory of each party, over preparation and runs.
    pub memory: Memory,
}

/// The paper's figures for 1024 executions on 9 threads at 2.9 GHz, in milliseconds each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// Offline.
    pub offline_ms: f64,
    /// Online.
    pub online_ms: f64,
}

impl Row for BatchFigures {
    const TITLE: &'static str = "Functions under batch, malicious, over TLS: milliseconds an \
                                 execution, offline on loopback; paper: Lindell and Riva 2015, \
                                 1024 executions, 9 threads";
    const COLUMNS: &'static [Column<Self>] = &[
        text("function", 24, |of| of.workload.to_string()),
        text("link", 16, |of| of.link.clone()),
        number("AND", 7, |of| of.ands.to_string()),
        number("N", 4, |of| of.executions.to_string()),
        number("B", 2, |of| of.bucket.to_string()),
        number("M", 5, |of| of.circuits.to_string()),
        number("threads", 7, |of| of.threads.to_string()),
        number("offline ms", 10, |of| short(of.offline_ms)),
        number("paper", 5, |of| known(of.paper.map(|row| row.offline_ms))),
        number("MB", 6, |of| short(of.offline_traffic.bytes() as f64 / 1e6)),
        number("online ms", 9, |of| short(of.online_ms.median)),
        number("mean ± 95 %", 16, |of| of.online_mean_ms.to_string()),
        number("paper", 5, |of| known(of.paper.map(|row| row.online_ms))),
        number("agreed ms", 9, |of| short(of.agreed_online_ms.median)),
        number("KB g→e", 7, |of| {
            short(of.online_traffic.garbler_bytes as f64 / 1e3)
        }),
        number("B e→g", 6, |of| {
            of.online_traffic.evaluator_bytes.to_string()
        }),
        number("rounds", 6, |of| of.online_traffic.rounds.to_string()),
        number("MiB g", 5, |of| mebibytes(of.memory.garbler_bytes)),
        number("MiB e", 5, |of| mebibytes(of.memory.evaluator_bytes)),
    ];
}

/// The chain: this many calls of AES-128, each on the result of the previous one.
const CHAIN: &str = "aes-128-chain";
const CHAIN_CALLS: u64 = 100;
/// The size of the only batch of the chain: 20 MB per circuit.
const CHAIN_EXECUTIONS: u64 = 32;

/// The functions, with the paper's figures for them.
const FUNCTIONS: [(&str, Paper); 2] = [
    ("aes-128", paper(74.0, 7.0)),
    ("sha-256-compress", paper(206.0, 33.0)),
];
/// The numbers of executions of a batch; the last is the paper's.
const EXECUTIONS: [u64; 3] = [32, 128, PAPERS_EXECUTIONS];
const PAPERS_EXECUTIONS: u64 = 1024;
const QUICK_EXECUTIONS: [u64; 1] = [8];

/// A link with a round trip of 75 ms, over which the paper has AES-128 online in 160 ms.
const LINKS: [&str; 1] = ["37500us,1gbit"];

/// The most runs over a link.
const RUNS: u64 = 100;

const fn paper(offline_ms: f64, online_ms: f64) -> Paper {
    Paper {
        offline_ms,
        online_ms,
    }
}

/// The task of the parties: prepare a batch, and run executions of it over each link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    workload: Workload,
    executions: u64,
    threads: NonZeroUsize,
    links: Vec<Option<String>>,
}

/// A party's measurements.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    bucket: u64,
    circuits: u64,
    offline_s: f64,
    offline: Traffic,
    /// The runs over each link, without the warm-up run.
    links: Vec<Vec<Timed>>,
}

/// Measures all functions in batches of all sizes.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    for (function, executions, paper) in cases(options) {
        for threads in threads(options) {
            let parameters: &[_] = match function {
                CHAIN => &[("calls", CHAIN_CALLS)],
                _ => &[],
            };
            let workload = Workload::new(function, parameters);
            let name = format!("batch {workload} executions-{executions} threads-{threads}");
            let wanted = |place: &PartyLink| options.wants(&format!("{name} {}", place.name()));
            let places = options.places(&LINKS).into_iter();
            let places: Vec<PartyLink> = places.filter(wanted).collect();
            if places.is_empty() {
                continue;
            }
            let task = Exchanged {
                workload,
                executions,
                threads,
                links: places.iter().map(|place| link_of(*place)).collect(),
            };
            let done = both(&task, PartyLink(None), options)?;
            for (number, place) in places.iter().enumerate() {
                let figures = figures(&task, (number, *place), paper, &done)?;
                tell(figures.into())?;
            }
        }
    }
    Ok(())
}

fn link_of(place: PartyLink) -> Option<String> {
    place.0.map(|link| link.to_string())
}

/// Returns the functions, numbers of executions, and the paper's figures.
fn cases(options: &Options) -> Vec<(&'static str, u64, Option<Paper>)> {
    let sizes: &[u64] = if options.quick {
        &QUICK_EXECUTIONS
    } else {
        &EXECUTIONS
    };
    let mut cases = Vec::new();
    for (function, paper) in FUNCTIONS {
        for executions in sizes {
            let paper = (*executions == PAPERS_EXECUTIONS).then_some(paper);
            cases.push((function, *executions, paper));
        }
    }
    if !options.quick {
        cases.push((CHAIN, CHAIN_EXECUTIONS, None));
    }
    cases
}

/// Returns the numbers of threads of a party: one, and the number of cores unless it is pinned to
/// one.
fn threads(options: &Options) -> Vec<NonZeroUsize> {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    match (options.pin, options.quick) {
        (Some(_), _) => vec![NonZeroUsize::MIN],
        (None, true) => vec![cores],
        (None, false) if cores == NonZeroUsize::MIN => vec![cores],
        (None, false) => vec![NonZeroUsize::MIN, cores],
    }
}

fn figures(
    task: &Exchanged,
    (number, place): (usize, PartyLink),
    paper: Option<Paper>,
    done: &Both<Report>,
) -> Result<BatchFigures, Error> {
    let (garbler, evaluator) = (&done.garbler, &done.evaluator);
    let runs = evaluator.links.get(number).map_or(&[][..], Vec::as_slice);
    let online = times(runs, |run| run.online_ms);
    let offline_s = garbler.offline_s.max(evaluator.offline_s);
    Ok(BatchFigures {
        workload: task.workload.clone(),
        scheme: SchemeId::HALF_GATES_TWO_CALL.to_string(),
        statistical_security_bits: SECURITY_BITS,
        executions: task.executions,
        bucket: evaluator.bucket,
        circuits: evaluator.circuits,
        threads: task.threads.get(),
        link: place.name(),
        ands: task.function()?.and_gates(),
        offline_ms: 1e3 * offline_s / task.executions as f64,
        offline_traffic: evaluator.offline,
        online_ms: Spread::of(&online),
        online_mean_ms: Mean::of(&online),
        agreed_online_ms: Spread::of(&times(runs, |run| run.whole_ms)),
        online_traffic: last(runs)?.online,
        paper: paper.filter(|_| place.0.is_none()),
        memory: done.memory,
    })
}

/// The s of all measurements here, which is the paper's.
const SECURITY_BITS: u8 = 40;

impl Exchanged {
    fn function(&self) -> Result<Function, Error> {
        match self.workload.function.as_str() {
            CHAIN => Ok(chain(self.workload.parameter("calls").unwrap_or(1))?),
            _ => Ok(told_to_evaluator(&self.workload.of_library()?)?),
        }
    }

    /// Returns the number of runs over one link, including the warm-up run.
    fn runs(&self) -> u64 {
        let each = self.executions / self.links.len().max(1) as u64;
        each.clamp(2, 1 + RUNS)
    }
}

/// Returns a function of one call whose result only the evaluator gets: this is what the papers
/// measure.
fn told_to_evaluator(function: &Function) -> Result<Function, tacit::Error> {
    let mut builder = FunctionBuilder::new(function.name());
    builder.library("call", function.name(), &[]);
    for input in function.inputs() {
        builder.input(&input.port.name, &input.port.ty.to_string(), input.owner);
    }
    let names = || function.inputs().iter().map(|input| &input.port.name);
    for output in function.outputs() {
        let (name, ty) = (&output.port.name, output.port.ty.to_string());
        let value = format!("{name}_value");
        builder
            .value(&value, &ty)
            .call([&value], "call", names())
            .output(name, &ty, Recipient::Evaluator, &value);
    }
    Ok(builder.finish()?)
}

/// Returns a chain of this many AES-128 calls, each of which enciphers the previous block.
fn chain(calls: u64) -> Result<Function, tacit::Error> {
    let mut builder = FunctionBuilder::new(CHAIN);
    builder
        .library("aes", "aes-128", &[])
        .input("key", "bytes[16]", Role::Garbler)
        .input("block", "bytes[16]", Role::Evaluator)
        .value("state", &format!("bytes[16][{}]", calls + 1))
        .assign(Part::of("state").at(0), "block")
        .repeat("i", 0, calls, |each, i| {
            each.call(
                [Part::of("state").at(i.plus(1))],
                "aes",
                [Part::of("key"), Part::of("state").at(i)],
            );
        })
        .output(
            "ciphertext",
            "bytes[16]",
            Recipient::Evaluator,
            Part::of("state").at(calls),
        );
    Ok(builder.finish()?)
}

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, role: Role, wire: Wire) -> Result<Report, Error> {
        let function = self.function()?;
        function.compile();
        let mut meeting = Meeting::arrange(wire, role)?;
        let mut session = meeting.session(None)?;
        let order = BatchPreparation::new(role, &function, self.executions)
            .scheme(SchemeId::HALF_GATES_TWO_CALL)
            .statistical_security(StatisticalSecurity::new(SECURITY_BITS)?)
            .threads(self.threads);
        let plan = order.plan()?;
        meeting.control.meet()?;
        let begun = Instant::now();
        let prepared = order.run(&mut session, &meeting.stocks)?;
        let offline_s = begun.elapsed().as_secs_f64();
        end(session);
        let meter = prepared.traffic;
        let mut report = Report {
            bucket: plan.cut().bucket,
            circuits: plan.cut().circuits,
            offline_s,
            offline: Traffic {
                garbler_bytes: meter.received.bytes / self.executions,
                evaluator_bytes: meter.sent.bytes / self.executions,
                rounds: meter.rounds,
            },
            links: Vec::new(),
        };
        for link in &self.links {
            let mut session = meeting.session(link.as_deref())?;
            let from_batch = || {
                let job = job(&function, role).batch(&meeting.stocks);
                job.threads(self.threads)
            };
            report
                .links
                .push(timed(&mut session, self.runs(), from_batch)?);
            end(session);
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_has_the_ports_of_its_link_and_all_its_gates() {
        let (one, many) = (chain(1).expect("a chain"), chain(100).expect("a chain"));
        assert_eq!((one.and_gates(), many.and_gates()), (6_400, 640_000));
        for role in Role::BOTH {
            assert_eq!(one.input_bits(role), many.input_bits(role));
            assert_eq!(one.output_bits(role), many.output_bits(role));
        }
    }

    #[test]
    fn runs_over_all_links_are_within_the_batch() {
        for (links, executions, runs) in [(1, 8, 8), (2, 32, 16), (1, 1024, 101), (3, 8, 2)] {
            let task = Exchanged {
                workload: Workload::new("aes-128", &[]),
                executions,
                threads: NonZeroUsize::MIN,
                links: vec![None; links],
            };
            assert_eq!(task.runs(), runs);
            assert!(task.runs() * links as u64 <= executions);
        }
    }
}
