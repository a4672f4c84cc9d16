//! Tests of joins: the examples pass their tests, the pairs are those of a plain join, and the
//! lowered function gives the same results for any order of bins.

mod alike;
mod indices;
mod plain;
mod spans;

use std::collections::{BTreeMap, HashMap};

use tacit_circuit::builder::CircuitForm;
use tacit_function::Function;
use tacit_function::join::{JoinPlan, JoinSide, KeyKind};
use tacit_language::lower::Lowered;
use tacit_language::program::{Program, Value};
use tacit_language::{Loaded, NoFiles, ParamValues};

use crate::both::{Chance, lower, rendered, run_tests};
use crate::lowering::program;

/// All kinds of sums, and a number that belongs to no pair.
const KINDS: &str = "
parties a, b;
param N: 0..=100_000 = len(left);
param M: 0..=100_000 = len(right);
enum Color { Red, Green, Blue }
struct L { id: u16, x: u8, color: Color, unread: u64 }
struct R { id: u16, y: i8 }
main(left: [L; ..N] of a, right: [R; ..M] of b, bias: u8 of b,
     pairs: join left by id with right by id)
    -> (count: u<bits(N)> to both, sum: i32 to a, less: i16 to both, least: u8 to both,
        most: i8 to b, all: bool to both, any: bool to both, parity: u8 to both,
        colors: [u16; 3] to both) {
    let (mut count, mut sum, mut less): (u<bits(N)>, i32, i16) = (0, 5, 0);
    let (mut least, mut most): (u8, i8) = (255, -128);
    let (mut all, mut any) = (true, false);
    let mut parity: u8 = 1;
    let mut colors: [u16; 3] = [0; 3];
    for p in pairs {
        count += p.matched as u<bits(N)>;
        sum += p.right.y as i32;
        less -= p.right.y as i16;
        let far = p.left.x > bias;
        if p.matched {
            least = min(least, p.left.x);
            most = max(most, p.right.y);
            colors[p.left.color] += 1;
            any = any || far;
        }
        all = all && (far || !p.matched);
        parity = parity ^ p.left.x;
    }
    (count, sum, less, least, most, all, any, parity, colors)
}
";

/// A value for each pair, for the owner of the right table.
const BY_PAIR: &str = "
parties a, b;
param N: 1..=100 = len(left);
param M: 1..=100 = len(right);
struct L { id: text, x: u8 }
struct R { name: text<8>, y: u8 }
main(left: [L; ..N] of a, right: [R; ..M] of b,
    pairs: join left by email(id) with right by email(name))
    -> (sums: [u9; M] to b, count: u8 to both) {
    let mut count: u8 = 0;
    for p in pairs { count += p.matched as u8; }
    ([for p in pairs { p.left.x as u9 + p.right.y as u9 + 1 }], count)
}
";

fn sized(text: &str, sizes: [u64; 2]) -> Program {
    let loaded = Loaded::new("joined.tacit", text, &NoFiles);
    let params: ParamValues = [("N", sizes[0]), ("M", sizes[1])]
        .map(|(name, value)| (name.to_owned(), value.into()))
        .into();
    let program = loaded.program(&params);
    program.unwrap_or_else(|errors| panic!("{}", rendered(&loaded, &errors)))
}

/// The most bins of a span, in turn.
const SPANS: [u64; 4] = [u64::MAX, 64, 128, 192];

/// Cuts the bins of the program's join into spans of at most this many bins.
fn cut(program: &mut Program, most_bins: u64) {
    let join = program.entries[0].join.as_mut().expect("a join");
    join.most_span_bins = most_bins;
}

fn number(value: i64) -> Value {
    value.into()
}

/// Returns a table of these rows, filled up with `zero`.
fn table(rows: Vec<Value>, most: u64, zero: &Value) -> Value {
    let count = number(rows.len() as i64);
    let mut items = rows;
    items.resize(most as usize, zero.clone());
    Value::List(vec![count, Value::List(items)])
}

