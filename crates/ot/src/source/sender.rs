//! The sender's half of a source.

use core::num::NonZeroUsize;

use rand_core::CryptoRng;

use super::{CHUNK, Engine, Extension, Progress, Source, Turn, ots_at_once};
use crate::base::{Key, check_length};
use crate::correlated::CotSender;
use crate::precomputed::SenderOts;
use crate::silent::{Rounds, SenderBatch, SilentSender};
use crate::{ApiMisuse, Delta, Error, Message, Security, SessionTag};

/// The garbler's half: it has Δ, and q for each OT.
pub type SourceSender = Source<Sending>;

/// The extension at the sender.
pub struct Sending {
    delta: Delta,
    state: ExtensionState,
    /// A message that is still to be sent.
    answer: Option<Vec<u8>>,
    waiting: Waiting,
}

/// Messages of SoftSpoken that were received and whose OTs are taken at once.
#[derive(Default)]
struct Waiting {
    messages: Vec<u8>,
    ots: usize,
}

/// The state of the extension that makes the OTs.
enum ExtensionState {
    SoftSpoken(CotSender),
    /// The first correlated OTs of silent OT have not arrived yet.
    First(CotSender),
    Silent(Box<SilentSender>),
    /// A batch's message was sent. Most of its work is still to be done and, if malicious, the
    /// reply is missing.
    Batch(Box<SenderBatch>),
    Ended,
}

impl Engine for Sending {
    const NAME: &str = "SourceSender";

    fn progress(&self) -> Progress {
        match &self.state {
            ExtensionState::SoftSpoken(cot) => Progress::SoftSpoken {
                head_bytes: cot.head_bytes(),
            },
            ExtensionState::Silent(silent) => Progress::Silent(silent.rounds.schedule),
            _ => Progress::First,
        }
    }

    fn padding(&self) -> u64 {
        match &self.state {
            ExtensionState::SoftSpoken(cot) => cot.padding(),
            _ => 0,
        }
    }

    fn is_busy(&self) -> bool {
        self.answer.is_some()
    }

    fn rounds(&mut self) -> Option<&mut Rounds> {
        match &mut self.state {
            ExtensionState::Silent(silent) => Some(&mut silent.rounds),
            ExtensionState::Batch(batch) => Some(batch.rounds()),
            ExtensionState::SoftSpoken(_) | ExtensionState::First(_) | ExtensionState::Ended => {
                None
            }
        }
    }

    fn set_threads(&mut self, threads: NonZeroUsize) {
        if let ExtensionState::SoftSpoken(cot) | ExtensionState::First(cot) = &mut self.state {
            cot.set_threads(threads);
        }
    }

    fn end(&mut self) {
        self.state = ExtensionState::Ended;
        self.waiting = Waiting::default();
    }
}

impl SourceSender {
    /// Returns a source under `delta` whose first OT has the number `first`, with the chosen keys
    /// of the base OTs whose choices were [`Delta::choices`]. All other parameters must be the
    /// receiver's. The tag must be no other source's.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongBaseCount`] if there are not [`Delta::BITS`] base OTs.
    pub fn new(
        delta: Delta,
        base: Vec<Key>,
        tag: &SessionTag,
        extension: Extension,
        security: Security,
        first: u64,
    ) -> Result<Self, Error> {
        let field = extension.field();
        let cot = CotSender::with_security(delta.clone(), base, tag, field, security)?;
        let state = match extension {
            Extension::SoftSpoken(_) => ExtensionState::SoftSpoken(cot),
            Extension::Silent => ExtensionState::First(cot),
        };
        let engine = Sending {
            delta,
            state,
            answer: None,
            waiting: Waiting::default(),
        };
        Ok(Self::of(engine, tag, (extension, security), first))
    }

    /// Returns the offset of all OTs. Secret.
    #[must_use]
    pub fn delta(&self) -> &Delta {
        &self.engine.delta
    }

