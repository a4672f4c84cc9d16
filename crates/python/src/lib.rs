//! The native module of the Python package: the library crate `tacit` as Python classes.
//!
//! | file | what it does |
//! |---|---|
//! | `error` | errors of Rust as the exceptions of `tacit.errors` |
//! | `value` | Python's values as the library reads them |
//! | `shape` | what types are to Python, and the library's values as Python's |
//! | `function` | what is computed, and its run in the clear |
//! | `program` | programs of the language, and what is wrong with them |
//! | `cost` | what a function costs before it runs |
//! | `party` | identities, and how two parties meet |
//! | `session` | runs and preparations |
//! | `common` | the keys that two parties' tables have in common |
//! | `wait` | work without the GIL, which Ctrl-C and a deadline end |
//!
//! The module holds no cryptography. What is pleasant to use is written in Python on top of it, in
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
    use super::function::{Function, most_like};
    #[pymodule_export]
    use super::party::{Cancel, Identity, Listener, connect};
    #[pymodule_export]
    use super::session::Session;
    /// The release.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python gives it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
