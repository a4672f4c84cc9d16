//! The plain functions that the library's components must equal, straight from their standards
//! and definitions: slow, short, and with branches on everything.

// Each test binary uses the part of this that it needs.
#![allow(dead_code)]

pub(crate) mod aes;
pub(crate) mod hashes;
pub(crate) mod strings;

/// Quotient and remainder; by zero all ones, cut to the width by whoever asks, and the dividend.
pub(crate) fn unsigned_division(a: u128, b: u128) -> (u128, u128) {
    (
        a.checked_div(b).unwrap_or(u128::MAX),
        a.checked_rem(b).unwrap_or(a),
    )
}

/// Quotient and remainder; by zero -1 and the dividend.
pub(crate) fn signed_division(a: i128, b: i128) -> (i128, i128) {
    match b {
        0 => (-1, a),
        _ => (a / b, a % b),
    }
}
