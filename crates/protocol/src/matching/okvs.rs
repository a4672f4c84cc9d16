//! The OKVS: a vector of columns in which the columns of each row of 256 random bits sum to its
//! value.
//!
//! This is RB-OKVS of Bienstock, Patel, Seo, Yeo, "Near-optimal oblivious key-value stores"
//! (2023/903). Each row clears its leading bit with the pivot in that column until it finds a
//! column without a pivot. Then the columns are solved from the last one down. Columns without a
//! pivot are **uniform**, which hides the rows that were encoded.
//!
//! A band is stored at the positions of its columns modulo 512, so that no step shifts it. A row
//! and the pivot that it meets start in the same column and end less than 256 columns after it, and
//! so does their sum. Sums over columns take four columns at a time from a table of their sixteen
//! sums, which serves all rows that span them.
//!
//! Cost: some 50 steps of 64 bytes to find the pivot of a row, and 65 table reads to solve or
//! decode a row. Times depend on starts and bands.

use tacit_kernels::{Block, Prg, WipedVec};
use zeroize::{Zeroize, Zeroizing};

/// The number of words in which a band is stored: 512 columns, twice the width of a band.
const WORDS: usize = 8;
/// The number of groups of four columns in a word.
const GROUPS: usize = 16;

/// A value of `N` blocks.
pub(crate) type Value<const N: usize> = [Block; N];

/// A row's 256 bits. Bit j belongs to column start + j.
pub(crate) type Band = [u64; 4];

/// The error that rows are linearly dependent, so that no encoding has their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependent;

/// Returns the band of a row that starts at `start`, with its bits at the positions of their
/// columns.
fn placed(start: u32, band: Band) -> [u64; WORDS] {
    let (word, shift) = (start as usize / 64, start % 64);
    let mut words = [0; WORDS];
    for (i, bits) in band.into_iter().enumerate() {
        words[(word + i) % WORDS] |= bits << shift;
        // This equals a shift by 64 − shift, or 0 where shift is 0.
        words[(word + i + 1) % WORDS] |= bits >> 1 >> (63 - shift);
    }
    words
}

fn add<const N: usize>(to: &mut Value<N>, value: &Value<N>) {
    for (to, value) in to.iter_mut().zip(value) {
        *to ^= *value;
    }
}

/// The sixteen sums of each four neighbouring columns among the last 512. Each word of a band has a
/// table for each of its groups of four bits.
struct Sums<const N: usize>(Vec<[[Value<N>; 16]; GROUPS]>);

impl<const N: usize> Sums<N> {
    fn new() -> Self {
        Self(vec![[[[Block::ZERO; N]; 16]; GROUPS]; WORDS])
    }

    /// Sets the sums of up to four columns that start with column 4 · `group`.
    fn set(&mut self, group: usize, columns: &[Value<N>]) {
        let sums = &mut self.0[group / GROUPS % WORDS][group % GROUPS];
        for (i, column) in columns.iter().take(4).enumerate() {
            let (low, high) = sums.split_at_mut(1 << i);
            for (high, low) in high.iter_mut().zip(low.iter()) {
                *high = *low;
                add(high, column);
            }
        }
    }

    /// Adds the columns of `band` from group `first` on, up to those of word `last`.
    fn add_to(&self, sum: &mut Value<N>, band: &[u64; WORDS], first: usize, last: usize) {
        let mut mask = u64::MAX << (4 * (first % GROUPS));
        for word in first / GROUPS..=last {
            let bits = band[word % WORDS] & mask;
            for (group, table) in self.0[word % WORDS].iter().enumerate() {
                add(sum, &table[(bits >> (4 * group)) as usize % 16]);
            }
            mask = u64::MAX;
        }
    }
}

impl<const N: usize> Drop for Sums<N> {
    fn drop(&mut self) {
        for tables in &mut self.0 {
            let sums = tables.as_flattened_mut();
            sums.as_flattened_mut().zeroize();
        }
    }
}

/// An encoder that takes rows and returns columns.
pub(crate) struct Encoder<const N: usize> {
    /// The band of the pivot of each column, or zeros.
    pivots: WipedVec<[u64; WORDS]>,
    /// The value of the pivot of each column, or a uniform value.
    columns: WipedVec<Value<N>>,
}

impl<const N: usize> Encoder<N> {
    /// Returns an encoder with `columns` columns. `prg` draws the columns that no row takes.
    pub(crate) fn new(columns: usize, prg: &mut Prg) -> Self {
        let mut values = WipedVec::<Value<N>>::zeros(columns);
        prg.fill_blocks(values.as_flattened_mut());
        Self {
            pivots: WipedVec::zeros(columns),
            columns: values,
        }
    }

