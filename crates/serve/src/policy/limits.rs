//! The limits on what peers can use.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tacit::net::IpNet;

use super::Error;
use crate::rate::Rate;

/// The limits on what peers can use of this party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The number of sessions at once.
    pub sessions: usize,
    /// The number of sessions of one peer at once.
    pub sessions_per_peer: usize,
    /// The rate at which one peer may start sessions.
    pub arrivals: Rate,
    /// The number of mistakes of one peer before it is ignored for a while.
    pub refusals: Rate,
    /// The MiB that lots of `authenticated` and silent OTs of all runs take together.
    pub memory_mib: u64,
    /// The MiB of these for the runs of one peer. `None` means a quarter, or the need of the
    /// largest run if that is more. The other server of a run of three is exempt.
    pub memory_mib_per_peer: Option<u64>,
    /// The most threads of one run or preparation. All that work at once share the processors, so a
    /// run gets an equal part of them if that is less.
    pub threads: NonZeroUsize,
    /// The number of keys of one peer about which runs that match tables may tell it on a day
    /// (UTC).
    pub keys_per_day: u64,
    /// The number of TLS handshakes at once; eight times as many further connections wait for
    /// theirs. A change needs a restart.
    pub handshakes: usize,
    /// The longest time for TLS and the greeting.
    pub handshake: Duration,
    /// The longest pause between two runs of a session.
    pub idle: Duration,
    /// The longest wait for the other server and for a turn at a chain, before a run of three.
    pub meeting: Duration,
    /// The longest wait for each message within a run.
    pub message: Duration,
    /// The number of preparations at once.
    pub preparations: usize,
    /// The longest time of a preparation.
    pub preparation: Duration,
    /// The time between two checks of the stock.
    pub look_at_stock: Duration,
    /// The origins of the pages that may connect by WebSocket; `None` allows no such connection.
    pub websocket_origins: Option<Arc<[String]>>,
    /// The networks of load balancers, which say by a PROXY header who connects through them.
    pub proxies: Arc<[IpNet]>,
}

impl Limits {
    /// Returns the largest number of descriptors that a service within these limits needs.
    #[must_use]
    pub fn descriptors(&self) -> u64 {
        // A session, or a preparation that the service starts, has at most two connections, pipes
        // to a command, a stock's files and index, and 16 lots that are made together. A handshake
        // has one connection and one that was given up, and eight more wait for it. The rest is for
        // refusals, metrics and the process itself.
        28 * (self.sessions + self.preparations) as u64 + 10 * self.handshakes as u64 + 192
    }

    /// Returns the threads of the next run, if `working` runs and preparations work already.
    pub(crate) fn threads_beside(&self, working: usize) -> NonZeroUsize {
        let part = processors() / (working + 1);
        NonZeroUsize::new(part).map_or(NonZeroUsize::MIN, |part| part.min(self.threads))
    }

    /// Returns the number of sessions that the other server of runs of three may have: all but
    /// those of one client, and at least half.
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
            threads: half_of_processors(),
            keys_per_day: 20_000,
            handshakes: 32,
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            meeting: Duration::from_secs(60),
            message: Duration::from_secs(30),
            preparations: 2,
            preparation: Duration::from_secs(600),
            look_at_stock: Duration::from_secs(15),
            websocket_origins: None,
            proxies: Arc::default(),
        }
    }
}

/// Returns the number of processors that this process may use.
pub(crate) fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Half of the processors: so no run takes all of them from the next one.
fn half_of_processors() -> NonZeroUsize {
    NonZeroUsize::new(processors() / 2).unwrap_or(NonZeroUsize::MIN)
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
        ("threads", limits.threads.get(), 1024),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_work_share_the_processors() {
        let limits = |threads| Limits {
            threads: NonZeroUsize::new(threads).expect("not zero"),
            ..Limits::default()
        };
        let processors = processors();
        let many = limits(1024);
        assert_eq!(many.threads_beside(0).get(), processors);
        assert_eq!(many.threads_beside(1).get(), (processors / 2).max(1));
        assert_eq!(many.threads_beside(processors).get(), 1);
        assert_eq!(limits(1).threads_beside(0).get(), 1);
        assert!(Limits::default().threads.get() <= processors.div_ceil(2));
    }
}
