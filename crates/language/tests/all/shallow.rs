//! Programs in the shallow form compute the same, and loops that add up become trees.

mod chains;

use std::collections::BTreeMap;

use tacit_circuit::builder::CircuitForm;
use tacit_function::Function;
use tacit_language::lower::{Lowered, NoCircuitFiles};
use tacit_language::program::{EntryId, Program};
use tacit_language::{Loaded, NoFiles, ParamValues, Signature, TypedFunction, shipped};

use crate::both::{Chance, compare, lower, program_of};
use crate::lowering::{SMALL, program};
use crate::writer;

/// Lowers a run of a program in the shallow form.
fn shallow(program: &Program, entry: &str) -> (EntryId, Lowered) {
    let mut program = program.clone();
    program.form = CircuitForm::Shallow;
    lower(&program, entry)
}

/// Compares a program in the shallow form with the interpreter on random inputs.
fn agrees(text: &str, chance: &mut Chance) -> Function {
    let program = program_of(text);
    let (id, lowered) = shallow(&program, "main");
    for _ in 0..8 {
        compare(&program, id, &lowered, chance);
    }
    lowered.function
}

/// Returns the number of AND gates in a row. Each call waits for its inputs.
fn layers(function: &Function) -> u32 {
    let schedule = function.schedule();
    schedule
        .expect("a schedule of a function without saved values")
        .step_count()
}

#[test]
fn the_examples_compute_what_they_do_in_the_small_form() {
    let mut chance = Chance(11);
    for (name, params, entries) in SMALL {
        let program = program(name, params);
        for entry in *entries {
            let (id, lowered) = shallow(&program, entry);
            for _ in 0..20 {
                compare(&program, id, &lowered, &mut chance);
            }
        }
    }
}

