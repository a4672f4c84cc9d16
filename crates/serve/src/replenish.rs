//! Keeps the stock at its levels.
//!
//! A party whose configuration has an address of the peer connects to the peer and fills what is
//! below its level. A party without an address waits for the peer's connection or its `tacit
//! prepare`. In both cases both have the same level in their configurations, and the party that
//! receives the order looks it up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tacit::session::AbortReason;
use tacit::stock::{NoteFailures, Stocks};
use tacit::{Error, Fingerprint, ProtocolError, Session, Settings};

use crate::event::Event;
use crate::policy::{Level, Peer, Policy};
use crate::service::{PreparationRight, Shared, settings};

/// The pause after a failure with a peer: the first and the longest. Each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// The longest pause after the peer was busy: the peer keeps this party's place for longer.
const BUSY_PAUSE: Duration = Duration::from_secs(15);
/// The longest wait for the peer to be there.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// The shortest time between two checks of the stock.
const BREATH: Duration = Duration::from_millis(200);

/// The time of the next try with a peer.
struct Pause {
    until: Instant,
    length: Duration,
}

/// The peers that have a pause.
#[derive(Default)]
struct Pauses(Mutex<HashMap<Fingerprint, Pause>>);

impl Pauses {
    /// Returns whether the peer still has a pause.
    fn holds(&self, peer: &Fingerprint) -> bool {
        let pauses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = pauses.get(peer);
        pause.is_some_and(|pause| Instant::now() < pause.until)
    }

    /// Records the result of a try: success, or the longest pause that may follow.
    fn note(&self, peer: Fingerprint, tried: Result<(), Duration>) {
        let mut pauses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match tried {
            Ok(()) => {
                pauses.remove(&peer);
            }
            Err(longest) => {
                let last = pauses.get(&peer).map(|pause| pause.length);
                let length = last.map_or(FIRST_PAUSE, |last| longest.min(2 * last));
                let until = Instant::now() + length;
                pauses.insert(peer, Pause { until, length });
            }
        }
    }
}

/// Fills stocks until the service stops, with each peer on a thread of its own. A slow peer delays
/// no other, as long as another preparation may start.
pub(crate) fn replenish(shared: &Arc<Shared>) {
    let Some(stocks) = &shared.stocks else {
        return;
    };
    let pauses = &Pauses::default();
    let mut notes_failed = 0;
    thread::scope(|scope| {
        while !shared.is_stopping() {
            let policy = shared.policy();
            look(shared, &policy, stocks);
            tell_failed_notes(shared, stocks, &mut notes_failed);
            for peer in policy.peers() {
                if shared.is_stopping() || pauses.holds(&peer.fingerprint) {
                    continue;
                }
                match is_to_fill(shared, &policy, stocks, peer) {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(longest) => {
                        pauses.note(peer.fingerprint, Err(longest));
                        continue;
                    }
                }
                let most = policy.limits().preparations;
                let Some(right) = shared.preparation(peer.fingerprint, most) else {
                    continue;
                };
                let (policy, peer) = (Arc::clone(&policy), peer.clone());
                let name = thread::Builder::new().name("prepare".to_owned());
                // If no thread can be started, the right is given back, and the next check tries
                // again.
                let _ = name.spawn_scoped(scope, move || {
                    let filled = fill(shared, &policy, stocks, &peer, right);
                    pauses.note(peer.fingerprint, filled);
                });
            }
            shared.wait_for_look(policy.limits().look_at_stock);
            shared.wait_for_stop(BREATH);
        }
    });
}

/// Reports the notes that failed since `told` of them had failed.
fn tell_failed_notes(shared: &Shared, stocks: &Stocks, told: &mut u64) {
    let NoteFailures { count, last } = stocks.note_failures();
    let more = count.saturating_sub(*told);
    *told = count;
    if more > 0 {
        shared.tell(&Event::NotesFailed {
            count: more,
            reason: last,
        });
    }
}

/// Records what is in stock, and compacts used lots if room gets tight.
fn look(shared: &Shared, policy: &Policy, stocks: &Stocks) {
    let own = shared.identity.fingerprint();
    let failed = |error: Error| stock_failed(shared, "all", &error);
    let names = match stocks.list_each() {
        Ok((names, failures)) => {
            failures.into_iter().for_each(failed);
            names
        }
        Err(error) => return failed(error),
    };
    for name in names.iter().filter(|name| name.own == own) {
        let Some(peer) = policy.peer(&name.peer) else {
            continue;
        };
        let looked = stocks.summary(name).and_then(|summary| {
            shared.metrics.stock(&peer.name, &summary);
            if summary.bytes > summary.max_bytes / 2 {
                stocks.compact(name)?;
            }
            Ok(())
        });
        if let Err(error) = looked {
            stock_failed(shared, &peer.name, &error);
        }
    }
    match stocks.tries() {
        Ok(tries) => {
            let own = tries.into_iter().filter(|(name, _)| name.own == own);
            shared.metrics.tries(own.filter_map(|(name, record)| {
                let peer = policy.peer(&name.peer)?;
                Some((&*peer.name, name, record))
            }));
        }
        Err(error) => failed(error),
    }
}

