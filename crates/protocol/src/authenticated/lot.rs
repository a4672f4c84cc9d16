//! The making of a lot: correlated OTs both ways, leaky ANDs, their check, a coin, buckets.
//!
//! ```text
//! garbler                                                     evaluator
//!   ── OT extension of the garbler's bits, in parts ─────────────▶
//!   ◀── OT extension of the evaluator's bits, in parts, and the evaluator's blocks of the leaky
//!       ANDs that are made of each part
//!   ── leaky ANDs: the garbler's blocks and bits, in parts ──────▶
//!   ◀── leaky AND bits ───────────────────────────────────────────
//!   ◀── commitment to what must be equal ─────────────────────────
//!   ── digest of what must be equal, commitment to a coin ───────▶
//!   ◀── opening of the commitment, the evaluator's coin ──────────
//!   ── the garbler's coin ───────────────────────────────────────▶
//!   ── bucket openings ──────────────────────────────────────────▶
//!   ◀── bucket openings ──────────────────────────────────────────
//! ```
//!
//! The garbler's extension is checked before the evaluator's first block leaves, and the
//! evaluator's before the garbler's first. A party's share of the coin leaves after it has found
//! the lots equal; the garbler's is committed to before the evaluator's is known. Both ways are
//! never full at once, so that no link can stand still.
//!
//! **Both parties work at once**, where each has a core of its own. So what lets the other one work
//! leaves alone, before what this one computes next: bits before the digest, the coin before the
//! openings, and openings before those of the other are checked.

mod evaluator;
mod garbler;
mod parts;
mod refilling;

pub(super) use parts::EXTENSION_OTS;

use std::ops::Range;

use tacit_function::Role;
use tacit_kernels::{Block, Construction, Prg};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::bucket::{CheckedLot, Triples};
use super::epoch::Epoch;
use super::leaky::{CHUNK, LeakyKeys, LeakyShares, zero_blocks};
use super::oracle::{Digest, Domain};
use super::parameters::LotSize;
use super::share::Shares;
use crate::Error;
use crate::message::{Kind, exactly};
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE};
use parts::{Part, Section, parts};
use refilling::Refilling;

/// Bits for inputs of both parties that are made with a lot.
#[derive(Clone, Copy, Default)]
pub(super) struct InputCounts {
    pub(super) own: usize,
    pub(super) others: usize,
}

/// What making a lot gives.
pub(crate) struct Made {
    pub(super) epoch: Epoch,
    pub(super) triples: Triples,
    /// MACs of random bits that this party alone knows, for its inputs.
    pub(super) own_inputs: Outputs,
    /// Keys of those of the other party.
    pub(super) others_inputs: Outputs,
    pub(super) rng: Prg,
}

/// Either party's side of making a lot.
pub(crate) struct Making(Option<MakingStage>);

/// Where the making of a lot is.
pub(crate) enum MakingStage {
    Extending(Box<Unchecked>, Extending),
    Garbler(garbler::Stage),
    Evaluator(evaluator::Stage),
    Done(Box<Made>),
}

impl Making {
    /// The making of a lot of this size under `epoch`.
    pub(super) fn new(epoch: Epoch, size: LotSize, inputs: InputCounts, rng: Prg) -> Self {
        let mut lot = Unchecked::new(epoch, size, inputs, rng);
        let extending = Extending {
            refilling: lot.refilling(),
            left: lot.parts(),
        };
        Self(Some(MakingStage::Extending(Box::new(lot), extending)))
    }

    /// A lot that is there.
    pub(super) fn done(made: Made) -> Self {
        Self(Some(MakingStage::Done(Box::new(made))))
    }

    /// The triples.
    ///
    /// # Errors
    ///
    /// They are not made.
    pub(super) fn finish(self) -> Result<Made, Error> {
        match self.0 {
            Some(MakingStage::Done(made)) => Ok(*made),
            _ => Err(NOT_DONE),
        }
    }
}

impl Machine for Making {
    type State = MakingStage;

    fn state(&mut self) -> &mut Option<MakingStage> {
        &mut self.0
    }

    fn awaited(&self, stage: &MakingStage) -> Option<Action> {
        match stage {
            MakingStage::Garbler(stage) => stage.awaited(),
            MakingStage::Evaluator(stage) => stage.awaited(),
            MakingStage::Extending(..) | MakingStage::Done(_) => None,
        }
    }

    fn step(
        &mut self,
        stage: MakingStage,
        message: &mut Vec<u8>,
    ) -> Result<(MakingStage, Option<Action>), Error> {
        match stage {
            MakingStage::Extending(mut lot, mut extending) => {
                let stage = match extending.next(&mut lot, message)? {
                    Some(action) => {
                        return Ok((MakingStage::Extending(lot, extending), Some(action)));
                    }
                    None if lot.size == LotSize::EMPTY => {
                        MakingStage::Done(Box::new(lot.without_triples()))
                    }
                    None => match lot.context.epoch.role() {
                        Role::Garbler => MakingStage::Garbler(garbler::Stage::new(*lot)),
                        Role::Evaluator => MakingStage::Evaluator(evaluator::Stage::new(*lot)),
                    },
                };
                Ok((stage, None))
            }
            MakingStage::Garbler(stage) => stage.step(message),
            MakingStage::Evaluator(stage) => stage.step(message),
            done @ MakingStage::Done(_) => Ok((done, Some(Action::Done))),
        }
    }

