//! Visitors that a site's login lets in by a token, and those that it does not.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64ct::{Base64UrlUnpadded, Encoding};
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::json;
use tacit::matching::{Match, MatchOutcome, MatchRecipient};
use tacit::net::{Introduction, NetError};
use tacit::session::{AbortReason, ProtocolId};
use tacit::{Error, Fingerprint, Identity, Session, Settings};
use tacit_serve::{Event, Limits, Offer, Peer, Policy, Rate, Service, TableOffer, Visitors};

use crate::scene::{Scene, millionaires, refused_with};

const AUDIENCE: &str = "https://tables.example";
const SITE: &str = "members";

fn login() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[1; 32]).expect("a seed")
}

fn site(keys_per_day: Option<u64>) -> Visitors {
    site_of(&login(), keys_per_day)
}

fn site_of(login: &Ed25519KeyPair, keys_per_day: Option<u64>) -> Visitors {
    // RFC 8410, 10.1: what stands before a public key.
    let mut der = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00".to_vec();
    der.extend(login.public_key().as_ref());
    let base64 = base64ct::Base64::encode_string(&der);
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{base64}\n-----END PUBLIC KEY-----\n");
    Visitors {
        name: SITE.to_owned(),
        key: pem.parse().expect("a key"),
        audience: AUDIENCE.to_owned(),
        semi_honest: true,
        keys_per_day,
    }
}

fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("a clock").as_secs()
}

/// Returns a token of the site for this subject and this identity.
fn token(subject: &str, identity: &Identity, expires_s: u64) -> String {
    let part =
        |json: serde_json::Value| Base64UrlUnpadded::encode_string(json.to_string().as_bytes());
    let claims = json!({
        "sub": subject,
        "aud": AUDIENCE,
        "exp": expires_s,
        "cnf": { "tacit": identity.fingerprint().to_string() },
    });
    let signed = format!("{}.{}", part(json!({ "alg": "EdDSA" })), part(claims));
    let signature = login().sign(signed.as_bytes());
    format!(
        "{signed}.{}",
        Base64UrlUnpadded::encode_string(signature.as_ref())
    )
}

/// Returns the peers, and the visitors of a site.
fn peers_and(scene: &Scene, site: &Visitors) -> Vec<Peer> {
    let mut peers = scene.peer_list();
    peers.push(Peer {
        name: SITE.to_owned(),
        fingerprint: site.fingerprint(),
        address: None,
        link: None,
    });
    peers
}

/// Returns a table of ten keys for the visitors of a site.
fn table(site: &Visitors, rate: Option<Rate>) -> TableOffer {
    let held = Match::new((0..10).map(|key| key.to_string())).expect("different keys");
    TableOffer {
        name: "table".to_owned(),
        matching: Arc::new(held.to(MatchRecipient::Peer).held()),
        peers: [site.fingerprint()].into(),
        rate,
        time_limit: Duration::from_secs(60),
    }
}

/// Returns the policy with a table of ten keys for visitors, and none for the peers.
fn policy(scene: &Scene, limits: Limits, rate: Option<Rate>, keys: Option<u64>) -> Policy {
    policy_of(scene, site(keys), limits, rate)
}

fn policy_of(scene: &Scene, site: Visitors, limits: Limits, rate: Option<Rate>) -> Policy {
    let peers = peers_and(scene, &site);
    let policy = Policy::new(peers, vec![], vec![], limits, None).expect("a policy");
    let policy = policy.tables(vec![table(&site, rate)]).expect("a table");
    policy.visitors(vec![site]).expect("a site")
}

/// Begins a session as `who`, with a token if there is one.
fn session(
    scene: &Scene,
    service: &Service,
    who: &Identity,
    token: Option<String>,
) -> Result<Session, Error> {
    let address = service.local_address().to_string();
    let settings = Settings {
        connect_timeout: Duration::from_secs(5),
        introduction: token.and_then(Introduction::new),
        ..Settings::default()
    };
    let mut session = Session::connect(&address, who, &scene.alice.fingerprint(), &settings)?;
    session.greeted()?;
    Ok(session)
}

fn matched(session: &mut Session) -> Result<MatchOutcome, Error> {
    let order = Match::new(["3", "30", "7"]).expect("different keys");
    order.to(MatchRecipient::Me).run(session)
}

/// Returns an identity that nobody has met, and how a subject comes with it.
fn visitor(subject: &str) -> (Identity, Option<String>) {
    let who = Identity::generate().expect("randomness");
    let token = token(subject, &who, now_s() + 600);
    (who, Some(token))
}

/// What a visitor's matching tells it of.
const ASKED: u64 = 256;

#[test]
fn a_visitor_runs_what_is_offered_to_its_site_and_a_peer_does_not() {
    let scene = Scene::new(1);
    let service = scene.start(policy(&scene, Scene::limits(), None, None));
    let (who, token) = visitor("user-1");
    let mut session = session(&scene, &service, &who, token).expect("a session");
    let outcome = matched(&mut session).expect("a result");
    assert_eq!(outcome.common, Some(vec![0, 2]));
    scene.event(|event| matches!(event, Event::Run { peer, .. } if peer == "members/user-1"));
    let mut peer = scene.session(&service, 0).expect("a session");
    refused_with(matched(&mut peer), AbortReason::TableNotAllowed);
    // Metrics have one name for all visitors.
    let metrics = service.metrics();
    assert!(
        metrics.contains("peer=\"members\"") && !metrics.contains("user-1"),
        "{metrics}"
    );
}

