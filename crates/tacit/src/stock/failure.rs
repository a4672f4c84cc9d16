//! Keeps the error of a stock that made a party fail, so that it can be reported.

use std::cell::Cell;
use std::fmt;

use crate::Error;

/// The stock's own error, which says more than what the party makes of it.
#[derive(Default)]
pub(super) struct StockFailure(Cell<Option<Error>>);

impl StockFailure {
    /// Notes `error`, and gives the one that ends the party.
    pub(super) fn note(&self, error: impl Into<Error> + fmt::Display) -> tacit_protocol::Error {
        let text = error.to_string();
        self.0.set(Some(error.into()));
        tacit_protocol::Error::Material(text)
    }

    /// What the stock gave, or the error that ends the party.
    pub(super) fn noted<T>(
        &self,
        given: Result<T, impl Into<Error> + fmt::Display>,
    ) -> Result<T, tacit_protocol::Error> {
        given.map_err(|error| self.note(error))
    }

    /// The error that was noted; `ended` where there is none.
    pub(super) fn or<T>(&self, ended: Result<T, Error>) -> Result<T, Error> {
        self.0.take().map_or(ended, Err)
    }
}
