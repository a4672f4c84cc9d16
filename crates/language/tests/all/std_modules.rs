//! The standard library computes what its documentation states, with the stated numbers of AND
//! gates.

use crate::both::{Chance, compare, lower, program_of, run_tests};
use tacit_language::{Loaded, NoFiles};

/// Runs the tests of a program, compares its `main` on random inputs, and counts its AND gates.
fn check(text: &str, and_gates: u64) {
    let program = program_of(text);
    run_tests(&Loaded::new("snippet.tacit", text, &NoFiles));
    let (id, lowered) = lower(&program, "main");
    let mut chance = Chance(5);
    for _ in 0..20 {
        compare(&program, id, &lowered, &mut chance);
    }
    assert_eq!(lowered.function.and_gates(), and_gates, "{text}");
}

#[test]
fn arrays_are_sorted() {
    for n in [1, 2, 3, 5, 8, 13] {
        let text = format!(
            "parties alice, bob;\nuse std::order::sort;\n\
             main(a: [u4; {n}] of alice) -> (sorted: [u4; {n}] to bob, ascending: bool to bob) {{\n\
             let b = sort(a);\nlet mut ascending = true;\n\
             for i in 0..{n} - 1 {{ ascending &= b[i] <= b[i + 1]; }}\n(b, ascending)\n}}\n"
        );
        let program = program_of(&text);
        let (id, lowered) = lower(&program, "main");
        let mut chance = Chance(3);
        for _ in 0..50 {
            compare(&program, id, &lowered, &mut chance);
            let given = chance.bits(4 * n);
            let results = lowered.function.evaluate(&given);
            let numbers = |bits: &[bool]| -> Vec<u32> {
                let number =
                    |bits: &[bool]| bits.iter().rev().fold(0, |n, b| 2 * n + u32::from(*b));
                bits.chunks(4).map(number).collect()
            };
            let mut expected = numbers(&given);
            expected.sort_unstable();
            assert_eq!(numbers(&results[..4 * n]), expected);
            assert!(results[4 * n]);
        }
    }
}

#[test]
fn the_median_and_the_greatest() {
    let text = "parties alice, bob;\nuse std::order::{median, top_k};\n\
        main(a: [u8; 7] of alice) -> (middle: u8 to both, most: [u8; 2] to both) {\n\
        (median(a), top_k::<2>(a))\n}\n\
        test \"of seven\" { assert main([5, 9, 1, 7, 7, 200, 0]) == (7, [200, 9]); }\n";
    check(text, 416);
}

/// Quartiles by nearest rank, for counts that are and are not divisible by four.
#[test]
fn quantiles() {
    let text = "parties alice, bob;\nuse std::order::quantiles;\n\
        main(a: [i8; 8] of alice, b: [i8; 5] of bob) -> (quartiles: [i8; 3] to both, more: [i8; 3] \
        to both, middle: i8 to both) {\n\
        (quantiles::<4>(a), quantiles::<4>(b), quantiles::<2>(b)[0])\n}\n\
        test \"ranks\" {\n\
        assert main([8, 6, 7, 5, -3, 0, 9, 1], [50, 10, 30, 20, 40]) == \
        ([0, 5, 7], [20, 30, 40], 30);\n}\n";
    check(text, 576);
}

#[test]
fn numbers_are_rotated() {
    let text = "parties alice, bob;\n\
        main(a: u8 of alice, b: u5 of alice, by: u32 of bob) -> (free: [u8; 4] to both, \
        five: u5 to both, secret: [u5; 2] to both) {\n\
        let mut turned = a;\nfor i in 0..5 { turned = a.rotate_left(3 * i); }\n\
        ([a.rotate_left(3), a.rotate_right(3), rotate_left(a, 11), turned], b.rotate_right(2),\n\
        [rotate_left(b, by & 7), rotate_right(b, by & 7)])\n}\n\
        test \"rotated\" {\n\
        assert main(0b1000_0110, 0b10011, 7) ==\n\
        ([0b0011_0100, 0b1101_0000, 0b0011_0100, 0b0110_1000], 0b11100, [0b01110, 0b11100]);\n\
        assert main(1, 1, 0) == ([8, 32, 8, 16], 8, [1, 1]);\n}\n";
    check(text, 25);
}

