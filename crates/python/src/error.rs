//! Errors of Rust as the exceptions of `tacit.errors`, which has a class for each kind.

use pyo3::prelude::*;
use tacit::net::NetError;
use tacit::{Category, Error};

/// The exception `class` of `tacit.errors`.
pub(crate) fn exception(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let made = || py.import("tacit.errors")?.getattr(class)?.call1((message,));
    made().map_or_else(|error| error, PyErr::from_value)
}

/// The library was used wrongly.
pub(crate) fn usage(py: Python<'_>, message: &str) -> PyErr {
    exception(py, "UsageError", message)
}

/// An input is wrong.
pub(crate) fn input(py: Python<'_>, message: &str) -> PyErr {
    exception(py, "InputError", message)
}

/// Whatever ended a call of the library.
pub(crate) fn raise(py: Python<'_>, error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let message = match error.cause() {
        Error::OtherFunction { name, ours, theirs } => format!(
            "the peer is incompatible: it wants function {theirs} and this party {ours}, {name}; \
             give both the same program, params and public values, and compare what `digest` of \
             the function says at both: of a program names and the order of variants count, too"
        ),
        cause => in_python(&cause.to_string()),
    };
    exception(py, class(&error), &message)
}

/// What flags of the command are in Python.
const KEYWORDS: [(&str, &str); 12] = [
    ("--param", "params"),
    ("--public", "public="),
    ("--role", "role="),
    ("--as", "role="),
    ("--protocol", "protocol="),
    ("--security", "security="),
    ("--security-bits", "security_bits="),
    ("--chain", "chain="),
    ("--replace", "replace=True"),
    ("--runs", "runs="),
    ("--entry", "run="),
    ("--repeat", "number of runs"),
];

/// A message of the library in Python's words. Commands in backticks stay as they are; where Python
/// lacks a flag, the text says which side must omit it.
fn in_python(message: &str) -> String {
    let is_flag = |c: char| c == '-' || c.is_ascii_lowercase();
    let is_apart = |before: &str| before.is_empty() || before.ends_with([' ', '(']);
    let (mut text, mut without) = (String::new(), Vec::new());
    for (number, part) in message.split('`').enumerate() {
        if number > 0 {
            text.push('`');
        }
        let mut rest = part;
        while number % 2 == 0
            && let Some(at) = rest.find("--")
        {
            let length = rest[at..].find(|c| !is_flag(c)).unwrap_or(rest.len() - at);
            let flag = &rest[at..at + length];
            text.push_str(&rest[..at]);
            match KEYWORDS.iter().find(|(known, _)| *known == flag) {
                _ if !is_apart(&rest[..at]) => text.push_str(flag),
                Some((_, keyword)) => text.push_str(keyword),
                None => {
                    text.push_str(flag);
                    without.push(flag);
                }
            }
            rest = &rest[at + length..];
        }
        text.push_str(rest);
    }
    if !without.is_empty() {
        let without = without.join(", ");
        text += &format!(" (Python has no {without}: the other party leaves it out)");
    }
    text
}

fn class(error: &Error) -> &'static str {
    match error.cause() {
        Error::PeerAborted(_) => "PeerAborted",
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
