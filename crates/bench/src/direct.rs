//! Whole functions under `direct`, between two parties: the usual workloads of the field under the
//! default scheme, and three circuits under every scheme, which repeats Table 7 of *Fast Garbling
//! of Circuits Under Standard Assumptions*. Last come long results and inputs, which no gate reads,
//! in sizes over three decades: their time grows with their length.

use serde::{Deserialize, Serialize};
use tacit::cost::Phase;
use tacit::garble::{SCHEMES, SchemeId};
use tacit::protocols::StatisticalSecurity;
use tacit::session::Side;
use tacit::{Function, FunctionBuilder, Job, Recipient, Role, Session};

use crate::meeting::job;
use crate::parties::{Both, Control, Exchange, Memory, PartyLink, Step, Wire, both};
use crate::record::{Traffic, slower_ms};
use crate::spread::Spread;
use crate::table::{Column, Row, kilobytes, mebibytes, number, short, text};
use crate::workload::{Case, Workload};
use crate::{Error, Options, Tell, USUAL_LINKS};

/// A function between two parties.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectFigures {
    /// The function.
    #[serde(flatten)]
    pub workload: Workload,
    /// The garbling scheme.
    pub scheme: String,
    /// `loopback`, or the link.
    pub link: String,
    /// AND gates.
    pub ands: u64,
    /// The time of the base OTs, which a session does once.
    pub setup_ms: Spread,
    /// Their bytes and rounds.
    pub setup_traffic: Traffic,
    /// The time of a run of the function, agreement included.
    pub run_ms: Spread,
    /// Its bytes and rounds.
    pub run_traffic: Traffic,
    /// Millions of AND gates a second, from the median.
    pub million_ands_per_s: f64,
    /// Peak memory of each party.
    pub memory: Memory,
}

impl Row for DirectFigures {
    const TITLE: &'static str = "Functions under direct, semi-honest, in the clear on loopback; \
                                 setup once a session";
    const COLUMNS: &'static [Column<Self>] = &[
        text("function", 30, |of| of.workload.to_string()),
        text("scheme", 21, |of| of.scheme.clone()),
        text("link", 12, |of| of.link.clone()),
        number("AND", 9, |of| of.ands.to_string()),
        number("setup ms", 8, |of| short(of.setup_ms.median)),
        number("run ms", 8, |of| short(of.run_ms.median)),
        number("± %", 5, |of| of.run_ms.deviation_text()),
        number("M AND/s", 7, |of| short(of.million_ands_per_s)),
        number("KB g→e", 9, |of| kilobytes(of.run_traffic.garbler_bytes)),
        number("KB e→g", 7, |of| {
            kilobytes(of.run_traffic.evaluator_bytes)
        }),
        number("rounds", 6, |of| of.run_traffic.rounds.to_string()),
        number("MiB g", 5, |of| mebibytes(of.memory.garbler_bytes)),
        number("MiB e", 5, |of| mebibytes(of.memory.evaluator_bytes)),
    ];
}

/// The task of the parties: this many runs over one session, after a warm-up run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    pub(crate) workload: Workload,
    /// The scheme's name.
    scheme: String,
    runs: usize,
    /// The s of runs by `authenticated`; `None` for runs by `direct`.
    security_bits: Option<u8>,
    /// The link, if the parties choose their OTs by it.
    link: Option<String>,
}

/// A party's steps.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) setup: Step,
    pub(crate) runs: Vec<Step>,
}

/// The usual workloads of the field, starting with those of a first look.
const FUNCTIONS: [Case; 7] = [
    ("millionaires", &[("bits", 64)]),
    ("aes-128", &[]),
    ("sha-256-compress", &[]),
    ("aes-128-copies", &[("copies", 160)]),
    ("edit-distance", &[("x_symbols", 128), ("y_symbols", 128)]),
    ("matrix-product", &[("n", 8)]),
    // 100 million AND gates.
    ("sha-256-chain", &[("n", 4757)]),
];
const QUICK_FUNCTIONS: usize = 4;

/// The functions that the paper runs under every scheme. Its circuits differ, and so does the size
/// of the last.
const EVERY_SCHEME: [Case; 3] = [
    ("aes-128", &[]),
    ("sha-256-compress", &[]),
    ("min-cut-250k-synthetic", &[]),
];

