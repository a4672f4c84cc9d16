//! Errors: what went wrong, whose fault it is, and what to do.

use std::{fmt, io};

use tacit_circuit::{CircuitError, Digest};
use tacit_components::library::LibraryError;
use tacit_function::{Function, FunctionError};
use tacit_garble::SchemeId;
use tacit_net::NetError;
use tacit_net::pairing::Refusal;
use tacit_ot::base::BaseOt;
use tacit_protocol::message::AbortReason;
use tacit_protocol::outsourced::Peer as OutsourcedRole;
use tacit_protocol::{Incompatibility, Misbehaviour};
use tacit_stock::{StockError, Tried};
use thiserror::Error;

use crate::driver;

/// Why something did not work.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// An input is missing, unknown, or of the wrong type, length or range.
    #[error("{0}")]
    Input(String),
    /// A circuit cannot be read or built.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// A function cannot be built.
    #[error(transparent)]
    Function(Box<FunctionError>),
    /// A component of the library is unknown, or its parameters are wrong.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The peer sent what no honest peer sends.
    #[error("the peer misbehaved: {0}")]
    PeerMisbehaved(#[from] Misbehaviour),
    /// A check of a preparation's OTs failed: the peer was guessing at the secret of this party's
    /// stock, which is destroyed.
    #[error(
        "the peer misbehaved in a preparation: {check}. It was guessing at the secret of this \
         party's stock, which is destroyed with all that was prepared{}; have the peer drop its \
         half with `tacit stock new-epoch --peer PEER`, and prepare with it again only if you know \
         why it failed",
        not_gone(left.as_deref())
    )]
    StockDestroyed {
        /// The check.
        check: tacit_ot::Check,
        /// Why not all of it is gone, or a chain of values under that secret did not end.
        left: Option<Box<Error>>,
    },
    /// The peer wants to run something other than this party.
    #[error("the peer is incompatible: {0}")]
    PeerIncompatible(#[from] Incompatibility),
    /// The peer wants another function than this party was told to run.
    #[error(
        "the peer is incompatible: it wants function {}… and this party {}…, {name}; give both \
         the same file, --param, --public, --entry, --owner, --result, --type and --bit-order, and \
         compare what `tacit inspect` prints with them at both: of a program names and the order \
         of variants count, too",
        short(theirs),
        short(ours)
    )]
    OtherFunction {
        /// The name of this party's function, and its parameters.
        name: String,
        /// This party's digest.
        ours: Digest,
        /// The peer's.
        theirs: Digest,
    },
    /// The peer gave up and said why.
    #[error("the peer stopped the run: {0}")]
    PeerAborted(AbortReason),
    /// What ended a run of three, and in the session with which of the others.
    #[error("{}", OfParty(*party, error))]
    OfParty {
        /// Whose session it was.
        party: OutsourcedRole,
        /// What happened there.
        error: Box<Self>,
    },
    /// The peer has ended the session between two runs.
    #[error(
        "the peer ended the session after {runs} runs; give both sides the same --repeat, or open \
         a new session for more"
    )]
    SessionOver {
        /// How many ran.
        runs: u64,
    },
    /// The network, the peer's identity or an identity file.
    #[error(transparent)]
    Network(#[from] NetError),
    /// The system gives no randomness.
    #[error("the operating system did not provide randomness: {0}")]
    Randomness(#[from] getrandom::Error),
    /// The function keeps values from one run to the next, and the protocol does not.
    #[error(
        "the function has the saved value {value:?} and the protocol {protocol} keeps none; \
         choose a protocol that does, or give the value as an input"
    )]
    SavedValue {
        /// The protocol.
        protocol: &'static str,
        /// The value's name.
        value: String,
    },
    /// The function keeps values from one run to the next, which the scheme does not allow.
    #[error(
        "values are kept between runs under half-gates with either hash and under three-halves, \
         and not under {scheme}; give both parties one of these --scheme"
    )]
    SchemeKeepsNothing {
        /// The scheme.
        scheme: SchemeId,
    },
    /// The stock of prepared material.
    #[error(transparent)]
    Stock(Box<StockError>),
    /// Prepared material could not be had when it was due.
    #[error("prepared material is missing: {0}")]
    Material(String),
    /// No checked execution of the function is in stock, and `batch` makes none on the spot.
    #[error(
        "no checked execution of {function} at s = {statistical_security_bits} is in stock with \
         this peer in this role and under this scheme; both parties prepare some with `tacit \
         prepare {function} --protocol batch --security-bits {statistical_security_bits} --runs N`"
    )]
    NothingChecked {
        /// The function's name.
        function: String,
        /// s of the run.
        statistical_security_bits: u8,
    },
    /// The stock of one of the parties has too little for a run that was to take all from it.
    #[error(
        "the parties do not have enough in stock for a run of {function}; both prepare some with \
         `tacit prepare`, or let the run make what is missing"
    )]
    StockLacks {
        /// The function's name.
        function: String,
    },
    /// The peer did not finish too many tries: none is planned any more.
    #[error(
        "{unfinished} {} with this peer were started and not finished, and each may have been a \
         try to cheat: no security makes up for that number. Find out why they did not end, and \
         then clear the count with `tacit stock clear-tries --peer PEER`",
        tried_text(*.tried)
    )]
    TooManyTries {
        /// Of what.
        tried: Tried,
        /// How many.
        unfinished: u64,
    },
    /// An execution of the function takes more room than a stock has for one.
    #[error(
        "an execution of {function} takes {} MiB at the evaluator where {executions} are prepared \
         together, and a stock keeps at most {} MiB of one; {}",
        .bytes >> 20,
        .limit >> 20,
        larger_batch(*.enough)
    )]
    ExecutionTooLarge {
        /// The function's name.
        function: String,
        /// How many are prepared together.
        executions: u64,
        /// Bytes of one.
        bytes: u64,
        /// Most bytes of one.
        limit: u64,
        /// How many prepared together are small enough, since each then takes fewer circuits.
        enough: Option<u64>,
    },
    /// `batch` does not run under this scheme.
    #[error(
        "the protocol batch sends tables before inputs are chosen, which {scheme} is not made for; \
         choose half-gates or three-halves at both parties"
    )]
    SchemeNotForBatch {
        /// The scheme.
        scheme: SchemeId,
    },
    /// `authenticated` does not run under this scheme.
    #[error(
        "the protocol authenticated garbles half-gates, and not under {scheme}; choose half-gates \
         with either hash at both parties"
    )]
    SchemeNotForAuthenticated {
        /// The scheme.
        scheme: SchemeId,
    },
    /// A statistical security parameter that the protocol does not offer.
    #[error(
        "{found} bits of statistical security are not offered; ask for {least} to {limit}. Fewer \
         are no security against a malicious party: for measurements alone, batch takes them with \
         insecure-for-measurements"
    )]
    SecurityBits {
        /// What was asked for.
        found: u8,
        /// The least that is offered.
        least: u8,
        /// The most that there is.
        limit: u8,
    },
    /// `outsourced` does not run under this scheme.
    #[error(
        "the protocol outsourced does not run under {scheme}; choose half-gates with either hash \
         at all three parties"
    )]
    SchemeNotForOutsourced {
        /// The scheme.
        scheme: SchemeId,
    },
    /// A kept value is of another chain than the run.
    #[error(
        "the kept value {value:?} belongs to another chain of runs; values of different chains \
         cannot be used together"
    )]
    OtherChain {
        /// The value's name.
        value: String,
    },
    /// A kept value is of another type than the function loads.
    #[error(
        "the kept value {value:?} is {kept} and the function loads it as {wanted}; load it with \
         the type and the --param with which it was saved"
    )]
    SavedType {
        /// The value's name.
        value: String,
        /// The type of the port that saved it.
        kept: String,
        /// The type of the port that loads it.
        wanted: String,
    },
    /// A chain's base OTs do not rest on what this run was asked to rest on.
    #[error(
        "chain {chain:?} was begun with base OTs from {kept}, on which all its runs rest, and this \
         run is to rest on {asked}; leave out --base-ot at both, or begin another chain with it"
    )]
    ChainBaseOt {
        /// The chain.
        chain: String,
        /// On what they rest.
        kept: BaseOt,
        /// What was asked for.
        asked: BaseOt,
    },
    /// The two parties that keep a chain were told different things of it.
    #[error("the parties disagree on the chain: {0}")]
    ChainsDiffer(String),
    /// The chain is for the runs of another program.
    #[error(
        "chain {chain:?} is for the runs of another program: its states, its params or what one of \
         its runs does differ from this one's; run the program that began the chain, with the same \
         --param, or move the chain to this one: `tacit stock adopt {chain} PROGRAM` at both that \
         keep it"
    )]
    OtherProgram {
        /// The chain.
        chain: String,
    },
    /// The function saves a value that the chain already keeps, without loading it.
    #[error(
        "chain {chain:?} keeps {value:?}, and the function saves it anew without loading it, so \
         that what is kept would be lost; if that is meant, both that keep it give --replace, or \
         replace = true in [[serve.function]]"
    )]
    Replaces {
        /// The chain.
        chain: String,
        /// The value.
        value: String,
    },
    /// The function is beyond what `prepared` holds at once.
    #[error(
        "the function needs {found} bytes of links and the protocol prepared takes at most \
         {limit}; run it by the protocol direct"
    )]
    TooManyLinks {
        /// Bytes that it needs.
        found: u64,
        /// Most bytes.
        limit: u64,
    },
    /// The session's oblivious transfers are used up.
    #[error(
        "the session's oblivious transfers are used up after {limit}, one for each input bit of \
         the evaluator; open a new session"
    )]
    TransfersUsedUp {
        /// How many a session gives.
        limit: u64,
    },
    /// No protocol protects against what was asked for.
    #[error(
        "no protocol of this version is secure against {asked} parties: {known}; ask for one of \
         these, if your peer can be relied on for it, and do not run otherwise"
    )]
    NoProtocol {
        /// The threat model that was asked for.
        asked: String,
        /// What there is.
        known: String,
    },
    /// The library was used wrongly.
    #[error("tacit was used wrongly: {0}")]
    ApiMisuse(&'static str),
}

