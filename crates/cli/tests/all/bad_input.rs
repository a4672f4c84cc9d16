//! Bad input on this party's side: a clear error, the exit code of its kind, and no message to the
//! peer.

use crate::process::{self, Parties, tacit, words};

/// Runs `tacit run` with these arguments and the address of no peer. It must end before it
/// connects.
fn run(parties: &Parties, args: &[&str]) -> process::Ended {
    let mut all = vec!["run", "--connect", "127.0.0.1:9", "--timeout", "50ms"];
    all.extend(["--identity", "bob.key", "--peer", parties.fingerprints()[0]]);
    all.extend(args);
    tacit(parties.folder(), &all)
}

#[test]
fn wrong_inputs_are_named() {
    let parties = Parties::new();
    parties.file("twice.json", r#"{ "a": 1, "a": 2 }"#);
    parties.file("torn.json", r#"{ "a": 1"#);
    parties.file("float.json", r#"{ "a": 1.5 }"#);
    parties.file("large.json", r#"{ "a": 4294967296 }"#);
    parties.file("list.json", "[1]");
    std::fs::write(parties.folder().join("binary"), [0xff, 0xfe]).unwrap();
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["--input", "c=1"], 3, &["no input \"c\"", "a (u32)"]),
        (
            &["--input", "b=1"],
            3,
            &["the evaluator's", "this party is the garbler"],
        ),
        (&[], 3, &["no value for a (u32)", "--input"]),
        (&["--input", "a=1", "--input", "a=2"], 3, &["given twice"]),
        (
            &["--input", "a=4294967296"],
            3,
            &["input a", "u32", "4294967295"],
        ),
        (&["--input", "a=-1"], 3, &["input a", "u32"]),
        (&["--input", "a=x"], 3, &["input a", "u32"]),
        (&["--input", "a="], 3, &["input a", "u32"]),
        (&["--input", "41"], 2, &["NAME=VALUE"]),
        (&["--input", "a=@absent"], 3, &["input a", "absent"]),
        (&["--input", "a=@binary"], 3, &["input a", "not UTF-8"]),
        (&["--input-file", "absent.json"], 3, &["absent.json"]),
        (&["--input-file", "twice.json"], 3, &["twice"]),
        (
            &["--input-file", "torn.json"],
            3,
            &["torn.json", "line 1", "too early"],
        ),
        (&["--input-file", "float.json"], 3, &["input a", "u32"]),
        (&["--input-file", "large.json"], 3, &["input a", "u32"]),
        (
            &["--input-file", "list.json"],
            3,
            &["list.json", "not an object"],
        ),
        (
            &["--input", "a=-", "--input-file", "-"],
            2,
            &["standard input", "once"],
        ),
        // Only the text behind the first `=` is the value.
        (
            &["--input", "note=a=-", "--input-file", "-"],
            3,
            &["no input \"note\""],
        ),
    ];
    for (args, code, words) in cases {
        let args = [&["millionaires", "--role", "garbler"], *args].concat();
        run(&parties, &args).failed(*code, &[words, &["what to do"][..]].concat());
    }
    let short = ["aes-128", "--role", "garbler", "--input", "key=0011"];
    run(&parties, &short).failed(3, &["input key", "bytes[16]"]);
    parties.file("text", "kitten\n");
    let words = ["levenshtein", "--role", "garbler", "--param"];
    let words = [&words[..], &["n=6,m=6,symbol_bits=8", "--input", "x=@text"]].concat();
    run(&parties, &words).failed(3, &["input x", "u8[6]", "such as [72,105] for Hi"]);
}

#[test]
fn secrets_stay_out_of_errors() {
    let parties = Parties::new();
    for args in [["--input", "a=hunter2"], ["--input", "hunter2"]] {
        let args = [&["millionaires", "--role", "garbler"][..], &args[..]].concat();
        let ended = run(&parties, &args);
        assert!(
            !ended.stderr.contains("hunter2") && ended.stdout.is_empty(),
            "{ended:?}"
        );
    }
    let args = words("run millionaires --role garbler --input a=- -vv --connect");
    let args = [
        &args[..],
        &["127.0.0.1:9", "--timeout", "50ms", "--plain-loopback"],
    ]
    .concat();
    let ended = process::start(parties.folder(), &args, "987654321").end();
    ended.failed(6, &["127.0.0.1:9"]);
    assert!(!ended.stderr.contains("987654321"), "{ended:?}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one list of mistakes")]
fn usage_errors_exit_with_2() {
    let parties = Parties::new();
    let [peer, own] = parties.fingerprints();
    let run = ["run", "millionaires", "--role", "garbler", "--input", "a=1"];
    let identity = ["--identity", "bob.key"];
    let connect = ["--connect", "127.0.0.1:9"];
    let mistyped = format!("{}a", &peer[..peer.len() - 1]);
    let mistyped = if mistyped == peer {
        format!("{}b", &peer[..peer.len() - 1])
    } else {
        mistyped
    };
    let cases: Vec<(Vec<&str>, &[&str])> = vec![
        (vec!["fly"], &["fly", "Usage"]),
        (vec!["run"], &["<FUNCTION>"]),
        (
            vec!["run", "millionaires", "--role", "broker"],
            &["garbler", "evaluator"],
        ),
        (
            vec!["run", "millionaires", "--role", "cloud"],
            &["'cloud' for '--role", "garbler"],
        ),
        (
            [&run[..], &identity, &["--peer", peer]].concat(),
            &["--listen", "--connect"],
        ),
        ([&run[..], &identity, &connect].concat(), &["--peer"]),
        (
            [&run[..], &identity, &connect, &["--peer", "bob"]].concat(),
            &["bob", "tacit.toml"],
        ),
        (
            [&run[..], &identity, &connect, &["--peer", &mistyped]].concat(),
            &["mistyped"],
        ),
        (
            [&run[..], &connect, &["--peer", peer]].concat(),
            &["tacit keygen"],
        ),
        (
            [&run[..], &identity, &connect, &["--peer", own]].concat(),
            &["own fingerprint", "the other party"],
        ),
        (
            [&run[..], &connect, &["--peer", peer, "--plain-loopback"]].concat(),
            &["--peer"],
        ),
        (
            [&run[..], &connect, &["--timeout", "soon"]].concat(),
            &["soon"],
        ),
        ([&run[..], &connect, &["--repeat", "0"]].concat(), &["0"]),
        (
            [
                &run[..],
                &connect,
                &["--plain-loopback", "--scheme", "rot13"],
            ]
            .concat(),
            &["rot13", "half-gates"],
        ),
        (
            [&run[..], &["--plain-loopback", "--connect", "192.0.2.1:9"]].concat(),
            &["192.0.2.1", "loopback"],
        ),
        (
            [&run[..], &["--plain-loopback", "--connect", "nonsense"]].concat(),
            &["nonsense", "HOST:PORT"],
        ),
        (
            [
                &run[..],
                &connect,
                &["--plain-loopback", "--protocol", "prepared"],
            ]
            .concat(),
            &[
                "--plain-loopback has none",
                "leave it out, and give --identity and --peer",
            ],
        ),
        (
            vec!["prepare", "aes-128-rounds", "--plain-loopback"],
            &["--plain-loopback", "tip: ", "give --identity and --peer"],
        ),
        (
            vec!["eval", "gap.tacit", "--public", "limit=1"],
            &[
                "--public",
                "tip: ",
                "--input gives all inputs, public ones too",
            ],
        ),
        (
            [
                &run[..],
                &["--security", "malicious", "--protocol", "direct"],
            ]
            .concat(),
            &[
                "semi-honest only",
                "leave out --protocol direct",
                "authenticated and batch",
            ],
        ),
        (
            [&run[..], &["--chain", "total", "--pin", "x:1"]].concat(),
            &[
                "x:1",
                "32 hex digits",
                "copy the pin that an earlier run printed",
            ],
        ),
        (vec!["inspect"], &["Usage"]),
        (
            vec!["inspect", "aes-128", "--owner", "kee=garbler"],
            &["kee", "key, block"],
        ),
        (
            vec!["inspect", "aes-128", "--owner", "key=cloud"],
            &["garbler or evaluator"],
        ),
        (
            vec!["inspect", "aes-128", "--bit-order", "as-given"],
            &["library"],
        ),
        (
            vec!["stock", "list", "--config", "absent.toml"],
            &["absent.toml"],
        ),
    ];
    for (args, words) in cases {
        tacit(parties.folder(), &args).failed(2, words);
    }
}

#[test]
fn functions_that_are_not_there() {
    let parties = Parties::new();
    std::fs::write(parties.folder().join("gap.tacit"), "").unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["rot13"], &["rot13", "tacit inspect --list"]),
        (&["milionaires"], &["did you mean millionaires?"]),
        (&["absent.txt"], &["absent.txt is neither a file"]),
        (
            &["there/absent.tacit"],
            &["there is no file absent.tacit in there"],
        ),
        (&["gap.tcit"], &["did you mean gap.tacit?"]),
        (&["./gap"], &["did you mean ./gap.tacit?"]),
        (&["sha-256"], &["bytes"]),
        (&["sha-256", "--param", "bytes=0"], &["bytes", "from 1"]),
        (
            &["sha-256", "--param", "bytes=many"],
            &["bytes", "whole number"],
        ),
        (&["aes-128", "--param", "rounds=9"], &["rounds"]),
    ];
    for (args, words) in cases {
        tacit(parties.folder(), &[&["inspect"], *args].concat()).failed(3, words);
    }
}

