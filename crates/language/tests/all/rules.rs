//! The rules of the reference, with a test for each.

use num_bigint::BigInt;
use tacit_language::lower::NoCircuitFiles;
use tacit_language::program::{Program, Value};
use tacit_language::{Loaded, NoFiles, ParamValues, Signature};

use crate::both::{Chance, compare, lower, program_of};

/// Returns a `main` of two numbers with this body, and the items before it.
fn main(items: &str, result: &str, body: &str) -> String {
    format!(
        "parties alice, bob;\n{items}\n\
         main(a: u8 of alice, b: u8 of bob) -> (result: {result} to both) {{\n{body}\n}}\n"
    )
}

/// Returns the result for these inputs. The lowered function must give the same.
fn result(text: &str, inputs: [i64; 2]) -> Value {
    let program = program_of(text);
    let (id, lowered) = lower(&program, "main");
    compare(&program, id, &lowered, &mut Chance(7));
    let inputs = inputs.map(Value::from).to_vec();
    let outcome = program.evaluate(id, inputs, Vec::new(), Vec::new());
    outcome.expect("a run").results
}

fn number(value: &Value) -> &BigInt {
    value.as_integer()
}

fn errors(text: &str) -> Vec<String> {
    let loaded = Loaded::new("snippet.tacit", text, &NoFiles);
    let errors = loaded.check(&ParamValues::new(), &NoCircuitFiles);
    errors.into_iter().map(|error| error.message).collect()
}

#[track_caller]
fn refused(text: &str, message: &str) {
    let errors = errors(text);
    let is_told = errors.iter().any(|error| error.contains(message));
    assert!(is_told, "{message} is not in {errors:?}");
}

#[track_caller]
fn gives(body: &str, expected: i64) {
    let found = result(&main("", "u8", body), [7, 3]);
    assert_eq!(number(&found), &BigInt::from(expected), "{body}");
}

#[test]
fn an_if_with_empty_blocks_computes_its_condition() {
    gives("let mut x = a; if { x += 1; x > b } { } x", 8);
    gives("let mut x = a; if { x += 1; x > b } { } else { } x", 8);
    gives(
        "let mut x = a; if { x += 1; x > b } { for i in 0..3 { } } x",
        8,
    );
    gives(
        "let mut x = a; if b > a { x = 0; } else if { x += 1; x > b } { } x",
        8,
    );
    gives(
        "let mut x = a; match { x += 1; x } { 0 => { } _ => { } } x",
        8,
    );
}

#[test]
fn what_is_dropped_is_computed() {
    gives(
        "let mut x = a; let c = [b, b]; let _ = c[{ x += 1; x }]; x",
        8,
    );
    gives("let mut x = a; let _ = (1, { x += 1; x }); x", 8);
    gives("let mut x = a; { (1, { x += 1; x }) }; x", 8);
    gives(
        "let mut x = a; let n: [u8; 0] = []; let _ = get_or(n, { x += 1; x }, b); x",
        8,
    );
}

#[test]
fn a_name_is_what_it_was_when_it_was_given() {
    gives("let mut x = a; let t = (x, 1); x = b; t.0", 7);
    gives(
        "let mut x = a; let t = ({ x += 1; x }, 1); t.0 + t.0 + x",
        24,
    );
    gives("let mut x = a; for const v in [x, x, 1] { x += v; } x", 22);
    refused(
        &main("", "u8", "const T = (a, 1); T.0"),
        "`T` is const, and this is a secret",
    );
}

#[test]
fn a_lambda_captures_no_counter() {
    let items = "fn apply(x: u8, f: fn(u8)) -> u8 { f(x) }";
    let body = "let mut sum = a; for i in 0..3 { sum = apply(sum, |v| v + i); } sum";
    refused(&main(items, "u8", body), "nothing here is called `i`");
}

#[test]
fn an_assignment_reads_its_target_before_its_value() {
    gives("let mut x = a; x += { x = 100; 1 }; x", 8);
}

const TABLE: &str = "let mut u: [u8; ..2] = [5, 6];";

