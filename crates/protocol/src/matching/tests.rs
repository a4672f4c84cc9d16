//! Sizes and hashes compared with frozen ones, failure rates with their bounds, intersections with
//! plain sets, and peers that lie.

mod intersection;
mod join;
mod lying;
mod silent;
mod threads;
mod vectors;

use std::collections::HashMap;

use tacit_kernels::{Block, Prg};

use super::bins::{EMPTY, place_vartime};
use super::keys::{KeyEncoding, Keys, TooManyRows};
use super::okvs::{Band, Decoder, Dependent, Encoder, Value, order_vartime};
use super::sizes::okvs_columns;

/// The number of rows, the bits of a band, the number of starts, and the bound on the failure rate.
const BAND_BOUNDS: [(usize, u32, u64, f64); 3] = [
    (100, 16, 125, 0.3291),
    (200, 24, 240, 0.0293),
    (1000, 24, 1250, 0.6386),
];

/// The number of keys and of bins, and the bound on the rate at which no placement exists.
const BIN_BOUNDS: [(usize, usize, f64); 4] = [
    (5, 9, 0.1441),
    (6, 12, 0.0523),
    (8, 18, 0.0096),
    (12, 27, 0.0027),
];

fn random(prg: &mut Prg) -> u64 {
    prg.next_block().to_u128() as u64
}

/// Returns rows with bands of up to `width` random bits.
fn rows<const N: usize>(
    prg: &mut Prg,
    count: usize,
    starts: u64,
    width: u32,
) -> Vec<(u32, Band, Value<N>)> {
    let mut all: Vec<_> = (0..count)
        .map(|_| {
            let band: Band =
                core::array::from_fn(|word| match width - (64 * word as u32).min(width) {
                    0 => 0,
                    left => random(prg) >> (64 - left.min(64)),
                });
            let value = core::array::from_fn(|_| prg.next_block());
            ((random(prg) % starts) as u32, band, value)
        })
        .collect();
    all.sort_by_key(|row| row.0);
    all
}

fn encode<const N: usize>(
    rows: &[(u32, Band, Value<N>)],
    columns: usize,
) -> Result<Vec<Value<N>>, Dependent> {
    let mut encoder = Encoder::new(columns, &mut Prg::new(Block::ONES));
    for (start, band, value) in rows {
        encoder.push_vartime(*start, *band, *value)?;
    }
    Ok(encoder.finish_vartime().to_vec())
}

/// Returns the sum of a row's columns, computed by its definition.
fn defined<const N: usize>(columns: &[Value<N>], start: u32, band: Band) -> Value<N> {
    let mut sum = [Block::ZERO; N];
    for j in (0..256).filter(|j| band[j / 64] >> (j % 64) & 1 == 1) {
        for (sum, column) in sum.iter_mut().zip(columns[start as usize + j]) {
            *sum ^= column;
        }
    }
    sum
}

fn rows_are_decoded<const N: usize>(count: usize) {
    let columns = okvs_columns(count as u64) as usize;
    let rows = rows::<N>(&mut Prg::new(Block::ZERO), count, columns as u64 - 255, 256);
    let encoding = encode(&rows, columns).unwrap();
    assert_eq!(encoding.len(), columns);
    let mut decoder = Decoder::new(&encoding);
    for (start, band, value) in &rows {
        assert_eq!(defined(&encoding, *start, *band), *value);
        assert_eq!(decoder.sum_vartime(*start, *band), *value);
    }
}

#[test]
fn every_row_sums_up_to_its_value() {
    for count in [1, 2, 3, 17, 255, 256, 257, 1000] {
        rows_are_decoded::<1>(count);
    }
    rows_are_decoded::<3>(300);
    rows_are_decoded::<1>(20_000);
}

#[test]
fn rows_that_were_not_encoded_are_decoded_as_defined() {
    let columns = okvs_columns(200) as usize;
    let encoding = encode(
        &rows::<2>(&mut Prg::new(Block::ZERO), 200, 100, 256),
        columns,
    )
    .unwrap();
    let mut decoder = Decoder::new(&encoding);
    for (start, band, _) in rows::<2>(&mut Prg::new(Block::ONES), 50, columns as u64 - 255, 256) {
        assert_eq!(
            decoder.sum_vartime(start, band),
            defined(&encoding, start, band)
        );
    }
}

#[test]
fn columns_that_no_row_takes_are_uniform() {
    let columns = okvs_columns(40) as usize;
    let encoding = encode(&rows::<1>(&mut Prg::new(Block::ZERO), 40, 60, 256), columns).unwrap();
    let mut seen = HashMap::new();
    for [column] in encoding {
        assert!(
            seen.insert(column.to_u128(), ()).is_none(),
            "a column that shows no key is there"
        );
    }
    assert!(
        !seen.contains_key(&0),
        "a column that shows no key is there"
    );
}

