//! The counters of a relay, in Prometheus' format. No party can choose a label.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tacit::net::relay::Answer;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfRefusal {
    what: &'static str,
}

pub(super) struct RelayMetrics {
    registry: Registry,
    waiting: Gauge,
    rooms: Gauge,
    opened: Counter,
    bytes: Counter,
    refused: Family<OfRefusal, Counter>,
}

impl RelayMetrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("tacit_relay");
        let (waiting, rooms) = (Gauge::default(), Gauge::default());
        let (opened, bytes) = (Counter::default(), Counter::default());
        let refused = Family::default();
        registry.register("waiting", "Parties that wait for another", waiting.clone());
        registry.register("rooms", "Rooms in use", rooms.clone());
        registry.register("rooms_opened", "Rooms that were used", opened.clone());
        registry.register(
            "bytes",
            "Bytes through rooms that have ended",
            bytes.clone(),
        );
        registry.register("refused", "Connections refused", refused.clone());
        Self {
            registry,
            waiting,
            rooms,
            opened,
            bytes,
            refused,
        }
    }

    pub(super) fn text(&self, waiting: usize, rooms: usize) -> String {
        self.waiting.set(waiting as i64);
        self.rooms.set(rooms as i64);
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    pub(super) fn opened(&self) {
        self.opened.inc();
    }

    pub(super) fn passed(&self, bytes: u64) {
        self.bytes.inc_by(bytes);
    }

    pub(super) fn refused(&self, what: &'static str) {
        self.refused.get_or_create(&OfRefusal { what }).inc();
    }
}

/// Returns the label of an answer that refuses a party.
pub(super) fn name(answer: Answer) -> &'static str {
    match answer {
        Answer::Full => "full",
        Answer::TooMany => "too many of a network",
        Answer::Replaced => "replaced",
        Answer::Late => "late",
        _ => "malformed",
    }
}
