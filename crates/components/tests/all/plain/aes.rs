//! AES with all key lengths (FIPS 197).

/// Multiplies in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
fn product(a: u8, b: u8) -> u8 {
    let (mut a, mut sum) = (a, 0);
    for bit in 0..8 {
        if b >> bit & 1 == 1 {
            sum ^= a;
        }
        a = a << 1 ^ if a >> 7 == 1 { 0x1b } else { 0 };
    }
    sum
}

/// Computes the S-box by its definition.
pub(crate) fn s_box_table() -> Vec<u8> {
    let inverse = |x: u8| (0..=255).find(|&y| product(x, y) == 1).unwrap_or(0);
    let affine = |x: u8| (0..5).fold(0x63, |sum, by| sum ^ x.rotate_left(by));
    (0..=255).map(|x| affine(inverse(x))).collect()
}

pub(crate) struct Aes {
    s_box: Vec<u8>,
}

impl Aes {
    pub(crate) fn new() -> Self {
        Self {
            s_box: s_box_table(),
        }
    }

    pub(crate) fn round_keys(&self, key: &[u8]) -> Vec<Vec<u8>> {
        let key_words = key.len() / 4;
        let mut words: Vec<Vec<u8>> = key.chunks(4).map(<[u8]>::to_vec).collect();
        let mut constant = 1;
        for index in key_words..4 * (key_words + 7) {
            let mut word = words[index - 1].clone();
            if index % key_words == 0 {
                word.rotate_left(1);
                word.iter_mut()
                    .for_each(|byte| *byte = self.s_box[usize::from(*byte)]);
                word[0] ^= constant;
                constant = product(constant, 2);
            } else if key_words > 6 && index % key_words == 4 {
                word.iter_mut()
                    .for_each(|byte| *byte = self.s_box[usize::from(*byte)]);
            }
            words.push(add(&words[index - key_words], &word));
        }
        words.chunks(4).map(<[Vec<u8>]>::concat).collect()
    }

    /// Adds the round key to the state, then applies SubBytes and ShiftRows.
    fn half_round(&self, state: &[u8], round_key: &[u8]) -> Vec<u8> {
        let state = add(state, round_key);
        (0..16)
            .map(|at| self.s_box[usize::from(state[(at + 4 * (at % 4)) % 16])])
            .collect()
    }

    pub(crate) fn round(&self, state: &[u8], round_key: &[u8]) -> Vec<u8> {
        let state = self.half_round(state, round_key);
        let mixed = |at: usize| {
            let (column, row) = (&state[at - at % 4..][..4], at % 4);
            [2, 3, 1, 1]
                .iter()
                .enumerate()
                .fold(0, |sum, (k, &factor)| {
                    sum ^ product(column[(row + k) % 4], factor)
                })
        };
        (0..16).map(mixed).collect()
    }

    pub(crate) fn last_round(&self, state: &[u8], round_key: &[u8], last: &[u8]) -> Vec<u8> {
        add(&self.half_round(state, round_key), last)
    }

    pub(crate) fn encrypt_expanded(&self, round_keys: &[Vec<u8>], block: &[u8]) -> Vec<u8> {
        let rounds = round_keys.len() - 1;
        let state = round_keys[..rounds - 1]
            .iter()
            .fold(block.to_vec(), |state, key| self.round(&state, key));
        self.last_round(&state, &round_keys[rounds - 1], &round_keys[rounds])
    }

    pub(crate) fn encrypt(&self, key: &[u8], block: &[u8]) -> Vec<u8> {
        self.encrypt_expanded(&self.round_keys(key), block)
    }
}

pub(crate) fn add(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}
