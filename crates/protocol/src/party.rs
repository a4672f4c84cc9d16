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

impl Action {
    /// Waits for a message of at most `max_bytes` bytes.
    pub(crate) const fn receive(kind: Kind, max_bytes: usize) -> Self {
        Self::Receive { kind, max_bytes }
    }
}

pub(crate) const SPENT: Error = Error::ApiMisuse("the party has failed before");
pub(crate) const NOT_ASKED: Error = Error::ApiMisuse("no message was asked for");
pub(crate) const NOT_DONE: Error = Error::ApiMisuse("a party is finished when it is done");

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

/// A party whose every step consumes its state, so that it is spent after an error.
pub(crate) trait Machine {
    /// Where the party is.
    type State;

    /// The state; none while a step has it, and after an error.
    fn state(&mut self) -> &mut Option<Self::State>;

    /// The message that `state` waits for, and its greatest length in bytes, if it waits for one.
    fn awaited(&self, state: &Self::State) -> Option<(Kind, usize)>;

    /// What is done at `state`, and the state after it. Without an action, that one is asked at
    /// once.
    fn step(
        &mut self,
        state: Self::State,
        message: &mut Vec<u8>,
    ) -> Result<(Self::State, Option<Action>), Error>;

    /// The state after the message that `state` waits for.
    fn take(&mut self, state: Self::State, payload: &[u8]) -> Result<Self::State, Error>;

    /// As [`Party::progress`].
    fn progress(&self) -> Progress {
        Progress::default()
    }
}

impl<M: Machine> Party for M {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        loop {
            let state = self.state().take().ok_or(SPENT)?;
            let (state, action) = match self.awaited(&state) {
                Some((kind, max_bytes)) => (state, Some(Action::receive(kind, max_bytes))),
                None => self.step(state, message)?,
            };
            *self.state() = Some(state);
            if let Some(action) = action {
                return Ok(action);
            }
        }
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        let state = self.state().take().ok_or(SPENT)?;
        *self.state() = Some(self.take(state, payload)?);
        Ok(())
    }

    fn progress(&self) -> Progress {
        Machine::progress(self)
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
