//! Tests of workers, which prove the identity of the party that signed their keys, and of forged
//! ones.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, Error, ServerConfig,
    ServerConnection,
};

use super::pinned::{self, Admission, UnexpectedIdentity};
use crate::identity::worker::{Certificate, InvalidWorker, ShownIdentity, WorkerTerms};
use crate::{Fingerprint, Identity};

/// The time at which the keys of these tests begin, in seconds since 1970.
const NOW_S: u64 = 1_000_000;
const HOUR: Duration = Duration::from_secs(3600);

#[derive(Debug)]
struct ClockAt(u64);

impl TimeProvider for ClockAt {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0)))
    }
}

#[derive(Debug, PartialEq)]
enum Refused {
    Worker(InvalidWorker),
    Unexpected(Fingerprint),
    Otherwise(String),
}

fn identity() -> Identity {
    Identity::generate().unwrap()
}

fn terms() -> WorkerTerms {
    WorkerTerms::new("pod-3", NOW_S, HOUR).unwrap()
}

fn public_key(identity: &Identity) -> Vec<u8> {
    identity.certified().cert[0].to_vec()
}

/// Signs as the owner of `identity` does.
fn sign(identity: &Identity, message: &[u8]) -> Vec<u8> {
    let scheme = [rustls::SignatureScheme::ED25519];
    let signer = identity.certified().key.choose_scheme(&scheme).unwrap();
    signer.sign(message).unwrap()
}

/// Returns the key of `identity` with these certificates behind it.
fn showing(identity: &Identity, behind: &[&[u8]]) -> Arc<CertifiedKey> {
    let certified = identity.certified();
    let own = [certified.cert[0].clone()];
    let behind = behind.iter().map(|one| CertificateDer::from(one.to_vec()));
    let shown = own.into_iter().chain(behind).collect();
    Arc::new(CertifiedKey::new(shown, Arc::clone(&certified.key)))
}

/// Returns a certificate of `worker` by `party`, which `change` has changed before it is signed
/// with the key of `signer`.
fn forged(
    (party, worker, signer): (&Identity, &Identity, &Identity),
    terms: &WorkerTerms,
    change: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let keys = (&public_key(party)[..], &public_key(worker)[..]);
    let made = Certificate::signed::<()>(keys, terms, |_| Ok(Vec::new())).unwrap();
    let mut bytes = made.bytes().to_vec();
    change(&mut bytes);
    let signature = sign(signer, &bytes);
    [bytes, signature].concat()
}

/// Does the handshake of a client with this key and a server that admits `admission`, or the other
/// way round. Returns what the party that checks has found.
fn checked(
    key: &Arc<CertifiedKey>,
    admission: impl Fn() -> Admission,
    (now_s, checks_server): (u64, bool),
) -> Result<ShownIdentity, Refused> {
    let (here, there) = (identity(), identity());
    let anyone = || Admission {
        strangers: true,
        ..Admission::default()
    };
    let (of_client, of_server) = if checks_server {
        (admission(), anyone())
    } else {
        (anyone(), admission())
    };
    let mut client = pinned::client_config_for(pinned::provider(), &here, of_client).unwrap();
    let mut server = pinned::server_config_for(pinned::provider(), &there, of_server).unwrap();
    client.time_provider = Arc::new(ClockAt(now_s));
    server.time_provider = Arc::new(ClockAt(now_s));
    if checks_server {
        server.cert_resolver = Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::clone(key)));
    } else {
        let resolver = AlwaysResolvesClientRawPublicKeys::new(Arc::clone(key));
        client.client_auth_cert_resolver = Arc::new(resolver);
    }
    let checker = usize::from(!checks_server);
    let ends = shaken(client, server).map_err(|(at, error)| {
        assert_eq!(at, checker, "{error}");
        reason(&error)
    })?;
    let [public_key, behind @ ..] = ends[checker].peer_certificates().unwrap() else {
        panic!("a key")
    };
    Ok(ShownIdentity::of(public_key, behind).unwrap())
}

/// Returns both ends of a connection after the handshake, or which of them refused the other.
fn shaken(client: ClientConfig, server: ServerConfig) -> Result<[Connection; 2], (usize, Error)> {
    let name = "peer.invalid".try_into().unwrap();
    let mut ends = [
        Connection::from(ClientConnection::new(Arc::new(client), name).unwrap()),
        ServerConnection::new(Arc::new(server)).unwrap().into(),
    ];
    for _ in 0..6 {
        for from in [0, 1] {
            let mut bytes = Vec::new();
            while ends[from].wants_write() {
                ends[from].write_tls(&mut bytes).unwrap();
            }
            let to = &mut ends[1 - from];
            let mut unread = &bytes[..];
            while !unread.is_empty() {
                to.read_tls(&mut unread).unwrap();
                to.process_new_packets()
                    .map_err(|error| (1 - from, error))?;
            }
        }
    }
    Ok(ends)
}

