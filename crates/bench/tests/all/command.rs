//! The `tacit-bench` command: records for programs, tables for people, parties as processes.

use std::path::Path;
use std::process::Command;

use tacit_testkit::process::{ChildProcess, Ended};

/// Runs `tacit-bench` to its end in `folder`.
#[track_caller]
fn bench(folder: &Path, args: &[&str]) -> Ended {
    ChildProcess::start(env!("CARGO_BIN_EXE_tacit-bench"), folder, args, "").end()
}

#[test]
fn a_record_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["kernels", "--only", "transpose", "--quick", "--json"];
    let ended = bench(folder.path(), &words);
    let mut backends = Vec::new();
    for line in ended.succeeded().lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&record["version"], &record["measured"]),
            (&1.into(), &"kernel".into())
        );
        assert_eq!(record["kernel"], "transpose");
        assert!(
            record["block_ns"]["median"]
                .as_f64()
                .is_some_and(|ns| ns > 0.0),
            "{record}"
        );
        assert!(record["machine"]["commit"].is_string());
        backends.push(record["backend"].as_str().unwrap().to_owned());
    }
    assert!(backends.contains(&"portable".to_owned()), "{backends:?}");
}

#[test]
fn both_parties_are_processes_with_memory_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let words = [
        "ot",
        "--only",
        "softspoken-8 semi-honest ristretto255",
        "--link",
        "1ms,1gbit",
        "--quick",
        "--json",
    ];
    let record = bench(folder.path(), &words).json();
    assert_eq!(record["link"], "1ms,1gbit");
    assert!(
        record["setup_traffic"]["garbler_bytes"].as_u64() > Some(8_000),
        "{record}"
    );
    for party in ["garbler_bytes", "evaluator_bytes"] {
        let memory = &record["memory"][party];
        assert!(
            memory.is_null() || memory.as_u64() > Some(100_000),
            "{record}"
        );
    }
}

#[test]
fn all_three_parties_are_processes_too() {
    let folder = tempfile::tempdir().unwrap();
    let case = "bits-load bits=128";
    let record = bench(
        folder.path(),
        &["outsourced", "--only", case, "--quick", "--json"],
    )
    .json();
    assert_eq!(record["measured"], "outsourced");
    assert_eq!(
        (&record["copies"], &record["loaded_bits"]),
        (&16.into(), &128.into())
    );
    for party in ["generator_bytes", "evaluator_bytes", "cloud_bytes"] {
        let memory = &record["memory"][party];
        assert!(
            memory.is_null() || memory.as_u64() > Some(100_000),
            "{record}"
        );
    }
}

#[test]
fn a_table_with_a_title() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["kernels", "--quick", "--only", "aes-one-key portable"];
    let ended = bench(folder.path(), &words);
    let lines: Vec<_> = ended.succeeded().lines().collect();
    assert!(lines[0].contains("cores"), "{ended:?}");
    let row = lines.last().unwrap();
    assert!(
        row.starts_with("aes-one-key") && row.contains("portable"),
        "{ended:?}"
    );
}

#[test]
fn what_cannot_be_measured() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |words: &[&str]| bench(folder.path(), words);
    refused(&["kernels", "--quick", "--only", "rot13"]).failed(2, &["rot13", "--quick"]);
    refused(&["lunch"]).failed(2, &["lunch", "kernels, schemes, ot, direct"]);
    refused(&["ot", "--link", "33ms"]).failed(2, &["33ms,50mbit"]);
    refused(&["ot", "--pin", "0"]).failed(2, &["0,1"]);
    let words = ["ot", "--quick", "--only", "ml-kem", "--pin", "1000000,0"];
    refused(&words).failed(3, &["core 1000000"]);
}

#[test]
fn records_make_a_page_that_has_them_all() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let records = root.join("tests/records.jsonl");
    let mut command = Command::new(root.join("../../scripts/bench-page"));
    let ended = command.arg(&records).output().expect("the script");
    let page = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{ended:?}");
    for line in std::fs::read_to_string(records).unwrap().lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let words = [
            "kernel",
            "scheme",
            "extension",
            "kind",
            "function",
            "component",
            "circuit",
        ];
        let words = words.iter().filter_map(|word| record[word].as_str());
        let words: Vec<_> = words.collect();
        let is_row = |row: &str| words.iter().all(|word| row.contains(word));
        // The properties that all rows share are above them.
        assert!(
            words.len() > 1 && record["measured"] != "scheme" || page.lines().any(is_row),
            "{words:?}"
        );
    }
    for published in ["PartialGC, Table 1", "fast garbling, Table 8"] {
        let page = page.to_lowercase();
        assert!(page.contains(&published.to_lowercase()), "{published}");
    }
    let mut command = Command::new(root.join("../../scripts/bench-page"));
    let refused = command.arg("absent.jsonl").output().expect("the script");
    assert!(!refused.status.success(), "{refused:?}");
}

#[test]
fn the_help_teaches_and_hides_the_party() {
    let folder = tempfile::tempdir().unwrap();
    let help = bench(folder.path(), &["--help"]);
    for word in ["Usage: tacit-bench", "Examples", "- outsourced:"] {
        assert!(help.succeeded().contains(word), "{word}: {help:?}");
    }
    assert!(!help.stdout.contains("\n  party"), "{help:?}");
    let version = bench(folder.path(), &["--version"]);
    assert!(version.succeeded().starts_with("tacit-bench "));
}
