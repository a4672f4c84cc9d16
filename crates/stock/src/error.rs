//! Errors of a stock. Each message says what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Access, ComponentDigest, EpochId, Span};

/// A stock could not be used, or not in this way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StockError {
    /// Something on the disk is not what was written there. It was not used.
    #[error(
        "{}: {field} is {found}, expected {expected}; nothing of it was used. {remedy}",
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
        /// What to do.
        remedy: &'static str,
    },
    /// A file is of another version of the format.
    #[error(
        "{} has stock format {found}, and this program reads format {expected}; use the program \
         that wrote it, or prepare anew with `tacit stock new-epoch --peer PEER`",
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
        "{} belongs to another stock: its {field} is {found}, expected {expected}; run with the \
         identity and peer that it was prepared with, or with another stock folder",
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
    #[error("there is no stock in {}; make one with `tacit prepare`", folder.display())]
    Missing {
        /// Where it would be.
        folder: PathBuf,
    },
    /// The two records show that one party's stock was restored from an older copy.
    #[error(
        "{whose} stock is older than what was seen of it: {what} is {found}, expected {expected}; \
         it was restored from an old copy, and what was used since could be used again. Both \
         parties drop it and begin anew with `tacit stock new-epoch --peer PEER`"
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
    /// The peer's stock is of another epoch.
    #[error(
        "this stock is of epoch {own}, the peer's of epoch {peer}: one of them was started anew or \
         restored from an old copy; both parties run `tacit stock new-epoch --peer PEER`"
    )]
    UnknownEpoch {
        /// This stock's.
        own: EpochId,
        /// The peer's.
        peer: EpochId,
    },
    /// This process works on an epoch that another process has ended.
    #[error("epoch {epoch} of this stock was ended by another process; open the stock again")]
    EpochEnded {
        /// The epoch.
        epoch: EpochId,
    },
    /// The peer said what no correct peer says.
    #[error("the peer misbehaved: {what} is {found}, expected {expected}; end the session")]
    PeerMisbehaved {
        /// What of its message.
        what: &'static str,
        /// What it said.
        found: String,
        /// What is possible.
        expected: String,
    },
    /// Instances below the mark were named: they are spent.
    #[error(
        "instances {asked} of component {kind} were named, and all below {mark} are spent; go on \
         from {mark}"
    )]
    Behind {
        /// The component.
        kind: ComponentDigest,
        /// What was named.
        asked: Span,
        /// The first number that is not spent.
        mark: u64,
    },
    /// Less is in stock than was asked for.
    #[error(
        "{asked} instances of component {kind} were asked for and {available} are in stock; \
         prepare more with `tacit prepare`"
    )]
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
         {limit}; raise limit_gib under [stock] in tacit.toml, or run `tacit stock compact`",
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
    #[error(
        "{}: cannot {doing}: the disk is full; free some space on it, for instance by `tacit stock \
         compact`, and repeat the command",
        file.display()
    )]
    DiskFull {
        /// The file.
        file: PathBuf,
        /// What was tried.
        doing: &'static str,
    },
    /// The numbers of a component are used up, at this party or as the peer says of its own.
    #[error(
        "instances {span} of component {kind}: numbers end at 2^32; begin a new epoch with `tacit \
         stock new-epoch --peer PEER`, and have the other party do the same"
    )]
    NumbersUsedUp {
        /// The component.
        kind: ComponentDigest,
        /// The instances that were to be prepared.
        span: Span,
    },
    /// Another process prepares with this peer, runs on the same chain, or opens the folder.
    #[error(
        "another process holds {}; wait until it has finished, or stop it",
        file.display()
    )]
    Busy {
        /// The lock.
        file: PathBuf,
    },
    /// There is no such chain.
    #[error(
        "there is no chain {chain:?} of this protocol with this peer; a run with --chain {chain} \
         that saves values and loads none begins it: of most programs, --entry start"
    )]
    NoChain {
        /// Its name.
        chain: String,
    },
    /// A chain keeps no value of that name.
    #[error(
        "chain {chain:?} keeps no value {value:?}; run a function that saves it before one that \
         loads it"
    )]
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
    #[error(
        "chain {chain:?} was killed and its values are gone: {why}. Both servers remove it with \
         `tacit stock drop-chain` and begin anew, if they still trust each other"
    )]
    ChainKilled {
        /// The chain.
        chain: String,
        /// Why.
        why: String,
    },
    /// A chain is to be killed, and the disk does not take it.
    #[error(
        "chain {chain:?} must be killed ({why}), but the disk does not accept the write: {reason}. \
         Make room or repair the disk before this process ends: until then it does not use the \
         chain"
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
         {expected}; both parties run `tacit stock drop-chain {chain}` and begin it anew"
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
         from an old copy, or is another chain; whoever still has one runs `tacit stock \
         drop-chain {chain}`, and both begin it anew"
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

/// What to do about material that is damaged: the rest of the stock is not.
pub(crate) const CHECK: &str = "Run `tacit stock check`, which withdraws what is damaged";
/// What is to be done about material whose damage [`crate::Stock::check`] has found.
pub(crate) const WITHDRAWN: &str = "It is withdrawn; the peer learns that when you meet, and \
     `tacit prepare` replaces it";
/// What to do about a value that is damaged: its chain cannot go on.
pub(crate) const DROP_CHAIN: &str = "See whether the disk is healthy, and have both parties remove \
     the chain with `tacit stock drop-chain`";
/// What to do about a stock that cannot be trusted as a whole.
pub(crate) const BEGIN_ANEW: &str =
    "See whether the disk is healthy, and begin anew with `tacit stock new-epoch --peer PEER`";

/// What to do about what `tacit stock new-epoch` itself needs to read.
pub(crate) const REMOVE: &str = "See whether the disk is healthy, remove the folder that the file \
     is in, and have the other party run `tacit stock new-epoch --peer PEER`";

impl StockError {
    /// The same with another remedy, where something is corrupted.
    pub(crate) fn advising(mut self, advice: &'static str) -> Self {
        if let Self::Corrupted { remedy, .. } = &mut self {
            *remedy = advice;
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
                BEGIN_ANEW,
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
        remedy: &'static str,
    ) -> Self {
        Self::Corrupted {
            file: file.to_owned(),
            field,
            found: found.into(),
            expected: expected.into(),
            remedy,
        }
    }

    pub(crate) fn misuse(what: impl Into<String>) -> Self {
        Self::ApiMisuse { what: what.into() }
    }
}
