//! Each error, and what it names.

use super::built;
use crate::{Function, FunctionBuilder, FunctionError, Recipient, Role};

/// A function with `x` and `y` of four `u8`, a value `v` of five, the component `add`, and these
/// steps; its output is `v[4]`.
fn with_steps(steps: &[&str]) -> Result<Function, FunctionError> {
    declared(|f| {
        for step in steps {
            f.step(step);
        }
        f.output("r", "u8", Recipient::Both, "v[4]")
    })
}

/// The same with one step.
fn step(step: &str) -> Result<Function, FunctionError> {
    with_steps(&[step])
}

/// The same with the steps of a loop over `i in 0..4`, after `v[0] = 0`.
fn turns(steps: &[&str]) -> Result<Function, FunctionError> {
    declared(|f| {
        f.step("v[0] = 0").repeat("i in 0..4", |each| {
            for step in steps {
                each.step(step);
            }
        });
        f.output("r", "u8", Recipient::Both, "v[4]")
    })
}

/// What `rest` makes of the declarations of [`with_steps`].
fn declared(
    rest: impl FnOnce(&mut FunctionBuilder) -> &mut FunctionBuilder,
) -> Result<Function, FunctionError> {
    built(|f| {
        rest(
            f.library("add", "adder", &[("bits", 8)])
                .input("x", "u8[4]", Role::Garbler)
                .input("y", "u8[4]", Role::Evaluator)
                .value("v", "u8[5]"),
        )
    })
}

/// With the output `r`.
fn shown<'a>(f: &'a mut FunctionBuilder, ty: &str, value: &str) -> &'a mut FunctionBuilder {
    f.output("r", ty, Recipient::Both, value)
}

#[test]
fn an_index_out_of_range_names_call_port_and_counters() {
    assert_errors! {
        turns(&["v[i+1] = add(v[i], x[i+1])"]) => Index,
            "call 3, v[i+1]=add(v[i],x[i+1]) with i = 3", "port b (u8), x[i+1]",
            "picks 4", "before 4";
        step("v[0] = x[0-1]") => Index, "picks -1";
        // In range as a whole and out of it in one dimension.
        built(|f| shown(f.input("x", "u8[2][3]", Role::Garbler), "u8", "x[0][2]")) => Index,
            "output r", "x[0][2]";
        step("v[1..6] = x ++ 0:u8") => Index, "v[1..6]";
        step("v[3..2] = x") => Index, "3..2";
        step("v[0..9] = x") => Index, "0..9";
    }
}

#[test]
fn an_element_is_assigned_once() {
    assert_errors! {
        turns(&["v[i+1] = add(v[i], x[i])", "v[i] = y[i]"]) => TwoDrivers,
            "v[i]=y[i] with i = 0", "bits 0 to 7";
        step("x[0] = 1") => TwoDrivers, "x[0]=1";
        // Parts of an element that overlap.
        with_steps(&["v[0][0..5] = 0", "v[0][4..8] = 0"]) => TwoDrivers,
            "v[0][4..8]=0", "bits 4 to 4";
    }
}

#[test]
fn a_cycle_and_a_hole_are_told_apart() {
    assert_errors! {
        turns(&["v[i+1] = add(v[4], x[i])"]) => ReadAhead,
            "call 0, v[i+1]=add(v[4],x[i]) with i = 0", "with i = 3", "no cycles";
        step("v[4] = add(v[4], x[0])") => ReadAhead, "v[4]=add(v[4],x[0])";
        step("v[4] = add(v[2], x[0])") => NeverAssigned, "bits 16 to 23", "call 0";
        with_steps(&[]) => NeverAssigned, "output r";
    }
}

#[test]
fn widths_must_match() {
    assert_errors! {
        step("v[0] = add(x[0], y[0][1..8])") => Width { expected: 8, found: 7 },
            "v[0]=add(x[0],y[0][1..8])", "port b (u8)";
        step("v[0..2] = add(x[0], y[0])") => Width, "port sum (u8)", "v[0..2] (u8[2])";
        step("v[0] = x[0..2]") => Width { expected: 8, found: 16 }, "v[0]";
        declared(|f| shown(f, "u9", "x[0]")) => Width, "output r", "r (u9)";
    }
}

