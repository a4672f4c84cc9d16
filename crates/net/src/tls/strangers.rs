//! Tests of peers that prove the right identity but do not speak Tacit, or prove no identity.

use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rustls::client::ResolvesClientCert;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::sign::CertifiedKey;
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, Connection, NamedGroup, ServerConfig,
    ServerConnection, SignatureScheme,
};

use super::hybrid::X25519MlKem768;
use super::pinned;
use crate::{Identity, NetError, Settings, tls};

type Groups = Vec<&'static dyn SupportedKxGroup>;

fn with_groups(kx_groups: Groups) -> CryptoProvider {
    CryptoProvider {
        kx_groups,
        ..pinned::provider()
    }
}

/// Connects a client with these key exchanges, modified by `change`, to a party of Tacit, and
/// returns the reason why that party refuses it.
fn refused_client(groups: Groups, change: impl FnOnce(&mut ClientConfig)) -> String {
    let (client, server) = (identity(), identity());
    let listener = tls::Listener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_address();
    let expected = [server.fingerprint()];
    let mut config = pinned::client_config_with(with_groups(groups), &client, &expected).unwrap();
    change(&mut config);
    thread::scope(|scope| {
        let stranger = scope.spawn(move || {
            let name = "peer.invalid".try_into().unwrap();
            let connection = ClientConnection::new(Arc::new(config), name).unwrap();
            read_a_byte(connection.into(), TcpStream::connect(address).unwrap())
        });
        let allowed = [client.fingerprint()];
        let result = listener.accept(&server, &allowed, &Settings::default());
        // A stranger that was let in reads until the channel is closed.
        let result = result.map(drop);
        assert!(stranger.join().unwrap().is_err());
        reason(result.unwrap_err())
    })
}

/// Connects a party of Tacit to a server with these key exchanges, modified by `change`, and
/// returns the reason why that party refuses it.
fn refused_server(groups: Groups, change: impl FnOnce(&mut ServerConfig)) -> String {
    let (client, server) = (identity(), identity());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let allowed = [client.fingerprint()];
    let mut config = pinned::server_config_with(with_groups(groups), &server, &allowed).unwrap();
    change(&mut config);
    thread::scope(|scope| {
        let stranger = scope.spawn(move || {
            let connection = ServerConnection::new(Arc::new(config)).unwrap();
            read_a_byte(connection.into(), listener.accept().unwrap().0)
        });
        let settings = Settings::default();
        let result = tls::connect(&address, &client, &server.fingerprint(), &settings);
        let result = result.map(drop);
        assert!(stranger.join().unwrap().is_err());
        reason(result.unwrap_err())
    })
}

fn read_a_byte(mut connection: Connection, mut socket: TcpStream) -> io::Result<()> {
    loop {
        connection.complete_io(&mut socket)?;
        match connection.reader().read_exact(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => return other,
        }
    }
}

fn identity() -> Identity {
    Identity::generate().unwrap()
}