/// The kinds of errors that a caller treats differently, with the exit code of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Category {
    /// The command or the library was used wrongly.
    Usage = 2,
    /// An input, circuit, function or key file is not right.
    Input = 3,
    /// The peer misbehaved.
    Peer = 4,
    /// The parties want different things.
    Incompatible = 5,
    /// The network or the peer failed.
    Network = 6,
    /// The stock is damaged, used up or not to be trusted.
    Stock = 7,
    /// A person or a signal cancelled the run.
    Cancelled = 130,
}

/// The first digits of a digest, by which people tell two apart.
fn short(digest: &Digest) -> String {
    digest.to_string().chars().take(8).collect()
}

/// What [`Error::StockDestroyed`] says of what is left.
fn not_gone(left: Option<&Error>) -> String {
    left.map_or_else(String::new, |error| {
        format!(
            ", but for what the disk did not let go ({error}): run `tacit stock new-epoch` here, \
             too, before anything else"
        )
    })
}

/// How an error reads that happened in the session with this party of three.
struct OfParty<'e>(OutsourcedRole, &'e Error);

impl fmt::Display for OfParty<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(party, error) = self;
        match error {
            Error::PeerMisbehaved(what) => write!(f, "the {party} misbehaved: {what}"),
            Error::PeerIncompatible(what) => write!(f, "the {party} is incompatible: {what}"),
            Error::PeerAborted(AbortReason::Misbehaved) => write!(
                f,
                "the {party} stopped the run: it found that one of the two others broke the \
                 protocol; see the error that it printed"
            ),
            Error::PeerAborted(AbortReason::Incompatible) => write!(
                f,
                "the {party} stopped the run: two of the three were told to run different things; \
                 see the error that it printed"
            ),
            Error::PeerAborted(reason) => write!(f, "the {party} stopped the run: {reason}"),
            Error::Network(NetError::Unreachable {
                address,
                after,
                reason,
            }) => write!(
                f,
                "could not reach the {party} at {address} within {after:?}: {reason}; see whether \
                 its command runs and listens there, and no firewall is in the way"
            ),
            error => write!(f, "in the session with the {party}: {error}"),
        }
    }
}

