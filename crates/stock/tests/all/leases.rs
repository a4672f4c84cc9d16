//! Leases of several kinds and by several users of one stock: all or none, and never the same
//! twice.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use crate::parties::{self, OTS, TABLES, open};
use tacit_stock::{
    ComponentDigest, Disk, InstanceSize, Lease, LeaseRequest, Memory, Role, Span, Stock,
    StockError, Storage,
};

/// Creates a garbler's stock with `count` instances of two kinds.
pub(crate) fn stocked(storage: Arc<dyn Storage>, folder: &Path, count: u64) -> Stock {
    let stock = open(storage, folder, Role::Garbler).expect("a stock");
    let preparation = stock.prepare().expect("the lock");
    for kind in [TABLES, OTS] {
        let size = parties::size(Role::Garbler, &kind);
        let span = Span { first: 0, count };
        let lot = preparation.begin_lot(kind, size, span).expect("room");
        lot.put(0, &vec![5; 16 * count as usize], &[])
            .expect("room");
        lot.finish().expect("a sync");
        stock.publish(&kind, 0).expect("pending");
    }
    stock
}

fn wanted(kind: ComponentDigest, least: u64, most: u64) -> LeaseRequest {
    LeaseRequest { kind, least, most }
}

fn spans(lease: &Lease) -> Vec<(u64, u64)> {
    let spans = lease.spans();
    spans.map(|span| (span.first, span.count)).collect()
}

