//! The group of ML-KEM's public vectors: 768 integers modulo q = 3329, and their encoding.
//!
//! # Invariants
//!
//! Every coefficient of a [`Vector`] is below q. The time of no function here depends on
//! coefficients, except for [`Vector::parse`], which reads what a peer sent.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::VECTOR_BYTES;

/// q of ML-KEM (FIPS 203, section 2.4).
const Q: u16 = 3329;

/// Rank 3 times 256 coefficients.
pub(super) const COEFFICIENTS: usize = 768;

/// An element of (Z_q)^768.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Vector([u16; COEFFICIENTS]);

impl Vector {
    /// Returns the vector with these coefficients, each reduced modulo q.
    pub(super) fn reduced(wide: impl Iterator<Item = u64>) -> Self {
        let mut vector = Self([0; COEFFICIENTS]);
        for (coefficient, wide) in vector.0.iter_mut().zip(wide) {
            *coefficient = reduce(wide);
        }
        vector
    }

    /// Decodes 12 bits per coefficient. Returns `None` if one is not below q. The time depends on
    /// whether that is so.
    pub(super) fn parse(bytes: &[u8; VECTOR_BYTES]) -> Option<Self> {
        let vector = Self::decode(bytes);
        vector.0.iter().all(|&c| c < Q).then_some(vector)
    }

    /// Decodes bytes that are known to be canonical.
    pub(super) fn decode(bytes: &[u8; VECTOR_BYTES]) -> Self {
        let mut vector = Self([0; COEFFICIENTS]);
        for (pair, bytes) in vector.0.chunks_exact_mut(2).zip(bytes.chunks_exact(3)) {
            let [low, middle, high] = [bytes[0], bytes[1], bytes[2]].map(u16::from);
            pair[0] = low | (middle & 0xf) << 8;
            pair[1] = middle >> 4 | high << 4;
        }
        vector
    }

    /// Encodes 12 bits per coefficient, the lowest first (FIPS 203, ByteEncode_12).
    pub(super) fn encode(&self, bytes: &mut [u8]) {
        for (pair, bytes) in self.0.chunks_exact(2).zip(bytes.chunks_exact_mut(3)) {
            bytes[0] = pair[0] as u8;
            bytes[1] = (pair[0] >> 8) as u8 | (pair[1] << 4) as u8;
            bytes[2] = (pair[1] >> 4) as u8;
        }
    }

    /// Adds `other`.
    pub(super) fn add(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a = subtract_once(*a + b);
        }
    }

    /// Subtracts `other`.
    pub(super) fn subtract(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a = subtract_once(*a + Q - b);
        }
    }
}

/// Returns `value` modulo q, for a value below 2q.
fn subtract_once(value: u16) -> u16 {
    let reduced = value.wrapping_sub(Q);
    // All ones if the subtraction went below zero.
    let below = 0u16.wrapping_sub(reduced >> 15);
    reduced.wrapping_add(Q & below)
}

/// Returns `value` modulo q, by Barrett's method: the time of a division may depend on the value.
fn reduce(value: u64) -> u16 {
    const RECIPROCAL: u64 = u64::MAX / Q as u64;
    let quotient = ((u128::from(value) * u128::from(RECIPROCAL)) >> 64) as u64;
    // The quotient is floor(value/q) or one less.
    subtract_once((value - quotient * u64::from(Q)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reduction_is_the_remainder() {
        let q = u64::from(Q);
        let near = |x: u64| (0..3).map(move |d| x.wrapping_add(d).wrapping_sub(1));
        let last = u64::MAX / q;
        for multiple in [0, 1, 2, 1000, last / 2, last - 1, last] {
            for value in near(multiple * q) {
                assert_eq!(u64::from(reduce(value)), value % q, "{value}");
            }
        }
        for step in 0..100_000u64 {
            let value = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            assert_eq!(u64::from(reduce(value)), value % q, "{value}");
        }
        assert_eq!(u64::from(reduce(u64::MAX)), u64::MAX % q);
    }

    #[test]
    fn sums_and_differences_are_those_modulo_q() {
        let every = |factor: u64| Vector::reduced((0..768u64).map(|i| i * factor));
        for (f, g) in [(1, 1), (17, 3328), (3328, 3328), (0, 3328)] {
            let (mut sum, mut difference) = (every(f), every(f));
            sum.add(&every(g));
            difference.subtract(&every(g));
            for (i, (s, d)) in (0u64..).zip(sum.0.iter().zip(&difference.0)) {
                let (q, a, b) = (u64::from(Q), i * f % 3329, i * g % 3329);
                assert_eq!(u64::from(*s), (a + b) % q);
                assert_eq!(u64::from(*d), (a + q - b) % q);
            }
        }
    }

    #[test]
    fn encodings_come_back_and_q_does_not_pass() {
        let vector = Vector::reduced((0..768u64).map(|i| i * i * 31));
        let mut bytes = [0; VECTOR_BYTES];
        vector.encode(&mut bytes);
        assert_eq!(Vector::parse(&bytes).unwrap().0, vector.0);
        for position in [0, 1, 766, 767] {
            for (value, passes) in [(Q - 1, true), (Q, false), (0xfff, false)] {
                let mut vector = Vector(vector.0);
                vector.0[position] = value;
                vector.encode(&mut bytes);
                assert_eq!(
                    Vector::parse(&bytes).is_some(),
                    passes,
                    "{position} {value}"
                );
            }
        }
    }
}
