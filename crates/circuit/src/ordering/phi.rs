//! The φ of every wire, by the three rules.

use core::{array, mem};

use super::OrderingRule;
use super::walk::{backwards, forwards};
use crate::{NEGATED, Output, Program};

/// Returns the slot of an AND gate's input.
pub(super) fn slot(input: u32) -> usize {
    (input & !NEGATED) as usize
}

/// The φ of the wires of a program.
pub(super) struct Phi {
    pub(super) inputs: Vec<u32>,
    pub(super) xors: Vec<u32>,
    /// The φ of AND outputs. Under the safe rules, that of gate g is g + 1.
    pub(super) ands: Vec<u32>,
    /// Whether every AND output has a distinct φ.
    pub(super) is_safe: bool,
}

impl Phi {
    pub(super) fn of(program: &Program, rule: OrderingRule) -> Self {
        match rule {
            OrderingRule::Monotone => {
                let mut xors = Vec::with_capacity(program.xors().len());
                let (inputs, ands, _) = monotone(program, |phi| xors.push(phi));
                Self {
                    inputs,
                    xors,
                    ands,
                    is_safe: false,
                }
            }
            OrderingRule::SafeMon1 => Self::safe(program, false),
            OrderingRule::SafeMon2 => Self::safe(program, true),
        }
    }

    fn safe(program: &Program, from_greatest: bool) -> Self {
        let (xors, _) = safe(program, [from_greatest]);
        Self {
            inputs: vec![0; program.inputs()],
            xors: xors.into_flattened(),
            ands: (1..=program.ands().len() as u32).collect(),
            is_safe: true,
        }
    }
}

/// Returns the number of bridges and translations of the program under the monotone rule.
pub(super) fn monotone_translations(program: &Program) -> u64 {
    monotone(program, |_| {}).2
}

/// Returns the number of bridges and translations of the program under SafeMon1 and under SafeMon2.
pub(super) fn safe_translations(program: &Program) -> [u64; 2] {
    safe(program, [false, true]).1
}

/// Computes φ = L − depth, where the depth is the greatest number of AND gates on a path to an
/// output. Returns φ of the inputs and of the AND outputs, and the number of bridges and
/// translations of the program. `keep` gets φ of each XOR output, in order.
fn monotone(program: &Program, keep: impl FnMut(u32)) -> (Vec<u32>, Vec<u32>, u64) {
    /// Marks an input that no XOR gate has read yet. Every φ is smaller.
    const UNREAD: u32 = 1 << 31;
    let mut depth = vec![0_u32; program.slots()];
    let mut ands = vec![0; program.ands().len()];
    let raise = |depth: &mut [u32], inputs: [usize; 2], below: u32| {
        for input in inputs {
            depth[input] = depth[input].max(below);
        }
    };
    backwards(
        program,
        &mut (&mut depth[..], &mut ands[..]),
        |(depth, _), _, gate, _| {
            let below = mem::take(&mut depth[gate.out as usize]);
            raise(depth, [gate.a as usize, gate.b as usize], below);
        },
        |(depth, ands), number, gate| {
            ands[number] = mem::take(&mut depth[gate.out as usize]);
            raise(depth, [slot(gate.a), slot(gate.b)], ands[number] + 1);
        },
    );
    let mut inputs = depth;
    inputs.truncate(program.inputs());
    let most = inputs.iter().chain(&ands).copied().max().unwrap_or(0);
    for depth in inputs.iter_mut().chain(&mut ands) {
        *depth = most - *depth;
    }
    let mut phi: Vec<u32> = inputs.iter().map(|phi| phi | UNREAD).collect();
    phi.resize(program.slots(), 0);
    let mut walked = (&mut phi[..], 0, keep);
    forwards(
        program,
        &mut walked,
        |(phi, translations, keep), _, gate, _| {
            let [a, b] = [gate.a, gate.b].map(|input| {
                let phi = &mut phi[input as usize];
                *translations += u64::from(*phi >> 31);
                *phi &= !UNREAD;
                *phi
            });
            *translations += u64::from(a != b);
            phi[gate.out as usize] = a.max(b);
            keep(a.max(b));
        },
        |(phi, ..), number, gate| phi[gate.out as usize] = ands[number],
    );
    let translations = walked.1;
    (inputs, ands, translations)
}

/// The known gates that read a wire, under each of N rules.
#[derive(Clone, Copy)]
struct Readers<const N: usize> {
    /// The least φ of their outputs.
    least: [u32; N],
    /// The number of XOR gates with that φ.
    xors: [u32; N],
    has_xor: bool,
    /// Whether the wire is an output.
    is_output: bool,
}