#[test]
fn the_order_is_that_of_starts() {
    let ordered = order_vartime(&[5, 0, 7, 5]);
    assert_eq!(*ordered, [[0, 1], [5, 0], [5, 3], [7, 2]]);
    assert!(order_vartime(&[]).is_empty());
    // Starts of up to three digits, many of them equal.
    for most in [1, 100, 1 << 11, 1 << 22, u64::from(u32::MAX) + 1] {
        let mut prg = Prg::new(Block::ZERO);
        let starts: Vec<u32> = (0..5000)
            .map(|_| (random(&mut prg) % most) as u32)
            .collect();
        let mut expected: Vec<[u32; 2]> = starts.iter().copied().zip(0..).map(Into::into).collect();
        expected.sort();
        assert_eq!(*order_vartime(&starts), expected);
    }
}

/// Narrow bands fail often. The measured rate is compared with bounds that other code computed.
#[test]
fn dependent_rows_are_as_rare_as_bounded() {
    let (mut prg, mut all) = (Prg::new(Block::from_u128(7)), 0.0);
    for (count, width, starts, bound) in BAND_BOUNDS {
        let tries = 500;
        let failed = (0..tries)
            .filter(|_| {
                encode(
                    &rows::<1>(&mut prg, count, starts, width),
                    starts as usize + 255,
                )
                .is_err()
            })
            .count() as f64
            / f64::from(tries);
        let limit = bound * 1.1 + 3.0 * (bound / f64::from(tries)).sqrt();
        assert!(
            failed <= limit,
            "{count} rows of {width} bits: {failed} and {bound}"
        );
        all += failed;
    }
    assert!(all > 0.0, "nothing is measured");
}

#[test]
fn placements_are_missing_as_rarely_as_bounded() {
    let (mut prg, mut all) = (Prg::new(Block::from_u128(8)), 0);
    for (keys, bins, bound) in BIN_BOUNDS {
        let (tries, third) = (20_000, bins as u64 / 3);
        let mut failed = 0;
        for _ in 0..tries {
            let mut place = |j: u64| (j * third + random(&mut prg) % third) as u32;
            let places: Vec<_> = (0..keys).map(|_| [place(0), place(1), place(2)]).collect();
            match place_vartime(&places, bins, &mut prg) {
                Ok(table) => placed(&places, &table),
                Err(_) => failed += 1,
            }
        }
        all += failed;
        let (failed, tries) = (f64::from(failed) / f64::from(tries), f64::from(tries));
        let limit = bound + 3.0 * (bound / tries).sqrt();
        assert!(failed <= limit, "{keys} keys: {failed} and {bound}");
    }
    assert!(all > 0, "nothing is measured");
}

/// Checks that each key is in exactly one bin, which is one of its places.
fn placed(places: &[[u32; 3]], table: &[u32]) {
    let mut times = vec![0; places.len()];
    for (bin, key) in (0..).zip(table).filter(|(_, key)| **key != EMPTY) {
        assert!(places[*key as usize].contains(&bin));
        times[*key as usize] += 1;
    }
    assert!(times.iter().all(|times| *times == 1));
}

/// By Hall's theorem three keys on two bins have no placement. Four keys on four bins may have one,
/// which a walk of any length may miss.
#[test]
fn a_placement_is_found_wherever_there_is_one() {
    let mut prg = Prg::new(Block::ZERO);
    let crowded = vec![[0, 3, 6], [0, 3, 6], [0, 3, 6]];
    placed(&crowded, &place_vartime(&crowded, 9, &mut prg).unwrap());
    let four = vec![[0, 3, 6]; 4];
    assert!(place_vartime(&four, 9, &mut prg).is_err());
    // A chain in which each key but the last has one place that no other wants.
    let chain: Vec<[u32; 3]> = (0..500).map(|i| [i, i, i + 1]).collect();
    placed(&chain, &place_vartime(&chain, 501, &mut prg).unwrap());
}

#[test]
fn keys_are_refused_twice_and_encoded_with_their_lengths() {
    let key = |parts: &[&str]| {
        let parts = parts.iter().map(|part| part.as_bytes());
        parts.fold(KeyEncoding::default(), KeyEncoding::text)
    };
    assert_ne!(key(&["a", "bc"]), key(&["ab", "c"]));
    assert_ne!(key(&["a", ""]), key(&["", "a"]));
    let duplicate = Keys::new([key(&["x"]), key(&["y"]), key(&["x"])]).unwrap_err();
    let (row, first, most) = (2, 0, 1);
    assert_eq!(duplicate, TooManyRows { row, first, most });
    let keys = Keys::new([key(&["x"]), key(&["y"])]).unwrap();
    assert_eq!((keys.len(), format!("{keys:?}")), (2, "Keys(2)".to_owned()));
}
