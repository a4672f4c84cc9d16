//! The remedy that an error advises can be carried out in the state that the error reports.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::parties::{EPOCH, id};
use tacit_stock::{Disk, Limits, Memory, Repair, Role, RootKey, StockError, Stocks, Storage as _};
use tempfile::TempDir;

fn open(folder: &TempDir) -> Result<Stocks, StockError> {
    Stocks::open(Arc::new(Disk), folder.path(), RootKey::Beside)
}

fn is_to_be_removed(error: &StockError) -> bool {
    use Repair::Remove;
    matches!(error, StockError::Corrupted { repair: Remove, .. })
}

/// `tacit stock new-epoch` looks for the stock in the list, so it cannot be the remedy if the list
/// cannot be read.
#[test]
fn what_a_new_epoch_needs_to_read_is_to_be_removed() {
    let folder = TempDir::new().expect("a folder");
    let stocks = open(&folder).expect("a folder");
    let stock = stocks.create(id(Role::Garbler), EPOCH, b"", Limits::default());
    drop(stock.expect("a stock"));
    let names = fs::read_dir(folder.path()).expect("a folder");
    let mut names = names.map(|entry| entry.expect("an entry").path());
    let stock = names.find(|path| path.is_dir()).expect("a stock");
    for garbage in [&b"garbage"[..], &[0; 5000], b""] {
        for file in ["index.db", "index.db-wal", "index.db-shm"] {
            let _ = fs::remove_file(stock.join(file));
        }
        fs::write(stock.join("index.db"), garbage).expect("written");
        match stocks.list() {
            // A crash while a stock is created leaves nothing that counts.
            Ok(stocks) => assert!(stocks.is_empty() && garbage.is_empty()),
            Err(error) => assert!(is_to_be_removed(&error), "{error}"),
        }
    }
    let key = folder.path().join("root.key");
    let mut bytes = fs::read(&key).expect("a key");
    bytes[20] ^= 1;
    fs::write(&key, &bytes).expect("written");
    let error = open(&folder).expect_err("a damaged key");
    assert!(is_to_be_removed(&error), "{error}");
    fs::write(&key, &bytes[..40]).expect("written");
    let error = open(&folder).expect_err("half a key").to_string();
    assert!(
        error.contains("the root key is too short, expected 76 bytes"),
        "{error}"
    );
}

/// An index that comes back without its epoch stops every session until it is removed again.
#[test]
fn a_removed_stock_stays_removed_when_the_power_fails() {
    let (id, limits) = (id(Role::Garbler), Limits::default());
    for seed in 0..8 {
        let disk = Memory::new();
        let open = |disk: &Memory| {
            let stocks = Stocks::open(Arc::new(disk.clone()), Path::new("s"), RootKey::Beside);
            stocks.expect("a disk")
        };
        let stocks = open(&disk);
        drop(stocks.create(id, EPOCH, b"", limits).expect("a stock"));
        disk.lose_power_at(u64::MAX, seed);
        stocks.remove(&id).expect("unlocked");
        let gone = open(&disk.restart()).stock(id, limits);
        assert!(
            matches!(gone, Err(StockError::Missing { .. })),
            "seed {seed}: {gone:?}"
        );
    }
}

/// A session that has the stock open must not continue under a Δ that a peer may know.
#[test]
fn a_destroyed_stock_gives_nothing_to_who_has_it_open() {
    let folder = TempDir::new().expect("a folder");
    let stocks = open(&folder).expect("a folder");
    let (id, limits) = (id(Role::Garbler), Limits::default());
    let made = stocks.create(id, EPOCH, b"an offset", limits);
    let right = made.expect("a stock").prepare().expect("nobody prepares");
    let other = stocks.stock(id, limits).expect("a stock");
    assert_eq!(**other.epoch_secret().expect("a secret"), *b"an offset");
    right.destroy_keys().expect("a disk");
    for refused in [
        other.epoch_secret().map(drop),
        other.in_epoch(|| Ok(())),
        other.marks().map(drop),
    ] {
        assert!(matches!(refused, Err(StockError::EpochEnded { .. })));
    }
    // No new stock takes its place either, before everything that depends on it has ended.
    let again = stocks.stock(id, limits).expect_err("no keys");
    assert!(!matches!(again, StockError::Missing { .. }), "{again}");
    right.destroy().expect("a disk");
    let gone = stocks.stock(id, limits).expect_err("no stock");
    assert!(matches!(gone, StockError::Missing { .. }), "{gone}");
}

