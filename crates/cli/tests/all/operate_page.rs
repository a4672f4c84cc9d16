//! The page for operators of a service: what it shows is run, in its order.

use std::fs;
use std::path::Path;

use crate::process::{self, ChildProcess, tacit};
use crate::serve::get;

/// Returns the page's code blocks, in order: language and text.
pub(crate) fn blocks(page: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(page);
    let text = fs::read_to_string(path).expect("the page");
    let parts = text.split("```").skip(1).step_by(2);
    let parts = parts.map(|part| part.split_once('\n').expect("a line"));
    parts
        .map(|(language, text)| (language.to_owned(), text.to_owned()))
        .collect()
}

/// The page, as two organisations follow it in one folder.
struct Page<'f> {
    folder: &'f Path,
    /// The page's placeholders and the addresses in it, and what stands for them.
    told: Vec<(&'static str, String)>,
    services: Vec<ChildProcess>,
    /// The files of the next blocks that are tables.
    tables: std::array::IntoIter<&'static str, 2>,
    /// The number of commands that were run.
    ran: usize,
}

impl Page<'_> {
    fn block(&mut self, language: &str, block: &str) {
        let mut block = block.to_owned();
        for (placeholder, value) in &self.told {
            block = block.replace(placeholder, value);
        }
        if language == "json" && !self.folder.join("inputs.json").exists() {
            fs::write(self.folder.join("inputs.json"), &block).expect("a file");
        }
        if language == "csv" {
            let table = self.tables.next().expect("a table");
            fs::write(self.folder.join(table), &block).expect("a file");
        }
        if let Some(file) = block.strip_prefix("# file: ") {
            let name = file.lines().next().expect("a name").to_owned();
            // Free ports instead of those of the page.
            let block = match name.as_str() {
                "alice.toml" => block.replace(":7000", ":0").replace(":9464", ":0"),
                "tables.toml" => block.replace(":7001", ":0"),
                _ => block.clone(),
            };
            fs::write(self.folder.join(name), block).expect("a file");
        }
        if language == "console" {
            for line in block.lines() {
                let (who, command) = line.split_once("$ ").expect("who types it");
                self.command(who, command);
            }
        }
    }

    fn command(&mut self, who: &str, command: &str) {
        let (folder, words) = (self.folder, command.split(' ').collect::<Vec<&str>>());
        self.ran += 1;
        match words[..] {
            ["tacit", "keygen", ..] => {
                let made = tacit(folder, &words[1..]);
                let placeholder = match who {
                    "alice" => "ALICES-FINGERPRINT",
                    _ => "BOBS-FINGERPRINT",
                };
                let made = made.succeeded().trim().to_owned();
                self.told.push((placeholder, made));
            }
            ["tacit", "serve", "--config", file] => {
                let mut started = process::start(folder, &words[1..], "");
                let address = started.line_after("listening address=");
                if file == "alice.toml" {
                    let metrics = started.line_after("metrics address=");
                    self.told.push(("127.0.0.1:9464", metrics));
                    self.told.push(("127.0.0.1:7000", address));
                } else {
                    self.told.push(("127.0.0.1:7001", address));
                }
                self.services.push(started);
            }
            ["tacit", ..] => {
                let ended = tacit(folder, &words[1..]);
                assert!(!ended.succeeded().is_empty(), "{command}: {ended:?}");
            }
            ["curl", url] => {
                let url = url.strip_prefix("http://").expect("a URL");
                let (address, path) = url.split_once('/').expect("a path");
                let answer = get(address, &format!("/{path}"));
                assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            }
            _ => panic!("{command} is not run"),
        }
    }
}

#[test]
fn two_organisations_follow_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut page = Page {
        folder,
        told: Vec::new(),
        services: Vec::new(),
        tables: ["customers.csv", "visitors.csv"].into_iter(),
        ran: 0,
    };
    for (language, block) in blocks("docs/operate.md") {
        page.block(&language, &block);
    }
    assert!(page.ran >= 10, "the page shows {} commands", page.ran);
    assert_eq!(page.services.len(), 2);
    for service in page.services {
        service.signal("TERM");
        service.end().succeeded();
    }
    let results = fs::read_to_string(folder.join("results.jsonl")).expect("results");
    assert!(
        results.contains("69c4e0d86a7b0430d8cdb78070b4c55a"),
        "{results}"
    );
}
