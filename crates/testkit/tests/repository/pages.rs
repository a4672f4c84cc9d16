//! Numbers on pages that the code determines.

use std::collections::BTreeMap;

use tacit::library;
use tacit_function::Role;
use tacit_garble::{SCHEMES, SchemeId};
use tacit_ot::FieldBits;
use tacit_ot::source::Extension;
use tacit_protocol::authenticated::SecurityBits;
use tacit_protocol::outsourced::Parameters;
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
        (
            "packaging/helm/tacit/Chart.yaml",
            format!("\nversion: {now}\nappVersion: {now}\n"),
        ),
    ] {
        assert!(page(path).contains(&said), "{path} should say: {said}");
    }
}

#[test]
fn pages_say_the_bits_of_the_code() {
    let ot = page("docs/ot.md");
    for k in [1, 2, 4, 8] {
        let extension = Extension::SoftSpoken(FieldBits::new(k).expect("a field"));
        let start = format!("| {k} | {} |", 128 / k);
        let row = ot.lines().find(|line| line.starts_with(&start));
        let end = format!("| {:.0} |", extension.check_bits().floor());
        assert!(
            row.is_some_and(|row| row.ends_with(&end)),
            "{start} … {end}"
        );
    }
    let of = |id: SchemeId| {
        let scheme = SCHEMES.iter().find(|scheme| scheme.id == id);
        scheme.expect("on the ladder").security_bits
    };
    let batch = "docs/protocols/batch.md";
    let schemes = format!(
        "{} under `half-gates/two-call`, {} under `half-gates/re-keyed`, {} under `three-halves`",
        of(SchemeId::HALF_GATES_TWO_CALL),
        of(SchemeId::HALF_GATES_REKEYED),
        of(SchemeId::THREE_HALVES)
    );
    let schemes = [(batch, schemes)];
    let said = outsourced_bits().into_iter().chain(schemes);
    for (path, said) in said.chain(held_bits()) {
        let page = page(path);
        let words: Vec<_> = page.split_whitespace().collect();
        assert!(words.join(" ").contains(&said), "{path} should say: {said}");
    }
}

/// Returns the pages' statements about cheating parties of `outsourced`, rounded down so that the
/// promise holds.
fn outsourced_bits() -> Vec<(&'static str, String)> {
    let (page, security) = ("docs/protocols/outsourced.md", "SECURITY.md");
    let aes = library::function("aes-128", &BTreeMap::new()).expect("a function");
    let bound = |copies, k| {
        let parameters = Parameters::insecure_for_measurements(copies, k).expect("parameters");
        let bound = parameters.bound(Some(&aes));
        (parameters, bound.expect("a bound"))
    };
    let circuits = |copies| bound(copies, 40).1.circuits_bits;
    let mut said: Vec<_> = [16, 64, 256]
        .map(|copies| {
            let evaluated = bound(copies, 40).0.evaluated();
            let bits = (circuits(copies) * 100.0).floor() / 100.0;
            (page, format!("| {copies} | {evaluated} | 2^-{bits:.2} |"))
        })
        .into();
    let (_, usual) = bound(256, 40);
    let attempt = -((-usual.encoding_bits).exp2() + (-usual.consistency_bits).exp2()).log2();
    said.push((
        page,
        format!("2^-(k+{}) an attempt at most", attempt - 40.0),
    ));
    let [many, some, few] = [256, 64, 16].map(circuits);
    said.push((
        security,
        format!(
            "2^-{} at 256 circuits, 2^-{} at 64 and 2^-{:.1} at 16, and 2^-{attempt} an attempt",
            many.floor(),
            some.floor(),
            (few * 10.0).floor() / 10.0,
        ),
    ));
    let words = Role::BOTH.map(|role| aes.output_bits(role).div_ceil(64));
    let word = usual.results_bits + (words.iter().sum::<usize>() as f64).log2();
    // One of two links is the cloud's.
    let link = (usual.transfers_bits + 1.0).floor();
    let most = bound(1024, 80).1.total_bits() as u8;
    said.extend([
        (
            security,
            format!("with 2^-{word} for each 64 bits of it; and with 2^-{link} each time"),
        ),
        (
            page,
            format!("⌈n/64⌉ · 2^-{word} at most. It learns nothing"),
        ),
        (
            page,
            format!("different choices in one pass the check with 2^-{link} at most"),
        ),
        (
            page,
            format!(
                "with 1024 circuits and k = 80 that is {most} bits, since an OT extension holds \
                 {link} on each link"
            ),
        ),
    ]);
    said
}

/// Returns the pages' statements about results for high values of s.
fn held_bits() -> Vec<(&'static str, String)> {
    let bits = |s| SecurityBits::new(s).expect("40 to 64").held_bits();
    let exact = (40..=64).rev().find(|s| bits(*s) == *s).expect("40");
    let less = (40..=64).rev().find(|s| bits(*s) + 1 == *s).expect("43");
    let most = bits(64);
    let authenticated =
        format!("s up to s = {exact}, one bit less up to s = {less}, and {most} bits at s = 64");
    let aes = library::function("aes-128", &BTreeMap::new()).expect("a function");
    let batch = tacit_protocol::batch::held_bits(80, &aes);
    assert_eq!(batch, most, "docs/guide.md has one number for both");
    let guide = format!("which is at most {most} bits");
    vec![
        ("docs/protocols/authenticated.md", authenticated),
        (
            "docs/protocols/batch.md",
            format!("{batch} bits if more are asked for"),
        ),
        ("docs/guide.md", guide),
    ]
}
