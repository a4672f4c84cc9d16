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

/// Why a run ended without a result.
#[derive(Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The peer sent what no honest peer sends.
    #[error("the peer misbehaved: {0}")]
    PeerMisbehaved(#[from] Misbehaviour),
    /// The peer wants to run something other than this party.
    #[error("the peer is incompatible: {0}")]
    PeerIncompatible(#[from] Incompatibility),
    /// The peer gave up and said why.
    #[error("the peer stopped the run: {0}")]
    PeerAborted(AbortReason),
    /// The function keeps values from one run to the next, and the protocol does not.
    #[error("the function has the saved value {value:?} and the protocol {protocol} keeps none")]
    SavedValue {
        /// The protocol.
        protocol: &'static str,
        /// The value's name.
        value: String,
    },
    /// The function keeps values from one run to the next, which the scheme does not allow.
    #[error(
        "values are kept between runs under half-gates with either hash and under three-halves, \
         and not under {scheme}"
    )]
    SchemeKeepsNothing {
        /// The scheme.
        scheme: SchemeId,
    },
    /// Prepared material could not be had when it was due.
    #[error("prepared material is missing: {0}")]
    Material(String),
    /// Prepared material is not as it was kept.
    #[error("prepared material is damaged: {0}")]
    DamagedMaterial(String),
    /// The function is beyond what the protocol holds at once.
    #[error("the function needs {found} bytes of links and prepared takes at most {limit}")]
    TooManyLinks {
        /// Bytes that it needs.
        found: u64,
        /// Most bytes.
        limit: u64,
    },
    /// A saved value was given to a run of another chain than the one that it was saved in.
    #[error("the saved value {value:?} belongs to another chain of runs")]
    OtherChain {
        /// The value's name.
        value: String,
    },
    /// A saved value is of another type than the function loads.
    #[error("the saved value {value:?} is {kept} and the function loads it as {wanted}")]
    SavedType {
        /// The value's name.
        value: String,
        /// The type of the port that saved it.
        kept: String,
        /// The type of the port that loads it.
        wanted: String,
    },
    /// The session's base OTs have given all the OTs that they may.
    #[error(
        "the session's oblivious transfers are used up after {limit}, one for each input bit of \
         the evaluator"
    )]
    TransfersUsedUp {
        /// How many a session gives.
        limit: u64,
    },
    /// A statistical security parameter that the protocol does not offer.
    #[error("{found} bits of statistical security are not offered: {least} to {limit} are")]
    SecurityBits {
        /// What was asked for.
        found: u8,
        /// The least that is offered.
        least: u8,
        /// The most that there is.
        limit: u8,
    },
    /// The keys have no encoding under this run's hashes, or fill a shard too far. Both are a
    /// matter of chance.
    #[error("the tables cannot be matched under this run's hashes, which is chance: try again")]
    MatchingFailed,
    /// The wire could not move a message, or ended the run: what drives it knows why.
    #[error("the connection to the peer failed")]
    Wire,
    /// The caller broke the contract of this crate.
    #[error("the protocol was used wrongly: {0}")]
    ApiMisuse(&'static str),
}

/// A check of a malicious protocol. Each protocol has a type for its own.
pub trait Check: Any + fmt::Debug + fmt::Display + Send + Sync {
    /// The subject of the error: who cheated if the check fails.
    fn cheater(&self) -> &'static str {
        "it"
    }
}

/// By type and text: a trait object has no derived equality.
impl PartialEq for dyn Check {
    fn eq(&self, other: &Self) -> bool {
        self.type_id() == other.type_id() && self.to_string() == other.to_string()
    }
}

/// The error of a party that found a cheat by `check`.
pub(crate) fn cheated(check: impl Check) -> Error {
    Misbehaviour::Cheated(Arc::new(check)).into()
}

/// What an honest peer never sends.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Misbehaviour {
    /// A message of another kind than the protocol has at this place.
    #[error("it sent {found} where {expected} was expected")]
    UnexpectedMessage {
        /// What the protocol has here.
        expected: Kind,
        /// What came.
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
        /// Bytes due.
        expected: u64,
        /// Bytes that came.
        found: u64,
    },
    /// The first bytes of the session are not Tacit's.
    #[error("its first message is not a greeting of Tacit; is another program at that address?")]
    NotTacit,
    /// A field holds a value that has no meaning.
    #[error("its {kind} message has an invalid {field}")]
    InvalidField {
        /// The message.
        kind: Kind,
        /// The field.
        field: &'static str,
    },
    /// It greeted with our own nonce.
    #[error("it sent back the greeting of this party")]
    Reflected,
    /// The oblivious transfer found a fault.
    #[error("oblivious transfer: {0}")]
    ObliviousTransfer(tacit_ot::PeerMisbehaved),
    /// Labels that it returned are not those of the circuit.
    #[error("the result that it returned is not authenticated by the circuit's labels")]
    ForgedResult,
    /// A check of a malicious protocol failed.
    #[error("{who} cheated: {0}", who = .0.cheater())]
    Cheated(Arc<dyn Check>),
    /// The result does not decode.
    #[error("its garbled circuit has no result: {0}")]
    Undecodable(#[from] DecodeError),
}

