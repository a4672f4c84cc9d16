//! What the cloud does with a circuit's head: the same whether it is checked or evaluated.

use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::copy::{CopySecrets, CopySeed};
use super::cut::{CutKey, Fate};
use super::work::{SEED_BYTES, ServerRun};
use super::{Cheat, cheated};
use crate::Error;
use crate::bits::{differ, read_block};
use crate::malicious::commitment::Committing;
use crate::malicious::oracle::{Domain, Oracle};

/// What is held of a circuit from its head on.
pub(super) struct HeldCopy {
    pub(super) copy: usize,
    /// Its start point, and that of its partial-input gates.
    pub(super) starts: [Block; 2],
    /// Means nothing where the circuit is evaluated.
    pub(super) seed: CopySeed,
    /// Labels of the generator's input; none where the circuit is checked.
    pub(super) own: Zeroizing<Vec<Block>>,
}

impl HeldCopy {
    /// Opens both boxes of a head with the key that there is, and judges it.
    ///
    /// # Errors
    ///
    /// The circuit is checked and the head is not its seed's, or it is evaluated and a label of the
    /// generator's input does not open.
    pub(super) fn open<S: Scheme<Wire = Block>>(
        work: &ServerRun<'_, S>,
        oracle: &Oracle,
        copy: usize,
        (key, fate): (&CutKey, Fate),
        head: &[u8],
    ) -> Result<Self, Error> {
        let (open, boxes) = head.split_at(work.open_head_bytes());
        let mut boxes = Zeroizing::new(boxes.to_vec());
        let (opening, boxed_seed) = boxes.split_at_mut(work.opening_bytes());
        key.open(oracle, copy, Fate::Evaluate, opening);
        key.open(oracle, copy, Fate::Check, boxed_seed);
        let mut seed = CopySeed([0; SEED_BYTES]);
        seed.0.copy_from_slice(boxed_seed);
        let secrets = CopySecrets::derive(work, oracle, copy, &seed);
        let mut expected = Vec::with_capacity(open.len());
        secrets.write_head(oracle, &mut expected);
        let checked = !differ(&expected, open);
        let labels = opening.as_chunks().0.iter();
        let labels = labels.map(|bytes| Block::from_bytes(*bytes));
        let mut own = Zeroizing::new(labels.collect::<Vec<_>>());
        let commitments = &open[2 * Block::BYTES..];
        let committing = Committing::new(oracle, Domain::GarblerInput, copy as u32);
        let opened = open_by_select_bits(&committing, &own, commitments);
        match fate {
            Fate::Check if !checked => {
                let part = "start points or commitments to inputs";
                return Err(cheated(Cheat::CheckedCopy(copy, part)));
            }
            Fate::Evaluate if !opened => return Err(cheated(Cheat::GeneratorInput(copy))),
            Fate::Check => own = Zeroizing::default(),
            Fate::Evaluate => {}
        }
        let starts = [0, 1].map(|i| read_block(&open[i * Block::BYTES..]));
        Ok(Self {
            copy,
            starts,
            seed,
            own,
        })
    }
}

/// Whether each of `labels` opens the commitment at its select bit's position. (A select bit says
/// nothing of a value: positions are as random as permute bits.)
pub(super) fn open_by_select_bits(
    committing: &Committing,
    labels: &[Block],
    commitments: &[u8],
) -> bool {
    committing.open(0, labels, |i| labels[i].lsb(), commitments)
}
