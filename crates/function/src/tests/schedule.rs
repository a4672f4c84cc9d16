//! Schedules compared with the frozen ones, and runs by them compared with plain evaluation.

pub(super) mod plain;

use proptest::prelude::*;
use tacit_circuit::{Owners, Type};

use super::built;
use crate::samples::{FrozenSchedule, Sample, array_sample, frozen_schedules, random_sample};
use crate::schedule::{Block, LastRead, Limits, Schedule, planner};
use crate::{FunctionError, Operand, Part, Recipient, Role};

fn schedule(sample: &Sample) -> Schedule {
    Schedule::new(&sample.function, &sample.owners, sample.limits).unwrap()
}

fn named(owners: Owners) -> &'static str {
    let [a, b] = Role::BOTH.map(|role| owners.includes(role));
    match (a, b) {
        (false, false) => "-",
        (true, false) => "A",
        (false, true) => "B",
        (true, true) => "AB",
    }
}

fn joined<T: ToString>(all: impl IntoIterator<Item = T>) -> String {
    let all: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    all.join(" ")
}

/// Returns the lines of a frozen schedule, without those about messages.
fn lines(sample: &Sample) -> Vec<String> {
    let mut calls = Vec::new();
    let called = |group: u32, instance: u32| calls.push((group, instance));
    let schedule = planner::plan(&sample.function, &sample.owners, sample.limits, called).unwrap();
    let layered = |number: &u32| schedule.group(*number).program().depth() > 0;
    let numbers: Vec<u32> = (0..schedule.group_count()).filter(layered).collect();
    let mut lines = Vec::new();
    for number in &numbers {
        let group = schedule.group(*number);
        let components = sample.function.components().iter();
        let component = components
            .map(|component| component.name())
            .position(|name| name == group.component().name())
            .unwrap();
        let of_group = (0..).zip(&calls).filter(|(_, (of, _))| of == number);
        let (these, instances): (Vec<u32>, Vec<u32>) = of_group
            .map(|(call, (_, instance))| (call, *instance))
            .unzip();
        assert!(instances.into_iter().eq(0..group.instances() as u32));
        lines.push(format!(
            "group: circuit {component} owners {} live {} depth {} start {} calls {}",
            joined(group.owners_of_ports().iter().map(|owners| named(*owners))),
            group.program().live(),
            group.program().depth(),
            group.start(),
            joined(these)
        ));
    }
    let mut made = [0; 2];
    for step in schedule.steps() {
        let make = schedule.refill(&step, made);
        made = [made[0] + make[0], made[1] + make[1]];
        lines.push(format!(
            "step: bits {} make {}",
            joined(step.bits),
            joined(make)
        ));
        let mut ots = step.ots_before;
        for at_work in &step.at_work {
            let group = schedule.group(at_work.group);
            let layers = group.component().circuit().layers(group.owners_of_ports());
            for cross in layers.crosses(at_work.layer) {
                let place = numbers
                    .iter()
                    .position(|number| *number == at_work.group)
                    .unwrap();
                let gate = |gate: &tacit_circuit::CrossGate| {
                    let negated = if gate.negated { "!" } else { "" };
                    format!("{}:{negated}{}", gate.gate, gate.other)
                };
                let sender = cross.chooser.other() as usize;
                lines.push(format!(
                    "cross: {place} {} {} {} | {}",
                    named(Owners::of(cross.chooser)),
                    cross.common,
                    ots[sender],
                    joined(cross.gates.iter().map(gate))
                ));
                ots[sender] += group.instances() as u64;
            }
        }
        assert!(step.bits.iter().all(|bits| *bits > 0), "no step is empty");
        assert_eq!(ots, [0, 1].map(|s| step.ots_before[s] + step.ots[s]));
    }
    assert_eq!(made, schedule.total_ots());
    lines.push(format!("end: {}", joined(schedule.total_ots())));
    lines
}

