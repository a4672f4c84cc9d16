//! The sender, which answers the receiver's message and gets both keys of each OT.

use core::fmt;
use core::num::NonZeroUsize;

use libcrux_ml_kem::mlkem768;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::oracle::Oracles;
use super::vector::Vector;
use super::{CIPHERTEXT_BYTES, KEY_BYTES, MASK_BYTES, PHI_BYTES, VECTOR_BYTES};
use crate::base::parts::in_parts;
use crate::base::{Key, check_count, check_length, check_made, part_count, refuse_repetitions};
use crate::{Error, Message, PeerMisbehaved, SessionTag};

/// A sender that waits for the receiver's message, as a whole or in parts.
pub struct Sender {
    oracles: Oracles,
    /// The randomness of each OT's two encapsulations.
    randomness: Zeroizing<Vec<[[u8; 32]; 2]>>,
    /// The received parts of the receiver's message.
    taken: Vec<u8>,
    /// Both keys of the OTs in these parts.
    keys: Vec<[Key; 2]>,
    /// The message for the receiver, as far as it exists.
    reply: Vec<u8>,
}

/// Both keys of an OT and its two ciphertexts.
type Answer = ([Key; 2], [[u8; CIPHERTEXT_BYTES]; 2]);

/// Both keys of each OT, and the message for the receiver.
pub type Answers = (Vec<[Key; 2]>, Vec<u8>);

impl Sender {
    /// Returns a sender of `count` OTs, with all the randomness of its answer.
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
            taken: Vec::new(),
            keys: Vec::with_capacity(count),
            reply: Vec::with_capacity(count * 2 * CIPHERTEXT_BYTES),
        })
    }

    /// Returns the size of the missing part of the receiver's message, in bytes.
    pub fn expected_bytes(&self) -> usize {
        (self.randomness.len() - self.keys.len()) * PHI_BYTES
    }

    /// Takes the receiver's message. Returns both keys of each OT, (r_0, r_1), and the message for
    /// the receiver.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`] if the message has the wrong length, a T in it has a coefficient that is
    /// not below q, or a (T, ρ) occurs twice.
    pub fn answer(mut self, message: &[u8]) -> Result<Answers, Error> {
        check_length(Message::BaseReceiver, self.expected_bytes(), message)?;
        self.take_on(NonZeroUsize::MIN, message)?;
        self.into_answers()
    }

    /// Takes the next part of the receiver's message: any whole number of its OTs.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`], as for [`answer`](Self::answer); repetitions are also found across
    /// parts. This sender must not be used afterwards.
    pub fn take_on(&mut self, threads: NonZeroUsize, part: &[u8]) -> Result<(), Error> {
        let (first, all) = (self.keys.len(), self.randomness.len());
        let count = part_count(all - first, PHI_BYTES, part)?;
        self.taken.extend_from_slice(part);
        let (phis, _) = self.taken.as_chunks::<PHI_BYTES>();
        refuse_repetitions(
            Message::BaseReceiver,
            phis.iter().map(|phi| &phi[..KEY_BYTES]),
        )?;
        let answers = in_parts(count, threads, |range| {
            let one = |i: usize| self.encapsulate(first + i, &phis[first + i]);
            range.map(one).collect::<Result<Vec<_>, _>>()
        })?;
        for (keys, ciphertexts) in answers {
            self.keys.push(keys);
            self.reply.extend_from_slice(ciphertexts.as_flattened());
        }
        Ok(())
    }

    /// Returns the result of [`answer`](Self::answer), once all parts are taken.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`](crate::ApiMisuse) if some parts are missing.
    pub fn into_answers(self) -> Result<Answers, Error> {
        let count = self.randomness.len();
        check_made(count, count - self.keys.len())?;
        Ok((self.keys, self.reply))
    }

    /// Makes both keys of OT `index`.
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
