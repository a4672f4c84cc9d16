//! The garbler's side of making a lot.

use tacit_kernels::Block;
use tacit_ot::Outputs;

use super::super::bucket::{Bucketed, CheckedLot};
use super::super::caught::Caught;
use super::super::leaky::correction_bits;
use super::super::oracle::{DIGEST_BYTES, Digest, Domain, compare};
use super::{
    Context, Made, MakingStage, Unchecked, coin, commit_to_coin, commit_to_equality, random,
};
use crate::Error;
use crate::bits::{append_blocks, bytes_for, check_bits};
use crate::message::{Kind, array, exactly};
use crate::party::{Action, NOT_ASKED};

/// Where the garbler is, from the first block on.
pub(crate) enum Stage {
    AwaitingBlocks(Box<Leaky>, usize),
    SendingBlocks(Box<Leaky>, usize),
    AwaitingBits(Box<Leaky>),
    SendingDigest(Box<Compared>),
    AwaitingOpening(Box<Compared>),
    Opening(Box<Tossed>),
    AwaitingBuckets(Box<Opened>),
}

/// A lot with its blocks.
pub(crate) struct Leaky {
    lot: Unchecked,
    /// Those that this party sends.
    blocks: Outputs,
    /// What both must have the same, up to corrections.
    sums: Outputs,
}

/// A lot whose digest is made.
pub(crate) struct Compared {
    lot: Unchecked,
    digest: Digest,
    /// The evaluator's commitment to its own.
    commitment: Digest,
    coin: Digest,
}

/// A lot that is checked, with both shares of its coin: the garbler's, which only the evaluator
/// does not know, and the evaluator's.
pub(crate) struct Tossed {
    context: Context,
    lot: CheckedLot,
    shares: [Digest; 2],
}

/// A lot whose buckets this party has opened.
pub(crate) struct Opened {
    context: Context,
    lot: Bucketed,
    /// The length of the other party's openings.
    due: usize,
}

impl Leaky {
    fn new(mut lot: Unchecked) -> Self {
        let count = lot.size.leaky_ands();
        let buffers = &mut lot.context.epoch.buffers;
        Self {
            blocks: buffers.take(count),
            sums: buffers.take(count),
            lot,
        }
    }

    /// Takes the evaluator's blocks from number `first` on.
    fn receive(&mut self, first: usize, payload: &[u8]) -> Result<usize, Error> {
        let range = self.lot.chunk(first).ok_or(NOT_ASKED)?;
        exactly(Kind::LeakyAnds, payload, range.len() * Block::BYTES)?;
        let (blocks, sums) = (
            &mut self.blocks[range.clone()],
            &mut self.sums[range.clone()],
        );
        let (keys, shares) = (&self.lot.keys, &self.lot.shares);
        keys.blocks(shares, range.clone(), blocks, sums);
        keys.add_blocks(shares, range.clone(), payload, sums);
        Ok(range.end)
    }

    /// Writes this party's blocks and bits from number `first` on.
    fn send(&self, first: usize, message: &mut Vec<u8>) -> Option<usize> {
        let range = self.lot.chunk(first)?;
        message.clear();
        append_blocks(message, &self.blocks[range.clone()]);
        message.extend_from_slice(&correction_bits(&self.sums[range.clone()]));
        Some(range.end)
    }

    fn bits_bytes(&self) -> usize {
        bytes_for(self.sums.len()) + DIGEST_BYTES
    }

    /// Turns the outputs by the evaluator's bits.
    fn correct(mut self, payload: &[u8]) -> Result<Compared, Error> {
        let kind = Kind::LeakyBits;
        exactly(kind, payload, self.bits_bytes())?;
        let (bits, commitment) = payload.split_at(bytes_for(self.sums.len()));
        check_bits(kind, bits, self.sums.len())?;
        let Unchecked {
            context, number, ..
        } = &self.lot;
        let mut digest = context.epoch.oracle(Domain::Equality, None, *number);
        let mut first = 0;
        while let Some(range) = self.lot.chunk(first) {
            let (sums, keys) = (&mut self.sums[range.clone()], &self.lot.keys);
            keys.correct(
                &mut self.lot.shares.z,
                range.clone(),
                sums,
                &bits[first / 8..],
            );
            digest.add_blocks(sums);
            first = range.end;
        }
        let commitment = array(kind, commitment)?;
        let coin = *random(&mut self.lot.context.rng);
        let columns = [self.sums, self.blocks];
        self.lot.context.epoch.buffers.give(columns);
        Ok(Compared {
            lot: self.lot,
            digest: digest.finish(),
            commitment,
            coin,
        })
    }
}

