//! `vectors/match-sizes.txt` and `vectors/match-hashes.txt`, which were written by other code.

use sha2::{Digest as _, Sha256};
use tacit_kernels::Block;

use super::super::hashes::{MatchTag, Row, ShardHashes};
use super::super::sizes::{self, PlainSizes, Sizes, TooLarge, Widths, okvs_columns};
use super::super::vole;

/// Reads a file of vectors. A published crate does not include these files.
fn vectors(file: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    std::fs::read_to_string(folder.join(file)).expect("vectors of the repository")
}

#[test]
fn sizes_are_those_of_the_specification() {
    let lines = vectors("match-sizes.txt");
    let mut checked = 0;
    for line in lines.lines().filter(|line| !line.starts_with('#')) {
        let (given, expected) = line.split_once(": ").unwrap();
        let numbers = |text: &str| -> Vec<u64> {
            text.split(' ')
                .map(|number| number.parse().unwrap())
                .collect()
        };
        let given = numbers(given);
        let widths = Widths {
            placer_bits: given[3] as u32,
            programmer_bits: given[4] as u32,
        };
        let found = Sizes::of(given[0], given[1], given[2], widths).unwrap();
        let listed = [
            found.shards,
            found.placer_keys,
            found.programmer_keys,
            found.bins,
            found.ask_columns,
            found.hint_columns,
            found.tag_bits.into(),
            found.payload_bits,
            found.price_bits(),
            found.turn_shards(),
        ];
        assert_eq!(listed[..], numbers(expected), "{line}");
        checked += 1;
    }
    assert_eq!(checked, 20);
}

#[test]
fn sizes_of_plain_intersections_are_known() {
    let plain = PlainSizes::of(1 << 20, 1 << 20).unwrap();
    assert_eq!((plain.shards, plain.tag_bytes), (8, 10));
    // This is about 228 bits a row.
    let bits = 8 * plain.shards * (plain.ask_bytes() + plain.tags_bytes());
    assert_eq!(bits >> 20, 227);
    assert_eq!(plain.ask_columns, 149_357);
    let large = PlainSizes::of(1 << 26, 3).unwrap();
    assert_eq!(
        (large.shards, large.placer_keys, large.programmer_keys),
        (64, 1_057_301, 16_384)
    );
}

#[test]
fn tables_that_are_too_large_are_refused() {
    let (none, most) = (
        Widths {
            placer_bits: 0,
            programmer_bits: 0,
        },
        sizes::MAX_KEYS,
    );
    let found = most + 1;
    assert_eq!(Sizes::of(1, found, 1, none), Err(TooLarge::Keys { found }));
    assert_eq!(PlainSizes::of(found, 1), Err(TooLarge::Keys { found }));
    for found in [0, 65] {
        assert_eq!(
            Sizes::of(1, 1, found, none),
            Err(TooLarge::RowsOfKey { found })
        );
    }
    assert!(Sizes::of(most, most, 64, none).is_ok());
}

fn drawn(name: &str, count: u8) -> Vec<Block> {
    let block = |i| {
        let hash = Sha256::new_with_prefix(name).chain_update([i]).finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        Block::from_bytes(bytes)
    };
    (0..count).map(block).collect()
}

/// Compares a field, or its SHA-256 if it is long.
fn check(field: &str, found: &[u8]) {
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    let hashed = found.len() > 64;
    let found = match hashed {
        true => format!("{field}-sha256: {}", hex(&Sha256::digest(found))),
        false => format!("{field}: {}", hex(found)),
    };
    let known = vectors("match-hashes.txt");
    assert!(known.lines().any(|line| line == found), "{found}");
}

fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn bytes(blocks: &[Block]) -> Vec<u8> {
    blocks.iter().flat_map(|block| block.to_bytes()).collect()
}

#[test]
fn hashes_are_those_of_the_specification() {
    let mut run_tag = [0; 32];
    run_tag.copy_from_slice(&Sha256::digest(b"run"));
    let tag = MatchTag::new(&run_tag, 3);
    let digests = drawn("digest", 20);
    check(
        "shards",
        &words(tag.shards_of(&digests, 16).iter().copied()),
    );
    let hashes = ShardHashes::new(&tag, 5);
    let bins = sizes::bins(1000);
    let places = hashes.places(&digests, bins);
    check("places", &words(places.as_flattened().iter().copied()));
    for places in places.iter() {
        let thirds = places.map(|place| u64::from(place) / (bins / 3));
        assert_eq!(thirds, [0, 1, 2]);
    }
    let in_bins = digests.iter().zip(places.iter());
    let in_bins: Vec<_> = in_bins
        .map(|(digest, places)| *digest ^ Block::from_u128(places[1].into()))
        .collect();
    let points = hashes.points(in_bins.len(), |i| in_bins[i]);
    check("points", &bytes(&points));
    let starts = okvs_columns(1000) - 255;
    for (name, row) in [("ask", Row::Ask), ("hint", Row::Hint)] {
        check(
            &format!("{name}-starts"),
            &words(hashes.starts(row, &points, starts).iter().copied()),
        );
        let mut bands = [[0; 4]; 20];
        hashes.bands(row, &points, &mut bands);
        let bands = bands.iter().flatten().flat_map(|word| word.to_le_bytes());
        check(&format!("{name}-bands"), &bands.collect::<Vec<u8>>());
    }
    let mut elements = vec![Block::ZERO; 20];
    hashes.elements(&points, &mut elements);
    check("elements", &bytes(&elements));
    let mut pads = vec![Block::ZERO; 60];
    hashes.pads(&drawn("value", 20), &points, &mut pads);
    check("pads", &bytes(&pads));
}

#[test]
fn packing_is_that_of_the_specification() {
    let ots: [Block; 128] = drawn("ot", 128).try_into().unwrap();
    let (u, w) = vole::packed_for_test(&ots);
    check("vole-u", &u.to_le_bytes());
    check("vole-w", &w.to_bytes());
}
