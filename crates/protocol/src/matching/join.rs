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

use core::ops::Range;

use tacit_kernels::{Block, Prg, WipedVec, map_each};
use zeroize::Zeroizing;

use super::asking::{Asking, Points, Rows, Shard, on_threads, seeds};
use super::bins::{EMPTY, place_vartime};
use super::hashes::Row;
use super::keys::Keys;
use super::messages::{self, FRAME_BYTES};
use super::okvs::Value;
use super::sizes::Sizes;
use super::stage::JoinedTable;
use super::vole::TimesDelta;
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

/// A shard of the placer's.
struct PlacedShard<'s> {
    shard: &'s Shard,
    /// The key of each bin, or [`EMPTY`].
    key_of_bin: WipedVec<u32>,
    /// The bins that have a key.
    taken: WipedVec<u32>,
    /// The points of these bins.
    points: Points<'s>,
    /// The rows of the points: in the ask, and then in the hint.
    rows: Rows,
    /// The encoding that the ask masks.
    encoding: WipedVec<Value<1>>,
    /// The value of each bin.
    values: &'s mut [Block],
}

/// A shard of the programmer's.
struct ProgrammedShard<'s> {
    shard: &'s Shard,
    /// The places of each key.
    places: WipedVec<[u32; 3]>,
    /// The points of each key in its places.
    points: Points<'s>,
    /// The rows of the points in the ask.
    rows: Rows,
    rows_of_hint: Rows,
    /// r ‖ p of each bin.
    masks: &'s mut [Block],
}

