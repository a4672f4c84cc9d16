//! Spare base OTs: sets of 128 that two parties make at once, each for one later session.
//!
//! Base OTs are most of what a short session costs. Parties that will meet again run them once, in
//! the other direction: the later evaluator chooses with the bits of an offset Δ', the later
//! garbler offers. Over these the malicious extension ([`correlated`](crate::correlated)) makes
//! [`OTS`] correlated OTs, in which the garbler chooses with the bits of the Δ of each later
//! session, fresh and random. What is kept is r_x = H(i, q_i ⊕ xΔ') as in
//! [`precomputed`](crate::precomputed): both at the evaluator, the chosen one at the garbler. Δ', q
//! and t are gone when the batch is made, so no set tells anything of another.
//!
//! A session takes one set. Its base keys are SHA-256 over the session's tag, which no other
//! session has, so that even a set that is used twice, after both parties went back to old copies,
//! gives keys that were never used. (Its Δ would be that of two sessions, as it is that of all runs
//! of one.)
//!
//! Base OTs of one session can be kept as a set, too, for many runs under one Δ: such a set goes
//! [forward](SpareSet::forward) before each of them.
//!
//! Assumptions: those of base OTs and of the malicious extension; H correlation robust under Δ'
//! (AES as an ideal cipher); SHA-256 as a random oracle. Bytes, once a batch: those of base OTs and
//! 128/k bits an OT. A set is 129 blocks at the garbler and 256 at the evaluator.

use core::{fmt, iter};

use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use tacit_kernels::Block;
use zeroize::{Zeroize, Zeroizing};

use crate::base::Key;
use crate::precomputed::{ReceiverOts, SenderOts};
use crate::source::Extension;
use crate::{ApiMisuse, Delta, Error, FieldBits, Outputs, SessionTag};

/// How many sets a batch has.
pub const SETS: usize = 64;

/// How many OTs a batch takes.
pub const OTS: usize = SETS * Delta::BITS;

const NAME: &[u8; 32] = b"tacit OT v1 name of spare batch ";
const SESSION_KEY: &[u8; 32] = b"tacit OT v1 base key from spares";
const FORWARD: &[u8; 32] = b"tacit OT v1 base OTs forward    ";

/// The extension that makes a batch: half the bytes of the default, in the same time.
#[must_use]
pub fn extension() -> Extension {
    Extension::SoftSpoken(FieldBits::new(4).unwrap_or(FieldBits::DEFAULT))
}

/// What names a batch at both parties. No secret.
pub type BatchName = [u8; 16];

/// One party's half of the base OTs of one session. Secret.
pub struct SpareSet(Outputs);

/// One party's half of a batch: the sets that are left, by number.
pub struct Batch {
    name: BatchName,
    sets: Vec<Option<SpareSet>>,
}

/// Choices for the OTs of a batch, those of the later garbler: random, and in each set as the bits
/// of a Δ are.
pub fn random_choices<R: CryptoRng + ?Sized>(rng: &mut R) -> Zeroizing<Vec<bool>> {
    let mut choices = Zeroizing::new(Vec::with_capacity(OTS));
    for _ in 0..SETS {
        choices.extend_from_slice(&Delta::random(rng).choices());
    }
    choices
}

impl Batch {
    /// The later garbler's half, from its choices and t of each OT. The tag is that of the base OTs
    /// that the batch was made from.
    #[must_use]
    pub fn chosen(tag: &SessionTag, choices: &[bool], t: Outputs) -> Self {
        let (_, keys) = ReceiverOts::new(0, t).into_random(tag);
        let sets = choices.chunks(Delta::BITS).zip(keys.chunks(Delta::BITS));
        let sets = sets.map(|(choices, keys)| {
            let bits = (0..).zip(choices);
            let delta = bits.fold(0, |delta, (i, &bit)| delta | u128::from(bit) << i);
            let mut set = Vec::with_capacity(1 + keys.len());
            set.push(Block::from_u128(delta));
            set.extend_from_slice(keys);
            SpareSet(Zeroizing::new(set))
        });
        Self::of(tag, sets)
    }

    /// The later evaluator's half, from q of each OT under `delta`.
    #[must_use]
    pub fn offered(tag: &SessionTag, delta: Delta, q: Outputs) -> Self {
        let pairs = SenderOts::new(0, delta, q).into_random(tag);
        let sets = pairs.chunks(Delta::BITS);
        Self::of(
            tag,
            sets.map(|pairs| SpareSet(Zeroizing::new(pairs.as_flattened().to_vec()))),
        )
    }

    fn of(tag: &SessionTag, sets: impl Iterator<Item = SpareSet>) -> Self {
        let mut name = BatchName::default();
        name.copy_from_slice(&tag.hash(NAME).finalize()[..16]);
        let sets = sets.map(Some).collect();
        Self { name, sets }
    }

    /// The batch's name.
    #[must_use]
    pub fn name(&self) -> BatchName {
        self.name
    }

