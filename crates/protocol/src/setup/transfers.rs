//! The correlated OTs of a session, as protocols draw them: whatever makes them, a run asks for so
//! many and the evaluator's one message to the garbler gives them.
//!
//! | extension | the evaluator's message | before it |
//! |---|---|---|
//! | SoftSpoken | the extension with the choices in it, 128/k bits an OT | nothing |
//! | silent | corrections of random choices, one bit an OT | the OTs are made: [`Refill`](super::Refill) |
//!
//! Corrections hide the choices perfectly: the made OTs' own choices are random and serve once.

use tacit_kernels::{Block, Prg};
use tacit_ot::base::Key;
use tacit_ot::correlated::{CotReceiver, CotSender};
use tacit_ot::source::{Extension, SourceReceiver, SourceSender};
use tacit_ot::spare::{Batch, SpareSet};
use tacit_ot::{Delta, Security, SessionTag};
use zeroize::Zeroizing;

use super::OtSettings;
use super::refill::Half;
use crate::Error;
use crate::bits::bytes_for;
use crate::session::RunTag;

/// The garbler's end of a session's correlated OTs, with its Δ.
pub struct GarblerOt {
    delta: Block,
    extension: Extension,
    security: Security,
    maker: GarblerMaker,
}

enum GarblerMaker {
    Extending(Box<CotSender>),
    Made(Box<SourceSender>),
}

impl GarblerOt {
    /// The OTs that come of base OTs with these keys, which were chosen by the bits of `delta`.
    pub(super) fn new(
        delta: Delta,
        base: Vec<Key>,
        tag: &SessionTag,
        (extension, security): (Extension, Security),
    ) -> Result<Self, Error> {
        let block = delta.to_block();
        let maker = match extension {
            Extension::SoftSpoken(field) => {
                let sender = CotSender::with_security(delta, base, tag, field, security)?;
                GarblerMaker::Extending(Box::new(sender))
            }
            Extension::Silent => {
                let sender = SourceSender::new(delta, base, tag, extension, security, 0)?;
                GarblerMaker::Made(Box::new(sender))
            }
        };
        Ok(Self {
            delta: block,
            extension,
            security,
            maker,
        })
    }

    /// The OTs, which withstand what `security` says, that come of base OTs which both parties had
    /// left: no message is needed.
    ///
    /// # Errors
    ///
    /// The set is the other role's half.
    pub fn from_spare(
        spare: SpareSet,
        (settings, security): (OtSettings, Security),
        tag: &RunTag,
    ) -> Result<Self, Error> {
        let tag = SessionTag::new(*tag.as_bytes());
        let (delta, base) = spare.into_chosen(&tag)?;
        Self::new(delta, base, &tag, (settings.extension, security))
    }

    /// The batch of spare base OTs that an evaluator has of the `q` that it made from these OTs,
    /// whose setup had this tag.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn into_spares(self, tag: &RunTag, q: Zeroizing<Vec<Block>>) -> Result<Batch, Error> {
        let delta = Delta::from_block(self.delta).map_err(tacit_ot::Error::from)?;
        let tag = SessionTag::new(*tag.as_bytes());
        Ok(Batch::offered(&tag, delta, q))
    }

    /// What these OTs withstand.
    #[must_use]
    pub fn security(&self) -> Security {
        self.security
    }

    /// How they are made.
    #[must_use]
    pub fn extension(&self) -> Extension {
        self.extension
    }

    /// The offset that all these OTs share. Secret.
    pub(crate) fn delta(&self) -> Block {
        self.delta
    }

    /// The number of the next OT.
    pub(crate) fn next_index(&self) -> u64 {
        match &self.maker {
            GarblerMaker::Extending(sender) => sender.next_index(),
            GarblerMaker::Made(source) => source.available().start,
        }
    }

    /// Size of the message that gives `count` OTs.
    pub(crate) fn extension_bytes(&self, count: usize) -> usize {
        match &self.maker {
            GarblerMaker::Extending(sender) => sender.message_len(count),
            GarblerMaker::Made(_) => bytes_for(count),
        }
    }

    /// As many OTs as `offers` has room for, from the evaluator's message.
    pub(crate) fn extend(&mut self, offers: &mut [Block], message: &[u8]) -> Result<(), Error> {
        match &mut self.maker {
            GarblerMaker::Extending(sender) => sender.extend_into(offers, message)?,
            GarblerMaker::Made(source) => {
                let ots = source.take(source.available().start, offers.len())?;
                offers.copy_from_slice(&ots.into_zero_labels(message)?);
            }
        }
        Ok(())
    }

    /// Size of the message that gives `count` OTs with random choices.
    pub(crate) fn random_bytes(&self, count: usize) -> usize {
        match &self.maker {
            GarblerMaker::Extending(sender) => sender.message_len(count),
            GarblerMaker::Made(_) => 0,
        }
    }

    /// As many OTs with random choices as `offers` has room for. Bit 0 of each is clear.
    pub(crate) fn extend_random(
        &mut self,
        offers: &mut [Block],
        message: &[u8],
    ) -> Result<(), Error> {
        match &mut self.maker {
            GarblerMaker::Extending(sender) => sender.extend_random(offers, message)?,
            GarblerMaker::Made(source) => {
                let ots = source.take(source.available().start, offers.len())?;
                offers.copy_from_slice(&ots.into_correlated().1);
            }
        }
        Ok(())
    }

    /// Whether OTs have to be made before `count` can be taken: by a [`Refill`](super::Refill).
    #[must_use]
    pub fn needs_refill(&self, count: u64) -> bool {
        match &self.maker {
            GarblerMaker::Extending(_) => false,
            GarblerMaker::Made(source) => source.left() < count,
        }
    }

    /// The source, where OTs are made before they are used.
    pub(crate) fn half(&mut self) -> Option<&mut dyn Half> {
        match &mut self.maker {
            GarblerMaker::Extending(_) => None,
            GarblerMaker::Made(source) => Some(&mut **source),
        }
    }
}