impl BinValues {
    /// Returns the value of each bin.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &[Block]> {
        self.blocks.chunks_exact(self.value_blocks)
    }

    /// Returns the value of a bin.
    pub(super) fn value(&self, bin: usize) -> &[Block] {
        &self.blocks[bin * self.value_blocks..][..self.value_blocks]
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
            asking: Asking::new(
                settings,
                tag,
                [sizes.shards, sizes.turn_shards()],
                sizes.ask_columns,
            ),
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
        let bins = shards.len() * self.sizes.bins as usize;
        let (mut rows, mut blocks) = (Zeroizing::new(Vec::new()), self.values(bins));
        rows.reserve_exact(bins);
        let mut turns = self.turns(&shards, &mut blocks);
        let (mut ots, mut next) = (None, self.placed(io, turns.next(), &mut prg).await?);
        while let Some((numbers, placed)) = next {
            let encodings: Vec<_> = placed.iter().map(|shard| &*shard.encoding).collect();
            let asked = self
                .asking
                .ask(io, (numbers, &encodings), &mut ots, &mut prg);
            let w = asked.await?;
            let each = placed.into_iter().zip(self.asking.by_shard(&w));
            let asked = on_threads(io, self.asking.threads(), each, |(placed, w)| {
                Ok(self.evaluated(placed, w))
            });
            let asked = asked.await?;
            // The next turn is placed while the programmer makes the hints of this one.
            next = self.placed(io, turns.next(), &mut prg).await?;
            for placed in self.with_hints(io, asked).await? {
                let row = |key: &u32| placed.shard.rows.get(*key as usize).copied();
                rows.extend(placed.key_of_bin.iter().map(row));
            }
        }
        drop((next, turns));
        let values = BinValues {
            value_blocks: self.value_blocks(),
            blocks,
        };
        Ok(PlacedBins { rows, values })
    }

    /// Returns the numbers of the shards of each turn, and each shard with the values of its bins.
    fn turns<'s>(
        &self,
        shards: &'s [Shard],
        values: &'s mut [Block],
    ) -> impl Iterator<Item = (Range<u64>, Vec<(&'s Shard, &'s mut [Block])>)> + use<'s> {
        let of_shard = (self.sizes.bins as usize * self.value_blocks()).max(1);
        let mut values = values.chunks_mut(of_shard);
        self.asking.turns(shards).map(move |(numbers, shards)| {
            let shards = shards.iter().zip(values.by_ref()).collect();
            (numbers, shards)
        })
    }

    /// Places the keys of the shards of a turn, if there is one.
    async fn placed<'s>(
        &self,
        io: &mut Io<'_>,
        turn: Option<(Range<u64>, Vec<(&'s Shard, &'s mut [Block])>)>,
        prg: &mut Prg,
    ) -> Result<Option<(Range<u64>, Vec<PlacedShard<'s>>)>, Error> {
        let Some((numbers, shards)) = turn else {
            return Ok(None);
        };
        let seeds = seeds(prg, shards.len());
        let each = shards.into_iter().zip(seeds.iter());
        let placed = on_threads(
            io,
            self.asking.threads(),
            each,
            |((shard, values), seed)| self.place_shard(shard, values, seed),
        );
        Ok(Some((numbers, placed.await?)))
    }

    /// Places the keys of a shard, encodes their points for the ask, and draws the values of all
    /// bins.
    fn place_shard<'s>(
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
        let rows = points.rows(Row::Ask, self.sizes.ask_columns);
        let encoding = points.encode_elements_vartime(&rows, &mut prg)?;
        self.draw(values, &mut prg);
        Ok(PlacedShard {
            shard,
            key_of_bin,
            taken,
            points,
            rows,
            encoding,
            values,
        })
    }

    /// Writes F of each of a shard's points into the bin of its key, and replaces the rows of the
    /// points by those of the hint.
    fn evaluated<'s>(&self, mut placed: PlacedShard<'s>, w: &[Block]) -> PlacedShard<'s> {
        let (width, points) = (self.value_blocks(), &placed.points);
        let evaluated = points.evaluate_vartime(&placed.rows, w, None, width);
        for (bin, evaluated) in placed.taken.iter().zip(evaluated.chunks_exact(width)) {
            placed.values[*bin as usize * width..][..width].copy_from_slice(evaluated);
        }
        placed.rows = points.rows(Row::Hint, self.sizes.hint_columns);
        placed.encoding = WipedVec::default();
        placed
    }

    /// Receives the hints of shards, and adds what they have for each point to the values.
    async fn with_hints<'s>(
        &self,
        io: &mut Io<'_>,
        shards: Vec<PlacedShard<'s>>,
    ) -> Result<Vec<PlacedShard<'s>>, Error> {
        let threads = self.asking.threads();
        let (mut shards, mut complete) = (shards.into_iter(), Vec::new());
        while shards.len() > 0 {
            let mut received = Vec::new();
            for placed in shards.by_ref().take(threads.get()) {
                received.push((placed, self.receive_hint(io).await?));
            }
            complete.extend(map_each(received, threads, |(mut placed, hint)| {
                self.decode(&mut placed, &hint);
                placed
            }));
            io.breathe().await?;
        }
        Ok(complete)
    }

    /// Adds what a hint has for each of a shard's points to the value of its bin.
    fn decode(&self, placed: &mut PlacedShard<'_>, hint: &[u8]) {
        let width = self.value_blocks();
        for first in (0..width).step_by(WIDEST) {
            of_width!(width - first, N => {
                let columns = self.columns_of_hint::<N>(hint, first);
                placed.points.decode_vartime(&placed.rows, &columns, |number, sum| {
                    let at = placed.taken[number] as usize * width + first;
                    for (value, sum) in placed.values[at..].iter_mut().zip(sum) {
                        *value ^= sum;
                    }
                });
            });
        }
        self.trim(placed.values);
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
        let (mut prg, threads) = (Prg::from_seed(seed), self.asking.threads());
        let shards = self.shards(keys, self.sizes.programmer_keys)?;
        let (mut ots, mut blocks) = (None, self.values(shards.len() * self.sizes.bins as usize));
        for (numbers, shards) in self.turns(&shards, &mut blocks) {
            // What does not depend on the asks is done while the placer makes them.
            let programmed = on_threads(io, threads, shards, |(shard, masks)| {
                Ok(self.programmed(shard, masks))
            });
            let programmed = programmed.await?;
            let answered = self.asking.answer(io, numbers, &mut ots, &mut prg);
            let (k, times) = answered.await?;
            let seeds = seeds(&mut prg, programmed.len());
            let each = programmed.into_iter().zip(self.asking.by_shard(&k));
            let mut each = each.zip(seeds.iter());
            while each.len() > 0 {
                let some = each.by_ref().take(threads.get());
                let hints = map_each(some, threads, |((programmed, k), seed)| {
                    self.hint(programmed, (k, &times), payloads, seed)
                });
                for hint in hints {
                    self.send_hint(io, &hint?).await?;
                }
            }
        }
        Ok(BinValues {
            value_blocks: self.value_blocks(),
            blocks,
        })
    }

    /// Returns the points of a shard's keys, and their rows.
    fn programmed<'s>(&self, shard: &'s Shard, masks: &'s mut [Block]) -> ProgrammedShard<'s> {
        let places = shard.hashes.places(&shard.digests, self.sizes.bins);
        let flat = places.as_flattened();
        let points = Points::new(&shard.hashes, flat.len(), |number| {
            in_bin(shard.digests[number / 3], flat[number])
        });
        ProgrammedShard {
            shard,
            rows: points.rows(Row::Ask, self.sizes.ask_columns),
            rows_of_hint: points.rows(Row::Hint, self.sizes.hint_columns),
            places,
            points,
            masks,
        }
    }

    /// Draws r ‖ p of each bin of a shard, and returns the bytes of the shard's hint. `payloads` are
    /// those of all keys.
    fn hint(
        &self,
        programmed: ProgrammedShard<'_>,
        (k, times): (&[Block], &TimesDelta),
        payloads: &[Block],
        seed: &[u8; 32],
    ) -> Result<Vec<u8>, Error> {
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
        let mut values = points.evaluate_vartime(&programmed.rows, k, Some(times), width);
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
        let mut hint = WipedVec::zeros(self.sizes.hint_columns as usize * width);
        for first in (0..width).step_by(WIDEST) {
            of_width!(width - first, N => {
                let value = |number: usize| {
                    let value = &values[number * width + first..][..N];
                    core::array::from_fn::<_, N, _>(|i| value[i])
                };
                let part = points.encode_vartime::<N>(&programmed.rows_of_hint, value, &mut prg)?;
                for (column, part) in hint.chunks_exact_mut(width).zip(part.iter()) {
                    column[first..first + N].copy_from_slice(part);
                }
            });
        }
        self.trim(&mut hint);
        let size = self.sizes.hint_column_bytes() as usize;
        let mut bytes = Vec::with_capacity(self.sizes.hint_bytes() as usize + Block::BYTES * width);
        for column in hint.chunks_exact(width) {
            let whole = bytes.len() + size;
            append_blocks(&mut bytes, column);
            bytes.truncate(whole);
        }
        Ok(bytes)
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
        Ok((
            placed.input_bits(&self.sizes, table, self.asking.threads()),
            placed.rows,
        ))
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
        Ok(values.input_bits(&self.sizes, self.asking.threads()))
    }

    fn payload_blocks(&self) -> usize {
        (self.sizes.payload_bits as usize).div_ceil(128)
    }

    /// Sends the columns of a shard's hint. Each has as many bytes as hold a value's bits, and zeros
    /// above these.
    async fn send_hint(&self, io: &mut Io<'_>, hint: &[u8]) -> Result<(), Error> {
        for frame in hint.chunks(FRAME_BYTES) {
            io.message().clear();
            io.message().extend(frame);
            io.send(messages::hint(frame.len()))?;
            io.breathe().await?;
        }
        Ok(())
    }

    async fn receive_hint(&self, io: &mut Io<'_>) -> Result<Vec<u8>, Error> {
        let mut hint = vec![0; self.sizes.hint_bytes() as usize];
        for frame in hint.chunks_mut(FRAME_BYTES) {
            frame.copy_from_slice(io.receive(messages::hint(frame.len())).await?);
        }
        Ok(hint)
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
