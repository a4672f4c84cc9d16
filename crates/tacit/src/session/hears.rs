//! Checks whether the peer has sent something, for a party that waits for two peers.

use std::time::Duration;

use tacit_protocol::message::Kind;

use super::{Greeting, Session};
use crate::Error;
use crate::driver::receive;

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
}
