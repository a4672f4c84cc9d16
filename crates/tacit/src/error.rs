//! Errors: what went wrong, and who caused it. [`Error::advice`] says what to do.

mod category;

use std::fmt;

use tacit_circuit::{CircuitError, Digest};
use tacit_components::library::LibraryError;
use tacit_function::{Function, FunctionError};
use tacit_garble::SchemeId;
use tacit_net::{Lane, NetError};
use tacit_ot::base::BaseOt;
use tacit_protocol::matching::TooManyRows;
use tacit_protocol::message::AbortReason;
use tacit_protocol::outsourced::Peer as OutsourcedRole;
use tacit_protocol::{Error as ProtocolError, Incompatibility, Misbehaviour};
use tacit_stock::{StockError, Tried};
use thiserror::Error;

pub use category::Category;

use crate::advice::Advice;
use crate::driver;
use crate::protocols::Protocol;
use crate::session::DifferingParameter;

/// An error of this crate.
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
    /// The peer broke the protocol or disagrees with this party, or the protocol does not support
    /// the request.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// A check of a preparation's OTs failed: the peer was guessing at the secret of this party's
    /// stock, which is destroyed.
    #[error(
        "the peer misbehaved in a preparation: {check}. It was guessing at the secret of this \
         party's stock, which is destroyed with all that was prepared{}",
        not_gone(left.as_deref())
    )]
    StockDestroyed {
        /// The check.
        check: tacit_ot::Check,
        /// The reason why some of the stock could not be destroyed, or why a chain of values under
        /// its secret did not end.
        left: Option<Box<Error>>,
    },
    /// The peer wants to run another function than this party.
    #[error("the peer is incompatible: {}", other_function(name, [ours, theirs], differing))]
    OtherFunction {
        /// The name of this party's function, and its parameters.
        name: Box<str>,
        /// This party's digest.
        ours: Digest,
        /// The peer's digest.
        theirs: Digest,
        /// The parameters that differ, if the peer tells its own.
        differing: Box<[DifferingParameter]>,
    },
    /// The error that ended a run of three parties, and the session that it occurred in.
    #[error("{}", OfParty(*party, error))]
    OfParty {
        /// The party at the other end of that session.
        party: OutsourcedRole,
        /// The error.
        error: Box<Self>,
    },
    /// The protocol does not run joins.
    #[error("a join runs by the protocol gmw alone, and not by {}", protocol.name())]
    JoinsNot {
        /// The protocol.
        protocol: Protocol,
    },
    /// The parties gave different values for a size of a program's tables.
    #[error("the peer is incompatible: it says {name} = {theirs}, and this party was told {ours}")]
    OtherSize {
        /// The program's name for it.
        name: String,
        /// This party's value.
        ours: u64,
        /// The peer's.
        theirs: u64,
    },
    /// The peer has more keys to match than this party takes.
    #[error("the peer has {found} keys to match, and this party takes {most} at most")]
    TooManyPeerKeys {
        /// The number of the peer's keys.
        found: u64,
        /// The largest number that this party takes.
        most: u64,
    },
    /// The peer has ended the session between two runs.
    #[error("the peer ended the session after {runs} runs")]
    SessionOver {
        /// The number of runs before that.
        runs: u64,
    },
    /// An error of the network, the peer's identity or an identity file.
    #[error(transparent)]
    Network(#[from] NetError),
    /// The system provides no randomness.
    #[error("the operating system did not provide randomness: {0}")]
    Randomness(#[from] getrandom::Error),
    /// An error of the stock of prepared material.
    #[error(transparent)]
    Stock(Box<StockError>),
    /// Prepared material was not available when it was needed.
    #[error("prepared material is missing: {what}")]
    Material {
        /// The missing material and the reason.
        what: String,
        /// The remedy.
        advice: Advice,
    },
    /// No checked execution of the function is in stock, and `batch` makes none on the spot.
    #[error(
        "no checked execution of {function} at s = {statistical_security_bits} is in stock with \
         this peer in this role and under this scheme"
    )]
    NothingChecked {
        /// The function's name.
        function: String,
        /// The s of the run.
        statistical_security_bits: u8,
    },
    /// The stock of one of the parties has too little for a run that was to take everything from
    /// it.
    #[error("the parties do not have enough in stock for a run of {function}")]
    StockLacks {
        /// The function's name.
        function: String,
    },
    /// The peer left too many tries unfinished, so that no further run is planned.
    #[error(
        "{unfinished} {} with this peer were started and not finished, and each may have been a \
         try to cheat: no security makes up for that number",
        tried_text(*.tried)
    )]
    TooManyTries {
        /// The kind of tries.
        tried: Tried,
        /// The number of unfinished tries.
        unfinished: u64,
    },
    /// An execution of the function takes more space than a stock allows for one.
    #[error(
        "an execution of {function} takes {} MiB at the evaluator where {executions} are prepared \
         together, and a stock keeps at most {} MiB of one",
        .bytes >> 20,
        .limit >> 20
    )]
    ExecutionTooLarge {
        /// The function's name.
        function: String,
        /// The number of executions that are prepared together.
        executions: u64,
        /// The size of one execution in bytes.
        bytes: u64,
        /// The largest size of one execution in bytes.
        limit: u64,
        /// The number of executions to prepare together so that each fits. The more are prepared
        /// together, the fewer circuits each takes.
        enough: Option<u64>,
    },
    /// The protocol does not run under this scheme.
    #[error("{}", scheme_not_for(*.protocol, *.scheme))]
    SchemeNotFor {
        /// The protocol.
        protocol: Protocol,
        /// The scheme.
        scheme: SchemeId,
    },
    /// The base OTs of a chain do not rest on the assumption that this run asks for.
    #[error(
        "chain {chain:?} was started with base OTs from {kept}, which all its runs use, and this \
         run asks for {asked}"
    )]
    ChainBaseOt {
        /// The chain.
        chain: String,
        /// The kind of base OTs that the chain has.
        kept: BaseOt,
        /// The kind that was asked for.
        asked: BaseOt,
    },
    /// The two parties that keep a chain were given different settings for it.
    #[error("the parties disagree on the chain: {what}")]
    ChainsDiffer {
        /// The difference.
        what: String,
        /// The remedy.
        advice: Advice,
    },
    /// Another process of this party keeps the peer's chains of this name.
    #[error(
        "chain {chain:?} of this peer is kept by {}, and this is lane {here}",
        home.map_or_else(|| "no process of this party".to_owned(), |home| format!("lane {home}"))
    )]
    ChainElsewhere {
        /// The chain.
        chain: String,
        /// The process that keeps it, if any may.
        home: Option<Lane>,
        /// This process.
        here: Lane,
    },
    /// The chain belongs to another program.
    #[error(
        "chain {chain:?} is for the runs of another program: its states, its parameters or the \
         meaning of a run differ from this one's"
    )]
    OtherProgram {
        /// The chain.
        chain: String,
    },
    /// The function saves a value that the chain already keeps, without loading it.
    #[error(
        "chain {chain:?} keeps {value:?}, and the function saves it without loading it, so the \
         kept value would be lost"
    )]
    Replaces {
        /// The chain.
        chain: String,
        /// The value.
        value: String,
    },
    /// No protocol protects under the threat model that was asked for.
    #[error("no protocol of this version is secure against {asked} parties: {known}")]
    NoProtocol {
        /// The threat model that was asked for.
        asked: String,
        /// The threat models that there are.
        known: String,
    },
    /// The library was used in a wrong way.
    #[error("tacit was used wrongly: {0}")]
    ApiMisuse(&'static str),
}