    /// Returns the next action of this half. For [`Turn::Send`], `message` then holds the message.
    /// Send it before the next call, which may work for long.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::Ended`] after an error; [`Error::Device`], which ends this half.
    pub fn next<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        message: &mut Vec<u8>,
    ) -> Result<Turn, Error> {
        self.wanted.check()?;
        if let Some(answer) = self.engine.answer.take() {
            *message = answer;
            return Ok(Turn::Send);
        }
        if let ExtensionState::Batch(batch) = &mut self.engine.state {
            if self.security == Security::Malicious {
                batch.expand();
                let bytes = batch.reply_bytes();
                return Ok(Turn::Receive { bytes });
            }
            let taken = self.take_message(&[]);
            self.or_end(taken)?;
        }
        if self.wanted.count == 0 {
            return Ok(Turn::Idle);
        }
        match core::mem::replace(&mut self.engine.state, ExtensionState::Ended) {
            ExtensionState::Silent(silent) => {
                let begun = silent.begin(rng);
                let (batch, trees) = self.or_end(begun)?;
                *message = trees;
                self.engine.state = ExtensionState::Batch(Box::new(batch));
                Ok(Turn::Send)
            }
            engine => {
                let bytes = match &engine {
                    ExtensionState::SoftSpoken(cot) => self.chunk_bytes(cot),
                    ExtensionState::First(cot) => cot.message_len(SilentSender::base_count()),
                    _ => return Err(ApiMisuse::Ended.into()),
                };
                self.engine.state = engine;
                Ok(Turn::Receive { bytes })
            }
        }
    }

    /// Passes the message that [`Turn::Receive`] asked for.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`](crate::PeerMisbehaved), which ends this half; [`ApiMisuse::NotItsTurn`].
    pub fn receive(&mut self, message: &[u8]) -> Result<(), Error> {
        self.wanted.check()?;
        let expects = match &self.engine.state {
            ExtensionState::SoftSpoken(_) | ExtensionState::First(_) => self.wanted.count > 0,
            ExtensionState::Batch(_) => self.security == Security::Malicious,
            ExtensionState::Silent(_) | ExtensionState::Ended => false,
        };
        if !expects {
            return Err(ApiMisuse::NotItsTurn.into());
        }
        let taken = self.take_message(message);
        self.or_end(taken)
    }

    fn take_message(&mut self, message: &[u8]) -> Result<(), Error> {
        match core::mem::replace(&mut self.engine.state, ExtensionState::Ended) {
            ExtensionState::SoftSpoken(mut cot) => {
                self.take_chunk(&mut cot, message)?;
                self.engine.state = ExtensionState::SoftSpoken(cot);
                Ok(())
            }
            ExtensionState::First(cot) => {
                let mut silent = SilentSender::start(cot, &self.tag, message)?;
                silent.rounds.device = self.device.clone();
                silent.rounds.share_columns(self.shared_columns);
                self.engine.state = ExtensionState::Silent(Box::new(silent));
                Ok(())
            }
            ExtensionState::Batch(batch) => self.end_batch(*batch, message),
            ExtensionState::Silent(_) | ExtensionState::Ended => Err(ApiMisuse::Ended.into()),
        }
    }

    /// Returns the length of the next message of SoftSpoken.
    fn chunk_bytes(&self, cot: &CotSender) -> usize {
        let count = self.wanted.count.min(CHUNK);
        match self.engine.waiting.ots {
            0 => cot.message_len(count),
            _ => cot.later_message_len(count),
        }
    }

    /// Takes the next message of SoftSpoken. On several threads, the OTs of a few messages are made
    /// together.
    fn take_chunk(&mut self, cot: &mut CotSender, message: &[u8]) -> Result<(), Error> {
        // The length of all messages together does not show that of each.
        check_length(Message::Extension, self.chunk_bytes(cot), message)?;
        let at_once = ots_at_once(cot.threads(), self.security);
        let count = self.wanted.count.min(CHUNK);
        let is_last = self.wanted.made(count);
        let waiting = &mut self.engine.waiting;
        waiting.ots += count;
        if !is_last && waiting.ots < at_once {
            waiting.messages.extend_from_slice(message);
            return Ok(());
        }
        let q = self.buffer.grow(waiting.ots);
        if waiting.messages.is_empty() {
            cot.extend_random(q, message)?;
        } else {
            waiting.messages.extend_from_slice(message);
            cot.extend_random(q, &waiting.messages)?;
            waiting.messages.clear();
        }
        waiting.ots = 0;
        if is_last {
            cot.step_keys();
        }
        Ok(())
    }

    /// Returns the batch whose work is not done yet.
    pub(super) fn batch(&mut self) -> Option<&mut SenderBatch> {
        match &mut self.engine.state {
            ExtensionState::Batch(batch) => Some(batch),
            _ => None,
        }
    }

    fn end_batch(&mut self, batch: SenderBatch, reply: &[u8]) -> Result<(), Error> {
        let count = batch.count();
        let (mut silent, q, answer) = batch.finish(reply)?;
        self.engine.answer = (!answer.is_empty()).then_some(answer);
        let is_far = silent.rounds.far().is_some();
        silent.rounds.spare = self.add_batch(count, is_far, q);
        self.engine.state = ExtensionState::Silent(Box::new(silent));
        Ok(())
    }

    /// Takes the `count` OTs from number `first` on. Remaining OTs before these are wiped.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`] if some of them are used or not made yet, or if this half has ended;
    /// [`Error::Device`].
    pub fn take(&mut self, first: u64, count: usize) -> Result<SenderOts, Error> {
        let q = self.take_blocks(first, count)?;
        Ok(SenderOts::new(first, self.engine.delta.clone(), q))
    }
}
