//! Numbers on pages that the code decides.

use tacit_protocol::session::Version;
use tacit_stock::FORMAT_VERSION;

fn page(path: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    std::fs::read_to_string(format!("{root}{path}")).expect("a file of the repository")
}

#[test]
fn pages_say_the_version_of_the_wire() {
    let now = Version::CURRENT;
    let row = format!("| 8..10 | version of the wire, now {now} |");
    let path = "docs/protocols/direct.md";
    assert!(page(path).contains(&row), "{path} should say: {row}");
    let log = page("CHANGELOG.md");
    let newest = log.lines().find(|line| line.starts_with("Wire version "));
    let line = format!("Wire version {now}.");
    assert_eq!(newest, Some(&line[..]), "in CHANGELOG.md");
}

#[test]
fn the_page_of_the_stock_says_its_version() {
    let said = format!("`version` is {FORMAT_VERSION} everywhere");
    assert!(
        page("docs/stock.md").contains(&said),
        "docs/stock.md should say: {said}"
    );
}

#[test]
fn pages_and_packages_say_the_version_of_the_release() {
    let now = env!("CARGO_PKG_VERSION");
    for (path, said) in [
        (
            "docs/install.md",
            format!("tacit-{now}-x86_64-unknown-linux-musl"),
        ),
        (
            "crates/web/js/package.json",
            format!("\"version\": \"{now}\""),
        ),
    ] {
        assert!(page(path).contains(&said), "{path} should say: {said}");
    }
}
