//! The encoded keys of a table, each once.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroUsize;

use tacit_circuit::reserve_wiping;
use tacit_kernels::{Block, WipedVec, share_out, workers};
use zeroize::Zeroizing;

use super::hashes::MatchTag;

/// The number of keys on which a thread works at a time.
pub(super) const SPAN_KEYS: usize = 1 << 12;

/// The encoding of a key. Both parties encode equal keys equally, and different keys of one type
/// differently. Private: it is wiped, and `Debug` prints none of it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KeyEncoding(Zeroizing<Vec<u8>>);

impl std::fmt::Debug for KeyEncoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyEncoding").finish_non_exhaustive()
    }
}

impl KeyEncoding {
    /// Adds text, or bytes, of variable length: the length, then the bytes.
    #[must_use]
    pub fn text(mut self, bytes: &[u8]) -> Self {
        push_text(&mut self.0, bytes);
        self
    }

    /// Adds a value of a type with `bits` bits: its ⌈bits/8⌉ bytes, little-endian.
    ///
    /// # Panics
    ///
    /// Panics if `bytes` does not have this length.
    #[must_use]
    pub fn fixed(mut self, bytes: &[u8], bits: usize) -> Self {
        assert_eq!(
            bytes.len(),
            bits.div_ceil(8),
            "as many bytes as hold the bits"
        );
        extend_wiping(&mut self.0, bytes);
        self
    }
}

/// Appends the encoding of a text.
fn push_text(into: &mut Zeroizing<Vec<u8>>, bytes: &[u8]) {
    extend_wiping(into, &(bytes.len() as u64).to_le_bytes());
    extend_wiping(into, bytes);
}

/// Appends bytes. If the memory has to grow, the old memory is wiped.
fn extend_wiping(into: &mut Zeroizing<Vec<u8>>, bytes: &[u8]) {
    reserve_wiping(into, bytes.len());
    into.extend_from_slice(bytes);
}

/// The number of the key of each row.
pub(super) type KeyOfRow = Zeroizing<Vec<u32>>;

/// The keys of a table, each once, in the table's order. Private: `Debug` prints only their number.
#[derive(Default)]
pub struct Keys {
    encodings: Zeroizing<Vec<u8>>,
    /// The end of each encoding.
    ends: Vec<usize>,
}

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
    /// Adds an encoding, which may be there already.
    pub(super) fn push(&mut self, key: &KeyEncoding) {
        extend_wiping(&mut self.encodings, &key.0);
        self.ends.push(self.encodings.len());
    }

    /// Returns the keys with these encodings, each once, in the order of their first rows, and the
    /// number of the key of each row if a key has several.
    ///
    /// # Errors
    ///
    /// More than `most_rows` rows have the same key.
    pub(super) fn grouped(self, most_rows: u64) -> Result<(Self, Option<KeyOfRow>), TooManyRows> {
        if most_rows > 0 && self.is_each_once() {
            return Ok((self, None));
        }
        let mut key_of_row = Zeroizing::new(Vec::with_capacity(self.len()));
        let mut is_first = vec![false; self.len()];
        let mut known: HashMap<&[u8], (u32, usize, u64)> = HashMap::with_capacity(self.len());
        for (row, encoding) in self.encodings().enumerate() {
            let next = known.len() as u32;
            let (key, first, count) = known.entry(encoding).or_insert((next, row, 0));
            *count += 1;
            let first = *first;
            if *count > most_rows {
                let most = most_rows.max(1);
                return Err(TooManyRows { row, first, most });
            }
            is_first[row] = first == row;
            key_of_row.push(*key);
        }
        drop(known);
        let mut keys = Self::default();
        for (encoding, _) in self.encodings().zip(is_first).filter(|(_, first)| *first) {
            extend_wiping(&mut keys.encodings, encoding);
            keys.ends.push(keys.encodings.len());
        }
        Ok((keys, Some(key_of_row)))
    }

    /// Returns the keys with these encodings.
    ///
    /// # Errors
    ///
    /// A key occurs twice.
    pub fn new(keys: impl IntoIterator<Item = KeyEncoding>) -> Result<Self, TooManyRows> {
        let mut all = Self::default();
        keys.into_iter().for_each(|key| all.push(&key));
        Ok(all.grouped(1)?.0)
    }

    /// Returns the keys that are one text each.
    ///
    /// # Errors
    ///
    /// A key occurs twice.
    pub fn of_texts(
        texts: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> Result<Self, TooManyRows> {
        let mut all = Self::default();
        for text in texts {
            push_text(&mut all.encodings, text.as_ref());
            all.ends.push(all.encodings.len());
        }
        Ok(all.grouped(1)?.0)
    }

    /// Whether the hashes of all encodings differ, so that each key occurs once. To sort hashes
    /// takes a fraction of a map's time.
    fn is_each_once(&self) -> bool {
        let hasher = RandomState::new();
        let hashes = self.encodings().map(|encoding| hasher.hash_one(encoding));
        let mut hashes: Vec<u64> = hashes.collect();
        hashes.sort_unstable();
        hashes.is_sorted_by(|one, next| one < next)
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn encodings(&self) -> impl Iterator<Item = &[u8]> {
        self.encodings_from(0)
    }

    /// Returns the encodings from key `first` on.
    fn encodings_from(&self, first: usize) -> impl Iterator<Item = &[u8]> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        let ranges = begins.skip(first).zip(&self.ends[first..]);
        ranges.map(|(begin, end)| &self.encodings[begin..*end])
    }

    /// Returns the digest of each key, made on `threads` threads.
    pub(crate) fn digests(&self, tag: &MatchTag, threads: NonZeroUsize) -> WipedVec<Block> {
        let mut digests = WipedVec::zeros(self.len());
        let spans = digests.chunks_mut(SPAN_KEYS).enumerate();
        share_out(&mut workers(threads), spans, |(), (number, digests)| {
            let encodings = self.encodings_from(number * SPAN_KEYS);
            for (digest, encoding) in digests.iter_mut().zip(encodings) {
                *digest = tag.digest(encoding);
            }
        });
        digests
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({})", self.len())
    }
}
