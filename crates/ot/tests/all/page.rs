//! The numbers of `docs/ot.md` that the code computes.

use tacit_ot::FieldBits;
use tacit_ot::source::Extension;

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ot.md");
    std::fs::read_to_string(path).expect("docs/ot.md")
}

/// Returns the cells of the page's table row that starts with these cells.
fn row(page: &str, start: &str) -> Vec<String> {
    let mut rows = page.lines().filter(|line| line.starts_with(start));
    let row = rows
        .next()
        .unwrap_or_else(|| panic!("no row of docs/ot.md starts with `{start}`"));
    assert!(rows.next().is_none(), "two rows start with `{start}`");
    let cells = row.trim_matches('|').split('|');
    cells.map(|cell| cell.trim().to_owned()).collect()
}

#[test]
fn the_bits_of_the_check_are_those_of_the_code() {
    let page = page();
    for k in [1, 2, 4, 8] {
        let field = FieldBits::new(k).expect("1 to 8");
        let bits = Extension::SoftSpoken(field).check_bits().floor();
        let row = row(&page, &format!("| {k} | {} | ", 128 / k));
        assert_eq!(row.last(), Some(&bits.to_string()), "k = {k}");
    }
    let chance = |k| {
        let field = FieldBits::new(k).expect("1 to 8");
        -Extension::SoftSpoken(field)
            .cheating_log2(tacit_ot::PEER_WORK_LOG2)
            .ceil()
    };
    let said = format!(
        "that is 2^-{} at k = 1 and 2^-{} at k = 2",
        chance(1),
        chance(2)
    );
    assert!(page.contains(&said), "docs/ot.md should say: {said}");
    let lpn = Extension::Silent.lpn_bits().expect("it rests on LPN");
    let said = format!("t = 1120, at {lpn} bits.");
    assert!(page.contains(&said), "docs/ot.md should say: {said}");
    let silent = format!("so b is {}", Extension::Silent.check_bits().floor());
    assert!(page.contains(&silent), "docs/ot.md should say: {silent}");
}
