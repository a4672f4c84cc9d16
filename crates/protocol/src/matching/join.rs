//! The bins of a join: the ask and the hint, up to the test and the mask, which `gmw` computes.
//!
//! The placer puts each of its keys into a bin. For each bin b both parties then have a tag and a
//! payload: the programmer r_b and p_b, which it drew, and the placer o_b and p'_b. If the
//! programmer has the bin's key, then o_b = r_b, and p'_b ⊕ p_b are the rows of that key. Otherwise
//! o_b and p'_b are random. Neither party sees which case holds.
//!
//! | bits of a bin's value | content |
//! |---|---|
//! | the lowest ℓ | tag |
//! | bits(D), if D > 1 | number of rows |
//! | D rows | rows in the table's order; missing rows are zero |
//!
//! Each of a key's three points includes its bin, so the placer has F only at the places where it
//! put its keys. Otherwise it would learn which pairs of its rows both matched.

use tacit_kernels::{Block, Prg, WipedVec, share_out, workers};
use zeroize::Zeroizing;

use super::asking::{Asking, Points, Shard};
use super::bins::{EMPTY, place_vartime};
use super::hashes::Row;
use super::keys::{Keys, SPAN_KEYS};
use super::messages::{self, FRAME_BYTES};
use super::okvs::Value;
use super::sizes::Sizes;
use super::stage::JoinedTable;
use super::vole::{PlacerOts, ProgrammerOts};
use crate::Error;
use crate::bits::append_blocks;
use crate::io::{Io, boxed};
use crate::session::RunTag;
use crate::setup::OtSettings;
use crate::shares::MadeBits;

/// The largest number of blocks of values that are encoded at once.
const WIDEST: usize = 4;

/// A join on which both parties have agreed. [`place`](Self::place) runs the placer's side, and
/// [`program`](Self::program) the programmer's.
#[derive(Clone, Copy)]
pub struct Join {
    sizes: Sizes,
    asking: Asking,
}

/// The placer's result: the bins of all shards.
pub struct PlacedBins {
    /// The placer's row in each bin.
    pub rows: Zeroizing<Vec<Option<u32>>>,
    /// The value o ‖ p' of each bin.
    pub values: BinValues,
}

/// A value for each bin: tag and payload, in a whole number of blocks. Bits above them are zero.
/// Secret.
pub struct BinValues {
    value_blocks: usize,
    blocks: WipedVec<Block>,
}

