//! A run that waits for its turn: what an evaluator takes from a cloud that tells its place.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tacit::net::NetError;
use tacit::outsourced::{ClientStage, OutsourcedJob, OutsourcedParameters, OutsourcedRole};
use tacit::session::Side;
use tacit::{Category, Error, Session, library};
use tacit_net::{Channel, memory};
use tacit_protocol::message::Kind;
use tacit_protocol::session::{Hello, Proposal};

/// Evaluates over these channels, which servers do not answer, and returns the error.
fn refused(
    [to_generator, to_cloud]: [Channel; 2],
    patience: Duration,
    on_stage: impl FnMut(ClientStage) + Send,
) -> Error {
    let over = |channel| Session::over(channel, Side::Connecting, None).expect("a session");
    let (mut generator, mut cloud) = (over(to_generator), over(to_cloud));
    let bits = [("bits".to_owned(), 4)].into();
    let rich = library::function("millionaires", &bits).expect("a function");
    let parameters = OutsourcedParameters::insecure_for_measurements(5, 8);
    let job = OutsourcedJob::new(&rich, parameters.expect("parameters"));
    let job = job.input("b", 3_u32).patience(patience).on_stage(on_stage);
    let ran = job.evaluate(&mut generator, &mut cloud);
    ran.expect_err("nobody runs it")
}

/// Sends a message, unless the evaluator is gone.
fn send(to: &mut Channel, kind: Kind, payload: &[u8]) {
    let _ = to.send(kind.byte(), payload).and_then(|()| to.flush());
}

fn greet(to: &mut Channel) {
    send(to, Kind::Hello, &Hello::of([7; 32]).to_bytes());
}

/// Tells an evaluator these places in the name of the cloud and then leaves, while the generator
/// says nothing. Returns the evaluator's error, and the places that it has told its user.
fn told(payloads: &[&[u8]]) -> (Error, Vec<ClientStage>) {
    let (to_generator, _generator) = memory::pair();
    let (to_cloud, mut cloud) = memory::pair();
    let stages = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&stages);
    let refused = thread::scope(|scope| {
        let evaluator = scope.spawn(move || {
            let tell = move |stage| seen.lock().expect("no panic").push(stage);
            refused([to_generator, to_cloud], Duration::from_secs(60), tell)
        });
        greet(&mut cloud);
        for payload in payloads {
            send(&mut cloud, Kind::QueuePlace, payload);
        }
        // Its greeting, its proposal and its ticket.
        for _ in 0..3 {
            cloud.receive(Kind::MAX_CONTROL_BYTES).expect("a message");
        }
        drop(cloud);
        evaluator.join().expect("no panic")
    });
    let stages = stages.lock().expect("no panic").clone();
    (refused, stages)
}

fn waits(before: u16) -> ClientStage {
    ClientStage::Waits { before }
}

#[test]
fn places_are_told_as_they_come() {
    let (error, stages) = told(&[&[44, 1], &[2, 0]]);
    assert_eq!(error.category(), Category::Network, "{error}");
    assert_eq!(stages, [waits(300), waits(2)]);
}

#[test]
fn a_cloud_cannot_hold_an_evaluator_by_telling_places() {
    for second in [3, 4] {
        let (error, stages) = told(&[&[3, 0], &[second, 0]]);
        assert_eq!(error.category(), Category::Peer, "{error}");
        assert_eq!(stages, [waits(3)]);
    }
    let wrong: [&[u8]; 3] = [&[], &[1], &[1, 0, 0]];
    for payload in wrong {
        let (error, stages) = told(&[payload]);
        assert_eq!(error.category(), Category::Peer, "{error}");
        assert_eq!(stages, []);
    }
}

/// The generator answers at once. The cloud then tells a place, and says nothing more.
#[test]
fn a_cloud_holds_an_evaluator_no_longer_by_a_place_than_by_silence() {
    let patience = Duration::from_secs(2);
    let (to_generator, mut generator) = memory::pair();
    let (to_cloud, mut cloud) = memory::pair();
    let begun = Instant::now();
    let error = thread::scope(|scope| {
        let evaluator = scope.spawn(move || refused([to_generator, to_cloud], patience, |_| {}));
        greet(&mut generator);
        greet(&mut cloud);
        generator
            .receive(Kind::MAX_CONTROL_BYTES)
            .expect("a greeting");
        let asked = generator.receive(Proposal::BYTES).expect("a proposal");
        let asked = Proposal::parse(Kind::Propose, asked.payload).expect("valid");
        let role = asked.role.other();
        let accepted = Proposal { role, ..asked }.to_bytes();
        send(&mut generator, Kind::Accept, &accepted);
        thread::sleep(patience * 3 / 4);
        send(&mut cloud, Kind::QueuePlace, &[1, 0]);
        evaluator.join().expect("no panic")
    });
    assert!(begun.elapsed() < patience * 3 / 2, "{:?}", begun.elapsed());
    assert_eq!(error.party(), Some(OutsourcedRole::Cloud), "{error}");
    let is_late = matches!(error.cause(), Error::Network(NetError::Timeout { .. }));
    assert!(is_late, "{error}");
}
