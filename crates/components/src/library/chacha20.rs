//! The ChaCha20 block function (RFC 8439, section 2.3).
//!
//! Cost: four additions of 32 bits in each of 80 quarter rounds, and one for each word at the end,
//! at 31 AND gates each: 336 · 31 = 10416. The constants in the first round save 16 of them.

use tacit_circuit::builder::{Builder, Bytes, UInt};

/// "expand 32-byte k" (RFC 8439, section 2.3).
const CONSTANTS: [u32; 4] = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574];

/// The words of the column rounds and of the diagonal rounds (RFC 8439, section 2.3.1).
const QUARTER_ROUNDS: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// Returns the 64 bytes of key stream of block `counter`, under a key of 32 bytes and a nonce of
/// 12.
fn chacha20_block<'b>(key: &Bytes<'b>, counter: &UInt<'b>, nonce: &Bytes<'b>) -> Bytes<'b> {
    assert_eq!((key.len(), nonce.len()), (32, 12), "bytes of key and nonce");
    assert_eq!(counter.width(), 32, "bits of the counter");
    let builder = key.bus().builder();
    let words = |bytes: &Bytes<'b>| -> Vec<UInt<'b>> {
        (0..bytes.len() / 4)
            .map(|word| UInt::new(bytes.slice(4 * word..4 * word + 4).bus().clone()))
            .collect()
    };
    let mut initial: Vec<UInt<'b>> = CONSTANTS
        .iter()
        .map(|&word| UInt::constant(builder, 32, word.into()))
        .collect();
    initial.extend(words(key));
    initial.push(counter.clone());
    initial.extend(words(nonce));
    let mut state = initial.clone();
    for _ in 0..10 {
        QUARTER_ROUNDS
            .iter()
            .for_each(|&words| quarter_round(&mut state, words));
    }
    let sums = initial
        .iter()
        .zip(&state)
        .map(|(before, after)| before + after);
    let bytes = sums.map(|word| Bytes::new(word.bus().clone()));
    bytes
        .reduce(|stream, word| stream.concat(&word))
        .expect("sixteen words")
}

/// Applies the quarter round to words a, b, c and d (RFC 8439, section 2.1).
fn quarter_round(state: &mut [UInt<'_>], [a, b, c, d]: [usize; 4]) {
    for (x, y, z, rotation) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        state[x] = &state[x] + &state[y];
        state[z] = (&state[z] ^ &state[x]).rotate_left(rotation);
    }
}

pub(super) fn circuit(builder: &Builder) {
    let (key, counter) = (builder.bytes("key", 32), builder.uint("counter", 32));
    let nonce = builder.bytes("nonce", 12);
    builder.output("key_stream", &chacha20_block(&key, &counter, &nonce));
}