#[test]
fn rows_are_brought_together() {
    let text = "parties alice, bob;\nuse std::order::{compact, prefix_sums};\n\
        main(there: [bool; 6] of alice, a: [u4; 6] of bob)\n\
        -> (rows: [(bool, u4); 6] to both, sums: [u7; 6] to both) {\n\
        let given: [Maybe<u4>; 6] = [for i in 0..6 { Maybe { some: there[i], value: a[i] } }];\n\
        let rows = compact(given);\n\
        ([for r in rows { (r.some, if r.some { r.value } else { 0 }) }], prefix_sums(a))\n}\n\
        test \"three of six\" {\n\
        let none = (false, 0 as u4);\n\
        assert main([false, true, false, false, true, true], [1, 2, 3, 4, 5, 15]) ==\n\
        ([(true, 2), (true, 5), (true, 15), none, none, none], [1, 3, 6, 10, 15, 30]);\n}\n";
    check(text, 210);
}

#[test]
fn set_intersection() {
    let text = "parties alice, bob;\nuse std::psi::{count_and_sum, count, strictly_sorted};\n\
        main(a: [u16; 4] of alice sorted, b: [u16; 3] of bob sorted, amounts: [u8; 3] of bob)\n\
        -> (count: u2 to both, total: u10 to both, same: u2 to both, sound: bool to both) {\n\
        let (n, total) = count_and_sum(a, b, amounts);\n\
        (n, total, count(a, b), strictly_sorted(a) && strictly_sorted(b))\n}\n\
        test \"two in common\" {\n\
        assert main([0, 2, 5, 9], [2, 4, 9], [10, 20, 30]) == (2, 40, 2, true);\n\
        assert main([0, 0, 0, 1], [0, 0, 0], [1, 2, 3]) == (0, 0, 0, true);\n\
        assert main([1, 2, 2, 3], [1, 2, 3], [1, 2, 3]) == (3, 6, 3, false);\n}\n";
    check(text, 1308);
}

/// The result of a call with constants is constant, even if it is sorted by a lambda.
#[test]
fn constants_are_sorted_by_what_is_computed() {
    let text = "parties alice, bob;\nuse std::order::{merge_by, sort_by};\n\
        const VIP: [u8; 3] = [23, 11, 42];\nconst BY_DIGIT = sort_by(VIP, |v| v % 10);\n\
        const FIRST = BY_DIGIT[0];\nconst ALL = merge_by(BY_DIGIT, BY_DIGIT, |v| v % 10);\n\
        main(a: u8 of alice) -> (r: [u8; 4] to both) {\n\
        let s = sort_by(VIP, |v| v % 10);\nconst BY_REST = sort_by(VIP, |v| v % 7);\n\
        [s[0] ^ a, BY_REST[0] ^ a, ALL[3] ^ a, match a { FIRST => 1, _ => 0 }]\n}\n\
        test \"constants\" {\nassert main(0) == [11, 42, 42, 0];\n}\n";
    check(text, 7);
}

/// Elements taken in order from a sorted array are sorted, and so is a single element.
#[test]
fn keys_in_order_are_known_to_be() {
    let text = "parties alice, bob;\nuse std::psi::count;\nuse std::order::merge_by;\n\
        struct Row { id: u8, sale: bool }\n\
        main(a: [u8; 5] of alice sorted, b: [i4; 4] of bob sorted, one: u8 of bob)\n\
        -> (counts: [u3; 4] to both, ids: [u8; 7] to both) {\n\
        let rest = [for i in 0..4 { a[i + 1] as u9 }];\n\
        let odd = [for i in 0..2 { a[(2 * i + 2) / 2 * 2 - 1] }];\n\
        let wide = [for k in b { k as i10 }];\n\
        let left = [for i in 0..3 { Row { id: a[i], sale: true } }];\n\
        let right = [for i in 1..5 { Row { id: a[i], sale: false } }];\n\
        let rows = merge_by(left, right, |r| (r.sale, r.id));\n\
        ([count(rest, rest), count(odd, a) as u3, count(wide, wide), count([one], a) as u3],\n\
        [for r in rows { r.id }])\n}\n\
        test \"four counts\" {\n\
        assert main([1, 2, 3, 4, 5], [-3, 0, 1, 2], 4) ==\n\
        ([4, 2, 3, 1], [2, 3, 4, 5, 1, 2, 3]);\n}\n";
    check(text, 1391);
}

