//! Passes over the gates of a program.
//!
//! A pass takes a function for XOR gates and one for AND gates, and calls each from one place, so
//! that the compiler inlines both into the loop. What they share is the state passed to both.

use crate::{AndGate, Program, XorGate};

/// Goes over the gates in order. Each is given with its number among its kind, and a XOR gate with
/// how many AND gates come before it.
#[inline(always)]
pub(crate) fn forwards<T>(
    program: &Program,
    state: &mut T,
    xor: impl Fn(&mut T, usize, &XorGate, usize),
    and: impl Fn(&mut T, usize, &AndGate),
) {
    let (mut xors, mut ands) = (0, 0);
    for batch in program.batches() {
        let ends = (xors + batch.xors as usize, ands + batch.ands as usize);
        for (number, gate) in (xors..).zip(&program.xors()[xors..ends.0]) {
            xor(state, number, gate, ands);
        }
        for (number, gate) in (ands..).zip(&program.ands()[ands..ends.1]) {
            and(state, number, gate);
        }
        (xors, ands) = ends;
    }
}

/// [`forwards`], from the last gate to the first.
#[inline(always)]
pub(crate) fn backwards<T>(
    program: &Program,
    state: &mut T,
    xor: impl Fn(&mut T, usize, &XorGate, usize),
    and: impl Fn(&mut T, usize, &AndGate),
) {
    let (mut xors, mut ands) = (program.xors().len(), program.ands().len());
    for batch in program.batches().iter().rev() {
        let starts = (xors - batch.xors as usize, ands - batch.ands as usize);
        for (number, gate) in (starts.1..ands).zip(&program.ands()[starts.1..ands]).rev() {
            and(state, number, gate);
        }
        for (number, gate) in (starts.0..xors).zip(&program.xors()[starts.0..xors]).rev() {
            xor(state, number, gate, starts.1);
        }
        (xors, ands) = starts;
    }
}
