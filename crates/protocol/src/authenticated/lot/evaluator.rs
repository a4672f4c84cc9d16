//! The evaluator's side of making a lot.

use core::mem;

use tacit_kernels::{Block, Prg};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::super::bucket::{CheckedLot, OpenBuckets};
use super::super::caught::Caught;
use super::super::epoch::Epoch;
use super::super::leaky::{append_blocks, correction_bits, zero_blocks};
use super::super::oracle::{DIGEST_BYTES, Digest, Domain, Oracle, compare};
use super::super::parameters::LotSize;
use super::{
    Context, FAILED, InputCounts, Made, NOT_ASKED, NOT_DONE, Position, Refilling, Unchecked, coin,
    commit_to_coin, commit_to_equality, random, receive,
};
use crate::malicious::bits::{bytes_for, unused_are_clear};
use crate::message::{Kind, array, exactly};
use crate::party::{Action, Party};
use crate::{Error, Misbehaviour};

/// The evaluator's side of making a lot.
pub(in super::super) struct MakingEvaluator(Stage);

enum Stage {
    Refilling(Box<Unchecked>, Refilling),
    AwaitingExtension(Box<Unchecked>, Position),
    Extending(Box<Unchecked>, Position),
    SendingBlocks(Box<Leaky>, usize),
    AwaitingBlocks(Box<Leaky>, usize),
    SendingBits(Box<Leaky>),
    AwaitingDigest(Box<Committed>),
    SendingOpening(Box<Tossing>),
    AwaitingBuckets(Box<Tossing>),
    SendingBuckets(Box<(Context, OpenBuckets)>, Vec<u8>),
    /// The other party works on this one's openings: they are not to wait for the triples.
    Flushing(Box<(Context, OpenBuckets)>),
    Combining(Box<(Context, OpenBuckets)>),
    Done(Box<Made>),
    Spent,
}

/// A lot with its blocks.
struct Leaky {
    lot: Unchecked,
    /// What both must have the same, as far as it is known.
    sums: Outputs,
    /// Its hash, as far as the other party's blocks have come.
    digest: Oracle,
    /// This party's bits that correct outputs.
    bits: Vec<u8>,
}

/// A lot whose digest is committed to.
struct Committed {
    lot: Unchecked,
    digest: Digest,
    salt: Zeroizing<Digest>,
}

/// A lot that is checked, before its coin is known.
struct Tossing {
    context: Context,
    lot: CheckedLot,
    /// The garbler's commitment to its share of the coin.
    commitment: Digest,
    /// What opens this party's commitment.
    salt: Zeroizing<Digest>,
    /// This party's share of the coin.
    coin: Digest,
}

impl MakingEvaluator {
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
        Self {
            sums: lot.context.epoch.buffers.take(count),
            digest: lot.context.epoch.oracle(Domain::Equality, None, lot.number),
            bits: Vec::with_capacity(bytes_for(count)),
            lot,
        }
    }

    /// Writes this party's blocks from number `first` on.
    fn send(&mut self, first: usize, message: &mut Vec<u8>) -> Option<usize> {
        let range = self.lot.chunk(first)?;
        let mut blocks = zero_blocks(range.len());
        let (keys, sums) = (&self.lot.keys, &mut self.sums[range.clone()]);
        keys.blocks(&self.lot.shares, range.clone(), &mut blocks, sums);
        message.clear();
        append_blocks(message, &blocks);
        Some(range.end)
    }

    /// The length of the garbler's blocks and bits from number `first` on, if some are due.
    fn due(&self, first: usize) -> Option<usize> {
        let count = self.lot.chunk(first)?.len();
        Some(count * Block::BYTES + bytes_for(count))
    }

    /// Takes the garbler's blocks and bits from number `first` on.
    fn receive(&mut self, first: usize, payload: &[u8]) -> Result<usize, Error> {
        let kind = Kind::LeakyAnds;
        let range = self.lot.chunk(first).ok_or(NOT_ASKED)?;
        exactly(kind, payload, self.due(first).ok_or(NOT_ASKED)?)?;
        let (blocks, bits) = payload.split_at(range.len() * Block::BYTES);
        if !unused_are_clear(bits, range.len()) {
            let field = "padding";
            return Err(Misbehaviour::InvalidField { kind, field }.into());
        }
        let (keys, sums) = (&self.lot.keys, &mut self.sums[range.clone()]);
        keys.add_blocks(&self.lot.shares, range.clone(), blocks, sums);
        self.bits.extend_from_slice(&correction_bits(sums));
        keys.correct(&mut self.lot.shares.z, range.clone(), sums, bits);
        self.digest.add_blocks(sums);
        Ok(range.end)
    }

    /// Sends the bits, and commits to the digest.
    fn commit(self, message: &mut Vec<u8>) -> Committed {
        let Self {
            mut lot,
            digest,
            bits,
            sums,
        } = self;
        lot.context.epoch.buffers.give([sums]);
        let digest = digest.finish();
        let salt = random(&mut lot.context.rng);
        message.clear();
        message.extend_from_slice(&bits);
        let commitment = commit_to_equality(&lot.context.epoch, lot.number, &digest, &salt);
        message.extend_from_slice(&commitment);
        Committed { lot, digest, salt }
    }
}

