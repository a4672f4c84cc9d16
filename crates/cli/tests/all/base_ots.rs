//! Base OTs that `tacit run` keeps for later runs with the same peer.

use std::fs::{self, File};
use std::path::PathBuf;

use crate::process::{Parties, tacit, words};

/// Two parties, each with a stock of its own, that compare 41 with 40.
struct Scene(Parties);

impl Scene {
    fn new() -> Self {
        let parties = Parties::new();
        parties.file("off.toml", "keep_base_ots = false\n");
        Self(parties)
    }

    /// A run, to which Alice and Bob add these arguments: where the base OTs come from, how many
    /// bytes they take at Alice, and what both log.
    fn run(&self, more: [&[&str]; 2]) -> (String, u64, [String; 2]) {
        let usual = ["-v", "run", "millionaires", "--json", "--cost"];
        let own = [
            ["--role", "garbler", "--input", "a=41", "--stock", "alice"],
            ["--role", "evaluator", "--input", "b=40", "--stock", "bob"],
        ];
        let [alice, bob] = [0, 1].map(|party| [&usual, &own[party][..], more[party]].concat());
        let both = self.0.act(&alice, &bob);
        let told = both.each_ref().map(|ended| {
            ended.succeeded();
            let json = ended.json();
            let run = &json["cost"]["runs"][0];
            let phases = run["phases"].as_array().expect("phases").iter();
            let setup = phases.filter(|phase| phase["phase"] == "setup");
            let bytes = setup.map(|setup| ["bytes_sent", "bytes_received"].map(|way| &setup[way]));
            let bytes = bytes.flatten().map(|bytes| bytes.as_u64().expect("bytes"));
            let source = run["base_ots"].as_str().expect("a source").to_owned();
            (source, bytes.sum::<u64>())
        });
        let [(source, bytes), at_bob] = told;
        assert_eq!(source, at_bob.0);
        (source, bytes, both.map(|ended| ended.stderr))
    }

    /// The files that `party` keeps them in, with this ending.
    fn files(&self, party: &str, ending: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.0.folder().join(party)) else {
            return Vec::new();
        };
        let files = entries.map(|entry| entry.expect("an entry").path());
        let is_one = |file: &PathBuf| {
            let name = file.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("sets-") && name.ends_with(ending))
        };
        files.filter(is_one).collect()
    }
}

const NOTHING: [&[&str]; 2] = [&[], &[]];
const OFF: &[&str] = &["--config", "off.toml"];

/// Bytes of base OTs that are made for one session: 128 on ristretto255, in nine messages.
const FRESH_BYTES: u64 = 8192 + 32 + 9 * 5;

#[test]
fn a_second_run_takes_them_from_the_first() {
    let scene = Scene::new();
    let (source, bytes, log) = scene.run(NOTHING);
    assert!(source == "batch" && bytes > FRESH_BYTES, "{source} {bytes}");
    for log in log {
        assert!(
            log.contains("base OTs made for later sessions too"),
            "{log}"
        );
    }
    for _ in 0..2 {
        let (source, bytes, log) = scene.run(NOTHING);
        assert_eq!((source.as_str(), bytes), ("kept", 0));
        for log in log {
            assert!(log.contains("base OTs from an earlier session"), "{log}");
        }
    }
    let peer = scene.0.fingerprints()[1];
    let list = |more: &[&str]| {
        let usual = ["stock", "list", "--stock", "alice", "--peer", peer];
        tacit(scene.0.folder(), &[&usual, more].concat())
    };
    assert!(
        list(&[])
            .succeeded()
            .contains("for 61 more sessions by direct")
    );
    let told = &list(&["--json"]).json()["base_ots"];
    assert_eq!(
        (&told[0]["sessions"], &told[0]["role"]),
        (&61.into(), &"garbler".into())
    );
    // People read it as well.
    let own = ["--role", "garbler", "--input", "a=41", "--stock", "alice"];
    let other = ["--role", "evaluator", "--input", "b=40", "--stock", "bob"];
    let start = ["run", "millionaires", "--cost"];
    let alice = [&start, &own[..]].concat();
    let ended = scene.0.act(&alice, &[&start, &other[..]].concat());
    for ended in ended {
        assert_eq!(ended.succeeded(), "a_is_richer = 1\n");
        let line = "base OTs from an earlier session";
        assert!(ended.stderr.contains(line), "{ended:?}");
    }
}

#[test]
fn either_party_can_switch_them_off() {
    for (number, who) in ["alice", "bob"].into_iter().enumerate() {
        let scene = Scene::new();
        let mut off = NOTHING;
        off[number] = OFF;
        for _ in 0..2 {
            let (source, bytes, _) = scene.run(off);
            assert_eq!((source.as_str(), bytes), ("fresh", FRESH_BYTES), "{who}");
        }
        assert_eq!(scene.files(who, ".keys"), [] as [PathBuf; 0]);
        // Where both keep them again, they are made, and switched off what is kept is not taken.
        assert_eq!(scene.run(NOTHING).0, "batch");
        assert_eq!(scene.run(off).0, "fresh", "{who}");
        assert_eq!(scene.run(NOTHING).0, "kept");
    }
    let scene = Scene::new();
    let shown = tacit(
        scene.0.folder(),
        &["config", "show", "--config", "off.toml"],
    );
    assert!(shown.succeeded().contains("keep_base_ots: false"));
}

