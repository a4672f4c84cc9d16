//! The stage of a join: it provides the bits of the function's two inputs.
//!
//! The order of the bits is that of [`tacit_function::join`].

use std::num::NonZeroUsize;

use tacit_circuit::reserve_wiping;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::join::{BinValues, PlacedBins};
use super::keys::{KeyEncoding, Keys, TooManyRows};
use super::sizes::Sizes;
use crate::shares::MadeBits;

/// The rows of a party's table as they are read, each with its key and its bits. Private: it is
/// wiped, and `Debug` prints only the number of rows.
pub struct TableRows {
    /// The key of each row.
    keys: Keys,
    row_bits: usize,
    /// ⌈row bits / 128⌉ blocks for each row; bits above the row are zero.
    rows: Zeroizing<Vec<Block>>,
}

/// A party's table in a join: each key once, in the table's order, with the payload that it brings
/// into its bin. Private: it is wiped, and `Debug` prints only the number of keys.
pub struct JoinedTable {
    keys: Keys,
    row_count: usize,
    payload_bits: usize,
    /// ⌈payload bits / 128⌉ blocks for each key; bits above the payload are zero.
    payloads: Zeroizing<Vec<Block>>,
}

impl std::fmt::Debug for TableRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TableRows({})", self.len())
    }
}

impl std::fmt::Debug for JoinedTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JoinedTable({} keys)", self.keys.len())
    }
}

impl TableRows {
    /// Returns an empty table whose rows have `row_bits` bits in addition to their keys.
    #[must_use]
    pub fn new(row_bits: usize) -> Self {
        Self {
            keys: Keys::default(),
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

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// Panics if `bits` does not have the length of a row.
    pub fn push(&mut self, key: KeyEncoding, bits: &[bool]) {
        assert_eq!(bits.len(), self.row_bits, "as many bits as a row has");
        self.keys.push(&key);
        reserve_wiping(&mut self.rows, self.row_bits.div_ceil(128));
        let packed = bits.chunks(128).map(|bits| {
            let bit = |block, bit: &bool| block << 1 | u128::from(*bit);
            Block::from_u128(bits.iter().rev().fold(0, bit))
        });
        self.rows.extend(packed);
    }

    /// Groups the table by key. A key may have up to `most_rows` rows.
    ///
    /// # Errors
    ///
    /// A key has more rows.
    pub fn by_key(self, most_rows: u64) -> Result<JoinedTable, TooManyRows> {
        let row_count = self.keys.len();
        let (keys, key_of_row) = self.keys.grouped(most_rows)?;
        let count_bits = match most_rows {
            0 | 1 => 0,
            most_rows => (64 - most_rows.leading_zeros()) as usize,
        };
        let payload_bits = count_bits + most_rows.max(1) as usize * self.row_bits;
        let (size, row_size) = (payload_bits.div_ceil(128), self.row_bits.div_ceil(128));
        if count_bits == 0 {
            // Each key has one row, which is its payload.
            return Ok(JoinedTable {
                keys,
                row_count,
                payload_bits,
                payloads: self.rows,
            });
        }
        let mut payloads = Zeroizing::new(vec![Block::ZERO; keys.len() * size]);
        let mut counts = vec![0_u64; keys.len()];
        for row in 0..row_count {
            let key = key_of_row.as_ref().map_or(row, |keys| keys[row] as usize);
            let at = count_bits + counts[key] as usize * self.row_bits;
            counts[key] += 1;
            let bits = &self.rows[row * row_size..][..row_size];
            add_at(&mut payloads[key * size..][..size], at, bits);
        }
        for (payload, count) in payloads.chunks_exact_mut(size).zip(counts) {
            payload[0] ^= Block::from_u128(count.into());
        }
        Ok(JoinedTable {
            keys,
            row_count,
            payload_bits,
            payloads,
        })
    }
}

impl JoinedTable {
    /// Returns the keys, in the order of their first rows.
    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Returns the number of bits that a key brings into its bin.
    #[must_use]
    pub fn payload_bits(&self) -> usize {
        self.payload_bits
    }

    /// Returns the payload that each key brings into its bin, as
    /// [`Join::program`](super::Join::program) takes it.
    pub(super) fn payloads(&self) -> &[Block] {
        &self.payloads
    }

    fn payload(&self, key: usize) -> &[Block] {
        let size = self.payload_bits.div_ceil(128);
        &self.payloads[key * size..][..size]
    }
}

impl PlacedBins {
    /// Returns the bits of the placer's input: for each bin o, the row in it, and p'.
    pub(super) fn input_bits(
        &self,
        sizes: &Sizes,
        table: &JoinedTable,
        threads: NonZeroUsize,
    ) -> MadeBits {
        let (tag, row) = (sizes.tag_bits as usize, sizes.placer_bits as usize);
        let payload = sizes.payload_bits as usize;
        let of_bins = (self.rows.len(), tag + row + payload);
        MadeBits::of_elements(of_bins, threads, |bin, at, bits| {
            let value = self.values.value(bin);
            bits.put(at, value, 0, tag);
            if let Some(key) = self.rows[bin] {
                bits.put(at + tag, table.payload(key as usize), 0, row);
            }
            bits.put(at + tag + row, value, tag, payload);
        })
    }
}

impl BinValues {
    /// Returns the bits of the programmer's input: for each bin r and p.
    pub(super) fn input_bits(&self, sizes: &Sizes, threads: NonZeroUsize) -> MadeBits {
        let width = sizes.tag_bits as usize + sizes.payload_bits as usize;
        let of_bins = (self.values().len(), width);
        MadeBits::of_elements(of_bins, threads, |bin, at, bits| {
            bits.put(at, self.value(bin), 0, width);
        })
    }
}

/// XORs `bits` into `to`, from bit `at` on. Bits beyond the last block are dropped.
fn add_at(to: &mut [Block], at: usize, bits: &[Block]) {
    let (first, shift) = (at / 128, at % 128);
    for (i, block) in bits.iter().enumerate() {
        let block = block.to_u128();
        if let Some(to) = to.get_mut(first + i) {
            *to ^= Block::from_u128(block << shift);
        }
        if let Some(to) = to.get_mut(first + i + 1)
            && shift > 0
        {
            *to ^= Block::from_u128(block >> (128 - shift));
        }
    }
}
