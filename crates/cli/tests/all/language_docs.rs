//! The pages on the language: their programs compile, and each of their commands prints the output
//! on the page.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{start, tacit};

const PAGES: [&str; 3] = [
    "docs/language.md",
    "docs/language-reference.md",
    "docs/coming-from.md",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the blocks of a page: the text after the fence, and the content.
fn blocks(page: &str) -> Vec<(String, String)> {
    let text =
        fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
    let parts = text.split("\n```").skip(1).step_by(2);
    let split = parts.map(|part| part.split_once('\n').expect("a line after the fence"));
    split
        .map(|(head, text)| (head.to_owned(), format!("{text}\n")))
        .collect()
}

/// Makes a folder with a page's files and the examples.
fn folder_of(page: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = folder.path().join("examples");
    fs::create_dir(&examples).expect("a folder");
    for entry in fs::read_dir(root().join("examples")).expect("the examples") {
        let path = entry.expect("an example").path();
        if path.is_dir() {
            continue;
        }
        let name = path.file_name().expect("a name");
        fs::copy(&path, examples.join(name)).expect("a copy");
    }
    for (head, text) in blocks(page) {
        if let Some((_, name)) = head.split_once(' ') {
            let path = folder.path().join(name);
            assert!(!path.exists(), "{page} has {name} twice");
            fs::write(path, text).expect("a file");
        }
    }
    folder
}

/// Returns the commands of a block, each with its output.
fn commands(text: &str) -> Vec<(Vec<String>, String)> {
    let mut commands: Vec<(Vec<String>, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match (line.strip_prefix("$ tacit "), commands.last_mut()) {
            (Some(command), _) => {
                commands.push((words(command), String::new()));
            }
            (None, Some((_, printed))) => *printed += &format!("{line}\n"),
            (None, None) => panic!("{line} belongs to no command"),
        }
    }
    commands
}

/// Splits a command into words, some of which are in double quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in command.split('"').enumerate() {
        match number % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[test]
fn programs_on_the_pages_are_right() {
    for page in PAGES {
        let folder = folder_of(page);
        for (head, _) in blocks(page) {
            if let Some(name) = head.strip_prefix("tacit ") {
                tacit(folder.path(), &["check", name]).succeeded();
                tacit(folder.path(), &["test", name]).succeeded();
                tacit(folder.path(), &["fmt", "--check", name]).succeeded();
            }
        }
    }
}

#[test]
fn commands_on_the_pages_print_what_the_pages_say() {
    let mut ran = 0;
    for page in PAGES {
        let folder = folder_of(page);
        let consoles = blocks(page)
            .into_iter()
            .filter(|(head, _)| head == "console");
        for (_, text) in consoles {
            let mut listening = None;
            for (mut words, printed) in commands(&text) {
                ran += 1;
                let place = words.iter().position(|word| word == "127.0.0.1:7000");
                let is_first = words.iter().any(|word| word == "--listen");
                if let Some(place) = place {
                    words[place] = match &listening {
                        None => "127.0.0.1:0".to_owned(),
                        Some((_, address, _)) => String::clone(address),
                    };
                }
                let args: Vec<&str> = words.iter().map(String::as_str).collect();
                let mut running = start(folder.path(), &args, "");
                if is_first {
                    let address = running.line_after("listening on ");
                    listening = Some((running, address, printed));
                    continue;
                }
                let ended = running.end();
                let found = ended.succeeded();
                assert!(
                    printed.is_empty() || found == printed,
                    "{page}: {words:?}: {found}"
                );
                if let Some((running, _, printed)) = listening.take() {
                    assert_eq!(running.end().succeeded(), printed, "{page}");
                }
            }
        }
    }
    assert!(ran >= 15, "the pages show commands: {ran}");
}
