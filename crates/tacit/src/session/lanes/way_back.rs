//! The way of a party that connected to another process of the same peer.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use tacit_net::{Fingerprint, Identity, Lane, NetError, Settings};

use crate::{Error, Session};

/// The most addresses that a party tries.
const MAX_TRIES: usize = 2;
/// The longest wait for all of them together.
const CONNECT_TIME: Duration = Duration::from_secs(3);
/// The time that a process has before the next one is tried as well.
const HEAD_START: Duration = Duration::from_millis(250);

/// The data with which a party that connected connects to another process of the same peer.
#[derive(Clone)]
pub(in crate::session) struct WayBack {
    identity: Identity,
    peer: Fingerprint,
    settings: Settings,
}

impl WayBack {
    pub(in crate::session) fn new(
        identity: &Identity,
        peer: &Fingerprint,
        settings: &Settings,
    ) -> Self {
        let time = |usual: Duration| CONNECT_TIME.min(usual);
        Self {
            identity: identity.clone(),
            peer: *peer,
            settings: Settings {
                connect_timeout: time(settings.connect_timeout),
                handshake_timeout: time(settings.handshake_timeout),
                timeout: time(settings.timeout),
                waits_for_peer: false,
                ..settings.clone()
            },
        }
    }

    /// Connects to the first of these processes that answers and is of its lane. A process that is
    /// down, or that does not answer soon, does not keep this party from the next one.
    ///
    /// Each try has a thread, which is left behind if another one was faster. It ends by itself and
    /// drops its session.
    pub(super) fn go(&self, homes: Vec<(Lane, String)>) -> Result<Option<Session>, Error> {
        let (report, reported) = mpsc::channel();
        let end = Instant::now() + CONNECT_TIME;
        let (mut left, mut tried) = (homes.into_iter().take(MAX_TRIES), 0);
        loop {
            match left.next() {
                Some((lane, address)) => {
                    let (way_back, report) = (self.clone(), report.clone());
                    // If this party has gone elsewhere, nobody hears the report.
                    thread::spawn(move || drop(report.send(way_back.go_to(&address, lane))));
                    tried += 1;
                }
                None if tried == 0 => return Ok(None),
                None => {}
            }
            let rest = end.saturating_duration_since(Instant::now());
            let time = match left.len() {
                0 => rest,
                _ => rest.min(HEAD_START),
            };
            match reported.recv_timeout(time) {
                Ok(Ok(None)) => tried -= 1,
                Ok(went) => return went,
                Err(RecvTimeoutError::Timeout) if Instant::now() < end => {}
                Err(_) => return Ok(None),
            }
        }
    }

    /// Connects to the process at this address, if it is of this lane.
    fn go_to(&self, address: &str, lane: Lane) -> Result<Option<Session>, Error> {
        let went = Session::connect(address, &self.identity, &self.peer, &self.settings);
        let greeted = went.and_then(|mut session| {
            session.greeted()?;
            Ok(session)
        });
        match greeted {
            Ok(session) if session.lanes().peer == lane => Ok(Some(session)),
            Err(error @ Error::Network(NetError::Cancelled { .. })) => Err(error),
            // The process is down, or another one is there: the session goes on elsewhere.
            Ok(_) | Err(_) => Ok(None),
        }
    }
}