    /// The numbers of the sets that are left, from the lowest on.
    pub fn left(&self) -> impl DoubleEndedIterator<Item = u16> + use<> {
        let sets = (0..).zip(&self.sets).filter(|(_, set)| set.is_some());
        sets.map(|(number, _)| number)
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The sets that are left, with their numbers. Secret.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<(u16, Zeroizing<Vec<u8>>)> {
        let sets = (0..).zip(&self.sets);
        sets.filter_map(|(number, set)| Some((number, set.as_ref()?.to_bytes())))
            .collect()
    }

    /// Takes the set of this number, if it is left.
    pub fn take(&mut self, number: u16) -> Option<SpareSet> {
        self.sets.get_mut(usize::from(number))?.take()
    }
}

impl SpareSet {
    /// The half of who chose with the bits of `delta` in base OTs that gave these keys.
    #[must_use]
    pub fn of_chosen(delta: Delta, keys: &[Key]) -> Self {
        let keys = keys.iter().map(Key::to_block);
        Self(Zeroizing::new(
            iter::once(delta.to_block()).chain(keys).collect(),
        ))
    }

    /// The half of who offered in base OTs that gave these keys.
    #[must_use]
    pub fn of_offered(pairs: &[[Key; 2]]) -> Self {
        let keys = pairs.as_flattened().iter().map(Key::to_block);
        Self(Zeroizing::new(keys.collect()))
    }

    /// The set for the next run, under the same Δ. What stays gives those of later runs, and
    /// nothing of this one or of those before: each key is hashed to one for the run and one for
    /// later, at both parties alike.
    #[must_use]
    pub fn forward(&mut self) -> Self {
        let mut now = Self(self.0.clone());
        let first = usize::from(self.is_chosen());
        let keys = self.0[first..].iter_mut().zip(&mut now.0[first..]);
        for (later, now) in keys {
            let mut key = later.to_bytes();
            let hash = Sha256::new().chain_update(FORWARD).chain_update(key);
            let hash = Key::from_bytes(hash.finalize().into());
            let (halves, _) = hash.as_bytes().as_chunks::<{ Block::BYTES }>();
            [*now, *later] = [halves[0], halves[1]].map(Block::from_bytes);
            key.zeroize();
        }
        now
    }

    fn is_chosen(&self) -> bool {
        self.0.len() == 1 + Delta::BITS
    }

    /// Its bytes. Secret.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.0.len() * Block::BYTES));
        for block in self.0.iter() {
            bytes.extend_from_slice(&block.to_bytes());
        }
        bytes
    }

    /// The set with these bytes; none where they are not one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (blocks, rest) = bytes.as_chunks();
        let blocks: Vec<_> = blocks
            .iter()
            .map(|bytes| Block::from_bytes(*bytes))
            .collect();
        let set = Self(Zeroizing::new(blocks));
        let is_chosen = set.is_chosen() && bool::from(set.0[0].lsb());
        let is_set = rest.is_empty() && (is_chosen || set.0.len() == 2 * Delta::BITS);
        is_set.then_some(set)
    }

    /// The garbler's half of the base OTs of the session with this tag: Δ and the chosen keys.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongBaseCount`] where it is the evaluator's half.
    pub fn into_chosen(self, tag: &SessionTag) -> Result<(Delta, Vec<Key>), Error> {
        match self.0.split_first() {
            Some((delta, keys)) if keys.len() == Delta::BITS => {
                let keys = (0..).zip(keys);
                let keys = keys.map(|(i, seed)| session_key(tag, i, *seed));
                Ok((Delta::from_block(*delta)?, keys.collect()))
            }
            _ => Err(self.not_this_half()),
        }
    }

    /// The evaluator's half of the base OTs of the session with this tag: both keys of each.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongBaseCount`] where it is the garbler's half.
    pub fn into_offered(self, tag: &SessionTag) -> Result<Vec<[Key; 2]>, Error> {
        match self.0.as_chunks::<2>() {
            (pairs, []) if pairs.len() == Delta::BITS => {
                let pairs = (0..).zip(pairs);
                let keys = pairs.map(|(i, pair)| pair.map(|seed| session_key(tag, i, seed)));
                Ok(keys.collect())
            }
            _ => Err(self.not_this_half()),
        }
    }

    fn not_this_half(&self) -> Error {
        let (expected, found) = (Delta::BITS, self.0.len());
        ApiMisuse::WrongBaseCount { expected, found }.into()
    }
}

/// The key of base OT `i` of a session, from what was kept.
fn session_key(tag: &SessionTag, i: u32, seed: Block) -> Key {
    let mut seed = seed.to_bytes();
    let hash = tag.hash(SESSION_KEY).chain_update(i.to_le_bytes());
    let key = Key::from_bytes(hash.chain_update(seed).finalize().into());
    seed.zeroize();
    key
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch {{ left: {}, .. }}", self.left().count())
    }
}
