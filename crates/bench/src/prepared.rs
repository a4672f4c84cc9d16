//! Functions under `prepared` next to `naive`. Repeats the tables of CompGC's experiment.
//!
//! CompGC (Groce, Ledger, Malozemoff, Yerukhimovich), Table 2: the evaluator's time from its first
//! online byte to its result, with the prepared material on disk. `naive` sends the tables online;
//! here it is `direct` in an open session that has its base OTs. The parties meet over TLS, since
//! prepared material belongs to two identities; the link below TLS is shaped.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use tacit::Role;
use tacit::garble::SchemeId;
use tacit::stock::Preparation;
use tacit_net::Link;

use crate::meeting::{Meeting, Timed, end, job, last, timed, times};
use crate::parties::{Both, Exchange, Memory, PartyLink, Wire, both};
use crate::spread::{Mean, Spread};
use crate::table::{Column, Row, kilobytes, known, number, short, text};
use crate::workload::Workload;
use crate::{Error, Options, Tell};

/// A function under `prepared` and under `naive`. The times are the evaluator's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreparedFigures {
    /// The function.
    #[serde(flatten)]
    pub workload: Workload,
    /// The garbling scheme.
    pub scheme: String,
    /// `loopback`, or the link.
    pub link: String,
    /// AND gates.
    pub ands: u64,
    /// The number of calls of components.
    pub calls: u64,
    /// The time from the first online byte to the decoded result, if the function is agreed and the
    /// garbler's inputs are known beforehand.
    pub online_ms: Spread,
    /// The mean of this time, as the paper states it.
    pub online_mean_ms: Mean,
    /// The same, plus the agreement, the leases on disk and the links that do not depend on the
    /// evaluator's inputs, which come before it.
    pub agreed_online_ms: Spread,
    /// The time of a session from nothing: TLS, the meeting of the stocks, one run.
    pub cold_ms: f64,
    /// The time of a run of `naive` in an open session, with the function agreed beforehand.
    pub naive_ms: Spread,
    /// Its mean.
    pub naive_mean_ms: Mean,
    /// The bytes that the evaluator receives from the garbler for a run, including those that do
    /// not depend on its inputs.
    pub received_bytes: u64,
    /// The part of these that depends on its inputs.
    pub late_bytes: u64,
    /// The bytes that the evaluator sends for a run.
    pub sent_bytes: u64,
    /// The bytes that it receives under `naive`.
    pub naive_received_bytes: u64,
    /// The seconds to prepare a run, on one thread per party.
    pub offline_s: f64,
    /// The instances of components that are garbled, sent and stored per second.
    pub offline_instances_per_s: f64,
    /// The bytes that the evaluator received to prepare a run.
    pub offline_bytes: u64,
    /// The paper's figures.
    pub paper: Option<Paper>,
    /// Peak memory of each party.
    pub memory: Memory,
}

/// A row of the paper's table, over 33 ms and 50 Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// The online time, in milliseconds.
    pub online_ms: f64,
    /// The amount received online, in Mbit.
    pub online_mbit: f64,
    /// The naive time, in milliseconds.
    pub naive_ms: f64,
    /// The amount received naively, in Mbit.
    pub naive_mbit: f64,
}

impl Row for PreparedFigures {
    const TITLE: &'static str = "Functions under prepared, semi-honest, over TLS, evaluator's \
                                 times; paper: CompGC, Table 2; floor: round trip, dependent \
                                 bytes; offline: components a second, and MB for a run";
    const COLUMNS: &'static [Column<Self>] = &[
        text("function", 44, |of| of.workload.to_string()),
        text("link", 12, |of| of.link.clone()),
        number("AND", 7, |of| of.ands.to_string()),
        number("calls", 5, |of| of.calls.to_string()),
        number("online ms", 9, |of| short(of.online_ms.median)),
        number("mean ± 95 %", 16, |of| of.online_mean_ms.to_string()),
        number("floor", 7, |of| known(of.floor_ms())),
        number("paper", 6, |of| known(of.paper.map(|row| row.online_ms))),
        number("agreed ms", 9, |of| short(of.agreed_online_ms.median)),
        number("cold ms", 8, |of| short(of.cold_ms)),
        number("naive ms", 9, |of| short(of.naive_ms.median)),
        number("paper", 6, |of| known(of.paper.map(|row| row.naive_ms))),
        number("KB in", 7, |of| kilobytes(of.received_bytes)),
        number("late", 6, |of| kilobytes(of.late_bytes)),
        number("paper", 7, |of| {
            known(of.paper.map(|row| row.online_mbit * 1e3 / 8.0))
        }),
        number("naive KB", 8, |of| kilobytes(of.naive_received_bytes)),
        number("offline/s", 9, |of| short(of.offline_instances_per_s)),
        number("MB", 6, |of| short(of.offline_bytes as f64 / 1e6)),
    ];
}

