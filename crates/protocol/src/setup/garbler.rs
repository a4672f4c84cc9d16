//! The garbler's side of the base OTs: it chooses with the bits of its Δ.

use core::num::NonZeroUsize;

use rand_core::CryptoRng;
use tacit_ot::base::{BaseOt, Key, PART, ml_kem, ristretto};
use tacit_ot::spare::SpareSet;
use tacit_ot::{Delta, Security, SessionTag};

use super::{GarblerOt, OtSettings, UNKNOWN_BASE_OT};
use crate::Error;
use crate::message::Kind;
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, SPENT};
use crate::session::RunTag;

/// The garbler's side of the setup.
pub struct GarblerSetup {
    tag: SessionTag,
    security: Security,
    delta: Delta,
    settings: OtSettings,
    stage: Option<GarblerStage>,
}

pub(crate) enum GarblerStage {
    /// Makes the parts of its message. Each is flushed before the next is made.
    Offering(BaseReceiver, Flushed),
    Waiting(BaseReceiver),
    Done(Vec<Key>),
}

/// Whether what was sent last is on its way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flushed {
    Yes,
    No,
}

pub(crate) enum BaseReceiver {
    Ristretto255(Box<ristretto::Receiver>),
    MlKem768(Box<ml_kem::Receiver>),
}

impl BaseReceiver {
    fn expected_bytes(&self) -> usize {
        match self {
            Self::Ristretto255(_) => ristretto::Sender::MESSAGE_BYTES,
            Self::MlKem768(receiver) => receiver.expected_bytes(),
        }
    }

    /// The next part of its message, if there is one left.
    fn next_part(&mut self, threads: NonZeroUsize) -> Option<Vec<u8>> {
        match self {
            Self::Ristretto255(receiver) if receiver.left() > 0 => {
                Some(receiver.offer_on(threads, PART))
            }
            Self::MlKem768(receiver) if receiver.left() > 0 => {
                Some(receiver.offer_on(threads, PART))
            }
            _ => None,
        }
    }
}

impl GarblerSetup {
    /// A setup with a fresh Δ and the default base OTs and extension.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn new<R: CryptoRng + ?Sized>(tag: &RunTag, rng: &mut R) -> Result<Self, Error> {
        Self::with(OtSettings::default(), tag, rng)
    }

    /// A setup with a fresh Δ.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn with<R: CryptoRng + ?Sized>(
        settings: OtSettings,
        tag: &RunTag,
        rng: &mut R,
    ) -> Result<Self, Error> {
        Self::with_delta(settings, tag, Delta::random(rng), rng)
    }

    /// A setup under the Δ that prepared material has already.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn with_delta<R: CryptoRng + ?Sized>(
        settings: OtSettings,
        tag: &RunTag,
        delta: Delta,
        rng: &mut R,
    ) -> Result<Self, Error> {
        let tag = SessionTag::new(*tag.as_bytes());
        let choices = delta.choices();
        let receiver = match settings.base {
            BaseOt::Ristretto255 => {
                let receiver = ristretto::Receiver::new(&choices, &tag, rng)?;
                BaseReceiver::Ristretto255(Box::new(receiver))
            }
            BaseOt::MlKem768 => {
                let receiver = ml_kem::Receiver::new(&choices, &tag, rng)?;
                BaseReceiver::MlKem768(Box::new(receiver))
            }
            _ => return Err(UNKNOWN_BASE_OT),
        };
        Ok(Self {
            tag,
            security: Security::SemiHonest,
            delta,
            settings,
            stage: Some(GarblerStage::Offering(receiver, Flushed::Yes)),
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
    pub fn finish(self) -> Result<GarblerOt, Error> {
        let made = (self.settings.extension, self.security);
        GarblerOt::new(self.delta, keys(self.stage)?, &self.tag, made)
    }

    /// The base OTs, to be kept for many runs in place of one session's.
    ///
    /// # Errors
    ///
    /// The setup is not done.
    pub fn finish_kept(self) -> Result<SpareSet, Error> {
        Ok(SpareSet::of_chosen(self.delta, &keys(self.stage)?))
    }
}

fn keys(stage: Option<GarblerStage>) -> Result<Vec<Key>, Error> {
    match stage {
        Some(GarblerStage::Done(keys)) => Ok(keys),
        _ => Err(NOT_DONE),
    }
}

impl Machine for GarblerSetup {
    type State = GarblerStage;

    fn state(&mut self) -> &mut Option<GarblerStage> {
        &mut self.stage
    }

    fn awaited(&self, stage: &GarblerStage) -> Option<Action> {
        match stage {
            GarblerStage::Waiting(receiver) => Some(Action::receive(
                Kind::BaseOtOffer,
                receiver.expected_bytes(),
            )),
            _ => None,
        }
    }

    fn step(
        &mut self,
        stage: GarblerStage,
        message: &mut Vec<u8>,
    ) -> Result<(GarblerStage, Option<Action>), Error> {
        Ok(match stage {
            GarblerStage::Offering(receiver, Flushed::No) => {
                let stage = GarblerStage::Offering(receiver, Flushed::Yes);
                (stage, Some(Action::Continue))
            }
            GarblerStage::Offering(mut receiver, Flushed::Yes) => {
                match receiver.next_part(self.settings.threads) {
                    Some(part) => {
                        *message = part;
                        let stage = GarblerStage::Offering(receiver, Flushed::No);
                        (stage, Some(Action::send(Kind::BaseOtChoice)))
                    }
                    None => (GarblerStage::Waiting(receiver), None),
                }
            }
            done @ GarblerStage::Done(_) => (done, Some(Action::Done)),
            GarblerStage::Waiting(_) => return Err(SPENT),
        })
    }

    fn take(&mut self, stage: GarblerStage, payload: &[u8]) -> Result<GarblerStage, Error> {
        let threads = self.settings.threads;
        Ok(GarblerStage::Done(match stage {
            GarblerStage::Waiting(BaseReceiver::Ristretto255(receiver)) => {
                receiver.finish(threads, payload)?
            }
            GarblerStage::Waiting(BaseReceiver::MlKem768(receiver)) => {
                receiver.finish(threads, payload)?
            }
            _ => return Err(NOT_ASKED),
        }))
    }
}
