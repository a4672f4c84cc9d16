//! Sealing: ChaCha20-Poly1305 under keys that are used once, and otherwise XChaCha20-Poly1305 with
//! random nonces.
//!
//! Assumption: ChaCha20 is a PRF, and the forgery bound of Poly1305 holds. Cost per instance: two
//! blocks of ChaCha20, for the Poly1305 key and up to 64 secret bytes, and Poly1305 over the
//! tables.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Tag, XChaCha20Poly1305};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::StockError;

pub(crate) const TAG_BYTES: usize = 16;
pub(crate) const NONCE_BYTES: usize = 24;

/// 32 secret bytes, wiped when dropped.
pub(crate) type Key = Zeroizing<[u8; 32]>;

/// The bytes do not open under this key: they were changed, or belong to another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotGenuine;

/// Fills `bytes` with the operating system's randomness.
pub(crate) fn randomness(bytes: &mut [u8]) -> Result<(), StockError> {
    getrandom::fill(bytes).map_err(|error| StockError::Io {
        file: "the system's source of randomness".into(),
        doing: "read it",
        reason: std::io::Error::other(error),
    })
}

pub(crate) fn random_key() -> Result<Key, StockError> {
    let mut key = Key::default();
    randomness(&mut *key)?;
    Ok(key)
}

/// Derives a key for one purpose from a key that is uniformly random.
pub(crate) fn derive(purpose: &[u8], key: &Key, context: &[u8]) -> Key {
    let hash = Sha256::new()
        .chain_update(purpose)
        .chain_update(**key)
        .chain_update(context);
    let mut derived = Key::default();
    hash.finalize_into((&mut *derived).into());
    derived
}

/// Seals a record's `secret` in place, under a key for this record alone. The tag, which also
/// covers the tables, is placed between secret and tables.
pub(crate) fn seal_once(
    key: &Key,
    salt: &[u8; 12],
    secret: &mut [u8],
    tables: &[u8],
) -> [u8; TAG_BYTES] {
    let cipher = ChaCha20Poly1305::new((&**key).into());
    let tag = cipher
        .encrypt_inout_detached(salt.into(), tables, secret.into())
        .expect("a record is far below ChaCha20's limit of 256 GiB");
    tag.into()
}

/// Opens in place a record whose secret [`seal_once`] sealed.
pub(crate) fn open_once(
    key: &Key,
    salt: &[u8; 12],
    record: &mut [u8],
    secret_bytes: usize,
) -> Result<(), NotGenuine> {
    let (secret, rest) = record
        .split_at_mut_checked(secret_bytes)
        .ok_or(NotGenuine)?;
    let (tag, tables) = rest.split_first_chunk::<TAG_BYTES>().ok_or(NotGenuine)?;
    let cipher = ChaCha20Poly1305::new((&**key).into());
    cipher
        .decrypt_inout_detached(salt.into(), tables, secret.into(), &Tag::from(*tag))
        .map_err(|_| NotGenuine)
}

/// Seals `secret` as `nonce ‖ sealed ‖ tag`, with a random nonce.
pub(crate) fn seal(key: &Key, context: &[u8], secret: &[u8]) -> Result<Vec<u8>, StockError> {
    let mut sealed = vec![0; NONCE_BYTES + secret.len()];
    let (nonce, body) = sealed.split_at_mut(NONCE_BYTES);
    randomness(nonce)?;
    body.copy_from_slice(secret);
    let nonce: [u8; NONCE_BYTES] = sealed[..NONCE_BYTES].try_into().expect("its length");
    let cipher = XChaCha20Poly1305::new((&**key).into());
    let tag = cipher
        .encrypt_inout_detached(
            (&nonce).into(),
            context,
            (&mut sealed[NONCE_BYTES..]).into(),
        )
        .map_err(|_| StockError::misuse("a secret of over 256 GiB"))?;
    sealed.extend_from_slice(&tag);
    Ok(sealed)
}

/// Opens what [`seal`] sealed.
pub(crate) fn open(
    key: &Key,
    context: &[u8],
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, NotGenuine> {
    let (nonce, rest) = sealed
        .split_first_chunk::<NONCE_BYTES>()
        .ok_or(NotGenuine)?;
    let (body, tag) = rest.split_last_chunk::<TAG_BYTES>().ok_or(NotGenuine)?;
    let mut secret = Zeroizing::new(body.to_vec());
    let cipher = XChaCha20Poly1305::new((&**key).into());
    cipher
        .decrypt_inout_detached(
            nonce.into(),
            context,
            secret.as_mut_slice().into(),
            &Tag::from(*tag),
        )
        .map_err(|_| NotGenuine)?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_changed_opens() {
        let key = Key::new([7; 32]);
        let (mut secret, tables) = ([1; 20], [2; 100]);
        let tag = seal_once(&key, &[3; 12], &mut secret, &tables);
        let mut record = [&secret[..], &tag, &tables].concat();
        assert_ne!(record[..20], [1; 20]);
        for at in 0..record.len() {
            let mut changed = record.clone();
            changed[at] ^= 1;
            assert_eq!(
                open_once(&key, &[3; 12], &mut changed, 20),
                Err(NotGenuine),
                "byte {at}"
            );
        }
        assert_eq!(
            open_once(&key, &[4; 12], &mut record.clone(), 20),
            Err(NotGenuine)
        );
        assert_eq!(open_once(&key, &[3; 12], &mut record, 20), Ok(()));
        assert_eq!(record[..20], [1; 20]);
        assert_eq!(
            open_once(&key, &[3; 12], &mut record, 1000),
            Err(NotGenuine)
        );
    }

    #[test]
    fn a_context_is_part_of_it() {
        let key = Key::new([7; 32]);
        let sealed = seal(&key, b"here", b"secret").expect("randomness");
        assert_eq!(
            open(&key, b"here", &sealed).expect("genuine").as_slice(),
            b"secret"
        );
        assert_eq!(open(&key, b"there", &sealed), Err(NotGenuine));
        assert_eq!(open(&key, b"here", &sealed[..30]), Err(NotGenuine));
    }
}
