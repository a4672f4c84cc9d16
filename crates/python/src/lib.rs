//! The native module of the Python package: the library crate `tacit` as Python classes.
//!
//! | file | contents |
//! |---|---|
//! | `error` | conversion of Rust's errors to the exceptions of `tacit.errors` |
//! | `value` | conversion of Python's values to the library's |
//! | `shape` | types in Python, and conversion of the library's values to Python's |
//! | `function` | the function to compute, and its run in the clear |
//! | `program` | programs of the language, and their errors |
//! | `cost` | the cost of a function before it runs |
//! | `party` | identities, and the meeting of two parties |
//! | `session` | runs and preparations |
//! | `common` | the keys that two parties' tables have in common |
//! | `wait` | work without the GIL, which Ctrl-C and a deadline end |
//!
//! The module holds no cryptography. The convenient interface is written in Python on top of it, in
//! `python/tacit`.
#![forbid(unsafe_code)]

mod common;
mod cost;
mod error;
mod function;
mod party;
mod program;
mod remedy;
mod session;
mod shape;
mod value;
mod wait;

/// The native part of the package `tacit`.
#[pyo3::pymodule(gil_used = false)]
mod _tacit {
    #[pymodule_export]
    use super::common::{normalized, shards};
    #[pymodule_export]
    use super::function::{Function, most_like};
    #[pymodule_export]
    use super::party::{Cancel, Identity, Listener, connect, meet};
    #[pymodule_export]
    use super::program::chosen_rows;
    #[pymodule_export]
    use super::session::Session;
    /// The release.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python gives it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
