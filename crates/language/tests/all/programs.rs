//! The programs of `examples/` and of the Python package are valid and pass their tests. Those of
//! `circuits/` are valid, and `shipped` tests them.

use std::fs;
use std::path::{Path, PathBuf};

use tacit_language::lower::NoCircuitFiles;
use tacit_language::{Loaded, NoFiles, ParamValues};

use crate::both::{programs_in, rendered, run_tests, told};

fn programs() -> Vec<PathBuf> {
    let folders = ["examples", "crates/python/python/tacit/jobs"];
    folders.into_iter().flat_map(programs_in).collect()
}

fn with_shipped() -> Vec<PathBuf> {
    [programs(), programs_in("circuits")].concat()
}

fn load(path: &Path) -> Loaded {
    let text = fs::read_to_string(path).expect("a program");
    Loaded::new(
        &path.file_name().unwrap().to_string_lossy(),
        &text,
        &NoFiles,
    )
}

#[test]
fn all_programs_are_right() {
    assert_eq!(with_shipped().len(), 28 + 15);
    for path in with_shipped() {
        let loaded = load(&path);
        let errors = told(&loaded);
        assert!(errors.is_empty(), "{}", rendered(&loaded, &errors));
    }
}

#[test]
fn all_programs_pass_their_tests() {
    programs().iter().for_each(|path| run_tests(&load(path)));
}

#[test]
fn a_test_that_fails_says_what_both_sides_are() {
    let text = "parties a, b;\n\
                main(x: u8 of a, y: u8 of b) -> (sum: u8 to both) { x + y }\n\
                test \"wraps\" { assert main(200, 100) == 45; }\n";
    let loaded = Loaded::new("sum.tacit", text, &NoFiles);
    let reports = loaded.run_tests(&ParamValues::new(), &NoCircuitFiles);
    let [error] = &reports[0].errors[..] else {
        panic!("one error: {reports:?}");
    };
    assert_eq!(error.message, "this does not hold");
    assert_eq!(error.label, "left 44, right 45");
}

#[test]
fn formatting_leaves_the_programs_as_they_are_and_restores_them() {
    for path in with_shipped() {
        let text = fs::read_to_string(&path).expect("a program");
        let name = path.display().to_string();
        let format = |text: &str| tacit_language::format(&name, text).expect("a right program");
        assert_eq!(format(&text), text, "{name}");
        let flat: Vec<&str> = text.lines().map(str::trim_start).collect();
        assert_eq!(
            format(&flat.join("\n")),
            text,
            "{name}, without its indentation"
        );
        let wide = |line: &str| {
            if line.contains("//") || line.contains('"') {
                line.to_owned()
            } else {
                line.replace(", ", " ,  ")
                    .replace(" = ", "  =   ")
                    .replace(" + ", "+")
            }
        };
        let lines: Vec<String> = text.lines().map(wide).collect();
        assert_eq!(format(&lines.join("\n")), text, "{name}, with other spaces");
    }
}

#[test]
fn the_names_of_a_use_touch_their_braces() {
    let text = "parties alice, bob;
use std::psi::{count, strictly_sorted};
use std::order::{
    median,
    sort,
};
";
    for braces in [["{", "}"], ["{ ", " }"], [" { ", " } "]] {
        let [open, close] = braces;
        let spaced = text.replace("{count", &format!("{open}count"));
        let spaced = spaced.replace("sorted}", &format!("sorted{close}"));
        let formatted = tacit_language::format("use.tacit", &spaced).expect("a right program");
        assert_eq!(formatted, text);
    }
}

/// A comma between generic parameters does not end the item, so the text after the item starts at
/// the margin.
#[test]
fn items_after_two_generic_parameters_are_not_indented() {
    let text = "parties alice, bob;
fn first<const N, const M>(a: [[u8; N]; M], b: (u<8>, u<8>)) -> u8 {
    a[0][0]
}
const K = 2;
main(a: u8 of alice) -> (r: u8 to both) {
    a
}
";
    let formatted = tacit_language::format("items.tacit", text).expect("a right program");
    assert_eq!(formatted, text);
}

/// Some editors write a byte order mark at the start of a file.
#[test]
fn a_byte_order_mark_is_no_part_of_a_program() {
    let name = format!("tacit-mark-{}.tacit", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::write(&path, "\u{feff}parties alice, bob;\n").expect("to write a program");
    let text = tacit_language::read_source(&path);
    fs::remove_file(&path).expect("to remove the program");
    assert_eq!(text.expect("a program"), "parties alice, bob;\n");
}
