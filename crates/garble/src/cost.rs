//! The cost of schemes, for a gate and for a program: bytes of tables, cipher calls and key
//! schedules.
//!
//! Under an ordering of offsets the cost of a XOR gate is that of its translations, so it depends
//! on the whole program.

use core::iter::Sum;
use core::ops::{Add, Mul};

use tacit_circuit::Program;

use crate::{PublicRelation, SchemeInfo};

/// The cost of one gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateCost {
    /// The ciphertext bits, as papers count them.
    pub bits: u16,
    /// The whole bytes in the tables. Further bits of [`GateCost::bits`] are packed bit by bit at
    /// the end of a segment.
    pub table_bytes: u8,
    /// The cipher calls of the garbler, without those that draw its random keys.
    pub garbler_calls: u8,
    /// The key schedules of the garbler; 0 if a key serves many gates.
    pub garbler_key_schedules: u8,
    /// The cipher calls of the evaluator.
    pub evaluator_calls: u8,
    /// The key schedules of the evaluator; 0 if a key serves many gates.
    pub evaluator_key_schedules: u8,
}

impl GateCost {
    /// The cost of a free gate.
    pub const FREE: Self = Self::of(0, 0, [0, 0], [0, 0]);

    /// Returns the cost of a gate with these ciphertext bits and whole bytes, and cipher calls and
    /// key schedules of garbler and evaluator.
    pub const fn of(bits: u16, table_bytes: u8, calls: [u8; 2], key_schedules: [u8; 2]) -> Self {
        let [garbler_calls, evaluator_calls] = calls;
        let [garbler_key_schedules, evaluator_key_schedules] = key_schedules;
        Self {
            bits,
            table_bytes,
            garbler_calls,
            garbler_key_schedules,
            evaluator_calls,
            evaluator_key_schedules,
        }
    }
}

/// The costs of a scheme. Negations are free in every scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The cost of a XOR gate; under an ordering of offsets, of each translation that its inputs
    /// need.
    pub xor: GateCost,
    /// The cost of an AND gate.
    pub and: GateCost,
}

impl Cost {
    /// Returns the costs of a scheme with free XOR gates.
    pub const fn free_xor(and: GateCost) -> Self {
        let xor = GateCost::FREE;
        Self { xor, and }
    }
}

/// The totals over one or several programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramCost {
    /// The bytes of all tables.
    pub table_bytes: u64,
    /// The cipher calls of the garbler, without those that draw its random keys.
    pub garbler_calls: u64,
    /// The key schedules of the garbler, without keys that serve many gates.
    pub garbler_key_schedules: u64,
    /// The cipher calls of the evaluator.
    pub evaluator_calls: u64,
    /// The key schedules of the evaluator, without keys that serve many gates.
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

    /// Returns the cost of this many calls.
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

impl SchemeInfo {
    /// Returns the cost of `program` under this scheme.
    pub fn program_cost(&self, program: &Program) -> ProgramCost {
        let xors = match self.ordering {
            None => program.xors().len() as u64,
            Some(rule) => program.translation_count(rule),
        };
        let ands = program.ands().len() as u64;
        let (xor, and) = (self.cost.xor, self.cost.and);
        let total = |of_xor: u8, of_and: u8| u64::from(of_xor) * xors + u64::from(of_and) * ands;
        // Each input that is not translated saves a call and its key schedule.
        let saved = self.untranslated_inputs(program);
        ProgramCost {
            table_bytes: total(xor.table_bytes, and.table_bytes) + self.bit_bytes(program),
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

    /// Returns the number of the program's XOR gates that take an input untranslated (procedure
    /// G′).
    fn untranslated_inputs(&self, program: &Program) -> u64 {
        if !self
            .public_relations
            .contains(&PublicRelation::UntranslatedInput)
        {
            return 0;
        }
        program.private_inputs()
    }

    /// Returns the bytes for the bits of AND gates other than their whole bytes, which are rounded
    /// up in each segment.
    fn bit_bytes(&self, program: &Program) -> u64 {
        let and = self.cost.and;
        let bits = usize::from(and.bits).saturating_sub(8 * usize::from(and.table_bytes));
        let of_segment = |ands: usize| (bits * ands).div_ceil(8) as u64;
        let segments = program.segments().iter();
        segments.map(|segment| of_segment(segment.ands.len())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SchemeId;
    use std::collections::BTreeMap;

    #[test]
    fn an_aes_128_costs_what_the_pages_say() {
        let circuit = tacit_components::library::find("aes-128", &BTreeMap::new());
        let program = Program::compile(&circuit.expect("the library has it"));
        let cost = |id: SchemeId| {
            let rung = id.rung().expect("it is one of SCHEMES");
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
