//! The limits on the other server, and on the clients of a chain.

use super::*;

/// A thief of the cloud's key can begin sessions for which no client comes, and each costs the
/// generator a handshake.
#[test]
fn the_other_server_begins_no_more_sessions_than_clients_may() {
    const TIMES: usize = 6;
    let limits = Limits {
        arrivals: Rate {
            times: TIMES as u32,
            per: Duration::from_secs(36_000),
        },
        ..Limits::default()
    };
    let three = Three::new(1, limits);
    // Sessions for which a client comes count for the client.
    for _ in 0..3 {
        let richer = three.runs(0, &millionaires(4), ("b", 4), "a_is_richer");
        assert_eq!(richer, "1");
    }
    three.running(GENERATOR, 0);
    let (at, peer) = (three.address(GENERATOR), &three.servers[GENERATOR]);
    let session = || {
        let (own, peer) = (&three.servers[CLOUD], peer.fingerprint());
        let mut session = Session::connect(&at, own, &peer, &Three::settings())?;
        session.greeted()
    };
    (0..TIMES).for_each(|_| session().expect("a session"));
    let refused = session().err();
    assert!(
        matches!(
            refused,
            Some(Error::Protocol(ProtocolError::PeerAborted(
                AbortReason::Busy
            )))
        ),
        "{refused:?}"
    );
    let client = three.session(0, GENERATOR);
    let greeted = client.and_then(|mut session| session.greeted());
    greeted.expect("a session of a client");
}

/// Every run of a chain opens it to all its clients, so no run of a chain with too many clients
/// could ever succeed.
#[test]
fn a_chain_of_more_clients_than_it_can_be_opened_to_is_refused_at_the_start() {
    let mut clients: Vec<_> = (0..128).map(|_| identity()).collect();
    let other = (identity().fingerprint(), Some("127.0.0.1:7000".to_owned()));
    for server in [GENERATOR, CLOUD] {
        let made = policy(server, other.clone(), &clients, Limits::default());
        assert!(made.is_ok(), "{:?}", made.err());
    }
    clients.push(identity());
    for server in [GENERATOR, CLOUD] {
        let made = policy(server, other.clone(), &clients, Limits::default());
        let error = made.err().expect("too many clients").to_string();
        let text = "chain \"friends\" is for 129 clients, where at most 128 are possible";
        assert!(error.contains(text), "{error}");
    }
}
