//! The list of counted tries, and the command that clears it.

use std::fs;
use std::sync::Arc;

use tacit::Fingerprint;
use tacit_stock::{Disk, PeerId, Role, RootKey, Stocks, Tried, TryKey, Witness};

use crate::process::{Parties, tacit, words};

/// Gives Alice four tries with Bob under way, in her folder and in that of notes.
fn counted_by(parties: &Parties) {
    let [alice, bob] = parties.fingerprints();
    let config = format!(
        "identity = \"alice.key\"\n[stock]\nfolder = \"a\"\nwitness = \"notes\"\n\
         [peers.bob]\nfingerprint = \"{bob}\"\n"
    );
    parties.file("alice.toml", &config);
    let folder = parties.folder();
    let witness = Witness::open(Arc::new(Disk), &folder.join("notes")).expect("a folder");
    let stocks = Stocks::open(Arc::new(Disk), &folder.join("a"), RootKey::Beside);
    let stocks = stocks.expect("a folder").witnessed(witness);
    let [own, peer] = [alice, bob].map(|text| {
        let fingerprint: Fingerprint = text.parse().expect("a fingerprint");
        PeerId(fingerprint.0)
    });
    let key = TryKey {
        own,
        peer,
        role: Role::Evaluator,
        tried: Tried::Batches,
    };
    let counted = stocks.change_tries(key, |record| record.unfinished += 4);
    counted.expect("room");
}

/// A restored folder has no tries, and the peer is refused for them all the same.
#[test]
fn tries_that_only_the_witness_knows_are_listed_and_cleared() {
    let parties = Parties::new();
    counted_by(&parties);
    let folder = parties.folder();
    fs::remove_file(folder.join("a/batches.index")).expect("a record");
    let list = words("stock list --config alice.toml --json");
    let listed = || tacit(folder, &list).json()["tries"].clone();
    assert_eq!(listed()[0]["unfinished"], 4);
    let clear = words("stock clear-tries --config alice.toml --peer bob");
    let cleared = tacit(folder, &clear);
    assert!(cleared.succeeded().contains("4 under way"), "{cleared:?}");
    assert_eq!(listed(), serde_json::json!([]));
}
