//! The open sessions, the peers that they are with, and the limits on new ones.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tacit::Fingerprint;
use tacit::net::Arrived;
use tacit::net::CancelHandle;
use tacit::session::AbortReason;
use tacit::stock::Stocks;

use super::{ServiceState, Shared};
use crate::memory::{Need, SessionMemory};
use crate::policy::{Limits, Policy};
use crate::tables::now_s;
use crate::visitors::{MAX_VISITORS, Visitors};

pub(super) struct OpenSession {
    pub(super) peer: Fingerprint,
    pub(super) cancel: CancelHandle,
    pub(super) running: bool,
    is_visitors: bool,
    /// The memory that its run is counted for, and that it keeps between runs.
    memory: SessionMemory,
}

/// A session's place among the open ones, given back on drop.
pub(crate) struct Seat {
    shared: Arc<Shared>,
    number: u64,
    /// The peer, or the subject of a visitor: by it everything counts.
    pub(crate) peer: Fingerprint,
    pub(crate) peer_name: String,
    /// The peer of the policy, which has what is offered: the site of a visitor.
    pub(crate) of_policy: Fingerprint,
    /// The end of a visitor's token in seconds since 1970.
    expires_s: Option<u64>,
    /// The site that let a visitor in, as it was then.
    site: Option<Visitors>,
    pub(crate) cancel: CancelHandle,
}

/// A peer that has arrived, as a [`Seat`] names it.
struct Guest {
    peer: Fingerprint,
    name: String,
    of_policy: Fingerprint,
    /// The name of the peer of the policy, which metrics show.
    shown: String,
    expires_s: Option<u64>,
    site: Option<Visitors>,
}

/// The reason why a peer gets no seat: as it is told, and as the log has it.
pub(super) type NoSeat = (AbortReason, &'static str, String);

fn busy(reason: &str) -> NoSeat {
    (AbortReason::Busy, "session", reason.to_owned())
}

/// Finds out who has arrived: a peer of the policy, or a visitor by its token.
fn guest(policy: &Policy, arrived: &Arrived) -> Result<Guest, NoSeat> {
    let unknown = |reason: String| (AbortReason::Unknown, "token", reason);
    let nobody = || busy("it is no longer among the peers");
    let identity = arrived.channel.peer().ok_or_else(nobody)?;
    if let Some(peer) = policy.peer(&identity) {
        return Ok(Guest {
            peer: identity,
            name: peer.name.clone(),
            of_policy: identity,
            shown: peer.name.clone(),
            expires_s: None,
            site: None,
        });
    }
    if policy.sites().is_empty() {
        return Err(nobody());
    }
    let token = arrived.introduction.as_ref();
    let token = token.ok_or_else(|| unknown("it is none of the peers, and has no token".into()))?;
    let mut wrong = String::new();
    for site in policy.sites() {
        match site.check(token.text(), &identity, now_s()) {
            Ok(bearer) => {
                return Ok(Guest {
                    peer: site.of_subject(&bearer.subject),
                    name: format!("{}/{}", site.name, bearer.subject),
                    of_policy: site.fingerprint(),
                    shown: site.name.clone(),
                    expires_s: Some(bearer.expires_s),
                    site: Some(site.clone()),
                });
            }
            Err(error) => wrong += &format!("; as one of {}, {error}", site.name),
        }
    }
    Err(unknown(format!("its token is not accepted{wrong}")))
}

impl Shared {
    /// Gives a peer a seat, or returns the reason why not.
    pub(super) fn admit(self: &Arc<Self>, arrived: &Arrived) -> Result<Seat, NoSeat> {
        let policy = self.policy();
        let guest = guest(&policy, arrived)?;
        self.seat(&policy, guest).map_err(busy)
    }

    fn seat(self: &Arc<Self>, policy: &Policy, guest: Guest) -> Result<Seat, &'static str> {
        let limits = policy.limits();
        let mut state = self.state();
        let is_visitors = guest.expires_s.is_some();
        let now = Instant::now();
        let count = |peer| {
            let sessions = state.sessions.values();
            sessions.filter(|session| session.peer == peer).count()
        };
        let (all, of_peer) = (state.sessions.len(), count(guest.peer));
        let of_visitors = state
            .sessions
            .values()
            .filter(|session| session.is_visitors);
        let of_visitors = of_visitors.count();
        if is_visitors && !state.has_room_for_visitor(guest.peer, now) {
            return Err("too many other visitors came of late");
        }
        let recent = state.peer(guest.peer, policy, now);
        if is_visitors {
            recent.visitor = Some(guest.name.clone());
        }
        // The other server comes with every run of every client. The client is bounded there, and
        // its requests through the other server must not keep all others out. Even so, no behaviour
        // of the other server takes all sessions from clients, and sessions for which no client
        // comes are counted.
        let is_server = policy.is_server(&guest.peer);
        if !is_server && !recent.refusals.has(now) {
            return Err("it was refused too often of late");
        }
        if !recent.arrivals.take(now) {
            return Err("it starts sessions too often");
        }
        let most = if is_server {
            limits.sessions_of_server()
        } else {
            limits.sessions_per_peer
        };
        if of_peer >= most {
            return Err("it has the most sessions that it may have");
        }
        if all >= limits.sessions {
            return Err("there is no room for more sessions");
        }
        // Visitors are many, and leave room for the peers.
        if is_visitors && of_visitors >= limits.sessions_of_server() {
            return Err("there is no room for more sessions of visitors");
        }
        if self.is_stopping() {
            return Err("the service is about to stop");
        }
        let number = state.next;
        state.next += 1;
        let seat = Seat {
            shared: Arc::clone(self),
            number,
            peer: guest.peer,
            peer_name: guest.name,
            of_policy: guest.of_policy,
            expires_s: guest.expires_s,
            site: guest.site,
            cancel: CancelHandle::new(),
        };
        let session = OpenSession {
            peer: seat.peer,
            cancel: seat.cancel.clone(),
            running: false,
            is_visitors,
            memory: SessionMemory::default(),
        };
        state.sessions.insert(number, session);
        drop(state);
        self.metrics.session_began(&guest.shown);
        Ok(seat)
    }
}

