//! Limits that rustfmt and clippy do not check: files have at most 500 lines, and lines at most 100
//! columns, including comments and texts. `clippy.toml` limits functions to 70 lines.

use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of a file.
const MAX_LINES: usize = 500;
/// The most columns of a line.
const MAX_COLUMNS: usize = 100;

/// Longer files, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[
    ("crates/components/src/library/catalogue.rs", "a table"),
    (
        "crates/components/tests/all/components.rs",
        "known answers, one after another",
    ),
    (
        "crates/circuit/tests/all/operations.rs",
        "known answers, one after another",
    ),
    (
        "crates/protocol/src/batch/tests/against_evaluator.rs",
        "one table of cheats",
    ),
];

/// Files and folders with longer lines, each with the reason.
const WIDE: &[(&str, &str)] = &[(
    "crates/cli/tests/all/typed.rs",
    "a program, in the format of the language",
)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns every `.rs` file of the project, by its path from the root, with its text.
fn sources() -> Vec<(String, String)> {
    let mut folders: Vec<_> = ["crates", "tools", "examples", "fuzz"]
        .map(Into::into)
        .into();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        let folder: PathBuf = folder;
        for entry in fs::read_dir(root().join(&folder)).expect("a folder") {
            let entry = entry.expect("an entry");
            let path = folder.join(entry.file_name());
            if entry.file_type().expect("a type").is_dir() {
                // Builds and packages are not part of the project.
                if !["target", "node_modules", ".venv"]
                    .contains(&&*entry.file_name().to_string_lossy())
                {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(entry.path()).expect("a source file");
                sources.push((path.to_string_lossy().into_owned(), text));
            }
        }
    }
    sources
}

fn is_listed(list: &[(&str, &str)], path: &str) -> bool {
    list.iter().any(|(listed, _)| path.starts_with(listed))
}

#[test]
fn files_are_short() {
    let sources = sources();
    let found = sources.len();
    assert!(found > 500, "only {found} files were found");
    for (path, text) in &sources {
        let lines = text.lines().count();
        assert!(
            lines <= MAX_LINES || is_listed(LONG_FILES, path),
            "{path} has {lines} lines; split it along its concepts"
        );
    }
}

#[test]
fn lines_are_short() {
    let mut long = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let comment = line.trim_start().trim_start_matches(['/', '!']);
            // A row of a table in a comment cannot be wrapped.
            let is_row =
                line.trim_start().starts_with("//") && comment.trim_start().starts_with('|');
            let columns = line.chars().count();
            if columns > MAX_COLUMNS && !is_row && !is_listed(WIDE, &path) {
                long.push(format!("{path}:{} has {columns} columns", number + 1));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}