fn reason(error: &Error) -> Refused {
    if let Error::InvalidCertificate(CertificateError::Other(other)) = error {
        if let Some(worker) = other.0.downcast_ref::<InvalidWorker>() {
            return Refused::Worker(*worker);
        }
        if let Some(unexpected) = other.0.downcast_ref::<UnexpectedIdentity>() {
            return Refused::Unexpected(unexpected.found);
        }
    }
    Refused::Otherwise(error.to_string())
}

/// Lets both a server and a client that know `party` check this key.
fn refused_at(party: &Identity, key: &Arc<CertifiedKey>, now_s: u64) -> Refused {
    let pinned = || Admission::pinned(&[party.fingerprint()]);
    let [one, other] = [false, true].map(|server| checked(key, pinned, (now_s, server)));
    let (one, other) = (one.map(drop).unwrap_err(), other.map(drop).unwrap_err());
    assert_eq!(one, other);
    one
}

fn refused(party: &Identity, key: &Arc<CertifiedKey>) -> Refused {
    refused_at(party, key, NOW_S)
}

#[test]
fn a_worker_is_its_party_on_either_side() {
    let party = identity();
    let worker = party.for_worker(&terms()).unwrap();
    assert_eq!(worker.fingerprint(), party.fingerprint());
    for server in [false, true] {
        let pinned = || Admission::pinned(&[identity().fingerprint(), party.fingerprint()]);
        let shown = checked(&worker.certified(), pinned, (NOW_S, server)).unwrap();
        assert_eq!(shown.fingerprint, party.fingerprint());
        assert_eq!(shown.worker, Some(terms()));
        let shown = checked(&party.certified(), pinned, (NOW_S, server)).unwrap();
        assert_eq!(
            (shown.fingerprint, shown.worker),
            (party.fingerprint(), None)
        );
    }
}

#[test]
fn a_worker_is_refused_before_its_time() {
    let party = identity();
    let key = party.for_worker(&terms()).unwrap().certified();
    let pinned = || Admission::pinned(&[party.fingerprint()]);
    assert!(checked(&key, pinned, (NOW_S - 300, true)).is_ok());
    let found = refused_at(&party, &key, NOW_S - 301);
    assert_eq!(found, Refused::Worker(InvalidWorker::Early));
}

#[test]
fn a_worker_is_refused_after_its_time() {
    let party = identity();
    let key = party.for_worker(&terms()).unwrap().certified();
    let pinned = || Admission::pinned(&[party.fingerprint()]);
    let last_s = terms().until_s();
    assert!(checked(&key, pinned, (last_s, true)).is_ok());
    let found = refused_at(&party, &key, last_s + 1);
    assert_eq!(found, Refused::Worker(InvalidWorker::Late));
}

#[test]
fn a_certificate_that_another_key_signed_is_refused() {
    let (party, other, worker) = (identity(), identity(), identity());
    let certificate = forged((&party, &worker, &other), &terms(), |_| ());
    let key = showing(&worker, &[&certificate]);
    assert_eq!(
        refused(&party, &key),
        Refused::Worker(InvalidWorker::Signature)
    );
}

#[test]
fn a_worker_whose_key_the_party_did_not_sign_is_refused() {
    let (party, other) = (identity(), identity());
    let key = other.for_worker(&terms()).unwrap().certified();
    let found = refused(&party, &key);
    assert_eq!(found, Refused::Unexpected(other.fingerprint()));
}

#[test]
fn a_certificate_serves_no_other_key() {
    let (party, worker, thief) = (identity(), identity(), identity());
    let certificate = forged((&party, &worker, &party), &terms(), |_| ());
    assert!(
        refused_at(&party, &showing(&thief, &[&certificate]), NOW_S)
            == Refused::Worker(InvalidWorker::OtherKey)
    );
}

#[test]
fn a_longer_chain_is_refused() {
    let (party, worker) = (identity(), identity());
    let certificate = forged((&party, &worker, &party), &terms(), |_| ());
    let key = showing(&worker, &[&certificate, &certificate]);
    assert_eq!(refused(&party, &key), Refused::Worker(InvalidWorker::Chain));
}

