//! The recent actions of peers: how often they came, ran and were refused, and which refusals are
//! reported.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Instant;

use tacit::Fingerprint;

use super::{ServiceState, Shared};
use crate::event::Event;
use crate::policy::Policy;
use crate::rate::{Bucket, Rate};

/// The rate of refusals that are reported one by one, for each peer and for strangers.
const TOLD: Rate = Rate::per_minute(20);

/// The rate of a peer's orders that may come to nothing. Each costs a meeting of the records, some
/// waits for the disk, and a turn that others wait for, even if the peer is not to blame.
const VAIN_ORDERS: Rate = Rate::per_minute(20);

/// The rate of a peer's runs with tables that are put off once the program was fitted to its sizes,
/// which takes some tenths of a second.
const VAIN_FITS: Rate = Rate::per_minute(20);

/// The rate at which a peer may ask for offers: the answer has up to 4096 functions.
const QUESTIONS: Rate = Rate::per_minute(20);

/// The recent actions of one peer of the policy, or of one visitor.
pub(super) struct PeerState {
    pub(super) arrivals: Bucket,
    pub(super) refusals: Bucket,
    told: RefusalLog,
    vain_orders: Bucket,
    vain_fits: Bucket,
    questions: Bucket,
    runs: HashMap<String, Bucket>,
    /// The name of a visitor.
    pub(super) visitor: Option<String>,
}

impl PeerState {
    /// Whether it has all of its rates left, so that it can be forgotten.
    pub(super) fn is_rested(&mut self, now: Instant) -> bool {
        let own = [
            &mut self.arrivals,
            &mut self.refusals,
            &mut self.told.bucket,
            &mut self.vain_orders,
            &mut self.vain_fits,
            &mut self.questions,
        ];
        let mut all = own.into_iter().chain(self.runs.values_mut());
        all.all(|bucket| bucket.is_full(now))
    }
}

/// Decides which refusals are reported.
pub(super) struct RefusalLog {
    bucket: Bucket,
    untold: u64,
}

impl RefusalLog {
    fn new(now: Instant) -> Self {
        let bucket = Bucket::new(TOLD, now);
        Self { bucket, untold: 0 }
    }

    /// Returns the number of unreported refusals before this one if this one is reported, else
    /// `None`.
    fn count(&mut self, now: Instant) -> Option<u64> {
        if self.bucket.take(now) {
            return Some(std::mem::take(&mut self.untold));
        }
        self.untold += 1;
        None
    }
}

impl ServiceState {
    pub(super) fn peer(
        &mut self,
        peer: Fingerprint,
        policy: &Policy,
        now: Instant,
    ) -> &mut PeerState {
        let (arrivals, refusals) = (policy.arrivals(&peer), policy.limits().refusals);
        let state = self.peers.entry(peer).or_insert_with(|| PeerState {
            arrivals: Bucket::new(arrivals, now),
            refusals: Bucket::new(refusals, now),
            told: RefusalLog::new(now),
            vain_orders: Bucket::new(VAIN_ORDERS, now),
            vain_fits: Bucket::new(VAIN_FITS, now),
            questions: Bucket::new(QUESTIONS, now),
            runs: HashMap::new(),
            visitor: None,
        });
        state.arrivals.change(arrivals);
        state.refusals.change(refusals);
        state
    }
}

impl ServiceState {
    /// Returns the name of a peer of the policy, or of a visitor that came of late.
    fn name_of(&self, peer: &Fingerprint, policy: &Policy) -> Option<String> {
        let visitor = self.peers.get(peer).and_then(|state| state.visitor.clone());
        visitor.or_else(|| policy.peer(peer).map(|peer| peer.name.clone()))
    }
}

