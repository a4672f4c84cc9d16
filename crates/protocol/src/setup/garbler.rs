//! The garbler's side of the base OTs: it chooses with the bits of its Δ.

use core::num::NonZeroUsize;

use rand_core::CryptoRng;
use tacit_ot::base::{BaseOt, Key, PART, ml_kem, ristretto};
use tacit_ot::source::{Extension, SourceSender};
use tacit_ot::spare::SpareSet;
use tacit_ot::{Delta, Security, SessionTag};

use super::{GarblerOt, OtSettings, UNKNOWN_BASE_OT, messages};
use crate::Error;
use crate::io::Io;
use crate::session::RunTag;

/// The garbler's side of the setup.
pub struct GarblerSetup {
    tag: SessionTag,
    security: Security,
    delta: Box<Delta>,
    settings: OtSettings,
    receiver: BaseReceiver,
}

enum BaseReceiver {
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

    /// Returns the next part of the garbler's message, if one is left.
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

/// The base OTs of the garbler's side of a setup.
pub struct ChosenBase {
    tag: SessionTag,
    made: (Extension, Security),
    threads: NonZeroUsize,
    delta: Box<Delta>,
    keys: Vec<Key>,
}

impl GarblerSetup {
    /// Returns a setup with a fresh Δ.
    ///
    /// # Errors
    ///
    /// None that the caller can cause.
    pub fn with<R: CryptoRng + ?Sized>(
        settings: OtSettings,
        tag: &RunTag,
        rng: &mut R,
    ) -> Result<Self, Error> {
        Self::with_delta(settings, tag, Delta::random(rng), rng)
    }

    /// Returns a setup under the Δ of existing prepared material.
    ///
    /// # Errors
    ///
    /// None that the caller can cause.
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
            delta: Box::new(delta),
            settings,
            receiver,
        })
    }

    /// Returns the same setup with OTs that are secure as `security` says; both parties name the
    /// same. A setup is semi-honest unless this is called.
    #[must_use]
    pub fn secured(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// Runs the garbler's side.
    ///
    /// # Errors
    ///
    /// The evaluator misbehaves, or the wire fails.
    pub async fn run(self, io: &mut Io<'_>) -> Result<ChosenBase, Error> {
        let (mut receiver, threads) = (self.receiver, self.settings.base_threads);
        while let Some(part) = receiver.next_part(threads) {
            *io.message() = part;
            let bytes = io.message().len();
            io.send(messages::choice(bytes))?;
            // This part is sent before the next one is made.
            io.breathe().await?;
        }
        let offer = io
            .receive(messages::offer(receiver.expected_bytes()))
            .await?;
        let keys = match receiver {
            BaseReceiver::Ristretto255(receiver) => receiver.finish(threads, offer)?,
            BaseReceiver::MlKem768(receiver) => receiver.finish(threads, offer)?,
        };
        Ok(ChosenBase {
            tag: self.tag,
            made: (self.settings.extension, self.security),
            threads: self.settings.threads,
            delta: self.delta,
            keys,
        })
    }
}

impl ChosenBase {
    /// Returns the OTs.
    ///
    /// # Errors
    ///
    /// None that the caller can cause.
    pub fn ots(self) -> Result<GarblerOt, Error> {
        let delta = Delta::clone(&self.delta);
        let mut ots = GarblerOt::new(delta, self.keys, &self.tag, self.made)?;
        ots.set_threads(self.threads);
        Ok(ots)
    }

    /// Returns the source of OTs with random choices, numbered from 0.
    pub(crate) fn source(self) -> Result<SourceSender, Error> {
        let (delta, (extension, security)) = (Delta::clone(&self.delta), self.made);
        let source = SourceSender::new(delta, self.keys, &self.tag, extension, security, 0);
        let mut source = source?;
        source.set_threads(self.threads);
        Ok(source)
    }

    /// Returns the base OTs, to be kept for many runs instead of one session.
    #[must_use]
    pub fn kept(self) -> SpareSet {
        SpareSet::of_chosen(Delta::clone(&self.delta), &self.keys)
    }
}
