//! Making triples for a stock: lots one after the other, in whole blocks.

use tacit_circuit::Role;
use tacit_kernels::Prg;
use zeroize::Zeroizing;

use super::super::epoch::Epoch;
use super::super::lot::{InputCounts, Made, MakingEvaluator, MakingGarbler};
use super::super::parameters::{LotSize, SecurityBits};
use super::{BLOCK_BYTES, BLOCK_TRIPLES, append_block};
use crate::Error;
use crate::party::{Action, Party, Progress};

/// Blocks that are handed over at once.
const KEPT_BLOCKS: usize = 64;

/// One party's side of making triples for a stock. The epoch ends with it: nothing of it is left
/// but the blocks.
///
/// The peer may still fail what is handed over. Nothing of it is to be used before the party is
/// done, at both.
pub struct MakingTriples<K> {
    lot: Lot,
    security: SecurityBits,
    /// Triples in all, and those that are not made.
    total: u64,
    left: u64,
    /// Takes the number of the first of some blocks, and the blocks.
    keep: K,
}

/// The lot that is made.
enum Lot {
    Garbler(MakingGarbler),
    Evaluator(MakingEvaluator),
    /// All blocks are there.
    Done,
    Spent,
}

impl Lot {
    fn new(epoch: Epoch, triples: u64, security: SecurityBits, rng: Prg) -> Self {
        let size = LotSize::cheapest(triples, security);
        let none = InputCounts::default();
        match epoch.role() {
            Role::Garbler => Self::Garbler(MakingGarbler::new(epoch, size, none, rng)),
            Role::Evaluator => Self::Evaluator(MakingEvaluator::new(epoch, size, none, rng)),
        }
    }

    fn party(&mut self) -> Result<&mut dyn Party, Error> {
        match self {
            Self::Garbler(making) => Ok(making),
            Self::Evaluator(making) => Ok(making),
            Self::Done | Self::Spent => Err(FAILED),
        }
    }

    fn finish(self) -> Result<Made, Error> {
        match self {
            Self::Garbler(making) => making.finish(),
            Self::Evaluator(making) => making.finish(),
            Self::Done | Self::Spent => Err(FAILED),
        }
    }
}

impl<K: FnMut(u64, &[u8]) -> Result<(), Error>> MakingTriples<K> {
    /// The making of this many blocks, at least one, under a new epoch. `keep` is called with the
    /// number of the first of some blocks, and the blocks. `seed` is random, secret and used for
    /// this alone.
    ///
    /// # Errors
    ///
    /// No block is wanted.
    pub fn new(
        epoch: Epoch,
        blocks: u64,
        security: SecurityBits,
        keep: K,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        let total = blocks.saturating_mul(BLOCK_TRIPLES as u64);
        if total == 0 {
            return Err(Error::ApiMisuse(
                "an order is for at least one block of triples",
            ));
        }
        Ok(Self {
            lot: Lot::new(epoch, total, security, Prg::from_seed(seed)),
            security,
            total,
            left: total,
            keep,
        })
    }

    /// Hands over the blocks of a lot, and begins the next one if triples are missing. What a lot
    /// has beyond whole blocks, or beyond what is wanted, is dropped.
    fn keep(&mut self, made: Made) -> Result<(), Error> {
        let Made {
            mut epoch,
            triples,
            rng,
            ..
        } = made;
        let wanted = self.left.min(triples.len() as u64) as usize;
        let blocks = wanted / BLOCK_TRIPLES;
        let first = (self.total - self.left) / BLOCK_TRIPLES as u64;
        let mut bytes = Zeroizing::new(Vec::with_capacity(KEPT_BLOCKS * BLOCK_BYTES));
        for block in 0..blocks {
            append_block(&mut bytes, *epoch.delta(), &triples, block * BLOCK_TRIPLES);
            if bytes.len() == KEPT_BLOCKS * BLOCK_BYTES || block + 1 == blocks {
                let kept = bytes.len() / BLOCK_BYTES;
                (self.keep)(first + (block + 1 - kept) as u64, &bytes)?;
                bytes.clear();
            }
        }
        self.left -= (blocks * BLOCK_TRIPLES) as u64;
        if self.left == 0 {
            self.lot = Lot::Done;
            return Ok(());
        }
        for shares in [triples.x, triples.y, triples.z, triples.masks] {
            epoch.buffers.give([shares.macs, shares.keys]);
        }
        self.lot = Lot::new(epoch, self.left, self.security, rng);
        Ok(())
    }
}

impl<K: FnMut(u64, &[u8]) -> Result<(), Error>> Party for MakingTriples<K> {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        loop {
            if let Lot::Done = self.lot {
                return Ok(Action::Done);
            }
            match self.lot.party()?.next(message)? {
                Action::Done => {
                    let lot = std::mem::replace(&mut self.lot, Lot::Spent);
                    self.keep(lot.finish()?)?;
                }
                action => return Ok(action),
            }
        }
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.lot.party()?.receive(payload)
    }

    fn progress(&self) -> Progress {
        Progress {
            done_ands: self.total - self.left,
            total_ands: self.total,
        }
    }
}

const FAILED: Error = Error::ApiMisuse("the making of triples is done, or has failed before");