    fn take(&mut self, stage: MakingStage, payload: &[u8]) -> Result<MakingStage, Error> {
        match stage {
            MakingStage::Extending(mut lot, mut extending) => {
                extending.receive(&mut lot, payload)?;
                Ok(MakingStage::Extending(lot, extending))
            }
            MakingStage::Garbler(stage) => stage.take(payload),
            MakingStage::Evaluator(stage) => stage.take(payload),
            MakingStage::Done(_) => Err(NOT_ASKED),
        }
    }
}

/// A lot that nobody has checked.
pub(crate) struct Unchecked {
    context: Context,
    number: u64,
    size: LotSize,
    keys: LeakyKeys,
    shares: LeakyShares,
    masks: Shares,
    /// S of each leaky AND, as far as it is known.
    sums: Outputs,
    /// The garbler's blocks, until it sends them.
    blocks: Outputs,
}

/// What goes with a lot while it is made.
pub(crate) struct Context {
    epoch: Epoch,
    rng: Prg,
    own_inputs: Outputs,
    others_inputs: Outputs,
}

/// The OTs of a lot: those made before, and then the choices of the garbler and of the evaluator;
/// and the evaluator's blocks.
pub(crate) struct Extending {
    refilling: Refilling,
    /// The parts that are left, and whose choices or blocks they are; the last comes next.
    left: Vec<(Role, Part)>,
}

impl Extending {
    /// What is next; nothing where all are there.
    fn next(
        &mut self,
        lot: &mut Unchecked,
        message: &mut Vec<u8>,
    ) -> Result<Option<Action>, Error> {
        if let Some(action) = self.refilling.next(lot, message)? {
            return Ok(Some(action));
        }
        while let Some((party, part)) = self.left.last() {
            let action = match *party == lot.context.epoch.role() {
                true => lot.send_part(part, message)?,
                false => lot.awaited_part(part)?,
            };
            match action {
                Some(receive @ Action::Receive { .. }) => return Ok(Some(receive)),
                action => {
                    self.left.pop();
                    if action.is_some() {
                        return Ok(action);
                    }
                }
            }
        }
        Ok(None)
    }

    fn receive(&mut self, lot: &mut Unchecked, payload: &[u8]) -> Result<(), Error> {
        if !self.refilling.is_done() {
            return self.refilling.receive(lot, payload);
        }
        let (_, part) = self.left.pop().ok_or(NOT_ASKED)?;
        lot.take_part(&part, payload)
    }
}

impl Unchecked {
    fn new(mut epoch: Epoch, size: LotSize, inputs: InputCounts, rng: Prg) -> Self {
        let number = epoch.next_lot();
        let hash = epoch.hash(Construction::TwoCall, Domain::LeakyStart, number);
        let keys = LeakyKeys {
            role: epoch.role(),
            delta: (*epoch.delta()).into(),
            one: epoch.one().into(),
            hash,
        };
        let mut leaky = || epoch.buffers.take_shares(size.leaky_ands());
        let shares = LeakyShares {
            x: leaky(),
            y: leaky(),
            z: leaky(),
        };
        let masks = epoch.buffers.take_shares(size.triples);
        let sums = epoch.buffers.take(size.leaky_ands());
        let blocks = match epoch.role() {
            Role::Garbler => epoch.buffers.take(size.leaky_ands()),
            Role::Evaluator => Outputs::default(),
        };
        Self {
            context: Context {
                epoch,
                rng,
                own_inputs: zero_blocks(inputs.own),
                others_inputs: zero_blocks(inputs.others),
            },
            number,
            size,
            keys,
            shares,
            masks,
            sums,
            blocks,
        }
    }

    /// The parts of the lot, the first one last.
    fn parts(&self) -> Vec<(Role, Part)> {
        let Context {
            epoch,
            own_inputs,
            others_inputs,
            ..
        } = &self.context;
        let mut parts = parts(self.size, |party| match party == epoch.role() {
            true => own_inputs.len(),
            false => others_inputs.len(),
        });
        parts.reverse();
        parts
    }

    /// The macs that this party's OTs give, or the keys that the other's give.
    fn section(&mut self, macs: bool, section: Section) -> &mut Outputs {
        let shares = match section {
            Section::X => &mut self.shares.x,
            Section::Y => &mut self.shares.y,
            Section::Z => &mut self.shares.z,
            Section::Masks => &mut self.masks,
            Section::Inputs if macs => return &mut self.context.own_inputs,
            Section::Inputs => return &mut self.context.others_inputs,
        };
        match macs {
            true => &mut shares.macs,
            false => &mut shares.keys,
        }
    }