impl Shared {
    /// Counts a refusal, reports it, and holds it against the peer.
    pub(crate) fn refused(
        &self,
        peer: Option<Fingerprint>,
        from: Option<SocketAddr>,
        what: &'static str,
        reason: &str,
    ) {
        if let Some(peer) = peer {
            let policy = self.policy();
            let now = Instant::now();
            let mut state = self.state();
            if state.name_of(&peer, &policy).is_some() {
                let recent = state.peer(peer, &policy, now);
                recent.refusals.take(now);
            }
        }
        self.put_off(peer, from, what, reason);
    }

    /// Counts and reports a refusal that is not held against the peer: the peer comes too often,
    /// which must not keep it out for longer, or it has done nothing wrong.
    pub(crate) fn put_off(
        &self,
        peer: Option<Fingerprint>,
        from: Option<SocketAddr>,
        what: &'static str,
        reason: &str,
    ) {
        self.metrics.refused(what);
        let policy = self.policy();
        let now = Instant::now();
        let mut state = self.state();
        let name = peer.and_then(|peer| state.name_of(&peer, &policy));
        let told = match peer.filter(|_| name.is_some()) {
            Some(peer) => state.peer(peer, &policy, now).told.count(now),
            None => state
                .strangers
                .get_or_insert_with(|| RefusalLog::new(now))
                .count(now),
        };
        drop(state);
        let Some(untold) = told else {
            return;
        };
        let peer = name.or(peer.map(|peer| peer.to_string()));
        if untold > 0 {
            let (peer, count) = (peer.clone(), untold);
            self.tell(&Event::RefusedMore { peer, count });
        }
        self.tell(&Event::Refused {
            peer,
            from: from.map(|from| from.to_string()),
            what,
            reason: reason.to_owned(),
        });
    }

    /// Stops counting a session that the other server began, because a client came for its run:
    /// clients are counted themselves.
    pub(crate) fn came_for_a_client(&self, server: Fingerprint) {
        let policy = self.policy();
        let mut state = self.state();
        let recent = state.peer(server, &policy, Instant::now());
        recent.arrivals.give_back();
    }

    /// Returns whether the peer may run the offer once more.
    pub(crate) fn may_run(&self, peer: Fingerprint, offer: &str, rate: Rate) -> bool {
        let policy = self.policy();
        let now = Instant::now();
        let mut state = self.state();
        let recent = state.peer(peer, &policy, now);
        let runs = &mut recent.runs;
        let bucket = runs
            .entry(offer.to_owned())
            .or_insert_with(|| Bucket::new(rate, now));
        bucket.change(rate);
        bucket.take(now)
    }

    /// Returns whether the peer may ask for offers once more.
    pub(crate) fn may_ask(&self, peer: Fingerprint) -> bool {
        let policy = self.policy();
        let now = Instant::now();
        let mut state = self.state();
        state.peer(peer, &policy, now).questions.take(now)
    }

    /// Returns whether the peer may order once more, given how many of its recent orders came to
    /// nothing.
    pub(crate) fn may_order(&self, peer: Fingerprint) -> bool {
        let policy = self.policy();
        let now = Instant::now();
        let mut state = self.state();
        state.peer(peer, &policy, now).vain_orders.has(now)
    }

    /// Returns whether a program may be fitted to the peer's sizes once more, given how many of its
    /// recent runs were put off afterwards.
    pub(crate) fn may_fit(&self, peer: Fingerprint) -> bool {
        let policy = self.policy();
        let now = Instant::now();
        let mut state = self.state();
        state.peer(peer, &policy, now).vain_fits.has(now)
    }

    /// Counts a run of the peer that was put off once a program was fitted to its sizes.
    pub(crate) fn fitted_in_vain(&self, peer: Fingerprint) {
        let policy = self.policy();
        let now = Instant::now();
        let mut state = self.state();
        state.peer(peer, &policy, now).vain_fits.take(now);
    }

    /// Counts an order of the peer that came to nothing.
    pub(crate) fn ordered_in_vain(&self, peer: Fingerprint) {
        let policy = self.policy();
        let now = Instant::now();
        let mut state = self.state();
        state.peer(peer, &policy, now).vain_orders.take(now);
    }
}
