//! Base OTs that are kept for many later runs under one Δ, for example by a chain of
//! `authenticated`. A set goes [forward](SpareSet::forward) before each run.
//!
//! A run's base keys are SHA-256 over its tag, which no other run has. So even if a set is used
//! twice, after both parties restored old copies, it gives keys that were never used.
//!
//! Assumption: SHA-256 as a random oracle. A set is 129 blocks at the party that chose and 256 at
//! the one that offered.

use core::iter;

use sha2::{Digest, Sha256};
use tacit_kernels::Block;
use zeroize::{Zeroize, Zeroizing};

use crate::base::Key;
use crate::{ApiMisuse, Delta, Error, Outputs, SessionTag};

const SESSION_KEY: &[u8; 32] = b"tacit OT v1 base key from spares";
const FORWARD: &[u8; 32] = b"tacit OT v1 base OTs forward    ";

/// One party's half of the kept base OTs. Secret.
pub struct SpareSet(Outputs);

impl SpareSet {
    /// Returns the half of the party that chose with the bits of `delta` in base OTs that gave
    /// these keys.
    pub fn of_chosen(delta: Delta, keys: &[Key]) -> Self {
        let keys = keys.iter().map(Key::to_block);
        Self(Zeroizing::new(
            iter::once(delta.to_block()).chain(keys).collect(),
        ))
    }

    /// Returns the half of the party that offered in base OTs that gave these keys.
    pub fn of_offered(pairs: &[[Key; 2]]) -> Self {
        let keys = pairs.as_flattened().iter().map(Key::to_block);
        Self(Zeroizing::new(keys.collect()))
    }

    /// Returns the set for the next run, under the same Δ. The remaining set gives those of later
    /// runs, and reveals nothing about this one or earlier ones: each key is hashed to one for the
    /// run and one for later, in the same way at both parties.
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

    /// Returns its bytes. Secret.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.0.len() * Block::BYTES));
        for block in self.0.iter() {
            bytes.extend_from_slice(&block.to_bytes());
        }
        bytes
    }

    /// Returns the set with these bytes; `None` if they are not a set.
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

    /// Returns the garbler's half of the base OTs of the session with this tag: Δ and the chosen
    /// keys.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongBaseCount`] if it is the evaluator's half.
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

    /// Returns the evaluator's half of the base OTs of the session with this tag: both keys of
    /// each.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongBaseCount`] if it is the garbler's half.
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

/// Derives the key of base OT `i` of a session from the kept seed.
fn session_key(tag: &SessionTag, i: u32, seed: Block) -> Key {
    let mut seed = seed.to_bytes();
    let hash = tag.hash(SESSION_KEY).chain_update(i.to_le_bytes());
    let key = Key::from_bytes(hash.chain_update(seed).finalize().into());
    seed.zeroize();
    key
}