fn reason(error: NetError) -> String {
    match error {
        NetError::Tls { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_peer_without_the_post_quantum_key_exchange_is_refused() {
    let classical: [Groups; 2] = [
        vec![ring::kx_group::X25519],
        vec![
            ring::kx_group::SECP256R1,
            ring::kx_group::SECP384R1,
            ring::kx_group::X25519,
        ],
    ];
    for groups in classical {
        let reason = refused_client(groups.clone(), |_| ());
        assert!(reason.contains("NoKxGroupsInCommon"), "{reason}");
        let reason = refused_server(groups, |_| ());
        assert!(reason.contains("HandshakeFailure"), "{reason}");
    }
}

#[test]
fn a_peer_that_prefers_another_key_exchange_gets_the_post_quantum_one() {
    // Its first share is X25519's: the server asks for another, and both use that.
    let groups: Groups = vec![ring::kx_group::X25519, &X25519MlKem768];
    let (client, server) = (identity(), identity());
    let expected = [server.fingerprint()];
    let client_config =
        pinned::client_config_with(with_groups(groups), &client, &expected).unwrap();
    let server_config = pinned::server_config(&server, &[client.fingerprint()]).unwrap();
    for connection in shaken(client_config, server_config) {
        let group = connection.negotiated_key_exchange_group().unwrap();
        assert_eq!(group.name(), NamedGroup::X25519MLKEM768);
    }
}

/// Returns both ends of a connection whose handshake is over.
fn shaken(client: ClientConfig, server: ServerConfig) -> [Connection; 2] {
    let name = "peer.invalid".try_into().unwrap();
    let mut here = ClientConnection::new(Arc::new(client), name).unwrap();
    let mut there = ServerConnection::new(Arc::new(server)).unwrap();
    for _ in 0..10 {
        let mut bytes = Vec::new();
        here.write_tls(&mut bytes).unwrap();
        there.read_tls(&mut &bytes[..]).unwrap();
        there.process_new_packets().unwrap();
        bytes.clear();
        there.write_tls(&mut bytes).unwrap();
        here.read_tls(&mut &bytes[..]).unwrap();
        here.process_new_packets().unwrap();
    }
    let ends = [Connection::from(here), there.into()];
    assert!(ends.iter().all(|end| !end.is_handshaking()));
    ends
}

#[test]
fn the_client_chooses_between_both_ciphers() {
    let suites = pinned::provider().cipher_suites;
    let names: Vec<_> = suites.iter().map(|suite| suite.suite()).collect();
    assert_eq!(
        names,
        [
            CipherSuite::TLS13_AES_128_GCM_SHA256,
            CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        ]
    );
    // The second comes first in a page.
    for order in [[0, 1], [1, 0]] {
        let (client, server) = (identity(), identity());
        let provider = CryptoProvider {
            cipher_suites: order.map(|place| suites[place]).to_vec(),
            ..pinned::provider()
        };
        let expected = [server.fingerprint()];
        let client_config = pinned::client_config_with(provider, &client, &expected).unwrap();
        let server_config = pinned::server_config(&server, &[client.fingerprint()]).unwrap();
        for connection in shaken(client_config, server_config) {
            let suite = connection.negotiated_cipher_suite().unwrap();
            assert_eq!(suite.suite(), names[order[0]]);
        }
    }
}

#[test]
fn a_peer_with_another_cipher_alone_is_refused() {
    let strong = || CryptoProvider {
        cipher_suites: vec![ring::cipher_suite::TLS13_AES_256_GCM_SHA384],
        ..pinned::provider()
    };
    let (client, server) = (identity(), identity());
    let expected = [server.fingerprint()];
    let client_config = pinned::client_config_with(strong(), &client, &expected).unwrap();
    let server_config = pinned::server_config(&server, &[client.fingerprint()]).unwrap();
    let name = "peer.invalid".try_into().unwrap();
    let mut here = ClientConnection::new(Arc::new(client_config), name).unwrap();
    let mut there = ServerConnection::new(Arc::new(server_config)).unwrap();
    let mut bytes = Vec::new();
    here.write_tls(&mut bytes).unwrap();
    there.read_tls(&mut &bytes[..]).unwrap();
    assert!(there.process_new_packets().is_err());
}

#[test]
fn another_application_protocol_is_refused() {
    let reason = refused_client(vec![&X25519MlKem768], |config| {
        config.alpn_protocols = vec![b"h2".to_vec(), b"tacit/2".to_vec()];
    });
    assert!(reason.contains("known protocol"), "{reason}");
}

#[test]
fn a_peer_that_names_no_application_protocol_is_refused() {
    let hybrid: Groups = vec![&X25519MlKem768];
    let client = refused_client(hybrid.clone(), |config| config.alpn_protocols.clear());
    let server = refused_server(hybrid, |config| config.alpn_protocols.clear());
    for reason in [client, server] {
        assert!(reason.contains("did not agree to speak"), "{reason}");
    }
}

#[test]
fn a_client_without_an_identity_is_refused() {
    #[derive(Debug)]
    struct Nobody;
    impl ResolvesClientCert for Nobody {
        fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
            None
        }
        fn only_raw_public_keys(&self) -> bool {
            true
        }
        fn has_certs(&self) -> bool {
            true
        }
    }
    let reason = refused_client(vec![&X25519MlKem768], |config| {
        config.client_auth_cert_resolver = Arc::new(Nobody);
    });
    assert!(reason.contains("certificate"), "{reason}");
}
