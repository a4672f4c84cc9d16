//! The work on a shard, without messages: a thread does all of it.

use tacit_kernels::{Block, Prg, WipedVec};

use super::super::asking::{OkvsRows, Points, Shard};
use super::super::bins::{EMPTY, place_vartime};
use super::super::hashes::Row;
use super::super::okvs::Value;
use super::super::vole::TimesDelta;
use super::Join;
use crate::Error;
use crate::bits::append_blocks;

/// The largest number of blocks of values that are encoded at once.
const WIDEST: usize = 4;

/// The placer's bins of a shard.
struct ShardBins<'s> {
    shard: &'s Shard,
    /// The key of each bin, or [`EMPTY`].
    key_of_bin: WipedVec<u32>,
    /// The bins that have a key.
    taken: WipedVec<u32>,
    /// The points of these bins.
    points: Points<'s>,
    /// The value of each bin.
    values: &'s mut [Block],
}

/// A shard of the placer's before its ask.
pub(super) struct PlacedShard<'s> {
    bins: ShardBins<'s>,
    rows_of_ask: OkvsRows,
    /// The encoding that the ask masks.
    pub(super) encoding: WipedVec<Value<1>>,
}

/// A shard of the placer's after its ask.
pub(super) struct AskedShard<'s> {
    bins: ShardBins<'s>,
    rows_of_hint: OkvsRows,
}

impl AskedShard<'_> {
    /// Returns the row in the table of the key in each bin.
    pub(super) fn row_of_bin(&self) -> impl Iterator<Item = Option<u32>> {
        let rows = &self.bins.shard.rows;
        let keys = self.bins.key_of_bin.iter();
        keys.map(|key| rows.get(*key as usize).copied())
    }
}

/// A shard of the programmer's.
pub(super) struct ProgrammedShard<'s> {
    shard: &'s Shard,
    /// The places of each key.
    places: WipedVec<[u32; 3]>,
    /// The points of each key in its places.
    points: Points<'s>,
    rows_of_ask: OkvsRows,
    rows_of_hint: OkvsRows,
    /// r ‖ p of each bin.
    masks: &'s mut [Block],
}

/// The hint of a shard while it is made.
pub(super) struct ShardHint<'s> {
    points: Points<'s>,
    rows: OkvsRows,
    /// The values of the points.
    values: WipedVec<Block>,
    prg: Prg,
    /// The columns of the parts that are encoded, and zeros.
    columns: WipedVec<Block>,
}

/// Runs `$body` with the constant `$N` set to `$blocks`, from 1 to [`WIDEST`].
macro_rules! of_width {
    ($blocks:expr, $N:ident => $body:expr) => {
        match $blocks {
            1 => {
                const $N: usize = 1;
                $body
            }
            2 => {
                const $N: usize = 2;
                $body
            }
            3 => {
                const $N: usize = 3;
                $body
            }
            _ => {
                const $N: usize = WIDEST;
                $body
            }
        }
    };
}

impl Join {
    fn value_bits(&self) -> usize {
        self.sizes.tag_bits as usize + self.sizes.payload_bits as usize
    }

    pub(super) fn value_blocks(&self) -> usize {
        self.value_bits().div_ceil(128)
    }

    /// Clears the bits above each value.
    fn trim(&self, values: &mut [Block]) {
        let mask = Block::from_u128(u128::MAX >> (128 * self.value_blocks() - self.value_bits()));
        for value in values.chunks_exact_mut(self.value_blocks()) {
            value[value.len() - 1] = value[value.len() - 1] & mask;
        }
    }

    /// Returns room for `count` values.
    pub(super) fn values(&self, count: usize) -> WipedVec<Block> {
        WipedVec::zeros(count * self.value_blocks())
    }

    /// Draws values.
    fn draw(&self, values: &mut [Block], prg: &mut Prg) {
        prg.fill_blocks(values);
        self.trim(values);
    }

    pub(super) fn payload_blocks(&self) -> usize {
        (self.sizes.payload_bits as usize).div_ceil(128)
    }

