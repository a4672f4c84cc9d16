//! Two processes, each with its own identity and input, over TLS on loopback.

use std::collections::BTreeMap;

use crate::process::{self, NOBODY, Parties, tacit, words};
use serde_json::json;
use tacit::circuit::formats::{BitOrder, BristolFormat, write_bristol};
use tacit::library;

const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const BLOCK: &str = "00112233445566778899aabbccddeeff";
/// FIPS 197, appendix C.1.
const CIPHERTEXT: &str = "69c4e0d86a7b0430d8cdb78070b4c55a";
/// FIPS 180-4's example: SHA-256 of "abc".
const SHA_256_OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn aes_128_gives_both_the_ciphertext() {
    let parties = Parties::new();
    let key = format!("key={KEY}");
    let block = format!("block=0x{BLOCK}");
    let [alice, bob] = parties.run(
        &["aes-128", "--role", "garbler", "--input", &key],
        &["aes-128", "--role", "evaluator", "--input", &block],
    );
    for (ended, role) in [(&alice, "garbler"), (&bob, "evaluator")] {
        assert_eq!(ended.succeeded(), format!("ciphertext = {CIPHERTEXT}\n"));
        for stated in ["direct", "semi-honest", "half-gates", role, "tacit:"] {
            assert!(
                ended.stderr.contains(stated),
                "{stated} is missing: {ended:?}"
            );
        }
        // Nothing is drawn in a pipe, and no secret is printed.
        assert!(
            !ended.stderr.contains(KEY) && !ended.stderr.contains('\r'),
            "{ended:?}"
        );
    }
    assert!(alice.stderr.contains(parties.fingerprints()[1]));
    assert!(bob.stderr.contains(parties.fingerprints()[0]));
}

