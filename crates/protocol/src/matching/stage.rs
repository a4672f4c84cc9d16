//! The stage of a join: it provides the bits of the function's two inputs.
//!
//! The order of the bits is that of [`tacit_function::join`].

use std::num::NonZeroUsize;

use tacit_kernels::Block;
use zeroize::Zeroizing;

pub use tacit_function::join::TableRows;

use super::join::{BinValues, PlacedBins};
use super::keys::{Keys, TooManyRows};
use super::sizes::Sizes;
use crate::shares::MadeBits;

/// A party's table in a join: each key once, in the table's order, with the payload that it brings
/// into its bin. Private: it is wiped, and `Debug` prints only the number of keys.
pub struct JoinedTable {
    keys: Keys,
    row_count: usize,
    payload_bits: usize,
    /// ⌈payload bits / 128⌉ blocks for each key; bits above the payload are zero.
    payloads: Zeroizing<Vec<Block>>,
}

impl std::fmt::Debug for JoinedTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JoinedTable({} keys)", self.keys.len())
    }
}

impl JoinedTable {
    /// Groups rows by key. A key may have up to `most_rows` rows. Works on `threads` threads unless
    /// a key has several rows.
    ///
    /// # Errors
    ///
    /// A key has more rows.
    pub fn by_key(
        rows: TableRows,
        most_rows: u64,
        threads: NonZeroUsize,
    ) -> Result<Self, TooManyRows> {
        let (row_count, row_bits) = (rows.len(), rows.row_bits());
        let (keys, rows) = rows.into_parts();
        let (keys, key_of_row) = Keys::grouped(keys, most_rows, threads)?;
        let count_bits = match most_rows {
            0 | 1 => 0,
            most_rows => (64 - most_rows.leading_zeros()) as usize,
        };
        let payload_bits = count_bits + most_rows.max(1) as usize * row_bits;
        let (size, row_size) = (payload_bits.div_ceil(128), row_bits.div_ceil(128));
        let mut payloads = Zeroizing::new(vec![Block::ZERO; keys.len() * size]);
        if count_bits == 0 {
            // Each key has one row, which is its payload.
            for (payload, row) in payloads.iter_mut().zip(rows.iter()) {
                *payload = Block::from_u128(*row);
            }
            return Ok(Self {
                keys,
                row_count,
                payload_bits,
                payloads,
            });
        }
        let mut counts = vec![0_u64; keys.len()];
        for row in 0..row_count {
            let key = key_of_row.as_ref().map_or(row, |keys| keys[row] as usize);
            let at = count_bits + counts[key] as usize * row_bits;
            counts[key] += 1;
            let bits = &rows[row * row_size..][..row_size];
            add_at(&mut payloads[key * size..][..size], at, bits);
        }
        for (payload, count) in payloads.chunks_exact_mut(size).zip(counts) {
            payload[0] ^= Block::from_u128(count.into());
        }
        Ok(Self {
            keys,
            row_count,
            payload_bits,
            payloads,
        })
    }

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
fn add_at(to: &mut [Block], at: usize, bits: &[u128]) {
    let (first, shift) = (at / 128, at % 128);
    for (i, block) in bits.iter().copied().enumerate() {
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
