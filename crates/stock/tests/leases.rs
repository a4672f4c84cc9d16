//! Leases of several kinds and of several users of one stock: all or none, and never the same.

mod parties;

use std::path::Path;
use std::sync::Arc;
use std::thread;

use parties::{OTS, TABLES, open};
use tacit_stock::{
    ComponentDigest, Disk, Lease, Memory, Role, Span, Stock, StockError, Storage, Wanted,
};

/// A garbler's stock with `count` instances of two kinds.
fn stocked(storage: Arc<dyn Storage>, folder: &Path, count: u64) -> Stock {
    let stock = open(storage, folder, Role::Garbler).expect("a stock");
    let preparation = stock.prepare().expect("the lock");
    for kind in [TABLES, OTS] {
        let shape = parties::shape(Role::Garbler, &kind);
        let span = Span { first: 0, count };
        let lot = preparation.begin_lot(kind, shape, span).expect("room");
        lot.put(0, &vec![5; 16 * count as usize], &[])
            .expect("room");
        lot.finish().expect("a sync");
        stock.publish(&kind, 0).expect("pending");
    }
    stock
}

fn wanted(kind: ComponentDigest, least: u64, most: u64) -> Wanted {
    Wanted { kind, least, most }
}

fn spans(lease: &Lease) -> Vec<(u64, u64)> {
    let spans = lease.spans();
    spans.map(|span| (span.first, span.count)).collect()
}

#[test]
fn several_kinds_are_leased_together_or_not_at_all() {
    let stock = stocked(Arc::new(Memory::new()), Path::new("s"), 10);
    let unknown = ComponentDigest([1; 32]);
    for lacking in [wanted(OTS, 11, 20), wanted(unknown, 1, 1)] {
        let error = stock.lease_all(&[wanted(TABLES, 1, 1), lacking]);
        assert!(matches!(error, Err(StockError::Exhausted { .. })));
        assert_eq!(stock.available(&TABLES).expect("a count"), 10);
    }
    let leases = stock.lease_all(&[
        wanted(TABLES, 2, 2),
        wanted(unknown, 0, 5),
        wanted(OTS, 3, 100),
        wanted(TABLES, 1, 4),
    ]);
    let leases: Vec<_> = leases.expect("in stock").iter().map(spans).collect();
    assert_eq!(
        leases,
        [vec![(0, 2)], vec![], vec![(0, 10)], vec![(2, 4)]],
        "the second time a kind is asked for it gives what follows"
    );
    assert_eq!(stock.available(&TABLES).expect("a count"), 4);
}

#[test]
fn named_kinds_are_leased_together_or_not_at_all() {
    let stock = stocked(Arc::new(Memory::new()), Path::new("s"), 10);
    stock.raise_marks(&[(OTS, 4)]).expect("in stock");
    let tables = [Span { first: 1, count: 2 }];
    let spent = [Span { first: 3, count: 1 }];
    let error = stock.lease_named(&[(TABLES, &tables), (OTS, &spent)]);
    assert!(matches!(error, Err(StockError::Behind { mark: 4, .. })));
    let absent = [Span { first: 9, count: 2 }];
    let error = stock.lease_named(&[(TABLES, &tables), (OTS, &absent)]);
    assert!(matches!(error, Err(StockError::PeerMisbehaved { .. })));
    // Nothing of the first kind was leased, so that it can be now.
    let there = [Span { first: 5, count: 1 }];
    let leases = stock.lease_named(&[(TABLES, &tables), (OTS, &there)]);
    let leases: Vec<_> = leases.expect("in stock").iter().map(spans).collect();
    assert_eq!(leases, [[(1, 2)], [(5, 1)]]);
    let marks = stock.marks().expect("a record");
    let marks: Vec<u64> = marks.kinds.iter().map(|kind| kind.leased).collect();
    assert_eq!(marks, [3, 6]);
}

#[test]
fn two_users_of_one_stock_lease_disjoint_ranges() {
    let folder = tempfile::TempDir::new().expect("a folder");
    drop(stocked(Arc::new(Disk), folder.path(), 90));
    // Each opens the files for itself, as two processes do.
    let given = thread::scope(|scope| {
        let users = [(); 3].map(|()| {
            scope.spawn(|| {
                let stock = open(Arc::new(Disk), folder.path(), Role::Garbler).expect("a stock");
                let leases = (0..15).map(|_| {
                    let leases = stock.lease_all(&[wanted(TABLES, 2, 2), wanted(OTS, 1, 1)]);
                    leases.expect("in stock")
                });
                leases.flatten().collect::<Vec<_>>()
            })
        });
        users.map(|user| user.join().expect("no panic"))
    });
    for (kind, count) in [(TABLES, 90), (OTS, 45)] {
        let leases = given.iter().flatten().filter(|lease| lease.kind() == kind);
        let mut numbers: Vec<u64> = leases
            .flat_map(|lease| lease.spans().flat_map(|span| span.first..span.end()))
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..count).collect::<Vec<u64>>());
    }
}

#[test]
fn whoever_clears_strays_and_whoever_compacts_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let stock = open(Arc::new(Disk), folder.path(), Role::Garbler).expect("a stock");
    let shape = parties::shape(Role::Garbler, &OTS);
    for round in 0..10 {
        for first in 8 * round..8 * (round + 1) {
            let preparation = stock.prepare().expect("the lock");
            let span = Span { first, count: 1 };
            let lot = preparation.begin_lot(OTS, shape, span).expect("room");
            lot.put(first, &[5; 16], &[]).expect("room");
            lot.finish().expect("a sync");
            stock.publish(&OTS, first).expect("pending");
        }
        drop(stock.lease(&OTS, 8).expect("as many as there are"));
        thread::scope(|scope| {
            let compacted = scope.spawn(|| stock.compact());
            for _ in 0..10 {
                stock.prepare().expect("the lock, and nothing that fails");
            }
            compacted.join().expect("no panic").expect("room");
        });
    }
}
