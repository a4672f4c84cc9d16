//! The session tag, which separates one run's hashes from those of all others.

use sha2::{Digest, Sha256};

/// 32 public bytes that both parties compute equally and that no other run shares.
///
/// The caller derives it from the TLS exporter, the roles of both parties, the function and the
/// purpose of the OTs. It enters every hash of the base OTs and of the extension. Two runs in
/// opposite directions within one session must have different tags: with equal ones, a peer that
/// echoes our messages would make our two halves agree with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionTag([u8; 32]);

impl SessionTag {
    /// Returns the tag with these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the tag's bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns a hash that has absorbed `domain`, padded to 32 bytes, and this tag: one whole block
    /// of SHA-256, so that clones of it start from the state after that block.
    pub(crate) fn hash(&self, domain: &[u8; 32]) -> Sha256 {
        Sha256::new().chain_update(domain).chain_update(self.0)
    }
}
