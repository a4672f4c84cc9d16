//! The TLS configuration: one version, two suites, and peers known by their fingerprints.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{
    CryptoProvider, GetRandomFailed, KeyProvider, SecureRandom, WebPkiSupportedAlgorithms, ring,
};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::SigningKey;
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, OtherError,
    ServerConfig, SignatureScheme, SupportedCipherSuite,
};

use web_time::SystemTime;

use super::hybrid::X25519MlKem768;
use crate::identity::worker::{InvalidWorker, ShownIdentity};
use crate::{Fingerprint, Identity};

/// The application protocol (ALPN): Tacit, and the version of its wire format.
pub(super) const PROTOCOL: &[u8] = b"tacit/1";

/// The application protocol of a side stream.
pub(super) const SIDE: &[u8] = b"tacit-side/1";

/// Returns the application protocols of a session: with this many side streams in each direction or
/// fewer, and last without.
pub(super) fn with_side_streams(most: u8) -> Vec<Vec<u8>> {
    (0..=most).rev().map(session).collect()
}

/// Returns the application protocol of a session with this many side streams.
pub(super) fn session(side_streams: u8) -> Vec<u8> {
    match side_streams {
        0 => PROTOCOL.to_vec(),
        some => [PROTOCOL, format!("+{some}").as_bytes()].concat(),
    }
}

/// The application protocol of pairing, so that a pairing cannot be taken for a session.
pub(super) const PAIRING: &[u8] = b"tacit-pair/1";

/// The error of a peer that has proved an unexpected identity.
#[derive(Debug, thiserror::Error)]
#[error("the identity {found} is not expected")]
pub(super) struct UnexpectedIdentity {
    pub(super) expected: Vec<Fingerprint>,
    pub(super) found: Fingerprint,
}

/// Returns the primitives: one choice of each except the cipher, all of them *ring*'s except
/// ML-KEM-768. A peer that does not offer the same key exchange is refused, so that an attacker in
/// between cannot make two parties use X25519 alone. Primitives that are not named here are not in
/// TLS: neither RSA nor ECDSA is.
pub(super) fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: suites().to_vec(),
        kx_groups: vec![&X25519MlKem768],
        signature_verification_algorithms: ED25519_ALONE,
        secure_random: &SystemRandom,
        key_provider: &NoOtherKeys,
    }
}

/// Returns the cipher suites. A server takes the first one of its client's that it knows. A page is
/// always a client and has no AES unit: there *ring*'s AES-GCM, which avoids tables, is seven times
/// slower than its ChaCha20-Poly1305.
fn suites() -> [SupportedCipherSuite; 2] {
    use ring::cipher_suite::{TLS13_AES_128_GCM_SHA256, TLS13_CHACHA20_POLY1305_SHA256};
    let (aes, chacha) = (TLS13_AES_128_GCM_SHA256, TLS13_CHACHA20_POLY1305_SHA256);
    if cfg!(target_family = "wasm") {
        return [chacha, aes];
    }
    [aes, chacha]
}

const ED25519_ALONE: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[webpki::ring::ED25519],
    mapping: &[(SignatureScheme::ED25519, &[webpki::ring::ED25519])],
};

/// The operating system's randomness.
#[derive(Debug)]
struct SystemRandom;

impl SecureRandom for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        getrandom::fill(bytes).map_err(|_| GetRandomFailed)
    }
}

/// The system's clock, for the keys of workers. Before 1970, where the library's own provider
/// panics, it says 1970.
#[derive(Debug)]
struct SystemClock;

impl TimeProvider for SystemClock {
    fn current_time(&self) -> Option<UnixTime> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Some(UnixTime::since_unix_epoch(since.unwrap_or_default()))
    }
}

/// A loader that loads no private key, because an [`Identity`] has its own.
#[derive(Debug)]
struct NoOtherKeys;

impl KeyProvider for NoOtherKeys {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        Err(Error::General("an identity has its key".to_owned()))
    }
}

pub(super) fn client_config(
    identity: &Identity,
    expected: &[Fingerprint],
) -> Result<ClientConfig, Error> {
    client_config_with(provider(), identity, expected)
}

pub(super) fn server_config(
    identity: &Identity,
    allowed: &[Fingerprint],
) -> Result<ServerConfig, Error> {
    server_config_with(provider(), identity, allowed)
}

pub(super) fn client_config_with(
    provider: CryptoProvider,
    identity: &Identity,
    expected: &[Fingerprint],
) -> Result<ClientConfig, Error> {
    client_config_for(provider, identity, Admission::pinned(expected))
}

pub(super) fn client_config_for(
    provider: CryptoProvider,
    identity: &Identity,
    admission: Admission,
) -> Result<ClientConfig, Error> {
    let pinned = PinnedPeer::new(&provider, admission);
    let resolver = AlwaysResolvesClientRawPublicKeys::new(identity.certified());
    let mut config = ClientConfig::builder_with_details(Arc::new(provider), Arc::new(SystemClock))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pinned))
        .with_client_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(config)
}

