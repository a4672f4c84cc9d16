//! Tests of the component library beyond its first circuits: published known answers, random inputs
//! compared with plain functions, and the table of gate counts.

use crate::by_name::{component, computes};
use crate::oracle::{self, Bits, Random, agrees_on, outputs};
use crate::plain::{aes, hashes, strings};
use sha2::block_api::compress256;
use sha2::{Digest, Sha256};
use tacit_circuit::Circuit;

fn known(circuit: &Circuit, inputs: &[Bits], output: &str) {
    assert_eq!(outputs(circuit, inputs), [Bits::of_hex(output)]);
}

/// From FIPS 197, appendix C, and for AES-128 appendix B.
#[test]
fn aes_known_answers() {
    let block = Bits::of_hex("00112233445566778899aabbccddeeff");
    let key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let key_of = |bytes: usize| Bits::of_hex(&key[..2 * bytes]);
    for (name, bytes, ciphertext) in [
        ("aes-128", 16, "69c4e0d86a7b0430d8cdb78070b4c55a"),
        ("aes-192", 24, "dda97ca4864cdfe06eaf70a0ec0d7191"),
        ("aes-256", 32, "8ea2b7ca516745bfeafc49904b496089"),
    ] {
        known(
            &component(name, &[]),
            &[key_of(bytes), block.clone()],
            ciphertext,
        );
    }
    let key = Bits::of_hex("2b7e151628aed2a6abf7158809cf4f3c");
    let of_appendix_b = Bits::of_hex("3243f6a8885a308d313198a2e0370734");
    known(
        &component("aes-128", &[]),
        &[key, of_appendix_b],
        "3925841d02dc09fbdc118597196a0b32",
    );
    let round_keys = outputs(&component("aes-128-expand", &[]), &[key_of(16)]).remove(0);
    let expanded = component("aes-128-expanded", &[]);
    known(
        &expanded,
        &[round_keys, block],
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    );
}

/// From FIPS 197, appendix C.1: the states at the start of rounds 1 and 2, and the end.
#[test]
fn aes_rounds_known_answers() {
    let aes = aes::Aes::new();
    let keys = aes.round_keys(&(0..16).collect::<Vec<u8>>());
    let key = |round: usize| Bits::of_bytes(&keys[round]);
    let mut state = Bits::of_hex("00112233445566778899aabbccddeeff");
    let round = component("aes-round", &[]);
    for number in 0..9 {
        state = outputs(&round, &[state, key(number)]).remove(0);
        if number == 0 {
            // The standard shows the state with round key 1 added.
            let shown = aes::add(&state.bytes(), &keys[1]);
            assert_eq!(
                Bits::of_bytes(&shown),
                Bits::of_hex("89d810e8855ace682d1843d8cb128fe4")
            );
        }
    }
    let last = component("aes-last-round", &[]);
    known(
        &last,
        &[state, key(9), key(10)],
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    );
}

/// From NIST SP 800-38A, section F.2.1.
#[test]
fn cbc_known_answer() {
    let circuit = component("aes-128-cbc", &[("blocks", 4)]);
    let key = Bits::of_hex("2b7e151628aed2a6abf7158809cf4f3c");
    let initialization_vector = Bits::of_hex("000102030405060708090a0b0c0d0e0f");
    let blocks = Bits::of_hex(concat!(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
        "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
    ));
    let ciphertexts = concat!(
        "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2",
        "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7"
    );
    known(&circuit, &[key, initialization_vector, blocks], ciphertexts);
}