    /// Writes a part of this party's: its message, if it has one.
    fn send_part(&mut self, part: &Part, message: &mut Vec<u8>) -> Result<Option<Action>, Error> {
        let kind = match part {
            Part::Ots(section, range) => {
                let mut macs = std::mem::take(self.section(true, *section));
                let Context { epoch, rng, .. } = &mut self.context;
                let choosing = &mut macs[range.clone()];
                epoch.receiver()?.extend_random(rng, choosing, message)?;
                *self.section(true, *section) = macs;
                Kind::CotExtension
            }
            Part::Blocks(range) => {
                let sums = &mut self.sums[range.clone()];
                message.clear();
                let (keys, shares) = (&self.keys, &self.shares);
                keys.append_blocks(shares, range.clone(), message, sums);
                Kind::LeakyAnds
            }
        };
        Ok((!message.is_empty()).then_some(Action::send(kind)))
    }

    /// The message that a part of the other party's awaits. A part without one is taken.
    fn awaited_part(&mut self, part: &Part) -> Result<Option<Action>, Error> {
        let (kind, max_bytes) = match part {
            Part::Ots(_, range) => {
                let max_bytes = self.context.epoch.sender()?.random_bytes(range.len());
                (Kind::CotExtension, max_bytes)
            }
            Part::Blocks(range) => (Kind::LeakyAnds, range.len() * Block::BYTES),
        };
        if max_bytes > 0 {
            return Ok(Some(Action::receive(kind, max_bytes)));
        }
        self.take_part(part, &[])?;
        Ok(None)
    }

    /// Takes a part of the other party's. With the evaluator's blocks the garbler computes its own.
    fn take_part(&mut self, part: &Part, message: &[u8]) -> Result<(), Error> {
        match part {
            Part::Ots(section, range) => {
                let mut keys = std::mem::take(self.section(false, *section));
                let sender = self.context.epoch.sender()?;
                let taken = sender.extend_random(&mut keys[range.clone()], message);
                *self.section(false, *section) = keys;
                taken
            }
            Part::Blocks(range) => {
                exactly(Kind::LeakyAnds, message, range.len() * Block::BYTES)?;
                let blocks = &mut self.blocks[range.clone()];
                let sums = &mut self.sums[range.clone()];
                let (keys, shares) = (&self.keys, &self.shares);
                keys.blocks(shares, range.clone(), blocks, sums);
                keys.add_blocks(shares, range.clone(), message, sums);
                Ok(())
            }
        }
    }

    /// The next leaky ANDs from number `first` on.
    fn chunk(&self, first: usize) -> Option<Range<usize>> {
        let end = self.size.leaky_ands().min(first + CHUNK);
        (first < end).then_some(first..end)
    }

    /// The digest of what both must have the same, with the bits by which outputs are turned.
    fn digest(&self, turned: &[u8]) -> Digest {
        let mut digest = self
            .context
            .epoch
            .oracle(Domain::Equality, None, self.number);
        self.keys.add_turned(&self.sums, turned, &mut digest);
        digest.finish()
    }

    /// The lot as one that is checked: for who has just checked it. Outputs are turned by `turned`.
    fn checked(mut self, turned: Vec<u8>) -> (Context, CheckedLot) {
        self.context.epoch.buffers.give([self.sums, self.blocks]);
        let lot = CheckedLot {
            number: self.number,
            size: self.size,
            shares: self.shares,
            masks: self.masks,
            turned,
            one: self.keys.one,
        };
        (self.context, lot)
    }

    /// What there is where no triples are wanted.
    fn without_triples(self) -> Made {
        self.context.made(Triples {
            number: self.number,
            ..Triples::default()
        })
    }
}

impl Context {
    fn made(self, triples: Triples) -> Made {
        Made {
            epoch: self.epoch,
            triples,
            own_inputs: self.own_inputs,
            others_inputs: self.others_inputs,
            rng: self.rng,
        }
    }
}

/// 32 random bytes.
fn random(rng: &mut Prg) -> Zeroizing<Digest> {
    let mut bytes = Zeroizing::new(Digest::default());
    rng.fill_bytes(&mut *bytes);
    bytes
}

/// The evaluator's commitment to what both must have the same, of which `digest` is the hash.
///
/// **Why the salt**: a garbler that cheated knows up to the evaluator's bits what the evaluator
/// has. Without the salt it would try all of these against the commitment, answer with the right
/// one and never be caught.
fn commit_to_equality(epoch: &Epoch, lot: u64, digest: &Digest, salt: &Digest) -> Digest {
    let mut oracle = epoch.oracle(Domain::EqualityCommitment, None, lot);
    oracle.add_bytes(digest);
    oracle.add_bytes(salt);
    oracle.finish()
}

/// The garbler's commitment to its share of the coin, which hides it since it is random.
fn commit_to_coin(epoch: &Epoch, lot: u64, share: &Digest) -> Digest {
    let mut oracle = epoch.oracle(Domain::CoinCommitment, None, lot);
    oracle.add_bytes(share);
    oracle.finish()
}

/// The coin of both shares.
fn coin(garblers: &Digest, evaluators: &Digest) -> Digest {
    std::array::from_fn(|i| garblers[i] ^ evaluators[i])
}
