//! The request of the connecting party, and the wait for it.

use std::time::Duration;

use tacit_net::NetError;
use tacit_protocol::Error as ProtocolError;
use tacit_protocol::matching::TableSizes;
use tacit_protocol::message::Kind;
use tacit_protocol::session::Proposal;

use super::tables::of_sizes;
use super::{Session, Side, over};
use crate::Error;
use crate::driver::receive;

/// The time after a peer's last request at which a listening party switches to a cheap wait.
const QUIET: Duration = Duration::from_secs(1);

/// A request of the connecting party, before a run or between two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A run, a preparation, or [a question for offers](Session::tell_offers).
    Proposal(Proposal),
    /// A run that matches tables. The peer has told the sizes of its own, and proposes the run once
    /// this party has told its sizes.
    Tables(TableSizes),
}

impl Session {
    /// Returns the number of runs on which the parties have agreed, whether or not they ended well.
    pub fn agreed_runs(&self) -> u64 {
        self.runs
    }

    /// Waits for the connecting party's next request, at most for `patience`, so that the listening
    /// party can choose. That party answers by running the [`Job`](crate::Job),
    /// [`Preparation`](crate::stock::Preparation) or [`Match`](crate::matching::Match) that was
    /// asked for, or by [`Session::refuse`]. Returns `None` if the peer has ended the session.
    ///
    /// # Errors
    ///
    /// Nothing came in time, or the message is no request that this version knows, or this side is
    /// the connecting one.
    pub fn next_request(&mut self, patience: Duration) -> Result<Option<Request>, Error> {
        self.hear_within(patience, |session, time| {
            session.hear_lanes(time)?;
            if session.channel.next_kind(time)? == Some(Kind::MatchSizes.byte()) {
                let heard = session.script(TableSizes::hear)?;
                session.heard = Some(heard.clone());
                return Ok(Request::Tables(heard));
            }
            session.hear_next_proposal().map(Request::Proposal)
        })
    }

    /// Waits for the connecting party's proposal, as [`next_request`](Self::next_request) does,
    /// where nothing else may come: once both parties have told the sizes of their tables.
    ///
    /// # Errors
    ///
    /// Those of [`next_request`](Self::next_request), and another request.
    pub fn next_proposal(&mut self, patience: Duration) -> Result<Option<Proposal>, Error> {
        self.hear_within(patience, |session, _| session.hear_next_proposal())
    }

    /// Receives the peer's proposal. The inner error is that of an invalid proposal, the outer one
    /// that of a peer that has left.
    pub(super) fn hear_proposal(&mut self) -> Result<Result<Proposal, ProtocolError>, Error> {
        self.hear_lanes(self.channel.timeout())?;
        let payload = receive(&mut self.channel, Kind::Propose, Proposal::BYTES);
        let payload = payload.map_err(|error| over(of_sizes(error), self.runs))?;
        Ok(Proposal::parse(Kind::Propose, payload))
    }

    fn hear_next_proposal(&mut self) -> Result<Proposal, Error> {
        let payload = receive(&mut self.channel, Kind::Propose, Proposal::BYTES)?;
        let asked = Proposal::parse(Kind::Propose, payload)?;
        self.asked = Some(asked);
        Ok(asked)
    }

    /// Waits at most for `patience` until the connecting party sends something, and then calls
    /// `hear` with the rest of the time. Returns `None` if the peer has ended the session.
    fn hear_within<T>(
        &mut self,
        patience: Duration,
        hear: impl FnOnce(&mut Self, Duration) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        if self.side == Side::Connecting {
            return Err(Error::ApiMisuse("it is the connecting party that proposes"));
        }
        self.guarded(|session| {
            let timeout = session.channel.timeout();
            session.channel.set_timeout(patience);
            let left = session.channel.rest(QUIET)?;
            session.channel.set_timeout(left);
            let heard = match hear(session, left) {
                Err(Error::Network(NetError::Closed { .. })) => None,
                Err(Error::Network(NetError::Timeout { awaited, .. })) => {
                    let after = patience;
                    return Err(NetError::Timeout { awaited, after }.into());
                }
                heard => Some(heard?),
            };
            session.channel.set_timeout(timeout);
            session.begun = session.runs + u64::from(heard.is_some());
            Ok(heard)
        })
    }

    /// Returns the sizes that the peer has told, unless they are answered already.
    pub(crate) fn take_heard(&mut self) -> Option<TableSizes> {
        self.heard.take()
    }
}