#[test]
fn aes_parts_on_random_inputs() {
    let aes = aes::Aes::new();
    for name in ["aes-128", "aes-192", "aes-256"] {
        computes(name, &[], |ports| {
            vec![Bits::of_bytes(
                &aes.encrypt(&ports[0].bytes(), &ports[1].bytes()),
            )]
        });
    }
    computes("aes-128-copies", &[("copies", 2)], |ports| {
        let (keys, blocks) = (ports[0].bytes(), ports[1].bytes());
        let pairs = keys.chunks(16).zip(blocks.chunks(16));
        let each = pairs.map(|(key, block)| aes.encrypt(key, block));
        vec![Bits::of_bytes(&each.collect::<Vec<_>>().concat())]
    });
    computes("aes-128-expand", &[], |ports| {
        vec![Bits::of_bytes(&aes.round_keys(&ports[0].bytes()).concat())]
    });
    computes("aes-128-expanded", &[], |ports| {
        let keys: Vec<Vec<u8>> = ports[0].bytes().chunks(16).map(<[u8]>::to_vec).collect();
        vec![Bits::of_bytes(
            &aes.encrypt_expanded(&keys, &ports[1].bytes()),
        )]
    });
    computes("aes-round", &[], |ports| {
        vec![Bits::of_bytes(
            &aes.round(&ports[0].bytes(), &ports[1].bytes()),
        )]
    });
    computes("aes-last-round", &[], |ports| {
        let [state, key, last] = [0, 1, 2].map(|port| ports[port].bytes());
        vec![Bits::of_bytes(&aes.last_round(&state, &key, &last))]
    });
    computes("xor", &[], |ports| {
        vec![Bits::of_bytes(&aes::add(
            &ports[0].bytes(),
            &ports[1].bytes(),
        ))]
    });
    computes("aes-128-cbc", &[("blocks", 2)], |ports| {
        let (key, blocks) = (ports[0].bytes(), ports[2].bytes());
        let first = aes.encrypt(&key, &aes::add(&blocks[..16], &ports[1].bytes()));
        let second = aes.encrypt(&key, &aes::add(&blocks[16..], &first));
        vec![Bits::of_bytes(&[first, second].concat())]
    });
}

