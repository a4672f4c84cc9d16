//! The progress of a chain at each party, and how both agree on one version of it.

use std::cmp::Ordering;

use super::{Chain, STATE};
use crate::codec::{Fields, Malformed};
use crate::records::ChainRecord;
use crate::{StockError, witness};

/// The layout of [`ChainMarks`].
const MARKS_VERSION: u8 = 1;

/// A party's progress in a chain, as sent to the other party before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainMarks {
    /// Whether the chain exists and is usable.
    pub status: ChainStatus,
    /// The id on which the parties agreed when the chain started.
    pub id: [u8; 16],
    /// The number of attempts to run that were started.
    pub attempt: u64,
    /// The published version, or 0 before the first.
    pub latest: u64,
    /// The version that is durable but not published, or 0 if there is none.
    pub pending: u64,
}

/// Whether a chain exists and is usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainStatus {
    /// The chain does not exist.
    Absent,
    /// The chain exists.
    Live,
    /// The chain was killed.
    Killed,
}

/// The result of comparing the parties' marks of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainAgreement {
    /// The version that both parties have, or `None` if the chain is yet to be created.
    pub latest: Option<u64>,
    /// The number of the next attempt, higher than any before at either party.
    pub next_attempt: u64,
}

impl ChainMarks {
    /// The length of a party's marks in bytes.
    pub const BYTES: usize = 2 + 16 + 3 * 8;

    pub(super) const ABSENT: Self = Self {
        status: ChainStatus::Absent,
        id: [0; 16],
        attempt: 0,
        latest: 0,
        pending: 0,
    };

    pub(super) fn of(record: &ChainRecord) -> Self {
        Self {
            status: match record.killed {
                Some(_) => ChainStatus::Killed,
                None => ChainStatus::Live,
            },
            id: record.id,
            attempt: record.attempt,
            latest: record.latest,
            pending: record.pending,
        }
    }

    /// Returns the marks as they are sent to the peer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let status = match self.status {
            ChainStatus::Absent => 0,
            ChainStatus::Live => 1,
            ChainStatus::Killed => 2,
        };
        let numbers = [self.attempt, self.latest, self.pending].map(u64::to_le_bytes);
        [&[MARKS_VERSION, status], &self.id[..], &numbers.concat()].concat()
    }

    /// Parses the peer's marks.
    ///
    /// # Errors
    ///
    /// [`StockError::PeerMisbehaved`].
    pub fn parse(bytes: &[u8]) -> Result<Self, StockError> {
        let bad = |found: String| StockError::PeerMisbehaved {
            what: "its marks of a chain",
            found,
            expected: "42 bytes as a correct peer writes them".to_owned(),
        };
        Self::fields(bytes).map_err(|malformed| bad(malformed.to_string()))
    }

    fn fields(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes);
        if fields.u8()? != MARKS_VERSION {
            return Err(Malformed::Value("version"));
        }
        let status = match fields.u8()? {
            0 => ChainStatus::Absent,
            1 => ChainStatus::Live,
            2 => ChainStatus::Killed,
            _ => return Err(Malformed::Value("status")),
        };
        let marks = Self {
            status,
            id: fields.array()?,
            attempt: fields.u64()?,
            latest: fields.u64()?,
            pending: fields.u64()?,
        };
        fields.end()?;
        let ordered = marks.pending == 0 || marks.pending > marks.latest;
        if !ordered || status == ChainStatus::Absent && marks != Self::ABSENT {
            return Err(Malformed::Value("order of versions"));
        }
        Ok(marks)
    }
}

impl std::fmt::Display for ChainMarks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.status {
            ChainStatus::Absent => return f.write_str("absent"),
            ChainStatus::Live => {}
            ChainStatus::Killed => f.write_str("killed, ")?,
        }
        write!(
            f,
            "{:02x}{:02x}… at version {}",
            self.id[0], self.id[1], self.latest
        )?;
        match self.pending {
            0 => Ok(()),
            pending => write!(f, " with {pending} pending"),
        }
    }
}

impl Chain {
    /// Compares this party's chain with the peer's, and brings both to one version. A pending
    /// version that the peer also has is published, and one that it lacks is dropped.
    ///
    /// # Errors
    ///
    /// [`StockError::ChainKilled`] if either party has killed the chain, after which both have;
    /// [`StockError::ChainsDiffer`] and [`StockError::ChainRolledBack`] if one store was restored
    /// from an old copy.
    pub fn reconcile(&self, peer: &ChainMarks) -> Result<ChainAgreement, StockError> {
        let own = self.marks()?;
        let differ = || StockError::ChainsDiffer {
            chain: self.name.clone(),
            own: own.to_string(),
            peer: peer.to_string(),
        };
        if own.status == ChainStatus::Live && peer.status == ChainStatus::Killed {
            // If the peer has killed another chain of this name, that says nothing about this one.
            if own.id != peer.id {
                return Err(differ());
            }
            self.kill("the other party has killed it")?;
        }
        if own.status == ChainStatus::Killed || peer.status == ChainStatus::Killed {
            return Err(StockError::ChainKilled {
                chain: self.name.clone(),
                why: self.why_killed()?,
            });
        }
        self.check_noted()?;
        let is_same = own.status == peer.status && own.id == peer.id;
        let latest = if is_same {
            match own.latest.cmp(&peer.latest) {
                Ordering::Equal if own.pending == peer.pending => own.pending.max(own.latest),
                Ordering::Equal => own.latest,
                Ordering::Greater if peer.pending == own.latest => own.latest,
                Ordering::Less if own.pending == peer.latest => peer.latest,
                _ => return Err(differ()),
            }
        } else if own.latest == 0 && peer.latest == 0 {
            // A crash left the rest of a first run, at either or both.
            0
        } else {
            return Err(differ());
        };
        self.settle(latest)?;
        Ok(ChainAgreement {
            latest: (latest > 0).then_some(latest),
            next_attempt: match latest {
                0 => 0,
                _ => own.attempt.max(peer.attempt).saturating_add(1),
            },
        })
    }

    /// Refuses a chain whose note has counted more changes than its record.
    fn check_noted(&self) -> Result<(), StockError> {
        let inner = &self.stock.inner;
        let Some(record) = inner.update(|records| records.chain(&self.name))? else {
            return Ok(());
        };
        let noted = inner.notes().chain(&record.id)?;
        // Another handle may have changed both in between, so read the record again.
        let latest = inner.update(|records| records.chain(&self.name))?;
        let Some(record) = latest.filter(|latest| latest.id == record.id) else {
            return Ok(());
        };
        if record.changes >= noted {
            return Ok(());
        }
        Err(StockError::ChainRolledBack {
            chain: self.name.clone(),
            found: record.changes,
            expected: witness::in_words(noted),
        })
    }

    /// Publishes a pending version up to `latest`, and drops any other.
    fn settle(&self, latest: u64) -> Result<(), StockError> {
        let Some(record) = self.live()? else {
            return Ok(());
        };
        if record.pending != 0 && record.pending == latest {
            return self.publish(latest);
        }
        if latest == 0 {
            return self.remove();
        }
        if record.pending == 0 {
            return Ok(());
        }
        self.change(
            |record| record.pending = 0,
            |value, record| value.0 == STATE || value.1 <= record.latest,
        )
    }
}
