//! One session: the peer's request, the decision, and the run.

mod ending;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tacit::net::Arrived;
use tacit::protocols::Protocol;
use tacit::session::{AbortReason, Proposal, ProtocolId, Request, RunId};
use tacit::{Category, Error, Job, Session, Value};

use crate::audit;
use crate::event::Event;
use crate::inputs::RunRequest;
use crate::memory::Need;
use crate::policy::{Denied, Granted, Offer, Policy};
use crate::rate::Rate;
use crate::service::{Seat, settings};
use crate::{offers, outsourced, tables};

pub(crate) use ending::{RunNames, done, failed, finish};
use ending::{at_fault, shown};

/// The longest time for a peer to receive the reason why a session ends.
pub(crate) const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// The reasons for the end of a session if another event has the details.
pub(crate) const REFUSED: &str = "refused";
const RUN_FAILED: &str = "its run failed";
const PREPARATION_FAILED: &str = "its preparation failed";

/// The outcome of a request.
pub(crate) enum Turn {
    /// A run or preparation is done, and the session goes on.
    Done,
    /// A question is answered, and the session goes on.
    Answered,
    /// It is the other server's session, for a run of three that another session's peer asks for.
    Lend,
    /// The peer has ended the session.
    Left,
    /// The request is refused. Holds the reason for the log.
    Refuse(AbortReason, String),
    /// The request is refused. The peer gets the proposal that this party would run.
    Otherwise(Proposal),
    /// The session is unusable. Holds the error, and the reason for the log if that is another.
    Failed(Error, Option<&'static str>),
}

/// Serves a peer until its session ends.
pub(crate) fn visit(seat: &Seat, arrived: Arrived) {
    let shared = seat.shared();
    let begun = Instant::now();
    let from = arrived.from;
    let policy = shared.policy();
    let settings = settings(policy.limits(), seat.cancel.clone(), shared.lane());
    let mut session = match Session::greet(arrived, &shared.identity.fingerprint(), &settings) {
        Ok(session) => session,
        Err(error) => {
            let reason = format!("no greeting: {error}");
            shared.refused(Some(seat.peer), Some(from), "greeting", &reason);
            return;
        }
    };
    session.set_lane_homes(policy.homes().clone());
    session.set_chain_lanes(policy.lanes_of_chains().clone());
    let peer = seat.peer_name.clone();
    let id = session.id().map(|id| id.to_string());
    shared.tell(&Event::SessionBegan {
        peer: peer.clone(),
        from: from.to_string(),
        session: id.clone(),
    });
    let mut runs = 0;
    let reason = loop {
        let policy = shared.policy();
        match turn(seat, &policy, &mut session, runs) {
            Turn::Done => runs += 1,
            Turn::Answered => {}
            Turn::Lend => match outsourced::lend(seat, session) {
                Ok(back) if seat.end() => {
                    session = back;
                    runs += 1;
                }
                Ok(_) => break "the service is about to stop".to_owned(),
                Err(why) => break why,
            },
            Turn::Left => break "the peer ended it".to_owned(),
            Turn::Refuse(reason, why) => {
                session.refuse(reason, REFUSAL_TIME);
                break why;
            }
            Turn::Otherwise(ours) => {
                let why = match session.refuse_for(&ours, REFUSAL_TIME) {
                    Err(error) => error.with_advice(),
                    Ok(()) => "it is run otherwise".to_owned(),
                };
                shared.refused(Some(seat.peer), None, "run", &why);
                break REFUSED.to_owned();
            }
            Turn::Failed(error, told) => {
                // The peer does not know of an error that occurred before anything was sent.
                if is_of_this_party(&error) {
                    session.refuse(error.abort_reason(), REFUSAL_TIME);
                }
                break told.map_or_else(|| error.with_advice(), str::to_owned);
            }
        }
    };
    shared.tell(&Event::SessionEnded {
        peer,
        runs,
        seconds: begun.elapsed().as_secs_f64(),
        reason,
        session: id,
    });
}

/// Serves one request, from the wait for it to its end.
fn turn(seat: &Seat, policy: &Policy, session: &mut Session, runs: u64) -> Turn {
    let shared = seat.shared();
    let asked = match session.next_request(policy.limits().idle) {
        Ok(Some(asked)) => asked,
        Ok(None) => return Turn::Left,
        Err(error) => {
            // A peer that is idle for too long is no nuisance, only gone.
            let is_refused = error.category() == Category::Peer;
            if is_refused {
                shared.refused(Some(seat.peer), None, "request", &error.with_advice());
            }
            return Turn::Failed(error, is_refused.then_some(REFUSED));
        }
    };
    // The policy may have changed during the wait for the request.
    let policy = shared.policy();
    session.set_chain_lanes(policy.lanes_of_chains().clone());
    if seat.has_expired() {
        let why = "its token has expired".to_owned();
        return Turn::Refuse(AbortReason::Unknown, why);
    }
    if !seat.is_let_in(&policy) {
        let why = "its token is not accepted since the reload".to_owned();
        return Turn::Refuse(AbortReason::Unknown, why);
    }
    let turn = match &asked {
        Request::Tables(told) => tables::serve(seat, &policy, session, (told, runs)),
        Request::Proposal(asked) => proposed(seat, &policy, session, (asked, runs)),
    };
    match turn {
        Turn::Done if !seat.end() => {
            let why = "the service is about to stop".to_owned();
            Turn::Refuse(AbortReason::Busy, why)
        }
        turn => turn,
    }
}

/// Serves a proposal. `runs` is the number of runs of the session.
fn proposed(
    seat: &Seat,
    policy: &Policy,
    session: &mut Session,
    (asked, runs): (&Proposal, u64),
) -> Turn {
    if asked.protocol == ProtocolId::Offers {
        return offers::tell(seat, policy, session);
    }
    if runs == 0 && policy.set_ots_for(session, asked).is_err() {
        return Turn::Refuse(AbortReason::Failed, "OTs are chosen already".to_owned());
    }
    if session.is_of_worker() && !is_for_workers(asked.protocol) {
        let why = format!("a worker may not ask for {}", asked.protocol);
        seat.shared().refused(Some(seat.peer), None, "run", &why);
        return Turn::Refuse(AbortReason::NotAllowed, REFUSED.to_owned());
    }
    if asked.protocol == ProtocolId::Prepare {
        return prepare(seat, policy, session, asked);
    }
    match policy.run(&seat.of_policy, asked) {
        Ok(granted) => match no_memory(seat, policy, &granted, asked) {
            Some(why) => busy(seat, "run", &why),
            None => granted_run(seat, &granted, session, asked),
        },
        Err(denied) => deny(seat, denied, "run", asked),
    }
}

/// Returns whether a worker may ask for this: for what takes nothing from the stock of its party.
fn is_for_workers(protocol: ProtocolId) -> bool {
    matches!(
        protocol,
        ProtocolId::Direct | ProtocolId::Gmw | ProtocolId::Match | ProtocolId::Authenticated
    )
}

/// Returns the run, if the peer may have it.
fn granted_run(
    seat: &Seat,
    granted: &Granted<'_>,
    session: &mut Session,
    asked: &Proposal,
) -> Turn {
    match &granted.offer.outsourced {
        Some(servers) if servers.is_cloud(&seat.peer) => {
            if seat.begin() {
                Turn::Lend
            } else {
                busy(seat, "run", "the service is about to stop")
            }
        }
        Some(servers) => outsourced::run(seat, granted, servers, session, asked),
        None => run(seat, granted, session, asked),
    }
}

/// Counts the memory of a run if enough is left. Otherwise returns the refusal.
fn no_memory(
    seat: &Seat,
    policy: &Policy,
    granted: &Granted<'_>,
    asked: &Proposal,
) -> Option<String> {
    let role = granted.offer.role;
    let function = (&**granted.function, granted.shared_bytes);
    let need = Need::of(function, (asked.protocol, role), asked.ot_extension);
    let servers = granted.offer.outsourced.as_ref();
    let is_cloud = servers.is_some_and(|servers| servers.is_cloud(&seat.peer));
    let bound = seat.hold(need, policy.memory(is_cloud)).err()?;
    Some(format!("as much memory is in use as {bound} allows"))
}

fn deny(seat: &Seat, denied: Denied, what: &'static str, asked: &Proposal) -> Turn {
    match denied {
        Denied::NotOffered => {
            let why = format!(
                "it asks for {} of {} as {}, which it may not",
                asked.protocol,
                asked.function,
                asked.role.name()
            );
            seat.shared().refused(Some(seat.peer), None, what, &why);
            Turn::Refuse(AbortReason::NotAllowed, REFUSED.to_owned())
        }
        Denied::NotStocked(ours) => {
            // The order is a digest, and this party knows only those that it takes.
            let s = match asked.statistical_security_bits {
                0 => String::new(),
                bits => format!(" at s = {bits}"),
            };
            let why = format!(
                "its order, as {} under {}{s}, fits no level of stock with it (kept: {ours}); \
                 the peer's log, or the output of its `tacit prepare`, names the order",
                asked.role.name(),
                asked.scheme
            );
            seat.shared().refused(Some(seat.peer), None, what, &why);
            Turn::Refuse(AbortReason::OrderNotAllowed, REFUSED.to_owned())
        }
        Denied::Otherwise(ours) => Turn::Otherwise(ours),
    }
}

/// Returns a refusal that tells the peer to come later and is not its fault.
pub(crate) fn busy(seat: &Seat, what: &'static str, why: &str) -> Turn {
    seat.shared().put_off(Some(seat.peer), None, what, why);
    Turn::Refuse(AbortReason::Busy, REFUSED.to_owned())
}

/// Starts the peer's run of the offer of this name and rate, or returns why it may not run now.
pub(crate) fn may_run(seat: &Seat, offer: &str, rate: Option<Rate>) -> Option<Turn> {
    let shared = seat.shared();
    if let Some(rate) = rate
        && !shared.may_run(seat.peer, offer, rate)
    {
        let why = format!("it runs {offer} more often than {rate}");
        shared.refused(Some(seat.peer), None, "rate", &why);
        return Some(Turn::Refuse(AbortReason::TooOften, REFUSED.to_owned()));
    }
    let is_stopping = !seat.begin();
    is_stopping.then(|| busy(seat, "run", "the service is about to stop"))
}

/// Returns the requested run in the form that inputs and results get.
pub(crate) fn asked_for<'a>(
    seat: &'a Seat,
    granted: &'a Granted<'a>,
    asked: &Proposal,
    run: Option<RunId>,
) -> RunRequest<'a> {
    RunRequest {
        offer: &granted.offer.name,
        function: granted.function,
        role: granted.offer.role,
        peer: seat.peer,
        peer_name: &seat.peer_name,
        protocol: asked.protocol,
        run,
    }
}

