//! φ of every wire, by the three rules.

use core::{array, mem};

use super::OrderingRule;
use crate::{AndGate, NEGATED, Output, Program, XorGate};

/// A gate of a program, with its number among its kind.
pub(crate) enum Step<'p> {
    /// A XOR gate, and how many AND gates come before it.
    Xor(usize, &'p XorGate, usize),
    /// An AND gate.
    And(usize, &'p AndGate),
}

/// The program's gates in order, from either end.
pub(crate) fn steps<'a>(
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
pub(crate) fn starts(program: &Program) -> Vec<(usize, usize)> {
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
    /// How many bridges and translations the program needs.
    pub(super) translations: u64,
}

impl Phi {
    pub(super) fn of(program: &Program, rule: OrderingRule) -> Self {
        match rule {
            OrderingRule::Monotone => monotone(program),
            OrderingRule::SafeMon1 => Self::safe(program, false),
            OrderingRule::SafeMon2 => Self::safe(program, true),
        }
    }

    fn safe(program: &Program, from_greatest: bool) -> Self {
        let (xors, [translations]) = safe(program, [from_greatest]);
        Self {
            inputs: vec![0; program.inputs()],
            xors: xors.into_flattened(),
            ands: (1..=program.ands().len() as u32).collect(),
            is_safe: true,
            translations,
        }
    }
}

/// How many bridges and translations the program needs under SafeMon1 and under SafeMon2.
pub(super) fn safe_translations(program: &Program) -> [u64; 2] {
    safe(program, [false, true]).1
}

/// φ = L − depth, with the depth the most AND gates on a path to an output.
fn monotone(program: &Program) -> Phi {
    /// A mark of an input that no XOR gate has read yet. No φ is as large.
    const UNREAD: u32 = 1 << 31;
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
    let mut phi: Vec<u32> = inputs.iter().map(|phi| phi | UNREAD).collect();
    phi.resize(program.slots(), 0);
    let mut xors = Vec::with_capacity(program.xors().len());
    let mut translations = 0;
    steps(program, &starts).for_each(|step| match step {
        Step::Xor(_, gate, _) => {
            let [a, b] = [gate.a, gate.b].map(|input| {
                let phi = &mut phi[input as usize];
                translations += u64::from(*phi >> 31);
                *phi &= !UNREAD;
                *phi
            });
            translations += u64::from(a != b);
            let highest = a.max(b);
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
        translations,
    }
}

/// The gates that read a wire, as far as they are known, under each of N rules.
#[derive(Clone, Copy)]
struct Readers<const N: usize> {
    /// The least φ of their outputs.
    least: [u32; N],
    /// How many XOR gates have that φ.
    xors: [u32; N],
    has_xor: bool,
}

impl<const N: usize> Readers<N> {
    const NONE: Self = Self {
        least: [u32::MAX; N],
        xors: [0; N],
        has_xor: false,
    };

    /// Adds a gate with this φ under rule number `rule`.
    #[inline]
    fn add(&mut self, rule: usize, phi: u32, is_xor: bool) {
        let (least, xors) = (&mut self.least[rule], &mut self.xors[rule]);
        let before = if phi < *least { 0 } else { *xors };
        *xors = before + u32::from(is_xor & (phi <= *least));
        *least = phi.min(*least);
    }

    /// How many XOR gates read the wire, which has this φ, without a translation: none of the
    /// gates that read it has a lower φ.
    #[inline]
    fn untranslated(&self, rule: usize, phi: u32) -> u64 {
        match self.least[rule] == phi {
            true => u64::from(self.xors[rule]),
            false => 0,
        }
    }
}

/// Of each XOR gate, under SafeMon1 or, if `from_greatest`, SafeMon2, the greatest of what its
/// inputs begin with.
fn begins<const N: usize>(
    program: &Program,
    starts: &[(usize, usize)],
    from_greatest: [bool; N],
) -> Vec<[u32; N]> {
    let mut xors = Vec::with_capacity(program.xors().len());
    let mut phi = vec![[0_u32; N]; program.slots()];
    steps(program, starts).for_each(|step| match step {
        Step::Xor(_, gate, ands_before) => {
            let [a, b] = [gate.a, gate.b].map(|input| phi[input as usize]);
            let greatest: [u32; N] = array::from_fn(|rule| a[rule].max(b[rule]));
            phi[gate.out as usize] = array::from_fn(|rule| match from_greatest[rule] {
                true => ands_before as u32,
                false => greatest[rule],
            });
            xors.push(greatest);
        }
        Step::And(number, gate) => phi[gate.out as usize] = [number as u32 + 1; N],
    });
    xors
}

/// SafeMon1, or SafeMon2 if `from_greatest`, for N rules at once: φ of the XOR gates, and how many
/// bridges and translations the program needs.
fn safe<const N: usize>(program: &Program, from_greatest: [bool; N]) -> (Vec<[u32; N]>, [u64; N]) {
    let starts = starts(program);
    let mut xors = begins(program, &starts, from_greatest);
    let mut readers = vec![Readers::<N>::NONE; program.slots()];
    let mut is_output = vec![false; program.slots()];
    for output in program.outputs() {
        if let Output::Slot { slot, .. } = output {
            is_output[*slot as usize] = true;
        }
    }
    let mut untranslated = [0; N];
    steps(program, &starts).rev().for_each(|step| match step {
        Step::Xor(number, gate, ands_before) => {
            let out = mem::replace(&mut readers[gate.out as usize], Readers::NONE);
            let is_output = mem::take(&mut is_output[gate.out as usize]);
            let greatest = ands_before as u32;
            for (rule, phi) in xors[number].iter_mut().enumerate() {
                if is_output && from_greatest[rule] {
                    *phi = greatest;
                } else if !is_output && out.least[rule] <= greatest {
                    *phi = out.least[rule];
                }
                untranslated[rule] += out.untranslated(rule, *phi);
                for input in [gate.a, gate.b] {
                    readers[input as usize].add(rule, *phi, true);
                }
            }
            for input in [gate.a, gate.b] {
                readers[input as usize].has_xor = true;
            }
        }
        Step::And(number, gate) => {
            let out = mem::replace(&mut readers[gate.out as usize], Readers::NONE);
            is_output[gate.out as usize] = false;
            let phi = number as u32 + 1;
            for (rule, count) in untranslated.iter_mut().enumerate() {
                *count += out.untranslated(rule, phi);
                for input in [gate.a, gate.b] {
                    readers[slot(input)].add(rule, phi, false);
                }
            }
        }
    });
    let inputs = &readers[..program.inputs()];
    let bridges = inputs.iter().filter(|input| input.has_xor).count();
    let both = (2 * program.xors().len() + bridges) as u64;
    let translations = array::from_fn(|rule| {
        let of_inputs = inputs.iter().map(|input| input.untranslated(rule, 0));
        both - untranslated[rule] - of_inputs.sum::<u64>()
    });
    (xors, translations)
}
