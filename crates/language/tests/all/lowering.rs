//! The lowered function of each run gives the results of the interpreter, and takes no more AND
//! gates than before.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::both::{Chance, compare, lower, program_of, rendered, run_tests};
use tacit_language::lower::NoCircuitFiles;
use tacit_language::program::Program;
use tacit_language::{Loaded, NoFiles, ParamValues};

pub(crate) fn program(name: &str, params: &[(&str, u64)]) -> Program {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let text = fs::read_to_string(folder.join(name)).expect("a program");
    let loaded = Loaded::new(name, &text, &NoFiles);
    let params: ParamValues = params
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).into()))
        .collect();
    let program = loaded.program(&params);
    program.unwrap_or_else(|errors| panic!("{}", rendered(&loaded, &errors)))
}

pub(crate) type Case = (
    &'static str,
    &'static [(&'static str, u64)],
    &'static [&'static str],
);

pub(crate) const SMALL: &[Case] = &[
    ("01_auction.tacit", &[("LOTS", 3)], &["main"]),
    ("02_salary_gap.tacit", &[("N", 6), ("FLOOR", 2)], &["main"]),
    ("03_psi_sum.tacit", &[("LOG", 2)], &["main"]),
    (
        "04_join_group_by.tacit",
        &[("PEOPLE", 3), ("SALES", 4)],
        &["main"],
    ),
    (
        "04_join_group_by.tacit",
        &[("PEOPLE", 5), ("SALES", 2)],
        &["main"],
    ),
    (
        "05_kmeans.tacit",
        &[("N", 2), ("K", 3)],
        &["begin", "step", "show"],
    ),
    ("06_logistic.tacit", &[("FEATURES", 2)], &["main"]),
    (
        "07_decision_tree.tacit",
        &[("DEPTH", 2), ("FEATURES", 3)],
        &["main"],
    ),
    (
        "08_edit_distance_band.tacit",
        &[("N", 5), ("BAND", 2)],
        &["main"],
    ),
    (
        "09_order_book.tacit",
        &[("LEVELS", 5)],
        &["start", "order", "report"],
    ),
    (
        "10_friend_map.tacit",
        &[("CELLS", 4), ("ID_BITS", 3)],
        &["start", "get", "set"],
    ),
];

#[test]
fn lowered_programs_compute_what_the_interpreter_says() {
    let mut chance = Chance(7);
    for (name, params, entries) in SMALL {
        let program = program(name, params);
        for entry in *entries {
            let (id, lowered) = lower(&program, entry);
            for _ in 0..50 {
                compare(&program, id, &lowered, &mut chance);
            }
        }
    }
}

