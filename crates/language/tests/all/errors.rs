//! Programs with one mistake each, and the messages about them.
//!
//! `tests/errors/NAME.tacit` is a program. `NAME.txt` holds the full output of `tacit check`: the
//! errors, or the warnings of a program without errors. With `TACIT_WRITE_EXPECTED=1`, the test
//! writes these files. Read them before you commit them.

use std::fs;

use tacit_language::{Loaded, NoFiles};

use crate::both::{programs_in, rendered, told};

#[test]
fn each_mistake_is_told_as_expected() {
    let writes = std::env::var_os("TACIT_WRITE_EXPECTED").is_some();
    let mut wrong = Vec::new();
    let programs = programs_in("crates/language/tests/errors");
    assert!(programs.len() >= 60);
    for path in programs {
        let name = path.file_name().expect("a name").to_string_lossy();
        let text = fs::read_to_string(&path).expect("a program");
        let loaded = Loaded::new(&name, &text, &NoFiles);
        let errors = told(&loaded);
        let found = rendered(&loaded, &errors) + "\n";
        let expected_path = path.with_extension("txt");
        if writes {
            fs::write(&expected_path, &found).expect("to write what is expected");
        }
        let expected = fs::read_to_string(&expected_path).unwrap_or_default();
        if errors.is_empty() || found != expected {
            wrong.push(format!("{name}:\n{found}\nexpected:\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
