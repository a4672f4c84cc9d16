//! The examples and all functions of the standard library by `gmw`: both parties get what the
//! interpreter computes, on random inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tacit::circuit::builder::CircuitForm;
use tacit::protocols::Protocol;
use tacit::session::OtExtension;
use tacit::{Error, Function, Job, Session, Value};
use tacit_language::lower::NoCircuitFiles;
use tacit_language::program::{EntryId, Program};
use tacit_language::{Loaded, NoFiles, ParamValues, render_all};

use crate::pair::{ROLES, in_memory};

/// A program's name, its params and its runs.
type Example = (
    &'static str,
    &'static [(&'static str, u64)],
    &'static [&'static str],
);

const EXAMPLES: &[Example] = &[
    ("01_auction", &[("LOTS", 5)], &["main"]),
    ("02_salary_gap", &[("N", 6), ("FLOOR", 2)], &["main"]),
    ("03_psi_sum", &[("LOG", 2)], &["main"]),
    (
        "04_join_group_by",
        &[("PEOPLE", 5), ("SALES", 6)],
        &["main"],
    ),
    ("06_logistic", &[("FEATURES", 3)], &["main"]),
    (
        "07_decision_tree",
        &[("DEPTH", 2), ("FEATURES", 3)],
        &["main"],
    ),
    ("08_edit_distance_band", &[("N", 7), ("BAND", 3)], &["main"]),
    ("16_sum_of_parts", &[("S", 3)], &["main"]),
];

/// The examples with saved values, which `gmw` refuses.
const KEPT: &[Example] = &[
    (
        "05_kmeans",
        &[("N", 2), ("K", 3)],
        &["begin", "step", "show"],
    ),
    (
        "09_order_book",
        &[("LEVELS", 5)],
        &["start", "order", "report"],
    ),
    (
        "10_friend_map",
        &[("CELLS", 4), ("ID_BITS", 3)],
        &["start", "get", "set"],
    ),
];

/// The examples that join tables, whose inputs are not all values of ports. `join` tests the joins
/// themselves, and `joins` of `tacit-cli` the runs.
const JOINS: [&str; 5] = [
    "11_common_spend",
    "12_spend_by_region",
    "13_ad_conversions",
    "14_two_hospitals",
    "15_part_of_spend",
];

