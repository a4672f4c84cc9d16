//! Waiting for one peer, or for several, among whoever connects.
//!
//! Handshakes run at the same time, each on a thread of its own and within its own time, so that
//! one that is slow, silent or wrong delays no other. There are at most [`MAX_HANDSHAKES`];
//! where one more comes, the oldest of the network that has most of them is given up, so that a
//! flood from few networks gives way to itself, and one from many must bring as many in the time
//! of one honest handshake to keep the peer out.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use rustls::ServerConfig;

use super::{HandshakeTerms, arrived, serve};
use crate::tcp::{self, LOOK_PAUSE, Listening};
use crate::wait::SLICE;
use crate::{Awaited, CancelHandle, Channel, Interrupt, NetError, Settings, Wait, networks};

/// Most handshakes at once.
const MAX_HANDSHAKES: usize = 32;
/// Most threads at once: one that was given up takes a moment to notice.
const MAX_THREADS: usize = 2 * MAX_HANDSHAKES;

/// A handshake that runs.
struct Begun {
    number: u64,
    from: SocketAddr,
    cancel: CancelHandle,
}

/// How a handshake has ended.
struct Report<T> {
    number: u64,
    from: SocketAddr,
    result: Result<T, NetError>,
}

/// What a handshake's thread makes of its channel, within the handshake's time: the channel itself,
/// or what a first message makes of it.
type Complete<T> = dyn Fn(Channel) -> Result<T, NetError> + Send + Sync;

/// A wait for peers.
pub(super) struct Reception<T = Channel> {
    config: Arc<ServerConfig>,
    terms: HandshakeTerms,
    complete: Arc<Complete<T>>,
    settings: Settings,
    /// The oldest first.
    begun: VecDeque<Begun>,
    next: u64,
    report: Sender<Report<T>>,
    reports: Receiver<Report<T>>,
    /// Held by every thread as long as it runs.
    alive: Arc<()>,
    refused: u64,
    last: Option<(SocketAddr, NetError)>,
}

impl Reception {
    /// A wait under `settings` as the party whose configuration and terms these are.
    pub(super) fn new(config: ServerConfig, terms: HandshakeTerms, settings: &Settings) -> Self {
        Self::completing(config, terms, settings, Arc::new(Ok))
    }

    /// Lets handshakes that begin from now on be under this configuration.
    pub(super) fn configure(&mut self, config: ServerConfig, terms: HandshakeTerms) {
        self.config = Arc::new(config);
        self.terms = terms;
    }
}

