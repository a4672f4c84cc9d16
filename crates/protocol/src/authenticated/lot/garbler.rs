//! The garbler's side of making a lot.

use core::mem;

use tacit_kernels::{Block, Prg};
use tacit_ot::Outputs;

use super::super::bucket::{Bucketed, CheckedLot};
use super::super::caught::Caught;
use super::super::epoch::Epoch;
use super::super::leaky::{append_blocks, correction_bits};
use super::super::oracle::{DIGEST_BYTES, Digest, Domain, compare};
use super::super::parameters::LotSize;
use super::{
    Context, FAILED, InputCounts, Made, NOT_ASKED, NOT_DONE, Position, Refilling, Unchecked, coin,
    commit_to_coin, commit_to_equality, random, receive,
};
use crate::malicious::bits::{bytes_for, unused_are_clear};
use crate::message::{Kind, array, exactly};
use crate::party::{Action, Party};
use crate::{Error, Misbehaviour};

/// The garbler's side of making a lot.
pub(in super::super) struct MakingGarbler(Stage);

enum Stage {
    Refilling(Box<Unchecked>, Refilling),
    Extending(Box<Unchecked>, Position),
    AwaitingExtension(Box<Unchecked>, Position),
    AwaitingBlocks(Box<Leaky>, usize),
    SendingBlocks(Box<Leaky>, usize),
    AwaitingBits(Box<Leaky>),
    SendingDigest(Box<Compared>),
    AwaitingOpening(Box<Compared>),
    Opening(Box<Tossed>),
    AwaitingBuckets(Box<Opened>),
    Done(Box<Made>),
    Spent,
}

/// A lot with its blocks.
struct Leaky {
    lot: Unchecked,
    /// Those that this party sends.
    blocks: Outputs,
    /// What both must have the same, up to corrections.
    sums: Outputs,
}

/// A lot whose digest is made.
struct Compared {
    lot: Unchecked,
    digest: Digest,
    /// The evaluator's commitment to its own.
    commitment: Digest,
    coin: Digest,
}

/// A lot that is checked, with both shares of its coin: the garbler's, which only the evaluator
/// does not know, and the evaluator's.
struct Tossed {
    context: Context,
    lot: CheckedLot,
    shares: [Digest; 2],
}

/// A lot whose buckets this party has opened.
struct Opened {
    context: Context,
    lot: Bucketed,
    /// The length of the other party's openings.
    due: usize,
}

impl MakingGarbler {
    pub(in super::super) fn new(
        epoch: Epoch,
        size: LotSize,
        inputs: InputCounts,
        rng: Prg,
    ) -> Self {
        let mut lot = Unchecked::new(epoch, size, inputs, rng);
        let refilling = lot.refilling();
        Self(Stage::Refilling(Box::new(lot), refilling))
    }

    /// The triples.
    ///
    /// # Errors
    ///
    /// They are not made.
    pub(in super::super) fn finish(self) -> Result<Made, Error> {
        match self.0 {
            Stage::Done(made) => Ok(*made),
            _ => Err(NOT_DONE),
        }
    }
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
        if !unused_are_clear(bits, self.sums.len()) {
            let field = "padding";
            return Err(Misbehaviour::InvalidField { kind, field }.into());
        }
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
    /// What comes next, and the stage after it: OTs and leaky ANDs.
    fn step(self, message: &mut Vec<u8>) -> Result<(Self, Option<Action>), Error> {
        Ok(match self {
            Stage::Refilling(mut lot, mut refilling) => match refilling.next(&mut lot, message)? {
                None => (Stage::Extending(lot, Position::default()), None),
                action => (Stage::Refilling(lot, refilling), action),
            },
            Stage::Extending(mut lot, mut at) => match lot.extend(&mut at, message)? {
                None => (Stage::AwaitingExtension(lot, Position::default()), None),
                action => (Stage::Extending(lot, at), action),
            },
            Stage::AwaitingExtension(mut lot, mut at) => match lot.awaited(&mut at)? {
                None if lot.size == LotSize::EMPTY => {
                    (Stage::Done(Box::new(lot.without_triples())), None)
                }
                None => (Stage::AwaitingBlocks(Box::new(Leaky::new(*lot)), 0), None),
                action => (Stage::AwaitingExtension(lot, at), action),
            },
            Stage::AwaitingBlocks(lot, first) => match lot.lot.chunk(first) {
                Some(range) => {
                    let bytes = range.len() * Block::BYTES;
                    let action = receive(Kind::LeakyAnds, bytes);
                    (Stage::AwaitingBlocks(lot, first), action)
                }
                None => (Stage::SendingBlocks(lot, 0), None),
            },
            Stage::SendingBlocks(lot, first) => match lot.send(first, message) {
                Some(next) => {
                    let action = Action::Send(Kind::LeakyAnds);
                    (Stage::SendingBlocks(lot, next), Some(action))
                }
                None => (Stage::AwaitingBits(lot), None),
            },
            Stage::AwaitingBits(lot) => {
                let action = receive(Kind::LeakyBits, lot.bits_bytes());
                (Stage::AwaitingBits(lot), action)
            }
            stage => return stage.step_after_check(message),
        })
    }

    /// The same from the check on.
    fn step_after_check(self, message: &mut Vec<u8>) -> Result<(Self, Option<Action>), Error> {
        Ok(match self {
            Stage::SendingDigest(lot) => {
                lot.send(message);
                let action = Action::Send(Kind::EqualityDigest);
                (Stage::AwaitingOpening(lot), Some(action))
            }
            Stage::AwaitingOpening(lot) => {
                let action = receive(Kind::EqualityOpening, 2 * DIGEST_BYTES);
                (Stage::AwaitingOpening(lot), action)
            }
            Stage::Opening(lot) => {
                let opened = Box::new(lot.open(message));
                let action = Action::Send(Kind::TripleOpenings);
                (Stage::AwaitingBuckets(opened), Some(action))
            }
            Stage::AwaitingBuckets(lot) => {
                let action = receive(Kind::TripleOpenings, lot.due);
                (Stage::AwaitingBuckets(lot), action)
            }
            Stage::Done(made) => (Stage::Done(made), Some(Action::Done)),
            _ => return Err(FAILED),
        })
    }
}

impl Party for MakingGarbler {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        loop {
            let (stage, action) = mem::replace(&mut self.0, Stage::Spent).step(message)?;
            self.0 = stage;
            if let Some(action) = action {
                return Ok(action);
            }
        }
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.0 = match mem::replace(&mut self.0, Stage::Spent) {
            Stage::Refilling(mut lot, refilling) => {
                refilling.receive(&mut lot, payload)?;
                Stage::Refilling(lot, refilling)
            }
            Stage::AwaitingExtension(mut lot, mut at) => {
                lot.take(&mut at, payload)?;
                Stage::AwaitingExtension(lot, at)
            }
            Stage::AwaitingBlocks(mut lot, first) => {
                let next = lot.receive(first, payload)?;
                Stage::AwaitingBlocks(lot, next)
            }
            Stage::AwaitingBits(lot) => Stage::SendingDigest(Box::new(lot.correct(payload)?)),
            Stage::AwaitingOpening(lot) => Stage::Opening(Box::new(lot.check(payload)?)),
            Stage::AwaitingBuckets(lot) => Stage::Done(Box::new(lot.receive(payload)?)),
            _ => return Err(NOT_ASKED),
        };
        Ok(())
    }
}

#[cfg(test)]
mod cheats;
