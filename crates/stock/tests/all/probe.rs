//! The probe that a service repeats on its stocks' folder.

use std::path::Path;
use std::sync::Arc;

use tacit_stock::{Disk, Memory, RootKey, StockError, Stocks};

#[test]
fn a_full_disk_shows() {
    let disk = Memory::new();
    let stocks = Stocks::open(Arc::new(disk.clone()), Path::new("s"), RootKey::Beside);
    let stocks = stocks.expect("room");
    stocks.probe().expect("room");
    disk.limit_bytes(Some(0));
    let full = stocks.probe().expect_err("no room");
    assert!(matches!(full, StockError::DiskFull { .. }), "{full}");
    disk.limit_bytes(None);
    stocks.probe().expect("room");
    let left = disk.files();
    assert!(!left.iter().any(|file| file.ends_with("probe")), "{left:?}");
}

#[test]
fn a_folder_that_can_only_be_read_shows() {
    let disk = Memory::new();
    let stocks = Stocks::open(Arc::new(disk.clone()), Path::new("s"), RootKey::Beside);
    let stocks = stocks.expect("room");
    disk.set_read_only(true);
    let refused = stocks.probe().expect_err("nothing is written").to_string();
    assert!(refused.contains("read-only"), "{refused}");
    disk.set_read_only(false);
    stocks.probe().expect("room");
}

#[test]
fn a_folder_that_is_gone_or_another_shows() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("stock");
    let open = || Stocks::open(Arc::new(Disk), &folder, RootKey::Beside).expect("room");
    let stocks = open();
    stocks.probe().expect("room");
    std::fs::remove_dir_all(&folder).expect("it was there");
    let gone = stocks.probe().expect_err("it is gone").to_string();
    assert!(gone.contains("root.key: cannot open it"), "{gone}");
    assert!(!folder.exists(), "a probe makes no folder");
    open().probe().expect("a new one");
    let other = stocks.probe().expect_err("it is another").to_string();
    assert!(other.contains("another one"), "{other}");
}
