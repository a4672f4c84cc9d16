//! Which of the two hashes of half-gates suits a circuit of a given shape.
//!
//! Under the *two-call* hash an AND gate waits for two cipher calls, one after the other; under the
//! *re-keyed* one it waits for one call, whose key is known beforehand, and costs two key schedules
//! more. Gates that do not wait for each other hide the wait and pay for the work; a gate alone in its
//! batch waits for the gate before it, and hides nothing. So half-gates are re-keyed where most AND
//! gates are alone in their batch, and two-call elsewhere. docs/schemes/half-gates.md has measurements;
//! the rule has none in it.
//!
//! What is chosen becomes part of the scheme id. It depends on the programs alone, so that both
//! parties choose alike, on whatever machines.

use tacit_circuit::Program;

use crate::SchemeId;

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

    /// Half-gates under the hash that suits this shape.
    #[must_use]
    pub fn half_gates(self) -> SchemeId {
        if self.lone_ands > self.other_ands {
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
