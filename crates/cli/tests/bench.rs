//! `tacit bench`: records for programs, tables for people, parties as processes.

mod process;

use process::tacit;

#[test]
fn a_record_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--only", "transpose", "--quick", "--json"];
    let ended = tacit(folder.path(), &[&["bench", "kernels"][..], &words].concat());
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
        "--only",
        "ristretto255 threads-1",
        "--link",
        "1ms,1gbit",
        "--quick",
        "--json",
    ];
    let ended = tacit(folder.path(), &[&["bench", "ot"][..], &words].concat());
    let record: serde_json::Value = serde_json::from_str(ended.succeeded()).unwrap();
    assert_eq!(record["link"], "1ms,1gbit");
    assert_eq!(record["traffic"]["garbler_bytes"], 8_232);
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
    let words = ["--only", "bits-load bits=128", "--quick", "--json"];
    let ended = tacit(
        folder.path(),
        &[&["bench", "outsourced"][..], &words].concat(),
    );
    let record: serde_json::Value = serde_json::from_str(ended.succeeded()).unwrap();
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
    let words = [
        "bench",
        "kernels",
        "--quick",
        "--only",
        "aes-one-key portable",
    ];
    let ended = tacit(folder.path(), &words);
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
    let refused = |words: &[&str]| tacit(folder.path(), &[&["bench"], words].concat());
    refused(&["kernels", "--quick", "--only", "rot13"]).failed(2, &["rot13", "--quick"]);
    refused(&["lunch"]).failed(2, &["lunch", "kernels, schemes, ot, direct"]);
    refused(&["ot", "--link", "33ms"]).failed(2, &["33ms,50mbit"]);
    refused(&["ot", "--pin", "0"]).failed(2, &["0,1"]);
    let words = ["ot", "--quick", "--only", "base-ot", "--pin", "1000000,0"];
    refused(&words).failed(3, &["core 1000000"]);
}

#[test]
fn records_make_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let words = [
        "bench", "schemes", "--only", "aes-128 ", "--quick", "--json",
    ];
    let words = [&words[..], &["--only", "half-gates/two-call"]].concat();
    let records = tacit(folder.path(), &words);
    write("records.jsonl", records.succeeded());
    let page = ["--html", "page.html", "--markdown", "page.md"];
    let words = [&["bench", "report", "records.jsonl"][..], &page].concat();
    tacit(folder.path(), &words).succeeded();
    assert!(read("page.html").contains("half-gates/two-call"));
    assert!(read("page.md").contains("](page/assumptions.svg)"));
    assert!(read("page/assumptions.svg").starts_with("<svg"));

    write(
        "damaged.jsonl",
        &records.stdout.replacen("\"version\"", "\"vision\"", 1),
    );
    let words = ["bench", "report", "damaged.jsonl", "--html", "page.html"];
    let ended = tacit(folder.path(), &words);
    ended.failed(3, &["damaged.jsonl", "line 1", "tacit bench --json"]);
    let without = tacit(folder.path(), &["bench", "report", "records.jsonl"]);
    without.failed(2, &["--html"]);
}
