//! Runs that match a table of this party with the peer's: the sizes, the limits on them, the run.
//!
//! A peer first tells the sizes of its table. They bound the keys about which it could learn, and
//! the run's memory, so this party counts both before it answers with its own sizes:
//!
//! 1. memory, as for all runs;
//! 2. the peer's keys of the day, durably. Each run tells the peer about keys of its choice, so
//!    they have a limit, [`Limits::keys_per_day`](crate::Limits::keys_per_day). A run that fails
//!    later has counted. This party counts the keys for which the peer's messages have room, and
//!    not the number that the peer tells, which it could understate.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tacit::circuit::Digest;
use tacit::cost::Cost;
use tacit::matching::{HeldMatch, MAX_KEYS, Match, PeerAsks, SizedMatch};
use tacit::session::{AbortReason, ProtocolId, RunId, TableSizes};
use tacit::stock::Stocks;
use tacit::{Category, Error, Fingerprint, Session};

use crate::audit::{self, RunEnd};
use crate::event::Event;
use crate::memory::Need;
use crate::offers::OfferedTable;
use crate::policy::{Policy, TableOffer};
use crate::service::{Seat, Shared};
use crate::visit::{REFUSED, RunNames, Turn, busy, done, failed, may_run};

/// A table of this party, and what peers may do with it. It is read and checked when this is made.
pub trait Matching: Send + Sync {
    /// Returns the digest by which the peer asks for this matching.
    fn meaning(&self) -> Digest;

    /// Returns the run with a peer that asked for this matching and told these sizes.
    ///
    /// # Errors
    ///
    /// The sizes are not those that a peer may tell.
    fn sized(&self, told: &TableSizes) -> Result<Box<dyn SizedMatching>, Error>;

    /// Returns a description for peers, without the limits that the service adds.
    fn offered(&self) -> OfferedTable;

    /// Returns the number of rows of this party's table.
    fn row_count(&self) -> u64;
}

/// A run that matches tables of known sizes.
pub trait SizedMatching {
    /// Returns the demands of the run.
    fn asks(&self) -> PeerAsks;

    /// Returns the protocol of the run.
    fn protocol(&self) -> ProtocolId;

    /// Tells the peer this party's sizes.
    ///
    /// # Errors
    ///
    /// Any error that ends the session.
    fn tell(&mut self, session: &mut Session, limit: Duration) -> Result<(), Error>;

    /// Runs over the session in which the sizes were told, and delivers this party's results.
    ///
    /// # Errors
    ///
    /// Any error that ends the session.
    fn run(
        self: Box<Self>,
        session: &mut Session,
        run: &RunOfPeer<'_>,
    ) -> Result<FinishedRun, Error>;
}

/// The circumstances of a run.
pub struct RunOfPeer<'a> {
    /// The offer's name.
    pub offer: &'a str,
    /// The peer.
    pub peer: Fingerprint,
    /// This party's name for the peer.
    pub peer_name: &'a str,
    /// Longest time of the run.
    pub time_limit: Duration,
    /// The threads to work on.
    pub threads: NonZeroUsize,
    /// The run's name in the logs of both parties.
    pub run: Option<RunId>,
    /// This party's stocks.
    pub stocks: Option<&'a Stocks>,
}

/// A run that ended well.
pub struct FinishedRun {
    /// Its cost.
    pub cost: Cost,
    /// Whether this party's results were delivered. The reason must contain no secret, because it
    /// is logged.
    pub delivered: Result<(), String>,
}

impl Matching for HeldMatch {
    fn meaning(&self) -> Digest {
        Self::meaning(self)
    }

    fn sized(&self, told: &TableSizes) -> Result<Box<dyn SizedMatching>, Error> {
        let keys = told.within(&[0..=MAX_KEYS])?[0];
        Ok(Box::new(PlainRun {
            asks: self.peer_asks(keys)?,
            order: Some(self.order()),
            sized: None,
        }))
    }

    fn offered(&self) -> OfferedTable {
        OfferedTable {
            normalize: Some(self.normalization().name().to_owned()),
            to: Some(self.recipient().other().name().to_owned()),
            ..OfferedTable::default()
        }
    }

    fn row_count(&self) -> u64 {
        self.key_count()
    }
}

/// A run of plain matching.
struct PlainRun {
    asks: PeerAsks,
    order: Option<Match>,
    sized: Option<SizedMatch>,
}

impl SizedMatching for PlainRun {
    fn asks(&self) -> PeerAsks {
        self.asks
    }

    fn protocol(&self) -> ProtocolId {
        ProtocolId::Match
    }

