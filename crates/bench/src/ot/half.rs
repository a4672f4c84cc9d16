//! A party's half of a source, driven over a channel.

use core::num::NonZeroUsize;

use getrandom::SysRng;
use rand_core::UnwrapErr;
use tacit_net::Channel;
use tacit_ot::base::{self, BaseOt, Key, PART, ml_kem};
use tacit_ot::source::{Extension, SourceReceiver, SourceSender, Turn};
use tacit_ot::{Delta, Security, SessionTag};

use crate::Error;

const TAG: SessionTag = SessionTag::new([1; 32]);
const ONE_THREAD: NonZeroUsize = NonZeroUsize::MIN;

/// Either half.
pub(super) trait Half {
    fn ask(&mut self, count: usize) -> Result<(), tacit_ot::Error>;
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Turn, tacit_ot::Error>;
    fn hear(&mut self, message: &[u8]) -> Result<(), tacit_ot::Error>;
    /// Returns the number after that of the last OT.
    fn end(&self) -> u64;
    /// Wipes the remaining OTs.
    fn drop_all(&mut self) -> Result<(), tacit_ot::Error>;
}

/// The garbler's half.
pub(crate) struct GarblerHalf(pub(super) SourceSender);

/// The evaluator's half.
pub(crate) struct EvaluatorHalf(pub(super) SourceReceiver);

impl GarblerHalf {
    /// Sets up a half, from nothing to the first OT.
    pub(super) fn set_up(
        base: BaseOt,
        extension: Extension,
        security: Security,
        channel: &mut Channel,
    ) -> Result<Self, Error> {
        let delta = Delta::random(&mut UnwrapErr(SysRng));
        let keys = receive_base(base, &delta, channel)?;
        let source = SourceSender::new(delta, keys, &TAG, extension, security, 0);
        let mut half = Self(source?);
        refill(&mut half, 1, channel)?;
        Ok(half)
    }
}

impl EvaluatorHalf {
    /// Sets up a half, from nothing to the first OT.
    pub(super) fn set_up(
        base: BaseOt,
        extension: Extension,
        security: Security,
        channel: &mut Channel,
    ) -> Result<Self, Error> {
        let keys = send_base(base, channel)?;
        let source = SourceReceiver::new(keys, &TAG, extension, security, 0);
        let mut half = Self(source?);
        refill(&mut half, 1, channel)?;
        Ok(half)
    }
}

/// Plays the garbler's half of base OTs: the receiver, whose choices are the bits of Δ.
fn receive_base(kind: BaseOt, delta: &Delta, channel: &mut Channel) -> Result<Vec<Key>, Error> {
    let mut rng = UnwrapErr(SysRng);
    let choices = delta.choices();
    if kind == BaseOt::MlKem768 {
        let mut receiver = ml_kem::Receiver::new(&choices, &TAG, &mut rng)?;
        while receiver.left() > 0 {
            channel.send(1, &receiver.offer_on(ONE_THREAD, PART))?;
            channel.flush()?;
        }
        let answer = channel.receive(receiver.expected_bytes())?;
        return Ok(receiver.finish(ONE_THREAD, answer.payload)?);
    }
    let mut receiver = base::Receiver::new(&choices, &TAG, &mut rng)?;
    while receiver.left() > 0 {
        channel.send(1, &receiver.offer_on(ONE_THREAD, PART))?;
        channel.flush()?;
    }
    let offer = channel.receive(base::Sender::MESSAGE_BYTES)?;
    Ok(receiver.finish(ONE_THREAD, offer.payload)?)
}

/// Plays the evaluator's half of base OTs: the sender.
fn send_base(kind: BaseOt, channel: &mut Channel) -> Result<Vec<[Key; 2]>, Error> {
    let mut rng = UnwrapErr(SysRng);
    if kind == BaseOt::MlKem768 {
        let mut sender = ml_kem::Sender::start(Delta::BITS, &TAG, &mut rng)?;
        while sender.expected_bytes() > 0 {
            let choice = channel.receive(sender.expected_bytes())?;
            sender.take_on(ONE_THREAD, choice.payload)?;
        }
        let (pairs, answer) = sender.into_answers()?;
        channel.send(1, &answer)?;
        return Ok(pairs);
    }
    let (mut sender, offer) = base::Sender::start(Delta::BITS, &TAG, &mut rng)?;
    channel.send(1, &offer)?;
    channel.flush()?;
    while sender.expected_bytes() > 0 {
        let choice = channel.receive(sender.expected_bytes())?;
        sender.take_on(ONE_THREAD, choice.payload)?;
    }
    Ok(sender.into_keys()?)
}

macro_rules! either_half {
    ($half:ty) => {
        impl Half for $half {
            fn ask(&mut self, count: usize) -> Result<(), tacit_ot::Error> {
                self.0.refill(count)
            }

            fn next(&mut self, message: &mut Vec<u8>) -> Result<Turn, tacit_ot::Error> {
                self.0.next(&mut UnwrapErr(SysRng), message)
            }

            fn hear(&mut self, message: &[u8]) -> Result<(), tacit_ot::Error> {
                self.0.receive(message)
            }

            fn end(&self) -> u64 {
                self.0.available().end
            }

            fn drop_all(&mut self) -> Result<(), tacit_ot::Error> {
                self.0.take(self.end(), 0).map(drop)
            }
        }
    };
}

either_half!(GarblerHalf);
either_half!(EvaluatorHalf);

/// Makes `count` OTs over `channel`.
pub(super) fn refill(
    half: &mut impl Half,
    count: usize,
    channel: &mut Channel,
) -> Result<(), Error> {
    half.ask(count)?;
    let mut message = Vec::new();
    loop {
        match half.next(&mut message)? {
            Turn::Send => {
                channel.send(1, &message)?;
                // The peer can work while this party goes on.
                channel.flush()?;
            }
            Turn::Receive { bytes } => half.hear(channel.receive(bytes)?.payload)?,
            Turn::Idle => {
                channel.flush()?;
                return Ok(());
            }
        }
    }
}
