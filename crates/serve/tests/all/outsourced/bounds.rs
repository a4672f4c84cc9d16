//! What bounds the clients of a chain.

use super::*;

/// Every run of a chain opens it to all its clients, so that none of a chain with too many of them
/// could ever run.
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
