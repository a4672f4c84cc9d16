//! Runs with crosses that were made ahead.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::functions::{Draw, random_case};
use super::lying::{ands, assert_masks_serve_once};
use super::*;
use crate::gmw::memory::stocked;
use crate::gmw::packing::RowWriter;
use crate::gmw::rows::{CrossMasks, CrossOts};
use crate::gmw::{CrossBlock, CrossDemand, CrossKind, StockedCrosses, memory_bytes, prepare};
use crate::io::Io;

/// The threads of one party.
const SEVERAL_THREADS: NonZeroUsize = NonZeroUsize::new(3).expect("not zero");

/// A party's blocks, in the order in which they were made.
type Blocks = VecDeque<(CrossKind, Role, CrossBlock)>;

/// Makes both parties' halves of a lot.
fn lot(demand: &CrossDemand, extension: Extension) -> [Blocks; 2] {
    let [garbler, evaluator] = directions_of(extension, BaseOt::default(), [5, 6]);
    let make = async |io: &mut Io<'_>, directions, seed: &Zeroizing<[u8; 32]>| {
        let mut blocks = Blocks::new();
        let keep = |kind, sender, block: CrossBlock| {
            blocks.push_back((kind, sender, block));
            Ok(())
        };
        prepare(io, directions, demand, seed, keep).await?;
        Ok(blocks)
    };
    let seeds = fresh_seeds();
    let made = run_both(
        async |io| make(io, garbler, &seeds[0]).await,
        async |io| make(io, evaluator, &seeds[1]).await,
    );
    let (garbler, evaluator) = made.expect("honest");
    [garbler, evaluator]
}

/// Returns the masks for a run, from blocks that were converted to bytes and back.
fn masks<'b>(schedule: &Schedule, role: Role, blocks: &'b mut Blocks) -> StockedCrosses<'b> {
    StockedCrosses::new(schedule, role, move |kind, sender, count| {
        let next = |_| {
            let of = |block: &(CrossKind, Role, CrossBlock)| (block.0, block.1) == (kind, sender);
            let place = blocks.iter().position(of).expect("a block");
            let (_, _, block) = blocks.remove(place).expect("there");
            CrossBlock::from_bytes(kind, sender == role, block.into_bytes())
        };
        (0..count).map(next).collect()
    })
}

/// Runs both parties from stock. Returns their messages.
fn run_from_stock(
    case: &Case,
    (clear, shares): &(Vec<bool>, [Vec<bool>; 2]),
    blocks: &mut [Blocks; 2],
) -> Messages {
    let schedule = case.schedule();
    let run = Run {
        function: &case.function,
        schedule: &schedule,
    };
    let [mine, yours] = blocks;
    let mine = masks(&schedule, Role::Garbler, mine);
    let yours = masks(&schedule, Role::Evaluator, yours);
    let mut messages = Messages::new();
    let ended = run_two(
        async |io| {
            run.run_stocked(io, &shares[0], mine, NonZeroUsize::MIN)
                .await
        },
        async |io| {
            run.run_stocked(io, &shares[1], yours, SEVERAL_THREADS)
                .await
        },
        &mut |from, _, kind, (_, payload)| {
            messages.push((from, kind, payload.clone()));
            Ok(())
        },
    );
    let (garbler, evaluator) = ended.both().expect("honest");
    let [for_garbler, for_evaluator] = case.results(clear);
    assert_eq!((&*garbler, &*evaluator), (&for_garbler, &for_evaluator));
    messages
}

#[test]
fn random_functions_run_from_stock() {
    let mut wide = 0;
    for number in 0..12 {
        let mut draw = Draw(prg(2000 + number));
        let case = random_case(&mut draw);
        let demand = CrossDemand::of(&case.schedule());
        wide += demand.wide.iter().sum::<u64>();
        let mut blocks = lot(&demand, SOFT_SPOKEN);
        let messages = run_from_stock(&case, &case.inputs(&mut draw.0), &mut blocks);
        assert!(
            messages
                .iter()
                .all(|(_, kind, _)| [Kind::Layer, Kind::ResultShares].contains(kind))
        );
        // All blocks are spent, even where the last ones are only partly used.
        assert!(blocks.iter().all(VecDeque::is_empty));
    }
    assert!(wide > 0);
}

