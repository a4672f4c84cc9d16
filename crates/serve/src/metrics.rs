//! Counters in the Prometheus format (OpenMetrics text).

mod labels;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tacit::cost::Cost;
use tacit::stock::{DiskWait, StockSummary, Tried, TryName, TryRecord};

use crate::policy::Policy;
use labels::{
    OfKind, OfLevel, OfOffer, OfOutcome, OfPeer, OfPhase, OfPreparation, OfPreparer, OfRefusal,
    OfReload, OfRun, OfStock, OfTries, OfWait, OfWay,
};

/// The upper bounds of the histogram of run times, in seconds.
const RUN_SECONDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];
/// Those of preparations, and of waits for the disk.
const PREPARATION_SECONDS: [f64; 11] = [
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 600.0,
];
const DISK_SECONDS: [f64; 11] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0,
];

/// The things that may be refused to a peer.
const REFUSED: [&str; 10] = [
    "connection",
    "token",
    "session",
    "greeting",
    "request",
    "run",
    "rate",
    "keys",
    "preparation",
    "behaviour",
];

type Numbers<L> = Family<L, Gauge<u64, AtomicU64>>;
type Times<L> = Family<L, Histogram, fn() -> Histogram>;

/// The counts from elsewhere, at the moment of a scrape.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// The events missing from the log.
    pub log_dropped: u64,
    /// The notes of the stock that could not be written.
    pub notes_failed: u64,
    /// The runs that have begun and not ended.
    pub runs_in_progress: usize,
    /// Whether peers are accepted and the stock can be used.
    pub is_ready: bool,
}

/// The counters, gauges and histograms of a service.
pub struct Metrics {
    registry: Registry,
    ready: Gauge,
    sessions: Gauge,
    sessions_begun: Family<OfPeer, Counter>,
    runs: Family<OfOutcome, Counter>,
    runs_in_progress: Gauge,
    results_failed: Family<OfOffer, Counter>,
    audit_failed: Counter,
    run_seconds: Times<OfRun>,
    phase_seconds: Times<OfPhase>,
    bytes: Family<OfWay, Counter>,
    refused: Family<OfRefusal, Counter>,
    preparations: Family<OfPreparation, Counter>,
    preparation_seconds: Times<OfPreparer>,
    reloads: Family<OfReload, Counter>,
    log_dropped: Counter,
    notes_failed: Counter,
    stock_failed: Counter,
    disk_seconds: Times<OfWait>,
    stock_bytes: Numbers<OfStock>,
    stock_limit: Numbers<OfStock>,
    stock_kinds: Numbers<OfStock>,
    stock_usable: Numbers<OfKind>,
    runs_there: Numbers<OfLevel>,
    runs_wanted: Numbers<OfLevel>,
    tries: Numbers<OfTries>,
    cheats: Numbers<OfTries>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// Registers a histogram of times under this name.
fn times<L>(registry: &mut Registry, name: &str, help: &str, of: fn() -> Histogram) -> Times<L>
where
    L: prometheus_client::encoding::EncodeLabelSet
        + Clone
        + std::fmt::Debug
        + std::hash::Hash
        + Eq
        + Send
        + Sync
        + 'static,
{
    let times = Family::new_with_constructor(of);
    registry.register_with_unit(name, help, Unit::Seconds, times.clone());
    times
}

impl Metrics {
    /// Returns metrics with all values at zero. Those with labels appear with their first value, or
    /// with the policy that can change them.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("tacit");
        let of_runs = || Histogram::new(RUN_SECONDS);
        let of_preparations = || Histogram::new(PREPARATION_SECONDS);
        let of_disk = || Histogram::new(DISK_SECONDS);
        let run_seconds = times(
            &mut registry,
            "run",
            "Time of runs that ended well, from agreement to result",
            of_runs,
        );
        let phase_seconds = times(&mut registry, "run_phase", "Time of their phases", of_runs);
        let preparation_seconds = times(
            &mut registry,
            "preparation",
            "Time of preparations that ended well",
            of_preparations,
        );
        let disk_seconds = times(
            &mut registry,
            "disk",
            "Waits of the stock for the disk",
            of_disk,
        );
        macro_rules! register {
            ($name:literal, $help:literal) => {{
                let metric = Default::default();
                registry.register($name, $help, Clone::clone(&metric));
                metric
            }};
        }
        Self {
            ready: register!("ready", "Whether peers and the stock can be used"),
            sessions: register!("sessions", "Sessions that are open"),
            sessions_begun: register!("sessions_begun", "Sessions"),
            runs: register!("runs", "Runs by their outcome"),
            runs_in_progress: register!("runs_in_progress", "Runs that have not ended"),
            results_failed: register!("results_failed", "Runs whose results this party lost"),
            audit_failed: register!("audit_failed", "Audit lines that were not written"),
            run_seconds,
            phase_seconds,
            preparation_seconds,
            disk_seconds,
            bytes: register!("run_bytes", "Bytes of runs that ended well"),
            refused: register!("refused", "What was refused to peers"),
            preparations: register!("preparations", "Preparations by asker and outcome"),
            reloads: register!("reloads", "Reloads of the configuration by their outcome"),
            log_dropped: register!("log_dropped", "Events that the log lacks"),
            notes_failed: register!("notes_failed", "Notes of the stock that failed"),
            stock_failed: register!("stock_failed", "Times that a stock could not be read"),
            stock_bytes: register!("stock_bytes", "Bytes of a stock on disk"),
            stock_limit: register!("stock_limit_bytes", "Most bytes of a stock"),
            stock_kinds: register!("stock_kinds", "Kinds in the epoch of a stock, of 4096"),
            stock_usable: register!("stock_usable", "Instances, or OTs, that can be used"),
            runs_there: register!("stock_runs", "Runs for which there is enough in stock"),
            runs_wanted: register!("stock_runs_wanted", "Runs for which stock is wanted"),
            tries: register!("tries", "Tries with a peer that did not end"),
            cheats: register!("cheats", "Tries in which a party was caught"),
            registry,
        }
    }

