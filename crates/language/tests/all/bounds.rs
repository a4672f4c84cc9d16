//! The bounds on programs, with a case for each row of the reference's table. Nothing hangs, and
//! the error states the bound.

use tacit_language::lower::NoCircuitFiles;
use tacit_language::program::EntryId;
use tacit_language::{Diagnostic, Loaded, NoFiles, ParamValues};

use crate::both::program_of;

fn errors(text: &str) -> Vec<Diagnostic> {
    Loaded::new("snippet.tacit", text, &NoFiles).check(&ParamValues::new(), &NoCircuitFiles)
}

/// Returns a `main` with this body.
fn main(items: &str, body: &str) -> String {
    format!(
        "parties alice, bob;\n{items}\n\
         main(a: u8 of alice, b: u8 of bob) -> (result: u8 to both) {{\n{body}\n}}\n"
    )
}

/// Checks that one of a program's errors contains `word`.
#[track_caller]
fn refused(text: &str, word: &str) {
    let errors = errors(text);
    let is_told = errors.iter().any(|error| error.message.contains(word));
    assert!(is_told, "{word} is not in {errors:?}");
}

#[test]
fn a_file_has_at_most_4_mib() {
    let program = main("", "a + b");
    let filled = |bytes: usize| program.clone() + &" ".repeat(bytes - program.len());
    assert!(errors(&filled(4 << 20)).is_empty());
    refused(&filled((4 << 20) + 1), "more than 4 MiB");
}

#[test]
fn expressions_are_nested_at_most_128_deep() {
    let nested = |depth: usize| "(".repeat(depth) + "a" + &")".repeat(depth);
    assert!(errors(&main("", &nested(100))).is_empty());
    refused(&main("", &nested(129)), "more than 128 levels");
    refused(&main("", &nested(1 << 20)), "more than 128 levels");
}

#[test]
fn at_most_256_operators_stand_in_a_row() {
    let sum = |count: usize| main("", &("a".to_owned() + &" ^ b".repeat(count)));
    assert!(errors(&sum(256)).is_empty());
    refused(
        &sum(257),
        "more than 256 operators, fields or calls in a row",
    );
    let fields = |count: usize| main("", &("a".to_owned() + &".min(b)".repeat(count)));
    assert!(errors(&fields(100)).is_empty());
    refused(
        &fields(257),
        "more than 256 operators, fields or calls in a row",
    );
}

#[test]
fn a_number_has_at_most_2048_digits_and_a_const_2_to_the_14_bits() {
    let number = |digits: usize| main(&format!("const K = {};", "9".repeat(digits)), "a ^ b");
    assert!(errors(&number(2048)).is_empty());
    refused(&number(2049), "more than 2048 digits");
    let shifted = |by: usize| main(&format!("const K = 1 << {by};"), "a ^ b");
    assert!(errors(&shifted((1 << 14) - 1)).is_empty());
    refused(&shifted(1 << 14), "beyond 2^16384");
}

/// `main` and its 63 calls make 64.
#[test]
fn at_most_64_functions_call_each_other_in_a_row() {
    let item = "fn sum<const N>(x: u8) -> u8 { if N == 1 { x } else { x ^ sum::<N - 1>(x) } }";
    assert!(errors(&main(item, "sum::<63>(a ^ b)")).is_empty());
    refused(&main(item, "sum::<64>(a ^ b)"), "more than 64 functions");
}

#[test]
fn a_party_has_a_name_of_at_most_48_bytes() {
    let named = |bytes: usize| main("", "a ^ b").replace("bob", &"b".repeat(bytes));
    assert!(errors(&named(48)).is_empty());
    refused(&named(49), "at most 48 bytes");
}

#[test]
fn a_run_has_at_most_2_to_the_26_steps() {
    let text = main("", "let mut x = a; for i in 0..100_000_000 { x = b; } x");
    let program = program_of(&text);
    let lowered = program.lower("main", EntryId(0), &NoCircuitFiles);
    let Err(error) = lowered else {
        panic!("too many steps");
    };
    assert!(error.message.contains("steps"), "{error:?}");
}

#[test]
fn generics_have_at_most_2_to_the_14_instances() {
    let item = "fn more<const K>(x: u8) -> u8 { x ^ (K & 255) as u8 }";
    let body = |count: u32| {
        format!("let mut x = a ^ b; for const k in 0..{count} {{ x = more::<k>(x); }} x")
    };
    assert!(errors(&main(item, &body(1000))).is_empty());
    refused(
        &main(item, &body((1 << 14) + 1)),
        "more than 16384 instances",
    );
}

