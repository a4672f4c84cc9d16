//! Whole functions under `direct`, between two parties.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tacit::{Function, Job, Phase, Role, Session, Side, Value, library};

use crate::parties::{Both, Exchange, Memory, Party, Step, Wire, both};
use crate::record::{Traffic, slower_ms};
use crate::spread::Spread;
use crate::table::{Column, Row, mebibytes, number, short, text};
use crate::{Error, Figures, Options, Tell, USUAL_LINKS};

/// A function between two parties.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectFigures {
    /// The function.
    pub function: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, u64>,
    /// The garbling scheme.
    pub scheme: String,
    /// `loopback`, or the link.
    pub link: String,
    /// AND gates.
    pub ands: u64,
    /// Base OTs, which a session does once.
    pub setup_ms: Spread,
    /// Their bytes and rounds.
    pub setup_traffic: Traffic,
    /// A run of the function, agreement included.
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
    const COLUMNS: &'static [Column] = &[
        text("function", 30),
        text("link", 12),
        number("AND", 8),
        number("setup ms", 8),
        number("run ms", 8),
        number("± %", 5),
        number("M AND/s", 7),
        number("KB g→e", 9),
        number("KB e→g", 7),
        number("rounds", 6),
        number("MiB g", 5),
        number("MiB e", 5),
    ];

    fn cells(&self) -> Vec<String> {
        let kilobytes = |bytes: u64| short(bytes as f64 / 1e3);
        vec![
            full_name(&self.function, &self.parameters),
            self.link.clone(),
            self.ands.to_string(),
            short(self.setup_ms.median),
            short(self.run_ms.median),
            format!("{:.1}", self.run_ms.deviation_percent()),
            short(self.million_ands_per_s),
            kilobytes(self.run_traffic.garbler_bytes),
            kilobytes(self.run_traffic.evaluator_bytes),
            self.run_traffic.rounds.to_string(),
            mebibytes(self.memory.garbler_bytes),
            mebibytes(self.memory.evaluator_bytes),
        ]
    }
}

pub(crate) fn full_name(function: &str, parameters: &BTreeMap<String, u64>) -> String {
    let parameters = parameters
        .iter()
        .map(|(name, value)| format!(" {name}={value}"));
    function.to_owned() + &parameters.collect::<String>()
}

/// What the parties do: so many runs over one session, after one that warms up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    function: String,
    parameters: BTreeMap<String, u64>,
    runs: usize,
}

/// A party's steps.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    setup: Step,
    runs: Vec<Step>,
}

/// The functions, with those that a first look takes first.
const FUNCTIONS: [(&str, &[(&str, u64)]); 7] = [
    ("millionaires", &[("bits", 64)]),
    ("aes-128", &[]),
    ("sha-256-compress", &[]),
    ("aes-128-copies", &[("copies", 160)]),
    ("edit-distance", &[]),
    ("matrix-product", &[]),
    ("sort", &[]),
];
const QUICK_FUNCTIONS: usize = 4;

/// Measures all functions at all places.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    let functions = if options.quick && options.only.is_empty() {
        &FUNCTIONS[..QUICK_FUNCTIONS]
    } else {
        &FUNCTIONS
    };
    for place in options.places(&USUAL_LINKS) {
        for (function, parameters) in functions {
            let given = parameters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value));
            let parameters = given.collect();
            let name = format!(
                "direct {} {}",
                full_name(function, &parameters),
                place.name()
            );
            if !options.wants(&name) {
                continue;
            }
            let task = Exchanged {
                function: (*function).to_owned(),
                parameters,
                runs: if options.quick { 6 } else { 15 },
            };
            let ands = task.function()?.and_gates();
            let done = both(&task, place, options)?;
            tell(Figures::Direct(figures(task, ands, place.name(), done)))?;
        }
    }
    Ok(())
}

fn figures(task: Exchanged, ands: u64, link: String, done: Both<Report>) -> DirectFigures {
    let (garbler, evaluator) = (done.garbler, done.evaluator);
    let setup_ms = 1e3 * garbler.setup.seconds.max(evaluator.setup.seconds);
    let setup_traffic = Traffic::of(&garbler.setup, &evaluator.setup);
    let runs = Both {
        garbler: garbler.runs,
        evaluator: evaluator.runs,
        memory: done.memory,
    };
    let run_ms = Spread::of(&slower_ms(&runs));
    DirectFigures {
        function: task.function,
        parameters: task.parameters,
        scheme: tacit::garble::SchemeId::HALF_GATES_TWO_CALL.to_string(),
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
    fn function(&self) -> Result<Function, Error> {
        Ok(library::function(&self.function, &self.parameters)?)
    }
}

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, party: Party, wire: Wire) -> Result<Report, Error> {
        let function = self.function()?;
        let (role, side) = match party {
            Party::Garbler => (Role::Garbler, Side::Listening),
            Party::Evaluator => (Role::Evaluator, Side::Connecting),
        };
        let (channel, mut control) = wire.split();
        let mut session = Session::over(channel, side, None)?;
        let mut setup = Step::default();
        let mut runs = Vec::new();
        for run in 0..=self.runs {
            let mut job = Job::new(&function, role);
            for input in function.inputs().iter().filter(|input| input.owner == role) {
                let zeros = vec![false; input.port.ty.width()];
                let value = Value::from_bits(&input.port.ty, &zeros);
                job = job.input(&input.port.name, value.map_err(tacit::Error::from)?);
            }
            control.meet()?;
            let cost = job.run(&mut session)?.cost;
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
}
