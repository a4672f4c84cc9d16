//! The two random oracles of the base OT, made from SHA-256 and the Elligator map.
//!
//! Every input has a fixed length and begins with one block that holds a domain and the session
//! tag, so no two uses share an input, and length extension does not apply.

use curve25519_dalek::ristretto::RistrettoPoint;
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use super::POINT_BYTES;
use crate::SessionTag;
use crate::base::Key;

const TO_GROUP: &[u8; 32] = b"tacit base OT v2 hash to group  ";
const TO_KEY: &[u8; 32] = b"tacit base OT v2 key            ";

/// H and KDF of one session.
#[derive(Clone)]
pub(super) struct Oracles {
    to_group: Sha256,
    to_key: Sha256,
}

impl Oracles {
    pub(super) fn new(tag: &SessionTag) -> Self {
        Self {
            to_group: tag.hash(TO_GROUP),
            to_key: tag.hash(TO_KEY),
        }
    }

    /// Computes half of H(i, x, s): an Elligator image. `x` and `s` may be secret.
    pub(super) fn half_mask(&self, i: u32, x: u8, s: &[u8; 32]) -> RistrettoPoint {
        let hash = self.to_group.clone();
        let hash = hash.chain_update(i.to_le_bytes()).chain_update([x]);
        let mut digest = hash.chain_update(s).finalize();
        let mut u: [u8; 32] = digest.into();
        let point = RistrettoPoint::map_to_curve(u);
        u.zeroize();
        digest.as_mut_slice().zeroize();
        point
    }

    /// Computes the key of branch `x` of OT `i`. `a` and `phi` are the two messages as sent, and
    /// `shared` is the encoded Diffie–Hellman value. `x` and `shared` may be secret.
    pub(super) fn key(
        &self,
        i: u32,
        x: u8,
        a: &[u8; POINT_BYTES],
        phi: &[u8],
        shared: &[u8; POINT_BYTES],
    ) -> Key {
        let hash = self.to_key.clone();
        let hash = hash.chain_update(i.to_le_bytes()).chain_update([x]);
        let hash = hash.chain_update(a).chain_update(phi);
        let mut digest = hash.chain_update(shared).finalize();
        let key = Key(digest.into());
        digest.as_mut_slice().zeroize();
        key
    }
}
