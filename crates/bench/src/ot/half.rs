//! A party's half of a source, driven over a channel.

use core::num::NonZeroUsize;

use getrandom::SysRng;
use rand_core::UnwrapErr;
use tacit_net::Channel;
use tacit_ot::base::BaseOt;
use tacit_ot::source::{Extension, SourceReceiver, SourceSender, Turn};
use tacit_ot::{Delta, Security, SessionTag};

use crate::Error;
use crate::base_ot::{self, WorkClock};

pub(super) const TAG: SessionTag = SessionTag::new([1; 32]);

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
        extension: Extension,
        security: Security,
        channel: &mut Channel,
    ) -> Result<Self, Error> {
        let delta = Delta::random(&mut UnwrapErr(SysRng));
        let (kind, one, mut work) = (BaseOt::default(), NonZeroUsize::MIN, WorkClock::default());
        let keys = base_ot::receive(kind, one, &delta, channel, &mut work)?;
        let source = SourceSender::new(delta, keys, &TAG, extension, security, 0);
        let mut half = Self(source?);
        refill(&mut half, 1, channel)?;
        Ok(half)
    }
}

impl EvaluatorHalf {
    /// Sets up a half, from nothing to the first OT.
    pub(super) fn set_up(
        extension: Extension,
        security: Security,
        channel: &mut Channel,
    ) -> Result<Self, Error> {
        let (kind, one, mut work) = (BaseOt::default(), NonZeroUsize::MIN, WorkClock::default());
        let keys = base_ot::send(kind, one, channel, &mut work)?;
        let source = SourceReceiver::new(keys, &TAG, extension, security, 0);
        let mut half = Self(source?);
        refill(&mut half, 1, channel)?;
        Ok(half)
    }
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
