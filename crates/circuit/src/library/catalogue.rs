//! The table of the library's components.
//!
//! The ranges of a component's parameters keep its circuit below forty million gates wherever
//! within them the parameters are, which is about a gigabyte while it is made: larger computations
//! are functions of several calls.

use core::ops::RangeInclusive;

use super::{
    Entry, Parameter, aes, aes_rounds, arithmetic, cell_map, chacha20, classify, edit_distance,
    hmac, integers, keccak, min_cut, sealed_state, sha256, sha512, subsequence, tables,
};

const fn parameter(
    name: &'static str,
    description: &'static str,
    range: RangeInclusive<u64>,
    default: Option<u64>,
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

const fn message_bytes(maximum: u64) -> Parameter {
    parameter("bytes", "length of the message in bytes", 1..=maximum, None)
}

const fn symbols(name: &'static str, maximum: u64) -> Parameter {
    parameter(name, "length in symbols", 1..=maximum, None)
}

const BITS: Parameter = parameter("bits", "width of the integers in bits", 1..=4096, Some(32));
const FACTOR_BITS: Parameter =
    parameter("bits", "width of the integers in bits", 1..=1024, Some(32));
const SYMBOL_BITS: Parameter =
    parameter("symbol_bits", "width of a symbol in bits", 1..=16, Some(8));
const CELLS: Parameter = parameter("cells", "cells of the map", 1..=65536, Some(256));
const ID_BITS: Parameter = parameter("id_bits", "width of an ID in bits", 1..=32, Some(8));
const STATE_BITS: Parameter = parameter("bits", "width of the state in bits", 1..=65_536, None);
const DISTANCE_BITS: Parameter = parameter("bits", "width of a distance in bits", 1..=32, Some(8));

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "aes-128",
        description: "AES-128 encryption of one block, key expansion inside",
        parameters: &[],
        generate: |_| aes::circuit(),
    },
    Entry {
        name: "aes-192",
        description: "AES-192 encryption of one block, key expansion inside",
        parameters: &[],
        generate: |_| aes_rounds::circuit(24),
    },
    Entry {
        name: "aes-256",
        description: "AES-256 encryption of one block, key expansion inside",
        parameters: &[],
        generate: |_| aes_rounds::circuit(32),
    },
    Entry {
        name: "aes-128-copies",
        description: "many independent AES-128 encryptions, for benchmarks",
        parameters: &[parameter(
            "copies",
            "number of encryptions, each with its own key",
            1..=1024,
            None,
        )],
        generate: |values| aes::circuit_of_copies(values[0] as usize),
    },
    Entry {
        name: "aes-128-expand",
        description: "the round keys of an AES-128 key",
        parameters: &[],
        generate: |_| aes_rounds::circuit_of_key_expansion(16),
    },
    Entry {
        name: "aes-128-expanded",
        description: "AES-128 encryption of one block under an expanded key",
        parameters: &[],
        generate: |_| aes_rounds::circuit_with_round_keys(),
    },
    Entry {
        name: "aes-round",
        description: "a round of AES that begins with its round key; nine and a last one are \
            AES-128",
        parameters: &[],
        generate: |_| aes_rounds::circuit_of_round(),
    },
    Entry {
        name: "aes-last-round",
        description: "the last round of AES, with its own round key and the last one",
        parameters: &[],
        generate: |_| aes_rounds::circuit_of_last_round(),
    },
    Entry {
        name: "aes-s-box",
        description: "the S-box of AES",
        parameters: &[],
        generate: |_| aes_rounds::circuit_of_s_box(),
    },
    Entry {
        name: "aes-128-cbc",
        description: "AES-128 in CBC mode, the key expanded once inside",
        parameters: &[parameter(
            "blocks",
            "number of blocks of 16 bytes",
            1..=256,
            None,
        )],
        generate: |values| aes_rounds::circuit_of_cbc(values[0] as usize),
    },
    Entry {
        name: "xor",
        description: "the sum of two byte strings, as CBC chains its blocks",
        parameters: &[parameter(
            "bytes",
            "length of the strings in bytes",
            1..=65536,
            Some(16),
        )],
        generate: |values| aes_rounds::circuit_of_xor(values[0] as usize),
    },
    Entry {
        name: "chacha20-block",
        description: "a block of the key stream of ChaCha20",
        parameters: &[],
        generate: |_| chacha20::circuit(),
    },
    Entry {
        name: "sha-256",
        description: "SHA-256 of a message of fixed length, padding inside",
        parameters: &[message_bytes(16384)],
        generate: |values| sha256::circuit(values[0] as usize),
    },
    Entry {
        name: "sha-256-compress",
        description: "the bare compression function of SHA-256",
        parameters: &[],
        generate: |_| sha256::circuit_of_compression(),
    },
    Entry {
        name: "sha-512",
        description: "SHA-512 of a message of fixed length, padding inside",
        parameters: &[message_bytes(4096)],
        generate: |values| sha512::circuit(values[0] as usize),
    },
    Entry {
        name: "sha-512-compress",
        description: "the bare compression function of SHA-512",
        parameters: &[],
        generate: |_| sha512::circuit_of_compression(),
    },
    Entry {
        name: "sha3-256",
        description: "SHA3-256 of a message of fixed length, padding inside",
        parameters: &[message_bytes(8192)],
        generate: |values| keccak::circuit_of_sha3_256(values[0] as usize),
    },
    Entry {
        name: "keccak-f-1600",
        description: "the bare permutation of SHA-3",
        parameters: &[],
        generate: |_| keccak::circuit_of_permutation(),
    },
    Entry {
        name: "hmac-sha-256",
        description: "HMAC with SHA-256 of a message of fixed length",
        parameters: &[
            parameter(
                "key_bytes",
                "length of the key in bytes",
                1..=1024,
                Some(32),
            ),
            message_bytes(16384),
        ],
        generate: |values| hmac::circuit(values[0] as usize, values[1] as usize),
    },
    Entry {
        name: "millionaires",
        description: "whether a is richer than b, and nothing else; past 4096 bits a and b are bit \
            strings",
        parameters: &[parameter(
            "bits",
            "width of the integers in bits",
            1..=65536,
            Some(32),
        )],
        generate: |values| integers::circuit_of_millionaires(values[0] as usize),
    },
    Entry {
        name: "adder",
        description: "the sum of two unsigned integers, without its last carry",
        parameters: &[BITS],
        generate: |values| integers::circuit_of_adder(values[0] as usize),
    },
    Entry {
        name: "comparator",
        description: "whether a is less than, equal to, or greater than b",
        parameters: &[BITS],
        generate: |values| integers::circuit_of_comparator(values[0] as usize),
    },
    Entry {
        name: "selector",
        description: "a where the bit says so, otherwise b",
        parameters: &[BITS],
        generate: |values| integers::circuit_of_selector(values[0] as usize),
    },
    Entry {
        name: "multiplier",
        description: "the product of two integers of one width, wrapping",
        parameters: &[FACTOR_BITS],
        generate: |values| arithmetic::circuit_of_multiplier(values[0] as usize),
    },
    Entry {
        name: "multiplier-wide",
        description: "the product of two unsigned integers, in full",
        parameters: &[FACTOR_BITS],
        generate: |values| arithmetic::circuit_of_wide_multiplier(values[0] as usize),
    },
    Entry {
        name: "multiplier-wide-signed",
        description: "the product of two signed integers, in full",
        parameters: &[FACTOR_BITS],
        generate: |values| arithmetic::circuit_of_signed_multiplier(values[0] as usize),
    },
    Entry {
        name: "divider",
        description: "quotient and remainder of unsigned integers; by zero all ones and the \
            dividend",
        parameters: &[FACTOR_BITS],
        generate: |values| arithmetic::circuit_of_divider(values[0] as usize),
    },
    Entry {
        name: "divider-signed",
        description: "quotient and remainder of signed integers; by zero -1 and the dividend",
        parameters: &[FACTOR_BITS],
        generate: |values| arithmetic::circuit_of_signed_divider(values[0] as usize),
    },
    Entry {
        name: "hamming-distance",
        description: "in how many bits two strings differ",
        parameters: &[parameter(
            "bits",
            "length of the strings in bits",
            1..=1_048_576,
            None,
        )],
        generate: |values| arithmetic::circuit_of_hamming_distance(values[0] as usize),
    },
    Entry {
        name: "edit-distance",
        description: "Levenshtein's distance of two strings, by differences of neighbouring cells",
        parameters: &[
            symbols("x_symbols", 512),
            symbols("y_symbols", 512),
            SYMBOL_BITS,
        ],
        generate: |values| {
            edit_distance::circuit((values[0] as usize, values[1] as usize), values[2] as usize)
        },
    },
    Entry {
        name: "edit-distance-plain",
        description: "Levenshtein's distance of two strings, with whole distances in the cells",
        parameters: &[
            symbols("x_symbols", 256),
            symbols("y_symbols", 256),
            SYMBOL_BITS,
        ],
        generate: |values| {
            edit_distance::circuit_plain(
                (values[0] as usize, values[1] as usize),
                values[2] as usize,
            )
        },
    },
    Entry {
        name: "levenshtein-tile",
        description: "a square tile of a table of edit distances, from and to differences at its \
            edges",
        parameters: &[
            parameter("side", "symbols along each edge", 1..=64, None),
            SYMBOL_BITS,
        ],
        generate: |values| edit_distance::circuit_of_tile(values[0] as usize, values[1] as usize),
    },
    Entry {
        name: "levenshtein-distance",
        description: "the edit distance from the differences down the right edge of the table",
        parameters: &[symbols("rows", 4096), symbols("columns", 4096)],
        generate: |values| {
            edit_distance::circuit_of_distance(values[0] as usize, values[1] as usize)
        },
    },
    Entry {
        name: "levenshtein-cell",
        description: "the core cell of a table of edit distances, from whole distances",
        parameters: &[DISTANCE_BITS, SYMBOL_BITS],
        generate: |values| edit_distance::circuit_of_cell(values[0] as usize, values[1] as usize),
    },
    Entry {
        name: "levenshtein-plain-tile",
        description: "a square tile of a table of edit distances, from and to whole distances",
        parameters: &[
            parameter("side", "symbols along each edge", 1..=64, None),
            DISTANCE_BITS,
            SYMBOL_BITS,
        ],
        generate: |values| {
            edit_distance::circuit_of_plain_tile(
                values[0] as usize,
                values[1] as usize,
                values[2] as usize,
            )
        },
    },
    Entry {
        name: "longest-common-subsequence",
        description: "the length of the longest subsequence that two strings share, gaps allowed",
        parameters: &[
            symbols("x_symbols", 512),
            symbols("y_symbols", 512),
            SYMBOL_BITS,
        ],
        generate: |values| {
            subsequence::circuit_of_subsequence(
                (values[0] as usize, values[1] as usize),
                values[2] as usize,
            )
        },
    },
    Entry {
        name: "subsequence-tile",
        description: "a square tile of a table of longest common subsequences",
        parameters: &[
            parameter("side", "symbols along each edge", 1..=64, None),
            SYMBOL_BITS,
        ],
        generate: |values| {
            subsequence::circuit_of_subsequence_tile(values[0] as usize, values[1] as usize)
        },
    },
    Entry {
        name: "longest-common-substring",
        description: "the length of the longest substring that two strings share",
        parameters: &[
            symbols("x_symbols", 512),
            symbols("y_symbols", 512),
            SYMBOL_BITS,
        ],
        generate: |values| {
            subsequence::circuit_of_substring(
                (values[0] as usize, values[1] as usize),
                values[2] as usize,
            )
        },
    },
    Entry {
        name: "longest-common-substring-step",
        description: "one more symbol in the search for the longest common substring, from state \
            to state",
        parameters: &[
            symbols("length", 4096),
            parameter("symbol_bits", "width of a symbol in bits", 1..=16, Some(1)),
        ],
        generate: |values| {
            subsequence::circuit_of_substring_step(values[0] as usize, values[1] as usize)
        },
    },
    Entry {
        name: "keyed-database",
        description: "the value whose key is asked for; of several the last, zero if there is none",
        parameters: &[
            parameter("entries", "entries of the database", 1..=4096, None),
            parameter("key_bits", "width of a key in bits", 1..=256, Some(32)),
            parameter("value_bits", "width of a value in bits", 1..=1024, Some(64)),
        ],
        generate: |values| {
            tables::circuit_of_keyed_database(
                values[0] as usize,
                values[1] as usize,
                values[2] as usize,
            )
        },
    },
    Entry {
        name: "cell-map-get",
        description: "who is in a cell of a map; zero if nobody is, or there is no such cell",
        parameters: &[CELLS, ID_BITS],
        generate: |values| cell_map::circuit_of_get(values[0] as usize, values[1] as usize),
    },
    Entry {
        name: "cell-map-set",
        description: "moves an ID to a cell of a map unless somebody else is there, and says who",
        parameters: &[CELLS, ID_BITS],
        generate: |values| cell_map::circuit_of_set(values[0] as usize, values[1] as usize),
    },
    Entry {
        name: "state-seal",
        description: "a state under a one-time pad, with a MAC, to leave a run and come back",
        parameters: &[STATE_BITS],
        generate: |values| sealed_state::circuit_of_seal(values[0] as usize),
    },
    Entry {
        name: "state-open",
        description: "the state that was sealed, and whether it is genuine",
        parameters: &[STATE_BITS],
        generate: |values| sealed_state::circuit_of_open(values[0] as usize),
    },
    Entry {
        name: "matrix-product",
        description: "the product of two square matrices, entries wrapping",
        parameters: &[
            parameter("n", "rows and columns", 1..=12, None),
            parameter("bits", "width of an entry in bits", 1..=64, Some(32)),
        ],
        generate: |values| {
            tables::circuit_of_matrix_product(values[0] as usize, values[1] as usize)
        },
    },
    Entry {
        name: "sort",
        description: "unsigned integers in ascending order",
        parameters: &[
            parameter("count", "number of values", 1..=1024, None),
            parameter("bits", "width of a value in bits", 1..=64, Some(32)),
        ],
        generate: |values| tables::circuit_of_sort(values[0] as usize, values[1] as usize),
    },
    Entry {
        name: "median",
        description: "the median of unsigned integers, the lower one of an even number",
        parameters: &[
            parameter("count", "number of values", 1..=1024, None),
            parameter("bits", "width of a value in bits", 1..=64, Some(32)),
        ],
        generate: |values| tables::circuit_of_median(values[0] as usize, values[1] as usize),
    },
    Entry {
        name: "set-intersection-size",
        description: "how many elements two sets share, each in strictly ascending order",
        parameters: &[
            parameter("elements", "elements of each set", 1..=2048, None),
            parameter("bits", "width of a value in bits", 1..=64, Some(32)),
        ],
        generate: |values| {
            tables::circuit_of_set_intersection_size(values[0] as usize, values[1] as usize)
        },
    },
    Entry {
        name: "linear-classifier",
        description: "on which side of a plane a sample lies",
        parameters: &[
            parameter("features", "features of a sample", 1..=1024, None),
            parameter("bits", "width of each number in bits", 1..=32, Some(16)),
        ],
        generate: |values| {
            classify::circuit_of_linear_classifier(values[0] as usize, values[1] as usize)
        },
    },
    Entry {
        name: "naive-bayes",
        description: "the most probable class of a sample, from logarithms of probabilities",
        parameters: &[
            parameter("classes", "number of classes", 2..=32, None),
            parameter("features", "features of a sample", 1..=64, None),
            parameter("values", "values that a feature can take", 2..=64, None),
            parameter("bits", "width of each number in bits", 1..=32, Some(16)),
        ],
        generate: |values| {
            classify::circuit_of_naive_bayes(
                values[0] as usize,
                values[1] as usize,
                values[2] as usize,
                values[3] as usize,
            )
        },
    },
    Entry {
        name: "decision-tree",
        description: "the label that a complete decision tree gives a sample, its path hidden",
        parameters: &[
            parameter("depth", "comparisons on a path", 1..=8, None),
            parameter("features", "features of a sample", 1..=256, None),
            parameter("bits", "width of each number in bits", 1..=64, Some(16)),
        ],
        generate: |values| {
            classify::circuit_of_decision_tree(
                values[0] as usize,
                values[1] as usize,
                values[2] as usize,
            )
        },
    },
    Entry {
        name: "min-cut-250k-synthetic",
        description: "a synthetic circuit of the size of the lost benchmark Min-Cut 250,000, \
            without meaning",
        parameters: &[],
        generate: |_| min_cut::circuit(),
    },
];