/// Returns the first digits of a digest, enough for people to tell two apart.
fn short(digest: &Digest) -> String {
    digest.to_string().chars().take(8).collect()
}

/// Formats [`Error::OtherFunction`].
fn other_function(name: &str, digests: [&Digest; 2], differing: &[DifferingParameter]) -> String {
    let [ours, theirs] = digests.map(short);
    let differ = format!("it wants function {theirs}… and this party {ours}…");
    if differing.is_empty() {
        return format!("{differ}, {name}");
    }
    let values = differing.iter().map(|parameter| {
        let DifferingParameter { name, ours, theirs } = parameter;
        format!("{name} is {ours} here and {theirs} at the peer")
    });
    format!("{differ}: {}", values.collect::<Vec<_>>().join(", "))
}

/// Formats the part of [`Error::StockDestroyed`] about the rest.
fn not_gone(left: Option<&Error>) -> String {
    left.map_or_else(String::new, |error| {
        format!(", except for files that could not be destroyed ({error})")
    })
}

/// Displays an error from the session with this party of a run of three.
struct OfParty<'e>(OutsourcedRole, &'e Error);

impl fmt::Display for OfParty<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(party, error) = self;
        match error {
            Error::Protocol(error) => match error {
                ProtocolError::PeerMisbehaved(what) => write!(f, "the {party} misbehaved: {what}"),
                ProtocolError::PeerIncompatible(what) => {
                    write!(f, "the {party} is incompatible: {what}")
                }
                ProtocolError::PeerAborted(AbortReason::Misbehaved) => write!(
                    f,
                    "the {party} stopped the run: it found that one of the two others broke the \
                     protocol"
                ),
                ProtocolError::PeerAborted(AbortReason::Incompatible) => write!(
                    f,
                    "the {party} stopped the run: two of the three were told to run different \
                     things"
                ),
                ProtocolError::PeerAborted(reason) => {
                    write!(f, "the {party} stopped the run: {reason}")
                }
                error => write!(f, "in the session with the {party}: {error}"),
            },
            Error::Network(NetError::Unreachable {
                address,
                after,
                reason,
            }) => write!(
                f,
                "could not reach the {party} at {address} within {after:?}: {reason}"
            ),
            error => write!(f, "in the session with the {party}: {error}"),
        }
    }
}

