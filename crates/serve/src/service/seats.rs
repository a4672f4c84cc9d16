//! The open sessions, and the limits on new ones.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tacit::Fingerprint;
use tacit::net::CancelHandle;
use tacit::session::Arrival;

use super::{ServiceState, Shared};
use crate::memory::{Held, Need};
use crate::policy::Limits;

pub(super) struct OpenSession {
    pub(super) peer: Fingerprint,
    pub(super) cancel: CancelHandle,
    pub(super) running: bool,
    /// The memory that its run is counted for, and that it keeps between runs.
    memory: Held,
}

/// A session's place among the open ones, given back on drop.
pub(crate) struct Seat {
    shared: Arc<Shared>,
    number: u64,
    pub(crate) peer: Fingerprint,
    pub(crate) peer_name: String,
    pub(crate) cancel: CancelHandle,
}

impl Shared {
    /// Gives a peer a seat, or returns the reason why not.
    pub(super) fn admit(self: &Arc<Self>, arrival: &Arrival) -> Result<Seat, &'static str> {
        let policy = self.policy();
        let peer = arrival.peer().and_then(|peer| policy.peer(&peer));
        let peer = peer.ok_or("it is no longer among the peers")?;
        let limits = policy.limits();
        let mut state = self.state();
        let now = Instant::now();
        let count = |peer| {
            let sessions = state.sessions.values();
            sessions.filter(|session| session.peer == peer).count()
        };
        let (all, of_peer) = (state.sessions.len(), count(peer.fingerprint));
        let of_late = state.peer(peer.fingerprint, &policy, now);
        // The other server comes with every run of every client. The client is bounded there, and
        // its requests through the other server must not keep all others out. Even so, no behaviour
        // of the other server takes all sessions from clients, and sessions for which no client
        // comes are counted.
        let is_server = policy.is_server(&peer.fingerprint);
        if !is_server && !of_late.refusals.has(now) {
            return Err("it was refused too often of late");
        }
        if !of_late.arrivals.take(now) {
            return Err("it starts sessions too often");
        }
        let most = match is_server {
            true => limits.sessions_of_server(),
            false => limits.sessions_per_peer,
        };
        if of_peer >= most {
            return Err("it has the most sessions that it may have");
        }
        if all >= limits.sessions {
            return Err("there is no room for more sessions");
        }
        if self.is_stopping() {
            return Err("the service is about to stop");
        }
        let number = state.next;
        state.next += 1;
        let seat = Seat {
            shared: Arc::clone(self),
            number,
            peer: peer.fingerprint,
            peer_name: peer.name.clone(),
            cancel: CancelHandle::new(),
        };
        let session = OpenSession {
            peer: seat.peer,
            cancel: seat.cancel.clone(),
            running: false,
            memory: Held::default(),
        };
        state.sessions.insert(number, session);
        drop(state);
        self.metrics.session_began(&seat.peer_name);
        Ok(seat)
    }
}

impl ServiceState {
    /// Returns the bytes of preparations.
    fn preparing_bytes(&self) -> u64 {
        self.preparing
            .values()
            .fold(0, |sum, bytes| sum.saturating_add(*bytes))
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
    ///
    /// # Errors
    ///
    /// The limit that would be exceeded.
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
        let held = |of_all: bool| {
            let others = state.sessions.iter();
            let others = others.filter(|(number, _)| **number != self.number);
            let others = others.filter(|(_, session)| of_all || session.peer == self.peer);
            let bytes = others.map(|(_, session)| session.memory.bytes());
            bytes.fold(own.bytes(), u64::saturating_add)
        };
        if held(false) > per_peer {
            return Err("memory_mib_per_peer");
        }
        let preparing = state.preparing_bytes();
        if held(true).saturating_add(preparing) > all {
            return Err("memory_mib");
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