/// One AND gate, in Bristol Fashion.
const AND: &str = "1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n";

#[test]
fn files_and_params_that_are_not_right() {
    let parties = Parties::new();
    let inspect = |args: &[&str]| tacit(parties.folder(), &[&["inspect"], args].concat());
    std::fs::write(parties.folder().join("bytes.tacit"), b"\xff").expect("a folder");
    inspect(&["bytes.tacit"]).failed(3, &["bytes.tacit is not text in UTF-8"]);
    std::fs::write(parties.folder().join("bytes.toml"), b"\xff").expect("a folder");
    let read = tacit(
        parties.folder(),
        &["stock", "list", "--config", "bytes.toml"],
    );
    read.failed(2, &["bytes.toml: it is not text in UTF-8"]);
    inspect(&["levenshtein", "--param", "n=0"]).failed(3, &["`n`", "1 to 400"]);
    inspect(&["levenshtein", "--param", "N=6"]).failed(3, &["`N`", "did you mean `n`?"]);
    let limited = "parties a, b;\nparam LIMIT: 1..=9 = 3;\n\
                   main(x: u8 of a, y: u8 of b) -> (least: u8 to both) { y }\n";
    std::fs::write(parties.folder().join("limited.tacit"), limited).expect("a folder");
    inspect(&["limited.tacit", "--param", "LIMT=4"]).failed(3, &["did you mean `LIMIT`?"]);
    inspect(&["levenshtein", "--owner", "x=evaluator"]).failed(2, &["--owner", "leave it out"]);
    inspect(&["levenshtein", "--bit-order", "reversed"]).failed(2, &["--bit-order"]);
    for name in ["f.json", "F.JSON"] {
        parties.file(name, "{}");
        inspect(&[name]).failed(3, &["not written in JSON", "NAME.tacit"]);
    }
}