    /// Makes every counter and histogram appear that this policy can change, so that a rate sees
    /// its first change.
    pub(crate) fn expect(&self, policy: &Policy) {
        for what in REFUSED {
            drop(self.refused.get_or_create(&OfRefusal { what }));
        }
        for outcome in ["done", "refused"] {
            drop(self.reloads.get_or_create(&OfReload { outcome }));
        }
        for direction in ["sent", "received"] {
            drop(self.bytes.get_or_create(&OfWay { direction }));
        }
        for wait in DiskWait::ALL {
            let wait = wait.name();
            drop(self.disk_seconds.get_or_create(&OfWait { wait }));
        }
        for peer in policy.peers() {
            let peer = peer.name.clone();
            drop(self.sessions_begun.get_or_create(&OfPeer { peer }));
        }
        for offer in policy.offers() {
            let offered = offer.name.clone();
            let of_offer = OfOffer { offer: offered };
            drop(self.results_failed.get_or_create(&of_offer));
            for protocol in &offer.protocols {
                let of_run = OfRun {
                    offer: offer.name.clone(),
                    protocol: protocol.to_string(),
                };
                drop(self.run_seconds.get_or_create(&of_run));
                for outcome in ["done", "failed"] {
                    drop(self.runs.get_or_create(&of_run.clone().with(outcome)));
                }
            }
        }
        for function in policy.levels().iter().map(|level| level.name()) {
            for asked_by in ["peer", "self"] {
                let of = OfPreparer {
                    function: function.clone(),
                    asked_by,
                };
                drop(self.preparation_seconds.get_or_create(&of));
                for outcome in ["done", "failed"] {
                    drop(self.preparations.get_or_create(&of.clone().with(outcome)));
                }
            }
        }
    }

