//! Tables of the service that peers match with theirs, and the limits on that.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tacit::join::{Counted, OpenParam};
use tacit::matching::{KeyNormalization, Match, MatchOutcome, MatchRecipient};
use tacit::session::{AbortReason, OtExtension};
use tacit::{Category, Error, ProtocolError, Role, Session};
use tacit_serve::{Audit, Event, Limits, Offers, Policy, Service, TableOffer};

use crate::scene::{Scene, refused_with};

/// The digest of a matching of single texts with the result for both.
const MEANING: &str = "8733bf9374f9171b61cad6907b23d63d03621a2f9a2e836e604a7108b6e181f6";

fn names(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    let names = numbers.into_iter();
    names
        .map(|number| format!("{number}@example.org"))
        .collect()
}

/// Offers a table of these keys to every peer.
fn table(scene: &Scene, name: &str, keys: &[String], to: MatchRecipient) -> TableOffer {
    TableOffer {
        name: name.to_owned(),
        matching: Arc::new(Match::new(keys).expect("different keys").to(to).held()),
        peers: scene.peers.iter().map(|peer| peer.fingerprint()).collect(),
        rate: None,
        time_limit: Duration::from_secs(60),
    }
}

fn policy(scene: &Scene, tables: Vec<TableOffer>, keys_per_day: u64) -> Policy {
    let limits = Limits {
        keys_per_day,
        ..Scene::limits()
    };
    let policy = scene.policy(vec![], vec![], limits);
    policy.tables(tables).expect("a policy")
}

fn matched(
    session: &mut Session,
    keys: &[String],
    to: MatchRecipient,
) -> Result<MatchOutcome, Error> {
    let order = Match::new(keys).expect("different keys");
    order.to(to).run(session)
}

/// Returns the keys in common by a plain comparison.
fn common(own: &[String], others: &[String]) -> Vec<usize> {
    let places = own.iter().enumerate();
    let common = places.filter(|(_, key)| others.contains(key));
    common.map(|(place, _)| place).collect()
}

/// Returns the keys that are counted for a peer today.
fn counted(scene: &Scene, peer: usize) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let day = now.expect("a clock").as_secs() / 86_400;
    let parties = [scene.alice.fingerprint(), scene.fingerprint(peer)];
    let counted = scene.stocks("alice", 1 << 30).answered_keys(parties, day);
    counted.expect("a record")
}

#[test]
fn peers_match_their_tables_with_the_services() {
    use MatchRecipient::{Both, Me, Peer};
    let scene = Scene::new(2);
    let held = names(0..300);
    let tables = vec![
        table(&scene, "both", &held, Both),
        table(&scene, "theirs", &held[..40], Peer),
    ];
    let service = scene.start(policy(&scene, tables, 1_000_000));
    for (peer, own) in [(0, names(290..310)), (1, names((0..900).step_by(2)))] {
        let mut session = scene.session(&service, peer).expect("a session");
        // Runs of both kinds follow each other in a session.
        for _ in 0..2 {
            for (to, theirs) in [(Both, &held[..]), (Me, &held[..40])] {
                let outcome = matched(&mut session, &own, to).expect("a result");
                assert_eq!(outcome.common, Some(common(&own, theirs)));
                assert_eq!(outcome.peer_keys, theirs.len() as u64);
            }
        }
    }
    let run = scene.event(|event| matches!(event, Event::Run { offer, .. } if offer == "theirs"));
    let Event::Run { protocol, peer, .. } = run else {
        panic!("{run:?}");
    };
    assert_eq!((protocol.as_str(), peer.as_str()), ("match", "peer0"));
    let metrics = service.metrics();
    let done = "runs_total{offer=\"both\",protocol=\"match\",outcome=\"done\"} 4";
    assert!(metrics.contains(done), "{metrics}");
}

#[test]
fn two_tables_that_a_peer_cannot_tell_apart_are_refused() {
    let scene = Scene::new(2);
    let offer = |name, to, peer: usize| TableOffer {
        peers: [scene.fingerprint(peer)].into(),
        ..table(&scene, name, &names(0..3), to)
    };
    let first = || offer("first", MatchRecipient::Both, 0);
    let policy = || scene.policy(vec![], vec![], Scene::limits());
    let alike = offer("second", MatchRecipient::Both, 0);
    let refused = policy().tables(vec![first(), alike]);
    assert!(matches!(refused, Err(tacit_serve::Error::TwoTables { .. })));
    for other in [
        offer("second", MatchRecipient::Peer, 0),
        offer("second", MatchRecipient::Both, 1),
    ] {
        policy().tables(vec![first(), other]).expect("a policy");
    }
}

