//! What callers guard against, the stock refuses by itself: no call of its interface gives an
//! instance twice.

use std::path::Path;
use std::sync::Arc;

use tacit_stock::{LeasePool, Memory, Span, StockError};

use crate::leases::{both_stocked, named, stocked};
use crate::parties::{OTS, TABLES};

/// Names the same number twice in one request, whether it is still ahead or was passed over: a
/// peer that could do so would have one instance used for two calls.
#[test]
fn spans_that_overlap_or_go_back_are_refused_and_nothing_is_leased() {
    let span = |first, count| Span { first, count };
    for is_passed_over in [false, true] {
        let disks = [Memory::new(), Memory::new()];
        let [garbler, _] = both_stocked(disks.each_ref());
        if is_passed_over {
            drop(garbler.lease_spans(&TABLES, &[span(6, 1)]).expect("ahead"));
        }
        let before = garbler.available(&TABLES).expect("a stock");
        for wrong in [
            [span(0, 2), span(1, 2)],
            [span(0, 2), span(0, 2)],
            [span(0, 3), span(1, 1)],
            [span(2, 1), span(0, 1)],
            [span(0, 1), span(1, 0)],
            [span(0, 1), span(u64::MAX, 1)],
        ] {
            let told = garbler.lease_spans(&TABLES, &wrong);
            let is_refused = matches!(told, Err(StockError::PeerMisbehaved { .. }));
            assert!(is_refused, "{wrong:?}: {told:?}");
        }
        assert_eq!(garbler.available(&TABLES).expect("a stock"), before);
        let right = [span(0, 2), span(2, 1)];
        let lease = garbler.lease_spans(&TABLES, &right).expect("not spent");
        assert_eq!(named(&lease), right);
    }
}

/// Two stocks have the same numbers of a kind, so a lease of one may not follow that of the other.
#[test]
fn a_lease_has_no_number_twice_and_one_kind() {
    let lease = |kind, count| {
        let stock = stocked(Arc::new(Memory::new()), Path::new("s"), 4);
        stock.lease(&kind, count).expect("in stock")
    };
    let mut pool = LeasePool::new();
    pool.add(lease(TABLES, 2)).expect("the first");
    let again = pool.add(lease(TABLES, 3));
    assert!(matches!(again, Err(StockError::ApiMisuse { .. })));
    assert_eq!(pool.count(&TABLES), 2);
    let (mut tables, mut ots) = (lease(TABLES, 1), lease(OTS, 2));
    drop(ots.take(1).expect("in the lease"));
    let other = tables.extend(ots);
    assert!(matches!(other, Err(StockError::ApiMisuse { .. })));
    assert_eq!(tables.count(), 1);
}

/// A peer's mark may be ahead of the numbers that were begun here. It takes no number that nobody
/// began here, however often it is said.
#[test]
fn a_mark_is_not_raised_beyond_the_numbers_that_were_begun() {
    let disks = [Memory::new(), Memory::new()];
    let [garbler, _] = both_stocked(disks.each_ref());
    for ahead in [5, 100] {
        let marks = [(TABLES, 8 + ahead)];
        garbler
            .raise_marks(&marks)
            .expect("a lot of the peer alone");
        let marks = garbler.marks().expect("a record");
        let of_kind = marks.kinds.iter().find(|marks| marks.kind == TABLES);
        let of_kind = of_kind.map(|marks| (marks.leased, marks.reserved));
        assert_eq!(of_kind, Some((8, 8)));
    }
    let far = garbler.raise_marks(&[(TABLES, u64::MAX)]);
    assert!(matches!(far, Err(StockError::PeerMisbehaved { .. })));
}
