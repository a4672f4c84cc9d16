//! The receiver of base OTs, which gets the key of its choice in each OT.

use core::convert::Infallible;
use core::fmt;
use core::num::NonZeroUsize;

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable};
use zeroize::Zeroizing;

use super::oracle::Oracles;
use super::{PHI_BYTES, POINT_BYTES};
use crate::base::parts::in_parts;
use crate::base::{Key, check_count, check_length, check_made};
use crate::{Error, Message, PeerMisbehaved, SessionTag};

/// A receiver that makes its message, as a whole or in parts, and then waits for the sender's.
pub struct Receiver {
    oracles: Oracles,
    /// c of each OT, as 0 or 1.
    choices: Zeroizing<Vec<u8>>,
    /// b/2 of each OT.
    half_secrets: Zeroizing<Vec<Scalar>>,
    /// s′ of each OT.
    seeds: Zeroizing<Vec<[u8; 32]>>,
    /// The φ of the OTs whose part of the message exists, as sent.
    message: Vec<u8>,
}

impl Receiver {
    /// Starts a batch of OTs, one for each of `choices`, which stay secret. Returns the state and
    /// the message for the sender, which may be sent before the sender's has arrived.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::BaseCount`](crate::ApiMisuse::BaseCount) if there are no choices or more than
    /// [`MAX_COUNT`](crate::base::MAX_COUNT).
    pub fn start<R: CryptoRng + ?Sized>(
        choices: &[bool],
        tag: &SessionTag,
        rng: &mut R,
    ) -> Result<(Self, Vec<u8>), Error> {
        let mut receiver = Self::new(choices, tag, rng)?;
        let message = receiver.offer_on(NonZeroUsize::MIN, choices.len());
        Ok((receiver, message))
    }

    /// Returns a receiver that has drawn all the randomness of its message, and has made no part of
    /// it.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start).
    pub fn new<R: CryptoRng + ?Sized>(
        choices: &[bool],
        tag: &SessionTag,
        rng: &mut R,
    ) -> Result<Self, Error> {
        check_count(choices.len())?;
        let choices = Zeroizing::new(choices.iter().map(|&c| u8::from(c)).collect::<Vec<u8>>());
        let mut half_secrets = Zeroizing::new(Vec::with_capacity(choices.len()));
        let mut seeds = Zeroizing::new(vec![[0; 32]; choices.len()]);
        for seed in seeds.iter_mut() {
            rng.fill_bytes(seed);
            half_secrets.push(Scalar::random(rng));
        }
        Ok(Self {
            oracles: Oracles::new(tag),
            message: Vec::with_capacity(choices.len() * PHI_BYTES),
            choices,
            half_secrets,
            seeds,
        })
    }

    /// Returns the number of OTs without a part of the message.
    pub fn left(&self) -> usize {
        self.choices.len() - self.message.len() / PHI_BYTES
    }

    /// Makes the part of the message for the next `count` OTs, or for all the remaining ones if
    /// there are fewer, on up to `threads` threads. All parts together are the message of
    /// [`start`](Self::start).
    pub fn offer_on(&mut self, threads: NonZeroUsize, count: usize) -> Vec<u8> {
        let first = self.choices.len() - self.left();
        let count = count.min(self.left());
        let Ok(part) = in_parts(count, threads, |range| {
            let range = first + range.start..first + range.end;
            let half_points = range.clone().map(|i| {
                let mask = self
                    .oracles
                    .half_mask(i as u32, self.choices[i], &self.seeds[i]);
                RistrettoPoint::mul_base(&self.half_secrets[i]) - mask
            });
            let half_points: Vec<_> = half_points.collect();
            let points = RistrettoPoint::double_and_compress_batch(&half_points);
            let phis = points.iter().zip(range);
            Ok::<_, Infallible>(
                phis.map(|(t, i)| phi(t.as_bytes(), &self.seeds[i], self.choices[i]))
                    .collect(),
            )
        });
        let part = part.concat();
        self.message.extend_from_slice(&part);
        part
    }

    /// Takes the sender's message and returns the chosen key of each OT, r_c. Works on up to
    /// `threads` threads.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`] if the message is not 32 bytes long, not a canonical element, or the
    /// identity; [`ApiMisuse`](crate::ApiMisuse) if a part of our message is missing.
    pub fn finish(self, threads: NonZeroUsize, message: &[u8]) -> Result<Vec<Key>, Error> {
        check_made(self.choices.len(), self.left())?;
        let a_bytes = read_point(message)?;
        let a = decode(a_bytes)?;
        in_parts(self.choices.len(), threads, |range| {
            let half_shared = self.half_secrets[range.clone()].iter().map(|b| b * a);
            let half_shared = Zeroizing::new(half_shared.collect::<Vec<_>>());
            let shared = RistrettoPoint::double_and_compress_batch(half_shared.iter());
            let shared = Zeroizing::new(shared);
            let key = |(i, shared): (usize, &CompressedRistretto)| {
                let phi = &self.message[i * PHI_BYTES..][..PHI_BYTES];
                let c = self.choices[i];
                self.oracles
                    .key(i as u32, c, &a_bytes, phi, shared.as_bytes())
            };
            Ok(range.zip(shared.iter()).map(key).collect())
        })
    }
}

/// Computes φ = (T, s′ ⊕ c·T).
fn phi(t: &[u8; POINT_BYTES], seed: &[u8; 32], c: u8) -> [u8; PHI_BYTES] {
    let c = Choice::from(c);
    let mut phi = [0; PHI_BYTES];
    phi[..POINT_BYTES].copy_from_slice(t);
    for ((s, seed), t) in phi[POINT_BYTES..].iter_mut().zip(seed).zip(t) {
        *s = seed ^ u8::conditional_select(&0, t, c);
    }
    phi
}

/// Returns the sender's message as an array.
fn read_point(message: &[u8]) -> Result<[u8; POINT_BYTES], PeerMisbehaved> {
    check_length(Message::BaseSender, POINT_BYTES, message)?;
    let mut bytes = [0; POINT_BYTES];
    bytes.copy_from_slice(message);
    Ok(bytes)
}

/// Decodes A, which must be canonical and not the identity.
fn decode(bytes: [u8; POINT_BYTES]) -> Result<RistrettoPoint, PeerMisbehaved> {
    let (message, index) = (Message::BaseSender, 0);
    let a = CompressedRistretto(bytes)
        .decompress()
        .ok_or(PeerMisbehaved::InvalidPoint { message, index })?;
    if a.is_identity() {
        return Err(PeerMisbehaved::IdentityPoint { message, index });
    }
    Ok(a)
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiver {{ count: {}, .. }}", self.choices.len())
    }
}
