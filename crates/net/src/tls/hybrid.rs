//! The key exchange X25519MLKEM768: its secret stays unknown to an attacker who breaks only one of
//! X25519 and ML-KEM-768 (draft-ietf-tls-ecdhe-mlkem; FIPS 203).
//!
//! | value | bytes | content |
//! |---|---|---|
//! | client's share | 0..1184 | encapsulation key |
//! | | 1184..1216 | X25519 |
//! | server's share | 0..1088 | ciphertext |
//! | | 1088..1120 | X25519 |
//! | secret | 0..32 | ML-KEM-768's |
//! | | 32..64 | X25519's |
//!
//! The provider of everything else has no such group; this module joins that provider's X25519 to
//! the ML-KEM-768 that base OTs use.

use libcrux_ml_kem::mlkem768;
use rustls::crypto::ring::kx_group::X25519;
use rustls::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup,
};
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};
use zeroize::{Zeroize, Zeroizing};

const KEY_BYTES: usize = 1184;
const CIPHERTEXT_BYTES: usize = 1088;
const SECRET_KEY_BYTES: usize = 2400;

/// The group in the form that rustls wants.
#[derive(Debug)]
pub(super) struct X25519MlKem768;

impl SupportedKxGroup for X25519MlKem768 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let classical = X25519.start()?;
        let (mut secret, public) = mlkem768::generate_key_pair(*random()?).into_parts();
        let started = Started {
            share: [public.as_slice(), classical.pub_key()].concat(),
            secret: Secret(Box::new(secret.clone())),
            classical,
        };
        secret[..SECRET_KEY_BYTES].zeroize();
        Ok(Box::new(started))
    }

    fn start_and_complete(&self, share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (key, theirs) = share.split_at_checked(KEY_BYTES).ok_or_else(bad_share)?;
        let key = mlkem768::MlKem768PublicKey::try_from(key).map_err(|_| bad_share())?;
        // FIPS 203, 7.2: a key with a coefficient that is not below q is refused.
        if !mlkem768::validate_public_key(&key) {
            return Err(bad_share());
        }
        let classical = X25519.start_and_complete(theirs)?;
        let (ciphertext, secret) = mlkem768::encapsulate(&key, *random()?);
        Ok(CompletedKeyExchange {
            group: self.name(),
            pub_key: [ciphertext.as_slice(), &classical.pub_key[..]].concat(),
            secret: joined(&Zeroizing::new(secret), &classical.secret),
        })
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

/// A decapsulation key, wiped on drop.
struct Secret(Box<mlkem768::MlKem768PrivateKey>);

impl Drop for Secret {
    fn drop(&mut self) {
        self.0[..SECRET_KEY_BYTES].zeroize();
    }
}

/// The state of a client that has sent its share.
struct Started {
    classical: Box<dyn ActiveKeyExchange>,
    secret: Secret,
    share: Vec<u8>,
}

impl ActiveKeyExchange for Started {
    fn complete(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
        let split = share.split_at_checked(CIPHERTEXT_BYTES);
        let (ciphertext, theirs) = split.ok_or_else(bad_share)?;
        let ciphertext = mlkem768::MlKem768Ciphertext::try_from(ciphertext);
        let ciphertext = ciphertext.map_err(|_| bad_share())?;
        let classical = self.classical.complete(theirs)?;
        let secret = mlkem768::decapsulate(&self.secret.0, &ciphertext);
        Ok(joined(&Zeroizing::new(secret), &classical))
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn group(&self) -> NamedGroup {
        X25519MlKem768.name()
    }
}

/// Joins ML-KEM's and X25519's secrets to that of the group.
fn joined(quantum_safe: &[u8; 32], classical: &SharedSecret) -> SharedSecret {
    [&quantum_safe[..], classical.secret_bytes()]
        .concat()
        .into()
}

fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, Error> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(bytes.as_mut()).map_err(|_| GetRandomFailed)?;
    Ok(bytes)
}

fn bad_share() -> Error {
    PeerMisbehaved::InvalidKeyShare.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: X25519MlKem768 = X25519MlKem768;

    fn refused<T>(result: Result<T, Error>) -> bool {
        let misbehaved = PeerMisbehaved::InvalidKeyShare;
        matches!(result, Err(Error::PeerMisbehaved(found)) if found == misbehaved)
    }

    #[test]
    fn both_sides_have_one_secret_of_both_parts() {
        let client = GROUP.start().unwrap();
        assert_eq!(client.pub_key().len(), KEY_BYTES + 32);
        let server = GROUP.start_and_complete(client.pub_key()).unwrap();
        assert_eq!(server.pub_key.len(), CIPHERTEXT_BYTES + 32);
        assert_eq!(server.secret.secret_bytes().len(), 64);
        let secret = client.complete(&server.pub_key).unwrap();
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
    }

    #[test]
    fn each_part_of_the_secret_depends_on_its_part_of_the_share() {
        // An attacker who breaks one of the two and replaces its part learns nothing about the
        // other's.
        for (changed, same) in [(0, 32..64), (CIPHERTEXT_BYTES, 0..32)] {
            let client = GROUP.start().unwrap();
            let server = GROUP.start_and_complete(client.pub_key()).unwrap();
            let mut share = server.pub_key.clone();
            share[changed] ^= 1;
            let secret = client.complete(&share).unwrap();
            let (secret, theirs) = (secret.secret_bytes(), server.secret.secret_bytes());
            assert_eq!(secret[same.clone()], theirs[same]);
            assert_ne!(secret, theirs);
        }
    }

    #[test]
    fn a_share_of_another_length_is_refused() {
        let share = GROUP.start().unwrap().pub_key().to_vec();
        let answer = GROUP.start_and_complete(&share).unwrap().pub_key;
        for length in [0, 1, 32, KEY_BYTES - 1, KEY_BYTES, KEY_BYTES + 31] {
            assert!(
                refused(GROUP.start_and_complete(&share[..length])),
                "{length}"
            );
        }
        for length in [
            0,
            32,
            CIPHERTEXT_BYTES - 1,
            CIPHERTEXT_BYTES,
            CIPHERTEXT_BYTES + 31,
        ] {
            let client = GROUP.start().unwrap();
            assert!(refused(client.complete(&answer[..length])), "{length}");
        }
        assert!(refused(
            GROUP.start_and_complete(&[&share[..], &[0]].concat())
        ));
        let client = GROUP.start().unwrap();
        assert!(refused(client.complete(&[&answer[..], &[0]].concat())));
    }

    #[test]
    fn a_key_that_is_not_reduced_is_refused() {
        let mut share = GROUP.start().unwrap().pub_key().to_vec();
        // The first coefficient, of 12 bits, becomes 4095, and q is 3329.
        share[0] = 0xff;
        share[1] |= 0x0f;
        assert!(refused(GROUP.start_and_complete(&share)));
    }

    #[test]
    fn a_point_of_low_order_is_refused() {
        let mut share = GROUP.start().unwrap().pub_key().to_vec();
        share[KEY_BYTES..].fill(0);
        assert!(GROUP.start_and_complete(&share).is_err());
        let mut answer = vec![0; CIPHERTEXT_BYTES + 32];
        answer[..CIPHERTEXT_BYTES].fill(7);
        assert!(GROUP.start().unwrap().complete(&answer).is_err());
    }
}