#[test]
fn a_run_takes_several_blocks_of_silent_crosses() {
    let case = Case::of(ands(25_000, Recipient::Both));
    let demand = CrossDemand::of(&case.schedule());
    // The garbler chooses the first step's 75,000 crosses: the evaluator sends their OTs.
    assert_eq!((demand.narrow, demand.wide), ([1, 2], [0, 0]));
    let inputs = case.inputs(&mut prg(3));
    run_from_stock(&case, &inputs, &mut lot(&demand, Extension::Silent));
}

/// Both runs of a function take their blocks from one lot.
#[test]
fn no_two_messages_from_stock_have_one_mask() {
    let mut of_lot = None;
    assert_masks_serve_once(|case, inputs| {
        let CrossDemand { narrow, wide } = CrossDemand::of(&case.schedule());
        let [narrow, wide] = [narrow, wide].map(|blocks| blocks.map(|blocks| 2 * blocks));
        let twice = CrossDemand { narrow, wide };
        let mut blocks = of_lot.take().unwrap_or_else(|| lot(&twice, SOFT_SPOKEN));
        let messages = run_from_stock(case, inputs, &mut blocks);
        of_lot = Some(blocks).filter(|blocks| !blocks[0].is_empty());
        messages
    });
}

#[test]
fn blocks_are_halves_of_crosses_and_no_two_are_alike() {
    let demand = CrossDemand {
        narrow: [2, 1],
        wide: [1, 2],
    };
    let blocks = lot(&demand, SOFT_SPOKEN);
    let order: Vec<_> = blocks[0]
        .iter()
        .map(|(kind, sender, _)| (*kind, *sender))
        .collect();
    let mut others = blocks[1].iter().map(|(kind, sender, _)| (*kind, *sender));
    for (kind, sender) in &order {
        assert_eq!(others.next(), Some((*kind, *sender)));
    }
    assert_eq!((order.len(), others.next()), (6, None));
    let [garbler, evaluator] = blocks.map(Vec::from);
    let mut seen = Vec::new();
    for ((kind, sender, mine), (.., yours)) in garbler.into_iter().zip(evaluator) {
        let (mine, yours) = (mine.into_bytes(), yours.into_bytes());
        let (sent, received) = match sender {
            Role::Garbler => (mine, yours),
            Role::Evaluator => (yours, mine),
        };
        assert_eq!(sent.len(), kind.bytes(true));
        assert_eq!(received.len(), kind.bytes(false));
        let bits = kind.crosses() / 8;
        let choices = &received[..bits];
        let ones: u32 = choices.iter().map(|byte| byte.count_ones()).sum();
        let half = kind.crosses() as u32 / 2;
        assert!(ones.abs_diff(half) < half / 8, "{ones} choices are 1");
        match kind {
            CrossKind::Narrow => {
                for (i, b) in choices.iter().enumerate() {
                    assert_eq!(received[bits + i], sent[i] ^ b & sent[bits + i]);
                }
            }
            CrossKind::Wide => {
                let hashes = received[bits..].as_chunks::<16>().0.iter().enumerate();
                let both = sent.as_chunks::<16>().0;
                for (i, hash) in hashes {
                    let one = usize::from(choices[i / 8] >> (i % 8) & 1);
                    assert_eq!(*hash, both[i + one * kind.crosses()]);
                }
            }
        }
        let begins: [u8; 64] = sent[..64].try_into().expect("64 bytes");
        assert!(!seen.contains(&begins));
        seen.push(begins);
    }
}

/// A service admits a run by what is said before it, and a peer chooses what its runs take. A wide
/// cross of the stock takes 256 bits, however few gates it serves.
#[test]
fn memory_of_a_run_from_stock_is_within_what_is_said() {
    let mut wide = 0;
    let random = (0..12).map(|number| random_case(&mut Draw(prg(2000 + number))).schedule());
    let long = Case::of(ands(3_000_000, Recipient::Both)).schedule();
    for schedule in random.chain([long]) {
        wide += CrossDemand::of(&schedule).wide.iter().sum::<u64>();
        for role in Role::BOTH {
            let mut masks = StockedCrosses::new(&schedule, role, |kind, sender, count| {
                let bytes = || Zeroizing::new(vec![0; kind.bytes(sender == role)]);
                let block = |_| CrossBlock::from_bytes(kind, sender == role, bytes());
                (0..count).map(block).collect()
            });
            for step in schedule.steps() {
                masks.begin_step(&step).expect("blocks");
                let (held, said) = (masks.masks().held_bytes(), stocked(&schedule));
                assert!(held <= said, "{held} bytes, and {said} are said");
                assert!(said <= memory_bytes(&schedule));
                masks.end_step(&step);
            }
        }
    }
    assert!(wide > 0);
}