impl Error {
    /// Of three parties, the one in whose session it happened, where it was in one.
    #[must_use]
    pub fn party(&self) -> Option<OutsourcedRole> {
        match self {
            Self::OfParty { party, .. } => Some(*party),
            _ => None,
        }
    }

    /// The error itself, whichever of three parties it was with.
    #[must_use]
    pub fn cause(&self) -> &Self {
        match self {
            Self::OfParty { error, .. } => error.cause(),
            error => error,
        }
    }

    /// This error as one of the session with `party`. What is not of one session stays as it is: a
    /// failed check, whose text names who may have cheated, this party's own error, and the end of
    /// the time for a whole run.
    #[must_use]
    pub fn of_party(self, party: OutsourcedRole) -> Self {
        let is_of_session = match &self {
            Self::PeerMisbehaved(what) => !matches!(what, Misbehaviour::Cheated(_)),
            Self::PeerIncompatible(_) | Self::OtherFunction { .. } | Self::PeerAborted(_) => true,
            Self::Network(error) => !matches!(
                error,
                NetError::Cancelled { .. } | NetError::TimeLimit { .. }
            ),
            Self::Stock(error) => matches!(**error, StockError::PeerMisbehaved { .. }),
            _ => false,
        };
        match is_of_session {
            true => Self::OfParty {
                party,
                error: Box::new(self),
            },
            false => self,
        }
    }

