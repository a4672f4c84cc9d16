//! Tests of chains that must end, and of obstacles to that.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use tacit_stock::{ChainStatus, MAX_LANES, Memory, Policy, write_version};

use super::*;

const CLOUD: (Protocol, Role) = (Protocol::Outsourced, Role::Evaluator);

#[test]
fn what_the_disk_does_not_let_be_killed_is_not_used() {
    let disk = Memory::new();
    let stocks = Stocks::over(Arc::new(disk.clone()), Path::new("s"), 1 << 20).expect("room");
    let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
    let open = |stocks: &Stocks| stocks.chain_with(Keepers::alone((own, peer)), CLOUD, "friends");
    let chain = open(&stocks).expect("room");
    let new = chain.create([7; 16], &Policy::default(), None, b"a split");
    let version = new.expect("room").finish().expect("room");
    chain.publish(version).expect("room");
    disk.refuse_commits(true);
    let killed = stocks.kill_chain(&chain, "a circuit was wrong");
    drop(chain);
    for refused in [killed, open(&stocks.clone()).map(drop)] {
        let error = refused.expect_err("no room").to_string();
        assert!(error.contains("a circuit was wrong"), "{error}");
    }
    disk.refuse_commits(false);
    let chain = open(&stocks).expect("room");
    assert_eq!(chain.marks().expect("a record").status, ChainStatus::Killed);
    chain.remove().expect("room");
    drop(chain);
    let chain = open(&stocks).expect("room");
    assert_eq!(chain.marks().expect("none").status, ChainStatus::Absent);
}

/// A damaged folder of a chain with another peer must not keep a chain alive.
#[test]
fn an_unreadable_chain_with_another_saves_none() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let stocks = Stocks::open(folder.path(), 1 << 20).expect("room");
    let [own, peer, other] = [1, 2, 3].map(|party| Fingerprint([party; 32]));
    let place = (Protocol::Prepared, Role::Garbler);
    let open = |peer| {
        stocks
            .chain_with(Keepers::alone((own, peer)), place, "total")
            .expect("room")
    };
    begin(&open(other), 7);
    let chains = stocks.chains_folder();
    let entries = std::fs::read_dir(&chains).expect("a folder");
    let entries = entries.map(|entry| entry.expect("an entry").path());
    let of_other: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    begin(&open(peer), 8);
    for folder in of_other {
        for file in std::fs::read_dir(folder).expect("a folder") {
            let file = file.expect("an entry").path();
            if file.is_file() {
                std::fs::write(file, "not an index").expect("room");
            }
        }
    }
    stocks.chains().expect_err("one cannot be read");
    let killed = stocks.kill_chains_with(Keepers::alone((own, peer)), Role::Garbler);
    assert_eq!(killed.expect("one that can be read"), ["total"]);
    let marks = open(peer).marks().expect("a record");
    assert_eq!(marks.status, ChainStatus::Killed);
}

fn begin(chain: &Chain, id: u8) {
    let new = chain.create([id; 16], &Policy::default(), None, b"a split");
    let version = new.expect("room").finish().expect("room");
    chain.publish(version).expect("room");
}

/// A service cannot kill a chain. Another process drops it and starts one of the same name.
#[test]
fn a_chain_that_was_dropped_beside_a_service_is_not_killed_under_its_new_id() {
    let disk = Memory::new();
    let both = [(); 2]
        .map(|()| Stocks::over(Arc::new(disk.clone()), Path::new("s"), 1 << 20).expect("room"));
    let [service, command] = &both;
    let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
    let open = |stocks: &Stocks| stocks.chain_with(Keepers::alone((own, peer)), CLOUD, "friends");
    let chain = open(service).expect("room");
    begin(&chain, 7);
    disk.refuse_commits(true);
    let killed = service.kill_chain(&chain, "a circuit was wrong");
    killed.expect_err("no room");
    disk.refuse_commits(false);
    // The run still holds the chain.
    let kept = command.chains().expect("a folder");
    let error = command.drop_chain(&kept[0]).expect_err("it is in use");
    assert_eq!(error.category(), crate::Category::Stock, "{error}");
    drop(chain);
    command.drop_chain(&kept[0]).expect("nobody has it");
    begin(&open(command).expect("nobody has it"), 8);
    // A listing of the old chain does not drop the new one.
    command.drop_chain(&kept[0]).expect_err("it is another one");
    let chain = open(service).expect("it is another one");
    assert_eq!(chain.marks().expect("a record").status, ChainStatus::Live);
}

