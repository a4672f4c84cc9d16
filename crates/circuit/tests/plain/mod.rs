//! The plain functions that the library's components must equal, straight from their standards
//! and definitions: slow, short, and with branches on everything.

// Each test binary uses the part of this that it needs.
#![allow(dead_code)]

pub(crate) mod aes;
pub(crate) mod hashes;
pub(crate) mod strings;
