//! What is sent and made does not depend on the number of threads.

use std::num::NonZeroUsize;

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
