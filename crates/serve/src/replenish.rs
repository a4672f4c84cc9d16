//! The stock kept at its levels, behind the runs.
//!
//! Who has an address of the peer in its configuration connects to it and fills what is below its
//! level; who has none is connected to, or waits for the peer's `tacit prepare`. Either way both
//! have the same level in their configurations, and the party that is asked looks it up.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tacit::{Error, Fingerprint, Session, Settings, Stocks};

use crate::event::Event;
use crate::policy::{Level, Peer, Policy};
use crate::priority;
use crate::service::{Shared, settings};

/// The pause after a failure with a peer, at first and at most; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// For the peer to be there.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Two looks at the stock are not nearer to each other.
const BREATH: Duration = Duration::from_millis(200);

/// When a peer is tried again.
struct Pause {
    until: Instant,
    length: Duration,
}

/// Fills stocks until the service stops.
pub(crate) fn replenish(shared: &Arc<Shared>) {
    let Some(stocks) = &shared.stocks else {
        return;
    };
    priority::behind(|| {
        let mut pauses: HashMap<Fingerprint, Pause> = HashMap::new();
        while !shared.is_stopping() {
            let policy = shared.policy();
            look(shared, &policy, stocks);
            for peer in policy.peers() {
                let now = Instant::now();
                let paused = pauses.get(&peer.fingerprint);
                if shared.is_stopping() || paused.is_some_and(|pause| now < pause.until) {
                    continue;
                }
                match fill(shared, &policy, stocks, peer) {
                    Ok(()) => {
                        pauses.remove(&peer.fingerprint);
                    }
                    Err(()) => {
                        let last = pauses.get(&peer.fingerprint).map(|pause| pause.length);
                        let length = last.map_or(FIRST_PAUSE, |last| LONGEST_PAUSE.min(2 * last));
                        let until = Instant::now() + length;
                        pauses.insert(peer.fingerprint, Pause { until, length });
                    }
                }
            }
            shared.wait_for_look(policy.limits().look_at_stock);
            shared.wait_for_stop(BREATH);
        }
    });
}

/// Notes what is in stock, and frees the room of what is used where it is getting tight.
fn look(shared: &Shared, policy: &Policy, stocks: &Stocks) {
    let own = shared.identity.fingerprint();
    let names = match stocks.list() {
        Ok(names) => names,
        Err(error) => {
            let (peer, reason) = ("all".to_owned(), error.to_string());
            return shared.tell(&Event::StockFailed { peer, reason });
        }
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
            let (peer, reason) = (peer.name.clone(), error.to_string());
            shared.tell(&Event::StockFailed { peer, reason });
        }
    }
}

/// Fills what is below its level with a peer that can be connected to, over one session.
fn fill(shared: &Arc<Shared>, policy: &Policy, stocks: &Stocks, peer: &Peer) -> Result<(), ()> {
    let own = shared.identity.fingerprint();
    let mut session = None;
    let levels = policy.levels().iter();
    for level in levels.filter(|level| level.peer == peer.fingerprint) {
        let (name, function) = (peer.name.clone(), level.name());
        let there = match level.runs_left(stocks, own) {
            Ok(there) => there,
            Err(error) => {
                let (peer, reason) = (name, error.to_string());
                shared.tell(&Event::StockFailed { peer, reason });
                return Err(());
            }
        };
        shared.metrics.level(&function, &name, there, level.runs);
        let (Some(address), true) = (&peer.address, there < level.refill_below) else {
            continue;
        };
        let Some(_right) = shared.preparation(peer.fingerprint, policy.limits().preparations)
        else {
            return Ok(());
        };
        let begun = Instant::now();
        let filled = fill_level(shared, policy, stocks, level, address, session.take());
        match filled {
            Ok((made, kept)) => {
                session = Some(kept);
                shared.metrics.prepared(&function, "self", "done");
                shared.tell(&Event::Replenished {
                    peer: name.clone(),
                    function: function.clone(),
                    runs: level.runs,
                    made,
                    seconds: begun.elapsed().as_secs_f64(),
                });
                let there = level.runs_left(stocks, own).unwrap_or_default();
                shared.metrics.level(&function, &name, there, level.runs);
            }
            Err(_) if shared.is_stopping() => return Ok(()),
            Err(error) => {
                shared.metrics.prepared(&function, "self", "failed");
                shared.tell(&Event::ReplenishFailed {
                    peer: name,
                    function,
                    reason: error.to_string(),
                });
                return Err(());
            }
        }
    }
    if let Some(session) = session {
        // Both have everything; a peer that has already left takes nothing from it.
        let _ = session.close();
    }
    Ok(())
}

/// Fills one level; how much was made, and the session for the next.
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
                ..settings(limits, shared.own_work.clone())
            };
            let mut session = Session::connect(address, &shared.identity, &level.peer, &settings)?;
            policy.set_own_ots(&mut session, &level.peer)?;
            session
        }
    };
    // Room that cannot be had yet is found missing by the preparation itself.
    let _ = stocks.compact(&level.stock(own));
    let order = level.order(level.runs)?;
    let made = order.run(&mut session, stocks, limits.preparation)?;
    Ok((made, session))
}
