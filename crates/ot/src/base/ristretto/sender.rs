//! The sender of base OTs, which gets both keys of each OT.

use core::fmt;
use core::num::NonZeroUsize;

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::oracle::Oracles;
use super::{PHI_BYTES, POINT_BYTES};
use crate::base::parts::in_parts;
use crate::base::{Key, check_count, check_length, check_made, part_count, refuse_repetitions};
use crate::{Error, Message, PeerMisbehaved, SessionTag};

/// A sender that has made its message and waits for the receiver's, as a whole or in parts.
pub struct Sender {
    count: usize,
    oracles: Oracles,
    /// a/2.
    half_secret: Zeroizing<Scalar>,
    /// A, as sent.
    message: [u8; POINT_BYTES],
    /// The received parts of the receiver's message.
    taken: Vec<u8>,
    /// Both keys of the OTs in these parts.
    keys: Vec<[Key; 2]>,
}

impl Sender {
    /// The size of the sender's message, in bytes.
    pub const MESSAGE_BYTES: usize = POINT_BYTES;

    /// Starts a batch of `count` OTs. Returns the state and the message for the receiver, which
    /// may be sent before the receiver's has arrived.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::BaseCount`](crate::ApiMisuse::BaseCount) if `count` is zero or above
    /// [`MAX_COUNT`](crate::base::MAX_COUNT).
    pub fn start<R: CryptoRng + ?Sized>(
        count: usize,
        tag: &SessionTag,
        rng: &mut R,
    ) -> Result<(Self, Vec<u8>), Error> {
        check_count(count)?;
        let half_secret = Zeroizing::new(Scalar::random(rng));
        let half_point = RistrettoPoint::mul_base(&half_secret);
        let message = (half_point + half_point).compress().to_bytes();
        let sender = Self {
            count,
            oracles: Oracles::new(tag),
            half_secret,
            message,
            taken: Vec::new(),
            keys: Vec::with_capacity(count),
        };
        Ok((sender, message.to_vec()))
    }

    /// Returns the size of the missing part of the receiver's message, in bytes.
    pub fn expected_bytes(&self) -> usize {
        (self.count - self.keys.len()) * PHI_BYTES
    }

    /// Takes the receiver's message and returns both keys of each OT, (r_0, r_1).
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`] if the message has the wrong length, or an element in it is not
    /// canonical, is or leads to the identity, or occurs twice.
    pub fn finish(mut self, message: &[u8]) -> Result<Vec<[Key; 2]>, Error> {
        check_length(Message::BaseReceiver, self.expected_bytes(), message)?;
        self.take_on(NonZeroUsize::MIN, message)?;
        self.into_keys()
    }

    /// Takes the next part of the receiver's message: any whole number of its OTs.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`], as for [`finish`](Self::finish); repetitions are also found across
    /// parts. This sender must not be used afterwards.
    pub fn take_on(&mut self, threads: NonZeroUsize, part: &[u8]) -> Result<(), Error> {
        let first = self.keys.len();
        let count = part_count(self.count - first, PHI_BYTES, part)?;
        self.taken.extend_from_slice(part);
        let points = self.taken.chunks_exact(PHI_BYTES);
        refuse_repetitions(Message::BaseReceiver, points.map(|phi| &phi[..POINT_BYTES]))?;
        let phi = |i: usize| &self.taken[i * PHI_BYTES..][..PHI_BYTES];
        let keys = in_parts(count, threads, |range| {
            let range = first + range.start..first + range.end;
            let mut half_shared = Zeroizing::new(Vec::with_capacity(2 * range.len()));
            for i in range.clone() {
                for y in self.open(i, phi(i))? {
                    half_shared.push(*self.half_secret * y);
                }
            }
            let shared = RistrettoPoint::double_and_compress_batch(half_shared.iter());
            let shared = Zeroizing::new(shared);
            let pairs = range.zip(shared.chunks_exact(2));
            let keys = |(i, shared): (usize, &[CompressedRistretto])| {
                [0, 1].map(|x: u8| {
                    let shared = shared[usize::from(x)].as_bytes();
                    self.oracles.key(i as u32, x, &self.message, phi(i), shared)
                })
            };
            Ok::<_, Error>(pairs.map(keys).collect())
        })?;
        self.keys.extend(keys);
        Ok(())
    }

    /// Returns both keys of each OT, (r_0, r_1), once all parts are taken.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`](crate::ApiMisuse) if some parts are missing.
    pub fn into_keys(self) -> Result<Vec<[Key; 2]>, Error> {
        check_made(self.count, self.count - self.keys.len())?;
        Ok(self.keys)
    }

    /// Computes Y_0 and Y_1 of φ.
    fn open(&self, index: usize, phi: &[u8]) -> Result<[RistrettoPoint; 2], PeerMisbehaved> {
        let message = Message::BaseReceiver;
        let (t_bytes, s) = split(phi);
        let t = CompressedRistretto(t_bytes)
            .decompress()
            .ok_or(PeerMisbehaved::InvalidPoint { message, index })?;
        let crossed = core::array::from_fn(|byte| s[byte] ^ t_bytes[byte]);
        let y = [(0, s), (1, crossed)].map(|(x, s)| {
            let half = self.oracles.half_mask(index as u32, x, &s);
            t + half + half
        });
        if t.is_identity() || y.iter().any(IsIdentity::is_identity) {
            return Err(PeerMisbehaved::IdentityPoint { message, index });
        }
        Ok(y)
    }
}

/// Splits φ into T and s.
fn split(phi: &[u8]) -> ([u8; 32], [u8; 32]) {
    let (mut t, mut s) = ([0; 32], [0; 32]);
    t.copy_from_slice(&phi[..32]);
    s.copy_from_slice(&phi[32..PHI_BYTES]);
    (t, s)
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sender {{ count: {}, .. }}", self.count)
    }
}
