//! The cut: the choice of the circuits that the cloud evaluates, and the keys that encode it.
//!
//! For each circuit the generator has a check key and an evaluation key, of which the cloud gets
//! one by oblivious transfer (shelat and Shen 2013), once for a chain of runs. A key K of circuit j
//! is hashed in three ways:
//!
//! | hash | of | use |
//! |---|---|---|
//! | cmp | run, j, which, K | the hash by which the evaluator compares generator and cloud |
//! | enc | run, j, which, K | the seed of the pad for the data that K opens in this run |
//! | next | K | K of the next attempt |
//!
//! These are different functions: with one hash for all, the evaluator would receive in one run a
//! key of the next. `next` is applied before every attempt, finished or not: under the same key two
//! attempts would encrypt two messages with one pad.

use sha2::{Digest as _, Sha256};
use tacit_kernels::{Block, Prg};
use zeroize::{DefaultIsZeroes, Zeroize, ZeroizeOnDrop, Zeroizing};

use super::parameters::Parameters;
use crate::malicious::oracle::{Domain, Hash, Oracle};
use crate::malicious::shuffle::shuffle;

/// The use of a key, a circuit or a position in a pair: check or evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fate {
    /// The circuit is checked.
    #[default]
    Check = 0,
    /// The circuit is evaluated.
    Evaluate = 1,
}

impl DefaultIsZeroes for Fate {}

/// The fate of each circuit, wiped when it is dropped: the generator must never learn it.
pub(super) type Split = Zeroizing<Vec<Fate>>;

/// A key of the cut, for one attempt. Secret.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct CutKey(pub(super) [u8; CutKey::BYTES]);

impl CutKey {
    pub(super) const BYTES: usize = 32;

    /// Returns the key that an oblivious transfer gives.
    pub(super) fn from_transfer(oracle: &Oracle, copy: usize, fate: Fate, given: Block) -> Self {
        Self(oracle.block(Domain::CutKey, copy as u32, fate as u32, given))
    }

    /// Replaces the key by that of the next attempt (next).
    pub(super) fn forward(&mut self) {
        let hash = Sha256::new_with_prefix(b"tacit outsourced next key 1\0").chain_update(self.0);
        self.0 = hash.finalize().into();
    }

    /// Returns the hash that is compared (cmp).
    pub(super) fn compare(&self, oracle: &Oracle, copy: usize, fate: Fate) -> Hash {
        oracle.parts(Domain::CutCompare, copy as u32, fate as u32, &[&self.0])
    }

    /// Returns the pad that is added to the data that this key opens (enc).
    pub(super) fn pad(&self, oracle: &Oracle, copy: usize, fate: Fate) -> Prg {
        let parts: [&[u8]; 1] = [&self.0];
        let seed = oracle.parts(Domain::CutEncrypt, copy as u32, fate as u32, &parts);
        Prg::from_seed(&Zeroizing::new(seed))
    }

    /// Encrypts or decrypts `boxed`, the data that this key opens.
    pub(super) fn open(&self, oracle: &Oracle, copy: usize, fate: Fate, boxed: &mut [u8]) {
        let mut prg = self.pad(oracle, copy, fate);
        let mut pad = Zeroizing::new([Block::ZERO; PAD_BLOCKS]);
        for boxed in boxed.chunks_mut(PAD_BLOCKS * Block::BYTES) {
            let pad = &mut pad[..boxed.len().div_ceil(Block::BYTES)];
            prg.fill_blocks(pad);
            for (bytes, pad) in boxed.chunks_mut(Block::BYTES).zip(pad) {
                let pad = pad.to_bytes();
                bytes
                    .iter_mut()
                    .zip(pad)
                    .for_each(|(byte, pad)| *byte ^= pad);
            }
        }
    }
}

/// The number of blocks of a pad that are made at a time.
const PAD_BLOCKS: usize = 256;

/// Returns a fresh split: e of σ circuits are evaluated, and each set is equally likely.
pub(super) fn draw_split(parameters: &Parameters, prg: &mut Prg) -> Split {
    let mut order: Zeroizing<Vec<u32>> = Zeroizing::new((0..parameters.copies() as u32).collect());
    shuffle(prg, &mut order);
    let mut split = Zeroizing::new(vec![Fate::Check; parameters.copies()]);
    for copy in &order[..parameters.evaluated()] {
        split[*copy as usize] = Fate::Evaluate;
    }
    split
}

/// Returns the hash of the comparison hashes of the cloud's keys, in the order of circuits.
pub(super) fn compare_all(oracle: &Oracle, hashes: impl Iterator<Item = Hash>) -> Hash {
    let mut all = oracle.start(Domain::CutCompareAll, 0, 0);
    hashes.for_each(|hash| all.update(hash));
    all.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_hashes_of_a_key_are_different_functions() {
        let oracle = Oracle::named([1; 16]);
        let key = CutKey([7; 32]);
        let mut next = key.clone();
        next.forward();
        let compared = key.compare(&oracle, 3, Fate::Check);
        let mut opened = [0; 32];
        key.open(&oracle, 3, Fate::Check, &mut opened);
        assert!(next.0 != compared && next.0 != opened && compared != opened);
        assert_ne!(key.compare(&oracle, 3, Fate::Evaluate), compared);
        assert_ne!(
            key.compare(&Oracle::named([2; 16]), 3, Fate::Check),
            compared
        );
    }

    #[test]
    fn a_split_is_wiped_when_it_is_dropped() {
        fn is_wiped<T: ZeroizeOnDrop>(_: &T) {}
        let mut prg = Prg::new(Block::ONES);
        let mut split = draw_split(
            &Parameters::insecure_for_measurements(5, 8).unwrap(),
            &mut prg,
        );
        is_wiped(&split);
        split.iter_mut().zeroize();
        assert_eq!(*split, [Fate::Check; 5]);
    }

    #[test]
    fn every_circuit_is_evaluated_as_often_as_any() {
        let parameters = Parameters::insecure_for_measurements(5, 8).unwrap();
        let mut prg = Prg::new(Block::ONES);
        let mut counts = [0_u32; 5];
        for _ in 0..5000 {
            let split = draw_split(&parameters, &mut prg);
            let evaluated = split.iter().filter(|fate| **fate == Fate::Evaluate);
            assert_eq!(evaluated.count(), 2);
            for (count, fate) in counts.iter_mut().zip(split.iter()) {
                *count += *fate as u32;
            }
        }
        // A count is 2000 with deviation 35; the seed is fixed.
        assert!(
            counts.iter().all(|n| (1825..2175).contains(n)),
            "{counts:?}"
        );
    }
}
