//! The rows of a party's table, encoded as the stage of a join takes them.

use core::fmt;
use core::hash::{Hash, Hasher};

use tacit_circuit::{WipedTexts, reserve_wiping};
use zeroize::Zeroizing;

use super::KeyNormalization;

/// The encoding of a key. Both parties encode equal keys equally, and different keys of one type
/// differently. Private: it is wiped, and `Debug` prints none of it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KeyEncoding(Zeroizing<Vec<u8>>);

impl fmt::Debug for KeyEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyEncoding").finish_non_exhaustive()
    }
}

impl Hash for KeyEncoding {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl KeyEncoding {
    /// Adds text, or bytes, of variable length: the length, then the bytes.
    #[must_use]
    pub fn text(mut self, bytes: &[u8]) -> Self {
        self.push_text(bytes);
        self
    }

    /// Adds a value of a type with `bits` bits: its ⌈bits/8⌉ bytes, little-endian.
    ///
    /// # Panics
    ///
    /// Panics if `bytes` does not have this length.
    #[must_use]
    pub fn fixed(mut self, bytes: &[u8], bits: usize) -> Self {
        self.push_fixed(bytes, bits);
        self
    }

    /// Adds what [`text`](Self::text) adds.
    pub fn push_text(&mut self, bytes: &[u8]) {
        extend_wiping(&mut self.0, &(bytes.len() as u64).to_le_bytes());
        extend_wiping(&mut self.0, bytes);
    }

    /// Adds a text in the form in which it is compared, and returns whether it has more than white
    /// space.
    pub fn push_normalized(&mut self, how: KeyNormalization, text: &str) -> bool {
        let begin = self.0.len() + 8;
        self.push_text(&[]);
        how.append(text, &mut self.0);
        let length = (self.0.len() - begin) as u64;
        self.0[begin - 8..begin].copy_from_slice(&length.to_le_bytes());
        let text = &self.0[begin..];
        // Most texts show it by their first byte.
        text.first().is_some_and(u8::is_ascii_graphic)
            || str::from_utf8(text).is_ok_and(|text| !text.trim().is_empty())
    }

    /// Adds what [`fixed`](Self::fixed) adds.
    ///
    /// # Panics
    ///
    /// As [`fixed`](Self::fixed).
    pub fn push_fixed(&mut self, bytes: &[u8], bits: usize) {
        assert_eq!(
            bytes.len(),
            bits.div_ceil(8),
            "as many bytes as hold the bits"
        );
        extend_wiping(&mut self.0, bytes);
    }

    /// Removes all parts, to encode another key in the same memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Appends bytes. If the memory has to grow, the old memory is wiped.
pub(super) fn extend_wiping(into: &mut Zeroizing<Vec<u8>>, bytes: &[u8]) {
    reserve_wiping(into, bytes.len());
    into.extend_from_slice(bytes);
}

/// The rows of a party's table as they are read, each with its key and its bits. Private: it is
/// wiped, and `Debug` prints only the number of rows.
pub struct TableRows {
    /// The encoding of the key of each row.
    keys: WipedTexts,
    row_bits: usize,
    /// ⌈row bits / 128⌉ words for each row, the lowest bit first; bits above the row are zero.
    rows: Zeroizing<Vec<u128>>,
}

impl fmt::Debug for TableRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableRows({})", self.len())
    }
}

impl TableRows {
    /// Returns an empty table whose rows have `row_bits` bits in addition to their keys.
    #[must_use]
    pub fn new(row_bits: usize) -> Self {
        Self {
            keys: WipedTexts::default(),
            row_bits,
            rows: Zeroizing::new(Vec::new()),
        }
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the number of bits of a row in addition to its key.
    #[must_use]
    pub fn row_bits(&self) -> usize {
        self.row_bits
    }

    /// Returns the encodings of the keys, and the bits of the rows: ⌈row bits / 128⌉ words for
    /// each, the lowest bit first.
    #[must_use]
    pub fn into_parts(self) -> (WipedTexts, Zeroizing<Vec<u128>>) {
        (self.keys, self.rows)
    }

    /// Returns the number of bytes of all keys.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.keys.byte_count()
    }