impl BinValues {
    /// Returns the value of each bin.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &[Block]> {
        self.blocks.chunks_exact(self.value_blocks)
    }
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
    /// Returns the join of tables of these sizes. `tag` is bound to this run alone, and to
    /// everything that the parties agreed on.
    #[must_use]
    pub fn new(sizes: Sizes, tag: RunTag, settings: OtSettings) -> Self {
        Self {
            sizes,
            asking: Asking::new(settings, tag, sizes.shards, sizes.ask_columns),
        }
    }

    fn value_bits(&self) -> usize {
        self.sizes.tag_bits as usize + self.sizes.payload_bits as usize
    }

    fn value_blocks(&self) -> usize {
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
    fn values(&self, count: usize) -> WipedVec<Block> {
        WipedVec::zeros(count * self.value_blocks())
    }

    /// Draws values.
    fn draw(&self, values: &mut [Block], prg: &mut Prg) {
        prg.fill_blocks(values);
        self.trim(values);
    }

    /// Returns the shards of a table, or none if either table has no keys.
    fn shards(&self, keys: &Keys, most: u64) -> Result<Vec<Shard>, Error> {
        let shards = self.asking.shards(keys, most)?;
        if self.sizes.placer_keys == 0 || self.sizes.programmer_keys == 0 {
            return Ok(Vec::new());
        }
        Ok(shards)
    }

    /// Runs the placer's side, and returns the bins of all shards. `seed` is random, secret and
    /// used for this run alone.
    ///
    /// # Errors
    ///
    /// There are more keys than agreed, the programmer misbehaves, the wire fails, or the keys have
    /// no bins or no encoding under this tag, which happens with probability 2^-40.
    pub async fn place(
        self,
        io: &mut Io<'_>,
        keys: &Keys,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<PlacedBins, Error> {
        let mut prg = Prg::from_seed(seed);
        let shards = self.shards(keys, self.sizes.placer_keys)?;
        let mut rows = Zeroizing::new(Vec::new());
        let bins = self.sizes.bins as usize;
        rows.reserve_exact(shards.len() * bins);
        let mut blocks = self.values(shards.len() * bins);
        let values = blocks.chunks_exact_mut((bins * self.value_blocks()).max(1));
        let mut ots = None;
        for (number, (shard, values)) in (0..).zip(shards.iter().zip(values)) {
            let ots = self.asking.place(io, number, &mut ots, &mut prg).await?;
            let table = self.place_shard(io, shard, ots, (values, &mut prg)).await?;
            let row = |key: u32| shard.rows.get(key as usize).copied();
            rows.extend(table.iter().copied().map(row));
        }
        let values = BinValues {
            value_blocks: self.value_blocks(),
            blocks,
        };
        Ok(PlacedBins { rows, values })
    }

    /// Returns the key of each bin of a shard, or [`EMPTY`]. Writes o ‖ p' of each bin.
    async fn place_shard(
        &self,
        io: &mut Io<'_>,
        shard: &Shard,
        ots: &mut PlacerOts,
        (values, prg): (&mut [Block], &mut Prg),
    ) -> Result<WipedVec<u32>, Error> {
        let places = shard.hashes.places(&shard.digests, self.sizes.bins);
        let table = place_vartime(&places, self.sizes.bins as usize, prg)
            .map_err(|_| Error::MatchingFailed)?;
        let mut bins = (0..table.len() as u32).filter(|bin| table[*bin as usize] != EMPTY);
        let mut taken = WipedVec::zeros(shard.digests.len());
        taken.fill_with(|| bins.next().unwrap_or(EMPTY));
        let points = shard.hashes.points(taken.len(), |number| {
            let bin = taken[number];
            in_bin(shard.digests[table[bin as usize] as usize], bin)
        });
        let width = self.value_blocks();
        let evaluated = self.asking.ask(io, shard, &points, width, ots, prg).await?;

        // What does not depend on the hint is done while the programmer makes it.
        let points = Points::new(&shard.hashes, Row::Hint, &points, self.sizes.hint_columns);
        self.draw(values, prg);
        for (bin, evaluated) in taken.iter().zip(evaluated.chunks_exact(width)) {
            values[*bin as usize * width..][..width].copy_from_slice(evaluated);
        }
        drop(evaluated);
        let hint = self.receive_hint(io).await?;
        for first in (0..width).step_by(WIDEST) {
            of_width!(width - first, N => {
                let add = |number: usize, sum: Value<N>| {
                    let at = taken[number] as usize * width + first;
                    for (value, sum) in values[at..].iter_mut().zip(sum) {
                        *value ^= sum;
                    }
                };
                if width == N {
                    points.decode(io, hint.as_chunks::<N>().0, add).await?;
                } else {
                    points.decode(io, &part::<N>(&hint, width, first), add).await?;
                }
            });
        }
        self.trim(values);
        Ok(table)
    }

    /// Runs the programmer's side, and returns r ‖ p of the bins of all shards. `payloads` has a
    /// payload for each key, in whole blocks: the number of rows, if it may exceed one, and the
    /// rows. Bits above them are zero. `seed` is random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// The number of `payloads` does not match the keys, or the errors of [`place`](Self::place)
    /// with the roles exchanged.
    pub async fn program(
        self,
        io: &mut Io<'_>,
        (keys, payloads): (&Keys, &[Block]),
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<BinValues, Error> {
        if payloads.len() != keys.len() * self.payload_blocks() {
            return Err(Error::ApiMisuse("one payload for each key"));
        }
        let mut prg = Prg::from_seed(seed);
        let shards = self.shards(keys, self.sizes.programmer_keys)?;
        let value_blocks = self.value_blocks();
        let bins = self.sizes.bins as usize;
        let mut blocks = self.values(shards.len() * bins);
        self.draw(&mut blocks, &mut prg);
        let masks = blocks.chunks_exact((bins * value_blocks).max(1));
        let mut ots = None;
        for (number, (shard, masks)) in (0..).zip(shards.iter().zip(masks)) {
            let ots = self.asking.program(io, number, &mut ots, &mut prg).await?;
            let given = (payloads, masks);
            self.program_shard(io, shard, given, ots, &mut prg).await?;
        }
        Ok(BinValues {
            value_blocks,
            blocks,
        })
    }

    /// Runs the stage at the placer. Returns the bits of its input to the function, and the key in
    /// each bin. `seed` is random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// Those of [`place`](Self::place), or a row does not have the agreed number of bits.
    pub async fn placer_input(
        self,
        io: &mut Io<'_>,
        table: &JoinedTable,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<(MadeBits, Zeroizing<Vec<Option<u32>>>), Error> {
        if table.payload_bits() as u64 != self.sizes.placer_bits {
            return Err(Error::ApiMisuse("rows of as many bits as were agreed on"));
        }
        let placed = boxed(|| self.place(io, table.keys(), seed)).await?;
        Ok((placed.input_bits(&self.sizes, table), placed.rows))
    }

    /// Runs the stage at the programmer. Returns the bits of its input to the function. `seed` is
    /// random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// Those of [`program`](Self::program), or a key's payload does not have the agreed number of
    /// bits.
    pub async fn programmer_input(
        self,
        io: &mut Io<'_>,
        table: &JoinedTable,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<MadeBits, Error> {
        if table.payload_bits() as u64 != self.sizes.payload_bits {
            return Err(Error::ApiMisuse("rows of as many bits as were agreed on"));
        }
        let given = (table.keys(), table.payloads());
        let values = boxed(|| self.program(io, given, seed)).await?;
        Ok(values.input_bits(&self.sizes))
    }

    fn payload_blocks(&self) -> usize {
        (self.sizes.payload_bits as usize).div_ceil(128)
    }

    /// Receives a shard's ask and sends its hint. `payloads` are those of all keys, and `masks` is
    /// r ‖ p of the shard's bins.
    async fn program_shard(
        &self,
        io: &mut Io<'_>,
        shard: &Shard,
        (payloads, masks): (&[Block], &[Block]),
        ots: &mut ProgrammerOts,
        prg: &mut Prg,
    ) -> Result<(), Error> {
        let width = self.value_blocks();
        let places = shard.hashes.places(&shard.digests, self.sizes.bins);
        let places = places.as_flattened();
        let points = shard.hashes.points(places.len(), |number| {
            in_bin(shard.digests[number / 3], places[number])
        });
        // What does not depend on the ask is done while the placer makes it.
        let programmed = Points::new(&shard.hashes, Row::Hint, &points, self.sizes.hint_columns);
        let answered = self.asking.answer(io, shard, &points, width, ots, prg);
        let mut values = answered.await?;

        let size = self.payload_blocks();
        let spans = values.chunks_mut(3 * SPAN_KEYS * width).enumerate();
        share_out(
            &mut workers(self.asking.threads()),
            spans,
            |(), (span, values)| {
                let first = 3 * SPAN_KEYS * span;
                for (number, value) in (first..).zip(values.chunks_exact_mut(width)) {
                    let row = shard.rows[number / 3] as usize;
                    let mask = &masks[places[number] as usize * width..][..width];
                    for (value, mask) in value.iter_mut().zip(mask) {
                        *value ^= *mask;
                    }
                    add_shifted(value, &payloads[row * size..][..size], self.sizes.tag_bits);
                }
                self.trim(values);
            },
        );
        let columns = self.sizes.hint_columns;
        let mut hint = match width {
            0..=WIDEST => WipedVec::default(),
            _ => WipedVec::zeros(columns as usize * width),
        };
        for first in (0..width).step_by(WIDEST) {
            of_width!(width - first, N => {
                let value = |number: usize| {
                    let value = &values[number * width + first..][..N];
                    core::array::from_fn::<_, N, _>(|i| value[i])
                };
                let mut part = programmed.encode::<N>(io, columns, value, prg).await?;
                if width == N {
                    return self.send_hint(io, part.as_flattened_mut()).await;
                }
                for (column, part) in hint.chunks_exact_mut(width).zip(part.iter()) {
                    column[first..first + N].copy_from_slice(part);
                }
            });
        }
        self.send_hint(io, &mut hint).await
    }

    /// Sends the columns of the hint. Each has as many bytes as hold a value's bits, and zeros
    /// above these.
    async fn send_hint(&self, io: &mut Io<'_>, hint: &mut [Block]) -> Result<(), Error> {
        self.trim(hint);
        let size = self.sizes.hint_column_bytes() as usize;
        let (mut waiting, mut left) = (Vec::new(), self.sizes.hint_bytes() as usize);
        for column in hint.chunks_exact(self.value_blocks()) {
            let whole = waiting.len() + size;
            append_blocks(&mut waiting, column);
            waiting.truncate(whole);
            while left > 0 && waiting.len() >= FRAME_BYTES.min(left) {
                let bytes = FRAME_BYTES.min(left);
                io.message().clear();
                io.message().extend(waiting.drain(..bytes));
                io.send(messages::hint(bytes))?;
                io.breathe().await?;
                left -= bytes;
            }
        }
        Ok(())
    }

    async fn receive_hint(&self, io: &mut Io<'_>) -> Result<WipedVec<Block>, Error> {
        let (size, width) = (self.sizes.hint_column_bytes() as usize, self.value_blocks());
        let mut hint = WipedVec::zeros(self.sizes.hint_columns as usize * width);
        let mut columns = hint.chunks_exact_mut(width);
        let (mut waiting, mut left) = (Vec::new(), self.sizes.hint_bytes() as usize);
        while left > 0 {
            let bytes = FRAME_BYTES.min(left);
            waiting.extend_from_slice(io.receive(messages::hint(bytes)).await?);
            left -= bytes;
            for (bytes, column) in waiting.chunks_exact(size).zip(&mut columns) {
                for (block, part) in column.iter_mut().zip(bytes.chunks(Block::BYTES)) {
                    let mut bytes = [0; Block::BYTES];
                    bytes[..part.len()].copy_from_slice(part);
                    *block = Block::from_bytes(bytes);
                }
            }
            waiting.drain(..waiting.len() / size * size);
        }
        Ok(hint)
    }
}

/// Returns d ⊕ bin.
fn in_bin(digest: Block, bin: u32) -> Block {
    digest ^ Block::from_u128(bin.into())
}

/// Returns `N` blocks from block `first` on of each column of `width` blocks.
fn part<const N: usize>(columns: &[Block], width: usize, first: usize) -> Vec<Value<N>> {
    let columns = columns.chunks_exact(width);
    columns
        .map(|column| core::array::from_fn(|i| column[first + i]))
        .collect()
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
