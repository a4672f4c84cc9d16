//! Sets of secrets, each taken once: after any crash, by any process, from any disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tacit_stock::{
    Memory, PeerId, Role, RootKey, SchemeId, StockError, StockId, Stocks, Storage, WhichSet,
};
use zeroize::Zeroizing;

const ID: StockId = StockId {
    own: PeerId([1; 32]),
    peer: PeerId([2; 32]),
    role: Role::Garbler,
    scheme: SchemeId(*b"sets"),
};

fn stocks(disk: &Memory) -> Stocks {
    let disk = Arc::new(disk.clone());
    Stocks::open(disk, Path::new("s"), RootKey::Beside).expect("a folder")
}

/// Sets 0 to 9, of 700 bytes each.
fn put(disk: &Memory, batch: u8) {
    put_under(disk, &ID, batch);
}

fn put_under(disk: &Memory, id: &StockId, batch: u8) {
    let sets: Vec<_> = (0..10)
        .map(|number| (number, Zeroizing::new(vec![100 + number as u8; 700])))
        .collect();
    let put = stocks(disk).put_sets(id, [batch; 16], &sets);
    put.expect("room");
}

/// The number of the set that is taken, whose bytes are its own.
fn take(disk: &Memory, which: WhichSet) -> Option<u16> {
    let taken = stocks(disk).take_set(&ID, which).expect("a disk");
    taken.map(|taken| {
        assert_eq!(*taken.secret, vec![100 + taken.number as u8; 700]);
        taken.number
    })
}

fn named(batch: u8, number: u16) -> WhichSet {
    let batch = [batch; 16];
    WhichSet::Named { batch, number }
}

#[test]
fn each_set_is_taken_once() {
    let disk = Memory::new();
    assert_eq!(take(&disk, WhichSet::First), None);
    put(&disk, 1);
    assert_eq!(take(&disk, WhichSet::First), Some(0));
    assert_eq!(take(&disk, WhichSet::Last), Some(9));
    assert_eq!(take(&disk, named(1, 4)), Some(4));
    for gone in [named(1, 4), named(1, 0), named(2, 5), named(1, 10)] {
        assert_eq!(take(&disk, gone), None);
    }
    let left: Vec<_> = (0..8).map_while(|_| take(&disk, WhichSet::First)).collect();
    assert_eq!(left, [1, 2, 3, 5, 6, 7, 8]);
    // Another batch takes the place of the first.
    put(&disk, 2);
    assert_eq!(take(&disk, named(1, 3)), None);
    assert_eq!(take(&disk, named(2, 3)), Some(3));
    assert_eq!(stocks(&disk).sets().expect("a disk"), [(ID, 9)]);
}

#[test]
fn a_set_that_was_taken_stays_so_when_the_power_goes() {
    for seed in 0..40 {
        let disk = Memory::new();
        put(&disk, 1);
        disk.lose_power_at(u64::MAX, seed);
        assert_eq!(take(&disk, named(1, 6)), Some(6));
        let disk = disk.restart();
        assert_eq!(take(&disk, named(1, 6)), None, "seed {seed}");
        assert_eq!(take(&disk, named(1, 7)), Some(7), "seed {seed}");
    }
}

#[test]
fn a_loss_of_power_at_any_point_gives_no_set_twice_and_no_wrong_one() {
    for (point, seed) in (0..40).flat_map(|point| (0..6).map(move |seed| (point, seed))) {
        let disk = Memory::new();
        put(&disk, 1);
        disk.lose_power_at(disk.points() + point, seed);
        let attempt = |which| stocks_after(&disk)?.take_set(&ID, which).ok().flatten();
        let mut taken: Vec<_> = (0..4)
            .filter_map(|_| attempt(WhichSet::First))
            .map(|taken| taken.number)
            .collect();
        let disk = disk.restart();
        taken.extend((0..12).map_while(|_| take(&disk, WhichSet::First)));
        let mut once = taken.clone();
        once.dedup();
        assert_eq!(once, taken, "point {point}, seed {seed}");
    }
}

/// The stocks, if the disk still has power.
fn stocks_after(disk: &Memory) -> Option<Stocks> {
    let disk = Arc::new(disk.clone());
    Stocks::open(disk, Path::new("s"), RootKey::Beside).ok()
}

