//! The cost of a run: time, bytes, rounds and memory.

use core::fmt;
use std::time::Duration;

use tacit_function::Function;
use tacit_net::Meter;
use tacit_protocol::gmw;
use web_time::Instant;

use crate::session::OtExtension;
use crate::{Error, Session};

pub use crate::estimate::TimeEstimate;

/// Returns the name of the instructions by which this machine computes AES, such as `vaes-512`. It
/// is `portable` if the machine has none that Tacit knows.
pub fn aes_backend() -> String {
    tacit_kernels::Cpu::detect().backend().to_string()
}

/// A part of a run whose cost is measured separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Agreement on the function.
    Agreement,
    /// The matching stage of a join, including its base OTs.
    Match,
    /// Base OTs, made once for a session and role.
    Setup,
    /// OTs that are made ahead of the runs that use them, if the extension does that.
    Refill,
    /// The work of a run from the stock that does not depend on inputs: the meeting of the stocks
    /// and the leases. Under `prepared` also making what the stock lacks and, at the evaluator, the
    /// links that its inputs do not decide. Under `batch` also making the execution again from its
    /// seeds, or reading it.
    Preparation,
    /// OT extension, garbling or evaluating, and the results. In a run from the stock, the online
    /// stage.
    Run,
}

impl Phase {
    /// Returns the phase's name in cost tables and JSON.
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

/// The cost of one phase.
#[derive(Clone, Debug)]
pub struct PhaseCost {
    /// The phase.
    pub phase: Phase,
    /// Wall time.
    pub wall: Duration,
    /// Bytes, messages and rounds.
    pub traffic: Meter,
}

/// The start of a phase.
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

    /// Returns the cost since the start.
    pub(crate) fn stop(&self, phase: Phase, session: &Session) -> PhaseCost {
        self.until(phase, &Self::start(session))
    }

    /// Returns the cost of a preparation that started here, and of the run since `online`.
    pub(crate) fn stop_online(&self, online: &Self, session: &Session) -> Vec<PhaseCost> {
        vec![
            self.until(Phase::Preparation, online),
            online.stop(Phase::Run, session),
        ]
    }

    /// Returns the cost up to `end`.
    fn until(&self, phase: Phase, end: &Self) -> PhaseCost {
        PhaseCost {
            phase,
            wall: end.begun - self.begun,
            traffic: end.carried - self.carried,
        }
    }
}

/// The cost of a run on this side.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The phases, in order.
    pub phases: Vec<PhaseCost>,
    /// The number of AND gates of the function. Zero at the evaluator of `outsourced`, which does
    /// not process them.
    pub and_gates: u64,
    /// The number of AND gates that were garbled during the run because the stock had too few,
    /// although the protocol takes them from the stock.
    pub and_gates_on_the_spot: u64,
    /// The extension that made the OTs of the run, if they did not come from the stock.
    pub ot_extension: Option<OtExtension>,
    /// The material that a run by `authenticated` or `gmw` took from the stock, if any.
    pub from_stock: Option<FromStock>,
    /// The source of the base OTs, in a run for which the session had none before. `None` under
    /// `outsourced`.
    pub base_ots: Option<BaseOtSource>,
    /// Peak memory of this process so far, in bytes, if the system reports it.
    pub peak_memory_bytes: Option<u64>,
}

/// The source of the base OTs of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BaseOtSource {
    /// The session made them.
    Fresh,
    /// The chain of kept values holds them.
    Kept,
}

impl BaseOtSource {
    /// Returns the source's name in JSON: `fresh` or `kept`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Kept => "kept",
        }
    }
}

/// The material that a run by `authenticated` or `gmw` takes from the stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromStock {
    /// Triples, with which the parties garble the function.
    Triples,
    /// Instances of the function's components, which the parties link.
    Instances,
    /// Crosses of `gmw`.
    Crosses,
}

impl FromStock {
    /// Returns the name for use by programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Triples => "triples",
            Self::Instances => "instances",
            Self::Crosses => "crosses",
        }
    }
}

impl Cost {
    /// Returns the wall time of all phases.
    pub fn wall(&self) -> Duration {
        self.phases.iter().map(|phase| phase.wall).sum()
    }
}

/// Returns an upper bound on the memory, in bytes, that a party of `gmw` uses for a run of
/// `function`. It leaves out the OTs and the function itself.
///
/// # Errors
///
/// `gmw` cannot run it.
pub fn gmw_memory_bytes(function: &Function) -> Result<u64, Error> {
    gmw::check(function)?;
    Ok(gmw::memory_bytes(&function.schedule()?))
}

/// Returns the bytes that both parties send together in a run of `function` by `gmw` that takes its
/// crosses from stock, from the first layer to the results.
///
/// # Errors
///
/// `gmw` cannot run it.
pub fn gmw_bytes_from_stock(function: &Function) -> Result<u64, Error> {
    let outline = gmw::outline(function, &function.schedule()?, None)?;
    Ok(outline.bytes().iter().sum())
}

/// Returns the peak memory of this process so far, in bytes, if the system reports it.
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
        // The evaluator of `outsourced` does not process AND gates.
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
