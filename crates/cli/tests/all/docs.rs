//! The README and the guide are right: code, links, commands and flags.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::process::tacit;

const PAGES: [&str; 29] = [
    "README.md",
    "docs/README.md",
    "SECURITY.md",
    "docs/bench.md",
    "docs/circuits.md",
    "docs/components.md",
    "docs/cookbook.md",
    "docs/guide.md",
    "docs/install.md",
    "docs/coming-from.md",
    "docs/language-reference.md",
    "docs/language.md",
    "docs/matching.md",
    "docs/operate.md",
    "docs/ot.md",
    "docs/outsourced.md",
    "docs/pairing.md",
    "docs/plan.md",
    "docs/processes.md",
    "docs/protocols/authenticated.md",
    "docs/protocols/batch.md",
    "docs/protocols/direct.md",
    "docs/protocols/instances.md",
    "docs/protocols/outsourced.md",
    "docs/protocols/prepared.md",
    "docs/python.md",
    "docs/reference.md",
    "docs/stock.md",
    "docs/web.md",
];

/// Pages that also name flags of scripts and of `tacit-bench`.
const OF_OTHER_TOOLS: [&str; 2] = ["docs/bench.md", "docs/install.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// Returns the code blocks of `page` in `language`.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = read(page);
    let fence = format!("```{language}\n");
    let parts = text.split(&fence).skip(1);
    parts
        .map(|part| part.split("```").next().expect("a part").to_owned())
        .collect()
}

#[test]
fn the_code_is_that_of_the_examples() {
    let example = read("examples/millionaires.rs");
    for block in blocks("README.md", "rust") {
        assert!(example.contains(&block), "not in the example:\n{block}");
        assert!(block.lines().count() <= 15, "a run takes 15 lines at most");
    }
}

#[test]
fn links_lead_somewhere() {
    for page in PAGES {
        let folder = root().join(page).parent().expect("a folder").to_owned();
        let text = read(page);
        for link in text.split("](").skip(1) {
            let link = link.split(')').next().expect("a link");
            let (path, place) = link.split_once('#').unwrap_or((link, ""));
            if path.contains("://") {
                continue;
            }
            let target = match path {
                "" => root().join(page),
                path => folder.join(path),
            };
            assert!(
                target.exists(),
                "{page} links to {path}, which is not there"
            );
            assert!(
                place.is_empty() || headings(&target).iter().any(|heading| heading == place),
                "{page} links to {link}, and the page has no such heading"
            );
        }
    }
}

/// Returns the headings of a page in the form of links.
fn headings(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).expect("a page");
    let lines = text.lines().filter(|line| line.starts_with('#'));
    let words = lines.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    words
        .map(|words| {
            words
                .chars()
                .filter(kept)
                .collect::<String>()
                .replace(' ', "-")
        })
        .collect()
}

/// Returns the lines of `page` that a reader runs, and other code on the page that contains a flag.
fn code(page: &str) -> Vec<String> {
    let text = read(page);
    let prose = text.split("```").step_by(2);
    let spans = prose.flat_map(|prose| prose.split('`').skip(1).step_by(2));
    let shown = spans.filter(|span| span.contains("--"));
    let run = blocks(page, "console").concat().replace("\\\n", " ");
    run.lines().chain(shown).map(str::to_owned).collect()
}

#[test]
fn flags_and_commands_exist() {
    let folder = tempfile::tempdir().unwrap();
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let mut bare = Vec::new();
    for page in PAGES {
        for line in code(page) {
            let is_bare = line.starts_with("--");
            let words = line.split_whitespace();
            let words: Vec<&str> = words
                .skip_while(|word| !is_bare && !word.ends_with("tacit"))
                .collect();
            let flags = words.iter().filter(|word| word.starts_with("--"));
            let mut flags = flags.filter_map(|flag| flag.split(['=', ',']).next());
            let count = match words[..] {
                _ if is_bare => {
                    bare.extend(flags.map(|flag| (page, flag.to_owned())));
                    continue;
                }
                [_, "config" | "outsource" | "pair" | "stock", ..] => 2,
                [_, _, ..] => 1,
                _ => continue,
            };
            let command = words[1..=count].iter().map(|&word| word.to_owned());
            let help = helps.entry(command.collect()).or_insert_with(|| {
                let asked = [&words[1..=count], &["--help"]].concat();
                tacit(folder.path(), &asked).succeeded().to_owned()
            });
            assert!(flags.all(|flag| takes(help, flag)), "{page}: {line}");
        }
    }
    assert!(helps.len() > 8, "{:?}", helps.keys());
    bare.retain(|(page, flag)| {
        !OF_OTHER_TOOLS.contains(page) && !helps.values().any(|help| takes(help, flag))
    });
    assert!(bare.is_empty(), "no command takes {bare:?}");
}

/// Returns whether the options in a command's help include `flag`.
fn takes(help: &str, flag: &str) -> bool {
    let is_option = |line: &str| {
        let option = line.trim_start().trim_start_matches("-h, ");
        let after = option.strip_prefix(flag);
        after.is_some_and(|after| after.is_empty() || after.starts_with(' '))
    };
    help.lines().any(is_option) || help.contains(&format!("[alias: {flag}]"))
}

#[test]
fn the_commands_that_only_inspect_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut ran = 0;
    let commands = blocks("docs/guide.md", "console").concat();
    let inspect = |line| str::strip_prefix(line, "$ tacit inspect ");
    for line in commands.lines().filter_map(inspect) {
        let args: Vec<&str> = std::iter::once("inspect")
            .chain(line.split_whitespace())
            .collect();
        tacit(folder.path(), &args).succeeded();
        ran += 1;
    }
    assert!(ran >= 3, "the guide shows how to inspect");
}

#[test]
fn the_digests_are_those_that_the_command_prints() {
    let folder = tempfile::tempdir().unwrap();
    let inspected = tacit(folder.path(), &["inspect", "millionaires", "--json"]).json();
    let digest = inspected["function_digest"].as_str().expect("a digest");
    let text = read("docs/guide.md");
    let words = text.split(|c: char| !c.is_ascii_hexdigit());
    let found: Vec<&str> = words.filter(|word| word.len() == 64).collect();
    assert!(!found.is_empty(), "the guide shows a run");
    for found in found {
        assert_eq!(found, digest, "the guide shows runs of millionaires alone");
    }
}

#[test]
fn the_bits_of_batch_are_those_of_its_schemes() {
    use tacit::garble::SchemeId;
    let page = read("docs/protocols/batch.md");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for scheme in [
        SchemeId::HALF_GATES_TWO_CALL,
        SchemeId::HALF_GATES_REKEYED,
        SchemeId::THREE_HALVES,
    ] {
        let bits = scheme.rung().expect("a scheme of the ladder").security_bits;
        let told = format!("{bits} under `{scheme}`");
        assert!(page.contains(&told), "{told}");
    }
}
