//! The functions that come with Tacit give the results of plain code, and have the numbers of AND
//! gates that `docs/components.md` lists.

mod kept;

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};
use tacit_circuit::Value;
use tacit_components::library;
use tacit_function::Function;
use tacit_language::shipped;

/// Returns a function that comes with Tacit.
fn shipped_with<const N: usize>(name: &str, given: [(&str, u64); N]) -> Function {
    shipped_of(name, given.into_iter())
}

fn shipped_of<'n>(name: &str, given: impl Iterator<Item = (&'n str, u64)>) -> Function {
    let given = given.map(|(name, value)| (name.to_owned(), value));
    let shipped = shipped::find(name).expect("a function that comes with Tacit");
    let typed = shipped.function(&given.collect());
    let typed = typed.unwrap_or_else(|error| panic!("{name}: {error}"));
    typed.function().clone()
}

/// Returns the outputs as text, for inputs as text.
fn run(function: &Function, inputs: &[&str]) -> Vec<String> {
    let ports = function.inputs().iter().map(|input| &input.port);
    let values = ports.chain(function.loads()).zip(inputs);
    let values = values.map(|(port, text)| port.parse_value(text).expect("a value of the port"));
    let outputs = function.evaluate_values(&values.collect::<Vec<_>>());
    let outputs = outputs.expect("values of the ports");
    outputs.iter().map(Value::to_text).collect()
}

fn symbols(text: &str) -> String {
    let numbers: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

/// Computes Levenshtein's distance by the textbook method.
fn levenshtein(x: &[u8], y: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=y.len()).collect();
    for (i, a) in x.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in y.iter().enumerate() {
            let least = (diagonal + usize::from(a != b))
                .min(row[j] + 1)
                .min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], least);
        }
    }
    row[y.len()]
}

/// Name, params, AND gates, and the counts of PartialGC's Table 1 for the same program without and
/// with reuse of garbled values.
type Row = (
    &'static str,
    &'static [(&'static str, u64)],
    u64,
    [Option<u64>; 2],
);

/// The paper's counts with reuse include a MAC of the output, which is part of the protocol here.
/// If the paper also has a count without reuse, that count is the ceiling.
#[rustfmt::skip]
const OF_THE_PAPER: &[Row] = &[
    ("matrix-product", &[("n", 8)], 262_016, [Some(3_060_802), Some(3_305_113)]),
    ("database-lookup", &[("entries", 64)], 6080, [Some(6_080), Some(20_891)]),
    ("database-lookup", &[("entries", 128)], 12160, [Some(12_160), Some(26_971)]),
    ("database-lookup", &[("entries", 256)], 24320, [Some(24_320), Some(39_131)]),
    ("database-ask", &[("entries", 256)], 24320, [None, None]),
    ("substring-next", &[("length", 128)], 2182, [None, Some(87_236)]),
    ("substring-next", &[("length", 256)], 4871, [None, Some(160_322)]),
    ("substring-next", &[("length", 512)], 10760, [None, Some(306_368)]),
    ("friend-map-get", &[("cells", 64)], 512, [None, None]),
    ("friend-map-get", &[("cells", 256)], 2048, [None, None]),
    ("friend-map-get", &[("cells", 2048)], 16384, [None, None]),
    ("friend-map-set", &[("cells", 64)], 1566, [None, None]),
    ("friend-map-set", &[("cells", 256)], 6174, [None, None]),
    ("friend-map-set", &[("cells", 2048)], 49182, [None, None]),
];

/// The functions that the paper does not have.
#[rustfmt::skip]
const OTHERS: &[Row] = &[
    ("aes-128-rounds", &[], 6400, [None, None]),
    ("aes-128-expanded-key", &[], 6400, [None, None]),
    ("aes-128-cbc-rounds", &[], 52_480, [None, None]),
    ("aes-128-cbc-blocks", &[], 64_000, [None, None]),
    ("aes-128-cbc-parts", &[], 53_760, [None, None]),
    ("aes-128-cbc-parts", &[("blocks", 7), ("part", 3)], 39_680, [None, None]),
    ("levenshtein", &[], 28_800, [None, None]),
    ("levenshtein-tiles", &[], 39_713, [None, None]),
    ("levenshtein-mixed", &[], 11_317, [None, None]),
    ("sha-256-chain", &[], 210_250, [None, None]),
    ("database-save", &[], 0, [None, None]),
    ("substring-start", &[], 0, [None, None]),
    ("friend-map-start", &[], 0, [None, None]),
    ("friend-finder-start", &[], 0, [None, None]),
    ("friend-finder-set", &[], 4482, [None, None]),
];