/// For each module of the standard library a program, without the line of the parties. Keys are
/// short, so that some are equal.
const STD: &[(&str, &str)] = &[
    (
        "cipher",
        "use std::cipher::{aes_128, aes_256, chacha20_block};
        main(key: bytes<16> of alice, long: bytes<32> of alice, block: bytes<16> of bob,
            counter: u32 of bob, nonce: bytes<12> of bob)
            -> (a: bytes<16> to both, b: bytes<16> to alice, c: bytes<64> to bob) {
            (aes_128(key, block), aes_256(long, block), chacha20_block(long, counter, nonce))
        }",
    ),
    (
        "edit",
        "use std::edit::{edit_distance, text_distance_in_bytes, text_distance_in_code_points};
        main(a: [u2; 5] of alice, b: [u2; 18] of bob, s: text<4> of alice, t: text<5> of bob)
            -> (symbols: u5 to both, bytes: u3 to alice, points: u3 to bob) {
            (edit_distance(a, b), text_distance_in_bytes(s, t), text_distance_in_code_points(s, t))
        }",
    ),
    (
        "hash",
        "use std::hash::{sha_256, sha_256_compress};
        main(a: [u8; 5] of alice, b: [u8; 5] of bob,
            block: bytes<64> of alice, state: [u32; 8] of bob)
            -> (hash: bytes<32> to both, next: [u32; 8] to bob) {
            let message = [for i in 0..5 { a[i] ^ b[i] }];
            (sha_256(message as bytes<5>), sha_256_compress(state, block))
        }",
    ),
    (
        "matrix",
        "use std::matrix::{apply, product, transpose};
        main(a: [[i8; 3]; 2] of alice, b: [[i8; 2]; 3] of bob)
            -> (ab: [[i8; 2]; 2] to both, applied: [i8; 3] to bob) {
            (product(a, b), apply(transpose(a), b[0]))
        }",
    ),
    (
        "noise",
        "use std::noise::two_sided;
        use std::random::random;
        main(below: [u64; 3] of alice, count: i8 of bob) -> (shown: i8 to both) {
            count + two_sided(random::<[[u64; 3]; 2]>(), below) as i8
        }",
    ),
    (
        "number",
        "use std::number::{exp, ln, sqrt, whole_sqrt};
        type Number = fixed<6, 12>;
        main(x: Number of alice, y: Number of bob, n: u9 of alice, m: u9 of bob)
            -> (root: Number to both, power: Number to alice,
                log: Number to bob, whole: u5 to both) {
            (sqrt(x + y), exp(x + y), ln(x + y), whole_sqrt(n ^ m))
        }",
    ),
    (
        "order",
        "use std::order::{assume_sorted, assume_sorted_by, compact, median, median_of, merge_by,
            prefix_sums, quantiles, quantiles_of, sort, sort_by, top_k};
        main(a: [u4; 7] of alice, b: [u4; 6] of bob, there: [bool; 6] of alice)
            -> (sorted: [u4; 13] to both, merged: [u4; 13] to both, by: [u4; 7] to alice,
            ends: (u4, [u4; 3], [u4; 2]) to bob, sums: [u7; 6] to both, kept: [u4; 6] to both,
            some: (u4, [u4; 2]) to both, known: bool to both) {
            let all = [for i in 0..13 { if i < 7 { a[i] } else { b[i - 7] } }];
            let rows = [for i in 0..6 { Maybe { some: there[i], value: b[i] } }];
            let merged = merge_by(sort(a), sort(b), |v| v);
            let (x, y) = (assume_sorted(a), assume_sorted_by(b, |v| v & 3));
            let thirds = quantiles_of::<3>(rows);
            (sort(all), merged, sort_by(a, |v| v & 7), (median(all), quantiles::<4>(all),
            top_k::<2>(all)), prefix_sums(b), [for row in compact(rows) { row.value }],
            (median_of(rows).value, [for third in thirds { third.value }]), x[0] < y[0])
        }",
    ),
    (
        "prelude",
        "main(a: u8 of alice, b: u8 of bob, by: u32 of bob, c: i6 of alice, d: i6 of bob)
            -> (wrapped: [u8; 3] to both, swapped: (u8, u8) to alice, turned: (u8, u8) to bob,
            ends: (u8, u8, u8, i6) to both, wide: (u16, u17) to both, places: [bool; 5] to both,
            counts: (u8, u4, u4) to both) {
            let pair = [a, b];
            ([add_wrap(a, b), sub_wrap(a, b), mul_wrap(a, b)], swap_if(a < b, a, b),
            (rotate_left(a, by), rotate_right(a ^ b, by)),
            (min(a, b), max(a, b), add_sat(a, b), abs(c - d)),
            (wide_mul(a, b), wide_dot(pair, [b, a])), one_hot::<5>(a ^ b),
            (get_or(pair, a ^ b, zero::<u8>()), leading_ones(a ^ b), count_ones(a ^ b)))
        }",
    ),
    (
        "psi",
        "use std::psi::{count, count_and_sum, intersect, strictly_sorted};
        main(a: [u3; 4] of alice sorted, b: [u3; 5] of bob sorted, amounts: [u8; 5] of bob)
            -> (found: (u3, u11) to both, common: u3 to alice, values: [u8; 8] to bob,
            sound: bool to both) {
            (count_and_sum(a, b, amounts), count(a, b),
            [for row in intersect(a, b, amounts) { row.value }],
            strictly_sorted([a[0], b[0], a[1]]))
        }",
    ),
    (
        "random",
        "use std::random::random;
        main(a: u8 of alice) -> (masked: u8 to bob) { random::<u8>() & a }",
    ),
    (
        "score",
        "use std::score::{dot, linear, logistic, narrowed, sigmoid, whole};
        type Number = fixed<5, 6>;
        main(w: [Number; 3] of alice, bias: Number of alice, x: [Number; 3] of bob)
            -> (sums: [Number; 2] to both, likely: [Number; 2] to bob, cut: Number to alice) {
            let wide = whole(w[0]) as i24 + whole(x[0]) as i24 << 6;
            ([dot(w, x), linear(w, bias, x)], [logistic(w, bias, x), sigmoid(w[0] + x[0])],
            narrowed::<5, 6, 24>(wide))
        }",
    ),
    (
        "table",
        "use std::table::{count_true, group_sums, histogram, join, join_many, repeats_at_most, rows,
            with_zeros};
        main(ids: [u3; 4] of alice sorted, left: [u4; 4] of alice, keys: [u3; 5] of bob sorted,
            right: [u6; 5] of bob, some: [u4; ..4] of bob)
            -> (one: [(bool, u4, u6); 9] to both, many: [[(bool, u4, u6); 2]; 9] to both,
            sums: [u9; 3] to alice, counts: [u3; 3] to bob, sound: bool to both,
            there: [(bool, u4); 4] to alice, filled: [u4; 4] to alice, above: u3 to both) {
            let groups = [for i in 0..5 { keys[i] as u2 ^ left[0] as u2 }];
            ([for r in join(ids, left, keys, right) { (r.some, r.value.0, r.value.1) }],
            [for row in join_many::<2>(ids, left, keys, right) {
                [for r in row { (r.some, r.value.0, r.value.1) }] }],
            group_sums::<3>(groups, right),
            histogram::<3>([for i in 0..4 { left[i] ^ right[i] as u4 }]),
            repeats_at_most::<2>(keys), [for row in rows(some) { (row.some, row.value) }],
            with_zeros(some), count_true([for i in 0..4 { left[i] > right[i] as u4 }]))
        }",
    ),
    (
        "tree",
        "use std::tree::{Node, leaf};
        main(nodes: [Node<2, i8>; 3] of alice, leaves: [u5; 4] of alice, row: [i8; 3] of bob)
            -> (leaf: u5 to bob) { leaf::<2>(nodes, leaves, row) }",
    ),
];