/// On what the parties differ. Each names both sides' values.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Incompatibility {
    /// Versions of the wire differ.
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
    /// Another order of a preparation.
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
        /// What we were told to match.
        ours: String,
        /// What the peer was.
        theirs: String,
    },
    /// It tells the sizes of tables, where this party's run has none that are matched.
    #[error("it is about to match tables, and this party is told to run something else")]
    MatchesTables,
    /// It tells no sizes of tables, where this party's run has some that are matched.
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
    /// A protocol, a scheme or a way of making OTs that this version does not know.
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
    /// Base OTs that rest on something else.
    #[error("it wants base OTs from {theirs} and this party {ours}")]
    BaseOt {
        /// Our kind.
        ours: BaseOt,
        /// The peer's.
        theirs: BaseOt,
    },
    /// OTs that are made in another way.
    #[error("it wants OTs by {theirs} and this party {ours}")]
    OtExtension {
        /// Our extension.
        ours: Extension,
        /// The peer's.
        theirs: Extension,
    },
    /// Another plan of a batch.
    #[error("it plans {theirs} and this party {ours}")]
    BatchPlan {
        /// Our plan.
        ours: String,
        /// The peer's.
        theirs: String,
    },
    /// Another number of circuits of an outsourced run.
    #[error("it was told {theirs} and this party {ours}")]
    Circuits {
        /// Our parameters.
        ours: String,
        /// The peer's.
        theirs: String,
    },
    /// The two parties that keep values bring different chains or versions of them.
    #[error(
        "the two parties that keep the saved values hold different versions of them ({ours} and \
         {theirs}): the chain is stopped, since one of them went back to an old copy"
    )]
    SavedValues {
        /// The hash of the one's state.
        ours: Digest,
        /// Of the other's.
        theirs: Digest,
    },
    /// Those who keep a chain bring another than the one that a party pinned, or an older version.
    #[error(
        "the run would continue from {}, but chain {pinned} or later is pinned: the pin is \
         mistyped, or those who keep the chain went back to an old copy or run another",
        found.map_or_else(|| "no chain".to_owned(), |found| format!("chain {found}"))
    )]
    Pinned {
        /// What is pinned.
        pinned: ChainVersion,
        /// What is there; none where the run would begin a chain.
        found: Option<ChainVersion>,
    },
    /// The links of a party of three are for different runs.
    #[error("the evaluator and the cloud came for two different runs")]
    OtherRun,
    /// The peer takes this server of a party of three for the other one.
    #[error("it takes this party for the {taken_for} of the run, but this is the {we_are}")]
    OtherServer {
        /// What the peer takes us for.
        taken_for: Peer,
        /// What we are.
        we_are: Peer,
    },
    /// The runs of the session are counted differently.
    #[error("it counts this as run {theirs} of the session and this party as run {ours}")]
    RunNumber {
        /// Our count.
        ours: u64,
        /// The peer's.
        theirs: u64,
    },
}

/// Two parties that want different protocols.
fn protocol(ours: ProtocolId, theirs: ProtocolId) -> String {
    let what = |protocol| match protocol {
        ProtocolId::Prepare => "a preparation".to_owned(),
        ProtocolId::Offers => "to be told what is offered".to_owned(),
        ProtocolId::Match => "a matching".to_owned(),
        protocol => format!("a run by {protocol}"),
    };
    format!("it wants {} and this party {}", what(theirs), what(ours))
}

/// How two parties' parameters differ. Only `outsourced` runs both with 0 bits (one circuit) and
/// with more.
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
    /// Matchings with these digests.
    pub(crate) fn other_match(ours: Digest, theirs: Digest) -> Self {
        let [ours, theirs] = [ours, theirs].map(|digest| format!("to match {digest}"));
        Self::Matching { ours, theirs }
    }

    /// The reason to tell the peer when this ends a run.
    #[must_use]
    pub const fn abort_reason(&self) -> AbortReason {
        match self {
            Self::OtherServer { .. } => AbortReason::OtherServer,
            Self::Pinned { .. } => AbortReason::Pinned,
            _ => AbortReason::Incompatible,
        }
    }
}

impl Error {
    /// The check that failed, where it is one of `C`.
    #[must_use]
    pub fn failed_check<C: Check>(&self) -> Option<&C> {
        match self {
            Self::PeerMisbehaved(Misbehaviour::Cheated(check)) => {
                (&**check as &dyn Any).downcast_ref()
            }
            _ => None,
        }
    }

    /// The reason to tell the peer when this error ends a run.
    #[must_use]
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