#[test]
fn an_empty_table_has_nothing_in_common() {
    let scene = Scene::new(1);
    let empty = [table(&scene, "t", &[], MatchRecipient::Both)];
    let service = scene.start(policy(&scene, empty.to_vec(), 10));
    let mut session = scene.session(&service, 0).expect("a session");
    let outcome = matched(&mut session, &names(0..3), MatchRecipient::Both).expect("a result");
    assert_eq!((outcome.common, outcome.peer_keys), (Some(vec![]), 0));
}

#[test]
fn what_is_not_offered_is_not_matched() {
    let scene = Scene::new(2);
    let only = TableOffer {
        peers: [scene.fingerprint(0)].into(),
        ..table(&scene, "t", &names(0..5), MatchRecipient::Both)
    };
    let service = scene.start(policy(&scene, vec![only], 1000));
    let own = names(0..5);
    let mut stranger = scene.session(&service, 1).expect("a session");
    let refused = matched(&mut stranger, &own, MatchRecipient::Both);
    refused_with(refused, AbortReason::TableNotAllowed);
    for (order, to) in [
        (KeyNormalization::None, MatchRecipient::Me),
        (KeyNormalization::Email, MatchRecipient::Both),
    ] {
        let mut session = scene.session(&service, 0).expect("a session");
        let asked = Match::new(&own).expect("different keys");
        let refused = asked.normalized(order).to(to).run(&mut session);
        refused_with(refused, AbortReason::TableNotAllowed);
    }
    scene.refused("run", "match tables");
    assert_eq!(counted(&scene, 0), 0);
}

/// The limit is the peer's own, over all tables, and a restart does not renew it.
#[test]
fn a_peer_is_answered_a_number_of_keys_a_day() {
    let scene = Scene::new(2);
    let held = names(0..5);
    let own = names(3..13);
    let start = || {
        let tables = vec![
            table(&scene, "both", &held, MatchRecipient::Both),
            table(&scene, "theirs", &held, MatchRecipient::Peer),
        ];
        scene.start(policy(&scene, tables, 300))
    };
    let ask = |service: &Service, peer: usize, to| {
        let mut session = scene.session(service, peer).expect("a session");
        matched(&mut session, &own, to)
    };
    let mut service = start();
    // With fewer keys the service asks, and each key of the peer counts once.
    let first = ask(&service, 0, MatchRecipient::Both).expect("a result");
    assert_eq!(first.common, Some(vec![0, 1]));
    assert_eq!(counted(&scene, 0), 10);
    // Where the peer asks, its message has room for more keys than it has.
    ask(&service, 0, MatchRecipient::Me).expect("a result");
    assert_eq!(counted(&scene, 0), 10 + 258);
    drop(service);
    service = start();
    refused_with(ask(&service, 0, MatchRecipient::Me), AbortReason::KeysSpent);
    scene.refused(
        "keys",
        "258 keys, and of keys_per_day, 300, 32 are left until 00:00 UTC",
    );
    assert_eq!(counted(&scene, 0), 268);
    let mut session = scene.session(&service, 0).expect("a session");
    let offers = Offers::ask(&mut session).expect("an answer");
    assert_eq!(
        (offers.keys_per_day, offers.keys_left),
        (Some(300), Some(32))
    );
    let tables: Vec<_> = offers
        .tables
        .iter()
        .map(|table| table.name.as_str())
        .collect();
    assert_eq!(tables, ["both", "theirs"]);
    assert_eq!(offers.tables[1].to.as_deref(), Some("me"));
    // What is left can be asked, and other peers have a limit of their own.
    for _ in 0..3 {
        ask(&service, 0, MatchRecipient::Both).expect("a result");
    }
    refused_with(
        ask(&service, 0, MatchRecipient::Both),
        AbortReason::KeysSpent,
    );
    ask(&service, 1, MatchRecipient::Me).expect("a result");
}

/// A peer whose table never fits is not told to come again the next day.
#[test]
fn a_table_of_more_keys_than_a_day_has_is_too_large() {
    let scene = Scene::new(1);
    let tables = vec![table(&scene, "theirs", &names(0..5), MatchRecipient::Peer)];
    let service = scene.start(policy(&scene, tables, 257));
    let mut session = scene.session(&service, 0).expect("a session");
    refused_with(
        matched(&mut session, &names(3..13), MatchRecipient::Me),
        AbortReason::TooLarge,
    );
    scene.refused("keys", "258 keys, more than keys_per_day, 257, ever allows");
    assert_eq!(counted(&scene, 0), 0);
}

