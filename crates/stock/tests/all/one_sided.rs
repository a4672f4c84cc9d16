//! A kind that one party has started and the other has not: both assign its numbers the same way.

use std::path::Path;
use std::sync::Arc;

use crate::parties::{TABLES, open, shape};
use tacit_stock::{Memory, Role, Span, Stock};

fn stocks() -> [Stock; 2] {
    [Role::Garbler, Role::Evaluator].map(|role| {
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
            let shape = shape(stocks[ahead].id().role, &TABLES);
            let lot = preparation.begin_lot(TABLES, shape, Span { first: 0, count });
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
            let shape = shape(stocks[who].id().role, &TABLES);
            let lot = preparations[who].begin_lot(TABLES, shape, span);
            drop(lot.expect("numbers that are new at both"));
        }
    }
}