#[test]
fn circuit_files_that_are_not_right() {
    let parties = Parties::new();
    let cases = [
        ("empty", String::new(), "line 1"),
        ("cut", AND[..AND.len() - 14].to_owned(), "end of the file"),
        ("dangling", AND.replace("0 1 2 AND", "0 7 2 AND"), "line 5"),
        ("cycle", AND.replace("0 1 2 AND", "0 2 2 AND"), "line 5"),
        (
            "driven-twice",
            AND.replace("0 1 2 AND", "0 1 1 AND"),
            "line 5",
        ),
        ("gate", AND.replace("AND", "NAND"), "NAND"),
        ("lies", AND.replace("1 3\n", "2 4\n"), "line"),
        (
            "ten-gigabytes",
            AND.replace("1 3\n", "300000000 300000002\n"),
            "limit",
        ),
        (
            "past-32-bits",
            AND.replace("1 3\n", "99999999999999999999 3\n"),
            "line 1",
        ),
        ("wide", AND.replace("2 1 1\n", "2 4000000000 1\n"), "line 2"),
        ("no-text", "\u{0}\u{1}\u{2}".to_owned(), "line 1"),
    ];
    for (name, content, word) in cases {
        let file = format!("{name}.txt");
        parties.file(&file, &content);
        tacit(parties.folder(), &["inspect", &file]).failed(3, &[&file, word]);
        let args = [
            &file,
            "--role",
            "garbler",
            "--owner",
            "in0=garbler,in1=evaluator",
        ];
        let args = [&args[..], &["--result", "out0=both", "--input", "in0=1"]].concat();
        run(&parties, &args).failed(3, &[&file, word]);
    }
}

