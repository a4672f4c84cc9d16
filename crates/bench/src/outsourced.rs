//! Functions under `outsourced`, between a generator, a thin client and a cloud. Repeats Tables 1
//! to 4 and Figures 4, 5 and 7 of Mood, Gupta, Butler and Feigenbaum, *Reuse It or Lose It: More
//! Efficient Secure Computation Through Reuse of Encrypted Values* (CCS 2014).
//!
//! The three parties are processes on this machine, each with a TLS session to both others.
//! Functions that keep values run in a chain: those that belong together run one after the other,
//! and all of them again in another chain for the next sample. Long functions run once.
//!
//! | module | contents |
//! |---|---|
//! | `cases` | the programs, and the numbers of their runs and circuits |
//! | `exchange` | the actions of each party |

mod cases;
mod exchange;

use serde::{Deserialize, Serialize};
use tacit::garble::SchemeId;
use tacit_circuit::Port;
use tacit_protocol::outsourced::circuit_and_gates;

pub(crate) use exchange::Exchanged;

use crate::parties::{LastWord, PartyLink, Task, all};
use crate::spread::Spread;
use crate::table::{Column, Row, mebibytes, number, short, text};
use crate::workload::Workload;
use crate::{Error, Options, Tell};
use exchange::{Report, Timed};

/// The names of the parties, by seat. The others connect to the generator.
pub(crate) const NAMES: [&str; 3] = ["generator", "evaluator", "cloud"];

/// The k of everything but the circuits: the protocol's default.
const SECURITY_BITS: u8 = 40;

/// A function under `outsourced`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutsourcedFigures {
    /// The function.
    #[serde(flatten)]
    pub workload: Workload,
    /// The garbling scheme.
    pub scheme: String,
    /// σ: the number of circuits. A single one is semi-honest.
    pub copies: u32,
    /// The number of them that the cloud evaluates.
    pub evaluated_copies: u32,
    /// Minus the logarithm of the probability that a cheating generator is not caught; `None` if
    /// the run is semi-honest.
    pub statistical_security_bits: Option<f64>,
    /// Threads of each server.
    pub threads: usize,
    /// `loopback`, or the link between any two parties.
    pub link: String,
    /// AND gates of the function.
    pub ands: u64,
    /// The AND gates of a circuit: the function's, and those that mask and authenticate results.
    pub circuit_ands: u64,
    /// The number of bits that it loads.
    pub loaded_bits: u64,
    /// The number of bits that it saves.
    pub saved_bits: u64,
    /// The time from the common start to the last party's end.
    pub whole_ms: Spread,
    /// The time of the agreement on the run; here and below, the time of the slowest party.
    pub agreement_ms: Spread,
    /// The time to compare the servers' chains, to move them forward, and to read loaded values
    /// from the disk.
    pub chain_ms: Spread,
    /// The time of base OTs and OT extensions.
    pub setup_ms: Spread,
    /// The time of the protocol's run, including the values that it saves to disk.
    pub run_ms: Spread,
    /// The traffic of the three links in a run.
    pub traffic: ThreeTraffic,
    /// Peak memory of each party, over all functions that ran in one chain.
    pub memory: ThreeMemory,
}

/// The bytes that each party sent to each, with the 5 bytes before each message, and rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreeTraffic {
    /// From the generator to the cloud.
    pub generator_to_cloud_bytes: u64,
    /// From the cloud to the generator.
    pub cloud_to_generator_bytes: u64,
    /// From the generator to the evaluator.
    pub generator_to_evaluator_bytes: u64,
    /// From the evaluator to the generator.
    pub evaluator_to_generator_bytes: u64,
    /// From the evaluator to the cloud.
    pub evaluator_to_cloud_bytes: u64,
    /// From the cloud to the evaluator.
    pub cloud_to_evaluator_bytes: u64,
    /// The changes of direction, plus one, between generator and cloud.
    pub generator_cloud_rounds: u64,
    /// The same between generator and evaluator.
    pub generator_evaluator_rounds: u64,
    /// The same between evaluator and cloud.
    pub evaluator_cloud_rounds: u64,
}

impl ThreeTraffic {
    /// Sums up the reports of the three parties.
    fn of([generator, evaluator, cloud]: [&Timed; 3]) -> Self {
        Self {
            generator_to_cloud_bytes: generator.sent_bytes[2],
            cloud_to_generator_bytes: cloud.sent_bytes[0],
            generator_to_evaluator_bytes: generator.sent_bytes[1],
            evaluator_to_generator_bytes: evaluator.sent_bytes[0],
            evaluator_to_cloud_bytes: evaluator.sent_bytes[2],
            cloud_to_evaluator_bytes: cloud.sent_bytes[1],
            generator_cloud_rounds: generator.rounds[2].max(cloud.rounds[0]),
            generator_evaluator_rounds: generator.rounds[1].max(evaluator.rounds[0]),
            evaluator_cloud_rounds: evaluator.rounds[2].max(cloud.rounds[1]),
        }
    }

    /// Returns the bytes that the thin client sends and receives.
    pub fn client_bytes(&self) -> u64 {
        self.generator_to_evaluator_bytes
            + self.evaluator_to_generator_bytes
            + self.evaluator_to_cloud_bytes
            + self.cloud_to_evaluator_bytes
    }
}

