//! Two processes that prepare, keep the material on disk, and run with it.

use crate::process::{Ended, Parties, tacit, words};

const KEY: &str = "key=000102030405060708090a0b0c0d0e0f";
const BLOCK: &str = "block=00112233445566778899aabbccddeeff";
/// FIPS 197, appendix C.1.
const CIPHERTEXT: &str = "ciphertext = 69c4e0d86a7b0430d8cdb78070b4c55a\n";

fn prepare(parties: &Parties, what: &[&str]) -> [Ended; 2] {
    let arguments = |role, stock| {
        let mut all = vec!["prepare"];
        all.extend(what);
        all.extend(["--role", role, "--stock", stock]);
        all
    };
    parties.act(&arguments("garbler", "a"), &arguments("evaluator", "b"))
}

fn run(parties: &Parties) -> [Ended; 2] {
    let arguments = |role, stock, input| {
        let prepared = ["run", "aes-128-rounds", "--protocol", "prepared", "--cost"];
        [
            &prepared[..],
            &["--role", role, "--stock", stock, "--input", input],
        ]
        .concat()
    };
    parties.act(
        &arguments("garbler", "a", KEY),
        &arguments("evaluator", "b", BLOCK),
    )
}

#[test]
fn a_run_that_requires_the_stock_makes_nothing_on_the_spot() {
    let parties = Parties::new();
    let runs = |protocol: &str, inputs: [&str; 2]| {
        let arguments = |role, stock, input| {
            let run = [
                "run",
                "aes-128-rounds",
                "--protocol",
                protocol,
                "--require-stock",
            ];
            let of_party = ["--role", role, "--stock", stock, "--input", input];
            [&run[..], &of_party].concat()
        };
        let [a, b] = inputs;
        parties.act(
            &arguments("garbler", "a", a),
            &arguments("evaluator", "b", b),
        )
    };
    for protocol in ["prepared", "authenticated"] {
        for ended in runs(protocol, [KEY, BLOCK]) {
            let command = format!("`tacit prepare aes-128-rounds --protocol {protocol} --runs 1 ");
            ended.failed(7, &["stock", &command, "leave out --require-stock"]);
            let counts = ended.stderr.contains("0 of 128 OTs, 0 of ");
            assert_eq!(counts, protocol == "prepared", "{ended:?}");
        }
        let what = ["aes-128-rounds", "--runs", "1", "--protocol", protocol];
        for ended in prepare(&parties, &what) {
            ended.succeeded();
        }
        for ended in runs(protocol, [KEY, BLOCK]) {
            assert_eq!(ended.succeeded(), CIPHERTEXT, "{protocol}");
        }
        for ended in runs(protocol, [KEY, BLOCK]) {
            ended.failed(7, &["stock"]);
        }
    }
}

#[test]
fn direct_refuses_to_require_the_stock() {
    let parties = Parties::new();
    let run = words("run aes-128-rounds --require-stock --role garbler --stock a");
    let meet = ["--listen", "127.0.0.1:0", "--input", KEY];
    let usual = [
        "--identity",
        "alice.key",
        "--peer",
        parties.fingerprints()[1],
    ];
    let ended = tacit(parties.folder(), &[&run[..], &meet, &usual].concat());
    ended.failed(
        2,
        &["direct takes nothing from the stock", "--protocol prepared"],
    );
}