#[test]
fn a_peer_that_brings_a_token_is_a_peer() {
    let scene = Scene::new(1);
    let service = scene.start(policy(&scene, Scene::limits(), None, None));
    let bob = &scene.peers[0];
    let token = token("user-1", bob, now_s() + 600);
    let mut session = session(&scene, &service, bob, Some(token)).expect("a session");
    refused_with(matched(&mut session), AbortReason::TableNotAllowed);
}

#[test]
fn a_stranger_without_a_token_is_refused() {
    let scene = Scene::new(1);
    let service = scene.start(policy(&scene, Scene::limits(), None, None));
    let (who, _) = visitor("user-1");
    let refused = session(&scene, &service, &who, None).map(drop);
    refused_with(refused, AbortReason::Unknown);
    scene.refused("token", "has no token");
}

#[test]
fn a_stolen_token_is_of_no_use_to_another_identity() {
    let scene = Scene::new(1);
    let service = scene.start(policy(&scene, Scene::limits(), None, None));
    let (who, token) = visitor("user-1");
    let (thief, _) = visitor("user-2");
    let refused = session(&scene, &service, &thief, token.clone()).map(drop);
    refused_with(refused, AbortReason::Unknown);
    scene.refused("token", "another identity");
    assert!(session(&scene, &service, &who, token.clone()).is_ok());
    // Nothing of a token is told.
    let events = format!("{:?}", scene.events());
    let token = token.expect("a token");
    let mut parts = token.split('.').skip(1);
    assert!(parts.all(|part| !events.contains(part)), "{events}");
}

