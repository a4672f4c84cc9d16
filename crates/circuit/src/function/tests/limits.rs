//! What is too much, too large or too deep.

use super::errors::with_steps;
use super::instance;
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
    let mut builder = FunctionBuilder::new("f");
    builder.input("x", "bits[4]", Role::Garbler);
    builder.value("v", "bits[4]");
    nest(&mut builder, heads, step);
    builder.output("r", "bit", Recipient::Both, "x[0]");
    instance(&mut builder, [])
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
    for (sign, step) in [
        ("+", "v[0{}] = 1"),
        ("-", "v[0{}] = 1"),
        ("+", "v[0] = 0{}"),
    ] {
        let step = step.replace("{}", &sum(sign));
        let result = with_nested_loops(&heads, &step);
        assert_error!(
            result,
            FunctionError::Overflow { .. },
            "below 2^63",
            "a = 4611"
        );
    }
    // One product alone fits, and the index is out of range.
    let result = with_nested_loops(&heads[..1], "v[9223372036854775807*a] = 1");
    assert_error!(result, FunctionError::Index { .. }, "before 4");
    // A loop that would begin past 2^63.
    let heads = [heads[0], "b in 2*a..2*a+1"];
    let result = with_nested_loops(&heads, "v[0] = 1");
    assert_error!(
        result,
        FunctionError::Overflow { .. },
        "for b in 2*a..2*a+1"
    );
}

#[test]
fn a_long_expression_takes_no_stack_without_bound() {
    let chain = |sign: &str, operators: usize| {
        let text = format!("x[0*(0{})]", format!("{sign}1").repeat(operators));
        move || {
            let mut builder = FunctionBuilder::new("f");
            builder.input("x", "bits[4]", Role::Garbler);
            builder.output("r", "bit", Recipient::Both, &text);
            instance(&mut builder, []).map(|function| function.digest())
        }
    };
    let on_a_small_stack =
        |work: Box<dyn FnOnce() -> Result<crate::Digest, FunctionError> + Send>| {
            let thread = std::thread::Builder::new().stack_size(512 << 10);
            thread.spawn(work).unwrap().join().unwrap()
        };
    for sign in ["+", "*"] {
        assert!(on_a_small_stack(Box::new(chain(sign, 255))).is_ok());
        let error = on_a_small_stack(Box::new(chain(sign, 2000)));
        assert_error!(error, FunctionError::Syntax { .. }, "at most 256 operators");
    }
    let nested = format!("x[{}0{}]", "(0+".repeat(64), ")".repeat(64));
    let error = with_steps(&[&format!("v[0] = {nested}")]);
    assert_error!(error, FunctionError::Syntax { .. }, "64 parentheses");
}

#[test]
fn what_would_not_fit_is_refused() {
    let mut builder = FunctionBuilder::new("f");
    builder
        .input("x", "u8", Role::Garbler)
        .value("v", "u1[1073741824]");
    builder.repeat("i in 0..100000000000", |each| {
        each.repeat("j in 0..0", |_| ());
    });
    builder.output("r", "u8", Recipient::Both, "x");
    let error = instance(&mut builder, []);
    assert_error!(
        error,
        FunctionError::TooMany { .. },
        "steps that it runs",
        "268435456"
    );

    let mut builder = FunctionBuilder::new("f");
    builder
        .input("x", "u8", Role::Garbler)
        .value("v", "u1[1073741824]")
        .step("v[3] = 1");
    builder.output("r", "u8", Recipient::Both, "x");
    let error = instance(&mut builder, []);
    assert_error!(error, FunctionError::TooMany { .. }, "value v", "33554432");

    let mut builder = FunctionBuilder::new("f");
    for name in ["x", "y", "z"] {
        builder.input(name, "u1[134217728]", Role::Garbler);
    }
    builder.value("v", "u1[134217728]").step("v = x");
    builder.output("r", "u1[134217728]", Recipient::Both, "y");
    builder.output("s", "u1[134217728]", Recipient::Both, "z");
    let error = instance(&mut builder, []);
    assert_error!(
        error,
        FunctionError::TooMany { .. },
        "needs at once",
        "268435456"
    );

    let mut builder = FunctionBuilder::new("f");
    builder
        .input("x", "u8", Role::Garbler)
        .output("r", "u8", Recipient::Both, "x");
    fn nest(builder: &mut FunctionBuilder, depth: usize) {
        if depth > 0 {
            builder.repeat(&format!("i{depth} in 0..1"), |inner| nest(inner, depth - 1));
        }
    }
    nest(&mut builder, 8);
    nest(&mut builder, 9);
    let error = instance(&mut builder, []);
    assert_error!(
        error,
        FunctionError::TooMany { limit: 8, .. },
        "loops in each other"
    );
}

#[test]
fn no_text_takes_memory_or_time_without_bound() {
    let mut builder = FunctionBuilder::new("f");
    builder
        .value("v", "u1[16777217]")
        .step("v = 0")
        .output("r", "u1", Recipient::Both, "v[0]");
    let error = instance(&mut builder, []);
    assert_error!(
        error,
        FunctionError::TooMany {
            limit: 0x100_0000,
            ..
        },
        "v=0",
        "all constants"
    );

    let mut builder = FunctionBuilder::new("f");
    builder.input("x", "u1[200000000]", Role::Garbler);
    builder.output("r", "u1[200000000]", Recipient::Both, "x");
    builder.output("s", "u1[200000000]", Recipient::Both, "x");
    let error = instance(&mut builder, []);
    assert_error!(error, FunctionError::TooMany { .. }, "outputs together");

    // Since x is read bit by bit as well, each turn reads a million elements.
    let mut builder = FunctionBuilder::new("f");
    builder
        .library("xor", "xor", &[("bytes", "65536")])
        .input("x", "bits[524288]", Role::Garbler)
        .repeat("i in 0..9000", |each| {
            each.step("_ = xor(x, x)");
        })
        .output("r", "bit", Recipient::Both, "x[1]");
    let error = instance(&mut builder, []);
    assert_error!(
        error,
        FunctionError::TooMany { .. },
        "call 1024, _=xor(x,x) with i = 1024",
        "read and assigned"
    );
}
