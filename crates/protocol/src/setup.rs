//! Base OTs, from which a session's correlated OTs grow.
//!
//! The garbler chooses with the bits of its Δ, the evaluator offers; the two messages do not
//! depend on each other and cross on the wire. What comes out serves every run of the session in
//! these roles, and is discarded with the session's first error.

use rand_core::CryptoRng;
use tacit_circuit::{Function, Role};
use tacit_kernels::Block;
use tacit_ot::correlated::{CotReceiver, CotSender};
use tacit_ot::{Delta, FieldBits, SessionTag, base};
use zeroize::Zeroizing;

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

    /// Size of the extension message that gives every evaluator's input bit of `function` its OT.
    pub(crate) fn extension_bytes(&self, function: &Function) -> usize {
        self.sender
            .message_len(function.input_bits(Role::Evaluator))
    }

    /// `count` OTs from the evaluator's message, with the number of the first.
    pub(crate) fn extend(
        &mut self,
        count: usize,
        message: &[u8],
    ) -> Result<(u64, Zeroizing<Vec<Block>>), Error> {
        let first = self.sender.next_index();
        if count == 0 {
            return Ok((first, Zeroizing::default()));
        }
        Ok((first, Zeroizing::new(self.sender.extend(count, message)?)))
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

/// OTs for given choices: the number of the first, the message to the garbler, the labels.
pub(crate) type Chosen = (u64, Vec<u8>, Zeroizing<Vec<Block>>);

impl EvaluatorOt {
    /// One OT for each choice.
    pub(crate) fn extend(&mut self, choices: &[bool]) -> Result<Chosen, Error> {
        let first = self.receiver.next_index();
        if choices.is_empty() {
            return Ok((first, Vec::new(), Zeroizing::default()));
        }
        let (message, received) = self.receiver.extend(choices)?;
        Ok((first, message, Zeroizing::new(received)))
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
