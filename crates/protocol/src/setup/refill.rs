//! Making OTs before they are used, for extensions that do not make them together with the choices.
//!
//! Each party moves the messages of its half of the source ([`tacit_ot::source`]) until enough OTs
//! are there. Both parties refill for the same number, which follows from the agreed run. Every
//! message has a fixed length, which the source states.

use tacit_kernels::Prg;
use tacit_ot::source::{MAX_REFILL, SourceReceiver, SourceSender, Turn};
use zeroize::Zeroizing;

use super::{SessionOt, messages};
use crate::Error;
use crate::io::Io;

/// Either half of a source.
pub(crate) trait Half: Send + 'static {
    /// Returns the number of OTs that are made and not taken.
    fn left(&self) -> u64;
    /// Returns the number of OTs made in all, of which the first has number 0.
    fn made(&self) -> u64;
    /// Starts a refill, as the source's method of this name does. `next` and `receive` do the same.
    fn refill(&mut self, count: usize) -> Result<(), tacit_ot::Error>;
    fn next(&mut self, rng: &mut Prg, message: &mut Vec<u8>) -> Result<Turn, tacit_ot::Error>;
    fn receive(&mut self, message: &[u8]) -> Result<(), tacit_ot::Error>;
}

macro_rules! half {
    ($source:ty) => {
        impl Half for $source {
            fn left(&self) -> u64 {
                let available = self.available();
                available.end - available.start
            }

            fn made(&self) -> u64 {
                self.available().end
            }

            fn refill(&mut self, count: usize) -> Result<(), tacit_ot::Error> {
                Self::refill(self, count)
            }

            fn next(
                &mut self,
                rng: &mut Prg,
                message: &mut Vec<u8>,
            ) -> Result<Turn, tacit_ot::Error> {
                Self::next(self, rng, message)
            }

            fn receive(&mut self, message: &[u8]) -> Result<(), tacit_ot::Error> {
                Self::receive(self, message)
            }
        }
    };
}
half!(SourceSender);
half!(SourceReceiver);

#[expect(private_bounds, reason = "only this module has halves")]
impl<E, M: Half> SessionOt<E, M> {
    /// Makes OTs until `count` can be taken, if the extension makes them ahead. `seed` is random,
    /// secret and used only here.
    ///
    /// # Errors
    ///
    /// The peer misbehaves, or the wire fails.
    pub async fn refill(
        &mut self,
        io: &mut Io<'_>,
        count: u64,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<(), Error> {
        match self.half() {
            None => Ok(()),
            Some(half) => refill(io, half, count, seed).await,
        }
    }
}

/// Makes OTs until `half` has `count` left.
async fn refill(
    io: &mut Io<'_>,
    half: &mut dyn Half,
    count: u64,
    seed: &Zeroizing<[u8; 32]>,
) -> Result<(), Error> {
    let mut rng = Prg::from_seed(seed);
    loop {
        match half.next(&mut rng, io.message())? {
            Turn::Send => {
                let bytes = io.message().len();
                io.send(messages::refill(bytes))?;
                // This message is sent before the work that follows it, which is most of the work:
                // so both parties do theirs at the same time.
                io.breathe().await?;
            }
            Turn::Receive { bytes } => half.receive(io.receive(messages::refill(bytes)).await?)?,
            Turn::Idle => match count.saturating_sub(half.left()) {
                0 => return Ok(()),
                missing => {
                    half.refill(missing.min(MAX_REFILL as u64) as usize)?;
                    io.breathe().await?;
                }
            },
        }
    }
}