/// The random inputs of each run.
const RUNS: u64 = 3;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Returns the names of the programs in a folder, and their texts.
fn programs_in(folder: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(repository(folder)).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let programs = paths.filter(|path| path.extension().is_some_and(|ending| ending == "tacit"));
    let named = programs.map(|path| {
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, fs::read_to_string(path).expect("a program"))
    });
    named.collect()
}

fn program(name: &str, text: &str, params: &[(&str, u64)]) -> Program {
    let loaded = Loaded::new(name, text, &NoFiles);
    let params: ParamValues = params
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).into()))
        .collect();
    let mut program = loaded.program(&params).unwrap_or_else(|errors| {
        panic!(
            "{name}: {}",
            render_all(&errors, loaded.source_map(), false)
        )
    });
    program.form = CircuitForm::Shallow;
    program
}

/// Returns a run of a program and its random inputs as a function.
fn lowered(program: &Program, entry: &str) -> (EntryId, Function, usize) {
    let mut entries = program.entries.iter();
    let number = entries.position(|one| one.name.as_str() == entry);
    let id = EntryId(number.expect("the run") as u32);
    let lowered = program.lower(entry, id, &NoCircuitFiles);
    let lowered = lowered.unwrap_or_else(|error| panic!("{entry}: {}", error.message));
    (id, lowered.function, lowered.random.len())
}

/// A function, the values of its inputs, and the interpreter's results.
struct Case {
    name: String,
    function: Function,
    inputs: BTreeMap<String, Value>,
    expected: BTreeMap<String, Vec<bool>>,
}

impl Case {
    /// Draws inputs of a program's run, and interprets it.
    fn new(name: &str, program: &Program, entry: &str, chance: &mut Chance) -> Self {
        let (id, function, drawn) = lowered(program, entry);
        let (run, types) = (&program.entries[id.0 as usize], &program.types);
        let (mut inputs, mut given, mut random) = (BTreeMap::new(), Vec::new(), Vec::new());
        for (number, input) in function.inputs().iter().enumerate() {
            let mut bits = chance.bits(input.port.ty.width());
            if let Some(port) = run.inputs.get(number) {
                let value = types.value_of_bits(port.ty, &bits);
                bits = types.bits_of_value(port.ty, &value);
                given.push(value);
            } else {
                // The run's random bits are the XOR of what the parties draw.
                random.resize(bits.len(), false);
                random
                    .iter_mut()
                    .zip(&bits)
                    .for_each(|(sum, bit)| *sum ^= bit);
            }
            let value = Value::from_bits(&input.port.ty, &bits).expect("bits of the port");
            inputs.insert(input.port.name.clone(), value);
        }
        assert_eq!(inputs.len(), run.inputs.len() + drawn, "{name}");
        let outcome = program.evaluate(id, given, Vec::new(), random);
        let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {}", error.message));
        let results = run.outputs.iter().zip(run.results(&outcome.results));
        let results = results
            .map(|(port, value)| (port.name.to_string(), types.bits_of_value(port.ty, value)));
        Self {
            name: name.to_owned(),
            expected: results.collect(),
            function,
            inputs,
        }
    }

    /// Runs at one party, whose results are those of the interpreter.
    fn run(&self, party: usize, session: &mut Session) -> Result<(), Error> {
        let (function, role) = (&self.function, ROLES[party]);
        let own = function.inputs().iter().filter(|input| input.owner == role);
        let job = Job::new(function, role).by(Protocol::Gmw, None)?;
        let job = own.fold(job, |job, input| {
            job.input(&input.port.name, self.inputs[&input.port.name].clone())
        });
        let outputs = job.run(session)?.outputs;
        let outputs = outputs
            .iter()
            .map(|(name, value)| (name, value.to_bits().to_vec()));
        let mine = function
            .outputs()
            .iter()
            .filter(|output| output.recipient.includes(role));
        let mine = mine.map(|output| {
            let name = &output.port.name;
            (name, self.expected[name].clone())
        });
        assert_eq!(
            outputs.collect::<BTreeMap<_, _>>(),
            mine.collect::<BTreeMap<_, _>>(),
            "{}",
            self.name
        );
        Ok(())
    }
}