    /// What a peer did or told, as the protocol's states have it.
    pub(crate) fn of_protocol(&self) -> Option<tacit_protocol::Error> {
        match self.cause() {
            Self::PeerMisbehaved(what) => Some(what.clone().into()),
            Self::PeerIncompatible(what) => Some(what.clone().into()),
            Self::OtherFunction { ours, theirs, .. } => {
                let (ours, theirs) = (*ours, *theirs);
                Some(Incompatibility::Function { ours, theirs }.into())
            }
            Self::PeerAborted(reason) => Some(tacit_protocol::Error::PeerAborted(*reason)),
            _ => None,
        }
    }

    /// The same error, which names `function` where the peer wants another one.
    pub(crate) fn of_function(self, function: &Function) -> Self {
        match self {
            Self::PeerIncompatible(Incompatibility::Function { ours, theirs }) => {
                let mut name = function.name().to_owned();
                for (parameter, value) in function.parameters() {
                    name += &format!(" {parameter}={value}");
                }
                Self::OtherFunction { name, ours, theirs }
            }
            other => other,
        }
    }

    /// The same error, which calls this party's function `called` where the peer wants another one:
    /// as the party was told to run it, with parameters.
    #[must_use]
    pub fn calling_function(mut self, called: &str) -> Self {
        let error = match &mut self {
            Self::OfParty { error, .. } => &mut **error,
            error => error,
        };
        if let Self::OtherFunction { name, .. } = error {
            called.clone_into(name);
        }
        self
    }

    /// The reason to tell the peer when this error ends what both do.
    #[must_use]
    pub fn abort_reason(&self) -> AbortReason {
        driver::reason(self, None).unwrap_or(AbortReason::Failed)
    }

    /// The stock has too little for a run of `function`.
    pub(crate) fn stock_lacks(function: &Function) -> Self {
        let function = function.name().to_owned();
        Self::StockLacks { function }
    }

