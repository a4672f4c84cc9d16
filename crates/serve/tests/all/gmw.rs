//! Runs by `gmw`: a function has another form, no scheme, and a bound on memory.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tacit::cost::FromStock;
use tacit::protocols::Protocol;
use tacit::session::{AbortReason, BaseOt, OtExtension, ProtocolId};
use tacit::stock::CrossPreparation;
use tacit::{Error, Function, FunctionBuilder, Job, ProtocolError, Recipient, Role, Session};
use tacit_serve::{Level, Limits, Material, Offer, Offers, Policy};

use crate::replenish::{Other, until};
use crate::scene::{Scene, millionaires, refused_with};

/// Offers `millionaires`, where 16 bits stand for the form for `gmw`.
fn both_forms(scene: &Scene) -> Offer {
    Offer {
        protocols: vec![ProtocolId::Direct, ProtocolId::Gmw],
        shallow: vec![millionaires(16)],
        ..scene.offer(vec![millionaires(8)])
    }
}

fn by_gmw(session: &mut Session, function: &Function, b: u32) -> Result<bool, Error> {
    let job = Job::new(function, Role::Evaluator).gmw().input("b", b);
    Ok(job.run(session)?.outputs["a_is_richer"].to_text() == "1")
}

#[track_caller]
fn is_refused<T: std::fmt::Debug>(result: Result<T, Error>) {
    match result {
        Err(Error::Protocol(
            ProtocolError::PeerAborted(AbortReason::NotAllowed)
            | ProtocolError::PeerIncompatible(_),
        )) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_peer_runs_each_form_by_its_protocols_and_by_no_other() {
    let scene = Scene::new(1);
    // The peer works on one thread.
    let limits = Limits {
        threads: NonZeroUsize::new(16).expect("not zero"),
        ..Scene::limits()
    };
    let policy = scene.policy(vec![both_forms(&scene)], vec![], limits);
    let service = scene.start(policy);
    let (small, shallow) = (millionaires(8), millionaires(16));
    let mut session = scene.session(&service, 0).expect("a session");
    for _ in 0..2 {
        assert!(by_gmw(&mut session, &shallow, 40).expect("a run"));
        assert!(!by_gmw(&mut session, &shallow, 42).expect("a run"));
        assert!(scene.richer(&mut session, &small, 40).expect("a run"));
    }
    drop(session);
    let mut session = scene.session(&service, 0).expect("a session");
    is_refused(by_gmw(&mut session, &small, 40));
    let mut session = scene.session(&service, 0).expect("a session");
    is_refused(scene.richer(&mut session, &shallow, 40));
    let metrics = service.metrics();
    assert!(metrics.contains("protocol=\"gmw\""), "{metrics}");
}

#[test]
fn what_is_the_same_in_both_forms_is_offered_once() {
    let scene = Scene::new(1);
    let offer = Offer {
        shallow: vec![millionaires(8)],
        ..both_forms(&scene)
    };
    let service = scene.start(scene.policy(vec![offer], vec![], Scene::limits()));
    let mut session = scene.session(&service, 0).expect("a session");
    let function = millionaires(8);
    assert!(by_gmw(&mut session, &function, 40).expect("a run"));
    assert!(scene.richer(&mut session, &function, 40).expect("a run"));
    let offers = Offers::ask(&mut session).expect("an answer");
    let [offered] = &offers.functions[..] else {
        panic!("{offers:?}");
    };
    assert_eq!(offered.protocols, ["direct", "gmw"]);
    assert_eq!(offered.choices[0].gmw_digest, None);
}

/// Without a scheme the two offers cannot be told apart.
#[test]
fn two_offers_of_gmw_for_a_function_are_refused_whatever_their_schemes() {
    let scene = Scene::new(1);
    let offer = |name: &str, scheme: &str| Offer {
        name: name.to_owned(),
        scheme: Some(scheme.parse().expect("a scheme")),
        shallow: Vec::new(),
        ..both_forms(&scene)
    };
    let offers = vec![offer("one", "prf"), offer("other", "half-gates/two-call")];
    let policy = Policy::new(scene.peer_list(), offers, vec![], Scene::limits(), None);
    let error = policy.err().expect("they cannot be told apart");
    assert!(error.to_string().contains("the same function"), "{error}");
}

/// Rows, masks and sources of OTs count, and silent OTs are kept for both directions.
#[test]
fn memory_of_gmw_is_bounded() {
    let scene = Scene::new(1);
    let policy = |memory_mib, extension| {
        let limits = Limits {
            memory_mib,
            ..Scene::limits()
        };
        let offers = vec![both_forms(&scene)];
        let policy = Policy::new(scene.peer_list(), offers, vec![], limits, None);
        policy.and_then(|policy| policy.ot_extension(extension))
    };
    let told = |refused: Result<Policy, tacit_serve::policy::Error>| {
        refused.err().expect("too little").to_string()
    };
    let little = told(policy(32, None));
    assert!(little.contains("millionaires by gmw"), "{little}");
    assert!(policy(33, None).is_ok());
    let silent = told(policy(100, Some(OtExtension::Silent)));
    assert!(silent.contains("millionaires by gmw"), "{silent}");
    assert!(policy(200, Some(OtExtension::Silent)).is_ok());
}

#[test]
fn crosses_are_kept_in_stock_and_taken() {
    let scene = Scene::new(2);
    let function = millionaires(16);
    let level = |peer, role| Level {
        peer,
        role,
        material: Material::Crosses(millionaires(16)),
        refill_below: 3,
        ..scene.level(0, 3)
    };
    let theirs = vec![level(scene.alice.fingerprint(), Role::Evaluator)];
    let other = Other::start(&scene, 1 << 30, theirs);
    let mut peers = scene.peer_list();
    peers[0].address = Some(other.address.clone());
    let ours = [0, 1].map(|peer| level(scene.fingerprint(peer), Role::Garbler));
    let offers = vec![both_forms(&scene)];
    let policy = Policy::new(peers, offers, ours.to_vec(), Scene::limits(), None);
    let service = scene.start(policy.expect("a policy"));
    let stocks = scene.stocks("peer0", 1 << 30);
    let left = || {
        let ots = (BaseOt::default(), OtExtension::default());
        let left = stocks.gmw_runs_left(&scene.stock_name(0), &function, ots);
        left.expect("a stock")
    };
    until("crosses are made", || left() == 3);
    let mut session = scene.session(&service, 0).expect("a session");
    let job = Job::new(&function, Role::Evaluator).by(Protocol::Gmw, Some(&stocks));
    let outcome = job.and_then(|job| job.input("b", 40_u32).run(&mut session));
    let outcome = outcome.expect("a run");
    assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1");
    assert_eq!(outcome.cost.from_stock, Some(FromStock::Crosses));
    session.close().expect("the end");
    until("crosses are made again", || left() == 3);
    // A peer without an address orders up to the level.
    let own = scene.stocks("peer1", 1 << 30);
    let order = |runs| {
        let order = CrossPreparation::for_runs(Role::Evaluator, &function, runs)?;
        order.run(&mut scene.session(&service, 1)?, &own)
    };
    refused_with(order(4), AbortReason::OrderNotAllowed);
    assert!(order(2).expect("crosses").made() > 0);
    let _ = other.service.stop(Duration::from_secs(60));
    let _ = service.stop(Duration::from_secs(60));
}

/// Otherwise it would be full for ever, and each order for it would be refused late.
#[test]
fn a_level_of_crosses_for_a_function_that_takes_none_is_refused_at_the_start() {
    let scene = Scene::new(1);
    let mut builder = FunctionBuilder::new("second");
    builder
        .input("a", "u8", Role::Garbler)
        .input("b", "u8", Role::Evaluator)
        .output("c", "u8", Recipient::Both, "b");
    let level = Level {
        material: Material::Crosses(Arc::new(builder.finish().expect("a function"))),
        ..scene.level(0, 3)
    };
    let policy = Policy::new(
        scene.peer_list(),
        vec![],
        vec![level],
        Scene::limits(),
        None,
    );
    let refused = policy.err().expect("no crosses").to_string();
    assert!(refused.contains("second"), "{refused}");
    assert!(refused.contains("takes none"), "{refused}");
}
