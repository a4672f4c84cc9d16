//! Plain intersection: both parties' scripts.

use tacit_kernels::{Block, Prg, WipedVec};
use zeroize::{Zeroize, Zeroizing};

use super::asking::Asking;
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
            asking: Asking::new(settings, tag, sizes.shards, sizes.ask_columns),
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
        let mut ots = None;
        for (number, shard) in (0..).zip(shards) {
            let ots = self.asking.place(io, number, &mut ots, &mut prg).await?;
            let points = shard.points();
            let asked = self.asking.ask(io, &shard, &points, 1, ots, &mut prg);
            let index = TagIndex::new(&self.tags(&asked.await?));
            drop(points);
            for (own, bit) in shard.rows.iter().zip(self.find(io, &index).await?) {
                common[*own as usize] = bit;
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
        let mut ots = None;
        for (number, shard) in (0..).zip(shards) {
            let ots = self.asking.program(io, number, &mut ots, &mut prg).await?;
            let points = shard.points();
            let answered = self.asking.answer(io, &shard, &points, 1, ots, &mut prg);
            let tags = self.tags(&answered.await?);
            drop(points);
            let places = 0..self.sizes.programmer_keys as u32;
            let mut places: Zeroizing<Vec<u32>> = Zeroizing::new(places.collect());
            shuffle::shuffle(&mut prg, &mut places);
            self.send_tags(io, &tags, &places, &mut prg).await?;
            if self.to_both {
                let bits = self.matches(io, &places[tags.len()..]).await?;
                for (own, place) in shard.rows.iter().zip(places.iter()) {
                    common[*own as usize] = bit(&bits, *place as usize);
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

    /// Sends the tags of a shard: that of key i at position `places[i]`, and random tags at all
    /// other positions.
    async fn send_tags(
        &self,
        io: &mut Io<'_>,
        tags: &[u128],
        places: &[u32],
        prg: &mut Prg,
    ) -> Result<(), Error> {
        let size = self.sizes.tag_bytes as usize;
        let mut all = Zeroizing::new(vec![0; size * places.len()]);
        prg.fill_bytes(&mut all);
        for (tag, place) in tags.iter().zip(places) {
            all[size * *place as usize..][..size].copy_from_slice(&tag.to_le_bytes()[..size]);
        }
        for frame in all.chunks(FRAME_BYTES / size * size) {
            io.message().clear();
            io.message().extend(frame);
            io.send(messages::tags(frame.len()))?;
            io.breathe().await?;
        }
        Ok(())
    }

    /// Receives the tags of a shard, and sends their matches if both parties get the result.
    /// Returns for each of the party's own tags whether it is among them.
    async fn find(&self, io: &mut Io<'_>, own: &TagIndex) -> Result<Vec<bool>, Error> {
        let (size, count) = (
            self.sizes.tag_bytes as usize,
            self.sizes.programmer_keys as usize,
        );
        let mut found = vec![false; own.keys];
        let (mut read, mut whole) = (Zeroizing::new([0; LOOKED_UP]), Zeroizing::new([0; 16]));
        let mut matches = Zeroizing::new(vec![0; bytes_for(count)]);
        let frame_tags = FRAME_BYTES / size;
        for first in (0..count).step_by(frame_tags) {
            let tags = frame_tags.min(count - first);
            let frame = io.receive(messages::tags(size * tags)).await?;
            let parts = frame.chunks(LOOKED_UP * size);
            for (first, part) in (first..).step_by(LOOKED_UP).zip(parts) {
                let read = &mut read[..part.len() / size];
                for (tag, bytes) in read.iter_mut().zip(part.chunks_exact(size)) {
                    whole[..size].copy_from_slice(bytes);
                    *tag = u128::from_le_bytes(*whole);
                }
                own.find_all(read, |place, key| {
                    found[key] = true;
                    matches[(first + place) / 8] |= 1 << ((first + place) % 8);
                });
            }
        }
        if self.to_both {
            for frame in matches.chunks(FRAME_BYTES) {
                io.message().clear();
                io.message().extend(frame);
                io.send(messages::matches(frame.len()))?;
            }
        }
        Ok(found)
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