    /// Takes a row. This is fastest in the order of the rows' starts.
    ///
    /// # Panics
    ///
    /// Panics if the row spans columns that do not exist.
    pub(crate) fn push_vartime(
        &mut self,
        start: u32,
        band: Band,
        mut value: Value<N>,
    ) -> Result<(), Dependent> {
        let start = start as usize;
        let mut band = placed(start as u32, band);
        let (mut word, mut last) = (start / 64, (start + 255) / 64);
        let mut bits = band[word % WORDS];
        loop {
            if bits == 0 {
                if word == last {
                    return Err(Dependent);
                }
                word += 1;
                bits = band[word % WORDS];
                continue;
            }
            let column = word * 64 + bits.trailing_zeros() as usize;
            let pivot = &mut self.pivots[column];
            // The next step waits only for this word, so it is computed first.
            bits ^= pivot[word % WORDS];
            if pivot[word % WORDS] == 0 {
                *pivot = band;
                self.columns[column] = value;
                return Ok(());
            }
            for (band, pivot) in band.iter_mut().zip(*pivot) {
                *band ^= pivot;
            }
            add(&mut value, &self.columns[column]);
            last = (column + 255) / 64;
        }
    }

    /// Returns the columns.
    pub(crate) fn finish_vartime(mut self) -> WipedVec<Value<N>> {
        let mut sums = Sums::new();
        for column in (0..self.columns.len()).rev() {
            let (band, group) = (&self.pivots[column], column / 4);
            if band[column / 64 % WORDS] != 0 {
                let mut sum = self.columns[column];
                for later in column + 1..(4 * group + 4).min(self.columns.len()) {
                    if band[later / 64 % WORDS] >> (later % 64) & 1 == 1 {
                        add(&mut sum, &self.columns[later]);
                    }
                }
                sums.add_to(&mut sum, band, group + 1, (column + 255) / 64);
                self.columns[column] = sum;
            }
            if column % 4 == 0 {
                let end = (column + 4).min(self.columns.len());
                sums.set(group, &self.columns[column..end]);
            }
        }
        core::mem::take(&mut self.columns)
    }
}

/// A decoder that returns the values of rows, in the order of their starts.
pub(crate) struct Decoder<'c, const N: usize> {
    columns: &'c [Value<N>],
    sums: Sums<N>,
    /// The first group whose sums are not computed yet.
    next_group: usize,
    last_start: u32,
}

impl<'c, const N: usize> Decoder<'c, N> {
    pub(crate) fn new(columns: &'c [Value<N>]) -> Self {
        Self {
            columns,
            sums: Sums::new(),
            next_group: 0,
            last_start: 0,
        }
    }

    /// Returns the sum of the columns of a row, which must not start before the previous row.
    ///
    /// # Panics
    ///
    /// Panics if it does, or if it spans columns that do not exist.
    pub(crate) fn sum_vartime(&mut self, start: u32, band: Band) -> Value<N> {
        assert!(start >= self.last_start, "rows go in order of their starts");
        self.last_start = start;
        let (first, end) = (start as usize / 4, (start as usize + 255) / 4 + 1);
        for group in self.next_group.max(first)..end {
            let columns = &self.columns[4 * group..];
            self.sums.set(group, &columns[..columns.len().min(4)]);
        }
        self.next_group = end.max(self.next_group);
        let mut sum = [Block::ZERO; N];
        let last_word = (start as usize + 255) / 64;
        self.sums
            .add_to(&mut sum, &placed(start, band), first, last_word);
        sum
    }
}

/// A row by its number, with its start, so that later steps need not look the start up: start, then
/// number.
pub(crate) type OrderedRow = [u32; 2];

/// The bits of starts by which one pass orders rows: its counters stay in the first-level cache.
const PASS_BITS: u32 = 11;

/// Returns rows in the order of their starts, and those of one start in their own order.
pub(crate) fn order_vartime(starts: &[u32]) -> WipedVec<OrderedRow> {
    let mut ordered = WipedVec::of(
        starts
            .iter()
            .enumerate()
            .map(|(row, start)| [*start, row as u32]),
    );
    let most = starts.iter().max().copied().unwrap_or_default();
    let mut other = WipedVec::zeros(starts.len());
    for shift in (0..u32::BITS - most.leading_zeros()).step_by(PASS_BITS as usize) {
        let digit = |start: u32| (start >> shift) as usize % (1 << PASS_BITS);
        let mut places = Zeroizing::new([0_u32; 1 << PASS_BITS]);
        for [start, _] in ordered.iter() {
            places[digit(*start)] += 1;
        }
        let mut before = 0;
        for place in places.iter_mut() {
            before += core::mem::replace(place, before);
        }
        for row in ordered.iter() {
            let place = &mut places[digit(row[0])];
            other[*place as usize] = *row;
            *place += 1;
        }
        core::mem::swap(&mut ordered, &mut other);
    }
    ordered
}