/// Tells sizes as this party, and returns those of the service.
fn tell(session: &mut Session, sizes: &[u64]) -> Result<Vec<u64>, Error> {
    let param = |name: String, owner| OpenParam {
        name,
        minimum: 0,
        maximum: u64::MAX,
        input: "t".to_owned(),
        owner,
        counted: Counted::Rows,
    };
    let own = (0..sizes.len()).map(|place| format!("own{place}"));
    let known = own.clone().zip(sizes.iter().copied()).collect();
    let mut params: Vec<_> = own.map(|name| param(name, Role::Evaluator)).collect();
    params.push(param("theirs".to_owned(), Role::Garbler));
    let meaning = MEANING.parse().expect("a digest");
    let told = session.tell_sizes(meaning, &params, Role::Evaluator, &known)?;
    Ok(vec![told["theirs"]])
}

/// The service answers nothing before the keys are counted: a peer that has its first answer and
/// then leaves has spent them.
#[test]
fn keys_are_counted_before_the_first_answer() {
    let scene = Scene::new(1);
    let held = names(0..100);
    let tables = vec![table(&scene, "t", &held, MatchRecipient::Both)];
    let service = scene.start(policy(&scene, tables, 1000));
    let mut session = scene.session(&service, 0).expect("a session");
    assert_eq!(tell(&mut session, &[200]).expect("its size"), [100]);
    assert_eq!(counted(&scene, 0), 200);
    drop(session);
    assert_eq!(counted(&scene, 0), 200);
}

#[test]
fn sizes_that_no_matching_has_are_refused_and_not_counted() {
    let scene = Scene::new(1);
    let held = names(0..10);
    let tables = vec![table(&scene, "t", &held, MatchRecipient::Both)];
    let service = scene.start(policy(&scene, tables, u64::MAX));
    for sizes in [&[][..], &[1, 2], &[u64::MAX], &[(1 << 26) + 1]] {
        let mut session = scene.session(&service, 0).expect("a session");
        tell(&mut session, sizes).expect_err("no such matching");
    }
    scene.refused("request", "its sizes for t");
    assert_eq!(counted(&scene, 0), 0);
}

#[test]
fn sizes_that_take_too_much_memory_are_refused_before_they_count() {
    let scene = Scene::new(1);
    let held = names(0..10);
    let limits = Limits {
        memory_mib: 64,
        keys_per_day: u64::MAX,
        ..Scene::limits()
    };
    let policy = scene.policy(vec![], vec![], limits);
    let tables = vec![table(&scene, "t", &held, MatchRecipient::Both)];
    let service = scene.start(policy.tables(tables).expect("a policy"));
    let mut session = scene.session(&service, 0).expect("a session");
    refused_with(tell(&mut session, &[1 << 20]), AbortReason::TooLarge);
    scene.refused("run", "MiB at its sizes, and memory_mib_per_peer allows 16");
    assert_eq!(counted(&scene, 0), 0);
}

/// A peer that is told to come again, since memory is in use, makes the service fit programs to its
/// sizes as often as it likes.
#[test]
fn a_table_of_too_many_keys_is_refused_whatever_memory_there_is() {
    let scene = Scene::new(1);
    let limits = Limits {
        memory_mib: 64,
        keys_per_day: 1000,
        ..Scene::limits()
    };
    let policy = scene.policy(vec![], vec![], limits);
    let tables = vec![table(&scene, "t", &names(0..10), MatchRecipient::Both)];
    let service = scene.start(policy.tables(tables).expect("a policy"));
    let mut session = scene.session(&service, 0).expect("a session");
    refused_with(tell(&mut session, &[1 << 20]), AbortReason::TooLarge);
    scene.refused("keys", "more than keys_per_day, 1000, ever allows");
}

/// To fit a program to sizes takes time, and a run that is put off is not held against the peer.
#[test]
fn a_peer_whose_runs_are_put_off_has_few_programs_fitted() {
    let scene = Scene::new(2);
    let limits = Limits {
        memory_mib: 64,
        memory_mib_per_peer: Some(30),
        keys_per_day: u64::MAX,
        ..Scene::limits()
    };
    let policy = scene.policy(vec![], vec![], limits);
    let tables = vec![table(&scene, "t", &names(0..10), MatchRecipient::Both)];
    let service = scene.start(policy.tables(tables).expect("a policy"));
    let tells = |peer| {
        let mut session = scene.session(&service, peer).expect("a session");
        tell(&mut session, &[1 << 16]).map(|_| session)
    };
    let holds = tells(0).expect("room");
    let mut put_off = 0;
    let often = loop {
        match tells(0) {
            Err(Error::Protocol(ProtocolError::PeerAborted(AbortReason::Busy))) => put_off += 1,
            ended => break ended.map(drop),
        }
        assert!(put_off < 100, "runs are put off without end");
    };
    refused_with(often, AbortReason::TooOften);
    assert!(put_off >= 20, "{put_off} runs were put off");
    tells(1).expect("it has its own share");
    drop(holds);
}

