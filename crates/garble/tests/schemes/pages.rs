//! The schemes' pages: README.md leads to each, and the bits of security on each are those that the
//! code computes.

use std::fs;
use std::path::{Path, PathBuf};

use tacit_garble::{SCHEMES, SchemeId};

/// Returns the path of a file of the repository.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn page(path: &str) -> String {
    fs::read_to_string(file(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the page of a scheme, and its statement of the bits.
fn said(id: SchemeId) -> (String, String) {
    let name = id.to_string();
    let bits = id.rung().expect("it is one of SCHEMES").security_bits;
    let (page, text) = match name.split_once('/') {
        Some(("half-gates", hash)) => ("half-gates", format!("| {hash} | {bits} |")),
        _ if name.starts_with("prf-") => (name.as_str(), format!("{bits} bits at 2^40 gates")),
        _ => {
            // It is its own page, or that of the family whose name is a prefix of its name.
            let ends = name.match_indices('-').map(|(at, _)| at);
            let mut pages = ends.chain([name.len()]).rev().map(|end| &name[..end]);
            let page = pages.find(|page| file(&format!("docs/schemes/{page}.md")).exists());
            let page = page.unwrap_or_else(|| panic!("write docs/schemes/{name}.md"));
            (page, format!("**Concrete security: {bits} bits**"))
        }
    };
    (format!("docs/schemes/{page}.md"), text)
}

#[test]
fn pages_say_the_bits_of_the_code() {
    for rung in &SCHEMES {
        let (path, text) = said(rung.id);
        assert!(page(&path).contains(&text), "{path} should say `{text}`");
        let link = format!("({path})");
        let readme = page("README.md");
        assert!(readme.contains(&link), "README.md should lead to {path}");
    }
    let bits = SchemeId::HALF_GATES_REKEYED
        .rung()
        .map(|rung| rung.security_bits);
    let text = format!(
        "rests on ideal-cipher ({} bits)",
        bits.expect("it is one of SCHEMES")
    );
    assert!(
        page("docs/guide.md").contains(&text),
        "docs/guide.md should say `{text}`"
    );
}