/// Returns the outputs of a stage for the pairs of the placer's rows: each row, and the payload if
/// another row has the same key. The rows are in bins in random order.
fn staged(
    plan: &JoinPlan,
    rows: &[(Vec<bool>, Option<Vec<bool>>)],
    chance: &mut Chance,
) -> (Vec<bool>, Vec<bool>, Vec<usize>) {
    let bins = plan.bin_count() as usize;
    let mut order: Vec<usize> = (0..bins).collect();
    for place in (1..bins).rev() {
        order.swap(place, chance.below(place + 1));
    }
    let mut at: HashMap<usize, usize> = HashMap::new();
    for (row, bin) in order.iter().enumerate().take(rows.len()) {
        at.insert(*bin, row);
    }
    let mut drawn = |count: u64| -> Vec<bool> { chance.bits(count as usize) };
    let (mut placer, mut programmer) = (Vec::new(), Vec::new());
    for bin in 0..bins {
        let (mut o, r) = (
            drawn(plan.sizes.tag_bits.into()),
            drawn(plan.sizes.tag_bits.into()),
        );
        let (mut masked, mask) = (
            drawn(plan.sizes.payload_bits),
            drawn(plan.sizes.payload_bits),
        );
        let mut row = vec![false; plan.sizes.placer_bits as usize];
        if let Some((own, payload)) = at.get(&bin).map(|row| &rows[*row]) {
            row.clone_from(own);
            if let Some(payload) = payload {
                o.clone_from(&r);
                masked = payload.iter().zip(&mask).map(|(a, b)| a ^ b).collect();
            }
        }
        placer.extend([o, row, masked].concat());
        programmer.extend([r, mask].concat());
    }
    (placer, programmer, order)
}

/// Returns the inputs that the stage gives a function, by name.
fn of_spans(
    plan: &JoinPlan,
    mut placer: Vec<bool>,
    mut programmer: Vec<bool>,
) -> BTreeMap<&str, Vec<bool>> {
    let mut inputs = BTreeMap::new();
    for span in &plan.spans {
        let widths = [
            plan.sizes.placer_element_bits(),
            plan.sizes.programmer_element_bits(),
        ];
        let [of_placer, of_programmer] = widths.map(|width| (width * span.bins) as usize);
        inputs.insert(&*span.placer_input, placer.drain(..of_placer).collect());
        inputs.insert(
            &*span.programmer_input,
            programmer.drain(..of_programmer).collect(),
        );
    }
    assert!(placer.is_empty() && programmer.is_empty(), "all bins");
    inputs
}

fn bits(value: i64, width: u64) -> Vec<bool> {
    (0..width).map(|place| value >> place & 1 == 1).collect()
}

/// Returns the function's inputs in order, from those of the stage and the others by name.
fn inputs(function: &Function, given: &BTreeMap<&str, Vec<bool>>) -> Vec<bool> {
    let ports = function.inputs().iter();
    ports
        .flat_map(|input| given[input.port.name.as_str()].clone())
        .collect()
}

#[test]
fn examples_of_joins_pass_their_tests() {
    for name in [
        "11_common_spend.tacit",
        "12_spend_by_region.tacit",
        "14_two_hospitals.tacit",
        "15_part_of_spend.tacit",
    ] {
        let program = program(name, &[("N", 100), ("M", 70)]);
        assert!(program.entries[0].join.is_some(), "{name}");
        let (_, lowered) = lower(&program, "main");
        let plan = lowered.join.expect("a join");
        assert_eq!(lowered.function.components()[0].name(), "test_and_mask");
        assert_eq!(plan.bin_count(), plan.sizes.bins, "{name}");
    }
}

