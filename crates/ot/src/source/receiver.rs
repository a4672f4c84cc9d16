//! The receiver's half of a source.

use core::num::NonZeroUsize;

use rand_core::CryptoRng;
use tacit_kernels::Prg;
use zeroize::Zeroizing;

use super::{CHUNK, Engine, Extension, Progress, Source, Turn, ots_at_once};
use crate::base::Key;
use crate::correlated::{CotReceiver, message_bytes};
use crate::precomputed::ReceiverOts;
use crate::silent::{ReceiverBatch, Rounds, SilentReceiver};
use crate::{ApiMisuse, Error, Security, SessionTag};

/// The evaluator's half: a random choice b, and t = q ⊕ bΔ for each OT.
pub type SourceReceiver = Source<Receiving>;

/// The extension at the receiver.
pub struct Receiving(ExtensionState, MadeAhead);

/// Messages of SoftSpoken that were made at once, from `at` on still to be sent.
#[derive(Default)]
struct MadeAhead {
    messages: Vec<u8>,
    at: usize,
}

/// The state of the extension that makes the OTs.
enum ExtensionState {
    SoftSpoken(CotReceiver),
    /// The first correlated OTs of silent OT are still to be sent.
    First(CotReceiver),
    Silent(SilentReceiver),
    /// A batch was taken. Its work is still to be done, and the reply to it is kept until it is
    /// sent.
    Batch(ReceiverBatch, Option<Vec<u8>>),
    Ended,
}

impl Engine for Receiving {
    const NAME: &str = "SourceReceiver";

    fn progress(&self) -> Progress {
        match &self.0 {
            ExtensionState::SoftSpoken(cot) => Progress::SoftSpoken {
                head_bytes: cot.head_bytes(),
            },
            ExtensionState::Silent(silent) => Progress::Silent(silent.rounds.schedule),
            _ => Progress::First,
        }
    }

    fn padding(&self) -> u64 {
        match &self.0 {
            ExtensionState::SoftSpoken(cot) => cot.padding(),
            _ => 0,
        }
    }

    fn is_busy(&self) -> bool {
        matches!(self.0, ExtensionState::Batch(..))
    }

    fn rounds(&mut self) -> Option<&mut Rounds> {
        match &mut self.0 {
            ExtensionState::Silent(silent) => Some(&mut silent.rounds),
            ExtensionState::Batch(batch, _) => Some(batch.rounds()),
            ExtensionState::SoftSpoken(_) | ExtensionState::First(_) | ExtensionState::Ended => {
                None
            }
        }
    }

    fn set_threads(&mut self, threads: NonZeroUsize) {
        if let ExtensionState::SoftSpoken(cot) | ExtensionState::First(cot) = &mut self.0 {
            cot.set_threads(threads);
        }
    }

    fn end(&mut self) {
        self.0 = ExtensionState::Ended;
        self.1 = MadeAhead::default();
    }
}

impl SourceReceiver {
    /// Returns a source whose first OT has the number `first`, with both keys of each base OT. All
    /// other parameters must be the sender's. The tag must be no other source's.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongBaseCount`] if there are not
    /// [`Delta::BITS`](crate::Delta::BITS) base OTs.
    pub fn new(
        base: Vec<[Key; 2]>,
        tag: &SessionTag,
        extension: Extension,
        security: Security,
        first: u64,
    ) -> Result<Self, Error> {
        let cot = CotReceiver::with_security(base, tag, extension.field(), security)?;
        let state = match extension {
            Extension::SoftSpoken(_) => ExtensionState::SoftSpoken(cot),
            Extension::Silent => ExtensionState::First(cot),
        };
        let engine = Receiving(state, MadeAhead::default());
        Ok(Self::of(engine, tag, (extension, security), first))
    }