impl<const N: usize> Readers<N> {
    const NONE: Self = Self {
        least: [u32::MAX; N],
        xors: [0; N],
        has_xor: false,
        is_output: false,
    };

    /// Adds a gate whose output has this φ.
    #[inline]
    fn add(&mut self, phi: [u32; N], is_xor: bool) {
        for (rule, phi) in phi.into_iter().enumerate() {
            let (least, xors) = (&mut self.least[rule], &mut self.xors[rule]);
            let before = if phi < *least { 0 } else { *xors };
            *xors = before + u32::from(is_xor & (phi <= *least));
            *least = phi.min(*least);
        }
        self.has_xor |= is_xor;
    }

    /// Returns the number of XOR gates that read the wire without a translation, given the wire's
    /// φ. No gate that reads the wire has a lower φ.
    #[inline]
    fn untranslated(&self, rule: usize, phi: u32) -> u64 {
        if self.least[rule] == phi {
            u64::from(self.xors[rule])
        } else {
            0
        }
    }
}

/// Returns for each XOR gate the maximum of its inputs' start values under SafeMon1, or under
/// SafeMon2 if `from_greatest` is set.
fn begins<const N: usize>(program: &Program, from_greatest: [bool; N]) -> Vec<[u32; N]> {
    let mut xors = vec![[0; N]; program.xors().len()];
    let mut phi = vec![[0_u32; N]; program.slots()];
    forwards(
        program,
        &mut (&mut phi[..], &mut xors[..]),
        |(phi, xors), number, gate, ands_before| {
            let [a, b] = [gate.a, gate.b].map(|input| phi[input as usize]);
            let greatest: [u32; N] = array::from_fn(|rule| a[rule].max(b[rule]));
            phi[gate.out as usize] = array::from_fn(|rule| {
                if from_greatest[rule] {
                    ands_before as u32
                } else {
                    greatest[rule]
                }
            });
            xors[number] = greatest;
        },
        |(phi, _), number, gate| phi[gate.out as usize] = [number as u32 + 1; N],
    );
    xors
}

/// Computes SafeMon1, or SafeMon2 if `from_greatest` is set, for N rules at once. Returns φ of the
/// XOR gates, and the number of bridges and translations of the program.
fn safe<const N: usize>(program: &Program, from_greatest: [bool; N]) -> (Vec<[u32; N]>, [u64; N]) {
    let mut xors = begins(program, from_greatest);
    let mut readers = vec![Readers::<N>::NONE; program.slots()];
    for output in program.outputs() {
        if let Output::Slot { slot, .. } = output {
            readers[*slot as usize].is_output = true;
        }
    }
    let mut walked = (&mut readers[..], &mut xors[..], [0; N]);
    backwards(
        program,
        &mut walked,
        |(readers, xors, untranslated), number, gate, ands_before| {
            let out = mem::replace(&mut readers[gate.out as usize], Readers::NONE);
            let greatest = ands_before as u32;
            let begun = xors[number];
            let phi = array::from_fn(|rule| {
                let least = out.least[rule];
                let of_readers = if least <= greatest {
                    least
                } else {
                    begun[rule]
                };
                let of_output = if from_greatest[rule] {
                    greatest
                } else {
                    begun[rule]
                };
                if out.is_output { of_output } else { of_readers }
            });
            xors[number] = phi;
            for (rule, count) in untranslated.iter_mut().enumerate() {
                *count += out.untranslated(rule, phi[rule]);
            }
            for input in [gate.a, gate.b] {
                readers[input as usize].add(phi, true);
            }
        },
        |(readers, _, untranslated), number, gate| {
            let out = mem::replace(&mut readers[gate.out as usize], Readers::NONE);
            let phi = number as u32 + 1;
            for (rule, count) in untranslated.iter_mut().enumerate() {
                *count += out.untranslated(rule, phi);
            }
            for input in [gate.a, gate.b] {
                readers[slot(input)].add([phi; N], false);
            }
        },
    );
    let untranslated = walked.2;
    let inputs = &readers[..program.inputs()];
    let bridges = inputs.iter().filter(|input| input.has_xor).count();
    let both = (2 * program.xors().len() + bridges) as u64;
    let translations = array::from_fn(|rule| {
        let of_inputs = inputs.iter().map(|input| input.untranslated(rule, 0));
        both - untranslated[rule] - of_inputs.sum::<u64>()
    });
    (xors, translations)
}
