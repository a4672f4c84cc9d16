//! How parties name each other, how far one has come, and which message it admits.
//!
//! One of two parties has an [`OnlyPeer`], and one of three says [which](Peer).

use core::fmt;

use crate::message::Kind;
use crate::{Error, Misbehaviour};

/// How a party names its peers.
pub trait PeerName: Copy + PartialEq {
    /// The number of the party that has this name at party number `own`.
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
    /// Makes the garbled circuits.
    Generator,
    /// The thin client. It does not know the circuit.
    Evaluator,
    /// Checks and evaluates the circuits in the evaluator's place.
    Cloud,
}

impl Peer {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Generator, Self::Evaluator, Self::Cloud];

    /// Its name on the command line.
    #[must_use]
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

/// How far a party has come, for people who wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// AND gates garbled or evaluated.
    pub done_ands: u64,
    /// AND gates in all.
    pub total_ands: u64,
}

/// Checks that a message is of the kind that is `expected` and not too long. A message of kind
/// [`Kind::Abort`] is the peer's way out at any time.
///
/// # Errors
///
/// It is of another kind or too long, or it is the peer's abort.
pub fn admit(expected: Kind, max_bytes: usize, kind: u8, payload: &[u8]) -> Result<(), Error> {
    let found = Kind::parse(kind)?;
    if found == Kind::Abort {
        let reason = match payload {
            [byte] => crate::message::AbortReason::from_byte(*byte),
            _ => None,
        };
        return Err(match reason {
            Some(reason) => Error::PeerAborted(reason),
            None => Misbehaviour::InvalidField {
                kind: found,
                field: "reason",
            }
            .into(),
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
