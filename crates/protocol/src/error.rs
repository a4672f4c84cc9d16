//! Errors that end a run: who is to blame, and for what.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use tacit_circuit::Digest;
use tacit_garble::{DecodeError, SchemeId};
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use thiserror::Error;

use crate::message::{AbortReason, Kind};
use crate::party::Peer;
use crate::saved::ChainVersion;
use crate::session::{ProtocolId, Version};

/// The reason that a run ended without a result.
#[derive(Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The peer sent something that no honest peer sends.
    #[error("the peer misbehaved: {0}")]
    PeerMisbehaved(#[from] Misbehaviour),
    /// The peer wants to run something else than this party.
    #[error("the peer is incompatible: {0}")]
    PeerIncompatible(#[from] Incompatibility),
    /// The peer stopped the run and gave a reason.
    #[error("the peer stopped the run: {0}")]
    PeerAborted(AbortReason),
    /// The function keeps values from one run to the next, which the protocol does not support.
    #[error("the function has the saved value {value:?} and the protocol {protocol} keeps none")]
    SavedValue {
        /// The protocol.
        protocol: &'static str,
        /// The value's name.
        value: String,
    },
    /// The function keeps values from one run to the next, which the scheme does not support.
    #[error(
        "values are kept between runs under half-gates with either hash and under three-halves, \
         and not under {scheme}"
    )]
    SchemeKeepsNothing {
        /// The scheme.
        scheme: SchemeId,
    },
    /// Prepared material was not available when it was needed.
    #[error("prepared material is missing: {0}")]
    Material(String),
    /// Prepared material differs from what was stored.
    #[error("prepared material is damaged: {0}")]
    DamagedMaterial(String),
    /// The function exceeds the size that the protocol can hold at once.
    #[error("the function needs {found} bytes of links and prepared takes at most {limit}")]
    TooManyLinks {
        /// The bytes that the function needs.
        found: u64,
        /// The largest number of bytes allowed.
        limit: u64,
    },
    /// A saved value was passed to a run of a chain other than the one that saved it.
    #[error("the saved value {value:?} belongs to another chain of runs")]
    OtherChain {
        /// The value's name.
        value: String,
    },
    /// The function loads a saved value as another type.
    #[error("the saved value {value:?} is {kept} and the function loads it as {wanted}")]
    SavedType {
        /// The value's name.
        value: String,
        /// The type of the port that saved it.
        kept: String,
        /// The type of the port that loads it.
        wanted: String,
    },
    /// The device that makes this party's OTs failed.
    #[error("the GPU that makes oblivious transfers failed: {0}")]
    OtDevice(#[from] tacit_ot::DeviceError),
    /// The session's base OTs give fewer OTs than the run takes.
    #[error(
        "the run takes more oblivious transfers than are left of the {limit} that the session's \
         base OTs give"
    )]
    TransfersUsedUp {
        /// The number of OTs that base OTs give.
        limit: u64,
    },
    /// A statistical security parameter that the protocol does not offer.
    #[error("{found} bits of statistical security are not offered: {least} to {limit} are")]
    SecurityBits {
        /// The requested parameter.
        found: u8,
        /// The smallest parameter offered.
        least: u8,
        /// The largest parameter offered.
        limit: u8,
    },
    /// The keys have no encoding under this run's hashes, or too many of them fall into one shard.
    /// Both happen by chance.
    #[error("the tables cannot be matched under this run's hashes, which is chance: try again")]
    MatchingFailed,
    /// The wire could not move a message, or ended the run. The caller that drives the wire knows
    /// why.
    #[error("the connection to the peer failed")]
    Wire,
    /// The caller broke the contract of this crate.
    #[error("the protocol was used wrongly: {0}")]
    ApiMisuse(&'static str),
}

/// A check of a malicious protocol. Each protocol has its own type of checks.
pub trait Check: Any + fmt::Debug + fmt::Display + Send + Sync {
    /// Returns the party that cheated if the check fails, as the subject of the error message.
    fn cheater(&self) -> &'static str {
        "it"
    }
}

/// Compares by type and text, because a trait object has no derived equality.
impl PartialEq for dyn Check {
    fn eq(&self, other: &Self) -> bool {
        self.type_id() == other.type_id() && self.to_string() == other.to_string()
    }
}

/// Returns the error of a party that caught a cheat by `check`.
pub(crate) fn cheated(check: impl Check) -> Error {
    Misbehaviour::Cheated(Arc::new(check)).into()
}

