//! Which circuits are checked, and which bucket each of the others goes to.
//!
//! The evaluator commits to a seed for each before the garbler commits to its circuits, so that a
//! simulator may know them; it opens the first when all circuits are fixed, and the second when all
//! that are checked have been opened. Both choices are uniform: shuffles by Fisher and Yates, whose
//! numbers come from AES in counter mode without bias.

use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};

use super::layout::Batch;

/// A seed that the evaluator has committed to.
pub(super) type ChoiceSeed = [u8; 32];

/// The circuits of a batch, cut.
pub(super) struct CheckSet {
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

fn shuffle(prg: &mut Prg, all: &mut [u32]) {
    for i in (1..all.len()).rev() {
        all.swap(i, below(prg, i as u64 + 1) as usize);
    }
}

/// A uniform number below `bound`, which is not 0.
fn below(prg: &mut Prg, bound: u64) -> u64 {
    let unbiased = u64::MAX - u64::MAX % bound;
    loop {
        let mut bytes = [0; 8];
        prg.fill_bytes(&mut bytes);
        let drawn = u64::from_le_bytes(bytes);
        if drawn < unbiased {
            return drawn % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_are_uniform() {
        let mut prg = Prg::new(Block::ONES);
        let mut counts = [0_u32; 24];
        for _ in 0..24_000 {
            let mut all = [0, 1, 2, 3];
            shuffle(&mut prg, &mut all);
            let rank = all.iter().enumerate().fold(0, |rank, (i, a)| {
                rank * (4 - i) + all[i + 1..].iter().filter(|b| *b < a).count()
            });
            counts[rank] += 1;
        }
        // A count is 1000 with deviation 31; the seed is fixed.
        assert!(
            counts.iter().all(|count| (850..1150).contains(count)),
            "{counts:?}"
        );
    }
}
