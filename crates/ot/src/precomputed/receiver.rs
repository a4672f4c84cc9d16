//! The receiver's half of precomputed OTs.

use core::fmt;
use core::ops::Range;

use crate::{ApiMisuse, Error, Outputs};

/// The receiver's half of correlated OTs with consecutive numbers and random choices. Each use
/// consumes it.
pub struct ReceiverOts {
    first: u64,
    /// t of each OT. Bit 0 is the choice.
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

    /// Returns t of each OT, whose bit 0 is the choice, for uncorrected use. All are secret.
    #[must_use]
    pub fn into_blocks(self) -> Outputs {
        self.t
    }

    /// Corrects the random choices to `choices`. Returns the labels of the choices and the
    /// corrections for the sender, one bit per OT, with OT i in bit i mod 8 of byte ⌊i/8⌋.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongCount`] unless there is one choice per OT.
    pub fn choose(self, choices: &[bool]) -> Result<(Outputs, Vec<u8>), Error> {
        if choices.len() != self.len() {
            return Err(Error::from(ApiMisuse::WrongCount {
                what: "choices",
                expected: self.len(),
                found: choices.len(),
            }));
        }
        let t = self.t;
        let mut corrections = vec![0; t.len().div_ceil(8)];
        for (i, (t, &choice)) in t.iter().zip(choices).enumerate() {
            corrections[i / 8] |= (t.lsb().unwrap_u8() ^ u8::from(choice)) << (i % 8);
        }
        Ok((t, corrections))
    }
}

impl fmt::Debug for ReceiverOts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReceiverOts({:?})", self.range())
    }
}
