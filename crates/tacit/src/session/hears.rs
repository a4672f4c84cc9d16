//! What a party of three does while its run waits: it looks at two links, and is told its place.

use std::time::Duration;

use tacit_protocol::Misbehaviour;
use tacit_protocol::message::Kind;

use super::{Greeting, Session};
use crate::Error;
use crate::driver::{flush, receive, send};

const PLACE_BYTES: usize = size_of::<u16>();

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

    /// Tells the evaluator of a run of three how many runs come before its own. A number that is
    /// not less than the one told last is not told.
    ///
    /// # Errors
    ///
    /// The evaluator has left. The session is then spent.
    pub fn tell_place(&mut self, before: usize) -> Result<(), Error> {
        let before = u16::try_from(before).unwrap_or(u16::MAX);
        if self.place.is_some_and(|told| before >= told) {
            return Ok(());
        }
        self.guarded(|session| {
            session.place = Some(before);
            send(
                &mut session.channel,
                Kind::QueuePlace,
                &before.to_le_bytes(),
            )?;
            flush(&mut session.channel)
        })
    }

    /// Receives the peer's number of runs that come before this party's, if that is what comes next
    /// within `time`.
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
        let is_less = self.place.is_none_or(|told| before < told);
        if !is_less {
            return Err(wrong().into());
        }
        self.place = Some(before);
        Ok(Some(before))
    }
}