#[test]
fn what_is_damaged_counts_as_taken() {
    let disk = Memory::new();
    put(&disk, 1);
    let file = &files(&disk)[0];
    assert!(disk.flip_bit(file, 119 + 2 * 740 + 100));
    assert_eq!(take(&disk, named(1, 2)), None);
    assert_eq!(take(&disk, named(1, 3)), Some(3));
    assert!(disk.flip_bit(file, 13));
    assert_eq!(take(&disk, WhichSet::First), None);
    // No file is read beyond what it has.
    put(&disk, 1);
    assert_eq!(take(&disk, WhichSet::First), Some(0));
}

/// The content of a file.
fn content(disk: &Memory, file: &Path) -> Vec<u8> {
    let file = disk.open(file).expect("a file");
    let mut bytes = vec![0; file.len().expect("a disk") as usize];
    file.read_at(&mut bytes, 0).expect("a disk");
    bytes
}

/// Base OTs of one peer would serve sessions with another, who shares Δ with the first then.
#[test]
fn sets_that_are_kept_with_another_are_not_taken() {
    let disk = Memory::new();
    let other = StockId {
        peer: PeerId([9; 32]),
        ..ID
    };
    put_under(&disk, &other, 1);
    let of_other = files(&disk);
    put(&disk, 2);
    let own = files(&disk);
    let own = own.iter().find(|file| !of_other.contains(file));
    let file = disk.open(own.expect("a file")).expect("a file");
    file.write_at(&content(&disk, &of_other[0]), 0)
        .expect("a disk");
    for which in [WhichSet::First, WhichSet::Last, named(1, 3)] {
        assert_eq!(take(&disk, which), None);
    }
}

/// A thief of the disk and its key would open sets that were to be forgotten.
#[test]
fn nothing_of_a_longer_batch_stays_behind_a_shorter_one() {
    let disk = Memory::new();
    put(&disk, 1);
    let file = &files(&disk)[0];
    let all = content(&disk, file).len();
    let sets = [(0, Zeroizing::new(vec![100; 700]))];
    let put = stocks(&disk).put_sets(&ID, [2; 16], &sets);
    put.expect("room");
    let content = content(&disk, file);
    assert_eq!(content.len(), all);
    // A header, and a set with what seals it.
    let behind = &content[all - 9 * 740..];
    assert!(behind.iter().all(|byte| *byte == 0));
    assert_eq!(take(&disk, WhichSet::Last), Some(0));
}

/// The files of sets.
fn files(disk: &Memory) -> Vec<PathBuf> {
    let mut files = disk.files();
    files.retain(|file| file.extension().is_some_and(|end| end == "keys"));
    files
}

#[test]
fn what_is_kept_with_others_is_destroyed() {
    let disk = Memory::new();
    let other = StockId {
        peer: PeerId([9; 32]),
        ..ID
    };
    for id in [ID, other] {
        put_under(&disk, &id, 1);
    }
    let retained =
        |disk: &Memory, peer| stocks(disk).retain_sets(|id| id.peer == PeerId([peer; 32]));
    retained(&disk, 2).expect("a disk");
    assert_eq!(files(&disk).len(), 1);
    let disk = disk.restart();
    let gone = stocks(&disk).take_set(&other, WhichSet::First);
    assert!(gone.expect("a disk").is_none());
    assert_eq!(take(&disk, WhichSet::First), Some(0));
    // What says no name goes, too.
    assert!(disk.flip_bit(&files(&disk)[0], 20));
    retained(&disk, 2).expect("a disk");
    assert_eq!(files(&disk), [] as [PathBuf; 0]);
}

#[test]
fn who_holds_a_file_of_sets_stops_nobody_for_long() {
    let disk = Memory::new();
    put(&disk, 1);
    let lock = files(&disk)[0].with_extension("lock");
    let held = disk.try_lock(&lock).expect("a disk");
    let taken = stocks(&disk).take_set(&ID, WhichSet::First);
    assert!(matches!(taken, Err(StockError::Busy { .. })));
    drop(held);
    assert_eq!(take(&disk, WhichSet::First), Some(0));
}