/// Runs all cases in one session in memory, at both parties.
fn run_all(cases: &[Case]) {
    let both = in_memory(|party, session| {
        session.set_ot_extension(OtExtension::default())?;
        cases.iter().try_for_each(|case| case.run(party, session))
    });
    for done in both {
        done.expect("all runs");
    }
}

#[test]
fn examples_give_what_the_interpreter_gives() {
    let (texts, mut chance) = (programs_in("examples"), Chance(48));
    let named = EXAMPLES
        .iter()
        .chain(KEPT)
        .map(|(name, ..)| *name)
        .chain(JOINS);
    let named: BTreeSet<&str> = named.collect();
    assert_eq!(named, texts.keys().map(String::as_str).collect());
    let mut cases = Vec::new();
    for (name, params, entries) in EXAMPLES {
        let program = program(name, &texts[*name], params);
        for entry in *entries {
            cases.extend((0..RUNS).map(|_| Case::new(name, &program, entry, &mut chance)));
        }
    }
    run_all(&cases);
    for (name, params, entries) in KEPT {
        let program = program(name, &texts[*name], params);
        for entry in *entries {
            let (_, function, _) = lowered(&program, entry);
            assert!(function.has_saved_values(), "{name} {entry}");
            let [garbler, evaluator] = in_memory(|party, session| {
                let job = Job::new(&function, ROLES[party]).by(Protocol::Gmw, None)?;
                job.run(session).map(|_| ())
            });
            for refused in [garbler, evaluator] {
                let told = refused.expect_err("no run").to_string();
                assert!(told.contains("saved"), "{name} {entry}: {told}");
            }
        }
    }
}

#[test]
fn the_standard_library_gives_what_the_interpreter_gives() {
    let mut chance = Chance(49);
    let mut cases = Vec::new();
    for (module, text) in STD {
        let program = program(module, &format!("parties alice, bob;\n{text}\n"), &[]);
        cases.extend((0..RUNS).map(|_| Case::new(module, &program, "main", &mut chance)));
    }
    run_all(&cases);
}

/// A function of the standard library: its module and its name.
type Named<'t> = (&'t str, &'t str);

/// Returns the functions that a text calls, of its module or of another.
fn called<'t>(module: &str, text: &str, all: &BTreeMap<Named<'t>, &'t str>) -> Vec<Named<'t>> {
    let calls = |name: &str| {
        let ends = text.match_indices(name).map(|(at, _)| {
            let before = text[..at].chars().next_back();
            let is_whole = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
            (is_whole, &text[at + name.len()..])
        });
        ends.into_iter()
            .any(|(is_whole, rest)| is_whole && (rest.starts_with('(') || rest.starts_with("::<")))
    };
    let is_called = |(of, name): &Named<'_>| {
        let is_meant = *of == module || !all.contains_key(&(module, *name));
        is_meant && calls(name)
    };
    all.keys().copied().filter(is_called).collect()
}

/// Every function is called by a program above, or by a function that is.
#[test]
fn no_function_of_the_standard_library_is_left_out() {
    let texts = programs_in("crates/language/std");
    assert_eq!(
        texts.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        STD.iter().map(|(module, _)| *module).collect()
    );
    let mut all: BTreeMap<Named<'_>, &str> = BTreeMap::new();
    for (module, text) in &texts {
        for part in text
            .split("\nfn ")
            .flat_map(|part| part.split("\ncomponent fn "))
            .skip(1)
        {
            let end = part.find(['<', '(']).expect("a head");
            // The body begins behind the first line.
            let body = part.find('\n').map_or("", |at| &part[at..]);
            let body = body.split("\n}\n").next().expect("a part");
            all.insert((module, &part[..end]), body);
        }
    }
    assert!(all.len() > 60, "{}", all.len());
    let programs = STD
        .iter()
        .flat_map(|(module, text)| called(module, text, &all));
    let mut left: Vec<Named<'_>> = programs.collect();
    let mut reached: BTreeSet<Named<'_>> = BTreeSet::new();
    while let Some(one) = left.pop() {
        if reached.insert(one) {
            left.extend(called(one.0, all[&one], &all));
        }
    }
    let missed: Vec<_> = all.keys().filter(|one| !reached.contains(*one)).collect();
    assert!(missed.is_empty(), "no program runs {missed:?}");
}

/// Random bits for tests, by SplitMix64.
struct Chance(u64);

impl Chance {
    fn bits(&mut self, count: usize) -> Vec<bool> {
        let mut bit = || {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ z >> 31) & 1 == 1
        };
        (0..count).map(|_| bit()).collect()
    }
}
