//! The stocks of a session, and the warning if copies of them could be restored unnoticed.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use etcetera::BaseStrategy;
use pyo3::prelude::*;
use tacit::Job;
use tacit::protocols::Protocol;
use tacit::stock::{StockName, Stocks};

use super::{Run, Session};
use crate::error;

/// The limit of a stock in bytes, the same as the command's without a configuration.
const STOCK_LIMIT_BYTES: u64 = 20 << 30;

impl Session {
    /// Returns the stocks in the given folder, or in the command's.
    pub(super) fn stocks(&self, py: Python<'_>) -> PyResult<Stocks> {
        let folder = match &self.stock {
            Some(folder) => folder.clone(),
            None => usual_stock().ok_or_else(|| {
                let message = "the system names no home directory; give stock= a folder";
                error::usage(py, message)
            })?,
        };
        let opened = py.detach(|| Stocks::open(&folder, STOCK_LIMIT_BYTES));
        let stocks = opened.map_err(|error| error::raise(py, error))?;
        self.warn_if_unnoted(py, &stocks)?;
        Ok(stocks)
    }

    /// Warns, once a session, if notes of how far the stocks are cannot be written.
    pub(super) fn warn_if_unnoted(&self, py: Python<'_>, stocks: &Stocks) -> PyResult<()> {
        let failed = stocks.note_failures();
        let why = match stocks.why_unwitnessed() {
            Some(why) => why.to_owned(),
            None if failed.count == 0 => return Ok(()),
            None => (failed.last).unwrap_or_else(|| "notes were not written".to_owned()),
        };
        if self.is_warned.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let message = format!(
            "nothing outside of the stock's folder records how far the stock is ({why}), so that \
             restoring it and the other party's from copies would go unnoticed; make that folder \
             writable, or set XDG_STATE_HOME to one that is"
        );
        let kind = py.import("tacit.errors")?.getattr("StockWarning")?;
        // Level 2 is the caller of `Session.run` or `Session.prepare`.
        let warnings = py.import("warnings")?;
        warnings.call_method1("warn", (message, kind, 2))?;
        Ok(())
    }

    /// Returns whether a checked execution of the function is in stock, for `batch` to run.
    pub(super) fn has_checked(
        &self,
        py: Python<'_>,
        job: &Job<'_>,
        run: &Run<'_>,
    ) -> PyResult<bool> {
        let Some(peer) = self.peer else {
            return Ok(false);
        };
        let stocks = self.stocks(py)?;
        let stock = stocks.name((self.own, peer), run.role, job.scheme_id());
        let security = run.security(py, Protocol::Batch)?;
        let left = |stock: &StockName| stocks.executions_left(stock, run.function, security);
        let left = stocks.total(&stock, left);
        Ok(left.map_err(|error| error::raise(py, error))? > 0)
    }
}

/// Returns the folder of the command's stock.
fn usual_stock() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.data_dir().join("tacit").join("stock"))
}
