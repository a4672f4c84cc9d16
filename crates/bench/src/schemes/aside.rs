//! What is garbling and yet no scheme of the catalogue: fixed-key garbling and privacy-free
//! garbling, which no protocol takes.

use std::hint::black_box;

use tacit_circuit::Program;
use tacit_garble::ProgramCost;
use tacit_kernels::{Block, Cpu, Prg};

use super::{Measured, Timing};
use crate::comparison::{
    Comparison, FixedKeyAnd3, FixedKeyHalfGates, Party, PrivacyFree, table_bytes,
};
use crate::spread::Spread;

/// One of them.
#[derive(Clone, Copy)]
pub(super) enum Aside {
    FixedKeyHalfGates,
    FixedKeyAnd3,
    PrivacyFree,
}

impl Aside {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [
        Self::FixedKeyHalfGates,
        Self::FixedKeyAnd3,
        Self::PrivacyFree,
    ];

    /// What it is called.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::FixedKeyHalfGates => "hazmat-fixed-key-half-gates",
            Self::FixedKeyAnd3 => "hazmat-fixed-key-and3",
            Self::PrivacyFree => "privacy-free",
        }
    }

    /// What it costs for a program.
    pub(super) fn measured(self, program: &Program) -> Measured {
        let (assumption, table_bytes, calls) = match self {
            Self::FixedKeyHalfGates => (
                "random-permutation",
                table_bytes(FixedKeyHalfGates, program),
                [4, 2],
            ),
            Self::FixedKeyAnd3 => (
                "random-permutation",
                table_bytes(FixedKeyAnd3, program),
                [4, 1],
            ),
            Self::PrivacyFree => ("ideal-cipher", table_bytes(PrivacyFree, program), [4, 2]),
        };
        let [garbler_calls, evaluator_calls] = calls.map(|call| call * program.ands().len() as u64);
        Measured {
            name: self.name().to_owned(),
            assumption: assumption.to_owned(),
            cost: ProgramCost {
                table_bytes: table_bytes as u64,
                garbler_calls,
                evaluator_calls,
                ..ProgramCost::default()
            },
        }
    }

    /// Times it: the garbler, then the evaluator, where each is wanted.
    pub(super) fn time(self, cpu: Cpu, timing: &Timing<'_>) -> [Option<Spread>; 2] {
        match self {
            Self::FixedKeyHalfGates => time(FixedKeyHalfGates, cpu, timing),
            Self::FixedKeyAnd3 => time(FixedKeyAnd3, cpu, timing),
            Self::PrivacyFree => time(PrivacyFree, cpu, timing),
        }
    }
}

fn time<C: Comparison>(what: C, cpu: Cpu, timing: &Timing<'_>) -> [Option<Spread>; 2] {
    let program = timing.program;
    let mut prg = Prg::new(Block::ONES);
    let (start, delta) = (prg.next_block(), prg.next_block().with_lsb(1.into()));
    let labels: Vec<Block> = (0..program.inputs()).map(|_| prg.next_block()).collect();
    let mut outputs = Vec::new();
    let mut tables = vec![0; table_bytes(what, program)];
    let [mut garbler, mut evaluator] = [(); 2].map(|()| Party::new(cpu, start, 0));
    let garbling = timing.of(0, || {
        outputs.clear();
        let tables = black_box(&mut tables);
        garbler.garble(what, delta, program, &labels, tables, &mut outputs);
    });
    let evaluating = timing.of(1, || {
        outputs.clear();
        evaluator.evaluate(what, program, &labels, black_box(&tables), &mut outputs);
    });
    [garbling, evaluating]
}
