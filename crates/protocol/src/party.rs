//! The names of peers, the progress of a party, and the check of a received message.
//!
//! A party of two has one [`OnlyPeer`]; a party of three names its [`Peer`].

use core::fmt;

use crate::message::Kind;
use crate::{Error, Misbehaviour};

/// The name that a party has for a peer.
pub trait PeerName: Copy + PartialEq {
    /// Returns the number of the party that party number `own` calls by this name.
    fn number(self, own: usize) -> usize;
}

/// The peer of a party of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnlyPeer;

impl PeerName for OnlyPeer {
    fn number(self, own: usize) -> usize {
        1 - own
    }
}

/// A party of an outsourced computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// The party that makes the garbled circuits.
    Generator,
    /// The thin client. It does not know the circuit.
    Evaluator,
    /// The party that checks and evaluates the circuits for the evaluator.
    Cloud,
}

impl Peer {
    /// All three parties.
    pub const ALL: [Self; 3] = [Self::Generator, Self::Evaluator, Self::Cloud];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Evaluator => "evaluator",
            Self::Cloud => "cloud",
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PeerName for Peer {
    fn number(self, _own: usize) -> usize {
        self as usize
    }
}

/// The progress of a party, for display to people. In a matching and in the stage of a join, OTs
/// are counted in place of AND gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// AND gates garbled or evaluated.
    pub done_ands: u64,
    /// AND gates in all.
    pub total_ands: u64,
}

/// Checks that a message is of kind `expected` and not too long. A peer may send [`Kind::Abort`] at
/// any time.
///
/// # Errors
///
/// The message is of another kind or too long, or it is the peer's abort.
pub fn admit(expected: Kind, max_bytes: usize, kind: u8, payload: &[u8]) -> Result<(), Error> {
    let found = Kind::parse(kind)?;
    if found == Kind::Abort {
        let reason = match payload {
            [byte] => crate::message::AbortReason::from_byte(*byte),
            _ => None,
        };
        return Err(match reason {
            Some(reason) => Error::PeerAborted(reason),
            None => Misbehaviour::invalid(found, "reason").into(),
        });
    }
    if found != expected {
        return Err(Misbehaviour::UnexpectedMessage { expected, found }.into());
    }
    if payload.len() > max_bytes {
        let (limit, length) = (max_bytes as u64, payload.len() as u64);
        return Err(Misbehaviour::WrongLength {
            kind: found,
            expected: limit,
            found: length,
        }
        .into());
    }
    Ok(())
}