#[test]
fn tables_are_joined_grouped_and_counted() {
    let text = "parties alice, bob;\nuse std::table::{join, group_sums, histogram};\n\
        main(ids: [u8; 3] of alice sorted, ages: [u2; 3] of alice, buyers: [u8; 4] of bob sorted,\n\
        amounts: [u6; 4] of bob)\n\
        -> (sums: [u9; 3] to both, ages: [u2; 3] to both) {\n\
        let rows = join(ids, ages, buyers, amounts);\n\
        let groups = [for i in 0..7 { rows[i].value.0 }];\n\
        let spent = [for i in 0..7 { rows[i].value.1 }];\n\
        (group_sums::<3>(groups, spent), histogram::<3>(ages))\n}\n\
        test \"spending by age\" {\n\
        assert main([1, 4, 6], [2, 1, 2], [1, 1, 5, 6], [5, 7, 60, 1]) == ([0, 0, 13], [0, 1, \
        2]);\n }\n";
    check(text, 812);
}

#[test]
fn edit_distances() {
    let text = "parties alice, bob;\nuse std::edit::edit_distance;\n\
        main(a: bytes<6> of alice, b: bytes<7> of bob) -> (distance: u3 to both) {\n\
        edit_distance(a as [u8; 6], b as [u8; 7])\n}\n\
        test \"kitten and sitting\" {\n\
        assert main([107, 105, 116, 116, 101, 110], [115, 105, 116, 116, 105, 110, 103]) == 3;\n\
        assert main([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7]) == 1;\n\
        assert main([1, 1, 1, 1, 1, 1], [2, 2, 2, 2, 2, 2, 2]) == 7;\n}\n";
    check(text, 487);
}

/// Compares with the table of the textbook, for lengths around that of a block.
#[test]
fn edit_distances_of_all_lengths() {
    for (m, n) in [(1, 1), (1, 5), (15, 17), (16, 16), (18, 33)] {
        let text = format!(
            "parties alice, bob;\nuse std::edit::edit_distance;\n\
             main(a: [u1; {m}] of alice, b: [u1; {n}] of bob) -> (d: u<bits({n})> to both) {{\n\
             edit_distance(a, b)\n}}\n"
        );
        let program = program_of(&text);
        let (_, lowered) = lower(&program, "main");
        let mut chance = Chance(9);
        for _ in 0..30 {
            let given = chance.bits(m + n);
            let bits = lowered.function.evaluate(&given);
            let found = bits
                .iter()
                .rev()
                .fold(0, |sum, &bit| 2 * sum + usize::from(bit));
            assert_eq!(found, distance(&given[..m], &given[m..]), "{m} {n}");
        }
    }
}

/// All pairs of rows with the same key. Keys repeat on both sides, and key 0 does not count.
#[test]
fn tables_are_joined_many_to_many() {
    let text = "parties alice, bob;\nuse std::table::{join_many, repeats_at_most};\n\
        main(ids: [u4; 5] of alice sorted, a: [u8; 5] of alice, keys: [u4; 4] of bob sorted, \
        b: [u8; 4] of bob)\n -> (pairs: [u16; 2] to both, sound: [bool; 2] to both, \
        one: u16 to both) {\n\
        let mut pairs: [u16; 2] = [0; 2];\n\
        for row in join_many::<2>(ids, a, keys, b) {\n\
        for pair in row {\n\
        pairs[0] = add_wrap(pairs[0], pair.some as u16);\n\
        pairs[1] = add_wrap(pairs[1], pair.value.0 as u16 * pair.value.1 as u16);\n}\n}\n\
        let mut one: u16 = 0;\n\
        for pair in join_many::<1>(ids, a, keys, b) {\n\
        one = add_wrap(one, pair[0].value.0 as u16 * pair[0].value.1 as u16);\n}\n\
        (pairs, [repeats_at_most::<2>(ids), repeats_at_most::<1>(ids)], one)\n}\n\
        test \"pairs\" {\n\
        assert main([0, 3, 3, 7, 9], [1, 2, 5, 11, 13], [0, 3, 3, 7], [100, 10, 1, 3]) ==\n\
        ([5, 2 * 10 + 5 * 10 + 2 + 5 + 33], [true, false], 20 + 2 + 33);\n\
        assert main([3, 3, 3, 4, 5], [5, 5, 5, 0, 0], [3, 4, 5, 6], [1, 1, 1, 1]) ==\n\
        ([4, 10], [false, false], 5);\n\
        assert main([0, 0, 0, 0, 1], [9, 9, 9, 9, 1], [0, 0, 0, 1], [9, 9, 9, 4]) ==\n\
        ([1, 4], [true, true], 4);\n}\n";
    check(text, 5811);
}

