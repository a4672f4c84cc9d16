//! Tests of streams: which loops are streams, and that a function is checked and scheduled with
//! them as without.

mod loops;

use proptest::prelude::*;
use tacit_circuit::{Circuit, Component, Gate, Port, Type};

use super::built;
use super::schedule::plain;
use crate::samples::Sample;
use crate::schedule::{Schedule, planner};
use crate::{Expression, Function, FunctionBuilder, FunctionError, Part, Recipient, Role};
use loops::Loops;

/// Returns a function over shares with an adder, the steps that `fill` adds, and 100 elements in
/// each of `x`, `y`, `a`, `b`, and in the variable `v`.
fn over_shares(fill: impl FnOnce(&mut FunctionBuilder)) -> Result<Function, FunctionError> {
    built(|f| {
        f.over_shares()
            .library("add", "adder", &[("bits", 8)])
            .input("x", "u8[100]", Role::Garbler)
            .input("y", "u8[100]", Role::Evaluator)
            .value("a", "u8[100]")
            .value("b", "u8[100]")
            .variable("v", "u8[100]");
        fill(f);
        f.output("x", "u8[100]", Recipient::Both, "x")
    })
}

/// Returns for each call whether it is that of a stream, and the names of the arrays in runs.
fn streams_of(function: &Function) -> (Vec<bool>, String) {
    let plan = function.plan();
    let calls = plan.operations.iter().filter(|of| of.component.is_some());
    let streams = calls.map(|operation| operation.is_stream);
    let in_runs = plan.arrays.iter();
    let in_runs = in_runs.filter(|array| array.first >= plan.granules_apart);
    let names = in_runs.map(|array| array.name.as_str());
    (streams.collect(), names.collect::<Vec<_>>().join(" "))
}

/// Adds a loop of one call: `target = x + y`, at these indices.
fn add(
    f: &mut FunctionBuilder,
    turns: u64,
    [target, x, y]: [&str; 3],
    indices: impl Fn(&Expression) -> [Expression; 3],
) {
    f.repeat("i", 0, turns, |each, i| {
        let [to, first, second] = indices(i);
        let arguments = [Part::of(x).at(first), Part::of(y).at(second)];
        each.call([Part::of(target).at(to)], "add", arguments);
    });
}

fn in_order(i: &Expression) -> [Expression; 3] {
    [i.clone(), i.clone(), i.clone()]
}

/// What is tried, the steps, whether each call is that of a stream, and the arrays in runs.
type Case = (
    &'static str,
    fn(&mut FunctionBuilder),
    &'static [bool],
    &'static str,
);

fn check(cases: &[Case]) {
    for (name, fill, streams, in_runs) in cases {
        let found = streams_of(&over_shares(fill).expect("a function"));
        assert_eq!(found, (streams.to_vec(), (*in_runs).to_owned()), "{name}");
    }
}

#[test]
fn loops_of_one_call_over_elements_in_order_are_streams() {
    let all = "x y a b";
    check(&[
        (
            "in order",
            |f| add(f, 100, ["a", "x", "y"], in_order),
            &[true],
            all,
        ),
        (
            "from elements on, and one element in all turns",
            |f| {
                add(f, 50, ["a", "x", "y"], |i| {
                    [i.plus(50), i.plus(3), 7.into()]
                })
            },
            &[true],
            all,
        ),
        (
            "two loops fill an array",
            |f| {
                add(f, 50, ["a", "x", "y"], |i| {
                    [i.plus(50), i.clone(), i.clone()]
                });
                add(f, 50, ["a", "y", "x"], in_order);
            },
            &[true, true],
            all,
        ),
        (
            "one stream reads another's array",
            |f| {
                add(f, 100, ["a", "x", "y"], in_order);
                add(f, 99, ["b", "a", "a"], |i| {
                    [i.clone(), i.clone(), i.plus(1)]
                });
            },
            &[true, true],
            all,
        ),
        (
            "an element of an array that steps fill, in all turns",
            |f| {
                f.assign("a", "x");
                add(f, 100, ["b", "x", "a"], |i| {
                    [i.clone(), i.clone(), 5.into()]
                });
            },
            &[true],
            "x y b",
        ),
    ]);
}

#[test]
fn loops_out_of_order_are_no_streams() {
    let without_a = "x y b";
    check(&[
        (
            "every second element is assigned",
            |f| {
                add(f, 50, ["a", "x", "y"], |i| {
                    [i.times(2), i.clone(), i.clone()]
                })
            },
            &[false],
            without_a,
        ),
        (
            "every second element is read",
            |f| {
                add(f, 50, ["a", "x", "y"], |i| {
                    [i.clone(), i.times(2), i.clone()]
                })
            },
            &[false],
            without_a,
        ),
        (
            "backwards",
            |f| {
                let back = |i: &Expression| Expression::from(99).minus(i);
                add(f, 100, ["a", "x", "y"], |i| [i.clone(), back(i), 0.into()]);
            },
            &[false],
            without_a,
        ),
        (
            "a sum that grows",
            |f| {
                f.assign(Part::of("a").at(0), Part::of("x").at(0));
                add(f, 99, ["a", "a", "x"], |i| {
                    [i.plus(1), i.clone(), i.clone()]
                });
            },
            &[false],
            without_a,
        ),
        (
            "a loop in a loop",
            |f| {
                f.repeat("j", 0, 1, |each, _| {
                    add(each, 100, ["a", "x", "y"], in_order)
                });
            },
            &[false],
            without_a,
        ),
        (
            "a variable",
            |f| add(f, 100, ["v", "x", "y"], in_order),
            &[false],
            "x y a b",
        ),
    ]);
}

