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

use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::asking::{Points, SetupTerms, Shard, take_ask};
use super::bins::{EMPTY, place_vartime};
use super::hashes::{MatchTag, Row};
use super::keys::Keys;
use super::messages::{self, FRAME_BYTES};
use super::okvs::Value;
use super::sizes::Sizes;
use super::stage::JoinedTable;
use super::vole::{PlacerOts, ProgrammerOts, VolePlan};
use crate::Error;
use crate::io::{Io, boxed};
use crate::session::RunTag;
use crate::setup::OtSettings;

/// The largest number of blocks of values that are encoded at once.
const WIDEST: usize = 4;

/// A join on which both parties have agreed. [`place`](Self::place) runs the placer's side, and
/// [`program`](Self::program) the programmer's.
#[derive(Clone, Copy)]
pub struct Join {
    sizes: Sizes,
    tag: RunTag,
    settings: OtSettings,
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
    blocks: Zeroizing<Vec<Block>>,
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
            tag,
            settings,
        }
    }

    fn setup(&self) -> SetupTerms {
        let columns = self.sizes.shards * self.sizes.ask_columns;
        SetupTerms {
            settings: self.settings,
            tag: self.tag,
            vole: VolePlan::of(self.settings.extension, columns),
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

    /// Returns `count` random values.
    fn drawn(&self, count: usize, prg: &mut Prg) -> Zeroizing<Vec<Block>> {
        let mut values = Zeroizing::new(vec![Block::ZERO; count * self.value_blocks()]);
        prg.fill_blocks(&mut values);
        self.trim(&mut values);
        values
    }

    /// Returns the shards of a table, or none if either table has no keys.
    fn shards(&self, keys: &Keys, most: u64) -> Result<Vec<Shard>, Error> {
        let tag = MatchTag::new(self.tag.as_bytes(), 0);
        let keys = (keys, self.settings.threads);
        let shards = Shard::all(keys, &tag, self.sizes.shards, most)?;
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
        let mut blocks = Zeroizing::new(Vec::new());
        let count = shards.len() * self.sizes.bins as usize;
        rows.reserve_exact(count);
        blocks.reserve_exact(count * self.value_blocks());
        let mut ots = None;
        for (number, shard) in (0..).zip(shards) {
            let ots = self.setup().place(io, number, &mut ots, &mut prg).await?;
            let (table, values) = self.place_shard(io, &shard, ots, &mut prg).await?;
            let row = |key: u32| shard.rows.get(key as usize).copied();
            rows.extend(table.iter().copied().map(row));
            blocks.extend_from_slice(&values);
        }
        let value_blocks = self.value_blocks();
        let values = BinValues {
            value_blocks,
            blocks,
        };
        Ok(PlacedBins { rows, values })
    }

    /// Returns the key of each bin of a shard, or [`EMPTY`], and o ‖ p' of each bin.
    async fn place_shard(
        &self,
        io: &mut Io<'_>,
        shard: &Shard,
        ots: &mut PlacerOts,
        prg: &mut Prg,
    ) -> Result<(Zeroizing<Vec<u32>>, Zeroizing<Vec<Block>>), Error> {
        let places = shard.hashes.places(&shard.digests, self.sizes.bins);
        let table = place_vartime(&places, self.sizes.bins as usize, prg)
            .map_err(|_| Error::MatchingFailed)?;
        let taken = (0..table.len() as u32).filter(|bin| table[*bin as usize] != EMPTY);
        let taken: Zeroizing<Vec<u32>> = Zeroizing::new(taken.collect());
        let in_bin = |bin: &u32| in_bin(shard.digests[table[*bin as usize] as usize], *bin);
        let digests: Zeroizing<Vec<Block>> = Zeroizing::new(taken.iter().map(in_bin).collect());
        let points = shard.hashes.points(&digests);
        let columns = self.sizes.ask_columns;
        let asked = Points::new(&shard.hashes, Row::Ask, &points, columns);
        let asked = asked.on_threads(self.settings.threads);
        let w = asked.ask(io, shard.columns(columns), ots, prg).await?;
        let evaluated = asked.evaluate(io, &w, None, self.value_blocks()).await?;
        drop(asked);

        let hint = self.receive_hint(io).await?;
        let points = Points::new(&shard.hashes, Row::Hint, &points, self.sizes.hint_columns);
        let points = points.on_threads(self.settings.threads);
        let mut values = self.drawn(table.len(), prg);
        let width = self.value_blocks();
        for (number, evaluated) in evaluated.chunks_exact(width).enumerate() {
            values[taken[number] as usize * width..][..width].copy_from_slice(evaluated);
        }
        for first in (0..width).step_by(WIDEST) {
            of_width!(width - first, N => {
                let part = part::<N>(&hint, width, first);
                let add = |number: usize, sum: Value<N>| {
                    let at = taken[number] as usize * width + first;
                    for (value, sum) in values[at..].iter_mut().zip(sum) {
                        *value ^= sum;
                    }
                };
                points.decode(io, &part, add).await?;
            });
        }
        self.trim(&mut values);
        Ok((table, values))
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
        let blocks = self.drawn(shards.len() * bins, &mut prg);
        let masks = blocks.chunks_exact((bins * value_blocks).max(1));
        let mut ots = None;
        for (number, (shard, masks)) in (0..).zip(shards.iter().zip(masks)) {
            let ots = self.setup().program(io, number, &mut ots, &mut prg).await?;
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
    ) -> Result<(Zeroizing<Vec<bool>>, Zeroizing<Vec<Option<u32>>>), Error> {
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
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
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
        let (columns, width) = (self.sizes.ask_columns, self.value_blocks());
        let places = shard.hashes.places(&shard.digests, self.sizes.bins);
        let places = places.as_flattened();
        let in_bins = places.iter().enumerate();
        let in_bins = in_bins.map(|(number, bin)| in_bin(shard.digests[number / 3], *bin));
        let points = shard
            .hashes
            .points(&Zeroizing::new(in_bins.collect::<Vec<_>>()));
        let (k, times) = take_ask(io, shard.columns(columns), ots, prg).await?;
        let asked = Points::new(&shard.hashes, Row::Ask, &points, columns);
        let asked = asked.on_threads(self.settings.threads);
        let mut values = asked.evaluate(io, &k, Some(&times), width).await?;
        drop((asked, k));

        let size = self.payload_blocks();
        for (number, value) in values.chunks_exact_mut(width).enumerate() {
            let row = shard.rows[number / 3] as usize;
            let mask = &masks[places[number] as usize * width..][..width];
            for (value, mask) in value.iter_mut().zip(mask) {
                *value ^= *mask;
            }
            add_shifted(value, &payloads[row * size..][..size], self.sizes.tag_bits);
        }
        self.trim(&mut values);
        let columns = self.sizes.hint_columns;
        let programmed = Points::new(&shard.hashes, Row::Hint, &points, columns);
        let programmed = programmed.on_threads(self.settings.threads);
        let mut hint = vec![Block::ZERO; columns as usize * width];
        for first in (0..width).step_by(WIDEST) {
            of_width!(width - first, N => {
                let value = |number: usize| {
                    let value = &values[number * width + first..][..N];
                    core::array::from_fn::<_, N, _>(|i| value[i])
                };
                let part = programmed.encode::<N>(io, columns, value, prg).await?;
                for (column, part) in hint.chunks_exact_mut(width).zip(part.iter()) {
                    column[first..first + N].copy_from_slice(part);
                }
            });
        }
        self.trim(&mut hint);
        self.send_hint(io, &hint).await
    }

    /// Sends the columns of the hint. Each has as many bytes as hold a value's bits.
    async fn send_hint(&self, io: &mut Io<'_>, hint: &[Block]) -> Result<(), Error> {
        let size = self.sizes.hint_column_bytes() as usize;
        let mut all = Vec::with_capacity(self.sizes.hint_bytes() as usize);
        for column in hint.chunks_exact(self.value_blocks()) {
            let bytes = column.iter().flat_map(|block| block.to_bytes());
            all.extend(bytes.take(size));
        }
        for frame in all.chunks(FRAME_BYTES) {
            io.message().clear();
            io.message().extend(frame);
            io.send(messages::hint(frame.len()))?;
            io.breathe().await?;
        }
        Ok(())
    }

    async fn receive_hint(&self, io: &mut Io<'_>) -> Result<Vec<Block>, Error> {
        let (size, width) = (self.sizes.hint_column_bytes() as usize, self.value_blocks());
        let mut all = vec![0; self.sizes.hint_bytes() as usize];
        for frame in all.chunks_mut(FRAME_BYTES) {
            let expected = messages::hint(frame.len());
            frame.copy_from_slice(io.receive(expected).await?);
        }
        let mut hint = Vec::with_capacity(self.sizes.hint_columns as usize * width);
        for column in all.chunks_exact(size) {
            for part in column.chunks(Block::BYTES) {
                let mut block = [0; Block::BYTES];
                block[..part.len()].copy_from_slice(part);
                hint.push(Block::from_bytes(block));
            }
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
