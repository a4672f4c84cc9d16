//! The two-party protocols as states and messages; no I/O.
#![forbid(unsafe_code)]
