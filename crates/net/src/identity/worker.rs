//! Keys of workers: short-lived keys that a party's identity has signed, so that its long-lived key
//! stays where it is.
//!
//! In the handshake, a worker shows its public key and, behind it, one certificate. (RFC 8446 has
//! one entry for a raw public key. A version that does not know workers compares the first alone
//! and refuses it.) The peer pins the fingerprint of the party, and counts all of its workers as
//! the party.
//!
//! | bytes | certificate |
//! |---|---|
//! | 16 | `tacit worker 01` and a zero |
//! | 32 | the party's public key |
//! | 32 | the worker's public key |
//! | 1 | the purpose: 1, sessions |
//! | 8, 8 | the first second and the last one, since 1970, little-endian |
//! | 1, n | the length of the worker's name, and the name |
//! | 64 | the party's Ed25519 signature of all before it |
//!
//! No message that an identity signs in TLS begins like this: those begin with 64 spaces (RFC 8446,
//! section 4.4.3).

use std::fmt;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use webpki::ring::ED25519;

use crate::Fingerprint;
use crate::signer::SPKI_HEAD;

const HEAD: [u8; 16] = *b"tacit worker 01\0";
const KEY_BYTES: usize = 32;
const SIGNATURE_BYTES: usize = 64;
/// The purpose of a worker: sessions, and neither pairing nor signing.
const SESSIONS: u8 = 1;
const MAX_NAME_BYTES: usize = 64;

/// The name of a worker's key, and the time for which it is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerTerms {
    name: String,
    from_s: u64,
    until_s: u64,
}

/// The reason why a worker's key is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidWorker {
    /// The name is not one.
    #[error("a worker's name has 1 to {MAX_NAME_BYTES} of a-z, A-Z, 0-9, '.', '_' and '-'")]
    Name,
    /// The time is too long.
    #[error("a worker's key is valid for {} days at most", WorkerTerms::LONGEST.as_secs() / 86400)]
    Long,
    /// The key that is to sign is a worker's.
    #[error("a worker's key signs no other key")]
    Signer,
    /// There is more than one certificate.
    #[error("a worker's key comes with one certificate, which its party's key has signed")]
    Chain,
    /// It is no certificate of this version.
    #[error("a worker's certificate is malformed")]
    Malformed,
    /// The certificate is of another key than the worker's.
    #[error("a worker's certificate is of another key")]
    OtherKey,
    /// The certificate is for another purpose.
    #[error("a worker's certificate is for another purpose")]
    Purpose,
    /// The signature is not that of the party.
    #[error("a worker's certificate is not signed by its party's key")]
    Signature,
    /// It is too early.
    #[error("a worker's key is not valid yet: its clock or this one is wrong")]
    Early,
    /// It is too late.
    #[error("a worker's key has expired; its party makes a new one")]
    Late,
}

impl WorkerTerms {
    /// The longest time for which a worker's key is valid: nobody can revoke it before.
    pub const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

    /// The time before its beginning from which on a key is valid, since clocks differ.
    const EARLIER: Duration = Duration::from_secs(300);

    /// Returns the terms of a key for the worker with this name that is valid for so long from
    /// `now_s`, in seconds since 1970, on.
    ///
    /// # Errors
    ///
    /// The name is not one, or the time is too long.
    pub fn new(name: &str, now_s: u64, valid: Duration) -> Result<Self, InvalidWorker> {
        let until_s = now_s.checked_add(valid.as_secs());
        let terms = Self {
            name: name.to_owned(),
            from_s: now_s.saturating_sub(Self::EARLIER.as_secs()),
            until_s: until_s.ok_or(InvalidWorker::Long)?,
        };
        terms.check()?;
        Ok(terms)
    }

    /// Returns the worker's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the last second in which the key is valid, since 1970.
    pub fn until_s(&self) -> u64 {
        self.until_s
    }

    /// Checks that the key is valid in this second since 1970.
    ///
    /// # Errors
    ///
    /// It is too early or too late.
    pub fn check_time(&self, now_s: u64) -> Result<(), InvalidWorker> {
        if now_s < self.from_s {
            return Err(InvalidWorker::Early);
        }
        if now_s > self.until_s {
            return Err(InvalidWorker::Late);
        }
        Ok(())
    }

    /// Checks the name and the length of the time.
    fn check(&self) -> Result<(), InvalidWorker> {
        let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let has_length = (1..=MAX_NAME_BYTES).contains(&self.name.len());
        if !has_length || !self.name.bytes().all(is_in_name) {
            return Err(InvalidWorker::Name);
        }
        let longest = (Self::LONGEST + Self::EARLIER).as_secs();
        if self.until_s.saturating_sub(self.from_s) > longest {
            return Err(InvalidWorker::Long);
        }
        Ok(())
    }
}

