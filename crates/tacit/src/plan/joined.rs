//! A program that joins tables, over several links.
//!
//! It runs by `gmw` alone, so a plan has no protocols to choose from: it says what a run takes,
//! from nothing and with crosses from the stock. Bytes are exact but for some kilobytes: base OTs,
//! the agreement, and headers of the stage. The work on a table follows from times of a server's
//! core.

use std::sync::Arc;
use std::time::Duration;

use tacit_function::Function;
use tacit_function::join::JoinPlan;
use tacit_net::Link;
use tacit_ot::Security;
use tacit_ot::source::Choice;
use tacit_protocol::matching::{ASK_SECURITY, VolePlan};

use super::alternative::seconds;
use super::course::MeasuredLink;
use super::shared::Shared;
use super::{Planner, USUAL_LINKS, no_protocol};
use crate::Error;
use crate::join::stage_ots;
use crate::matching::vole_time;
use crate::protocols::ThreatModel;
use crate::session::{OtExtension, OtNeed, ot_link};

/// Seconds of work on a key of the placer: hashing, placing, encoding its point, and decoding.
const PLACED_KEY_S: f64 = 780e-9;
/// Seconds of work on a key of the programmer: hashing, and evaluating and encoding three points.
const PROGRAMMED_KEY_S: f64 = 1.7e-6;

/// The cost of a join over one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinOverLink {
    /// The link.
    pub link: Link,
    /// The OT extension: the one that the planner was given, or that a session over this link
    /// takes.
    pub ot_extension: OtExtension,
    /// A run that makes all crosses itself.
    pub from_nothing: JoinCost,
    /// A run that takes its crosses from the stock.
    pub from_stock: JoinCost,
}

/// The cost of a run of a join, from the agreement on the sizes to the last result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinCost {
    /// The bytes that both parties send.
    pub bytes: u64,
    /// The round trips.
    pub round_trips: u64,
    /// The time with a core for each party.
    pub time: Duration,
}

impl Planner {
    /// Plans a run of a program that joins tables, over this planner's link and the usual ones.
    /// `function` is in the form for `gmw`.
    ///
    /// # Errors
    ///
    /// The planner wants security against a malicious party, or `gmw` cannot run the function.
    pub fn plan_join(
        &self,
        function: Function,
        join: &JoinPlan,
    ) -> Result<Vec<JoinOverLink>, Error> {
        if self.threat_model != ThreatModel::SemiHonest {
            return Err(no_protocol(self.threat_model));
        }
        let ots = function.and_gates().saturating_add(stage_ots(join));
        let need = OtNeed::bulk(Security::SemiHonest, ots);
        let shared = Shared::new(Arc::new(function))?;
        let usual = USUAL_LINKS.iter().filter_map(|link| link.parse().ok());
        let links = std::iter::once(self.link).chain(usual.filter(|link| *link != self.link));
        links
            .map(|link| {
                let way = self.way(link);
                let ot_extension = way.extension(need);
                let (stage, made) = (stage(join, ot_extension, &way), Some(ot_extension));
                Ok(JoinOverLink {
                    link,
                    ot_extension,
                    from_nothing: run(&shared, stage, (made, &way))?,
                    from_stock: run(&shared, stage, (None, &way))?,
                })
            })
            .collect()
    }
}

/// The messages and the time of a join's stage.
#[derive(Clone, Copy, Default)]
struct StageCost {
    bytes: u64,
    trips: u64,
    seconds: f64,
}

/// Returns the stage of a join: OTs, asks and hints, of some shards in each turn.
fn stage(join: &JoinPlan, extension: OtExtension, way: &MeasuredLink) -> StageCost {
    let sizes = &join.sizes;
    if join.bin_count() == 0 {
        return StageCost::default();
    }
    let vole = VolePlan::of(extension, sizes.shards * sizes.ask_columns);
    let count = usize::try_from(vole.ots()).unwrap_or(usize::MAX);
    let made = Choice::told(extension, ot_link(None), ASK_SECURITY, count);
    let tables = sizes.shards * (sizes.ask_bytes() + sizes.hint_bytes()) + vole.bytes();
    let of_ots = [made.cost.sender_bytes, made.cost.receiver_bytes];
    // The OTs of a turn take a round trip, and asks and hints another one.
    let trips = 4 * sizes.shards.div_ceil(sizes.turn_shards());
    let on_link = way.exchanges(trips, tables) + way.going_in(of_ots[0].max(of_ots[1]));
    let keys = PLACED_KEY_S * (sizes.shards * sizes.placer_keys) as f64
        + PROGRAMMED_KEY_S * (sizes.shards * sizes.programmer_keys) as f64;
    StageCost {
        bytes: tables + of_ots.iter().sum::<u64>(),
        trips,
        seconds: on_link.max((made.time + vole_time(vole)).as_secs_f64()) + keys,
    }
}

/// Returns a run: sizes and the agreement take a round trip each.
fn run(
    shared: &Shared,
    stage: StageCost,
    (extension, way): (Option<OtExtension>, &MeasuredLink),
) -> Result<JoinCost, Error> {
    let (bytes, trips, online) = shared.run(extension, way)?;
    Ok(JoinCost {
        bytes: stage.bytes + bytes,
        round_trips: 2 + (stage.trips + trips).div_ceil(2),
        time: seconds(2.0 * way.round_trip() + stage.seconds + online),
    })
}
