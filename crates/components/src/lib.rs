//! A library of named circuits. The only cryptography here is digests.
#![forbid(unsafe_code)]

pub mod library;