#[test]
fn schedules_are_the_frozen_ones() {
    let frozen = frozen_schedules();
    assert_eq!(frozen.len(), 5);
    for FrozenSchedule {
        name,
        sample,
        lines: expected,
    } in frozen
    {
        let without_what_is_sent = |line: &String| {
            let end = line.find(" sent ").or_else(|| line.find(" results "));
            line[..end.unwrap_or(line.len())].to_owned()
        };
        let expected: Vec<String> = expected.iter().map(without_what_is_sent).collect();
        let found = lines(&sample);
        for (line, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{name}, line {line}");
        }
        assert_eq!(found.len(), expected.len(), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn shares_by_a_schedule_are_shares_of_the_results(seed in any::<u64>()) {
        let sample = random_sample(seed);
        prop_assert_eq!(plain::results(&sample, &schedule(&sample)), sample.evaluate());
    }
}

#[test]
fn shares_of_elements_at_any_distance_are_shares_of_the_results() {
    for rows in [1, 1 << 23] {
        let mut sample = array_sample();
        sample.limits.rows = rows;
        assert_eq!(
            plain::results(&sample, &schedule(&sample)),
            sample.evaluate()
        );
    }
}

#[test]
fn a_function_without_calls_has_no_step() {
    let function = built(|builder| {
        builder.input("a", "u8", Role::Garbler).output(
            "b",
            "u16",
            Recipient::Both,
            Operand::from("a").then(Operand::typed(5, Type::unsigned(8))),
        )
    });
    let function = function.unwrap();
    let schedule = function.schedule().unwrap();
    assert_eq!((schedule.step_count(), schedule.total_ots()), (0, [0, 0]));
    let sample = Sample {
        owners: vec![Owners::of(Role::Garbler)],
        shares: vec![[true, false]; 8],
        limits: Limits::default(),
        function,
    };
    assert_eq!(plain::results(&sample, &schedule), sample.evaluate());
}

#[test]
fn a_loop_that_reads_elements_in_order_is_one_run_an_argument() {
    let function = built(|builder| {
        builder
            .library("add", "adder", &[("bits", 8)])
            .input("x", "u8[1000]", Role::Garbler)
            .input("y", "u8[1000]", Role::Evaluator)
            .value("sums", "u8[1000]")
            .value("pairs", "u8[500]")
            .repeat("i", 0, 1000, |each, i| {
                let at = |name: &str| Part::of(name).at(i);
                each.call([at("sums")], "add", [at("x"), at("y")]);
            })
            .repeat("i", 0, 500, |each, i| {
                let sums = |k| Part::of("sums").at(i.times(2).plus(k));
                each.call([Part::of("pairs").at(i)], "add", [sums(0), sums(1)]);
            })
            .output("pairs_out", "u8[500]", Recipient::Both, Part::of("pairs"))
    });
    let schedule = function.unwrap().schedule().unwrap();
    let [first, second] = [0, 1].map(|number| schedule.group(number));
    assert_eq!(
        (
            schedule.group_count(),
            first.instances(),
            second.instances()
        ),
        (2, 1000, 500)
    );
    let runs = |group: crate::schedule::Group<'_>| -> Vec<_> {
        let arguments = group.arguments();
        arguments
            .flat_map(|argument| argument.runs().map(move |run| (argument.bits, run)))
            .collect()
    };
    let whole: Vec<_> = runs(first)
        .iter()
        .map(|(bits, run)| (*bits, run.block, run.stride))
        .collect();
    assert_eq!(whole, [(8, Block::Input(0), 1), (8, Block::Input(1), 1)]);
    let pairs = runs(second);
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(_, run)| (run.block, run.instance, run.stride))
        .collect();
    assert_eq!(pairs, [(Block::Group(0), 0, 2), (Block::Group(0), 1, 2)]);
    assert_eq!(first.last_read(), LastRead::Step(second.start()));
    assert_eq!(second.last_read(), LastRead::Outputs);
    assert_eq!(schedule.inputs()[0].last_read, LastRead::Step(0));
}

#[test]
fn saved_values_are_refused() {
    let function = built(|builder| {
        builder
            .input("a", "u8", Role::Garbler)
            .load("before", "u8")
            .save("after", "u8", Part::of("a"))
            .output("b", "u8", Recipient::Both, Part::of("before"))
    });
    let refused = function.unwrap().schedule().unwrap_err();
    assert!(
        matches!(refused, FunctionError::SavedValues { .. }),
        "{refused}"
    );
}

#[test]
fn a_group_has_at_most_j_calls_and_two_of_them_run_at_once() {
    let function = built(|builder| {
        builder
            .library("add", "adder", &[("bits", 8)])
            .input("x", "u8[300]", Role::Garbler)
            .input("y", "u8[300]", Role::Evaluator)
            .value("sums", "u8[300]")
            .repeat("i", 0, 300, |each, i| {
                let at = |name: &str| Part::of(name).at(i);
                each.call([at("sums")], "add", [at("x"), at("y")]);
            })
            .output("out", "u8[300]", Recipient::Both, Part::of("sums"))
    });
    let function = function.unwrap();
    let owners = [Owners::of(Role::Garbler), Owners::of(Role::Evaluator)];
    let groups = |rows: u64| -> Vec<(usize, u32)> {
        let limits = Limits {
            rows,
            ..Limits::default()
        };
        let schedule = Schedule::new(&function, &owners, limits).unwrap();
        let groups = (0..schedule.group_count()).map(|number| schedule.group(number));
        groups
            .map(|group| (group.instances(), group.start()))
            .collect()
    };
    let schedule = function.schedule().unwrap();
    let program = schedule.group(0).program();
    let (live, depth) = (program.live() as u64, program.depth());
    assert_eq!(groups(1 << 23), [(300, 0)]);
    assert_eq!(groups(live * 5), [(300, 0)]);
    assert_eq!(groups(live * 5 - 1), [(256, 0), (44, 0)]);
    let late = [(64, 0), (64, 0), (64, depth), (64, depth), (44, 2 * depth)];
    for rows in [1, live, live * 2 - 1] {
        assert_eq!(groups(rows), late);
    }
}
