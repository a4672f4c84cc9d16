//! A function by `gmw`: on XOR shares, with one message each way per step.
//!
//! Steps, messages and bytes are exact ([`tacit_protocol::gmw::outline`]), for a session that has
//! its base OTs but no OTs yet. The work on rows is measured on shares of zeros for a millisecond
//! or two. The work on OTs follows from the times that [`tacit_ot`] gives for an extension.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tacit_function::{Function, Role, Schedule};
use tacit_garble::Assumption;
use tacit_ot::Security;
use tacit_ot::source::Choice;
use tacit_protocol::gmw::rows::{CrossMasks, CrossOts, OpenedBits, Rows};
use tacit_protocol::gmw::{self, Outline};

use super::alternative::seconds;
use super::course::MeasuredLink;
use super::{Alternative, InStock, Need, Offline, PlannedTimes, PlannedTraffic};
use crate::Error;
use crate::protocols::Protocol;
use crate::session::{OtExtension, ot_link};
use crate::stock::OtOrigin;

/// The assumption of the hash of crosses.
pub(super) const HASH_ASSUMPTION: Assumption = Assumption::IdealCipher;
/// The time for which the work on rows is measured.
const PATIENCE: Duration = Duration::from_millis(2);
/// The seconds to hash an OT and to bring its masks into rows: the time in `docs/protocols/gmw.md`
/// minus the time of the OTs in `docs/benchmarks.md`.
const HASH_S: f64 = 5e-9;

/// The function in the form for `gmw`, with everything that is the same over all links.
pub(super) struct Shared {
    function: Arc<Function>,
    schedule: Schedule,
    /// The seconds that a run takes to make the schedule.
    scheduling: f64,
    /// The seconds that a party takes for the rows of all steps.
    rows: f64,
}

impl Shared {
    /// Prepares the plan of a function in its shallow form.
    pub(super) fn new(function: Arc<Function>) -> Result<Self, Error> {
        gmw::check(&function)?;
        let begun = Instant::now();
        let schedule = function.schedule()?;
        let scheduling = begun.elapsed().as_secs_f64();
        let rows = seconds_of_rows(&schedule);
        Ok(Self {
            function,
            schedule,
            scheduling,
            rows,
        })
    }

    /// Returns a run with OTs of this extension.
    pub(super) fn alternative(
        &self,
        extension: OtExtension,
        way: &MeasuredLink,
    ) -> Result<Alternative, Error> {
        let outline = gmw::outline(&self.function, &self.schedule, Some(extension))?;
        let online = self.seconds(&outline, Some(extension), way);
        let before = way.round_trip();
        Ok(Alternative {
            ot_extension: Some(extension),
            ..self.by_outline(&outline, [before, online])
        })
    }

    /// Returns a run with crosses from a stock, or `None` if the stock has too few that serve where
    /// OTs would be `asked`.
    pub(super) fn stocked(
        &self,
        (stock, asked): (&InStock, OtOrigin),
        way: &MeasuredLink,
    ) -> Result<Option<Alternative>, Error> {
        let (runs, needs) = stock.crosses(&self.schedule, asked);
        if runs == 0 {
            return Ok(None);
        }
        let outline = gmw::outline(&self.function, &self.schedule, None)?;
        let online = self.seconds(&outline, None, way);
        // Parties agree on the run, and then on the blocks that it takes.
        let before = 2.0 * way.round_trip();
        let needs = needs.into_iter().map(|need| Need {
            name: need.name,
            count: need.count,
            in_stock: Some(need.in_stock),
        });
        Ok(Some(Alternative {
            needs: needs.collect(),
            runs_in_stock: Some(runs),
            ..self.by_outline(&outline, [before, online])
        }))
    }