impl ServiceState {
    /// Returns whether the rates of one more visitor can be known. Forgets those that have all of
    /// theirs left, if there are too many.
    fn has_room_for_visitor(&mut self, visitor: Fingerprint, now: Instant) -> bool {
        if self.peers.len() >= MAX_VISITORS && !self.peers.contains_key(&visitor) {
            self.peers
                .retain(|_, recent| recent.visitor.is_none() || !recent.is_rested(now));
        }
        self.peers.len() < MAX_VISITORS || self.peers.contains_key(&visitor)
    }

    /// Returns the bytes of preparations.
    fn preparing_bytes(&self) -> u64 {
        self.preparing
            .values()
            .fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Returns the limit that a session with this number would exceed with this memory: the bytes
    /// of all runs and preparations, or those of its peer. Visitors together leave a peer's share.
    fn exceeded(
        &self,
        number: u64,
        own: &SessionMemory,
        [all, per_peer]: [u64; 2],
    ) -> Option<&'static str> {
        let session = self.sessions.get(&number)?;
        let held = |counts: &dyn Fn(&OpenSession) -> bool| {
            let others = self.sessions.iter();
            let others = others.filter(|(other, session)| **other != number && counts(session));
            let bytes = others.map(|(_, session)| session.memory.bytes());
            bytes.fold(own.bytes(), u64::saturating_add)
        };
        if held(&|other| other.peer == session.peer) > per_peer {
            return Some("memory_mib_per_peer");
        }
        let of_visitors = all.saturating_sub(per_peer).max(per_peer);
        if session.is_visitors && held(&|other| other.is_visitors) > of_visitors {
            return Some("memory_mib of visitors");
        }
        let of_all = held(&|_| true).saturating_add(self.preparing_bytes());
        (of_all > all).then_some("memory_mib")
    }

    /// Returns the bytes of preparations and of the runs of all sessions.
    pub(super) fn held_bytes(&self) -> u64 {
        let sessions = self.sessions.values();
        let bytes = sessions.map(|session| session.memory.bytes());
        bytes.fold(self.preparing_bytes(), u64::saturating_add)
    }
}

impl Seat {
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns the stocks, of which visitors have none: they may come with another key each time.
    pub(crate) fn stocks(&self) -> Option<&Stocks> {
        let stocks = self.shared.stocks.as_ref();
        stocks.filter(|_| self.expires_s.is_none())
    }

    /// Whether the token of a visitor has expired since the session began.
    pub(crate) fn has_expired(&self) -> bool {
        self.expires_s.is_some_and(|end| end <= now_s())
    }

