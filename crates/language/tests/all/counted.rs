//! An expression takes effect wherever it is written, and in the order in which the program is
//! written. The expected values are computed by hand, since an interpreter that shares the
//! compiler's front end cannot find what the front end drops.

use tacit_language::{Loaded, NoFiles};

use crate::both::run_tests;

/// Checks the value of `x` after each text. Before the text, `x` is 5, `c` is true and secret, `s`
/// is 1 and secret, and `v` is `[10, 20, 30]` and secret.
fn check(cases: &[(&str, u32)]) {
    for (text, expected) in cases {
        let program = format!(
            "parties alice, bob;\n\
             struct P {{ p: u32, q: u32 }}\n\
             fn second(a: u32, b: u32) -> u32 {{ b }}\n\
             main(a: u32 of alice, c: bool of bob, s: u32 of bob, v: [u32; 3] of alice) -> \
             (x: u32 to both) {{\n    let mut x = a;\n    {text}\n    x\n}}\n\
             test \"counted\" {{ assert main(5, true, 1, [10, 20, 30]) == {expected}; }}\n"
        );
        println!("{program}");
        run_tests(&Loaded::new("counted.tacit", &program, &NoFiles));
    }
}

#[test]
fn a_condition_is_computed_whatever_its_blocks_are() {
    check(&[
        ("if { x += 1; c } { }", 6),
        ("if { x += 1; c } { } else { }", 6),
        ("if { x += 1; !c } { } else if { x += 2; c } { }", 8),
        ("if { x += 1; c } { } else if { x += 2; c } { }", 6),
        ("if c { if { x += 1; c } { } }", 6),
        ("if !c { if { x += 1; c } { } }", 5),
        ("if { x += 1; c } { for i in 0..3 { } }", 6),
        ("for i in 0..3 { if { x += 1; c } { } }", 8),
        ("if { x += 1; true } { }", 6),
        ("if { x += 1; false } { } else { x += 2; }", 8),
        ("match { x += 1; s } { _ => { } }", 6),
        ("match { x += 1; s } { 0 => { }, 1 => { }, _ => { } }", 6),
        ("let y = if { x += 1; c } { 1 } else { s };", 6),
    ]);
}

#[test]
fn an_unused_value_is_computed_for_what_it_assigns() {
    check(&[
        ("let _ = v[{ x += 1; s }];", 6),
        ("let _ = [1, 2, s][{ x += 1; s }];", 6),
        ("let _ = [{ x += 1; s }, 2][{ x += 2; s }];", 8),
        ("let _ = P { p: { x += 1; 1 }, q: 2 }.q;", 6),
        ("let _ = ({ x += 1; 1 as u32 }, 2 as u32).1;", 6),
        ("let _ = { x += 1; s } + s;", 6),
        ("let _ = -({ x += 1; s } as i64);", 6),
        ("let _ = { x += 1; s } as u8;", 6),
        ("let _ = { x += 1; 7 as u32 };", 6),
        ("let _ = [{ x += 1; s }; 3];", 6),
        ("let _ = [for i in 0..3 { x += 1; s }];", 8),
        ("let _ = second({ x += 1; s }, { x *= 2; s });", 12),
        ("let _ = { x += 1; s };", 6),
        ("let (_, y) = ({ x += 1; s }, 2 as u32);", 6),
        ("let _ = c && { x += 1; c };", 6),
        ("let _ = (!c) && { x += 1; c };", 6),
        ("let _ = c || { x += 1; c };", 6),
        ("let _ = if c { { x += 1; s } } else { { x += 2; s } };", 6),
        ("let _ = min({ x += 1; s }, { x += 2; s });", 8),
    ]);
}

#[test]
fn parts_are_computed_in_the_order_in_which_they_are_written() {
    check(&[
        ("x = second({ x += 1; x }, { x *= 10; x });", 60),
        ("x = { x += 1; x } - { x *= 2; 1 };", 5),
        ("x = [{ x += 1; x }, 2, 3][{ x *= 10; 0 * s }];", 6),
        ("x = { x += 1; [x, 7, 8] }[{ x *= 10; x - 60 }];", 6),
        // Fields are computed in the order of their declaration.
        ("x = P { q: { x += 1; x }, p: { x *= 10; x } }.q;", 51),
        ("x = P { q: { x += 1; x }, p: { x *= 10; x } }.p;", 50),
    ]);
}
