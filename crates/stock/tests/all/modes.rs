//! Everything in a stock's folder is accessible to its owner alone.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tacit_stock::{Disk, EpochId, Limits, PeerId, Role, RootKey, StockError, StockId, Stocks};

fn open(folder: &Path) -> Result<Stocks, StockError> {
    Stocks::open(Arc::new(Disk), folder, RootKey::Beside)
}

/// Returns the folder and everything in and below it.
fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(all(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn nothing_in_the_folder_is_open_to_others() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("stock");
    let stocks = open(&folder).unwrap();
    let id = StockId {
        own: PeerId([1; 32]),
        peer: PeerId([2; 32]),
        role: Role::Garbler,
        scheme: *b"test",
        lanes: Default::default(),
    };
    let epoch = EpochId {
        number: 1,
        nonce: [3; 16],
    };
    let _stock = stocks.create(id, epoch, &[4], Limits::default()).unwrap();
    let paths = all(&folder);
    let is_there = |end: &str| {
        let mut names = paths.iter().filter_map(|path| path.to_str());
        names.any(|name| name.ends_with(end))
    };
    assert!(
        is_there("root.key") && is_there("-wal") && is_there("-shm"),
        "{paths:?}"
    );
    for path in paths {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn a_root_key_that_others_may_read_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).unwrap());
    let key = folder.path().join("root.key");
    for (mode, opens) in [(0o644, false), (0o620, false), (0o600, true)] {
        fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
        match open(folder.path()) {
            Ok(_) => assert!(opens, "{mode:o}"),
            Err(error) => {
                let text = error.to_string();
                assert!(!opens && text.contains("0600"), "{mode:o}: {text}");
            }
        }
    }
}
