//! Oblivious transfer: base, extension, correlated; no I/O.
#![forbid(unsafe_code)]
