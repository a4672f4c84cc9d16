//! The making of a lot: correlated OTs both ways, leaky ANDs, their check, a coin, buckets.
//!
//! ```text
//! garbler                                                     evaluator
//!   ── OT extension of the garbler's bits, in parts ─────────────▶
//!   ◀── OT extension of the evaluator's bits, in parts ───────────
//!   ◀── leaky ANDs: the evaluator's blocks, in parts ─────────────
//!   ── leaky ANDs: the garbler's blocks and bits, in parts ──────▶
//!   ◀── leaky AND bits, commitment to what must be equal ─────────
//!   ── digest of what must be equal, commitment to a coin ───────▶
//!   ◀── opening of the commitment, the evaluator's coin ──────────
//!   ── the garbler's coin, bucket openings ──────────────────────▶
//!   ◀── bucket openings ──────────────────────────────────────────
//! ```
//!
//! The extension is checked before the first block leaves. A party's share of the coin leaves after
//! it has found the lots equal; the garbler's is committed to before the evaluator's is known. Both
//! ways are never full at once, so that no link can stand still.

mod evaluator;
mod garbler;

use std::ops::Range;

use tacit_circuit::Role;
use tacit_kernels::{Construction, Prg};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::bucket::{CheckedLot, Triples};
use super::epoch::Epoch;
use super::leaky::{CHUNK, LeakyKeys, LeakyShares, zero_blocks};
use super::oracle::{Digest, Domain};
use super::parameters::LotSize;
use super::share::Shares;
use crate::Error;
use crate::message::Kind;
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE};
use crate::setup::{Half, RefillSteps};

/// OTs of one message.
pub(super) const EXTENSION_OTS: usize = 1 << 15;

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
            chosen: Position::default(),
            taken: Position::default(),
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

    fn awaited(&self, stage: &MakingStage) -> Option<(Kind, usize)> {
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
}

/// What goes with a lot while it is made.
pub(crate) struct Context {
    epoch: Epoch,
    rng: Prg,
    own_inputs: Outputs,
    others_inputs: Outputs,
}

/// The OTs of a lot: those made before, and then the choices of the garbler and of the evaluator.
pub(crate) struct Extending {
    refilling: Refilling,
    /// This party's.
    chosen: Position,
    /// The other's.
    taken: Position,
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
        for party in [Role::Garbler, Role::Evaluator] {
            let action = match party == lot.context.epoch.role() {
                true => lot.extend(&mut self.chosen, message)?,
                false => lot.awaited(&mut self.taken)?,
            };
            if action.is_some() {
                return Ok(action);
            }
        }
        Ok(None)
    }

    fn receive(&mut self, lot: &mut Unchecked, payload: &[u8]) -> Result<(), Error> {
        match self.refilling.left.is_empty() {
            true => lot.take(&mut self.taken, payload),
            false => self.refilling.receive(lot, payload),
        }
    }
}

/// OTs that are made before a lot takes them, where the extension has that: first those that the
/// garbler sends, then the others.
pub(crate) struct Refilling {
    /// Those that the garbler sends, and those that the evaluator sends.
    left: Vec<(Role, RefillSteps)>,
}

/// Which of a lot's OTs come next, of those that one party chooses.
#[derive(Default)]
pub(crate) struct Position {
    section: usize,
    first: usize,
}

