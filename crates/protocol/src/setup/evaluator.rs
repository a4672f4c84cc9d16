//! The evaluator's side of the base OTs: it offers.

use core::num::NonZeroUsize;

use rand_core::CryptoRng;
use tacit_ot::base::{BaseOt, Key, ml_kem, ristretto};
use tacit_ot::spare::SpareSet;
use tacit_ot::{Delta, Security, SessionTag};

use super::{EvaluatorOt, OtSettings, UNKNOWN_BASE_OT};
use crate::Error;
use crate::message::Kind;
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, SPENT};
use crate::session::RunTag;

/// The evaluator's side of the setup.
pub struct EvaluatorSetup(Option<EvaluatorStage>);

pub(crate) enum EvaluatorStage {
    /// Sends its offer first, where that waits for nothing.
    Sending(EvaluatorWaiting, Vec<u8>),
    Waiting(EvaluatorWaiting),
    /// Sends its offer last, where that answers the garbler's message.
    Replying(Box<EvaluatorMade>, Vec<u8>),
    Done(Box<EvaluatorMade>),
}

/// Base OTs that are made, and what they are for.
pub(crate) struct EvaluatorMade {
    tag: SessionTag,
    security: Security,
    settings: OtSettings,
    keys: Vec<[Key; 2]>,
}

pub(crate) struct EvaluatorWaiting {
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
        Ok(Self(Some(match settings.base {
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
        })))
    }

    /// The same setup, whose OTs withstand what `security` says; both parties say the same. It is
    /// semi-honest unless this is called, before the first message.
    #[must_use]
    pub fn secured(mut self, security: Security) -> Self {
        if let Some(EvaluatorStage::Sending(waiting, _) | EvaluatorStage::Waiting(waiting)) =
            &mut self.0
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
        let made = self.made()?;
        let extension = (made.settings.extension, made.security);
        EvaluatorOt::new(made.keys, &made.tag, extension)
    }

    /// The base OTs, to be kept for many runs in place of one session's.
    ///
    /// # Errors
    ///
    /// The setup is not done.
    pub fn finish_kept(self) -> Result<SpareSet, Error> {
        Ok(SpareSet::of_offered(&self.made()?.keys))
    }

    fn made(self) -> Result<EvaluatorMade, Error> {
        match self.0 {
            Some(EvaluatorStage::Done(made)) => Ok(*made),
            _ => Err(NOT_DONE),
        }
    }
}

impl Machine for EvaluatorSetup {
    type State = EvaluatorStage;

    fn state(&mut self) -> &mut Option<EvaluatorStage> {
        &mut self.0
    }

    fn awaited(&self, stage: &EvaluatorStage) -> Option<(Kind, usize)> {
        match stage {
            EvaluatorStage::Waiting(waiting) => {
                Some((Kind::BaseOtChoice, waiting.sender.expected_bytes()))
            }
            _ => None,
        }
    }

    fn step(
        &mut self,
        stage: EvaluatorStage,
        message: &mut Vec<u8>,
    ) -> Result<(EvaluatorStage, Option<Action>), Error> {
        let (stage, offer) = match stage {
            EvaluatorStage::Sending(waiting, offer) => (EvaluatorStage::Waiting(waiting), offer),
            EvaluatorStage::Replying(made, offer) => (EvaluatorStage::Done(made), offer),
            done @ EvaluatorStage::Done(_) => return Ok((done, Some(Action::Done))),
            EvaluatorStage::Waiting(_) => return Err(SPENT),
        };
        *message = offer;
        Ok((stage, Some(Action::Send(Kind::BaseOtOffer))))
    }

    fn take(&mut self, stage: EvaluatorStage, payload: &[u8]) -> Result<EvaluatorStage, Error> {
        let EvaluatorStage::Waiting(mut waiting) = stage else {
            return Err(NOT_ASKED);
        };
        waiting.sender.take(waiting.settings.threads, payload)?;
        match waiting.sender.expected_bytes() {
            0 => waiting.finish(),
            _ => Ok(EvaluatorStage::Waiting(waiting)),
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
        let made = Box::new(EvaluatorMade {
            tag: self.tag,
            security: self.security,
            settings: self.settings,
            keys,
        });
        Ok(match reply {
            Some(reply) => EvaluatorStage::Replying(made, reply),
            None => EvaluatorStage::Done(made),
        })
    }
}