#[test]
fn a_length_past_the_greatest_is_the_greatest() {
    for body in [
        "u.len = 3;",
        "u.len += 1;",
        "let mut c = a; (u.len, c) = (3, 1);",
    ] {
        let text = main("", "u2", &format!("{TABLE} {body} u.len"));
        assert_eq!(number(&result(&text, [7, 3])), &BigInt::from(2), "{body}");
        let text = main("", "bool", &format!("{TABLE} {body} u == [5, 6]"));
        assert!(result(&text, [7, 3]).as_bool(), "{body}");
    }
    let text = main(
        "",
        "u2",
        "let mut u: [[u8; ..2]; 2] = [[1], [2]]; u[1].len = a as u2; u[1].len",
    );
    assert_eq!(number(&result(&text, [3, 0])), &BigInt::from(2));
}

#[test]
fn component_changes_no_result() {
    for word in ["", "component "] {
        let items = format!("{word}fn id(x: u8) -> u8 {{ x }}");
        refused(&main(&items, "u8", "id(200) + 100"), "does not fit into");
        let text = main(&items, "u8", "let x = id(200); x + 100");
        assert_eq!(number(&result(&text, [0, 0])), &BigInt::from(44));
    }
}

#[test]
fn a_variable_is_no_const_whatever_it_holds() {
    gives("let x: u8 = 200; x + 100", 44);
    gives("let x = [200 as u8, 100]; x[0] + x[1]", 44);
    gives("let x = [200 as u8, 100 as u8]; x[0] + x[1]", 44);
    gives("let x = (200 as u8, 100); x.0 + x.1", 44);
    refused(&main("", "u8", "(200 as u8) + 100"), "does not fit into");
    gives(
        "let mut n = b; for const k in [1 as u8, 2 as u8] { n += [0; k].len; } n",
        6,
    );
    refused(
        &main("const X = [200 as u8, 100];", "u8", "X[0] + X[1]"),
        "does not fit into",
    );
}

#[test]
fn a_type_is_inferred_from_what_stands_around() {
    let sorted = "use std::psi::count;\nconst KEYS = [1, 3, 7];\n";
    for keys in ["[1, 3, 7]", "KEYS"] {
        for arguments in [format!("[a], {keys}"), format!("{keys}, [a]")] {
            let text = main(sorted, "u8", &format!("count({arguments}) as u8"));
            assert_eq!(
                number(&result(&text, [7, 3])),
                &BigInt::from(1),
                "{arguments}"
            );
        }
    }
    refused(&main(sorted, "u8", "count([a], [3, 1, 7]) as u8"), "sorted");
    gives(
        "let t: [[u8; ..2]; 2] = [[b], [b, b]]; t[0].len as u8 + t[1].len as u8",
        3,
    );
    gives("((if a > b { 1 } else { 2 }) < b) as u8", 1);
    gives(
        "((match a { 7 => 1, _ => { let mut c = a; c += 1; 5 } }) < b) as u8",
        1,
    );
    gives("min(if a > b { 1 } else { 2 }, b)", 1);
    refused(
        &main("", "u8", "let x = if a > b { 1 } else { 2 }; x"),
        "meets no type",
    );
}

#[test]
fn a_match_for_all_values_needs_no_others() {
    let pairs = "match (a > b, a > 9) { (false, false) => 0, (false, true) => 1, \
         (true, false) => 2, \
                 (true, true) => 3 }";
    gives(pairs, 2);
    gives(
        "match (a > b, a > 9) { (false, _) => 0, (_, true) => 1, (true, false) => 2 }",
        2,
    );
    gives("match a as u5 { 0..=6 => 0, 7..=31 => 1 }", 1);
    gives("match a as i3 { -4..0 => 0, 0..=3 => 1 }", 0);
    gives(
        "match (a as u2, b as u2) { (0..=1, _) => 0, (2, _) => 1, (3, 0..3) => 2, (3, 3) => 3 }",
        3,
    );
    refused(
        &main(
            "",
            "u8",
            "match (a > b, a as u5) { (false, _) => 0, (true, 0..=30) => 1 }",
        ),
        "no arm for (true, 31)",
    );
    refused(
        &main("", "u8", "match a { 0..=9 => 0, 20..=255 => 1 }"),
        "no arm for 10..=19",
    );
}

#[test]
fn a_pattern_gives_names() {
    gives(
        "match (a, b) { (0, y) => y, (x, 3) => x + 1, (x, y) => x + y }",
        8,
    );
    gives(
        "match ((a, 1 as u8), b) { ((x, _), 4) => x, (t, y) => t.0 + t.1 + y }",
        11,
    );
    gives(
        "let mut x = a; match (x, b) { (y, 3) => { x = 0; y }, (y, _) => y }",
        7,
    );
    gives("match b { 0 => 1, other => other * 2 }", 6);
    refused(
        &main("", "u8", "match (a, b) { (x, x) => 1, _ => 0 }"),
        "`x` twice",
    );
    refused(
        &main("", "u8", "match a { 1 | x => 1, _ => 0 }"),
        "one of several patterns",
    );
    gives("const seven = 7; match a { seven => 1, _ => 0 }", 1);
}