#[test]
fn sha_256_in_json_with_its_cost() {
    let parties = Parties::new();
    let arguments = ["sha-256", "--param", "bytes=3", "--json", "--cost"];
    let with = |more: &[&'static str]| -> Vec<&'static str> { [&arguments, more].concat() };
    let [alice, bob] = parties.run(
        &with(&["--role", "garbler"]),
        &with(&["--role", "evaluator", "--input", "message=616263"]),
    );
    for (ended, role) in [(&alice, "garbler"), (&bob, "evaluator")] {
        assert_eq!(ended.code, 0, "{ended:?}");
        let json = ended.json();
        assert_eq!(json["outputs"], json!({ "digest": SHA_256_OF_ABC }));
        assert_eq!(json["role"], role);
        assert_eq!(json["protocol"], "direct");
        assert_eq!(json["threat_model"], "semi-honest");
        assert_eq!(json["function"]["name"], "sha-256");
        assert_eq!(json["function"]["digest"].as_str().map(str::len), Some(64));
        let phases = json["cost"]["runs"][0]["phases"]
            .as_array()
            .expect("phases");
        let bytes = |direction: &str| -> u64 {
            phases
                .iter()
                .map(|phase| phase[direction].as_u64().expect("a count"))
                .sum()
        };
        assert!(bytes("bytes_sent") > 0 && bytes("bytes_received") > 0);
        assert!(
            json["cost"]["peak_memory_bytes"]
                .as_u64()
                .is_none_or(|bytes| bytes > 1 << 20)
        );
    }
    assert!(
        !bob.stderr.contains("protocol"),
        "JSON says it all: {bob:?}"
    );
}

#[test]
fn secrets_come_from_standard_input_and_files() {
    let parties = Parties::new();
    parties.file("block.hex", &format!("{BLOCK}\n"));
    let alice = ["aes-128", "--role", "garbler", "--input", "key=-"];
    let (alice, address) = parties.alice_listens(&alice, &format!("{KEY}\n"));
    let bob = words("aes-128 --role evaluator --input block=@block.hex");
    let bob = parties.bob_connects(&address, &bob, "");
    assert_eq!(
        alice.end().succeeded(),
        format!("ciphertext = {CIPHERTEXT}\n")
    );
    assert_eq!(bob.succeeded(), format!("ciphertext = {CIPHERTEXT}\n"));

    parties.file("key.json", &json!({ "key": KEY }).to_string());
    let alice = ["aes-128", "--role", "garbler", "--input-file", "key.json"];
    let (alice, address) = parties.alice_listens(&alice, "");
    let bob = ["aes-128", "--role", "evaluator", "--input-file", "-"];
    let bob = parties.bob_connects(&address, &bob, &json!({ "block": BLOCK }).to_string());
    assert_eq!(alice.end().succeeded(), bob.succeeded());
}

#[test]
fn the_other_scheme_and_owners_give_the_same() {
    let parties = Parties::new();
    let arguments = words(
        "adder --param bits=16 --scheme prf-xor1-and3 --owner a=evaluator,b=garbler --result \
         sum=garbler",
    );
    let with = |more: &[&'static str]| -> Vec<&'static str> { [&arguments, more].concat() };
    let [alice, bob] = parties.run(
        &with(&["--role", "garbler", "--input", "b=65535"]),
        &with(&["--role", "evaluator", "--input", "a=3"]),
    );
    assert_eq!(alice.succeeded(), "sum = 2\n");
    assert_eq!(bob.succeeded(), "");
    assert!(
        bob.stderr.contains("the results go to the garbler"),
        "{bob:?}"
    );
}

#[test]
fn base_ots_from_ml_kem_give_the_same() {
    let parties = Parties::new();
    let garbler = ["millionaires", "--role", "garbler", "--input", "a=41"];
    let evaluator = ["millionaires", "--role", "evaluator", "--input", "b=40"];
    let with = |arguments: &[&'static str], cost: &[&'static str]| {
        [arguments, &["--base-ot", "ml-kem-768"], cost].concat()
    };
    let [alice, bob] = parties.run(&with(&garbler, &["--cost"]), &with(&evaluator, &[]));
    assert_eq!(alice.succeeded(), "a_is_richer = 1\n");
    assert_eq!(bob.succeeded(), "a_is_richer = 1\n");
    // The garbler's 128 keys in one direction and the evaluator's 256 ciphertexts in the other.
    let setup = alice.stderr.lines().find(|line| line.starts_with("setup"));
    let setup: Vec<&str> = setup
        .expect("the setup's cost")
        .split_whitespace()
        .collect();
    let bytes = [setup[3], setup[4]].map(|bytes| bytes.parse::<u64>().expect("bytes"));
    assert!(bytes[0] > 159_744 && bytes[1] > 278_528, "{setup:?}");
}

#[test]
fn silent_ots_give_the_same_and_the_cost_says_so() {
    let parties = Parties::new();
    let garbler = ["millionaires", "--role", "garbler", "--input", "a=41"];
    let evaluator = ["millionaires", "--role", "evaluator", "--input", "b=40"];
    let with = |arguments: &[&'static str], more: &[&'static str]| {
        let silent = ["--ot-extension", "silent", "--cost", "--repeat", "2"];
        [arguments, &silent, more].concat()
    };
    let [alice, bob] = parties.run(&with(&garbler, &[]), &with(&evaluator, &["--json"]));
    assert_eq!(alice.succeeded(), "a_is_richer = 1\n");
    let told = alice.stderr.contains("OTs by silent") && alice.stderr.contains("\nrefill ");
    assert!(told, "{alice:?}");
    let cost = &bob.json()["cost"]["runs"];
    let refilled = [0, 1].map(|run| {
        assert_eq!(cost[run]["ot_extension"], "silent");
        let phases = cost[run]["phases"].as_array().expect("phases");
        phases.iter().any(|phase| phase["phase"] == "refill")
    });
    // Material made for the first run serves the second.
    assert_eq!(refilled, [true, false]);
}

#[test]
fn aes_128_from_a_circuit_file() {
    let parties = Parties::new();
    let circuit = library::find("aes-128", &BTreeMap::new()).expect("AES-128");
    for (format, order) in [
        (BristolFormat::Fashion, BitOrder::ReversedBytes),
        (BristolFormat::Old, BitOrder::ReversedBits),
    ] {
        let mut file = Vec::new();
        write_bristol(&circuit, &mut file, format, order).expect("a circuit file");
        let file = String::from_utf8(file).expect("text");
        parties.file("cipher.txt", &file);
        let order = order.to_string();
        let arguments = [
            "cipher.txt",
            "--bit-order",
            &order,
            "--owner",
            "in0=garbler",
            "--owner",
            "in1=evaluator",
            "--result",
            "out0=evaluator",
            "--type",
            "in0=bytes[16]",
            "--type",
            "in1=bytes[16]",
            "--type",
            "out0=bytes[16]",
        ];
        let key = format!("in0={KEY}");
        let block = format!("in1={BLOCK}");
        let [alice, bob] = parties.run(
            &[&arguments[..], &["--role", "garbler", "--input", &key]].concat(),
            &[
                &arguments[..],
                &["--role", "evaluator", "--input", &block, "--json"],
            ]
            .concat(),
        );
        assert_eq!(alice.succeeded(), "");
        assert_eq!(bob.code, 0, "{bob:?}");
        assert_eq!(bob.json()["outputs"], json!({ "out0": CIPHERTEXT }));
    }
}

#[test]
fn functions_of_many_calls_by_name_and_from_a_file() {
    let parties = Parties::new();
    let shipped = library::shipped::find("levenshtein").expect("it comes with Tacit");
    parties.file("distance.tacit", shipped.text());
    let params = ["--param", "n=6,m=7"];
    let mut digests = Vec::new();
    for name in ["levenshtein", "distance.tacit"] {
        let x = words("--role garbler --input x=[107,105,116,116,101,110]");
        let y = words("--role evaluator --input y=[115,105,116,116,105,110,103]");
        let [alice, bob] = parties.run(
            &[&[name][..], &params, &x].concat(),
            &[&[name][..], &params, &y].concat(),
        );
        // The edit distance of "kitten" and "sitting".
        assert_eq!(alice.succeeded(), "distance = 3\n");
        assert_eq!(bob.succeeded(), "distance = 3\n");
        let inspected = [&["inspect", name][..], &params, &["--json"]].concat();
        let inspected = tacit(parties.folder(), &inspected).json();
        assert_eq!(inspected["calls"], 42);
        let digest = inspected["function_digest"].as_str().expect("a digest");
        assert!(alice.stderr.contains(digest), "{alice:?}");
        digests.push(digest.to_owned());
    }
    assert_eq!(
        digests[0], digests[1],
        "one function, by name and from its file"
    );
}

#[test]
fn many_runs_over_one_connection() {
    let parties = Parties::new();
    let arguments = ["millionaires", "--repeat", "5", "--cost"];
    let with = |more: &[&'static str]| -> Vec<&'static str> { [&arguments, more].concat() };
    let [alice, bob] = parties.run(
        &with(&["--role", "evaluator", "--input", "b=40"]),
        &with(&["--role", "garbler", "--input", "a=41"]),
    );
    for ended in [&alice, &bob] {
        assert_eq!(ended.succeeded(), "a_is_richer = 1\n");
        for word in ["5 runs", "setup", "rounds", "AND gates"] {
            assert!(ended.stderr.contains(word), "{word}: {ended:?}");
        }
    }
}

#[test]
fn results_of_finished_runs_are_told_when_a_party_is_stopped() {
    let parties = Parties::new();
    let run = |role, input| {
        let mut all = words("run millionaires --repeat 1000000 --json -v --role");
        all.extend([role, "--input", input]);
        all
    };
    for signal in ["TERM", "HUP", "KILL"] {
        let (mut alice, address) = parties.alice_starts(&run("garbler", "a=41"), "");
        let bob = parties.bob_starts(&address, &run("evaluator", "b=40"), "");
        alice.line_after("run 3 took");
        alice.signal(signal);
        let (alice, bob) = (alice.end(), bob.end());
        let mut told = vec![(bob, 6)];
        if signal == "KILL" {
            assert_eq!(alice.code, -1, "{alice:?}");
        } else {
            told.push((alice, 130));
        }
        for (ended, code) in told {
            ended.failed(code, &["what to do"][..usize::from(code == 6)]);
            let json = ended.json();
            assert!(json["runs_done"].as_u64() >= Some(3), "{json}");
            assert_eq!(json["outputs"]["a_is_richer"], 1);
            assert_eq!(json["error"]["exit_code"], code);
        }
    }
}

#[test]
fn plain_loopback_says_so_loudly() {
    let parties = Parties::new();
    let arguments = ["run", "millionaires", "--plain-loopback"];
    let with = |more: &[&'static str]| -> Vec<&'static str> { [&arguments, more].concat() };
    let alice = with(&words("--role garbler --input a=1 --listen localhost:0"));
    let mut alice = process::start(parties.folder(), &alice, "");
    let address = alice.line_after("listening on ");
    let mut bob = with(&words("--role evaluator --input b=1 --json --connect"));
    bob.push(Box::leak(address.into_boxed_str()));
    let bob = tacit(parties.folder(), &bob);
    let alice = alice.end();
    assert_eq!(alice.succeeded(), "a_is_richer = 0\n");
    assert!(alice.stderr.contains("WARNING"), "{alice:?}");
    assert!(bob.stderr.contains("WARNING"), "{bob:?}");
    assert!(bob.json()["peer"].is_null());
}

#[test]
fn peers_by_name_from_the_configuration() {
    let parties = Parties::new();
    let alice = &parties.fingerprints()[0];
    let (listening, address) =
        parties.alice_listens(&["millionaires", "--role", "garbler", "--input", "a=9"], "");
    parties.file(
        "bob.toml",
        &format!(
            "identity = \"bob.key\"\n[peers.alice]\nfingerprint = \"{alice}\"\n\
             address = \"{address}\"\n[timeouts]\nmessage = \"20s\"\n"
        ),
    );
    let connecting =
        words("run millionaires --role evaluator --input b=10 --peer alice --config bob.toml");
    let connecting = tacit(parties.folder(), &connecting);
    assert_eq!(connecting.succeeded(), "a_is_richer = 0\n");
    assert_eq!(listening.end().succeeded(), "a_is_richer = 0\n");
}

#[test]
fn two_that_both_listen_or_both_connect_are_told() {
    let parties = Parties::new();
    let arguments = |role, input| {
        let timeout = ["--timeout", "12s"];
        [
            &["millionaires", "--role", role, "--input", input][..],
            &timeout,
        ]
        .concat()
    };
    let (listening, _) = parties.alice_listens(&arguments("garbler", "a=1"), "");
    let connecting = [&["run"][..], &arguments("evaluator", "b=1")].concat();
    let connecting = parties.bob_starts(NOBODY, &connecting, "");
    let waiting = "still waiting: the other party has to give";
    let (connect, listen) = (
        "one of the two has to connect",
        "one of the two has to listen",
    );
    listening.end().failed(6, &[waiting, connect]);
    connecting.end().failed(6, &[waiting, listen]);
}

#[test]
fn each_parameter_that_differs_is_named_with_both_values() {
    let parties = Parties::new();
    let program = "parties a, b;\nparam N: 1..=64 = 8;\nparam M: 1..=9 = 2;\n\
                   main(x: [u8; N] of a, y: [u8; M] of b) -> (s: u8 to both) { x[0] + y[0] }\n";
    parties.file("sum.tacit", program);
    let alice = ["sum.tacit", "--as", "a", "--input", "x=[1,2,3,4,5,6,7,8]"];
    let bob = [
        "sum.tacit",
        "--as",
        "b",
        "--param",
        "N=4,M=3",
        "--input",
        "y=[1,2,3]",
    ];
    let [alice, bob] = parties.run(&alice, &bob);
    let both = "N is 8 here and 4 at the peer, M is 2 here and 3 at the peer";
    alice.failed(5, &[both, "--param N, --param M"]);
    let both = "N is 4 here and 8 at the peer, M is 3 here and 2 at the peer";
    bob.failed(5, &[both]);
    let of = |role, bits, input| {
        [
            "millionaires",
            "--role",
            role,
            "--param",
            bits,
            "--input",
            input,
        ]
    };
    let [alice, bob] = parties.run(
        &of("garbler", "bits=16", "a=1"),
        &of("evaluator", "bits=24", "b=1"),
    );
    alice.failed(5, &["bits is 16 here and 24 at the peer"]);
    bob.failed(5, &["bits is 24 here and 16 at the peer"]);
}

/// A closed terminal sends SIGHUP, and then fails every write.
#[cfg(target_os = "linux")]
#[test]
fn nobody_who_reads_the_messages_is_no_reason_to_lose_the_result() {
    let parties = Parties::new();
    let (alice, address) =
        parties.alice_listens(&words("millionaires --role garbler --input a=41"), "");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let bob = std::process::Command::new(env!("CARGO_BIN_EXE_tacit"))
        .args(words("run millionaires --role evaluator --input b=40"))
        .args(["--identity", "bob.key", "--connect", &address])
        .args(["--peer", parties.fingerprints()[0]])
        .current_dir(parties.folder())
        .stderr(full.unwrap())
        .output()
        .unwrap();
    assert_eq!(bob.status.code(), Some(0));
    assert_eq!(bob.stdout, b"a_is_richer = 1\n");
    alice.end().succeeded();
}