#[test]
fn shipped_functions_compute_what_they_do_in_the_small_form() {
    let mut chance = Chance(13);
    for name in shipped::names() {
        let shipped = shipped::find(name).expect("a function that comes with Tacit");
        let (_, params) = shipped.description();
        let least: BTreeMap<_, _> = params.into_iter().map(|p| (p.name, p.minimum)).collect();
        let function = |form| {
            let typed = shipped.function_in_form(&least, form);
            typed.unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let both = [CircuitForm::Small, CircuitForm::Shallow].map(function);
        let [small, shallow] = both.each_ref().map(TypedFunction::function);
        for _ in 0..8 {
            let bits = small
                .inputs()
                .iter()
                .map(|input| &input.port)
                .chain(small.loads());
            let bits = chance.bits(bits.map(|port| port.ty.width()).sum());
            assert_eq!(small.evaluate(&bits), shallow.evaluate(&bits), "{name}");
        }
    }
}

#[test]
fn random_programs_compute_what_the_interpreter_says() {
    for seed in 0..150_u64 {
        let text = writer::program(&mut Chance(seed.wrapping_mul(0x51_7cc1)));
        let agreed = std::panic::catch_unwind(|| agrees(&text, &mut Chance(seed)));
        assert!(agreed.is_ok(), "seed {seed}:\n{text}");
    }
}

/// Statements in a loop over `i` that add up. The next list has other statements.
const ADDITIONS: &[&str] = &[
    "total += a[i] as u16;",
    "total -= b[i] as u16;",
    "total += 3;",
    "signed += c[i] as i16;",
    "signed -= c[i] as i16;",
    "sums[b[i] & 3] += a[i] as u16;",
    "sums[b[i] & 7] -= 1;",
    "sums[i & 3] += b[i] as u16;",
    "pairs[a[i] & 1].0 += a[i];",
    "pairs[i & 1].1 |= b[i];",
    "least = min(least, c[i]);",
    "most[a[i] & 1] = max(most[a[i] & 1], a[i]);",
    "parity ^= a[i] & b[i];",
    "every = every && a[i] < b[i] + 200;",
    "some = some || a[i] == b[i];",
    "some |= c[i] == 7;",
    "mask &= a[i] | 0x3c;",
];
const CHAINS: &[&str] = &[
    "total += total & 1;",
    "total = total + a[i] as u16;",
    "if total > 900 { signed += 1; }",
    "sums[sums[0] as u2] += 1;",
    "total *= 3;",
    "some = !some;",
    "some = some == every;",
    "least = c[i];",
    "parity = a[i] ^ parity;",
];

fn random_loop(chance: &mut Chance, depth: usize) -> String {
    let mut text = String::new();
    for _ in 0..1 + chance.below(3) {
        let statement = match chance.below(8) {
            0 if chance.below(3) == 0 => CHAINS[chance.below(CHAINS.len())].to_owned(),
            1 | 2 if depth < 3 => {
                let (then, otherwise) = (
                    random_loop(chance, depth + 1),
                    random_loop(chance, depth + 1),
                );
                let condition = ["a[i] < b[i]", "c[i] > 0 && a[i] & 2 == 0", "i & 1 == 0"];
                let condition = condition[chance.below(3)];
                match chance.below(2) {
                    0 => format!("if {condition} {{ {then} }}"),
                    _ => format!("if {condition} {{ {then} }} else {{ {otherwise} }}"),
                }
            }
            3 if depth < 2 => format!(
                "let mut inner: u8 = a[i];\nfor j in 0..3 {{ inner += b[j]; {} }}\n\
                 total += inner as u16;",
                random_loop(chance, depth + 1)
            ),
            _ => ADDITIONS[chance.below(ADDITIONS.len())].to_owned(),
        };
        text.push_str(&statement);
        text.push('\n');
    }
    text
}

/// Returns a program that adds up over `n` elements, in a component or in the run itself.
fn loops(n: usize, before: &str, body: &str, is_component: bool) -> String {
    let component = if is_component { "component " } else { "" };
    format!(
        "parties alice, bob;\n\
         {component}fn totals(a: [u8; {n}], b: [u8; {n}], c: [i8; {n}])\n\
         -> (u16, i16, [u16; 4], [(u8, u8); 2], i8, [u8; 2], u8, bool, bool, u8) {{\n\
         let mut total: u16 = 5;\nlet mut signed: i16 = -3;\nlet mut sums: [u16; 4] = [7; 4];\n\
         let mut pairs: [(u8, u8); 2] = [(1, 2); 2];\nlet mut least: i8 = c[0];\n\
         let mut most: [u8; 2] = [9; 2];\nlet mut parity: u8 = 0;\nlet mut every = true;\n\
         let mut some = false;\nlet mut mask: u8 = 0xff;\n{before}\n\
         for i in 0..{n} {{\n{body}}}\n\
         (total, signed, sums, pairs, least, most, parity, every, some, mask)\n}}\n\
         main(a: [u8; {n}] of alice, b: [u8; {n}] of bob, c: [i8; {n}] of bob)\n\
         -> (total: u16 to both, signed: i16 to both, sums: [u16; 4] to both, \
         pairs: [(u8, u8); 2] to both, least: i8 to both, most: [u8; 2] to both, \
         parity: u8 to both, every: bool to both, some: bool to both, mask: u8 to both) {{\n\
         // All that is added up depends on both parties.\n\
         totals([for i in 0..{n} {{ a[i] ^ b[i] }}], [for i in 0..{n} {{ a[i] + b[i] }}], \
         [for i in 0..{n} {{ c[i] ^ a[i] as i8 }}])\n}}\n"
    )
}

#[test]
fn random_loops_compute_what_the_interpreter_says() {
    for seed in 0..200_u64 {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9) + 1);
        let body = random_loop(&mut chance, 0);
        let n = [3, 5, 9, 70, 131][chance.below(5)];
        let text = loops(n, "", &body, chance.bit());
        let agreed = std::panic::catch_unwind(|| agrees(&text, &mut Chance(seed)));
        assert!(agreed.is_ok(), "seed {seed}:\n{text}");
    }
}

#[test]
fn every_addition_alone_and_with_another_is_a_tree() {
    let mut chance = Chance(17);
    for (number, statement) in ADDITIONS.iter().enumerate() {
        let other = ADDITIONS[(number + 5) % ADDITIONS.len()];
        let both = format!("{statement}\nif a[i] > 9 {{ {other} }}\n");
        for body in [*statement, &both] {
            let few = layers(&agrees(&loops(130, "", body, false), &mut chance));
            let some = layers(&agrees(&loops(65, "", body, false), &mut chance));
            // Twice as many elements take two more compressions, or two more comparisons.
            assert!(few <= some + 2 * 5, "{some}, {few} layers: {body}");
            assert!(few < 50, "{few} layers: {body}");
        }
    }
}

