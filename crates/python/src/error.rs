//! Converts errors of Rust to the exceptions of `tacit.errors`, which has a class for each kind.

use pyo3::prelude::*;
use tacit::net::NetError;
use tacit::{Category, Error, ProtocolError};

use crate::remedy;

/// Returns the exception `class` of `tacit.errors`.
pub(crate) fn exception(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let made = || py.import("tacit.errors")?.getattr(class)?.call1((message,));
    made().map_or_else(|error| error, PyErr::from_value)
}

/// Returns the exception for a wrong use of the library.
pub(crate) fn usage(py: Python<'_>, message: &str) -> PyErr {
    exception(py, "UsageError", message)
}

/// Returns the exception for a wrong input.
pub(crate) fn input(py: Python<'_>, message: &str) -> PyErr {
    exception(py, "InputError", message)
}

/// Returns the exception for any error that ended a call of the library.
pub(crate) fn raise(py: Python<'_>, error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let advice = error.advice().in_words(remedy::named);
    let separator = if advice.is_empty() { "" } else { "; " };
    exception(py, class(&error), &format!("{error}{separator}{advice}"))
}

fn class(error: &Error) -> &'static str {
    match error.cause() {
        Error::Protocol(ProtocolError::PeerAborted(_)) => "PeerAborted",
        Error::SessionOver { .. } => "SessionOver",
        Error::NothingChecked { .. } => "NothingChecked",
        Error::Network(error) if is_timeout(error) => "NetworkTimeout",
        error => match error.category() {
            Category::Usage => "UsageError",
            Category::Input => "InputError",
            Category::Peer => "PeerMisbehaved",
            Category::Incompatible => "PeerIncompatible",
            Category::Network => "NetworkError",
            Category::Stock => "StockError",
            Category::Cancelled => "Cancelled",
        },
    }
}

fn is_timeout(error: &NetError) -> bool {
    match error {
        NetError::Timeout { .. }
        | NetError::TimeLimit { .. }
        | NetError::Unreachable { .. }
        | NetError::RelayUnreachable { .. } => true,
        NetError::OnlyOthers { reason, .. } => is_timeout(reason),
        _ => false,
    }
}
