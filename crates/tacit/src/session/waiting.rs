//! The wait for a run of three parties: a party watches two links, and the cloud tells the
//! evaluator its place in the queue.

use std::time::Duration;

use tacit_protocol::Misbehaviour;
use tacit_protocol::message::Kind;
use tacit_protocol::outsourced::{Peer as OutsourcedRole, RunTicket};

use super::{Greeting, Session};
use crate::Error;
use crate::driver::{flush, receive, send};

const PLACE_BYTES: usize = size_of::<u16>();

/// The part of a session that runs of three parties have.
#[derive(Default)]
pub(super) struct OfThree {
    /// The ticket of the run that was asked for.
    pub(super) ticket: Option<RunTicket>,
    /// The last place in the queue that the cloud sent to the evaluator.
    pub(super) place: Option<u16>,
    /// The peer's role.
    pub(super) party: Option<OutsourcedRole>,
}

impl Session {
    /// Whether the peer sends something after its greeting within `time`.
    pub(crate) fn hears(&mut self, time: Duration) -> Result<bool, Error> {
        while let Some(kind) = self.channel.next_kind(time)? {
            if kind == Kind::Abort.byte() {
                receive(&mut self.channel, Kind::Abort, 1)?;
            }
            if matches!(self.greeting, Greeting::Both(..)) {
                return Ok(true);
            }
            self.tag()?;
        }
        Ok(false)
    }

    /// Sends the evaluator of a run of three the number of runs before its own, if it is smaller
    /// than the last one sent.
    ///
    /// # Errors
    ///
    /// The evaluator has left. The session is then spent.
    pub fn tell_place(&mut self, before: usize) -> Result<(), Error> {
        let before = u16::try_from(before).unwrap_or(u16::MAX);
        if self.of_three.place.is_some_and(|last| before >= last) {
            return Ok(());
        }
        self.guarded(|session| {
            session.of_three.place = Some(before);
            send(
                &mut session.channel,
                Kind::QueuePlace,
                &before.to_le_bytes(),
            )?;
            flush(&mut session.channel)
        })
    }

    /// Receives this party's place in the peer's queue, if the peer sends it within `time`.
    ///
    /// # Errors
    ///
    /// The peer has left or stops the run, or the number is not less than the one before. So a peer
    /// cannot hold a run up by telling places.
    pub(crate) fn hear_place(&mut self, time: Duration) -> Result<Option<u16>, Error> {
        if !self.hears(time)? || self.channel.next_kind(time)? != Some(Kind::QueuePlace.byte()) {
            return Ok(None);
        }
        let payload = receive(&mut self.channel, Kind::QueuePlace, PLACE_BYTES)?;
        let wrong = || Misbehaviour::invalid(Kind::QueuePlace, "number of runs");
        let before = payload.try_into().map_err(|_| wrong())?;
        let before = u16::from_le_bytes(before);
        let is_less = self.of_three.place.is_none_or(|last| before < last);
        if !is_less {
            return Err(wrong().into());
        }
        self.of_three.place = Some(before);
        Ok(Some(before))
    }
}