#[test]
fn calls_take_what_their_component_has() {
    assert_errors! {
        step("v[0] = add(x[0])") => Arguments { expected: 2, found: 1 }, "a u8, b u8";
        step("v[0], v[1] = add(x[0], y[0])") => Results { expected: 1, found: 2 }, "sum u8";
        step("v[0], v[1] = x[0]") => Results, "v[1]=x[0]";
        step("_ = x[0]") => Results, "_=x[0]";
        step("v[0] = sub(x[0], y[0])") => UnknownComponent, "sub", "add";
    }
}

#[test]
fn names_are_known_unique_and_well_formed() {
    assert_errors! {
        step("v[0] = z") => UnknownName, "\"z\"";
        step("z[0] = x[0]") => UnknownName, "\"z\"";
        step("v[m] = x[0]") => UnknownName, "\"m\"";
        declared(|f| f.value("x", "u8")) => DuplicateName, "value \"x\"";
        declared(|f| shown(f.repeat("x in 0..2", |_| ()), "u8", "x[0]")) => DuplicateName,
            "for x in";
        declared(|f| f.value("1st", "u8")) => Name, "1st";
        declared(|f| f) => NoOutput, "no output";
    }
}

#[test]
fn indices_have_values_and_ranges_one_width() {
    assert_errors! {
        turns(&["v[1..i+1] = x[0..i]"]) => RangeWidth, "1..i+1";
        step("v[9223372036854775807+1] = x[0]") => Overflow, "9223372036854775807+1";
        step("v[18446744073709551615] = x[0]") => Overflow, "18446744073709551615";
    }
}

#[test]
fn constants_fit_their_place() {
    assert_errors! {
        step("v[0] = 256") => Constant, "256", "v[0]=256";
        step("v[0] = -1") => Constant, "-1";
        step("v[0..2] = x[0] ++ 1") => Constant, "say its type";
        step("v[0..2] = 3") => Constant, "in a row";
        built(|f| shown(f, "bytes[2]", "1")) => Constant, "in a row";
    }
}

#[test]
fn dimensions_and_types_are_checked() {
    assert_errors! {
        step("v[0][0][0] = 1") => Dimensions, "v[0][0][0]";
        declared(|f| shown(f.value("w", "u0"), "u8", "x[0]")) => Type, "value w", "u0";
        step("v[0] = 1:word") => Type, "word";
        declared(|f| shown(f.value("w", "word"), "u8", "x[0]")) => Type, "value w", "word";
    }
}

#[test]
fn texts_that_do_not_parse_are_shown_with_the_column() {
    assert_errors! {
        step("v[0] = add(x[0] y[0])") => Syntax { column: 17 }, "expected \",\"", "found \"y\"";
        step("") => Syntax, "expected";
        step("v") => Syntax, "expected";
        step("v[") => Syntax, "expected";
        step("v[0] =") => Syntax, "expected";
        step("v[0] = x[0] x") => Syntax, "expected";
        step("v = f(") => Syntax, "expected";
        step("v[0] = 0x") => Syntax, "expected";
        step("é = 1") => Syntax, "expected";
        step("v = [1") => Syntax, "expected";
        step("v[i*i] = x[0]") => Syntax { column: 4 }, "found \"*\"";
        step("v[2*3] = x[0]") => Syntax { column: 5 }, "a number or a counter";
        step(&format!("v[0] = {}1", "1+".repeat(3000))) => Syntax, "4096 bytes";
    }
}

#[test]
fn components_come_from_the_library_with_its_parameters() {
    let with = |library: &str, parameter: &str, size: u64| {
        let given = [(parameter, size)];
        built(|f| {
            let f = f.library("c", library, &given);
            shown(f.input("x", "u8", Role::Garbler), "u8", "x")
        })
    };
    assert_errors! {
        with("no-such", "bits", 8) => Library, "c:", "no-such";
        with("adder", "width", 8) => Library, "width";
        with("adder", "bits", 5000) => Library, "5000";
    }
}
