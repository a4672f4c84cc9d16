//! The service: its sessions, the limits on new ones, and its stop.

mod health;
mod recent;
mod seats;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tacit::net::{Admitted, CancelHandle, Door, Lane};
use tacit::stock::Stocks;
use tacit::{Error, Fingerprint, Identity, Listener, Session, Settings};

use crate::event::{Event, Observer};
use crate::http::Answers;
use crate::lobby::Lobby;
use crate::metrics::Metrics;
use crate::policy::{Limits, Policy};
use crate::turns::Turns;
use crate::{replenish, visit};

use health::Health;
use recent::{PeerState, RefusalLog};
use seats::OpenSession;
pub(crate) use seats::Seat;

/// The time that the acceptor waits for a connection before it checks for a stop or for changed
/// peers.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The longest time for a refusal to reach its peer, and the number of refusals at once, of peers
/// and of strangers.
const REFUSAL_TIME: Duration = Duration::from_millis(500);
const MAX_REFUSALS: usize = 16;
/// The longest wait for sessions that were cut off.
const CUT_TIME: Duration = Duration::from_secs(5);

/// A running service. Dropping it stops it at once.
pub struct Service {
    shared: Arc<Shared>,
    address: SocketAddr,
    /// The threads of the acceptor and the replenisher.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The result of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The number of sessions that were cut off because their runs did not end in time.
    pub cut: usize,
}

/// The state that the threads of a service share.
pub(crate) struct Shared {
    pub(crate) identity: Identity,
    pub(crate) stocks: Option<Stocks>,
    pub(crate) metrics: Arc<Metrics>,
    observer: Arc<dyn Observer>,
    health: Health,
    policy: RwLock<Arc<Policy>>,
    /// Whether the acceptor has to look at the policy's peers again.
    peers_changed: AtomicBool,
    /// The day since 1970 on which the counts of past days were last removed.
    pub(crate) swept_day: AtomicU64,
    stopping: AtomicBool,
    /// Cancels the work that this party starts itself.
    pub(crate) own_work: CancelHandle,
    /// The meeting place of the links of runs of three.
    pub(crate) lobby: Lobby<Session>,
    state: Mutex<ServiceState>,
    changed: Condvar,
}

/// The open sessions and the preparations.
#[derive(Default)]
struct ServiceState {
    sessions: BTreeMap<u64, OpenSession>,
    /// The number of sessions with a run.
    running: usize,
    next: u64,
    peers: HashMap<Fingerprint, PeerState>,
    strangers: Option<RefusalLog>,
    /// The peers that prepare, and those that wait to.
    turns: Turns,
    /// The bytes of the preparations.
    preparing: HashMap<Fingerprint, u64>,
    /// Whether the stock may be below its levels.
    look: bool,
}

impl ServiceState {
    /// Returns the number of sessions with a run.
    fn running(&self) -> usize {
        self.running
    }

    /// Marks the run of a session as begun or ended.
    fn set_running(&mut self, session: u64, running: bool) {
        if let Some(session) = self.sessions.get_mut(&session)
            && session.running != running
        {
            session.running = running;
            if running {
                self.running += 1
            } else {
                self.running -= 1
            }
        }
    }
}

