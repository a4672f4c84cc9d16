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
pub struct EvaluatorSetup {
    tag: SessionTag,
    security: Security,
    settings: OtSettings,
    stage: Option<EvaluatorStage>,
}

pub(crate) enum EvaluatorStage {
    /// Sends its offer first, where that waits for nothing.
    Sending(BaseSender, Vec<u8>),
    Waiting(BaseSender),
    /// Sends its offer last, where that answers the garbler's message.
    Replying(Vec<[Key; 2]>, Vec<u8>),
    Done(Vec<[Key; 2]>),
}

pub(crate) enum BaseSender {
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
        let stage = match settings.base {
            BaseOt::Ristretto255 => {
                let (sender, message) = ristretto::Sender::start(Delta::BITS, &tag, rng)?;
                EvaluatorStage::Sending(BaseSender::Ristretto255(Box::new(sender)), message)
            }
            BaseOt::MlKem768 => {
                let sender = ml_kem::Sender::start(Delta::BITS, &tag, rng)?;
                EvaluatorStage::Waiting(BaseSender::MlKem768(Box::new(sender)))
            }
            _ => return Err(UNKNOWN_BASE_OT),
        };
        Ok(Self {
            tag,
            security: Security::SemiHonest,
            settings,
            stage: Some(stage),
        })
    }

    /// The same setup, whose OTs withstand what `security` says; both parties say the same. It is
    /// semi-honest unless this is called, before the first message.
    #[must_use]
    pub fn secured(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// The OTs.
    ///
    /// # Errors
    ///
    /// The setup is not done.
    pub fn finish(self) -> Result<EvaluatorOt, Error> {
        let made = (self.settings.extension, self.security);
        EvaluatorOt::new(keys(self.stage)?, &self.tag, made)
    }

    /// The base OTs, to be kept for many runs in place of one session's.
    ///
    /// # Errors
    ///
    /// The setup is not done.
    pub fn finish_kept(self) -> Result<SpareSet, Error> {
        Ok(SpareSet::of_offered(&keys(self.stage)?))
    }
}

fn keys(stage: Option<EvaluatorStage>) -> Result<Vec<[Key; 2]>, Error> {
    match stage {
        Some(EvaluatorStage::Done(keys)) => Ok(keys),
        _ => Err(NOT_DONE),
    }
}

impl Machine for EvaluatorSetup {
    type State = EvaluatorStage;

    fn state(&mut self) -> &mut Option<EvaluatorStage> {
        &mut self.stage
    }

    fn awaited(&self, stage: &EvaluatorStage) -> Option<Action> {
        match stage {
            EvaluatorStage::Waiting(sender) => {
                Some(Action::receive(Kind::BaseOtChoice, sender.expected_bytes()))
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
            EvaluatorStage::Sending(sender, offer) => (EvaluatorStage::Waiting(sender), offer),
            EvaluatorStage::Replying(keys, offer) => (EvaluatorStage::Done(keys), offer),
            done @ EvaluatorStage::Done(_) => return Ok((done, Some(Action::Done))),
            EvaluatorStage::Waiting(_) => return Err(SPENT),
        };
        *message = offer;
        Ok((stage, Some(Action::send(Kind::BaseOtOffer))))
    }

    fn take(&mut self, stage: EvaluatorStage, payload: &[u8]) -> Result<EvaluatorStage, Error> {
        let EvaluatorStage::Waiting(mut sender) = stage else {
            return Err(NOT_ASKED);
        };
        sender.take(self.settings.threads, payload)?;
        if sender.expected_bytes() > 0 {
            return Ok(EvaluatorStage::Waiting(sender));
        }
        Ok(match sender {
            BaseSender::Ristretto255(sender) => EvaluatorStage::Done(sender.into_keys()?),
            BaseSender::MlKem768(sender) => {
                let (keys, reply) = sender.into_answers()?;
                EvaluatorStage::Replying(keys, reply)
            }
        })
    }
}
