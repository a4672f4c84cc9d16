//! The schedules in `vectors/gmw-schedule.txt`, whose header describes its lines.

use std::fs;
use std::path::Path;

use tacit_circuit::{Gate, Owners};

use super::{CircuitShape, FunctionShape, Sample};
use crate::Recipient;
use crate::schedule::Limits;

/// A frozen schedule: the function, and the lines that describe its schedule.
#[derive(Clone, Debug)]
pub struct FrozenSchedule {
    /// The schedule's name.
    pub name: String,
    /// The function and shares of its inputs.
    pub sample: Sample,
    /// The lines `group`, `step`, `cross` and `end`, in order.
    pub lines: Vec<String>,
}

/// Returns the frozen schedules, in order.
///
/// # Panics
///
/// If the file does not follow its header.
pub fn frozen_schedules() -> Vec<FrozenSchedule> {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let text = fs::read_to_string(vectors.join("gmw-schedule.txt")).expect("the vector");
    let cases = text.split("case: ").skip(1);
    cases.map(read).collect()
}

fn read(case: &str) -> FrozenSchedule {
    let (name, rest) = case.split_once('\n').expect("a name");
    let (mut shape, mut lines) = (FunctionShape::default(), Vec::new());
    let (mut limits, mut shares) = (Limits::default(), Vec::new());
    for line in rest.lines().filter(|line| !line.is_empty()) {
        let (what, line_of) = line.split_once(": ").expect("a field");
        let fields: Vec<&str> = line_of.split(" | ").collect();
        match what {
            "limits" => {
                let words: Vec<&str> = line_of.split(' ').collect();
                limits.rows = words[1].parse().expect("a limit");
                limits.refill_ots = words[3].parse().expect("a limit");
            }
            "inputs" => shape.inputs = line_of.split(' ').map(input).collect(),
            "shares" => {
                let (a, b) = line_of.split_once(' ').expect("both parties' shares");
                let both = a.bytes().zip(b.bytes());
                shares = both.map(|(a, b)| [a == b'1', b == b'1']).collect();
            }
            "circuit" => shape.circuits.push(CircuitShape {
                inputs: numbers(fields[0]),
                gates: fields[1].split_whitespace().map(gate).collect(),
                outputs: lists(fields[2]),
            }),
            "call" => {
                let circuit = fields[0].parse().expect("a circuit");
                shape.calls.push((circuit, lists(fields[1])));
            }
            "output" => shape
                .outputs
                .push((recipient(fields[0]), numbers(fields[1]))),
            _ => lines.push(line.to_owned()),
        }
    }
    let sample = Sample {
        function: shape.build(),
        owners: shape.inputs.iter().map(|(owners, _)| *owners).collect(),
        shares,
        limits,
    };
    FrozenSchedule {
        name: name.to_owned(),
        sample,
        lines,
    }
}

fn numbers(text: &str) -> Vec<u32> {
    let words = text.split_whitespace();
    words.map(|word| word.parse().expect("a number")).collect()
}

fn lists(text: &str) -> Vec<Vec<u32>> {
    text.split(" ; ").map(numbers).collect()
}

fn input(text: &str) -> (Owners, u32) {
    let (owners, width) = text.split_once(':').expect("owners and width");
    let owners = match owners {
        "-" => Owners::PUBLIC,
        "AB" => Owners::BOTH,
        "A" => Owners::of(crate::Role::Garbler),
        _ => Owners::of(crate::Role::Evaluator),
    };
    (owners, width.parse().expect("a width"))
}

fn gate(text: &str) -> Gate {
    let wires: Vec<u32> = text[1..]
        .split('.')
        .map(|wire| wire.parse().expect("a wire"))
        .collect();
    match &text[..1] {
        "X" => Gate::Xor(wires[0], wires[1]),
        "A" => Gate::And(wires[0], wires[1]),
        _ => Gate::Inv(wires[0]),
    }
}

fn recipient(text: &str) -> Recipient {
    match text {
        "A" => Recipient::Garbler,
        "B" => Recipient::Evaluator,
        _ => Recipient::Both,
    }
}
