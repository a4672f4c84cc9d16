//! The names of this party, and of a session and its runs, by which the logs of both parties can be
//! joined.

use tacit_net::{Fingerprint, Identity, WorkerTerms};

use super::greeting::Greeting;
use super::{RunId, Session, SessionId};

impl Session {
    /// Returns this party's fingerprint, if the channel is authenticated.
    pub fn own(&self) -> Option<Fingerprint> {
        self.own
    }

    /// Returns the worker that the peer is, if it is not the party itself. Everything that counts
    /// for a peer counts for its party.
    pub fn peer_worker(&self) -> Option<&WorkerTerms> {
        self.channel.peer_worker()
    }

    /// Returns whether one of the two is a worker. Such a session uses no stock and no chain.
    pub fn is_of_worker(&self) -> bool {
        self.is_of_worker
    }

    /// Notes whether this end is a worker's.
    pub(super) fn held_by(mut self, identity: &Identity) -> Self {
        self.is_of_worker |= identity.worker().is_some();
        self
    }

    /// Returns the session's name, which is the same at both parties; `None` at the party that
    /// connected until it has the peer's greeting.
    pub fn id(&self) -> Option<SessionId> {
        match &self.greeting {
            Greeting::Both(tag, _) => Some(tag.id()),
            Greeting::Sent(_) => None,
        }
    }

    /// Returns the name of the run, order or matching that was begun last, or that the peer asks
    /// for ([`next_request`](Self::next_request)). It is the same at both parties.
    pub fn run_id(&self) -> Option<RunId> {
        let (session, number) = (self.id()?, self.begun);
        (number > 0).then_some(RunId { session, number })
    }
}
