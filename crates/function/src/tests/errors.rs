//! Tests of each error, and of what it names.

use tacit_circuit::Type;

use super::{built, run};
use crate::{Expression, Function, FunctionBuilder, FunctionError, Operand, Part, Recipient, Role};

/// Builds a function with `x` and `y` of four `u8`, a value `v` of five, the component `add`, and
/// these steps. Its output is `v[4]`.
fn with_steps(steps: impl FnOnce(&mut FunctionBuilder)) -> Result<Function, FunctionError> {
    declared(|f| {
        steps(f);
        f.output("r", "u8", Recipient::Both, at("v", 4))
    })
}

/// Builds the same function with one step.
fn step(
    step: impl FnOnce(&mut FunctionBuilder) -> &mut FunctionBuilder,
) -> Result<Function, FunctionError> {
    with_steps(|f| {
        step(f);
    })
}

/// Builds the same function with the steps of a loop over `i in 0..4`, after `v[0] = 0`.
fn turns(steps: impl FnOnce(&mut FunctionBuilder, &Expression)) -> Result<Function, FunctionError> {
    with_steps(|f| {
        f.assign(at("v", 0), Operand::number(0));
        f.repeat("i", 0, 4, steps);
    })
}

fn at(value: &str, index: impl Into<Expression>) -> Part {
    Part::of(value).at(index)
}

/// Builds a function from the declarations of [`with_steps`] and what `rest` adds.
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

/// Adds the output `r`.
fn shown<'a>(
    f: &'a mut FunctionBuilder,
    ty: &str,
    value: impl Into<Operand>,
) -> &'a mut FunctionBuilder {
    f.output("r", ty, Recipient::Both, value)
}

#[test]
fn an_index_out_of_range_names_call_port_and_counters() {
    assert_errors! {
        turns(|f, i| { f.call([at("v", i.plus(1))], "add", [at("v", i), at("x", i.plus(1))]); }) =>
            Index,
            "call 3, v[i+1]=add(v[i],x[i+1]) with i = 3", "port b (u8), x[i+1]",
            "picks 4", "before 4";
        step(|f| f.assign(at("v", 0), at("x", Expression::from(0).minus(1)))) => Index, "picks -1";
        // In range as a whole, but out of range in one dimension.
        built(|f| shown(f.input("x", "u8[2][3]", Role::Garbler), "u8", at("x", 0).at(2))) => Index,
            "output r", "x[0][2]";
        step(|f| {
            let long = Operand::from("x").then(Operand::typed(0, Type::unsigned(8)));
            f.assign(Part::of("v").range(1, 6), long)
        }) =>
            Index, "v[1..6]";
        step(|f| f.assign(Part::of("v").range(3, 2), "x")) => Index, "3..2";
        step(|f| f.assign(Part::of("v").range(0, 9), "x")) => Index, "0..9";
    }
}

#[test]
fn an_element_is_assigned_once() {
    assert_errors! {
        turns(|f, i| {
            f.call([at("v", i.plus(1))], "add", [at("v", i), at("x", i)]);
            f.assign(at("v", i), at("y", i));
        }) =>
            TwoDrivers,
            "v[i]=y[i] with i = 0", "bits 0 to 7";
        step(|f| f.assign(at("x", 0), Operand::number(1))) => TwoDrivers, "x[0]=1";
        // Overlapping parts of an element.
        with_steps(|f| {
            f.assign(at("v", 0).range(0, 5), Operand::number(0));
            f.assign(at("v", 0).range(4, 8), Operand::number(0));
        }) =>
            TwoDrivers,
            "v[0][4..8]=0", "bits 4 to 4";
    }
}

#[test]
fn a_cycle_and_a_hole_are_told_apart() {
    assert_errors! {
        turns(|f, i| { f.call([at("v", i.plus(1))], "add", [at("v", 4), at("x", i)]); }) =>
            ReadAhead,
            "call 0, v[i+1]=add(v[4],x[i]) with i = 0", "with i = 3", "no cycles";
        step(|f| f.call([at("v", 4)], "add", [at("v", 4), at("x", 0)])) =>
            ReadAhead, "v[4]=add(v[4],x[0])";
        step(|f| f.call([at("v", 4)], "add", [at("v", 2), at("x", 0)])) =>
            NeverAssigned, "bits 16 to 23", "call 0";
        with_steps(|_| ()) => NeverAssigned, "output r";
    }
}