impl Committed {
    /// Checks that the garbler has the same digest.
    fn check(self, payload: &[u8]) -> Result<Tossing, Error> {
        let kind = Kind::EqualityDigest;
        exactly(kind, payload, 2 * DIGEST_BYTES)?;
        let (digest, commitment) = payload.split_at(DIGEST_BYTES);
        compare(&self.digest, digest, Caught::LeakyAnds)?;
        let commitment = array(kind, commitment)?;
        let (mut context, lot) = self.lot.checked();
        let coin = *random(&mut context.rng);
        Ok(Tossing {
            context,
            lot,
            commitment,
            salt: self.salt,
            coin,
        })
    }
}

impl Tossing {
    fn send(&self, message: &mut Vec<u8>) {
        message.clear();
        message.extend_from_slice(&*self.salt);
        message.extend_from_slice(&self.coin);
    }

    /// Checks the garbler's coin and openings, and gives this party's openings.
    fn receive(self, payload: &[u8]) -> Result<Stage, Error> {
        let kind = Kind::TripleOpenings;
        exactly(kind, payload, DIGEST_BYTES + self.lot.opening_bytes())?;
        let (garblers, openings) = payload.split_at(DIGEST_BYTES);
        let garblers = array(kind, garblers)?;
        let epoch = &self.context.epoch;
        let expected = commit_to_coin(epoch, self.lot.number, &garblers);
        compare(&expected, &self.commitment, Caught::Coin)?;
        let mut message = Vec::with_capacity(openings.len());
        let opened = self
            .lot
            .open(epoch, &coin(&garblers, &self.coin), &mut message);
        let opened = opened.check(epoch, openings)?;
        let opened = Box::new((self.context, opened));
        Ok(Stage::SendingBuckets(opened, message))
    }
}

impl Stage {
    /// What comes next, and the stage after it: OTs and leaky ANDs.
    fn step(self, message: &mut Vec<u8>) -> Result<(Self, Option<Action>), Error> {
        Ok(match self {
            Stage::Refilling(mut lot, mut refilling) => match refilling.next(&mut lot, message)? {
                None => (Stage::AwaitingExtension(lot, Position::default()), None),
                action => (Stage::Refilling(lot, refilling), action),
            },
            Stage::AwaitingExtension(mut lot, mut at) => match lot.awaited(&mut at)? {
                None => (Stage::Extending(lot, Position::default()), None),
                action => (Stage::AwaitingExtension(lot, at), action),
            },
            Stage::Extending(mut lot, mut at) => match lot.extend(&mut at, message)? {
                None if lot.size == LotSize::EMPTY => {
                    (Stage::Done(Box::new(lot.without_triples())), None)
                }
                None => (Stage::SendingBlocks(Box::new(Leaky::new(*lot)), 0), None),
                action => (Stage::Extending(lot, at), action),
            },
            Stage::SendingBlocks(mut lot, first) => match lot.send(first, message) {
                Some(next) => {
                    let action = Action::Send(Kind::LeakyAnds);
                    (Stage::SendingBlocks(lot, next), Some(action))
                }
                None => (Stage::AwaitingBlocks(lot, 0), None),
            },
            Stage::AwaitingBlocks(lot, first) => match lot.due(first) {
                Some(bytes) => {
                    let action = receive(Kind::LeakyAnds, bytes);
                    (Stage::AwaitingBlocks(lot, first), action)
                }
                None => (Stage::SendingBits(lot), None),
            },
            stage => return stage.step_after_check(message),
        })
    }

    /// The same from the check on.
    fn step_after_check(self, message: &mut Vec<u8>) -> Result<(Self, Option<Action>), Error> {
        Ok(match self {
            Stage::SendingBits(lot) => {
                let committed = Box::new(lot.commit(message));
                let action = Action::Send(Kind::LeakyBits);
                (Stage::AwaitingDigest(committed), Some(action))
            }
            Stage::AwaitingDigest(lot) => {
                let action = receive(Kind::EqualityDigest, 2 * DIGEST_BYTES);
                (Stage::AwaitingDigest(lot), action)
            }
            Stage::SendingOpening(lot) => {
                lot.send(message);
                let action = Action::Send(Kind::EqualityOpening);
                (Stage::AwaitingBuckets(lot), Some(action))
            }
            Stage::AwaitingBuckets(lot) => {
                let bytes = DIGEST_BYTES + lot.lot.opening_bytes();
                let action = receive(Kind::TripleOpenings, bytes);
                (Stage::AwaitingBuckets(lot), action)
            }
            Stage::SendingBuckets(opened, openings) => {
                *message = openings;
                let action = Action::Send(Kind::TripleOpenings);
                (Stage::Flushing(opened), Some(action))
            }
            Stage::Flushing(opened) => (Stage::Combining(opened), Some(Action::Continue)),
            Stage::Combining(opened) => {
                let (context, opened) = *opened;
                let made = Box::new(context.made(opened.triples()));
                (Stage::Done(made), None)
            }
            Stage::Done(made) => (Stage::Done(made), Some(Action::Done)),
            _ => return Err(FAILED),
        })
    }
}

impl Party for MakingEvaluator {
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
            Stage::AwaitingDigest(lot) => Stage::SendingOpening(Box::new(lot.check(payload)?)),
            Stage::AwaitingBuckets(lot) => lot.receive(payload)?,
            _ => return Err(NOT_ASKED),
        };
        Ok(())
    }
}
