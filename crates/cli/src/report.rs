//! The output of a run, as text and as JSON.
//!
//! JSON is one object with a version. As long as the version stays, fields keep their meaning; new
//! fields may be added.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use tacit::cost::{Cost, FromStock, Phase, PhaseCost};
use tacit::garble::SchemeInfo;
use tacit::protocols::{Protocol, ThreatModel};
use tacit::session::BaseOtSource;
use tacit::{Function, Role, Value};
use tacit_language::TypedFunction;

use crate::args::RunsArgs;
use crate::failure::{Failure, failure};
use crate::output;

/// The version of every JSON object that the command prints.
const JSON_VERSION: u32 = 1;

/// The text in place of the fingerprint for a connection without TLS.
pub(crate) const UNAUTHENTICATED: &str = "anybody (plain loopback, not authenticated)";

/// The description of a run, apart from its results.
pub(crate) struct Setting<'a> {
    pub(crate) function: &'a Function,
    /// The program that the function comes from, if any.
    pub(crate) typed: Option<&'a TypedFunction>,
    pub(crate) role: Role,
    pub(crate) protocol: Protocol,
    /// The bits of statistical security, if the protocol has some.
    pub(crate) security_bits: Option<u8>,
    /// Whether unfinished tries of the peer are counted, so that s holds for all runs together.
    pub(crate) counts_tries: bool,
    pub(crate) scheme: &'static SchemeInfo,
    /// The peer's fingerprint, or nothing if the connection is not authenticated.
    pub(crate) peer: Option<String>,
    /// The peer's name in `tacit.toml`, if the arguments gave it.
    pub(crate) peer_name: Option<&'a str>,
}

impl Setting<'_> {
    /// Returns the text before the results, for people.
    pub(crate) fn text(&self) -> String {
        let peer = match (self.peer_name, &self.peer) {
            (Some(name), Some(peer)) => format!("{name}, {peer}"),
            (None, Some(peer)) => peer.clone(),
            (_, None) => UNAUTHENTICATED.to_owned(),
        };
        let scope = match self.security_bits {
            None => String::new(),
            Some(_) => format!(", {}", self.scope()),
        };
        format!(
            "protocol  {}, {}{scope}\n\
             {}{}role      {}\n\
             peer      {peer}\n",
            self.protocol.name(),
            security(self.protocol.threat_model(), self.security_bits),
            what_runs(self.scheme(), self.function),
            self.program_text(),
            self.role.name(),
        )
    }

    /// Returns the scheme, if the protocol garbles.
    fn scheme(&self) -> Option<&'static SchemeInfo> {
        self.protocol.is_garbled().then_some(self.scheme)
    }

    /// Returns the scope in which s holds.
    fn scope(&self) -> &'static str {
        if self.counts_tries {
            "of all runs with this peer together"
        } else {
            "of this run alone"
        }
    }

    fn program_text(&self) -> String {
        let Some(typed) = self.typed else {
            return String::new();
        };
        let signature = typed.signature();
        let party = signature.party_name(signature.party_of(self.role));
        format!("meaning   {}\nparty     {party}\n", typed.meaning())
    }

    /// Returns the JSON for a program, with the results and, if wanted, the costs.
    pub(crate) fn json(&self, outputs: Json, costs: Option<&[Cost]>) -> Json {
        let of = (self.protocol.name(), self.protocol.threat_model());
        let mut object = run_json(of, self.scheme(), self.function, self.role.name());
        object["peer"] = self.peer.clone().into();
        object["outputs"] = outputs;
        if let Some(typed) = self.typed {
            let signature = typed.signature();
            let party = signature.party_name(signature.party_of(self.role));
            object["party"] = party.into();
            object["function"]["meaning"] = typed.meaning().to_string().into();
        }
        if let Some(bits) = self.security_bits {
            object["statistical_security_bits"] = bits.into();
            object["statistical_security_scope"] = self.scope().into();
        }
        if let Some(costs) = costs {
            object["cost"] = costs_json(costs);
        }
        object
    }
}