pub(super) fn server_config_with(
    provider: CryptoProvider,
    identity: &Identity,
    allowed: &[Fingerprint],
) -> Result<ServerConfig, Error> {
    server_config_for(provider, identity, Admission::pinned(allowed))
}

/// Returns the configuration of the accepting side of a pairing. A client may show any identity,
/// which the pairing checks, and no worker's.
pub(super) fn pairing_server_config(identity: &Identity) -> Result<ServerConfig, Error> {
    let admission = Admission {
        strangers: true,
        ..Admission::default()
    };
    let mut config = server_config_for(provider(), identity, admission)?;
    config.alpn_protocols = vec![PAIRING.to_vec()];
    Ok(config)
}

/// Returns the configuration of the connecting side of a pairing, which expects one identity, and
/// none of its workers.
pub(super) fn pairing_client_config(
    identity: &Identity,
    expected: &Fingerprint,
) -> Result<ClientConfig, Error> {
    let admission = Admission {
        workers: false,
        ..Admission::pinned(&[*expected])
    };
    let mut config = client_config_for(provider(), identity, admission)?;
    config.alpn_protocols = vec![PAIRING.to_vec()];
    Ok(config)
}

pub(super) fn server_config_for(
    provider: CryptoProvider,
    identity: &Identity,
    admission: Admission,
) -> Result<ServerConfig, Error> {
    let pinned = PinnedPeer::new(&provider, admission);
    let resolver = AlwaysResolvesServerRawPublicKeys::new(identity.certified());
    let mut config = ServerConfig::builder_with_details(Arc::new(provider), Arc::new(SystemClock))
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(pinned))
        .with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// The public keys that are accepted.
#[derive(Debug, Default)]
pub(super) struct Admission {
    /// Those with these fingerprints.
    pub(super) pinned: Vec<Fingerprint>,
    /// Whether workers of these parties are accepted, too.
    pub(super) workers: bool,
    /// Any other key whose private half the peer holds: for pairing, and for parties that introduce
    /// themselves by a message.
    pub(super) strangers: bool,
}

impl Admission {
    /// Returns the admission of these parties and of their workers.
    pub(super) fn pinned(parties: &[Fingerprint]) -> Self {
        Self {
            pinned: parties.to_vec(),
            workers: true,
            strangers: false,
        }
    }

    /// Checks that the party, or its worker, is admitted.
    fn check(&self, shown: &ShownIdentity, now: UnixTime) -> Result<(), Error> {
        let is_pinned = self.pinned.contains(&shown.fingerprint);
        let Some(worker) = &shown.worker else {
            return if is_pinned || self.strangers {
                Ok(())
            } else {
                Err(self.unexpected(shown.fingerprint))
            };
        };
        if !is_pinned {
            return Err(self.unexpected(shown.fingerprint));
        }
        if !self.workers {
            return Err(refused(InvalidWorker::Purpose));
        }
        worker.check_time(now.as_secs()).map_err(refused)
    }

    fn unexpected(&self, found: Fingerprint) -> Error {
        refused(UnexpectedIdentity {
            expected: self.pinned.clone(),
            found,
        })
    }
}

/// Returns the error of a peer's certificate that is refused for this reason.
fn refused(reason: impl std::error::Error + Send + Sync + 'static) -> Error {
    CertificateError::Other(OtherError(Arc::new(reason))).into()
}

/// A verifier that accepts raw public keys and the keys of workers according to its admission, and
/// no other certificates.
#[derive(Debug)]
struct PinnedPeer {
    admission: Admission,
    algorithms: WebPkiSupportedAlgorithms,
}

impl PinnedPeer {
    fn new(provider: &CryptoProvider, admission: Admission) -> Self {
        Self {
            admission,
            algorithms: provider.signature_verification_algorithms,
        }
    }

    /// Checks that a public key is admitted. The signature over the handshake proves that the peer
    /// holds its private half.
    fn check(
        &self,
        public_key: &CertificateDer<'_>,
        behind: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let shown = ShownIdentity::of(public_key, behind).map_err(refused)?;
        self.admission.check(&shown, now)
    }

    fn verify(
        &self,
        message: &[u8],
        public_key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(public_key.as_ref());
        rustls::crypto::verify_tls13_signature_with_raw_key(
            message,
            &key,
            signature,
            &self.algorithms,
        )
    }
}

/// The methods that the verifiers of servers and of clients have in common.
macro_rules! checked_signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _cert: &CertificateDer<'_>,
            _dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            // It is never called.
            Err(Error::General("TLS 1.2 is not offered".to_owned()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.verify(message, cert, dss)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for PinnedPeer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity, intermediates, now)?;
        Ok(ServerCertVerified::assertion())
    }

    checked_signatures!();
}

impl ClientCertVerifier for PinnedPeer {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity, intermediates, now)?;
        Ok(ClientCertVerified::assertion())
    }

    checked_signatures!();
}