impl Error {
    /// Returns the party in whose session the error occurred, in a run of three parties.
    pub fn party(&self) -> Option<OutsourcedRole> {
        match self {
            Self::OfParty { party, .. } => Some(*party),
            _ => None,
        }
    }

    /// Returns the error itself, without the party in whose session it occurred.
    pub fn cause(&self) -> &Self {
        match self {
            Self::OfParty { error, .. } => error.cause(),
            error => error,
        }
    }

    /// Marks this error as one from the session with `party`. Some errors do not belong to one
    /// session and stay unchanged: a failed check, whose text names who may have cheated, this
    /// party's own error, and the end of the time for a whole run.
    #[must_use]
    pub fn of_party(self, party: OutsourcedRole) -> Self {
        let is_of_session = match &self {
            Self::Protocol(error) => match error {
                ProtocolError::PeerMisbehaved(what) => !matches!(what, Misbehaviour::Cheated(_)),
                ProtocolError::PeerIncompatible(_) | ProtocolError::PeerAborted(_) => true,
                _ => false,
            },
            Self::OtherFunction { .. } => true,
            Self::Network(error) => !matches!(
                error,
                NetError::Cancelled { .. } | NetError::TimeLimit { .. }
            ),
            Self::Stock(error) => matches!(**error, StockError::PeerMisbehaved { .. }),
            _ => false,
        };
        if !is_of_session {
            return self;
        }
        Self::OfParty {
            party,
            error: Box::new(self),
        }
    }

    /// Returns the protocol's error inside this one, without the party in whose session it
    /// occurred.
    pub(crate) fn of_protocol(&self) -> Option<&ProtocolError> {
        match self.cause() {
            Self::Protocol(error) => Some(error),
            _ => None,
        }
    }

    /// Replaces the name of this party's function in [`Error::OtherFunction`] by `called`, the name
    /// and parameters that the user gave.
    #[must_use]
    pub fn calling_function(mut self, called: &str) -> Self {
        let error = match &mut self {
            Self::OfParty { error, .. } => &mut **error,
            error => error,
        };
        if let Self::OtherFunction { name, .. } = error {
            *name = called.into();
        }
        self
    }

    /// Returns the reason to tell the peer when this error ends the run or preparation.
    pub fn abort_reason(&self) -> AbortReason {
        driver::reason(self, None).unwrap_or(AbortReason::Failed)
    }

    /// Returns the error of missing material, which `what` describes.
    pub(crate) fn material(what: impl Into<String>, advice: Advice) -> Self {
        let what = what.into();
        Self::Material { what, advice }
    }

    /// Returns the error of stored material that differs from its record.
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        ProtocolError::DamagedMaterial(what.into()).into()
    }

    /// Returns the error of a stock that has too little for a run of `function`.
    pub(crate) fn stock_lacks(function: &Function) -> Self {
        let function = function.name().to_owned();
        Self::StockLacks { function }
    }

    /// Returns the check of OTs that caught the peer, if one did.
    pub(crate) fn failed_ot_check(&self) -> Option<tacit_ot::Check> {
        match self {
            Self::Protocol(ProtocolError::PeerMisbehaved(Misbehaviour::ObliviousTransfer(
                tacit_ot::PeerMisbehaved::CheckFailed { check },
            ))) => Some(*check),
            _ => None,
        }
    }
}

/// Formats [`Error::SchemeNotFor`].
fn scheme_not_for(protocol: Protocol, scheme: SchemeId) -> String {
    let name = protocol.name();
    match protocol {
        Protocol::Batch => format!(
            "the protocol {name} sends tables before inputs are chosen, which {scheme} is not made \
             for"
        ),
        Protocol::Authenticated => {
            format!("the protocol {name} garbles half-gates, and not under {scheme}")
        }
        _ => format!("the protocol {name} does not run under {scheme}"),
    }
}

/// Returns a word for the tries of a protocol.
fn tried_text(tried: Tried) -> &'static str {
    match tried {
        Tried::Batches => "batches",
        Tried::Authenticated => "runs by authenticated",
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

impl From<Misbehaviour> for Error {
    fn from(fault: Misbehaviour) -> Self {
        Self::Protocol(fault.into())
    }
}

impl From<TooManyRows> for Error {
    fn from(wrong: TooManyRows) -> Self {
        Self::Input(wrong.to_string())
    }
}

impl From<Incompatibility> for Error {
    fn from(difference: Incompatibility) -> Self {
        Self::Protocol(difference.into())
    }
}