/// Returns the scheme, if there is one, and the function of a run, for a person.
pub(crate) fn what_runs(scheme: Option<&SchemeInfo>, function: &Function) -> String {
    let scheme = scheme.map(|scheme| {
        let (assumption, bits) = (scheme.assumption, scheme.security_bits);
        format!(
            "scheme    {}, rests on {assumption} ({bits} bits)\n",
            scheme.id
        )
    });
    format!(
        "{}function  {} {}\n",
        scheme.unwrap_or_default(),
        function.name(),
        function.digest(),
    )
}

/// Returns the JSON fields of every run: the protocol, the threat model, the scheme or null, the
/// function, the role.
pub(crate) fn run_json(
    (protocol, model): (&str, ThreatModel),
    scheme: Option<&SchemeInfo>,
    function: &Function,
    role: &str,
) -> Json {
    json!({
        "protocol": protocol,
        "threat_model": model.to_string(),
        "scheme": scheme.map(|scheme| scheme.id.to_string()),
        "assumption": scheme.map(|scheme| scheme.assumption.to_string()),
        "security_bits": scheme.map(|scheme| scheme.security_bits),
        "function": {
            "name": function.name(),
            "digest": function.digest().to_string(),
        },
        "role": role,
    })
}

/// Returns the failure of a session that another party ended after `done` of the requested runs.
pub(crate) fn session_over(other: &str, all: &str, (done, of): (u64, u32)) -> Failure {
    failure!(
        Network;
        "{other} party ended early, after run {done} of {of}: it asked for fewer runs, or was \
         stopped";
        "give {all} the same --repeat, and run again for the rest"
    )
}

/// Returns the failure that ended repeated runs, for the end of their results. If no run was
/// finished, there are no results, and the failure is the error.
pub(crate) fn ended_early(
    failure: Option<Failure>,
    done: usize,
    asked: &RunsArgs,
) -> Result<Option<Failure>, Failure> {
    match failure {
        Some(failure) if done == 0 => return Err(failure),
        Some(_) if !asked.json => eprintln!("done      {done} of {} runs", asked.repeat),
        _ => {}
    }
    Ok(failure)
}

/// Prints an object, or returns the failure with its fields: a program gets one object.
pub(crate) fn json_with(failure: Option<Failure>, json: Json) -> Result<(), Failure> {
    match (failure, json) {
        (Some(failure), Json::Object(fields)) => Err(failure.with_fields(fields)),
        (_, json) => output::print_json(json),
    }
}

/// Returns a threat model as text, with s if there is one.
pub(crate) fn security(threat_model: ThreatModel, security_bits: Option<u8>) -> String {
    match security_bits {
        None => format!("secure against {threat_model} parties"),
        Some(bits) if threat_model == ThreatModel::MaliciousNonColluding => format!(
            "secure against malicious parties of which no two work together: cheating succeeds \
             with at most 2^-{bits}"
        ),
        Some(bits) => format!(
            "secure against a {threat_model} party: cheating succeeds with at most 2^-{bits}"
        ),
    }
}

/// Returns results as JSON.
pub(crate) fn outputs_json(outputs: &BTreeMap<String, Value>) -> Json {
    let fields = outputs
        .iter()
        .map(|(name, value)| (name.clone(), value.to_json()));
    Json::Object(fields.collect::<Map<_, _>>())
}

/// Returns results as text, one per line.
pub(crate) fn outputs_text(function: &Function, outputs: &BTreeMap<String, Value>) -> String {
    let mut text = String::new();
    // The order of the function's ports tells people more than the alphabet.
    for output in function.outputs() {
        if let Some(value) = outputs.get(&output.port.name) {
            let _ = writeln!(text, "{} = {}", output.port.name, value.to_text());
        }
    }
    text
}

/// Returns the costs of runs as JSON.
pub(crate) fn costs_json(costs: &[Cost]) -> Json {
    json!({
        "runs": costs.iter().map(cost_json).collect::<Vec<_>>(),
        "peak_memory_bytes": costs.last().and_then(|cost| cost.peak_memory_bytes),
    })
}

