//! Orders: a run or preparation that one party wants, and the settings that all orders share.

use std::num::NonZeroUsize;
use std::time::Duration;

use tacit_garble::SchemeId;
use tacit_protocol::party::Progress;

use crate::protocols::StatisticalSecurity;

pub use crate::job::TwoPartyRun;
pub use crate::matching::Intersection;
pub use crate::outsourced::ThreePartyRun;
pub use crate::stock::{Components, Crosses, Executions, Lots};

/// The most threads of an order.
const MOST_THREADS: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// A run or preparation that one party wants. The other parties give the same order, each in its
/// role.
///
/// | order | what it does |
/// |---|---|
/// | [`Job`](crate::Job) | runs a function between two parties |
/// | [`OutsourcedJob`](crate::outsourced::OutsourcedJob) | runs a function between three parties |
/// | [`Match`](crate::matching::Match) | finds the keys that two tables have in common |
/// | [`Preparation`](crate::stock::Preparation) | stocks components and OTs |
/// | [`BatchPreparation`](crate::stock::BatchPreparation) | stocks checked executions |
/// | [`LotPreparation`](crate::stock::LotPreparation) | stocks checked instances, or triples |
/// | [`CrossPreparation`](crate::stock::CrossPreparation) | stocks crosses |
pub struct Order<'w, T> {
    /// The run or preparation.
    pub(crate) task: T,
    scheme: Option<SchemeId>,
    pub(crate) security: StatisticalSecurity,
    pub(crate) threads: NonZeroUsize,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) watch: Box<dyn FnMut(Progress) + Send + 'w>,
}

/// A task under a garbling scheme.
pub(crate) trait Garbled {
    /// Returns the scheme that is used if none is named.
    fn default_scheme(&self) -> SchemeId;
}

/// A task with a statistical security parameter of its own.
pub(crate) trait Secured {}

impl<'w, T> Order<'w, T> {
    pub(crate) fn of(task: T) -> Self {
        Self {
            task,
            scheme: None,
            security: StatisticalSecurity::DEFAULT,
            threads: NonZeroUsize::MIN,
            time_limit: None,
            watch: Box::new(|_| ()),
        }
    }

    /// Works on this many threads, up to 1,024; the default is one. All orders make their OTs on
    /// them. Runs by `direct` and `batch`, servers of `outsourced`, matchings, and preparations for
    /// `prepared` and `batch` also do the rest of their work on them, and preparations for
    /// `authenticated` most of it. Neither results nor messages depend on their number.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads.min(MOST_THREADS);
        self
    }

    /// Ends the order if it is not done within `limit`. Without a limit, only each wait for the
    /// peer is bounded ([`Settings::timeout`](crate::Settings::timeout)). A peer that is slow at
    /// every message can then hold a run of a large function open for hours, and a preparation,
    /// which holds the right to prepare with that peer, for very long.
    #[must_use]
    pub fn time_limit(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.time_limit = limit.into();
        self
    }

    /// Calls `watch` as the work proceeds. Triples and crosses count as AND gates.
    #[must_use]
    pub fn watch(mut self, watch: impl FnMut(Progress) + Send + 'w) -> Self {
        self.watch = Box::new(watch);
        self
    }
}

#[expect(private_bounds, reason = "only this crate has tasks")]
impl<T: Garbled> Order<'_, T> {
    /// Garbles under this scheme. All parties must name the same.
    #[must_use]
    pub fn scheme(mut self, scheme: SchemeId) -> Self {
        self.scheme = Some(scheme);
        self
    }

    /// Returns the scheme that was named, or else the
    /// [`default_scheme`](crate::scheme::default_scheme) of the functions, or else two-call
    /// half-gates.
    pub fn scheme_id(&self) -> SchemeId {
        self.scheme.unwrap_or_else(|| self.task.default_scheme())
    }

    /// Whether a scheme was named.
    pub(crate) fn names_scheme(&self) -> bool {
        self.scheme.is_some()
    }
}

#[expect(private_bounds, reason = "only this crate has tasks")]
impl<T: Secured> Order<'_, T> {
    /// Sets s. `direct` and `prepared` have no s.
    #[must_use]
    pub fn statistical_security(mut self, security: StatisticalSecurity) -> Self {
        self.security = security;
        self
    }
}
