//! Which prepared material a run takes: what both parties have at hand.
//!
//! Each says, for each kind of material in an order that both know, which numbers it has leased
//! and not used. A run takes from the greater of the two first numbers on, as far as both reach:
//! what lies below is left, and never used by either. The two messages do not depend on each other
//! and cross on the wire.
//!
//! | byte | field |
//! |---|---|
//! | 0..32 | epoch of the stock |
//! | 32 + 16 i .. | of kind i: the first number, and how many follow from it, both little-endian |

use crate::message::{Kind, exactly};
use crate::party::{Action, Party};
use crate::{Error, Incompatibility, Misbehaviour};

use super::{NOT_ASKED, NOT_DONE, SPENT};

/// Names an epoch of a stock: random, and public to both parties.
pub type EpochId = [u8; 32];

/// Numbers `first .. first + count` of one kind of prepared material.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first.
    pub first: u64,
    /// How many.
    pub count: u64,
}

impl Range {
    /// The number after the last.
    fn end(self) -> u64 {
        self.first.saturating_add(self.count)
    }

    /// What both ranges hold from the greater of their first numbers on.
    #[must_use]
    pub fn common(self, other: Self) -> Self {
        let first = self.first.max(other.first);
        let end = self.end().min(other.end());
        Self {
            first,
            count: end.saturating_sub(first),
        }
    }
}

/// What one party has at hand, in an order of kinds that both know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges {
    /// The stock's epoch.
    pub epoch: EpochId,
    /// One range a kind.
    pub kinds: Vec<Range>,
}

impl Ranges {
    fn bytes(kinds: usize) -> usize {
        32 + 16 * kinds
    }

    fn write(&self, message: &mut Vec<u8>) {
        message.clear();
        message.extend_from_slice(&self.epoch);
        for range in &self.kinds {
            message.extend_from_slice(&range.first.to_le_bytes());
            message.extend_from_slice(&range.count.to_le_bytes());
        }
    }

    /// What both have: these ranges and the peer's, which `payload` tells.
    fn common(&self, payload: &[u8]) -> Result<Self, Error> {
        const KIND: Kind = Kind::PreparedRanges;
        exactly(KIND, payload, Self::bytes(self.kinds.len()))?;
        let (epoch, rest) = payload.split_at(32);
        if epoch != self.epoch {
            return Err(Incompatibility::Epoch.into());
        }
        let (numbers, _) = rest.as_chunks::<8>();
        let numbers: Vec<u64> = numbers
            .iter()
            .map(|bytes| u64::from_le_bytes(*bytes))
            .collect();
        let mut kinds = Vec::with_capacity(self.kinds.len());
        for (ours, theirs) in self.kinds.iter().zip(numbers.chunks_exact(2)) {
            let (first, count) = (theirs[0], theirs[1]);
            if first.checked_add(count).is_none() {
                let field = "range";
                return Err(Misbehaviour::InvalidField { kind: KIND, field }.into());
            }
            kinds.push(ours.common(Range { first, count }));
        }
        Ok(Self {
            epoch: self.epoch,
            kinds,
        })
    }
}

enum Stage {
    Telling(Ranges),
    Hearing(Ranges),
    Done(Ranges),
    Spent,
}

/// One party's side of the agreement on ranges.
pub struct Agreeing(Stage);

impl Agreeing {
    /// The agreement of a party that has `ours`.
    #[must_use]
    pub fn new(ours: Ranges) -> Self {
        Self(Stage::Telling(ours))
    }

    /// What both have.
    ///
    /// # Errors
    ///
    /// The agreement is not done.
    pub fn finish(self) -> Result<Ranges, Error> {
        match self.0 {
            Stage::Done(ranges) => Ok(ranges),
            _ => Err(NOT_DONE),
        }
    }
}

impl Party for Agreeing {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        let (stage, action) = match std::mem::replace(&mut self.0, Stage::Spent) {
            Stage::Telling(ours) => {
                ours.write(message);
                (Stage::Hearing(ours), Action::Send(Kind::PreparedRanges))
            }
            Stage::Hearing(ours) => {
                let (kind, max_bytes) = (Kind::PreparedRanges, Ranges::bytes(ours.kinds.len()));
                (Stage::Hearing(ours), Action::Receive { kind, max_bytes })
            }
            Stage::Done(common) => (Stage::Done(common), Action::Done),
            Stage::Spent => return Err(SPENT),
        };
        self.0 = stage;
        Ok(action)
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        match std::mem::replace(&mut self.0, Stage::Spent) {
            Stage::Hearing(ours) => {
                self.0 = Stage::Done(ours.common(payload)?);
                Ok(())
            }
            _ => Err(NOT_ASKED),
        }
    }
}
