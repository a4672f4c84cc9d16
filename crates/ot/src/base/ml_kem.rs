//! Base OT from ML-KEM-768, in two flights: no quantum attack on it is known.
//!
//! Source: the construction of McQuoid, Rosulek, Roy, "Batching Base Oblivious Transfers"
//! (Asiacrypt 2021) with a two-round Feistel POPF, over a KEM in place of a key exchange, as
//! Masny and Rindal, "Endemic Oblivious Transfer" (CCS 2019), do with Kyber. The KEM is ML-KEM-768
//! of FIPS 203, unchanged. Its encapsulation keys are (t̂, ρ) with t̂ in the additive group
//! K = (Z_q)^768, q = 3329, and ρ a seed of 32 bytes. For OT i the receiver, with choice c, sends
//! φ = (T, ρ, s), and both can compute
//!
//! > t̂_0 = T + H(i, 0, ρ, s),  t̂_1 = T + H(i, 1, ρ, s ⊕ M(i, T, ρ)).
//!
//! The receiver generates a key pair with key (t̂, ρ), draws s′, and takes T = t̂ − H(i, c, ρ, s′)
//! and s = s′ ⊕ c·M(i, T, ρ). The sender encapsulates to both keys (t̂_x, ρ) with fresh randomness,
//! and answers with both ciphertexts C_x. The keys of the OT are r_x = KDF(i, x, φ, C_x, K_x);
//! the receiver has K_c by decapsulation.
//!
//! **Assumptions.** H, M, KDF and the hashes of ML-KEM are random oracles (H expands a hash by
//! AES-128 in counter mode, so that AES is an ideal cipher here); decisional module-LWE with the
//! parameters of ML-KEM-768 (rank 3, η = 2), with two consequences:
//!
//! - *keys look random*: (t̂, ρ) of an honest key pair is indistinguishable from (uniform, ρ). So
//!   φ is indistinguishable from uniform for either c and against any sender: **the choice is
//!   hidden**. The simulator of a receiver makes both keys itself, decapsulates both ciphertexts
//!   and so learns the keys that a corrupt sender chose; what it reads from a malformed
//!   ciphertext (a pseudorandom key, ML-KEM's implicit rejection) is what the real receiver would.
//! - *a random key hides*: a ciphertext under a uniform t̂ is indistinguishable from random, so K
//!   is unknown to a party that did not make t̂. Of the two keys of an OT, the one whose H is asked
//!   last is uniform and out of the receiver's control, since T, ρ and the other question are then
//!   fixed: **one key stays unknown**. The simulator learns c from the order of the questions.
//!
//! M has 64 bytes, so that a T for which M completes a chosen pair of questions cannot be found
//! afterwards: Q questions succeed with probability Q³/2^512. The proof is in the classical random
//! oracle model; against an attacker that asks the oracles in superposition it is a heuristic.
//! Security is endemic, as for [`ristretto`](super::ristretto).
//!
//! **Known weaknesses elsewhere** that are closed here:
//!
//! - *Malformed keys.* A coefficient of T that is not below q is refused (the modulus check of
//!   FIPS 203, 7.2); the sums are encoded canonically by construction.
//! - *Reaction attacks* learn a secret key from many ciphertexts and from whether they decrypt.
//!   Keys are used once, and ML-KEM's re-encryption turns malformed ciphertexts into unknown keys.
//!   A sender still sees whether the receiver ended with its key, but it could see the same by
//!   naming a wrong key to an ideal OT; the extension's check accounts for that.
//! - *Shared encapsulation randomness* (one C for many keys) saves half the sender's work where all
//!   keys are honest. A receiver whose own t̂ is small reads the randomness off one
//!   ciphertext and opens the others. Here each encapsulation is fresh.
//! - *A seed chosen by the receiver*: ρ enters as a preimage of ML-KEM's hash to a matrix, so a
//!   receiver can search for a ρ but cannot plant a trapdoor. ρ is an input of H and of M.
//! - *Uneven time*: rejection sampling in H would take a time that depends on the secret s′ and c.
//!   H reduces 64 bits modulo q for each coefficient instead. Any one answer is at most (1 +
//!   q/2^64)^768 < 1 + 2^-42 times as likely as under the uniform distribution, which is a factor
//!   on the receiver's chance.
//! - *Correctness*: an honest decapsulation fails with probability 2^-164.
//!
//! Cost for each OT: receiver 1 key generation, 1 decapsulation, 1 H; sender 2 encapsulations, 2 H.
//! 1,248 bytes from the receiver and 2,176 from the sender for each OT.
//!
//! | message | bytes | content |
//! |---|---|---|
//! | receiver's | 1248i .. 1248i+1152 | T of OT i, 12 bits a coefficient, as FIPS 203 encodes t̂ |
//! | | 1248i+1152 .. 1248i+1184 | ρ |
//! | | 1248i+1184 .. 1248i+1248 | s |
//! | sender's | 2176i .. 2176i+1088 | C_0 of OT i |
//! | | 2176i+1088 .. 2176i+2176 | C_1 |

mod oracle;
mod receiver;
mod sender;
mod vector;

pub use receiver::Receiver;
pub use sender::{Answers, Sender};

/// The size of an encoded t̂ or T, in bytes.
const VECTOR_BYTES: usize = 1152;

/// The size of an encapsulation key (t̂, ρ), in bytes.
const KEY_BYTES: usize = VECTOR_BYTES + 32;

/// The size of s, in bytes.
const MASK_BYTES: usize = 64;

/// The size of φ, the receiver's part for one OT, in bytes.
const PHI_BYTES: usize = KEY_BYTES + MASK_BYTES;

/// The size of a ciphertext, in bytes; the sender's part for one OT is two.
const CIPHERTEXT_BYTES: usize = 1088;