#[test]
fn loops_among_other_steps_are_no_streams() {
    check(&[
        (
            "two calls in a loop",
            |f| {
                f.repeat("i", 0, 100, |each, i| {
                    let at = |name: &str| Part::of(name).at(i);
                    each.call([at("a")], "add", [at("x"), at("y")]);
                    each.call([at("b")], "add", [at("x"), at("y")]);
                });
            },
            &[false, false],
            "x y",
        ),
        (
            "a counter on an array that a step fills, and what then reads the results",
            |f| {
                f.assign("a", "x");
                add(f, 100, ["b", "a", "y"], in_order);
            },
            &[false],
            "x y",
        ),
    ]);
}

#[test]
fn a_function_that_is_not_over_shares_has_no_streams() {
    let function = super::chain(5);
    assert_eq!(streams_of(&function), (vec![false], String::new()));
}

#[test]
fn streams_that_assign_an_element_twice_are_refused() {
    let twice = over_shares(|f| {
        add(f, 50, ["a", "x", "y"], |i| {
            [i.plus(30), i.clone(), i.clone()]
        });
        add(f, 60, ["a", "y", "x"], in_order);
    });
    assert_errors! {
        twice => TwoDrivers, "call 80", "with i = 30", "a (its bits 240 to 247) has a value";
    }
}

/// Returns a function with a stream whose turns read 2^16 elements each. They also read results
/// bit by bit, or else those of a call at once.
fn wide_turns(turns: u64, by_bits: bool) -> Result<Function, FunctionError> {
    const WIDE: u32 = 1 << 16;
    let port = |name: &str, bits: u32| Port::new(name, Type::bits(bits as usize));
    let next = if by_bits { 1 } else { 8 };
    let inputs = vec![port("all", WIDE), port("next", next)];
    let gates = [Gate::Xor(0, WIDE)];
    let circuit = Circuit::new(inputs, vec![port("out", 1)], gates, vec![WIDE + next]);
    built(|f| {
        f.over_shares()
            .library("add", "adder", &[("bits", 8)])
            .component("wide", Component::new("wide", circuit.expect("a circuit")))
            .input("all", "bits[65536]", Role::Garbler)
            .input("x", "u8[4096]", Role::Evaluator)
            .value("sums", "bits[32768]")
            .value("out", "bits[32768]");
        f.repeat("i", 0, 4096, |each, i| {
            let sum = Part::of("sums").range(i.times(8), i.times(8).plus(8));
            each.call([sum], "add", [Part::of("x").at(i), Part::of("x").at(0)]);
        });
        let next = u64::from(next);
        f.repeat("i", 0, turns, |each, i| {
            let read = Part::of("sums").range(i.times(next), i.times(next).plus(next));
            each.call([Part::of("out").at(i)], "wide", [Part::of("all"), read]);
        });
        f.output("first", "bit", Recipient::Both, Part::of("all").at(0))
            .output(
                "last",
                "bit",
                Recipient::Both,
                Part::of("out").at(turns - 1),
            )
    })
}

/// What the turns of a stream read counts for no limit of the check. A party that had to look at
/// all of it would not come to an end.
#[test]
fn turns_that_are_scheduled_one_by_one_read_no_more_than_other_steps() {
    let scheduled = |turns, by_bits| {
        let function = wide_turns(turns, by_bits).expect("a function");
        assert_eq!(streams_of(&function).0, [true; 2]);
        function.schedule()
    };
    assert!(scheduled(60, true).is_ok());
    assert!(scheduled(4096, false).is_ok());
    assert_errors! {
        scheduled(70, true) => TooMany { limit: 0x40_0000 }, "turns that are scheduled one by one";
    }
}

/// Returns the schedule as text, with every field but the number of elements that the planner held,
/// and the group and instance of each call.
fn schedule_text(sample: &Sample) -> (String, Vec<(u32, u32)>) {
    let mut calls = Vec::new();
    let called = |group, instance| calls.push((group, instance));
    let schedule = planner::plan(&sample.function, &sample.owners, sample.limits, called);
    (schedule.expect("a schedule").text_without_elements(), calls)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Otherwise bits of one call would be taken for those of another.
    #[test]
    fn the_schedule_of_streams_is_that_of_their_turns_one_by_one(seed in any::<u64>()) {
        let [turns, streams] = [false, true].map(|is_over_shares| {
            Loops::new(seed, is_over_shares, 0).finish().expect("a function")
        });
        prop_assert_eq!(schedule_text(&streams), schedule_text(&turns));
    }

    #[test]
    fn shares_by_a_schedule_of_streams_are_shares_of_the_results(seed in any::<u64>()) {
        let sample = Loops::new(seed, true, 0).finish().expect("a function");
        let schedule = Schedule::new(&sample.function, &sample.owners, sample.limits).unwrap();
        prop_assert_eq!(plain::results(&sample, &schedule), sample.evaluate());
    }

    #[test]
    fn a_stream_has_the_errors_of_its_turns_one_by_one(seed in any::<u64>()) {
        let [turns, streams] = [false, true].map(|is_over_shares| {
            let sample = Loops::new(seed, is_over_shares, 3).finish();
            let counts = |sample: Sample| sample.function.component_calls().to_vec();
            sample.map(counts).map_err(|error| error.to_string())
        });
        prop_assert_eq!(streams, turns);
    }
}
