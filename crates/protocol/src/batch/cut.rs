//! Which circuits are checked, and which bucket each of the others goes to.
//!
//! The evaluator commits to a seed for each before the garbler commits to its circuits, so that a
//! simulator may know them; it opens the first when all circuits are fixed, and the second when all
//! that are checked have been opened. Both choices are uniform: shuffles by Fisher and Yates, whose
//! numbers come from AES in counter mode without bias.

use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};

use super::layout::Batch;
use crate::malicious::shuffle::shuffle;

/// A seed that the evaluator has committed to.
pub(super) type ChoiceSeed = [u8; 32];

/// The circuits of a batch, cut.
pub(crate) struct CheckSet {
    /// Those that are opened and checked, in order.
    pub(super) checked: Vec<u32>,
    /// Those that are evaluated, in order.
    evaluated: Vec<u32>,
}

impl CheckSet {
    /// The cut that `seed` names.
    pub(super) fn choose<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>, seed: &ChoiceSeed) -> Self {
        let mut checked: Vec<u32> = (0..batch.circuits()).collect();
        shuffle(&mut Prg::from_seed(seed), &mut checked);
        let mut evaluated = checked.split_off(batch.plan.cut().checked() as usize);
        checked.sort_unstable();
        evaluated.sort_unstable();
        Self { checked, evaluated }
    }

    /// The circuits of each execution, in the order of its chain, as `seed` throws them.
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
