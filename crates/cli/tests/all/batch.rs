//! Two processes that prepare checked executions, keep them on disk, and run them. A killed process
//! leaves no attempt and loses at most one execution.

use std::thread;
use std::time::Duration;

use crate::process::{ChildProcess, Ended, Parties, tacit, with_stocks, words};

const KEY: &str = "key=000102030405060708090a0b0c0d0e0f";
const BLOCK: &str = "block=00112233445566778899aabbccddeeff";
/// FIPS 197, appendix C.1.
const CIPHERTEXT: &str = "ciphertext = 69c4e0d86a7b0430d8cdb78070b4c55a\n";

fn prepare(parties: &Parties, function: &str, more: &[&str]) -> [Ended; 2] {
    let batch = ["prepare", function, "--protocol", "batch"];
    let [alice, bob] = with_stocks(&[&batch[..], more].concat(), ["", ""]);
    parties.act(&alice, &bob)
}

fn run(parties: &Parties, function: &str, inputs: [&str; 2], more: &[&str]) -> [Ended; 2] {
    let [alice, bob] = with_stocks(&[&["run", function], more].concat(), inputs);
    parties.act(&alice, &bob)
}

#[test]
fn aes_128_is_prepared_checked_and_run_against_a_malicious_party() {
    let parties = Parties::new();
    let two = ["--runs", "2", "--threads", "2"];
    for ended in prepare(&parties, "aes-128", &two) {
        let told = ended.succeeded();
        for stated in [
            "secure against a malicious party: cheating succeeds with at most 2^-40",
            "2 checked executions of aes-128 made, 2 usable",
            "circuits for 2 buckets of",
            "bound     2^-",
            "each `tacit run` of it with --protocol batch takes one",
        ] {
            assert!(told.contains(stated), "{stated:?} is missing: {ended:?}");
        }
    }
    let listed = tacit(parties.folder(), &["stock", "list", "--stock", "b"]);
    let name = "aes-128, checked executions at s = 40";
    assert!(listed.succeeded().contains(name), "{listed:?}");
    let checked = tacit(parties.folder(), &["stock", "check", "--stock", "b"]);
    assert!(checked.succeeded().contains("2 instances are whole"));
    let malicious = ["--security", "malicious", "--cost"];
    for ended in run(&parties, "aes-128", [KEY, BLOCK], &malicious) {
        assert_eq!(ended.succeeded(), CIPHERTEXT);
        for stated in [
            "a checked batch of the function is in this party's stock, so `batch` runs",
            "protocol  batch, secure against a malicious party",
        ] {
            assert!(ended.stderr.contains(stated), "{ended:?}");
        }
        assert!(ended.stderr.contains("\nprepare "), "{ended:?}");
    }
    let batch = ["--protocol", "batch", "--json"];
    // One is left, and gives its result.
    let twice = [&batch[..], &["--repeat", "2"]].concat();
    for ended in run(&parties, "aes-128", [KEY, BLOCK], &twice) {
        assert_eq!(ended.code, 7, "{ended:?}");
        let json = ended.json();
        assert_eq!(json["runs_done"], 1);
        assert_eq!(json["threat_model"], "malicious");
        assert_eq!(json["statistical_security_bits"], 40);
        assert_eq!(json["protocol"], "batch");
        let ciphertext = &json["outputs"]["ciphertext"];
        assert_eq!(ciphertext, "69c4e0d86a7b0430d8cdb78070b4c55a");
    }
    assert_eq!(parties.usable("b"), [0]);
    // Without stock `batch` does not run. If the protocol is open, one of the same security runs in
    // its place.
    for ended in run(&parties, "aes-128", [KEY, BLOCK], &malicious) {
        assert_eq!(ended.succeeded(), CIPHERTEXT);
        for stated in [
            "no checked batch of the function is in this party's stock, so `authenticated` runs",
            "protocol  authenticated, secure against a malicious party",
        ] {
            assert!(ended.stderr.contains(stated), "{ended:?}");
        }
    }
    let ended = run(&parties, "aes-128", [KEY, BLOCK], &batch);
    for (ended, role) in ended
        .iter()
        .zip(["garbler --with tacit:", "evaluator --with tacit:"])
    {
        let remedy = "tacit prepare aes-128 --protocol batch --runs 16 --role";
        ended.failed(7, &["no checked execution", &format!("{remedy} {role}")]);
    }
    let made = prepare(&parties, "aes-128", &[&two[..], &["--json"]].concat());
    for ended in made {
        let json = ended.json();
        assert_eq!((&json["made"], &json["usable"]), (&2.into(), &2.into()));
        assert!(json["plan"]["bound_bits"].as_f64() >= Some(40.0), "{json}");
    }
}

