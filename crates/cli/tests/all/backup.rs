//! A party that lost its disk restores its backup: nothing prepared comes back, not even from a
//! copy of the stock that somebody put back as well, and chains are refused until both have dropped
//! them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tacit_stock::{Disk, write_version};
use tacit_testkit::sessions::copy_folder;

use crate::process::{Ended, Parties, tacit, words};

const PROGRAM: &str = "
parties shop, customer;
state total: u32 = 0;
run set(to: u32 of shop) { total = to; }
run look() -> (shown: u32 to both) { total }
";

const CONFIGS: [&str; 2] = ["alice.toml", "bob.toml"];

/// What each party took from its stock so far.
type Taken = [BTreeSet<String>; 2];

fn parties() -> Parties {
    let parties = Parties::new();
    parties.file("total.tacit", PROGRAM);
    let [alice, bob] = parties.fingerprints().map(str::to_owned);
    for (own, peer, name) in [("alice", "bob", &bob), ("bob", "alice", &alice)] {
        let text = format!(
            "identity = \"{own}.key\"\n[stock]\nfolder = \"{own}-stock\"\n\
             witness = \"{own}-witness\"\n[peers.{peer}]\nfingerprint = \"{name}\"\n"
        );
        parties.file(&format!("{own}.toml"), &text);
    }
    parties
}

/// Runs a command at both, with their own arguments.
fn both(parties: &Parties, command: &str, own: [&str; 2]) -> [Ended; 2] {
    let [alice, bob] = [0, 1].map(|party| {
        let mut all = words(command);
        all.extend(words(own[party]));
        all.extend(["--config", CONFIGS[party]]);
        all
    });
    parties.act(&alice, &bob)
}

const ROLES: [&str; 2] = ["--role garbler", "--role evaluator"];
const WHO: [&str; 2] = ["--as shop", "--as customer"];
const CHAIN: &str = "--protocol prepared --chain total";

/// Encrypts at both, and records what each takes, which it must never have taken.
fn encrypt(parties: &Parties, taken: &mut Taken) -> [Ended; 2] {
    let inputs = [
        "--role garbler --input key=000102030405060708090a0b0c0d0e0f",
        "--role evaluator --input block=00112233445566778899aabbccddeeff",
    ];
    let run = "run aes-128-rounds --protocol prepared --require-stock -vv";
    let ended = both(parties, run, inputs);
    for (taken, ended) in taken.iter_mut().zip(&ended) {
        let lines = ended.stderr.lines();
        let told = lines.filter_map(|line| line.split_once(" takes "));
        for (_, numbers) in told {
            let (numbers, kind) = numbers.split_once(" of ").expect("a kind");
            let (_, spans) = numbers.split_once(' ').expect("numbers");
            for span in spans.split(", ") {
                let (first, end) = span.split_once("..").expect("a span");
                let [first, end] = [first, end].map(|text| text.parse::<u64>().expect("a number"));
                for number in first..end {
                    let is_new = taken.insert(format!("{number} of {kind}"));
                    assert!(is_new, "{number} of {kind} is taken twice");
                }
            }
        }
    }
    ended
}

fn succeeded(ended: [Ended; 2]) {
    for ended in ended {
        ended.succeeded();
    }
}

#[test]
fn what_was_prepared_never_comes_back_with_a_backup() {
    let parties = parties();
    let folder = parties.folder();
    let mut taken = Taken::default();
    succeeded(both(&parties, "prepare aes-128-rounds --runs 4", ROLES));
    let set = format!("run total.tacit --entry set {CHAIN}");
    let to = ["--as shop --input to=5", WHO[1]];
    let start = format!("run total.tacit --entry start {CHAIN}");
    succeeded(both(&parties, &start, WHO));
    succeeded(both(&parties, &set, to));
    succeeded(encrypt(&parties, &mut taken));
    copy_folder(&folder.join("alice-stock"), &folder.join("copy"));
    let backup = words("backup --out alice.backup --config alice.toml");
    let told = tacit(folder, &backup);
    let left = "left out  the chain total of prepared with bob as garbler";
    assert!(told.succeeded().contains(left), "{told:?}");
    succeeded(encrypt(&parties, &mut taken));
    succeeded(encrypt(&parties, &mut taken));
    // The disk is lost, and somebody puts back an old copy of the stock.
    for lost in ["alice-stock", "alice-witness"] {
        fs::remove_dir_all(folder.join(lost)).expect("a folder");
    }
    for lost in ["alice.toml", "alice.key"] {
        fs::remove_file(folder.join(lost)).expect("a file");
    }
    copy_folder(&folder.join("copy"), &folder.join("alice-stock"));
    let restore = words("restore alice.backup --config alice.toml");
    tacit(folder, &restore).failed(2, &["not empty", "--retire", "Nothing was restored"]);
    assert!(!folder.join("alice.toml").exists() && !folder.join("alice.key").exists());
    let retire = [&restore[..], &["--retire", "--json"]].concat();
    // If it cannot tell everything that it would destroy, it destroys nothing.
    let damaged = folder.join("alice-stock/stock-damaged");
    fs::create_dir(&damaged).expect("a folder");
    fs::write(damaged.join("index.db"), [7; 4096]).expect("a file");
    tacit(folder, &retire).failed(7, &[]);
    let list = words("stock list --stock alice-stock --json --config nothing.toml");
    parties.file("nothing.toml", "");
    let told = tacit(folder, &list).stdout;
    assert!(told.contains("aes-128-rounds"), "{told}");
    fs::remove_dir_all(&damaged).expect("a folder");
    let restored = tacit(folder, &retire).json();
    let own = parties.fingerprints()[0];
    assert_eq!(restored["fingerprint"], own);
    // Until Bob follows, nothing of the old stock is used, and the chain goes on nowhere.
    for ended in encrypt(&parties, &mut taken) {
        ended.failed(7, &["epoch"]);
    }
    let look = format!("run total.tacit --entry look {CHAIN}");
    for ended in both(&parties, &look, WHO) {
        assert!(!ended.stdout.contains("shown"), "{ended:?}");
        ended.failed(7, &["total"]);
    }
    let dropped = restored["dropped"].as_array().expect("a list");
    let commands: BTreeSet<_> = dropped
        .iter()
        .map(|one| one["at_peer"].to_string())
        .collect();
    for command in commands.iter().rev() {
        let command = command
            .trim_matches('"')
            .strip_prefix("tacit ")
            .expect("a command");
        let command = [&words(command)[..], &["--config", "bob.toml"]].concat();
        tacit(folder, &command).succeeded();
    }
    succeeded(both(&parties, "prepare aes-128-rounds --runs 2", ROLES));
    succeeded(encrypt(&parties, &mut taken));
    succeeded(both(&parties, &start, WHO));
    succeeded(both(&parties, &set, to));
    let shown = both(&parties, &look, WHO).map(|ended| ended.succeeded().to_owned());
    assert_eq!(shown, ["shown = 5\n", "shown = 5\n"]);
    // Again, it changes nothing but the stock.
    tacit(folder, &restore).failed(2, &["not empty"]);
    fs::remove_dir_all(folder.join("alice-stock")).expect("a folder");
    tacit(folder, &restore).succeeded();
}

