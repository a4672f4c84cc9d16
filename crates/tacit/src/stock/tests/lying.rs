//! Tests of a party that lies.

use tacit_protocol::prepared::LeasesAnswer;
use tacit_stock::Marks;

use super::*;

/// Returns processes of both parties that have met and prepared.
fn prepared([garbler, evaluator]: &mut [Party; 2]) -> [Process; 2] {
    let (mut garbler, mut evaluator) = (garbler.start(1), evaluator.start(1));
    let ended = both(
        [&mut garbler, &mut evaluator],
        Stop::Never,
        &mut honest,
        async |process, io| {
            process.meet(io).await?;
            process.prepare(io).await
        },
    );
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    [garbler, evaluator]
}

/// Runs one exchange of leases.
fn attempt(
    garbler: &mut Process,
    evaluator: &mut Process,
    lie: &mut dyn FnMut(Kind, &mut Vec<u8>),
) -> [Result<Attempt, Error>; 2] {
    let script = async |process: &mut Process, io: &mut Io<'_>| process.attempt(io).await;
    both([garbler, evaluator], Stop::Never, lie, script)
}

/// An evaluator that names spent numbers again would get labels for them twice.
#[test]
fn numbers_that_are_named_again_are_not_leased() {
    let mut parties = Party::pair();
    let [mut garbler, mut evaluator] = prepared(&mut parties);
    let mut first = None;
    let ended = attempt(&mut garbler, &mut evaluator, &mut |kind, message| {
        if kind == Kind::Leases {
            first = Some(message.clone());
        }
    });
    assert_eq!(ended, [Ok(Attempt::Leased), Ok(Attempt::Leased)]);
    let first = first.expect("the evaluator names numbers");
    let before = garbler.held();
    let ended = attempt(&mut garbler, &mut evaluator, &mut |kind, message| {
        if kind == Kind::Leases {
            message.clone_from(&first);
        }
    });
    assert_eq!(ended, [Ok(Attempt::Behind), Ok(Attempt::Behind)]);
    assert_eq!(garbler.held(), before);
    // The evaluator does not keep what the garbler has not leased either, and both continue in
    // step.
    assert_eq!(evaluator.held(), before);
    let ended = attempt(&mut garbler, &mut evaluator, &mut honest);
    assert_eq!(ended, [Ok(Attempt::Leased), Ok(Attempt::Leased)]);
    assert_eq!(garbler.take(), evaluator.take());
}

/// A garbler that claims to be behind only makes the evaluator give up numbers without using them.
/// If it claims this for numbers that nobody can have reached, it is caught.
#[test]
fn a_garbler_that_claims_to_be_behind_gets_later_numbers_or_is_caught() {
    let mut parties = Party::pair();
    let [mut garbler, mut evaluator] = prepared(&mut parties);
    let mut claim = |mark: u64| {
        let [_, ended] = attempt(&mut garbler, &mut evaluator, &mut |kind, message| {
            if kind == Kind::LeasesAnswered {
                LeasesAnswer::Behind(vec![mark; 2]).write(message);
            }
        });
        assert_eq!(evaluator.held(), [0; 2]);
        ended
    };
    for mark in [0, 5] {
        assert_eq!(claim(mark), Ok(Attempt::Behind));
    }
    let caught = claim(u64::MAX);
    let noted = evaluator.failure.or(caught.map_err(crate::Error::from));
    let noted = noted.expect_err("no party has come so far");
    assert_eq!(noted.category(), crate::Category::Peer, "{noted}");
}

/// A party that is restored from an old copy would lease again what it has leased since.
#[test]
fn a_party_that_went_back_is_refused_by_the_other() {
    for role in Role::BOTH {
        let [mut garbler, mut evaluator] = Party::pair();
        let mut old = None;
        for tag in 1..4 {
            for party in [&mut garbler, &mut evaluator] {
                if party.role == role && tag == 2 {
                    old = Some(party.disk.copy());
                } else if party.role == role && tag == 3 {
                    party.disk = old.take().expect("a copy");
                }
            }
            let (mut garbler, mut evaluator) = (garbler.start(tag), evaluator.start(tag));
            let ended = both(
                [&mut garbler, &mut evaluator],
                Stop::Never,
                &mut honest,
                async |process, io| match process.tag {
                    1 => process.session(io).await,
                    // No lot shows that the party is out of date. Only the meetings do.
                    _ => {
                        process.meet(io).await?;
                        process.lease(io).await
                    }
                },
            );
            assert_eq!(
                ended.iter().all(Result::is_ok),
                tag < 3,
                "{role:?} {ended:?}"
            );
        }
    }
}

/// A peer that says that it has no stock, or one in which nothing was ever published, would have
/// this party drop its own.
#[test]
fn a_peer_that_says_that_it_has_nothing_ends_no_stock() {
    let other_epoch = |message: &mut Vec<u8>| {
        let mut marks = Marks::parse(message).expect("a record");
        marks.epoch.nonce[0] ^= 1;
        marks.kinds.clear();
        *message = marks.to_bytes();
    };
    type Change<'a> = &'a dyn Fn(&mut Vec<u8>);
    let says: [Change<'_>; 2] = [&Vec::clear, &other_epoch];
    for (says, role) in says
        .into_iter()
        .zip(Role::BOTH)
        .chain([(says[0], Role::Evaluator), (says[1], Role::Garbler)])
    {
        let mut parties = Party::pair();
        drop(prepared(&mut parties));
        let [garbler, evaluator] = &mut parties;
        let (mut garbler, mut evaluator) = (garbler.start(2), evaluator.start(2));
        let mut records = 0;
        let mut lie = |kind, message: &mut Vec<u8>| {
            if kind == Kind::StockMarks {
                // The evaluator's comes first.
                if records == usize::from(role == Role::Garbler) {
                    says(message);
                }
                records += 1;
            }
        };
        let ended = both(
            [&mut garbler, &mut evaluator],
            Stop::Never,
            &mut lie,
            async |process, io| process.meet(io).await,
        );
        let (hears, ended) = match (role, ended) {
            (Role::Garbler, [_, ended]) => (evaluator, ended),
            (Role::Evaluator, [ended, _]) => (garbler, ended),
        };
        assert!(ended.is_err(), "{role:?}");
        let stocks = &hears.stocks;
        let stock = stocks.stocks.find(hears.name.id(), stocks.limits);
        let stock = stock.expect("a disk").expect("it is still there");
        let left = KINDS.map(|kind| stock.available(&kind).expect("a disk"));
        assert_eq!(left, [LOT; 2], "{role:?}");
    }
}

/// A garbler might name an epoch again whose Δ it already knows.
#[test]
fn an_epoch_has_the_number_after_the_last_one() {
    for number in [0, 2, u64::MAX] {
        let [mut garbler, mut evaluator] = Party::pair();
        let (mut garbler, mut evaluator) = (garbler.start(1), evaluator.start(1));
        let mut lie = |kind, message: &mut Vec<u8>| {
            if kind == Kind::NewEpoch {
                message[..8].copy_from_slice(&u64::to_le_bytes(number));
            }
        };
        let [_, ended] = both(
            [&mut garbler, &mut evaluator],
            Stop::Never,
            &mut lie,
            async |process, io| process.meet(io).await,
        );
        assert!(matches!(ended, Err(Error::PeerMisbehaved(_))), "{ended:?}");
        let stocks = &evaluator.stocks.stocks;
        assert!(stocks.list().expect("a folder").is_empty());
    }
}