#[test]
fn what_was_prepared_is_there_for_later_runs_and_used_once() {
    let parties = Parties::new();
    let enough_for_two = ["aes-128-rounds", "--runs", "2", "--threads", "2"];
    for ended in prepare(&parties, &enough_for_two) {
        let told = ended.succeeded();
        assert!(
            told.contains("        18         18        512  aes-128-rounds/round"),
            "{ended:?}"
        );
        assert!(
            told.contains("12800 AND gates, OTs by softspoken-2, in "),
            "{ended:?}"
        );
    }
    for on_the_spot in [false, false, true] {
        for ended in run(&parties) {
            assert_eq!(ended.succeeded(), CIPHERTEXT);
            assert_eq!(
                ended.stderr.contains("on the spot"),
                on_the_spot,
                "{ended:?}"
            );
            assert!(ended.stderr.contains("protocol  prepared"), "{ended:?}");
        }
    }
    for ended in prepare(&parties, &enough_for_two) {
        assert!(
            ended
                .succeeded()
                .contains("        18         18        512"),
            "{ended:?}"
        );
    }
    // Components of the library serve its functions.
    let components = words("--component aes-round@20 --component xor:bytes=4@3 --ots 64");
    let [alice, _] = prepare(&parties, &[&components[..], &["--json"]].concat());
    let kinds = alice.json()["kinds"].clone();
    let of = |name: &str| {
        let kinds = kinds.as_array().expect("a list");
        let kind = kinds.iter().find(|kind| kind["name"] == name);
        let kind = kind.unwrap_or_else(|| panic!("{name}: {kinds:?}"));
        (kind["made"].as_u64(), kind["usable"].as_u64())
    };
    assert_eq!(of("aes-round"), (Some(2), Some(20)));
    assert_eq!(of("xor:bytes=4"), (Some(3), Some(3)));
    assert_eq!(of("OTs"), (Some(0), Some(256)));
    let stock = |args: &[&str]| {
        let all = [&["stock", "--stock", "a"], args].concat();
        tacit(parties.folder(), &all)
    };
    let listed = stock(&["list"]);
    let names = "  aes-128-rounds/round, aes-round\n";
    assert!(listed.succeeded().contains(names), "{listed:?}");
    let bob = parties.fingerprints()[1];
    let drop = |name| stock(&["drop", name, "--peer", bob]);
    drop("xor").failed(2, &["is not in stock", "xor:bytes=4", "(garbler, "]);
    assert!(drop("aes-round").succeeded().contains("gave up 20 of "));
    drop("aes-round").failed(2, &["nothing is left in stock"]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn a_stock_can_be_listed_checked_compacted_and_ended() {
    let parties = Parties::new();
    for ended in prepare(&parties, &["--component", "aes-round@5", "--ots", "1"]) {
        ended.succeeded();
    }
    let stock = |args: &[&str]| {
        tacit(
            parties.folder(),
            &[&["stock", "--stock", "b"], args].concat(),
        )
    };
    let listed = stock(&["list", "--json"]).json();
    assert_eq!(listed["stocks"][0]["role"], "evaluator");
    assert_eq!(listed["stocks"][0]["peer"], parties.fingerprints()[0]);
    assert_eq!(
        listed["stocks"][0]["kinds"].as_array().map(Vec::len),
        Some(2)
    );
    let list = stock(&["list"]).succeeded().to_owned();
    assert!(list.contains("  aes-round\n"), "{list}");
    // The output names a peer by its name in tacit.toml.
    let alice = parties.fingerprints()[0];
    assert!(list.contains(&format!("with {alice}")), "{list}");
    let named = format!("[peers.alice]\nfingerprint = \"{alice}\"\n");
    parties.file("bob.toml", &named);
    let list = stock(&["list", "--config", "bob.toml"])
        .succeeded()
        .to_owned();
    assert!(list.contains("evaluator with alice, "), "{list}");
    assert!(!list.contains(alice), "{list}");
    let listed = stock(&["list", "--config", "bob.toml", "--json"]).json();
    assert_eq!(listed["stocks"][0]["peer"], alice);
    assert_eq!(listed["stocks"][0]["peer_name"], "alice");
    assert!(
        stock(&["check"])
            .succeeded()
            .contains("6 instances are whole")
    );
    assert!(stock(&["compact"]).succeeded().contains("freed 0 bytes"));
    assert!(
        stock(&["list", "--role", "garbler"])
            .succeeded()
            .contains("nothing is in stock")
    );

    // A damaged byte is found, named, and never used.
    let lot = lots(&parties.folder().join("b"))
        .into_iter()
        .max_by_key(|path| std::fs::metadata(path).map_or(0, |file| file.len()))
        .expect("a lot");
    let mut bytes = std::fs::read(&lot).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&lot, bytes).expect("a file");
    stock(&["check"]).failed(7, &["damaged", "withdrawn"]);
    let checked = stock(&["check"]).succeeded().to_owned();
    assert!(checked.contains("5 instances are whole"), "{checked}");
    let listed = stock(&["list", "--json"]).json();
    let kinds = listed["stocks"][0]["kinds"].as_array().expect("a list");
    assert!(
        kinds
            .iter()
            .any(|kind| kind["damaged"] == 1 && kind["usable"] == 4),
        "{kinds:?}"
    );

    stock(&["new-epoch"]).failed(2, &["--peer"]);
    let alice = parties.fingerprints()[0];
    assert!(
        stock(&["new-epoch", "--peer", alice])
            .succeeded()
            .contains("destroyed")
    );
    // The other half still exists: both say what to do.
    for ended in run(&parties) {
        assert!([6, 7].contains(&ended.code), "{ended:?}");
    }
    let bob = parties.fingerprints()[1];
    tacit(
        parties.folder(),
        &["stock", "new-epoch", "--stock", "a", "--peer", bob],
    )
    .succeeded();
    for ended in run(&parties) {
        assert_eq!(ended.succeeded(), CIPHERTEXT);
    }
}

#[test]
fn both_end_where_the_shorter_repeats_end() {
    let parties = Parties::new();
    let runs = |role, input, repeat| {
        [
            "run",
            "millionaires",
            "--role",
            role,
            "--input",
            input,
            "--repeat",
            repeat,
        ]
    };
    let [alice, bob] = parties.act(
        &runs("garbler", "a=41", "3"),
        &runs("evaluator", "b=40", "5"),
    );
    alice.succeeded();
    let told = [
        "done      3 of 5 runs",
        "the other party ended early, after run 3 of 5: it asked for fewer runs, or was stopped",
    ];
    bob.failed(6, &told);
    assert_eq!(bob.stdout, "a_is_richer = 1\n");
    let last = |ended: &Ended| {
        let mut lines = ended.stderr.lines();
        let name = lines.find_map(|line| line.strip_prefix("run       "));
        name.expect("a run's name").to_owned()
    };
    assert!(last(&alice).ends_with("-3"), "{alice:?}");
    assert_eq!(last(&alice), last(&bob));
    let [alice, bob] = parties.act(
        &[&runs("garbler", "a=41", "1")[..], &["--json"]].concat(),
        &[&runs("evaluator", "b=40", "2")[..], &["--json"]].concat(),
    );
    let (alice, bob) = (alice.json(), bob.json());
    for same in ["runs_done", "run", "outputs"] {
        assert_eq!(alice[same], bob[same], "{same}");
    }
    assert_eq!(bob["runs_done"], 1);
    assert_eq!(bob["error"]["exit_code"], 6);
}

#[test]
fn a_component_is_given_up_and_what_is_there_lasts_as_long_as_it_is_used() {
    let parties = Parties::new();
    for ended in prepare(&parties, &["aes-128-rounds", "--runs", "4"]) {
        ended.succeeded();
    }
    for ended in run(&parties) {
        assert_eq!(ended.succeeded(), CIPHERTEXT);
    }
    let alice = parties.fingerprints()[0];
    let stock = |arguments: &[&str]| {
        let all = [&["stock"], arguments, &["--stock", "b", "--json"]].concat();
        tacit(parties.folder(), &all).json()
    };
    let round = |listed: &serde_json::Value| {
        let kinds = listed["stocks"][0]["kinds"]
            .as_array()
            .expect("kinds")
            .clone();
        let mut kinds = kinds.into_iter();
        kinds
            .find(|kind| kind["name"] == "aes-128-rounds/round")
            .expect("a component")
    };
    let before = round(&stock(&["list"]));
    assert_eq!(
        (&before["usable"], &before["taken"]),
        (&27.into(), &9.into())
    );
    // After seconds of use, no rate is known.
    assert!(before["lasts_s"].is_null(), "{before}");
    let dropped = stock(&["drop", "aes-128-rounds/round", "--peer", alice]);
    assert_eq!(dropped["stocks"][0]["dropped"], 27);
    assert!(
        dropped["stocks"][0]["freed_bytes"].as_u64() > Some(100_000),
        "{dropped}"
    );
    assert_eq!(round(&stock(&["list"]))["usable"], 0);
    // The other party finds out when they meet, and the run makes the material that it needs.
    for ended in run(&parties) {
        assert_eq!(ended.succeeded(), CIPHERTEXT);
    }
}

#[test]
fn orders_that_differ_or_are_too_large_say_what_to_do() {
    let parties = Parties::new();
    let arguments = |role, stock, runs| {
        let order = ["prepare", "aes-128-rounds", "--runs", runs];
        [&order[..], &["--role", role, "--stock", stock]].concat()
    };
    for protocol in ["prepared", "batch", "authenticated"] {
        let by = |role, stock, runs| {
            [&arguments(role, stock, runs)[..], &["--protocol", protocol]].concat()
        };
        let [garbler, evaluator] =
            parties.act(&by("garbler", "a", "2"), &by("evaluator", "b", "1"));
        let other = "something other than this party, which orders";
        garbler.failed(5, &[other, "2 runs of", "--runs"]);
        evaluator.failed(5, &[other, "1 run of"]);
    }
    let other = words("prepare --component xor@5 --role evaluator --stock b");
    for ended in parties.act(&arguments("garbler", "a", "2"), &other) {
        ended.failed(5, &["something other than this party", "--component"]);
    }
    // An order that exceeds every stock is refused without a peer.
    alone(&parties, &["aes-128-rounds", "--runs", "1000000"])
        .failed(2, &["191 GiB of tables", "at most 20 GiB", "limit_gib"]);
    // A peer that is there is told, and does not wait for its timeout.
    let [garbler, evaluator] = parties.act(
        &arguments("garbler", "a", "1000000"),
        &[
            &arguments("evaluator", "b", "1000000")[..],
            &["--retries", "0"],
        ]
        .concat(),
    );
    evaluator.failed(2, &["191 GiB of tables"]);
    garbler.failed(5, &["no room", "limit_gib"]);
}

#[test]
fn a_peer_that_never_came_is_not_waited_for_again() {
    let ended = alone(&Parties::new(), &["--ots", "1", "--timeout", "300ms"]);
    ended.failed(6, &["could not reach"]);
    assert!(!ended.stderr.contains("meeting again"), "{ended:?}");
}

/// A peer that failed for good will fail again in a moment, and its command has ended.
#[test]
fn a_peer_that_failed_for_good_is_not_waited_for() {
    let parties = Parties::new();
    let order = ["--ots", "64"];
    for ended in prepare(&parties, &order) {
        ended.succeeded();
    }
    // Only Alice's stock is damaged.
    let lots = lots(&parties.folder().join("a"));
    let folder = lots[0].ancestors().nth(2).expect("her stock");
    std::fs::write(folder.join("index.db"), [7; 4096]).expect("a file");
    let [alice, bob] = prepare(&parties, &order);
    alice.failed(7, &["index.db"]);
    bob.failed(6, &["it failed on its side"]);
    assert!(!bob.stderr.contains("meeting again"), "{bob:?}");
}

/// Runs Bob's side of a preparation without a peer.
fn alone(parties: &Parties, what: &[&str]) -> Ended {
    let alice = parties.fingerprints()[0];
    let bob = "prepare --role evaluator --stock b --connect 127.0.0.1:9 --identity bob.key --peer";
    let bob: Vec<&str> = bob.split(' ').collect();
    tacit(parties.folder(), &[&bob[..], &[alice], what].concat())
}

#[test]
fn there_is_no_stock_without_identities() {
    let parties = Parties::new();
    let arguments = words("run aes-128-rounds --protocol prepared --role garbler");
    let plain = [
        "--plain-loopback",
        "--listen",
        "127.0.0.1:0",
        "--input",
        KEY,
    ];
    let ended = tacit(parties.folder(), &[&arguments[..], &plain].concat());
    ended.failed(2, &["identities"]);
    let nothing = ["prepare", "--role", "garbler", "--listen", "127.0.0.1:0"];
    tacit(parties.folder(), &nothing).failed(2, &["--component"]);
}

fn lots(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(lots(&path));
        } else if path.to_string_lossy().contains("lot") {
            found.push(path);
        }
    }
    found
}