/// Returns a text of at most `size` bytes, as bits.
fn text_bits(text: &str, size: usize) -> Vec<bool> {
    let bytes = text.bytes().chain(std::iter::repeat(0)).take(size);
    let bits = bytes.flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
    bits.collect()
}

/// The padding of a text is not a part of it. An accent adds a byte but not a letter.
#[test]
fn edit_distances_of_texts() {
    let (m, n) = (17, 20);
    let text = format!(
        "parties alice, bob;\n\
         use std::edit::{{text_distance_in_bytes, text_distance_in_code_points}};\n\
         main(a: text<{m}> of alice, b: text<{n}> of bob)\n\
         -> (bytes: u5 to both, points: u5 to both) {{\n\
         (text_distance_in_bytes(a, b), text_distance_in_code_points(a, b))\n}}\n\
         test \"names\" {{\n\
         assert main(\"jon smith\", \"john smyth\") == (2, 2);\n\
         assert main(\"bjorn\", \"björn\") == (2, 1);\n\
         assert main(\"\", \"\") == (0, 0);\n\
         assert main(\"\", \"日本\") == (6, 2);\n\
         assert main(\"kitten\", \"sitting\") == (3, 3);\n\
         assert main(\"12345678901234567\", \"12345678901234567890\") == (3, 3);\n}}\n"
    );
    let program = program_of(&text);
    run_tests(&Loaded::new("snippet.tacit", &text, &NoFiles));
    let (_, lowered) = lower(&program, "main");
    let mut chance = Chance(11);
    let letters: Vec<char> = "abö日é🦀\u{80}\u{7ff}\u{ffff}".chars().collect();
    for _ in 0..60 {
        let mut drawn = |size: usize| {
            let mut text = String::new();
            for _ in 0..chance.below(size + 1) {
                let letter = letters[chance.below(letters.len())];
                if text.len() + letter.len_utf8() <= size {
                    text.push(letter);
                }
            }
            text
        };
        let (a, b) = (drawn(m), drawn(n));
        let given = [text_bits(&a, m), text_bits(&b, n)].concat();
        let bits = lowered.function.evaluate(&given);
        let number = |bits: &[bool]| {
            let bits = bits.iter().rev();
            bits.fold(0, |sum, &bit| 2 * sum + usize::from(bit))
        };
        let points = |text: &str| text.chars().collect::<Vec<char>>();
        assert_eq!(
            number(&bits[..5]),
            distance(a.as_bytes(), b.as_bytes()),
            "{a:?} {b:?}"
        );
        assert_eq!(
            number(&bits[5..]),
            distance(&points(&a), &points(&b)),
            "{a:?} {b:?}"
        );
    }
}

fn distance<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            let changed = diagonal + usize::from(x != y);
            row[j + 1] = changed.min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