#[test]
fn a_stock_that_is_locked_or_broken_stops_no_run() {
    let scene = Scene::new();
    scene.run(NOTHING);
    for (party, who) in ["alice", "bob"].into_iter().enumerate() {
        let keeps_nothing = || {
            let (source, _, log) = scene.run(NOTHING);
            assert_eq!(source, "fresh", "{who}");
            assert!(
                log[party].contains("no base OTs are kept"),
                "{}",
                log[party]
            );
        };
        let locks = scene.files(who, ".lock");
        let lock = File::open(&locks[0]).expect("the lock's file");
        lock.lock().expect("a lock");
        keeps_nothing();
        drop(lock);
        assert_eq!(scene.run(NOTHING).0, "kept", "{who}");

        let root = scene.0.folder().join(who).join("root.key");
        let lock = File::open(root.with_extension("lock")).expect("the lock's file");
        lock.lock().expect("a lock");
        keeps_nothing();
        drop(lock);

        let key = fs::read(&root).expect("a root key");
        fs::write(&root, [0; 76]).expect("a file");
        keeps_nothing();
        fs::write(&root, key).expect("a file");
    }
    assert_eq!(scene.run(NOTHING).0, "kept");
}

/// The remedy for a disk that went back, where nothing was ever prepared with the peer.
#[test]
fn a_new_epoch_without_a_stock_destroys_what_is_kept_and_says_so() {
    let scene = Scene::new();
    scene.run(NOTHING);
    let [alice, bob] = scene.0.fingerprints();
    let new_epoch = |stock: &str, peer: &str, more: &[&str]| {
        let usual = ["stock", "new-epoch", "--stock", stock, "--peer", peer];
        tacit(scene.0.folder(), &[&usual, more].concat())
    };
    let told = new_epoch("alice", bob, &["--json"]).json();
    assert_eq!(told["base_ot_batches_destroyed"], 1, "{told}");
    assert_eq!(told["stocks"].as_array().map(Vec::len), Some(0), "{told}");
    let told = new_epoch("bob", alice, &[]);
    assert!(told.succeeded().contains("base OTs"), "{told:?}");
    assert!(
        !told.succeeded().contains("nothing is in stock"),
        "{told:?}"
    );
    // There is nothing left, and nothing is kept: the next run makes all anew.
    new_epoch("alice", bob, &["--json"]).failed(2, &["nothing is to be destroyed"]);
    assert_eq!(scene.run(NOTHING).0, "batch");
}

/// What is locked by somebody else is told, and the stock with its keys is gone all the same.
#[test]
fn a_new_epoch_destroys_the_stock_though_base_ots_are_in_use() {
    let scene = Scene::new();
    scene.run(NOTHING);
    let alice = words("prepare --ots 64 --role garbler --stock alice");
    let bob = words("prepare --ots 64 --role evaluator --stock bob");
    for ended in scene.0.act(&alice, &bob) {
        ended.succeeded();
    }
    let lock = File::open(&scene.files("alice", ".lock")[0]).expect("the lock's file");
    lock.lock().expect("a lock");
    let peer = scene.0.fingerprints()[1];
    let stock = |what| {
        tacit(
            scene.0.folder(),
            &["stock", what, "--stock", "alice", "--peer", peer],
        )
    };
    assert!(stock("list").succeeded().contains("epoch 1"));
    assert_ne!(stock("new-epoch").code, 0);
    // They are still there, and said to be.
    let left = stock("list");
    assert!(!left.succeeded().contains("epoch"), "{left:?}");
    assert!(left.stdout.contains("base OTs by ristretto255"), "{left:?}");
}

#[test]
fn parties_without_identities_keep_none() {
    let parties = Parties::new();
    let folder = parties.folder();
    let usual = [
        "run",
        "millionaires",
        "--plain-loopback",
        "--json",
        "--cost",
    ];
    let own = [
        "--role",
        "garbler",
        "--input",
        "a=41",
        "--listen",
        "127.0.0.1:0",
    ];
    let mut alice = crate::process::start(folder, &[&usual, &own[..]].concat(), "");
    let address = alice.line_after("listening on ");
    let other = ["--role", "evaluator", "--input", "b=40", "--connect"];
    let bob = tacit(folder, &[&usual, &other[..], &[address.as_str()]].concat());
    for ended in [alice.end(), bob] {
        assert_eq!(ended.json()["cost"]["runs"][0]["base_ots"], "fresh");
    }
    assert!(!folder.join(".local").exists());
}
