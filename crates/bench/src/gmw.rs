//! Functions by `gmw` next to `direct`, over each kind of OT. Then its parts alone: rows evaluated
//! in memory, and crosses made.
//!
//! The programs are compiled in the form for each protocol. A run takes place in an open session:
//! it makes its own OTs, and the base OTs are *setup*.

mod crosses;
mod rows;

use serde::{Deserialize, Serialize};
use tacit::Role;
use tacit::protocols::Protocol;
use tacit::session::OtExtension;

pub use crosses::CrossFigures;
pub use rows::RowFigures;

use crate::direct::{Report, in_the_clear, measured_runs};
use crate::meeting::job_by;
use crate::parties::{Both, Exchange, Memory, PartyLink, Wire, both};
use crate::record::{Traffic, slower_ms};
use crate::spread::Spread;
use crate::table::{Column, Row, kilobytes, mebibytes, number, short, text};
use crate::workload::{Case, Workload};
use crate::{Error, Options, Tell};

/// A function by `gmw`, or by `direct` next to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GmwFigures {
    /// The function.
    #[serde(flatten)]
    pub workload: Workload,
    /// The protocol: `gmw` or `direct`.
    pub protocol: String,
    /// The OT extension.
    pub extension: String,
    /// `loopback`, or the link.
    pub link: String,
    /// AND gates in the form for the protocol.
    pub ands: u64,
    /// The layers of AND gates, each of which waits for a message; 0 by `direct`.
    pub layers: u32,
    /// The time of the base OTs, which a session does once.
    pub setup_ms: Spread,
    /// The time of a run, agreement included.
    pub run_ms: Spread,
    /// Its bytes and rounds.
    pub run_traffic: Traffic,
    /// The bits on the link, both ways, for each AND gate, over all runs: silent OT makes whole
    /// batches, so that runs differ.
    pub bits_per_and: f64,
    /// The time for each AND gate, from the median.
    pub and_ns: f64,
    /// Peak memory of each party.
    pub memory: Memory,
}

impl Row for GmwFigures {
    const TITLE: &'static str = "Functions under gmw and direct, semi-honest, in the clear on \
                                 loopback; setup once a session";
    const COLUMNS: &'static [Column<Self>] = &[
        text("function", 24, |of| of.workload.to_string()),
        text("protocol", 8, |of| of.protocol.clone()),
        text("OTs", 12, |of| of.extension.clone()),
        text("link", 12, |of| of.link.clone()),
        number("AND", 9, |of| of.ands.to_string()),
        number("layers", 6, |of| of.layers.to_string()),
        number("setup ms", 8, |of| short(of.setup_ms.median)),
        number("run ms", 8, |of| short(of.run_ms.median)),
        number("± %", 5, |of| of.run_ms.deviation_text()),
        number("ns/AND", 7, |of| short(of.and_ns)),
        number("bits/AND", 8, |of| short(of.bits_per_and)),
        number("KB", 9, |of| kilobytes(of.run_traffic.bytes())),
        number("rounds", 6, |of| of.run_traffic.rounds.to_string()),
        number("MiB g", 5, |of| mebibytes(of.memory.garbler_bytes)),
        number("MiB e", 5, |of| mebibytes(of.memory.evaluator_bytes)),
    ];
}

/// The links of `tacit plan`: a local one, and two wide ones.
const LINKS: [&str; 3] = ["250us,1gbit", "10ms,100mbit", "33ms,50mbit"];

/// The sort whose curve `--only "gmw sort-curve"` measures, and its numbers.
const CURVE: &str = "sort-curve";
const CURVE_SIZES: [u64; 6] = [1 << 12, 1 << 14, 1 << 16, 1 << 17, 1 << 18, 1 << 20];

/// The functions, starting with those of a first look.
const FUNCTIONS: [Case; 4] = [
    ("aes-128-calls", &[("calls", 160)]),
    ("shared-ands", &[("n", 65_536)]),
    ("sort-program", &[("n", 1024)]),
    ("psi-sum", &[("n", 10_000)]),
];
const QUICK_FUNCTIONS: usize = 1;

/// The task of the parties: this many runs over one session, after a warm-up run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    workload: Workload,
    /// The protocol's name.
    protocol: String,
    /// The OT extension's name.
    extension: String,
    runs: usize,
}

