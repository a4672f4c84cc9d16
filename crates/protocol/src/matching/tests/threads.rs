//! Results and the messages of each party do not depend on the number of threads.

use std::num::NonZeroUsize;

use tacit_kernels::Block;
use tacit_ot::source::Extension;
use zeroize::Zeroizing;

use super::super::join::Join;
use super::super::plain::Plain;
use super::super::sizes::{PlainSizes, Sizes, Widths};
use super::intersection::{keys, tag};
use crate::io::memory::run_two;
use crate::setup::OtSettings;

/// Threads of both parties.
const THREADS: [[usize; 2]; 3] = [[1, 1], [3, 1], [2, 8]];

fn settings(extension: Extension, threads: [usize; 2]) -> [OtSettings; 2] {
    threads.map(|threads| OtSettings {
        extension,
        threads: NonZeroUsize::new(threads).unwrap(),
        ..OtSettings::default()
    })
}

fn seeds() -> [Zeroizing<[u8; 32]>; 2] {
    [1, 2].map(|byte| Zeroizing::new([byte; 32]))
}

/// Checks that `run` gives the same with all numbers of threads.
fn assert_same<T: PartialEq>(what: &str, run: impl Fn([usize; 2]) -> T) {
    let [first, others @ ..] = THREADS.map(run);
    for (other, threads) in others.into_iter().zip(&THREADS[1..]) {
        assert!(first == other, "{what} on {threads:?} threads");
    }
}

#[test]
fn intersections_are_the_same_on_any_number_of_threads() {
    let (mine, yours) = (keys(0..5_000), keys(4_000..7_000));
    let sizes = PlainSizes {
        shards: 32,
        ..PlainSizes::of(300, 300).unwrap()
    };
    let [seed, other] = seeds();
    for extension in [Extension::default(), Extension::Silent] {
        assert_same(&extension.to_string(), |threads| {
            let both = settings(extension, threads);
            let [placer, programmer] = both.map(|of| Plain::new(sizes, tag(3), of, true));
            let mut sent = [Vec::new(), Vec::new()];
            let ended = run_two(
                async |io| placer.place(io, &mine, &seed).await,
                async |io| programmer.program(io, &yours, &other).await,
                &mut |from, _, _, (_, payload)| {
                    sent[from].push(payload.clone());
                    Ok(())
                },
            );
            let (found, _) = ended.both().unwrap();
            assert_eq!(found.iter().filter(|found| **found).count(), 1_000);
            (found, sent)
        });
    }
}

#[test]
fn joins_are_the_same_on_any_number_of_threads() {
    let (mine, yours) = (keys(0..1_500), keys(1_000..2_500));
    let widths = Widths {
        placer_bits: 8,
        programmer_bits: 100,
    };
    let sizes = Sizes {
        shards: 32,
        ..Sizes::of(100, 100, 1, widths).unwrap()
    };
    let blocks = (sizes.payload_bits as usize).div_ceil(128);
    let mut payloads = vec![Block::ZERO; 1_500 * blocks];
    for payload in payloads.iter_mut().step_by(blocks) {
        *payload = Block::from_u128(0x1234);
    }
    let [seed, other] = seeds();
    assert_same("a join", |threads| {
        let both = settings(Extension::default(), threads);
        let [placer, programmer] = both.map(|of| Join::new(sizes, tag(3), of));
        let mut sent = [Vec::new(), Vec::new()];
        let ended = run_two(
            async |io| placer.place(io, &mine, &seed).await,
            async |io| programmer.program(io, (&yours, &payloads), &other).await,
            &mut |from, _, _, (_, payload)| {
                sent[from].push(payload.clone());
                Ok(())
            },
        );
        let (placed, programmed) = ended.both().unwrap();
        let all = |values: &super::super::BinValues| values.values().flatten().copied().collect();
        let values: [Vec<Block>; 2] = [all(&placed.values), all(&programmed)];
        (placed.rows.to_vec(), values, sent)
    });
}
