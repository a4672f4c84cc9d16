//! Identities whose private key is elsewhere: in a browser's key store, which signs and never
//! exports the key.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

/// The first bytes of the `SubjectPublicKeyInfo` of an Ed25519 key (RFC 8410, section 4).
pub(crate) const SPKI_HEAD: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// Signs a message by Ed25519; returns `None` if the holder of the key does not sign.
pub(crate) type Sign = dyn Fn(&[u8]) -> Option<[u8; 64]> + Send + Sync;

/// A key whose private half is elsewhere.
#[derive(Clone)]
pub(crate) struct KeyElsewhere {
    info: Vec<u8>,
    sign: Arc<Sign>,
}

impl KeyElsewhere {
    /// Returns the key with this public half.
    pub(crate) fn new(public_key: &[u8; 32], sign: Arc<Sign>) -> Self {
        let info = [&SPKI_HEAD[..], public_key].concat();
        Self { info, sign }
    }
}

impl fmt::Debug for KeyElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyElsewhere")
    }
}

impl SigningKey for KeyElsewhere {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let is_offered = offered.contains(&SignatureScheme::ED25519);
        is_offered.then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(self.info.as_slice().into())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for KeyElsewhere {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let refused = || Error::General("the holder of the private key did not sign".to_owned());
        (self.sign)(message).map(Vec::from).ok_or_else(refused)
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}
