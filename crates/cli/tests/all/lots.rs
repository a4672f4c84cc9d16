//! Two processes that make instances of components, or triples, keep them on disk, and run
//! functions with them.

use crate::process::{Ended, Parties, tacit, with_stocks, words};
use crate::serve;

const KEY: &str = "key=000102030405060708090a0b0c0d0e0f";
const BLOCK: &str = "block=00112233445566778899aabbccddeeff";
/// FIPS 197, appendix C.1.
const CIPHERTEXT: &str = "ciphertext = 69c4e0d86a7b0430d8cdb78070b4c55a\n";
const PREPARE: [&str; 3] = ["prepare", "--protocol", "authenticated"];

fn act(parties: &Parties, command: &[&str], inputs: [&str; 2]) -> [Ended; 2] {
    let [alice, bob] = with_stocks(command, inputs);
    parties.act(&alice, &bob)
}

#[test]
fn triples_are_prepared_listed_checked_and_taken() {
    let parties = Parties::new();
    let run = ["run", "aes-128", "--security", "malicious", "--cost"];
    let inspected = tacit(parties.folder(), &["inspect", "aes-128", "--json"]);
    assert_eq!(inspected.json()["triples"], 6528);
    let order = ["prepare", "--ands", "6528"];
    for ended in act(&parties, &order, ["", ""]) {
        let told = ended.succeeded();
        for stated in [
            "secure against a malicious party: cheating succeeds with at most 2^-40",
            "6528 triples made, 6528 usable",
            "OTs by ",
        ] {
            assert!(told.contains(stated), "{stated:?} is missing: {ended:?}");
        }
    }
    // One order must have all triples: the 6528 of another do not count.
    let order = ["prepare", "--ands", "6600", "--json"];
    for ended in act(&parties, &order, ["", ""]) {
        let json = ended.json();
        assert_eq!(
            (&json["made"], &json["usable"]),
            (&6656.into(), &13184.into())
        );
        assert_eq!(json["made_at_bits"], 40);
    }
    let listed = tacit(parties.folder(), &["stock", "list", "--stock", "a"]);
    assert!(
        listed.succeeded().contains("triples at s = 40"),
        "{listed:?}"
    );
    let checked = tacit(parties.folder(), &["stock", "check", "--stock", "b"]);
    assert!(checked.succeeded().contains("206 instances are whole"));
    // Each order has enough triples for a run. A used-up order is not listed.
    for left in [6656, 128] {
        for ended in act(&parties, &run, [KEY, BLOCK]) {
            assert_eq!(ended.succeeded(), CIPHERTEXT);
            assert!(
                ended.stderr.contains("protocol  authenticated"),
                "{ended:?}"
            );
            // No OTs were made.
            assert!(ended.stderr.contains("\nprepare "), "{ended:?}");
            assert!(!ended.stderr.contains("OTs by"), "{ended:?}");
            assert!(ended.stderr.contains("triples   from stock\n"), "{ended:?}");
        }
        for stock in ["a", "b"] {
            assert_eq!(parties.usable(stock).iter().sum::<u64>(), left, "{stock}");
        }
    }
    for ended in act(&parties, &run, [KEY, BLOCK]) {
        assert_eq!(ended.succeeded(), CIPHERTEXT);
        assert!(ended.stderr.contains("OTs by"), "{ended:?}");
        assert!(
            ended
                .stderr
                .contains("triples   made in the run: the parties have none, or too few of one "),
            "{ended:?}"
        );
        // The command is ready to be pasted, with this party's role and its peer.
        let (_, command) = ended
            .stderr
            .split_once("here `tacit prepare ")
            .expect("one");
        let (command, _) = command.split_once('`').expect("its end");
        for flag in ["--runs N", "--role ", "--identity "] {
            assert!(command.contains(flag), "{flag}: {ended:?}");
        }
    }
}

/// Instances made for one function serve another of the same components, and do not suffice for a
/// third run.
#[test]
fn components_are_prepared_listed_checked_and_taken() {
    let parties = Parties::new();
    let order = ["aes-128-cbc-rounds", "--param", "blocks=2", "--runs", "1"];
    let order = [&PREPARE[..], &order].concat();
    for ended in act(&parties, &order, ["", ""]) {
        let told = ended.succeeded();
        for stated in [
            "secure against a malicious party: cheating succeeds with at most 2^-40",
            "18         18        512  aes-128-cbc-rounds/round, checked under half-gates",
            "23 instances made, 23 usable, enough for 1 run of aes-128-cbc-rounds\n",
            "OTs by ",
        ] {
            assert!(told.contains(stated), "{stated:?} is missing: {ended:?}");
        }
        assert!(ended.stderr.contains("--ands N makes triples"), "{ended:?}");
    }
    let listed = tacit(parties.folder(), &["stock", "list", "--stock", "a"]);
    let name = "aes-128-cbc-rounds/last_round, checked under half-gates";
    assert!(listed.succeeded().contains(name), "{listed:?}");
    let checked = tacit(parties.folder(), &["stock", "check", "--stock", "b"]);
    assert!(
        checked.succeeded().contains("23 instances are whole"),
        "{checked:?}"
    );
    let run = ["run", "aes-128-rounds", "--security", "malicious"];
    for from_stock in [
        "instances from stock\n",
        // One key schedule was made, for two blocks.
        "triples   made in the run: the parties have none, or too few of one ",
    ] {
        for ended in act(&parties, &run, [KEY, BLOCK]) {
            assert_eq!(ended.succeeded(), CIPHERTEXT);
            assert!(ended.stderr.contains(from_stock), "{ended:?}");
        }
    }
    for stock in ["a", "b"] {
        assert_eq!(parties.usable(stock).iter().sum::<u64>(), 12, "{stock}");
    }
    let json = [&PREPARE[..], &["aes-128-rounds", "--json"]].concat();
    for ended in act(&parties, &json, ["", ""]) {
        let json = ended.json();
        assert_eq!(
            (&json["material"], &json["made"]),
            (&"instances".into(), &11.into())
        );
        assert_eq!(json["function"]["runs"], 1);
    }
}

