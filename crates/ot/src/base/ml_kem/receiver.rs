//! The receiver, which speaks first and gets the key of its choice in each OT.

use core::convert::Infallible;
use core::fmt;
use core::num::NonZeroUsize;

use libcrux_ml_kem::mlkem768;
use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::oracle::Oracles;
use super::vector::Vector;
use super::{CIPHERTEXT_BYTES, KEY_BYTES, MASK_BYTES, PHI_BYTES, VECTOR_BYTES};
use crate::base::parts::in_parts;
use crate::base::{Key, check_count, check_length, check_made, refuse_repetitions};
use crate::{Error, Message, SessionTag};

/// The size of an ML-KEM-768 decapsulation key, in bytes.
const SECRET_BYTES: usize = 2400;

/// The size of the seed (d, z) of a key pair, in bytes.
const SEED_BYTES: usize = 64;

/// A receiver that makes its message, as a whole or in parts, and then waits for the sender's.
pub struct Receiver {
    oracles: Oracles,
    /// c of each OT, as 0 or 1.
    choices: Zeroizing<Vec<u8>>,
    randomness: Zeroizing<Vec<Randomness>>,
    /// The decapsulation key of each OT whose part of the message exists.
    secrets: Vec<Secret>,
    /// The φ of these OTs, as sent.
    message: Vec<u8>,
}

/// A decapsulation key in memory of its own, so that a move leaves no copy behind.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Secret(Box<[u8; SECRET_BYTES]>);

/// The randomness of an OT: (d, z) and s′.
type Randomness = ([u8; SEED_BYTES], [u8; MASK_BYTES]);

impl Receiver {
    /// Starts a batch of OTs, one for each of `choices`, which stay secret. Returns the state and
    /// the message for the sender.
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
        let blank: Randomness = ([0; SEED_BYTES], [0; MASK_BYTES]);
        let mut randomness = Zeroizing::new(vec![blank; choices.len()]);
        for (seed, mask) in randomness.iter_mut() {
            rng.fill_bytes(seed);
            rng.fill_bytes(mask);
        }
        Ok(Self {
            oracles: Oracles::new(tag),
            secrets: Vec::with_capacity(choices.len()),
            message: Vec::with_capacity(choices.len() * PHI_BYTES),
            choices,
            randomness,
        })
    }

    /// Returns the number of OTs without a part of the message.
    pub fn left(&self) -> usize {
        self.choices.len() - self.secrets.len()
    }

    /// Makes the part of the message for the next `count` OTs, or for all the remaining ones if
    /// there are fewer, on up to `threads` threads. All parts together are the message of
    /// [`start`](Self::start).
    pub fn offer_on(&mut self, threads: NonZeroUsize, count: usize) -> Vec<u8> {
        let (first, count) = (self.secrets.len(), count.min(self.left()));
        let Ok(made) = in_parts(count, threads, |range| {
            let one = |i: usize| {
                let i = first + i;
                offer(
                    &self.oracles,
                    i as u32,
                    self.choices[i],
                    &self.randomness[i],
                )
            };
            Ok::<_, Infallible>(range.map(one).collect())
        });
        let mut part = Vec::with_capacity(count * PHI_BYTES);
        for (secret, phi) in made {
            self.secrets.push(secret);
            part.extend_from_slice(&phi);
        }
        self.message.extend_from_slice(&part);
        part
    }

    /// Returns the size of the sender's message that this receiver waits for, in bytes.
    pub fn expected_bytes(&self) -> usize {
        self.choices.len() * 2 * CIPHERTEXT_BYTES
    }

    /// Takes the sender's message and returns the chosen key of each OT, r_c. Works on up to
    /// `threads` threads.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`](crate::PeerMisbehaved) if the message has the wrong length or contains a
    /// ciphertext twice. A ciphertext that is not an encapsulation to our key gives a key that
    /// nobody else knows. [`ApiMisuse`](crate::ApiMisuse) if a part of our message is missing.
    pub fn finish(self, threads: NonZeroUsize, message: &[u8]) -> Result<Vec<Key>, Error> {
        check_made(self.choices.len(), self.left())?;
        check_length(Message::BaseSender, self.expected_bytes(), message)?;
        refuse_repetitions(Message::BaseSender, message.chunks_exact(CIPHERTEXT_BYTES))?;
        let (pairs, _) = message.as_chunks::<{ 2 * CIPHERTEXT_BYTES }>();
        in_parts(self.choices.len(), threads, |range| {
            Ok(range.map(|i| self.open(i, &pairs[i])).collect())
        })
    }

    /// Computes r_c of OT `i`.
    fn open(&self, i: usize, pair: &[u8; 2 * CIPHERTEXT_BYTES]) -> Key {
        let c = self.choices[i];
        let mut chosen = [0; CIPHERTEXT_BYTES];
        let (zero, one) = pair.split_at(CIPHERTEXT_BYTES);
        for (byte, (zero, one)) in chosen.iter_mut().zip(zero.iter().zip(one)) {
            *byte = u8::conditional_select(zero, one, Choice::from(c));
        }
        let secret = mlkem768::MlKem768PrivateKey::from(&*self.secrets[i].0);
        let shared = Zeroizing::new(mlkem768::decapsulate(&secret, &(&chosen).into()));
        let mut secret: [u8; SECRET_BYTES] = secret.into();
        secret.zeroize();
        let phi = &self.message[i * PHI_BYTES..][..PHI_BYTES];
        let key = self.oracles.key(i as u32, c, phi, &chosen, &shared);
        // The memory must not show which of the two it is.
        chosen.zeroize();
        key
    }
}

/// Makes a key pair, and φ = (T, ρ, s) that hides its public half at `c`.
fn offer(oracles: &Oracles, i: u32, c: u8, randomness: &Randomness) -> (Secret, [u8; PHI_BYTES]) {
    let (seed, mask) = randomness;
    let pair = mlkem768::generate_key_pair(*seed);
    let (secret, public) = pair.into_parts();
    let mut secret: [u8; SECRET_BYTES] = secret.into();
    let kept = Secret(Box::new(secret));
    secret.zeroize();
    // The choice follows from which of the two keys of φ this is.
    let public = Zeroizing::new(<[u8; KEY_BYTES]>::from(public));
    let (t_hat, rho) = public.split_at(VECTOR_BYTES);
    let mut t_bytes = Zeroizing::new([0; VECTOR_BYTES]);
    t_bytes.copy_from_slice(t_hat);
    let mut t = Vector::decode(&t_bytes);
    t.subtract(&oracles.vector(i, c, rho, mask));
    let mut phi = [0; PHI_BYTES];
    t.encode(&mut phi[..VECTOR_BYTES]);
    phi[VECTOR_BYTES..KEY_BYTES].copy_from_slice(rho);
    let crossing = oracles.mask(i, &phi[..KEY_BYTES]);
    let s = phi[KEY_BYTES..].iter_mut().zip(mask.iter().zip(&crossing));
    for (s, (mask, crossing)) in s {
        *s = mask ^ u8::conditional_select(&0, crossing, Choice::from(c));
    }
    (kept, phi)
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiver {{ count: {}, .. }}", self.choices.len())
    }
}