/// Something that an honest peer never sends.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Misbehaviour {
    /// A message of another kind than the protocol expects at this point.
    #[error("it sent {found} where {expected} was expected")]
    UnexpectedMessage {
        /// The expected kind.
        expected: Kind,
        /// The received kind.
        found: Kind,
    },
    /// A message of no known kind.
    #[error("it sent a message of unknown kind {0}")]
    UnknownKind(u8),
    /// A message of the wrong length.
    #[error("its {kind} message is {found} bytes long where {expected} were expected")]
    WrongLength {
        /// The message.
        kind: Kind,
        /// The expected length in bytes.
        expected: u64,
        /// The received length in bytes.
        found: u64,
    },
    /// The first bytes of the session are not Tacit's.
    #[error("its first message is not a greeting of Tacit; is another program at that address?")]
    NotTacit,
    /// A field holds a value without a meaning.
    #[error("its {kind} message has an invalid {field}")]
    InvalidField {
        /// The message.
        kind: Kind,
        /// The field.
        field: &'static str,
    },
    /// The peer greeted with this party's own nonce.
    #[error("it sent back the greeting of this party")]
    Reflected,
    /// The oblivious transfer detected a fault.
    #[error("oblivious transfer: {0}")]
    ObliviousTransfer(tacit_ot::PeerMisbehaved),
    /// The labels that the peer returned are not those of the circuit.
    #[error("the result that it returned is not authenticated by the circuit's labels")]
    ForgedResult,
    /// A check of a malicious protocol failed.
    #[error("{who} cheated: {0}", who = .0.cheater())]
    Cheated(Arc<dyn Check>),
    /// The result does not decode.
    #[error("its garbled circuit has no result: {0}")]
    Undecodable(#[from] DecodeError),
}

impl Misbehaviour {
    /// Returns the fault of a field that holds a value without a meaning.
    pub const fn invalid(kind: Kind, field: &'static str) -> Self {
        Self::InvalidField { kind, field }
    }
}

/// A difference between the parties. Each variant names both sides' values.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Incompatibility {
    /// The versions of the wire differ.
    #[error("it speaks wire version {theirs} and this party {ours}")]
    Version {
        /// Our version.
        ours: Version,
        /// The peer's.
        theirs: Version,
    },
    /// Both want the same role.
    #[error("it wants to be the {0} too")]
    SameRole(&'static str),
    /// Another function.
    #[error("it wants function {theirs} and this party {ours}")]
    Function {
        /// Our function's digest.
        ours: Digest,
        /// The peer's.
        theirs: Digest,
    },
    /// Another order for a preparation.
    #[error("it orders something other than this party")]
    Order {
        /// Our order's digest.
        ours: Digest,
        /// The peer's.
        theirs: Digest,
    },
    /// Another matching.
    #[error("it was told {theirs}, and this party {ours}")]
    Matching {
        /// The matching that this party was told to run.
        ours: String,
        /// The matching that the peer was told to run.
        theirs: String,
    },
    /// Another part of one job.
    #[error("it was told {theirs} of the job, and this party {ours}")]
    Part {
        /// The part that this party was told to run, in words.
        ours: String,
        /// The part that the peer was told to run, in words.
        theirs: String,
    },
    /// The peer announces the sizes of tables, but this party's run matches no tables.
    #[error("it is about to match tables, and this party is told to run something else")]
    MatchesTables,
    /// The peer announces no sizes of tables, but this party's run matches tables.
    #[error("it is told to run something other than what matches tables as this party does")]
    MatchesNoTables,
    /// Another protocol.
    #[error("{}", protocol(*.ours, *.theirs))]
    Protocol {
        /// Our protocol.
        ours: ProtocolId,
        /// The peer's.
        theirs: ProtocolId,
    },
    /// Another garbling scheme.
    #[error("it wants scheme {theirs} and this party {ours}")]
    Scheme {
        /// Our scheme.
        ours: SchemeId,
        /// The peer's.
        theirs: SchemeId,
    },
    /// A protocol, a scheme or a method of making OTs that this version does not know.
    #[error("it wants a {0} that this version does not know")]
    Unknown(&'static str),
    /// Another statistical security parameter.
    #[error("{}", statistical_security(*.ours, *.theirs))]
    StatisticalSecurity {
        /// Our parameter.
        ours: u8,
        /// The peer's.
        theirs: u8,
    },
    /// Base OTs that rest on another assumption.
    #[error("it wants base OTs from {theirs} and this party {ours}")]
    BaseOt {
        /// Our kind.
        ours: BaseOt,
        /// The peer's.
        theirs: BaseOt,
    },
    /// OTs that are made by another extension.
    #[error("it wants OTs by {theirs} and this party {ours}")]
    OtExtension {
        /// Our extension.
        ours: Extension,
        /// The peer's.
        theirs: Extension,
    },
    /// Another plan for a batch.
    #[error("it plans {theirs} and this party {ours}")]
    BatchPlan {
        /// Our plan.
        ours: String,
        /// The peer's.
        theirs: String,
    },
    /// Another number of circuits for an outsourced run.
    #[error("it was told {theirs} and this party {ours}")]
    Circuits {
        /// Our parameters.
        ours: String,
        /// The peer's.
        theirs: String,
    },
    /// The two parties that keep values hold different chains, or different versions of one chain.
    #[error(
        "the two parties that keep the saved values hold different versions of them ({ours} and \
         {theirs}): the chain is stopped, since one of them went back to an old copy"
    )]
    SavedValues {
        /// The hash of one party's state.
        ours: Digest,
        /// The hash of the other party's state.
        theirs: Digest,
    },
    /// The servers hold another chain than the one that a party pinned, or an older version of it.
    #[error(
        "the run would continue from {}, but chain {pinned} or later is pinned: the pin is \
         mistyped, or those who keep the chain went back to an old copy or run another",
        found.map_or_else(|| "no chain".to_owned(), |found| format!("chain {found}"))
    )]
    Pinned {
        /// The pinned version.
        pinned: ChainVersion,
        /// The version that the servers hold, or `None` where the run would start a chain.
        found: Option<ChainVersion>,
    },
    /// The connections to a party of three are for different runs.
    #[error("the evaluator and the cloud came for two different runs")]
    OtherRun,
    /// The peer takes this server of an outsourced run for the other one.
    #[error("it takes this party for the {taken_for} of the run, but this is the {we_are}")]
    OtherServer {
        /// The server that the peer takes this party for.
        taken_for: Peer,
        /// The role of this party.
        we_are: Peer,
    },
    /// The two parties count the runs of the session differently.
    #[error("it counts this as run {theirs} of the session and this party as run {ours}")]
    RunNumber {
        /// Our count.
        ours: u64,
        /// The peer's.
        theirs: u64,
    },
}

