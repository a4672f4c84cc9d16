//! Identities: the Ed25519 key pair by which the other party knows this one.
//!
//! A file holds it as PKCS#8 in PEM (RFC 8410), in the form that OpenSSL reads and writes, with
//! mode 0600. The file of a worker's key has the worker's [certificate](worker) behind it.

mod pem;
pub(crate) mod worker;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use pem_rfc7468::LineEnding;
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_eddsa_type;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SigningKey};
use zeroize::Zeroizing;

use self::worker::{Certificate, InvalidWorker, WorkerTerms};
use crate::signer::KeyElsewhere;
use crate::{Fingerprint, NetError};

/// A PKCS#8 version 1 private key of algorithm Ed25519 without its seed (RFC 8410, section 7).
const PKCS8_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
const SEED_BYTES: usize = 32;
const PEM_LABEL: &str = "PRIVATE KEY";
const WORKER_LABEL: &str = "TACIT WORKER";

/// The longest identity file, in bytes.
const MAX_FILE_BYTES: u64 = 16 * 1024;

/// An Ed25519 key pair, or a public key and a function that signs with the private one. A worker's
/// key has the fingerprint of the party that signed it.
///
/// The bytes of the private key are wiped on drop. The expanded key inside the signing library is
/// not, because the library offers no way to do so.
#[derive(Clone)]
pub struct Identity {
    /// The private key. Empty if it is elsewhere.
    pkcs8: Zeroizing<Vec<u8>>,
    certified: Arc<CertifiedKey>,
    fingerprint: Fingerprint,
    /// The certificate, if this is the key of a worker.
    certificate: Option<Certificate>,
}

impl Identity {
    /// Makes a new identity from the operating system's randomness.
    ///
    /// # Errors
    ///
    /// The operating system gives no randomness.
    pub fn generate() -> Result<Self, NetError> {
        let mut pkcs8 = Zeroizing::new(vec![0; PKCS8_HEAD.len() + SEED_BYTES]);
        pkcs8[..PKCS8_HEAD.len()].copy_from_slice(&PKCS8_HEAD);
        getrandom::fill(&mut pkcs8[PKCS8_HEAD.len()..]).map_err(|error| {
            NetError::KeyGeneration {
                reason: error.to_string(),
            }
        })?;
        Self::from_pkcs8(pkcs8).map_err(|reason| NetError::KeyGeneration { reason })
    }

    /// Returns the identity with this public key, whose private key is elsewhere. `sign` returns
    /// the Ed25519 signature of a message, or `None`. Such an identity has no PEM text and cannot
    /// be saved.
    pub fn elsewhere(
        public_key: &[u8; 32],
        sign: impl Fn(&[u8]) -> Option<[u8; 64]> + Send + Sync + 'static,
    ) -> Self {
        let key = KeyElsewhere::new(public_key, Arc::new(sign));
        Self::of_key(Zeroizing::default(), Arc::new(key)).expect("it has a public key")
    }

    /// Makes a key for a worker of this party, which proves this identity in sessions until the
    /// terms end.
    ///
    /// # Errors
    ///
    /// [`NetError::Worker`] if this is the key of a worker, [`NetError::KeyGeneration`] if the
    /// operating system gives no randomness, or if this key does not sign.
    pub fn for_worker(&self, terms: &WorkerTerms) -> Result<Self, NetError> {
        if self.certificate.is_some() {
            return Err(InvalidWorker::Signer.into());
        }
        let worker = Self::generate()?;
        let keys = (self.public_key(), worker.public_key());
        let certificate = Certificate::signed(keys, terms, |message| self.sign(message))?;
        Ok(worker.certified_by(certificate))
    }

    /// Returns the terms of the key, if it is a worker's.
    pub fn worker(&self) -> Option<&WorkerTerms> {
        self.certificate.as_ref().map(Certificate::terms)
    }