/// This test fails if a sum becomes a tree although the loop reads the variable.
#[test]
fn a_loop_that_reads_what_it_adds_up_keeps_its_chain() {
    let mut chance = Chance(23);
    for body in [
        "total += a[i] as u16 & total;",
        "total += a[i] as u16;\nsigned += (total & 1) as i16;",
        "total += a[i] as u16;\nif total > 300 { signed += 1; }",
        "sums[0] += a[i] as u16;\nsums[sums[1] as u2] += 1;",
        "total += a[i] as u16;\nif b[i] > 3 { total ^= 1; }",
        "least = min(least, c[i]);\nleast = max(least, -9);",
        "total += a[i] as u16;\nfor j in 0..2 { signed += total as i16; }",
        "sums[2] += a[i] as u16;\nlet seen = sums;\nparity ^= seen[0] as u8;",
    ] {
        let function = agrees(&loops(40, "", body, false), &mut chance);
        // The sum bits of a chain of adders are XORs, so that its carries overlap. A chain of any
        // length has at most about two layers a bit. A tree has 12.
        let found = layers(&function);
        assert!(found > 20, "{found} layers: {body}");
    }
}

/// Returns a `main` that sums up `n` numbers of 32 bits, half of them from each party.
fn sum_of(n: usize) -> Function {
    let (width, half) = (32 + n.ilog2(), n / 2);
    let text = format!(
        "parties alice, bob;\n\
         main(a: [u32; {half}] of alice, b: [u32; {half}] of bob) -> (sum: u{width} to both) {{\n\
         let mut sum: u{width} = 0;\nfor i in 0..{n} / 64 {{\n\
         for j in 0..32 {{ sum += a[32 * i + j] as u{width}; }}\n\
         for j in 0..32 {{ sum += b[32 * i + j] as u{width}; }}\n}}\nsum\n}}\n"
    );
    let program = program_of(&text);
    shallow(&program, "main").1.function
}

/// 2^20 numbers of 32 bits take 30 layers: 6 for each of three levels of 64 addends, 5 for the
/// remaining 32 numbers, and 7 for the sum of the last two. The cases here have fewer of the same
/// levels.
#[test]
fn sums_take_few_layers_and_an_and_gate_a_bit() {
    for (n, most) in [
        (64, 6 + 7),
        (1 << 12, 6 + 6 + 2 + 7),
        (1 << 14, 6 + 6 + 4 + 7),
    ] {
        let function = sum_of(n);
        assert!(
            layers(&function) <= most,
            "{n}: {} layers",
            layers(&function)
        );
        let each = function.and_gates() as f64 / (32 * n) as f64;
        let most = if n == 64 { 1.2 } else { 1.06_f64 };
        assert!((0.9..most).contains(&each), "{n}: {each} AND gates a bit");
    }
}

#[test]
#[ignore = "minutes, and gigabytes of memory"]
fn a_million_numbers_are_added_up_in_thirty_layers() {
    let function = sum_of(1 << 20);
    let each = function.and_gates() as f64 / (32 << 20) as f64;
    println!("{} layers, {each} AND gates a bit", layers(&function));
    assert!(layers(&function) <= 30);
    assert!((0.95..1.05).contains(&each));
}

#[test]
fn forms_have_digests_of_their_own_and_one_meaning() {
    let text = loops(9, "", "total += a[i] as u16;", true);
    let loaded = Loaded::new("snippet.tacit", &text, &NoFiles);
    let typed = |form| {
        let signature = Signature::new(&loaded, &ParamValues::new(), None).expect("a run");
        let signature = signature.in_form(form);
        let public = BTreeMap::new();
        TypedFunction::new(signature, "main", &public, &NoCircuitFiles).expect("a function")
    };
    let (small, shallow) = (typed(CircuitForm::Small), typed(CircuitForm::Shallow));
    assert_eq!(small.meaning(), shallow.meaning());
    assert_ne!(small.function().digest(), shallow.function().digest());
    assert_eq!(
        lower(&program_of(&text), "main").1.function.and_gates(),
        small.function().and_gates()
    );
}

