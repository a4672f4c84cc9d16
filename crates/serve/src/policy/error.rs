//! The reasons why a policy is invalid.

use tacit::Fingerprint;

/// The reason a policy is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two offers for one peer have the same name.
    #[error("two functions are named {name:?}; give each its own `name`, or different `peers`")]
    SameName {
        /// Their name.
        name: String,
    },
    /// Two offers are for the same function, peer, role and scheme.
    #[error(
        "functions {one:?} and {other:?} are the same function for the same peer; leave one out, \
         or give them different peers"
    )]
    TwoOffers {
        /// An offer.
        one: String,
        /// Another.
        other: String,
    },
    /// Two tables are for the same peer, which cannot tell them apart.
    #[error(
        "tables {one:?} and {other:?} are matched alike for the same peer, which could not say \
         which of them it means; leave one out, or give them different peers"
    )]
    TwoTables {
        /// A table.
        one: String,
        /// Another.
        other: String,
    },
    /// An offer or level names a peer that may not connect.
    #[error("{what} names {peer}, which is not one of the peers; add it to [peers]")]
    UnknownPeer {
        /// The part of the policy that names it.
        what: String,
        /// The peer.
        peer: Fingerprint,
    },
    /// A value is outside its bounds.
    #[error("{what}: {found}, where {expected} is expected; change it")]
    OutOfBounds {
        /// The value's place.
        what: String,
        /// The value found.
        found: String,
        /// The values expected.
        expected: String,
    },
    /// A protocol cannot run a function with the given settings.
    #[error("{what}: {reason}")]
    NotForProtocol {
        /// The function's place.
        what: String,
        /// The obstacle.
        reason: String,
    },
    /// `outsourced` cannot run an offer with the given settings.
    #[error("{what}: {reason}")]
    NotForOutsourced {
        /// The offer's place.
        what: String,
        /// The obstacle and its remedy.
        reason: String,
    },
    /// Visitors would get what only peers with a lasting identity may have.
    #[error("{what}: {reason}")]
    NotForVisitors {
        /// The part of the policy that names them.
        what: String,
        /// The obstacle.
        reason: &'static str,
    },
    /// A function keeps values, and no chain is named.
    #[error(
        "function {name:?} keeps values between runs; name a `chain`, and protocols = \
         [\"prepared\"], or [\"authenticated\"] where a peer may cheat, or serve it with role = \
         \"generator\" or \"cloud\""
    )]
    SavedValues {
        /// The offer.
        name: String,
    },
}

impl Error {
    /// Returns the error for `what`, which `error` makes impossible.
    pub(super) fn not_for(what: &str, error: &tacit::Error) -> Self {
        let reason = match error {
            tacit::Error::ExecutionTooLarge {
                executions,
                bytes,
                limit,
                enough: Some(enough),
                ..
            } => format!(
                "an execution takes {} MiB where {executions} are prepared together, and a stock \
                 keeps at most {} MiB of one; write runs = {enough} or more, since each takes less \
                 in a larger batch",
                bytes >> 20,
                limit >> 20,
            ),
            error => error.with_advice(),
        };
        Self::NotForProtocol {
            what: what.to_owned(),
            reason,
        }
    }
}