/// A row of the paper's table, with our division of its function.
type Case = (&'static str, &'static [(&'static str, u64)], Option<Paper>);

/// The rows of the paper's table.
const FUNCTIONS: [Case; 6] = [
    ("aes-128-rounds", &[], paper(134.0, 0.656, 543.0, 24.0)),
    (
        "aes-128-cbc-rounds",
        &[("blocks", 10)],
        paper(321.0, 7.4, 4800.0, 235.0),
    ),
    (
        "aes-128-cbc-blocks",
        &[("blocks", 10)],
        paper(321.0, 7.4, 4800.0, 235.0),
    ),
    (
        "levenshtein-tiles",
        &[("rows", 3), ("columns", 3), ("side", 10)],
        paper(371.0, 10.0, 2200.0, 108.0),
    ),
    (
        "levenshtein-tiles",
        &[("rows", 6), ("columns", 6), ("side", 10)],
        paper(1120.0, 44.0, 10600.0, 524.0),
    ),
    (
        "levenshtein",
        &[("n", 60), ("m", 60)],
        paper(1120.0, 44.0, 10600.0, 524.0),
    ),
];

const fn paper(online_ms: f64, online_mbit: f64, naive_ms: f64, naive_mbit: f64) -> Option<Paper> {
    Some(Paper {
        online_ms,
        online_mbit,
        naive_ms,
        naive_mbit,
    })
}

/// The paper's link, with its 33 ms read as the one-way delay and as the round trip.
const LINKS: [&str; 2] = ["33ms,50mbit", "16500us,50mbit"];

/// The task of the parties: this many runs over one session, prepared before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    workload: Workload,
    runs: u64,
    link: Option<String>,
}

/// A party's measurements.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    runs: Vec<Timed>,
    naive: Vec<Timed>,
    cold_ms: f64,
    offline_s: f64,
    offline_bytes: u64,
}

impl PreparedFigures {
    /// Returns the lower limit of a run's time over the link: a round trip, plus the bytes that
    /// depend on the evaluator's inputs at the link's rate. Returns `None` on loopback.
    pub fn floor_ms(&self) -> Option<f64> {
        let link: Link = self.link.parse().ok()?;
        let rate = link.rate_bits_per_s() as f64;
        let bits = 8.0 * self.late_bytes as f64;
        Some(2e3 * link.one_way_delay().as_secs_f64() + 1e3 * bits / rate)
    }
}

/// Measures all functions at all places.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    for place in options.places(&LINKS) {
        for (function, parameters, paper) in FUNCTIONS {
            let workload = Workload::new(function, parameters);
            if !options.wants(&format!("prepared {workload} {}", place.name())) {
                continue;
            }
            let task = Exchanged {
                workload,
                runs: if options.quick { 6 } else { 100 },
                link: place.0.map(|link| link.to_string()),
            };
            let done = both(&task, PartyLink(None), options)?;
            let mut figures = figures(task, place, done)?;
            figures.paper = paper;
            tell(figures.into())?;
        }
    }
    Ok(())
}

fn figures(
    task: Exchanged,
    place: PartyLink,
    done: Both<Report>,
) -> Result<PreparedFigures, Error> {
    let function = task.workload.of_library()?;
    let (garbler, evaluator) = (done.garbler, done.evaluator);
    let offline_s = garbler.offline_s.max(evaluator.offline_s);
    let online = times(&evaluator.runs, |run| run.online_ms);
    let naive = times(&evaluator.naive, |run| run.online_ms);
    let (last, naive_last) = (last(&evaluator.runs)?, last(&evaluator.naive)?);
    Ok(PreparedFigures {
        scheme: SchemeId::HALF_GATES_TWO_CALL.to_string(),
        link: place.name(),
        ands: function.and_gates(),
        calls: function.call_count().into(),
        online_ms: Spread::of(&online),
        online_mean_ms: Mean::of(&online),
        agreed_online_ms: Spread::of(&times(&evaluator.runs, |run| run.whole_ms)),
        cold_ms: evaluator.cold_ms,
        naive_ms: Spread::of(&naive),
        naive_mean_ms: Mean::of(&naive),
        received_bytes: last.whole.garbler_bytes,
        late_bytes: last.online.garbler_bytes,
        sent_bytes: last.whole.evaluator_bytes,
        naive_received_bytes: naive_last.whole.garbler_bytes,
        offline_s,
        offline_instances_per_s: f64::from(function.call_count()) / offline_s,
        offline_bytes: evaluator.offline_bytes,
        paper: None,
        memory: done.memory,
        workload: task.workload,
    })
}

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, role: Role, wire: Wire) -> Result<Report, Error> {
        let function = self.workload.of_library()?;
        function.compile();
        let meeting = Meeting::arrange(wire, role)?;
        let link = self.link.as_deref();
        let mut session = meeting.session(link)?;
        // One run is a warm-up, and one is cold.
        let prepared_runs = self.runs + 2;
        let order = Preparation::new(role).scheme(SchemeId::HALF_GATES_TWO_CALL);
        let order = order.enough_for(&function, prepared_runs)?;
        let prepared = order.run(&mut session, &meeting.stocks)?;
        let from_stock = || job(&function, role).prepared(&meeting.stocks);
        let runs = timed(&mut session, self.runs + 1, from_stock)?;
        let naive = timed(&mut session, self.runs + 1, || job(&function, role))?;
        end(session);

        let begun = Instant::now();
        let mut session = meeting.session(link)?;
        from_stock().run(&mut session)?;
        let cold_ms = 1e3 * begun.elapsed().as_secs_f64();
        end(session);
        Ok(Report {
            runs,
            naive,
            cold_ms,
            offline_s: prepared.wall.as_secs_f64() / prepared_runs as f64,
            offline_bytes: prepared.traffic.received.bytes / prepared_runs,
        })
    }
}
