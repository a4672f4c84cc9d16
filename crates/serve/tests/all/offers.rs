//! The offers that a service tells a peer.

use std::collections::BTreeMap;

use tacit::session::AbortReason;
use tacit_serve::{Offers, Rate};

use crate::scene::{Scene, aes, millionaires, refused_with};

fn names(offers: &Offers) -> Vec<&str> {
    let functions = offers.functions.iter();
    functions.map(|offered| offered.name.as_str()).collect()
}

/// The answer contains nothing about other peers' functions and stocks, nor about folders of the
/// service.
#[test]
fn a_peer_is_told_what_it_may_ask_for_and_nothing_else() {
    let scene = Scene::new(2);
    let mut both = scene.offer(vec![millionaires(8), millionaires(16)]);
    both.name = "/home/alice/secret/richer.tacit main".to_owned();
    both.rate = Some(Rate::per_minute(100));
    let mut only_first = scene.offer(vec![aes()]);
    only_first.peers = [scene.fingerprint(0)].into();
    let policy = scene.policy(
        vec![both, only_first],
        vec![scene.level(0, 3)],
        Scene::limits(),
    );
    let service = scene.start(policy);

    let mut session = scene.session(&service, 0).unwrap();
    let offers = Offers::ask(&mut session).unwrap();
    assert_eq!(names(&offers), ["richer.tacit main", "aes-128-rounds"]);
    let richer = &offers.functions[0];
    assert_eq!(richer.role, "evaluator");
    assert_eq!(richer.protocols, ["direct", "prepared"]);
    assert_eq!(richer.rate.as_deref(), Some("100/60s"));
    let choices = richer.choices.iter().zip([8, 16]);
    for (choice, bits) in choices {
        assert_eq!(choice.params, BTreeMap::from([("bits".to_owned(), bits)]));
        let digest = millionaires(bits).digest().to_string();
        assert_eq!(choice.digest, digest);
    }
    let order = &offers.stock[0];
    assert_eq!(order.function.as_deref(), Some("aes-128-rounds"));
    assert_eq!((order.most, order.role.as_str()), (3, "evaluator"));
    // The question is no run: the session's first run is still to come.
    assert!(scene.richer(&mut session, &millionaires(8), 40).unwrap());
    assert_eq!(Offers::ask(&mut session).unwrap(), offers);
    assert!(scene.richer(&mut session, &millionaires(8), 40).unwrap());

    let mut session = scene.session(&service, 1).unwrap();
    let offers = Offers::ask(&mut session).unwrap();
    assert_eq!(names(&offers), ["richer.tacit main"]);
    assert!(offers.stock.is_empty());
    let text = serde_json::to_string(&offers).unwrap();
    for hidden in ["aes", "secret", &scene.fingerprint(0).to_string()] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}

/// The answer has up to 4096 functions, so questions without a pause would be a load.
#[test]
fn a_peer_that_asks_too_often_is_refused() {
    let scene = Scene::new(1);
    let offers = vec![scene.offer(vec![millionaires(8)])];
    let service = scene.start(scene.policy(offers, Vec::new(), Scene::limits()));
    let mut session = scene.session(&service, 0).unwrap();
    let refused = (0..30).find_map(|_| Offers::ask(&mut session).err());
    let error = refused.expect("a refusal");
    refused_with::<()>(Err(error), AbortReason::TooOften);
    scene.refused("rate", "too often");
}
