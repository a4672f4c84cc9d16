//! The errors of this crate, each with the party to blame.

use core::fmt;

/// An error of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The peer sent something that no honest peer sends. Discard the session and its base OTs.
    #[error("the peer misbehaved in oblivious transfer: {0}; the session must be discarded")]
    PeerMisbehaved(#[from] PeerMisbehaved),
    /// The caller used this crate wrongly. The peer is not to blame.
    #[error("oblivious transfer was used wrongly: {0}")]
    ApiMisuse(#[from] ApiMisuse),
    /// The device that makes OTs failed. The peer is not to blame; discard the session.
    #[error("making oblivious transfers elsewhere than on this processor failed: {0}")]
    Device(#[from] DeviceError),
}

/// A failure of a [`Device`](crate::silent::Device).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The device has too little free memory.
    #[error("{needed_bytes} bytes of its memory were needed and {free_bytes} are free")]
    OutOfMemory {
        /// The bytes that were needed.
        needed_bytes: u64,
        /// The bytes that were free.
        free_bytes: u64,
    },
    /// A call of the device's driver failed.
    #[error("{call} returned {code}")]
    Failed {
        /// The call.
        call: &'static str,
        /// The driver's number of the error.
        code: u32,
    },
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
    /// The receiver's reply to the trees.
    SilentReply,
    /// The sender's answer to the reply.
    SilentAnswer,
    /// From the receiver of precomputed OTs: its corrected choices.
    Corrections,
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
        })
    }
}

/// A failed check of a peer's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Check {
    /// The corrections of the extension's trees fit one set of seeds.
    Trees,
    /// The choices are the same in all groups of the extension.
    Choices,
    /// The trees of silent OT belong to one Δ.
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

/// Something that no honest peer sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerMisbehaved {
    /// A message has another length than the protocol requires.
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
        /// The place of the element in the message, from 0.
        index: usize,
    },
    /// An element is the identity, under which a key would be known to everybody.
    #[error("element {index} of {message} is, or leads to, the identity of ristretto255")]
    IdentityPoint {
        /// The message.
        message: Message,
        /// The place of the element in the message, from 0.
        index: usize,
    },
    /// 1152 bytes are not the canonical encoding of an ML-KEM-768 key's vector.
    #[error("key {index} of {message} has a coefficient of 3329 or more, invalid in ML-KEM")]
    InvalidKey {
        /// The message.
        message: Message,
        /// The place of the key in the message, from 0.
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
    /// The bits that pad a message's last byte are not zero.
    #[error("bits past the end of {message} are set where zeros were expected")]
    Padding {
        /// The message.
        message: Message,
    },
    /// A consistency check failed. Everything derived from these base OTs must be discarded.
    #[error(
        "a consistency check failed: {check}; the session and its OTs are discarded: open no other \
         with this peer unless you know why it failed"
    )]
    CheckFailed {
        /// The check.
        check: Check,
    },
}

/// A wrong use of this crate by its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiMisuse {
    /// A batch of base OTs is empty or too large.
    #[error("a batch of {found} base OTs was asked for; a batch has 1 to {limit}")]
    BaseCount {
        /// The number that was requested.
        found: usize,
        /// The most OTs of one batch.
        limit: usize,
    },
    /// An extension was given a number of base OTs other than the number of Δ's bits.
    #[error("an OT extension needs {expected} base OTs and was given {found}")]
    WrongBaseCount {
        /// The number needed.
        expected: usize,
        /// The number given.
        found: usize,
    },
    /// Bit 0 of Δ is clear; it offsets the select bit and must be set.
    #[error("bit 0 of the global offset is clear; draw the offset with Delta::random")]
    SelectBitClear,
    /// The extension does not support this size of the small field.
    #[error("a field of 2^{found} elements was asked for; 2^1 to 2^{limit} are possible")]
    FieldBits {
        /// The requested bits.
        found: usize,
        /// The most bits that are possible.
        limit: usize,
    },
    /// One call asks for more correlated OTs than one message can carry.
    #[error("{found} correlated OTs in one call; at most {limit} are possible, split the call")]
    TooMany {
        /// The number that was requested.
        found: usize,
        /// The most OTs of one call.
        limit: usize,
    },
    /// A buffer does not have the length of the results.
    #[error("a buffer for {expected} blocks was needed and {found} were given")]
    WrongBuffer {
        /// The number of blocks needed.
        expected: usize,
        /// The number of blocks given.
        found: usize,
    },
    /// These base OTs have given all their correlated OTs.
    #[error("these base OTs are used up after {limit} correlated OTs; run base OTs again")]
    UsedUp {
        /// The number of correlated OTs of one set of base OTs.
        limit: u64,
    },
    /// The number of some values differs from the number of OTs.
    #[error("{found} {what} were given where the OTs take {expected}")]
    WrongCount {
        /// The kind of the values.
        what: &'static str,
        /// The number needed.
        expected: usize,
        /// The number given.
        found: usize,
    },
    /// The requested OTs are not made yet.
    #[error("OTs {first} to {end} were asked for and those below {made} are made; refill first")]
    NotMade {
        /// The first requested number.
        first: u64,
        /// The number after the last requested one.
        end: u64,
        /// The number after the last OT that is made.
        made: u64,
    },
    /// The requested OTs have been handed out or skipped.
    #[error("OT {first} was asked for and those below {next} are used; no OT is used twice")]
    AlreadyUsed {
        /// The first requested number.
        first: u64,
        /// The first unused number.
        next: u64,
    },
    /// A source got another request during a refill.
    #[error("a refill of this source of OTs is under way; move its messages until it is idle")]
    Refilling,
    /// A message was passed or requested when the protocol has none.
    #[error("this source of OTs takes or gives no message now; ask it what comes next")]
    NotItsTurn,
    /// No extension has this number.
    #[error("OT extension {id} is not known; 1 to 8 are SoftSpoken, 16 is silent")]
    UnknownExtension {
        /// The number.
        id: u8,
    },
    /// An earlier call ended in an error. Further OTs would not match the peer's half.
    #[error("this OT extension ended in an error earlier; run base OTs again")]
    Ended,
}

impl ApiMisuse {
    pub(crate) fn not_made(first: u64, count: usize, made: u64) -> Self {
        let end = first.saturating_add(count as u64);
        Self::NotMade { first, end, made }
    }
}
