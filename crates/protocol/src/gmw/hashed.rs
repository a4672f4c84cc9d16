//! The OTs of a direction, hashed, on their way to those who take them.
//!
//! H is [`CrossHash`], whose start point is the first 16 bytes of SHA-256("tacit gmw hash 1\0" ‖
//! tag of the direction). OTs come as blocks, or as two bits each, hashed here or on a device.

use core::num::NonZeroUsize;

use sha2::{Digest as _, Sha256};
use tacit_circuit::Role;
use tacit_kernels::{Block, CrossHash, share_out, wiping_stack, workers};
use tacit_ot::{Delta, Outputs};
use zeroize::Zeroizing;

use crate::Error;
use crate::bits::read_block;
use crate::session::RunTag;

/// Both roles, in the order of their numbers.
pub(super) const ROLES: [Role; 2] = [Role::Garbler, Role::Evaluator];

/// The number of OTs that are hashed at a time: their blocks stay in a cache.
pub(super) const HASHED_OTS: usize = 1 << 12;

/// Returns the hash of the direction with this tag.
pub(super) fn hash_of(direction: &RunTag) -> CrossHash {
    let hash = Sha256::new_with_prefix(b"tacit gmw hash 1\0").chain_update(direction.as_bytes());
    CrossHash::new(read_block(&hash.finalize()))
}

/// Hashed OTs of a direction, in order: one block for each, of which the lowest bits are used.
#[derive(Clone, Copy)]
pub(super) struct HashedOts<'b> {
    /// At the OTs' sender, r. At the receiver, t, of which only bit 0, the choice b, is used.
    pub(super) first: &'b [Block],
    /// At the sender, α. At the receiver, ρ.
    pub(super) second: &'b [Block],
}

/// A consumer of hashed OTs.
pub(super) trait HashedOtSink {
    /// Returns the number of OTs of `sender`'s direction that it still takes.
    fn wants(&self, sender: Role) -> u64;

    /// Takes the next OTs of `sender`'s direction, no more than it wants.
    ///
    /// After an error, no further OTs are made for it.
    fn take(&mut self, sender: Role, ots: HashedOts<'_>) -> Result<(), Error>;

    /// Returns the form in which it best takes the next OTs of `sender`'s direction.
    fn next(&mut self, sender: Role) -> NextOts;

    /// Takes the next OTs of `sender`'s direction as bits, no more than [`next`](Self::next) said.
    fn take_bits(&mut self, sender: Role, bits: OtBits<'_>) -> Result<(), Error>;
}

/// The form in which the next OTs are taken.
pub(super) enum NextOts {
    /// As blocks.
    Blocks,
    /// Two bits of each, for this many OTs.
    Bits {
        count: u64,
        /// The place in a word where the first OT's bit suits best.
        lead: usize,
    },
}

/// Hashed OTs of a direction, of which bit 0 is used: as [`HashedOts`], in order.
#[derive(Clone, Copy)]
pub(super) struct OtBits<'b> {
    pub(super) first: &'b [u64],
    pub(super) second: &'b [u64],
    /// The place of the first OT's bit in the first word. The bits before it, and those after the
    /// last, are zero.
    pub(super) lead: usize,
    pub(super) count: usize,
}

/// The number of parts of OTs that each thread hashes before all are passed on.
const PARTS_OF_TURN: usize = 16;

/// The hash of a direction's OTs, and the threads that compute it.
pub(super) struct OtHash<'h> {
    pub(super) hash: &'h CrossHash,
    pub(super) threads: NonZeroUsize,
    /// Memory for the second hashes, which serves one call after the other.
    pub(super) room: &'h mut Outputs,
}