/// Parts of a lot that are made of OTs, one after the other: x, y, z, masks, inputs.
const SECTIONS: usize = 5;

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
        }
    }

    /// The making of all OTs that the lot takes.
    fn refilling(&mut self) -> Refilling {
        let both = self.size.ots();
        let Context {
            rng,
            epoch,
            own_inputs,
            others_inputs,
        } = &mut self.context;
        let left = [Role::Evaluator, Role::Garbler].map(|sender| {
            let inputs = match sender == epoch.role() {
                true => others_inputs.len(),
                false => own_inputs.len(),
            };
            let steps = RefillSteps::from_seed((both + inputs) as u64, &random(rng));
            (sender, steps)
        });
        Refilling { left: left.into() }
    }

    /// The half that makes OTs that `sender` sends, where they are made before they are taken.
    fn half(&mut self, sender: Role) -> Result<Option<&mut dyn Half>, Error> {
        let epoch = &mut self.context.epoch;
        Ok(match sender == epoch.role() {
            true => epoch.sender()?.half(),
            false => epoch.receiver()?.half(),
        })
    }

    /// The macs that this party's OTs give, or the keys that the other's give.
    fn section(&mut self, macs: bool, section: usize) -> &mut Outputs {
        let shares = match section {
            0 => &mut self.shares.x,
            1 => &mut self.shares.y,
            2 => &mut self.shares.z,
            3 => &mut self.masks,
            _ if macs => return &mut self.context.own_inputs,
            _ => return &mut self.context.others_inputs,
        };
        match macs {
            true => &mut shares.macs,
            false => &mut shares.keys,
        }
    }

    /// The next OTs from `position` on, if any are left.
    fn upcoming(&mut self, macs: bool, position: &mut Position) -> Option<Range<usize>> {
        while position.section < SECTIONS {
            let length = self.section(macs, position.section).len();
            if position.first < length {
                return Some(position.first..length.min(position.first + EXTENSION_OTS));
            }
            *position = Position {
                section: position.section + 1,
                first: 0,
            };
        }
        None
    }

    /// Writes the message that chooses the next bits of this party; nothing where all are chosen.
    fn extend(
        &mut self,
        position: &mut Position,
        message: &mut Vec<u8>,
    ) -> Result<Option<Action>, Error> {
        while let Some(range) = self.upcoming(true, position) {
            position.first = range.end;
            let mut macs = std::mem::take(self.section(true, position.section));
            let Context { epoch, rng, .. } = &mut self.context;
            epoch
                .receiver()?
                .extend_random(rng, &mut macs[range], message)?;
            *self.section(true, position.section) = macs;
            if !message.is_empty() {
                return Ok(Some(Action::Send(Kind::CotExtension)));
            }
        }
        Ok(None)
    }

    /// What is awaited of the other party's choices; nothing where all are there.
    fn awaited(&mut self, position: &mut Position) -> Result<Option<Action>, Error> {
        while let Some(range) = self.upcoming(false, position) {
            let max_bytes = self.context.epoch.sender()?.random_bytes(range.len());
            if max_bytes > 0 {
                return Ok(Some(Action::receive(Kind::CotExtension, max_bytes)));
            }
            self.take(position, &[])?;
        }
        Ok(None)
    }

    /// Takes the other party's next choices.
    fn take(&mut self, position: &mut Position, message: &[u8]) -> Result<(), Error> {
        let range = self.upcoming(false, position).ok_or(NOT_ASKED)?;
        position.first = range.end;
        let mut keys = std::mem::take(self.section(false, position.section));
        let taken = self
            .context
            .epoch
            .sender()?
            .extend_random(&mut keys[range], message);
        *self.section(false, position.section) = keys;
        taken
    }

    /// The next leaky ANDs from number `first` on.
    fn chunk(&self, first: usize) -> Option<Range<usize>> {
        let end = self.size.leaky_ands().min(first + CHUNK);
        (first < end).then_some(first..end)
    }

    /// The lot as one that is checked: for who has just checked it.
    fn checked(self) -> (Context, CheckedLot) {
        let lot = CheckedLot {
            number: self.number,
            size: self.size,
            shares: self.shares,
            masks: self.masks,
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

impl Refilling {
    /// What is next; nothing where all OTs are made.
    fn next(
        &mut self,
        lot: &mut Unchecked,
        message: &mut Vec<u8>,
    ) -> Result<Option<Action>, Error> {
        while let Some((sender, steps)) = self.left.last_mut() {
            let action = match lot.half(*sender)? {
                Some(half) => steps.next(half, message)?,
                None => Action::Done,
            };
            match action {
                Action::Done => drop(self.left.pop()),
                action => return Ok(Some(action)),
            }
        }
        Ok(None)
    }

    fn receive(&self, lot: &mut Unchecked, payload: &[u8]) -> Result<(), Error> {
        let (sender, _) = self.left.last().ok_or(NOT_ASKED)?;
        Ok(lot.half(*sender)?.ok_or(NOT_ASKED)?.receive(payload)?)
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
