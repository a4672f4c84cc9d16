//! The help of each command, and the output for machines.

use std::path::Path;

use crate::process::{tacit, words};

const COMMANDS: [&str; 21] = [
    "demo",
    "keygen",
    "pair",
    "inspect",
    "check",
    "test",
    "eval",
    "fmt",
    "plan",
    "offers",
    "run",
    "match",
    "outsource",
    "prepare",
    "stock",
    "backup",
    "restore",
    "lsp",
    "config",
    "completions",
    "man",
];

#[test]
fn every_command_teaches() {
    let folder = tempfile::tempdir().unwrap();
    let all = tacit(folder.path(), &["--help"]);
    for command in COMMANDS {
        assert!(
            all.succeeded().contains(&format!("\n  {command} ")),
            "{command}: {all:?}"
        );
        let help = tacit(folder.path(), &[command, "--help"]);
        assert!(
            help.succeeded()
                .contains(&format!("Usage: tacit {command}")),
            "{help:?}"
        );
    }
    for command in &COMMANDS[..15] {
        let help = tacit(folder.path(), &[command, "--help"]);
        assert!(help.stdout.contains("Examples"), "{help:?}");
    }
    for code in [
        "2 usage",
        "3 input",
        "4 the peer",
        "5 the parties",
        "6",
        "7 stock",
        "130",
    ] {
        assert!(all.stdout.contains(code), "{code}: {all:?}");
    }
    let run = tacit(folder.path(), &["run", "--help"]);
    assert!(run.stdout.contains("list of processes"), "{run:?}");
    assert!(
        tacit(folder.path(), &["--version"])
            .succeeded()
            .starts_with("tacit ")
    );
}

/// `run -h` shows the options that most runs need, by task and on one screen; `--help` has
/// everything.
#[test]
fn short_help_fits_on_a_screen() {
    let folder = tempfile::tempdir().unwrap();
    let [short, long] = ["-h", "--help"].map(|flag| tacit(folder.path(), &["run", flag]));
    let lines = short.succeeded().lines().count();
    assert!(lines <= 60, "{lines} lines:\n{}", short.stdout);
    for heading in [
        "What the function is:",
        "Which party this is, and how to meet the other:",
        "Inputs and results:",
        "How it is run:",
    ] {
        assert!(
            short.stdout.contains(heading),
            "{heading}:\n{}",
            short.stdout
        );
    }
    for rare in ["--chain", "--plain-loopback", "--bit-order", "--repeat"] {
        assert!(!short.stdout.contains(rare), "{rare}:\n{}", short.stdout);
        assert!(long.succeeded().contains(rare), "{rare}:\n{}", long.stdout);
    }
}

/// Each of the three commands takes the arguments of its role and no others, and shows the example
/// lines of all three.
#[test]
fn each_of_three_parties_has_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let all = [
        "--cloud",
        "--evaluator",
        "--generator",
        "--input",
        "--chain",
        "--pin",
        "--copies",
    ];
    for (role, takes) in [
        ("generator", [true, true, false, true, true, false, true]),
        ("cloud", [false, true, true, false, true, false, true]),
        ("evaluator", [true, false, true, true, false, true, true]),
    ] {
        let [short, long] = ["-h", "--help"].map(|h| tacit(folder.path(), &["outsource", role, h]));
        let lines = short.succeeded().lines().count();
        assert!(lines <= 60, "{lines} lines:\n{}", short.stdout);
        for (flag, takes) in all.into_iter().zip(takes) {
            let is_taken = long.succeeded().contains(&format!("\n      {flag} <"));
            assert_eq!(is_taken, takes, "{role} {flag}:\n{}", long.stdout);
        }
        assert_eq!(
            short.stdout.contains("\n      --chain <"),
            takes[4],
            "{}",
            short.stdout
        );
        assert!(
            short.stdout.contains("\n      --entry <"),
            "{}",
            short.stdout
        );
        for other in ["generator", "cloud", "evaluator"] {
            let line = format!(" tacit outsource {other} millionaires --");
            assert!(
                short.stdout.contains(&line) && long.stdout.contains(&line),
                "{other}"
            );
        }
    }
    let run = tacit(folder.path(), &["run", "--help"]);
    for of_three in ["--cloud", "generator", "outsourced", "non-colluding"] {
        assert!(
            !run.succeeded().contains(of_three),
            "{of_three}:\n{}",
            run.stdout
        );
    }
}

#[test]
fn a_flag_of_another_command_is_said_to_be_its() {
    let folder = tempfile::tempdir().unwrap();
    for (command, flag, owner) in [
        (
            "outsource generator f",
            "--pin",
            "`tacit outsource evaluator`",
        ),
        (
            "outsource evaluator f",
            "--chain",
            "`tacit outsource generator`, `tacit outsource cloud`",
        ),
        (
            "run f",
            "--copies",
            "`tacit outsource generator`, `tacit outsource cloud`",
        ),
        ("stock list", "--ands", "`tacit prepare`"),
    ] {
        let ended = tacit(
            folder.path(),
            &[&words(command)[..], &[flag, "1", "--json"]].concat(),
        );
        ended.failed(2, &[&format!("tip: {flag} belongs to {owner}")]);
        let remedy = ended.json()["error"]["remedy"].to_string();
        assert!(remedy.contains(owner), "{remedy}");
    }
    for unknown in ["--foo", "--jsom"] {
        let ended = tacit(folder.path(), &["run", "f", unknown]);
        ended.failed(2, &[unknown]);
        assert!(!ended.stderr.contains("as a value"), "{ended:?}");
        assert_eq!(
            ended.stderr.contains("--json"),
            unknown == "--jsom",
            "{ended:?}"
        );
    }
}

