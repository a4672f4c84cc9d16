//! The table of gate counts: the cost of each component, and the ceiling that it must not exceed.
//!
//! Ceilings are those of the field's own circuits, if there are any. If a count changes, the
//! component's digest changes as well. Such a change must be a commit of its own.

use tacit_circuit::builder::CircuitForm;
use tacit_components::library;

use crate::by_name::{component, parameters};
use crate::oracle::Random;

/// The name, parameters, AND gates, and the ceiling.
type Row = (
    &'static str,
    &'static [(&'static str, u64)],
    u64,
    Option<u64>,
);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("adder", &[("bits", 64)], 63, Some(63)),
    ("comparator", &[("bits", 64)], 127, None),
    ("millionaires", &[("bits", 64)], 64, Some(64)),
    ("selector", &[("bits", 64)], 64, Some(64)),
    ("multiplier", &[("bits", 32)], 559, Some(993)),
    ("multiplier", &[("bits", 64)], 2143, Some(4033)),
    ("multiplier-wide", &[("bits", 32)], 1042, Some(2016)),
    ("multiplier-wide", &[("bits", 64)], 3535, Some(8128)),
    ("multiplier-wide-signed", &[("bits", 64)], 3617, Some(8128)),
    ("divider", &[("bits", 64)], 2332, Some(4094)),
    ("divider-signed", &[("bits", 64)], 2586, Some(4664)),
    ("aes-128", &[], 6400, Some(6400)),
    ("aes-128-expanded", &[], 5120, Some(5120)),
    ("aes-128-expand", &[], 1280, Some(1280)),
    ("aes-192", &[], 7168, Some(7168)),
    ("aes-256", &[], 8832, Some(8832)),
    ("aes-round", &[], 512, Some(512)),
    ("aes-last-round", &[], 512, Some(512)),
    ("aes-128-cbc", &[("blocks", 10)], 52480, Some(52480)),
    ("xor", &[], 0, Some(0)),
    ("sha-256-compress", &[], 22271, Some(22573)),
    ("keccak-f-1600", &[], 38400, Some(38400)),
    ("sha3-256", &[("bytes", 32)], 37056, Some(38400)),
    ("chacha20-block", &[], 10400, Some(10416)),
    ("hmac-sha-256", &[("key_bytes", 32), ("bytes", 32)], 85594, Some(4 * 22573)),
    ("levenshtein-tile", &[("side", 1)], 11, Some(13)),
    ("levenshtein-tile", &[("side", 4)], 176, Some(13 * 16)),
    ("levenshtein-tile", &[("side", 8)], 704, Some(13 * 64)),
    ("levenshtein-tile", &[("side", 10)], 1100, Some(13 * 100)),
    ("levenshtein-tile", &[("side", 16)], 2816, Some(13 * 256)),
    ("levenshtein-cell", &[("bits", 7)], 42, Some(44)),
    ("edit-distance", &[("x_symbols", 60), ("y_symbols", 60)], 39169, Some(13 * 3600 + 120)),
    ("edit-distance", &[("x_symbols", 128), ("y_symbols", 128)], 179316, Some(1_434_888)),
    (
        "longest-common-substring",
        &[("x_symbols", 128), ("y_symbols", 128), ("symbol_bits", 1)], 265689, Some(2_978_854),
    ),
    (
        "longest-common-substring",
        &[("x_symbols", 256), ("y_symbols", 256), ("symbol_bits", 1)], 1213210, Some(13_177_739),
    ),
    ("longest-common-substring-step", &[("length", 128)], 2182, Some(87_236)),
    ("longest-common-substring-step", &[("length", 256)], 4871, Some(160_322)),
    ("longest-common-substring-step", &[("length", 512)], 10760, Some(306_368)),
    ("keyed-database", &[("entries", 64)], 6080, Some(6_080)),
    ("keyed-database", &[("entries", 128)], 12160, Some(12_160)),
    ("keyed-database", &[("entries", 256)], 24320, Some(24_320)),
    ("dot-product", &[("count", 8), ("bits", 32)], 4038, Some(8 * 993 + 7 * 31)),
    ("millionaires", &[("bits", 8192)], 8192, Some(8192)),
    ("cell-map-get", &[("cells", 64)], 512, None),
    ("cell-map-get", &[("cells", 256)], 2048, None),
    ("cell-map-get", &[("cells", 2048)], 16384, None),
    ("cell-map-set", &[("cells", 64)], 1566, None),
    ("cell-map-set", &[("cells", 256)], 6174, None),
    ("cell-map-set", &[("cells", 2048)], 49182, None),
    ("min-cut-250k-synthetic", &[], 999960, Some(999_960)),
];

