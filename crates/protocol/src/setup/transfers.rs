//! The correlated OTs of a session, as protocols draw them. With any extension, a run asks for n
//! OTs, and one message from the evaluator to the garbler provides them.
//!
//! | extension | the evaluator's message | before it |
//! |---|---|---|
//! | SoftSpoken | the extension with the choices in it, 128/k bits an OT | nothing |
//! | silent | corrections of random choices, one bit an OT | the OTs are made: [refill](SessionOt::refill) |
//!
//! Corrections hide the choices perfectly: the choices of prepared OTs are random and used once.

use core::num::NonZeroUsize;

use tacit_kernels::{Block, Prg};
use tacit_ot::base::Key;
use tacit_ot::correlated::{CotReceiver, CotSender};
use tacit_ot::source::{Extension, SourceReceiver, SourceSender};
use tacit_ot::spare::SpareSet;
use tacit_ot::{Delta, Security, SessionTag};
use zeroize::Zeroizing;

use super::OtSettings;
use super::messages::{self, EXTENSION_OTS};
use super::refill::Half;
use crate::Error;
use crate::bits::bytes_for;
use crate::io::Io;
use crate::party::{OnlyPeer, PeerName};
use crate::session::RunTag;

/// A party's end of a session's correlated OTs: a [`GarblerOt`], with its Δ, or an
/// [`EvaluatorOt`].
pub struct SessionOt<E, M> {
    extension: Extension,
    security: Security,
    threads: NonZeroUsize,
    maker: Maker<E, M>,
}

/// The garbler's end, with its Δ.
pub type GarblerOt = SessionOt<CotSender, SourceSender>;

/// The evaluator's end.
pub type EvaluatorOt = SessionOt<CotReceiver, SourceReceiver>;

/// The maker of OTs: together with the choices, or ahead of them.
enum Maker<E, M> {
    Extending(Box<E>),
    Made(Box<M>),
}

#[expect(private_bounds, reason = "only this module has halves")]
impl<E, M: Half> SessionOt<E, M> {
    fn of((extension, security): (Extension, Security), maker: Maker<E, M>) -> Self {
        Self {
            extension,
            security,
            threads: NonZeroUsize::MIN,
            maker,
        }
    }

    /// Returns the adversary that these OTs withstand.
    pub fn security(&self) -> Security {
        self.security
    }

    /// Returns the extension that makes these OTs.
    pub fn extension(&self) -> Extension {
        self.extension
    }

    /// On how many threads they are made.
    pub(crate) fn threads(&self) -> NonZeroUsize {
        self.threads
    }

    /// Whether a [`refill`](Self::refill) has to make OTs before `count` can be taken.
    pub fn needs_refill(&self, count: u64) -> bool {
        match &self.maker {
            Maker::Extending(_) => false,
            Maker::Made(source) => source.left() < count,
        }
    }

    /// Whether OTs are made before they are used.
    pub(crate) fn is_made_ahead(&self) -> bool {
        matches!(self.maker, Maker::Made(_))
    }

    /// Returns the source, if the extension makes OTs ahead.
    pub(crate) fn half(&mut self) -> Option<&mut dyn Half> {
        match &mut self.maker {
            Maker::Extending(_) => None,
            Maker::Made(source) => Some(&mut **source),
        }
    }
}

impl GarblerOt {
    /// Returns the OTs from base OTs with these keys, which were chosen by the bits of `delta`.
    pub(super) fn new(
        delta: Delta,
        base: Vec<Key>,
        tag: &SessionTag,
        made: (Extension, Security),
    ) -> Result<Self, Error> {
        let (extension, security) = made;
        let maker = match extension {
            Extension::SoftSpoken(field) => {
                let sender = CotSender::with_security(delta, base, tag, field, security)?;
                Maker::Extending(Box::new(sender))
            }
            Extension::Silent => {
                let sender = SourceSender::new(delta, base, tag, extension, security, 0)?;
                Maker::Made(Box::new(sender))
            }
        };
        Ok(Self::of(made, maker))
    }