/// The remedy in the error about another version's stock works on it, and does not affect others.
#[test]
fn a_new_epoch_removes_what_another_version_wrote() {
    let disk = Memory::new();
    let stocks = Stocks::over(Arc::new(disk.clone()), Path::new("s"), 1 << 20).expect("room");
    let [own, peer, other] = [1, 2, 3].map(|party| Fingerprint([party; 32]));
    let place = (Protocol::Prepared, Role::Garbler);
    let name = |peer| StockName {
        own,
        peer,
        role: Role::Garbler,
        scheme: tacit_garble::SchemeId::HALF_GATES_TWO_CALL,
        lanes: Default::default(),
    };
    for party in [other, peer] {
        let epoch = EpochId::generate(0).expect("randomness");
        let stock = stocks
            .stocks
            .create(name(party).id(), epoch, &[], stocks.limits);
        drop(stock.expect("room"));
        begin(
            &stocks
                .chain_with(Keepers::alone((own, party)), place, "total")
                .expect("room"),
            7,
        );
    }
    let is_other = |error: Error| match error {
        Error::Stock(error) => matches!(*error, StockError::Incompatible { found: 9, .. }),
        _ => false,
    };
    let of_chains = id(Keepers::alone((own, peer)), place);
    become_version_9(&disk, Path::new("s"), &name(peer).id());
    become_version_9(&disk, Path::new("s/chains"), &of_chains);
    assert!(is_other(
        stocks.summary(&name(peer)).expect_err("of another version")
    ));
    assert_eq!(stocks.list().expect("a folder").len(), 2);
    stocks.summary(&name(other)).expect("of this version");
    let (chains, failures) = stocks.chains_by_peer().expect("a folder");
    assert_eq!((chains.len(), chains[0].peer), (1, other));
    assert!(failures.into_iter().all(is_other));
    stocks
        .end_epoch(&name(peer))
        .expect("what its message advises");
    assert_eq!(stocks.list().expect("a folder"), [name(other)]);
    assert_eq!(stocks.chains().expect("of this version").len(), 1);
}

/// That version would continue the chains, even if they were copied from elsewhere.
#[test]
fn chains_of_another_version_are_destroyed_although_they_cannot_be_read() {
    let disk = Memory::new();
    let stocks = Stocks::over(Arc::new(disk.clone()), Path::new("s"), 1 << 20).expect("room");
    let [own, peer, other] = [1, 2, 3].map(|party| Fingerprint([party; 32]));
    let (protocol, role) = (Protocol::Authenticated, Role::Garbler);
    for party in [peer, other] {
        let keepers = Keepers::alone((own, party));
        let chain = stocks.chain_with(keepers, (protocol, role), "total");
        begin(&chain.expect("room"), 7);
    }
    assert_eq!(stocks.foreign_chains().expect("a folder"), []);
    let keepers = Keepers::alone((own, peer));
    become_version_9(&disk, Path::new("s/chains"), &id(keepers, (protocol, role)));
    let expected = ForeignChains {
        own,
        peer,
        lanes: Lanes::default(),
        protocol,
        role,
    };
    assert_eq!(stocks.foreign_chains().expect("a folder"), [expected]);
    stocks.chains().expect_err("some are of another version");
    stocks.remove_foreign_chains(&expected).expect("a folder");
    assert_eq!(stocks.foreign_chains().expect("a folder"), []);
    let left = stocks.chains().expect("of this version");
    assert_eq!((left.len(), left[0].peer), (1, other));
}

