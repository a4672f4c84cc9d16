//! The interface between a party of three and whoever moves its messages.
//!
//! As [`Party`](crate::party::Party), but for a peer that each message goes to or comes from. A
//! driver with one blocking channel a pair may do exactly what it is told, in order: no party waits
//! for a message whose sender waits for it.

use core::fmt;
use std::collections::VecDeque;

use crate::Error;
use crate::message::Kind;
use crate::party::{Progress, admit};

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

/// What a party does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send the message that was written.
    Send {
        /// To whom.
        to: Peer,
        /// As what.
        kind: Kind,
    },
    /// Wait for a message.
    Receive {
        /// From whom.
        from: Peer,
        /// Its kind.
        kind: Kind,
        /// Its greatest length in bytes.
        max_bytes: usize,
    },
    /// Keep what the run saves, durably, and go on when the other server has done so as well. The
    /// cloud gives out no result before. Asked of generator and cloud, once, if the function saves.
    Keep,
    /// Nothing yet: the party works, and gives way after a bounded amount of it. Ask again.
    Continue,
    /// Nothing: the party has finished.
    Done,
}

impl Step {
    pub(super) fn send(to: Peer, kind: Kind) -> Option<Self> {
        Some(Self::Send { to, kind })
    }

    pub(super) fn receive(from: Peer, kind: Kind, max_bytes: usize) -> Option<Self> {
        Some(Self::Receive {
            from,
            kind,
            max_bytes,
        })
    }
}

/// One party's side of an outsourced run. After an error a party is spent: every later call fails.
pub trait ThreeParty {
    /// What the party does next. For [`Step::Send`], `message` then holds the payload; any other
    /// step leaves it empty or as it was.
    ///
    /// # Errors
    ///
    /// The party is spent.
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Step, Error>;

    /// Hands over the message that [`Step::Receive`] asked for.
    ///
    /// # Errors
    ///
    /// A peer misbehaved, or no message was asked for.
    fn receive(&mut self, payload: &[u8]) -> Result<(), Error>;

    /// How far it has come.
    fn progress(&self) -> Progress {
        Progress::default()
    }
}

/// Messages on their way.
pub(super) type Queue = VecDeque<(Kind, Vec<u8>)>;

/// Runs three parties in memory, to the end of all: generator, evaluator and cloud.
///
/// # Errors
///
/// The error of the party that failed first, or [`Error::ApiMisuse`] where all wait.
pub fn run_in_memory(mut parties: [&mut dyn ThreeParty; 3]) -> Result<(), Error> {
    // By receiver and sender.
    let mut queues: [[Queue; 3]; 3] = Default::default();
    let mut message = Vec::new();
    loop {
        let (mut finished, mut moved) = (0, false);
        for (own, party) in parties.iter_mut().enumerate() {
            match party.next(&mut message)? {
                Step::Done => finished += 1,
                Step::Continue | Step::Keep => moved = true,
                Step::Send { to, kind } => {
                    queues[to as usize][own].push_back((kind, message.clone()));
                    moved = true;
                }
                Step::Receive {
                    from,
                    kind,
                    max_bytes,
                } => {
                    if let Some((found, payload)) = queues[own][from as usize].pop_front() {
                        admit(kind, max_bytes, found.byte(), &payload)?;
                        party.receive(&payload)?;
                        moved = true;
                    }
                }
            }
        }
        if finished == parties.len() {
            return Ok(());
        }
        if !moved {
            return Err(Error::ApiMisuse("all parties wait for each other"));
        }
    }
}
