//! The checks at which a peer is caught cheating.

use thiserror::Error;

use crate::Check;

/// The check that failed. Each ends the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Caught {
    /// What both parties have of a lot of leaky ANDs is not the same.
    #[error("its leaky ANDs are not those of an honest party")]
    LeakyAnds,
    /// The commitment to what is compared opens otherwise.
    #[error("it opened its commitment to other leaky ANDs")]
    Commitment,
    /// The commitment to a share of a coin opens otherwise.
    #[error("it opened its commitment to another share of the coin")]
    Coin,
    /// The MACs of bits that buckets open.
    #[error("it opened other bits of a bucket than it holds")]
    Buckets,
    /// The MACs of bits that gates open.
    #[error("it opened other bits of a gate than it holds")]
    Gates,
    /// The MACs of bits that links and inputs of instances open.
    #[error("it opened other masks of links than it holds")]
    Links,
    /// The labels are not those of the masked values.
    #[error("its labels are not those of the values that it named")]
    MaskedValues,
    /// An AND gate is wrong.
    #[error("its garbled gates are not those of the function")]
    GateProof,
    /// The MACs of the masks of results.
    #[error("it opened other masks of results than it holds")]
    Results,
}

impl Check for Caught {}