    /// Whether the site of a visitor still accepts the token that it brought. After a reload with
    /// another key, nobody runs anything more by the old one.
    pub(crate) fn is_let_in(&self, policy: &Policy) -> bool {
        let Some(then) = &self.site else {
            return true;
        };
        let mut sites = policy.sites().iter();
        sites.any(|now| now.name == then.name && now.takes_tokens_of(then))
    }

    /// Marks a run as started, unless the service stops.
    pub(crate) fn begin(&self) -> bool {
        let mut state = self.shared.state();
        if self.shared.is_stopping() {
            return false;
        }
        state.set_running(self.number, true);
        true
    }

    /// Returns the threads of this session's run, which has begun: its part of the processors.
    pub(crate) fn threads(&self, limits: &Limits) -> NonZeroUsize {
        let others = self.shared.state().running().saturating_sub(1);
        limits.threads_beside(others)
    }

    /// Returns the longest time of this session's preparation, and its threads.
    pub(crate) fn bounds(&self, limits: &Limits) -> (Duration, NonZeroUsize) {
        (limits.preparation, self.threads(limits))
    }

    /// Counts the memory of this session's next run, unless all sessions together, or those of its
    /// peer, would then exceed these bytes.
    pub(crate) fn hold(&self, need: Need, [all, per_peer]: [u64; 2]) -> Result<(), &'static str> {
        let mut state = self.shared.state();
        let Some(own) = state.sessions.get(&self.number) else {
            return Err("an ended session");
        };
        let own = own.memory.with(need);
        // Most runs take nothing; then the sessions, of which there may be thousands, are not added
        // up.
        if own.bytes() == 0 {
            return Ok(());
        }
        if let Some(limit) = state.exceeded(self.number, &own, [all, per_peer]) {
            return Err(limit);
        }
        if let Some(session) = state.sessions.get_mut(&self.number) {
            session.memory = own;
        }
        Ok(())
    }

    /// Marks the run as ended. Returns whether the session may go on.
    pub(crate) fn end(&self) -> bool {
        let mut state = self.shared.state();
        state.set_running(self.number, false);
        if let Some(session) = state.sessions.get_mut(&self.number) {
            session.memory.end_run();
        }
        !self.shared.is_stopping()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.set_running(self.number, false);
        state.sessions.remove(&self.number);
        drop(state);
        self.shared.changed.notify_all();
        self.shared.metrics.session_ended();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rates_of_so_many_visitors_are_known() {
        let policy = Policy::new(vec![], vec![], vec![], Limits::default(), None);
        let (policy, now) = (policy.expect("a policy"), Instant::now());
        let visitor = |number: usize| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            Fingerprint(bytes)
        };
        let mut state = ServiceState::default();
        for number in 0..MAX_VISITORS {
            assert!(state.has_room_for_visitor(visitor(number), now));
            let recent = state.peer(visitor(number), &policy, now);
            recent.visitor = Some(String::new());
            assert!(recent.arrivals.take(now));
        }
        assert!(!state.has_room_for_visitor(visitor(MAX_VISITORS), now));
        assert!(state.has_room_for_visitor(visitor(0), now));
        // Those that have used nothing of late are forgotten.
        let later = now + Duration::from_secs(60);
        assert!(state.peer(visitor(1), &policy, later).refusals.take(later));
        assert!(state.has_room_for_visitor(visitor(MAX_VISITORS), later));
        assert_eq!(state.peers.len(), 1);
    }

    #[test]
    fn visitors_leave_memory_for_the_peers() {
        let session = |number: u8, is_visitors, bytes| OpenSession {
            peer: Fingerprint([number; 32]),
            cancel: CancelHandle::new(),
            running: true,
            is_visitors,
            memory: SessionMemory::of(bytes),
        };
        let mut state = ServiceState::default();
        let limits = [100, 25];
        for number in 0..3 {
            let own = SessionMemory::of(25);
            let of = session(number, true, 0);
            state.sessions.insert(u64::from(number), of);
            assert_eq!(state.exceeded(u64::from(number), &own, limits), None);
            let of = session(number, true, 25);
            state.sessions.insert(u64::from(number), of);
        }
        // A fourth visitor would leave nothing to the peers, of which one still has its share.
        state.sessions.insert(3, session(3, true, 0));
        state.sessions.insert(4, session(4, false, 0));
        let own = SessionMemory::of(25);
        let limit = state.exceeded(3, &own, limits);
        assert_eq!(limit, Some("memory_mib of visitors"));
        assert_eq!(state.exceeded(4, &own, limits), None);
    }
}
