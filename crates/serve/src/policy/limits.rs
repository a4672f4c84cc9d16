//! Bounds of what peers can take.

use std::sync::Arc;
use std::time::Duration;

use super::Error;
use crate::rate::Rate;

/// Bounds of what peers can take of this party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sessions at once.
    pub sessions: usize,
    /// Sessions of one peer at once.
    pub sessions_per_peer: usize,
    /// Sessions that one peer may begin.
    pub arrivals: Rate,
    /// What one peer may get wrong before it is not heard for a while.
    pub refusals: Rate,
    /// MiB that lots of `authenticated` and silent OTs of all runs take together.
    pub memory_mib: u64,
    /// MiB of these for the runs of one peer; a quarter if `None`, or what the largest run takes
    /// where that is more. The other server of a run of three is not bounded by it.
    pub memory_mib_per_peer: Option<u64>,
    /// TLS handshakes at once; eight times as many more connections wait for theirs. A change takes
    /// a restart.
    pub handshakes: usize,
    /// For TLS and the greeting.
    pub handshake: Duration,
    /// Between two runs of a session.
    pub idle: Duration,
    /// For the other server and for a turn at a chain, before a run of three.
    pub meeting: Duration,
    /// For each message within a run.
    pub message: Duration,
    /// Preparations at once.
    pub preparations: usize,
    /// How long a preparation may take.
    pub preparation: Duration,
    /// How often the stock is looked at.
    pub look_at_stock: Duration,
    /// Origins of the pages that may come by WebSocket; nobody comes so where there is nothing.
    pub websocket_origins: Option<Arc<[String]>>,
}

impl Limits {
    /// Descriptors that a service within these limits takes at most.
    #[must_use]
    pub fn descriptors(&self) -> u64 {
        // A session, or a preparation that the service begins, has two connections at most, pipes
        // to a command, a stock's files and index, and 16 lots that are made together. A handshake
        // has one, and one that was given up, and eight connections wait for it. Refusals, metrics
        // and what the process itself has open are the rest.
        28 * (self.sessions + self.preparations) as u64 + 10 * self.handshakes as u64 + 192
    }

    /// Sessions that the other server of runs of three may have: all but those of one client, and
    /// no fewer than half.
    pub(crate) fn sessions_of_server(&self) -> usize {
        let but_one_clients = self.sessions.saturating_sub(self.sessions_per_peer);
        but_one_clients.max(self.sessions.div_ceil(2))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 64,
            sessions_per_peer: 8,
            arrivals: Rate::per_minute(600),
            refusals: Rate::per_minute(20),
            memory_mib: 4096,
            memory_mib_per_peer: None,
            handshakes: 32,
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            meeting: Duration::from_secs(60),
            message: Duration::from_secs(30),
            preparations: 2,
            preparation: Duration::from_secs(600),
            look_at_stock: Duration::from_secs(15),
            websocket_origins: None,
        }
    }
}

pub(super) fn check_limits(limits: &Limits) -> Result<(), Error> {
    let counts = [
        ("sessions", limits.sessions, 4096),
        (
            "sessions_per_peer",
            limits.sessions_per_peer,
            limits.sessions,
        ),
        ("preparations", limits.preparations, 64),
        ("handshakes", limits.handshakes, 1024),
    ];
    for (what, found, most) in counts {
        if !(1..=most).contains(&found) {
            return Err(Error::OutOfBounds {
                what: what.to_owned(),
                found: found.to_string(),
                expected: format!("1 to {most}"),
            });
        }
    }
    Ok(())
}
