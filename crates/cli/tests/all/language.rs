//! `tacit check`, `tacit test` and `tacit fmt`, and a program that two processes run.

use crate::process::{Parties, tacit, words};

const GAP: &str = "/// Whether two salaries differ by more than a limit that both agree on.
parties alice, bob;

param LIMIT: 0..=1_000_000 = 100;

main(a: u32 of alice, b: u32 of bob) -> (differ: bool to both, larger: u32 to bob) {
    let gap = max(a, b) - min(a, b);
    (gap > LIMIT, max(a, b))
}

test \"a gap of one\" with LIMIT = 0 {
    assert main(7, 8) == (true, 8);
    assert main(8, 8) == (false, 8);
}
";

fn folder_with(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gap.tacit"), text).unwrap();
    folder
}

#[test]
fn a_right_program_is_checked_tested_and_formatted() {
    let folder = folder_with(GAP);
    let checked = tacit(folder.path(), &["check", "gap.tacit"]);
    assert_eq!(checked.succeeded(), "gap.tacit: right\n");
    let tested = tacit(folder.path(), &["test", "gap.tacit"]);
    assert_eq!(tested.succeeded(), "gap.tacit: passed: a gap of one\n");
    let (untested, _) = GAP.split_once("\ntest ").expect("a test");
    std::fs::write(folder.path().join("untested.tacit"), untested).unwrap();
    let tested = tacit(folder.path(), &["test", "untested.tacit"]);
    assert_eq!(tested.succeeded(), "untested.tacit: no tests\n");
    tacit(folder.path(), &["fmt", "--check", "gap.tacit"]).succeeded();
    std::fs::write(folder.path().join("flat.tacit"), GAP.replace("    ", "")).unwrap();
    tacit(folder.path(), &["fmt", "--check", "flat.tacit"]).failed(3, &["flat.tacit"]);
    tacit(folder.path(), &["fmt", "flat.tacit"]).succeeded();
    let formatted = std::fs::read_to_string(folder.path().join("flat.tacit")).unwrap();
    assert_eq!(formatted, GAP);
}

#[test]
fn errors_have_a_place_and_a_remedy() {
    let folder = folder_with(&GAP.replace("b: u32", "b: u16"));
    let words = ["gap.tacit:7:15", "operands have one type", "what to do"];
    tacit(folder.path(), &["check", "gap.tacit"]).failed(3, &words);
    let json = tacit(folder.path(), &["check", "--json", "gap.tacit"]);
    assert!(json.stdout.contains("\"line\":7"), "{json:?}");
}

/// For any error, a program that reads the output gets one object.
#[test]
fn json_is_one_object_where_something_is_wrong() {
    let wrong = folder_with(&GAP.replace("b: u32", "b: u16"));
    let failing = folder_with(&GAP.replace("(true, 8)", "(true, 9)"));
    let eval = [
        "eval",
        "--json",
        "gap.tacit",
        "--input",
        "a=1",
        "--input",
        "b=2",
    ];
    for (folder, arguments, fields) in [
        (
            &wrong,
            &["check", "--json", "gap.tacit"][..],
            &["errors", "warnings"][..],
        ),
        (
            &wrong,
            &["test", "--json", "gap.tacit"],
            &["errors", "tests"],
        ),
        (&failing, &["test", "--json", "gap.tacit"], &["tests"]),
        (&wrong, &eval, &["errors"]),
        (&wrong, &["inspect", "--json", "gap.tacit"], &["errors"]),
    ] {
        let told = tacit(folder.path(), arguments);
        let json: serde_json::Value = serde_json::from_str(&told.stdout).expect("one object");
        assert_eq!(json["error"]["exit_code"], 3, "{arguments:?}");
        assert!(fields.iter().all(|field| json[field].is_array()), "{json}");
    }
}

/// A sum that may wrap gets a warning each time the program is read, and nothing else changes.
#[test]
fn a_sum_that_may_wrap_is_told() {
    let folder = folder_with(
        "parties alice, bob;
main(a: [u8; 9] of alice, b: u8 of bob) -> (total: u8 to both) {
    let mut total = b;
    for x in a { total += x; }
    total
}
",
    );
    let checked = tacit(folder.path(), &["check", "gap.tacit"]);
    assert_eq!(checked.succeeded(), "gap.tacit: right\n");
    let eval = ["eval", "gap.tacit", "--input", "b=6", "--input"];
    let given = "a=[250,0,0,0,0,0,0,0,1]";
    let evaluated = tacit(folder.path(), &[&eval[..], &[given]].concat());
    assert_eq!(evaluated.succeeded(), "total = 1\n");
    let inspected = tacit(folder.path(), &["inspect", "gap.tacit"]);
    let lines = tacit(folder.path(), &["inspect", "gap.tacit", "--lines"]);
    let tested = tacit(folder.path(), &["test", "gap.tacit"]);
    for told in [checked, evaluated, inspected, lines, tested] {
        told.succeeded();
        for words in ["gap.tacit:4:18", "may wrap", "`u12`"] {
            assert!(told.stderr.contains(words), "{words}: {told:?}");
        }
    }
    let json = tacit(folder.path(), &["check", "--json", "gap.tacit"]);
    let told: serde_json::Value = serde_json::from_str(json.succeeded()).unwrap();
    assert_eq!(told["errors"], serde_json::json!([]));
    assert_eq!(told["warnings"][0]["line"], 4);
    let tested = tacit(folder.path(), &["test", "--json", "gap.tacit"]);
    let tested: serde_json::Value = serde_json::from_str(tested.succeeded()).unwrap();
    assert_eq!(tested["warnings"], told["warnings"]);
    assert!(json.stderr.is_empty(), "{json:?}");
}

