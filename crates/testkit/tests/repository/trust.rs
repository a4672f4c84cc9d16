//! `docs/trust.md` shows the newest line of `docs/trust.tsv` for each part of `scripts/trust`, and
//! says what each part does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn script(arguments: &[&str]) -> Output {
    let mut command = Command::new(root().join("scripts/trust"));
    command.args(arguments).output().expect("the script")
}

/// Returns the names of all parts.
fn parts() -> Vec<String> {
    let listed = String::from_utf8(script(&[]).stdout).expect("text");
    let names = listed.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn the_page_shows_the_newest_run_of_each_part_and_what_it_does() {
    let checked = script(&["--check"]);
    let told = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{told}");
    let (page, parts) = (read("docs/trust.md"), parts());
    assert!(parts.len() >= 7, "{parts:?}");
    for part in &parts {
        let described = page.contains(&format!("\n| `{part}` | "));
        let shown = page.contains(&format!("\n| {part} | "));
        assert!(described && shown, "docs/trust.md should name {part}");
    }
}

#[test]
fn each_line_of_the_record_is_a_run() {
    let (record, parts) = (read("docs/trust.tsv"), parts());
    let mut days = Vec::new();
    for line in record.lines().skip(1) {
        let fields: Vec<_> = line.split('\t').collect();
        let [part, day, commit, minutes, amount, found] = fields[..] else {
            panic!("six fields: {line}");
        };
        assert!(parts.iter().any(|known| known == part), "{line}");
        let is_commit = commit.len() >= 12 && !commit.contains(' ');
        let has_ran = !amount.is_empty() && !found.is_empty() && minutes.parse::<u32>().is_ok();
        assert!(day.len() == 10 && is_commit && has_ran, "{line}");
        days.push(day);
    }
    assert!(days.is_sorted(), "later runs stand below: {days:?}");
}

#[test]
fn each_change_that_is_listed_as_none_has_a_file_and_a_reason() {
    for line in read("mutants/equivalent.tsv").lines().skip(1) {
        let fields: Vec<_> = line.split('\t').collect();
        let [file, change, reason] = fields[..] else {
            panic!("three fields: {line}");
        };
        assert!(root().join(file).is_file(), "there is no {file}");
        assert!(!change.is_empty() && reason.len() > 20, "{line}");
    }
}
