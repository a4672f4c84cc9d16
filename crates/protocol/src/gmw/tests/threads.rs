//! What is sent and made does not depend on the number of threads.

use std::num::NonZeroUsize;

use super::functions::wide_function;
use super::*;
use crate::gmw::{CrossDemand, prepare};

/// Threads of both parties.
const THREADS: [[usize; 2]; 3] = [[1, 1], [3, 1], [2, 8]];

fn on_threads(extension: Extension, threads: [usize; 2]) -> [Directions; 2] {
    let mut both = directions_of(extension, BaseOt::default(), [7, 8]);
    for (directions, threads) in both.iter_mut().zip(threads) {
        directions.set_threads(NonZeroUsize::new(threads).expect("not zero"));
    }
    both
}

/// The blocks that both parties make, and all messages.
fn made(extension: Extension, threads: [usize; 2]) -> ([Vec<Vec<u8>>; 2], Messages) {
    let demand = CrossDemand {
        narrow: [3, 2],
        wide: [9, 4],
    };
    blocks_of(on_threads(extension, threads), &demand)
}

/// The blocks that both parties make of these directions, and all messages.
pub(super) fn blocks_of(
    [garbler, evaluator]: [Directions; 2],
    demand: &CrossDemand,
) -> ([Vec<Vec<u8>>; 2], Messages) {
    let (mut blocks, mut messages) = ([Vec::new(), Vec::new()], Vec::new());
    let [garblers, evaluators] = &mut blocks;
    let ended = run_two(
        async |io| {
            let keep = |_, _, block: crate::gmw::CrossBlock| {
                garblers.push(block.into_bytes().to_vec());
                Ok(())
            };
            prepare(io, garbler, demand, &seed(20), keep).await
        },
        async |io| {
            let keep = |_, _, block: crate::gmw::CrossBlock| {
                evaluators.push(block.into_bytes().to_vec());
                Ok(())
            };
            prepare(io, evaluator, demand, &seed(21), keep).await
        },
        &mut |from, _, kind, (_, payload)| {
            messages.push((from, kind, payload.clone()));
            Ok(())
        },
    );
    ended.both().expect("honest");
    (blocks, messages)
}

#[test]
fn crosses_and_messages_are_the_same_on_any_number_of_threads() {
    for extension in [SOFT_SPOKEN, Extension::Silent] {
        let [first, others @ ..] = THREADS.map(|threads| made(extension, threads));
        for other in others {
            assert!(first == other, "{extension}");
        }
    }
}

/// What the parties of a run send, and their results.
fn ran(
    extension: Extension,
    threads: [usize; 2],
    inputs: &[Vec<bool>; 2],
) -> (Messages, [Bits; 2]) {
    let case = Case::of(wide_function(6000));
    let schedule = case.schedule();
    let run = Run {
        function: &case.function,
        schedule: &schedule,
    };
    let [mut garbler, mut evaluator] = on_threads(extension, threads);
    let mut messages = Messages::new();
    let ended = run_two(
        async |io| run.run(io, &inputs[0], &mut garbler, &seed(20)).await,
        async |io| run.run(io, &inputs[1], &mut evaluator, &seed(21)).await,
        &mut |from, _, kind, (_, payload)| {
            messages.push((from, kind, payload.clone()));
            Ok(())
        },
    );
    let (garbler, evaluator) = ended.both().expect("honest");
    (messages, [garbler, evaluator])
}

#[test]
fn a_run_is_the_same_on_any_number_of_threads() {
    let case = Case::of(wide_function(6000));
    let (clear, shares) = case.inputs(&mut prg(5));
    for extension in [SOFT_SPOKEN, Extension::Silent] {
        let [first, others @ ..] = THREADS.map(|threads| ran(extension, threads, &shares));
        let found = first.1.each_ref().map(|bits| bits.to_vec());
        assert!(found == case.results(&clear), "{extension}");
        for other in others {
            assert!(first == other, "{extension}");
        }
    }
}
