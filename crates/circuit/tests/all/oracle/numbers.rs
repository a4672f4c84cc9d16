//! Arithmetic straight from its definitions, with branches on everything.

/// Returns quotient and remainder. Division by zero gives all ones, which the caller cuts to the
/// width, and the dividend.
pub(crate) fn unsigned_division(a: u128, b: u128) -> (u128, u128) {
    (
        a.checked_div(b).unwrap_or(u128::MAX),
        a.checked_rem(b).unwrap_or(a),
    )
}

/// Returns quotient and remainder. Division by zero gives -1 and the dividend.
pub(crate) fn signed_division(a: i128, b: i128) -> (i128, i128) {
    match b {
        0 => (-1, a),
        _ => (a / b, a % b),
    }
}

/// Returns the product of two numbers of any width modulo 2^width, digit by digit in base 2^32.
pub(crate) fn long_product(a: &[bool], b: &[bool], width: usize) -> Vec<bool> {
    let digits = |bits: &[bool]| -> Vec<u64> {
        let digit = |bits: &[bool]| bits.iter().rev().fold(0, |n, &bit| n << 1 | u64::from(bit));
        bits.chunks(32).map(digit).collect()
    };
    let (a, b) = (digits(a), digits(b));
    let mut product = vec![0_u64; a.len() + b.len()];
    for (i, a) in a.iter().enumerate() {
        let mut carry = 0;
        for (j, b) in b.iter().enumerate() {
            let sum = product[i + j] + a * b + carry;
            product[i + j] = sum & 0xffff_ffff;
            carry = sum >> 32;
        }
        product[i + b.len()] += carry;
    }
    let bit = |index: usize| product[index / 32] >> (index % 32) & 1 == 1;
    (0..width).map(bit).collect()
}
