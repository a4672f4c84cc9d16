//! The sender's half of precomputed OTs.

use core::fmt;
use core::ops::Range;

use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::{bit, check_corrections, check_count, pad_hash};
use crate::{ApiMisuse, Delta, Error, Outputs, SessionTag};

/// The sender's half of correlated OTs with consecutive numbers. Each use consumes it.
pub struct SenderOts {
    first: u64,
    delta: Delta,
    q: Outputs,
}

impl SenderOts {
    pub(crate) fn new(first: u64, delta: Delta, q: Outputs) -> Self {
        Self { first, delta, q }
    }

    /// Returns the numbers of these OTs.
    pub fn range(&self) -> Range<u64> {
        self.first..self.first + self.q.len() as u64
    }

    /// Returns the number of OTs.
    pub fn len(&self) -> usize {
        self.q.len()
    }

    /// Returns whether there are no OTs.
    pub fn is_empty(&self) -> bool {
        self.q.is_empty()
    }

    /// Splits off the first `count` OTs. Returns them, and the others.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::NotMade`] if there are fewer.
    pub fn split(self, count: usize) -> Result<(Self, Self), Error> {
        if count > self.len() {
            return Err(ApiMisuse::not_made(self.first, count, self.range().end).into());
        }
        let part = |first, q: &[Block]| Self {
            first,
            delta: self.delta.clone(),
            q: Zeroizing::new(q.to_vec()),
        };
        let (front, back) = self.q.split_at(count);
        let second = self.first + count as u64;
        Ok((part(self.first, front), part(second, back)))
    }

    /// Returns Δ and q of each OT, for uncorrected use. All are secret.
    #[must_use]
    pub fn into_correlated(self) -> (Delta, Outputs) {
        (self.delta, self.q)
    }

    /// Returns random OTs: (r_0, r_1) of each.
    #[must_use]
    pub fn into_random(self, tag: &SessionTag) -> Zeroizing<Vec<[Block; 2]>> {
        let Self { first, delta, q } = self;
        let (hash, tweak) = pad_hash(tag, first);
        let mut zeros = q;
        let mut ones = Zeroizing::new(vec![Block::ZERO; zeros.len()]);
        hash.hash_both(tweak, &delta.to_block(), &mut zeros, &mut ones);
        let pairs = zeros.iter().zip(ones.iter());
        Zeroizing::new(pairs.map(|(&zero, &one)| [zero, one]).collect())
    }

    /// Returns the labels for 0 of OTs whose choices the receiver has corrected. The labels for 1
    /// differ by Δ.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`](crate::PeerMisbehaved) if `corrections` are not one bit per OT.
    pub fn into_zero_labels(self, corrections: &[u8]) -> Result<Outputs, Error> {
        check_corrections(self.len(), corrections)?;
        let Self { delta, mut q, .. } = self;
        for (i, q) in q.iter_mut().enumerate() {
            *q ^= delta.to_block().and_bit(bit(corrections, i).into());
        }
        Ok(q)
    }

    /// Links the OTs to wires under the same Δ, whose labels for 0 are `zero_labels`. Returns the
    /// answer with which the receiver gets the label of its choice, 16 bytes per OT.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`](crate::PeerMisbehaved) if `corrections` are not one bit per OT;
    /// [`ApiMisuse::WrongCount`] unless there is one label per OT.
    pub fn link(self, corrections: &[u8], zero_labels: &[Block]) -> Result<Vec<u8>, Error> {
        check_count("labels", self.len(), zero_labels.len())?;
        let q = self.into_zero_labels(corrections)?;
        let mut answer = Vec::with_capacity(q.len() * Block::BYTES);
        for (&q, &label) in q.iter().zip(zero_labels) {
            answer.extend_from_slice(&(q ^ label).to_bytes());
        }
        Ok(answer)
    }

    /// Sends one of two blocks with each OT. Returns the answer, 32 bytes per OT.
    ///
    /// # Errors
    ///
    /// Those of [`link`](Self::link).
    pub fn send_blocks(
        self,
        tag: &SessionTag,
        corrections: &[u8],
        pairs: &[[Block; 2]],
    ) -> Result<Vec<u8>, Error> {
        check_count("pairs", self.len(), pairs.len())?;
        check_corrections(self.len(), corrections)?;
        let mut answer = Vec::with_capacity(pairs.len() * 2 * Block::BYTES);
        for (i, (pads, pair)) in self.into_random(tag).iter().zip(pairs).enumerate() {
            let [a, b] = in_order(pads, bit(corrections, i));
            answer.extend_from_slice(&(pair[0] ^ a).to_bytes());
            answer.extend_from_slice(&(pair[1] ^ b).to_bytes());
        }
        Ok(answer)
    }

    /// Sends one of two strings of `length` bytes with each OT. Returns the answer, 2 · `length`
    /// bytes per OT. `zeros` and `ones` are the strings for each choice, one after the other. To
    /// send many messages under one choice, put them into one string.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`](crate::PeerMisbehaved) if `corrections` are not one bit per OT;
    /// [`ApiMisuse::WrongCount`] unless `zeros` and `ones` have `length` bytes per OT.
    pub fn send_strings(
        self,
        tag: &SessionTag,
        corrections: &[u8],
        length: usize,
        zeros: &[u8],
        ones: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let bytes = self.len().saturating_mul(length);
        check_count("bytes for choice 0", bytes, zeros.len())?;
        check_count("bytes for choice 1", bytes, ones.len())?;
        check_corrections(self.len(), corrections)?;
        if length == 0 {
            return Ok(Vec::new());
        }
        let mut answer = vec![0; 2 * bytes];
        let strings = zeros.chunks_exact(length).zip(ones.chunks_exact(length));
        let pads = self.into_random(tag);
        let parts = answer.chunks_exact_mut(2 * length).zip(pads.iter());
        for (i, ((answer, pads), (zero, one))) in parts.zip(strings).enumerate() {
            let (first, second) = answer.split_at_mut(length);
            let pads = in_order(pads, bit(corrections, i));
            for ((out, string), pad) in [(first, zero), (second, one)].into_iter().zip(pads) {
                Prg::new(pad).fill_bytes(out);
                out.iter_mut()
                    .zip(string)
                    .for_each(|(out, byte)| *out ^= byte);
            }
        }
        Ok(answer)
    }
}

/// Returns the pads of messages 0 and 1 under a correction, which is public.
fn in_order(pads: &[Block; 2], correction: u8) -> [Block; 2] {
    let d = usize::from(correction);
    [pads[d], pads[1 - d]]
}

impl fmt::Debug for SenderOts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SenderOts({:?})", self.range())
    }
}
