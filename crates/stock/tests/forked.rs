//! A process that forks while it holds secrets that may be given out once. This test is a program
//! of its own, since a fork takes only the thread that forks, whatever locks the other threads
//! hold.
#![cfg(unix)]

use std::process::exit;
use std::sync::Arc;

use fork::{Fork, fork, waitpid};
use tacit_stock::{
    ComponentDigest, Disk, EpochId, InstanceSize, Limits, PeerId, Role, RootKey, Span, Stock,
    StockError, StockId, Stocks,
};

const KIND: ComponentDigest = ComponentDigest([7; 32]);
const EARLY: Span = Span { first: 0, count: 2 };
const LATE: Span = Span { first: 2, count: 2 };

fn garbler() -> StockId {
    StockId {
        own: PeerId([1; 32]),
        peer: PeerId([2; 32]),
        role: Role::Garbler,
        scheme: *b"test",
        lanes: Default::default(),
    }
}

/// Runs `work` in a forked process, and returns its result.
fn in_a_child(work: impl FnOnce() -> bool) -> bool {
    match fork().expect("a process") {
        Fork::Child => exit(i32::from(!work())),
        Fork::Parent(child) => waitpid(child).expect("its status") == 0,
    }
}

fn stocked(stocks: &Stocks) -> Result<Stock, StockError> {
    let epoch = EpochId::generate(0)?;
    let stock = stocks.create(garbler(), epoch, b"an offset", Limits::default())?;
    let preparation = stock.prepare()?;
    let size = InstanceSize {
        secret_bytes: 16,
        table_bytes: 0,
    };
    let lot = preparation.begin_lot(KIND, size, Span { first: 0, count: 4 })?;
    lot.put(0, &[5; 64], &[])?;
    lot.finish()?;
    stock.publish(&KIND, 0)?;
    Ok(stock)
}

/// The evaluator names late numbers, and then the same early ones to each of two workers. With two
/// labels of a wire it would have Δ.
#[test]
fn workers_that_are_forked_have_no_instance_that_was_passed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let stocks = Stocks::open(Arc::new(Disk), folder.path(), RootKey::Beside).expect("a folder");
    let stock = stocked(&stocks).expect("a stock");
    let lease = stock.lease_spans(&KIND, &[LATE]).expect("in stock");
    for _ in 0..2 {
        assert!(
            in_a_child(|| {
                let own = stocks.stock(garbler(), Limits::default());
                let early = own.and_then(|own| own.lease_spans(&KIND, &[EARLY]));
                matches!(early, Err(StockError::Behind { .. }))
            }),
            "a worker has what was passed over"
        );
    }
    assert!(in_a_child(|| {
        let early = stock.lease_spans(&KIND, &[EARLY]);
        matches!(early, Err(StockError::ApiMisuse { .. }))
    }));
    assert!(in_a_child(
        || lease.count() == 0 && lease.instances().next().is_none()
    ));
    let early = stock
        .lease_spans(&KIND, &[EARLY])
        .expect("passed over here");
    assert_eq!(early.secrets().expect("whole").len(), 32);
}
