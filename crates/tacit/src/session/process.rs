//! The check that a session is used by the process that opened it
//! ([`OfProcess`](tacit_stock::OfProcess) says why).

use super::Session;
use crate::Error;
use crate::driver::FORKED;

impl Session {
    /// Checks that this process opened the session.
    pub(super) fn check_process(&self) -> Result<(), Error> {
        self.process.get().copied().ok_or(FORKED)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::Duration;

    use tacit_net::memory;
    use tacit_stock::OfProcess;

    use super::*;
    use crate::session::{AbortReason, Side};

    /// Returns a session as a forked process sees it, and the raw bytes of the other end.
    fn forked() -> (Session, memory::RawEnd) {
        let (channel, other) = memory::pair_with_raw();
        let session = Session::over(channel, Side::Connecting, None);
        let mut session = session.expect("a greeting waits for nobody");
        session.process.set_as_if_forked();
        (session, other)
    }

    /// Returns the number of bytes that the peer has received once the session is gone.
    fn heard(mut other: memory::RawEnd) -> usize {
        let mut bytes = Vec::new();
        other.read_to_end(&mut bytes).expect("the end");
        bytes.len()
    }

    #[test]
    fn a_session_does_nothing_in_a_process_that_was_forked() {
        let (session, other) = forked();
        drop(session);
        let greeting = heard(other);
        let ends: [fn(Session); 3] = [
            |mut session| {
                let done =
                    session.guarded(|_| -> Result<(), Error> { unreachable!("it is refused") });
                assert!(matches!(done, Err(Error::ApiMisuse(_))));
                // In the process that opened it, the session still works.
                session.process = OfProcess::default();
                session
                    .guarded(|_| Ok(()))
                    .expect("a session that is whole");
            },
            |session| assert!(matches!(session.close(), Err(Error::ApiMisuse(_)))),
            |session| session.refuse(AbortReason::Misbehaved, Duration::from_secs(1)),
        ];
        for end in ends {
            let (session, other) = forked();
            end(session);
            assert_eq!(heard(other), greeting);
        }
    }

    /// A callback of the run may fork, and what the forked process does next, such as to leave by
    /// an error, ends the run there.
    #[test]
    fn a_session_that_is_forked_during_a_run_tells_the_peer_nothing() {
        let (session, other) = forked();
        drop(session);
        let greeting = heard(other);
        let (mut session, other) = forked();
        session.process = OfProcess::default();
        let ended = session.guarded(|session| -> Result<(), Error> {
            session.process.set_as_if_forked();
            Err(Error::ApiMisuse("an end of its own"))
        });
        assert!(ended.is_err());
        drop(session);
        assert_eq!(heard(other), greeting);
    }
}