/// In the shallow form, such calls become additions, both inside and outside of the turns.
#[test]
fn calls_that_only_add_give_the_same_in_both_forms() {
    let text = KINDS
        .replace(
            "main(left",
            "component fn step(n: u8, x: u8) -> u8 { n + (x & 15) }\nmain(left",
        )
        .replace(
            "for p in pairs {",
            "let mut limit = bias; for k in 0..5 { limit = step(limit, bias); }\nfor p in pairs {\n\
             let mut own: u8 = 0; for k in 0..5 { own = step(own, p.left.x); }",
        )
        .replace("x > bias;", "x > limit;")
        .replace("parity ^ p.left.x;", "parity ^ own;");
    let mut chance = Chance(118);
    let mut program = sized(&text, [70, 90]);
    let (_, small) = lower(&program, "main");
    program.form = CircuitForm::Shallow;
    let shallow = SPANS.map(|most_bins| {
        cut(&mut program, most_bins);
        lower(&program, "main").1
    });
    let plan = small.join.clone().expect("a join");
    for _ in 0..8 {
        let mut row = |width: u64| chance.bits(width as usize);
        let (own, other) = (plan.sizes.placer_bits, plan.sizes.payload_bits);
        let rows: Vec<_> = (0..60)
            .map(|at| (row(own), (at % 3 > 0).then(|| row(other))))
            .collect();
        let (placer, programmer, _) = staged(&plan, &rows, &mut chance);
        let bias = chance.bits(8);
        let evaluate = |of: &Lowered| {
            let plan = of.join.as_ref().expect("a join");
            let mut given = of_spans(plan, placer.clone(), programmer.clone());
            given.insert("bias", bias.clone());
            of.function.evaluate(&inputs(&of.function, &given))
        };
        for shallow in &shallow {
            assert_eq!(evaluate(&small), evaluate(shallow));
        }
    }
}

#[test]
fn a_table_of_no_keys_leaves_no_pairs() {
    for sizes in [[0, 5], [5, 0], [0, 0]] {
        let program = sized(KINDS, sizes);
        let (_, lowered) = lower(&program, "main");
        let plan = lowered.join.clone().expect("a join");
        assert_eq!(plan.bin_count(), 0);
        let given = BTreeMap::from([("bias", bits(3, 8))]);
        let given = inputs(&lowered.function, &given);
        let found = lowered.function.evaluate(&given);
        assert!(found.len() > 8);
    }
}

#[test]
fn a_value_for_each_pair_comes_in_the_order_of_the_recipients_rows() {
    let mut program = sized(BY_PAIR, [6, 4]);
    let (id, lowered) = lower(&program, "main");
    let plan = lowered.join.clone().expect("a join");
    assert_eq!(
        plan.placer,
        JoinSide::Right,
        "who gets a value for each pair places"
    );
    let by_pair = plan.by_pair.clone().expect("a result by pair");
    assert_eq!(
        (&*by_pair.output, by_pair.element_bits, by_pair.rows),
        ("sums", 9, 4)
    );
    assert!(matches!(plan.left.key[0].kind, KeyKind::Text(_)));

    let text = |text: &str, size: usize| {
        let bytes = text
            .bytes()
            .chain(std::iter::repeat(0))
            .take(size.max(text.len()));
        Value::List(bytes.map(|byte| number(byte.into())).collect())
    };
    let left = [("A@x ", 1), ("b@x", 2), ("long before it ends@x", 3)];
    let left: Vec<Value> = left
        .map(|(id, x)| Value::List(vec![text(id, 0), number(x)]))
        .into();
    let right = [("c@x", 10), ("a@X", 20), ("B@x", 30)];
    let right: Vec<Value> = right
        .map(|(name, y)| Value::List(vec![text(name, 8), number(y)]))
        .into();
    let given = vec![
        table(left, 6, &Value::List(vec![text("", 0), number(0)])),
        table(right, 4, &Value::List(vec![text("", 8), number(0)])),
    ];
    let outcome = program
        .evaluate(id, given, Vec::new(), Vec::new())
        .expect("results");
    // Rows without a match give the value for zeros. After the table there are zeros.
    let sums = [1, 22, 33, 0].map(number);
    assert_eq!(
        outcome.results,
        Value::List(vec![Value::List(sums.into()), number(2)])
    );

    let rows = [
        (bits(10, 8), None),
        (bits(20, 8), Some(bits(1, 8))),
        (bits(30, 8), Some(bits(2, 8))),
    ];
    for most_bins in SPANS {
        cut(&mut program, most_bins);
        let (_, lowered) = lower(&program, "main");
        let plan = lowered.join.as_ref().expect("a join");
        let (placer, programmer, order) = staged(plan, &rows, &mut Chance(5));
        let given = of_spans(plan, placer, programmer);
        let given = inputs(&lowered.function, &given);
        let found = lowered.function.evaluate(&given);
        for (row, expected) in [(0, 1), (1, 22), (2, 33)] {
            let element = &found[order[row] * 9..][..9];
            assert_eq!(element, bits(expected, 9), "row {row}");
        }
    }
}