    /// Returns the OTs, secure as `security` says, from spare base OTs that both parties have. No
    /// message is needed.
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
        let mut ots = Self::new(delta, base, &tag, (settings.extension, security))?;
        ots.set_threads(settings.threads);
        Ok(ots)
    }

    /// Returns the offset that all these OTs share. Secret.
    pub(crate) fn delta(&self) -> Block {
        self.offset().to_block()
    }

    /// Returns the same as a [`Delta`].
    pub(crate) fn offset(&self) -> &Delta {
        match &self.maker {
            Maker::Extending(sender) => sender.delta(),
            Maker::Made(source) => source.delta(),
        }
    }

    /// Makes OTs on this many threads from now on; at first on those of the settings.
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        self.threads = threads;
        match &mut self.maker {
            Maker::Extending(sender) => sender.set_threads(threads),
            Maker::Made(source) => source.set_threads(threads),
        }
    }

    /// Returns the number of the next OT.
    pub(crate) fn next_index(&self) -> u64 {
        match &self.maker {
            Maker::Extending(sender) => sender.next_index(),
            Maker::Made(source) => source.available().start,
        }
    }

    /// Returns the size of the message that gives `count` OTs.
    pub(crate) fn extension_bytes(&self, count: usize) -> usize {
        match &self.maker {
            Maker::Extending(sender) => sender.message_len(count),
            Maker::Made(_) => bytes_for(count),
        }
    }

    /// Fills `offers` with one OT each, from the evaluator's message.
    pub(crate) fn extend(&mut self, offers: &mut [Block], message: &[u8]) -> Result<(), Error> {
        match &mut self.maker {
            Maker::Extending(sender) => sender.extend_into(offers, message)?,
            Maker::Made(source) => {
                let ots = source.take(source.available().start, offers.len())?;
                offers.copy_from_slice(&ots.into_zero_labels(message)?);
            }
        }
        Ok(())
    }

    /// Returns q of each of `count` OTs, which the evaluator chooses.
    ///
    /// # Errors
    ///
    /// The evaluator misbehaves, or the wire fails.
    pub async fn offer(
        &mut self,
        io: &mut Io<'_>,
        count: usize,
    ) -> Result<Zeroizing<Vec<Block>>, Error> {
        self.offer_to(io, OnlyPeer, count).await
    }

    /// Offers OTs to this peer, as [`offer`](Self::offer) does.
    pub(crate) async fn offer_to<P: PeerName>(
        &mut self,
        io: &mut Io<'_, P>,
        peer: P,
        count: usize,
    ) -> Result<Zeroizing<Vec<Block>>, Error> {
        let mut offers = Zeroizing::new(vec![Block::ZERO; count]);
        for offers in offers.chunks_mut(EXTENSION_OTS) {
            let expected = messages::extension(self.extension_bytes(offers.len()));
            self.extend(offers, io.receive_from(peer, expected).await?)?;
        }
        Ok(offers)
    }

    /// Returns the size of the message that gives `count` OTs with random choices.
    pub(crate) fn random_bytes(&self, count: usize) -> usize {
        match &self.maker {
            Maker::Extending(sender) => sender.message_len(count),
            Maker::Made(_) => 0,
        }
    }

    /// Returns the size of such a message after the first one.
    pub(crate) fn later_random_bytes(&self, count: usize) -> usize {
        match &self.maker {
            Maker::Extending(sender) => sender.later_message_len(count),
            Maker::Made(_) => 0,
        }
    }

    /// Does the same as a call of [`extend_random`](Self::extend_random) for each of `calls`, in
    /// order.
    pub(crate) fn extend_random_at_once(
        &mut self,
        calls: Vec<(&mut [Block], &[u8])>,
    ) -> Result<(), Error> {
        if let Maker::Extending(sender) = &mut self.maker {
            return Ok(sender.extend_random_at_once(calls)?);
        }
        let mut calls = calls.into_iter();
        calls.try_for_each(|(offers, message)| self.extend_random(offers, message))
    }

    /// Fills `offers` with one OT with a random choice each. Bit 0 of each is clear.
    pub(crate) fn extend_random(
        &mut self,
        offers: &mut [Block],
        message: &[u8],
    ) -> Result<(), Error> {
        match &mut self.maker {
            Maker::Extending(sender) => sender.extend_random(offers, message)?,
            Maker::Made(source) => {
                let ots = source.take(source.available().start, offers.len())?;
                offers.copy_from_slice(&ots.into_correlated().1);
            }
        }
        Ok(())
    }
}