#[test]
fn a_backup_that_is_damaged_or_would_replace_a_file_restores_nothing() {
    let parties = parties();
    let folder = parties.folder();
    let backup = words("backup --out alice.backup --config alice.toml");
    tacit(folder, &backup).succeeded();
    tacit(folder, &backup).failed(3, &["exists"]);
    let whole = fs::read(folder.join("alice.backup")).expect("a file");
    let restore = words("restore damaged --config new/alice.toml");
    for place in (0..whole.len()).step_by(whole.len() / 40) {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        fs::write(folder.join("damaged"), &damaged).expect("a file");
        tacit(folder, &restore).failed(3, &[]);
        fs::write(folder.join("damaged"), &whole[..place]).expect("a file");
        tacit(folder, &restore).failed(3, &[]);
    }
    assert!(!folder.join("new").exists());
    let restore = words("restore alice.backup --config new/alice.toml");
    fs::create_dir(folder.join("new")).expect("a folder");
    fs::write(folder.join("new/alice.key"), "another").expect("a file");
    tacit(folder, &restore).failed(2, &["alice.key is there, and differs"]);
    assert!(!folder.join("new/alice.toml").exists());
    fs::remove_file(folder.join("new/alice.key")).expect("a file");
    tacit(folder, &restore).succeeded();
    let restored = fs::read(folder.join("new/alice.key")).expect("a file");
    assert_eq!(
        restored,
        fs::read(folder.join("alice.key")).expect("a file")
    );
}

/// Rewrites the chains in this folder as if a later program had written them.
fn become_version_9(chains: &Path) {
    let of_peer = fs::read_dir(chains).expect("a folder");
    let of_peer = of_peer.map(|entry| entry.expect("an entry").path());
    for folder in of_peer.filter(|path| path.is_dir()) {
        write_version(&Disk, &folder.join("index.db"), 9).expect("an index");
    }
}

/// A copy of them could go on with that version, although the party was told that they ended.
#[test]
fn chains_of_another_version_end_as_well() {
    let parties = parties();
    let folder = parties.folder();
    let start = "run total.tacit --entry start --protocol authenticated --chain total";
    succeeded(both(&parties, start, WHO));
    tacit(
        folder,
        &words("backup --out alice.backup --config alice.toml"),
    )
    .succeeded();
    become_version_9(&folder.join("alice-stock/chains"));
    copy_folder(&folder.join("alice-stock"), &folder.join("copy"));
    let stock = |command: &str| {
        let command = format!("stock {command} --config alice.toml");
        tacit(folder, &words(&command))
    };
    stock("drop-chain other").failed(2, &["there is no chain other"]);
    stock("new-epoch --peer bob").failed(2, &["nothing is to be destroyed"]);
    let told = stock("new-epoch --peer bob --end-chains");
    let told = told.succeeded();
    assert!(
        told.contains("all chains of authenticated as garbler with bob"),
        "{told}"
    );
    stock("new-epoch --peer bob --end-chains").failed(2, &["nothing is to be destroyed"]);
    // Somebody puts back a copy of them.
    fs::remove_dir_all(folder.join("alice-stock")).expect("a folder");
    copy_folder(&folder.join("copy"), &folder.join("alice-stock"));
    for lost in ["alice.toml", "alice.key"] {
        fs::remove_file(folder.join(lost)).expect("a file");
    }
    let restore = words("restore alice.backup --config alice.toml");
    tacit(folder, &restore).failed(2, &["chains of another version", "Nothing was restored"]);
    let restored = tacit(folder, &[&restore[..], &["--retire", "--json"]].concat()).json();
    let dropped = restored["dropped"].to_string();
    assert!(
        dropped.contains("authenticated, chains of another version"),
        "{dropped}"
    );
    stock("new-epoch --peer bob --end-chains").failed(2, &["nothing is to be destroyed"]);
}
