//! Bins of joins compared with plain joins.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use tacit_circuit::Digest;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::super::join::{BinValues, Join, PlacedBins};
use super::super::keys::{KeyEncoding, Keys};
use super::super::sizes::{Sizes, Widths};
use super::super::stage::{JoinedTable, TableRows};
use super::super::telling::exchange_open_sizes;
use super::intersection::{keys, tag};
use crate::io::memory::{Ended, Sent, run_two};
use crate::message::Kind;
use crate::setup::OtSettings;
use crate::{Error, Incompatibility, Misbehaviour};

pub(super) fn sized(placer: u64, programmer: u64, upto: u64, programmer_bits: u32) -> Sizes {
    let widths = Widths {
        placer_bits: 8,
        programmer_bits,
    };
    Sizes::of(placer, programmer, upto, widths).unwrap()
}

/// Returns a random payload for each of `count` keys; bits above it are zero.
fn payloads(sizes: &Sizes, count: usize) -> Vec<Block> {
    let bits = sizes.payload_bits as usize;
    let blocks = bits.div_ceil(128);
    let mut all = vec![Block::ZERO; count * blocks];
    Prg::new(Block::from_u128(9)).fill_blocks(&mut all);
    if blocks > 0 {
        let mask = Block::from_u128(u128::MAX >> (128 * blocks - bits));
        for last in all.iter_mut().skip(blocks - 1).step_by(blocks) {
            *last = *last & mask;
        }
    }
    all
}

pub(super) fn run_with(
    sizes: Sizes,
    placer: &Keys,
    programmer: (&Keys, &[Block]),
    mut change: impl FnMut(Kind, &mut Sent),
) -> Ended<PlacedBins, BinValues> {
    let join = Join::new(sizes, tag(3), OtSettings::default());
    let [mine, yours] = [1, 2].map(|byte| Zeroizing::new([byte; 32]));
    run_two(
        async |io| join.place(io, placer, &mine).await,
        async |io| join.program(io, programmer, &yours).await,
        &mut |_, _, kind, sent| {
            change(kind, sent);
            Ok(())
        },
    )
}

/// Returns bit `i` of a value.
fn bit(value: &[Block], i: usize) -> bool {
    value[i / 128].to_u128() >> (i % 128) & 1 == 1
}

/// Runs a join and compares its bins with a plain join.
fn agrees(sizes: Sizes, placer: &[u64], programmer: &[u64]) -> (PlacedBins, BinValues) {
    let given = payloads(&sizes, programmer.len());
    let (mine, yours) = (
        keys(placer.iter().copied()),
        keys(programmer.iter().copied()),
    );
    let ended = run_with(sizes, &mine, (&yours, &given), |_, _| ());
    let (placed, programmed) = ended.both().unwrap();
    let (tag, payload) = (sizes.tag_bits as usize, sizes.payload_bits as usize);
    let row: HashMap<u64, usize> = programmer.iter().copied().zip(0..).collect();
    let mut placed_rows = 0;
    let values = placed.values.values().zip(programmed.values());
    for (own, (placers, programmers)) in placed.rows.iter().zip(values) {
        let matched = (0..tag).all(|i| bit(placers, i) == bit(programmers, i));
        let theirs = own.and_then(|own| row.get(&placer[own as usize]));
        assert_eq!(matched, theirs.is_some());
        placed_rows += usize::from(own.is_some());
        if let Some(theirs) = theirs {
            let blocks = payload.div_ceil(128);
            let expected = &given[theirs * blocks..][..blocks];
            let found = |i| bit(placers, tag + i) ^ bit(programmers, tag + i);
            assert!((0..payload).all(|i| found(i) == bit(expected, i)));
        }
        let bits = tag + payload;
        assert!((bits..128 * placers.len()).all(|i| !bit(placers, i) && !bit(programmers, i)));
    }
    assert_eq!(placed_rows, placer.len());
    (placed, programmed)
}

