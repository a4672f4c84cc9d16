//! Bits of security on the schemes' pages, held to those that the code computes.

use std::fs;
use std::path::Path;

use tacit_garble::{LADDER, SchemeId};

fn page(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The page of a scheme, and how it says its bits.
fn said(id: SchemeId) -> (String, String) {
    let name = id.to_string();
    let bits = id.rung().expect("it is on the ladder").security_bits;
    let (page, text) = match name.split_once('/') {
        Some(("half-gates", hash)) => ("half-gates", format!("| {hash} | {bits} |")),
        _ if name.starts_with("prf-") => (name.as_str(), format!("{bits} bits at 2^40 gates")),
        _ => {
            let pages = ["three-halves", "prf", "related-key", "circular"];
            let page = pages.into_iter().find(|page| name.starts_with(page));
            let page = page.unwrap_or_else(|| panic!("{name} has no page"));
            (page, format!("**Concrete security: {bits} bits**"))
        }
    };
    (format!("docs/schemes/{page}.md"), text)
}

#[test]
fn pages_say_the_bits_of_the_code() {
    for rung in &LADDER {
        let (path, text) = said(rung.id);
        assert!(page(&path).contains(&text), "{path} should say `{text}`");
    }
    let bits = SchemeId::HALF_GATES_REKEYED
        .rung()
        .map(|rung| rung.security_bits);
    let text = format!(
        "rests on ideal-cipher ({} bits)",
        bits.expect("it is on the ladder")
    );
    assert!(
        page("docs/guide.md").contains(&text),
        "docs/guide.md should say `{text}`"
    );
}
