//! Functions by `gmw` next to `direct`, over each kind of OT. Then its parts alone: rows evaluated
//! in memory, and crosses made.
//!
//! The programs are compiled in the form for each protocol. A run takes place in an open session:
//! it makes its own OTs, and the base OTs are *setup*.

mod crosses;
mod rows;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tacit::circuit::Component;
use tacit::protocols::Protocol;
use tacit::session::OtExtension;
use tacit::{Function, FunctionBuilder, Part, Recipient, Role};
use tacit_components::library;
use tacit_language::lower::NoCircuitFiles;
use tacit_language::{Loaded, NoFiles, Signature, TypedFunction};

pub use crosses::CrossFigures;
pub use rows::RowFigures;

use crate::direct::{Report, in_the_clear, measured_runs};
use crate::meeting::job;
use crate::parties::{Both, Exchange, Memory, PartyLink, Wire, both};
use crate::record::{Traffic, slower_ms};
use crate::spread::Spread;
use crate::table::{Column, Row, kilobytes, mebibytes, number, short, text};
use crate::workload::Workload;
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
    /// The bits on the link, both ways, for each AND gate.
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

const SORT: &str = "parties alice, bob;
use std::order::sort;
param N: 2..=65_536 = 1024;
main(a: [u32; N] of alice, mask: [u32; N] of bob) -> (sorted: [u32; N] to both) {
    sort([for i in 0..N { a[i] ^ mask[i] }])
}
";

/// Half of the numbers are of either party, so that no gate stands before the sort.
const CURVE: &str = "parties alice, bob;
use std::order::sort;
param N: 2..=524_288 = 512;
main(a: [u32; N] of alice, b: [u32; N] of bob) -> (sorted: [u32; 2 * N] to both) {
    sort([for i in 0..2 * N { if i < N { a[i] } else { b[i - N] } }])
}
";

/// The numbers of a sort whose curve `--only \"gmw sort-curve\"` measures.
const CURVE_SIZES: [u64; 6] = [1 << 12, 1 << 14, 1 << 16, 1 << 17, 1 << 18, 1 << 20];

const INTERSECT: &str = "parties alice, bob;
use std::psi::count_and_sum;
param N: 2..=65_536 = 10_000;
main(a: [u32; N] of alice sorted, b: [u32; N] of bob sorted, amounts: [u32; N] of bob)
    -> (count: u<bits(N)> to both, total: u<32 + bits(N)> to both) {
    count_and_sum(a, b, amounts)
}
";

/// The functions and their sizes, starting with those of a first look.
const FUNCTIONS: [(&str, &str, u64); 3] = [
    ("aes-128-calls", "calls", 160),
    ("sort-program", "n", 1024),
    ("psi-sum", "n", 10_000),
];
const QUICK_FUNCTIONS: usize = 1;

