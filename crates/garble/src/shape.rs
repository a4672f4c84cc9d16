//! Which of the two hashes of half-gates is the faster for a circuit of a given shape.
//!
//! Under the *two-call* hash an AND gate costs more cipher calls than under the *re-keyed* one, and
//! no key schedule. Where gates are independent, work decides, and two-call wins: AES-128 takes
//! re-keyed half as long again, garbling, and two thirds longer, evaluating. Where each gate waits for
//! the one before, waiting decides: two-call waits for two calls, re-keyed for one, since its keys are
//! known beforehand; a chain takes it a fifth less time, garbling, and three tenths less, evaluating.
//! In nanoseconds a gate that is *alone* in its batch gains 9 and 13 by the re-keyed hash, and one that
//! is not loses 9 and 8 (Zen 3 with VAES, both in one run). So half-gates are re-keyed where the
//! former outnumber the latter by [`LONE_FOR_ONE`].
//!
//! What is chosen becomes part of the scheme id. It depends on the programs alone, so that both
//! parties choose alike, on whatever machines.

use tacit_circuit::Program;

use crate::SchemeId;

/// How many AND gates alone in their batch gain by the re-keyed hash what one that is not loses.
const LONE_FOR_ONE: u64 = 1;

/// How the AND gates of programs lie in batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// AND gates alone in their batch: each waits for the one before.
    pub lone_ands: u64,
    /// All other AND gates.
    pub other_ands: u64,
}

impl Shape {
    /// The shape of these programs, each called so often.
    #[must_use]
    pub fn of(programs: &[(&Program, u64)]) -> Self {
        let mut shape = Self::default();
        for (program, calls) in programs {
            let batches = program.batches().iter();
            let lone = batches.filter(|batch| batch.ands == 1).count();
            let others = program.ands().len() - lone;
            let total = |ands: usize| calls.saturating_mul(ands as u64);
            shape.lone_ands = shape.lone_ands.saturating_add(total(lone));
            shape.other_ands = shape.other_ands.saturating_add(total(others));
        }
        shape
    }

    /// Half-gates under the hash that is the faster for this shape.
    #[must_use]
    pub fn half_gates(self) -> SchemeId {
        if self.lone_ands > self.other_ands.saturating_mul(LONE_FOR_ONE) {
            SchemeId::HALF_GATES_REKEYED
        } else {
            SchemeId::HALF_GATES_TWO_CALL
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn program(name: &str) -> Program {
        let circuit = tacit_circuit::library::find(name, &BTreeMap::new());
        Program::compile(&circuit.expect("the library has it"))
    }

    #[test]
    fn a_chain_is_rekeyed_and_a_wide_circuit_is_not() {
        let (chain, wide) = (program("adder"), program("aes-128"));
        let of = |programs: &[(&Program, u64)]| Shape::of(programs).half_gates();
        assert_eq!(of(&[(&chain, 1)]), SchemeId::HALF_GATES_REKEYED);
        assert_eq!(of(&[(&wide, 1)]), SchemeId::HALF_GATES_TWO_CALL);
        // What is called more often decides.
        let calls = |chains, wides| of(&[(&chain, chains), (&wide, wides)]);
        assert_eq!(calls(1, 1), SchemeId::HALF_GATES_TWO_CALL);
        assert_eq!(calls(1_000_000, 1), SchemeId::HALF_GATES_REKEYED);
        assert_eq!(calls(u64::MAX, u64::MAX), SchemeId::HALF_GATES_TWO_CALL);
    }

    #[test]
    fn no_gates_are_of_the_default_scheme() {
        assert_eq!(Shape::default().half_gates(), SchemeId::HALF_GATES_TWO_CALL);
    }
}
