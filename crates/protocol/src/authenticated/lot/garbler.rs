//! The garbler's side of making a lot.

use super::super::bucket::{Bucketed, CheckedLot};
use super::super::caught::Caught;
use super::super::leaky::correction_bits;
use super::super::oracle::{DIGEST_BYTES, Digest, compare};
use super::{
    Context, Made, MakingStage, Unchecked, coin, commit_to_coin, commit_to_equality, random,
};
use crate::Error;
use crate::bits::{append_blocks, bytes_for, check_bits, xor_into};
use crate::message::{Kind, array};
use crate::party::{Action, NOT_ASKED};

/// Where the garbler is, once it has the evaluator's blocks.
pub(crate) enum Stage {
    SendingBlocks(Box<Leaky>, usize),
    AwaitingBits(Box<Leaky>),
    AwaitingCommitment(Box<Turned>),
    SendingDigest(Box<Compared>),
    AwaitingOpening(Box<Compared>),
    SendingCoin(Box<Tossed>),
    /// The evaluator works on the coin: it is not to wait for the openings.
    Flushing(Box<Tossed>),
    Opening(Box<Tossed>),
    AwaitingBuckets(Box<Opened>),
}

/// A lot with both parties' blocks.
pub(crate) struct Leaky {
    lot: Unchecked,
    /// This party's bits that correct outputs.
    bits: Vec<u8>,
}

/// A lot whose digest is made.
pub(crate) struct Turned {
    lot: Unchecked,
    /// Whether z is turned.
    turned: Vec<u8>,
    digest: Digest,
}

/// A lot with what both parties say that it is.
pub(crate) struct Compared {
    lot: Turned,
    /// The evaluator's commitment to its digest.
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
    /// Writes this party's blocks and bits from number `first` on.
    fn send(&mut self, first: usize, message: &mut Vec<u8>) -> Option<usize> {
        let range = self.lot.chunk(first)?;
        message.clear();
        append_blocks(message, &self.lot.blocks[range.clone()]);
        let bits = correction_bits(&self.lot.sums[range.clone()]);
        message.extend_from_slice(&bits);
        self.bits.extend_from_slice(&bits);
        Some(range.end)
    }

    /// Takes the evaluator's bits.
    fn turn(self, payload: &[u8]) -> Result<Turned, Error> {
        let Self { lot, bits } = self;
        check_bits(Kind::LeakyBits, payload, lot.size.leaky_ands())?;
        let mut turned = bits;
        xor_into(&mut turned, payload);
        let digest = lot.digest(&turned);
        Ok(Turned {
            lot,
            turned,
            digest,
        })
    }
}

impl Turned {
    /// Takes the evaluator's commitment.
    fn compare(mut self, payload: &[u8]) -> Result<Compared, Error> {
        let commitment = array(Kind::EqualityCommitment, payload)?;
        let coin = *random(&mut self.lot.context.rng);
        Ok(Compared {
            lot: self,
            commitment,
            coin,
        })
    }
}

impl Compared {
    fn send(&self, message: &mut Vec<u8>) {
        let Turned { lot, digest, .. } = &self.lot;
        message.clear();
        message.extend_from_slice(digest);
        let commitment = commit_to_coin(&lot.context.epoch, lot.number, &self.coin);
        message.extend_from_slice(&commitment);
    }

    /// Checks that the evaluator had committed to the same digest. Gives the checked lot, and both
    /// shares of the coin.
    fn check(self, payload: &[u8]) -> Result<Tossed, Error> {
        let opening: [u8; 2 * DIGEST_BYTES] = array(Kind::EqualityOpening, payload)?;
        let (salt, evaluators) = opening.split_at(DIGEST_BYTES);
        let salt = array(Kind::EqualityOpening, salt)?;
        let evaluators = array(Kind::EqualityOpening, evaluators)?;
        let Turned {
            lot,
            turned,
            digest,
        } = self.lot;
        let expected = commit_to_equality(&lot.context.epoch, lot.number, &digest, &salt);
        compare(&expected, &self.commitment, Caught::Commitment)?;
        let (context, lot) = lot.checked(turned);
        Ok(Tossed {
            context,
            lot,
            shares: [self.coin, evaluators],
        })
    }
}

impl Tossed {
    fn send(&self, message: &mut Vec<u8>) {
        message.clear();
        message.extend_from_slice(&self.shares[0]);
    }

    fn open(self, message: &mut Vec<u8>) -> Opened {
        let Self {
            context,
            lot,
            shares: [garblers, evaluators],
        } = self;
        message.clear();
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
        let bits = Vec::with_capacity(bytes_for(lot.size.leaky_ands()));
        Self::SendingBlocks(Box::new(Leaky { lot, bits }), 0)
    }

    pub(super) fn awaited(&self) -> Option<Action> {
        Some(match self {
            Self::AwaitingBits(lot) => {
                Action::receive(Kind::LeakyBits, bytes_for(lot.lot.size.leaky_ands()))
            }
            Self::AwaitingCommitment(_) => Action::receive(Kind::EqualityCommitment, DIGEST_BYTES),
            Self::AwaitingOpening(_) => Action::receive(Kind::EqualityOpening, 2 * DIGEST_BYTES),
            Self::AwaitingBuckets(lot) => Action::receive(Kind::TripleOpenings, lot.due),
            _ => return None,
        })
    }

    /// What comes next, and the stage after it.
    pub(super) fn step(
        self,
        message: &mut Vec<u8>,
    ) -> Result<(MakingStage, Option<Action>), Error> {
        let (stage, action) = match self {
            Self::SendingBlocks(mut lot, first) => match lot.send(first, message) {
                Some(next) => {
                    let action = Action::send(Kind::LeakyAnds);
                    (Self::SendingBlocks(lot, next), Some(action))
                }
                None => (Self::AwaitingBits(lot), None),
            },
            Self::SendingDigest(lot) => {
                lot.send(message);
                let action = Action::send(Kind::EqualityDigest);
                (Self::AwaitingOpening(lot), Some(action))
            }
            Self::SendingCoin(lot) => {
                lot.send(message);
                (Self::Flushing(lot), Some(Action::send(Kind::CoinOpening)))
            }
            Self::Flushing(lot) => (Self::Opening(lot), Some(Action::Continue)),
            Self::Opening(lot) => {
                let opened = Box::new(lot.open(message));
                let action = Action::send(Kind::TripleOpenings);
                (Self::AwaitingBuckets(opened), Some(action))
            }
            _ => return Err(NOT_ASKED),
        };
        Ok((MakingStage::Garbler(stage), action))
    }

    pub(super) fn take(self, payload: &[u8]) -> Result<MakingStage, Error> {
        Ok(MakingStage::Garbler(match self {
            Self::AwaitingBits(lot) => Self::AwaitingCommitment(Box::new(lot.turn(payload)?)),
            Self::AwaitingCommitment(lot) => Self::SendingDigest(Box::new(lot.compare(payload)?)),
            Self::AwaitingOpening(lot) => Self::SendingCoin(Box::new(lot.check(payload)?)),
            Self::AwaitingBuckets(lot) => {
                return Ok(MakingStage::Done(Box::new(lot.receive(payload)?)));
            }
            _ => return Err(NOT_ASKED),
        }))
    }
}

#[cfg(test)]
mod cheats;