/// Prints the table of both forms at the default params, for a documentation page: AND gates, and
/// layers if a run has no states, which the schedule refuses.
#[test]
#[ignore = "a table, in a minute or two"]
fn the_examples_in_both_forms() {
    for (name, _, entries) in SMALL {
        let program = program(name, &[]);
        for entry in *entries {
            let both = [lower(&program, entry), shallow(&program, entry)];
            let cells = both.map(|(_, lowered)| {
                let layers = lowered
                    .function
                    .schedule()
                    .map(|schedule| schedule.step_count());
                let layers = layers.map_or("-".to_owned(), |layers| layers.to_string());
                format!("{:>9} {layers:>6}", lowered.function.and_gates())
            });
            println!("{name:30} {entry:8} {}  {}", cells[0], cells[1]);
        }
    }
}

/// Returns the number of calls of the largest group.
fn widest(function: &Function) -> usize {
    let schedule = function.schedule().expect("nothing is saved");
    let groups = (0..schedule.group_count()).map(|number| schedule.group(number).instances());
    groups.max().unwrap_or(0)
}

#[test]
fn the_turns_of_a_loop_are_calls_of_one_component() {
    let mut chance = Chance(29);
    let pairs = agrees(
        "parties alice, bob;
        main(a: [u16; 12] of alice, b: [u16; 15] of bob) -> (count: u16 to both) {
            let mut n: u16 = 0;
            for x in a { for y in b { if x == y { n += 1; } } }
            n
        }",
        &mut chance,
    );
    assert_eq!(widest(&pairs), 12 * 15);
    // An inverter of an input is in each part that reads it, and is also a result.
    let inverted = agrees(
        "parties alice, bob;
        main(a: [u8; 20] of alice, b: [u8; 20] of bob)
            -> (less: [bool; 400] to both, inverted: [u8; 20] to bob)
        {
            let less = [for i in 0..400 { a[i / 20] < b[i % 20] }];
            (less, [for x in a { x ^ 255 }])
        }",
        &mut chance,
    );
    assert_eq!(widest(&inverted), 400);
}

#[test]
fn few_or_small_parts_are_one_component() {
    let mut chance = Chance(31);
    for count in [15, 16] {
        let function = agrees(
            &format!(
                "parties alice, bob;
                main(a: [u8; {count}] of alice, b: u8 of bob) -> (same: [bool; {count}] to bob) {{
                    [for x in a {{ x == b }}]
                }}"
            ),
            &mut chance,
        );
        assert_eq!(widest(&function), if count < 16 { 1 } else { count });
    }
    let bits = agrees(
        "parties alice, bob;
        main(a: [u8; 40] of alice, b: [u8; 40] of bob) -> (both: [u8; 40] to bob) {
            [for i in 0..40 { a[i] & b[i] }]
        }",
        &mut chance,
    );
    assert_eq!(widest(&bits), 1);
}

