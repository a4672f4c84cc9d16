//! What the cloud does with a circuit: the same whether it is checked or evaluated.

use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::copy::{ActiveLabels, CopySecrets, CopySeed, evaluate};
use super::cut::{CutKey, Fate};
use super::work::{SEED_BYTES, ServerRun};
use super::{Cheat, cheated};
use crate::Error;
use crate::bits::{differ, read_block};
use crate::malicious::commitment::{Committing, PAIR_BYTES};
use crate::malicious::oracle::{Domain, Oracle};
use crate::saved::{EvaluatorHalf as CloudValue, SavedCopy};

/// What is held of a circuit from its head on.
pub(super) struct HeldCopy {
    copy: usize,
    /// Its start point, and that of its partial-input gates.
    starts: [Block; 2],
    /// Means nothing where the circuit is evaluated.
    pub(super) seed: CopySeed,
    /// Labels of the generator's input; none where the circuit is checked.
    pub(super) own: Zeroizing<Vec<Block>>,
}

/// The verdict on a circuit.
pub(super) struct Judged {
    /// Its masked results, if it is evaluated.
    pub(super) masked: Option<Zeroizing<Vec<bool>>>,
    /// What is saved of it.
    pub(super) saved: SavedCopy,
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

    /// Checks or evaluates the circuit of this body. `encoded` are the labels of the evaluator's
    /// encoded input, if it is evaluated; `expected` is empty and serves as memory.
    ///
    /// # Errors
    ///
    /// The circuit is checked and the body is not its seed's, or it is evaluated and a label of the
    /// evaluator's input does not open.
    pub(super) fn judge<S: Scheme<Wire = Block>>(
        &self,
        work: &ServerRun<'_, S>,
        oracle: &Oracle,
        encoded: Option<&[Block]>,
        loads: &[CloudValue],
        body: &[u8],
        expected: &mut Vec<u8>,
    ) -> Result<Judged, Error> {
        let copy = self.copy;
        let loaded = || loads.iter().map(|value| &value.0.copies[copy]);
        let secrets = CopySecrets::derive(work, oracle, copy, &self.seed);
        expected.reserve_exact(work.body_bytes());
        let mut saved = secrets.write_body(work, oracle, loaded(), expected);
        let active = match encoded {
            Some(encoded) => ActiveLabels {
                own: &self.own,
                encoded,
            },
            None => ActiveLabels {
                own: &secrets.own,
                encoded: &secrets.encoded,
            },
        };
        let commitments = &body[..PAIR_BYTES * work.transfers()];
        let committing = Committing::new(oracle, Domain::EvaluatorInput, copy as u32);
        let opened = open_by_select_bits(&committing, active.encoded, commitments);
        let evaluated = evaluate(work, self.starts, &active, loaded(), body);
        let differs = first_difference(work, body, expected);
        let masked = match (encoded, differs) {
            (Some(_), _) if !opened => return Err(cheated(Cheat::DeliveredLabel(copy))),
            (None, Some(part)) => return Err(cheated(Cheat::CheckedCopy(copy, part))),
            (Some(_), _) => {
                saved.labels = evaluated.saved.to_vec();
                Some(evaluated.masked)
            }
            (None, None) => None,
        };
        Ok(Judged { masked, saved })
    }
}

/// Whether each of `labels` opens the commitment at its select bit's position. (A select bit says
/// nothing of a value: positions are as random as permute bits.)
fn open_by_select_bits(committing: &Committing, labels: &[Block], commitments: &[u8]) -> bool {
    committing.open(0, labels, |i| labels[i].lsb(), commitments)
}

/// The first part in which a circuit's body is not what it should be. All parts are compared whole,
/// so that a circuit that is evaluated, whose `expected` means nothing, takes as long.
fn first_difference<S: Scheme<Wire = Block>>(
    work: &ServerRun<'_, S>,
    body: &[u8],
    expected: &[u8],
) -> Option<&'static str> {
    let ends = [
        (PAIR_BYTES * work.transfers(), "commitments to labels"),
        (work.before_tables_bytes(), "partial-input gates"),
        (work.tables_end(), "tables"),
        (body.len(), "decoding of results"),
    ];
    let (mut first, mut found) = (0, None);
    for (end, part) in ends {
        let differs = differ(&body[first..end], &expected[first..end]);
        found = found.or(differs.then_some(part));
        first = end;
    }
    found
}
