//! What is too much, too large or too deep.

use super::built;
use crate::{Function, FunctionBuilder, FunctionError, Recipient, Role};

/// A function with these loops in each other around one step.
fn with_nested_loops(heads: &[&str], step: &str) -> Result<Function, FunctionError> {
    fn nest(builder: &mut FunctionBuilder, heads: &[&str], step: &str) {
        match heads.split_first() {
            Some((head, inner)) => {
                builder.repeat(head, |each| nest(each, inner, step));
            }
            None => {
                builder.step(step);
            }
        }
    }
    built(|f| {
        let declared = f.input("x", "bits[4]", Role::Garbler);
        nest(declared.value("v", "bits[4]"), heads, step);
        f.output("r", "bit", Recipient::Both, "x[0]")
    })
}

#[test]
fn values_that_counters_make_too_large_are_refused() {
    // Each loop has one turn, at 2^62; each product is below 2^127 and their sum is not.
    let (low, high) = ("4611686018427387904", "4611686018427387905");
    let heads = ["a", "b", "c", "d", "e", "f", "g", "h"]
        .map(|counter| format!("{counter} in {low}..{high}"));
    let heads = heads.each_ref().map(String::as_str);
    let sum = |sign: &str| {
        let term = |counter| format!("{sign}9223372036854775807*{counter}");
        ["a", "b", "c", "d", "e", "f", "g", "h"].map(term).concat()
    };
    for sign in ["+", "-"] {
        let step = format!("v[0{}] = 1", sum(sign));
        assert_errors! {
            with_nested_loops(&heads, &step) => Overflow, "below 2^63", "a = 4611";
        }
    }
    // A loop that would begin past 2^63.
    let late = [heads[0], "b in 2*a..2*a+1"];
    assert_errors! {
        // One product alone fits, and the index is out of range.
        with_nested_loops(&heads[..1], "v[9223372036854775807*a] = 1") => Index, "before 4";
        with_nested_loops(&late, "v[0] = 1") => Overflow, "for b in 2*a..2*a+1";
    }
}

#[test]
fn what_would_not_fit_is_refused() {
    let turns_without_end = built(|f| {
        f.input("x", "u8", Role::Garbler)
            .value("v", "u1[1073741824]")
            .repeat("i in 0..100000000000", |each| {
                each.repeat("j in 0..0", |_| ());
            })
            .output("r", "u8", Recipient::Both, "x")
    });
    let large_value = built(|f| {
        f.input("x", "u8", Role::Garbler)
            .value("v", "u1[1073741824]")
            .step("v[3] = 1")
            .output("r", "u8", Recipient::Both, "x")
    });
    let large_values = built(|f| {
        for name in ["x", "y", "z"] {
            f.input(name, "u1[134217728]", Role::Garbler);
        }
        f.value("v", "u1[134217728]").step("v = x");
        f.output("r", "u1[134217728]", Recipient::Both, "y");
        f.output("s", "u1[134217728]", Recipient::Both, "z")
    });
    fn nest(builder: &mut FunctionBuilder, depth: usize) {
        if depth > 0 {
            builder.repeat(&format!("i{depth} in 0..1"), |inner| nest(inner, depth - 1));
        }
    }
    let deep = built(|f| {
        f.input("x", "u8", Role::Garbler)
            .output("r", "u8", Recipient::Both, "x");
        nest(f, 8);
        nest(f, 9);
        f
    });
    assert_errors! {
        turns_without_end => TooMany, "steps that it runs", "268435456";
        large_value => TooMany, "value v", "33554432";
        large_values => TooMany, "needs at once", "268435456";
        deep => TooMany { limit: 8 }, "loops in each other";
    }
}

#[test]
fn no_text_takes_memory_or_time_without_bound() {
    let constants = built(|f| {
        f.value("v", "u1[16777217]")
            .step("v = 0")
            .output("r", "u1", Recipient::Both, "v[0]")
    });
    let outputs = built(|f| {
        f.input("x", "u1[200000000]", Role::Garbler)
            .output("r", "u1[200000000]", Recipient::Both, "x")
            .output("s", "u1[200000000]", Recipient::Both, "x")
    });
    // Since x is read bit by bit as well, each turn reads a million elements.
    let reads = built(|f| {
        f.library("xor", "xor", &[("bytes", 65536)])
            .input("x", "bits[524288]", Role::Garbler)
            .repeat("i in 0..9000", |each| {
                each.step("_ = xor(x, x)");
            })
            .output("r", "bit", Recipient::Both, "x[1]")
    });
    assert_errors! {
        constants => TooMany { limit: 0x100_0000 }, "v=0", "all constants";
        outputs => TooMany, "outputs together";
        reads => TooMany, "call 1024, _=xor(x,x) with i = 1024", "read and assigned";
    }
}