    /// Returns the next action of this half. For [`Turn::Send`], `message` then holds the message.
    /// Messages go out in the order in which they were made, best before the next call, which may
    /// work for long.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::UsedUp`] if the base OTs have given all their OTs, which ends this half;
    /// [`ApiMisuse::Ended`] after an error; [`Error::Device`], which ends this half.
    pub fn next<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        message: &mut Vec<u8>,
    ) -> Result<Turn, Error> {
        self.wanted.check()?;
        if let ExtensionState::Batch(batch, reply) = &mut self.engine.0 {
            if let Some(reply) = reply.take() {
                *message = reply;
                return Ok(Turn::Send);
            }
            if self.security == Security::Malicious {
                batch.expand();
                let bytes = batch.answer_bytes();
                return Ok(Turn::Receive { bytes });
            }
            let taken = self.take_message(&[]);
            self.or_end(taken)?;
        }
        if self.wanted.count == 0 {
            return Ok(Turn::Idle);
        }
        if let ExtensionState::Silent(silent) = &self.engine.0 {
            let bytes = silent.trees_bytes();
            return Ok(Turn::Receive { bytes });
        }
        let written = self.write_message(rng, message);
        self.or_end(written).map(|()| Turn::Send)
    }

    fn write_message<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        match core::mem::replace(&mut self.engine.0, ExtensionState::Ended) {
            ExtensionState::SoftSpoken(mut cot) => {
                self.next_chunk(&mut cot, rng, message)?;
                self.engine.0 = ExtensionState::SoftSpoken(cot);
                Ok(())
            }
            ExtensionState::First(cot) => {
                let (mut silent, first) = SilentReceiver::start(cot, &self.tag, rng)?;
                silent.rounds.device = self.device.clone();
                silent.rounds.share_columns(self.shared_columns);
                self.engine.0 = ExtensionState::Silent(silent);
                *message = first;
                Ok(())
            }
            _ => Err(ApiMisuse::Ended.into()),
        }
    }

    /// Passes the message that [`Turn::Receive`] asked for.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`](crate::PeerMisbehaved), which ends this half; [`ApiMisuse::NotItsTurn`].
    pub fn receive(&mut self, message: &[u8]) -> Result<(), Error> {
        self.wanted.check()?;
        let expects = match &self.engine.0 {
            ExtensionState::Silent(_) => self.wanted.count > 0,
            ExtensionState::Batch(_, reply) => {
                self.security == Security::Malicious && reply.is_none()
            }
            _ => false,
        };
        if !expects {
            return Err(ApiMisuse::NotItsTurn.into());
        }
        let taken = self.take_message(message);
        self.or_end(taken)
    }

    fn take_message(&mut self, message: &[u8]) -> Result<(), Error> {
        match core::mem::replace(&mut self.engine.0, ExtensionState::Ended) {
            ExtensionState::Silent(silent) => {
                let (batch, reply) = silent.take(message)?;
                let reply = (self.security == Security::Malicious).then_some(reply);
                self.engine.0 = ExtensionState::Batch(batch, reply);
                Ok(())
            }
            ExtensionState::Batch(batch, _) => self.end_batch(batch, message),
            _ => Err(ApiMisuse::Ended.into()),
        }
    }

    /// Writes the next message of SoftSpoken. Several threads make those that follow it as well.
    fn next_chunk<R: CryptoRng + ?Sized>(
        &mut self,
        cot: &mut CotReceiver,
        rng: &mut R,
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let mut choices = || {
            let mut seed = Zeroizing::new([0; 32]);
            rng.fill_bytes(&mut *seed);
            Prg::from_seed(&seed)
        };
        let count = self.wanted.count.min(CHUNK);
        let at_once = self
            .wanted
            .count
            .min(ots_at_once(cot.threads(), self.security));
        let ahead = &mut self.engine.1;
        if at_once == count && ahead.messages.is_empty() {
            cot.extend_random(&mut choices(), self.buffer.grow(count), message)?;
        } else {
            let mut bytes = message_bytes(self.extension.field(), self.security, count);
            if ahead.messages.is_empty() {
                bytes += cot.head_bytes();
                let mut choices: Vec<_> = (0..at_once.div_ceil(CHUNK)).map(|_| choices()).collect();
                let t = self.buffer.grow(at_once);
                cot.extend_calls(&mut choices, CHUNK, t, &mut ahead.messages)?;
            }
            message.clear();
            message.extend_from_slice(&ahead.messages[ahead.at..ahead.at + bytes]);
            ahead.at += bytes;
            if ahead.at == ahead.messages.len() {
                ahead.messages.clear();
                ahead.at = 0;
            }
        }
        if self.wanted.made(count) {
            cot.step_keys();
        }
        Ok(())
    }

    /// Returns the batch whose work is not done yet.
    pub(super) fn batch(&mut self) -> Option<&mut ReceiverBatch> {
        match &mut self.engine.0 {
            ExtensionState::Batch(batch, _) => Some(batch),
            _ => None,
        }
    }

    fn end_batch(&mut self, batch: ReceiverBatch, answer: &[u8]) -> Result<(), Error> {
        let count = batch.count();
        let (mut silent, t) = batch.finish(answer)?;
        let is_far = silent.rounds.far().is_some();
        silent.rounds.spare = self.add_batch(count, is_far, t);
        self.engine.0 = ExtensionState::Silent(silent);
        Ok(())
    }

    /// Takes the `count` OTs from number `first` on. Remaining OTs before these are wiped.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`] if some of them are used or not made yet, or if this half has ended;
    /// [`Error::Device`].
    pub fn take(&mut self, first: u64, count: usize) -> Result<ReceiverOts, Error> {
        let t = self.take_blocks(first, count)?;
        Ok(ReceiverOts::new(first, t))
    }
}