/// The numbers of AND gates at the default params. None exceeds the design's estimate except that
/// of `06_logistic`, for which the design states 10,672: it adds up its 30 products of
/// `fixed<6, 12>` in full, and keeps their sum in the range.
#[test]
fn programs_cost_no_more_than_they_did() {
    let known: &[(&str, &str, u64)] = &[
        ("01_auction.tacit", "main", 512),
        ("02_salary_gap.tacit", "main", 69_806),
        ("03_psi_sum.tacit", "main", 1_416_998),
        ("04_join_group_by.tacit", "main", 370_776),
        ("05_kmeans.tacit", "begin", 0),
        ("05_kmeans.tacit", "step", 459_288),
        ("05_kmeans.tacit", "show", 0),
        ("06_logistic.tacit", "main", 11_123),
        ("07_decision_tree.tacit", "main", 1_300),
        ("08_edit_distance_band.tacit", "main", 2_941_424),
        ("09_order_book.tacit", "order", 21_927),
        ("09_order_book.tacit", "report", 3_012),
        ("10_friend_map.tacit", "get", 2_048),
        ("10_friend_map.tacit", "set", 6_174),
    ];
    let mut worse = Vec::new();
    for (name, entry, expected) in known {
        let program = program(name, &[]);
        let (_, lowered) = lower(&program, entry);
        let found = lowered.function.and_gates();
        if found > *expected {
            worse.push(format!("{name} {entry}: {found} AND gates, not {expected}"));
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}

#[test]
fn the_costs_of_lines_add_up_to_those_of_the_function() {
    for (name, params, entries) in SMALL {
        let program = program(name, params);
        for name in *entries {
            let (id, lowered) = lower(&program, name);
            let costed = program.lower_with_costs(name, id, &NoCircuitFiles);
            let (function, costs) = costed.expect("a function");
            assert_eq!(function.function.digest(), lowered.function.digest());
            let ands: u64 = costs.stacks.iter().map(|stack| stack.and_gates).sum();
            assert_eq!(ands, lowered.function.and_gates(), "{name}");
            let components = lowered.function.components().iter();
            let calls = components.zip(lowered.function.component_calls());
            let bits = calls.map(|(component, &calls)| {
                component.circuit().input_bits() as u64 * u64::from(calls)
            });
            let links: u64 = costs.stacks.iter().map(|stack| stack.link_bits).sum();
            assert_eq!(links, bits.sum::<u64>(), "{name}");
        }
    }
}

#[test]
fn a_line_costs_what_its_calls_cost() {
    let text = "parties alice, bob;\n\
         component fn both(a: u8, b: u8) -> u8 { a & b }\n\
         fn twice(a: u8, b: u8) -> u8 {\n\
         both(a, b) ^\n\
         both(b, both(a, b))\n}\n\
         main(a: u8 of alice, b: u8 of bob) -> (result: u8 to both) {\n\
         let dropped = a * b;\n\
         twice(a, b) & (a ^ b)\n}\n";
    let loaded = Loaded::new("snippet.tacit", text, &NoFiles);
    let program = loaded.program(&ParamValues::new()).expect("a program");
    let (id, _) = lower(&program, "main");
    let costed = program.lower_with_costs("main", id, &NoCircuitFiles);
    let (_, costs) = costed.expect("a function");
    let found = costs.by_line(loaded.source_map()).into_iter();
    let found = found.map(|(line, cost)| {
        let ands = [cost.and_gates, cost.own_and_gates];
        (line.number, ands, cost.link_bits)
    });
    let expected = [
        (2, [3 * 8, 3 * 8], 0),
        // A call, and the XOR of two results.
        (4, [8, 0], 16 + 16),
        (5, [2 * 8, 0], 2 * 16),
        // The gates of `dropped` are gone, but for those that the next line shares.
        (8, [0, 0], 10),
        // This line calls, and reads `a` and `b`.
        (9, [3 * 8 + 8, 8], 4 * 16 + 16 - 10),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

/// Compares `main` of a program with these types and this body with the interpreter, on random
/// inputs.
fn agree(declared: &str, inputs: &str, output: &str, body: &str) {
    let text = format!(
        "parties alice, bob;\n{declared}\nmain({inputs}) -> (result: {output} to both) {{\n\
         {body}\n}}\n"
    );
    let program = program_of(&text);
    let (id, lowered) = lower(&program, "main");
    let mut chance = Chance(11);
    for _ in 0..40 {
        compare(&program, id, &lowered, &mut chance);
    }
}

#[test]
fn operators_of_numbers_agree_with_the_interpreter() {
    for ty in [
        "u1",
        "u7",
        "u32",
        "i1",
        "i8",
        "i33",
        "fixed<4, 4>",
        "fixed<1, 6>",
    ] {
        let inputs = format!("a: {ty} of alice, b: {ty} of bob, n: u6 of bob");
        for operator in ["==", "!=", "<", "<=", ">", ">="] {
            agree("", &inputs, "bool", &format!("a {operator} b"));
        }
        for operator in ["+", "-", "*", "/"] {
            agree("", &inputs, ty, &format!("a {operator} b"));
        }
        for body in [
            "a << n",
            "a >> n",
            "a << 3",
            "a >> 2",
            "min(a, b)",
            "max(a, b)",
        ] {
            agree("", &inputs, ty, body);
        }
        agree("", &inputs, ty, "add_sat(a, b)");
        agree(
            "",
            &inputs,
            "(bool, bool)",
            "((a, n) < (b, n), (n, b) >= (n, a))",
        );
        for other in ["u3", "u40", "i5", "i40", "fixed<3, 2>", "fixed<9, 8>"] {
            agree("", &inputs, other, &format!("a as {other}"));
        }
        if ty.starts_with('f') {
            agree("", &inputs, ty, "abs(-a)");
            continue;
        }
        for body in ["a % b", "a & b", "a | !b", "a ^ b"] {
            agree("", &inputs, ty, body);
        }
        let width: u32 = ty[1..].parse().unwrap();
        let wide = format!("{}{}", &ty[..1], 2 * width);
        agree("", &inputs, &wide, "wide_mul(a, b)");
        let count = format!("u<bits({width})>");
        agree("", &inputs, &count, "leading_ones(a)");
        agree("", &inputs, &count, "count_ones(b)");
        if ty.starts_with('u') {
            let bits = format!("[bool; {width}]");
            agree("", &inputs, &bits, &format!("a as {bits}"));
        } else {
            agree("", &inputs, ty, "abs(-a)")
        }
    }
}

#[test]
fn statements_agree_with_the_interpreter() {
    let types = "enum Size { Small, Medium, Large }\n\
                 struct Row { size: Size, at: [u8; 3] }\n";
    let inputs = "c: bool of alice, d: bool of bob, a: [u8; 5] of alice, i: u3 of bob, \
                  rows: [Row; 3] of bob, t: [u8; ..3] of alice, s: Size of alice";
    let bodies = [
        (
            "[u8; 5]",
            "let mut x = a; if c { x[1] = 7; if d { x = [1; 5]; } } else { x[i] = 9; } x",
        ),
        (
            "(u8, u8)",
            "let (mut x, mut y) = (a[0], a[1]); if c { x = y; y += 1; } (x, y)",
        ),
        ("u8", "a[i]"),
        (
            "[u8; 5]",
            "let mut x = a; for k in 0..4 { if x[k] > x[k + 1] { \
             (x[k], x[k + 1]) = (x[k + 1], x[k]); } } x",
        ),
        (
            "[Row; 3]",
            "let mut r = rows; r[i].at[s] = a[2]; r[s].size = s; r",
        ),
        ("u8", "rows[i].at[i]"),
        (
            "u8",
            "match s { Size::Small => 1, Size::Medium | Size::Large => a[0] }",
        ),
        (
            "u8",
            "match a[0] { 0..10 => 1, 10..=20 => 2, 7 => 3, _ => 4 }",
        ),
        (
            "u8",
            "match (c, d) { (true, _) => 1, (false, true) => 2, _ => 3 }",
        ),
        (
            "u8",
            "let mut n: u8 = 0; for k in 0..3 { if k < t.len { n += t.items[k]; } } n",
        ),
        ("(u2, u2)", "(t.len, s as u2)"),
        ("Size", "a[1] as Size"),
        ("[bool; 5]", "one_hot::<5>(i)"),
        ("u8", "a.get_or(i, 99)"),
        (
            "u8",
            "let x = if c { let mut y = a[0]; y += 1; y } else { 3 }; x",
        ),
        ("(u8, u8)", "swap_if(c, a[0], a[1])"),
        ("bytes<5>", "a as bytes<5> ^ [1, 2, 3, 4, 5]"),
        ("bool", "a as bytes<5> < [9, 9, 9, 9, 9]"),
        ("[u8; 2]", "a[1..3]"),
        ("i12", "a[i] as i<12>"),
        (
            "u12",
            "let mut x: u12 = 0; for u in 0..3 { x ^= u as u<12>; } x",
        ),
    ];
    for (output, body) in bodies {
        agree(types, inputs, output, body);
    }
}

#[test]
fn random_bits_are_drawn_in_both_branches_and_in_order() {
    let declared = "use std::random::random;";
    let body = "let x = if c { random::<u8>() } else { random::<u4>() as u8 }; \
                x ^ random::<u8>()";
    agree(declared, "c: bool of alice, d: bool of bob", "u8", body);
}

/// This covers an index of a place that is read and written, a matched value, and a value that
/// becomes a table.
#[test]
fn what_has_effects_is_computed_once() {
    let text = "parties alice, bob;
use std::random::random;
struct Row { n: u8 }
main(a: u8 of alice, b: u8 of bob) -> (changed: [u8; 4] to both, indexed: [u8; 4] to both,
    field: u8 to both, drawn: u8 to both, matched: u8 to both, table: [u8; ..4] to both,
    parts: [u8; 2] to both) {
    let mut z: u2 = 0;
    let mut u = [10, 20, 30, 40 as u8];
    u[z] += { z += 1; a };
    let mut v = [10, 20, 30, 40 as u8];
    v[{ z += 1; z }] += a;
    let mut rows = [Row { n: b }; 4];
    rows[{ z += 1; z }].n += a;
    let mut d = [10, 20, 30, 40 as u8];
    d[random::<u2>()] += a;
    let matched = match ({ z += 1; z }, a) { (1, _) => 1, (0, 5) => 2, _ => 3 as u8 };
    let table: [u8; ..4] = { z += 1; [z as u8, z as u8] };
    let parts = [[{ z += 1; a }, z as u8][1], ({ z += 1; a }, z as u8).1];
    (u, v, rows[3].n, d[0] + d[1] + d[2] + d[3], matched, table, parts)
}
test \"once\" {
    assert main(5, 1) == ([15, 20, 30, 40], [10, 20, 35, 40], 6, 105, 2, [1, 1], [2, 3]);
}
";
    run_tests(&Loaded::new("once.tacit", text, &NoFiles));
}

/// FIPS 197, appendix C.1, computed by the library's circuit.
#[test]
fn a_component_of_the_library_is_called() {
    let program = program_of(
        "parties alice, bob;\n\
         component fn encrypt(key: bytes<16>, block: bytes<16>) -> bytes<16> = library \
         \"aes-128\";\n main(key: bytes<16> of alice, block: bytes<16> of bob) -> (out: bytes<16> \
         to both) {\n encrypt(key, block)\n}\n",
    );
    let (_, lowered) = lower(&program, "main");
    let bytes = |hex: &str| -> Vec<bool> {
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
        let bytes = (0..hex.len()).step_by(2).map(byte);
        bytes
            .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1))
            .collect()
    };
    let mut inputs = bytes("000102030405060708090a0b0c0d0e0f");
    inputs.extend(bytes("00112233445566778899aabbccddeeff"));
    let expected = bytes("69c4e0d86a7b0430d8cdb78070b4c55a");
    assert_eq!(lowered.function.evaluate(&inputs), expected);
}

/// The parameters of a library circuit are consts and may be generics. A circuit with one result is
/// not changed.
#[test]
fn a_component_of_the_library_has_parameters() {
    let program = program_of(
        "parties alice, bob;\n\
         const W = 5;\n\
         component fn sum<const N>(a: u<N>, b: u<N>) -> u<N> = library \"adder\"(bits: N);\n\
         main(a: u<W + 3> of alice, b: u8 of bob) -> (out: u8 to both) {\n sum(a, b)\n}\n",
    );
    let (_, lowered) = lower(&program, "main");
    let bits = |number: u32| (0..8).map(move |bit| number >> bit & 1 == 1);
    let inputs: Vec<bool> = bits(200).chain(bits(99)).collect();
    let expected: Vec<bool> = bits((200 + 99) % 256).collect();
    assert_eq!(lowered.function.evaluate(&inputs), expected);
    let parameters = BTreeMap::from([("bits".to_owned(), 8)]);
    let adder = tacit_components::library::find("adder", &parameters).expect("a circuit");
    assert_eq!(lowered.function.components()[0].digest(), adder.digest());
}

/// A `start` without inputs, written or implied, saves each state's first value.
#[test]
fn a_chain_begins_without_inputs() {
    for own in ["", "start begin() { count = 5; }\n"] {
        let text = format!(
            "parties alice, bob;\nstate count: u8 = 5;\nstate other: bool = true;\n{own}\
             run next(by: u8 of alice) -> (now: u8 to bob) {{ count += by; count }}\n"
        );
        let program = program_of(&text);
        let name = if own.is_empty() { "start" } else { "begin" };
        let (_, lowered) = lower(&program, name);
        let function = &lowered.function;
        assert!(function.inputs().is_empty() && function.loads().is_empty());
        let first = (0..8).map(|bit| 5 >> bit & 1 == 1).chain([true]);
        assert_eq!(function.evaluate(&[]), first.collect::<Vec<bool>>());
    }
    // Other items named `start` are not changed.
    for own in [
        "state start: u8 = 5;",
        "state other: u8 = 5;\nfn start(x: u8) -> u8 { x }",
    ] {
        let program = program_of(&format!(
            "parties alice, bob;\n{own}\nrun next(by: u8 of alice) -> (by: u8 to bob) {{ by }}\n"
        ));
        assert_eq!(program.entries.len(), 1);
    }
}

/// The text of a function grows with the levels of a network, and not with its calls.
#[test]
fn calls_that_repeat_are_written_as_loops() {
    let sort = |rows: u32| {
        let program = program_of(&format!(
            "parties alice, bob;
            use std::order::sort;
            main(a: [u32; {rows}] of alice, b: u32 of bob) -> (sorted: [u32; {rows}] to both) {{
                sort([for x in a {{ x ^ b }}])
            }}"
        ));
        let function = lower(&program, "main").1.function;
        (function.canonical_text().len(), function.call_count())
    };
    let (small, large) = (sort(64), sort(1024));
    assert!(large.1 > 40 * small.1, "{} and {} calls", small.1, large.1);
    assert!(large.0 < 4 * small.0, "{} and {} bytes", small.0, large.0);
}
