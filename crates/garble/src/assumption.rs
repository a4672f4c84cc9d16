//! The assumptions of schemes, and the choice of a scheme for given programs if none is named.
//!
//! **The hash of half-gates** is chosen by the programs alone, so that both parties make the same
//! choice on any machines and under any protocol. A gate that is *alone* in its batch waits for the
//! one before: two cipher calls under the two-call hash, one under the re-keyed one, whose keys are
//! known beforehand. The cost of gates that do not wait is their work: eight calls of the garbler
//! under two-call, four calls and two key schedules under re-keyed. If most AND gates are alone,
//! half-gates are re-keyed, else two-call.

use core::fmt;
use core::str::FromStr;

use tacit_circuit::Program;

use crate::{SCHEMES, SchemeId, SchemeInfo};

/// The assumption of a scheme about AES. A later one implies the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Assumption {
    /// AES under a random key is a pseudorandom function.
    PseudorandomFunction,
    /// It stays one under keys that differ by secret random offsets.
    RelatedKey,
    /// The same, even if the hidden values depend on the offset of the keys.
    Circular,
    /// AES is an ideal cipher: an independent random permutation for every key, also public ones.
    IdealCipher,
}

/// The error of a text that names no assumption.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not an assumption; choose prf, related-key, circular or ideal-cipher")]
pub struct UnknownAssumption {
    /// The text, cut to its first 64 characters.
    pub found: String,
}

impl Assumption {
    /// Returns the best scheme that rests on this assumption alone, for any circuit. The smallest
    /// ordering of the related-key rung depends on the circuit, as does the faster hash of
    /// half-gates: [`Assumption::scheme_for`] takes that into account.
    pub fn default_scheme(self) -> SchemeId {
        match self {
            Self::PseudorandomFunction => SchemeId::PRF,
            Self::RelatedKey => SchemeId::RELATED_KEY_MONOTONE,
            Self::Circular => SchemeId::CIRCULAR_HALF_GATES,
            Self::IdealCipher => SchemeId::HALF_GATES_TWO_CALL,
        }
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PseudorandomFunction => "prf",
            Self::RelatedKey => "related-key",
            Self::Circular => "circular",
            Self::IdealCipher => "ideal-cipher",
        })
    }
}

impl FromStr for Assumption {
    type Err = UnknownAssumption;

    fn from_str(text: &str) -> Result<Self, UnknownAssumption> {
        match text {
            "prf" => Ok(Self::PseudorandomFunction),
            "related-key" => Ok(Self::RelatedKey),
            "circular" => Ok(Self::Circular),
            "ideal-cipher" => Ok(Self::IdealCipher),
            _ => Err(UnknownAssumption {
                found: text.chars().take(64).collect(),
            }),
        }
    }
}

impl Assumption {
    /// Returns the best scheme that rests on this assumption alone for these programs, each with
    /// its number of calls. Under `related-key` it is the ordering with the fewest bytes of tables,
    /// since all three have the same security and bytes decide over a network. Under `ideal-cipher`
    /// it is half-gates with the hash that suits their [`AndCounts`]. Otherwise it is
    /// [`Assumption::default_scheme`].
    ///
    /// Both parties compute the same.
    pub fn scheme_for(self, programs: &[(&Program, u64)]) -> SchemeId {
        if self == Self::IdealCipher {
            return AndCounts::of(programs).half_gates();
        }
        let bytes = |rung: &&SchemeInfo| -> u64 {
            let costs = programs.iter().map(|&(program, calls)| {
                rung.program_cost(program).table_bytes.saturating_mul(calls)
            });
            costs.fold(0, u64::saturating_add)
        };
        let orderings = SCHEMES
            .iter()
            .filter(|rung| self == Self::RelatedKey && rung.assumption == self);
        orderings
            .min_by_key(bytes)
            .map_or(self.default_scheme(), |rung| rung.id)
    }
}

/// The numbers of AND gates in programs, by their kind of batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AndCounts {
    /// The AND gates that are alone in their batch: each waits for the one before.
    pub lone_ands: u64,
    /// All other AND gates.
    pub other_ands: u64,
}

impl AndCounts {
    /// Counts the AND gates of these programs, each with its number of calls.
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

    /// Returns half-gates under the hash that suits most of the gates: see the module's header.
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

    #[test]
    fn an_assumption_leads_to_a_scheme_that_needs_no_more() {
        for assumption in [
            Assumption::PseudorandomFunction,
            Assumption::RelatedKey,
            Assumption::Circular,
            Assumption::IdealCipher,
        ] {
            let rung = assumption
                .default_scheme()
                .rung()
                .expect("it is one of SCHEMES");
            assert_eq!(rung.assumption, assumption);
            assert_eq!(assumption.to_string().parse(), Ok(assumption));
        }
    }

    #[test]
    fn an_unknown_assumption_is_refused() {
        let error = "prayer".parse::<Assumption>().expect_err("it is none");
        assert_eq!(
            error,
            UnknownAssumption {
                found: "prayer".to_owned()
            }
        );
        assert!(
            error
                .to_string()
                .contains("choose prf, related-key, circular or ideal-cipher")
        );
    }

    fn program(name: &str) -> Program {
        let circuit = tacit_components::library::find(name, &BTreeMap::new());
        Program::compile(&circuit.expect("the library has it"))
    }

    #[test]
    fn a_chain_is_rekeyed_and_a_wide_circuit_is_not() {
        let (chain, wide) = (program("adder"), program("aes-128"));
        let of = |programs: &[(&Program, u64)]| AndCounts::of(programs).half_gates();
        assert_eq!(of(&[(&chain, 1)]), SchemeId::HALF_GATES_REKEYED);
        assert_eq!(of(&[(&wide, 1)]), SchemeId::HALF_GATES_TWO_CALL);
        // The program that is called more often decides.
        let calls = |chains, wides| of(&[(&chain, chains), (&wide, wides)]);
        assert_eq!(calls(1, 1), SchemeId::HALF_GATES_TWO_CALL);
        assert_eq!(calls(1_000_000, 1), SchemeId::HALF_GATES_REKEYED);
        assert_eq!(calls(u64::MAX, u64::MAX), SchemeId::HALF_GATES_TWO_CALL);
    }

    #[test]
    fn no_gates_are_of_the_default_scheme() {
        assert_eq!(
            AndCounts::default().half_gates(),
            SchemeId::HALF_GATES_TWO_CALL
        );
    }
}
