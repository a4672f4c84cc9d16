//! The error of a stock that made a party fail, kept so that it can be reported.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Error;

/// The stock's own error, which says more than the party's error.
#[derive(Default)]
pub(super) struct StockFailure(Mutex<Option<Error>>);

impl StockFailure {
    fn noted_error(&self) -> MutexGuard<'_, Option<Error>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores `error`, and returns the one that ends the party.
    pub(super) fn note(&self, error: impl Into<Error> + fmt::Display) -> tacit_protocol::Error {
        let text = error.to_string();
        *self.noted_error() = Some(error.into());
        tacit_protocol::Error::Material(text)
    }

    /// Returns the stock's result, or the error that ends the party.
    pub(super) fn noted<T>(
        &self,
        given: Result<T, impl Into<Error> + fmt::Display>,
    ) -> Result<T, tacit_protocol::Error> {
        given.map_err(|error| self.note(error))
    }

    /// Returns the stored error, or `ended` if there is none.
    pub(super) fn or<T>(&self, ended: Result<T, Error>) -> Result<T, Error> {
        self.noted_error().take().map_or(ended, Err)
    }
}
