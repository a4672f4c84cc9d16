//! Making triples for a stock: lots one after the other, in whole blocks.

use tacit_kernels::Prg;
use zeroize::Zeroizing;

use super::super::epoch::Epoch;
use super::super::lot::{InputCounts, Made, Making};
use super::super::parameters::{LotSize, SecurityBits};
use super::{BLOCK_BYTES, BLOCK_TRIPLES, append_block};
use crate::Error;
use crate::party::{Action, NOT_ASKED, Party, Progress, SPENT};

/// Blocks that are handed over at once.
const KEPT_BLOCKS: usize = 64;

/// One party's side of making triples for a stock. The epoch ends with it: nothing of it is left
/// but the blocks.
///
/// The peer may still fail what is handed over. Nothing of it is to be used before the party is
/// done, at both.
pub struct MakingTriples<K> {
    /// The lot that is made; nothing where all blocks are there, or after an error.
    lot: Option<Making>,
    security: SecurityBits,
    /// Triples in all, and those that are not made.
    total: u64,
    left: u64,
    /// Takes the number of the first of some blocks, and the blocks.
    keep: K,
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
            lot: Some(lot(epoch, total, security, Prg::from_seed(seed))),
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
            return Ok(());
        }
        for shares in [triples.x, triples.y, triples.z, triples.masks] {
            epoch.buffers.give([shares.macs, shares.keys]);
        }
        self.lot = Some(lot(epoch, self.left, self.security, rng));
        Ok(())
    }
}

impl<K: FnMut(u64, &[u8]) -> Result<(), Error>> Party for MakingTriples<K> {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        loop {
            if self.left == 0 {
                return Ok(Action::Done);
            }
            let mut lot = self.lot.take().ok_or(SPENT)?;
            match lot.next(message)? {
                Action::Done => self.keep(lot.finish()?)?,
                action => {
                    self.lot = Some(lot);
                    return Ok(action);
                }
            }
        }
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.lot.as_mut().ok_or(NOT_ASKED)?.receive(payload)
    }

    fn progress(&self) -> Progress {
        Progress {
            done_ands: self.total - self.left,
            total_ands: self.total,
        }
    }
}

/// The making of the next lot for this many more triples.
fn lot(epoch: Epoch, triples: u64, security: SecurityBits, rng: Prg) -> Making {
    let size = LotSize::cheapest(triples, security);
    Making::new(epoch, size, InputCounts::default(), rng)
}