#[test]
fn tables_of_any_length_come_back_as_they_were_put() {
    let stock = open(Arc::new(Memory::new()), Path::new("s"), Role::Garbler).expect("a stock");
    let preparation = stock.prepare().expect("the lock");
    for (number, table_bytes) in (1..).zip([1, 40, (64 << 10) - 1, 64 << 10, 100_000]) {
        let kind = ComponentDigest([number; 32]);
        let size = InstanceSize {
            secret_bytes: 16,
            table_bytes,
        };
        let span = Span { first: 0, count: 3 };
        let lot = preparation.begin_lot(kind, size, span).expect("room");
        let secrets: Vec<u8> = (0..3 * 16).collect();
        let tables: Vec<u8> = (0..3 * table_bytes).map(|place| place as u8).collect();
        let (first, rest) = (16, table_bytes as usize);
        lot.put(1, &secrets[first..], &tables[rest..])
            .expect("room");
        lot.put(0, &secrets[..first], &tables[..rest])
            .expect("room");
        lot.finish().expect("a sync");
        stock.publish(&kind, 0).expect("pending");
        let lease = stock.lease(&kind, 3).expect("in stock");
        let (mut secrets, mut tables) = (secrets.chunks(first), tables.chunks(rest));
        for instance in lease.instances() {
            let instance = instance.expect("as it was put");
            assert_eq!(Some(instance.secret()), secrets.next(), "{table_bytes}");
            assert_eq!(Some(instance.tables()), tables.next(), "{table_bytes}");
        }
    }
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
    drop(stock.lease(&OTS, 4).expect("in stock"));
    let tables = [Span { first: 1, count: 2 }];
    let spent = [Span { first: 3, count: 1 }];
    let error = stock.lease_named(&[(TABLES, &tables), (OTS, &spent)]);
    assert!(matches!(error, Err(StockError::Behind { mark: 4, .. })));
    let absent = [Span { first: 9, count: 2 }];
    let error = stock.lease_named(&[(TABLES, &tables), (OTS, &absent)]);
    assert!(matches!(error, Err(StockError::PeerMisbehaved { .. })));
    // Nothing of the first kind was leased, so it can be leased now.
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
    // Each opens the files separately, as two processes do.
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
    let size = parties::size(Role::Garbler, &OTS);
    for round in 0..10 {
        for first in 8 * round..8 * (round + 1) {
            let preparation = stock.prepare().expect("the lock");
            let span = Span { first, count: 1 };
            let lot = preparation.begin_lot(OTS, size, span).expect("room");
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

/// Creates a garbler's and an evaluator's stock with two published lots of four instances.
pub(crate) fn both_stocked(disks: [&Memory; 2]) -> [Stock; 2] {
    let stocks = both_open(disks);
    let preparations = stocks.each_ref().map(|stock| stock.prepare().expect("it"));
    for (first, tag) in [(0, 1), (4, 2)] {
        let both = preparations.each_ref();
        parties::prepare_lot(both, TABLES, (first, 4), tag).expect("room");
    }
    stocks
}

fn both_open(disks: [&Memory; 2]) -> [Stock; 2] {
    let roles = Role::BOTH;
    let mut opened = disks
        .into_iter()
        .zip(roles)
        .map(|(disk, role)| open(Arc::new(disk.clone()), Path::new("s"), role).expect("a stock"));
    [(); 2].map(|()| opened.next().expect("two"))
}

pub(crate) fn named(lease: &Lease) -> Vec<Span> {
    lease.spans().collect()
}

#[test]
fn what_another_session_overtook_is_followed_once() {
    let disks = [Memory::new(), Memory::new()];
    let [garbler, evaluator] = both_stocked(disks.each_ref());
    // The first session names last. In between, the records meet, with all leases in one of them.
    let leases = [(); 3].map(|()| evaluator.lease(&TABLES, 2).expect("in stock"));
    let mut ledger = parties::Ledger::default();
    for (place, lease) in leases.into_iter().enumerate().rev() {
        let spans = named(&lease);
        let followed = garbler.lease_spans(&TABLES, &spans).expect("not spent");
        assert_eq!(named(&followed), spans);
        ledger.record(Role::Garbler, TABLES, spans.iter().copied());
        parties::use_both(followed, lease, &mut ledger).expect("the same instances");
        let again = garbler.lease_spans(&TABLES, &spans);
        assert!(matches!(again, Err(StockError::Behind { mark: 6, .. })));
        if place == 1 {
            let theirs = evaluator.marks().expect("a record");
            let agreed = garbler.reconcile(&theirs).expect("they agree");
            assert_eq!((agreed.kinds[0].mark, agreed.kinds[0].available), (6, 2));
        }
    }
    assert_eq!(ledger.used, 6);
}

/// A peer that was caught in one session has named the last instances in another, so that the keys
/// of the earlier ones are in memory.
#[test]
fn what_was_passed_over_is_gone_with_what_is_given_up() {
    let disks = [Memory::new(), Memory::new()];
    let [garbler, evaluator] = both_stocked(disks.each_ref());
    let leases = [(); 2].map(|()| named(&evaluator.lease(&TABLES, 2).expect("in stock")));
    drop(garbler.lease_spans(&TABLES, &leases[1]).expect("not spent"));
    garbler.give_up(&[TABLES]).expect("there");
    let passed_over = garbler.lease_spans(&TABLES, &leases[0]);
    assert!(matches!(passed_over, Err(StockError::Behind { .. })));
}

/// Instances can be given up whatever has happened to the lot's file.
#[test]
fn what_is_given_up_is_gone_whatever_its_file_is() {
    let disks = [Memory::new(), Memory::new()];
    let [garbler, evaluator] = both_stocked(disks.each_ref());
    let lots = disks[0].files().into_iter();
    let lots: Vec<_> = lots
        .filter(|file| file.extension().is_some_and(|end| end == "seg"))
        .collect();
    assert!(disks[0].flip_bit(&lots[0], 20));
    disks[0].remove(&lots[1]).expect("a lot");
    assert_eq!(garbler.give_up(&[TABLES]).expect("its keys"), 8);
    assert_eq!(garbler.available(&TABLES).expect("a count"), 0);
    let named = named(&evaluator.lease(&TABLES, 2).expect("in stock"));
    let refused = garbler.lease_spans(&TABLES, &named);
    assert!(matches!(refused, Err(StockError::Behind { mark: 8, .. })));
}

/// The peer publishes or names instances whose other half was given up while it was pending, and
/// whose space is freed.
#[test]
fn what_is_pending_is_gone_with_what_is_given_up() {
    for (publishes, finished) in [(true, true), (false, true), (false, false)] {
        let disks = [Memory::new(), Memory::new()];
        let [garbler, evaluator] = both_open(disks.each_ref());
        let span = Span { first: 0, count: 4 };
        let preparations = [&garbler, &evaluator].map(|stock| stock.prepare().expect("it"));
        let [ours, theirs] = preparations.each_ref().map(|preparation| {
            let size = parties::size(preparation.stock().id().role, &OTS);
            let lot = preparation.begin_lot(OTS, size, span).expect("room");
            lot.put(0, &[5; 64], &[]).expect("room");
            lot
        });
        theirs.finish().expect("a sync");
        let ours = if finished {
            ours.finish().map(|_| None).expect("a sync")
        } else {
            Some(ours)
        };
        garbler.give_up(&[OTS]).expect("its keys");
        ours.map_or(Ok(span), tacit_stock::LotWriter::finish)
            .expect("a sync");
        assert!(garbler.compact().expect("its file") > 0);
        assert_eq!(garbler.summary().expect("a stock").bytes, 0);
        if publishes {
            evaluator.publish(&OTS, 0).expect("pending");
            let named = named(&evaluator.lease(&OTS, 1).expect("published"));
            let refused = garbler.lease_spans(&OTS, &named);
            assert!(matches!(refused, Err(StockError::Behind { mark: 4, .. })));
        }
        // Both follow, whatever the peer has of it.
        let records = [&garbler, &evaluator].map(|stock| stock.marks().expect("a record"));
        for (stock, theirs) in [&garbler, &evaluator].into_iter().zip([1, 0]) {
            let agreed = stock.reconcile(&records[theirs]).expect("they agree");
            let [kind] = &agreed.kinds[..] else {
                panic!("one kind")
            };
            assert_eq!((kind.mark, kind.available, kind.next_number), (4, 0, 4));
        }
    }
}

/// If the keys of one kind cannot be read, the others are given up all the same.
#[test]
fn a_kind_whose_keys_are_damaged_does_not_save_another() {
    let disk = Memory::new();
    let stock = stocked(Arc::new(disk.clone()), Path::new("s"), 4);
    let keys = disk.files().into_iter();
    let mut keys = keys.filter(|file| file.file_name().is_some_and(|name| name == "keys"));
    let keys = keys.next().expect("a key file");
    // Damage both pages of the first kind.
    for page in [2, 3] {
        assert!(disk.flip_bit(&keys, 4096 * page + 100));
    }
    let error = stock.give_up(&[TABLES, OTS]);
    assert!(matches!(error, Err(StockError::Corrupted { .. })));
    assert!(stock.lease(&TABLES, 1).is_err());
    assert_eq!(stock.available(&OTS).expect("a count"), 0);
    // The same must hold if they can be read again.
    for page in [2, 3] {
        assert!(disk.flip_bit(&keys, 4096 * page + 100));
    }
    assert!(stock.lease(&TABLES, 1).is_err());
}

/// A peer names the last instance, and then those that were passed over, one by one.
#[cfg(target_os = "linux")]
#[test]
fn however_many_spans_are_named_a_lot_is_open_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let stock = stocked(Arc::new(Disk), &folder.path().join("s"), 64);
    let open = || {
        let all = std::fs::read_dir("/proc/self/fd").expect("this process's");
        let all = all.filter_map(|one| std::fs::read_link(one.ok()?.path()).ok());
        all.filter(|file| file.starts_with(folder.path())).count()
    };
    let before = open();
    let one = |first| Span { first, count: 1 };
    let last = stock.lease_spans(&TABLES, &[one(63)]).expect("in stock");
    let each: Vec<_> = (0..63).map(one).collect();
    let passed = stock.lease_spans(&TABLES, &each).expect("passed over");
    assert_eq!((last.count(), passed.count()), (1, 63));
    assert_eq!(open(), before + 1);
}

#[test]
fn no_order_of_names_meetings_and_restarts_gives_a_number_twice() {
    const NEVER: usize = 3;
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let places = (0..=NEVER).flat_map(|met| (0..=NEVER).map(move |restarted| (met, restarted)));
    for (order, (met, restarted)) in orders
        .into_iter()
        .flat_map(|order| places.clone().map(move |places| (order, places)))
    {
        let mut disks = [Memory::new(), Memory::new()];
        let [mut garbler, evaluator] = both_stocked(disks.each_ref());
        let leases = [(); 3].map(|()| named(&evaluator.lease(&TABLES, 2).expect("in stock")));
        let (mut ledger, mut given) = (parties::Ledger::default(), 0);
        for (step, place) in order.into_iter().enumerate() {
            if step == met {
                let theirs = evaluator.marks().expect("a record");
                garbler.reconcile(&theirs).expect("they agree");
            }
            if step == restarted {
                disks[0] = disks[0].restart();
                let disk = Arc::new(disks[0].clone());
                garbler = open(disk, Path::new("s"), Role::Garbler).expect("a stock");
            }
            let whole = &leases[place][..];
            let part = [Span {
                count: 1,
                ..whole[0]
            }];
            // A hostile evaluator names the same numbers again, and parts of them.
            for spans in [whole, &part, whole] {
                match garbler.lease_spans(&TABLES, spans) {
                    Ok(lease) => {
                        ledger.record(Role::Garbler, TABLES, lease.spans());
                        given += 1;
                    }
                    Err(StockError::Behind { .. }) => {}
                    Err(other) => panic!("{order:?}, {met}, {restarted}: {other}"),
                }
            }
        }
        // Only a restart forgets what was passed over.
        assert!(given == 3 || restarted < NEVER, "{order:?}, {met}: {given}");
    }
}

#[test]
fn what_was_overtaken_is_given_once_where_the_disk_fails_in_between() {
    let disks = [Memory::new(), Memory::new()];
    let [garbler, evaluator] = both_stocked([&disks[0], &disks[1]]);
    let leases = [(); 3].map(|()| evaluator.lease(&TABLES, 1).expect("in stock"));
    let [first, second, third] = leases.each_ref().map(named);
    drop(garbler.lease_spans(&TABLES, &third).expect("in stock"));
    disks[0].refuse_commits(true);
    // Only numbers ahead need a commit of the mark. Neither kind of numbers is given twice.
    let given = garbler
        .lease_spans(&TABLES, &first)
        .map(|lease| named(&lease));
    let ahead = named(&evaluator.lease(&TABLES, 1).expect("in stock"));
    let error = garbler.lease_named(&[(TABLES, &[second[0], ahead[0]])]);
    assert!(
        matches!(error, Err(StockError::DiskFull { .. })),
        "{error:?}"
    );
    disks[0].refuse_commits(false);
    assert_eq!(given.expect("no commit"), first);
    let again = garbler.lease_spans(&TABLES, &first);
    assert!(matches!(again, Err(StockError::Behind { .. })), "{again:?}");
    let lease = garbler
        .lease_spans(&TABLES, &second)
        .expect("it was not given");
    assert_eq!(named(&lease), second);
    // The keys of the numbers ahead are gone with the written page: nobody gets them again.
    let again = garbler.lease_spans(&TABLES, &ahead);
    assert!(matches!(again, Err(StockError::Behind { .. })), "{again:?}");
}

#[test]
fn what_a_meeting_counts_as_spent_is_followed_by_whom_it_overtook() {
    let disks = [Memory::new(), Memory::new()];
    let [garbler, evaluator] = both_stocked(disks.each_ref());
    let lease = evaluator.lease(&TABLES, 5).expect("in stock");
    let theirs = evaluator.marks().expect("a record");
    let agreed = garbler.reconcile(&theirs).expect("they agree");
    assert_eq!((agreed.kinds[0].mark, agreed.kinds[0].available), (5, 3));
    assert_eq!(garbler.available(&TABLES).expect("a count"), 3);
    // Another process only knows that they are spent.
    let [other, _] = both_open(disks.each_ref());
    let spans = named(&lease);
    let refused = other.lease_spans(&TABLES, &spans);
    assert!(matches!(refused, Err(StockError::Behind { mark: 5, .. })));
    let followed = garbler.lease_spans(&TABLES, &spans).expect("not given");
    let mut ledger = parties::Ledger::default();
    parties::use_both(followed, lease, &mut ledger).expect("the same instances");
    assert_eq!(ledger.used, 5);
}

#[test]
fn what_was_passed_over_is_not_there_after_its_room_was_freed() {
    let disks = [Memory::new(), Memory::new()];
    let [garbler, evaluator] = both_stocked(disks.each_ref());
    let lease = evaluator.lease(&TABLES, 4).expect("in stock");
    garbler.raise_marks(&[(TABLES, 4)]).expect("in stock");
    garbler.compact().expect("room");
    let refused = garbler.lease_spans(&TABLES, &named(&lease));
    assert!(matches!(refused, Err(StockError::Behind { mark: 4, .. })));
}

/// An honest peer has started a lot that this party could not start, and then gave up the kind.
#[test]
fn a_mark_behind_a_lot_that_the_peer_alone_began_is_followed() {
    let disks = [Memory::new(), Memory::new()];
    let [garbler, evaluator] = both_stocked(disks.each_ref());
    let end = evaluator.available(&TABLES).expect("a count");
    let preparation = garbler.prepare().expect("it");
    let (size, span) = (
        parties::size(Role::Garbler, &TABLES),
        Span {
            first: end,
            count: 4,
        },
    );
    drop(preparation.begin_lot(TABLES, size, span).expect("room"));
    garbler.give_up(&[TABLES]).expect("its keys");
    evaluator.raise_marks(&[(TABLES, end + 4)]).expect("honest");
    assert_eq!(evaluator.available(&TABLES).expect("a count"), 0);
    let far = evaluator.raise_marks(&[(TABLES, 1 << 30)]);
    assert!(matches!(far, Err(StockError::PeerMisbehaved { .. })));
}

#[test]
fn what_the_evaluator_published_first_can_be_named_at_once() {
    let disks = [Memory::new(), Memory::new()];
    let [garbler, evaluator] = both_open(disks.each_ref());
    let preparations = [&garbler, &evaluator].map(|stock| stock.prepare().expect("it"));
    for (preparation, first) in preparations
        .iter()
        .flat_map(|preparation| [(preparation, 0), (preparation, 4)])
    {
        let size = parties::size(preparation.stock().id().role, &OTS);
        let span = Span { first, count: 4 };
        let lot = preparation.begin_lot(OTS, size, span).expect("room");
        lot.put(first, &[5; 64], &[]).expect("room");
        lot.finish().expect("a sync");
    }
    // The garbler has not yet learned that the evaluator has them.
    for first in [0, 4] {
        evaluator.publish(&OTS, first).expect("pending");
    }
    assert_eq!(garbler.available(&OTS).expect("a count"), 0);
    let lease = evaluator.lease(&OTS, 6).expect("published");
    let followed = garbler.lease_spans(&OTS, &named(&lease));
    assert_eq!(named(&followed.expect("pending")), named(&lease));
    assert_eq!(garbler.available(&OTS).expect("a count"), 2);
    for first in [0, 4] {
        garbler.publish(&OTS, first).expect("published already");
    }
    let absent = Span { first: 7, count: 2 };
    let refused = garbler.lease_spans(&OTS, &[absent]);
    assert!(matches!(refused, Err(StockError::PeerMisbehaved { .. })));
}
