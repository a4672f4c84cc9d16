//! The audit log: a file with a line of JSON for the beginning and one for the end of each run that
//! a peer makes. Lines contain names, sizes, times and digests, and never a value.
//!
//! The first line is written before the run, so nothing that depends on this party's inputs leaves
//! without it. If it cannot be written, the run is refused.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value as Json, json};
use tacit::cost::Cost;
use tacit::session::AbortReason;
use tacit::{Category, Error};

use crate::event::Event;
use crate::inputs::RunRequest;
use crate::lines::{Durable, LineFile};
use crate::service::Seat;
use crate::visit::{RunNames, Turn};

/// The end of a run.
pub(crate) enum RunEnd<'a> {
    /// It ended well, with this traffic in bytes, sent and received.
    Done(&'a Cost, [u64; 2]),
    Failed(&'a Error),
    /// The peer left, or asked for something else.
    NotBegun,
}

/// An audit log. The file is made with access for its owner alone, and opened anew for each line,
/// so that it can be renamed away at any time.
pub struct Audit {
    file: LineFile,
    durable: Durable,
}

impl Audit {
    /// Makes an audit log at the end of the file at `path`. If `is_durable`, each line is on the
    /// disk before the run goes on.
    #[must_use]
    pub fn new(path: PathBuf, is_durable: bool) -> Self {
        let (file, durable) = if is_durable {
            (LineFile::new(path), Durable::Now)
        } else {
            (LineFile::new(path), Durable::Later)
        };
        Self { file, durable }
    }

    /// Checks that lines could be written, as far as possible without writing.
    ///
    /// # Errors
    ///
    /// The problem.
    pub fn check(&self) -> Result<(), String> {
        self.file.check()
    }

    /// Writes that the run begins, with these fields.
    fn begun(&self, seat: &Seat, names: RunNames<'_>, fields: Json) -> Result<(), String> {
        let mut all = json!({
            "peer": seat.peer_name,
            "fingerprint": seat.peer.to_string(),
            "offer": names.offer,
            "protocol": names.protocol.to_string(),
        });
        extend(&mut all, fields);
        self.write(names, "begun", all)
    }

    /// Writes that the run has ended.
    fn ended(&self, names: RunNames<'_>, end: &RunEnd<'_>) -> Result<(), String> {
        self.write(
            names,
            "ended",
            match end {
                RunEnd::Done(cost, [sent, received]) => json!({
                    "outcome": "done",
                    "milliseconds": shown_ms(cost.wall()),
                    "bytes_sent": sent,
                    "bytes_received": received,
                }),
                RunEnd::Failed(error) => json!({
                    "outcome": "failed",
                    "because_of": because_of(error.category()),
                }),
                RunEnd::NotBegun => json!({ "outcome": "failed", "because_of": "the peer" }),
            },
        )
    }

    fn write(&self, names: RunNames<'_>, event: &str, fields: Json) -> Result<(), String> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut line = json!({
            "version": 1,
            "time": time.map_or(0.0, |time| time.as_millis() as f64 / 1e3),
            "event": event,
            "run": names.shown(),
        });
        extend(&mut line, fields);
        self.file
            .append(format!("{line}\n").as_bytes(), self.durable)
    }
}

/// Returns a time in milliseconds, rounded to a tenth of one.
pub(crate) fn shown_ms(time: Duration) -> f64 {
    (1e4 * time.as_secs_f64()).round() / 10.0
}

/// Returns the party or thing that caused a failure. The reason itself is in the log.
fn because_of(category: Category) -> &'static str {
    match category {
        Category::Peer | Category::Incompatible => "the peer",
        Category::Network => "the network",
        Category::Cancelled => "the stop of the service",
        _ => "this party",
    }
}

/// Adds fields to a JSON object.
fn extend(object: &mut Json, fields: Json) {
    if let (Some(object), Json::Object(fields)) = (object.as_object_mut(), fields) {
        object.extend(fields);
    }
}

/// Writes that a run of a function begins, if there is an audit log. Returns the refusal if that is
/// impossible: no run may be missing there.
pub(crate) fn begun(seat: &Seat, about: &RunRequest<'_>) -> Option<Turn> {
    let function = about.function;
    let params = function.parameters().iter();
    let params: Map<String, Json> = params
        .map(|(name, value)| (name.clone(), (*value).into()))
        .collect();
    let (own, peer) = (about.role, about.role.other());
    let fields = json!({
        "function": function.name(),
        "params": params,
        "digest": function.digest().to_string(),
        "role": own.name(),
        "and_gates": function.and_gates(),
        "input_bits": { "own": function.input_bits(own), "peer": function.input_bits(peer) },
        "output_bits": { "own": function.output_bits(own), "peer": function.output_bits(peer) },
    });
    begins(seat, RunNames::of(about), fields)
}

/// Writes that a run begins which matches a table with the peer's, in the same way. It can tell the
/// peer about this many keys.
pub(crate) fn begun_tables(seat: &Seat, names: RunNames<'_>, keys: u64) -> Option<Turn> {
    begins(seat, names, json!({ "keys": keys }))
}

fn begins(seat: &Seat, names: RunNames<'_>, fields: Json) -> Option<Turn> {
    let shared = seat.shared();
    let policy = shared.policy();
    let reason = policy.audit()?.begun(seat, names, fields).err()?;
    let protocol = names.protocol.to_string();
    shared.metrics.run_failed(names.offer, &protocol);
    failed(seat, names, reason);
    Some(Turn::Refuse(AbortReason::Failed, "no audit".to_owned()))
}

/// Writes that the run has ended, if there is an audit log.
pub(crate) fn ended(seat: &Seat, names: RunNames<'_>, end: &RunEnd<'_>) {
    let policy = seat.shared().policy();
    let written = policy.audit().map(|audit| audit.ended(names, end));
    if let Some(Err(reason)) = written {
        failed(seat, names, reason);
    }
}

fn failed(seat: &Seat, names: RunNames<'_>, reason: String) {
    let shared = seat.shared();
    shared.metrics.audit_failed();
    let run = names.shown();
    shared.tell(&Event::AuditFailed { reason, run });
}
