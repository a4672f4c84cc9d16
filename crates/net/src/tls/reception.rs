//! Waits for one peer, or for several, among all parties that connect.
//!
//! Handshakes run at the same time, each on a thread of its own and within its own time, so that a
//! slow, silent or wrong one delays no other. There are at most [`Settings::handshakes`]. Further
//! connections wait. The order among them is: first those that have sent something, then those
//! whose networks have the fewest handshakes, then the oldest. So honest peers behind one address,
//! however many, come one after the other.
//!
//! While others wait, a handshake gives way if it has received nothing for [`PATIENCE`], and one
//! that takes longer than that gives way to a less crowded network. So a network that is silent, or
//! sends a byte now and then, mostly displaces itself and delays others for no longer. If too many
//! connections wait, the most crowded network loses a silent connection, or else its newest, but no
//! handshake.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustls::ServerConfig;
use web_time::Instant;

use super::{HandshakeTerms, arrived, sides};
use crate::tcp::{self, LOOK_PAUSE, Listening};
use crate::transport::LastHeard;
use crate::wait::SLICE;
use crate::{Awaited, CancelHandle, Channel, Interrupt, NetError, Settings, Wait, networks, proxy};

/// The number of connections that wait, for each handshake that may run.
const WAITING_EACH: usize = 8;
/// The number of threads for each handshake that may run: one that was given up takes a moment to
/// notice.
const THREADS_EACH: usize = 2;
/// The time for which a handshake is left alone, and for which it may receive nothing, while others
/// wait.
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection whose handshake has not started.
struct Waiting {
    socket: TcpStream,
    from: SocketAddr,
    since: Instant,
    /// Whether a load balancer's header has to come first, which says who it is from.
    awaits_header: bool,
}

impl Waiting {
    /// Returns whether the peer has sent something.
    fn speaks(&self) -> bool {
        matches!(self.socket.peek(&mut [0]), Ok(1..))
    }
}

/// A running handshake.
struct Begun {
    number: u64,
    from: SocketAddr,
    cancel: CancelHandle,
    since: Instant,
    heard: LastHeard,
}

impl Begun {
    fn is_slow(&self) -> bool {
        self.since.elapsed() >= PATIENCE
    }

    fn is_stalled(&self) -> bool {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.elapsed() >= PATIENCE
    }
}

/// The result of a handshake.
struct Report<T> {
    number: u64,
    from: SocketAddr,
    /// The result. It is `Ok(None)` for a side stream, which has joined its session.
    result: Result<Option<T>, NetError>,
}

/// Converts a channel on the handshake's thread, within the handshake's time. The result is the
/// channel itself, or depends on a first message.
pub(super) type Complete<T> = dyn Fn(Channel) -> Result<T, NetError> + Send + Sync;

/// A wait for peers.
pub(super) struct Reception<T = Channel> {
    listening: Arc<Listening>,
    config: Arc<ServerConfig>,
    terms: HandshakeTerms,
    complete: Arc<Complete<T>>,
    settings: Settings,
    /// The waiting connections, the oldest first.
    waiting: VecDeque<Waiting>,
    /// The running handshakes, the oldest first.
    begun: VecDeque<Begun>,
    next: u64,
    report: Sender<Report<T>>,
    reports: Receiver<Report<T>>,
    /// A token that every thread holds while it runs.
    alive: Arc<()>,
    refused: u64,
    last: Option<(SocketAddr, NetError)>,
}

impl Reception {
    /// Starts a wait under `settings` as the party whose configuration and terms these are.
    pub(super) fn new(
        config: Arc<ServerConfig>,
        terms: HandshakeTerms,
        settings: &Settings,
        listening: Arc<Listening>,
    ) -> Self {
        Self::completing(config, terms, settings, listening, Arc::new(Ok))
    }
}

