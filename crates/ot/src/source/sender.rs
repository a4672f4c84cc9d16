//! The sender's half of a source.

use core::fmt;
use core::num::NonZeroUsize;
use core::ops::Range;
use std::sync::Arc;

use rand_core::CryptoRng;

use super::buffer::BlockBuffer;
use super::cost::{Cost, Extension};
use super::{CHUNK, MAX_REFILL, RefillTarget, Turn};
use crate::base::Key;
use crate::correlated::CotSender;
use crate::precomputed::SenderOts;
use crate::silent::{Device, DeviceHalf, HashedBits, SenderBatch, SilentSender};
use crate::{ApiMisuse, Delta, Error, Outputs, Security, SessionTag};

/// The garbler's half: it has Δ, and q for each OT.
pub struct SourceSender {
    tag: SessionTag,
    extension: Extension,
    security: Security,
    delta: Delta,
    engine: Engine,
    buffer: BlockBuffer,
    wanted: RefillTarget,
    /// A message that is still to be sent.
    answer: Option<Vec<u8>>,
    device: Option<Arc<dyn Device>>,
}

/// The state of the extension that makes the OTs.
enum Engine {
    SoftSpoken(CotSender),
    /// The first correlated OTs of silent OT have not arrived yet.
    First(CotSender),
    Silent(Box<SilentSender>),
    /// A batch's message was sent. Most of its work is still to be done and, if malicious, the
    /// reply is missing.
    Batch(Box<SenderBatch>),
    Ended,
}

impl Engine {
    /// Returns the half on its device.
    fn far(&mut self) -> Option<&mut dyn DeviceHalf> {
        match self {
            Self::Silent(silent) => silent.far(),
            Self::Batch(batch) => batch.far(),
            Self::SoftSpoken(_) | Self::First(_) | Self::Ended => None,
        }
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
        let engine = match extension {
            Extension::SoftSpoken(_) => Engine::SoftSpoken(cot),
            Extension::Silent => Engine::First(cot),
        };
        Ok(Self {
            tag: *tag,
            extension,
            security,
            delta,
            engine,
            buffer: BlockBuffer::new(first),
            wanted: RefillTarget::default(),
            answer: None,
            device: None,
        })
    }

