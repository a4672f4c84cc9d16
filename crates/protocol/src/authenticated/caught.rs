//! The checks at which a peer is caught cheating.

use core::fmt;

/// The check that failed. Each ends the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caught {
    /// What both parties have of a lot of leaky ANDs is not the same.
    LeakyAnds,
    /// The commitment to what is compared opens otherwise.
    Commitment,
    /// The commitment to a share of a coin opens otherwise.
    Coin,
    /// The MACs of bits that buckets open.
    Buckets,
    /// The MACs of bits that gates open.
    Gates,
    /// The MACs of bits that links and inputs of instances open.
    Links,
    /// The labels are not those of the masked values.
    MaskedValues,
    /// An AND gate is wrong.
    GateProof,
    /// The MACs of the masks of results.
    Results,
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeakyAnds => "its leaky ANDs are not those of an honest party",
            Self::Commitment => "it opened its commitment to other leaky ANDs",
            Self::Coin => "it opened its commitment to another share of the coin",
            Self::Buckets => "it opened other bits of a bucket than it holds",
            Self::Gates => "it opened other bits of a gate than it holds",
            Self::Links => "it opened other masks of links than it holds",
            Self::MaskedValues => "its labels are not those of the values that it named",
            Self::GateProof => "its garbled gates are not those of the function",
            Self::Results => "it opened other masks of results than it holds",
        })
    }
}