impl<T: Send + 'static> Reception<T> {
    /// Does the same as [`Reception::new`]; each handshake's thread applies `complete` to its
    /// channel.
    pub(super) fn completing(
        config: Arc<ServerConfig>,
        terms: HandshakeTerms,
        settings: &Settings,
        listening: Arc<Listening>,
        complete: Arc<Complete<T>>,
    ) -> Self {
        let (report, reports) = mpsc::channel();
        Self {
            listening,
            config,
            terms,
            complete,
            settings: settings.clone(),
            waiting: VecDeque::new(),
            begun: VecDeque::new(),
            next: 0,
            report,
            reports,
            alive: Arc::new(()),
            refused: 0,
            last: None,
        }
    }

    /// Sets the configuration of the handshakes that start from now on.
    pub(super) fn configure(
        &mut self,
        config: Arc<ServerConfig>,
        terms: HandshakeTerms,
        complete: Arc<Complete<T>>,
    ) {
        (self.config, self.terms, self.complete) = (config, terms, complete);
    }

    /// Waits for the first handshake that succeeds.
    pub(super) fn wait(
        mut self,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Result<T, NetError> {
        let settings = self.settings.clone();
        let wait = Wait::at_most(settings.connect_timeout, &settings.cancel);
        loop {
            let (accepts, pause) = match wait.slice() {
                Ok(slice) => (true, slice),
                Err(Interrupt::TimedOut) if !self.is_idle() => (false, SLICE),
                Err(Interrupt::TimedOut) => return Err(self.in_vain()),
                Err(other) => return Err(tcp::ended(other, &settings)),
            };
            let found = self.step(accepts, pause, refused);
            if let Some((completed, _)) = found {
                return Ok(completed);
            }
        }
    }

    /// Returns the most handshakes at once.
    fn most(&self) -> usize {
        self.settings.handshakes.max(1)
    }

    /// Returns whether there is no connection.
    fn is_idle(&self) -> bool {
        self.begun.is_empty() && self.waiting.is_empty()
    }

    /// Accepts a connection, if it may, and returns one whose handshake has succeeded. If there is
    /// neither, waits for at most `pause`.
    pub(super) fn step(
        &mut self,
        accepts: bool,
        pause: Duration,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Option<(T, SocketAddr)> {
        // The end of a handshake is noticed at once; new connections are checked for regularly.
        let mut heard_for = pause.min(LOOK_PAUSE);
        if accepts {
            if self.is_idle() {
                self.listening.wait(pause);
                heard_for = Duration::ZERO;
            }
            match self.listening.look() {
                Ok(Some((socket, from))) => {
                    self.admit(socket, from, refused);
                    heard_for = Duration::ZERO;
                }
                Ok(None) => {}
                // The error may pass, as a lack of descriptors does.
                Err(reason) => {
                    let awaited = Awaited::Connection;
                    let error = NetError::Io { awaited, reason };
                    self.refuse(self.listening.address(), error, &mut |_, _| ());
                    heard_for = pause.min(LOOK_PAUSE);
                }
            }
        }
        self.begin_next(refused);
        self.hear(heard_for, refused)
    }

    /// Adds a connection to those that wait. If there are too many, the most crowded network loses
    /// one.
    fn admit(
        &mut self,
        socket: TcpStream,
        from: SocketAddr,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) {
        if let Err(reason) = socket.set_nonblocking(true) {
            let awaited = Awaited::Handshake;
            return self.refuse(from, NetError::Io { awaited, reason }, refused);
        }
        self.waiting.push_back(Waiting {
            socket,
            from,
            since: Instant::now(),
            awaits_header: proxy::is_proxy(&self.settings.proxies, from),
        });
        if self.waiting.len() > WAITING_EACH * self.most() {
            let all: Vec<IpAddr> = self.waiting.iter().map(|one| one.from.ip()).collect();
            let place = self.waiting.iter().enumerate().max_by_key(|(place, one)| {
                let crowd = networks::crowd(one.from.ip(), all.iter().copied());
                (crowd, !one.speaks(), *place)
            });
            if let Some(place) = place.map(|(place, _)| place) {
                self.turn_away(place, refused);
            }
        }
    }

    /// Takes the headers that have come off the connections of load balancers. A connection
    /// without a header is closed.
    fn take_headers(&mut self, refused: &mut dyn FnMut(SocketAddr, &NetError)) {
        let mut place = 0;
        while let Some(one) = self.waiting.get_mut(place) {
            match one.awaits_header.then(|| proxy::take(&one.socket)) {
                None | Some(Ok(None)) => {}
                Some(Ok(Some(header))) => {
                    one.from = header.client.unwrap_or(one.from);
                    one.awaits_header = false;
                }
                Some(Err(error)) => {
                    let from = one.from;
                    self.waiting.remove(place);
                    self.refuse(from, error, refused);
                    continue;
                }
            }
            place += 1;
        }
    }

    /// Closes a waiting connection.
    fn turn_away(&mut self, place: usize, refused: &mut dyn FnMut(SocketAddr, &NetError)) {
        if let Some(waiting) = self.waiting.remove(place) {
            let error = NetError::Timeout {
                awaited: Awaited::Handshake,
                after: Duration::from_millis(waiting.since.elapsed().as_millis() as u64),
            };
            self.refuse(waiting.from, error, refused);
        }
    }

    /// Starts handshakes on waiting connections, while there is room or a handshake gives way.
    fn begin_next(&mut self, refused: &mut dyn FnMut(SocketAddr, &NetError)) {
        // A peer that waited for longer would give up in the middle of its handshake.
        let longest = self.settings.handshake_timeout / 2;
        while self
            .waiting
            .front()
            .is_some_and(|one| one.since.elapsed() >= longest)
        {
            self.turn_away(0, refused);
        }
        self.take_headers(refused);
        let most = self.most();
        while let Some(next) = self.next_place()
            && Arc::strong_count(&self.alive) <= THREADS_EACH * most
        {
            let is_full = self.begun.len() >= most;
            if is_full && !self.begun.iter().any(Begun::is_slow) {
                return;
            }
            if is_full {
                let from = self.waiting[next].from.ip();
                let given_up = self
                    .gives_way_to(from)
                    .and_then(|place| self.begun.remove(place));
                let Some(given_up) = given_up else {
                    return;
                };
                given_up.cancel.cancel();
                let awaited = Awaited::Handshake;
                self.refuse(given_up.from, NetError::Cancelled { awaited }, refused);
            }
            if let Some(Waiting { socket, from, .. }) = self.waiting.remove(next) {
                self.begin(socket, from, refused);
            }
        }
    }

    /// Returns the place of the connection whose turn is next.
    fn next_place(&self) -> Option<usize> {
        let begun: Vec<IpAddr> = self.begun.iter().map(|one| one.from.ip()).collect();
        let waiting = self.waiting.iter().enumerate();
        let known = waiting.filter(|(_, one)| !one.awaits_header);
        let next = known.min_by_key(|(place, one)| {
            let crowd = networks::crowd(one.from.ip(), begun.iter().copied());
            (!one.speaks(), crowd, *place)
        });
        next.map(|(place, _)| place)
    }

    /// Returns the place of the handshake that gives way to a connection from `next`, if one does:
    /// the oldest of the most crowded network.
    fn gives_way_to(&self, next: IpAddr) -> Option<usize> {
        let mut all: Vec<IpAddr> = self.begun.iter().map(|one| one.from.ip()).collect();
        all.push(next);
        let crowd = |address| networks::crowd(address, all.iter().copied());
        let own = crowd(next);
        let begun = self.begun.iter().enumerate().filter_map(|(place, one)| {
            let crowd = crowd(one.from.ip());
            let gives_way = one.is_stalled() || one.is_slow() && crowd > own;
            gives_way.then_some((crowd, Reverse(place)))
        });
        begun.max().map(|(_, Reverse(place))| place)
    }

    /// Starts the handshake on a connection.
    fn begin(
        &mut self,
        socket: TcpStream,
        from: SocketAddr,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) {
        let (number, cancel) = (self.next, CancelHandle::new());
        self.next += 1;
        let settings = Settings {
            cancel: cancel.clone(),
            ..self.settings.clone()
        };
        let (config, terms) = (Arc::clone(&self.config), self.terms.clone());
        let listening = Arc::clone(&self.listening);
        let complete = Arc::clone(&self.complete);
        let (report, alive) = (self.report.clone(), Arc::clone(&self.alive));
        let since = Instant::now();
        let heard = Arc::new(Mutex::new(since));
        let noted = Arc::clone(&heard);
        let spawned = thread::Builder::new().spawn(move || {
            let result = arrived(socket, &listening, &terms, &settings).and_then(|arrived| {
                let Some((transport, settings)) = arrived else {
                    return Ok(None);
                };
                let transport = transport.noting(noted);
                let channel = sides::serve(config, transport, terms, &listening, &settings)?;
                complete(channel).map(Some)
            });
            // If the wait is over, the receiver is gone.
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
                since,
                heard,
            }),
            Err(reason) => {
                let awaited = Awaited::Handshake;
                self.refuse(from, NetError::Io { awaited, reason }, refused);
            }
        }
    }

    /// Waits for at most `pause` for a handshake to end. Returns its channel if it succeeded.
    fn hear(
        &mut self,
        pause: Duration,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Option<(T, SocketAddr)> {
        let report = self.reports.recv_timeout(pause).ok()?;
        let (number, from, result) = (report.number, report.from, report.result);
        // A handshake that was given up is no longer in the list; its result counts only if it
        // succeeded after all.
        let found = self.begun.iter().position(|begun| begun.number == number);
        let ended = found.and_then(|place| self.begun.remove(place));
        match (result, ended) {
            (Ok(completed), _) => Some((completed?, from)),
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
