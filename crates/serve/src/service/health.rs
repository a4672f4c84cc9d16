//! The answer of `/health`: whether peers are accepted, and whether the stock can be used.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tacit::stock::{NoteFailures, Stocks};

use super::Shared;
use crate::http::Answers;
use crate::metrics::Moment;

/// The time for which a finding about the stock is reused.
const FRESH: Duration = Duration::from_secs(1);

/// The state between two requests.
#[derive(Default)]
pub(super) struct Health {
    /// The time of the last probe of the stock, and the problem that it found.
    stock: Mutex<Option<(Instant, Option<String>)>>,
    /// The reason why the last reload was refused, if it was.
    reload: Mutex<Option<String>>,
}

impl Health {
    /// Records the result of a reload: the reason of a refusal, or success.
    pub(super) fn reloaded(&self, refused: Option<String>) {
        *self.reload.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }

    fn reload_refused(&self) -> Option<String> {
        let refused = self.reload.lock();
        refused.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shared {
    /// Returns the problem of the stock, if the policy needs a stock.
    fn stock_failure(&self) -> Option<String> {
        let stocks = self.stocks.as_ref()?;
        if !self.policy().uses_stock() {
            return None;
        }
        let mut last = self
            .health
            .stock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let fresh = last.as_ref().filter(|(at, _)| at.elapsed() < FRESH);
        if let Some((_, found)) = fresh {
            return found.clone();
        }
        let found = stocks.probe().err().map(|error| error.to_string());
        *last = Some((Instant::now(), found.clone()));
        found
    }
}

impl Shared {
    /// Returns the failures to write notes about the progress of the stock.
    fn note_failures(&self) -> NoteFailures {
        let stocks = self.stocks.as_ref();
        stocks.map_or_else(NoteFailures::default, Stocks::note_failures)
    }
}

impl Answers for Shared {
    fn metrics(&self) -> String {
        let is_ready = !self.is_stopping() && self.stock_failure().is_none();
        self.metrics.text(Moment {
            log_dropped: self.observer.dropped(),
            notes_failed: self.note_failures().count,
            runs_in_progress: self.state().running(),
            is_ready,
        })
    }

    fn health(&self) -> (bool, String) {
        let stock = self.stock_failure();
        let (is_good, status) = match (self.is_stopping(), &stock) {
            (true, _) => (false, "stopping"),
            (false, Some(_)) => (false, "stock-failed"),
            (false, None) => (true, "ok"),
        };
        let state = self.state();
        let json = json!({
            "version": 1,
            "status": status,
            "stock_failed": stock,
            "note_failed": self.note_failures().last,
            "reload_refused": self.health.reload_refused(),
            "sessions": state.sessions.len(),
            "running": state.running(),
            "preparing": state.turns.count(),
        });
        (is_good, format!("{json}\n"))
    }
}