#[test]
fn consts_and_unrolled_loops_take_at_most_10_to_the_7_steps() {
    let body = "let mut x = a ^ b; for const k in 0..20_000_000 { } x";
    refused(&main("", body), "more than 10000000 steps");
}

/// The turns are counted before the first one. The remaining steps are kept for the rest of the
/// program, so that there is one error and not one for each statement.
#[test]
fn a_loop_of_too_many_turns_is_refused_before_its_first() {
    let body = "let mut x = a ^ b; for const k in 0..1_000_000_000 { x ^= a; }\
                for const k in 0..10 { x ^= b; } x";
    let errors = errors(&main("", body));
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[test]
fn a_component_has_at_most_2_to_the_24_gates() {
    let text = main(
        "",
        "let mut x: u512 = a as u512; for i in 0..100 { x = x * x + b as u512; } x as u8",
    );
    let program = program_of(&text);
    let lowered = program.lower("main", EntryId(0), &NoCircuitFiles);
    let Err(error) = lowered else {
        panic!("too many gates");
    };
    assert!(error.message.contains("more than 2^24 gates"), "{error:?}");
}

/// Each instance of a generic component is within its own bound, but a few hundred of them would
/// fill the memory of anyone who compiles the program. A repeated call needs no further memory.
#[test]
fn components_have_at_most_2_to_the_26_gates_together() {
    let items = "component fn big<const K>(x: u512) -> u512 {
                     let mut y: u512 = x + K as u512;
                     for i in 0..20 { y = y * y + x; }
                     y
                 }";
    let body = |turns: &str| {
        main(
            items,
            &format!("let mut x: u512 = a as u512; {turns} x as u8 ^ b"),
        )
    };
    let again = "for i in 0..300 { x = big::<1>(x); }";
    let program = program_of(&body(again));
    let lowered = program.lower("main", EntryId(0), &NoCircuitFiles);
    let ands = lowered.expect("one component").function.and_gates();
    assert!(ands > 100_000_000, "{ands}");

    let program = program_of(&body("for const k in 0..6 { x = big::<k>(x); }"));
    let lowered = program.lower("main", EntryId(0), &NoCircuitFiles);
    let Err(error) = lowered else {
        panic!("too many gates together");
    };
    let text = "more than 2^26 gates together";
    assert!(error.message.contains(text), "{error:?}");
}

#[test]
fn calls_of_components_give_at_most_2_to_the_25_elements() {
    let items = "component fn wide(a: u8) -> u64 { a as u64 }
                 component fn odd(a: u63) -> u63 { a ^ 1 }
                 fn both(a: u8) -> u8 { wide(a) as u8 ^ odd(a as u63) as u8 }";
    let body = "let mut x = a ^ b; for i in 0..300_000 { x ^= both(x); } x";
    let program = program_of(&main(items, body));
    let lowered = program.lower("main", EntryId(0), &NoCircuitFiles);
    let Err(error) = lowered else {
        panic!("too many elements");
    };
    let text = "38100016 elements, 1.14 times the 33554432";
    assert!(error.message.contains(text), "{error:?}");
}

/// They would fill the memory of a machine while the run is lowered: 10 GB for 40 MB.
#[test]
fn inputs_and_states_have_at_most_2_to_the_27_bits() {
    let inputs = |count: usize| -> String {
        let input = |n: usize| format!("x{n}: [u8; 4_000_000] of alice, ");
        (0..count).map(input).collect()
    };
    let text = |count: usize| {
        format!(
            "parties alice, bob;\nmain({}b: u8 of bob) -> (c: u8 to both) {{ b }}\n",
            inputs(count)
        )
    };
    let check = |count: usize| program_of(&text(count)).check_size(EntryId(0));
    check(4).expect("2^27 bits, less some");
    let error = check(5).expect_err("too many bits");
    assert!(error.message.contains("160000008 bits"), "{error:?}");
    assert!(error.message.contains("at most 2^27"), "{error:?}");
}

#[test]
fn at_most_64_errors_are_told() {
    let body: String = (0..100)
        .map(|n| format!("let x{n} = unknown{n};\n"))
        .collect();
    assert_eq!(errors(&main("", &(body + "a"))).len(), 64);
}