/// Returns this party's inputs of a run.
pub(crate) fn inputs_of(
    seat: &Seat,
    about: &RunRequest<'_>,
    offer: &Offer,
) -> Result<BTreeMap<String, Value>, Turn> {
    let shared = seat.shared();
    let mut inputs = offer.inputs.values(about).map_err(|reason| {
        let offer = offer.name.clone();
        let protocol = about.protocol.to_string();
        shared.metrics.run_failed(&offer, &protocol);
        let run = RunNames::of(about).shown();
        shared.tell(&Event::InputsFailed { offer, reason, run });
        Turn::Refuse(AbortReason::Failed, "no inputs".to_owned())
    })?;
    // One source may serve several functions.
    let own = about.function.inputs().iter();
    let own: Vec<_> = own.filter(|input| input.owner == offer.role).collect();
    inputs.retain(|name, _| own.iter().any(|input| input.port.name == *name));
    Ok(inputs)
}

fn run(seat: &Seat, granted: &Granted<'_>, session: &mut Session, asked: &Proposal) -> Turn {
    let shared = seat.shared();
    let offer = granted.offer;
    if let Some(refused) = may_run(seat, &offer.name, offer.rate) {
        return refused;
    }
    let about = asked_for(seat, granted, asked, session.run_id());
    let inputs = match inputs_of(seat, &about, offer) {
        Ok(inputs) => inputs,
        Err(refused) => return refused,
    };
    let mut job = Job::new(granted.function, offer.role)
        .statistical_security(offer.security)
        .time_limit(offer.time_limit)
        .threads(seat.threads(shared.policy().limits()));
    if asked.protocol != ProtocolId::Gmw {
        job = job.scheme(asked.scheme);
    }
    let stocks = seat.stocks();
    let by =
        Protocol::of_wire(asked.protocol).filter(|_| stocks.is_some() || offer.chain.is_none());
    let Some(Ok(mut job)) = by.map(|protocol| job.by(protocol, stocks)) else {
        let why = "there is no stock here".to_owned();
        return Turn::Refuse(AbortReason::NotAllowed, why);
    };
    if let Some(chain) = &offer.chain {
        job = job.chain(chain);
    }
    if offer.replaces {
        job = job.replacing();
    }
    let names = RunNames::of(&about);
    job = job.watch_taken(move |numbers| {
        shared.tell(&Event::Takes {
            peer: seat.peer_name.clone(),
            offer: offer.name.clone(),
            numbers: numbers.numbers(),
            digest: numbers.digest.to_string(),
            epoch: numbers.epoch.to_string(),
            run: names.shown(),
        });
    });
    for (name, value) in inputs {
        job = job.input(&name, value);
    }
    if let Some(refused) = audit::begun(seat, &about) {
        return refused;
    }
    finish(seat, &about, granted, job.run(session))
}

