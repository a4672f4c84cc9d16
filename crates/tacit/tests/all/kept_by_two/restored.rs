//! Folders that both parties restore to the same day, on machines that have seen newer ones.

use std::fs;

use tacit::protocols::Protocol;
use tacit::stock::{Preparation, StockError};
use tacit::{Error, Role};
use tempfile::TempDir;

use super::{BY_TWO, Parties, both, copy_files};

fn noted(protocol: Protocol) -> Parties {
    Parties {
        notes: Some(TempDir::new().expect("a folder")),
        ..Parties::in_folders(protocol)
    }
}

/// Returns the stock's error.
fn stock_error<T: std::fmt::Debug>(refused: Result<T, Error>) -> StockError {
    match refused.expect_err("a copy") {
        Error::Stock(error) => *error,
        error => panic!("{error}"),
    }
}

/// The parties' records agree again, and no peer can tell.
#[test]
fn chains_that_both_restore_are_refused_and_begin_anew() {
    for protocol in BY_TWO {
        let parties = noted(protocol);
        both(parties.begin(1));
        both(parties.add(1));
        let before = [0, 1].map(|party| parties.backup(party));
        both(parties.add(10));
        for (party, copy) in before.iter().enumerate() {
            parties.restore(party, copy);
        }
        let refused = parties.add(1).map(stock_error);
        let is_old = |error: &StockError| matches!(error, StockError::ChainRolledBack { .. });
        assert!(refused.iter().all(is_old), "{refused:?}");
        for party in [0, 1] {
            let stocks = parties.stocks(party).expect("a folder");
            let kept = stocks.chains().expect("a chain");
            stocks.drop_chain(&kept[0]).expect("nobody uses it");
        }
        both(parties.begin(5));
        assert_eq!(parties.look(), 5);
    }
}

/// The whole folders, including prepared material.
#[test]
fn stocks_that_both_restore_are_refused_and_begin_anew() {
    let parties = noted(Protocol::Prepared);
    let prepare = || {
        parties.meet(|party, session, stocks| {
            let order = Preparation::new(Role::BOTH[party]);
            order.ots(64).run(session, stocks)
        })
    };
    let prepared = || prepare().map(|prepared| prepared.expect("room"));
    let folders = parties.folders.as_ref().expect("folders").path();
    let before = TempDir::new().expect("a folder");
    prepared();
    copy_files(folders, before.path());
    prepared();
    for party in ["0", "1"] {
        fs::remove_dir_all(folders.join(party)).expect("a folder");
    }
    copy_files(before.path(), folders);
    let [_, evaluator] = prepare();
    let mut refused = vec![stock_error(evaluator)];
    for party in [0, 1] {
        let stocks = parties.stocks(party).expect("a folder");
        let names = stocks.list().expect("a stock");
        refused.push(stock_error(stocks.summary(&names[0])));
        stocks.end_epoch(&names[0]).expect("nobody uses it");
    }
    for error in refused {
        assert!(matches!(error, StockError::Restored { .. }), "{error}");
    }
    prepared();
}