/// The examples of FIPS 180-4 and FIPS 202, RFC 8439 section 2.3.2, and RFC 4231 cases 1, 2 and 6.
#[test]
fn hash_known_answers() {
    for (message, digest) in [
        (
            "abc",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
    ] {
        let sha_256 = component("sha-256", &[("bytes", message.len() as u64)]);
        known(&sha_256, &[Bits::of_bytes(message.as_bytes())], digest);
    }
    let sha3 = component("sha3-256", &[("bytes", 3)]);
    let digest = "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532";
    known(&sha3, &[Bits::of_bytes(b"abc")], digest);
    let chacha = component("chacha20-block", &[]);
    let key = Bits::of_bytes(&(0..32).collect::<Vec<u8>>());
    let stream = concat!(
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e",
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    );
    known(
        &chacha,
        &[
            key,
            Bits::of(1, 32),
            Bits::of_hex("000000090000004a00000000"),
        ],
        stream,
    );
    for (key, message, tag) in [
        (
            vec![0x0b; 20],
            &b"Hi There"[..],
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        (
            b"Jefe".to_vec(),
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            vec![0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
    ] {
        let lengths = [
            ("key_bytes", key.len() as u64),
            ("bytes", message.len() as u64),
        ];
        let hmac = component("hmac-sha-256", &lengths);
        known(&hmac, &[Bits::of_bytes(&key), Bits::of_bytes(message)], tag);
    }
}

#[test]
fn hashes_on_random_inputs() {
    for bytes in [1, 55, 64] {
        computes("sha-256", &[("bytes", bytes)], |ports| {
            vec![Bits::of_bytes(&Sha256::digest(ports[0].bytes()))]
        });
    }
    for bytes in [32, 135, 136] {
        computes("sha3-256", &[("bytes", bytes)], |ports| {
            vec![Bits::of_bytes(&hashes::sha3_256(&ports[0].bytes()))]
        });
    }
    computes("keccak-f-1600", &[], |ports| {
        let lanes: Vec<u64> = ports[0]
            .numbers(64)
            .into_iter()
            .map(|lane| lane as u64)
            .collect();
        let lanes = hashes::keccak_f_1600(&lanes);
        vec![Bits::of_numbers(lanes.into_iter().map(u128::from), 64)]
    });
    computes("chacha20-block", &[], |ports| {
        let counter = ports[1].uint() as u32;
        let stream = hashes::chacha20_block(&ports[0].bytes(), counter, &ports[2].bytes());
        vec![Bits::of_bytes(&stream)]
    });
    computes("hmac-sha-256", &[("bytes", 20)], |ports| {
        vec![Bits::of_bytes(&hashes::hmac_sha_256(
            &ports[0].bytes(),
            &ports[1].bytes(),
        ))]
    });
}

#[test]
fn the_bare_compression_on_random_inputs() {
    computes("sha-256-compress", &[], |ports| {
        let words = ports[0].numbers(32).into_iter().map(|word| word as u32);
        let mut state: [u32; 8] = words.collect::<Vec<_>>().try_into().unwrap();
        compress256(&mut state, &[ports[1].bytes().try_into().unwrap()]);
        vec![Bits::of_numbers(state.map(u128::from), 32)]
    });
}

/// Draws strings over a small alphabet, so that they have something in common.
fn draw_strings(lengths: [usize; 2], symbol_bits: usize) -> impl Fn(&mut Random) -> Vec<Bits> {
    move |random| {
        let alphabet = 1 + random.below((1 << symbol_bits).min(6));
        lengths
            .map(|len| {
                Bits::of_numbers((0..len).map(|_| random.below(alphabet).into()), symbol_bits)
            })
            .to_vec()
    }
}

#[test]
fn distances_of_known_strings() {
    for (name, x, y, expected) in [
        ("edit-distance", "kitten", "sitting", 3),
        ("edit-distance", "saturday", "sunday", 3),
        ("edit-distance", "a", "a", 0),
        ("edit-distance", "abc", "xyz", 3),
        ("longest-common-substring", "photograph", "tomography", 6),
        ("longest-common-substring", "ab", "cd", 0),
        ("longest-common-substring", "banana", "anan", 4),
    ] {
        let lengths = [("x_symbols", x.len() as u64), ("y_symbols", y.len() as u64)];
        let inputs = [x, y].map(|text| Bits::of_bytes(text.as_bytes()));
        assert_eq!(
            outputs(&component(name, &lengths), &inputs)[0].uint(),
            expected,
            "{x} {y}"
        );
    }
}

#[test]
fn whole_tables_on_random_strings() {
    type Plain = fn(&[u128], &[u128]) -> u128;
    let functions: [(&str, Plain); 2] = [
        ("edit-distance", strings::edit_distance),
        (
            "longest-common-substring",
            strings::longest_common_substring,
        ),
    ];
    for (name, plain) in functions {
        for (n, m, symbol_bits) in [
            (1, 1, 8),
            (1, 9, 3),
            (9, 1, 3),
            (7, 12, 2),
            (12, 7, 1),
            (30, 30, 8),
        ] {
            let parameters = [
                ("x_symbols", n),
                ("y_symbols", m),
                ("symbol_bits", symbol_bits),
            ];
            let circuit = component(name, &parameters);
            let width = circuit.outputs()[0].ty.width();
            let symbol_bits = symbol_bits as usize;
            let draw = draw_strings([n as usize, m as usize], symbol_bits);
            agrees_on(&format!("{name} of {n} and {m}"), &circuit, draw, |ports| {
                let (x, y) = (ports[0].numbers(symbol_bits), ports[1].numbers(symbol_bits));
                vec![Bits::of(plain(&x, &y), width)]
            });
        }
    }
}

/// Returns the running sums of differences from a start.
fn integrate(start: u128, differences: &[i128]) -> Vec<u128> {
    let mut edge = vec![start];
    for difference in differences {
        edge.push((edge[edge.len() - 1] as i128 + difference) as u128);
    }
    edge
}

fn right_and_below(table: &[Vec<u128>]) -> (Vec<u128>, Vec<u128>) {
    (
        table.iter().map(|row| row[row.len() - 1]).collect(),
        table[table.len() - 1].clone(),
    )
}

fn differences(edge: &[u128]) -> impl Iterator<Item = i128> + '_ {
    edge.windows(2)
        .map(|pair| pair[1] as i128 - pair[0] as i128)
}

#[test]
fn tiles_on_random_edges() {
    for side in [1, 4, 8, 10, 16] {
        let draw_edge = |random: &mut Random| {
            let differences = (0..side).map(|_| i128::from(random.below(3)) - 1);
            Bits(differences.flat_map(|d| Bits::of_int(d, 2).0).collect())
        };
        let symbols = draw_strings([side, side], 8);
        let draw = |random: &mut Random| {
            let mut inputs = symbols(random);
            inputs.extend([draw_edge(random), draw_edge(random)]);
            inputs
        };
        let tile = component("levenshtein-tile", &[("side", side as u64)]);
        agrees_on(&format!("tile of {side}"), &tile, draw, |ports| {
            let (x, y) = (ports[0].numbers(8), ports[1].numbers(8));
            let (left, above) = (
                integrate(100, &ports[2].ints(2)),
                integrate(100, &ports[3].ints(2)),
            );
            let (right, below) =
                right_and_below(&strings::levenshtein_table(&x, &y, &left, &above));
            let bits = |edge: &[u128]| {
                Bits(
                    differences(edge)
                        .flat_map(|d| Bits::of_int(d, 2).0)
                        .collect(),
                )
            };
            vec![bits(&right), bits(&below)]
        });
    }
}

#[test]
fn cells_and_distances_on_random_inputs() {
    let cell = component("levenshtein-cell", &[]);
    let draw = |random: &mut Random| {
        // Small enough that no sum wraps around, and close together half of the time.
        let base = random.below(200);
        let spread = 1 + random.below(4) * random.below(14);
        let near = |random: &mut Random| Bits::of((base + random.below(spread)).into(), 8);
        let mut inputs = vec![near(random), near(random), near(random)];
        inputs.extend(draw_strings([1, 1], 8)(random));
        inputs
    };
    agrees_on("levenshtein-cell", &cell, draw, |ports| {
        let [above, left, diagonal, x, y] = [0, 1, 2, 3, 4].map(|port| ports[port].uint());
        let diagonal = diagonal + u128::from(x != y);
        vec![Bits::of(diagonal.min(above + 1).min(left + 1), 8)]
    });
    for (rows, columns) in [(1, 1), (5, 9), (9, 5)] {
        let circuit = component(
            "levenshtein-distance",
            &[("rows", rows), ("columns", columns)],
        );
        let draw = |random: &mut Random| {
            // No edge leads below a distance of |rows − columns| or above the longer length.
            let (x, y) = (
                random.bits(2 * rows as usize),
                random.bits(2 * columns as usize),
            );
            let (x, y) = (x.numbers(2), y.numbers(2));
            let count = |len: u64| (0..=len.into()).collect::<Vec<u128>>();
            let table = strings::levenshtein_table(&x, &y, &count(rows), &count(columns));
            let (right, _) = right_and_below(&table);
            vec![Bits(
                differences(&right)
                    .flat_map(|d| Bits::of_int(d, 2).0)
                    .collect(),
            )]
        };
        let width = circuit.outputs()[0].ty.width();
        agrees_on("levenshtein-distance", &circuit, draw, |ports| {
            let distance = integrate(columns.into(), &ports[0].ints(2));
            vec![Bits::of(distance[rows as usize], width)]
        });
    }
}

/// The incremental form, symbol by symbol from the empty state, gives the same results as the whole
/// one.
#[test]
fn substrings_symbol_by_symbol() {
    for (len, symbol_bits) in [(1, 1), (9, 1), (20, 2)] {
        let parameters = [("length", len as u64), ("symbol_bits", symbol_bits as u64)];
        let step = component("longest-common-substring-step", &parameters);
        let width = step.outputs()[1].ty.width();
        let mut random = Random(len as u64);
        // 64 texts at a time, with enough rounds for the number of random inputs.
        for _ in 0..oracle::random_inputs() / 64 / 12 + 1 {
            let texts: Vec<Vec<u128>> = (0..64)
                .map(|_| random.bits(len * symbol_bits).numbers(symbol_bits))
                .collect();
            let state = Bits(vec![false; width * (len + 2)]);
            let (mut states, mut seen) = (vec![state; 64], vec![Vec::new(); 64]);
            for _ in 0..12 {
                let mut inputs = Vec::new();
                for (text, (state, seen)) in texts.iter().zip(states.iter().zip(&mut seen)) {
                    seen.push(u128::from(random.below(1 << symbol_bits)));
                    let text = Bits::of_numbers(text.iter().copied(), symbol_bits);
                    let symbol = Bits::of(seen[seen.len() - 1], symbol_bits);
                    inputs.push([text.0, symbol.0, state.0.clone()].concat());
                }
                states = step.evaluate_batch(&inputs).into_iter().map(Bits).collect();
                for (text, (state, seen)) in texts.iter().zip(states.iter().zip(&seen)) {
                    let length = Bits(state.0[width * (len + 1)..].to_vec()).uint();
                    assert_eq!(length, strings::longest_common_substring(text, seen));
                }
            }
        }
    }
}
