//! The choice of the checked circuits, and of the bucket of each other circuit.
//!
//! The evaluator commits to a seed for each choice before the garbler commits to its circuits, so
//! that a simulator may know the choices. It opens the first seed when all circuits are fixed, and
//! the second when all checked circuits have been opened. Both choices are uniform: they are
//! shuffles by Fisher and Yates, with unbiased numbers from AES in counter mode.

use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};

use super::layout::Batch;
use crate::malicious::shuffle::shuffle;

/// A seed to which the evaluator has committed.
pub(super) type ChoiceSeed = [u8; 32];

/// The circuits of a batch, divided into checked and evaluated ones.
pub(crate) struct CheckSet {
    /// The circuits that are opened and checked, in order.
    pub(super) checked: Vec<u32>,
    /// The circuits that are evaluated, in order.
    evaluated: Vec<u32>,
}

impl CheckSet {
    /// Returns the cut of `seed`.
    pub(super) fn choose<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>, seed: &ChoiceSeed) -> Self {
        let mut checked: Vec<u32> = (0..batch.circuits()).collect();
        shuffle(&mut Prg::from_seed(seed), &mut checked);
        let mut evaluated = checked.split_off(batch.plan.cut().checked() as usize);
        checked.sort_unstable();
        evaluated.sort_unstable();
        Self { checked, evaluated }
    }

    /// Returns the circuits of each execution, in the order of its chain, as `seed` distributes
    /// them.
    pub(super) fn buckets<S: Scheme<Wire = Block>>(
        &self,
        batch: &Batch<'_, S>,
        seed: &ChoiceSeed,
    ) -> Vec<Vec<u32>> {
        let mut thrown = self.evaluated.clone();
        shuffle(&mut Prg::from_seed(seed), &mut thrown);
        thrown.chunks(batch.bucket()).map(<[u32]>::to_vec).collect()
    }
}
