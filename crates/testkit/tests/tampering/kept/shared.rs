//! The same under `authenticated`: any message that no honest party sends ends the chain at both,
//! and a lost connection ends nothing.

use super::*;
use tacit::ProtocolError;
use tacit::net::NetError;
use tacit::protocols::ThreatModel;
use tacit::stock::{Tried, TryName};
use tacit_protocol::Misbehaviour;
use tacit_testkit::sessions::fingerprint;

const PROTOCOL: Protocol = Protocol::Authenticated;

const HONEST: Case = Case {
    protocol: PROTOCOL,
    ..super::HONEST
};

#[test]
fn every_message_of_a_shared_chain_and_every_fault() {
    judge_all(PROTOCOL, SAMPLED, 80);
}

#[test]
#[ignore = "long: every message under every fault"]
fn every_message_of_a_shared_chain_under_every_fault() {
    judge_all(PROTOCOL, 1, 300);
}

/// A message of each check: the OTs of either party, the evaluator's labels, the garbler's gates
/// and the openings of results, which depend on both parties' kept values.
const CHECKED: [(Role, Kind); 6] = [
    (Role::Garbler, Kind::CotExtension),
    (Role::Evaluator, Kind::CotExtension),
    (Role::Evaluator, Kind::LabelDigest),
    (Role::Garbler, Kind::GateProof),
    (Role::Garbler, Kind::ResultOpening),
    (Role::Evaluator, Kind::ResultOpening),
];

const CHECK_FAILED: &str = "a check failed";

fn killed(stocks: Result<Stocks, Error>) -> Vec<Option<String>> {
    let chains = stocks.and_then(|stocks| stocks.chains());
    let chains = chains.expect("a folder that can be read");
    chains
        .into_iter()
        .map(|chain| chain.summary.killed)
        .collect()
}

/// A party that is caught may have guessed at the Δ of the chain, and would guess again.
#[test]
fn a_failed_check_ends_a_shared_chain_at_both() {
    for (liar, kind) in CHECKED {
        let folders = Folders::empty();
        HONEST.run(&begin(), &folders, 0).0.expect("a chain");
        let lie = Lie::Payload(kind, "one bit", one_bit);
        let case = Case {
            liar,
            lie,
            ..HONEST
        };
        let (result, _) = case.run(&add_of(Role::Evaluator), &folders, 7);
        let error = result.expect_err("a check that fails");
        assert_eq!(error.category(), Category::Peer, "{case}: {error}");
        let by_ots = matches!(
            error,
            Error::Protocol(ProtocolError::PeerMisbehaved(
                Misbehaviour::ObliviousTransfer(_)
            ))
        );
        assert_eq!(by_ots, kind == Kind::CotExtension, "{case}: {error}");
        let has_ended = |role: Role| {
            let why = killed(folders.stocks(role));
            why[0]
                .as_ref()
                .is_some_and(|why| why.contains(CHECK_FAILED))
        };
        assert!(has_ended(liar.other()), "{case}");
        // A party that lies in its last message learns nothing more.
        let hears = (liar, kind) != CHECKED[5];
        assert_eq!(has_ended(liar), hears, "{case}");
        // The try is counted and named.
        let honest = liar.other();
        let name = TryName {
            own: fingerprint(honest),
            peer: fingerprint(liar),
            role: honest,
            tried: Tried::Authenticated,
        };
        let stocks = folders.stocks(honest).expect("a folder");
        let record = stocks.try_record(&name).expect("a record");
        assert_eq!((record.unfinished, record.cheats), (1, 1), "{case}");
        let (again, _) = HONEST.run(&add(), &folders, 1);
        let error = again.expect_err("a chain that has ended");
        assert!(error.to_string().contains(CHECK_FAILED), "{error}");
        assert!(!killed(folders.stocks(liar)).contains(&None), "{case}");
    }
}

