//! What is garbling and yet no scheme of the ladder: fixed-key garbling and privacy-free garbling,
//! which no protocol takes.

use std::hint::black_box;

use tacit_circuit::Program;
use tacit_garble::hazmat::and3::{
    FixedKeyAnd3Evaluator, FixedKeyAnd3Garbler, fixed_key_and3_table_bytes,
};
use tacit_garble::hazmat::{FixedKeyEvaluator, FixedKeyGarbler, fixed_key_table_bytes};
use tacit_garble::{PrivacyFree, PrivacyFreeWire, ProgramCost, ValuedLabel};
use tacit_kernels::{Block, Cpu, Prg};

use super::{Measured, Timing};
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
            Self::FixedKeyHalfGates => {
                ("random-permutation", fixed_key_table_bytes(program), [4, 2])
            }
            Self::FixedKeyAnd3 => (
                "random-permutation",
                fixed_key_and3_table_bytes(program),
                [4, 1],
            ),
            Self::PrivacyFree => {
                let segments = 0..program.segments().len();
                let bytes = |segment| PrivacyFree::new().table_bytes(program, segment);
                ("ideal-cipher", segments.map(bytes).sum(), [4, 2])
            }
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
        let program = timing.program;
        let mut prg = Prg::new(Block::ONES);
        let (key, delta) = (prg.next_block(), prg.next_block().with_lsb(1.into()));
        let labels: Vec<Block> = (0..program.inputs()).map(|_| prg.next_block()).collect();
        let mut outputs = Vec::new();
        match self {
            Self::FixedKeyHalfGates => {
                let mut garbler = FixedKeyGarbler::new(cpu, key, delta);
                let mut evaluator = FixedKeyEvaluator::new(cpu, key);
                let mut tables = vec![0; fixed_key_table_bytes(program)];
                let garbling = timing.of(0, || {
                    outputs.clear();
                    garbler.garble(program, &labels, black_box(&mut tables), &mut outputs);
                });
                let evaluating = timing.of(1, || {
                    outputs.clear();
                    evaluator.evaluate(program, &labels, black_box(&tables), &mut outputs);
                });
                [garbling, evaluating]
            }
            Self::FixedKeyAnd3 => {
                let mut garbler = FixedKeyAnd3Garbler::new(cpu, key, delta);
                let mut evaluator = FixedKeyAnd3Evaluator::new(cpu, key);
                let mut tables = vec![0; fixed_key_and3_table_bytes(program)];
                let garbling = timing.of(0, || {
                    outputs.clear();
                    garbler.garble(program, &labels, black_box(&mut tables), &mut outputs);
                });
                let evaluating = timing.of(1, || {
                    outputs.clear();
                    evaluator.evaluate(program, &labels, black_box(&tables), &mut outputs);
                });
                [garbling, evaluating]
            }
            Self::PrivacyFree => privacy_free(cpu, key, delta, &labels, timing),
        }
    }
}

fn privacy_free(
    cpu: Cpu,
    start: Block,
    delta: Block,
    labels: &[Block],
    timing: &Timing<'_>,
) -> [Option<Spread>; 2] {
    let (scheme, program) = (PrivacyFree::on(cpu), timing.program);
    let mut garbler = scheme.garbler(start, delta);
    let mut evaluator = scheme.evaluator(start);
    let wires: Vec<_> = labels.iter().copied().map(PrivacyFreeWire::new).collect();
    let values = labels.iter().map(|label| ValuedLabel::new(*label, true));
    let values: Vec<_> = values.collect();
    let mut tables: Vec<Vec<u8>> = (0..program.segments().len())
        .map(|segment| vec![0; scheme.table_bytes(program, segment)])
        .collect();
    let garbling = timing.of(0, || {
        garbler.begin(0, program, &wires);
        for (segment, tables) in tables.iter_mut().enumerate() {
            garbler.garble(program, segment, black_box(tables));
        }
    });
    let evaluating = timing.of(1, || {
        evaluator.begin(0, program, &values);
        for (segment, tables) in tables.iter().enumerate() {
            evaluator.evaluate(program, segment, black_box(tables));
        }
    });
    [garbling, evaluating]
}
