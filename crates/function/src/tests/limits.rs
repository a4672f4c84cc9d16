//! Tests of the limits: what is too much, too large or too deep.

use super::built;
use crate::{Expression, Function, FunctionBuilder, FunctionError, Operand, Part, Recipient, Role};

/// A function that adds steps inside of loops, given the loops' counters.
type Inner<'i> = &'i dyn Fn(&mut FunctionBuilder, &[Expression]);

/// Builds a function with nested loops of these counters, each of one turn at 2^62, around what
/// `inner` adds.
fn with_nested_loops(counters: &[&str], inner: Inner<'_>) -> Result<Function, FunctionError> {
    fn nest(
        builder: &mut FunctionBuilder,
        names: &[&str],
        counters: &mut Vec<Expression>,
        inner: Inner<'_>,
    ) {
        match names.split_first() {
            Some((name, names)) => {
                builder.repeat(name, 1 << 62, (1 << 62) + 1, |each, counter| {
                    counters.push(counter.clone());
                    nest(each, names, counters, inner);
                });
            }
            None => inner(builder, counters),
        }
    }
    built(|f| {
        let declared = f.input("x", "bits[4]", Role::Garbler);
        nest(
            declared.value("v", "bits[4]"),
            counters,
            &mut Vec::new(),
            inner,
        );
        f.output("r", "bit", Recipient::Both, Part::of("x").at(0))
    })
}

#[test]
fn values_that_counters_make_too_large_are_refused() {
    // Each product is below 2^127, but their sum is not.
    const LARGE: u64 = (1 << 63) - 1;
    let assign = |f: &mut FunctionBuilder, index: Expression| {
        f.assign(Part::of("v").at(index), Operand::number(1));
    };
    let all = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let sum = |is_negative: bool| {
        move |f: &mut FunctionBuilder, counters: &[Expression]| {
            let index = counters.iter().fold(Expression::from(0), |sum, counter| {
                if is_negative {
                    sum.minus(counter.times(LARGE))
                } else {
                    sum.plus(counter.times(LARGE))
                }
            });
            assign(f, index);
        }
    };
    // A loop that would start above 2^63.
    let late = |f: &mut FunctionBuilder, a: &[Expression]| {
        f.repeat("b", a[0].times(2), a[0].times(2).plus(1), |each, _| {
            assign(each, Expression::from(0));
        });
    };
    assert_errors! {
        with_nested_loops(&all, &sum(false)) => Overflow, "below 2^63", "a = 4611";
        with_nested_loops(&all, &sum(true)) => Overflow, "below 2^63", "a = 4611";
        // A single product fits, and the index is out of range.
        with_nested_loops(&["a"], &|f, a| assign(f, a[0].times(LARGE))) => Index, "before 4";
        with_nested_loops(&["a"], &late) => Overflow, "for b in 2*a..2*a+1";
    }
}

/// Fills a function that holds 2^30 and 2^29 bits at once.
fn large_values(f: &mut FunctionBuilder) -> &mut FunctionBuilder {
    for name in ["x", "y", "z"] {
        f.input(name, "u1[536870912]", Role::Garbler);
    }
    f.value("v", "u1[536870912]").assign("v", "x");
    f.output("r", "u1[536870912]", Recipient::Both, "y");
    f.output("s", "u1[536870912]", Recipient::Both, "z")
}

