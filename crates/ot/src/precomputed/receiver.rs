//! The receiver's half of precomputed OTs.

use core::fmt;
use core::ops::Range;

use subtle::ConditionallySelectable;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::{check_count, pad_hash, read_block};
use crate::base::check_length;
use crate::{ApiMisuse, Error, Message, Outputs, SessionTag};

/// The receiver's half of correlated OTs with consecutive numbers and random choices. Each use
/// consumes it.
pub struct ReceiverOts {
    first: u64,
    /// t of each OT. Bit 0 is the choice.
    t: Outputs,
}

/// The random choices of OTs and r_b of each.
pub type RandomChoices = (Zeroizing<Vec<bool>>, Outputs);

/// OTs with corrected choices that wait for the sender's answer.
pub struct ChosenOts {
    first: u64,
    choices: Zeroizing<Vec<bool>>,
    t: Outputs,
}

impl ReceiverOts {
    pub(crate) fn new(first: u64, t: Outputs) -> Self {
        Self { first, t }
    }

    /// Returns the numbers of these OTs.
    pub fn range(&self) -> Range<u64> {
        self.first..self.first + self.t.len() as u64
    }

    /// Returns the number of OTs.
    pub fn len(&self) -> usize {
        self.t.len()
    }

    /// Returns whether there are no OTs.
    pub fn is_empty(&self) -> bool {
        self.t.is_empty()
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
        let (front, back) = self.t.split_at(count);
        let part = |first, t: &[Block]| Self::new(first, Zeroizing::new(t.to_vec()));
        let second = self.first + count as u64;
        Ok((part(self.first, front), part(second, back)))
    }

    /// Returns the random choices and t of each OT, for uncorrected use. All are secret.
    #[must_use]
    pub fn into_correlated(self) -> (Zeroizing<Vec<bool>>, Outputs) {
        let choices = self.t.iter().map(|t| t.lsb().into()).collect();
        (Zeroizing::new(choices), self.t)
    }

    /// Returns t of each OT, whose bit 0 is the choice, for uncorrected use. All are secret.
    #[must_use]
    pub fn into_blocks(self) -> Outputs {
        self.t
    }

    /// Returns random OTs: the choice b and r_b of each.
    #[must_use]
    pub fn into_random(self, tag: &SessionTag) -> RandomChoices {
        let (hash, tweak) = pad_hash(tag, self.first);
        let (choices, mut t) = self.into_correlated();
        hash.hash(tweak, &mut t);
        (choices, t)
    }

    /// Corrects the random choices to `choices`. Returns the OTs and the corrections for the
    /// sender, one bit per OT, with OT i in bit i mod 8 of byte ⌊i/8⌋.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongCount`] unless there is one choice per OT.
    pub fn choose(self, choices: &[bool]) -> Result<(ChosenOts, Vec<u8>), Error> {
        check_count("choices", self.len(), choices.len())?;
        let Self { first, t } = self;
        let mut corrections = vec![0; t.len().div_ceil(8)];
        for (i, (t, &choice)) in t.iter().zip(choices).enumerate() {
            corrections[i / 8] |= (t.lsb().unwrap_u8() ^ u8::from(choice)) << (i % 8);
        }
        let choices = Zeroizing::new(choices.to_vec());
        Ok((ChosenOts { first, choices, t }, corrections))
    }
}

impl ChosenOts {
    /// Returns the labels of the choices, if the sender uses
    /// [`into_zero_labels`](super::SenderOts::into_zero_labels).
    #[must_use]
    pub fn into_labels(self) -> Outputs {
        self.t
    }

    /// Returns the labels of the choices, from the sender's [`link`](super::SenderOts::link).
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`](crate::PeerMisbehaved) if the answer has the wrong length.
    pub fn open_links(self, answer: &[u8]) -> Result<Outputs, Error> {
        check_length(Message::Answer, self.t.len() * Block::BYTES, answer)?;
        let mut labels = self.t;
        for (label, link) in labels.iter_mut().zip(answer.chunks_exact(Block::BYTES)) {
            *label ^= read_block(link);
        }
        Ok(labels)
    }

    /// Returns the blocks of the choices, from the sender's
    /// [`send_blocks`](super::SenderOts::send_blocks).
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`](crate::PeerMisbehaved) if the answer has the wrong length.
    pub fn open_blocks(self, tag: &SessionTag, answer: &[u8]) -> Result<Outputs, Error> {
        check_length(Message::Answer, self.t.len() * 2 * Block::BYTES, answer)?;
        let (choices, mut blocks) = self.pads(tag);
        let pairs = answer.chunks_exact(2 * Block::BYTES).zip(choices.iter());
        for (block, (pair, &choice)) in blocks.iter_mut().zip(pairs) {
            let (zero, one) = pair.split_at(Block::BYTES);
            let choice = u8::from(choice).into();
            *block ^= Block::conditional_select(&read_block(zero), &read_block(one), choice);
        }
        Ok(blocks)
    }

    /// Returns the strings of the choices, `length` bytes each, one after the other, from the
    /// sender's [`send_strings`](super::SenderOts::send_strings).
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved`](crate::PeerMisbehaved) if the answer has the wrong length.
    pub fn open_strings(
        self,
        tag: &SessionTag,
        length: usize,
        answer: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let expected = self.t.len().saturating_mul(length).saturating_mul(2);
        check_length(Message::Answer, expected, answer)?;
        let mut strings = Zeroizing::new(vec![0; answer.len() / 2]);
        if length == 0 {
            return Ok(strings);
        }
        let (choices, pads) = self.pads(tag);
        let answers = answer.chunks_exact(2 * length).zip(choices.iter());
        let strings_of = strings.chunks_exact_mut(length).zip(pads.iter());
        for ((string, &pad), (answer, &choice)) in strings_of.zip(answers) {
            Prg::new(pad).fill_bytes(string);
            let (zero, one) = answer.split_at(length);
            let choice = u8::from(choice).into();
            for ((byte, zero), one) in string.iter_mut().zip(zero).zip(one) {
                *byte ^= u8::conditional_select(zero, one, choice);
            }
        }
        Ok(strings)
    }

    fn pads(self, tag: &SessionTag) -> RandomChoices {
        let (hash, tweak) = pad_hash(tag, self.first);
        let mut pads = self.t;
        hash.hash(tweak, &mut pads);
        (self.choices, pads)
    }
}

impl fmt::Debug for ReceiverOts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReceiverOts({:?})", self.range())
    }
}

impl fmt::Debug for ChosenOts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChosenOts {{ first: {}, .. }}", self.first)
    }
}
