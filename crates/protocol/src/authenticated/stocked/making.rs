//! Making triples for a stock: one lot after the other, in whole blocks.

use std::sync::{Mutex, PoisonError};

use tacit_kernels::{Prg, share_out, workers};
use zeroize::Zeroizing;

use super::super::bucket::Triples;
use super::super::epoch::Epoch;
use super::super::lot::{InputCounts, make};
use super::super::parameters::{LotSize, SecurityBits};
use super::{BLOCK_BYTES, BLOCK_TRIPLES, append_block};
use crate::Error;
use crate::io::{Io, boxed};
use crate::party::Progress;

/// The largest number of blocks that are passed on at once.
pub const KEPT_BLOCKS: usize = 64;

/// Triples for a stock, on which both parties have agreed.
#[derive(Clone, Copy)]
pub struct TripleOrder {
    /// The number of blocks, at least one.
    pub blocks: u64,
    /// s.
    pub security: SecurityBits,
}

impl TripleOrder {
    /// Makes the triples under a new epoch, of which only the blocks remain. Calls `keep` with
    /// consecutive blocks and the number of the first of them, on the epoch's threads and in any
    /// order. `seed` is random, secret and used only here.
    ///
    /// The peer may still fail a check after blocks are passed to `keep`. Neither party may use any
    /// of them before this has succeeded at both parties.
    ///
    /// # Errors
    ///
    /// No block is wanted, `keep` fails, the peer cheats, or the wire fails.
    pub async fn make(
        self,
        io: &mut Io<'_>,
        mut epoch: Epoch,
        keep: impl Fn(u64, &[u8]) -> Result<(), Error> + Sync,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<(), Error> {
        let total = self.blocks.saturating_mul(BLOCK_TRIPLES as u64);
        if total == 0 {
            return Err(Error::ApiMisuse(
                "an order is for at least one block of triples",
            ));
        }
        let (mut rng, mut left) = (Box::new(Prg::from_seed(seed)), total);
        while left > 0 {
            let (size, none) = (
                LotSize::cheapest(left, self.security),
                InputCounts::default(),
            );
            let made = boxed(|| make(io, &mut epoch, &mut rng, size, none)).await?;
            // The triples of a lot beyond whole blocks, or beyond the ordered number, are dropped.
            let blocks = left.min(made.triples.len() as u64) as usize / BLOCK_TRIPLES;
            let first = (total - left) / BLOCK_TRIPLES as u64;
            hand_over(&epoch, &made.triples, first, blocks, &keep)?;
            left -= (blocks * BLOCK_TRIPLES) as u64;
            let Triples { x, y, z, masks, .. } = made.triples;
            for shares in [x, y, z, masks] {
                epoch.buffers.give([shares.macs, shares.keys]);
            }
            io.progressed(Progress {
                done_ands: total - left,
                total_ands: total,
            });
        }
        Ok(())
    }
}

/// Passes on `blocks` blocks of a lot. The first of them has the number `first`.
fn hand_over(
    epoch: &Epoch,
    triples: &Triples,
    first: u64,
    blocks: usize,
    keep: &(impl Fn(u64, &[u8]) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let room = |()| Zeroizing::new(Vec::with_capacity(KEPT_BLOCKS * BLOCK_BYTES));
    let mut rooms: Vec<_> = workers(epoch.threads()).into_iter().map(room).collect();
    let failed = Mutex::new(None);
    let failure = || failed.lock().unwrap_or_else(PoisonError::into_inner);
    let together = (0..blocks).step_by(KEPT_BLOCKS);
    share_out(&mut rooms, together, |bytes, begin| {
        if failure().is_some() {
            return;
        }
        bytes.clear();
        for block in begin..blocks.min(begin + KEPT_BLOCKS) {
            append_block(bytes, *epoch.delta(), triples, block * BLOCK_TRIPLES);
        }
        if let Err(error) = keep(first + begin as u64, bytes) {
            failure().get_or_insert(error);
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(()), Err)
}
