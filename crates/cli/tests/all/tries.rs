//! The notes of the witness: counted tries that only it knows, and notes that cannot be written.

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

/// A loss of the notes' folder is told, or a copy of the stock that comes back would go unnoticed.
#[test]
fn notes_that_cannot_be_written_are_told_at_the_end() {
    let parties = Parties::new();
    parties.file(
        "alice.toml",
        "[stock]\nfolder = \"a\"\nwitness = \"notes\"\n",
    );
    let prepare = words("prepare --component aes-round@1 --role");
    let prepared = || {
        let alice = [&prepare[..], &["garbler", "--config", "alice.toml"]].concat();
        parties.act(
            &alice,
            &[&prepare[..], &["evaluator", "--stock", "b"]].concat(),
        )
    };
    let warning = "of how far the stock is could not be written";
    let [alice, bob] = prepared();
    assert!(!alice.stderr.contains(warning), "{alice:?}");
    bob.succeeded();
    // A process locks one of these files to write a note. A folder cannot be locked, even by root.
    for number in 0..16 {
        let lock = parties.folder().join(format!("notes/lock-{number:x}"));
        let _ = fs::remove_file(&lock);
        fs::create_dir(lock).expect("a folder");
    }
    let [alice, bob] = prepared();
    assert!(alice.succeeded().contains("aes-round"), "{alice:?}");
    assert!(alice.stderr.contains(warning), "{alice:?}");
    assert!(
        alice.stderr.contains("set witness under [stock]"),
        "{alice:?}"
    );
    assert!(!bob.stderr.contains(warning), "{bob:?}");
}