/// A function that returns an input that no component reads cannot be linked.
#[test]
fn triples_are_prepared_where_components_are_of_no_use() {
    let parties = Parties::new();
    let program = "parties alice, bob;\n\
        main(a: u8 of alice, b: u8 of bob) -> (same: u8 to both, more: bool to both) {\n\
            (b, a > 3)\n\
        }\n";
    parties.file("shows.tacit", program);
    let order = [&PREPARE[..], &["shows.tacit"]].concat();
    for ended in act(&parties, &order, ["", ""]) {
        let told = ended.succeeded();
        assert!(told.contains(" triples made, "), "{ended:?}");
        let why = "triples, not components: the function cannot be run from instances in stock";
        assert!(ended.stderr.contains(why), "{ended:?}");
    }
}

/// The check of the OTs leaves a peer a chance of 2^-51 for every s.
#[test]
fn results_state_the_bits_that_hold_where_more_are_asked_for() {
    let parties = Parties::new();
    let held = "secure against a malicious party: cheating succeeds with at most 2^-51";
    let inputs = ["a=3", "b=2"];
    for protocol in ["authenticated", "batch"] {
        let shared = [
            "millionaires",
            "--protocol",
            protocol,
            "--security-bits",
            "64",
        ];
        let prepare = [&["prepare"], &shared[..]].concat();
        for ended in act(&parties, &prepare, ["", ""]) {
            assert!(ended.succeeded().contains(held), "{ended:?}");
        }
        let run = [&["run"], &shared[..]].concat();
        for ended in act(&parties, &run, inputs) {
            assert_eq!(ended.succeeded(), "a_is_richer = 1\n");
            assert!(ended.stderr.contains(held), "{ended:?}");
        }
        for command in [prepare, run] {
            let json = [&command[..], &["--json"]].concat();
            for ended in act(&parties, &json, inputs) {
                assert_eq!(ended.json()["statistical_security_bits"], 51);
            }
        }
    }
}

#[test]
fn orders_that_are_none_of_triples_are_refused() {
    let parties = Parties::new();
    let alone = |args: &[&str]| {
        let party = words("--role garbler --listen 127.0.0.1:0 --stock a");
        let peer = parties.fingerprints()[1];
        let known = ["--identity", "alice.key", "--peer", peer];
        tacit(parties.folder(), &[args, &party, &known].concat())
    };
    for (args, why) in [
        (
            &["--component", "xor@1"][..],
            "--component belongs to prepared",
        ),
        (
            &["--ands", "1", "--scheme", "half-gates"],
            "of no garbling scheme",
        ),
        (&["--ands", "1", "--security-bits", "65"], "40 to 64"),
        (&["--ands", "9000000000"], "a stock takes at most"),
    ] {
        alone(&[&PREPARE[..], args].concat()).failed(2, &[why]);
    }
    let prepared = ["prepare", "--protocol", "prepared", "--ands", "5"];
    alone(&prepared).failed(2, &["--ands belongs to authenticated"]);
    let batch = ["prepare", "--protocol", "batch", "--ands", "5"];
    alone(&batch).failed(2, &["--ands", "--runs N"]);
}

/// A client can order from a service the material that the service's configuration keeps with it,
/// and no more.
#[test]
fn a_service_takes_orders_for_lots() {
    let parties = Parties::new();
    let stock = "[[serve.function]]\nfunction = \"aes-128-rounds\"\nrole = \"garbler\"\n\
                 protocols = [\"authenticated\"]\ninputs_file = \"in.json\"\n\
                 [[serve.stock]]\nfunction = \"aes-128-rounds\"\nrole = \"garbler\"\n\
                 protocol = \"authenticated\"\nruns = 1\n\
                 [[serve.stock]]\nands = 6528\nrole = \"garbler\"\n";
    let (mut service, address, _) = serve::start(&parties, &serve::config(&parties, stock), &[]);
    let bob = |what: &[&str]| {
        let party = words("--role evaluator --stock b");
        parties
            .bob_starts(&address, &[what, &party].concat(), "")
            .end()
    };
    let instances = [&PREPARE[..], &["aes-128-rounds", "--runs"]].concat();
    let made = bob(&[&instances[..], &["1"]].concat());
    assert!(
        made.succeeded().contains("11 instances made, 11 usable"),
        "{made:?}"
    );
    let told = service.line_after("replenished ");
    assert!(
        told.contains("aes-128-rounds, for authenticated at s = 40"),
        "{told}"
    );
    let made = bob(&["prepare", "--ands", "6528"]);
    assert!(made.succeeded().contains("6528 triples made"), "{made:?}");
    for more in [
        &[&instances[..], &["2"]].concat()[..],
        &["prepare", "--ands", "6529"],
    ] {
        bob(more).failed(
            5,
            &["does not allow this party to order", "this party orders"],
        );
    }
    let run = [
        "run",
        "aes-128-rounds",
        "--security",
        "malicious",
        "--input",
        BLOCK,
    ];
    for from_stock in ["instances from stock\n", "triples   from stock\n"] {
        let ran = bob(&run);
        assert_eq!(ran.succeeded(), CIPHERTEXT);
        assert!(ran.stderr.contains(from_stock), "{ran:?}");
    }
    service.signal("TERM");
    service.end().succeeded();
}