/// Rows without names take columns in order and ignore the names in the first line. A result that
/// is a table is written as one.
#[test]
fn rows_without_names_are_told_and_tables_are_written() {
    let folder = folder_with(
        "parties alice, bob;
struct Sale { id: u8, amount: u8 }
main(rows: [(u8, u8); 1] of alice, sales: [Sale; 1] of bob)
    -> (same: bool to both, all: [Sale; 1] to both) {
    (rows[0].0 == sales[0].id, sales)
}
",
    );
    std::fs::write(folder.path().join("sales.csv"), "amount,id\n7,3\n").unwrap();
    let eval = |more: &[&str]| {
        let inputs = ["rows=@sales.csv", "--input", "sales=@sales.csv"];
        let eval = ["eval", "gap.tacit", "--input"];
        tacit(folder.path(), &[&eval[..], &inputs, more].concat())
    };
    let written = eval(&["--output", "all=all.csv"]);
    assert!(
        written.succeeded().starts_with("same = false\n"),
        "{written:?}"
    );
    let told = "input rows: the columns of sales.csv are taken in their order";
    assert_eq!(written.stderr.matches("in their order").count(), 1);
    assert!(written.stderr.contains(told), "{written:?}");
    let all = std::fs::read_to_string(folder.path().join("all.csv")).unwrap();
    assert_eq!(all, "id,amount\n3,7\n");
    // Only this party may read a result.
    #[cfg(unix)]
    {
        let written = std::fs::metadata(folder.path().join("all.csv")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&written.permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    eval(&["--plain-texts"]).failed(2, &["--output"]);
    eval(&["--output", "same=same.csv"]).failed(2, &["a bool is not a table"]);
    eval(&["--output", "none=none.csv"]).failed(2, &["the program gets no result of that name"]);
}

#[test]
fn a_test_that_fails_is_told_with_both_sides() {
    let folder = folder_with(&GAP.replace("(false, 8)", "(true, 8)"));
    let words = [
        "left (false, 8), right (true, 8)",
        "1 of 1 test failed",
        "correct the program or the test",
    ];
    tacit(folder.path(), &["test", "gap.tacit"]).failed(3, &words);
}

#[test]
fn each_line_has_its_cost() {
    let folder = folder_with(GAP);
    let inspected = tacit(folder.path(), &["inspect", "gap.tacit", "--lines"]);
    let text = inspected.succeeded();
    let line = text
        .lines()
        .find(|line| line.ends_with("let gap = max(a, b) - min(a, b);"));
    let words: Vec<&str> = line.expect("the line").split_whitespace().collect();
    assert_eq!(words[..5], ["159", "159", "5088", "64", "7"]);
    let own = text
        .lines()
        .skip(2)
        .filter_map(|line| line.split_whitespace().nth(1));
    let sum: u64 = own.filter_map(|own| own.parse::<u64>().ok()).sum();
    let head = format!("main: {sum} AND gates, {} bytes of tables", 32 * sum);
    assert!(text.starts_with(&head), "{head}: {text}");
    tacit(folder.path(), &["inspect", "aes-128", "--lines"]).failed(2, &[".tacit file"]);
}

/// They are the costs of the function that runs: with its public inputs, and over shares if it
/// joins tables.
#[test]
fn lines_are_of_the_run_that_is_asked_for() {
    let folder = folder_with(
        "parties alice, bob;
state total: u8 = 0;
run over(limit: u8 public, a: u8 of alice) -> (over: bool to bob) { a > limit }
run add(a: u8 of alice) { total += a; }
",
    );
    let lines = |more: &str| {
        let command = format!("inspect gap.tacit --lines --json {more}");
        tacit(folder.path(), &words(command.trim_end()))
    };
    lines("").failed(3, &["no value is given for the public limit"]);
    let names = |more: &str| -> Vec<String> {
        let told = lines(more).json();
        let runs = told["runs"].as_array().expect("runs").iter();
        runs.map(|run| run["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(names("--entry add"), ["add"]);
    assert_eq!(names("--entry over --public limit=3"), ["over"]);
    assert_eq!(names("--public limit=3"), ["over", "add", "start"]);
    lines("--entry ove").failed(3, &["over"]);
    let join = "parties alice, bob;
struct Row { id: u32, amount: u8 }
main(a: [Row; ..10] of alice, b: [Row; ..10] of bob, pairs: join a by id with b by id)
    -> (total: u16 to both) {
    let mut total: u16 = 0;
    for p in pairs { total += p.right.amount as u16 * p.left.amount as u16; }
    total
}
";
    std::fs::write(folder.path().join("gap.tacit"), join).expect("a program");
    let whole = tacit(folder.path(), &words("inspect gap.tacit --json")).json();
    let told = lines("").json();
    assert_eq!(told["runs"][0]["and_gates"], whole["compiled"]["and"]);
}

#[test]
fn two_processes_run_a_program() {
    let parties = Parties::new();
    let path = parties.file("gap.tacit", GAP);
    let path = path.to_str().expect("a path of letters");
    let [alice, bob] = parties.run(
        &[
            path, "--param", "LIMIT=10", "--role", "garbler", "--input", "a=500",
        ],
        &[
            path,
            "--param",
            "LIMIT=10",
            "--role",
            "evaluator",
            "--input",
            "b=490",
        ],
    );
    assert_eq!(alice.succeeded(), "differ = false\n");
    assert_eq!(bob.succeeded(), "differ = false\nlarger = 500\n");
    let same = [path, "--as", "alice", "--input", "a=500"];
    for ended in parties.run(&same, &same) {
        ended.failed(5, &["it is alice, too", "--as bob"]);
    }
}

#[cfg(unix)]
#[test]
fn no_link_out_of_the_programs_folder_is_followed() {
    let text = format!(
        "use limits::LIMIT;\n{}",
        GAP.replace("LIMIT: 0..=", "MOST: 0..=")
    );
    let folder = folder_with(&text.replace("with LIMIT", "with MOST"));
    let outside = tempfile::tempdir().unwrap();
    let limits = "const LIMIT: u32 = 0;\n";
    std::fs::write(outside.path().join("limits.tacit"), limits).unwrap();
    let module = folder.path().join("limits.tacit");
    std::os::unix::fs::symlink(outside.path().join("limits.tacit"), &module).unwrap();
    let words = ["limits", "a link out of the program's folder"];
    tacit(folder.path(), &["check", "gap.tacit"]).failed(3, &words);
    // A symbolic link within the folder is followed.
    std::fs::remove_file(&module).unwrap();
    std::fs::write(folder.path().join("other.tacit"), limits).unwrap();
    std::os::unix::fs::symlink("other.tacit", &module).unwrap();
    tacit(folder.path(), &["check", "gap.tacit"]).succeeded();
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_programs_folder_is_not_waited_at() {
    let folder = folder_with(&format!("use pipe::LIMIT;\n{GAP}"));
    let pipe = folder.path().join("pipe.tacit");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("the command mkfifo").success());
    tacit(folder.path(), &["check", "gap.tacit"]).failed(3, &["pipe", "it is not a file"]);
}

#[cfg(unix)]
#[test]
fn a_files_name_does_nothing_to_a_terminal() {
    let folder = folder_with(GAP);
    let name = "\u{1b}[2J\u{202e}gap.tacit";
    let path = folder.path().join(name);
    std::fs::copy(folder.path().join("gap.tacit"), &path).unwrap();
    let shown = "\\u{1b}[2J\\u{202e}gap.tacit";
    let right = tacit(folder.path(), &["check", name]);
    assert_eq!(right.succeeded(), format!("{shown}: right\n"));
    std::fs::write(&path, "fn").unwrap();
    let wrong = tacit(folder.path(), &["check", name]);
    wrong.failed(3, &[shown]);
    std::fs::remove_file(&path).unwrap();
    let absent = tacit(folder.path(), &["check", name]);
    absent.failed(3, &[shown]);
    for ended in [wrong, absent] {
        assert!(!ended.stderr.contains(['\u{1b}', '\u{202e}']), "{ended:?}");
    }
}

/// A spreadsheet must not run a formula from another party, and a join of two files needs the plain
/// text.
#[test]
fn telephone_numbers_are_written_as_they_are_where_that_is_asked_for() {
    let folder = folder_with(
        "parties alice, bob;
main(a: [text<9>; 1] of alice) -> (all: [text<9>; 1] to both) { a }
",
    );
    std::fs::write(folder.path().join("a.csv"), "a\n+49 30 12\n").unwrap();
    let eval = |more: &[&str]| {
        let eval = ["eval", "gap.tacit", "--input", "a=@a.csv", "--output"];
        tacit(folder.path(), &[&eval[..], more].concat()).succeeded();
    };
    eval(&["all=marked.csv"]);
    eval(&["all=plain.csv", "--plain-texts"]);
    for (file, cell) in [("marked.csv", "'+49 30 12"), ("plain.csv", "+49 30 12")] {
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert_eq!(text.lines().last(), Some(cell), "{file}");
    }
}