impl Drop for GarblerOt {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.delta);
    }
}

/// The evaluator's end of a session's correlated OTs.
pub struct EvaluatorOt {
    extension: Extension,
    security: Security,
    maker: EvaluatorMaker,
}

enum EvaluatorMaker {
    Extending(Box<CotReceiver>),
    Made(Box<SourceReceiver>),
}

impl EvaluatorOt {
    /// The OTs that come of base OTs with these keys.
    pub(super) fn new(
        base: Vec<[Key; 2]>,
        tag: &SessionTag,
        (extension, security): (Extension, Security),
    ) -> Result<Self, Error> {
        let maker = match extension {
            Extension::SoftSpoken(field) => {
                let receiver = CotReceiver::with_security(base, tag, field, security)?;
                EvaluatorMaker::Extending(Box::new(receiver))
            }
            Extension::Silent => {
                let receiver = SourceReceiver::new(base, tag, extension, security, 0)?;
                EvaluatorMaker::Made(Box::new(receiver))
            }
        };
        Ok(Self {
            extension,
            security,
            maker,
        })
    }

    /// The OTs, which withstand what `security` says, that come of base OTs which both parties had
    /// left: no message is needed.
    ///
    /// # Errors
    ///
    /// The set is the other role's half.
    pub fn from_spare(
        spare: SpareSet,
        (settings, security): (OtSettings, Security),
        tag: &RunTag,
    ) -> Result<Self, Error> {
        let tag = SessionTag::new(*tag.as_bytes());
        let base = spare.into_offered(&tag)?;
        Self::new(base, &tag, (settings.extension, security))
    }

    /// What these OTs withstand.
    #[must_use]
    pub fn security(&self) -> Security {
        self.security
    }

    /// How they are made.
    #[must_use]
    pub fn extension(&self) -> Extension {
        self.extension
    }

    /// The number of the next OT.
    pub(crate) fn next_index(&self) -> u64 {
        match &self.maker {
            EvaluatorMaker::Extending(receiver) => receiver.next_index(),
            EvaluatorMaker::Made(source) => source.available().start,
        }
    }

    /// One OT for each choice, with the message to the garbler.
    pub(crate) fn extend(
        &mut self,
        choices: &[bool],
        received: &mut [Block],
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        match &mut self.maker {
            EvaluatorMaker::Extending(receiver) => {
                receiver.extend_into(choices, received, message)?;
            }
            EvaluatorMaker::Made(source) => {
                let ots = source.take(source.available().start, received.len())?;
                let (chosen, corrections) = ots.choose(choices)?;
                received.copy_from_slice(&chosen.into_labels());
                *message = corrections;
            }
        }
        Ok(())
    }

    /// One OT with a random choice for each of `received`, whose bit 0 is then the choice, with the
    /// message to the garbler.
    pub(crate) fn extend_random(
        &mut self,
        rng: &mut Prg,
        received: &mut [Block],
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        match &mut self.maker {
            EvaluatorMaker::Extending(receiver) => {
                receiver.extend_random(rng, received, message)?;
            }
            EvaluatorMaker::Made(source) => {
                let ots = source.take(source.available().start, received.len())?;
                received.copy_from_slice(&ots.into_correlated().1);
                message.clear();
            }
        }
        Ok(())
    }

    /// Whether OTs have to be made before `count` can be taken: by a [`Refill`](super::Refill).
    #[must_use]
    pub fn needs_refill(&self, count: u64) -> bool {
        match &self.maker {
            EvaluatorMaker::Extending(_) => false,
            EvaluatorMaker::Made(source) => source.left() < count,
        }
    }

    /// The source, where OTs are made before they are used.
    pub(crate) fn half(&mut self) -> Option<&mut dyn Half> {
        match &mut self.maker {
            EvaluatorMaker::Extending(_) => None,
            EvaluatorMaker::Made(source) => Some(&mut **source),
        }
    }
}