/// Without quotation marks a shell makes three words of `a=[1, 2, 3]`.
#[test]
fn a_value_that_a_space_has_ended_is_to_be_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let tip = ["tip: a shell ends a value at a space"];
    for (given, is_cut) in [
        ("run f --input a=[1, 2, 3] --with bob", true),
        ("eval f --input a=[{\"x\":1}, {\"x\":2}]", true),
        ("run f --input a=[1,2] g", false),
        ("run f g", false),
    ] {
        let ended = tacit(folder.path(), &words(given));
        ended.failed(
            2,
            if is_cut {
                &tip
            } else {
                &["unexpected argument"]
            },
        );
        assert_eq!(ended.stderr.contains(tip[0]), is_cut, "{ended:?}");
    }
}

#[test]
fn completions_and_man_pages() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = tacit(folder.path(), &["completions", shell]);
        assert!(script.succeeded().contains("keygen"), "{shell}");
    }
    assert!(
        tacit(folder.path(), &["man"])
            .succeeded()
            .starts_with(".ie")
    );
    let pages = tacit(folder.path(), &["man", "--directory", "."]);
    assert_eq!(pages.succeeded(), "");
    for page in ["tacit-run.1", "tacit-outsource-cloud.1"] {
        assert!(folder.path().join(page).exists(), "{page}");
    }
    tacit(folder.path(), &["man", "--directory", "absent/folder"]).failed(3, &["absent/folder"]);
}

#[test]
fn the_schema_is_the_published_one() {
    let folder = tempfile::tempdir().unwrap();
    let published = include_str!("../../../../docs/tacit.schema.json");
    assert_eq!(
        tacit(folder.path(), &["config", "schema"]).succeeded(),
        published
    );
}

/// At its smallest size, alternately for a person and for a program. The test below does both at
/// the usual size.
#[test]
fn every_library_function_can_be_inspected() {
    let folder = tempfile::tempdir().unwrap();
    for (number, function) in functions().iter().enumerate() {
        let args = inspection(function, |_| true);
        match number % 2 {
            0 => inspect_for_programs(folder.path(), &args),
            _ => inspect_for_people(folder.path(), &args),
        }
    }
}

#[test]
#[ignore = "long: every function at its usual size"]
fn every_library_function_can_be_inspected_at_its_usual_size() {
    let folder = tempfile::tempdir().unwrap();
    for function in functions() {
        let args = inspection(&function, |parameter| parameter["default"].is_null());
        inspect_for_programs(folder.path(), &args);
        inspect_for_people(folder.path(), &args);
    }
}

fn functions() -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().unwrap();
    let list = tacit(folder.path(), &["inspect", "--list", "--json"]).json();
    let functions = list["functions"].as_array().unwrap().clone();
    let is_known = |function: &serde_json::Value| function["name"] == "aes-128";
    assert!(functions.iter().any(is_known));
    functions
}

/// Returns the command that inspects `function`, with the least value of each parameter for which
/// `least` holds.
fn inspection(
    function: &serde_json::Value,
    least: impl Fn(&serde_json::Value) -> bool,
) -> Vec<String> {
    let name = function["name"].as_str().unwrap();
    let mut args = vec!["inspect".to_owned(), name.to_owned()];
    let parameters = function["parameters"].as_array().unwrap();
    for parameter in parameters.iter().filter(|parameter| least(parameter)) {
        let name = parameter["name"].as_str().unwrap();
        args.push("--param".to_owned());
        args.push(format!("{name}={}", parameter["minimum"]));
    }
    args
}

fn inspect_for_programs(folder: &Path, args: &[String]) {
    let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
    args.push("--json");
    let json = tacit(folder, &args).json();
    assert_eq!(
        json["function_digest"].as_str().map(str::len),
        Some(64),
        "{json}"
    );
    let schemes = json["schemes"].as_array();
    assert!(schemes.is_some_and(|schemes| schemes.len() >= 2), "{json}");
}

fn inspect_for_people(folder: &Path, args: &[String]) {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let shown = tacit(folder, &args);
    assert!(
        shown.succeeded().contains("oblivious transfers"),
        "{args:?}"
    );
}

#[test]
fn costs_of_a_known_circuit() {
    let folder = tempfile::tempdir().unwrap();
    let json = tacit(folder.path(), &["inspect", "aes-128", "--json"]).json();
    assert_eq!(json["components"][0]["gates"]["and"], 6400);
    let schemes = json["schemes"].as_array().unwrap();
    let half_gates = schemes
        .iter()
        .find(|scheme| scheme["name"] == "half-gates/two-call");
    assert_eq!(half_gates.unwrap()["table_bytes"], 6400 * 32);
    assert_eq!(half_gates.unwrap()["garbler_calls"], 6400 * 8);
    let monotone = schemes
        .iter()
        .find(|scheme| scheme["name"] == "related-key-monotone");
    // 5280 translations for XOR gates, and 256 inputs that are read by XOR gates.
    let ciphertexts = 3 * 6400 + 5280 + 256;
    assert_eq!(monotone.unwrap()["table_bytes"], 16 * ciphertexts);
    assert_eq!(json["oblivious_transfers"], 128);
}

#[test]
fn the_demo_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let text = tacit(folder.path(), &["demo"]);
    assert!(
        text.succeeded()
            .contains("ciphertext = 69c4e0d86a7b0430d8cdb78070b4c55a"),
        "{text:?}"
    );
    for word in [
        "semi-honest",
        "half-gates",
        "a_is_richer = 1",
        "What to try next",
        "rounds",
    ] {
        assert!(text.stdout.contains(word), "{word}: {text:?}");
    }
    let json = tacit(folder.path(), &["demo", "--json"]).json();
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["runs"][0]["correct"], true);
}