#[test]
fn a_token_that_expires_ends_what_follows() {
    let scene = Scene::new(1);
    let service = scene.start(policy(&scene, Scene::limits(), None, None));
    let (who, _) = visitor("user-1");
    // Half a minute is for clocks that differ.
    let late = token("user-1", &who, now_s() - 31);
    let refused = session(&scene, &service, &who, Some(late)).map(drop);
    refused_with(refused, AbortReason::Unknown);
    let soon = token("user-1", &who, now_s() - 28);
    let mut session = session(&scene, &service, &who, Some(soon)).expect("a session");
    let mut runs = 0;
    let end = loop {
        match matched(&mut session) {
            Ok(_) if runs < 1000 => runs += 1,
            other => break other,
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    refused_with(end, AbortReason::Unknown);
}

/// The site replaces a key that somebody stole. Visitors whom that key let in must not stay.
#[test]
fn a_reload_with_another_key_ends_what_the_old_one_let_in() {
    let scene = Scene::new(1);
    let start = || policy(&scene, Scene::limits(), None, None);
    let other_key = Ed25519KeyPair::from_seed_unchecked(&[2; 32]).expect("a seed");
    let other_audience = Visitors {
        audience: "https://elsewhere.example".to_owned(),
        ..site(None)
    };
    for changed in [site_of(&other_key, None), other_audience] {
        let service = scene.start(start());
        let (who, token) = visitor("user-1");
        let mut session = session(&scene, &service, &who, token).expect("a session");
        matched(&mut session).expect("a result");
        service.reload(start());
        matched(&mut session).expect("a result, since nothing changed");
        service.reload(policy_of(&scene, changed, Scene::limits(), None));
        refused_with(matched(&mut session), AbortReason::Unknown);
    }
}

#[test]
fn an_introduction_that_is_too_long_is_refused() {
    assert!(Introduction::new("x".repeat(Introduction::MAX_BYTES + 1)).is_none());
    assert!(Introduction::new(String::new()).is_none());
    let scene = Scene::new(1);
    let service = scene.start(policy(&scene, Scene::limits(), None, None));
    let (who, _) = visitor("user-1");
    let address = service.local_address().to_string();
    let alice = scene.alice.fingerprint();
    let channel = tacit_net::tls::connect(&address, &who, &alice, &Settings::default());
    let mut channel = channel.expect("TLS");
    let long = vec![b'x'; Introduction::MAX_BYTES + 1];
    channel
        .send(tacit_net::tls::INTRODUCTION, &long)
        .expect("room");
    let _ = channel.flush();
    assert!(matches!(
        channel.receive(1024),
        Err(NetError::Closed { .. })
    ));
    scene.refused("connection", "4097 bytes");
}

#[test]
fn what_a_subject_does_counts_whichever_identity_it_has() {
    let scene = Scene::new(1);
    let rate = Rate {
        times: 1,
        per: Duration::from_secs(3600),
    };
    let service = scene.start(policy(&scene, Scene::limits(), Some(rate), None));
    let run = |subject| {
        let (who, token) = visitor(subject);
        matched(&mut session(&scene, &service, &who, token).expect("a session"))
    };
    assert!(run("user-1").is_ok());
    refused_with(run("user-1"), AbortReason::TooOften);
    assert!(run("user-2").is_ok());
    // A reload gives nobody another turn.
    service.reload(policy(&scene, Scene::limits(), Some(rate), None));
    refused_with(run("user-1"), AbortReason::TooOften);
}

#[test]
fn a_subject_has_its_keys_of_the_day_whichever_identity_it_has() {
    let scene = Scene::new(1);
    let service = scene.start(policy(&scene, Scene::limits(), None, Some(2 * ASKED - 1)));
    let run = |subject| {
        let (who, token) = visitor(subject);
        matched(&mut session(&scene, &service, &who, token).expect("a session"))
    };
    assert!(run("user-1").is_ok());
    refused_with(run("user-1"), AbortReason::KeysSpent);
    assert!(run("user-2").is_ok());
}

#[test]
fn visitors_leave_sessions_for_the_peers() {
    let scene = Scene::new(1);
    let limits = Limits {
        sessions: 4,
        sessions_per_peer: 2,
        ..Scene::limits()
    };
    let service = scene.start(policy(&scene, limits, None, None));
    let come = |number: usize| {
        let (who, token) = visitor(&format!("user-{number}"));
        session(&scene, &service, &who, token)
    };
    let both = [come(0), come(1)].map(|session| session.expect("a session"));
    refused_with(come(2).map(drop), AbortReason::Busy);
    assert!(scene.session(&service, 0).is_ok());
    drop(both);
}

#[test]
fn without_sites_nobody_is_let_in_by_a_token() {
    let scene = Scene::new(1);
    let service = scene.start(scene.policy(vec![], vec![], Scene::limits()));
    let (who, token) = visitor("user-1");
    let refused = session(&scene, &service, &who, token).map(drop);
    assert!(
        matches!(refused, Err(Error::Network(NetError::Refused { .. }))),
        "{refused:?}"
    );
}

#[test]
fn visitors_get_nothing_that_is_kept() {
    let scene = Scene::new(1);
    let site = site(None);
    let peers = peers_and(&scene, &site);
    let policy = |protocols: Vec<ProtocolId>| {
        let offer = Offer {
            protocols,
            peers: [site.fingerprint()].into(),
            ..scene.offer(vec![millionaires(32)])
        };
        let limits = Scene::limits();
        let policy = Policy::new(peers.clone(), vec![offer], vec![], limits, None);
        policy.and_then(|policy| policy.visitors(vec![site.clone()]))
    };
    assert!(policy(vec![ProtocolId::Direct]).is_ok());
    for kept in [
        ProtocolId::Prepared,
        ProtocolId::Batch,
        ProtocolId::Authenticated,
    ] {
        let error = policy(vec![ProtocolId::Direct, kept])
            .err()
            .expect("an error");
        assert!(error.to_string().contains("visitors run by"), "{error}");
    }
    let unnamed = Policy::new(scene.peer_list(), vec![], vec![], Scene::limits(), None);
    let unnamed = unnamed.expect("a policy").visitors(vec![site.clone()]);
    assert!(unnamed.is_err());
    assert_ne!(site.fingerprint(), Fingerprint([0; 32]));
}

/// Visitors are strangers. One who does not follow a semi-honest protocol learns this party's
/// inputs: by candidate keys that it encodes all into one bin, the rows of a table that a program
/// joins; by lies in OTs, everything else.
#[test]
fn what_is_semi_honest_is_for_visitors_of_a_site_that_says_so() {
    let scene = Scene::new(1);
    let site = |semi_honest| Visitors {
        semi_honest,
        ..site(None)
    };
    let policy = |offers: Vec<Offer>| {
        let peers = peers_and(&scene, &site(true));
        Policy::new(peers, offers, vec![], Scene::limits(), None).expect("a policy")
    };
    let refused = |made: Result<Policy, tacit_serve::Error>, what: &str| {
        let error = made.err().expect("an error").to_string();
        assert!(error.starts_with(what), "{error}");
        assert!(error.contains("semi_honest = true"), "{error}");
    };
    for protocol in [ProtocolId::Direct, ProtocolId::Gmw] {
        let offer = || Offer {
            protocols: vec![protocol],
            peers: [site(true).fingerprint()].into(),
            ..scene.offer(vec![millionaires(32)])
        };
        let of = |says| policy(vec![offer()]).visitors(vec![site(says)]);
        assert!(of(true).is_ok());
        refused(of(false), "function");
    }
    let (trusted, stranger) = (site(true), site(false));
    let tables = || vec![table(&stranger, None)];
    let before = |site: &Visitors| {
        policy(vec![])
            .tables(tables())?
            .visitors(vec![site.clone()])
    };
    let after = |site: &Visitors| {
        policy(vec![])
            .visitors(vec![site.clone()])?
            .tables(tables())
    };
    assert!(before(&trusted).is_ok() && after(&trusted).is_ok());
    refused(before(&stranger), "table");
    refused(after(&stranger), "table");
    // What is for peers alone needs no word.
    let of_peers = policy(vec![scene.offer(vec![millionaires(32)])]);
    assert!(of_peers.visitors(vec![stranger.clone()]).is_ok());
}