/// Measures rows, crosses, and all functions at all places.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    rows::run(options, tell)?;
    crosses::run(options, tell)?;
    let count = if options.quick && options.only.is_empty() {
        QUICK_FUNCTIONS
    } else {
        FUNCTIONS.len()
    };
    let functions = FUNCTIONS.into_iter().take(count);
    let functions = functions.map(|(name, given)| Workload::new(name, given));
    // A curve takes minutes, so it is measured only if it is named.
    let sizes = CURVE_SIZES.iter().filter(|_| !options.only.is_empty());
    let curve = sizes.map(|size| Workload::new(CURVE, &[("n", *size)]));
    let functions: Vec<_> = functions.chain(curve).collect();
    for place in options.places(&LINKS) {
        for workload in &functions {
            for (protocol, extension) in ways() {
                let is_curve = workload.function == CURVE;
                let place_name = place.name();
                let name = format!(
                    "gmw {workload} {} {extension} {place_name}",
                    protocol.name()
                );
                if !options.wants(&name) || (is_curve && protocol != Protocol::Gmw) {
                    continue;
                }
                let task = Exchanged {
                    workload: workload.clone(),
                    protocol: protocol.name().to_owned(),
                    extension: extension.to_string(),
                    runs: match (is_curve, options.quick) {
                        (true, _) => 1,
                        (false, true) => 3,
                        (false, false) => 9,
                    },
                };
                let compiled = workload.by(protocol)?;
                let layers = match protocol {
                    Protocol::Gmw => compiled
                        .schedule()
                        .map_err(tacit::Error::from)?
                        .step_count(),
                    _ => 0,
                };
                let counts = (compiled.and_gates(), layers);
                if too_slow(place, protocol, counts) {
                    continue;
                }
                let done = both(&task, place, options)?;
                tell(figures(task, counts, place, done).into())?;
            }
        }
    }
    Ok(())
}

/// Returns `gmw` with each kind of OT, then `direct`.
fn ways() -> impl Iterator<Item = (Protocol, OtExtension)> {
    let by_shares = extensions().map(|extension| (Protocol::Gmw, extension));
    by_shares.chain([(Protocol::Direct, OtExtension::default())])
}

/// Returns the measured kinds of OT.
fn extensions() -> impl Iterator<Item = OtExtension> {
    let names = ["silent", "softspoken-8", "softspoken-4", "softspoken-2"];
    names.into_iter().filter_map(OtExtension::from_name)
}

/// Returns whether bytes or layers take too long over a link to be worth the wait.
fn too_slow(place: PartyLink, protocol: Protocol, (ands, layers): (u64, u32)) -> bool {
    const MOST_SECONDS: u64 = 20;
    let Some(link) = place.0 else { return false };
    let bits = if protocol == Protocol::Direct { 256 } else { 6 };
    let waiting = link.one_way_delay() * layers;
    ands * bits > MOST_SECONDS * link.rate_bits_per_s() || waiting.as_secs() > MOST_SECONDS
}

fn figures(
    task: Exchanged,
    (ands, layers): (u64, u32),
    place: PartyLink,
    done: Both<Report>,
) -> GmwFigures {
    let setup_s = done.garbler.setup.seconds.max(done.evaluator.setup.seconds);
    let runs = done.map(|report| report.runs.clone());
    let run_ms = Spread::of(&slower_ms(&runs));
    let run_traffic = Traffic::of(&runs.garbler[0], &runs.evaluator[0]);
    let steps = runs.garbler.iter().chain(&runs.evaluator);
    let sent_bytes: u64 = steps.map(|step| step.sent_bytes).sum();
    GmwFigures {
        workload: task.workload,
        protocol: task.protocol,
        extension: task.extension,
        link: place.name(),
        ands,
        layers,
        setup_ms: Spread::of(&[1e3 * setup_s]),
        bits_per_and: 8.0 * sent_bytes as f64 / (ands * runs.garbler.len() as u64) as f64,
        and_ns: 1e6 * run_ms.median / ands as f64,
        run_ms,
        run_traffic,
        memory: done.memory,
    }
}

impl Exchanged {
    fn by(&self) -> Result<Protocol, Error> {
        let unknown = |_| tacit::Error::ApiMisuse("a protocol's own name");
        Ok(self.protocol.parse().map_err(unknown)?)
    }
}

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, role: Role, wire: Wire) -> Result<Report, Error> {
        let protocol = self.by()?;
        let function = self.workload.by(protocol)?;
        function.compile();
        let (mut session, mut control) = in_the_clear(wire, role)?;
        let extension = OtExtension::from_name(&self.extension);
        session.set_ot_extension(extension.unwrap_or_default())?;
        measured_runs(&mut session, &mut control, self.runs, || {
            job_by(&function, role, protocol)
        })
    }
}
