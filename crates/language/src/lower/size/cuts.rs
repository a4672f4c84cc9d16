//! The elements into which steps cut the one value of a run.

use num_integer::Integer as _;
use tacit_function::Function;

use super::super::pieces::Piece;
use super::super::{Diagnostic, Lower};
use crate::source::Span;

/// Counts the elements of a run's one value, before there are steps.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Cuts {
    /// The number of bits of the inputs and of the results of all calls.
    bits: u64,
    /// The greatest number of bits that an element can have, or 0 if nothing cuts the value yet.
    divisor: u64,
}

impl Cuts {
    pub(in super::super) fn new(bits: u64, divisor: u64) -> Self {
        Self { bits, divisor }
    }

    /// Refuses a value that is cut into too many elements.
    pub(in super::super) fn check(self, span: Span) -> Lower<()> {
        check_elements(span, self.bits, self.divisor)
    }

    /// Refuses a call whose argument cuts the value into too many elements. Gates have places next
    /// to each other only if nothing else is between them, so that only rows of gates alone count.
    pub(in super::super) fn add(&mut self, row: &[Piece], span: Span) -> Lower<()> {
        let gates = row.iter().filter(|piece| matches!(piece, Piece::Gate(_)));
        let gates = gates.count() as u64;
        let before = self.divisor;
        for piece in row {
            match *piece {
                Piece::Wires(start, width) if gates == 0 => {
                    self.divisor = self.divisor.gcd(&(start as u64)).gcd(&(width as u64));
                }
                Piece::Wires(..) => return Ok(()),
                Piece::Constant(..) | Piece::Gate(_) => {}
            }
        }
        self.divisor = self.divisor.gcd(&gates);
        if self.divisor == before {
            Ok(())
        } else {
            self.check(span)
        }
    }
}

/// Refuses wires that are cut into more elements than a function may have. No element has more bits
/// than `divisor`, or nothing cuts the wires yet if that is 0.
pub(in super::super) fn check_elements(span: Span, bits: u64, divisor: u64) -> Lower<()> {
    let elements = bits / divisor.max(1);
    if divisor == 0 || elements <= Function::MAX_ELEMENTS {
        return Ok(());
    }
    let times = elements as f64 / Function::MAX_ELEMENTS as f64;
    Err(Diagnostic::new(
        span,
        format!(
            "the inputs of this run and the results of its components have {elements} elements, \
             {times:.2} times the {} (2^25) that a function may have: give it fewer rows or \
             narrower numbers, or compute it in several runs",
            Function::MAX_ELEMENTS
        ),
    ))
}
