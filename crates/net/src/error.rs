//! The errors of connections.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::identity::worker::InvalidWorker;
use crate::pairing::Refusal;
use crate::relay::Answer;
use crate::{Fingerprint, Interrupt};

/// The event that a channel was waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaited {
    /// The other party, which has not connected yet.
    Connection,
    /// The other party, which is not at the relay yet, where this one is.
    AtRelay,
    /// The end of the TLS handshake.
    Handshake,
    /// The first byte of the peer's next message, or the rest of its header.
    Message,
    /// The rest of a message that has started.
    Rest {
        /// The message's kind.
        kind: u8,
        /// The bytes of its payload that have arrived.
        received: usize,
        /// The length of its payload in bytes.
        length: usize,
    },
    /// Room at the peer for what was sent.
    Room,
    /// This side's own work between messages.
    Work,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection => f.write_str("the other party to connect"),
            Self::AtRelay => f.write_str("the other party to come to the relay"),
            Self::Handshake => f.write_str("the TLS handshake with the peer to finish"),
            Self::Message => f.write_str("the peer's next message"),
            Self::Rest {
                kind,
                received,
                length,
            } => write!(
                f,
                "more of the peer's message of kind {kind} ({received} of {length} bytes came)"
            ),
            Self::Room => f.write_str("the peer to take what was sent to it"),
            Self::Work => f.write_str("this side's own computation"),
        }
    }
}

/// A connection could not be made, or ended, or an identity file could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// A wait took longer than allowed.
    #[error("waited {after:?} for {awaited}, in vain")]
    Timeout {
        /// The event that was waited for.
        awaited: Awaited,
        /// The time allowed.
        after: Duration,
    },
    /// All waits together took longer than allowed.
    #[error("not finished within {limit:?}, still waiting for {awaited}")]
    TimeLimit {
        /// The event that was waited for at the end.
        awaited: Awaited,
        /// The time allowed.
        limit: Duration,
    },
    /// The other party did not come, but others did.
    #[error(
        "refused {} while waiting {after:?} for the other party, the last from {from}: {reason}",
        connections(*refused)
    )]
    OnlyOthers {
        /// The time allowed.
        after: Duration,
        /// The number of refused connections.
        refused: u64,
        /// The address of the last of them.
        from: SocketAddr,
        /// The reason for which it was refused.
        reason: Box<NetError>,
    },
    /// The peer closed the connection, or it broke.
    #[error("the connection closed while waiting for {awaited}")]
    Closed {
        /// The event that was waited for.
        awaited: Awaited,
    },
    /// A [`crate::CancelHandle`] was cancelled.
    #[error("cancelled while waiting for {awaited}")]
    Cancelled {
        /// The event that was waited for.
        awaited: Awaited,
    },
    /// The header of a load balancer is missing, wrong, or from elsewhere.
    #[error("the PROXY header is refused: {what}")]
    ProxyHeader {
        /// The fault.
        what: &'static str,
    },
    /// The peer announced a message longer than is allowed here.
    #[error(
        "the peer announced a message of kind {kind} with {announced} bytes where at most {limit} \
         are allowed"
    )]
    TooLong {
        /// The message's kind.
        kind: u8,
        /// The bytes that the peer announced.
        announced: u32,
        /// The bytes that are allowed at this point.
        limit: usize,
    },
    /// A frame does not continue the message of the frame before.
    #[error("the peer's message went on with {announced} bytes where {expected} were left")]
    WrongFrame {
        /// The bytes that the peer announced.
        announced: u32,
        /// The bytes that were left of the message; zero if none had started.
        expected: usize,
    },
    /// The peer uses TLS, and this side was told not to.
    #[error("one side uses TLS and the other plain TCP")]
    OneSidedTls,
    /// This side tried to send a message that no header can announce.
    #[error(
        "a message of kind {kind} would have {length} bytes, and the format ends at 4294967295"
    )]
    TooLongToSend {
        /// The message's kind.
        kind: u8,
        /// The length of its payload in bytes.
        length: usize,
    },
    /// The peer proved another identity than the expected one.
    #[error(
        "the peer's identity is {found}, where {} was expected",
        list(expected)
    )]
    WrongIdentity {
        /// The fingerprints that would have been accepted.
        expected: Vec<Fingerprint>,
        /// The peer's fingerprint.
        found: Fingerprint,
    },
    /// The key of a worker is not accepted, the peer's or one that is to be made.
    #[error(transparent)]
    Worker(#[from] InvalidWorker),
    /// The peer did not accept this side's identity.
    #[error("the peer refused this side's identity, {own} ({alert})")]
    Refused {
        /// This side's fingerprint.
        own: Fingerprint,
        /// The text of the peer's TLS alert.
        alert: String,
    },
    /// A connection that was meant as a side stream belongs to no session that waits for it.
    #[error("a connection was to be part of a session, and no session here waits for it")]
    ForeignStream,
    /// TLS failed: the handshake, or a record after it.
    #[error("TLS with the peer failed: {reason}")]
    Tls {
        /// The TLS library's message.
        reason: String,
    },
    /// The peer does not speak the application protocol that this side asked for, such as that of a
    /// pairing.
    #[error("the program that answers there serves another purpose, or is of another version")]
    OtherPurpose,
    /// Plain TCP was requested with an address outside this machine.
    #[error("{address} is not a loopback address, and plain TCP goes nowhere else")]
    NotLoopback {
        /// The resolved address.
        address: SocketAddr,
    },
    /// The peer could not be reached in the time allowed.
    #[error("could not reach {address} within {after:?}: {reason}")]
    Unreachable {
        /// The address as it was given.
        address: String,
        /// The time allowed.
        after: Duration,
        /// The reason why the last try failed.
        reason: io::Error,
    },
    /// The relay could not be reached in the time allowed.
    #[error("could not reach the relay at {address} within {after:?}: {reason}")]
    RelayUnreachable {
        /// The address as it was given.
        address: String,
        /// The time allowed.
        after: Duration,
        /// The reason why the last try failed.
        reason: io::Error,
    },
    /// An address is malformed, unknown, or taken.
    #[error("cannot use the address {address}: {reason}")]
    Address {
        /// The address as it was given.
        address: String,
        /// The operating system's message.
        reason: io::Error,
    },
    /// The operating system failed.
    #[error("the network failed while waiting for {awaited}: {reason}")]
    Io {
        /// The event that was waited for.
        awaited: Awaited,
        /// The operating system's message.
        reason: io::Error,
    },
    /// An identity was to be saved to a file that exists.
    #[error("{} already exists and an identity is never overwritten", path.display())]
    IdentityExists {
        /// The file.
        path: PathBuf,
    },
    /// Users other than the owner can read an identity file.
    #[error(
        "{} can be used by others (mode {mode:04o}), so its key may be known",
        path.display()
    )]
    IdentityExposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// An identity file could not be read or written.
    #[error("cannot read or write the identity file {}: {reason}", path.display())]
    IdentityFile {
        /// The file.
        path: PathBuf,
        /// The operating system's message.
        reason: io::Error,
    },
    /// A file holds no identity.
    #[error("{} holds no identity: {reason}", path.display())]
    IdentityMalformed {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// A pairing was refused, here or by the other party.
    #[error("{0}")]
    Pairing(Refusal),
    /// A relay did not connect this party to the other.
    #[error("{0}")]
    Relay(Answer),
    /// The list of invitations could not be read or written.
    #[error("cannot use the list of invitations in {}: {reason}", folder.display())]
    Invitations {
        /// Its folder.
        folder: PathBuf,
        /// The operating system's message.
        reason: io::Error,
    },
    /// This machine's clock is before 1970.
    #[error("this machine's clock is before 1970, and invitations expire by the clock")]
    Clock,
    /// A page whose origin is not allowed asked for a WebSocket.
    #[error("a page of {origin:?} may not connect")]
    Origin {
        /// The page's origin, as reported by its browser.
        origin: String,
    },
    /// The peer does not speak WebSocket, or not in Tacit's form.
    #[error("the WebSocket failed: {reason}")]
    WebSocket {
        /// The problem.
        reason: String,
    },
    /// A text is not an Ed25519 private key.
    #[error("this text is not an identity: {reason}")]
    IdentityText {
        /// The problem.
        reason: String,
    },
    /// The private key of an identity was requested, but it is elsewhere.
    #[error("this identity's private key is stored elsewhere and cannot be exported")]
    KeyElsewhere,
    /// The operating system gave no randomness, or a key made from it was not usable.
    #[error("cannot make a key: {reason}")]
    KeyGeneration {
        /// The failure.
        reason: String,
    },
}