#[test]
fn several_rows_of_a_key_stay_in_the_order_of_their_table() {
    let text = "
parties a, b;
const D = 3;
param N: 1..=100 = len(left);
param M: 1..=100 = keys(right);
struct L { id: (u8, text), w: u4 }
";
    // A tuple cannot be a part of a key. Its parts must be fields of the struct.
    let loaded = Loaded::new("tuple.tacit", text, &NoFiles);
    assert!(loaded.program(&ParamValues::new()).is_err());
    let text = "
parties a, b;
const D = 3;
param N: 1..=100 = len(left);
param M: 1..=100 = keys(right);
struct L { id: u8, w: u4 }
struct R { y: u4, id: u8 }
main(left: [L; ..N] of a, right: [R; ..D * M] of b, pairs: join left by id with right by id upto D)
    -> (digits: [u12; N] to a) {
    [for p in pairs {
        let mut sum: u12 = p.right.len as u12 << 10;
        for const k in 0..D { sum = sum ^ (p.right.items[k].y as u12 << 4 * k as u4); }
        sum
    }]
}
test \"the rows of a key\" with N = 2, M = 2 {
    let left = [L { id: 7, w: 1 }, L { id: 9, w: 1 }];
    let right = [R { id: 9, y: 1 }, R { id: 8, y: 9 }, R { id: 9, y: 2 }, R { id: 9, y: 3 }];
    assert main(left, right) == [0, (3 << 10) ^ 0x321];
}
";
    let loaded = Loaded::new("rows.tacit", text, &NoFiles);
    run_tests(&loaded);
    let program = loaded.program(&ParamValues::new()).expect("a program");
    let join = program.entries[0].join.as_ref().expect("a join");
    assert_eq!(
        join.read,
        [vec![], vec![0]],
        "of right rows y alone is read"
    );
}

/// A join by two fields without a fixed length.
const BY_TWO: &str = "
parties a, b;
param N: 0..=100 = len(left);
param M: 0..=100 = len(right);
struct L { first: text, last: text }
struct R { first: text<8>, last: text<8>, y: u8 }
main(left: [L; ..N] of a, right: [R; ..M] of b,
     pairs: join left by (first, last) with right by (first, last)) -> (sum: u16 to both) {
    let mut sum: u16 = 0;
    for p in pairs { sum += p.right.y as u16; }
    sum
}
";

fn told_by(test: &str) -> Vec<String> {
    let loaded = Loaded::new("two.tacit", &format!("{BY_TWO}{test}"), &NoFiles);
    let reports = loaded.run_tests(&ParamValues::new(), &tacit_language::lower::NoCircuitFiles);
    let errors = reports.into_iter().flat_map(|report| report.errors);
    errors.map(|error| error.message).collect()
}

