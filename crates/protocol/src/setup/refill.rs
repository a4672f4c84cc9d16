//! Making OTs before they are used, where the extension does not make them with the choices.
//!
//! A [`Refill`] is one party's side: it moves the messages of its half of the source
//! ([`tacit_ot::source`]) until this many OTs are there. Both parties refill for as many, which
//! follows from what they agreed to run. Every message has one length, which the source says.

use rand_core::CryptoRng;
use tacit_kernels::Prg;
use tacit_ot::source::{MAX_REFILL, SourceReceiver, SourceSender, Turn};
use zeroize::Zeroizing;

use super::SessionOt;
use crate::Error;
use crate::message::Kind;
use crate::party::{Action, NOT_ASKED, Party};

/// Either half of a source.
pub(crate) trait Half: Send + 'static {
    /// OTs that are made and not taken.
    fn left(&self) -> u64;
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

/// The steps of making OTs until there are as many as wanted, of a half that somebody else holds.
pub(crate) struct RefillSteps {
    wanted: u64,
    rng: Prg,
    /// Whether what was sent last is on its way: the work after it is most of the work, and both
    /// parties do it at the same time.
    flushed: bool,
}

impl RefillSteps {
    pub(crate) fn new<R: CryptoRng + ?Sized>(wanted: u64, rng: &mut R) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        Self::from_seed(wanted, &seed)
    }

    pub(crate) fn from_seed(wanted: u64, seed: &Zeroizing<[u8; 32]>) -> Self {
        Self {
            wanted,
            rng: Prg::from_seed(seed),
            flushed: true,
        }
    }

    pub(crate) fn next(
        &mut self,
        half: &mut dyn Half,
        message: &mut Vec<u8>,
    ) -> Result<Action, Error> {
        if !std::mem::replace(&mut self.flushed, true) {
            return Ok(Action::Continue);
        }
        let kind = Kind::OtRefill;
        Ok(match half.next(&mut self.rng, message)? {
            Turn::Send => {
                self.flushed = false;
                Action::send(kind)
            }
            Turn::Receive { bytes } => Action::receive(kind, bytes),
            Turn::Idle => match self.wanted.saturating_sub(half.left()) {
                0 => Action::Done,
                missing => {
                    half.refill(missing.min(MAX_REFILL as u64) as usize)?;
                    Action::Continue
                }
            },
        })
    }
}

/// One party's side of making OTs until there are as many as wanted.
pub struct Refill<'a> {
    /// None where OTs are made with the choices.
    half: Option<&'a mut dyn Half>,
    steps: RefillSteps,
}

impl<'a> Refill<'a> {
    /// The side of whoever holds `ot`, until it can take `count` OTs.
    #[expect(private_bounds, reason = "only this module has halves")]
    #[must_use]
    pub fn new<E, M: Half, R: CryptoRng + ?Sized>(
        ot: &'a mut SessionOt<E, M>,
        count: u64,
        rng: &mut R,
    ) -> Self {
        let (half, steps) = (ot.half(), RefillSteps::new(count, rng));
        Self { half, steps }
    }
}

impl Party for Refill<'_> {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        match self.half.as_deref_mut() {
            None => Ok(Action::Done),
            Some(half) => self.steps.next(half, message),
        }
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        let half = self.half.as_deref_mut().ok_or(NOT_ASKED)?;
        Ok(half.receive(payload)?)
    }
}