    /// Returns the text for a scraper.
    #[must_use]
    pub fn text(&self, now: Moment) -> String {
        for (counter, count) in [
            (&self.log_dropped, now.log_dropped),
            (&self.notes_failed, now.notes_failed),
        ] {
            counter.inner().store(count, Ordering::Relaxed);
        }
        let running = i64::try_from(now.runs_in_progress).unwrap_or(i64::MAX);
        self.runs_in_progress.set(running);
        self.ready.set(i64::from(now.is_ready));
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    pub(crate) fn session_began(&self, peer: &str) {
        self.sessions.inc();
        let peer = peer.to_owned();
        self.sessions_begun.get_or_create(&OfPeer { peer }).inc();
    }

    pub(crate) fn session_ended(&self) {
        self.sessions.dec();
    }

    /// Counts a run that ended well, with its bytes, sent and received.
    pub(crate) fn run(&self, offer: &str, protocol: &str, cost: &Cost, bytes: [u64; 2]) {
        let (offer, protocol) = (offer.to_owned(), protocol.to_owned());
        for phase in &cost.phases {
            let of_phase = OfPhase {
                offer: offer.clone(),
                phase: phase.phase.name(),
            };
            let seconds = phase.wall.as_secs_f64();
            self.phase_seconds.get_or_create(&of_phase).observe(seconds);
        }
        let of_run = OfRun { offer, protocol };
        let seconds = cost.wall().as_secs_f64();
        self.run_seconds.get_or_create(&of_run).observe(seconds);
        self.runs.get_or_create(&of_run.with("done")).inc();
        for (direction, bytes) in ["sent", "received"].into_iter().zip(bytes) {
            self.bytes.get_or_create(&OfWay { direction }).inc_by(bytes);
        }
    }

    pub(crate) fn run_failed(&self, offer: &str, protocol: &str) {
        let (offer, protocol) = (offer.to_owned(), protocol.to_owned());
        let of_run = OfRun { offer, protocol };
        self.runs.get_or_create(&of_run.with("failed")).inc();
    }

    /// Counts a run whose results this party lost.
    pub(crate) fn results_failed(&self, offer: &str) {
        let offer = offer.to_owned();
        self.results_failed.get_or_create(&OfOffer { offer }).inc();
    }

    pub(crate) fn audit_failed(&self) {
        self.audit_failed.inc();
    }

    pub(crate) fn refused(&self, what: &'static str) {
        self.refused.get_or_create(&OfRefusal { what }).inc();
    }

    /// Counts a preparation: one that ended well, with its time, or one that failed.
    pub(crate) fn prepared(&self, function: &str, asked_by: &'static str, took: Option<Duration>) {
        let of = OfPreparer {
            function: function.to_owned(),
            asked_by,
        };
        if let Some(took) = took {
            let times = self.preparation_seconds.get_or_create(&of);
            times.observe(took.as_secs_f64());
        }
        let outcome = if took.is_some() { "done" } else { "failed" };
        self.preparations.get_or_create(&of.with(outcome)).inc();
    }

    /// Records a wait of the stock for the disk.
    pub(crate) fn disk(&self, wait: DiskWait, time: Duration) {
        let wait = wait.name();
        let times = self.disk_seconds.get_or_create(&OfWait { wait });
        times.observe(time.as_secs_f64());
    }

    pub(crate) fn stock_failed(&self) {
        self.stock_failed.inc();
    }

    /// Records all tries that are counted, each with the peer's name. Those that are no longer
    /// counted disappear.
    pub(crate) fn tries<'a>(&self, all: impl Iterator<Item = (&'a str, TryName, TryRecord)>) {
        self.tries.clear();
        self.cheats.clear();
        for (peer, name, record) in all {
            let of_tries = OfTries {
                peer: peer.to_owned(),
                role: name.role.name(),
                protocol: match name.tried {
                    Tried::Batches => "batch",
                    Tried::Authenticated => "authenticated",
                },
            };
            let (tries, cheats) = (record.unfinished, record.cheats);
            self.tries.get_or_create(&of_tries).set(tries);
            self.cheats.get_or_create(&of_tries).set(cheats);
        }
    }

    /// Counts a reload that was `done` or `refused`.
    pub(crate) fn reloaded(&self, outcome: &'static str) {
        self.reloads.get_or_create(&OfReload { outcome }).inc();
    }

    pub(crate) fn stock(&self, peer: &str, summary: &StockSummary) {
        let (role, scheme) = (summary.name.role.name(), summary.name.scheme.to_string());
        let of_stock = OfStock {
            peer: peer.to_owned(),
            role,
            scheme: scheme.clone(),
            lane: summary.name.lanes.peer.to_string(),
        };
        self.stock_bytes.get_or_create(&of_stock).set(summary.bytes);
        self.stock_limit
            .get_or_create(&of_stock)
            .set(summary.max_bytes);
        self.stock_kinds
            .get_or_create(&of_stock)
            .set(summary.kinds.len() as u64);
        // Lots of triples are separate kinds with the same beginning, and count as one kind here.
        let mut usable = BTreeMap::new();
        for kind in &summary.kinds {
            let of_kind = OfKind {
                peer: peer.to_owned(),
                role,
                scheme: scheme.clone(),
                lane: of_stock.lane.clone(),
                component: kind.name.clone(),
                digest: kind.digest.0[..4]
                    .iter()
                    .fold(String::new(), |mut digits, byte| {
                        let _ = write!(digits, "{byte:02x}");
                        digits
                    }),
            };
            *usable.entry(of_kind).or_default() += kind.available;
        }
        for (of_kind, available) in usable {
            self.stock_usable.get_or_create(&of_kind).set(available);
        }
    }

    pub(crate) fn level(&self, function: &str, peer: &str, there: u64, wanted: u64) {
        let of_level = OfLevel {
            peer: peer.to_owned(),
            function: function.to_owned(),
        };
        self.runs_there.get_or_create(&of_level).set(there);
        self.runs_wanted.get_or_create(&of_level).set(wanted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_that_are_lost_are_counted() {
        let metrics = Metrics::new();
        metrics.results_failed("aes");
        metrics.results_failed("aes");
        let counted = r#"tacit_results_failed_total{offer="aes"} 2"#;
        let text = metrics.text(Moment::default());
        assert!(text.contains(counted), "{text}");
    }

    #[test]
    fn components_of_one_name_are_told_apart() {
        use std::time::Duration;
        use tacit::stock::{ComponentDigest, EpochId, StockName, StockedKind};
        use tacit::{Fingerprint, Role};
        let metrics = Metrics::new();
        let mut of_same_family = [2; 32];
        of_same_family[31] = 3;
        let kinds = [([1; 32], 10), ([2; 32], 20), (of_same_family, 5)];
        let kinds = kinds.map(|(digest, available)| StockedKind {
            name: "xor".to_owned(),
            other_names: Vec::new(),
            digest: ComponentDigest(digest),
            available,
            pending: 0,
            withdrawn: 0,
            bytes: 0,
            taken: 0,
            taken_within: Duration::ZERO,
        });
        let name = StockName {
            own: Fingerprint([3; 32]),
            peer: Fingerprint([4; 32]),
            role: Role::Garbler,
            scheme: tacit::garble::SchemeId::HALF_GATES_TWO_CALL,
            lanes: Default::default(),
        };
        let epoch = EpochId {
            number: 1,
            nonce: [5; 16],
        };
        let summary = StockSummary {
            name,
            epoch,
            bytes: 7,
            max_bytes: 8,
            kinds: kinds.into(),
        };
        metrics.stock("bob", &summary);
        let text = metrics.text(Moment::default());
        for end in [
            r#"component="xor",digest="01010101"} 10"#,
            r#"component="xor",digest="02020202"} 25"#,
        ] {
            assert!(text.contains(end), "{text}");
        }
    }
}