    /// Makes room for `rows` rows whose keys have `key_bytes` bytes each, so that the memory does
    /// not move while it grows to these.
    pub fn reserve(&mut self, rows: usize, key_bytes: usize) {
        self.keys.reserve(rows, rows * key_bytes);
        reserve_wiping(&mut self.rows, rows * self.row_bits.div_ceil(128));
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// Panics if `bits` does not have the length of a row.
    pub fn push(&mut self, key: KeyEncoding, bits: &[bool]) {
        let bits = bits.iter().map(|bit| ([u8::from(*bit)], 1));
        self.push_packed(&key, bits);
    }

    /// Adds a row whose bits are those of these fields, one after another. Of each there are its
    /// bytes, the lowest bit of each first, and its number of bits. Bits above these are zero.
    ///
    /// # Panics
    ///
    /// Panics if the fields do not have the length of a row together.
    pub fn push_packed(
        &mut self,
        key: &KeyEncoding,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, usize)>,
    ) {
        let (begin, words) = (self.rows.len(), self.row_bits.div_ceil(128));
        reserve_wiping(&mut self.rows, words);
        self.rows.resize(begin + words, 0);
        let row = &mut self.rows[begin..];
        let mut end = 0;
        for (bytes, bits) in fields {
            let mut at = end;
            end += bits;
            assert!(end <= self.row_bits, "no more bits than a row has");
            for byte in bytes.as_ref() {
                let (word, shift) = (at / 128, at % 128);
                let byte = u128::from(*byte);
                row[word] |= byte << shift;
                // Bits above the field's are zero, so that there may be no next word.
                if shift > 120
                    && let Some(next) = row.get_mut(word + 1)
                {
                    *next |= byte >> (128 - shift);
                }
                at += 8;
            }
        }
        assert_eq!(end, self.row_bits, "as many bits as a row has");
        self.keys.push(key.bytes());
    }

    /// Adds all rows of another table of such rows, in order.
    ///
    /// # Panics
    ///
    /// Panics if its rows have another number of bits.
    pub fn append(&mut self, others: &Self) {
        assert_eq!(others.row_bits, self.row_bits, "rows of the same bits");
        self.keys.append(&others.keys);
        reserve_wiping(&mut self.rows, others.rows.len());
        self.rows.extend_from_slice(&others.rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_packed_by_bits_and_by_fields_alike() {
        let widths = [1, 7, 8, 3, 64, 50, 12, 9];
        let row_bits = widths.iter().sum();
        let bit = |place: usize| (place * place / 3 + place / 5) % 2 == 1;
        let bits: Vec<bool> = (0..row_bits).map(bit).collect();
        let mut fields = Vec::new();
        let mut rest = &bits[..];
        for width in widths {
            let (field, behind) = rest.split_at(width);
            rest = behind;
            let byte = |bits: &[bool]| {
                let bits = bits.iter().enumerate();
                bits.fold(0, |byte, (place, bit)| byte | u8::from(*bit) << place)
            };
            fields.push((field.chunks(8).map(byte).collect::<Vec<u8>>(), width));
        }
        let key = KeyEncoding::default().fixed(&[5], 8).text(b"a");
        let (mut one, mut other) = (TableRows::new(row_bits), TableRows::new(row_bits));
        one.push(key.clone(), &bits);
        other.push_packed(&key, fields.clone());
        one.append(&other);
        let (keys, rows) = one.into_parts();
        assert_eq!((keys.get(0), keys.get(1)), (key.bytes(), key.bytes()));
        assert_eq!(rows.len(), 2 * row_bits.div_ceil(128));
        for row in rows.chunks(row_bits.div_ceil(128)) {
            let found = (0..row_bits).map(|at| row[at / 128] >> (at % 128) & 1 == 1);
            assert!(found.eq(bits.iter().copied()));
        }
    }

    #[test]
    fn normalized_keys_are_those_of_their_texts() {
        for how in KeyNormalization::ALL {
            for text in [
                "",
                " ",
                "\0 ",
                " \0a\0",
                "Ann@X ",
                "JOSE\u{301}@x",
                "31.1.2024",
                "\u{a0}",
            ] {
                let mut key = KeyEncoding::default();
                let is_there = key.push_normalized(how, text);
                let expected = how.apply(text);
                assert_eq!(is_there, !expected.trim().is_empty(), "{how} {text:?}");
                assert_eq!(key, KeyEncoding::default().text(expected.as_bytes()));
            }
        }
    }
}
