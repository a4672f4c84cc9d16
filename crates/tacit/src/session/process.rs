//! The process that a session belongs to.
//!
//! A process that forks leaves both halves the same keys, OTs and leases, and the same connection.
//! If both went on with them, the peer would see two runs under one Δ and one stream of OTs, and
//! the network two records under one nonce. So what a process holds serves that process alone.

use crate::Error;

/// A process, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process(u32);

impl Process {
    /// This one. A page has one only.
    pub(super) fn own() -> Self {
        #[cfg(target_family = "wasm")]
        return Self(0);
        #[cfg(not(target_family = "wasm"))]
        Self(std::process::id())
    }

    /// Passes in the process that this is.
    ///
    /// # Errors
    ///
    /// This is another process, which was forked from it.
    pub(super) fn check(self) -> Result<(), Error> {
        match self == Self::own() {
            true => Ok(()),
            false => Err(Error::ApiMisuse(
                "a session serves the process that opened it; open one after the fork",
            )),
        }
    }

    /// Becomes this process. Whether it was.
    pub(super) fn take_over(&mut self) -> bool {
        let before = std::mem::take(self);
        before == *self
    }
}

impl Default for Process {
    fn default() -> Self {
        Self::own()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::Duration;

    use tacit_net::memory;

    use super::*;
    use crate::session::{AbortReason, Session, Side};

    /// A session as a process has it that was forked from the one that opened it, and the bytes of
    /// the other end.
    fn forked() -> (Session, memory::RawEnd) {
        let (channel, other) = memory::pair_with_raw();
        let session = Session::over(channel, Side::Connecting, None);
        let mut session = session.expect("a greeting waits for nobody");
        session.process = Process(Process::own().0 ^ 1);
        (session, other)
    }

    /// All that the peer has heard once the session is gone.
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
                // Where it was opened it goes on.
                session.process = Process::own();
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

    #[test]
    fn a_process_takes_over_once() {
        let mut process = Process(Process::own().0 ^ 1);
        assert!(!process.take_over());
        assert!(process.take_over());
    }
}
