//! The output of `tacit inspect` for functions and circuits.

use crate::process::tacit;
use tacit::circuit::formats::{BitOrder, Import, read_bristol_file};

/// Makes a folder with the file `two.txt`: a ∧ b and a ∧ ¬b.
fn folder_with_two_products() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = "3 5\n2 1 1\n1 2\n\n1 1 1 2 INV\n2 1 0 1 3 AND\n2 1 0 2 4 AND\n";
    std::fs::write(folder.path().join("two.txt"), text).unwrap();
    folder
}

#[test]
fn only_circuits_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let written = ["inspect", "levenshtein", "--out", "x.txt"];
    tacit(folder.path(), &written).failed(2, &["--out", "levenshtein", "cell"]);
}

#[test]
fn components_are_written_as_circuit_files() {
    let folder = tempfile::tempdir().unwrap();
    let adder = ["inspect", "adder", "--param", "bits=8"];
    let out = ["--bit-order", "as-given", "--out", "adder.txt"];
    tacit(folder.path(), &[&adder[..], &out[2..]].concat()).failed(2, &["--bit-order"]);
    tacit(folder.path(), &[&adder[..], &out].concat()).succeeded();
    let again = tacit(folder.path(), &[&adder[..], &out].concat());
    again.failed(3, &["adder.txt already exists", "another name"]);
    let import = Import {
        order: BitOrder::AsGiven,
        ..Import::default()
    };
    let read = read_bristol_file(&folder.path().join("adder.txt"), &import).unwrap();
    let adder = tacit::library::function("adder", &[("bits".into(), 8)].into()).unwrap();
    let adder = adder.components()[0].circuit();
    let patterns: Vec<_> = (0..16).map(|bit| 0x0123_4567_89ab_cdef << bit).collect();
    assert_eq!(
        adder.evaluate_lanes(&patterns),
        read.evaluate_lanes(&patterns)
    );
}

#[test]
fn a_circuit_file_has_no_text_without_owners() {
    let folder = folder_with_two_products();
    tacit(folder.path(), &["inspect", "two.txt", "--ir"]).failed(2, &["--owner"]);
}

#[test]
fn the_text_of_a_function_is_the_one_that_its_digest_takes() {
    let folder = tempfile::tempdir().unwrap();
    let text = "parties alice, bob;\n\
        component fn more(a: u8, b: u8) -> bool { a > b }\n\
        main(a: [u8; 9] of alice, b: [u8; 9] of bob) -> (more: [bool; 9] to alice) {\n\
        [for i in 0..9 { more(a[i], b[i]) }]\n}\n";
    std::fs::write(folder.path().join("more.tacit"), text).unwrap();
    let told = tacit(folder.path(), &["inspect", "more.tacit", "--ir"]);
    let text = told.succeeded();
    for line in [
        "component circuit ",
        "input a u8[9] garbler\n",
        "\nfor ",
        "=#0(",
        "\nend\n",
        "output more bit[9] garbler ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    tacit(folder.path(), &["inspect", "more.tacit", "--ir", "--json"]).failed(2, &["--json"]);
}

#[test]
fn every_scheme_is_shown_with_its_time_on_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let json = tacit(folder.path(), &["inspect", "aes-128", "--json"]).json();
    let schemes = json["schemes"].as_array().unwrap();
    assert_eq!(schemes.len(), tacit::garble::SCHEMES.len());
    for scheme in schemes {
        for side in ["garbler_seconds", "evaluator_seconds"] {
            assert!(scheme[side].as_f64().unwrap() > 0.0, "{scheme}");
        }
    }
    let told = tacit(folder.path(), &["inspect", "aes-128"]);
    assert!(told.succeeded().contains("time here"), "{told:?}");
}

#[test]
fn the_hash_that_suits_the_function_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (function, expected) in [
        ("aes-128", "half-gates/two-call"),
        ("adder", "half-gates/re-keyed"),
    ] {
        let json = tacit(folder.path(), &["inspect", function, "--json"]).json();
        assert_eq!(json["shape"]["default_scheme"], expected, "{function}");
        let ands = json["compiled"]["and"].as_u64().unwrap();
        let [lone, others] =
            ["lone_ands", "other_ands"].map(|kind| json["shape"][kind].as_u64().unwrap());
        assert_eq!(lone + others, ands, "{function}");
        let told = tacit(folder.path(), &["inspect", function]);
        let line = format!("a run takes {expected} unless told otherwise");
        assert!(told.succeeded().contains(&line), "{told:?}");
    }
}

