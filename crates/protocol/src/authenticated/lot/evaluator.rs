//! The evaluator's side of making a lot.

use tacit_kernels::Block;
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::super::bucket::{CheckedLot, OpenBuckets};
use super::super::caught::Caught;
use super::super::leaky::{correction_bits, zero_blocks};
use super::super::oracle::{DIGEST_BYTES, Digest, Domain, Oracle, compare};
use super::{Context, MakingStage, Unchecked, coin, commit_to_coin, commit_to_equality, random};
use crate::Error;
use crate::bits::{append_blocks, bytes_for, check_bits};
use crate::message::{Kind, array, exactly};
use crate::party::{Action, NOT_ASKED};

/// Where the evaluator is, from the first block on.
pub(crate) enum Stage {
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
}

/// A lot with its blocks.
pub(crate) struct Leaky {
    lot: Unchecked,
    /// What both must have the same, as far as it is known.
    sums: Outputs,
    /// Its hash, as far as the other party's blocks have come.
    digest: Oracle,
    /// This party's bits that correct outputs.
    bits: Vec<u8>,
}

/// A lot whose digest is committed to.
pub(crate) struct Committed {
    lot: Unchecked,
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
        check_bits(kind, bits, range.len())?;
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
    pub(super) fn new(lot: Unchecked) -> Self {
        Self::SendingBlocks(Box::new(Leaky::new(lot)), 0)
    }

    pub(super) fn awaited(&self) -> Option<(Kind, usize)> {
        Some(match self {
            Self::AwaitingBlocks(lot, first) => (Kind::LeakyAnds, lot.due(*first)?),
            Self::AwaitingDigest(_) => (Kind::EqualityDigest, 2 * DIGEST_BYTES),
            Self::AwaitingBuckets(lot) => {
                let bytes = DIGEST_BYTES + lot.lot.opening_bytes();
                (Kind::TripleOpenings, bytes)
            }
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
                    let action = Action::Send(Kind::LeakyAnds);
                    (Self::SendingBlocks(lot, next), Some(action))
                }
                None => (Self::AwaitingBlocks(lot, 0), None),
            },
            Self::AwaitingBlocks(lot, _) => (Self::SendingBits(lot), None),
            Self::SendingBits(lot) => {
                let committed = Box::new(lot.commit(message));
                let action = Action::Send(Kind::LeakyBits);
                (Self::AwaitingDigest(committed), Some(action))
            }
            Self::SendingOpening(lot) => {
                lot.send(message);
                let action = Action::Send(Kind::EqualityOpening);
                (Self::AwaitingBuckets(lot), Some(action))
            }
            Self::SendingBuckets(opened, openings) => {
                *message = openings;
                let action = Action::Send(Kind::TripleOpenings);
                (Self::Flushing(opened), Some(action))
            }
            Self::Flushing(opened) => (Self::Combining(opened), Some(Action::Continue)),
            Self::Combining(opened) => {
                let (context, opened) = *opened;
                let made = Box::new(context.made(opened.triples()));
                return Ok((MakingStage::Done(made), None));
            }
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
            Self::AwaitingBuckets(lot) => lot.receive(payload)?,
            _ => return Err(NOT_ASKED),
        }))
    }
}
