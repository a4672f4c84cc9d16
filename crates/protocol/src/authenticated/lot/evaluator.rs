//! The evaluator's side of making a lot.

use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::super::bucket::{Bucketed, CheckedLot};
use super::super::caught::Caught;
use super::super::leaky::correction_bits;
use super::super::oracle::{DIGEST_BYTES, Digest, compare};
use super::{Context, MakingStage, Unchecked, coin, commit_to_coin, commit_to_equality, random};
use crate::Error;
use crate::bits::{bytes_for, check_bits, xor_into};
use crate::message::{Kind, array, exactly};
use crate::party::{Action, NOT_ASKED};

/// Where the evaluator is, once its blocks are sent.
pub(crate) enum Stage {
    AwaitingBlocks(Box<Leaky>, usize),
    SendingBits(Box<Leaky>),
    /// The other party works on the bits: they are not to wait for the digest.
    Flushing(Box<Leaky>),
    Committing(Box<Leaky>),
    AwaitingDigest(Box<Committed>),
    SendingOpening(Box<Tossing>),
    AwaitingCoin(Box<Tossing>),
    AwaitingBuckets(Box<Opened>),
    SendingBuckets(Box<Opened>, Vec<u8>),
    /// The other party works on this one's openings: they are not to wait for the triples.
    FlushingBuckets(Box<Opened>, Vec<u8>),
    Combining(Box<Opened>, Vec<u8>),
}

/// A lot whose blocks this party has sent.
pub(crate) struct Leaky {
    lot: Unchecked,
    /// This party's bits that correct outputs.
    bits: Vec<u8>,
    /// The garbler's.
    others: Vec<u8>,
}

/// A lot whose digest is committed to.
pub(crate) struct Committed {
    lot: Unchecked,
    /// Whether z is turned.
    turned: Vec<u8>,
    digest: Digest,
    salt: Zeroizing<Digest>,
}

/// A lot that is checked, before its coin is known.
pub(crate) struct Tossing {
    context: Context,
    lot: CheckedLot,
    /// The garbler's commitment to its share of the coin.
    commitment: Digest,
    /// What opens this party's commitment.
    salt: Zeroizing<Digest>,
    /// This party's share of the coin.
    coin: Digest,
}

/// A lot whose buckets this party has opened.
pub(crate) struct Opened {
    context: Context,
    lot: Bucketed,
    /// What this party opened, until it is sent.
    openings: Vec<u8>,
}

impl Leaky {
    fn new(lot: Unchecked) -> Self {
        let bits = || Vec::with_capacity(bytes_for(lot.size.leaky_ands()));
        Self {
            bits: bits(),
            others: bits(),
            lot,
        }
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
        check_bits(kind, bits, range.len())?;
        let (keys, sums) = (&self.lot.keys, &mut self.lot.sums[range.clone()]);
        keys.add_blocks(&self.lot.shares, range.clone(), blocks, sums);
        self.bits.extend_from_slice(&correction_bits(sums));
        self.others.extend_from_slice(bits);
        Ok(range.end)
    }

    /// Commits to the digest.
    fn commit(self, message: &mut Vec<u8>) -> Committed {
        let Self {
            mut lot,
            bits,
            others,
        } = self;
        let mut turned = bits;
        xor_into(&mut turned, &others);
        let digest = lot.digest(&turned);
        let salt = random(&mut lot.context.rng);
        let commitment = commit_to_equality(&lot.context.epoch, lot.number, &digest, &salt);
        message.clear();
        message.extend_from_slice(&commitment);
        Committed {
            lot,
            turned,
            digest,
            salt,
        }
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
        let (mut context, lot) = self.lot.checked(self.turned);
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

    /// Checks the garbler's coin, and opens the buckets.
    fn open(self, payload: &[u8]) -> Result<Opened, Error> {
        let garblers = array(Kind::CoinOpening, payload)?;
        let epoch = &self.context.epoch;
        let expected = commit_to_coin(epoch, self.lot.number, &garblers);
        compare(&expected, &self.commitment, Caught::Coin)?;
        let mut openings = Vec::with_capacity(self.lot.opening_bytes());
        let coin = coin(&garblers, &self.coin);
        let lot = self.lot.open(epoch, &coin, &mut openings);
        Ok(Opened {
            context: self.context,
            lot,
            openings,
        })
    }
}

impl Opened {
    /// Checks the garbler's openings.
    fn combine(self, others: &[u8]) -> Result<MakingStage, Error> {
        let opened = self.lot.check(&self.context.epoch, others)?;
        let made = self.context.made(opened.triples());
        Ok(MakingStage::Done(Box::new(made)))
    }
}

impl Stage {
    pub(super) fn new(lot: Unchecked) -> Self {
        Self::AwaitingBlocks(Box::new(Leaky::new(lot)), 0)
    }

    pub(super) fn awaited(&self) -> Option<Action> {
        Some(match self {
            Self::AwaitingBlocks(lot, first) => Action::receive(Kind::LeakyAnds, lot.due(*first)?),
            Self::AwaitingDigest(_) => Action::receive(Kind::EqualityDigest, 2 * DIGEST_BYTES),
            Self::AwaitingCoin(_) => Action::receive(Kind::CoinOpening, DIGEST_BYTES),
            Self::AwaitingBuckets(lot) => Action::receive(Kind::TripleOpenings, lot.openings.len()),
            _ => return None,
        })
    }

    /// What comes next, and the stage after it.
    pub(super) fn step(
        self,
        message: &mut Vec<u8>,
    ) -> Result<(MakingStage, Option<Action>), Error> {
        let (stage, action) = match self {
            Self::AwaitingBlocks(lot, _) => (Self::SendingBits(lot), None),
            Self::SendingBits(lot) => {
                message.clear();
                message.extend_from_slice(&lot.bits);
                (Self::Flushing(lot), Some(Action::send(Kind::LeakyBits)))
            }
            Self::Flushing(lot) => (Self::Committing(lot), Some(Action::Continue)),
            Self::Committing(lot) => {
                let committed = Box::new(lot.commit(message));
                let action = Action::send(Kind::EqualityCommitment);
                (Self::AwaitingDigest(committed), Some(action))
            }
            Self::SendingOpening(lot) => {
                lot.send(message);
                let action = Action::send(Kind::EqualityOpening);
                (Self::AwaitingCoin(lot), Some(action))
            }
            Self::SendingBuckets(mut lot, others) => {
                *message = std::mem::take(&mut lot.openings);
                let action = Action::send(Kind::TripleOpenings);
                (Self::FlushingBuckets(lot, others), Some(action))
            }
            Self::FlushingBuckets(lot, others) => {
                (Self::Combining(lot, others), Some(Action::Continue))
            }
            Self::Combining(lot, others) => return Ok((lot.combine(&others)?, None)),
            _ => return Err(NOT_ASKED),
        };
        Ok((MakingStage::Evaluator(stage), action))
    }

    pub(super) fn take(self, payload: &[u8]) -> Result<MakingStage, Error> {
        Ok(MakingStage::Evaluator(match self {
            Self::AwaitingBlocks(mut lot, first) => {
                let next = lot.receive(first, payload)?;
                Self::AwaitingBlocks(lot, next)
            }
            Self::AwaitingDigest(lot) => Self::SendingOpening(Box::new(lot.check(payload)?)),
            Self::AwaitingCoin(lot) => Self::AwaitingBuckets(Box::new(lot.open(payload)?)),
            Self::AwaitingBuckets(lot) => Self::SendingBuckets(lot, payload.to_vec()),
            _ => return Err(NOT_ASKED),
        }))
    }
}