/// Otherwise a party whose disk is full would make all other OTs of the order for nothing.
#[test]
fn no_ots_are_made_for_blocks_that_are_not_kept() {
    let demands = [([16, 0], [0, 0]), ([0, 0], [256, 0])];
    for demand in demands.map(|(narrow, wide)| CrossDemand { narrow, wide }) {
        let full = || Error::Material("the disk is full".to_owned());
        let count = |fails: bool| {
            let [garbler, evaluator] = directions_of(SOFT_SPOKEN, BaseOt::default(), [7, 8]);
            let seeds = fresh_seeds();
            let mut refills = 0;
            let keep_all = |_, _, _| Ok(());
            let keep = |_, _, _| if fails { Err(full()) } else { Ok(()) };
            let ended = run_two(
                async |io| prepare(io, garbler, &demand, &seeds[0], keep_all).await,
                async |io| prepare(io, evaluator, &demand, &seeds[1], keep).await,
                &mut |_, _, _, _| {
                    refills += 1;
                    Ok(())
                },
            );
            let is_kept = ended.results.1.is_ok();
            assert_eq!(
                is_kept, !fails,
                "{demand:?}, a block that is not kept ends it"
            );
            refills
        };
        let (all, few) = (count(false), count(true));
        assert!(few < all / 2, "{demand:?}: {few} messages of {all}");
    }
}

/// A cross that is read before its block is open, or after its step, would have masks of zeros: it
/// would open shares in the clear, and give the right result.
#[test]
fn crosses_that_are_not_open_are_not_read() {
    let schedule = Case::of(ands(5, Recipient::Both)).schedule();
    let role = Role::Garbler;
    let mut masks = StockedCrosses::new(&schedule, role, |kind, sender, count| {
        let bytes = || Zeroizing::new(vec![0; kind.bytes(sender == role)]);
        let block = |_| CrossBlock::from_bytes(kind, sender == role, bytes());
        (0..count).map(block).collect()
    });
    let is_read = |masks: &StockedCrosses<'_>, number| {
        let cross = CrossOts {
            sender: Role::Evaluator,
            number,
            number_of_kind: number,
            gates_before: number,
            instances: 64,
            width: 1,
        };
        let read = || {
            let (mut writer, mut words) = (RowWriter::default(), [[0]; 2]);
            let [first, second] = &mut words;
            masks
                .masks()
                .rows(&cross, 0..64, &mut writer, [first, second]);
        };
        catch_unwind(AssertUnwindSafe(read)).is_ok()
    };
    let step = schedule.steps().next().expect("a step");
    assert!(!is_read(&masks, 0));
    masks.begin_step(&step).expect("blocks");
    assert!(is_read(&masks, 0));
    let crosses = CrossKind::Narrow.crosses() as u64;
    assert!(!is_read(&masks, crosses));
    masks.end_step(&step);
    assert!(!is_read(&masks, 0));
}

#[test]
fn blocks_of_other_lengths_and_kinds_are_refused() {
    for kind in CrossKind::ALL {
        for sends in [true, false] {
            for bytes in [0, kind.bytes(sends) - 1, kind.bytes(sends) + 1] {
                let bytes = Zeroizing::new(vec![0; bytes]);
                let refused = CrossBlock::from_bytes(kind, sends, bytes);
                assert!(matches!(refused, Err(Error::DamagedMaterial(_))));
            }
        }
    }
    let case = Case::of(ands(5, Recipient::Both));
    let schedule = case.schedule();
    for (wrong, more) in [(true, 0), (false, 1)] {
        let mut other = StockedCrosses::new(&schedule, Role::Garbler, |kind, sender, count| {
            let sends = (sender == Role::Garbler) ^ wrong;
            let bytes = || Zeroizing::new(vec![0; kind.bytes(sends)]);
            let block = |_| CrossBlock::from_bytes(kind, sends, bytes());
            (0..count + more).map(block).collect()
        });
        let refused = schedule
            .steps()
            .try_for_each(|step| other.begin_step(&step));
        let is_refused = matches!(refused, Err(Error::ApiMisuse(_)));
        assert!(
            is_refused,
            "blocks of the other direction, or too many, are refused"
        );
    }
}