impl EvaluatorOt {
    /// Returns the OTs from base OTs with these keys.
    pub(super) fn new(
        base: Vec<[Key; 2]>,
        tag: &SessionTag,
        made: (Extension, Security),
    ) -> Result<Self, Error> {
        let (extension, security) = made;
        let maker = match extension {
            Extension::SoftSpoken(field) => {
                let receiver = CotReceiver::with_security(base, tag, field, security)?;
                Maker::Extending(Box::new(receiver))
            }
            Extension::Silent => {
                let receiver = SourceReceiver::new(base, tag, extension, security, 0)?;
                Maker::Made(Box::new(receiver))
            }
        };
        Ok(Self::of(made, maker))
    }

    /// Returns the OTs, secure as `security` says, from spare base OTs that both parties have. No
    /// message is needed.
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
        let mut ots = Self::new(base, &tag, (settings.extension, security))?;
        ots.set_threads(settings.threads);
        Ok(ots)
    }

    /// Makes OTs on this many threads from now on; at first on those of the settings.
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        self.threads = threads;
        match &mut self.maker {
            Maker::Extending(receiver) => receiver.set_threads(threads),
            Maker::Made(source) => source.set_threads(threads),
        }
    }

    /// Returns the number of the next OT.
    pub(crate) fn next_index(&self) -> u64 {
        match &self.maker {
            Maker::Extending(receiver) => receiver.next_index(),
            Maker::Made(source) => source.available().start,
        }
    }

    /// Makes one OT for each choice, and writes the message to the garbler.
    pub(crate) fn extend(
        &mut self,
        choices: &[bool],
        received: &mut [Block],
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        match &mut self.maker {
            Maker::Extending(receiver) => {
                receiver.extend_into(choices, received, message)?;
            }
            Maker::Made(source) => {
                let ots = source.take(source.available().start, received.len())?;
                let (labels, corrections) = ots.choose(choices)?;
                received.copy_from_slice(&labels);
                *message = corrections;
            }
        }
        Ok(())
    }

    /// Returns the label of an OT for each choice, t = q ⊕ bΔ.
    ///
    /// # Errors
    ///
    /// The wire fails, or the OTs are used up.
    pub fn choose(
        &mut self,
        io: &mut Io<'_>,
        choices: &[bool],
    ) -> Result<Zeroizing<Vec<Block>>, Error> {
        self.choose_from(io, OnlyPeer, choices)
    }

    /// Chooses from the OTs that this peer offers, as [`choose`](Self::choose) does.
    pub(crate) fn choose_from<P: PeerName>(
        &mut self,
        io: &mut Io<'_, P>,
        peer: P,
        choices: &[bool],
    ) -> Result<Zeroizing<Vec<Block>>, Error> {
        let mut received = Zeroizing::new(vec![Block::ZERO; choices.len()]);
        let labels = received.chunks_mut(EXTENSION_OTS);
        for (choices, labels) in choices.chunks(EXTENSION_OTS).zip(labels) {
            self.extend(choices, labels, io.message())?;
            let bytes = io.message().len();
            io.send_to(peer, messages::extension(bytes))?;
        }
        Ok(received)
    }

    /// Makes one OT with a random choice for each of `received` and writes the message to the
    /// garbler. Bit 0 of each of `received` is then the choice.
    pub(crate) fn extend_random(
        &mut self,
        rng: &mut Prg,
        received: &mut [Block],
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        match &mut self.maker {
            Maker::Extending(receiver) => {
                receiver.extend_random(rng, received, message)?;
            }
            Maker::Made(source) => {
                let ots = source.take(source.available().start, received.len())?;
                received.copy_from_slice(&ots.into_blocks());
                message.clear();
            }
        }
        Ok(())
    }

    /// Does the same as a call of [`extend_random`](Self::extend_random) for each of `calls`, in
    /// order, whose messages it returns.
    pub(crate) fn extend_random_at_once(
        &mut self,
        rng: &mut Prg,
        calls: Vec<&mut [Block]>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        if let Maker::Extending(receiver) = &mut self.maker {
            return Ok(receiver.extend_random_at_once(rng, calls)?);
        }
        let calls = calls.into_iter().map(|received| {
            let mut message = Vec::new();
            self.extend_random(rng, received, &mut message)?;
            Ok(message)
        });
        calls.collect()
    }
}