/// The task of the parties: this many runs over one session, after a warm-up run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    function: String,
    size: u64,
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
    // A curve takes minutes, so it is measured only if it is named.
    let sizes = CURVE_SIZES.iter().filter(|_| !options.only.is_empty());
    let curve = sizes.map(|size| ("sort-curve", "n", *size));
    let functions: Vec<_> = functions.chain(curve).collect();
    for place in options.places(&LINKS) {
        for &(function, parameter, size) in &functions {
            for (protocol, extension) in ways() {
                let is_curve = function == "sort-curve";
                let name = format!(
                    "gmw {function} {}{} {extension} {}",
                    if is_curve {
                        format!("{size} ")
                    } else {
                        String::new()
                    },
                    protocol.name(),
                    place.name()
                );
                if !options.wants(&name) || (is_curve && protocol != Protocol::Gmw) {
                    continue;
                }
                let task = Exchanged {
                    function: function.to_owned(),
                    size,
                    protocol: protocol.name().to_owned(),
                    extension: extension.to_string(),
                    runs: match (is_curve, options.quick) {
                        (true, _) => 1,
                        (false, true) => 3,
                        (false, false) => 9,
                    },
                };
                let compiled = task.function()?;
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
                tell(figures(task, parameter, counts, place, done).into())?;
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
    parameter: &str,
    (ands, layers): (u64, u32),
    place: PartyLink,
    done: Both<Report>,
) -> GmwFigures {
    let setup_s = done.garbler.setup.seconds.max(done.evaluator.setup.seconds);
    let runs = done.map(|report| report.runs.clone());
    let run_ms = Spread::of(&slower_ms(&runs));
    let run_traffic = Traffic::of(&runs.garbler[0], &runs.evaluator[0]);
    GmwFigures {
        workload: Workload::new(&task.function, &[(parameter, task.size)]),
        protocol: task.protocol,
        extension: task.extension,
        link: place.name(),
        ands,
        layers,
        setup_ms: Spread::of(&[1e3 * setup_s]),
        bits_per_and: 8.0 * run_traffic.bytes() as f64 / ands as f64,
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

    fn function(&self) -> Result<Function, Error> {
        let form = self.by()?.circuit_form();
        let text = match self.function.as_str() {
            "sort-program" => SORT,
            "psi-sum" => INTERSECT,
            "sort-curve" => CURVE,
            _ => return calls_of_aes(self.size),
        };
        let wrong = |_| tacit::Error::ApiMisuse("a program of this suite");
        let loaded = Loaded::new(&self.function, text, &NoFiles);
        let size = match self.function.as_str() {
            "sort-curve" => self.size / 2,
            _ => self.size,
        };
        let params = [("N".to_owned(), size.into())];
        let signature = Signature::new(&loaded, &params.into(), Some("main")).map_err(wrong)?;
        let typed = TypedFunction::new(
            signature.in_form(form),
            &self.function,
            &BTreeMap::new(),
            &NoCircuitFiles,
        );
        Ok(typed.map_err(wrong)?.function().clone())
    }
}

/// Returns a function of this many calls of AES-128 that do not depend on each other.
fn calls_of_aes(calls: u64) -> Result<Function, Error> {
    let circuit = library::find("aes-128", &BTreeMap::new()).map_err(tacit::Error::from)?;
    let blocks = format!("bytes[16][{calls}]");
    let mut builder = FunctionBuilder::new("aes-128-calls");
    builder
        .component("aes", Component::new("aes-128", circuit))
        .input("key", "bytes[16]", Role::Garbler)
        .input("block", &blocks, Role::Evaluator)
        .value("found", &blocks)
        .repeat("i", 0, calls, |each, i| {
            each.call(
                [Part::of("found").at(i)],
                "aes",
                [Part::of("key"), Part::of("block").at(i)],
            );
        })
        .output("ciphertext", &blocks, Recipient::Evaluator, "found");
    Ok(builder.finish().map_err(tacit::Error::from)?)
}

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, role: Role, wire: Wire) -> Result<Report, Error> {
        let (function, protocol) = (self.function()?, self.by()?);
        function.compile();
        let (mut session, mut control) = in_the_clear(wire, role)?;
        let extension = OtExtension::from_name(&self.extension);
        session.set_ot_extension(extension.unwrap_or_default())?;
        measured_runs(&mut session, &mut control, self.runs, || {
            Ok(job(&function, role).by(protocol, None)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses small sizes: the programs compile in both forms.
    #[test]
    fn every_function_compiles_in_both_forms() {
        let functions = FUNCTIONS.map(|(function, ..)| function);
        for function in functions.into_iter().chain(["sort-curve"]) {
            let compiled = [Protocol::Gmw, Protocol::Direct].map(|protocol| {
                let task = Exchanged {
                    function: function.to_owned(),
                    size: 8,
                    protocol: protocol.name().to_owned(),
                    extension: "silent".to_owned(),
                    runs: 1,
                };
                task.function().expect("a function")
            });
            assert!(compiled[0].schedule().is_ok(), "{function}");
            assert!(
                compiled[0].and_gates() >= compiled[1].and_gates(),
                "{function}"
            );
        }
    }
}
