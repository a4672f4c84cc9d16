//! Orders that a peer breaks off must not use up the kinds of the epoch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tacit_stock::{Limits, RootKey};

use super::*;

/// Returns the number of kinds in a party's stock, used up or not, and the number of kinds for
/// which a name is stored.
fn kinds(parties: &Pair, party: usize) -> (usize, usize) {
    let disk = &parties.disks[party];
    let storage = Arc::new(disk.clone());
    let stocks = tacit_stock::Stocks::open(storage, Path::new("stocks"), RootKey::Beside);
    let stocks = stocks.expect("storage with power");
    let id = stocks.list().expect("a folder")[0];
    let stock = stocks.stock(id, Limits::default()).expect("a stock");
    let is_name = |file: &PathBuf| {
        file.parent()
            .is_some_and(|folder| folder.ends_with("names"))
    };
    let names = disk.files().into_iter().filter(is_name);
    (stock.marks().expect("a record").kinds.len(), names.count())
}

/// The peer finds no room after this party has started the kinds of the lot. Each order is for
/// another function.
#[test]
fn a_peer_that_breaks_off_its_orders_does_not_use_up_the_epoch() {
    let function = instances::richer("richer", 0);
    for (peer, (what, kinds_of_lot)) in [0, 1]
        .into_iter()
        .flat_map(|peer| LOTS.into_iter().zip([1, 2]).map(move |lot| (peer, lot)))
    {
        let mut parties = Pair::in_memory();
        let party = 1 - peer;
        parties.max_bytes[peer] = 1000;
        for _ in 0..4 {
            let [ours, theirs] = prepare(&parties, what, &function, 1);
            assert!(ours.is_err() && theirs.is_err());
            assert_eq!(kinds(&parties, party), (kinds_of_lot, kinds_of_lot));
            assert_eq!(kinds(&parties, peer), (0, 0));
        }
        parties.max_bytes[peer] = 1 << 30;
        each(prepare(&parties, what, &function, 1));
        for party in [0, 1] {
            assert_eq!(kinds(&parties, party), (kinds_of_lot, kinds_of_lot));
        }
        for ran in each(run_both(&parties, &function, 40)) {
            assert_eq!(from_stock(&ran), Some(what));
        }
        // Kinds that are used up keep their place.
        each(prepare(&parties, what, &function, 1));
        assert_eq!(kinds(&parties, party).0, 2 * kinds_of_lot);
    }
}