/// Functions that pass an input of the garbler to the evaluator as its result, or the other way
/// round.
const LONG: [&str; 2] = ["long-result", "long-input"];
/// The lengths of both in bytes. The garbler of a long result takes 640 bytes of memory a byte.
const LONG_BYTES: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
/// From this length on they run less often.
const LARGE_BYTES: u64 = 1_000_000;

/// Returns the function of this name from [`LONG`].
fn long(name: &str, bytes: u64) -> Result<Function, Error> {
    let (owner, recipient) = match name {
        "long-result" => (Role::Garbler, Recipient::Evaluator),
        _ => (Role::Evaluator, Recipient::Garbler),
    };
    let kind = format!("bytes[{bytes}]");
    let mut builder = FunctionBuilder::new(name);
    builder.input("x", &kind, owner);
    builder.output("result", &kind, recipient, "x");
    Ok(builder.finish().map_err(tacit::Error::from)?)
}

/// Measures all functions at all places.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    let tasks = tasks(options);
    for place in options.places(&USUAL_LINKS) {
        for task in &tasks {
            let name = format!("direct {} {} {}", task.workload, task.scheme, place.name());
            if !options.wants(&name) {
                continue;
            }
            let (function, scheme) = (task.function()?, task.scheme());
            if too_slow(place, &function, scheme) {
                continue;
            }
            let ands = function.and_gates();
            let mut task = task.clone();
            let bytes = task.workload.parameter("bytes");
            let is_long = bytes.is_some_and(|bytes| bytes >= LARGE_BYTES);
            if ands > LARGE_ANDS || is_long {
                task = task.at_most(LARGE_RUNS);
            }
            let done = both(&task, place, options)?;
            tell(figures(task, ands, place.name(), done).into())?;
        }
    }
    Ok(())
}

/// Returns the functions under the default scheme, then the paper's circuits under every other
/// scheme.
fn tasks(options: &Options) -> Vec<Exchanged> {
    let first_look = options.quick && options.only.is_empty();
    let runs = if options.quick { 6 } else { 15 };
    let task = |case, scheme| Exchanged::new(case, scheme, runs);
    let usual = FUNCTIONS.map(|case| task(case, SchemeId::HALF_GATES_TWO_CALL));
    if first_look {
        return usual.into_iter().take(QUICK_FUNCTIONS).collect();
    }
    let mut tasks = usual.to_vec();
    for case in EVERY_SCHEME {
        for scheme in &SCHEMES {
            let task = task(case, scheme.id);
            if !tasks.contains(&task) {
                tasks.push(task);
            }
        }
    }
    for name in LONG {
        for bytes in LONG_BYTES {
            let parameters = &[("bytes", bytes)];
            tasks.push(Exchanged::new(
                (name, parameters),
                SchemeId::HALF_GATES_TWO_CALL,
                runs,
            ));
        }
    }
    tasks
}

/// From this many AND gates on, a function runs less often: its runs are long, and alike.
const LARGE_ANDS: u64 = 10_000_000;
const LARGE_RUNS: usize = 5;

/// Returns whether a run's bytes take too long over a link to be worth the wait.
fn too_slow(place: PartyLink, function: &Function, scheme: SchemeId) -> bool {
    const MOST_SECONDS: u64 = 5;
    let Some(link) = place.0 else { return false };
    // There are as many XOR gates that cost something as AND gates, or up to four times as many.
    let free_xor = scheme.rung().is_ok_and(|scheme| scheme.cost.xor.bits == 0);
    let bits_an_and = if free_xor { 384 } else { 384 + 4 * 127 };
    let tables = function.and_gates() * bits_an_and;
    let decoding = 128 * function.output_bits(Role::Evaluator) as u64;
    let transfers = 64 * function.input_bits(Role::Evaluator) as u64;
    tables + decoding + transfers > MOST_SECONDS * link.rate_bits_per_s()
}

