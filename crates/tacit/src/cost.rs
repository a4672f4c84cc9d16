//! What a run took: time, bytes, rounds, memory.

use core::fmt;
use std::time::Duration;

use tacit_function::Function;
use tacit_net::Meter;
use tacit_protocol::gmw;
use web_time::Instant;

use crate::session::OtExtension;
use crate::{Error, Session};

pub use crate::estimate::TimeEstimate;

/// The instructions by which this machine computes AES, such as `vaes-512`; `portable` if it has
/// none that Tacit knows.
#[must_use]
pub fn aes_backend() -> String {
    tacit_kernels::Cpu::detect().backend().to_string()
}

/// A part of a run that is timed apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Agreement on the function.
    Agreement,
    /// The stage of a join, with base OTs of its own.
    Match,
    /// Base OTs, once a session and role.
    Setup,
    /// OTs that are made before the runs that take them, where the extension has that.
    Refill,
    /// What a run from the stock does before inputs matter: meeting of the stocks and leases; under
    /// `prepared` what the stock lacks, and at the evaluator the links that its inputs do not
    /// decide; under `batch` the execution made again from its seeds, or read.
    Preparation,
    /// OT extension, garbling or evaluating, and the results; from the stock the online stage.
    Run,
}

impl Phase {
    /// The phase's name, as cost tables and JSON have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agreement => "agree",
            Self::Match => "match",
            Self::Setup => "setup",
            Self::Refill => "refill",
            Self::Preparation => "prepare",
            Self::Run => "run",
        }
    }
}

/// What one phase took.
#[derive(Clone, Debug)]
pub struct PhaseCost {
    /// The phase.
    pub phase: Phase,
    /// Wall time.
    pub wall: Duration,
    /// Bytes, messages and rounds.
    pub traffic: Meter,
}

/// The beginning of a phase.
pub(crate) struct Clock {
    begun: Instant,
    carried: Meter,
}

impl Clock {
    pub(crate) fn start(session: &Session) -> Self {
        Self {
            begun: Instant::now(),
            carried: session.traffic(),
        }
    }

    /// What has passed since.
    pub(crate) fn stop(&self, phase: Phase, session: &Session) -> PhaseCost {
        self.until(phase, &Self::start(session))
    }

    /// What passed until `end`.
    pub(crate) fn until(&self, phase: Phase, end: &Self) -> PhaseCost {
        PhaseCost {
            phase,
            wall: end.begun - self.begun,
            traffic: end.carried - self.carried,
        }
    }
}

/// What a run took on this side.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The phases, in order.
    pub phases: Vec<PhaseCost>,
    /// AND gates of the function; none at the evaluator of `outsourced`, which has no part in them.
    pub and_gates: u64,
    /// AND gates that were garbled in the run although its protocol takes them from the stock,
    /// since the stock had too little.
    pub and_gates_on_the_spot: u64,
    /// How the OTs of the run were made, where it was not the stock that had them.
    pub ot_extension: Option<OtExtension>,
    /// What a run by `authenticated` or `gmw` took from the stock, if anything.
    pub from_stock: Option<FromStock>,
    /// Where the base OTs come from, in a run before which the session had none for it; nothing
    /// under `outsourced`.
    pub base_ots: Option<BaseOtSource>,
    /// Peak memory of this process so far, in bytes, where the system tells it.
    pub peak_memory_bytes: Option<u64>,
}

/// Where the base OTs of a run come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BaseOtSource {
    /// They were made in the session.
    Fresh,
    /// The chain of kept values has them.
    Kept,
}

impl BaseOtSource {
    /// Its name in JSON: `fresh` or `kept`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Kept => "kept",
        }
    }
}

/// What a run by `authenticated` or `gmw` takes from the stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromStock {
    /// Triples, by which it garbles the function.
    Triples,
    /// Instances of the function's components, which it links.
    Instances,
    /// Crosses of `gmw`.
    Crosses,
}

impl FromStock {
    /// Its name, for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Triples => "triples",
            Self::Instances => "instances",
            Self::Crosses => "crosses",
        }
    }
}

impl Cost {
    /// Wall time of all phases.
    #[must_use]
    pub fn wall(&self) -> Duration {
        self.phases.iter().map(|phase| phase.wall).sum()
    }
}

/// Bytes that a party of `gmw` takes at most for a run of `function`, but for its OTs and the
/// function itself.
///
/// # Errors
///
/// `gmw` cannot run it.
pub fn gmw_memory_bytes(function: &Function) -> Result<u64, Error> {
    gmw::check(function)?;
    Ok(gmw::memory_bytes(&function.schedule()?))
}

/// The most memory that this process has held so far, in bytes, where the system tells it.
#[must_use]
pub fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<7} {:>10} {:>12} {:>14} {:>7}",
            "phase", "time", "bytes sent", "bytes received", "rounds"
        )?;
        for phase in &self.phases {
            writeln!(
                f,
                "{:<7} {:>7.1} ms {:>12} {:>14} {:>7}",
                phase.phase.name(),
                phase.wall.as_secs_f64() * 1e3,
                phase.traffic.sent.bytes,
                phase.traffic.received.bytes,
                phase.traffic.rounds,
            )?;
        }
        let mut parts = Vec::new();
        // The evaluator of `outsourced` has no part in them.
        if self.and_gates > 0 {
            parts.push(format!("{} AND gates", self.and_gates));
        }
        if self.and_gates_on_the_spot > 0 {
            let missing = self.and_gates_on_the_spot;
            parts.push(format!("{missing} of them garbled on the spot"));
        }
        if let Some(extension) = self.ot_extension {
            parts.push(format!("OTs by {extension}"));
        }
        if self.base_ots == Some(BaseOtSource::Kept) {
            parts.push("base OTs from an earlier session".to_owned());
        }
        if let Some(bytes) = self.peak_memory_bytes {
            let mib = bytes as f64 / f64::from(1 << 20);
            parts.push(format!("peak memory {mib:.1} MiB"));
        }
        f.write_str(&parts.join(", "))
    }
}