#[test]
fn a_circuit_file_needs_owners_and_recipients() {
    let parties = Parties::new();
    parties.file("and.txt", AND);
    let shown = tacit(parties.folder(), &["inspect", "and.txt"]);
    assert!(shown.succeeded().contains("--owner"), "{shown:?}");
    let args = ["and.txt", "--role", "garbler", "--input", "in0=1"];
    let example = "--owner in0=garbler --owner in1=evaluator --result out0=both";
    run(&parties, &args).failed(2, &["in0, in1", "out0", example]);
    let args = [&args[..], &["--owner", "in0=garbler,in1=evaluator"]].concat();
    run(&parties, &args).failed(2, &["who gets out0"]);
}

#[test]
fn types_of_a_circuit_file() {
    let parties = Parties::new();
    parties.file("and.txt", AND);
    let inspect = |args: &[&str]| {
        tacit(
            parties.folder(),
            &[
                &["inspect", "and.txt", "--json", "--bit-order", "as-given"],
                args,
            ]
            .concat(),
        )
    };
    let json = inspect(&["--type", "in0=u1", "--type", "out0=bit"]).json();
    assert_eq!(json["inputs"][0]["type"], "u1");
    assert_eq!(json["inputs"][1]["type"], "bits[1]");
    assert_eq!(json["results"][0]["type"], "bit");
    let digest = |json: &serde_json::Value| json["components"][0]["circuit_digest"].clone();
    assert!(digest(&json).is_string());
    assert_ne!(digest(&json), digest(&inspect(&[]).json()));
    inspect(&["--type", "in0=u2"]).failed(2, &["in0", "2 bits", "has 1"]);
    inspect(&["--type", "in2=u1"]).failed(2, &["in2", "in0, in1, out0"]);
    inspect(&["--type", "in0=word"]).failed(3, &["word"]);
    let silent = ["inspect", "and.txt", "--type", "in0=u1"];
    tacit(parties.folder(), &silent).failed(2, &["in0", "--bit-order"]);
    let library = ["inspect", "aes-128", "--type", "key=u128"];
    tacit(parties.folder(), &library).failed(2, &["library"]);
}

#[test]
fn identity_files_that_cannot_be_used() {
    use std::os::unix::fs::PermissionsExt;
    let parties = Parties::new();
    let again = ["keygen", "--out", "alice.key"];
    tacit(parties.folder(), &again).failed(3, &["alice.key", "already exists"]);
    let shown = tacit(parties.folder(), &["keygen", "--show", "alice.key"]);
    assert_eq!(shown.succeeded().trim(), parties.fingerprints()[0]);
    let nowhere = ["keygen", "--out", "no/such/folder.key"];
    tacit(parties.folder(), &nowhere).failed(3, &["no/such/folder.key"]);
    tacit(parties.folder(), &["keygen", "--show", "absent.key"]).failed(3, &["absent.key"]);
    let path = parties.file("text.key", "no key at all");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    tacit(parties.folder(), &["keygen", "--show", "text.key"]).failed(3, &["holds no identity"]);
    let path = parties.folder().join("bob.key");
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let args = ["millionaires", "--role", "garbler", "--input", "a=1"];
    run(&parties, &args).failed(3, &["bob.key", "chmod 600"]);
}

#[test]
fn errors_in_json_too() {
    let parties = Parties::new();
    let ended = run(
        &parties,
        &words("millionaires --role garbler --input a=-5 --json"),
    );
    ended.failed(3, &["input a"]);
    let json = ended.json();
    assert_eq!(json["error"]["exit_code"], 3);
    assert!(
        json["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("input a"))
    );
    assert!(json["error"]["remedy"].is_string());
}

#[test]
fn arguments_that_are_not_right_are_told_as_json_where_it_is_asked_for() {
    let parties = Parties::new();
    for (wrong, what) in [
        (&["run", "--json"][..], "<FUNCTION>"),
        (&["run", "--bogus", "--json"], "--bogus"),
        (
            &["eval", "gap.tacit", "--public", "a=1", "--json"],
            "--public",
        ),
        (&["inspect", "aes-128", "--ir", "--json"], "--ir"),
    ] {
        let ended = tacit(parties.folder(), wrong);
        ended.failed(2, &["error: "]);
        let error = &ended.json()["error"];
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| text.contains(what))
        );
        assert_eq!(error["exit_code"], 2, "{ended:?}");
        assert!(
            error["remedy"]
                .as_str()
                .is_some_and(|text| text.contains("--help"))
        );
    }
    let help = tacit(parties.folder(), &["stock", "list", "--help", "--json"]);
    assert!(help.succeeded().contains("Usage"), "{help:?}");
}
