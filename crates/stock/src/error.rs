//! Errors of a stock.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Access, ComponentDigest, EpochId, Span};

/// An error of a stock.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StockError {
    /// Something on the disk differs from what was written there. It was not used.
    #[error(
        "{}: {field} is {found}, expected {expected}; nothing of it was used",
        file.display()
    )]
    Corrupted {
        /// The file.
        file: PathBuf,
        /// The damaged part.
        field: &'static str,
        /// The content found.
        found: String,
        /// The content expected.
        expected: String,
        /// The way to continue.
        repair: Repair,
    },
    /// A file has another version of the format.
    #[error(
        "{} has stock format {found}, and this program reads format {expected}",
        file.display()
    )]
    Incompatible {
        /// The file.
        file: PathBuf,
        /// The file's version.
        found: u32,
        /// This program's version.
        expected: u32,
    },
    /// A stock belongs to other parties.
    #[error(
        "{} belongs to another stock: its {field} is {found}, expected {expected}",
        file.display()
    )]
    WrongStock {
        /// The file.
        file: PathBuf,
        /// The field that differs.
        field: &'static str,
        /// The content of the file.
        found: String,
        /// The content that was asked for.
        expected: String,
    },
    /// The stock does not exist.
    #[error("there is no stock in {}", folder.display())]
    Missing {
        /// The folder in which it would be.
        folder: PathBuf,
    },
    /// The two records show that one party's stock was restored from an older copy.
    #[error(
        "{whose} stock is older than what was seen of it: {what} is {found}, expected {expected}; \
         it was restored from an old copy, and what was used since could be used again"
    )]
    RolledBack {
        /// The party whose stock is too old.
        whose: Whose,
        /// The number of the record that shows it.
        what: String,
        /// The number in the older stock.
        found: String,
        /// The number that the other party knows.
        expected: String,
    },
    /// This party's stock alone shows that it was restored from an older copy.
    #[error(
        "this party's stock is older than what this machine has seen of it: {what} is {found}, \
         expected {expected}; it was restored from an old copy, and what was used since could be \
         used again"
    )]
    Restored {
        /// The number that shows it.
        what: String,
        /// The number in the stock.
        found: String,
        /// The number that was seen.
        expected: String,
    },
    /// The peer's stock has another epoch.
    #[error(
        "this stock is of epoch {own}, the peer's of epoch {peer}: one of them was replaced or \
         restored from an old copy"
    )]
    UnknownEpoch {
        /// This stock's epoch.
        own: EpochId,
        /// The peer's epoch.
        peer: EpochId,
    },
    /// The peer has stocks in many of its lanes.
    #[error("the peer has stocks with this party in {most} of its lanes, and no more are made")]
    TooManyLanes {
        /// The largest number of them.
        most: usize,
    },
    /// This process uses an epoch that another process has ended.
    #[error("epoch {epoch} of this stock was ended by another process")]
    EpochEnded {
        /// The epoch.
        epoch: EpochId,
    },
    /// The peer sent something that no correct peer sends.
    #[error("the peer misbehaved: {what} is {found}, expected {expected}")]
    PeerMisbehaved {
        /// The part of its message.
        what: &'static str,
        /// The content of that part.
        found: String,
        /// The content that is possible.
        expected: String,
    },
    /// Spent instances, below the mark, were named.
    #[error("instances {asked} of component {kind} were named, and all below {mark} are spent")]
    Behind {
        /// The component.
        kind: ComponentDigest,
        /// The instances that were named.
        asked: Span,
        /// The first number that is not spent.
        mark: u64,
    },
    /// The stock has less than was asked for.
    #[error("{asked} instances of component {kind} were asked for and {available} are in stock")]
    Exhausted {
        /// The component.
        kind: ComponentDigest,
        /// The number that was asked for.
        asked: u64,
        /// The number that is in stock.
        available: u64,
    },
    /// The stock would grow over its limit.
    #[error(
        "{}: no room for {what}: {needed} bytes more than the {held} held, and the limit is \
         {limit}",
        folder.display()
    )]
    Full {
        /// The stock's folder.
        folder: PathBuf,
        /// The item to be stored.
        what: String,
        /// The bytes that the item needs.
        needed: u64,
        /// The bytes that the stock holds.
        held: u64,
        /// The bytes that the stock may hold.
        limit: u64,
    },
    /// The disk is full, or the user's quota is exhausted.
    #[error("{}: cannot {doing}: the disk is full", file.display())]
    DiskFull {
        /// The file.
        file: PathBuf,
        /// The operation that failed.
        doing: &'static str,
    },
    /// The numbers of a component are used up, at this party or, as the peer says, at the peer.
    #[error("instances {span} of component {kind}: numbers end at 2^32")]
    NumbersUsedUp {
        /// The component.
        kind: ComponentDigest,
        /// The instances that were to be prepared.
        span: Span,
    },
    /// Another process prepares with this peer, uses the same chain, or opens the folder.
    #[error("another process holds {}", file.display())]
    Busy {
        /// The lock.
        file: PathBuf,
    },
    /// The chain does not exist.
    #[error("there is no chain {chain:?} of this protocol with this peer")]
    NoChain {
        /// The chain's name.
        chain: String,
    },
    /// A chain keeps no value of that name.
    #[error("chain {chain:?} keeps no value {value:?}")]
    NoValue {
        /// The chain.
        chain: String,
        /// The value's name.
        value: String,
    },
    /// The chain's policy does not allow a party this use of a value.
    #[error(
        "{who} may not {access} {value:?} of chain {chain:?}: the chain's policy at this server \
         does not say so"
    )]
    NotAllowed {
        /// The party.
        who: String,
        /// The chain.
        chain: String,
        /// The value's name.
        value: String,
        /// The use that it asked for.
        access: Access,
    },
    /// A chain was killed, and its values are gone.
    #[error("chain {chain:?} was killed and its values are gone: {why}")]
    ChainKilled {
        /// The chain.
        chain: String,
        /// The reason.
        why: String,
    },
    /// A chain must be killed, but the disk does not accept the write.
    #[error(
        "chain {chain:?} must be killed ({why}), but the disk does not accept the write: {reason}"
    )]
    NotKilled {
        /// The chain.
        chain: String,
        /// The reason to kill it.
        why: String,
        /// The error of the disk.
        reason: Box<StockError>,
    },
    /// The chain has changed more often than its record says.
    #[error(
        "chain {chain:?} was restored from an old copy: its record is at change {found}, expected \
         {expected}"
    )]
    ChainRolledBack {
        /// The chain.
        chain: String,
        /// The number of changes according to the record.
        found: u64,
        /// The number of changes according to the note.
        expected: String,
    },
    /// The two parties' records of a chain do not match.
    #[error(
        "chain {chain:?} is {own} here and {peer} at the peer: one of them was dropped, restored \
         from an old copy, or is another chain"
    )]
    ChainsDiffer {
        /// The chain.
        chain: String,
        /// The chain's progress here.
        own: String,
        /// The chain's progress at the peer.
        peer: String,
    },
    /// The library was used in a wrong way.
    #[error("the stock was used wrongly: {what}")]
    ApiMisuse {
        /// The mistake, and the correct use.
        what: String,
    },
    /// The operating system failed.
    #[error("{}: cannot {doing}: {reason}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// The operating system's error.
        reason: io::Error,
    },
}

