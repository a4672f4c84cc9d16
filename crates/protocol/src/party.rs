//! The interface between a protocol's states and whoever moves its messages.
//!
//! A driver asks a [`Party`] what it does [`next`](Party::next), sends what it is given and hands
//! over what arrives, until the party is [`Done`](Action::Done). No call works for long, so that
//! the driver comes to look at what else there is, such as a person who cancels. Drivers exist over
//! blocking channels (crate `tacit`) and in memory ([`io::memory`](crate::io::memory)); an
//! asynchronous one would look the same. A driver may do exactly what it is told, in order: no
//! party waits for a message whose sender waits for it.
//!
//! Parties differ in how they name their peers: one of two has an [`OnlyPeer`], and one of three
//! says [which](Peer).

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

/// What a party does next, where `P` names its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<P = OnlyPeer> {
    /// Send the message that was written.
    Send {
        /// To whom.
        to: P,
        /// As what.
        kind: Kind,
    },
    /// Wait for a message.
    Receive {
        /// From whom.
        from: P,
        /// Its kind.
        kind: Kind,
        /// Its greatest length in bytes.
        max_bytes: usize,
    },
    /// Keep what the run saves, durably, and go on when the other server has done so as well. The
    /// cloud gives out no result before. Asked of generator and cloud of `outsourced`, once, if the
    /// function saves.
    Keep,
    /// Nothing yet: the party works, and gives way after a bounded amount of it. Ask again.
    Continue,
    /// Nothing: the party has finished.
    Done,
}

impl Action {
    /// Sends the message that was written.
    #[must_use]
    pub const fn send(kind: Kind) -> Self {
        Self::Send { to: OnlyPeer, kind }
    }

    /// Waits for a message of at most `max_bytes` bytes.
    #[must_use]
    pub const fn receive(kind: Kind, max_bytes: usize) -> Self {
        Self::Receive {
            from: OnlyPeer,
            kind,
            max_bytes,
        }
    }
}

impl Action<Peer> {
    pub(crate) fn send_to(to: Peer, kind: Kind) -> Option<Self> {
        Some(Self::Send { to, kind })
    }

    pub(crate) fn receive_from(from: Peer, kind: Kind, max_bytes: usize) -> Option<Self> {
        Some(Self::Receive {
            from,
            kind,
            max_bytes,
        })
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
pub trait Party<P = OnlyPeer> {
    /// What the party does next. For [`Action::Send`], `message` then holds the payload; its old
    /// content is overwritten, and its capacity used again. Any other action leaves it empty or as
    /// it was.
    ///
    /// # Errors
    ///
    /// The party is spent.
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action<P>, Error>;

    /// Hands over the message that [`Action::Receive`] asked for.
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

/// A party whose every step consumes its state, so that it is spent after an error.
pub(crate) trait Machine<P = OnlyPeer> {
    /// Where the party is.
    type State;

    /// The state; none while a step has it, and after an error.
    fn state(&mut self) -> &mut Option<Self::State>;

    /// The message that `state` waits for, if it waits for one.
    fn awaited(&self, state: &Self::State) -> Option<Action<P>>;

    /// What is done at `state`, and the state after it. Without an action, that one is asked at
    /// once.
    fn step(
        &mut self,
        state: Self::State,
        message: &mut Vec<u8>,
    ) -> Result<(Self::State, Option<Action<P>>), Error>;

    /// The state after the message that `state` waits for.
    fn take(&mut self, state: Self::State, payload: &[u8]) -> Result<Self::State, Error>;

    /// As [`Party::progress`].
    fn progress(&self) -> Progress {
        Progress::default()
    }
}

/// Not for all names of peers in one: another crate could then implement no party for all of them.
macro_rules! party {
    ($peer:ty) => {
        impl<M: Machine<$peer>> Party<$peer> for M {
            fn next(&mut self, message: &mut Vec<u8>) -> Result<Action<$peer>, Error> {
                loop {
                    let state = self.state().take().ok_or(SPENT)?;
                    let (state, action) = match self.awaited(&state) {
                        Some(action) => (state, Some(action)),
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
    };
}

party!(OnlyPeer);
party!(Peer);

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