/// Formats a row as in the guide.
fn shown(&(name, given, and, most): &Row) -> String {
    let given: Vec<String> = given
        .iter()
        .map(|(n, value)| format!("{n}={value}"))
        .collect();
    let most = most.map_or("—".to_owned(), |count| count.to_string());
    format!("| {name} | {} | {and} | {most} |", given.join(" "))
}

#[test]
fn the_guide_shows_the_rows() {
    let guide = include_str!("../../../../docs/components.md");
    let rows: Vec<String> = TABLE.iter().map(shown).collect();
    let rows = rows.join("\n");
    assert!(
        guide.contains(&rows),
        "docs/components.md is to have:\n{rows}"
    );
}

#[test]
fn every_count_is_the_table_s_and_within_its_ceiling() {
    let mut wrong = Vec::new();
    for row in TABLE {
        let (name, given, expected, ceiling) = *row;
        let and = component(name, given).statistics().and as u64;
        if and != expected {
            wrong.push(format!("{}: now {and}", shown(row)));
        }
        let is_below = ceiling.is_none_or(|ceiling| and <= ceiling);
        assert!(is_below, "{name}: {and} past {ceiling:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The caller of `dot-product` computes sums for it, so `dot-product` is compared only through
/// `matrix-product`.
#[test]
fn components_compute_the_same_in_the_shallow_form_and_are_no_deeper() {
    let mut random = Random(1);
    let mut deeper = Vec::new();
    for &(name, given, ..) in TABLE.iter().filter(|row| row.0 != "dot-product") {
        let small = component(name, given);
        let shallow = library::find_in_form(name, &parameters(given), CircuitForm::Shallow);
        let shallow = shallow.expect("a component of the library");
        for _ in 0..2 {
            let inputs: Vec<_> = (0..small.input_bits()).map(|_| random.next()).collect();
            let [expected, found] = [&small, &shallow].map(|form| form.evaluate_lanes(&inputs));
            assert_eq!(found, expected, "{name} {given:?}");
        }
        let depths = [&small, &shallow].map(|circuit| circuit.statistics().and_depth);
        if depths[1] > depths[0] {
            deeper.push(format!("{name} {given:?}: {depths:?}"));
        }
    }
    assert!(deeper.is_empty(), "{}", deeper.join("\n"));
}

#[test]
fn every_component_of_the_library_is_in_the_table_or_is_counted_elsewhere() {
    // Components that are sums of the table's rows, or that only check a count already in the
    // table.
    let elsewhere = ["aes-128-copies", "sha-256", "levenshtein-distance"];
    for entry in library::list() {
        let is_counted = TABLE.iter().any(|row| row.0 == entry.name);
        assert!(
            is_counted != elsewhere.contains(&entry.name),
            "{}",
            entry.name
        );
    }
}

#[test]
fn parameters_out_of_range_are_named_with_value_and_bound() {
    for entry in library::list() {
        for parameter in entry.parameters {
            for found in [parameter.minimum - 1, parameter.maximum + 1, u64::MAX] {
                let least = entry.parameters.iter().map(|p| (p.name, p.minimum));
                let mut given = parameters(&least.collect::<Vec<_>>());
                given.insert(parameter.name.to_owned(), found);
                let message = library::find(entry.name, &given).unwrap_err().to_string();
                let bounds = format!("from {} to {}", parameter.minimum, parameter.maximum);
                for part in [entry.name, parameter.name, &found.to_string(), &bounds] {
                    assert!(message.contains(part), "{message} lacks {part}");
                }
            }
        }
    }
}
