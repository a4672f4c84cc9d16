//! Waits for the next message without taking it.

use std::time::Duration;

use web_time::Instant;

use super::{Channel, HEADER_BYTES};
use crate::{Awaited, NetError, Wait};

impl Channel {
    /// Returns the kind of the next message, of any length, once its header has arrived; `None` if
    /// that does not happen within `time`. Does not flush what was sent.
    ///
    /// # Errors
    ///
    /// The connection ended, this channel is cancelled, or its time limit is over.
    pub fn next_kind(&mut self, time: Duration) -> Result<Option<u8>, NetError> {
        if let Some((kind, _)) = self.assembly.open() {
            return Ok(Some(kind));
        }
        let cancel = self.cancel.clone();
        let wait = Wait::at_most(time.min(self.patience()), &cancel);
        match self.fill(HEADER_BYTES, &wait, usize::MAX) {
            Ok(()) => Ok(self.kind_here()),
            Err(NetError::Timeout { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits for the next message, for at most the timeout, if the peer may be silent for long.
    /// After a silence of `quiet`, this channel frees its buffers, and checks the handle that ends
    /// the wait twice a second. Over TCP the call returns once [`Channel::receive`] has something
    /// to report, which may be the end of the connection. Over another transport it returns after
    /// `quiet` even without a message. It returns the rest of the timeout, so that a peer that
    /// sends part of a message gets no more time than any other.
    ///
    /// # Errors
    ///
    /// Nothing arrived in time, this channel is cancelled, or its time limit is over.
    pub fn rest(&mut self, quiet: Duration) -> Result<Duration, NetError> {
        let (patience, begun) = (self.patience(), Instant::now());
        let left = || patience.saturating_sub(begun.elapsed());
        match self.flush().and_then(|()| self.next_kind(quiet)) {
            Ok(None) => {}
            Ok(_) | Err(NetError::Closed { .. }) => return Ok(left()),
            Err(error) => return Err(error),
        }
        let cancel = self.cancel.clone();
        let wait = Wait::at_most(left(), &cancel);
        self.incoming.release();
        self.outgoing.release();
        self.assembly.release();
        self.release_aside();
        match self.stream.rest(&wait) {
            Ok(()) => Ok(left()),
            Err(interrupt) => Err(self.interrupted(interrupt, Awaited::Message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_message_is_seen_and_stays() {
        let (mut one, mut other) = memory::pair();
        assert_eq!(other.next_kind(Duration::from_millis(1)).unwrap(), None);
        one.send(7, &[1, 2, 3]).unwrap();
        one.flush().unwrap();
        for _ in 0..2 {
            assert_eq!(other.next_kind(LONG).unwrap(), Some(7));
        }
        let frame = other.receive(3).unwrap();
        assert_eq!((frame.kind, frame.payload), (7, &[1, 2, 3][..]));
        drop(one);
        let gone = other.next_kind(LONG).unwrap_err();
        assert!(matches!(gone, NetError::Closed { .. }), "{gone}");
    }
}