impl OtHash<'_> {
    /// Returns the number of OTs that are hashed before they are passed on. On one thread they stay
    /// in a cache.
    pub(super) fn turn(&self) -> usize {
        match self.threads.get() {
            1 => HASHED_OTS,
            threads => HASHED_OTS * PARTS_OF_TURN * threads,
        }
    }

    /// Returns room for the second hashes of `count` OTs, as many as are hashed at once.
    fn room(&mut self, count: usize) -> (&CrossHash, &mut [Block]) {
        let count = self.turn().min(count);
        if self.room.len() < count {
            // The old memory is wiped on drop.
            *self.room = Zeroizing::new(vec![Block::ZERO; count]);
        }
        (self.hash, &mut self.room[..count])
    }

    /// Hashes OTs numbered from `number` on, at their sender, and passes them to `take` in parts,
    /// which are then wiped.
    pub(super) fn sent(
        &mut self,
        number: u64,
        (delta, q): (&Delta, &mut [Block]),
        mut take: impl FnMut(HashedOts<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (turn, threads) = (self.turn(), self.threads);
        let (hash, alpha) = self.room(q.len());
        for (number, first) in (number..).step_by(turn).zip(q.chunks_mut(turn)) {
            let parts = first.chunks_mut(HASHED_OTS);
            let parts = parts.zip(alpha.chunks_mut(HASHED_OTS)).enumerate();
            share_out(&mut workers(threads), parts, |(), (part, both)| {
                let number = number + (part * HASHED_OTS) as u64;
                let (first, second) = both;
                let second = &mut second[..first.len()];
                wiping_stack(|| hash.hash_both(number, &delta.to_block(), first, second));
                for (one, zero) in second.iter_mut().zip(&*first) {
                    *one ^= *zero;
                }
            });
            give_on(first, alpha, &mut take)?;
            wipe(first, threads);
        }
        Ok(())
    }

    /// Hashes OTs numbered from `number` on to two bits each, and wipes them. `delta` is that of
    /// their sender, if this party is.
    pub(super) fn bits(
        &self,
        number: u64,
        (delta, ots): (Option<&Delta>, &mut [Block]),
        [first, second]: [&mut [u64]; 2],
    ) {
        let (hash, words) = (self.hash, HASHED_OTS / 64);
        let parts = ots.chunks_mut(HASHED_OTS).zip(first.chunks_mut(words));
        let parts = parts.zip(second.chunks_mut(words)).enumerate();
        share_out(&mut workers(self.threads), parts, |(), (part, ots)| {
            let number = number + (part * HASHED_OTS) as u64;
            let ((ots, first), second) = ots;
            match delta {
                Some(delta) => {
                    hash.hash_both_to_bits(number, &delta.to_block(), ots, [first, second]);
                }
                None => hash.hash_to_bits(number, ots, [first, second]),
            }
        });
    }

    /// Hashes OTs numbered from `number` on, at their receiver, and passes them to `take` in parts,
    /// which are then wiped.
    pub(super) fn received(
        &mut self,
        number: u64,
        t: &mut [Block],
        mut take: impl FnMut(HashedOts<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (turn, threads) = (self.turn(), self.threads);
        let (hash, rho) = self.room(t.len());
        for (number, first) in (number..).step_by(turn).zip(t.chunks_mut(turn)) {
            let parts = first.chunks(HASHED_OTS);
            let parts = parts.zip(rho.chunks_mut(HASHED_OTS)).enumerate();
            share_out(&mut workers(threads), parts, |(), (part, both)| {
                let number = number + (part * HASHED_OTS) as u64;
                let (first, second) = both;
                let second = &mut second[..first.len()];
                second.copy_from_slice(first);
                wiping_stack(|| hash.hash(number, second));
            });
            give_on(first, rho, &mut take)?;
            wipe(first, threads);
        }
        Ok(())
    }
}

/// Passes hashed OTs to `take`, in parts.
fn give_on(
    first: &[Block],
    second: &[Block],
    take: &mut impl FnMut(HashedOts<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let parts = first.chunks(HASHED_OTS).zip(second.chunks(HASHED_OTS));
    for (first, second) in parts {
        let second = &second[..first.len()];
        take(HashedOts { first, second })?;
    }
    Ok(())
}

/// Wipes OTs that were passed on, while they lie in a cache. Their memory serves again.
fn wipe(ots: &mut [Block], threads: NonZeroUsize) {
    let parts = ots.chunks_mut(HASHED_OTS * PARTS_OF_TURN);
    share_out(&mut workers(threads), parts, |(), part| {
        part.fill(Block::ZERO)
    });
}