    /// Places the keys of a shard, encodes their points for the ask, and draws the values of all
    /// bins.
    pub(super) fn place_shard<'s>(
        &self,
        shard: &'s Shard,
        values: &'s mut [Block],
        seed: &[u8; 32],
    ) -> Result<PlacedShard<'s>, Error> {
        let mut prg = Prg::from_seed(seed);
        let places = shard.hashes.places(&shard.digests, self.sizes.bins);
        let key_of_bin = place_vartime(&places, self.sizes.bins as usize, &mut prg)
            .map_err(|_| Error::MatchingFailed)?;
        let bins = 0..key_of_bin.len() as u32;
        let mut bins = bins.filter(|bin| key_of_bin[*bin as usize] != EMPTY);
        let mut taken = WipedVec::zeros(shard.digests.len());
        taken.fill_with(|| bins.next().unwrap_or(EMPTY));
        let points = Points::new(&shard.hashes, taken.len(), |number| {
            let bin = taken[number];
            in_bin(shard.digests[key_of_bin[bin as usize] as usize], bin)
        });
        let rows_of_ask = points.rows(Row::Ask, self.sizes.ask_columns);
        let encoding = points.encode_elements_vartime(&rows_of_ask, &mut prg)?;
        self.draw(values, &mut prg);
        let bins = ShardBins {
            shard,
            key_of_bin,
            taken,
            points,
            values,
        };
        Ok(PlacedShard {
            bins,
            rows_of_ask,
            encoding,
        })
    }

    /// Writes F of each of a shard's points into the bin of its key. `w` is that of the shard's
    /// ask.
    pub(super) fn asked<'s>(&self, placed: PlacedShard<'s>, w: &[Block]) -> AskedShard<'s> {
        let (width, bins) = (self.value_blocks(), placed.bins);
        let points = &bins.points;
        let evaluated = points.evaluate_vartime(&placed.rows_of_ask, w, None, width);
        for (bin, evaluated) in bins.taken.iter().zip(evaluated.chunks_exact(width)) {
            bins.values[*bin as usize * width..][..width].copy_from_slice(evaluated);
        }
        AskedShard {
            rows_of_hint: points.rows(Row::Hint, self.sizes.hint_columns),
            bins,
        }
    }

    /// Returns the first block of each part of a value whose blocks are encoded at once. A wide
    /// value takes seconds, so a party yields between its parts.
    pub(super) fn parts(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.value_blocks()).step_by(WIDEST)
    }

    /// Adds what a hint has for each of a shard's points to the value of its bin, in the part of
    /// the values from block `first` on.
    pub(super) fn add_hint(&self, asked: &mut AskedShard<'_>, hint: &[u8], first: usize) {
        let (width, bins) = (self.value_blocks(), &mut asked.bins);
        of_width!(width - first, N => {
            let columns = self.columns_of_hint::<N>(hint, first);
            bins.points.decode_vartime(&asked.rows_of_hint, &columns, |number, sum| {
                let at = bins.taken[number] as usize * width + first;
                for (value, sum) in bins.values[at..].iter_mut().zip(sum) {
                    *value ^= sum;
                }
            });
        });
        if first + WIDEST >= width {
            self.trim(bins.values);
        }
    }

    /// Returns `N` blocks from block `first` on of each column of a hint.
    fn columns_of_hint<const N: usize>(&self, hint: &[u8], first: usize) -> WipedVec<Value<N>> {
        let columns = hint.chunks_exact(self.sizes.hint_column_bytes() as usize);
        WipedVec::of(columns.map(|column| {
            let mut parts = column.chunks(Block::BYTES).skip(first);
            core::array::from_fn(|_| {
                let mut bytes = [0; Block::BYTES];
                let part = parts.next().unwrap_or_default();
                bytes[..part.len()].copy_from_slice(part);
                Block::from_bytes(bytes)
            })
        }))
    }

    /// Returns the points of a shard's keys, and their rows.
    pub(super) fn programmed<'s>(
        &self,
        shard: &'s Shard,
        masks: &'s mut [Block],
    ) -> ProgrammedShard<'s> {
        let places = shard.hashes.places(&shard.digests, self.sizes.bins);
        let flat = places.as_flattened();
        let points = Points::new(&shard.hashes, flat.len(), |number| {
            in_bin(shard.digests[number / 3], flat[number])
        });
        ProgrammedShard {
            shard,
            rows_of_ask: points.rows(Row::Ask, self.sizes.ask_columns),
            rows_of_hint: points.rows(Row::Hint, self.sizes.hint_columns),
            places,
            points,
            masks,
        }
    }

    /// Draws r ‖ p of each bin of a shard, and returns the values that its hint encodes. `payloads`
    /// are those of all keys.
    pub(super) fn begin_hint<'s>(
        &self,
        programmed: ProgrammedShard<'s>,
        (k, times): (&[Block], &TimesDelta),
        payloads: &[Block],
        seed: &[u8; 32],
    ) -> ShardHint<'s> {
        let ProgrammedShard {
            shard,
            places,
            points,
            masks,
            ..
        } = programmed;
        let (width, size) = (self.value_blocks(), self.payload_blocks());
        let mut prg = Prg::from_seed(seed);
        self.draw(masks, &mut prg);
        let mut values = points.evaluate_vartime(&programmed.rows_of_ask, k, Some(times), width);
        let bins = places.as_flattened().iter();
        for (number, (value, bin)) in values.chunks_exact_mut(width).zip(bins).enumerate() {
            let mask = &masks[*bin as usize * width..][..width];
            for (value, mask) in value.iter_mut().zip(mask) {
                *value ^= *mask;
            }
            let row = shard.rows[number / 3] as usize;
            add_shifted(value, &payloads[row * size..][..size], self.sizes.tag_bits);
        }
        self.trim(&mut values);
        ShardHint {
            points,
            rows: programmed.rows_of_hint,
            values,
            prg,
            columns: WipedVec::zeros(self.sizes.hint_columns as usize * width),
        }
    }

    /// Encodes the part of a hint's values from block `first` on.
    pub(super) fn encode_hint(&self, hint: &mut ShardHint<'_>, first: usize) -> Result<(), Error> {
        let (width, values) = (self.value_blocks(), &hint.values);
        of_width!(width - first, N => {
            let value = |number: usize| {
                let value = &values[number * width + first..][..N];
                core::array::from_fn::<_, N, _>(|i| value[i])
            };
            let part = hint.points.encode_vartime::<N>(&hint.rows, value, &mut hint.prg)?;
            for (column, part) in hint.columns.chunks_exact_mut(width).zip(part.iter()) {
                column[first..first + N].copy_from_slice(part);
            }
        });
        Ok(())
    }

    /// Returns the bytes of a hint whose parts are all encoded.
    pub(super) fn hint_bytes(&self, mut hint: ShardHint<'_>) -> Vec<u8> {
        let width = self.value_blocks();
        self.trim(&mut hint.columns);
        let size = self.sizes.hint_column_bytes() as usize;
        let mut bytes = Vec::with_capacity(self.sizes.hint_bytes() as usize + Block::BYTES * width);
        for column in hint.columns.chunks_exact(width) {
            let whole = bytes.len() + size;
            append_blocks(&mut bytes, column);
            bytes.truncate(whole);
        }
        bytes
    }
}

/// Returns d ⊕ bin.
fn in_bin(digest: Block, bin: u32) -> Block {
    digest ^ Block::from_u128(bin.into())
}

/// XORs `payload`, shifted up by `shift` bits, into `value`. Bits beyond the last block are
/// dropped.
fn add_shifted(value: &mut [Block], payload: &[Block], shift: u32) {
    for (i, payload) in payload.iter().enumerate() {
        let payload = payload.to_u128();
        value[i] ^= Block::from_u128(payload << shift);
        if let Some(next) = value.get_mut(i + 1) {
            *next ^= Block::from_u128(payload >> (128 - shift));
        }
    }
}