impl NetError {
    /// Returns the error for a wait that ended early.
    pub(crate) fn interrupted(interrupt: Interrupt, awaited: Awaited, allowed: Duration) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
        match interrupt {
            Interrupt::TimedOut => Self::Timeout {
                awaited,
                after: allowed,
            },
            Interrupt::Cancelled => Self::Cancelled { awaited },
            Interrupt::Io(reason) => match reason.kind() {
                BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected => {
                    Self::Closed { awaited }
                }
                _ => Self::Io { awaited, reason },
            },
            Interrupt::Failed(error) => *error,
            // This happens only in a write under a wait that reads, whose caller then reads.
            Interrupt::Readable => Self::Io {
                awaited,
                reason: io::ErrorKind::WouldBlock.into(),
            },
        }
    }
}

/// Returns a number of connections for a sentence.
fn connections(count: u64) -> String {
    match count {
        1 => "1 connection".to_owned(),
        count => format!("{count} connections"),
    }
}

/// Returns fingerprints for a sentence.
fn list(fingerprints: &[Fingerprint]) -> String {
    if fingerprints.is_empty() {
        return "none".to_owned();
    }
    let texts: Vec<String> = fingerprints.iter().map(Fingerprint::to_string).collect();
    texts.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_the_system_are_sorted() {
        let error = |kind: io::ErrorKind| {
            let interrupt = Interrupt::Io(kind.into());
            NetError::interrupted(interrupt, Awaited::Message, Duration::ZERO)
        };
        let gone = error(io::ErrorKind::ConnectionReset);
        assert!(matches!(gone, NetError::Closed { .. }));
        let other = error(io::ErrorKind::OutOfMemory);
        assert!(matches!(other, NetError::Io { .. }));
    }
}
