//! Networks of calls, which stay loops, compute what their programs say.

use tacit_circuit::builder::CircuitForm;
use tacit_language::lower::NoCircuitFiles;
use tacit_language::program::EntryId;

use crate::both::{Chance, compare, lower, program_of};

/// Compares a program with the interpreter in the shallow form. Returns the bits of the variables
/// in its function.
fn agrees(text: &str) -> Vec<String> {
    let mut program = program_of(text);
    program.form = CircuitForm::Shallow;
    let (id, lowered) = lower(&program, "main");
    let mut chance = Chance(5);
    for _ in 0..3 {
        compare(&program, id, &lowered, &mut chance);
    }
    let schedule = lowered.function.schedule();
    assert!(schedule.is_ok());
    let lines = lowered.function.canonical_text().lines();
    let variables = lines.filter_map(|line| line.strip_prefix("variable "));
    variables
        .map(|line| line[line.find(' ').unwrap() + 1..].to_owned())
        .collect()
}

#[test]
fn a_sort_stays_loops_of_one_variable() {
    for n in [512, 700] {
        let text = format!(
            "parties alice, bob;\nuse std::order::sort;\n\
             main(a: [u8; {n}] of alice, b: [u8; {n}] of bob) -> (c: [u8; {n}] to both) \
             {{ sort([for i in 0..{n} {{ if i % 2 == 0 {{ a[i] }} else {{ b[i] }} }}]) }}"
        );
        assert_eq!(agrees(&text), [format!("bits[{}]", 8 * n)]);
    }
}

#[test]
fn a_merge_of_rows_stays_loops() {
    let text = "parties alice, bob;
        use std::order::merge_by;
        struct Row { key: u8, other: bool, value: [u4; 2] }
        main(a: [u8; 1100] of alice sorted, b: [u8; 1010] of bob sorted, v: [u4; 1010] of bob)
            -> (keys: [u8; 2110] to both, values: [u4; 2110] to bob) {
            let left = [for k in a { Row { key: k, other: false, value: [3, 1] } }];
            let right = [for i in 0..1010 { Row { key: b[i], other: true, value: [v[i], v[i]] } }];
            let rows = merge_by(left, right, |r| (r.key, r.other));
            ([for r in rows { r.key }], [for r in rows { r.value[1] }])
        }";
    assert_eq!(agrees(text), ["bits[35870]"]);
}

/// Indices that depend on two counters, slices, moves, values between calls, constants, nested
/// conditions, states of a turn, and code before, between and after.
#[test]
fn loops_of_all_kinds_compute_what_they_say() {
    let text = "parties alice, bob;
        component fn mix(a: [u4; 2], b: u4, c: u4) -> ([u4; 2], u4) {
            ([a[1] + b, a[0] ^ c], a[0] + c)
        }
        component fn turn(a: u4) -> u4 { a * 3 + 1 }
        main(a: [u4; 90] of alice, b: [u4; 90] of bob, s: bool of bob)
            -> (x: [u4; 90] to both, y: [u4; 90] to both) {
            let mut x = a;
            let mut y = [for v in b { v ^ 5 }];
            for i in 0..88 {
                for j in i / 2..88 {
                    if (i + j) % 3 == 1 {
                        (x[j..j + 2], y[i]) = mix(x[i..i + 2], y[j], 9);
                    } else {
                        let turned = turn(x[i + 1]);
                        y[j + 1] = turned;
                        if i > j { y[i] = x[j]; } else { x[j] = turn(turned); }
                    }
                }
            }
            let mut z = y;
            for i in 0..90 { z[i] += x[i]; }
            if s {
                for i in 0..88 { for j in 0..88 { for k in 0..3 {
                    (x[j], z[(i + k) % 90]) = (z[i], turn(x[j]));
                    z[j] = turn(z[j]);
                } } }
            }
            for i in 0..90 { x[i] ^= z[89 - i]; }
            (x, z)
        }";
    assert!(!agrees(text).is_empty());
}

#[test]
fn a_small_network_is_unrolled() {
    let text = "parties alice, bob;\nuse std::order::sort;\n\
        main(a: [u8; 100] of alice, b: u8 of bob) -> (c: u8 to both) { sort(a)[50] ^ b }";
    assert!(agrees(text).is_empty());
}

/// A sort of 2^17 numbers has nine million calls. The form for garbling keeps only such networks.
#[test]
fn a_sort_of_2_to_the_17_numbers_is_small() {
    for (n, is_kept) in [(512, false), (1 << 17, true)] {
        let text = format!(
            "parties alice, bob;\nuse std::order::sort;\n\
             main(a: [u32; {n}] of alice, b: u32 of bob) -> (least: u32 to both) \
             {{ sort(a)[0] ^ b }}"
        );
        let program = program_of(&text);
        let lowered = program.lower("main", EntryId(0), &NoCircuitFiles).unwrap();
        let text = lowered.function.canonical_text();
        assert_eq!(text.contains("variable"), is_kept);
        if is_kept {
            assert_eq!(lowered.function.call_count(), 9_043_967 + 1);
            assert!(text.len() < 1 << 17, "{}", text.len());
            assert!(lowered.function.live_bits() < 1 << 24);
        }
    }
}