    /// The check of OTs that caught the peer, if one did.
    pub(crate) fn failed_ot_check(&self) -> Option<tacit_ot::Check> {
        match self {
            Self::PeerMisbehaved(Misbehaviour::ObliviousTransfer(
                tacit_ot::PeerMisbehaved::CheckFailed { check },
            )) => Some(*check),
            _ => None,
        }
    }

    /// What kind of error it is.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::OfParty { error, .. } => error.category(),
            Self::Input(_) | Self::Circuit(_) | Self::Function(_) | Self::Library(_) => {
                Category::Input
            }
            Self::PeerMisbehaved(_)
            | Self::StockDestroyed { .. }
            | Self::PeerAborted(AbortReason::Misbehaved) => Category::Peer,
            Self::PeerIncompatible(_)
            | Self::OtherFunction { .. }
            | Self::PeerAborted(
                AbortReason::Incompatible
                | AbortReason::NotAllowed
                | AbortReason::TooOften
                | AbortReason::OrderNotAllowed
                | AbortReason::NoRoom
                | AbortReason::DiskFull
                | AbortReason::OtherServer,
            ) => Category::Incompatible,
            Self::PeerAborted(AbortReason::NothingInStock) => Category::Stock,
            Self::Network(error) => network_category(error),
            Self::PeerAborted(_) | Self::SessionOver { .. } | Self::Randomness(_) => {
                Category::Network
            }
            Self::Stock(error) => match **error {
                StockError::PeerMisbehaved { .. } => Category::Peer,
                StockError::ApiMisuse { .. } => Category::Usage,
                StockError::NotAllowed { .. } => Category::Incompatible,
                _ => Category::Stock,
            },
            Self::Material(_)
            | Self::NothingChecked { .. }
            | Self::StockLacks { .. }
            | Self::TooManyTries { .. }
            | Self::OtherChain { .. }
            | Self::SavedType { .. }
            | Self::ChainBaseOt { .. }
            | Self::OtherProgram { .. }
            | Self::Replaces { .. } => Category::Stock,
            Self::ChainsDiffer(_) => Category::Incompatible,
            Self::SavedValue { .. }
            | Self::SchemeKeepsNothing { .. }
            | Self::TransfersUsedUp { .. }
            | Self::ExecutionTooLarge { .. }
            | Self::SchemeNotForBatch { .. }
            | Self::SchemeNotForAuthenticated { .. }
            | Self::SchemeNotForOutsourced { .. }
            | Self::SecurityBits { .. }
            | Self::TooManyLinks { .. }
            | Self::NoProtocol { .. }
            | Self::ApiMisuse(_) => Category::Usage,
        }
    }
}

/// What the tries of a protocol are, for people.
fn tried_text(tried: Tried) -> &'static str {
    match tried {
        Tried::Batches => "batches",
        Tried::Authenticated => "runs by authenticated",
    }
}

/// What to do where an execution is too large.
fn larger_batch(enough: Option<u64>) -> String {
    match enough {
        Some(count) => format!(
            "prepare more of them together, which takes fewer circuits for each: --runs {count} at \
             both parties is enough"
        ),
        None => "no larger batch makes it small enough: cut the function into smaller ones, and \
                 run these one after the other"
            .to_owned(),
    }
}

fn network_category(error: &NetError) -> Category {
    match error {
        NetError::Cancelled { .. } => Category::Cancelled,
        NetError::TooLong { .. } | NetError::WrongFrame { .. } => Category::Peer,
        NetError::WrongIdentity { .. } | NetError::Refused { .. } | NetError::OneSidedTls => {
            Category::Incompatible
        }
        NetError::Pairing(Refusal::Malformed) => Category::Peer,
        NetError::Pairing(_) => Category::Incompatible,
        NetError::OnlyOthers { reason, .. } => network_category(reason),
        NetError::NotLoopback { .. } => Category::Usage,
        NetError::Address { reason, .. } if reason.kind() == io::ErrorKind::InvalidInput => {
            Category::Usage
        }
        NetError::IdentityExists { .. }
        | NetError::IdentityExposed { .. }
        | NetError::IdentityFile { .. }
        | NetError::IdentityMalformed { .. }
        | NetError::Invitations { .. }
        | NetError::Clock
        | NetError::IdentityText { .. }
        | NetError::KeyElsewhere => Category::Input,
        _ => Category::Network,
    }
}