fn stock_failed(shared: &Shared, peer: &str, error: &Error) {
    shared.metrics.stock_failed();
    let (peer, reason) = (peer.to_owned(), error.with_advice());
    shared.tell(&Event::StockFailed { peer, reason });
}

/// Returns whether something is below its level with a peer that has an address. The error is the
/// longest pause that may follow.
fn is_to_fill(
    shared: &Shared,
    policy: &Policy,
    stocks: &Stocks,
    peer: &Peer,
) -> Result<bool, Duration> {
    let own = shared.identity.fingerprint();
    let levels = policy.levels().iter();
    let levels = levels.filter(|level| level.peer == peer.fingerprint);
    let mut is_to_fill = false;
    for level in levels {
        let there = left(shared, policy, stocks, (peer, level))?;
        is_to_fill |= peer.address.is_some() && level.is_due(there, stocks, own);
    }
    Ok(is_to_fill)
}

/// Returns the amount of a level in stock. The error is the longest pause that may follow.
fn left(
    shared: &Shared,
    policy: &Policy,
    stocks: &Stocks,
    (peer, level): (&Peer, &Level),
) -> Result<u64, Duration> {
    let name = &peer.name;
    match level.left(stocks, shared.identity.fingerprint(), policy.own_ots()) {
        Ok(there) => {
            let metrics = &shared.metrics;
            metrics.level(&level.name(), name, there, level.amount);
            Ok(there)
        }
        Err(error) => {
            stock_failed(shared, name, &error);
            Err(LONGEST_PAUSE)
        }
    }
}

/// Fills the levels of a peer that has an address, over one session. Between two levels other
/// peers have their turn. The error is the longest pause that may follow.
fn fill(
    shared: &Arc<Shared>,
    policy: &Policy,
    stocks: &Stocks,
    peer: &Peer,
    right: PreparationRight,
) -> Result<(), Duration> {
    let own = shared.identity.fingerprint();
    let (mut session, mut right) = (None, Some(right));
    let levels = policy.levels().iter();
    for level in levels.filter(|level| level.peer == peer.fingerprint) {
        let (name, function) = (peer.name.clone(), level.name());
        let there = left(shared, policy, stocks, (peer, level))?;
        let is_due = level.is_due(there, stocks, own);
        let (Some(address), true) = (&peer.address, is_due) else {
            continue;
        };
        let most = policy.limits().preparations;
        let again = || shared.preparation(peer.fingerprint, most);
        let Some(_right) = right.take().or_else(again) else {
            return Ok(());
        };
        let begun = Instant::now();
        let filled = fill_level(shared, policy, stocks, level, address, session.take());
        match filled {
            Ok((made, kept)) => {
                let run = kept.run_id().map(|run| run.to_string());
                session = Some(kept);
                let took = begun.elapsed();
                shared.metrics.prepared(&function, "self", Some(took));
                shared.tell(&Event::Replenished {
                    peer: name.clone(),
                    function: function.clone(),
                    runs: level.amount,
                    made,
                    seconds: took.as_secs_f64(),
                    run,
                });
                let there = level.left(stocks, own, policy.own_ots());
                let there = there.unwrap_or_default();
                shared.metrics.level(&function, &name, there, level.amount);
            }
            Err(_) if shared.is_stopping() => return Ok(()),
            Err(error) => {
                shared.metrics.prepared(&function, "self", None);
                shared.tell(&Event::ReplenishFailed {
                    peer: name,
                    function,
                    reason: error.with_advice(),
                    run: None,
                });
                let is_busy = matches!(
                    error,
                    Error::Protocol(ProtocolError::PeerAborted(AbortReason::Busy))
                );
                return Err(if is_busy { BUSY_PAUSE } else { LONGEST_PAUSE });
            }
        }
    }
    if let Some(session) = session {
        // Both have everything, so a peer that has already left does not matter.
        let _ = session.close();
    }
    Ok(())
}

/// Fills one level. Returns the amount made, and the session for the next level.
fn fill_level(
    shared: &Shared,
    policy: &Policy,
    stocks: &Stocks,
    level: &Level,
    address: &str,
    session: Option<Session>,
) -> Result<(u64, Session), Error> {
    let limits = policy.limits();
    let own = shared.identity.fingerprint();
    let mut session = match session {
        Some(session) => session,
        None => {
            let settings = Settings {
                connect_timeout: CONNECT_TIME,
                ..settings(limits, shared.own_work.clone(), shared.lane())
            };
            let mut session = Session::connect(address, &shared.identity, &level.peer, &settings)?;
            policy.set_own_ots(&mut session, &level.peer)?;
            session
        }
    };
    // If room cannot be freed yet, the preparation itself finds it missing.
    let _ = level.compact(stocks, own);
    let order = level.order(level.amount)?;
    let order = order.time_limit(limits.preparation);
    let order = order.threads(shared.threads_of_own_work(limits));
    let made = order.run(&mut session, stocks)?.made();
    Ok((made, session))
}