/// The most memory that each party's process held, in bytes, if the system reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreeMemory {
    /// The generator's.
    pub generator_bytes: Option<u64>,
    /// The evaluator's, which is the thin client's.
    pub evaluator_bytes: Option<u64>,
    /// The cloud's.
    pub cloud_bytes: Option<u64>,
}

impl Row for OutsourcedFigures {
    const TITLE: &'static str = "Functions under outsourced, malicious without collusion (one \
                                 copy: semi-honest), over TLS: milliseconds of the slowest party";
    const COLUMNS: &'static [Column<Self>] = &[
        text("function", 50, |of| of.workload.to_string()),
        text("link", 12, |of| of.link.clone()),
        number("copies", 6, |of| of.copies.to_string()),
        number("AND", 8, |of| of.circuit_ands.to_string()),
        number("whole ms", 8, |of| short(of.whole_ms.median)),
        number("± %", 5, |of| of.whole_ms.deviation_text()),
        number("agree", 6, |of| short(of.agreement_ms.median)),
        number("chain", 6, |of| short(of.chain_ms.median)),
        number("setup", 6, |of| short(of.setup_ms.median)),
        number("run", 7, |of| short(of.run_ms.median)),
        number("MB g→c", 7, |of| {
            short(of.traffic.generator_to_cloud_bytes as f64 / 1e6)
        }),
        number("KB client", 9, |of| {
            short(of.traffic.client_bytes() as f64 / 1e3)
        }),
        number("MiB g", 5, |of| mebibytes(of.memory.generator_bytes)),
        number("MiB e", 5, |of| mebibytes(of.memory.evaluator_bytes)),
        number("MiB c", 5, |of| mebibytes(of.memory.cloud_bytes)),
    ];
}

/// Measures all programs.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    for exchange in cases::exchanges(options) {
        for place in options.places(&[]) {
            let wanted = |program: &Workload| {
                let copies = exchange.copies;
                let name = format!("outsourced {} copies-{copies} {}", program, place.name());
                options.wants(&name)
            };
            if !exchange.programs.iter().any(wanted) {
                continue;
            }
            let mut exchange = exchange.clone();
            exchange.link = place.0.map(|link| link.to_string());
            let words: [LastWord; 3] = all(&Task::Outsourced(exchange.clone()), place, options)?;
            let [generator_bytes, evaluator_bytes, cloud_bytes] = [0, 1, 2].map(|at| words[at].1);
            let memory = ThreeMemory {
                generator_bytes,
                evaluator_bytes,
                cloud_bytes,
            };
            let reports = words.map(|(report, _)| serde_json::from_value::<Report>(report));
            let [generator, evaluator, cloud] = reports;
            let reports = [generator?, evaluator?, cloud?];
            for (number, program) in exchange.programs.iter().enumerate() {
                if wanted(program) {
                    let runs = reports.each_ref().map(|report| &report[number][..]);
                    let figures = figures(&exchange, (program, place), runs, memory)?;
                    tell(figures.into())?;
                }
            }
        }
    }
    Ok(())
}

fn figures(
    exchange: &Exchanged,
    (program, place): (&Workload, PartyLink),
    mut runs: [&[Timed]; 3],
    memory: ThreeMemory,
) -> Result<OutsourcedFigures, Error> {
    // If there are several, the first is a warm-up.
    runs = runs.map(|runs| &runs[usize::from(runs.len() > 1)..]);
    let samples = runs.iter().map(|runs| runs.len()).min().unwrap_or(0);
    let [Some(generator), Some(evaluator), Some(cloud)] = runs.map(|runs| runs.last()) else {
        return Err(Error::of(NAMES[0], "a party reported no run"));
    };
    let slowest = |of: &dyn Fn(&Timed) -> f64| {
        let slowest = |run: usize| runs.iter().map(|runs| of(&runs[run])).fold(0.0, f64::max);
        Spread::of(&(0..samples).map(slowest).collect::<Vec<_>>())
    };
    let (function, parameters) = (cases::function(program)?, exchange.parameters()?);
    let width = |ports: &[Port]| ports.iter().map(|port| port.ty.width() as u64).sum();
    let bound = parameters.bound(Some(&function));
    let bound = bound.map_err(tacit::Error::from)?;
    Ok(OutsourcedFigures {
        workload: program.clone(),
        scheme: SchemeId::HALF_GATES_TWO_CALL.to_string(),
        copies: exchange.copies,
        evaluated_copies: parameters.evaluated() as u32,
        statistical_security_bits: (!parameters.is_semi_honest()).then(|| bound.total_bits()),
        threads: exchange.threads.get(),
        link: place.name(),
        ands: function.and_gates(),
        circuit_ands: circuit_and_gates(&function).map_err(tacit::Error::from)?,
        loaded_bits: width(function.loads()),
        saved_bits: width(function.saves()),
        whole_ms: slowest(&Timed::whole_ms),
        agreement_ms: slowest(&|run| run.agreement_ms),
        chain_ms: slowest(&|run| run.chain_ms),
        setup_ms: slowest(&|run| run.setup_ms),
        run_ms: slowest(&|run| run.run_ms),
        traffic: ThreeTraffic::of([generator, evaluator, cloud]),
        memory,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_the_roles_of_the_protocol() {
        for (seat, role) in tacit::outsourced::OutsourcedRole::ALL
            .into_iter()
            .enumerate()
        {
            assert_eq!((role as usize, role.name()), (seat, NAMES[seat]));
        }
    }
}