#[test]
fn scores() {
    let text = "parties alice, bob;\nuse std::score::{linear, logistic};\n\
        main(w: [fixed<6, 12>; 3] of alice, bias: fixed<6, 12> of alice, x: [fixed<6, 12>; 3] of \
        bob)\n -> (line: fixed<6, 12> to bob, likely: fixed<6, 12> to bob) {\n\
        (linear(w, bias, x), logistic(w, bias, x))\n}\n\
        test \"zero is a half\" {\n\
        assert main([0.5, -0.25, 0.0], 0.0, [1.0, 2.0, 3.0]) == (0.0, 0.5);\n\
        assert main([2.0, 2.0, 2.0], -1.0, [1.0, 1.0, 1.0]) == (5.0, 1.0);\n\
        assert main([8.0, -8.0, 0.0], -16.0, [-1.0, 1.0, 0.0]) == (-32.0, 0.0);\n}\n\
        test \"sums past the range stay at its end\" {\n\
        assert main([20.0, 20.0, 20.0], 0.0, [1.0, 1.0, 1.0]) == (31.999755859375, 1.0);\n\
        assert main([31.0, 31.0, 31.0], -32.0, [-31.0, -31.0, -31.0]) == (-32.0, 0.0);\n\
        assert main([31.0, -31.0, 2.0], 1.0, [31.0, 31.0, 3.0]) == (7.0, 1.0);\n}\n";
    check(text, 1324);
}

#[test]
fn a_row_reaches_a_leaf_of_a_tree() {
    let text = "parties alice, bob;\nuse std::tree::{Node, leaf};\n\
        main(nodes: [Node<2, i8>; 3] of alice, leaves: [(u4, bool); 4] of alice, row: [i8; 2] of \
        bob)\n -> (leaf: (u4, bool) to bob) {\nleaf::<2>(nodes, leaves, row)\n}\n\
        test \"each leaf, and a feature that no row has\" {\n\
        let nodes: [Node<2, i8>; 3] = [Node { feature: 1, threshold: 5 }, \
        Node { feature: 0, threshold: -1 }, Node { feature: 3, threshold: -2 }];\n\
        let leaves = [(1, true), (2, false), (3, true), (4, false)];\n\
        assert main(nodes, leaves, [-1, 5]) == (1, true);\n\
        assert main(nodes, leaves, [0, 5]) == (2, false);\n\
        assert main(nodes, leaves, [-9, 6]) == (4, false);\n}\n";
    check(text, 87);
}

#[test]
fn hashes_and_ciphers() {
    let text = "parties alice, bob;\nuse std::hash::sha_256;\nuse std::cipher::aes_128;\n\
        main(m: bytes<3> of alice, key: bytes<16> of alice, block: bytes<16> of bob)\n\
        -> (h: bytes<32> to both, long: bytes<32> to both, c: bytes<16> to both) {\n\
        let more = [for i in 0..56 { (m as [u8; 3])[i % 3] }];\n\
        (sha_256(m), sha_256(more as bytes<56>), aes_128(key, block))\n}\n";
    let program = program_of(text);
    let (id, lowered) = lower(&program, "main");
    compare(&program, id, &lowered, &mut Chance(5));
    assert_eq!(lowered.function.and_gates(), 3 * 22271 + 6400);
    let bits = |bytes: &[u8]| -> Vec<bool> {
        let bits = bytes
            .iter()
            .flat_map(|byte| (0..8).map(move |i| byte >> i & 1 == 1));
        bits.collect()
    };
    // FIPS 180-4's \"abc\", and appendix B of FIPS 197.
    let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    let block = 0x3243_f6a8_885a_308d_3131_98a2_e037_0734_u128.to_be_bytes();
    let results = lowered
        .function
        .evaluate(&bits(&[b"abc", &key[..], &block].concat()));
    let digest: Vec<u8> = [
        0xba78_16bf_8f01_cfea_4141_40de_5dae_2223_u128,
        0xb003_61a3_9617_7a9c_b410_ff61_f200_15ad,
    ]
    .iter()
    .flat_map(|half| half.to_be_bytes())
    .collect();
    assert_eq!(results[..256], bits(&digest));
    let cipher = 0x3925_841d_02dc_09fb_dc11_8597_196a_0b32_u128.to_be_bytes();
    assert_eq!(results[512..], bits(&cipher));
}