#[test]
fn bins_are_those_of_plain_joins() {
    let all: Vec<u64> = (0..400).collect();
    for (placer, programmer, upto, bits) in [
        (&all[..1], &all[..1], 1, 0),
        (&all[..1], &all[1..2], 1, 7),
        (&all[..100], &all[50..200], 1, 64),
        (&all[..64], &all[..64], 1, 84),
        (&all[..64], &all[64..], 5, 16),
        // Values of more than four blocks.
        (&all[..30], &all[20..60], 8, 100),
    ] {
        let sizes = sized(placer.len() as u64, programmer.len() as u64, upto, bits);
        agrees(sizes, placer, programmer);
    }
    assert!(agrees(sized(0, 3, 1, 8), &[], &[1, 2, 3]).0.rows.is_empty());
    // Turns of three shards, and one of the last two. Values of one block, and of more than four.
    for (upto, bits) in [(1, 32), (8, 100)] {
        let mut sizes = sized(100, 100, upto, bits);
        sizes.shards = 8;
        let (placed, _) = agrees(sizes, &all[..300], &all[200..]);
        assert_eq!(placed.rows.len() as u64, 8 * sizes.bins);
    }
}

/// Each bin of each shard has its own random tag and payload. A common r for all bins would tell
/// the placer which of its keys matched, and an empty bin with a known value would reveal which
/// bins are empty.
#[test]
fn each_bin_has_values_of_its_own() {
    let all: Vec<u64> = (0..300).collect();
    let mut sizes = sized(150, 150, 1, 60);
    sizes.shards = 4;
    let (placed, programmed) = agrees(sizes, &all, &all);
    for values in [&placed.values, &programmed] {
        let mut seen: Vec<u128> = values.values().map(|value| value[0].to_u128()).collect();
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count);
        // The payload's bits are random too.
        assert!(seen.iter().any(|value| value >> 100 != 0));
    }
}

#[test]
fn wrong_hints_and_payloads_are_refused() {
    let (placer, programmer) = (keys(0..10), keys(5..15));
    let sizes = sized(10, 10, 1, 16);
    let given = payloads(&sizes, 10);
    let missing = run_with(sizes, &placer, (&programmer, &given[1..]), |_, _| ());
    assert!(matches!(missing.both(), Err(Error::ApiMisuse(_))));
    for longer in [false, true] {
        let change = |kind, sent: &mut Sent| {
            if kind == Kind::MatchHint {
                let length = sent.1.len();
                sent.1
                    .resize(if longer { length + 1 } else { length - 1 }, 0);
            }
        };
        let ended = run_with(sizes, &placer, (&programmer, &given), change);
        assert_eq!(ended.first_failure, Some(0));
        let refused = ended.both().err().unwrap();
        let wrong = matches!(
            refused,
            Error::PeerMisbehaved(Misbehaviour::WrongLength {
                kind: Kind::MatchHint,
                ..
            })
        );
        assert!(wrong, "{refused}");
    }
}