#[test]
fn bools_and_enums_are_in_order() {
    gives("((a < b) < (b < a)) as u8", 1);
    gives("((a > b) <= (b > a)) as u8", 0);
    let items = "enum Size { Small, Medium, Large }";
    let text = main(items, "bool", "(a as Size) < (b as Size)");
    assert!(result(&text, [1, 2]).as_bool());
    let text = main(
        items,
        "bool",
        "(a as Size, a > b, a) >= (b as Size, b > a, b)",
    );
    assert!(result(&text, [2, 1]).as_bool());
    let text = main(
        items,
        "u8",
        "match a as Size { Size::Small..=Size::Medium => 1, _ => 2 }",
    );
    assert_eq!(number(&result(&text, [1, 0])), &BigInt::from(1));
}

fn meaning(text: &str) -> String {
    let loaded = Loaded::new("snippet.tacit", text, &NoFiles);
    let signature = Signature::new(&loaded, &ParamValues::new(), None).expect("a program");
    signature
        .meaning(&NoCircuitFiles)
        .expect("no files")
        .to_string()
}

#[test]
fn the_same_meaning_has_the_same_digest() {
    let items = "struct Pair { left: u8, right: u8 }";
    let fields = [
        "left: { let mut l = a; l += 1; l }",
        "right: { let mut r = b; r -= 1; (r as u16) as u8 }",
    ];
    let pair = |first: &str, second: &str| {
        main(
            items,
            "u8",
            &format!("let p = Pair {{ {first}, {second} }}; p.left - p.right"),
        )
    };
    let kept = meaning(&pair(fields[0], fields[1]));
    assert_eq!(meaning(&pair(fields[1], fields[0])), kept);
    let ranges = |range: &str| main("", "u8", &format!("match a {{ {range} => 1, _ => 0 }}"));
    assert_eq!(meaning(&ranges("0..3")), meaning(&ranges("0..=2")));
    assert_ne!(meaning(&ranges("0..3")), meaning(&ranges("0..=3")));
    gives("match a { 0..0 => 1, 5..8 => 2, _ => 3 }", 2);
}

fn rows(program: &Program, inputs: [Value; 2]) -> Vec<(bool, BigInt)> {
    let (id, lowered) = lower(program, "main");
    compare(program, id, &lowered, &mut Chance(3));
    let outcome = program.evaluate(id, inputs.to_vec(), Vec::new(), Vec::new());
    let results = outcome.expect("a run").results;
    let rows = results.as_list().iter().map(|row| {
        let parts = row.as_list();
        (parts[0].as_bool(), parts[1].as_integer().clone())
    });
    rows.collect()
}

/// Opening an absent row does not reveal its content.
#[test]
fn a_row_that_is_not_there_opens_as_zero() {
    let text = |body: &str| {
        format!(
            "parties alice, bob;\nuse std::order::compact;\n\
             main(a: [u8; 3] of alice, b: [bool; 3] of bob) -> (r: [Maybe<u8>; 3] to both) \
             {{ {body} }}\n"
        )
    };
    let made = "let mut m: [Maybe<u8>; 3] = [for i in 0..3 { Maybe { some: b[i], value: a[i] } }];";
    let list = |parts: [Value; 3]| Value::List(parts.to_vec());
    for (body, expected) in [
        ("m", [(false, 0), (true, 2), (false, 0)]),
        ("m[1].some = false; m", [(false, 0), (false, 0), (false, 0)]),
        ("compact(m)", [(true, 2), (false, 0), (false, 0)]),
        (
            "let c = compact(m); [for r in c { Maybe { some: true, value: r.value } }]",
            [(true, 2), (true, 0), (true, 0)],
        ),
    ] {
        let program = program_of(&text(&format!("{made} {body}")));
        let inputs = [
            list([1, 2, 3].map(|n: i64| Value::from(n))),
            list([false, true, false].map(Value::from)),
        ];
        let expected = expected.map(|(some, value): (bool, i64)| (some, BigInt::from(value)));
        assert_eq!(rows(&program, inputs), expected, "{body}");
    }
}
