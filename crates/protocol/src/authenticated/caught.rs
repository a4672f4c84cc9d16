//! The checks at which a peer is caught cheating.

use thiserror::Error;

use crate::Check;

/// The check that failed. Each ends the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Caught {
    /// The parties have different values for a lot of leaky ANDs.
    #[error("its leaky ANDs are not those of an honest party")]
    LeakyAnds,
    /// The commitment to the compared values opens to something else.
    #[error("it opened its commitment to other leaky ANDs")]
    Commitment,
    /// The commitment to a share of a coin opens to something else.
    #[error("it opened its commitment to another share of the coin")]
    Coin,
    /// The MACs of the bits that buckets open are wrong.
    #[error("it opened other bits of a bucket than it holds")]
    Buckets,
    /// The MACs of the bits that gates open are wrong.
    #[error("it opened other bits of a gate than it holds")]
    Gates,
    /// The MACs of the bits that links and inputs of instances open are wrong.
    #[error("it opened other masks of links than it holds")]
    Links,
    /// The labels are not those of the masked values.
    #[error("its labels are not those of the values that it named")]
    MaskedValues,
    /// An AND gate is wrong.
    #[error("its garbled gates are not those of the function")]
    GateProof,
    /// The MACs of the masks of results are wrong.
    #[error("it opened other masks of results than it holds")]
    Results,
}

impl Check for Caught {}