/// One of the two parties, as seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This party.
    Ours,
    /// The other party.
    Peers,
}

impl std::fmt::Display for Whose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ours => "this party's",
            Self::Peers => "the peer's",
        })
    }
}

/// The way to continue after damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// [`crate::Stock::check`] withdraws the damaged part. The rest of the stock is whole.
    Check,
    /// The damaged part is withdrawn. The peer learns that when the parties meet, and a preparation
    /// replaces it.
    Withdrawn,
    /// The chain of the value cannot continue. Drop it.
    DropChain,
    /// The stock cannot be trusted as a whole. Start a new epoch in its place.
    BeginAnew,
    /// Not even a new epoch can start before the folder is removed.
    Remove,
    /// Others may read the root key. Take away their access, or remove the key and start a new
    /// epoch.
    CloseRootKey,
    /// Put the root key back in its place. Otherwise remove the stocks that need it.
    RestoreRootKey,
    /// Remove the file of tries, if the reason why each try did not end is known.
    RemoveTries,
    /// Remove the file of answered keys. Each peer may then ask a day's number of keys once more.
    RemoveAnswered,
}

impl StockError {
    /// Replaces the repair of [`StockError::Corrupted`]. Returns other errors unchanged.
    pub(crate) fn repaired_by(mut self, other: Repair) -> Self {
        if let Self::Corrupted { repair, .. } = &mut self {
            *repair = other;
        }
        self
    }

    /// Returns a function for `map_err` that adds the file and the operation.
    pub(crate) fn io(file: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |reason| match reason.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull {
                file: file.to_owned(),
                doing,
            },
            io::ErrorKind::InvalidData => Self::corrupted(
                file,
                "its content",
                reason.to_string(),
                "what was written there",
                Repair::BeginAnew,
            ),
            _ => Self::Io {
                file: file.to_owned(),
                doing,
                reason,
            },
        }
    }

    pub(crate) fn corrupted(
        file: &Path,
        field: &'static str,
        found: impl Into<String>,
        expected: impl Into<String>,
        repair: Repair,
    ) -> Self {
        Self::Corrupted {
            file: file.to_owned(),
            field,
            found: found.into(),
            expected: expected.into(),
            repair,
        }
    }

    pub(crate) fn misuse(what: impl Into<String>) -> Self {
        Self::ApiMisuse { what: what.into() }
    }
}
