//! OKVS: a vector of columns in which each row of 256 random bits sums up to its value.
//!
//! Bienstock, Patel, Seo, Yeo, "Near-optimal oblivious key-value stores" (2023/903), RB-OKVS. Rows
//! go in order of their starts. Each clears its leading bit by the pivot in that column until it
//! finds a column without one; then columns are solved from the last one down. Columns without a
//! pivot are **uniform**: this hides which rows are in.
//!
//! Bands stand where their columns do, modulo 512, so that no step shifts one: a pivot that a row
//! meets begins no later than the row, so it ends no later. Sums over columns take four at a time,
//! from a table of their sixteen sums, which serves all rows that span them.
//!
//! Cost: some 50 steps of 64 bytes a row to find a pivot, and 65 reads of a table a row to solve or
//! to decode it. Times depend on starts and bands.

use tacit_kernels::{Block, Prg};
use zeroize::{DefaultIsZeroes, Zeroize, Zeroizing};

/// Words that a band is kept in: 512 columns, the last 256 before any others come.
const WORDS: usize = 8;
/// Groups of four columns in a word.
const GROUPS: usize = 16;

/// A value of `N` blocks.
pub(crate) type Value<const N: usize> = [Block; N];

/// A row's 256 bits; bit j is for column start + j.
pub(crate) type Band = [u64; 4];

/// Rows that are dependent: no encoding has their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependent;

/// The band of a row that begins at `start`, where its columns stand.
fn placed(start: u32, band: Band) -> [u64; WORDS] {
    let (word, shift) = (start as usize / 64, start % 64);
    let mut words = [0; WORDS];
    for (i, bits) in band.into_iter().enumerate() {
        words[(word + i) % WORDS] |= bits << shift;
        // The same as a shift by 64 − shift, which is 0 where shift is.
        words[(word + i + 1) % WORDS] |= bits >> 1 >> (63 - shift);
    }
    words
}

fn add<const N: usize>(to: &mut Value<N>, value: &Value<N>) {
    for (to, value) in to.iter_mut().zip(value) {
        *to ^= *value;
    }
}

/// For each four neighbouring columns of the last 512, their sixteen sums: for each word of a band
/// a table for each of its groups of four bits.
struct Sums<const N: usize>(Vec<[[Value<N>; 16]; GROUPS]>);

impl<const N: usize> Sums<N> {
    fn new() -> Self {
        Self(vec![[[[Block::ZERO; N]; 16]; GROUPS]; WORDS])
    }

    /// Takes columns 4 · group and following.
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

/// Takes rows in order of their starts, and gives columns.
pub(crate) struct Encoder<const N: usize> {
    /// For each column the band of its pivot, or zeros.
    pivots: Zeroizing<Vec<[u64; WORDS]>>,
    /// For each column the value of its pivot, or a uniform one.
    columns: Zeroizing<Vec<Value<N>>>,
    last_start: u32,
}

impl<const N: usize> Encoder<N> {
    /// An encoder of this many columns. Those that no row takes are as `prg` draws them.
    pub(crate) fn new(columns: usize, prg: &mut Prg) -> Self {
        let mut values = Zeroizing::new(vec![[Block::ZERO; N]; columns]);
        prg.fill_blocks(values.as_flattened_mut());
        Self {
            pivots: Zeroizing::new(vec![[0; WORDS]; columns]),
            columns: values,
            last_start: 0,
        }
    }

    /// Takes a row, which begins no earlier than the one before.
    ///
    /// # Panics
    ///
    /// If it does, or spans columns that there are not.
    pub(crate) fn push_vartime(
        &mut self,
        start: u32,
        band: Band,
        mut value: Value<N>,
    ) -> Result<(), Dependent> {
        assert!(start >= self.last_start, "rows go in order of their starts");
        self.last_start = start;
        let mut band = placed(start, band);
        let (mut word, last) = (start as usize / 64, (start as usize + 255) / 64);
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
            // What the next step waits for, apart from the rest.
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
        }
    }

    /// The columns.
    pub(crate) fn finish_vartime(mut self) -> Zeroizing<Vec<Value<N>>> {
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

/// Gives the values of rows in order of their starts.
pub(crate) struct Decoder<'c, const N: usize> {
    columns: &'c [Value<N>],
    sums: Sums<N>,
    /// The first group whose sums are not made.
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

    /// The sum of the columns of a row, which begins no earlier than the one before.
    ///
    /// # Panics
    ///
    /// If it does, or spans columns that there are not.
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

/// A row by its number, with its start: what follows in order need not look it up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OrderedRow {
    pub(crate) start: u32,
    pub(crate) row: u32,
}

impl DefaultIsZeroes for OrderedRow {}

/// Rows in order of their starts.
pub(crate) fn order_vartime(starts: &[u32]) -> Zeroizing<Vec<OrderedRow>> {
    let keyed = (0_u64..).zip(starts);
    let keyed = keyed.map(|(row, start)| u64::from(*start) << 32 | row);
    let mut keyed: Zeroizing<Vec<u64>> = Zeroizing::new(keyed.collect());
    keyed.sort_unstable();
    let ordered = |keyed: &u64| OrderedRow {
        start: (keyed >> 32) as u32,
        row: *keyed as u32,
    };
    Zeroizing::new(keyed.iter().map(ordered).collect())
}