/// Returns whether an error is one that this party finds before it sends anything.
fn is_of_this_party(error: &Error) -> bool {
    matches!(
        error.category(),
        Category::Input | Category::Usage | Category::Stock
    )
}

fn prepare(seat: &Seat, policy: &Policy, session: &mut Session, asked: &Proposal) -> Turn {
    let shared = seat.shared();
    let (level, runs) = match policy.preparation(&seat.of_policy, asked) {
        Ok(found) => found,
        Err(denied) => return deny(seat, denied, "preparation", asked),
    };
    let Some(stocks) = &shared.stocks else {
        let why = "there is no stock here".to_owned();
        return Turn::Refuse(AbortReason::NotAllowed, why);
    };
    if !shared.may_order(seat.peer) {
        // This party's full disk may be why, so the peer may still run.
        let why = "its orders failed too often of late";
        shared.put_off(Some(seat.peer), None, "rate", why);
        return Turn::Refuse(AbortReason::TooOften, REFUSED.to_owned());
    }
    let limits = policy.limits();
    let Some(_right) = shared.preparation(seat.peer, limits.preparations) else {
        return busy(
            seat,
            "preparation",
            "no preparation is free for it: it has one, the others are in use or waited for, or \
             memory_mib is used up",
        );
    };
    // This check needs the right to prepare, so that material just made in another session of the
    // peer counts.
    let own = shared.identity.fingerprint();
    if level.is_hoarded(stocks, own) {
        let why = format!("{}: too much is left over of earlier orders", level.name());
        shared.refused(Some(seat.peer), None, "preparation", &why);
        return Turn::Refuse(AbortReason::NoRoom, REFUSED.to_owned());
    }
    if !seat.begin() {
        return busy(seat, "preparation", "the service is about to stop");
    }
    let function = level.name();
    let (peer, run) = (seat.peer_name.clone(), shown(session.run_id()));
    let begun = Instant::now();
    // If room cannot be freed yet, the preparation itself finds it missing.
    let _ = level.compact(stocks, own);
    // This is as urgent as runs: those that find too little in stock wait for it.
    let (within, threads) = seat.bounds(limits);
    let made = level.order(runs).and_then(|order| {
        let order = order.time_limit(within).threads(threads);
        order.run(session, stocks)
    });
    match made {
        Ok(prepared) => {
            let made = prepared.made();
            let took = begun.elapsed();
            shared.metrics.prepared(&function, "peer", Some(took));
            shared.tell(&Event::Replenished {
                peer,
                function,
                runs,
                made,
                seconds: took.as_secs_f64(),
                run,
            });
            shared.look_at_stock();
            Turn::Done
        }
        Err(error) => {
            preparation_failed(seat, function, run, &error);
            Turn::Failed(error, Some(PREPARATION_FAILED))
        }
    }
}

/// Reports and counts a failed preparation.
fn preparation_failed(seat: &Seat, function: String, run: Option<String>, error: &Error) {
    let shared = seat.shared();
    shared.metrics.prepared(&function, "peer", None);
    shared.ordered_in_vain(seat.peer);
    if at_fault(error) {
        let why = format!("{PREPARATION_FAILED}, as replenish-failed says");
        shared.refused(Some(seat.peer), None, "behaviour", &why);
    }
    shared.tell(&Event::ReplenishFailed {
        peer: seat.peer_name.clone(),
        function,
        reason: error.with_advice(),
        run,
    });
}