/// A component that only adds becomes a tree in a loop. Any other component stays a chain.
#[test]
fn calls_that_only_add_are_trees() {
    let mut chance = Chance(17);
    let of = |component: &str, call: &str| {
        format!(
            "parties a, b;\nstruct Pair {{ n: u8, sums: [u16; 2] }}\n{component}\n\
             main(x: [u8; 64] of a, y: [bool; 64] of b) -> (n: u8 to both, t: u16 to both) {{\n\
             let mut n: u8 = 3; let mut t: u16 = 7;\n\
             let mut pair = Pair {{ n: 1, sums: [2; 2] }};\n\
             for i in 0..64 {{ let v = x[i] ^ y[i] as u8; {call} }}\n\
             (n + pair.n, t + pair.sums[0] + pair.sums[1]) }}\n"
        )
    };
    let tuple = "component fn add(n: u8, t: u16, y: bool, x: u8) -> (u8, u16) \
                 { (n + y as u8, t + if y { x as u16 } else { 0 }) }";
    let local = "component fn add(pair: Pair, y: bool, x: u8) -> Pair { let mut pair = pair; \
                 if y { pair.n += 1; } pair.sums[0] += x as u16; \
                 for k in 0..2 { pair.sums[k] -= x as u16; } pair }";
    let one = "component fn add(n: u8, x: u8) -> u8 { n + (x & 15) }";
    for (component, call) in [
        (tuple, "(n, t) = add(n, t, y[i], v);"),
        (tuple, "if y[i] { (n, t) = add(n, t, v > 4, v); }"),
        (local, "pair = add(pair, y[i], v);"),
        (one, "n = add(n, v);"),
        (one, "n = add(n, v); t += v as u16;"),
    ] {
        let text = of(component, call);
        let function = agrees(&text, &mut chance);
        assert!(layers(&function) < 40, "{}:\n{text}", layers(&function));
    }
    let reads = "component fn add(n: u8, t: u16, y: bool, x: u8) -> (u8, u16) \
                 { (n + y as u8, t + if n == 9 { x as u16 } else { 0 }) }";
    let other = "component fn add(n: u8, t: u16, y: bool, x: u8) -> (u8, u16) \
                 { (n + y as u8, (t ^ 1) + if y { x as u16 } else { 0 }) }";
    let twice = "component fn add(n: u8, m: u8) -> u8 { n + (m & 15) }";
    for (component, call) in [
        (reads, "(n, t) = add(n, t, y[i], v);"),
        (other, "(n, t) = add(n, t, y[i], v);"),
        // The sum is added to another value, or the target of the addition is also read.
        (twice, "n = add(v ^ n, v);"),
        (tuple, "let old = n; (n, t) = add(n, t, old == v, v);"),
    ] {
        let text = of(component, call);
        let function = agrees(&text, &mut chance);
        assert!(layers(&function) >= 64, "{}:\n{text}", layers(&function));
    }
    // Other values that the call reads do not change.
    for (component, call) in [
        (twice, "n = add(n, n ^ v);"),
        (
            tuple,
            "let r = add(n, t, y[i], v); n = r.0; t = r.1; pair.n ^= r.0;",
        ),
        (
            tuple,
            "let r = add(n, t, y[i], v); n = r.0; t = r.1; if r.0 == v { t += r.1; }",
        ),
        (
            tuple,
            "let r = add(n, t, y[i], v); n = r.0; pair.sums[1] += r.1;",
        ),
        (
            tuple,
            "(n, pair.sums[i & 1]) = add(n, pair.sums[i & 1], y[i], v);",
        ),
        (
            tuple,
            "(pair.n, pair.sums[0]) = add(pair.n, pair.sums[0], y[i], v);",
        ),
    ] {
        agrees(&of(component, call), &mut chance);
    }
}

/// 10,000 keys take 152 layers. Example 03, with 1,024 keys and the check of their order, takes
/// 118.
#[test]
fn sums_of_common_keys_and_of_groups_have_few_layers() {
    let of_keys = program_of(
        "use std::psi::count_and_sum;\nparties a, b;\n\
         main(x: [u32; 1000] of a sorted, y: [u32; 1000] of b sorted, v: [u32; 1000] of b)\n\
         -> (count: u<bits(1000)> to both, total: u<32 + bits(1000)> to both) {\n\
         count_and_sum(x, y, v) }\n",
    );
    for (program, most) in [
        (of_keys, 116),
        (program("02_salary_gap.tacit", &[]), 173),
        (program("03_psi_sum.tacit", &[]), 118),
    ] {
        let layers = layers(&shallow(&program, "main").1.function);
        assert!(layers <= most, "{layers} layers, not {most}");
    }
}

/// The small form is not affected.
#[test]
fn the_small_form_calls_what_adds() {
    let text = "parties a, b;\ncomponent fn add(n: u8, y: bool) -> u8 { n + y as u8 }\n\
                main(y: [bool; 8] of a) -> (n: u8 to both) { let mut n: u8 = 0; \
                for i in 0..8 { n = add(n, y[i]); } n }\n";
    let (_, lowered) = lower(&program_of(text), "main");
    let components = lowered.function.components().iter();
    let names: Vec<&str> = components.map(|component| component.name()).collect();
    assert_eq!(names, ["add"]);
    assert_eq!(lowered.function.call_count(), 8);
}
