//! The evaluator's side of the base OTs: it offers.

use core::num::NonZeroUsize;

use rand_core::CryptoRng;
use tacit_ot::base::{BaseOt, Key, ml_kem, ristretto};
use tacit_ot::source::{Extension, SourceReceiver};
use tacit_ot::spare::SpareSet;
use tacit_ot::{Delta, Security, SessionTag};

use super::{EvaluatorOt, OtSettings, UNKNOWN_BASE_OT, messages};
use crate::Error;
use crate::io::Io;
use crate::session::RunTag;

/// The evaluator's side of the setup.
pub struct EvaluatorSetup {
    tag: SessionTag,
    security: Security,
    settings: OtSettings,
    sender: BaseSender,
}

enum BaseSender {
    /// The sender and its offer, which needs no message of the garbler.
    Ristretto255(Box<ristretto::Sender>, Vec<u8>),
    /// A sender whose offer answers the garbler's message.
    MlKem768(Box<ml_kem::Sender>),
}

impl BaseSender {
    /// Returns the number of bytes of the garbler's message that are still to come.
    fn expected_bytes(&self) -> usize {
        match self {
            Self::Ristretto255(sender, _) => sender.expected_bytes(),
            Self::MlKem768(sender) => sender.expected_bytes(),
        }
    }

    fn take(&mut self, threads: NonZeroUsize, part: &[u8]) -> Result<(), Error> {
        match self {
            Self::Ristretto255(sender, _) => sender.take_on(threads, part)?,
            Self::MlKem768(sender) => sender.take_on(threads, part)?,
        }
        Ok(())
    }
}

/// The base OTs of the evaluator's side of a setup.
pub struct OfferedBase {
    tag: SessionTag,
    made: (Extension, Security),
    threads: NonZeroUsize,
    keys: Vec<[Key; 2]>,
}

impl EvaluatorSetup {
    /// Returns a setup.
    ///
    /// # Errors
    ///
    /// None that the caller can cause.
    pub fn with<R: CryptoRng + ?Sized>(
        settings: OtSettings,
        tag: &RunTag,
        rng: &mut R,
    ) -> Result<Self, Error> {
        let tag = SessionTag::new(*tag.as_bytes());
        let sender = match settings.base {
            BaseOt::Ristretto255 => {
                let (sender, offer) = ristretto::Sender::start(Delta::BITS, &tag, rng)?;
                BaseSender::Ristretto255(Box::new(sender), offer)
            }
            BaseOt::MlKem768 => {
                let sender = ml_kem::Sender::start(Delta::BITS, &tag, rng)?;
                BaseSender::MlKem768(Box::new(sender))
            }
            _ => return Err(UNKNOWN_BASE_OT),
        };
        Ok(Self {
            tag,
            security: Security::SemiHonest,
            settings,
            sender,
        })
    }

    /// Returns the same setup with OTs that are secure as `security` says; both parties name the
    /// same. A setup is semi-honest unless this is called.
    #[must_use]
    pub fn secured(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// Runs the evaluator's side.
    ///
    /// # Errors
    ///
    /// The garbler misbehaves, or the wire fails.
    pub async fn run(self, io: &mut Io<'_>) -> Result<OfferedBase, Error> {
        let mut sender = self.sender;
        if let BaseSender::Ristretto255(_, offer) = &mut sender {
            *io.message() = core::mem::take(offer);
            let bytes = io.message().len();
            io.send(messages::offer(bytes))?;
        }
        while sender.expected_bytes() > 0 {
            let part = io
                .receive(messages::choice(sender.expected_bytes()))
                .await?;
            sender.take(self.settings.base_threads, part)?;
        }
        let keys = match sender {
            BaseSender::Ristretto255(sender, _) => sender.into_keys()?,
            BaseSender::MlKem768(sender) => {
                let (keys, offer) = sender.into_answers()?;
                *io.message() = offer;
                let bytes = io.message().len();
                io.send(messages::offer(bytes))?;
                keys
            }
        };
        Ok(OfferedBase {
            tag: self.tag,
            made: (self.settings.extension, self.security),
            threads: self.settings.threads,
            keys,
        })
    }
}

impl OfferedBase {
    /// Returns the OTs.
    ///
    /// # Errors
    ///
    /// None that the caller can cause.
    pub fn ots(self) -> Result<EvaluatorOt, Error> {
        let mut ots = EvaluatorOt::new(self.keys, &self.tag, self.made)?;
        ots.set_threads(self.threads);
        Ok(ots)
    }

    /// Returns the source of OTs with random choices, numbered from 0.
    pub(crate) fn source(self) -> Result<SourceReceiver, Error> {
        let (extension, security) = self.made;
        let source = SourceReceiver::new(self.keys, &self.tag, extension, security, 0);
        let mut source = source?;
        source.set_threads(self.threads);
        Ok(source)
    }

    /// Returns the base OTs, to be kept for many runs instead of one session.
    #[must_use]
    pub fn kept(self) -> SpareSet {
        SpareSet::of_offered(&self.keys)
    }
}