#[test]
fn the_guide_shows_the_rows() {
    let guide = include_str!("../../../../docs/components.md");
    let rows = OF_THE_PAPER
        .iter()
        .map(|(name, given, and, [without, with])| {
            let (name_of, value) = given[0];
            let [without, with] = [without, with]
                .map(|count| count.map_or("—".to_owned(), |count| count.to_string()));
            format!("| {name} | {name_of}={value} | {and} | {without} | {with} |")
        });
    let rows = rows.collect::<Vec<_>>().join("\n");
    assert!(
        guide.contains(&rows),
        "docs/components.md is to have:\n{rows}"
    );
}

#[test]
fn they_cost_what_they_are_known_to_cost() {
    let mut wrong = Vec::new();
    for (name, given, expected, [without, with]) in OF_THE_PAPER.iter().chain(OTHERS) {
        let ceiling = without.or(*with);
        assert!(ceiling.is_none_or(|ceiling| *expected <= ceiling), "{name}");
        let found = shipped_of(name, given.iter().copied()).and_gates();
        if found != *expected {
            wrong.push(format!("{name} {given:?}: {found}, expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each of `vectors/function-*.txt` freezes one function.
#[test]
fn digests_are_frozen() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if !name.starts_with("function-") {
            continue;
        }
        seen += 1;
        let text = std::fs::read_to_string(&path).expect("a file");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let fields: BTreeMap<&str, &str> = lines.filter_map(|line| line.split_once(": ")).collect();
        let given = fields["parameters"].split(' ');
        let given = given.filter_map(|pair| pair.split_once('='));
        let given = given.map(|(name, value)| (name, value.parse().expect("a number")));
        let function = shipped_of(fields["function"], given);
        let meaning = function.meaning().expect("a program has one");
        for (field, found) in [
            ("meaning", meaning.to_string()),
            ("digest", function.digest().to_string()),
            ("calls", function.call_count().to_string()),
        ] {
            if fields.get(field) != Some(&found.as_str()) {
                wrong.push(format!("{name}: {field}: {found}"));
            }
        }
    }
    assert!(seen >= 3, "the vectors are there");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn levenshtein_is_the_textbooks() {
    for (x, y) in [
        ("kitten", "sitting"),
        ("saturday", "sunday"),
        ("a", "b"),
        ("a", "abcdefgh"),
    ] {
        let function = shipped_with(
            "levenshtein",
            [("n", x.len() as u64), ("m", y.len() as u64)],
        );
        let expected = levenshtein(x.as_bytes(), y.as_bytes()).to_string();
        assert_eq!(
            run(&function, &[&symbols(x), &symbols(y)]),
            [expected],
            "{x} {y}"
        );
        assert_eq!(function.call_count() as usize, x.len() * y.len());
    }
    assert_eq!(levenshtein(b"kitten", b"sitting"), 3);
}

#[test]
fn levenshtein_by_tiles_is_the_same() {
    let (x, y) = ("theslowbrownfoxwalks", "thequickbrownfoxjumpsoverit...");
    let function = shipped_with(
        "levenshtein-tiles",
        [("rows", 4), ("columns", 6), ("side", 5)],
    );
    let expected = levenshtein(x.as_bytes(), y.as_bytes()).to_string();
    assert_eq!(run(&function, &[&symbols(x), &symbols(y)]), [expected]);
    assert_eq!(function.call_count(), 25);
}

/// Compares lengths, sides and borders of unrelated sizes with the circuit of the whole.
#[test]
fn levenshtein_by_tiles_of_two_sizes_is_the_same() {
    for (n, m, side, border) in [
        (1, 1, 16, 4),
        (9, 22, 8, 4),
        (21, 13, 4, 4),
        (16, 16, 16, 1),
        (17, 5, 4, 1),
        (31, 22, 7, 3),
        (6, 10, 2, 5),
    ] {
        let given = [("n", n), ("m", m), ("side", side), ("border", border)];
        let function = shipped_with("levenshtein-mixed", given);
        let lengths = [("x_symbols", n), ("y_symbols", m)];
        let lengths = lengths.map(|(name, value)| (name.to_owned(), value));
        let whole = library::find("edit-distance", &BTreeMap::from(lengths)).expect("a circuit");
        let mut draws = Draws(n);
        for _ in 0..10 {
            // Few distinct symbols, so that many are equal.
            let symbols = (0..n + m).map(|_| draws.below(3));
            let bits = symbols.flat_map(|symbol| (0..8).map(move |bit| symbol >> bit & 1 == 1));
            let bits: Vec<bool> = bits.collect();
            assert_eq!(function.evaluate(&bits), whole.evaluate(&bits), "{given:?}");
        }
    }
}

#[test]
fn matrices_are_multiplied_as_the_textbook_does() {
    for (n, bits) in [(1, 8), (2, 50), (3, 5), (4, 1), (8, 32)] {
        let function = shipped_with("matrix-product", [("n", n), ("bits", bits)]);
        assert_eq!(u64::from(function.call_count()), n * n + 2 * n);
        let (n, mut draws) = (n as usize, Draws(bits));
        let [a, b] = [(); 2].map(|()| {
            let mut entry = || u128::from(draws.next() >> (64 - bits));
            let mut row = || (0..n).map(|_| entry()).collect::<Vec<_>>();
            (0..n).map(|_| row()).collect::<Vec<_>>()
        });
        let mut product = vec![vec![0_u128; n]; n];
        for (i, j, k) in (0..n * n * n).map(|place| (place / (n * n), place / n % n, place % n)) {
            let term = a[i][k].wrapping_mul(b[k][j]);
            product[i][j] = product[i][j].wrapping_add(term) % (1 << bits);
        }
        let shown = [&a, &b, &product].map(|matrix| format!("{matrix:?}").replace(' ', ""));
        assert_eq!(
            run(&function, &[&shown[0], &shown[1]])[0].replace(' ', ""),
            shown[2]
        );
    }
}

#[test]
fn aes_by_rounds_gives_fips_197_and_aes_128() {
    let (key, block) = (
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
    );
    let function = shipped_with("aes-128-rounds", []);
    assert_eq!(
        run(&function, &[key, block]),
        ["69c4e0d86a7b0430d8cdb78070b4c55a"]
    );
    assert_eq!(function.and_gates(), 6400);
    let whole = library::find("aes-128", &Default::default()).unwrap();
    for seed in 0..20_u8 {
        let bits: Vec<bool> = (0..256)
            .map(|i| (i * 7 + 3) % (usize::from(seed) + 2) == 1)
            .collect();
        assert_eq!(function.evaluate(&bits), whole.evaluate(&bits), "{seed}");
    }
}

#[test]
fn cbc_gives_sp_800_38a() {
    // NIST SP 800-38A, F.2.1.
    for (name, calls) in [
        ("aes-128-cbc-rounds", 23),
        ("aes-128-cbc-blocks", 2),
        ("aes-128-cbc-parts", 1),
    ] {
        let function = shipped_with(name, [("blocks", 2)]);
        let outputs = run(
            &function,
            &[
                "2b7e151628aed2a6abf7158809cf4f3c",
                "000102030405060708090a0b0c0d0e0f",
                r#"["6bc1bee22e409f96e93d7e117393172a","ae2d8a571e03ac9c9eb76fac45af8e51"]"#,
            ],
        );
        let expected = r#"["7649abac8119b246cee98e9b12e9197d","5086cb9b507219ee95db113a917678b2"]"#;
        assert_eq!(outputs[0].replace(' ', ""), expected, "{name}");
        assert_eq!(function.call_count(), calls, "{name}");
    }
}

#[test]
fn a_chain_of_sha_256_keeps_two_states_at_most() {
    let function = shipped_with("sha-256-chain", [("n", 25)]);
    let mut state: [u8; 32] = core::array::from_fn(|i| i as u8);
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let inputs = [hex(&state[..16]), hex(&state[16..])];
    for _ in 0..25 {
        state = Sha256::digest(state).into();
    }
    assert_eq!(run(&function, &[&inputs[0], &inputs[1]]), [hex(&state)]);
    assert!(function.live_bits() <= 512, "{}", function.live_bits());
    assert_eq!(
        shipped_with("sha-256-chain", [("n", 2000)]).live_bits(),
        function.live_bits()
    );
}

#[test]
fn a_table_keeps_little_more_than_its_front() {
    let function = shipped_with("levenshtein", [("n", 40), ("m", 40)]);
    // Two strings of 320 bits, the first row and column, and the diagonals in between.
    assert!(
        function.live_bits() < 640 + 5 * 41 * 6,
        "{}",
        function.live_bits()
    );
}

/// Numbers that look random: the upper bits of Knuth's MMIX generator.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        let factor = 6_364_136_223_846_793_005;
        self.0 = self
            .0
            .wrapping_mul(factor)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 33) % limit
    }
}