#[test]
fn matrices() {
    let text = "parties alice, bob;\nuse std::matrix::{product, apply, transpose};\n\
        main(a: [[i8; 3]; 2] of alice, b: [[i8; 2]; 3] of bob)\n\
        -> (ab: [[i8; 2]; 2] to both, x: [i8; 3] to both) {\n\
        (product(a, b), apply(transpose(a), [1, -1]))\n}\n\
        test \"two by three\" {\n\
        assert main([[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [2, -1]]) ==\n\
        ([[7, -1], [16, -1]], [-3, -3, -3]);\n}\n";
    check(text, 851);
}

/// The sum takes as many gates as the library's circuit of a linear classifier.
#[test]
fn sums_of_products() {
    let text = "parties model, client;\n\
        main(w: [i16; 30] of model, bias: i16 of model, x: [i16; 30] of client)\n\
        -> (above: bool to client) {\n\
        wide_dot(w, x) as i38 + bias as i38 >= 0\n}\n\
        test \"none\" { assert main([0; 30], 0, [1; 30]); assert !main([1; 30], 29, [-1; 30]); }\n";
    check(text, 8748);
    let text = "parties a, b;\n\
        main(x: [u7; 1] of a, y: [u3; 5] of b) -> (one: u15 to both, five: u9 to both) {\n\
        (wide_dot(x, x), wide_dot(y, y))\n}\n\
        test \"greatest\" { assert main([127], [7; 5]) == (16129, 245); }\n";
    check(text, 83);
}

#[test]
fn noise_is_two_sided() {
    let text = "parties alice, bob;\nuse std::noise::two_sided;\nuse std::random::random;\n\
        main(below: [u64; 2] public, count: i8 of alice) -> (shown: i8 to both) {\n\
        count + two_sided(random::<[[u64; 2]; 2]>(), below) as i8\n}\n\
        test \"none and all\" with seed = 7 {\n\
        assert main([0, 0], 5) == 5;\nlet all = 18446744073709551615;\n\
        assert main([all, all], 5) == 5;\n}\n";
    let loaded = Loaded::new("snippet.tacit", text, &NoFiles);
    run_tests(&loaded);
}

/// Whole roots are exact. The other functions are as precise as documented.
#[test]
fn roots_powers_and_logarithms() {
    for (whole, fraction) in [(6, 12), (8, 20)] {
        let number = format!("fixed<{whole}, {fraction}>");
        let text = format!(
            "parties alice, bob;\nuse std::number::{{whole_sqrt, sqrt, exp, ln}};\n\
             main(x: {number} of alice, n: u9 of bob)\n\
             -> (a: {number} to both, b: {number} to both, c: {number} to both, d: u5 to both) {{\n\
             (sqrt(x), exp(x), ln(x), whole_sqrt(n))\n}}\n"
        );
        let program = program_of(&text);
        let (id, lowered) = lower(&program, "main");
        let mut chance = Chance(3);
        compare(&program, id, &lowered, &mut chance);
        let width = (whole + fraction) as usize;
        let unit = 0.5_f64.powi(fraction);
        let number = |bits: &[bool]| {
            let raw = bits
                .iter()
                .rev()
                .fold(0_i64, |sum, &bit| 2 * sum + i64::from(bit));
            let sign = i64::from(bits[bits.len() - 1]) << bits.len();
            (raw - sign) as f64
        };
        for _ in 0..400 {
            let given = chance.bits(width + 9);
            let x = number(&given[..width]) * unit;
            let n = number(&[&given[width..], &[false]].concat());
            let found = lowered.function.evaluate(&given);
            let result = |place: usize| number(&found[place * width..][..width]) * unit;
            let near = |found: f64, is: f64, off: f64| {
                assert!((found - is).abs() < off, "{x}: {found}, and not {is}");
            };
            near(result(0), x.max(0.0).sqrt(), 1.01 * unit);
            if x < f64::from(whole - 1) * 2_f64.ln() {
                let share = f64::from(whole + 16) * unit / 256.0 + 0.5_f64.powi(22);
                near(result(1), x.exp(), x.exp() * share + unit);
            }
            if x > 0.0 {
                near(result(2), x.ln(), 0.5_f64.powi(18) + unit);
            }
            let root = number(&[&found[3 * width..], &[false]].concat());
            assert!(
                root * root <= n && n < (root + 1.0) * (root + 1.0),
                "{n}: {root}"
            );
        }
    }
}