/// Returns the cost of one run as JSON.
pub(crate) fn cost_json(cost: &Cost) -> Json {
    json!({
        "and_gates": cost.and_gates,
        "and_gates_on_the_spot": cost.and_gates_on_the_spot,
        "ot_extension": cost.ot_extension.map(|extension| extension.to_string()),
        "base_ots": cost.base_ots.map(BaseOtSource::name),
        "from_stock": cost.from_stock.map(FromStock::name),
        "wall_us": micros(cost.wall()),
        "phases": cost.phases.iter().map(phase_json).collect::<Vec<_>>(),
    })
}

fn phase_json(phase: &PhaseCost) -> Json {
    let traffic = &phase.traffic;
    json!({
        "phase": phase.phase.name(),
        "wall_us": micros(phase.wall),
        "waiting_us": micros(traffic.waiting),
        "bytes_sent": traffic.sent.bytes,
        "bytes_received": traffic.received.bytes,
        "wire_bytes_sent": traffic.sent.wire_bytes,
        "wire_bytes_received": traffic.received.wire_bytes,
        "messages_sent": traffic.sent.frames,
        "messages_received": traffic.received.frames,
        "rounds": traffic.rounds,
    })
}

pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Returns the costs of repeated runs as text: the parts of the first run, then the spread of all
/// runs.
pub(crate) fn costs_text(costs: &[Cost]) -> String {
    let Some(first) = costs.first() else {
        return String::new();
    };
    let mut text = String::new();
    if costs.len() > 1 {
        let _ = writeln!(text, "the first of {} runs:", costs.len());
    }
    let _ = writeln!(text, "{first}");
    if costs.len() > 1 {
        let runs: Vec<_> = costs.iter().map(run_wall).collect();
        let _ = writeln!(text, "{} runs, setup apart: {}", runs.len(), spread(runs));
        let online: Vec<_> = costs.iter().filter_map(online_wall).collect();
        if !online.is_empty() {
            let _ = writeln!(text, "of that the phase run: {}", spread(online));
        }
    }
    text
}

/// Returns the fastest, median and slowest of `times`, of which there is at least one.
fn spread(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    format!(
        "fastest {:.2} ms, median {:.2} ms, slowest {:.2} ms",
        ms(times[0]),
        ms(times[times.len() / 2]),
        ms(times[times.len() - 1]),
    )
}

/// Returns the wall time of the online stage of a run from the stock.
fn online_wall(cost: &Cost) -> Option<Duration> {
    let phases = &cost.phases;
    let prepared = phases.iter().any(|one| one.phase == Phase::Preparation);
    let online = phases.iter().find(|one| one.phase == Phase::Run);
    online.filter(|_| prepared).map(|one| one.wall)
}

/// Returns bytes as text, to three figures with a suitable unit.
pub(crate) fn shown_bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let (mut number, mut unit) = (bytes as f64 / 1024.0, 0);
    while number >= 1023.5 && unit + 1 < UNITS.len() {
        (number, unit) = (number / 1024.0, unit + 1);
    }
    let places = usize::from(number < 99.95 && number.fract() != 0.0);
    format!("{number:.places$} {}", UNITS[unit])
}

/// Returns the wall time of a run without the setup, which only the first run of a session has.
fn run_wall(cost: &Cost) -> Duration {
    let phases = cost
        .phases
        .iter()
        .filter(|phase| phase.phase != Phase::Setup);
    phases.map(|phase| phase.wall).sum()
}

/// Returns an object, with the version of the command's JSON, as text with a line break at the end.
/// It is indented on a terminal and otherwise one line, so that a file with appended objects has
/// one on each line.
pub(crate) fn json_text(mut object: Json) -> String {
    object["version"] = JSON_VERSION.into();
    if std::io::stdout().is_terminal() {
        format!("{object:#}\n")
    } else {
        format!("{object}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_unit_that_suits_them() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (150 << 10, "150 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (20 << 30, "20 GiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(shown_bytes(bytes), text);
        }
    }
}
