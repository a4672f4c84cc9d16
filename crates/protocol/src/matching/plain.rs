//! Plain intersection: both parties' scripts.

use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::asking::{Points, SetupTerms, Shard, take_ask};
use super::hashes::{MatchTag, Row};
use super::keys::Keys;
use super::messages::{self, FRAME_BYTES};
use super::sizes::PlainSizes;
use super::vole::{PlacerOts, ProgrammerOts, VolePlan};
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
    tag: RunTag,
    settings: OtSettings,
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
            tag,
            settings,
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
        let shards = self.shards(keys, self.sizes.placer_keys)?;
        if self.is_empty() {
            return Ok(common);
        }
        let mut ots = None;
        for (number, shard) in (0..).zip(shards) {
            let ots = self.setup().place(io, number, &mut ots, &mut prg).await?;
            let tags = self.ask(io, &shard, ots, &mut prg).await?;
            let index = TagIndex::new(&tags);
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
        let shards = self.shards(keys, self.sizes.programmer_keys)?;
        if self.is_empty() {
            return Ok(self.to_both.then_some(common));
        }
        let mut ots = None;
        for (number, shard) in (0..).zip(shards) {
            let ots = self.setup().program(io, number, &mut ots, &mut prg).await?;
            let tags = self.answer(io, &shard, ots, &mut prg).await?;
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

    fn setup(&self) -> SetupTerms {
        let columns = self.sizes.shards * self.sizes.ask_columns;
        SetupTerms {
            settings: self.settings,
            tag: self.tag,
            vole: VolePlan::of(self.settings.extension, columns),
        }
    }

    fn shards(&self, keys: &Keys, most: u64) -> Result<Vec<Shard>, Error> {
        let tag = MatchTag::new(self.tag.as_bytes(), 0);
        Shard::all((keys, self.settings.threads), &tag, self.sizes.shards, most)
    }

    /// Returns the tag of each key of a shard: the lowest bits of F.
    fn tags(&self, evaluated: &[Block]) -> Zeroizing<Vec<u128>> {
        let mask = u128::MAX >> (128 - 8 * self.sizes.tag_bytes);
        let tag = |pad: &Block| pad.to_u128() & mask;
        Zeroizing::new(evaluated.iter().map(tag).collect())
    }

    /// Sends the ask of a shard. Returns the tag of each of its keys.
    async fn ask(
        &self,
        io: &mut Io<'_>,
        shard: &Shard,
        ots: &mut PlacerOts,
        prg: &mut Prg,
    ) -> Result<Zeroizing<Vec<u128>>, Error> {
        let points = shard.points();
        let points = Points::new(&shard.hashes, Row::Ask, &points, self.sizes.ask_columns);
        let columns = shard.columns(self.sizes.ask_columns);
        let w = points.ask(io, columns, ots, prg).await?;
        Ok(self.tags(&points.evaluate(io, &w, None, 1).await?))
    }

    /// Receives the ask of a shard. Returns the tag of each of its keys.
    async fn answer(
        &self,
        io: &mut Io<'_>,
        shard: &Shard,
        ots: &mut ProgrammerOts,
        prg: &mut Prg,
    ) -> Result<Zeroizing<Vec<u128>>, Error> {
        let points = shard.points();
        let points = Points::new(&shard.hashes, Row::Ask, &points, self.sizes.ask_columns);
        let columns = shard.columns(self.sizes.ask_columns);
        let (keys, times) = take_ask(io, columns, ots, prg).await?;
        Ok(self.tags(&points.evaluate(io, &keys, Some(&times), 1).await?))
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
    async fn find(&self, io: &mut Io<'_>, own: &TagIndex<'_>) -> Result<Vec<bool>, Error> {
        let (size, count) = (
            self.sizes.tag_bytes as usize,
            self.sizes.programmer_keys as usize,
        );
        let mut found = vec![false; own.tags.len()];
        let mut matches = Zeroizing::new(vec![0; bytes_for(count)]);
        let frame_tags = FRAME_BYTES / size;
        for first in (0..count).step_by(frame_tags) {
            let tags = frame_tags.min(count - first);
            let frame = io.receive(messages::tags(size * tags)).await?;
            for (place, bytes) in (first..).zip(frame.chunks_exact(size)) {
                let mut tag = Zeroizing::new([0; 16]);
                tag[..size].copy_from_slice(bytes);
                if let Some(key) = own.find(u128::from_le_bytes(*tag)) {
                    found[key] = true;
                    matches[place / 8] |= 1 << (place % 8);
                }
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

/// An index that finds a key by its tag. It uses open addressing by the tag's low bits, which
/// nobody but the programmer can choose.
struct TagIndex<'t> {
    tags: &'t [u128],
    slots: Zeroizing<Vec<u32>>,
}

impl<'t> TagIndex<'t> {
    const FREE: u32 = u32::MAX;

    fn new(tags: &'t [u128]) -> Self {
        let slots = (2 * tags.len()).next_power_of_two().max(2);
        let mut slots = Zeroizing::new(vec![Self::FREE; slots]);
        let mask = slots.len() - 1;
        for (key, tag) in (0..).zip(tags) {
            let mut slot = *tag as usize & mask;
            while slots[slot] != Self::FREE {
                slot = (slot + 1) & mask;
            }
            slots[slot] = key;
        }
        Self { tags, slots }
    }

    fn find(&self, tag: u128) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut slot = tag as usize & mask;
        while self.slots[slot] != Self::FREE {
            let key = self.slots[slot] as usize;
            if self.tags[key] == tag {
                return Some(key);
            }
            slot = (slot + 1) & mask;
        }
        None
    }
}
