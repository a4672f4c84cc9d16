//! The sender: it answers the receiver's message and gets both keys of each OT.

use core::fmt;
use core::num::NonZeroUsize;

use libcrux_ml_kem::mlkem768;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::oracle::Oracles;
use super::vector::Vector;
use super::{CIPHERTEXT_BYTES, KEY_BYTES, MASK_BYTES, PHI_BYTES, VECTOR_BYTES};
use crate::base::parts::in_parts;
use crate::base::{Key, check_count, check_length, refuse_repetitions};
use crate::{Error, Message, PeerMisbehaved, SessionTag};

/// A sender who waits for the receiver's message.
pub struct Sender {
    oracles: Oracles,
    /// What each OT's two encapsulations are made from.
    randomness: Zeroizing<Vec<[[u8; 32]; 2]>>,
}

/// Both keys of an OT and its two ciphertexts.
type Answer = ([Key; 2], [[u8; CIPHERTEXT_BYTES]; 2]);

/// Both keys of each OT, and the message for the receiver.
pub type Answers = (Vec<[Key; 2]>, Vec<u8>);

impl Sender {
    /// A sender of `count` OTs, with all the randomness that its answer takes.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::BaseCount`](crate::ApiMisuse::BaseCount) if `count` is zero or above
    /// [`MAX_COUNT`](crate::base::MAX_COUNT).
    pub fn start<R: CryptoRng + ?Sized>(
        count: usize,
        tag: &SessionTag,
        rng: &mut R,
    ) -> Result<Self, Error> {
        check_count(count)?;
        let mut randomness = Zeroizing::new(vec![[[0; 32]; 2]; count]);
        for seed in randomness.iter_mut().flatten() {
            rng.fill_bytes(seed);
        }
        let oracles = Oracles::new(tag);
        Ok(Self {
            oracles,
            randomness,
        })
    }

    /// Size of the receiver's message that this sender waits for, in bytes.
    #[must_use]
    pub fn expected_bytes(&self) -> usize {
        self.randomness.len() * PHI_BYTES
    }

    /// Takes the receiver's message. Returns both keys of each OT, (r_0, r_1), and the message for
    /// the receiver.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`] if the message has the wrong length, a T of it has a coefficient that is
    /// not below q, or a (T, ρ) stands twice.
    pub fn answer(self, message: &[u8]) -> Result<Answers, Error> {
        self.answer_on(NonZeroUsize::MIN, message)
    }

    /// [`answer`](Self::answer) on up to `threads` threads, with the same result.
    ///
    /// # Errors
    ///
    /// Those of [`answer`](Self::answer).
    pub fn answer_on(self, threads: NonZeroUsize, message: &[u8]) -> Result<Answers, Error> {
        check_length(Message::BaseReceiver, self.expected_bytes(), message)?;
        let (phis, _) = message.as_chunks::<PHI_BYTES>();
        refuse_repetitions(
            Message::BaseReceiver,
            phis.iter().map(|phi| &phi[..KEY_BYTES]),
        )?;
        let count = self.randomness.len();
        let answers = in_parts(count, threads, |range| {
            let one = |i: usize| self.encapsulate(i, &phis[i]);
            range.map(one).collect::<Result<Vec<_>, _>>()
        })?;
        let mut pairs = Vec::with_capacity(count);
        let mut reply = Vec::with_capacity(count * 2 * CIPHERTEXT_BYTES);
        for (keys, ciphertexts) in answers {
            pairs.push(keys);
            reply.extend_from_slice(ciphertexts.as_flattened());
        }
        Ok((pairs, reply))
    }

    /// Both keys of OT `index`.
    fn encapsulate(&self, index: usize, phi: &[u8; PHI_BYTES]) -> Result<Answer, PeerMisbehaved> {
        let randomness = &self.randomness[index];
        let message = Message::BaseReceiver;
        let i = index as u32;
        let (mut t_bytes, mut s) = ([0; VECTOR_BYTES], [0; MASK_BYTES]);
        t_bytes.copy_from_slice(&phi[..VECTOR_BYTES]);
        s.copy_from_slice(&phi[KEY_BYTES..]);
        let rho = &phi[VECTOR_BYTES..KEY_BYTES];
        let crossing = self.oracles.mask(i, &phi[..KEY_BYTES]);
        let crossed = core::array::from_fn(|byte| s[byte] ^ crossing[byte]);
        let one = |x: u8, s: &[u8; MASK_BYTES], seed: &[u8; 32]| {
            let mut t = Vector::parse(&t_bytes)?;
            t.add(&self.oracles.vector(i, x, rho, s));
            let mut key = [0; KEY_BYTES];
            t.encode(&mut key[..VECTOR_BYTES]);
            key[VECTOR_BYTES..].copy_from_slice(rho);
            let (ciphertext, shared) = mlkem768::encapsulate(&key.into(), *seed);
            let shared = Zeroizing::new(shared);
            let ciphertext: [u8; CIPHERTEXT_BYTES] = ciphertext.into();
            let key = self.oracles.key(i, x, phi, &ciphertext, &shared);
            Some((key, ciphertext))
        };
        let invalid = PeerMisbehaved::InvalidKey { message, index };
        let (key_0, ciphertext_0) = one(0, &s, &randomness[0]).ok_or(invalid)?;
        let (key_1, ciphertext_1) = one(1, &crossed, &randomness[1]).ok_or(invalid)?;
        Ok(([key_0, key_1], [ciphertext_0, ciphertext_1]))
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sender {{ count: {}, .. }}", self.randomness.len())
    }
}
