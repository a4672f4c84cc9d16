//! The plain functions that the library's components must equal, directly from their standards and
//! definitions: slow, short, and with branches on everything.

pub(crate) mod aes;
pub(crate) mod hashes;
pub(crate) mod strings;