#[test]
fn keys_are_cut_where_their_parts_end() {
    let told = told_by(
        "test \"ab c is not a bc\" {
    let left = [L { first: \"ab\", last: \"c\" }, L { first: \"x\", last: \"y\" }];
    let right = [R { first: \"a\", last: \"bc\", y: 1 }, R { first: \"x\", last: \"y\", y: 2 }];
    assert main(left, right) == 2;
}",
    );
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn keys_that_a_join_does_not_take_are_told_with_their_rows() {
    let rows = |left: &str, right: &str, with: &str| {
        told_by(&format!(
            "test \"wrong\" {with} {{ assert main([{left}], [{right}]) == 0; }}"
        ))
    };
    let ann = "L { first: \"ann\", last: \"b\" }";
    let bob = "R { first: \"bob\", last: \"b\", y: 1 }";
    let told = rows(
        &format!("{ann}, L {{ first: \"x\", last: \"b\" }}, {ann}"),
        bob,
        "",
    );
    assert_eq!(
        told,
        ["`left` has a key in several rows: row 3 has the key of row 1"]
    );
    let told = rows(ann, &format!("{bob}, {bob}"), "");
    assert_eq!(
        told,
        ["`right` has a key in several rows: row 2 has the key of row 1"]
    );
    let told = rows(ann, "R { first: \"bob\", last: \"\", y: 1 }", "");
    assert_eq!(told, ["`right` has no valid value in row 1"]);
    assert!(!rows(&format!("{ann}, {ann}"), bob, "with N = 1, M = 1").is_empty());
    assert!(rows(ann, bob, "with N = 100, M = 1").is_empty());
}

#[test]
fn roles_and_sizes_follow_from_params_and_types() {
    let plan = |sizes| lower(&sized(KINDS, sizes), "main").1.join.expect("a join");
    let (few, many) = (plan([1 << 12, 1 << 15]), plan([1 << 15, 1 << 12]));
    assert_eq!((few.placer, many.placer), (JoinSide::Left, JoinSide::Right));
    assert_eq!(few.bin_count(), many.bin_count());
    assert_eq!(
        (few.left.most_keys, few.right.most_rows),
        (1 << 12, 1 << 15)
    );
    // If the tables have equal sizes, the owner of the one with the wider row places.
    assert_eq!(plan([1000, 1000]).placer, JoinSide::Left);
}

#[test]
fn loops_over_pairs_stay_loops() {
    let text = |size: u64| {
        let (_, lowered) = lower(&sized(KINDS, [size, size]), "main");
        (
            lowered.function.canonical_text().len(),
            lowered.function.call_count(),
        )
    };
    let (small, large) = (text(1 << 12), text(1 << 16));
    assert!(large.1 > 14 * small.1, "a call for each bin");
    assert!(large.0 < 2 * small.0, "{} and {} bytes", small.0, large.0);
}

/// Each sum of a loop takes values of its own, whose names have at most 64 characters.
#[test]
fn a_loop_over_pairs_has_many_sums() {
    let text = "parties a, b;
        param N: 0..=5_000 = len(left);
        param M: 0..=5_000 = len(right);
        struct L { id: u32, group: u6 }
        struct R { id: u32, amount: u8 }
        main(left: [L; ..N] of a, right: [R; ..M] of b, pairs: join left by id with right by id)
            -> (counts: [u16; 64] to both, totals: [u32; 64] to both) {
            let mut counts: [u16; 64] = [0; 64];
            let mut totals: [u32; 64] = [0; 64];
            for p in pairs {
                counts[p.left.group] += p.matched as u16;
                totals[p.left.group] += p.right.amount as u32;
            }
            (counts, totals)
        }";
    for sizes in [[3, 2], [5_000, 4_000]] {
        lower(&sized(text, sizes), "main");
    }
}

#[test]
fn the_parties_announce_sizes_that_are_open() {
    let loaded = Loaded::new("joined.tacit", KINDS, &NoFiles);
    let signature = tacit_language::Signature::new(&loaded, &ParamValues::new(), None);
    let open = signature.expect("a program").open_params();
    let names = open
        .iter()
        .map(|open| (&*open.name, &*open.input, open.maximum));
    assert_eq!(
        names.collect::<Vec<_>>(),
        [("N", "left", 100_000), ("M", "right", 100_000)]
    );
}
