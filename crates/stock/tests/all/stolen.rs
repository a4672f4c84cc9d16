//! What a thief of the disk finds, with the root key that is on it: nothing that was used, and
//! nothing of what has ended.

use std::path::Path;
use std::sync::Arc;

use crate::parties::{self, OTS, TABLES, open};
use tacit_stock::{EpochId, Memory, Policy, Role, Span, Stock};

const PAGE_BYTES: usize = 4096;
const NEXT: EpochId = EpochId {
    number: 2,
    nonce: [4; 16],
};

/// Creates a stock on a disk, with four instances.
fn stocked() -> (Memory, Stock) {
    let disk = Memory::new();
    let stock = open(Arc::new(disk.clone()), Path::new("s"), Role::Garbler).expect("a stock");
    let preparation = stock.prepare().expect("the lock");
    let size = parties::size(Role::Garbler, &TABLES);
    let span = Span { first: 0, count: 4 };
    let lot = preparation.begin_lot(TABLES, size, span).expect("a lot");
    lot.put(0, &[0xab; 64], &[]).expect("room");
    lot.finish().expect("a sync");
    stock.publish(&TABLES, 0).expect("pending");
    drop(preparation);
    (disk, stock)
}

/// Returns the offsets on the disk of the files that start with `magic`.
fn files(disk: &[u8], magic: [u8; 8]) -> Vec<usize> {
    let places = disk.windows(8).enumerate();
    let places = places.filter(|(_, bytes)| *bytes == magic);
    places.map(|(place, _)| place).collect()
}

/// Returns which of a disk's secrets, 32 bytes each at these places, are still on it later.
fn left(before: &[u8], places: impl Iterator<Item = usize>, after: &Memory) -> Vec<usize> {
    let after = after.stolen();
    let is_left = |place: &usize| {
        let secret = &before[*place..][..32];
        assert!(secret.iter().any(|byte| *byte != 0), "no secret at {place}");
        after.windows(32).any(|bytes| bytes == secret)
    };
    places.filter(is_left).collect()
}

#[test]
fn secrets_are_sealed_and_what_was_used_is_not_leased_from_a_copy() {
    // The thief of a lease has the disk afterwards.
    let (disk, stock) = stocked();
    let before = disk.copy();
    drop(stock.lease(&TABLES, 2).expect("in stock"));
    let thief = |disk: Memory| {
        let stock = open(Arc::new(disk), Path::new("s"), Role::Garbler).expect("a stock");
        let lease = stock.lease(&TABLES, 1).expect("in stock");
        lease.spans().next().expect("one").first
    };
    assert_eq!(
        thief(before.copy()),
        0,
        "an old copy opens: that is what a backup is"
    );
    assert_eq!(thief(disk.copy()), 2);
    for stolen in [before.stolen(), disk.stolen()] {
        let unsealed = stolen.windows(16).any(|window| window == [0xab; 16]);
        assert!(!unsealed, "secrets lie on the disk unsealed");
    }
}

/// The keys of used instances are sealed in pages of the key file, under its epoch's key, which the
/// thief has. As long as one page holds them, the instances can be opened.
#[test]
fn no_page_of_the_key_file_opens_what_was_used() {
    let (disk, stock) = stocked();
    let before = disk.stolen();
    drop(stock.lease(&TABLES, 2).expect("in stock"));
    let file = files(&before, *b"TACITKEY")[0];
    // Behind the mark, in both pages of the first kind.
    let pages = [2, 3].map(|page| file + page * PAGE_BYTES + 8);
    assert!(left(&before, pages.into_iter(), &disk).is_empty());
}

/// The content of a lot that was never published is still on the disk, and so is the epoch's key.
#[test]
fn no_page_of_the_key_file_opens_what_was_forgotten() {
    let (disk, stock) = stocked();
    let mut preparation = stock.prepare().expect("the lock");
    let size = parties::size(Role::Garbler, &OTS);
    let span = Span { first: 0, count: 4 };
    let lot = preparation.begin_lot(OTS, size, span).expect("a lot");
    lot.put(0, &[0xab; 64], &[]).expect("room");
    drop(lot);
    let before = disk.stolen();
    preparation.forget(&[OTS]).expect("a disk");
    let file = files(&before, *b"TACITKEY")[0];
    // Behind the mark, in both pages of the second kind.
    let pages = [4, 5].map(|page| file + page * PAGE_BYTES + 8);
    assert!(left(&before, pages.into_iter(), &disk).is_empty());
}

/// An epoch ends when a peer may know its Δ, and its key would open all remaining instances.
#[test]
fn the_key_of_an_epoch_that_has_ended_is_overwritten() {
    let begin_anew = |stock: Stock| drop(stock.new_epoch(NEXT, b"").expect("a disk"));
    let destroy = |stock: Stock| {
        let preparation = stock.prepare().expect("the lock");
        preparation.destroy().expect("a disk");
    };
    for end in [begin_anew as fn(Stock), destroy] {
        let (disk, stock) = stocked();
        let before = disk.stolen();
        end(stock);
        let files = files(&before, *b"TACITKEY");
        assert!(!files.is_empty());
        let keys = files.into_iter().map(|file| file + PAGE_BYTES);
        assert!(left(&before, keys, &disk).is_empty());
    }
}

/// Half of a value's key is in its file, and the other half in the epoch's.
#[test]
fn a_value_that_was_destroyed_has_no_key() {
    let (disk, stock) = stocked();
    let chain = stock.chain("friends").expect("free");
    let new = chain.create([5; 16], &Policy::default(), None, b"a state");
    let mut new = new.expect("room");
    new.put("a value", b"its labels").expect("room");
    new.finish().expect("durable");
    chain.publish(1).expect("pending");
    let half = |file: usize| file + 12;
    let before = disk.stolen();
    let values = files(&before, *b"TACITVAL");
    assert_eq!(values.len(), 2);
    chain.begin_attempt(1, b"the next state").expect("durable");
    let kept = left(&before, values.iter().copied().map(half), &disk);
    assert_eq!(kept.len(), 1, "of the state and the value");
    chain.remove().expect("durable");
    assert!(left(&before, values.into_iter().map(half), &disk).is_empty());
}