/// The liar ends its run with an overlong frame in place of the message that would fail a check,
/// and is told that it misbehaved. If the chain stayed live at the honest party, an earlier copy of
/// the liar's half could continue it.
#[test]
fn a_frame_that_is_too_long_ends_a_shared_chain_at_both() {
    let folders = Folders::empty();
    HONEST.run(&begin(), &folders, 0).0.expect("a chain");
    let case = Case {
        liar: Role::Garbler,
        lie: Lie::Payload(Kind::GateProof, "a byte more", |payload| {
            [payload, &[0]].concat()
        }),
        ..HONEST
    };
    let (result, _) = case.run(&add(), &folders, 7);
    let error = result.expect_err("a frame that is too long");
    let is_too_long = matches!(error, Error::Network(NetError::TooLong { .. }));
    assert!(is_too_long, "{error}");
    for role in ROLES {
        assert!(killed(folders.stocks(role))[0].is_some(), "{role:?}");
    }
}

/// Only the honest party has noticed the cheat: the other one's half ends when they meet.
#[test]
fn a_chain_that_one_has_ended_ends_at_the_other() {
    let folders = Folders::empty();
    HONEST.run(&begin(), &folders, 0).0.expect("a chain");
    let before = folders.copy();
    let case = Case {
        lie: Lie::Payload(Kind::CotExtension, "one bit", one_bit),
        ..HONEST
    };
    let (result, _) = case.run(&add(), &folders, 7);
    result.expect_err("a check that fails");
    let mixed = |role: Role| {
        if role == case.liar {
            before.stocks(role)
        } else {
            folders.stocks(role)
        }
    };
    let (again, _) = HONEST.run_on(&add(), mixed, 1);
    again.expect_err("a chain that has ended");
    assert!(killed(mixed(case.liar))[0].is_some());
}

/// A broken attempt is counted, but not as one of a check, and the next one is made at a higher s.
#[test]
fn an_attempt_that_is_cut_costs_bits_and_no_value() {
    let folders = Folders::empty();
    let begun = HONEST.run(&begin(), &folders, 0).0.expect("a chain");
    let made_at = |outcome: &Outcome| match outcome.security_scope {
        Some(tacit::SecurityScope::AllRuns { made_at_bits }) => made_at_bits,
        scope => panic!("{scope:?}"),
    };
    assert_eq!(made_at(&begun), 40);
    assert_eq!(begun.threat_model, ThreatModel::Malicious);
    let (_, trace) = HONEST.run(&add(), &folders.copy(), 7);
    let messages = trace.lock().expect("no panic").len();
    let cut = Case {
        lie: Lie::Fault(tacit_testkit::tamper::Tampering {
            message: messages - 1,
            fault: Fault::CloseBefore,
        }),
        ..HONEST
    };
    let (result, _) = cut.run(&add(), &folders, 7);
    result.expect_err("a connection that is lost");
    let (again, _) = HONEST.run(&add(), &folders, 1);
    let outcome = again.expect("a chain");
    assert!(made_at(&outcome) > 40);
    // The values that both had kept before the last message stay.
    assert_eq!(outcome.outputs["shown"].to_text(), "13");
    let (last, _) = HONEST.run(&add(), &folders, 1);
    assert_eq!(last.expect("a chain").outputs["shown"].to_text(), "14");
}

/// The power fails at each point at a party that catches the other: the peer learns of it only if
/// the chain has ended.
#[test]
fn a_loss_of_power_leaves_no_chain_whose_end_was_told() {
    let start = Disks([(); 2].map(|()| Memory::new()));
    start.run(HONEST, &begin()).expect("a chain");
    let case = Case {
        lie: Lie::Payload(Kind::CotExtension, "one bit", one_bit),
        ..HONEST
    };
    let whole = start.copy();
    whole.run(case, &add()).expect_err("a check that fails");
    let honest = case.liar.other() as usize;
    let (points, mut live, mut ended) = (whole.0[honest].points(), 0, 0);
    for point in 0..=points {
        let mut cut = start.copy();
        cut.0[honest].lose_power_at(point, point);
        let error = cut.run(case, &add()).expect_err("a check, or no power");
        cut.0[honest] = cut.0[honest].restart();
        let is_live = killed(cut.stocks(ROLES[honest]))
            .iter()
            .any(Option::is_none);
        let told = error.category() == Category::Peer;
        assert!(!(told && is_live), "point {point} of {points}: {error}");
        (live, ended) = (live + u32::from(is_live), ended + u32::from(told));
    }
    assert!(live > 2 && ended > 0, "{live} live, {ended} ended");
}
