//! What schemes assume, and which one is taken for given programs where none is named.
//!
//! **Which hash half-gates have** depends on the programs alone, so that both parties choose alike
//! on whatever machines and under whatever protocol. A gate that is *alone* in its batch waits for
//! the one before: two cipher calls under the two-call hash, one under the re-keyed one, whose keys
//! are known beforehand. Gates that do not wait cost work: eight calls of the garbler under
//! two-call, four calls and two key schedules under re-keyed. Where most AND gates are alone,
//! re-keyed half-gates are taken, else two-call ones.

use core::fmt;
use core::str::FromStr;

use tacit_circuit::Program;

use crate::{SCHEMES, SchemeId, SchemeInfo};

/// What a scheme assumes of AES. A later one implies the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Assumption {
    /// AES under a random key is a pseudorandom function.
    PseudorandomFunction,
    /// It stays one under keys that differ by secret, random offsets.
    RelatedKey,
    /// The same where what it hides may depend on the offset of its keys.
    Circular,
    /// AES is an ideal cipher: an independent random permutation for every key, also public ones.
    IdealCipher,
}

/// Text that names no assumption.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not an assumption; choose prf, related-key, circular or ideal-cipher")]
pub struct UnknownAssumption {
    /// The text, cut to its first 64 characters.
    pub found: String,
}

impl Assumption {
    /// The best scheme that rests on this assumption alone, whatever the circuit. Which ordering
    /// of the related-key rung is smallest depends on the circuit, and so does which hash of
    /// half-gates is the faster: [`Assumption::scheme_for`] looks.
    #[must_use]
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
    /// The best scheme that rests on this assumption alone for these programs, each called so
    /// often. Under `related-key` it is the ordering with the fewest bytes of tables, since all
    /// three have the same security and bytes decide over a network. Under `ideal-cipher` it is
    /// half-gates with the hash that suits their [`AndCounts`]. Else it is
    /// [`Assumption::default_scheme`].
    ///
    /// Both parties compute the same.
    #[must_use]
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

/// How the AND gates of programs lie in batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AndCounts {
    /// AND gates alone in their batch: each waits for the one before.
    pub lone_ands: u64,
    /// All other AND gates.
    pub other_ands: u64,
}

impl AndCounts {
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

    /// Half-gates under the hash that suits most of the gates: see the module's header.
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
        // What is called more often decides.
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