    fn tell(&mut self, session: &mut Session, limit: Duration) -> Result<(), Error> {
        let order = self.order.take();
        let order = order.ok_or(Error::ApiMisuse("sizes are told once"))?;
        self.sized = Some(order.time_limit(limit).tell(session)?);
        Ok(())
    }

    fn run(
        self: Box<Self>,
        session: &mut Session,
        run: &RunOfPeer<'_>,
    ) -> Result<FinishedRun, Error> {
        let sized = self.sized.ok_or(Error::ApiMisuse("sizes are told first"))?;
        Ok(FinishedRun {
            cost: sized.threads(run.threads).run(session)?.cost,
            delivered: Ok(()),
        })
    }
}

/// Returns the time in seconds since 1970, in UTC.
pub(crate) fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

/// Returns the day since 1970, in UTC.
fn today() -> u64 {
    now_s() / 86_400
}

impl Shared {
    /// Removes the counts of past days, once a day. The last day may go on elsewhere: clocks
    /// differ.
    fn sweep_answered(&self, stocks: &Stocks) -> Result<(), Error> {
        let today = today();
        if self.swept_day.swap(today, Ordering::AcqRel) == today {
            return Ok(());
        }
        stocks.forget_answered(today.saturating_sub(1))
    }

    /// Returns the number of keys about which the peer may still be told today. If it cannot be
    /// read it is none.
    pub(crate) fn keys_left(&self, peer: Fingerprint, most: u64) -> u64 {
        let parties = [self.identity.fingerprint(), peer];
        let stocks = self.stocks.as_ref();
        let answered = stocks.map(|stocks| stocks.answered_keys(parties, today()));
        most.saturating_sub(answered.and_then(Result::ok).unwrap_or(u64::MAX))
    }
}

/// Serves a peer that told the sizes of its table. `runs` is the number of runs of the session.
pub(crate) fn serve(
    seat: &Seat,
    policy: &Policy,
    session: &mut Session,
    (told, runs): (&TableSizes, u64),
) -> Turn {
    let mut offers = policy.tables_for(&seat.of_policy);
    let Some(offer) = offers.find(|offer| offer.matching.meaning() == told.meaning()) else {
        let why = format!(
            "it wants to match tables by {}, which it may not",
            told.meaning()
        );
        seat.shared().refused(Some(seat.peer), None, "run", &why);
        return Turn::Refuse(AbortReason::TableNotAllowed, REFUSED.to_owned());
    };
    if let Some(refused) = may_run(seat, &offer.name, offer.rate) {
        return refused;
    }
    // To fit a program to the peer's sizes takes time, which a peer without keys does not get.
    if seat
        .shared()
        .keys_left(seat.peer, policy.keys_per_day(&seat.of_policy))
        == 0
    {
        let least = PeerAsks {
            keys: 1,
            memory_bytes: 0,
        };
        if let Some(refused) = no_keys(seat, policy, offer, least) {
            return refused;
        }
    }
    if !seat.shared().may_fit(seat.peer) {
        let why = "its runs were put off too often of late, each once a program was fitted to it";
        seat.shared().put_off(Some(seat.peer), None, "rate", why);
        return Turn::Refuse(AbortReason::TooOften, REFUSED.to_owned());
    }
    let run = match offer.matching.sized(told) {
        Ok(run) => run,
        Err(error) => {
            let why = format!("its sizes for {}: {}", offer.name, error.with_advice());
            seat.shared()
                .refused(Some(seat.peer), None, "request", &why);
            let reason = match error.category() {
                Category::Peer => AbortReason::Misbehaved,
                _ => AbortReason::TableNotAllowed,
            };
            return Turn::Refuse(reason, REFUSED.to_owned());
        }
    };
    let never = too_many_keys(seat, policy, offer, run.asks());
    if let Some(refused) = never.or_else(|| no_memory(seat, policy, offer, run.asks())) {
        return refused;
    }
    if let Some(refused) = no_keys(seat, policy, offer, run.asks()) {
        return refused;
    }
    let names = RunNames {
        offer: &offer.name,
        protocol: run.protocol(),
        run: session.run_id(),
    };
    if let Some(refused) = audit::begun_tables(seat, names, run.asks().keys) {
        return refused;
    }
    match answer(seat, policy, session, (offer, run, runs)) {
        Ok(Answered::Ran(ran)) => done(seat, names, &ran.cost, || ran.delivered),
        Ok(Answered::Not(turn)) => {
            audit::ended(seat, names, &RunEnd::NotBegun);
            turn
        }
        Err(error) => failed(seat, names, error, false),
    }
}

