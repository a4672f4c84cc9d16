//! Garbling outside the catalogue of schemes: fixed-key garbling, which no protocol uses.

use std::hint::black_box;

use tacit_circuit::Program;
use tacit_garble::ProgramCost;
use tacit_kernels::{Block, Cpu, Prg};

use super::{Measured, Timing};
use crate::comparison::{Comparison, Party, table_bytes};
use crate::spread::Spread;

/// What it is called, assumes, and costs for a program.
pub(super) fn measured<C: Comparison>(what: C, program: &Program) -> Measured {
    let [garbler_calls, evaluator_calls] = C::CALLS.map(|call| call * program.ands().len() as u64);
    Measured {
        name: C::NAME.to_owned(),
        assumption: "random-permutation".to_owned(),
        cost: ProgramCost {
            table_bytes: table_bytes(what, program) as u64,
            garbler_calls,
            evaluator_calls,
            ..ProgramCost::default()
        },
    }
}

/// Times it: the garbler, then the evaluator, where each is wanted.
pub(super) fn time<C: Comparison>(what: C, cpu: Cpu, timing: Timing<'_>) -> [Option<Spread>; 2] {
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
