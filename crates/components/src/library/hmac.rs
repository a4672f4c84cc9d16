//! HMAC with SHA-256 (FIPS 198-1, RFC 2104).
//!
//! Cost: one compression for each of the key's two blocks, one for the digest of the inner hash,
//! and those of the message. A message of up to 55 bytes takes four in total. A key longer than 64
//! bytes is hashed first.

use tacit_circuit::builder::{Builder, Bytes};

use super::sha2::sha_256;

/// The bytes of a block of SHA-256.
const BLOCK_BYTES: usize = 64;

/// Computes HMAC-SHA-256 of a message of any fixed length under a key of any fixed length.
fn hmac_sha_256<'b>(key: &Bytes<'b>, message: &Bytes<'b>) -> Bytes<'b> {
    let builder = key.bus().builder();
    let key = if key.len() > BLOCK_BYTES {
        sha_256(key)
    } else {
        key.clone()
    };
    let key = key.concat(&filled(builder, 0, BLOCK_BYTES - key.len()));
    // The bytes of ipad and opad (FIPS 198-1, section 3).
    let inner_key = &key ^ filled(builder, 0x36, BLOCK_BYTES);
    let outer_key = &key ^ filled(builder, 0x5c, BLOCK_BYTES);
    let inner = sha_256(&inner_key.concat(message));
    sha_256(&outer_key.concat(&inner))
}

fn filled(builder: &Builder, byte: u8, len: usize) -> Bytes<'_> {
    Bytes::constant(builder, &vec![byte; len])
}

pub(super) fn circuit(builder: &Builder, key_bytes: usize, bytes: usize) {
    let (key, message) = (
        builder.bytes("key", key_bytes),
        builder.bytes("message", bytes),
    );
    builder.output("tag", &hmac_sha_256(&key, &message));
}
