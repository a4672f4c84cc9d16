//! A client of `outsourced` whose servers never meet.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use tacit::net::NetError;
use tacit::outsourced::{OutsourcedJob, OutsourcedParameters, OutsourcedRole};
use tacit::session::AbortReason;
use tacit::{Error, Identity, Listener, ProtocolError, Session, Settings, library};

/// A generator waits for its cloud up to the time limit for a connection, and so does its client,
/// whatever the cloud has told the client meanwhile.
#[test]
fn a_client_does_not_wait_for_a_generator_whose_cloud_is_gone() {
    let [client, generator, cloud] = [(); 3].map(|()| Identity::generate().expect("randomness"));
    let parameters = BTreeMap::from([("bits".to_owned(), 8)]);
    let function = library::function("millionaires", &parameters).expect("a function");
    let (own, settings) = (&client.fingerprint(), &Settings::default());
    for stops in [false, true] {
        let [at_generator, at_cloud] =
            [(); 2].map(|()| Listener::bind("127.0.0.1:0").expect("a free port"));
        let connect = |listener: &Listener, peer: &Identity| {
            let address = listener.local_address().to_string();
            Session::connect(&address, &client, &peer.fingerprint(), settings)
        };
        let error = thread::scope(|scope| {
            let (ended, end) = channel::<()>();
            let (at_generator, generator) = (&at_generator, &generator);
            scope.spawn(move || {
                let _session = at_generator.accept(generator, own, settings);
                let _ = end.recv();
            });
            scope.spawn(|| {
                let mut session = at_cloud.accept(&cloud, own, settings).expect("the client");
                let asked = session.next_request(Duration::from_secs(60));
                asked.expect("a request");
                if stops {
                    session.refuse(AbortReason::Busy, Duration::from_secs(60));
                }
            });
            let mut to_generator = connect(at_generator, generator).expect("a listener");
            let mut to_cloud = connect(&at_cloud, &cloud).expect("a listener");
            let job = OutsourcedJob::new(&function, OutsourcedParameters::SEMI_HONEST);
            let job = job.patience(Duration::from_secs(10)).input("b", 7_u32);
            let ran = job.evaluate(&mut to_generator, &mut to_cloud);
            drop(ended);
            ran.expect_err("no cloud")
        });
        assert_eq!(error.party(), Some(OutsourcedRole::Cloud), "{error}");
        let is_due = match error.cause() {
            Error::Protocol(ProtocolError::PeerAborted(AbortReason::Busy)) => stops,
            Error::Network(NetError::Closed { .. }) => !stops,
            _ => false,
        };
        assert!(is_due, "{error}");
    }
}
