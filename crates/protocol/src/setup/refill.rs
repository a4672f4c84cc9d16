//! Making OTs before they are used, where the extension does not make them with the choices.
//!
//! Each party moves the messages of its half of the source ([`tacit_ot::source`]) until this many
//! OTs are there. Both parties refill for as many, which follows from what they agreed to run.
//! Every message has one length, which the source says.

use tacit_kernels::Prg;
use tacit_ot::source::{MAX_REFILL, SourceReceiver, SourceSender, Turn};
use zeroize::Zeroizing;

use super::{SessionOt, messages};
use crate::Error;
use crate::io::Io;

/// Either half of a source.
pub(crate) trait Half: Send + 'static {
    /// OTs that are made and not taken.
    fn left(&self) -> u64;
    /// OTs that were made in all, of which the first has number 0.
    fn made(&self) -> u64;
    /// As those of the halves.
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
    /// Makes OTs until `count` can be taken, where they are made before they are used. `seed` is
    /// random, secret and used for this alone.
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
                // On its way before the work after it, which is most of the work: both parties do
                // it at the same time.
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