#[test]
fn a_program_in_the_shallow_form_is_told_its_layers() {
    let folder = tempfile::tempdir().unwrap();
    let text = "parties alice, bob;\n\
        main(a: u32 of alice, b: u32 of bob) -> (less: bool to both) { a < b }\n";
    std::fs::write(folder.path().join("less.tacit"), text).unwrap();
    let by_gmw = ["inspect", "less.tacit", "--protocol", "gmw"];
    let told = tacit(folder.path(), &by_gmw);
    let line = "89 AND gates in 6 layers over shares";
    assert!(told.succeeded().contains(line), "{told:?}");
    let json = |args: &[&str]| tacit(folder.path(), args).json();
    let small = json(&["inspect", "less.tacit", "--json"]);
    let shallow = json(&[&by_gmw[..], &["--json"]].concat());
    assert_eq!(
        (&small["layers"], &small["compiled"]["and"]),
        (&serde_json::Value::Null, &32.into())
    );
    assert_eq!(
        (&shallow["layers"], &shallow["compiled"]["and"]),
        (&6.into(), &89.into())
    );
    assert_ne!(small["function_digest"], shallow["function_digest"]);
    assert_eq!(small["program"]["meaning"], shallow["program"]["meaning"]);
    let lines = tacit(folder.path(), &[&by_gmw[..], &["--lines"]].concat());
    assert!(
        lines.succeeded().contains("main: 89 AND gates"),
        "{lines:?}"
    );
}

/// `--protocol gmw` shows the cost of a run by it, and the loops that have many layers.
#[test]
fn a_program_by_gmw_names_the_loops_that_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = "parties a, b;\ncomponent fn mix(n: u8, x: u8) -> u8 { (n ^ x) & (x + 1) }\n\
                   main(x: [u8; 16] of a, y: [u8; 16] of b) -> (n: u8 to both) {\n\
                   let mut n: u8 = 0;\n\
                   for i in 0..16 { n += x[i] & y[i]; }\n\
                   for i in 0..16 { n = mix(n, x[i] ^ y[i]); }\nn }\n";
    std::fs::write(folder.path().join("mix.tacit"), program).expect("a file");
    let inspect = |more: &[&str]| {
        let words = [&["inspect", "mix.tacit"], more].concat();
        tacit(folder.path(), &words)
    };
    let told = inspect(&["--protocol", "gmw"]);
    let told = told.succeeded();
    for words in [
        "layers over shares",
        "loops whose turns wait for each other\n  line 6: 16 turns, ",
        " layers at most, by n\n",
    ] {
        assert!(told.contains(words), "{words:?} is missing:\n{told}");
    }
    assert!(!told.contains("line 5"), "{told}");
    let gmw = inspect(&["--protocol", "gmw", "--json"]).json();
    assert_eq!(gmw["chains"].as_array().map(Vec::len), Some(1), "{gmw}");
    let direct = inspect(&["--protocol", "direct", "--json"]).json();
    assert_ne!(direct["function_digest"], gmw["function_digest"]);
    assert!(direct["chains"].as_array().is_some_and(Vec::is_empty));
    let circuit = tacit(folder.path(), &["inspect", "aes-128", "--protocol", "gmw"]);
    assert!(
        circuit
            .succeeded()
            .contains("6400 AND gates in 60 layers over shares")
    );
}

/// The largest tables that the program allows are too large for any run.
#[test]
fn a_join_of_open_sizes_is_shown_at_an_example_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = "parties a, b;
param N: 0..=10_000_000 = len(x);
param M: 0..=10_000_000 = len(y);
struct Row { key: text, note: bytes<150> }
main(
    x: [Row; ..N] of a,
    y: [Row; ..M] of b,
    pairs: join x by key with y by key,
) -> (shared: u<bits(N)> to both) {
    let mut shared: u<bits(N)> = 0;
    for p in pairs { shared += (p.matched && p.left.note == p.right.note) as u<bits(N)>; }
    shared
}
";
    std::fs::write(folder.path().join("common.tacit"), program).expect("a file");
    let shown = tacit(folder.path(), &["inspect", "common.tacit"]);
    assert!(shown.succeeded().contains("keys with rows of"), "{shown:?}");
    let said = "as an example, for M = 100000, N = 100000;";
    assert!(shown.stderr.contains(said), "{shown:?}");
    let given = ["inspect", "common.tacit", "--param", "N=10,M=20"];
    let shown = tacit(folder.path(), &given);
    assert!(shown.succeeded().contains("10 keys"), "{shown:?}");
    assert!(!shown.stderr.contains("example"), "{shown:?}");
}