impl From<StockError> for Error {
    fn from(error: StockError) -> Self {
        Self::Stock(Box::new(error))
    }
}

impl From<FunctionError> for Error {
    fn from(error: FunctionError) -> Self {
        Self::Function(Box::new(error))
    }
}

impl From<tacit_protocol::Error> for Error {
    fn from(error: tacit_protocol::Error) -> Self {
        use tacit_protocol::Error as Protocol;
        match error {
            Protocol::PeerMisbehaved(fault) => Self::PeerMisbehaved(fault),
            Protocol::PeerIncompatible(difference) => Self::PeerIncompatible(difference),
            Protocol::PeerAborted(reason) => Self::PeerAborted(reason),
            Protocol::SavedValue { protocol, value } => Self::SavedValue { protocol, value },
            Protocol::SchemeKeepsNothing { scheme } => Self::SchemeKeepsNothing { scheme },
            Protocol::Material(what) => Self::Material(what),
            Protocol::TooManyLinks { found, limit } => Self::TooManyLinks { found, limit },
            Protocol::TransfersUsedUp { limit } => Self::TransfersUsedUp { limit },
            Protocol::SecurityBits {
                found,
                least,
                limit,
            } => Self::SecurityBits {
                found,
                least,
                limit,
            },
            Protocol::OtherChain { value } => Self::OtherChain { value },
            Protocol::SavedType {
                value,
                kept,
                wanted,
            } => Self::SavedType {
                value,
                kept,
                wanted,
            },
            Protocol::ApiMisuse(what) => Self::ApiMisuse(what),
            _ => Self::ApiMisuse("an error of the protocol that this crate does not know"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do_and_only_a_busy_peer_is_asked_again() {
        for (reason, category) in [
            (AbortReason::NotAllowed, Category::Incompatible),
            (AbortReason::Busy, Category::Network),
            (AbortReason::TooOften, Category::Incompatible),
            (AbortReason::OrderNotAllowed, Category::Incompatible),
            (AbortReason::NoRoom, Category::Incompatible),
            (AbortReason::DiskFull, Category::Incompatible),
            (AbortReason::OtherServer, Category::Incompatible),
            (AbortReason::NothingInStock, Category::Stock),
        ] {
            let error = Error::PeerAborted(reason);
            assert_eq!(error.category(), category, "{error}");
            let text = error.to_string();
            assert!(
                text.split_once("; ").is_some() && !text.contains("  "),
                "{text}"
            );
        }
    }

    #[test]
    fn a_peer_is_told_that_there_is_no_room() {
        let full = StockError::Full {
            folder: "s".into(),
            what: "a lot".to_owned(),
            needed: 2,
            held: 1,
            limit: 2,
        };
        let disk_full = StockError::DiskFull {
            file: "s/index.db".into(),
            doing: "write it",
        };
        for (error, reason) in [
            (full, AbortReason::NoRoom),
            (disk_full, AbortReason::DiskFull),
        ] {
            let error = Error::from(error);
            assert_eq!(error.category(), Category::Stock);
            assert_eq!(error.abort_reason(), reason, "{error}");
        }
    }

    #[test]
    fn a_host_that_nobody_knows_is_the_networks_and_no_address_is_the_callers() {
        let category = |kind: io::ErrorKind| {
            let address = String::new();
            let reason = kind.into();
            Error::from(NetError::Address { address, reason }).category()
        };
        assert_eq!(category(io::ErrorKind::InvalidInput), Category::Usage);
        assert_eq!(category(io::ErrorKind::Other), Category::Network);
    }
}