#[test]
fn a_table_is_matched_by_the_ots_of_the_policy() {
    let scene = Scene::new(1);
    let tables = vec![table(&scene, "t", &names(0..10), MatchRecipient::Both)];
    let policy = policy(&scene, tables, 1000).ot_extension(Some(OtExtension::Silent));
    let service = scene.start(policy.expect("a policy"));
    let mut session = scene.session(&service, 0).expect("a session");
    let refused = matched(&mut session, &names(5..15), MatchRecipient::Both);
    let refused = refused.expect_err("other OTs");
    assert_eq!(refused.category(), Category::Incompatible, "{refused}");
    let mut session = scene.session(&service, 0).expect("a session");
    let silent = session.set_ot_extension(OtExtension::Silent);
    silent.expect("nothing is chosen yet");
    matched(&mut session, &names(5..15), MatchRecipient::Both).expect("a result");
}

/// OTs are chosen once for a session, and a later configuration may ask for others.
#[test]
fn a_reload_lets_no_session_match_by_other_ots() {
    let scene = Scene::new(1);
    let held = names(0..10);
    let start = || {
        let tables = vec![table(&scene, "t", &held, MatchRecipient::Both)];
        policy(&scene, tables, 1000)
    };
    let service = scene.start(start());
    let mut session = scene.session(&service, 0).expect("a session");
    for _ in 0..2 {
        matched(&mut session, &names(5..15), MatchRecipient::Both).expect("a result");
        service.reload(start());
    }
    let other = start().ot_extension(Some(OtExtension::Silent));
    service.reload(other.expect("a policy"));
    let refused = matched(&mut session, &names(5..15), MatchRecipient::Both);
    let refused = refused.expect_err("other OTs");
    assert_eq!(refused.category(), Category::Incompatible, "{refused}");
    scene.refused("run", "silent");
}

#[test]
fn a_peer_that_leaves_before_its_run_is_in_the_audit_log() {
    let scene = Scene::new(1);
    let path = scene.folder.path().join("audit.jsonl");
    let tables = vec![table(&scene, "t", &names(0..3), MatchRecipient::Both)];
    let policy = policy(&scene, tables, 1000);
    let service = scene.start(policy.audited(Some(Audit::new(path.clone(), false))));
    let mut session = scene.session(&service, 0).expect("a session");
    assert_eq!(tell(&mut session, &[9]).expect("its size"), [3]);
    drop(session);
    scene.event(|event| matches!(event, Event::SessionEnded { .. }));
    let text = std::fs::read_to_string(path).expect("a log");
    let last = text.lines().last().expect("a line");
    let ended: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(
        (&ended["event"], &ended["outcome"]),
        (&"ended".into(), &"failed".into())
    );
    assert_eq!(ended["because_of"], "the peer");
}

#[test]
fn runs_with_tables_are_in_the_audit_log() {
    let scene = Scene::new(1);
    let held = names(0..3);
    let path = scene.folder.path().join("audit.jsonl");
    let tables = vec![table(&scene, "t", &held, MatchRecipient::Both)];
    let policy = policy(&scene, tables, 1000);
    let service = scene.start(policy.audited(Some(Audit::new(path.clone(), false))));
    let mut session = scene.session(&service, 0).expect("a session");
    matched(&mut session, &names(0..9), MatchRecipient::Both).expect("a result");
    scene.event(|event| matches!(event, Event::Run { .. }));
    let text = std::fs::read_to_string(path).expect("a log");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<serde_json::Value> = lines.collect();
    let [begun, ended] = &lines[..] else {
        panic!("{text}");
    };
    assert_eq!((&begun["offer"], &begun["keys"]), (&"t".into(), &9.into()));
    assert_eq!(
        (&begun["peer"], &begun["protocol"]),
        (&"peer0".into(), &"match".into())
    );
    assert_eq!(
        (&ended["outcome"], &ended["run"]),
        (&"done".into(), &begun["run"])
    );
    assert!(
        begun["run"].is_string() && !text.contains("example.org"),
        "{text}"
    );
}