#[test]
fn nothing_less_secure_and_nothing_unsupported_is_begun() {
    let parties = Parties::new();
    let alone = |args: &[&str]| {
        let party = ["--role", "garbler", "--listen", "127.0.0.1:0"];
        let known = [
            "--identity",
            "alice.key",
            "--peer",
            parties.fingerprints()[1],
        ];
        tacit(parties.folder(), &[args, &party, &known].concat())
    };
    for weaker in ["direct", "prepared"] {
        let args = ["run", "aes-128", "--input", KEY, "--protocol", weaker];
        let malicious = ["--security", "malicious"];
        let leave_out = format!("leave out --protocol {weaker}, or ");
        alone(&[&args[..], &malicious].concat()).failed(2, &["semi-honest", &leave_out]);
        alone(&[&args[..], &["--security-bits", "40"]].concat()).failed(2, &["--security-bits"]);
    }
    let prepare = ["prepare", "aes-128", "--protocol", "batch"];
    let prf = [&prepare[..], &["--scheme", "prf"]].concat();
    alone(&prf).failed(2, &["batch", "half-gates or three-halves"]);
    let vast = words("prepare xor --param bytes=25000 --protocol batch");
    let limit = "at most 130000 input bits of the evaluator in `batch`";
    alone(&vast).failed(2, &[limit, "`authenticated` takes any number"]);
    let ots = [&prepare[..], &["--ots", "64"]].concat();
    alone(&ots).failed(2, &["--ots", "--runs N"]);
    alone(&["prepare", "aes-128", "--security-bits", "40"]).failed(2, &["--protocol batch"]);
    let run = ["run", "aes-128", "--input", KEY, "--protocol", "batch"];
    for bits in ["39", "81"] {
        let security = ["--security-bits", bits];
        alone(&[&prepare[..], &security].concat()).failed(2, &[bits, "40..=80"]);
        let run = [&run[..], &["--stock", "a"], &security].concat();
        alone(&run).failed(2, &[bits, "40..=80"]);
    }
    let many = [&prepare[..], &["--runs", "5000"]].concat();
    alone(&many).failed(2, &["--runs 5000", "order at most 4096"]);
    // Nothing is stored that no run could take, and the refusal needs no peer.
    let batch = ["run", "millionaires", "--param", "bits=8", "--input", "a=1"];
    let batch = [&batch[..], &["--protocol", "batch", "--stock", "a"]].concat();
    let prf = alone(&[&batch[..], &["--scheme", "prf"]].concat());
    prf.failed(2, &["half-gates or three-halves"]);
    assert!(!prf.stderr.contains("listening"), "{prf:?}");
    let three = [&batch[..], &["--scheme", "three-halves"]].concat();
    let remedy = "`tacit prepare millionaires --param bits=8 --protocol batch --scheme \
                  three-halves --runs 16 --role garbler";
    alone(&three).failed(7, &["no checked execution", remedy]);
    let listed = tacit(parties.folder(), &["stock", "list", "--stock", "a"]);
    assert!(
        listed.succeeded().contains("nothing is in stock"),
        "{listed:?}"
    );
    // A party refuses an order beyond the limit of its own stock.
    let small = parties.file("small.toml", "[stock]\nlimit_gib = 1\n");
    let small = small.to_str().expect("a path in UTF-8");
    let large = ["--role", "evaluator", "--runs", "4096", "--config", small];
    let meet = ["--listen", "127.0.0.1:0", "--identity", "bob.key", "--peer"];
    let alice = parties.fingerprints()[0];
    let large = [&prepare[..], &large, &meet, &[alice]].concat();
    tacit(parties.folder(), &large).failed(2, &["at most 1 GiB", "limit_gib"]);
}

#[test]
fn a_stock_at_one_party_alone_is_told() {
    let parties = Parties::new();
    let one = ["--param", "bits=8", "--runs", "1"];
    for ended in prepare(&parties, "millionaires", &one) {
        ended.succeeded();
    }
    std::fs::remove_dir_all(parties.folder().join("a")).expect("a folder");
    let batch = ["--param", "bits=8", "--protocol", "batch"];
    for ended in run(&parties, "millionaires", ["a=41", "b=40"], &batch) {
        assert!([6, 7].contains(&ended.code), "{ended:?}");
        assert!(!ended.stderr.contains("a_is_richer"), "{ended:?}");
    }
}

#[test]
fn a_killed_preparation_leaves_nothing_and_a_killed_run_loses_one_execution() {
    let parties = Parties::new();
    let batch = ["--param", "bits=8"];
    let order = words("prepare millionaires --protocol batch --runs 8");
    let order = [&order[..], &batch, &["--retries", "0"]].concat();
    let run_once = ["run", "millionaires", "--protocol", "batch"];
    let run_once = [&run_once[..], &batch].concat();
    let inputs = ["a=41", "b=40"];
    // Kills one party of a command at some instant.
    let cut = |command: &[&str], party: usize, after: u64| {
        let [mut alice, mut bob] = with_stocks(command, inputs);
        for args in [&mut alice, &mut bob] {
            args.extend(["--timeout", "3s"]);
        }
        let (alice, address) = parties.alice_starts(&alice, "");
        let mut both = [alice, parties.bob_starts(&address, &bob, "")];
        thread::sleep(Duration::from_millis(after));
        both[party].kill();
        both.map(ChildProcess::end)
    };
    for (party, after) in [(0, 60), (1, 120), (0, 200), (1, 350)] {
        for ended in cut(&order, party, after) {
            assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        }
        for stock in ["a", "b"] {
            let usable: u64 = parties.usable(stock).iter().sum();
            assert!([0, 8].contains(&usable), "a part of a batch: {usable}");
        }
    }
    let [alice, bob] = with_stocks(&order, inputs);
    for ended in parties.act(&alice, &bob) {
        assert!(ended.succeeded().contains(" 8 usable"), "{ended:?}");
    }
    for (party, after) in [(0, 40), (1, 80), (0, 120), (1, 160)] {
        for ended in cut(&run_once, party, after) {
            assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        }
        let [alice, bob] = with_stocks(&run_once, inputs);
        if parties.usable("b") == [0] || parties.usable("a") == [0] {
            break;
        }
        for ended in parties.act(&alice, &bob) {
            assert!(
                ended.succeeded().ends_with("a_is_richer = 1\n"),
                "{ended:?}"
            );
        }
    }
    // Both continue with the same execution.
    let left = parties.usable("a");
    assert!(left[0] <= 4, "four runs took an execution each: {left:?}");
}
