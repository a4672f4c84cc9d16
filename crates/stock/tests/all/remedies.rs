//! What an error advises can be done in the state that it tells of.

use std::fs;
use std::sync::Arc;

use crate::parties::{EPOCH, id};
use tacit_stock::{Disk, Limits, Role, RootKey, StockError, Stocks};
use tempfile::TempDir;

fn open(folder: &TempDir) -> Result<Stocks, StockError> {
    Stocks::open(Arc::new(Disk), folder.path(), RootKey::Beside)
}

/// `tacit stock new-epoch` finds the stock in the list, so that this cannot be the advice where
/// the list cannot be read.
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
            // Nothing is what a crash leaves that cut the making of a stock.
            Ok(stocks) => assert!(stocks.is_empty() && garbage.is_empty()),
            Err(error) => assert!(error.to_string().contains("remove the folder"), "{error}"),
        }
    }
    let key = folder.path().join("root.key");
    let mut bytes = fs::read(&key).expect("a key");
    bytes[20] ^= 1;
    fs::write(&key, &bytes).expect("written");
    let error = open(&folder).expect_err("a damaged key").to_string();
    assert!(error.contains("remove the folder"), "{error}");
    fs::write(&key, &bytes[..40]).expect("written");
    let error = open(&folder).expect_err("half a key").to_string();
    assert!(
        error.contains("the root key is too short, expected 76 bytes"),
        "{error}"
    );
}