impl Compared {
    fn send(&self, message: &mut Vec<u8>) {
        message.clear();
        message.extend_from_slice(&self.digest);
        let commitment = commit_to_coin(&self.lot.context.epoch, self.lot.number, &self.coin);
        message.extend_from_slice(&commitment);
    }

    /// Checks that the evaluator had committed to the same digest. Gives the checked lot, and both
    /// shares of the coin.
    fn check(self, payload: &[u8]) -> Result<Tossed, Error> {
        let opening: [u8; 2 * DIGEST_BYTES] = array(Kind::EqualityOpening, payload)?;
        let (salt, evaluators) = opening.split_at(DIGEST_BYTES);
        let salt = array(Kind::EqualityOpening, salt)?;
        let evaluators = array(Kind::EqualityOpening, evaluators)?;
        let Unchecked {
            context, number, ..
        } = &self.lot;
        let expected = commit_to_equality(&context.epoch, *number, &self.digest, &salt);
        compare(&expected, &self.commitment, Caught::Commitment)?;
        let (context, lot) = self.lot.checked();
        Ok(Tossed {
            context,
            lot,
            shares: [self.coin, evaluators],
        })
    }
}

impl Tossed {
    fn open(self, message: &mut Vec<u8>) -> Opened {
        let Self {
            context,
            lot,
            shares: [garblers, evaluators],
        } = self;
        message.clear();
        message.extend_from_slice(&garblers);
        let due = lot.opening_bytes();
        let lot = lot.open(&context.epoch, &coin(&garblers, &evaluators), message);
        Opened { context, lot, due }
    }
}

impl Opened {
    fn receive(self, payload: &[u8]) -> Result<Made, Error> {
        let opened = self.lot.check(&self.context.epoch, payload)?;
        Ok(self.context.made(opened.triples()))
    }
}

impl Stage {
    pub(super) fn new(lot: Unchecked) -> Self {
        Self::AwaitingBlocks(Box::new(Leaky::new(lot)), 0)
    }

    pub(super) fn awaited(&self) -> Option<(Kind, usize)> {
        Some(match self {
            Self::AwaitingBlocks(lot, first) => {
                let bytes = lot.lot.chunk(*first)?.len() * Block::BYTES;
                (Kind::LeakyAnds, bytes)
            }
            Self::AwaitingBits(lot) => (Kind::LeakyBits, lot.bits_bytes()),
            Self::AwaitingOpening(_) => (Kind::EqualityOpening, 2 * DIGEST_BYTES),
            Self::AwaitingBuckets(lot) => (Kind::TripleOpenings, lot.due),
            _ => return None,
        })
    }

    /// What comes next, and the stage after it.
    pub(super) fn step(
        self,
        message: &mut Vec<u8>,
    ) -> Result<(MakingStage, Option<Action>), Error> {
        let (stage, kind) = match self {
            Self::AwaitingBlocks(lot, _) => (Self::SendingBlocks(lot, 0), None),
            Self::SendingBlocks(lot, first) => match lot.send(first, message) {
                Some(next) => (Self::SendingBlocks(lot, next), Some(Kind::LeakyAnds)),
                None => (Self::AwaitingBits(lot), None),
            },
            Self::SendingDigest(lot) => {
                lot.send(message);
                (Self::AwaitingOpening(lot), Some(Kind::EqualityDigest))
            }
            Self::Opening(lot) => {
                let opened = Box::new(lot.open(message));
                (Self::AwaitingBuckets(opened), Some(Kind::TripleOpenings))
            }
            _ => return Err(NOT_ASKED),
        };
        Ok((MakingStage::Garbler(stage), kind.map(Action::Send)))
    }

    pub(super) fn take(self, payload: &[u8]) -> Result<MakingStage, Error> {
        Ok(MakingStage::Garbler(match self {
            Self::AwaitingBlocks(mut lot, first) => {
                let next = lot.receive(first, payload)?;
                Self::AwaitingBlocks(lot, next)
            }
            Self::AwaitingBits(lot) => Self::SendingDigest(Box::new(lot.correct(payload)?)),
            Self::AwaitingOpening(lot) => Self::Opening(Box::new(lot.check(payload)?)),
            Self::AwaitingBuckets(lot) => {
                return Ok(MakingStage::Done(Box::new(lot.receive(payload)?)));
            }
            _ => return Err(NOT_ASKED),
        }))
    }
}

#[cfg(test)]
mod cheats;
