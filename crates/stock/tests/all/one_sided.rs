//! A kind that one party has started and the other has not: both assign its numbers the same way.

use std::path::Path;
use std::sync::Arc;

use crate::parties::{TABLES, open, prepare_lot, size};
use tacit_stock::{Memory, Role, Span, Stock};

fn stocks() -> [Stock; 2] {
    Role::BOTH.map(|role| {
        let disk = Arc::new(Memory::new());
        open(disk, Path::new("s"), role).expect("a stock")
    })
}

#[test]
fn numbers_that_only_one_party_gave_are_given_by_neither() {
    for ahead in [0, 1] {
        let stocks = stocks();
        let count = 5;
        {
            // The other party's disk is full, or its machine stops here.
            let preparation = stocks[ahead].prepare().expect("nobody else prepares");
            let size = size(stocks[ahead].id().role, &TABLES);
            let lot = preparation.begin_lot(TABLES, size, Span { first: 0, count });
            drop(lot.expect("room"));
        }
        let preparations = stocks
            .each_ref()
            .map(|stock| stock.prepare().expect("free"));
        let marks = preparations
            .each_ref()
            .map(|party| party.marks().expect("marks"));
        let agreements = [0, 1].map(|who| {
            let agreement = preparations[who].reconcile(&marks[1 - who]);
            agreement.expect("they agree")
        });
        assert_eq!(agreements[0], agreements[1]);
        let [agreed] = &agreements[0].kinds[..] else {
            panic!("one kind, found {:?}", agreements[0]);
        };
        assert_eq!((agreed.next_number, agreed.available), (count, 0));
        for who in [0, 1] {
            let span = Span {
                first: agreed.next_number,
                count,
            };
            let size = size(stocks[who].id().role, &TABLES);
            let lot = preparations[who].begin_lot(TABLES, size, span);
            drop(lot.expect("numbers that are new at both"));
        }
    }
}

/// A session that only runs meets the peer between the parties' beginning of a lot.
#[test]
fn a_meeting_takes_no_number_from_a_lot_that_this_party_is_about_to_begin() {
    for early in [0, 1] {
        let stocks = stocks();
        let preparations = stocks
            .each_ref()
            .map(|stock| stock.prepare().expect("free"));
        prepare_lot(preparations.each_ref(), TABLES, (0, 2), 1).expect("room");
        let begin = |who: usize| {
            let size = size(stocks[who].id().role, &TABLES);
            preparations[who].begin_lot(TABLES, size, Span { first: 2, count: 2 })
        };
        let lot = begin(early).expect("room");
        let met = stocks[1 - early].reconcile(&stocks[early].marks().expect("marks"));
        let agreed = met.expect("they agree").kinds;
        assert_eq!(agreed[0].next_number, 4);
        drop((begin(1 - early).expect("still free"), lot));
    }
}
