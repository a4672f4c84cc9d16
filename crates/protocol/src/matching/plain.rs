//! Plain intersection: both parties' scripts.

use tacit_kernels::{Block, Prg, WipedVec, map_each};
use zeroize::{Zeroize, Zeroizing};

use super::asking::{AskShards, Asking, Points, on_threads, seeds};
use super::hashes::Row;
use super::keys::Keys;
use super::messages::{self, FRAME_BYTES};
use super::sizes::PlainSizes;
use crate::bits::{bit, bytes_for};
use crate::io::Io;
use crate::malicious::shuffle;
use crate::message::Kind;
use crate::session::RunTag;
use crate::setup::OtSettings;
use crate::{Error, Misbehaviour};

/// An intersection on which both parties have agreed. [`place`](Self::place) runs the placer's
/// side, and [`program`](Self::program) the programmer's.
#[derive(Clone, Copy)]
pub struct Plain {
    sizes: PlainSizes,
    asking: Asking,
    to_both: bool,
}

impl Plain {
    /// Returns the intersection of tables of these sizes. `tag` is bound to this run alone, and to
    /// everything that the parties agreed on. The placer gets the result; the programmer gets it if
    /// `to_both`.
    #[must_use]
    pub fn new(sizes: PlainSizes, tag: RunTag, settings: OtSettings, to_both: bool) -> Self {
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
            to_both,
        }
    }

    /// Runs the placer's side, and returns for each of its keys whether the programmer has it.
    /// `seed` is random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// There are more keys than agreed, the programmer misbehaves, the wire fails, or the keys have
    /// no encoding under this tag, which happens with probability 2^-40.
    pub async fn place(
        self,
        io: &mut Io<'_>,
        keys: &Keys,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Vec<bool>, Error> {
        let (mut common, mut prg) = (vec![false; keys.len()], Prg::from_seed(seed));
        let shards = self.asking.shards(keys, self.sizes.placer_keys)?;
        if self.is_empty() {
            return Ok(common);
        }
        let (threads, mut ots) = (self.asking.threads(), None);
        for (numbers, shards) in self.asking.turns(&shards) {
            let seeds = seeds(&mut prg, shards.len());
            let each = shards.iter().zip(seeds.iter());
            let encoded = on_threads(io, threads, each, |(shard, seed)| {
                let points = Points::of_keys(shard);
                let rows = points.rows(Row::Ask, self.sizes.ask_columns);
                let mut prg = Prg::from_seed(seed);
                let encoding = points.encode_elements_vartime(&rows, &mut prg)?;
                Ok((points, rows, encoding))
            });
            let encoded = encoded.await?;
            let encodings: Vec<_> = encoded.iter().map(|(.., encoding)| &**encoding).collect();
            let asked = self
                .asking
                .ask(io, (numbers, &encodings), &mut ots, &mut prg);
            let w = asked.await?;
            let each = encoded.iter().zip(self.asking.by_shard(&w));
            let indices = on_threads(io, threads, each, |((points, rows, _), w)| {
                let evaluated = points.evaluate_vartime(rows, w, None, 1);
                Ok(TagIndex::new(&self.tags(&evaluated)))
            });
            let indices = indices.await?;
            for (shard, found) in shards.iter().zip(self.find(io, indices).await?) {
                for (own, found) in shard.rows.iter().zip(found) {
                    common[*own as usize] = found;
                }
            }
        }
        Ok(common)
    }

    /// Runs the programmer's side. If both parties get the result, returns for each of its keys
    /// whether the placer has it. `seed` is random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// Those of [`place`](Self::place), with the roles exchanged.
    pub async fn program(
        self,
        io: &mut Io<'_>,
        keys: &Keys,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Option<Vec<bool>>, Error> {
        let (mut common, mut prg) = (vec![false; keys.len()], Prg::from_seed(seed));
        let shards = self.asking.shards(keys, self.sizes.programmer_keys)?;
        if self.is_empty() {
            return Ok(self.to_both.then_some(common));
        }
        let (threads, mut ots) = (self.asking.threads(), None);
        for (numbers, shards) in self.asking.turns(&shards) {
            // What does not depend on the asks is done while the placer makes them.
            let points = on_threads(io, threads, shards, |shard| {
                let points = Points::of_keys(shard);
                let rows = points.rows(Row::Ask, self.sizes.ask_columns);
                Ok((points, rows))
            });
            let points = points.await?;
            let answered = self.asking.answer(io, numbers, &mut ots, &mut prg);
            let (k, times) = answered.await?;
            let seeds = seeds(&mut prg, shards.len());
            let each = points
                .iter()
                .zip(self.asking.by_shard(&k))
                .zip(seeds.iter());
            let tagged = on_threads(io, threads, each, |(((points, rows), k), seed)| {
                let evaluated = points.evaluate_vartime(rows, k, Some(&times), 1);
                Ok(self.shuffled(&self.tags(&evaluated), &mut Prg::from_seed(seed)))
            });
            let tagged = tagged.await?;
            for (_, tags) in &tagged {
                self.send_tags(io, tags).await?;
            }
            if self.to_both {
                for (shard, (places, _)) in shards.iter().zip(&tagged) {
                    let bits = self.matches(io, &places[shard.rows.len()..]).await?;
                    for (own, place) in shard.rows.iter().zip(places.iter()) {
                        common[*own as usize] = bit(&bits, *place as usize);
                    }
                }
            }
        }
        Ok(self.to_both.then_some(common))
    }

    /// Whether a table has no keys. In that case nothing is sent.
    fn is_empty(&self) -> bool {
        self.sizes.placer_keys == 0 || self.sizes.programmer_keys == 0
    }

    /// Returns the tag of each key of a shard: the lowest bits of F.
    fn tags(&self, evaluated: &[Block]) -> Zeroizing<Vec<u128>> {
        let mask = u128::MAX >> (128 - 8 * self.sizes.tag_bytes);
        let tag = |pad: &Block| pad.to_u128() & mask;
        Zeroizing::new(evaluated.iter().map(tag).collect())
    }

    /// Returns a random place for each tag of a shard, and the bytes of the shard's tags: that of
    /// key i at place i, and random ones at the places after those of the keys.
    fn shuffled(&self, tags: &[u128], prg: &mut Prg) -> (Zeroizing<Vec<u32>>, Zeroizing<Vec<u8>>) {
        let places = 0..self.sizes.programmer_keys as u32;
        let mut places: Zeroizing<Vec<u32>> = Zeroizing::new(places.collect());
        shuffle::shuffle(prg, &mut places);
        let size = self.sizes.tag_bytes as usize;
        let mut all = Zeroizing::new(vec![0; size * places.len()]);
        prg.fill_bytes(&mut all);
        for (tag, place) in tags.iter().zip(places.iter()) {
            all[size * *place as usize..][..size].copy_from_slice(&tag.to_le_bytes()[..size]);
        }
        (places, all)
    }

    /// Returns the bytes of each frame of a shard's tags.
    fn frame_bytes(&self) -> usize {
        FRAME_BYTES / self.sizes.tag_bytes as usize * self.sizes.tag_bytes as usize
    }

    async fn send_tags(&self, io: &mut Io<'_>, tags: &[u8]) -> Result<(), Error> {
        for frame in tags.chunks(self.frame_bytes()) {
            io.message().clear();
            io.message().extend(frame);
            io.send(messages::tags(frame.len()))?;
            io.breathe().await?;
        }
        Ok(())
    }

    /// Receives the tags of shards, and sends their matches if both parties get the result. Returns
    /// for each of the party's own tags, shard by shard, whether it is among them.
    async fn find(&self, io: &mut Io<'_>, own: Vec<TagIndex>) -> Result<Vec<Vec<bool>>, Error> {
        let threads = self.asking.threads();
        let (mut own, mut all) = (own.into_iter(), Vec::new());
        while own.len() > 0 {
            let mut received = Vec::new();
            for index in own.by_ref().take(threads.get()) {
                let mut tags = vec![0; self.sizes.tags_bytes() as usize];
                for frame in tags.chunks_mut(self.frame_bytes()) {
                    frame.copy_from_slice(io.receive(messages::tags(frame.len())).await?);
                }
                received.push((index, tags));
            }
            let size = self.sizes.tag_bytes as usize;
            all.extend(map_each(received, threads, |(own, tags)| {
                own.find(&tags, size)
            }));
            io.breathe().await?;
        }
        if self.to_both {
            for (_, matches) in &all {
                for frame in matches.chunks(FRAME_BYTES) {
                    io.message().clear();
                    io.message().extend(frame);
                    io.send(messages::matches(frame.len()))?;
                }
            }
            // The programmer waits for them.
            io.breathe().await?;
        }
        Ok(all.into_iter().map(|(found, _)| found).collect())
    }

    /// Receives the matches of a shard, which must have none at the `unused` positions.
    async fn matches(&self, io: &mut Io<'_>, unused: &[u32]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let count = self.sizes.programmer_keys as usize;
        let mut matches = Zeroizing::new(vec![0; bytes_for(count)]);
        for part in matches.chunks_mut(FRAME_BYTES) {
            let expected = messages::matches(part.len());
            part.copy_from_slice(io.receive(expected).await?);
        }
        let past = (count..8 * matches.len()).any(|place| bit(&matches, place));
        if past || unused.iter().any(|place| bit(&matches, *place as usize)) {
            return Err(Misbehaviour::InvalidField {
                kind: Kind::Matches,
                field: "match of no key",
            }
            .into());
        }
        Ok(matches)
    }
}

/// The number of tags that are looked up together: what they read from memory is then under way at
/// the same time.
const LOOKED_UP: usize = 32;

/// An index that finds a key by its tag. It uses open addressing by the tag's low bits, which
/// nobody but the programmer can choose.
///
/// A slot has a tag, of at most 96 bits, above the number of its key plus one, so a look-up mostly
/// reads one cache line. A free slot is zero.
struct TagIndex {
    keys: usize,
    slots: WipedVec<Block>,
}

impl TagIndex {
    /// The bits of a key's number in a slot.
    const KEY_BITS: u32 = 32;

    fn new(tags: &[u128]) -> Self {
        let slots = (2 * tags.len()).next_power_of_two().max(2);
        let (keys, slots) = (tags.len(), WipedVec::zeros(slots));
        let mut index = Self { keys, slots };
        for (key, tag) in (1..).zip(tags) {
            let mut slot = index.first_slot(*tag);
            while index.slots[slot].to_u128() != 0 {
                slot = index.next_slot(slot);
            }
            index.slots[slot] = Block::from_u128(tag << Self::KEY_BITS | key);
        }
        index
    }

    fn first_slot(&self, tag: u128) -> usize {
        tag as usize & (self.slots.len() - 1)
    }

    fn next_slot(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// Returns whether each key's tag is among these tags of `size` bytes, and a bit for each of
    /// the tags that a key has.
    fn find(&self, tags: &[u8], size: usize) -> (Vec<bool>, Zeroizing<Vec<u8>>) {
        let mut found = vec![false; self.keys];
        let mut matches = Zeroizing::new(vec![0; bytes_for(tags.len() / size)]);
        let (mut read, mut whole) = (Zeroizing::new([0; LOOKED_UP]), Zeroizing::new([0; 16]));
        for (first, part) in (0..).step_by(LOOKED_UP).zip(tags.chunks(LOOKED_UP * size)) {
            let read = &mut read[..part.len() / size];
            for (tag, bytes) in read.iter_mut().zip(part.chunks_exact(size)) {
                whole[..size].copy_from_slice(bytes);
                *tag = u128::from_le_bytes(*whole);
            }
            self.find_all(read, |place, key| {
                found[key] = true;
                matches[(first + place) / 8] |= 1 << ((first + place) % 8);
            });
        }
        (found, matches)
    }

    /// Calls `found` with the place of each tag that a key has, and the key. First it reads the
    /// slots of all, so that none of these reads waits for another.
    fn find_all(&self, tags: &[u128], mut found: impl FnMut(usize, usize)) {
        let mut first = [Block::ZERO; LOOKED_UP];
        for (first, tag) in first.iter_mut().zip(tags) {
            *first = self.slots[self.first_slot(*tag)];
        }
        for (place, (tag, first)) in tags.iter().zip(&first).enumerate() {
            let (mut slot, mut entry) = (self.first_slot(*tag), first.to_u128());
            // A free slot has no key.
            while let Some(key) = (entry as u32).checked_sub(1) {
                if entry >> Self::KEY_BITS == *tag {
                    found(place, key as usize);
                    break;
                }
                slot = self.next_slot(slot);
                entry = self.slots[slot].to_u128();
            }
        }
        first.zeroize();
    }
}
