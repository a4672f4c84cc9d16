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
//! Assumptions: those of base OTs and of the malicious extension; H correlation robust under Δ'
//! (AES as an ideal cipher); SHA-256 as a random oracle. Bytes, once a batch: those of base OTs and
//! 128/k bits an OT. A set is 129 blocks at the garbler and 256 at the evaluator.

use core::fmt;

use rand_core::CryptoRng;
use sha2::Digest;
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
        let bytes = |set: &SpareSet| {
            let mut bytes = Zeroizing::new(Vec::with_capacity(set.0.len() * Block::BYTES));
            for block in set.0.iter() {
                bytes.extend_from_slice(&block.to_bytes());
            }
            bytes
        };
        sets.filter_map(|(number, set)| Some((number, bytes(set.as_ref()?))))
            .collect()
    }

    /// Takes the set of this number, if it is left.
    pub fn take(&mut self, number: u16) -> Option<SpareSet> {
        self.sets.get_mut(usize::from(number))?.take()
    }
}

impl SpareSet {
    /// A set of [`Batch::to_bytes`]; none where the bytes are not one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (blocks, rest) = bytes.as_chunks();
        let blocks: Vec<_> = blocks
            .iter()
            .map(|bytes| Block::from_bytes(*bytes))
            .collect();
        let set = Self(Zeroizing::new(blocks));
        let is_chosen = set.0.len() == 1 + Delta::BITS && bool::from(set.0[0].lsb());
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
