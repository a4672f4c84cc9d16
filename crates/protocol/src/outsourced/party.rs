//! The three parties' names, by which each calls the others.

use core::fmt;

use crate::message::Kind;
use crate::party::{Action, PeerName};

/// A party of an outsourced computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// Makes the garbled circuits.
    Generator,
    /// The thin client. Its state machine does not know the circuit.
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

impl Action<Peer> {
    pub(super) fn send_to(to: Peer, kind: Kind) -> Option<Self> {
        Some(Self::Send { to, kind })
    }

    pub(super) fn receive_from(from: Peer, kind: Kind, max_bytes: usize) -> Option<Self> {
        Some(Self::Receive {
            from,
            kind,
            max_bytes,
        })
    }
}