/// Rewrites a stock as if a later program had written it.
fn become_version_9(disk: &Memory, folder: &Path, id: &StockId) {
    let digest = id.digest();
    let name: String = digest[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let index = folder.join(format!("stock-{name}")).join("index.db");
    write_version(disk, &index, 9).expect("an index");
}

/// A crash while the first chain with a peer begins leaves a folder without a record.
#[test]
fn a_folder_without_a_record_blocks_no_chain() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
    let (keepers, place) = (
        Keepers::alone((own, peer)),
        (Protocol::Prepared, Role::Garbler),
    );
    let open = || Stocks::open(folder.path(), 1 << 20).expect("room");
    let stocks = open();
    drop(stocks.chains_with(keepers, place).expect("room"));
    for of_peer in std::fs::read_dir(stocks.chains_folder()).expect("a folder") {
        let of_peer = of_peer.expect("an entry").path();
        if of_peer.is_dir() {
            std::fs::remove_dir_all(&of_peer).expect("removed");
            std::fs::create_dir(&of_peer).expect("room");
        }
    }
    drop(stocks);
    let stocks = open();
    let homes = stocks.homes_of_chain(keepers, place, "total");
    assert_eq!(homes.expect("no chain is there"), []);
    begin(
        &stocks.chain_with(keepers, place, "total").expect("room"),
        7,
    );
}

/// Sessions with two processes of a peer may both find that there is no chain yet.
#[test]
fn a_chain_starts_with_one_process_of_the_peer() {
    let stocks = Stocks::over(Arc::new(Memory::new()), Path::new("s"), 1 << 20).expect("room");
    let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
    let place = (Protocol::Prepared, Role::Garbler);
    let with = |lane: &str| Keepers {
        lanes: Lanes {
            peer: lane.parse().expect("a name"),
            ..Lanes::default()
        },
        ..Keepers::alone((own, peer))
    };
    let homes = ["b", "c"].map(with);
    let [first, second] = homes.map(|home| stocks.chain_with(home, place, "total").expect("room"));
    let begun = |chain| {
        begin(chain, 7);
        Ok(())
    };
    let started = stocks.start_chain((homes[0], place), "total", || begun(&first));
    started.expect("there is none");
    let again = stocks.start_chain((homes[1], place), "total", || begun(&second));
    assert!(
        matches!(again, Err(Error::ChainsDiffer { .. })),
        "{again:?}"
    );
    let found = stocks.homes_of_chain(homes[1], place, "total");
    assert_eq!(found.expect("readable"), [homes[0].lanes.peer]);
}

/// A peer names one of its processes after another, and each of its runs fails before a chain is
/// there.
#[test]
fn failed_runs_with_many_processes_of_the_peer_leave_room() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let stocks = Stocks::open(folder.path(), 1 << 20).expect("room");
    let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
    let place = (Protocol::Prepared, Role::Garbler);
    let with = |lane: usize| Keepers {
        lanes: Lanes {
            peer: lane.to_string().parse().expect("a name"),
            ..Lanes::default()
        },
        ..Keepers::alone((own, peer))
    };
    begin(&stocks.chain_with(with(0), place, "0").expect("room"), 7);
    for lane in 1..MAX_LANES + 3 {
        drop(stocks.chain_with(with(lane), place, "total").expect("room"));
    }
    for lane in 1..MAX_LANES {
        let name = lane.to_string();
        begin(
            &stocks.chain_with(with(lane), place, &name).expect("room"),
            7,
        );
    }
    // Chains that are there stay.
    let kept = stocks.chains().expect("readable").into_iter();
    let kept: BTreeSet<_> = kept.map(|chain| chain.summary.name).collect();
    assert_eq!(kept, (0..MAX_LANES).map(|lane| lane.to_string()).collect());
    let one_too_many = stocks.chain_with(with(MAX_LANES), place, "total");
    let refused = one_too_many.map(drop).expect_err("no room");
    let Error::Stock(refused) = refused else {
        panic!("{refused}");
    };
    let is_full = matches!(*refused, StockError::TooManyLanes { .. });
    assert!(is_full, "{refused}");
}
