//! What a program costs under a scheme: bytes of tables, cipher calls and key schedules.
//!
//! Under an ordering of offsets a XOR gate costs what its translations do, so that a program must
//! be looked at as a whole.

use core::iter::Sum;
use core::ops::{Add, Mul};

use tacit_circuit::Program;

use crate::{
    Assumption, LADDER, PublicRelation, Rung, Scheme, SchemeId, SchemeVisitor, Shape, with_scheme,
};

/// Totals over a program, or over several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramCost {
    /// Bytes of all tables.
    pub table_bytes: u64,
    /// Cipher calls of the garbler, without those that draw its random keys.
    pub garbler_calls: u64,
    /// Key schedules of the garbler, without keys that serve many gates.
    pub garbler_key_schedules: u64,
    /// Cipher calls of the evaluator.
    pub evaluator_calls: u64,
    /// Key schedules of the evaluator, without keys that serve many gates.
    pub evaluator_key_schedules: u64,
}

impl Add for ProgramCost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            table_bytes: self.table_bytes + other.table_bytes,
            garbler_calls: self.garbler_calls + other.garbler_calls,
            garbler_key_schedules: self.garbler_key_schedules + other.garbler_key_schedules,
            evaluator_calls: self.evaluator_calls + other.evaluator_calls,
            evaluator_key_schedules: self.evaluator_key_schedules + other.evaluator_key_schedules,
        }
    }
}

impl Mul<u64> for ProgramCost {
    type Output = Self;

    /// The cost of so many calls.
    fn mul(self, calls: u64) -> Self {
        Self {
            table_bytes: self.table_bytes * calls,
            garbler_calls: self.garbler_calls * calls,
            garbler_key_schedules: self.garbler_key_schedules * calls,
            evaluator_calls: self.evaluator_calls * calls,
            evaluator_key_schedules: self.evaluator_key_schedules * calls,
        }
    }
}

impl Sum for ProgramCost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Self::add)
    }
}

/// Bytes of a program's tables.
struct TableBytes<'p>(&'p Program);

impl SchemeVisitor for TableBytes<'_> {
    type Output = u64;

    fn visit<S: Scheme>(self, scheme: S) -> u64 {
        let segments = 0..self.0.segments().len();
        segments
            .map(|segment| scheme.table_bytes(self.0, segment) as u64)
            .sum()
    }
}

impl Rung {
    /// What `program` costs under this scheme. An ordering of offsets is computed on the way, and
    /// kept with the program.
    #[must_use]
    pub fn program_cost(&self, program: &Program) -> ProgramCost {
        let xors = match self.id.ordering.rule() {
            None => program.xors().len(),
            Some(rule) => {
                let plan = program.ordering(rule);
                plan.translations().len() + plan.bridges().len()
            }
        };
        let (xors, ands) = (xors as u64, program.ands().len() as u64);
        let (xor, and) = (self.cost.xor, self.cost.and);
        let total = |of_xor: u8, of_and: u8| u64::from(of_xor) * xors + u64::from(of_and) * ands;
        // A call and its key schedule are saved for each input that is not translated.
        let saved = self.untranslated_inputs(program);
        ProgramCost {
            table_bytes: with_scheme(self.id, TableBytes(program))
                .expect("a rung is a scheme of this version"),
            garbler_calls: total(xor.garbler_calls, and.garbler_calls) - saved,
            garbler_key_schedules: total(xor.garbler_key_schedules, and.garbler_key_schedules)
                - saved,
            evaluator_calls: total(xor.evaluator_calls, and.evaluator_calls),
            evaluator_key_schedules: total(
                xor.evaluator_key_schedules,
                and.evaluator_key_schedules,
            ),
        }
    }

    /// How many of the program's XOR gates take an input as it is (procedure G′).
    fn untranslated_inputs(&self, program: &Program) -> u64 {
        let public = self.id.public_relations();
        if !public.contains(&PublicRelation::UntranslatedInput) {
            return 0;
        }
        let levels = program.xor_levels();
        let batches = 0..program.batches().len();
        let of_batch = |batch| levels.levels(batch).iter();
        let private = batches
            .flat_map(of_batch)
            .map(|level| u64::from(level.private));
        private.sum()
    }
}

impl Assumption {
    /// The best scheme that rests on this assumption alone for these programs, each called so
    /// often. Under `related-key` it is the ordering with the fewest bytes of tables, since all
    /// three have the same security and bytes decide over a network. Under `ideal-cipher` it is
    /// half-gates with the hash that suits their [`Shape`]. Else it is
    /// [`Assumption::default_scheme`].
    ///
    /// Both parties compute the same.
    #[must_use]
    pub fn scheme_for(self, programs: &[(&Program, u64)]) -> SchemeId {
        if self == Self::IdealCipher {
            return Shape::of(programs).half_gates();
        }
        let bytes = |rung: &&Rung| -> u64 {
            let costs = programs.iter().map(|&(program, calls)| {
                rung.program_cost(program).table_bytes.saturating_mul(calls)
            });
            costs.fold(0, u64::saturating_add)
        };
        let orderings = LADDER
            .iter()
            .filter(|rung| self == Self::RelatedKey && rung.assumption == self);
        orderings
            .min_by_key(bytes)
            .map_or(self.default_scheme(), |rung| rung.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn an_aes_128_costs_what_the_pages_say() {
        let circuit = tacit_circuit::library::find("aes-128", &BTreeMap::new());
        let program = Program::compile(&circuit.expect("the library has it"));
        let cost = |id: SchemeId| {
            let rung = id.rung().expect("it is on the ladder");
            let cost = rung.program_cost(&program);
            let calls = [cost.garbler_calls, cost.evaluator_calls];
            (cost.table_bytes, calls, cost.garbler_key_schedules)
        };
        assert_eq!(cost(SchemeId::PRF), (574_016, [132_684, 58_752], 107_084));
        let monotone = cost(SchemeId::RELATED_KEY_MONOTONE);
        assert_eq!((monotone.0, monotone.1), (395_776, [62_272, 18_336]));
        let safemon1 = cost(SchemeId::RELATED_KEY_SAFEMON1);
        assert_eq!((safemon1.0, safemon1.1), (499_888, [87_986, 31_193]));
        let safemon2 = cost(SchemeId::RELATED_KEY_SAFEMON2);
        assert_eq!((safemon2.0, safemon2.1), (467_984, [83_998, 29_199]));
    }
}
