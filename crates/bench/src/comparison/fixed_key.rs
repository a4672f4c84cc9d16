//! `hazmat-fixed-key-half-gates`: half-gates under one public key of AES for all gates ever
//! garbled.
//!
//! Half-gates (Zahur, Rosulek and Evans, EUROCRYPT 2015) as in JustGarble (Bellare, Hoang,
//! Keelveedhi and Rogaway, "Efficient garbling from a fixed-key blockcipher", IEEE S&P 2013) and
//! libgarble.
//!
//! **Assumption.** AES under one fixed key is a public random permutation. **What is wrong with
//! it**: H(x, i) = π(σ(x) ⊕ i) ⊕ σ(x) ⊕ i lets work on one gate serve against every other, so that
//! about 128 − log₂(hashes under the key) bits are left: 87 after 2^40 AND gates, of all users of
//! the key together (Guo, Katz, Wang, Weng and Yu, CRYPTO 2020, show the attack).
//!
//! **Cost** of an AND: 256 ciphertext bits; 4 cipher calls for the garbler, 2 for the evaluator.

use tacit_garble::rule::{Hashing, Layout, Segment, half_gates};
use tacit_kernels::{Block, Simd};

use super::Comparison;

/// Fixed-key half-gates. The start point is the key.
#[derive(Clone, Copy)]
pub(crate) struct FixedKeyHalfGates;

impl Comparison for FixedKeyHalfGates {
    const NAME: &'static str = "hazmat-fixed-key-half-gates";
    const AND_BYTES: usize = half_gates::AND_BYTES;
    const CALLS: [u64; 2] = [4, 2];

    #[inline(always)]
    fn garble<S: Simd>(self, simd: S, of: Segment<'_>, delta: Block, tables: &mut [u8]) {
        half_gates::garble(simd, FixedKey::new(simd, &of), of, delta, tables);
    }

    #[inline(always)]
    fn evaluate<S: Simd>(self, simd: S, of: Segment<'_>, tables: &[u8]) {
        half_gates::evaluate(simd, FixedKey::new(simd, &of), of, tables);
    }
}

/// The one-call hash under one key for all gates: H(x, i) = π(σ(x) ⊕ i) ⊕ σ(x) ⊕ i.
struct FixedKey<S: Simd> {
    instance: u32,
    permutation: S::Schedule,
}

impl<S: Simd> FixedKey<S> {
    #[inline(always)]
    fn new(simd: S, of: &Segment<'_>) -> Self {
        Self {
            instance: of.instance,
            permutation: simd.expand(simd.splat(of.start)),
        }
    }
}

impl<S: Simd> Hashing<S> for FixedKey<S> {
    const ALIGNED: bool = false;

    #[inline(always)]
    fn keys_for(&mut self, _simd: S, _number: u64) -> usize {
        usize::MAX
    }

    #[inline(always)]
    fn hash<L: Layout, const N: usize, const M: usize>(
        &mut self,
        simd: S,
        number: u64,
        mut x: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N] {
        let tweaks: [S::Vector; N] = L::tweaks(simd, self.instance, number);
        // σ is linear, and the labels of an input differ by the same Δ for all gates.
        let delta = simd.sigma(simd.xor(x[0][0], x[0][M - 1]));
        for (x, tweak) in x.iter_mut().zip(tweaks) {
            let first = simd.xor(simd.sigma(x[0]), tweak);
            *x = [first; M];
            if M == 2 {
                x[1] = simd.xor(first, delta);
            }
        }
        permuted(simd, &self.permutation, x)
    }
}

/// π(y) ⊕ y.
#[inline(always)]
pub(super) fn permuted<S: Simd, const N: usize, const M: usize>(
    simd: S,
    permutation: &S::Schedule,
    y: [[S::Vector; M]; N],
) -> [[S::Vector; M]; N] {
    let mut hashes = simd.encrypt([permutation; N], y);
    for (hashes, y) in hashes.iter_mut().zip(y) {
        for (hash, y) in hashes.iter_mut().zip(y) {
            *hash = simd.xor(*hash, y);
        }
    }
    hashes
}