/// Describes two parties that want different protocols.
fn protocol(ours: ProtocolId, theirs: ProtocolId) -> String {
    let what = |protocol| match protocol {
        ProtocolId::Prepare => "a preparation".to_owned(),
        ProtocolId::Offers => "to be told what is offered".to_owned(),
        ProtocolId::Match => "a matching".to_owned(),
        protocol => format!("a run by {protocol}"),
    };
    format!("it wants {} and this party {}", what(theirs), what(ours))
}

/// Describes how two parties' parameters differ. Only `outsourced` runs both with 0 bits (one
/// circuit) and with more.
fn statistical_security(ours: u8, theirs: u8) -> String {
    let circuits = |bits| match bits {
        0 => "one circuit, for parties that follow the protocol",
        _ => "several circuits, against malicious parties",
    };
    if ours == 0 || theirs == 0 {
        let (theirs, ours) = (circuits(theirs), circuits(ours));
        return format!("it was told {theirs} and this party {ours}");
    }
    format!("it wants {theirs} bits of statistical security and this party {ours}")
}

impl Incompatibility {
    /// Returns the error for matchings with these digests.
    pub(crate) fn other_match(ours: Digest, theirs: Digest) -> Self {
        let [ours, theirs] = [ours, theirs].map(|digest| format!("to match {digest}"));
        Self::Matching { ours, theirs }
    }

    /// Returns the reason to send to the peer when this ends a run.
    pub const fn abort_reason(&self) -> AbortReason {
        match self {
            Self::OtherServer { .. } => AbortReason::OtherServer,
            Self::Pinned { .. } => AbortReason::Pinned,
            _ => AbortReason::Incompatible,
        }
    }
}

impl Error {
    /// Returns the check that failed, if it is a `C`.
    pub fn failed_check<C: Check>(&self) -> Option<&C> {
        match self {
            Self::PeerMisbehaved(Misbehaviour::Cheated(check)) => {
                (&**check as &dyn Any).downcast_ref()
            }
            _ => None,
        }
    }

    /// Returns the reason to send to the peer when this error ends a run.
    pub fn abort_reason(&self) -> AbortReason {
        match self {
            Self::PeerMisbehaved(_) => AbortReason::Misbehaved,
            Self::PeerIncompatible(difference) => difference.abort_reason(),
            Self::PeerAborted(_)
            | Self::SavedValue { .. }
            | Self::SchemeKeepsNothing { .. }
            | Self::Material(_)
            | Self::DamagedMaterial(_)
            | Self::TooManyLinks { .. }
            | Self::OtherChain { .. }
            | Self::SavedType { .. }
            | Self::TransfersUsedUp { .. }
            | Self::SecurityBits { .. }
            | Self::MatchingFailed
            | Self::Wire
            | Self::OtDevice(_)
            | Self::ApiMisuse(_) => AbortReason::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_two_types_differ() {
        #[derive(Debug, Error)]
        #[error("it failed")]
        struct One;
        impl Check for One {}
        #[derive(Debug, Error)]
        #[error("it failed")]
        struct Other;
        impl Check for Other {}
        assert_eq!(cheated(One), cheated(One));
        assert_ne!(cheated(One), cheated(Other));
    }
}
