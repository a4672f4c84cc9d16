//! Secure two-party computation in which the slow part is already done.
#![forbid(unsafe_code)]