#[test]
fn widths_must_match() {
    assert_errors! {
        step(|f| f.call([at("v", 0)], "add", [at("x", 0), at("y", 0).range(1, 8)])) =>
            Width { expected: 8, found: 7 },
            "v[0]=add(x[0],y[0][1..8])", "port b (u8)";
        step(|f| f.call([Part::of("v").range(0, 2)], "add", [at("x", 0), at("y", 0)])) =>
            Width, "port sum (u8)", "v[0..2] (u8[2])";
        step(|f| f.assign(at("v", 0), Part::of("x").range(0, 2))) =>
            Width { expected: 8, found: 16 }, "v[0]";
        declared(|f| shown(f, "u9", at("x", 0))) => Width, "output r", "r (u9)";
    }
}

#[test]
fn calls_take_what_their_component_has() {
    assert_errors! {
        step(|f| f.call([at("v", 0)], "add", [at("x", 0)])) =>
            Arguments { expected: 2, found: 1 }, "a u8, b u8";
        step(|f| f.call([at("v", 0), at("v", 1)], "add", [at("x", 0), at("y", 0)])) =>
            Results { expected: 1, found: 2 }, "sum u8";
        step(|f| f.assign("_", at("x", 0))) => UnknownName, "_=x[0]";
        step(|f| f.call([at("v", 0)], "sub", [at("x", 0), at("y", 0)])) =>
            UnknownComponent, "sub", "add";
    }
}

#[test]
fn names_are_known_unique_and_well_formed() {
    assert_errors! {
        step(|f| f.assign(at("v", 0), "z")) => UnknownName, "\"z\"";
        step(|f| f.assign(at("z", 0), at("x", 0))) => UnknownName, "\"z\"";
        step(|f| {
            let mut outside = Expression::from(0);
            f.repeat("m", 0, 1, |_, m| outside = m.clone());
            f.assign(at("v", outside), at("x", 0))
        }) => UnknownName, "\"m\"";
        declared(|f| f.value("x", "u8")) => DuplicateName, "value \"x\"";
        declared(|f| shown(f.repeat("x", 0, 2, |_, _| ()), "u8", at("x", 0))) => DuplicateName,
            "for x in";
        declared(|f| f.value("1st", "u8")) => Name, "1st";
        declared(|f| f) => NoOutput, "no output";
    }
}

#[test]
fn indices_have_values_and_ranges_one_width() {
    assert_errors! {
        turns(|f, i| { f.assign(Part::of("v").range(1, i.plus(1)), Part::of("x").range(0, i)); }) =>
            RangeWidth, "1..i+1";
        step(|f| f.assign(at("v", Expression::from(9223372036854775807).plus(1)), at("x", 0))) =>
            Overflow, "9223372036854775807+1";
        step(|f| f.assign(at("v", 18446744073709551615), at("x", 0))) =>
            Overflow, "18446744073709551615";
    }
}

#[test]
fn constants_fit_their_place() {
    assert_errors! {
        step(|f| f.assign(at("v", 0), Operand::number(256))) => Constant, "256", "v[0]=256";
        step(|f| f.assign(at("v", 0), Operand::number(-1))) => Constant, "-1";
        step(|f| {
            let untyped = Operand::from(at("x", 0)).then(Operand::number(1));
            f.assign(Part::of("v").range(0, 2), untyped)
        }) =>
            Constant, "say its type";
        step(|f| f.assign(Part::of("v").range(0, 2), Operand::number(3))) => Constant, "in a row";
        built(|f| shown(f, "bytes[2]", Operand::number(1))) => Constant, "in a row";
    }
}

#[test]
fn dimensions_and_types_are_checked() {
    assert_errors! {
        step(|f| f.assign(at("v", 0).at(0).at(0), Operand::number(1))) => Dimensions, "v[0][0][0]";
        declared(|f| shown(f.value("w", "u0"), "u8", at("x", 0))) => Type, "value w", "u0";
        declared(|f| shown(f.value("w", "word"), "u8", at("x", 0))) => Type, "value w", "word";
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

#[test]
fn a_variable_is_assigned_before_it_is_read() {
    let moved = |f: &mut FunctionBuilder| {
        f.input("x", "u8", Role::Garbler)
            .variable("v", "u8[2]")
            .assign(Part::of("v").at(0), "x")
            .assign(Part::of("v").at(0), "x");
    };
    assert_errors! {
        built(|f| {
            moved(f);
            f.output("r", "u8", Recipient::Both, Part::of("v").at(1))
        }) => NeverAssigned, "v (its bits 8 to 15)";
        built(|f| {
            moved(f);
            f.assign(Part::of("v").at(0), Part::of("v").at(1))
                .assign(Part::of("v").at(1), "x")
                .output("r", "u8", Recipient::Both, Part::of("v").at(1))
        }) => ReadAhead, "v[1]=x";
    }
    let again = built(|f| {
        moved(f);
        f.output("r", "u8", Recipient::Both, Part::of("v").at(0))
    });
    assert_eq!(run(&again.unwrap(), &["7"]), ["7"]);
}
