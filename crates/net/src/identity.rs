//! Identities: the Ed25519 key pair by which the other party knows this one.
//!
//! A file holds it as PKCS#8 in PEM (RFC 8410), as OpenSSL reads and writes it, with mode 0600.

mod pem;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use pem_rfc7468::LineEnding;
use rustls::crypto::ring::sign::any_eddsa_type;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SigningKey};
use zeroize::Zeroizing;

use crate::signer::KeyElsewhere;
use crate::{Fingerprint, NetError};

/// A PKCS#8 version 1 private key of algorithm Ed25519 without its seed (RFC 8410, section 7).
const PKCS8_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
const SEED_BYTES: usize = 32;
const PEM_LABEL: &str = "PRIVATE KEY";

/// No identity file is longer than this.
const MAX_FILE_BYTES: u64 = 16 * 1024;

/// An Ed25519 key pair, or its public half and who signs with the private one.
///
/// The bytes of the private key are wiped when it is dropped; the expanded key inside the
/// signing library is not, which gives no way to do so.
#[derive(Clone)]
pub struct Identity {
    /// Empty where the private key is elsewhere.
    pkcs8: Zeroizing<Vec<u8>>,
    certified: Arc<CertifiedKey>,
    fingerprint: Fingerprint,
}

impl Identity {
    /// A new identity, from the operating system's randomness.
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

    /// The identity with this public key, whose private key is elsewhere: `sign` gives the Ed25519
    /// signature of a message, or `None`. It has no PEM text and cannot be saved.
    #[must_use]
    pub fn elsewhere(
        public_key: &[u8; 32],
        sign: impl Fn(&[u8]) -> Option<[u8; 64]> + Send + Sync + 'static,
    ) -> Self {
        let key = KeyElsewhere::new(public_key, Arc::new(sign));
        Self::of_key(Zeroizing::default(), Arc::new(key)).expect("it has a public key")
    }

    /// What the other party has to know of this identity.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The identity as PEM text, which is secret: for those who keep it elsewhere than in a file.
    ///
    /// # Errors
    ///
    /// [`NetError::KeyElsewhere`].
    pub fn to_pem(&self) -> Result<Zeroizing<String>, NetError> {
        if self.pkcs8.is_empty() {
            return Err(NetError::KeyElsewhere);
        }
        let pem = pem_rfc7468::encode_string(PEM_LABEL, LineEnding::LF, &self.pkcs8);
        // A label and a key of these lengths have a text.
        Ok(Zeroizing::new(pem.unwrap_or_default()))
    }

    /// The identity of such a text.
    ///
    /// # Errors
    ///
    /// [`NetError::IdentityText`] says what is wrong with it.
    pub fn from_pem(pem: &[u8]) -> Result<Self, NetError> {
        Self::of_pem(pem).map_err(|reason| NetError::IdentityText { reason })
    }

    fn of_pem(pem: &[u8]) -> Result<Self, String> {
        if pem.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("it has more than {MAX_FILE_BYTES} bytes"));
        }
        let (label, der) = pem::decode(pem)?;
        if label != PEM_LABEL {
            return Err(format!("its PEM label is {label:?}"));
        }
        Self::from_pkcs8(der)
    }

    /// Writes the identity to a new file with mode 0600: whole or not at all.
    ///
    /// # Errors
    ///
    /// [`NetError::IdentityExists`], [`NetError::IdentityFile`] where the directory cannot be
    /// written, or [`NetError::KeyElsewhere`].
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
        // Without the name of a temporary file in what the system says.
        fs::metadata(folder).map_err(failed)?;
        // A temporary file is made with mode 0600.
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
    /// [`NetError::IdentityFile`] where it cannot be read, [`NetError::IdentityExposed`] where
    /// others than the owner may use the file, or, of a file of root's, others than its group may
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
        // Room for all of it beforehand, so that no copy is left behind by growing.
        let mut pem = Zeroizing::new(Vec::with_capacity(MAX_FILE_BYTES as usize + 1));
        let read = (&file).take(MAX_FILE_BYTES + 1).read_to_end(&mut pem);
        read.map_err(failed)?;
        let identity = Self::of_pem(&pem).map_err(malformed)?;
        // Last, so that nobody is advised to change the mode of what is no identity.
        check_mode(path, &file)?;
        Ok(identity)
    }

    /// The key as rustls wants it: the "certificate" is the bare public key (RFC 7250).
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
        })
    }
}

impl fmt::Debug for Identity {
    /// The fingerprint alone.
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
    // libpq's rule for client keys: whom root lets read its file root has chosen. So does
    // Kubernetes, which gives a secret to root and to the pod's fsGroup with mode 0440.
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

/// Makes the new name in `folder` durable.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
