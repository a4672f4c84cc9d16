//! Errors, and who is to blame.

use core::fmt;

/// An error of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The peer sent what no honest peer sends. Discard the session and its base OTs.
    #[error("the peer misbehaved in oblivious transfer: {0}; the session must be discarded")]
    PeerMisbehaved(#[from] PeerMisbehaved),
    /// The caller used this crate wrongly; the peer is not to blame.
    #[error("oblivious transfer was used wrongly: {0}")]
    ApiMisuse(#[from] ApiMisuse),
}

/// A message of this crate's protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// From the sender of the base OTs to their receiver.
    BaseSender,
    /// From the receiver of the base OTs to their sender.
    BaseReceiver,
    /// From the receiver of correlated OTs to their sender.
    Extension,
    /// From the sender of silent OTs to their receiver.
    SilentTrees,
    /// The receiver's reply to it.
    SilentReply,
    /// The sender's answer to the reply.
    SilentAnswer,
    /// From the receiver of precomputed OTs: its choices, corrected.
    Corrections,
    /// The sender's answer to corrections.
    Answer,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BaseSender => "the base OT sender's message",
            Self::BaseReceiver => "the base OT receiver's message",
            Self::Extension => "the OT extension's message",
            Self::SilentTrees => "the silent OT sender's message",
            Self::SilentReply => "the silent OT receiver's reply",
            Self::SilentAnswer => "the silent OT sender's answer",
            Self::Corrections => "the message of corrected choices",
            Self::Answer => "the answer to corrected choices",
        })
    }
}

/// A check of what a peer sent, which failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Check {
    /// That the corrections of the extension's trees fit one set of seeds.
    Trees,
    /// That the choices are the same in all groups of the extension.
    Choices,
    /// That the trees of silent OT are those of one Δ.
    SilentTrees,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trees => "the trees of seeds of the OT extension are not consistent",
            Self::SilentTrees => "the trees of silent OT do not fit the sender's offset",
            Self::Choices => "the choices are not the same in all rows of the OT extension",
        })
    }
}

/// What no honest peer sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerMisbehaved {
    /// A message is longer or shorter than the protocol says.
    #[error("{message} is {found} bytes long where {expected} were expected")]
    WrongLength {
        /// The message.
        message: Message,
        /// Its length by the protocol, in bytes.
        expected: usize,
        /// Its length as received, in bytes.
        found: usize,
    },
    /// 32 bytes are not the canonical encoding of a ristretto255 element.
    #[error("element {index} of {message} is not a canonical ristretto255 encoding")]
    InvalidPoint {
        /// The message.
        message: Message,
        /// Which of the message's elements, from 0.
        index: usize,
    },
    /// An element is the identity, under which a key would be known to everybody.
    #[error("element {index} of {message} is, or leads to, the identity of ristretto255")]
    IdentityPoint {
        /// The message.
        message: Message,
        /// Which of the message's elements, from 0.
        index: usize,
    },
    /// 1152 bytes are not the canonical encoding of an ML-KEM-768 key's vector.
    #[error("key {index} of {message} has a coefficient of 3329 or more, invalid in ML-KEM")]
    InvalidKey {
        /// The message.
        message: Message,
        /// Which of the message's keys, from 0.
        index: usize,
    },
    /// Two elements of one message are equal.
    #[error("elements {first} and {second} of {message} are equal; each must be random")]
    RepeatedPoint {
        /// The message.
        message: Message,
        /// The first of the two elements, from 0.
        first: usize,
        /// The second of the two elements, from 0.
        second: usize,
    },
    /// Bits that fill up a message's last byte are not zero.
    #[error("bits past the end of {message} are set where zeros were expected")]
    Padding {
        /// The message.
        message: Message,
    },
    /// A consistency check failed. All that came of these base OTs is to be discarded.
    #[error(
        "a consistency check failed: {check}; the session and its OTs are discarded: open no other \
         with this peer unless you know why it failed"
    )]
    CheckFailed {
        /// The check.
        check: Check,
    },
}

/// How a caller can use this crate wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiMisuse {
    /// A batch of base OTs is empty or too large.
    #[error("a batch of {found} base OTs was asked for; a batch has 1 to {limit}")]
    BaseCount {
        /// How many were asked for.
        found: usize,
        /// How many one batch may have.
        limit: usize,
    },
    /// An extension was given base OTs whose number is not that of Δ's bits.
    #[error("an OT extension needs {expected} base OTs and was given {found}")]
    WrongBaseCount {
        /// How many are needed.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// Bit 0 of Δ is clear; it offsets the select bit and must be set.
    #[error("bit 0 of the global offset is clear; draw the offset with Delta::random")]
    SelectBitClear,
    /// The size of the small field is not one that the extension has.
    #[error("a field of 2^{found} elements was asked for; 2^1 to 2^{limit} are possible")]
    FieldBits {
        /// The bits asked for.
        found: usize,
        /// The most that are possible.
        limit: usize,
    },
    /// One call asks for more correlated OTs than one message may carry.
    #[error("{found} correlated OTs in one call; at most {limit} are possible, split the call")]
    TooMany {
        /// How many were asked for.
        found: usize,
        /// How many one call may ask for.
        limit: usize,
    },
    /// A buffer for results is not as long as there are results.
    #[error("a buffer for {expected} blocks was needed and {found} were given")]
    WrongBuffer {
        /// How many blocks are needed.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// These base OTs have given all the correlated OTs that they may.
    #[error("these base OTs are used up after {limit} correlated OTs; run base OTs again")]
    UsedUp {
        /// How many correlated OTs one set of base OTs gives.
        limit: u64,
    },
    /// There is not one of something for each OT.
    #[error("{found} {what} were given where the OTs take {expected}")]
    WrongCount {
        /// What was counted.
        what: &'static str,
        /// How many are needed.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// OTs were asked for that are not made yet.
    #[error("OTs {first} to {end} were asked for and those below {made} are made; refill first")]
    NotMade {
        /// The first that was asked for.
        first: u64,
        /// Past the last that was asked for.
        end: u64,
        /// Past the last that is made.
        made: u64,
    },
    /// OTs were asked for that have been handed out, or passed over.
    #[error("OT {first} was asked for and those below {next} are used; no OT is used twice")]
    AlreadyUsed {
        /// The first that was asked for.
        first: u64,
        /// The first that is not used.
        next: u64,
    },
    /// A source was asked for something else while a refill goes on.
    #[error("a refill of this source of OTs is under way; move its messages until it is idle")]
    Refilling,
    /// A message was handed over, or asked for, when the protocol has none.
    #[error("this source of OTs takes or gives no message now; ask it what comes next")]
    NotItsTurn,
    /// No extension has this number.
    #[error("OT extension {id} is not known; 1 to 8 are SoftSpoken, 16 is silent")]
    UnknownExtension {
        /// The number.
        id: u8,
    },
    /// An earlier call ended in an error; what followed would not match the peer's half.
    #[error("this OT extension ended in an error earlier; run base OTs again")]
    Ended,
}

impl ApiMisuse {
    pub(crate) fn not_made(first: u64, count: usize, made: u64) -> Self {
        let end = first.saturating_add(count as u64);
        Self::NotMade { first, end, made }
    }
}