    /// Returns the public key (`SubjectPublicKeyInfo`).
    fn public_key(&self) -> &[u8] {
        self.certified.cert.first().map_or(&[], |key| key)
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, NetError> {
        let signer = self
            .certified
            .key
            .choose_scheme(&[SignatureScheme::ED25519]);
        let signed = signer.map(|signer| signer.sign(message));
        let signed = signed.and_then(Result::ok);
        signed.ok_or_else(|| NetError::KeyGeneration {
            reason: "the party's key does not sign".to_owned(),
        })
    }

    /// Returns this key as that of a worker with this certificate.
    fn certified_by(self, certificate: Certificate) -> Self {
        let shown = [self.public_key(), certificate.bytes()];
        let shown = shown.map(|one| CertificateDer::from(one.to_vec()));
        let key = Arc::clone(&self.certified.key);
        Self {
            certified: Arc::new(CertifiedKey::new(shown.to_vec(), key)),
            fingerprint: certificate.party(),
            certificate: Some(certificate),
            ..self
        }
    }

    /// Returns the fingerprint, by which the other party knows this identity.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns the identity as PEM text, which is secret, for callers that keep it elsewhere than
    /// in a file.
    ///
    /// # Errors
    ///
    /// [`NetError::KeyElsewhere`].
    pub fn to_pem(&self) -> Result<Zeroizing<String>, NetError> {
        if self.pkcs8.is_empty() {
            return Err(NetError::KeyElsewhere);
        }
        let encode = |label, bytes| {
            let pem = pem_rfc7468::encode_string(label, LineEnding::LF, bytes);
            // A label and bytes of these lengths always have a text.
            Zeroizing::new(pem.unwrap_or_default())
        };
        let key = encode(PEM_LABEL, &self.pkcs8);
        let Some(certificate) = &self.certificate else {
            return Ok(key);
        };
        let certificate = encode(WORKER_LABEL, certificate.bytes());
        Ok(Zeroizing::new([key.as_str(), &certificate].concat()))
    }

    /// Reads an identity from such a text.
    ///
    /// # Errors
    ///
    /// [`NetError::IdentityText`] describes the problem.
    pub fn from_pem(pem: &[u8]) -> Result<Self, NetError> {
        Self::of_pem(pem).map_err(|reason| NetError::IdentityText { reason })
    }

    fn of_pem(pem: &[u8]) -> Result<Self, String> {
        if pem.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("it has more than {MAX_FILE_BYTES} bytes"));
        }
        let text = pem::decode(pem)?;
        if text.label != PEM_LABEL {
            return Err(format!("its PEM label is {:?}", text.label));
        }
        let key = Self::from_pkcs8(text.bytes)?;
        if text.behind.is_empty() {
            return Ok(key);
        }
        let text = pem::decode(text.behind)?;
        if text.label != WORKER_LABEL || !text.behind.is_empty() {
            return Err(format!(
                "something follows its line -----END {PEM_LABEL}-----"
            ));
        }
        let certificate = Certificate::parse(&text.bytes, key.public_key());
        let certificate = certificate.map_err(|error| error.to_string())?;
        Ok(key.certified_by(certificate))
    }

    /// Writes the identity to a new file with mode 0600, completely or not at all.
    ///
    /// # Errors
    ///
    /// [`NetError::IdentityExists`], [`NetError::IdentityFile`] if the directory cannot be written,
    /// or [`NetError::KeyElsewhere`].
    pub fn save(&self, path: &Path) -> Result<(), NetError> {
        let failed = |reason| NetError::IdentityFile {
            path: path.to_owned(),
            reason,
        };
        let pem = self.to_pem()?;
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        // This check makes the system's message free of the name of a temporary file.
        fs::metadata(folder).map_err(failed)?;
        // A temporary file has mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(pem.as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        match file.persist_noclobber(path) {
            Ok(_) => sync_folder(folder).map_err(failed),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(NetError::IdentityExists {
                    path: path.to_owned(),
                })
            }
            Err(error) => Err(failed(error.error)),
        }
    }

    /// Reads the identity that [`Identity::save`] or another tool wrote.
    ///
    /// # Errors
    ///
    /// [`NetError::IdentityFile`] if it cannot be read, [`NetError::IdentityExposed`] if users
    /// other than the owner may use the file or, for a file of root's, if others than its group may
    /// read it, [`NetError::IdentityMalformed`].
    pub fn load(path: &Path) -> Result<Self, NetError> {
        let failed = |reason| NetError::IdentityFile {
            path: path.to_owned(),
            reason,
        };
        let malformed = |reason| NetError::IdentityMalformed {
            path: path.to_owned(),
            reason,
        };
        let file = File::open(path).map_err(failed)?;
        // Reserve room for all of it, so that growing leaves no copy behind.
        let mut pem = Zeroizing::new(Vec::with_capacity(MAX_FILE_BYTES as usize + 1));
        let read = (&file).take(MAX_FILE_BYTES + 1).read_to_end(&mut pem);
        read.map_err(failed)?;
        let identity = Self::of_pem(&pem).map_err(malformed)?;
        // This check comes last, so that nobody is told to change the mode of a file without an
        // identity.
        check_mode(path, &file)?;
        Ok(identity)
    }

    /// Returns the key in the form of rustls: the "certificate" is the bare public key (RFC 7250),
    /// with that of a worker behind it.
    pub(crate) fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.certified)
    }

    fn from_pkcs8(pkcs8: Zeroizing<Vec<u8>>) -> Result<Self, String> {
        let borrowed = PrivatePkcs8KeyDer::from(pkcs8.as_slice());
        let key: Arc<dyn SigningKey> = any_eddsa_type(&borrowed)
            .map_err(|_| "its key is not an Ed25519 private key".to_owned())?;
        Self::of_key(pkcs8, key)
    }

    fn of_key(pkcs8: Zeroizing<Vec<u8>>, key: Arc<dyn SigningKey>) -> Result<Self, String> {
        let public = key
            .public_key()
            .map(|info| info.to_vec())
            .ok_or_else(|| "its public key cannot be computed".to_owned())?;
        let fingerprint = Fingerprint::of_public_key(&public);
        let certified = CertifiedKey::new(vec![CertificateDer::from(public)], key);
        Ok(Self {
            pkcs8,
            certified: Arc::new(certified),
            fingerprint,
            certificate: None,
        })
    }
}

impl fmt::Debug for Identity {
    /// Prints only the fingerprint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.fingerprint)
    }
}

#[cfg(unix)]
fn check_mode(path: &Path, file: &File) -> Result<(), NetError> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().map_err(|reason| NetError::IdentityFile {
        path: path.to_owned(),
        reason,
    })?;
    let mode = metadata.mode() & 0o777;
    // The rule is libpq's for client keys: root has chosen the users that may read its file.
    // Kubernetes does the same when it gives a secret to root and to the pod's fsGroup with mode
    // 0440.
    let allowed = if metadata.uid() == 0 { 0o740 } else { 0o700 };
    if mode & !allowed != 0 {
        return Err(NetError::IdentityExposed {
            path: path.to_owned(),
            mode,
        });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_path: &Path, _file: &File) -> Result<(), NetError> {
    Ok(())
}

/// Makes a new file name in `folder` durable.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
