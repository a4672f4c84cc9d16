//! What ends with a stock that is destroyed: chains, those in use as well, and base OTs.

use std::sync::Arc;

use tacit::{Identity, Preparation};
use tacit_stock::{Disk, PeerId, RootKey, SchemeId, StockId, WhichSet};

use super::{CHAIN, Parties, ROLES, add, both, function};

/// Begins a chain with a number of the evaluator's, which takes OTs.
const BEGIN_BY_EVALUATOR: &str = r#"{
    "tacit_function": 1,
    "name": "begin",
    "inputs": [{ "name": "first", "type": "u8", "owner": "evaluator" }],
    "outputs": [{ "name": "total", "type": "u8", "to": "saved", "value": "first" }]
}"#;

/// Whoever destroys a stock has reason to think that the peer knows its Δ. From the rows that bring
/// a value into a run, that peer would learn the next Δ, too.
#[test]
fn a_chain_ends_with_the_stock_that_is_destroyed() {
    let parties = Parties::in_folders();
    both(parties.begin(10));
    for party in [0, 1] {
        let stocks = parties.stocks(party).expect("power");
        let names = stocks.list().expect("a list");
        let ended = names
            .iter()
            .flat_map(|name| stocks.end_epoch(name).expect("nobody uses it"));
        assert_eq!(ended.collect::<Vec<_>>(), [CHAIN]);
    }
    for refused in parties.add(1) {
        let error = refused.expect_err("a chain that has ended").to_string();
        assert!(
            error.contains("was destroyed") || error.contains("stopped"),
            "{error}"
        );
    }
}

/// A disk that went back has base OTs again that were used before: a peer that keeps what it saw
/// would learn their Δ from a semi-honest run. The remedy for such a disk is a new epoch.
#[test]
fn a_new_epoch_forgets_base_ots_that_are_kept_with_the_peer() {
    let parties = Parties::in_folders();
    both(parties.begin(10));
    let folder = parties.folders.as_ref().expect("folders").path().join("0");
    let [own, peer] = parties.identities.each_ref().map(Identity::fingerprint);
    let kept = tacit_stock::Stocks::open(Arc::new(Disk), &folder, RootKey::Beside);
    let kept = kept.expect("a folder");
    let with = |peer: [u8; 32]| StockId {
        own: PeerId(own.0),
        peer: PeerId(peer),
        role: tacit_stock::Role::Evaluator,
        scheme: SchemeId(*b"sets"),
    };
    let others = [with(peer.0), with([9; 32])];
    for id in &others {
        let set = (0, vec![7; 32].into());
        kept.put_sets(id, [1; 16], &[set]).expect("room");
    }
    let stocks = parties.stocks(0).expect("a folder");
    for name in stocks.list().expect("a list") {
        stocks.end_epoch(&name).expect("nobody uses it");
    }
    let left = others.map(|id| kept.take_set(&id, WhichSet::First).expect("a disk"));
    assert_eq!(left.map(|set| set.is_some()), [false, true]);
}

/// A run has its chain open, so that nobody else can open it: it is killed all the same. And what a
/// run begins to keep after its stock is destroyed is under the Δ that is not to be used any more,
/// whether the peer keeps it as well or leaves this party with a version that waits.
#[test]
fn a_stock_that_is_destroyed_during_a_run_ends_its_chain() {
    for (begins, breaks) in [(false, false), (true, false), (true, true)] {
        // Only memory can refuse.
        let parties = if breaks {
            Parties::new()
        } else {
            Parties::in_folders()
        };
        let (function, input) = match begins {
            true => (function(BEGIN_BY_EVALUATOR), "first"),
            false => (add(), "step"),
        };
        if !begins {
            both(parties.begin(10));
        }
        let prepared = parties.meet(|party, session, stocks| {
            let order = Preparation::new(ROLES[party]).enough_for(&function, 1)?;
            order.run(session, stocks).map(drop)
        });
        for made in prepared {
            made.expect("room");
        }
        let destroyed = parties.run_as(&function, |party, job| match party {
            0 => {
                let stocks = parties.stocks(0).expect("a folder");
                job.chain(CHAIN).watch_taken(move |_| {
                    for name in stocks.list().expect("a list") {
                        stocks.end_epoch(&name).expect("nobody prepares");
                    }
                })
            }
            _ => {
                let disk = parties.disks[1].clone();
                let job = job.watch_taken(move |_| disk.refuse_commits(breaks));
                job.chain(CHAIN).input(input, 1_u8)
            }
        });
        for ended in destroyed {
            let error = ended.expect_err("no stock").to_string();
            assert!(!error.contains("misbehaved"), "{error}");
        }
        let chains = parties.stocks(0).expect("a folder").chains();
        for chain in chains.expect("a folder") {
            assert!(chain.summary.killed.is_some(), "{begins} {breaks}");
        }
    }
}