/// Sessions that have the stock open would continue, so the caller that destroys it must get an
/// error.
#[test]
fn a_disk_that_does_not_record_the_end_of_a_stock_is_no_success() {
    let disk = Memory::new();
    let stocks = Stocks::open(Arc::new(disk.clone()), Path::new("stocks"), RootKey::Beside);
    let (id, limits) = (id(Role::Garbler), Limits::default());
    let made = stocks.expect("room").create(id, EPOCH, b"", limits);
    let right = made.expect("a stock").prepare().expect("nobody prepares");
    disk.refuse_commits(true);
    right.destroy_keys().expect_err("a full disk");
    disk.refuse_commits(false);
    right.destroy_keys().expect("room");
}

/// A full disk accepts no commit. The stock is removed from it all the same, since that makes room.
/// The caller gets an error, because sessions that have the stock open were not told.
#[test]
fn a_stock_goes_from_a_full_disk() {
    for is_preparing in [false, true] {
        let disk = Memory::new();
        let stocks = Stocks::open(Arc::new(disk.clone()), Path::new("stocks"), RootKey::Beside);
        let (stocks, id) = (stocks.expect("room"), id(Role::Garbler));
        let made = stocks.create(id, EPOCH, b"an offset", Limits::default());
        let stock = made.expect("a stock");
        disk.refuse_commits(true);
        let removed = if is_preparing {
            stock.prepare().expect("nobody prepares").destroy()
        } else {
            drop(stock);
            stocks.remove(&id)
        };
        let error = removed.expect_err("a commit that a full disk refuses");
        assert!(matches!(error, StockError::DiskFull { .. }), "{error}");
        disk.refuse_commits(false);
        assert!(stocks.list().expect("a folder").is_empty());
        let files = disk.files();
        let left = files.iter().any(|file| file.ends_with("keys"));
        assert!(!left, "{files:?}");
    }
}

/// The things that end with a stock end once nobody can do anything more in its epoch. If they fail
/// to end, the stock stays in the list.
#[test]
fn a_stock_is_there_until_what_rests_on_it_has_ended() {
    let disk = Memory::new();
    let stocks = Stocks::open(Arc::new(disk), Path::new("stocks"), RootKey::Beside);
    let (stocks, id) = (stocks.expect("room"), id(Role::Garbler));
    let made = stocks.create(id, EPOCH, b"an offset", Limits::default());
    let open = made.expect("a stock");
    assert_eq!(open.in_epoch(|| Ok(7)).expect("an epoch"), 7);
    let failed = stocks.remove_after(&id, || {
        assert!(matches!(
            open.in_epoch(|| Ok(7)),
            Err(StockError::EpochEnded { .. })
        ));
        let what = "a chain that does not end".to_owned();
        Err::<(), _>(StockError::ApiMisuse { what })
    });
    failed.expect_err("a chain that does not end");
    assert_eq!(stocks.list().expect("a folder"), [id]);
    let done = stocks.remove_after(&id, || Ok::<_, StockError>(7));
    assert_eq!(done.expect("a disk"), 7);
    assert!(stocks.list().expect("a folder").is_empty());
}

/// A stock is gone only if its folder is: what else is in the way is an error, and a folder that is
/// gone already is none.
#[test]
fn a_folder_that_cannot_be_removed_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("stock");
    fs::create_dir(&at).expect("a folder");
    fs::write(at.join("keys"), "keys").expect("a file");
    for _ in 0..2 {
        Disk.remove_folder(&at).expect("gone");
        assert!(!at.exists());
    }
    fs::write(&at, "no folder").expect("a file");
    Disk.remove_folder(&at).expect_err("a file");
    assert!(at.exists());
}
