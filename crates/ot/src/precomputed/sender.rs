//! The sender's half of precomputed OTs.

use core::fmt;
use core::ops::Range;

use super::{bit, check_corrections};
use crate::{Delta, Error, Outputs};

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

    /// Returns Δ and q of each OT, for uncorrected use. All are secret.
    #[must_use]
    pub fn into_correlated(self) -> (Delta, Outputs) {
        (self.delta, self.q)
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
}

impl fmt::Debug for SenderOts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SenderOts({:?})", self.range())
    }
}