    /// Works on this many threads from now on; at first on one. OTs and messages stay the same.
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        match &mut self.engine {
            Engine::SoftSpoken(cot) | Engine::First(cot) => cot.set_threads(threads),
            Engine::Silent(silent) => silent.set_threads(threads),
            Engine::Batch(batch) => batch.set_threads(threads),
            Engine::Ended => {}
        }
    }

    /// Returns the offset of all OTs. Secret.
    #[must_use]
    pub fn delta(&self) -> &Delta {
        &self.delta
    }

    /// Lets `device` make OTs, if the extension is silent OT and this half is semi-honest: from
    /// its next round on, which is the second or a later one.
    pub fn set_device(&mut self, device: Arc<dyn Device>) {
        match &mut self.engine {
            Engine::Silent(silent) => silent.set_device(device.clone()),
            Engine::Batch(batch) => batch.set_device(device.clone()),
            Engine::SoftSpoken(_) | Engine::First(_) | Engine::Ended => {}
        }
        self.device = Some(device);
    }

    /// Returns the numbers of the OTs that are made and not taken.
    #[must_use]
    pub fn available(&self) -> Range<u64> {
        self.buffer.next()..self.buffer.made()
    }

    /// Returns the cost of a refill for `count` OTs.
    #[must_use]
    pub fn cost(&self, count: usize) -> Cost {
        match &self.engine {
            Engine::SoftSpoken(cot) => {
                let field = self.extension.field();
                Cost::soft_spoken(field, self.security, cot.head_bytes(), count)
            }
            Engine::Silent(silent) => {
                let mut cost = Cost::default();
                cost.add_batches(silent.schedule(), self.security, count);
                cost
            }
            _ => Cost::first_refill(self.extension, self.security, count),
        }
    }

    /// Requests `count` more OTs. If the extension makes many at once, this may make more. The
    /// other half must request the same number.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`] if a refill is under way, this half has ended, `count` is above
    /// [`MAX_REFILL`], or the last number is reached.
    pub fn refill(&mut self, count: usize) -> Result<(), Error> {
        let made = self.cost(count.min(MAX_REFILL)).made;
        self.buffer.check_room(made)?;
        self.wanted.ask(count, self.answer.is_some())?;
        // Silent OTs come in memory of their own.
        if self.extension != Extension::Silent {
            self.buffer.reserve(made as usize);
        }
        Ok(())
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
        if let Some(answer) = self.answer.take() {
            *message = answer;
            return Ok(Turn::Send);
        }
        if let Engine::Batch(batch) = &mut self.engine {
            if self.security == Security::Malicious {
                batch.expand();
                let bytes = batch.reply_bytes();
                return Ok(Turn::Receive { bytes });
            }
            self.take_or_end(&[])?;
        }
        if self.wanted.count == 0 {
            return Ok(Turn::Idle);
        }
        match core::mem::replace(&mut self.engine, Engine::Ended) {
            Engine::Silent(silent) => {
                let begun = silent.begin(rng);
                if begun.is_err() {
                    self.end();
                }
                let (batch, trees) = begun?;
                *message = trees;
                self.engine = Engine::Batch(Box::new(batch));
                Ok(Turn::Send)
            }
            engine => {
                let bytes = match &engine {
                    Engine::SoftSpoken(cot) => cot.message_len(self.wanted.count.min(CHUNK)),
                    Engine::First(cot) => cot.message_len(SilentSender::base_count()),
                    _ => return Err(ApiMisuse::Ended.into()),
                };
                self.engine = engine;
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
        let expects = match &self.engine {
            Engine::SoftSpoken(_) | Engine::First(_) => self.wanted.count > 0,
            Engine::Batch(_) => self.security == Security::Malicious,
            Engine::Silent(_) | Engine::Ended => false,
        };
        if !expects {
            return Err(ApiMisuse::NotItsTurn.into());
        }
        self.take_or_end(message)
    }

    fn take_or_end(&mut self, message: &[u8]) -> Result<(), Error> {
        let result = self.take_message(message);
        if result.is_err() {
            self.end();
        }
        result
    }

    fn take_message(&mut self, message: &[u8]) -> Result<(), Error> {
        match core::mem::replace(&mut self.engine, Engine::Ended) {
            Engine::SoftSpoken(mut cot) => {
                let count = self.wanted.count.min(CHUNK);
                cot.extend_random(self.buffer.grow(count), message)?;
                if self.wanted.made(count) {
                    cot.step_keys();
                }
                self.engine = Engine::SoftSpoken(cot);
                Ok(())
            }
            Engine::First(cot) => {
                let mut silent = SilentSender::start(cot, &self.tag, message)?;
                if let Some(device) = &self.device {
                    silent.set_device(device.clone());
                }
                self.engine = Engine::Silent(Box::new(silent));
                Ok(())
            }
            Engine::Batch(batch) => self.end_batch(*batch, message),
            Engine::Silent(_) | Engine::Ended => Err(ApiMisuse::Ended.into()),
        }
    }

    fn end_batch(&mut self, batch: SenderBatch, reply: &[u8]) -> Result<(), Error> {
        let count = batch.count();
        let (mut silent, q, answer) = batch.finish(reply)?;
        self.answer = (!answer.is_empty()).then_some(answer);
        self.wanted.made(count);
        if silent.far().is_some() {
            self.buffer.push_far(count as u64);
        } else {
            silent.use_again(self.buffer.push(q));
        }
        self.engine = Engine::Silent(Box::new(silent));
        Ok(())
    }

    /// Takes the `count` OTs from number `first` on. Remaining OTs before these are wiped.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`] if some of them are used or not made yet, or if this half has ended;
    /// [`Error::Device`].
    pub fn take(&mut self, first: u64, count: usize) -> Result<SenderOts, Error> {
        self.wanted.check()?;
        let q = self.buffer.take(first, count, self.engine.far());
        let q = self.or_end(q)?;
        Ok(SenderOts::new(first, self.delta.clone(), q))
    }

    /// Returns the number of OTs, from the next one on, that a device has: those that
    /// [`take_bits`](Self::take_bits) can take.
    #[must_use]
    pub fn on_device(&self) -> u64 {
        self.buffer.next_far()
    }

    /// Takes the next OTs, which a device has, hashed to two bits each.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`] if the first one is not the next one, or a device does not have all of them;
    /// [`Error::Device`].
    pub fn take_bits(&mut self, ots: HashedBits<'_>) -> Result<(), Error> {
        self.wanted.check()?;
        let (first, count, next) = (ots.number, ots.count, self.buffer.next());
        if first != next || count as u64 > self.on_device() {
            return Err(ApiMisuse::not_made(first, count, next).into());
        }
        let taken = match self.engine.far() {
            Some(far) => far.take_bits(ots),
            None => return Err(ApiMisuse::Ended.into()),
        };
        self.buffer.pass_far(count as u64);
        self.or_end(taken.map_err(Error::from))
    }

    /// Ends this half if its device failed: the numbers of its OTs may no longer fit the peer's.
    fn or_end<T>(&mut self, taken: Result<T, Error>) -> Result<T, Error> {
        if matches!(taken, Err(Error::Device(_))) {
            self.end();
        }
        taken
    }

    /// Takes back the memory of OTs that were [taken](Self::take), which the caller has wiped. It
    /// holds the next OTs: the system would clear new memory page by page.
    pub fn use_again(&mut self, memory: Outputs) {
        self.buffer.use_again(memory);
    }

    fn end(&mut self) {
        self.wanted.ended = true;
        self.engine = Engine::Ended;
        self.buffer.clear();
    }
}

impl fmt::Debug for SourceSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SourceSender {{ available: {:?}, .. }}",
            self.available()
        )
    }
}