/// An input has a table's rows by key: the count, then the rows in the table's order.
#[test]
fn inputs_have_tags_rows_and_payloads_in_their_order() {
    let key = |key: u64| KeyEncoding::default().fixed(&key.to_le_bytes(), 64);
    let bits = |value: u64, bits: usize| (0..bits).map(move |i| value >> i & 1 == 1);
    let table = |rows: &[(u64, u64)], width, most| {
        let mut read = TableRows::new(width);
        for (of, row) in rows {
            read.push(key(*of), &bits(*row, width).collect::<Vec<_>>());
        }
        JoinedTable::by_key(read, most, NonZeroUsize::MIN)
    };
    // Rows of 50 bits cross the border of a block.
    let (placer, programmer) = (
        [(7, 0x15), (8, 0x2a), (9, 1)],
        [(8, 3), (5, 4), (8, 1 << 49), (9, 5), (8, 6)],
    );
    let widths = Widths {
        placer_bits: 6,
        programmer_bits: 50,
    };
    let sizes = Sizes::of(4, 3, 3, widths).unwrap();
    assert_eq!(sizes.payload_bits, 2 + 3 * 50);
    let (mine, yours) = (
        table(&placer, 6, 1).unwrap(),
        table(&programmer, 50, 3).unwrap(),
    );
    assert_eq!((yours.keys().len(), yours.row_count()), (3, 5));
    let join = Join::new(sizes, tag(4), OtSettings::default());
    let seeds = [1, 2].map(|byte| Zeroizing::new([byte; 32]));
    let ended = run_two(
        async |io| join.placer_input(io, &mine, &seeds[0]).await,
        async |io| join.programmer_input(io, &yours, &seeds[1]).await,
        &mut |_, _, _, _| Ok(()),
    );
    let ((placers, keys), programmers) = ended.both().unwrap();
    let (tag_bits, payload) = (sizes.tag_bits as usize, sizes.payload_bits as usize);
    let (placers, programmers) = (placers.to_bools(), programmers.to_bools());
    let placers: Vec<_> = placers.chunks_exact(tag_bits + 6 + payload).collect();
    let programmers: Vec<_> = programmers.chunks_exact(tag_bits + payload).collect();
    assert_eq!(placers.len() as u64, sizes.all_bins());
    assert_eq!(programmers.len() as u64, sizes.all_bins());
    for ((mine, yours), key) in placers.iter().zip(&programmers).zip(keys.iter()) {
        let row = key.map_or(0, |key| placer[key as usize].1);
        assert!(mine[tag_bits..][..6].iter().copied().eq(bits(row, 6)));
        let rows: Vec<u64> = match key {
            Some(1) => vec![3, 1 << 49, 6],
            Some(2) => vec![5],
            _ => {
                assert_ne!(mine[..tag_bits], yours[..tag_bits]);
                continue;
            }
        };
        assert_eq!(mine[..tag_bits], yours[..tag_bits]);
        let payload = mine[tag_bits + 6..].iter().zip(&yours[tag_bits..]);
        let payload: Vec<bool> = payload.map(|(mine, yours)| mine ^ yours).collect();
        let missing = std::iter::repeat_n(0, 3 - rows.len());
        let all = rows.iter().copied().chain(missing);
        let expected = bits(rows.len() as u64, 2).chain(all.flat_map(|row| bits(row, 50)));
        assert!(payload.into_iter().eq(expected));
    }

    let twice = table(&programmer, 50, 1).err().unwrap();
    assert_eq!(
        ([twice.row, twice.first], twice.to_string()),
        ([2, 0], "row 2 has the key of row 0".into())
    );
    let thrice = table(&programmer, 50, 2).err().unwrap();
    assert_eq!([thrice.row, thrice.first], [4, 0]);
}

/// Both parties exchange sizes. Another program, or a size outside its range, is refused.
#[test]
fn open_sizes_are_told_and_checked() {
    let digest = |byte| Digest([byte; 32]);
    let exchange = |meanings: [u8; 2], sizes: [&[u64]; 2], most: u64| {
        run_two(
            async |io| {
                exchange_open_sizes(io, digest(meanings[0]), sizes[0], &[0..=most], None).await
            },
            async |io| {
                exchange_open_sizes(io, digest(meanings[1]), sizes[1], &[0..=9, 0..=9], None).await
            },
            &mut |_, _, _, _| Ok(()),
        )
    };
    let ended = exchange([1, 1], [&[3, 4], &[5]], 5).both().unwrap();
    assert_eq!(ended, (vec![5], vec![3, 4]));
    let error = |ended: Ended<_, _>| ended.both().err().unwrap();
    let other = error(exchange([1, 2], [&[3, 4], &[5]], 5));
    assert!(
        matches!(
            other,
            Error::PeerIncompatible(Incompatibility::Function { .. })
        ),
        "{other}"
    );
    for (sizes, most, wrong) in [
        ([&[3, 4][..], &[6]], 5, "size"),
        ([&[3, 4], &[]], 5, "number of sizes"),
        ([&[3], &[5]], 5, "number of sizes"),
        ([&[3, 10], &[5]], 5, "size"),
    ] {
        let told = error(exchange([1, 1], sizes, most));
        assert!(
            matches!(
                &told,
                Error::PeerMisbehaved(Misbehaviour::InvalidField {
                    kind: Kind::MatchSizes,
                    field,
                }) if *field == wrong
            ),
            "{told}"
        );
    }
}