    /// Returns a run with these messages, and with these seconds before and after the agreement.
    fn by_outline(&self, outline: &Outline, [before, online]: [f64; 2]) -> Alternative {
        let bytes = outline.bytes();
        Alternative {
            protocol: Protocol::Gmw,
            scheme: None,
            ot_extension: None,
            function: Arc::clone(&self.function),
            traffic: PlannedTraffic::late(
                bytes[Role::Garbler as usize],
                bytes[Role::Evaluator as usize],
            ),
            times: PlannedTimes {
                online: seconds(online),
                from_agreement: seconds(before + online),
            },
            needs: Vec::new(),
            offline: Offline::default(),
            runs_in_stock: None,
            online_round_trips: u32::try_from(outline.trips().div_ceil(2)).unwrap_or(u32::MAX),
        }
    }

    /// Returns the bytes of a run, its half round trips and its seconds. OTs are of this extension,
    /// or masks come from stock.
    pub(super) fn run(
        &self,
        extension: Option<OtExtension>,
        way: &MeasuredLink,
    ) -> Result<(u64, u64, f64), Error> {
        let outline = gmw::outline(&self.function, &self.schedule, extension)?;
        let seconds = self.seconds(&outline, extension, way);
        Ok((outline.bytes().iter().sum(), outline.trips(), seconds))
    }

    /// Returns the seconds of a run. OTs are made while the bytes of their messages enter the link,
    /// and wait for what these bring, unless masks come from stock. In a step, both parties send at
    /// the same time, and work before and after that.
    fn seconds(
        &self,
        outline: &Outline,
        extension: Option<OtExtension>,
        way: &MeasuredLink,
    ) -> f64 {
        let [steps, refills, results] = [
            outline.layer_bytes,
            outline.refill_bytes,
            outline.result_bytes,
        ]
        .map(|bytes| bytes[0].max(bytes[1]));
        let ots = extension.map_or(0.0, |extension| {
            let times = outline.ots.map(|count| ot_seconds(extension, count));
            times.iter().sum()
        });
        let last = outline.trips() - outline.refill_trips - u64::from(outline.steps);
        self.scheduling
            + way.exchanges(outline.refill_trips, 0)
            + way.exchanges(0, refills).max(ots)
            + way.exchanges(outline.steps.into(), steps)
            + self.rows
            + way.exchanges(last, results)
    }
}

/// Returns the seconds that a party takes for this many hashed OTs of one direction.
fn ot_seconds(extension: OtExtension, count: u64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    let made = usize::try_from(count).unwrap_or(usize::MAX);
    let choice = Choice::told(extension, ot_link(None), Security::SemiHonest, made);
    choice.time.as_secs_f64() + HASH_S * count as f64
}

/// Estimates the seconds that a party takes for the rows of a run, from its first steps.
fn seconds_of_rows(schedule: &Schedule) -> f64 {
    let begun = Instant::now();
    let mut rows = Rows::of_zeros(schedule, Role::Garbler, NonZeroUsize::MIN);
    let (mut ours, mut theirs) = (OpenedBits::default(), Vec::new());
    let all: u64 = schedule.steps().map(|step| weight(step.bits)).sum();
    let mut done = 0;
    while let Some(step) = rows.step() {
        if done > 0 && begun.elapsed() > PATIENCE {
            break;
        }
        done += weight(step.bits);
        let words = step.bits[Role::Evaluator as usize].div_ceil(64) as usize;
        theirs.resize(words, 0);
        rows.open(&NoMasks, &mut ours);
        rows.absorb(&NoMasks, &theirs);
    }
    let share = all as f64 / done.max(1) as f64;
    begun.elapsed().as_secs_f64() * share.max(1.0)
}

/// Returns the weight of a step. Even a step without bits takes some time.
fn weight(bits: [u64; 2]) -> u64 {
    1 + bits[0] + bits[1]
}

/// Masks of zeros: nothing here is secret.
struct NoMasks;

impl CrossMasks for NoMasks {
    type Room = ();

    fn rows(&self, _: &CrossOts, _: Range<usize>, (): &mut (), into: [&mut [u64]; 2]) {
        into.into_iter().for_each(|rows| rows.fill(0));
    }
}