/// A worker's certificate.
#[derive(Clone)]
pub(crate) struct Certificate {
    bytes: Vec<u8>,
    terms: WorkerTerms,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({:?})", self.terms)
    }
}

impl Certificate {
    /// Returns the certificate that `sign` makes for the key of a worker. The keys are
    /// `SubjectPublicKeyInfo`s.
    pub(crate) fn signed<E>(
        (party, worker): (&[u8], &[u8]),
        terms: &WorkerTerms,
        sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>,
    ) -> Result<Self, E> {
        let mut bytes = HEAD.to_vec();
        for key in [party, worker] {
            bytes.extend_from_slice(&key[SPKI_HEAD.len()..]);
        }
        bytes.push(SESSIONS);
        bytes.extend_from_slice(&terms.from_s.to_le_bytes());
        bytes.extend_from_slice(&terms.until_s.to_le_bytes());
        bytes.push(terms.name.len() as u8);
        bytes.extend_from_slice(terms.name.as_bytes());
        let signature = sign(&bytes)?;
        bytes.extend_from_slice(&signature);
        let terms = terms.clone();
        Ok(Self { bytes, terms })
    }

    /// Returns the certificate of the worker with this key. Checks everything but the time.
    pub(crate) fn parse(bytes: &[u8], worker: &[u8]) -> Result<Self, InvalidWorker> {
        let mut rest = bytes;
        let mut take = |count: usize| {
            let (taken, left) = rest.split_at_checked(count)?;
            rest = left;
            Some(taken)
        };
        let mut parts = || {
            let head = take(HEAD.len())?;
            let keys = (take(KEY_BYTES)?, take(KEY_BYTES)?);
            let purpose = take(1)?[0];
            let mut second = || Some(u64::from_le_bytes(*take(8)?.first_chunk()?));
            let times = (second()?, second()?);
            let name_bytes = take(1)?[0];
            let name = take(name_bytes.into())?;
            Some((head, keys, purpose, times, name, take(SIGNATURE_BYTES)?))
        };
        let parts = parts().filter(|parts| parts.0 == HEAD);
        let (_, (party, key), purpose, (from_s, until_s), name, signature) =
            parts.ok_or(InvalidWorker::Malformed)?;
        if !rest.is_empty() {
            return Err(InvalidWorker::Malformed);
        }
        if worker.strip_prefix(&SPKI_HEAD) != Some(key) {
            return Err(InvalidWorker::OtherKey);
        }
        if purpose != SESSIONS {
            return Err(InvalidWorker::Purpose);
        }
        let signed = &bytes[..bytes.len() - SIGNATURE_BYTES];
        let verified = ED25519.verify_signature(party, signed, signature);
        verified.map_err(|_| InvalidWorker::Signature)?;
        let name = str::from_utf8(name).map_err(|_| InvalidWorker::Name)?;
        let terms = WorkerTerms {
            name: name.to_owned(),
            from_s,
            until_s,
        };
        terms.check()?;
        let bytes = bytes.to_vec();
        Ok(Self { bytes, terms })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn terms(&self) -> &WorkerTerms {
        &self.terms
    }

    /// Returns the fingerprint of the party that signed it.
    pub(crate) fn party(&self) -> Fingerprint {
        let key = &self.bytes[HEAD.len()..HEAD.len() + KEY_BYTES];
        Fingerprint::of_public_key(&[&SPKI_HEAD[..], key].concat())
    }
}

/// The party that a peer has proved to be, or to work for.
#[derive(Clone, Debug)]
pub(crate) struct ShownIdentity {
    pub(crate) fingerprint: Fingerprint,
    /// The worker, if it is not the party itself.
    pub(crate) worker: Option<WorkerTerms>,
}

impl From<Fingerprint> for ShownIdentity {
    /// The party itself.
    fn from(fingerprint: Fingerprint) -> Self {
        let worker = None;
        Self {
            fingerprint,
            worker,
        }
    }
}

impl ShownIdentity {
    /// Returns what these certificates of a peer show, besides the time: a bare public key, or one
    /// with a worker's certificate behind it.
    pub(crate) fn of(
        public_key: &CertificateDer<'_>,
        behind: &[CertificateDer<'_>],
    ) -> Result<Self, InvalidWorker> {
        match behind {
            [] => Ok(Fingerprint::of_public_key(public_key).into()),
            [certificate] => {
                let certificate = Certificate::parse(certificate, public_key)?;
                Ok(Self {
                    fingerprint: certificate.party(),
                    worker: Some(certificate.terms),
                })
            }
            _ => Err(InvalidWorker::Chain),
        }
    }
}