impl<T: Send + 'static> Reception<T> {
    /// As [`Reception::new`], with what each handshake's thread makes of its channel.
    pub(super) fn completing(
        config: ServerConfig,
        terms: HandshakeTerms,
        settings: &Settings,
        complete: Arc<Complete<T>>,
    ) -> Self {
        let (report, reports) = mpsc::channel();
        Self {
            config: Arc::new(config),
            terms,
            complete,
            settings: settings.clone(),
            begun: VecDeque::new(),
            next: 0,
            report,
            reports,
            alive: Arc::new(()),
            refused: 0,
            last: None,
        }
    }

    /// Waits for the first handshake that succeeds.
    pub(super) fn wait(
        mut self,
        listening: &Listening,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Result<T, NetError> {
        let settings = self.settings.clone();
        let wait = Wait::at_most(settings.connect_timeout, &settings.cancel);
        loop {
            let (accepts, pause) = match wait.slice() {
                Ok(slice) => (true, slice),
                Err(Interrupt::TimedOut) if !self.begun.is_empty() => (false, SLICE),
                Err(Interrupt::TimedOut) => return Err(self.in_vain()),
                Err(other) => return Err(tcp::ended(other, &settings)),
            };
            let found = self.step(listening, accepts, pause, refused);
            if let Some((completed, _)) = found {
                return Ok(completed);
            }
        }
    }

    /// Begins a handshake on a connection that waits, if it may, and takes one that has succeeded;
    /// where neither is there, waits for `pause` at most.
    pub(super) fn step(
        &mut self,
        listening: &Listening,
        accepts: bool,
        pause: Duration,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Option<(T, SocketAddr)> {
        // A handshake that ends is heard at once, and a connection meanwhile is looked for.
        let mut heard_for = pause.min(LOOK_PAUSE);
        if accepts && Arc::strong_count(&self.alive) <= MAX_THREADS {
            if self.begun.is_empty() {
                listening.wait(pause);
                heard_for = Duration::ZERO;
            }
            match listening.look() {
                Ok(Some((socket, from))) => {
                    self.begin(socket, from, refused);
                    heard_for = Duration::ZERO;
                }
                Ok(None) => {}
                // It may pass, as a lack of descriptors does.
                Err(reason) => {
                    let awaited = Awaited::Connection;
                    let error = NetError::Io { awaited, reason };
                    self.refuse(listening.address(), error, &mut |_, _| ());
                    heard_for = pause.min(LOOK_PAUSE);
                }
            }
        }
        self.hear(heard_for, refused)
    }

    /// Begins the handshake on a connection; with too many of them, gives one up.
    fn begin(
        &mut self,
        socket: TcpStream,
        from: SocketAddr,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) {
        let begun = self.begun.iter().map(|begun| begun.from.ip());
        if self.begun.len() == MAX_HANDSHAKES
            && let Some(place) = networks::gives_way(begun)
            && let Some(given_up) = self.begun.remove(place)
        {
            given_up.cancel.cancel();
            let awaited = Awaited::Handshake;
            self.refuse(given_up.from, NetError::Cancelled { awaited }, refused);
        }
        let (number, cancel) = (self.next, CancelHandle::new());
        self.next += 1;
        let settings = Settings {
            cancel: cancel.clone(),
            ..self.settings.clone()
        };
        let (config, terms) = (Arc::clone(&self.config), self.terms);
        let complete = Arc::clone(&self.complete);
        let (report, alive) = (self.report.clone(), Arc::clone(&self.alive));
        let spawned = thread::Builder::new().spawn(move || {
            let channel = arrived(socket, &settings)
                .and_then(|(transport, settings)| serve(config, transport, terms, &settings));
            let result = channel.and_then(|channel| complete(channel));
            // Nobody listens any more if the wait is over.
            let _ = report.send(Report {
                number,
                from,
                result,
            });
            drop(alive);
        });
        match spawned {
            Ok(_) => self.begun.push_back(Begun {
                number,
                from,
                cancel,
            }),
            Err(reason) => {
                let awaited = Awaited::Handshake;
                self.refuse(from, NetError::Io { awaited, reason }, refused);
            }
        }
    }

    /// Waits for `pause` at most for a handshake to end; its channel if it succeeded.
    fn hear(
        &mut self,
        pause: Duration,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Option<(T, SocketAddr)> {
        let report = self.reports.recv_timeout(pause).ok()?;
        let (number, from, result) = (report.number, report.from, report.result);
        // One that was given up is not among them, unless it has just succeeded all the same.
        let found = self.begun.iter().position(|begun| begun.number == number);
        let ended = found.and_then(|place| self.begun.remove(place));
        match (result, ended) {
            (Ok(completed), _) => Some((completed, from)),
            (Err(reason), Some(_)) => {
                self.refuse(from, reason, refused);
                None
            }
            (Err(_), None) => None,
        }
    }

    fn refuse(
        &mut self,
        from: SocketAddr,
        reason: NetError,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) {
        refused(from, &reason);
        self.refused += 1;
        self.last = Some((from, reason));
    }

    fn in_vain(&mut self) -> NetError {
        let after = self.settings.connect_timeout;
        match self.last.take() {
            None => NetError::Timeout {
                awaited: Awaited::Connection,
                after,
            },
            Some((from, reason)) => NetError::OnlyOthers {
                after,
                refused: self.refused,
                from,
                reason: Box::new(reason),
            },
        }
    }
}

impl<T> Drop for Reception<T> {
    fn drop(&mut self) {
        self.begun.iter().for_each(|begun| begun.cancel.cancel());
    }
}
