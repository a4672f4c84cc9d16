//! Runs by `gmw` between two processes.

use std::path::Path;

use crate::process::{Ended, Parties, tacit, with_stocks, words};

const AES: [&str; 2] = [
    "key=000102030405060708090a0b0c0d0e0f",
    "block=00112233445566778899aabbccddeeff",
];
/// FIPS 197, appendix C.1.
const CIPHERTEXT: &str = "ciphertext = 69c4e0d86a7b0430d8cdb78070b4c55a\n";

/// Runs an example by `gmw` at both parties, with the arguments of both and then each party's own.
fn run(parties: &Parties, example: &str, [both, first, second]: [&str; 3]) -> [Ended; 2] {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let program = examples.join(example);
    let program = program.to_str().expect("a path of letters");
    let both = [&[program, "--protocol", "gmw"], &words(both)[..]].concat();
    parties.run(
        &[&both[..], &words(first)].concat(),
        &[&both[..], &words(second)].concat(),
    )
}

#[test]
fn examples_give_by_gmw_what_they_give_by_direct() {
    let parties = Parties::new();
    let gives = |example: &str, arguments: [&str; 3], results: [&str; 2]| {
        let [first, second] = run(&parties, example, arguments);
        assert_eq!(first.succeeded(), results[0], "{example}");
        assert_eq!(second.succeeded(), results[1], "{example}");
    };
    let lots = "\
outcomes (2 rows)
  alice_wins  price
  true        7
  false       3
";
    gives(
        "01_auction.tacit",
        [
            "--param LOTS=2",
            "--as alice --input bids=[7,3]",
            "--as bob --input offers=[7,9]",
        ],
        [lots, lots],
    );
    parties.file("ids.csv", "name,id\nNine,9\nOne,1\nTwo,2\n");
    parties.file("sales.csv", "id,amount\n9,40\n2,10\n5,20\n");
    let found = "count = 2\ntotal = 50\nsound = true\n";
    // Several runs in a session: the OTs of a run follow those of the run before.
    gives(
        "03_psi_sum.tacit",
        [
            "--param LOG=2 --repeat 3",
            "--as alice --input a=@ids.csv:id",
            "--as bob --input b=@sales.csv",
        ],
        [found, found],
    );
    gives(
        "06_logistic.tacit",
        [
            "--param FEATURES=2 --ot-extension silent",
            "--as model --input weights=[2.0,2.0] --input bias=0",
            "--as client --input x=[1,2.0]",
        ],
        ["", "score = 1\n"],
    );
}

#[test]
fn what_gmw_does_not_do_is_refused_before_the_peer_is_met() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let refused = |arguments: &str, said: &[&str]| {
        let all = format!("run --listen 127.0.0.1:0 --plain-loopback --protocol gmw {arguments}");
        tacit(folder.path(), &words(&all)).failed(2, said);
    };
    let example = |name: &str| {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        examples.join(name).display().to_string()
    };
    let auction = format!(
        "{} --as alice --input bids=[1]",
        example("01_auction.tacit")
    );
    refused(
        &format!("{auction} --param LOTS=1 --scheme half-gates/two-call"),
        &["gmw garbles nothing"],
    );
    refused(
        &format!("{auction} --param LOTS=1 --security malicious"),
        &["semi-honest"],
    );
    refused(
        &format!(
            "{} --entry order --as trader",
            example("09_order_book.tacit")
        ),
        &["gmw"],
    );
}

/// Runs a command at both parties, each with its stock and its input.
fn act(parties: &Parties, command: &str) -> [Ended; 2] {
    let [alice, bob] = with_stocks(&words(command), AES);
    parties.act(&alice, &bob)
}

#[test]
fn crosses_are_prepared_listed_checked_taken_and_dropped() {
    let parties = Parties::new();
    for ended in act(&parties, "prepare --crosses 65537 --wide-crosses 1") {
        let told = ended.succeeded();
        for stated in [
            "protocol  gmw, secure against semi-honest parties\n",
            "131072         131072  crosses sent by the garbler\n",
            "4096           4096  wide crosses sent by the evaluator\n",
            "270336 crosses made, 270336 usable\n",
            "OTs by ",
        ] {
            assert!(told.contains(stated), "{stated:?} is missing: {ended:?}");
        }
    }
    for stock in ["a", "b"] {
        assert_eq!(parties.usable(stock).iter().sum::<u64>(), 270_336);
        let checked = tacit(parties.folder(), &["stock", "check", "--stock", stock]);
        let told = checked.succeeded();
        assert!(told.contains("6 instances are whole"), "{checked:?}");
    }
    // There are enough wide ones for one run.
    let run = "run aes-128 --protocol gmw --cost";
    for ended in act(&parties, &format!("{run} --require-stock")) {
        assert_eq!(ended.succeeded(), CIPHERTEXT);
        for stated in ["crosses   from stock\n", "\nprepare "] {
            assert!(ended.stderr.contains(stated), "{ended:?}");
        }
        assert!(!ended.stderr.contains("OTs by"), "{ended:?}");
    }
    for ended in act(&parties, run) {
        assert_eq!(ended.succeeded(), CIPHERTEXT);
        assert!(ended.stderr.contains("OTs by"), "{ended:?}");
        assert!(!ended.stderr.contains("from stock"), "{ended:?}");
    }
    for ended in act(&parties, &format!("{run} --require-stock")) {
        ended.failed(7, &["do not have enough in stock for a run of aes-128"]);
    }
    // Material in stock counts.
    for ended in act(&parties, "prepare aes-128 --protocol gmw --runs 1 --json") {
        let json = ended.json();
        assert_eq!(json["made"], 8192, "{json}");
        assert_eq!(json["function"]["runs"], 1);
        assert_eq!(json["kinds"].as_array().map(Vec::len), Some(4));
    }
    for ended in act(&parties, &format!("{run} --json")) {
        let json = ended.json();
        assert_eq!(json["cost"]["runs"][0]["from_stock"], "crosses", "{json}");
    }
    for ended in act(&parties, "prepare --crosses 1") {
        ended.succeeded();
    }
    let bob = parties.fingerprints()[1];
    let name = "crosses sent by the garbler";
    let dropped = ["stock", "drop", name, "--stock", "a", "--peer", bob];
    tacit(parties.folder(), &dropped).succeeded();
    for ended in act(&parties, &format!("{run} --require-stock")) {
        ended.failed(7, &[]);
    }
}

#[test]
fn orders_that_are_not_of_gmw_are_refused_before_the_peer_is_met() {
    let parties = Parties::new();
    let bob = parties.fingerprints()[1];
    let refused = |arguments: &str, said: &[&str]| {
        let meet = "--role garbler --listen 127.0.0.1:0 --identity alice.key";
        let all = format!("prepare {meet} --peer {bob} --stock a {arguments}");
        tacit(parties.folder(), &words(&all)).failed(2, said);
    };
    refused("--crosses 1 --ands 1", &["--crosses", "--ands"]);
    refused("--crosses 1 --protocol batch", &["belongs to gmw"]);
    refused("--crosses 1 aes-128", &["--crosses"]);
    refused("--crosses 0", &["--crosses"]);
    refused("aes-128 --protocol gmw --ands 1", &["--ands"]);
}
