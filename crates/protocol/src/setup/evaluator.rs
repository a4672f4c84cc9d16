//! The evaluator's side of the base OTs: it offers.

use core::num::NonZeroUsize;

use rand_core::CryptoRng;
use tacit_ot::base::{BaseOt, ml_kem, ristretto};
use tacit_ot::{Delta, Security, SessionTag};

use super::{EvaluatorOt, FAILED, NOT_ASKED, NOT_DONE, OtSettings, UNKNOWN_BASE_OT};
use crate::Error;
use crate::message::Kind;
use crate::party::{Action, Party};
use crate::session::RunTag;

/// The evaluator's side of the setup.
pub struct EvaluatorSetup(EvaluatorStage);

enum EvaluatorStage {
    /// Sends its offer first, where that waits for nothing.
    Sending(EvaluatorWaiting, Vec<u8>),
    Waiting(EvaluatorWaiting),
    /// Sends its offer last, where that answers the garbler's message.
    Replying(Box<EvaluatorOt>, Vec<u8>),
    Done(Box<EvaluatorOt>),
    Spent,
}

struct EvaluatorWaiting {
    tag: SessionTag,
    security: Security,
    settings: OtSettings,
    sender: BaseSender,
}

enum BaseSender {
    Ristretto255(Box<ristretto::Sender>),
    MlKem768(Box<ml_kem::Sender>),
}

impl BaseSender {
    /// Size of what is still to come of the garbler's message.
    fn expected_bytes(&self) -> usize {
        match self {
            Self::Ristretto255(sender) => sender.expected_bytes(),
            Self::MlKem768(sender) => sender.expected_bytes(),
        }
    }

    fn take(&mut self, threads: NonZeroUsize, part: &[u8]) -> Result<(), Error> {
        match self {
            Self::Ristretto255(sender) => sender.take_on(threads, part)?,
            Self::MlKem768(sender) => sender.take_on(threads, part)?,
        }
        Ok(())
    }
}

impl EvaluatorSetup {
    /// A setup with the default base OTs and extension.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn new<R: CryptoRng + ?Sized>(tag: &RunTag, rng: &mut R) -> Result<Self, Error> {
        Self::with(OtSettings::default(), tag, rng)
    }

    /// A setup.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn with<R: CryptoRng + ?Sized>(
        settings: OtSettings,
        tag: &RunTag,
        rng: &mut R,
    ) -> Result<Self, Error> {
        let tag = SessionTag::new(*tag.as_bytes());
        let waiting = |sender| EvaluatorWaiting {
            tag,
            security: Security::SemiHonest,
            settings,
            sender,
        };
        Ok(Self(match settings.base {
            BaseOt::Ristretto255 => {
                let (sender, message) = ristretto::Sender::start(Delta::BITS, &tag, rng)?;
                let waiting = waiting(BaseSender::Ristretto255(Box::new(sender)));
                EvaluatorStage::Sending(waiting, message)
            }
            BaseOt::MlKem768 => {
                let sender = ml_kem::Sender::start(Delta::BITS, &tag, rng)?;
                EvaluatorStage::Waiting(waiting(BaseSender::MlKem768(Box::new(sender))))
            }
            _ => return Err(UNKNOWN_BASE_OT),
        }))
    }

    /// The same setup, whose OTs withstand what `security` says; both parties say the same. It is
    /// semi-honest unless this is called, before the first message.
    #[must_use]
    pub fn secured(mut self, security: Security) -> Self {
        if let EvaluatorStage::Sending(waiting, _) | EvaluatorStage::Waiting(waiting) = &mut self.0
        {
            waiting.security = security;
        }
        self
    }

    /// The OTs.
    ///
    /// # Errors
    ///
    /// The setup is not done.
    pub fn finish(self) -> Result<EvaluatorOt, Error> {
        match self.0 {
            EvaluatorStage::Done(ot) => Ok(*ot),
            _ => Err(NOT_DONE),
        }
    }
}

impl Party for EvaluatorSetup {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        let send = Action::Send(Kind::BaseOtOffer);
        let (stage, action) = match core::mem::replace(&mut self.0, EvaluatorStage::Spent) {
            EvaluatorStage::Sending(waiting, offer) => {
                *message = offer;
                (EvaluatorStage::Waiting(waiting), send)
            }
            EvaluatorStage::Waiting(waiting) => {
                let action = Action::Receive {
                    kind: Kind::BaseOtChoice,
                    max_bytes: waiting.sender.expected_bytes(),
                };
                (EvaluatorStage::Waiting(waiting), action)
            }
            EvaluatorStage::Replying(ot, offer) => {
                *message = offer;
                (EvaluatorStage::Done(ot), send)
            }
            EvaluatorStage::Done(ot) => (EvaluatorStage::Done(ot), Action::Done),
            EvaluatorStage::Spent => return Err(FAILED),
        };
        self.0 = stage;
        Ok(action)
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        match core::mem::replace(&mut self.0, EvaluatorStage::Spent) {
            EvaluatorStage::Waiting(mut waiting) => {
                waiting.sender.take(waiting.settings.threads, payload)?;
                self.0 = if waiting.sender.expected_bytes() > 0 {
                    EvaluatorStage::Waiting(waiting)
                } else {
                    waiting.finish()?
                };
                Ok(())
            }
            _ => Err(NOT_ASKED),
        }
    }
}

impl EvaluatorWaiting {
    fn finish(self) -> Result<EvaluatorStage, Error> {
        let (keys, reply) = match self.sender {
            BaseSender::Ristretto255(sender) => (sender.into_keys()?, None),
            BaseSender::MlKem768(sender) => {
                let (keys, reply) = sender.into_answers()?;
                (keys, Some(reply))
            }
        };
        let made = (self.settings.extension, self.security);
        let ot = Box::new(EvaluatorOt::new(keys, &self.tag, made)?);
        Ok(match reply {
            Some(reply) => EvaluatorStage::Replying(ot, reply),
            None => EvaluatorStage::Done(ot),
        })
    }
}
