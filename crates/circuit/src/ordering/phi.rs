//! φ of every wire, by the three rules.

use core::mem;

use super::OrderingRule;
use crate::{AndGate, NEGATED, Output, Program, XorGate};

/// A gate of a program, with its number among its kind.
pub(super) enum Step<'p> {
    /// A XOR gate, and how many AND gates come before it.
    Xor(usize, &'p XorGate, usize),
    /// An AND gate.
    And(usize, &'p AndGate),
}

/// The program's gates in order, from either end.
pub(super) fn steps<'a>(
    program: &'a Program,
    starts: &'a [(usize, usize)],
) -> impl DoubleEndedIterator<Item = Step<'a>> {
    let batches = starts.iter().zip(program.batches());
    batches.flat_map(move |(&(xor, and), batch)| {
        let xors = (xor..xor + batch.xors as usize)
            .map(move |number| Step::Xor(number, &program.xors()[number], and));
        let ands = (and..and + batch.ands as usize)
            .map(move |number| Step::And(number, &program.ands()[number]));
        xors.chain(ands)
    })
}

/// The numbers of each batch's first XOR and AND gate.
pub(super) fn starts(program: &Program) -> Vec<(usize, usize)> {
    let (mut xor, mut and) = (0, 0);
    let batches = program.batches().iter();
    let start = batches.map(|batch| {
        let start = (xor, and);
        (xor, and) = (xor + batch.xors as usize, and + batch.ands as usize);
        start
    });
    start.collect()
}

/// The slot of an AND gate's input.
pub(super) fn slot(input: u32) -> usize {
    (input & !NEGATED) as usize
}

/// φ of the wires of a program.
pub(super) struct Phi {
    pub(super) inputs: Vec<u32>,
    pub(super) xors: Vec<u32>,
    /// Of AND outputs; under the safe rules gate g has g + 1.
    pub(super) ands: Vec<u32>,
    /// Whether every AND output has a φ of its own.
    pub(super) is_safe: bool,
}

/// A mark of an input that no XOR gate has read yet. No φ is as large.
const UNREAD: u32 = 1 << 31;

impl Phi {
    /// How many bridges and translations the program needs.
    pub(super) fn translations(&self, program: &Program) -> u64 {
        let mut phi: Vec<u32> = self.inputs.iter().map(|phi| phi | UNREAD).collect();
        phi.resize(program.slots(), 0);
        let mut count = 0;
        steps(program, &starts(program)).for_each(|step| match step {
            Step::Xor(number, gate, _) => {
                let out = self.xors[number];
                for input in [gate.a, gate.b] {
                    let phi = &mut phi[input as usize];
                    if *phi & UNREAD != 0 {
                        *phi &= !UNREAD;
                        count += 1;
                    }
                    count += u64::from(*phi != out);
                }
                phi[gate.out as usize] = out;
            }
            Step::And(number, gate) => phi[gate.out as usize] = self.ands[number],
        });
        count
    }

    pub(super) fn of(program: &Program, rule: OrderingRule) -> Self {
        match rule {
            OrderingRule::Monotone => monotone(program),
            OrderingRule::SafeMon1 => safe(program, false),
            OrderingRule::SafeMon2 => safe(program, true),
        }
    }
}

/// φ = L − depth, with the depth the most AND gates on a path to an output.
fn monotone(program: &Program) -> Phi {
    let starts = starts(program);
    let mut depth = vec![0_u32; program.slots()];
    let mut ands = vec![0; program.ands().len()];
    steps(program, &starts).rev().for_each(|step| {
        let (inputs, below) = match step {
            Step::Xor(_, gate, _) => {
                let below = mem::take(&mut depth[gate.out as usize]);
                ([gate.a as usize, gate.b as usize], below)
            }
            Step::And(number, gate) => {
                ands[number] = mem::take(&mut depth[gate.out as usize]);
                ([slot(gate.a), slot(gate.b)], ands[number] + 1)
            }
        };
        for input in inputs {
            depth[input] = depth[input].max(below);
        }
    });
    let mut inputs = depth;
    inputs.truncate(program.inputs());
    let most = inputs.iter().chain(&ands).copied().max().unwrap_or(0);
    for depth in inputs.iter_mut().chain(&mut ands) {
        *depth = most - *depth;
    }
    let mut phi = inputs.clone();
    phi.resize(program.slots(), 0);
    let mut xors = Vec::with_capacity(program.xors().len());
    steps(program, &starts).for_each(|step| match step {
        Step::Xor(_, gate, _) => {
            let highest = phi[gate.a as usize].max(phi[gate.b as usize]);
            phi[gate.out as usize] = highest;
            xors.push(highest);
        }
        Step::And(number, gate) => phi[gate.out as usize] = ands[number],
    });
    Phi {
        inputs,
        xors,
        ands,
        is_safe: false,
    }
}

/// SafeMon1, or SafeMon2 if `from_greatest`.
fn safe(program: &Program, from_greatest: bool) -> Phi {
    let starts = starts(program);
    // For each XOR gate the greatest of what its inputs begin with, and then its φ.
    let mut xors = vec![0; program.xors().len()];
    let mut phi = vec![0_u32; program.slots()];
    steps(program, &starts).for_each(|step| match step {
        Step::Xor(number, gate, ands_before) => {
            xors[number] = phi[gate.a as usize].max(phi[gate.b as usize]);
            let greatest = ands_before as u32;
            let first = if from_greatest {
                greatest
            } else {
                xors[number]
            };
            phi[gate.out as usize] = first;
        }
        Step::And(number, gate) => phi[gate.out as usize] = number as u32 + 1,
    });
    // From here on the least φ of the gates that read a slot.
    let mut readers = phi;
    readers.fill(u32::MAX);
    let mut is_output = vec![false; program.slots()];
    for output in program.outputs() {
        if let Output::Slot { slot, .. } = output {
            is_output[*slot as usize] = true;
        }
    }
    steps(program, &starts).rev().for_each(|step| {
        let (inputs, phi) = match step {
            Step::Xor(number, gate, ands_before) => {
                let least = mem::replace(&mut readers[gate.out as usize], u32::MAX);
                let is_output = mem::take(&mut is_output[gate.out as usize]);
                let greatest = ands_before as u32;
                if is_output && from_greatest {
                    xors[number] = greatest;
                } else if !is_output && least <= greatest {
                    xors[number] = least;
                }
                ([gate.a as usize, gate.b as usize], xors[number])
            }
            Step::And(number, gate) => {
                readers[gate.out as usize] = u32::MAX;
                is_output[gate.out as usize] = false;
                ([slot(gate.a), slot(gate.b)], number as u32 + 1)
            }
        };
        for input in inputs {
            readers[input] = readers[input].min(phi);
        }
    });
    Phi {
        inputs: vec![0; program.inputs()],
        xors,
        ands: (1..=program.ands().len() as u32).collect(),
        is_safe: true,
    }
}
