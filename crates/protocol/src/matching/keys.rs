//! The encoded keys of a table, each once.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::num::NonZeroUsize;

use tacit_circuit::WipedTexts;
use tacit_kernels::{Block, KeyHashes, WipedVec, share_out, workers};
use zeroize::Zeroizing;

pub use tacit_function::join::KeyEncoding;

use super::hashes::MatchTag;

/// The number of keys on which a thread works at a time.
pub(super) const SPAN_KEYS: usize = 1 << 12;

/// The number of the key of each row.
pub(super) type KeyOfRow = Zeroizing<Vec<u32>>;

/// The keys of a table, each once, in the table's order. Private: `Debug` prints only their number.
#[derive(Default)]
pub struct Keys(WipedTexts);

/// The error that a key has more rows than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row} {}has the key of row {first}", surplus(*.most))]
pub struct TooManyRows {
    /// The first row that exceeds the limit, from 0.
    pub row: usize,
    /// The first row with this key, from 0.
    pub first: usize,
    /// The largest number of rows of a key, at least 1.
    pub most: u64,
}

fn surplus(most: u64) -> String {
    match most {
        1 => String::new(),
        _ => format!("is one more than the {most} rows that a key may have, and "),
    }
}

impl Keys {
    /// Returns the keys with these encodings, each once, in the order of their first rows, and the
    /// number of the key of each row if a key has several. Works on `threads` threads unless a key
    /// has several rows.
    ///
    /// # Errors
    ///
    /// More than `most_rows` rows have the same key.
    pub(super) fn grouped(
        encodings: WipedTexts,
        most_rows: u64,
        threads: NonZeroUsize,
    ) -> Result<(Self, Option<KeyOfRow>), TooManyRows> {
        if most_rows > 0 && is_each_once(&encodings, threads) {
            return Ok((Self(encodings), None));
        }
        let (rows, mut keys) = (encodings.len(), WipedTexts::default());
        let mut key_of_row = Zeroizing::new(Vec::with_capacity(rows));
        let mut known: HashMap<&[u8], (u32, usize, u64)> = HashMap::with_capacity(rows);
        for row in 0..rows {
            let (encoding, next) = (encodings.get(row), known.len() as u32);
            let (key, first, count) = known.entry(encoding).or_insert((next, row, 0));
            *count += 1;
            let first = *first;
            if *count > most_rows {
                let most = most_rows.max(1);
                return Err(TooManyRows { row, first, most });
            }
            if first == row {
                keys.push(encoding);
            }
            key_of_row.push(*key);
        }
        Ok((Self(keys), Some(key_of_row)))
    }

    /// Returns the keys with these encodings.
    ///
    /// # Errors
    ///
    /// A key occurs twice.
    pub fn new(keys: impl IntoIterator<Item = KeyEncoding>) -> Result<Self, TooManyRows> {
        let mut all = WipedTexts::default();
        keys.into_iter().for_each(|key| all.push(key.bytes()));
        Ok(Self::grouped(all, 1, NonZeroUsize::MIN)?.0)
    }

    /// Returns the keys that are one text each.
    ///
    /// # Errors
    ///
    /// A key occurs twice.
    pub fn of_texts(
        texts: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> Result<Self, TooManyRows> {
        let (mut all, mut key) = (WipedTexts::default(), KeyEncoding::default());
        for text in texts {
            key.clear();
            key.push_text(text.as_ref());
            all.push(key.bytes());
        }
        Ok(Self::grouped(all, 1, NonZeroUsize::MIN)?.0)
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the digest of each key, made on `threads` threads.
    pub(crate) fn digests(&self, tag: &MatchTag, threads: NonZeroUsize) -> WipedVec<Block> {
        let mut digests = WipedVec::zeros(self.len());
        let spans = digests.chunks_mut(SPAN_KEYS).enumerate();
        share_out(&mut workers(threads), spans, |(), (number, digests)| {
            for (key, digest) in (number * SPAN_KEYS..).zip(digests) {
                *digest = tag.digest(self.0.get(key));
            }
        });
        digests
    }
}

/// Whether each key occurs once.
fn is_each_once(encodings: &WipedTexts, threads: NonZeroUsize) -> bool {
    let hashes = KeyHashes::of(encodings.len(), threads, |hasher, first, hashes| {
        for (row, hash) in (first..).zip(hashes) {
            *hash = hasher.hash_one(encodings.get(row));
        }
    });
    hashes.are_different()
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({})", self.len())
    }
}
