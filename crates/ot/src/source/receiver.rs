//! The receiver's half of a source.

use core::fmt;
use core::num::NonZeroUsize;
use core::ops::Range;
use std::sync::Arc;

use rand_core::CryptoRng;
use tacit_kernels::Prg;
use zeroize::Zeroizing;

use super::buffer::BlockBuffer;
use super::cost::{Cost, Extension};
use super::{CHUNK, MAX_REFILL, RefillTarget, Turn};
use crate::base::Key;
use crate::correlated::CotReceiver;
use crate::precomputed::ReceiverOts;
use crate::silent::{Device, DeviceHalf, HashedBits, ReceiverBatch, SilentReceiver};
use crate::{ApiMisuse, Error, Outputs, Security, SessionTag};

/// The evaluator's half: a random choice b, and t = q ⊕ bΔ for each OT.
pub struct SourceReceiver {
    tag: SessionTag,
    extension: Extension,
    security: Security,
    engine: Engine,
    buffer: BlockBuffer,
    wanted: RefillTarget,
    device: Option<Arc<dyn Device>>,
}

/// The state of the extension that makes the OTs.
enum Engine {
    SoftSpoken(CotReceiver),
    /// The first correlated OTs of silent OT are still to be sent.
    First(CotReceiver),
    Silent(SilentReceiver),
    /// A batch was taken. Its work is still to be done, and the reply to it is kept until it is
    /// sent.
    Batch(ReceiverBatch, Option<Vec<u8>>),
    Ended,
}

impl Engine {
    /// Returns the half on its device.
    fn far(&mut self) -> Option<&mut dyn DeviceHalf> {
        match self {
            Self::Silent(silent) => silent.far(),
            Self::Batch(batch, _) => batch.far(),
            Self::SoftSpoken(_) | Self::First(_) | Self::Ended => None,
        }
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
        let engine = match extension {
            Extension::SoftSpoken(_) => Engine::SoftSpoken(cot),
            Extension::Silent => Engine::First(cot),
        };
        Ok(Self {
            tag: *tag,
            extension,
            security,
            engine,
            buffer: BlockBuffer::new(first),
            wanted: RefillTarget::default(),
            device: None,
        })
    }

    /// Works on this many threads from now on; at first on one. OTs and messages stay the same.
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        match &mut self.engine {
            Engine::SoftSpoken(cot) | Engine::First(cot) => cot.set_threads(threads),
            Engine::Silent(silent) => silent.set_threads(threads),
            Engine::Batch(batch, _) => batch.set_threads(threads),
            Engine::Ended => {}
        }
    }

    /// Lets `device` make OTs, if the extension is silent OT and this half is semi-honest: from
    /// its next round on, which is the second or a later one.
    pub fn set_device(&mut self, device: Arc<dyn Device>) {
        match &mut self.engine {
            Engine::Silent(silent) => silent.set_device(device.clone()),
            Engine::Batch(batch, _) => batch.set_device(device.clone()),
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
        self.wanted
            .ask(count, matches!(self.engine, Engine::Batch(..)))?;
        // Silent OTs come in memory of their own.
        if self.extension != Extension::Silent {
            self.buffer.reserve(made as usize);
        }
        Ok(())
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
        if let Engine::Batch(batch, reply) = &mut self.engine {
            if let Some(reply) = reply.take() {
                *message = reply;
                return Ok(Turn::Send);
            }
            if self.security == Security::Malicious {
                batch.expand();
                let bytes = batch.answer_bytes();
                return Ok(Turn::Receive { bytes });
            }
            self.take_or_end(&[])?;
        }
        if self.wanted.count == 0 {
            return Ok(Turn::Idle);
        }
        if let Engine::Silent(silent) = &self.engine {
            let bytes = silent.trees_bytes();
            return Ok(Turn::Receive { bytes });
        }
        let result = self.write_message(rng, message);
        if result.is_err() {
            self.end();
        }
        result.map(|()| Turn::Send)
    }

    fn write_message<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        match core::mem::replace(&mut self.engine, Engine::Ended) {
            Engine::SoftSpoken(mut cot) => {
                let count = self.wanted.count.min(CHUNK);
                let mut seed = Zeroizing::new([0; 32]);
                rng.fill_bytes(&mut *seed);
                let mut choices = Prg::from_seed(&seed);
                cot.extend_random(&mut choices, self.buffer.grow(count), message)?;
                if self.wanted.made(count) {
                    cot.step_keys();
                }
                self.engine = Engine::SoftSpoken(cot);
                Ok(())
            }
            Engine::First(cot) => {
                let (mut silent, first) = SilentReceiver::start(cot, &self.tag, rng)?;
                if let Some(device) = &self.device {
                    silent.set_device(device.clone());
                }
                self.engine = Engine::Silent(silent);
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
        let expects = match &self.engine {
            Engine::Silent(_) => self.wanted.count > 0,
            Engine::Batch(_, reply) => self.security == Security::Malicious && reply.is_none(),
            _ => false,
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
            Engine::Silent(silent) => {
                let (batch, reply) = silent.take(message)?;
                let reply = (self.security == Security::Malicious).then_some(reply);
                self.engine = Engine::Batch(batch, reply);
                Ok(())
            }
            Engine::Batch(batch, _) => self.end_batch(batch, message),
            _ => Err(ApiMisuse::Ended.into()),
        }
    }

    fn end_batch(&mut self, batch: ReceiverBatch, answer: &[u8]) -> Result<(), Error> {
        let count = batch.count();
        let (mut silent, t) = batch.finish(answer)?;
        self.wanted.made(count);
        if silent.far().is_some() {
            self.buffer.push_far(count as u64);
        } else {
            silent.use_again(self.buffer.push(t));
        }
        self.engine = Engine::Silent(silent);
        Ok(())
    }

    /// Takes the `count` OTs from number `first` on. Remaining OTs before these are wiped.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`] if some of them are used or not made yet, or if this half has ended;
    /// [`Error::Device`].
    pub fn take(&mut self, first: u64, count: usize) -> Result<ReceiverOts, Error> {
        self.wanted.check()?;
        let t = self.buffer.take(first, count, self.engine.far());
        let t = self.or_end(t)?;
        Ok(ReceiverOts::new(first, t))
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

impl fmt::Debug for SourceReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SourceReceiver {{ available: {:?}, .. }}",
            self.available()
        )
    }
}