#[test]
fn a_worker_signs_no_worker() {
    let (party, second) = (identity(), identity());
    let first = party.for_worker(&terms()).unwrap();
    assert!(first.for_worker(&terms()).is_err());
    // With the first worker's key in the party's place.
    let certificate = forged((&first, &second, &first), &terms(), |_| ());
    let own = Fingerprint::of_public_key(&public_key(&first));
    let key = showing(&second, &[&certificate]);
    assert_eq!(refused(&party, &key), Refused::Unexpected(own));
    // With the party's, and with the first worker's certificate behind it.
    let certificate = forged((&party, &second, &first), &terms(), |_| ());
    let key = showing(&second, &[&certificate]);
    assert_eq!(
        refused(&party, &key),
        Refused::Worker(InvalidWorker::Signature)
    );
    let of_first = first.certified().cert[1].to_vec();
    let key = showing(&second, &[&certificate, &of_first]);
    assert_eq!(refused(&party, &key), Refused::Worker(InvalidWorker::Chain));
}

/// Returns why a certificate that `change` has changed, and the party signed, is refused.
fn refused_when(change: impl FnOnce(&mut Vec<u8>)) -> Refused {
    let (party, worker) = (identity(), identity());
    let certificate = forged((&party, &worker, &party), &terms(), change);
    refused(&party, &showing(&worker, &[&certificate]))
}

#[test]
fn a_certificate_for_another_purpose_is_refused() {
    let found = refused_when(|bytes| bytes[80] = 2);
    assert_eq!(found, Refused::Worker(InvalidWorker::Purpose));
}

#[test]
fn a_certificate_for_too_long_a_time_is_refused() {
    let found = refused_when(|bytes| {
        let until_s = NOW_S + WorkerTerms::LONGEST.as_secs() + 1;
        bytes[89..97].copy_from_slice(&until_s.to_le_bytes());
    });
    assert_eq!(found, Refused::Worker(InvalidWorker::Long));
    assert!(WorkerTerms::new("pod-3", NOW_S, WorkerTerms::LONGEST).is_ok());
    let longer = WorkerTerms::LONGEST + Duration::from_secs(1);
    let made = WorkerTerms::new("pod-3", NOW_S, longer);
    assert_eq!(made, Err(InvalidWorker::Long));
}

#[test]
fn a_malformed_certificate_is_refused() {
    let name = refused_when(|bytes| bytes[98] = b'\n');
    assert_eq!(name, Refused::Worker(InvalidWorker::Name));
    for cut in [0, 1, 80, 97, 100] {
        let malformed = refused_when(|bytes| bytes.truncate(cut));
        assert_eq!(
            malformed,
            Refused::Worker(InvalidWorker::Malformed),
            "{cut}"
        );
    }
    let behind = refused_when(|bytes| bytes.push(0));
    assert_eq!(behind, Refused::Worker(InvalidWorker::Malformed));
    for name in ["", "a b", "é", &"a".repeat(65)] {
        assert_eq!(
            WorkerTerms::new(name, NOW_S, HOUR),
            Err(InvalidWorker::Name)
        );
    }
}

#[test]
fn a_worker_does_not_pair() {
    let party = identity();
    let worker = party.for_worker(&terms()).unwrap();
    let other = identity();
    let pair = |connecting: &Identity, listening: &Identity| {
        let client = pinned::pairing_client_config(connecting, &listening.fingerprint());
        let (mut client, server) = (client.unwrap(), pinned::pairing_server_config(listening));
        let mut server = server.unwrap();
        client.time_provider = Arc::new(ClockAt(NOW_S));
        server.time_provider = Arc::new(ClockAt(NOW_S));
        let ends = shaken(client, server);
        ends.map(drop).map_err(|(at, error)| (at, reason(&error)))
    };
    assert_eq!(pair(&other, &party), Ok(()));
    let refused = Refused::Worker(InvalidWorker::Purpose);
    assert_eq!(pair(&other, &worker), Err((0, refused)));
    let refused = Refused::Unexpected(party.fingerprint());
    assert_eq!(pair(&worker, &other), Err((1, refused)));
}

#[test]
fn a_worker_does_not_come_as_a_stranger() {
    let party = identity();
    let key = party.for_worker(&terms()).unwrap().certified();
    let strangers = || Admission {
        strangers: true,
        ..Admission::default()
    };
    let found = checked(&key, strangers, (NOW_S, false)).map(drop);
    assert_eq!(found, Err(Refused::Unexpected(party.fingerprint())));
    let both = || Admission {
        strangers: true,
        ..Admission::pinned(&[party.fingerprint()])
    };
    assert!(checked(&key, both, (NOW_S, false)).is_ok());
}
