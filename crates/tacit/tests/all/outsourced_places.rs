//! A run that waits for its turn: what an evaluator takes from a cloud that tells its place.

use std::sync::{Arc, Mutex};
use std::thread;

use tacit::outsourced::{ClientStage, OutsourcedJob, OutsourcedParameters};
use tacit::session::Side;
use tacit::{Category, Error, Session, library};
use tacit_net::memory;
use tacit_protocol::message::Kind;
use tacit_protocol::session::Hello;

/// Tells an evaluator these places in the name of the cloud and then leaves, while the generator
/// says nothing. Returns the evaluator's error, and the places that it has told its user.
fn told(payloads: &[&[u8]]) -> (Error, Vec<ClientStage>) {
    let (to_generator, _generator) = memory::pair();
    let (to_cloud, mut cloud) = memory::pair();
    let stages = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&stages);
    let refused = thread::scope(|scope| {
        let evaluator = scope.spawn(move || {
            let over = |channel| Session::over(channel, Side::Connecting, None);
            let (mut generator, mut cloud) = (over(to_generator)?, over(to_cloud)?);
            let bits = [("bits".to_owned(), 4)].into();
            let rich = library::function("millionaires", &bits)?;
            let parameters = OutsourcedParameters::insecure_for_measurements(5, 8);
            let job = OutsourcedJob::new(&rich, parameters.expect("parameters"));
            let tell = move |stage| seen.lock().expect("no panic").push(stage);
            let job = job.input("b", 3_u32).on_stage(tell);
            job.evaluate(&mut generator, &mut cloud)
        });
        let mut send = |kind: Kind, payload: &[u8]| {
            // An evaluator that has refused the last place is gone.
            let _ = cloud
                .send(kind.byte(), payload)
                .and_then(|()| cloud.flush());
        };
        send(Kind::Hello, &Hello::of([7; 32]).to_bytes());
        for payload in payloads {
            send(Kind::QueuePlace, payload);
        }
        // Its greeting, its proposal and its ticket.
        for _ in 0..3 {
            cloud.receive(Kind::MAX_CONTROL_BYTES).expect("a message");
        }
        drop(cloud);
        evaluator.join().expect("no panic")
    });
    let stages = stages.lock().expect("no panic").clone();
    (refused.expect_err("nobody runs it"), stages)
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
