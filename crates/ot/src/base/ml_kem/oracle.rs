//! The random oracles of the base OT, made from SHA-256, SHA-512 and, for the length of H, AES-128.
//!
//! Every input has a fixed length and begins with a domain and the session tag.

use sha2::{Digest, Sha256, Sha512};
use tacit_kernels::Prg;
use zeroize::{Zeroize, Zeroizing};

use super::vector::{COEFFICIENTS, Vector};
use super::{KEY_BYTES, MASK_BYTES, PHI_BYTES};
use crate::SessionTag;
use crate::base::Key;

const TO_VECTOR: &[u8; 32] = b"tacit ML-KEM base OT v1 vector  ";
const TO_MASK: &[u8; 32] = b"tacit ML-KEM base OT v1 mask    ";
const TO_KEY: &[u8; 32] = b"tacit ML-KEM base OT v1 key     ";

/// H, M and KDF of one session.
pub(super) struct Oracles {
    to_vector: Sha256,
    to_mask: Sha512,
    to_key: Sha256,
}

impl Oracles {
    pub(super) fn new(tag: &SessionTag) -> Self {
        Self {
            to_vector: tag.hash(TO_VECTOR),
            to_mask: Sha512::new().chain_update(tag.hash(TO_MASK).finalize()),
            to_key: tag.hash(TO_KEY),
        }
    }

    /// Computes H(i, x, ρ, s): a hash that seeds AES-128 in counter mode, 64 bits of which make a
    /// coefficient. `x` and `s` may be secret.
    pub(super) fn vector(&self, i: u32, x: u8, rho: &[u8], s: &[u8; MASK_BYTES]) -> Vector {
        let hash = self.to_vector.clone();
        let hash = hash.chain_update(i.to_le_bytes()).chain_update([x]);
        let mut digest = hash.chain_update(rho).chain_update(s).finalize();
        let seed = Zeroizing::new(<[u8; 32]>::from(digest));
        digest.as_mut_slice().zeroize();
        let mut wide = Zeroizing::new([0; COEFFICIENTS * 8]);
        Prg::from_seed(&seed).fill_bytes(&mut *wide);
        let (words, _) = wide.as_chunks();
        Vector::reduced(words.iter().map(|word| u64::from_le_bytes(*word)))
    }

    /// Computes M(i, T, ρ) from T and ρ as they are in φ.
    pub(super) fn mask(&self, i: u32, shifted_key: &[u8]) -> [u8; MASK_BYTES] {
        debug_assert_eq!(shifted_key.len(), KEY_BYTES);
        let hash = self.to_mask.clone().chain_update(i.to_le_bytes());
        hash.chain_update(shifted_key).finalize().into()
    }

    /// Computes KDF(i, x, φ, C, K). `x` and `shared` may be secret.
    pub(super) fn key(
        &self,
        i: u32,
        x: u8,
        phi: &[u8],
        ciphertext: &[u8],
        shared: &[u8; 32],
    ) -> Key {
        debug_assert_eq!(phi.len(), PHI_BYTES);
        let hash = self.to_key.clone();
        let hash = hash.chain_update(i.to_le_bytes()).chain_update([x]);
        let hash = hash.chain_update(phi).chain_update(ciphertext);
        let mut digest = hash.chain_update(shared).finalize();
        let key = Key::from_bytes(digest.into());
        digest.as_mut_slice().zeroize();
        key
    }
}