pub(crate) fn figures(
    task: Exchanged,
    ands: u64,
    link: String,
    done: Both<Report>,
) -> DirectFigures {
    let (garbler, evaluator) = (&done.garbler, &done.evaluator);
    let setup_ms = 1e3 * garbler.setup.seconds.max(evaluator.setup.seconds);
    let setup_traffic = Traffic::of(&garbler.setup, &evaluator.setup);
    let runs = done.map(|report| report.runs.clone());
    let run_ms = Spread::of(&slower_ms(&runs));
    DirectFigures {
        workload: task.workload,
        scheme: task.scheme,
        link,
        ands,
        setup_ms: Spread::of(&[setup_ms]),
        setup_traffic,
        run_ms,
        run_traffic: Traffic::of(&runs.garbler[0], &runs.evaluator[0]),
        million_ands_per_s: ands as f64 / run_ms.median / 1e3,
        memory: done.memory,
    }
}

impl Exchanged {
    /// Returns the task of this many runs by `direct`.
    pub(crate) fn new(
        (function, parameters): (&str, &[(&str, u64)]),
        scheme: SchemeId,
        runs: usize,
    ) -> Self {
        Self {
            workload: Workload::new(function, parameters),
            scheme: scheme.to_string(),
            runs,
            security_bits: None,
            link: None,
        }
    }

    /// Limits the number of runs.
    pub(crate) fn at_most(mut self, runs: usize) -> Self {
        self.runs = self.runs.min(runs);
        self
    }

    /// Changes the protocol to `authenticated` at this s, with the OTs that suit `place`.
    pub(crate) fn against_malicious(mut self, bits: u8, place: PartyLink) -> Self {
        self.security_bits = Some(bits);
        self.link = place.0.map(|link| link.to_string());
        self
    }

    pub(crate) fn function(&self) -> Result<Function, Error> {
        let name = self.workload.function.as_str();
        match self.workload.parameter("bytes") {
            Some(bytes) if LONG.contains(&name) => long(name, bytes),
            _ => self.workload.of_library(),
        }
    }

    fn scheme(&self) -> SchemeId {
        self.scheme.parse().expect("the name of a scheme")
    }
}

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, role: Role, wire: Wire) -> Result<Report, Error> {
        let function = self.function()?;
        function.compile();
        let (mut session, mut control) = in_the_clear(wire, role)?;
        if let Some(link) = self.link.as_ref().and_then(|link| link.parse().ok()) {
            session.set_link(link);
        }
        measured_runs(&mut session, &mut control, self.runs, || {
            let job = job(&function, role).scheme(self.scheme());
            let Some(bits) = self.security_bits else {
                return Ok(job);
            };
            Ok(job
                .authenticated()
                .statistical_security(StatisticalSecurity::new(bits)?))
        })
    }
}

/// Opens a session without TLS.
pub(crate) fn in_the_clear(wire: Wire, role: Role) -> Result<(Session, Control), Error> {
    let side = match role {
        Role::Garbler => Side::Listening,
        Role::Evaluator => Side::Connecting,
    };
    let (channel, control) = wire.split();
    Ok((Session::over(channel, side, None)?, control))
}

/// Returns a party's steps in this many runs of `job`, after a warm-up run.
pub(crate) fn measured_runs<'f>(
    session: &mut Session,
    control: &mut Control,
    count: usize,
    job: impl Fn() -> Result<Job<'f>, Error>,
) -> Result<Report, Error> {
    let mut setup = Step::default();
    let mut runs = Vec::new();
    for run in 0..=count {
        let job = job()?;
        control.meet()?;
        let cost = job.run(session)?.cost;
        let mut step = Step::default();
        for phase in &cost.phases {
            let of = if phase.phase == Phase::Setup {
                &mut setup
            } else {
                &mut step
            };
            of.seconds += phase.wall.as_secs_f64();
            of.sent_bytes += phase.traffic.sent.bytes;
            of.rounds += phase.traffic.rounds;
        }
        if run > 0 {
            runs.push(step);
        }
    }
    Ok(Report { setup, runs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_a_function_of_the_library() {
        let tasks = tasks(&Options::default());
        assert_eq!(tasks.len(), FUNCTIONS.len() + 3 * SCHEMES.len() - 2 + 8);
        for task in tasks {
            if task.workload.function != "sha-256-chain" {
                assert!(task.function().is_ok(), "{task:?}");
            }
        }
    }
}
