//! Passes over the gates of a program.
//!
//! A pass takes a function for XOR gates and one for AND gates, and calls each at one place only,
//! so that the compiler inlines both into the loop. The functions share the state that is passed to
//! both.

use crate::{AndGate, Program, XorGate};

/// Visits the gates in order. Each function gets the gate and its number among the gates of its
/// kind. `xor` also gets the number of AND gates before the gate.
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

/// Visits the gates like [`forwards`], but from the last to the first.
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