impl Service {
    /// Starts a service at `listener` as `identity`. Without `stocks` no run takes from a stock or
    /// keeps values.
    ///
    /// # Errors
    ///
    /// The identity cannot be used, or the system cannot start a thread.
    pub fn start(
        identity: Identity,
        listener: Listener,
        stocks: Option<Stocks>,
        policy: Policy,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Error> {
        policy.compile();
        let settings = settings(policy.limits(), CancelHandle::new(), Lane::NONE);
        let door = listener.open(&identity, &admitted(&policy), &settings)?;
        let address = door.local_address();
        let metrics = Arc::new(Metrics::new());
        metrics.expect(&policy);
        let timing = Arc::clone(&metrics);
        let watch = move |wait, time| timing.disk(wait, time);
        let shared = Arc::new(Shared {
            identity,
            stocks: stocks.map(|stocks| stocks.watch_disk(Arc::new(watch))),
            metrics,
            observer,
            health: Health::default(),
            policy: RwLock::new(Arc::new(policy)),
            peers_changed: AtomicBool::new(false),
            swept_day: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            own_work: CancelHandle::new(),
            lobby: Lobby::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        shared.tell(&Event::Listening {
            address: address.to_string(),
        });
        let accepting = Arc::clone(&shared);
        let mut threads = vec![start("accept", move || accept(&accepting, door))?];
        let replenishing = Arc::clone(&shared);
        let replenisher = start("replenish", move || replenish::replenish(&replenishing));
        let failed = replenisher.map(|thread| threads.push(thread));
        let service = Self {
            shared,
            address,
            threads: Mutex::new(threads),
        };
        failed.map(|()| service)
    }

    /// Returns its address, with the port that was taken.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the policy. Current runs end under the old one.
    pub fn reload(&self, policy: Policy) {
        policy.compile();
        let event = Event::Reloaded {
            peers: policy.peers().len(),
            functions: policy.function_count(),
            levels: policy.levels().len(),
        };
        let known = fingerprints(&policy);
        let shared = &self.shared;
        shared.metrics.expect(&policy);
        *shared
            .policy
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
        let mut state = shared.state();
        state
            .peers
            .retain(|peer, recent| recent.visitor.is_some() || known.contains(peer));
        state.turns.retain(&known);
        drop(state);
        shared.peers_changed.store(true, Ordering::Release);
        shared.look_at_stock();
        shared.health.reloaded(None);
        shared.metrics.reloaded("done");
        shared.tell(&event);
    }

    /// Records that another policy was not accepted.
    pub fn reload_refused(&self, reason: String) {
        self.shared.reload_refused(reason);
    }

    /// Returns the source of the answers over HTTP.
    #[must_use]
    pub fn answers(&self) -> Arc<dyn Answers> {
        Arc::clone(&self.shared) as Arc<dyn Answers>
    }

    /// Returns the counters as text.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.shared.metrics()
    }

    /// Stops the service: no new peer is accepted, sessions without a run end at once, and those
    /// with one get `within` to end it. A stopped service stays stopped.
    pub fn stop(&self, within: Duration) -> Stopped {
        let shared = &self.shared;
        if shared.stopping.swap(true, Ordering::AcqRel) {
            return Stopped { cut: 0 };
        }
        let state = shared.state();
        let sessions = state.sessions.len();
        shared.tell(&Event::Stopping { sessions });
        shared.own_work.cancel();
        shared.lobby.stop();
        shared.changed.notify_all();
        let open = state.sessions.values();
        open.filter(|session| !session.running)
            .for_each(|session| session.cancel.cancel());
        let state = shared.wait_until_empty(state, within);
        let cut = state.sessions.len();
        state
            .sessions
            .values()
            .for_each(|session| session.cancel.cancel());
        drop(shared.wait_until_empty(state, CUT_TIME));
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic on that thread has been reported already.
            let _ = thread.join();
        }
        shared.tell(&Event::Stopped { cut });
        Stopped { cut }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map_err(|_| Error::ApiMisuse("the system gives no thread; see its limits"))
}

fn fingerprints(policy: &Policy) -> Vec<Fingerprint> {
    policy.peers().iter().map(|peer| peer.fingerprint).collect()
}

fn admitted(policy: &Policy) -> Admitted {
    Admitted {
        known: fingerprints(policy),
        strangers: !policy.sites().is_empty(),
    }
}

/// Returns the limits of a session's waits.
pub(crate) fn settings(limits: &Limits, cancel: CancelHandle, lane: Lane) -> Settings {
    Settings {
        handshake_timeout: limits.handshake,
        handshakes: limits.handshakes,
        timeout: limits.message,
        cancel,
        lane,
        websocket_origins: limits.websocket_origins.clone(),
        proxies: Arc::clone(&limits.proxies),
        ..Settings::default()
    }
}

/// Accepts peers until the service stops.
fn accept(shared: &Arc<Shared>, mut door: Door) {
    let refusals = [Arc::new(()), Arc::new(())];
    while !shared.is_stopping() {
        if shared.peers_changed.swap(false, Ordering::AcqRel) {
            let admitted = admitted(&shared.policy());
            if let Err(error) = door.admit(&shared.identity, &admitted) {
                shared.reload_refused(error.to_string());
            }
        }
        let mut stranger = |from: SocketAddr, reason: &tacit::net::NetError| {
            shared.refused(None, Some(from), "connection", &reason.to_string());
        };
        let Some(arrived) = door.next(ACCEPT_PAUSE, &mut stranger) else {
            continue;
        };
        match shared.admit(&arrived) {
            Ok(seat) => {
                let name = thread::Builder::new().name("session".to_owned());
                // If no thread can be started, the seat is given back and the connection closed.
                let _ = name.spawn(move || visit::visit(&seat, arrived));
            }
            Err((told, what, reason)) => {
                let peer = arrived.channel.peer();
                shared.put_off(peer, Some(arrived.from), what, &reason);
                // Strangers keep no peer from being told.
                let policy = shared.policy();
                let is_peer = peer.is_some_and(|peer| policy.peer(&peer).is_some());
                let refusals = &refusals[usize::from(is_peer)];
                if Arc::strong_count(refusals) <= MAX_REFUSALS {
                    let refusals = Arc::clone(refusals);
                    // If no thread can be started, the connection is closed without a message.
                    let _ = thread::Builder::new().spawn(move || {
                        Session::turn_away(arrived, told, REFUSAL_TIME);
                        drop(refusals);
                    });
                }
            }
        }
    }
}

impl Shared {
    /// Returns the policy in force.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&policy)
    }

    /// Returns the name of this process, if the party has several.
    pub(crate) fn lane(&self) -> Lane {
        self.stocks.as_ref().map_or(Lane::NONE, Stocks::lane)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    fn reload_refused(&self, reason: String) {
        self.health.reloaded(Some(reason.clone()));
        self.metrics.reloaded("refused");
        self.tell(&Event::ReloadRefused { reason });
    }

    pub(crate) fn tell(&self, event: &Event) {
        self.observer.tell(event);
    }

    fn state(&self) -> MutexGuard<'_, ServiceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until_empty<'a>(
        &self,
        mut state: MutexGuard<'a, ServiceState>,
        time: Duration,
    ) -> MutexGuard<'a, ServiceState> {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if state.sessions.is_empty() || left.is_zero() {
                return state;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the right to one of this many preparations at once, if it is the peer's turn. A peer
    /// has at most one.
    pub(crate) fn preparation(
        self: &Arc<Self>,
        peer: Fingerprint,
        most: usize,
    ) -> Option<PreparationRight> {
        let policy = self.policy();
        let bytes = policy.preparation_bytes(&peer);
        let [all, _] = policy.memory(false);
        let mut state = self.state();
        let fits = state.held_bytes().saturating_add(bytes) <= all;
        if self.is_stopping() || !state.turns.start(peer, most, fits, Instant::now()) {
            return None;
        }
        state.preparing.insert(peer, bytes);
        drop(state);
        let shared = Arc::clone(self);
        Some(PreparationRight { shared, peer })
    }

    /// Returns the threads of a preparation that this party starts.
    pub(crate) fn threads_of_own_work(&self, limits: &Limits) -> NonZeroUsize {
        limits.threads_beside(self.state().running())
    }

    /// Makes the replenisher check the stock soon.
    pub(crate) fn look_at_stock(&self) {
        self.state().look = true;
        self.changed.notify_all();
    }

    /// Waits for `time`, or until the stock must be checked or the service stops.
    pub(crate) fn wait_for_look(&self, time: Duration) {
        let end = Instant::now() + time;
        let mut state = self.state();
        while !self.is_stopping() && !std::mem::take(&mut state.look) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for `time`, or until the service stops.
    pub(crate) fn wait_for_stop(&self, time: Duration) {
        let end = Instant::now() + time;
        let mut state = self.state();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if self.is_stopping() || left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The right to prepare, given back when this is dropped.
pub(crate) struct PreparationRight {
    shared: Arc<Shared>,
    peer: Fingerprint,
}

impl Drop for PreparationRight {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.turns.end(&self.peer);
        state.preparing.remove(&self.peer);
    }
}
