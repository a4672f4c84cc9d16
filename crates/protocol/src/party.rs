//! The interface between a protocol's states and whoever moves its messages.
//!
//! A driver asks a [`Party`] what it does [`next`](Party::next), sends what it is given and hands
//! over what arrives, until the party is [`Done`](Action::Done). No call works for long, so that
//! the driver comes to look at what else there is, such as a person who cancels. Drivers exist over
//! blocking channels (crate `tacit`) and in memory ([`run_in_memory`]); an asynchronous one would
//! look the same.

use crate::message::Kind;
use crate::{Error, Misbehaviour};

/// What a party does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send the message that was written, as a message of this kind.
    Send(Kind),
    /// Wait for a message of this kind and at most this many bytes.
    Receive {
        /// Its kind.
        kind: Kind,
        /// Its greatest length in bytes.
        max_bytes: usize,
    },
    /// Nothing yet: the party works, and gives way after a bounded amount of it. Ask again.
    Continue,
    /// Nothing: the party has finished.
    Done,
}

/// How far a party has come, for people who wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// AND gates garbled or evaluated.
    pub done_ands: u64,
    /// AND gates in all.
    pub total_ands: u64,
}

/// One party's side of a protocol run.
///
/// After an error a party is spent: every later call fails.
pub trait Party {
    /// What the party does next. For [`Action::Send`], `message` then holds the payload; its old
    /// content is overwritten, and its capacity used again. Any other action leaves it empty or as
    /// it was.
    ///
    /// # Errors
    ///
    /// The party is spent.
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error>;

    /// Hands over the message that [`Action::Receive`] asked for.
    ///
    /// # Errors
    ///
    /// The peer misbehaved, or no message was asked for.
    fn receive(&mut self, payload: &[u8]) -> Result<(), Error>;

    /// How far it has come.
    fn progress(&self) -> Progress {
        Progress::default()
    }
}

/// Checks that a message is what [`Action::Receive`] asked for. A message of kind
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

/// Runs two parties against each other in memory, to the end of both.
///
/// # Errors
///
/// The error of the party that failed, or [`Error::ApiMisuse`] where both wait.
pub fn run_in_memory(a: &mut dyn Party, b: &mut dyn Party) -> Result<(), Error> {
    let mut message = Vec::new();
    let mut queues: [std::collections::VecDeque<(Kind, Vec<u8>)>; 2] = Default::default();
    loop {
        let mut finished = 0;
        let mut moved = false;
        for side in 0..2 {
            let party: &mut dyn Party = if side == 0 { a } else { b };
            match party.next(&mut message)? {
                Action::Done => finished += 1,
                Action::Continue => moved = true,
                Action::Send(kind) => {
                    queues[1 - side].push_back((kind, message.clone()));
                    moved = true;
                }
                Action::Receive { kind, max_bytes } => {
                    if let Some((found, payload)) = queues[side].pop_front() {
                        admit(kind, max_bytes, found.byte(), &payload)?;
                        party.receive(&payload)?;
                        moved = true;
                    }
                }
            }
        }
        if finished == 2 {
            return Ok(());
        }
        if !moved {
            return Err(Error::ApiMisuse("both parties wait for each other"));
        }
    }
}
