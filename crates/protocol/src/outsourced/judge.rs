//! The cloud's work on a circuit's head, which is the same for checked and evaluated circuits.

use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::copy::{CopySeed, Drawing};
use super::cut::{CutKey, Fate};
use super::work::{SEED_BYTES, ServerRun};
use super::{Cheat, cheated};
use crate::Error;
use crate::bits::read_block;
use crate::malicious::commitment::{Committing, Differences, PAIR_BYTES, WIRES};
use crate::malicious::oracle::{Domain, Oracle};

/// The cloud's data of a circuit, from its head on.
pub(super) struct HeldCopy {
    pub(super) copy: usize,
    /// The circuit's start point, and that of its partial-input gates.
    pub(super) starts: [Block; 2],
    /// The circuit's seed. It is meaningless if the circuit is evaluated.
    pub(super) seed: CopySeed,
    /// Labels of the generator's input; empty if the circuit is checked.
    pub(super) own: Zeroizing<Vec<Block>>,
}

impl HeldCopy {
    /// Opens both boxes of a head with the available key, and judges the head.
    pub(super) fn open<S: Scheme<Wire = Block>>(
        work: &ServerRun<'_, S>,
        oracle: &Oracle,
        copy: usize,
        (key, fate): (&CutKey, Fate),
        head: &[u8],
    ) -> Result<Self, Error> {
        let (open, boxes) = head.split_at(work.open_head_bytes());
        let (opening, boxed_seed) = boxes.split_at(work.opening_bytes());
        let mut seed = CopySeed([0; SEED_BYTES]);
        seed.0.copy_from_slice(boxed_seed);
        key.open(oracle, copy, Fate::Check, &mut seed.0);
        let mut drawing = Drawing::begin(&seed);
        let starts = [0, 1].map(|i| read_block(&open[i * Block::BYTES..]));
        let [start, link_start] = starts;
        let mut found = Differences::default();
        found.add([(start, drawing.start), (link_start, drawing.link_start)]);
        let mut own = Zeroizing::new(Vec::with_capacity(work.own_bits));
        let mut pad = key.pad(oracle, copy, Fate::Evaluate);
        // First the pad, then labels of 0. All work on some wires is done together, while they are
        // in the cache.
        let mut drawn = Zeroizing::new([Block::ZERO; WIRES]);
        let committing = Committing::new(oracle, Domain::GarblerInput, copy as u32);
        let (labels, _) = opening.as_chunks::<{ Block::BYTES }>();
        let commitments = open[2 * Block::BYTES..].chunks(WIRES * PAIR_BYTES);
        for (labels, commitments) in labels.chunks(WIRES).zip(commitments) {
            let (from, drawn) = (own.len(), &mut drawn[..labels.len()]);
            pad.fill_blocks(drawn);
            let labels = labels.iter().zip(&*drawn);
            own.extend(labels.map(|(boxed, pad)| Block::from_bytes(*boxed) ^ *pad));
            drawing.labels(drawn);
            let made = (&*drawn, *drawing.delta);
            committing.compare_by_select_bits(from, made, &own[from..], commitments, &mut found);
        }
        let checked = !found.differ_from_made();
        let opened = !found.differ_from_opened();
        match fate {
            Fate::Check if !checked => {
                let part = "start points or commitments to inputs";
                return Err(cheated(Cheat::CheckedCopy(copy, part)));
            }
            Fate::Evaluate if !opened => return Err(cheated(Cheat::GeneratorInput(copy))),
            Fate::Check => own = Zeroizing::default(),
            Fate::Evaluate => {}
        }
        Ok(Self {
            copy,
            starts,
            seed,
            own,
        })
    }
}