/// Counts the memory of the run, or refuses it.
fn no_memory(seat: &Seat, policy: &Policy, offer: &TableOffer, asks: PeerAsks) -> Option<Turn> {
    let need = Need::of_tables(asks.memory_bytes, policy.usual_extension());
    let [all, of_peer] = policy.memory(false);
    let bound = seat.hold(need, [all, of_peer]).err()?;
    let takes = format!("{} takes {} MiB at its sizes", offer.name, need.mib());
    if need.bytes() > of_peer {
        let why = format!("{takes}, and {bound} allows {}", of_peer >> 20);
        // To fit a program to sizes that never run takes time.
        seat.shared().refused(Some(seat.peer), None, "run", &why);
        return Some(Turn::Refuse(AbortReason::TooLarge, REFUSED.to_owned()));
    }
    let why = format!("{takes}, and with it more memory would be in use than {bound} allows");
    // A peer that is told to come again has a program fitted each time.
    seat.shared().fitted_in_vain(seat.peer);
    Some(busy(seat, "run", &why))
}

/// Refuses a run that would tell the peer of more keys than a day has.
fn too_many_keys(seat: &Seat, policy: &Policy, offer: &TableOffer, asks: PeerAsks) -> Option<Turn> {
    let (keys, most) = (asks.keys, policy.keys_per_day(&seat.of_policy));
    if keys <= most {
        return None;
    }
    let why = format!(
        "{} would tell it of {keys} keys, more than keys_per_day, {most}, ever allows",
        offer.name
    );
    seat.shared().refused(Some(seat.peer), None, "keys", &why);
    Some(Turn::Refuse(AbortReason::TooLarge, REFUSED.to_owned()))
}

/// Counts the keys of which the run tells the peer, durably, or refuses the run.
fn no_keys(seat: &Seat, policy: &Policy, offer: &TableOffer, asks: PeerAsks) -> Option<Turn> {
    let shared = seat.shared();
    let Some(stocks) = &shared.stocks else {
        let why = "there is no stock here in which keys are counted".to_owned();
        return Some(Turn::Refuse(AbortReason::NotAllowed, why));
    };
    let (keys, most) = (asks.keys, policy.keys_per_day(&seat.of_policy));
    let parties = [shared.identity.fingerprint(), seat.peer];
    let swept = shared.sweep_answered(stocks);
    match swept.and_then(|()| stocks.answer_keys(parties, today(), keys, most)) {
        Ok(true) => None,
        Ok(false) => {
            let left = shared.keys_left(seat.peer, most);
            let why = format!(
                "{} would tell it of {keys} keys, and of keys_per_day, {most}, {left} are left \
                 until 00:00 UTC",
                offer.name
            );
            shared.refused(Some(seat.peer), None, "keys", &why);
            Some(Turn::Refuse(AbortReason::KeysSpent, REFUSED.to_owned()))
        }
        Err(error) => {
            let (peer, reason) = (seat.peer_name.clone(), error.with_advice());
            shared.tell(&Event::StockFailed { peer, reason });
            let why = "its keys cannot be counted".to_owned();
            Some(Turn::Refuse(AbortReason::Failed, why))
        }
    }
}

/// The result of telling the peer this party's sizes.
enum Answered {
    Ran(FinishedRun),
    /// The peer left, or proposed other OTs than this party now asks for.
    Not(Turn),
}

/// Tells the peer this party's sizes, and runs what it then proposes.
fn answer(
    seat: &Seat,
    policy: &Policy,
    session: &mut Session,
    (offer, mut run, runs): (&TableOffer, Box<dyn SizedMatching>, u64),
) -> Result<Answered, Error> {
    run.tell(session, offer.time_limit)?;
    let Some(asked) = session.next_proposal(policy.limits().message)? else {
        return Ok(Answered::Not(Turn::Left));
    };
    if runs == 0 {
        policy.set_ots_for(session, &asked)?;
    } else if let Some(ours) = policy.other_ots(&asked) {
        // The session's OTs are those of an earlier configuration.
        return Ok(Answered::Not(Turn::Otherwise(ours)));
    }
    let of_peer = RunOfPeer {
        offer: &offer.name,
        peer: seat.peer,
        peer_name: &seat.peer_name,
        time_limit: offer.time_limit,
        threads: seat.threads(policy.limits()),
        run: session.run_id(),
        stocks: seat.stocks(),
    };
    run.run(session, &of_peer).map(Answered::Ran)
}
