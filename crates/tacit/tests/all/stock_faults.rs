//! Stocks with faults: the faults are found and named, damaged parts are never used, and the rest
//! still is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tacit::session::AbortReason;
use tacit::stock::{Preparation, Stocks};
use tacit::{Category, Error, Identity, Job, ProtocolError};
use tacit_stock::Memory;

use crate::pair::{Both, CIPHERTEXT, Pair, ROLES, aes_128_rounds, aes_input};

const ROOM: u64 = 1 << 30;

fn prepare(pair: &Pair) -> Both<()> {
    let function = aes_128_rounds();
    pair.both(|party, session, stocks| {
        let order = Preparation::new(ROLES[party]).enough_for(&function, 2)?;
        order.run(session, stocks).map(drop)
    })
}

/// Runs AES and returns the AND gates that were garbled on the spot.
fn run(pair: &Pair) -> Both<u64> {
    let function = aes_128_rounds();
    pair.both(|party, session, stocks| {
        let (name, value) = aes_input(party);
        let job = Job::new(&function, ROLES[party]).prepared(stocks);
        let outcome = job.input(name, value).run(session)?;
        assert_eq!(outcome.outputs["ciphertext"].to_text(), CIPHERTEXT);
        Ok(outcome.cost.and_gates_on_the_spot)
    })
}

/// Returns the folder of the party's only stock.
fn stock_folder(pair: &Pair, party: usize) -> PathBuf {
    let inside = entries(pair.folder(party)).into_iter();
    let mut stocks = inside.filter(|path| path.to_string_lossy().contains("stock-"));
    stocks.next().expect("a stock")
}

/// Returns the largest of its lots.
fn largest_lot(pair: &Pair, party: usize) -> PathBuf {
    let epoch = entries(&stock_folder(pair, party)).into_iter();
    let epoch = epoch
        .filter(|path| path.is_dir())
        .flat_map(|path| entries(&path));
    let lots = epoch.filter(|path| path.extension().is_some_and(|end| end == "seg"));
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
    lots.max_by_key(size).expect("a lot")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

fn ran(results: Both<u64>, on_the_spot: bool) {
    for result in results {
        assert_eq!(result.expect("a result") > 0, on_the_spot);
    }
}

#[test]
fn a_full_disk_is_said_and_wastes_nothing_else() {
    for full in [0, 1] {
        let mut parties = Pair::in_folders();
        parties.max_bytes[full] = 4500;
        let mut results = prepare(&parties);
        let error = std::mem::replace(&mut results[full], Ok(())).expect_err("no room");
        assert_eq!(error.category(), Category::Stock, "{error}");
        assert!(error.to_string().contains("limit is 4500"), "{error}");
        let told = results[1 - full]
            .as_ref()
            .expect_err("the peer has no room");
        assert!(
            matches!(
                told,
                Error::Protocol(ProtocolError::PeerAborted(AbortReason::NoRoom))
            ),
            "{told}"
        );
        parties.max_bytes[full] = ROOM;
        for result in prepare(&parties) {
            result.expect("room");
        }
        ran(run(&parties), false);
    }
}

#[test]
fn the_peer_of_a_full_disk_hears_why_and_does_not_try_again() {
    for full in [0, 1] {
        let parties = Pair::in_folders();
        let disk = Memory::new();
        let function = aes_128_rounds();
        let prepare = |room_bytes: Option<u64>| {
            disk.limit_bytes(room_bytes);
            parties.both(|party, session, stocks| {
                let small = Stocks::over(Arc::new(disk.clone()), Path::new("s"), ROOM)?;
                let stocks = if party == full { &small } else { stocks };
                let order = Preparation::new(ROLES[party]).enough_for(&function, 2)?;
                order.run(session, stocks).map(drop)
            })
        };
        let results = prepare(Some(10_000));
        let error = results[full].as_ref().expect_err("no room");
        assert_eq!(error.category(), Category::Stock, "{error}");
        let said = error.with_advice();
        assert!(said.contains("the disk is full; free some space"), "{said}");
        let told = results[1 - full]
            .as_ref()
            .expect_err("the peer has no room");
        let reason = Error::Protocol(ProtocolError::PeerAborted(AbortReason::DiskFull));
        assert_eq!(told.to_string(), reason.to_string());
        // `tacit prepare` meets again after network errors, and only after those.
        assert_ne!(told.category(), Category::Network);
        for result in prepare(None) {
            result.expect("room");
        }
    }
}

#[test]
fn a_missing_file_is_named_and_the_rest_goes_on() {
    let parties = Pair::in_folders();
    for result in prepare(&parties) {
        result.expect("room");
    }
    let lot = largest_lot(&parties, 1);
    std::fs::remove_file(&lot).expect("it was there");
    let [_, evaluator] = run(&parties);
    let error = evaluator.expect_err("a file is missing");
    assert_eq!(error.category(), Category::Stock, "{error}");
    let name = lot
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert!(error.to_string().contains(&name), "{error}");
    // A check withdraws it, and what it had is garbled on the spot.
    let stocks = parties.stocks(1);
    let stock = stocks.list().expect("a folder")[0];
    let report = stocks.check(&stock).expect("a stock");
    assert!(report.damaged.iter().any(|damage| damage.withdrawn));
    ran(run(&parties), true);
}

#[test]
fn another_identity_has_another_stock() {
    let mut parties = Pair::in_folders();
    for result in prepare(&parties) {
        result.expect("room");
    }
    let other = Identity::generate().expect("randomness");
    let first = std::mem::replace(&mut parties.identities[0], other);
    let own = stock_folder(&parties, 0);
    ran(run(&parties), true);
    // One party's stock in place of the other's is noticed.
    let inside = entries(parties.folder(0)).into_iter();
    let mut stocks = inside.filter(|path| path.to_string_lossy().contains("stock-"));
    let others = stocks.find(|path| *path != own).expect("another stock");
    std::fs::remove_dir_all(&others).expect("a stock");
    std::fs::rename(&own, &others).expect("a stock");
    let [garbler, _] = run(&parties);
    let error = garbler.expect_err("somebody else's stock");
    assert_eq!(error.category(), Category::Stock, "{error}");
    assert!(error.to_string().contains("identity"), "{error}");
    std::fs::rename(&others, &own).expect("a stock");
    parties.identities[0] = first;
    ran(run(&parties), false);
}
