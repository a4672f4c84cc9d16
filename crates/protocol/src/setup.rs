//! Base OTs, from which a session's correlated OTs grow.
//!
//! The garbler chooses with the bits of its Δ, the evaluator offers; the two messages do not
//! depend on each other and cross on the wire. What comes out serves every run of the session in
//! these roles, and is discarded with the session's first error.

use rand_core::CryptoRng;
use tacit_kernels::Block;
use tacit_ot::correlated::{CotReceiver, CotSender};
use tacit_ot::{Delta, FieldBits, SessionTag, base};

use crate::message::Kind;
use crate::party::{Action, Party};
use crate::session::RunTag;
use crate::{Error, Misbehaviour};

/// The field of the OT extension: the wire's version fixes it.
const FIELD: FieldBits = FieldBits::DEFAULT;

impl From<tacit_ot::Error> for Error {
    fn from(error: tacit_ot::Error) -> Self {
        match error {
            tacit_ot::Error::PeerMisbehaved(fault) => Misbehaviour::ObliviousTransfer(fault).into(),
            tacit_ot::Error::ApiMisuse(tacit_ot::ApiMisuse::UsedUp { limit }) => {
                Self::TransfersUsedUp { limit }
            }
            _ => Self::ApiMisuse("the OT extension was asked for what it does not give"),
        }
    }
}

/// The garbler's end of a session's correlated OTs, with its Δ.
pub struct GarblerOt {
    delta: Block,
    sender: CotSender,
}

impl GarblerOt {
    /// The offset that all these OTs share. Secret.
    pub(crate) fn delta(&self) -> Block {
        self.delta
    }

    /// The number of the next OT.
    pub(crate) fn next_index(&self) -> u64 {
        self.sender.next_index()
    }

    /// Size of the extension message that gives `count` OTs.
    pub(crate) fn extension_bytes(&self, count: usize) -> usize {
        self.sender.message_len(count)
    }

    /// As many OTs as `offers` has room for, from the evaluator's message.
    pub(crate) fn extend(&mut self, offers: &mut [Block], message: &[u8]) -> Result<(), Error> {
        Ok(self.sender.extend_into(offers, message)?)
    }
}

impl Drop for GarblerOt {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.delta);
    }
}

/// The evaluator's end of a session's correlated OTs.
pub struct EvaluatorOt {
    receiver: CotReceiver,
}

impl EvaluatorOt {
    /// The number of the next OT.
    pub(crate) fn next_index(&self) -> u64 {
        self.receiver.next_index()
    }

    /// One OT for each choice, with the message to the garbler.
    pub(crate) fn extend(
        &mut self,
        choices: &[bool],
        received: &mut [Block],
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        Ok(self.receiver.extend_into(choices, received, message)?)
    }
}

/// What a side of the setup does next; both sides send and then wait.
enum Stage<W, D> {
    Sending(W, Vec<u8>),
    Waiting(W),
    Done(D),
    Spent,
}

/// The garbler's side of the setup.
pub struct GarblerSetup(Stage<GarblerWaiting, GarblerOt>);

struct GarblerWaiting {
    tag: SessionTag,
    delta: Delta,
    receiver: base::Receiver,
}

impl GarblerSetup {
    /// A setup with a fresh Δ.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn new<R: CryptoRng + ?Sized>(tag: &RunTag, rng: &mut R) -> Result<Self, Error> {
        let tag = SessionTag::new(*tag.as_bytes());
        let delta = Delta::random(rng);
        let (receiver, message) = base::Receiver::start(&delta.choices(), &tag, rng)?;
        Ok(Self(Stage::Sending(
            GarblerWaiting {
                tag,
                delta,
                receiver,
            },
            message,
        )))
    }

    /// The OTs.
    ///
    /// # Errors
    ///
    /// The setup is not done.
    pub fn finish(self) -> Result<GarblerOt, Error> {
        match self.0 {
            Stage::Done(ot) => Ok(ot),
            _ => Err(NOT_DONE),
        }
    }
}

/// The evaluator's side of the setup.
pub struct EvaluatorSetup(Stage<EvaluatorWaiting, EvaluatorOt>);

struct EvaluatorWaiting {
    tag: SessionTag,
    sender: base::Sender,
}

impl EvaluatorSetup {
    /// A setup.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn new<R: CryptoRng + ?Sized>(tag: &RunTag, rng: &mut R) -> Result<Self, Error> {
        let tag = SessionTag::new(*tag.as_bytes());
        let (sender, message) = base::Sender::start(Delta::BITS, &tag, rng)?;
        Ok(Self(Stage::Sending(
            EvaluatorWaiting { tag, sender },
            message,
        )))
    }

    /// The OTs.
    ///
    /// # Errors
    ///
    /// The setup is not done.
    pub fn finish(self) -> Result<EvaluatorOt, Error> {
        match self.0 {
            Stage::Done(ot) => Ok(ot),
            _ => Err(NOT_DONE),
        }
    }
}

const NOT_DONE: Error = Error::ApiMisuse("a setup is finished when it is done");

impl<W, D> Stage<W, D> {
    fn next(
        &mut self,
        message: &mut Vec<u8>,
        send: Kind,
        wait: impl FnOnce(&W) -> Action,
    ) -> Result<Action, Error> {
        let (stage, action) = match std::mem::replace(self, Self::Spent) {
            Self::Sending(waiting, payload) => {
                *message = payload;
                (Self::Waiting(waiting), Action::Send(send))
            }
            Self::Waiting(waiting) => {
                let action = wait(&waiting);
                (Self::Waiting(waiting), action)
            }
            Self::Done(done) => (Self::Done(done), Action::Done),
            Self::Spent => return Err(Error::ApiMisuse("the setup has failed before")),
        };
        *self = stage;
        Ok(action)
    }

    fn receive(&mut self, finish: impl FnOnce(W) -> Result<D, Error>) -> Result<(), Error> {
        match std::mem::replace(self, Self::Spent) {
            Self::Waiting(waiting) => {
                *self = Self::Done(finish(waiting)?);
                Ok(())
            }
            _ => Err(Error::ApiMisuse("no message was asked for")),
        }
    }
}

impl Party for GarblerSetup {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        self.0
            .next(message, Kind::BaseOtChoice, |_| Action::Receive {
                kind: Kind::BaseOtOffer,
                max_bytes: base::Sender::MESSAGE_BYTES,
            })
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.0.receive(
            |GarblerWaiting {
                 tag,
                 delta,
                 receiver,
             }| {
                let keys = receiver.finish(payload)?;
                let block = delta.to_block();
                Ok(GarblerOt {
                    delta: block,
                    sender: CotSender::new(delta, keys, &tag, FIELD)?,
                })
            },
        )
    }
}

impl Party for EvaluatorSetup {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        self.0
            .next(message, Kind::BaseOtOffer, |waiting| Action::Receive {
                kind: Kind::BaseOtChoice,
                max_bytes: waiting.sender.expected_bytes(),
            })
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.0.receive(|EvaluatorWaiting { tag, sender }| {
            let keys = sender.finish(payload)?;
            Ok(EvaluatorOt {
                receiver: CotReceiver::new(keys, &tag, FIELD)?,
            })
        })
    }
}
