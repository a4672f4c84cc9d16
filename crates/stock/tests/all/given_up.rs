//! Material that is given up is gone for everyone who has the stock open.

use std::path::Path;
use std::sync::Arc;

use crate::parties::{self, TABLES, open};
use tacit_stock::{Memory, Role, Span, Stock, StockError};

const EARLY: Span = Span { first: 0, count: 2 };
const LATE: Span = Span { first: 2, count: 2 };

/// Opens one stock of four instances in two processes, of which the first has passed over two.
fn open_twice() -> (Memory, [Stock; 2]) {
    let disk = Memory::new();
    let handles = [(); 2].map(|()| {
        let stock = open(Arc::new(disk.clone()), Path::new("s"), Role::Garbler);
        stock.expect("a stock")
    });
    let preparation = handles[0].prepare().expect("the lock");
    let size = parties::size(Role::Garbler, &TABLES);
    let span = Span { first: 0, count: 4 };
    let lot = preparation.begin_lot(TABLES, size, span).expect("a lot");
    lot.put(0, &[5; 64], &[]).expect("room");
    lot.finish().expect("a sync");
    handles[0].publish(&TABLES, 0).expect("pending");
    drop(preparation);
    let late = handles[0].lease_spans(&TABLES, &[LATE]);
    drop(late.expect("in stock"));
    (disk, handles)
}

/// A peer that was caught in a session of one process continues in a session of another process,
/// which has the keys of what was passed over.
#[test]
fn what_another_process_passed_over_is_gone_with_what_is_given_up() {
    let (_, [passing, ending]) = open_twice();
    ending.give_up(&[TABLES]).expect("there");
    let refused = passing.lease_spans(&TABLES, &[EARLY]);
    assert!(matches!(refused, Err(StockError::Behind { mark: 4, .. })));
}

/// Even if the disk accepts no record of it, this process gives up its own part.
#[test]
fn what_this_process_passed_over_is_gone_where_the_disk_takes_no_record() {
    let (disk, [passing, _]) = open_twice();
    disk.refuse_commits(true);
    passing.give_up(&[TABLES]).expect_err("no room");
    disk.refuse_commits(false);
    let refused = passing.lease_spans(&TABLES, &[EARLY]);
    assert!(matches!(refused, Err(StockError::Behind { mark: 4, .. })));
}

/// Lots that are made afterwards are followed as usual.
#[test]
fn what_is_passed_over_after_that_is_followed() {
    let (_, [passing, ending]) = open_twice();
    ending.give_up(&[TABLES]).expect("there");
    let preparation = ending.prepare().expect("the lock");
    let size = parties::size(Role::Garbler, &TABLES);
    let span = Span { first: 4, count: 4 };
    let lot = preparation.begin_lot(TABLES, size, span).expect("a lot");
    lot.put(4, &[6; 64], &[]).expect("room");
    lot.finish().expect("a sync");
    ending.publish(&TABLES, 4).expect("pending");
    let [early, late] = [4, 6].map(|first| Span { first, count: 2 });
    drop(passing.lease_spans(&TABLES, &[late]).expect("in stock"));
    let followed = passing.lease_spans(&TABLES, &[early]).expect("passed over");
    assert_eq!(followed.count(), 2);
}
