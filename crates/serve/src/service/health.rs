//! What `/health` says: whether peers are accepted, and the stock can be used.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tacit::stock::{NoteFailures, Stocks};

use super::Shared;
use crate::http::Answers;

/// What was found lately is not looked for again.
const FRESH: Duration = Duration::from_secs(1);

/// What is remembered between two questions.
#[derive(Default)]
pub(super) struct Health {
    /// When the stock was probed last, and what was wrong with it.
    stock: Mutex<Option<(Instant, Option<String>)>>,
    /// Why the last reload was refused, if it was.
    reload: Mutex<Option<String>>,
}

impl Health {
    /// Notes how a reload ended: refused for a reason, or well.
    pub(super) fn reloaded(&self, refused: Option<String>) {
        *self.reload.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }

    fn reload_refused(&self) -> Option<String> {
        let refused = self.reload.lock();
        refused.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shared {
    /// What is wrong with the stock, if the policy needs one.
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
    /// The notes of how far the stock is that could not be written.
    fn note_failures(&self) -> NoteFailures {
        let stocks = self.stocks.as_ref();
        stocks.map_or_else(NoteFailures::default, Stocks::note_failures)
    }
}

impl Answers for Shared {
    fn metrics(&self) -> String {
        self.metrics
            .text(self.observer.dropped(), self.note_failures().count)
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
            "running": state.sessions.values().filter(|session| session.running).count(),
            "preparing": state.turns.count(),
        });
        (is_good, format!("{json}\n"))
    }
}
