//! The table of the library's components.
//!
//! The ranges of a component's parameters keep its circuit below forty million gates for all values
//! within them. Such a circuit takes about a gigabyte while it is built. Larger computations are
//! functions of several calls.

use core::ops::RangeInclusive;

use super::{
    Entry, Parameter, aes, aes_rounds, arithmetic, build, cell_map, chacha20, edit_distance, hmac,
    integers, keccak, min_cut, sha2, substring, tables,
};

/// The thing that a parameter counts, its range, and its default if it has one.
type IntegerParameter = (&'static str, RangeInclusive<u64>, Option<u64>);

const fn parameter(
    name: &'static str,
    (description, range, default): IntegerParameter,
) -> Parameter {
    let (minimum, maximum) = (*range.start(), *range.end());
    Parameter {
        name,
        description,
        minimum,
        maximum,
        default,
    }
}

const fn message_bytes(maximum: u64) -> IntegerParameter {
    ("length of the message in bytes", 1..=maximum, None)
}

const fn symbols(maximum: u64) -> IntegerParameter {
    ("length in symbols", 1..=maximum, None)
}

const BITS: IntegerParameter = ("width of the integers in bits", 1..=4096, Some(32));
const FACTOR_BITS: IntegerParameter = ("width of the integers in bits", 1..=1024, Some(32));
const SYMBOL_BITS: IntegerParameter = ("width of a symbol in bits", 1..=16, Some(8));
const SIDE: IntegerParameter = ("symbols along each edge", 1..=64, None);
const CELLS: IntegerParameter = ("cells of the map", 1..=65536, Some(256));
const ID_BITS: IntegerParameter = ("width of an ID in bits", 1..=32, Some(8));
const DISTANCE_BITS: IntegerParameter = ("width of a distance in bits", 1..=32, Some(8));
const VALUE_BITS: IntegerParameter = ("width of a value in bits", 1..=64, Some(32));

/// Builds entries from rows `name: description, [parameter: counted, …] => circuit;`. The circuit
/// is described to a builder, with the parameters' values by name.
macro_rules! components {
    ($builder:ident; $(
        $name:literal: $description:literal,
        [$($parameter:ident: $counted:expr),*] => $describe:expr;
    )+ last $last:expr) => {
        &[$(Entry {
            name: $name,
            description: $description,
            parameters: &[$(parameter(stringify!($parameter), $counted)),*],
            generate: |form, values| match *values {
                [$($parameter),*] => build(form, |$builder| $describe),
                _ => unreachable!("one value for each parameter"),
            },
        },)+ $last]
    };
}

pub(super) const ENTRIES: &[Entry] = components! {
    builder;
    "aes-128": "AES-128 encryption of one block, key expansion inside",
        [] => aes::circuit(builder);
    "aes-192": "AES-192 encryption of one block, key expansion inside",
        [] => aes_rounds::circuit(builder, 24);
    "aes-256": "AES-256 encryption of one block, key expansion inside",
        [] => aes_rounds::circuit(builder, 32);
    "aes-128-copies": "many independent AES-128 encryptions, for benchmarks",
        [copies: ("number of encryptions, each with its own key", 1..=1024, None)]
            => aes::circuit_of_copies(builder, copies);
    "aes-128-expand": "the round keys of an AES-128 key",
        [] => aes_rounds::circuit_of_key_expansion(builder, 16);
    "aes-128-expanded": "AES-128 encryption of one block under an expanded key",
        [] => aes_rounds::circuit_with_round_keys(builder);
    "aes-round": "a round of AES that begins with its round key; nine and a last one are AES-128",
        [] => aes_rounds::circuit_of_round(builder);
    "aes-last-round": "the last round of AES, with its own round key and the last one",
        [] => aes_rounds::circuit_of_last_round(builder);
    "aes-128-cbc": "AES-128 in CBC mode, the key expanded once inside",
        [blocks: ("number of blocks of 16 bytes", 1..=256, None)]
            => aes_rounds::circuit_of_cbc(builder, blocks);
    "xor": "the sum of two byte strings, as CBC chains its blocks",
        [bytes: ("length of the strings in bytes", 1..=65536, Some(16))]
            => aes_rounds::circuit_of_xor(builder, bytes);
    "chacha20-block": "a block of the key stream of ChaCha20",
        [] => chacha20::circuit(builder);
    "sha-256": "SHA-256 of a message of fixed length, padding inside",
        [bytes: message_bytes(16384)] => sha2::circuit(builder, bytes);
    "sha-256-compress": "the bare compression function of SHA-256",
        [] => sha2::circuit_of_compression(builder);
    "sha3-256": "SHA3-256 of a message of fixed length, padding inside",
        [bytes: message_bytes(8192)] => keccak::circuit_of_sha3_256(builder, bytes);
    "keccak-f-1600": "the bare permutation of SHA-3",
        [] => keccak::circuit_of_permutation(builder);
    "hmac-sha-256": "HMAC with SHA-256 of a message of fixed length",
        [key_bytes: ("length of the key in bytes", 1..=1024, Some(32)), bytes: message_bytes(16384)]
            => hmac::circuit(builder, key_bytes, bytes);
    "millionaires": "whether a is richer than b, and nothing else; past 4096 bits a and b are bit \
        strings",
        [bits: ("width of the integers in bits", 1..=65536, Some(32))]
            => integers::circuit_of_millionaires(builder, bits);
    "adder": "the sum of two unsigned integers, without its last carry",
        [bits: BITS] => integers::circuit_of_adder(builder, bits);
    "comparator": "whether a is less than, equal to, or greater than b",
        [bits: BITS] => integers::circuit_of_comparator(builder, bits);
    "selector": "a where the bit says so, otherwise b",
        [bits: BITS] => integers::circuit_of_selector(builder, bits);
    "multiplier": "the product of two integers of one width, wrapping",
        [bits: FACTOR_BITS] => arithmetic::circuit_of_multiplier(builder, bits);
    "multiplier-wide": "the product of two unsigned integers, in full",
        [bits: FACTOR_BITS] => arithmetic::circuit_of_wide_multiplier(builder, bits);
    "multiplier-wide-signed": "the product of two signed integers, in full",
        [bits: FACTOR_BITS] => arithmetic::circuit_of_signed_multiplier(builder, bits);
    "divider": "quotient and remainder of unsigned integers; by zero all ones and the dividend",
        [bits: FACTOR_BITS] => arithmetic::circuit_of_divider(builder, bits);
    "divider-signed": "quotient and remainder of signed integers; by zero -1 and the dividend",
        [bits: FACTOR_BITS] => arithmetic::circuit_of_signed_divider(builder, bits);
    "edit-distance": "Levenshtein's distance of two strings, by differences of neighbouring cells",
        [x_symbols: symbols(512), y_symbols: symbols(512), symbol_bits: SYMBOL_BITS]
            => edit_distance::circuit(builder, (x_symbols, y_symbols), symbol_bits);
    "levenshtein-tile": "a square tile of a table of edit distances, from and to differences at \
        its edges",
        [side: SIDE, symbol_bits: SYMBOL_BITS]
            => edit_distance::circuit_of_tile(builder, side, symbol_bits);
    "levenshtein-distance": "the edit distance from the differences down the right edge of the \
        table",
        [rows: symbols(4096), columns: symbols(4096)]
            => edit_distance::circuit_of_distance(builder, rows, columns);
    "levenshtein-cell": "the core cell of a table of edit distances, from whole distances",
        [bits: DISTANCE_BITS, symbol_bits: SYMBOL_BITS]
            => edit_distance::circuit_of_cell(builder, bits, symbol_bits);
    "longest-common-substring": "the length of the longest substring that two strings share",
        [x_symbols: symbols(512), y_symbols: symbols(512), symbol_bits: SYMBOL_BITS]
            => substring::circuit_of_substring(builder, (x_symbols, y_symbols), symbol_bits);
    "longest-common-substring-step": "one more symbol in the search for the longest common \
        substring, from state to state",
        [length: symbols(4096), symbol_bits: ("width of a symbol in bits", 1..=16, Some(1))]
            => substring::circuit_of_substring_step(builder, length, symbol_bits);
    "keyed-database": "the value whose key is asked for; of several the last, zero if there is \
        none",
        [entries: ("entries of the database", 1..=4096, None),
         key_bits: ("width of a key in bits", 1..=256, Some(32)),
         value_bits: ("width of a value in bits", 1..=1024, Some(64))]
            => tables::circuit_of_keyed_database(builder, entries, key_bits, value_bits);
    "cell-map-get": "who is in a cell of a map; zero if nobody is, or there is no such cell",
        [cells: CELLS, id_bits: ID_BITS] => cell_map::circuit_of_get(builder, cells, id_bits);
    "cell-map-set": "moves an ID to a cell of a map unless somebody else is there, and says who",
        [cells: CELLS, id_bits: ID_BITS] => cell_map::circuit_of_set(builder, cells, id_bits);
    "dot-product": "the sum of products of two vectors, wrapping, where the sum of each is given",
        [count: ("numbers of a vector", 1..=64, None), bits: VALUE_BITS]
            => tables::circuit_of_dot_product(builder, count, bits);
    last Entry {
        name: "min-cut-250k-synthetic",
        description: "a synthetic circuit of the size of the lost benchmark Min-Cut 250,000, \
            without meaning",
        parameters: &[],
        generate: |_, _| min_cut::circuit(),
    }
};
