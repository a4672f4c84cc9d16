//! Counters in the Prometheus format (OpenMetrics text).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tacit::stock::StockSummary;

/// The upper bounds of the histogram of run times, in seconds.
const RUN_SECONDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfRun {
    offer: String,
    protocol: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfOutcome {
    offer: String,
    protocol: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfOffer {
    offer: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfRefusal {
    what: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfPeer {
    peer: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfStock {
    peer: String,
    role: &'static str,
    scheme: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct OfKind {
    peer: String,
    role: &'static str,
    scheme: String,
    component: String,
    /// The beginning of the component's digest, because two components may have the same name.
    digest: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfPreparation {
    function: String,
    asked_by: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfReload {
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfLevel {
    peer: String,
    function: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfWay {
    direction: &'static str,
}

/// The counters and gauges of a service. Labels are names from this party's configuration and of
/// components, so that peers cannot create new ones.
pub struct Metrics {
    registry: Registry,
    sessions: Gauge,
    sessions_begun: Family<OfPeer, Counter>,
    runs: Family<OfOutcome, Counter>,
    results_failed: Family<OfOffer, Counter>,
    audit_failed: Counter,
    run_seconds: Family<OfRun, Histogram>,
    bytes: Family<OfWay, Counter>,
    refused: Family<OfRefusal, Counter>,
    preparations: Family<OfPreparation, Counter>,
    reloads: Family<OfReload, Counter>,
    log_dropped: Counter,
    notes_failed: Counter,
    stock_bytes: Family<OfStock, Gauge<u64, AtomicU64>>,
    stock_limit: Family<OfStock, Gauge<u64, AtomicU64>>,
    stock_usable: Family<OfKind, Gauge<u64, AtomicU64>>,
    runs_there: Family<OfLevel, Gauge<u64, AtomicU64>>,
    runs_wanted: Family<OfLevel, Gauge<u64, AtomicU64>>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Returns metrics with all values at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("tacit");
        macro_rules! register {
            ($name:literal, $help:literal) => {{
                let metric = Default::default();
                registry.register($name, $help, Clone::clone(&metric));
                metric
            }};
        }
        let histogram: Family<OfRun, Histogram> =
            Family::new_with_constructor(|| Histogram::new(RUN_SECONDS));
        registry.register_with_unit(
            "run",
            "Time of runs that ended well, from agreement to result",
            Unit::Seconds,
            histogram.clone(),
        );
        Self {
            sessions: register!("sessions", "Sessions that are open"),
            sessions_begun: register!("sessions_begun", "Sessions"),
            runs: register!("runs", "Runs by their outcome"),
            results_failed: register!(
                "results_failed",
                "Runs whose results this party did not take"
            ),
            audit_failed: register!(
                "audit_failed",
                "Lines of the audit log that could not be written"
            ),
            run_seconds: histogram,
            bytes: register!("run_bytes", "Bytes of runs that ended well"),
            refused: register!("refused", "What was refused to peers"),
            preparations: register!(
                "preparations",
                "Preparations by who asked for them and their outcome"
            ),
            reloads: register!("reloads", "Reloads of the configuration by their outcome"),
            log_dropped: register!(
                "log_dropped",
                "Events that the log lacks, since nobody read it"
            ),
            notes_failed: register!(
                "notes_failed",
                "Notes of how far the stock is that could not be written"
            ),
            stock_bytes: register!("stock_bytes", "Bytes of a stock on disk"),
            stock_limit: register!("stock_limit_bytes", "Most bytes of a stock"),
            stock_usable: register!(
                "stock_usable",
                "Instances of a component, or OTs, that can be used"
            ),
            runs_there: register!("stock_runs", "Runs for which there is enough in stock"),
            runs_wanted: register!(
                "stock_runs_wanted",
                "Runs for which there is to be enough in stock"
            ),
            registry,
        }
    }

    /// Returns the text for a scraper. `log_dropped` counts the events missing from the log,
    /// `notes_failed` the notes of the stock that could not be written.
    #[must_use]
    pub fn text(&self, log_dropped: u64, notes_failed: u64) -> String {
        for (counter, count) in [
            (&self.log_dropped, log_dropped),
            (&self.notes_failed, notes_failed),
        ] {
            counter.inner().store(count, Ordering::Relaxed);
        }
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

    pub(crate) fn run(&self, offer: &str, protocol: &str, seconds: f64, bytes: [u64; 2]) {
        let (offer, protocol) = (offer.to_owned(), protocol.to_owned());
        let of_run = OfRun { offer, protocol };
        self.run_seconds.get_or_create(&of_run).observe(seconds);
        let OfRun { offer, protocol } = of_run;
        let outcome = "done";
        let of_outcome = OfOutcome {
            offer,
            protocol,
            outcome,
        };
        self.runs.get_or_create(&of_outcome).inc();
        for (direction, bytes) in ["sent", "received"].into_iter().zip(bytes) {
            self.bytes.get_or_create(&OfWay { direction }).inc_by(bytes);
        }
    }

    pub(crate) fn run_failed(&self, offer: &str, protocol: &str) {
        let (offer, protocol) = (offer.to_owned(), protocol.to_owned());
        let outcome = "failed";
        let of_outcome = OfOutcome {
            offer,
            protocol,
            outcome,
        };
        self.runs.get_or_create(&of_outcome).inc();
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

    pub(crate) fn prepared(&self, function: &str, asked_by: &'static str, outcome: &'static str) {
        let of_preparation = OfPreparation {
            function: function.to_owned(),
            asked_by,
            outcome,
        };
        self.preparations.get_or_create(&of_preparation).inc();
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
        };
        self.stock_bytes.get_or_create(&of_stock).set(summary.bytes);
        self.stock_limit
            .get_or_create(&of_stock)
            .set(summary.max_bytes);
        // Lots of triples are separate kinds with the same beginning, and count as one kind here.
        let mut usable = BTreeMap::new();
        for kind in &summary.kinds {
            let of_kind = OfKind {
                peer: peer.to_owned(),
                role,
                scheme: scheme.clone(),
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
        assert!(
            metrics.text(0, 0).contains(counted),
            "{}",
            metrics.text(0, 0)
        );
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
        let text = metrics.text(0, 0);
        for end in [
            r#"component="xor",digest="01010101"} 10"#,
            r#"component="xor",digest="02020202"} 25"#,
        ] {
            assert!(text.contains(end), "{text}");
        }
    }
}
