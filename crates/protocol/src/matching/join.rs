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

mod shard;

use core::ops::Range;

use tacit_kernels::{Block, Prg, WipedVec, map_each};
use zeroize::Zeroizing;

use super::asking::{AskShards, Asking, Shard, on_threads, seeds};
use super::keys::Keys;
use super::messages::{self, FRAME_BYTES};
use super::sizes::Sizes;
use super::stage::JoinedTable;
use crate::Error;
use crate::io::{Io, boxed};
use crate::session::RunTag;
use crate::setup::OtSettings;
use crate::shares::MadeBits;
use shard::{AskedShard, PlacedShard, ShardHint};

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

/// The shards of a turn.
struct Turn<'s> {
    numbers: Range<u64>,
    /// Each shard, with the values of its bins.
    shards: Vec<(&'s Shard, &'s mut [Block])>,
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
                AskShards {
                    all: sizes.shards,
                    of_turn: sizes.turn_shards(),
                    columns: sizes.ask_columns,
                },
            ),
        }
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
            let shards = on_threads(io, self.asking.threads(), each, |(placed, w)| {
                Ok(self.asked(placed, w))
            });
            let shards = shards.await?;
            drop(w);
            // The next turn is placed while the programmer makes the hints of this one.
            next = self.placed(io, turns.next(), &mut prg).await?;
            for shard in self.with_hints(io, shards).await? {
                rows.extend(shard.row_of_bin());
            }
        }
        drop((next, turns));
        let values = BinValues {
            value_blocks: self.value_blocks(),
            blocks,
        };
        Ok(PlacedBins { rows, values })
    }

    /// Returns the turns of these shards. `values` are those of all bins.
    fn turns<'s>(
        &self,
        shards: &'s [Shard],
        values: &'s mut [Block],
    ) -> impl Iterator<Item = Turn<'s>> + use<'s> {
        let of_shard = (self.sizes.bins as usize * self.value_blocks()).max(1);
        let mut values = values.chunks_mut(of_shard);
        self.asking.turns(shards).map(move |(numbers, shards)| {
            let shards = shards.iter().zip(values.by_ref()).collect();
            Turn { numbers, shards }
        })
    }

    /// Places the keys of the shards of a turn, if there is one.
    async fn placed<'s>(
        &self,
        io: &mut Io<'_>,
        turn: Option<Turn<'s>>,
        prg: &mut Prg,
    ) -> Result<Option<(Range<u64>, Vec<PlacedShard<'s>>)>, Error> {
        let Some(Turn { numbers, shards }) = turn else {
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

    /// Receives the hints of shards, and adds what they have for each point to the values.
    async fn with_hints<'s>(
        &self,
        io: &mut Io<'_>,
        shards: Vec<AskedShard<'s>>,
    ) -> Result<Vec<AskedShard<'s>>, Error> {
        let threads = self.asking.threads();
        let (mut shards, mut complete) = (shards.into_iter(), Vec::new());
        while shards.len() > 0 {
            let mut received = Vec::new();
            for shard in shards.by_ref().take(threads.get()) {
                received.push((shard, self.receive_hint(io).await?));
            }
            for first in self.parts() {
                map_each(&mut received, threads, |(shard, hint)| {
                    self.add_hint(shard, hint, first);
                });
                io.breathe().await?;
            }
            complete.extend(received.into_iter().map(|(shard, _)| shard));
        }
        Ok(complete)
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
        for Turn { numbers, shards } in self.turns(&shards, &mut blocks) {
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
                let mut hints = map_each(some, threads, |((programmed, k), seed)| {
                    self.begin_hint(programmed, (k, &times), payloads, seed)
                });
                for first in self.parts() {
                    io.breathe().await?;
                    let encode = |hint: &mut ShardHint<'_>| self.encode_hint(hint, first);
                    let encoded = map_each(&mut hints, threads, encode);
                    encoded.into_iter().collect::<Result<(), _>>()?;
                }
                for hint in map_each(hints, threads, |hint| self.hint_bytes(hint)) {
                    self.send_hint(io, &hint).await?;
                }
            }
        }
        Ok(BinValues {
            value_blocks: self.value_blocks(),
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

    /// Sends the columns of a shard's hint. Each has as many bytes as hold a value's bits, and
    /// zeros above these.
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