#[test]
fn what_would_not_fit_is_refused() {
    let turns_without_end = built(|f| {
        f.input("x", "u8", Role::Garbler)
            .value("v", "u1[1073741824]")
            .repeat("i", 0, 100_000_000_000, |each, _| {
                each.repeat("j", 0, 0, |_, _| ());
            })
            .output("r", "u8", Recipient::Both, "x")
    });
    let large_value = built(|f| {
        f.input("x", "u8", Role::Garbler)
            .value("v", "u1[1073741824]")
            .assign(Part::of("v").at(3), Operand::number(1))
            .output("r", "u8", Recipient::Both, "x")
    });
    let large_values = built(large_values);
    fn nest(builder: &mut FunctionBuilder, depth: usize) {
        if depth > 0 {
            builder.repeat(&format!("i{depth}"), 0, 1, |inner, _| {
                nest(inner, depth - 1)
            });
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
        large_values => TooMany, "needs at once", "1073741824";
        deep => TooMany { limit: 8 }, "loops in each other";
    }
}

#[test]
#[should_panic(expected = "needs at once pass the limit of 1073741824")]
fn only_a_walk_of_a_function_over_shares_holds_its_bits() {
    let function = built(|f| large_values(f.over_shares())).expect("a function");
    assert_eq!(function.schedule().expect("a schedule").step_count(), 0);
    let _ = function.live_bits();
}

/// Returns a function with a stream that reads 2^27 elements and assigns 2^26, in this many turns.
fn long_stream(turns: u64) -> Result<Function, FunctionError> {
    built(|f| {
        f.over_shares()
            .library("add", "adder", &[("bits", 8)])
            .input("x", "u8[67108864]", Role::Garbler)
            .input("y", "u8[67108864]", Role::Evaluator)
            .value("sums", "u8[67108864]")
            .repeat("i", 0, turns, |each, i| {
                let at = |name: &str| Part::of(name).at(i);
                each.call([at("sums")], "add", [at("x"), at("y")]);
            })
            .output(
                "last",
                "u8",
                Recipient::Both,
                Part::of("sums").at(turns - 1),
            )
    })
}

#[test]
fn the_elements_of_streams_count_for_no_limit() {
    let function = long_stream(1 << 26).expect("a function");
    assert_eq!(function.call_count(), 1 << 26);
    let schedule = function.schedule().expect("a schedule");
    assert_eq!(schedule.element_count(), 0);
    let groups = (0..schedule.group_count()).map(|group| schedule.group(group).instances());
    assert_eq!(groups.sum::<usize>(), 1 << 26);
    let calls_without_end = built(|f| {
        f.over_shares()
            .library("add", "adder", &[("bits", 8)])
            .input("x", "u8", Role::Garbler)
            .repeat("i", 0, 1 << 62, |each, _| {
                each.call(["_"], "add", ["x", "x"]);
            })
            .output("r", "u8", Recipient::Both, "x")
    });
    assert_errors! {
        long_stream((1 << 26) + 1) => Index, "with i = 67108864", "before 67108864";
        calls_without_end => TooMany { limit: 0x4000_0000 }, "the calls that it makes";
    }
}

#[test]
#[should_panic(expected = "elements of all inputs and values together pass the limit of 33554432")]
fn a_walk_counts_the_elements_of_streams() {
    let _ = long_stream(1 << 26).expect("a function").live_bits();
}

#[test]
fn no_text_takes_memory_or_time_without_bound() {
    let constants = built(|f| {
        f.value("v", "u1[16777217]")
            .assign("v", Operand::number(0))
            .output("r", "u1", Recipient::Both, Part::of("v").at(0))
    });
    let outputs = built(|f| {
        f.input("x", "u1[600000000]", Role::Garbler)
            .output("r", "u1[600000000]", Recipient::Both, "x")
            .output("s", "u1[600000000]", Recipient::Both, "x")
    });
    // Because x is also read bit by bit, each turn reads a million elements.
    let reads = built(|f| {
        f.library("xor", "xor", &[("bytes", 65536)])
            .input("x", "bits[524288]", Role::Garbler)
            .repeat("i", 0, 9000, |each, _| {
                each.call(["_"], "xor", ["x", "x"]);
            })
            .output("r", "bit", Recipient::Both, Part::of("x").at(1))
    });
    assert_errors! {
        constants => TooMany { limit: 0x100_0000 }, "v=0", "all constants";
        outputs => TooMany, "outputs together";
        reads => TooMany, "call 1024, _=xor(x,x) with i = 1024", "read and assigned";
    }
}
