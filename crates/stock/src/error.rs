//! Errors of a stock: what happened.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Access, ComponentDigest, EpochId, Span};

/// A stock could not be used, or not in this way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StockError {
    /// Something on the disk is not what was written there. It was not used.
    #[error(
        "{}: {field} is {found}, expected {expected}; nothing of it was used",
        file.display()
    )]
    Corrupted {
        /// The file.
        file: PathBuf,
        /// What of it.
        field: &'static str,
        /// What stands there.
        found: String,
        /// What should.
        expected: String,
        /// How to go on.
        repair: Repair,
    },
    /// A file is of another version of the format.
    #[error(
        "{} has stock format {found}, and this program reads format {expected}",
        file.display()
    )]
    Incompatible {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: u32,
        /// This program's.
        expected: u32,
    },
    /// A stock belongs to somebody else.
    #[error(
        "{} belongs to another stock: its {field} is {found}, expected {expected}",
        file.display()
    )]
    WrongStock {
        /// The file.
        file: PathBuf,
        /// What differs.
        field: &'static str,
        /// What stands in the file.
        found: String,
        /// What was asked for.
        expected: String,
    },
    /// There is no such stock.
    #[error("there is no stock in {}", folder.display())]
    Missing {
        /// Where it would be.
        folder: PathBuf,
    },
    /// The two records show that one party's stock was restored from an older copy.
    #[error(
        "{whose} stock is older than what was seen of it: {what} is {found}, expected {expected}; \
         it was restored from an old copy, and what was used since could be used again"
    )]
    RolledBack {
        /// Whose stock is too old.
        whose: Whose,
        /// Which number of the record shows it.
        what: String,
        /// What the older stock says.
        found: String,
        /// What the other party knows.
        expected: String,
    },
    /// This party's stock alone shows that it was restored from an older copy.
    #[error(
        "this party's stock is older than what this machine has seen of it: {what} is {found}, \
         expected {expected}; it was restored from an old copy, and what was used since could be \
         used again"
    )]
    Restored {
        /// Which number shows it.
        what: String,
        /// What the stock says.
        found: String,
        /// What was seen.
        expected: String,
    },
    /// The peer's stock is of another epoch.
    #[error(
        "this stock is of epoch {own}, the peer's of epoch {peer}: one of them was replaced or \
         restored from an old copy"
    )]
    UnknownEpoch {
        /// This stock's.
        own: EpochId,
        /// The peer's.
        peer: EpochId,
    },
    /// This process works on an epoch that another process has ended.
    #[error("epoch {epoch} of this stock was ended by another process")]
    EpochEnded {
        /// The epoch.
        epoch: EpochId,
    },
    /// The peer said what no correct peer says.
    #[error("the peer misbehaved: {what} is {found}, expected {expected}")]
    PeerMisbehaved {
        /// What of its message.
        what: &'static str,
        /// What it said.
        found: String,
        /// What is possible.
        expected: String,
    },
    /// Instances below the mark were named: they are spent.
    #[error("instances {asked} of component {kind} were named, and all below {mark} are spent")]
    Behind {
        /// The component.
        kind: ComponentDigest,
        /// What was named.
        asked: Span,
        /// The first number that is not spent.
        mark: u64,
    },
    /// Less is in stock than was asked for.
    #[error("{asked} instances of component {kind} were asked for and {available} are in stock")]
    Exhausted {
        /// The component.
        kind: ComponentDigest,
        /// How many were asked for.
        asked: u64,
        /// How many there are.
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
        /// What was to be stored.
        what: String,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes held.
        held: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The disk has no room, or the system lets this user have no more of it.
    #[error("{}: cannot {doing}: the disk is full", file.display())]
    DiskFull {
        /// The file.
        file: PathBuf,
        /// What was tried.
        doing: &'static str,
    },
    /// The numbers of a component are used up, at this party or as the peer says of its own.
    #[error("instances {span} of component {kind}: numbers end at 2^32")]
    NumbersUsedUp {
        /// The component.
        kind: ComponentDigest,
        /// The instances that were to be prepared.
        span: Span,
    },
    /// Another process prepares with this peer, runs on the same chain, or opens the folder.
    #[error("another process holds {}", file.display())]
    Busy {
        /// The lock.
        file: PathBuf,
    },
    /// There is no such chain.
    #[error("there is no chain {chain:?} of this protocol with this peer")]
    NoChain {
        /// Its name.
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
    /// The chain's policy does not let somebody do this with a value.
    #[error(
        "{who} may not {access} {value:?} of chain {chain:?}: the chain's policy at this server \
         does not say so"
    )]
    NotAllowed {
        /// Who wanted to.
        who: String,
        /// The chain.
        chain: String,
        /// The value's name.
        value: String,
        /// What was wanted.
        access: Access,
    },
    /// A chain was killed, and its values are gone.
    #[error("chain {chain:?} was killed and its values are gone: {why}")]
    ChainKilled {
        /// The chain.
        chain: String,
        /// Why.
        why: String,
    },
    /// A chain is to be killed, and the disk does not take it.
    #[error(
        "chain {chain:?} must be killed ({why}), but the disk does not accept the write: {reason}"
    )]
    NotKilled {
        /// The chain.
        chain: String,
        /// Why it is to be killed.
        why: String,
        /// What the disk says.
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
        /// The changes that the record says.
        found: u64,
        /// What was noted of it.
        expected: String,
    },
    /// The two parties' records of a chain do not fit together.
    #[error(
        "chain {chain:?} is {own} here and {peer} at the peer: one of them was dropped, restored \
         from an old copy, or is another chain"
    )]
    ChainsDiffer {
        /// The chain.
        chain: String,
        /// How far it is here.
        own: String,
        /// How far it is at the peer.
        peer: String,
    },
    /// A caller's mistake.
    #[error("the stock was used wrongly: {what}")]
    ApiMisuse {
        /// What was wrong, and what is right.
        what: String,
    },
    /// The operating system failed.
    #[error("{}: cannot {doing}: {reason}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the operating system says.
        reason: io::Error,
    },
}

/// One of the two parties, as seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This party.
    Ours,
    /// The other one.
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

/// How to go on where something is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// [`crate::Stock::check`] withdraws what is damaged; the rest of the stock is not.
    Check,
    /// It is withdrawn: the peer learns that when the parties meet, and a preparation replaces it.
    Withdrawn,
    /// The chain of the value cannot go on, and is dropped.
    DropChain,
    /// The stock cannot be trusted as a whole: a new epoch takes its place.
    BeginAnew,
    /// Not even a new epoch can be begun before the folder is removed.
    Remove,
    /// Others may read the root key: it is closed to them, or removed and a new epoch begun.
    CloseRootKey,
    /// The root key is put back where it was; otherwise the stocks that need it are removed.
    RestoreRootKey,
    /// The file of tries is removed, if it is known of every try why it did not end.
    RemoveTries,
}

impl StockError {
    /// The same with another repair, where something is corrupted.
    pub(crate) fn repaired_by(mut self, other: Repair) -> Self {
        if let Self::Corrupted { repair, .. } = &mut self {
            *repair = other;
        }
        self
    }

    /// For `map_err`: what was tried on which file.
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
