//! Partial-input gates: links from the label that a run saved to a label of this run, circuit by
//! circuit.
//!
//! In the paper, the generator hashes R ⊕ label, finds a bit in which the hashes of both labels
//! differ, and lets that bit select one of two rows. Here a label keeps its own select bit, in
//! which both labels of a wire differ. H is the re-keyed tweakable hash of `kernels` from start
//! point R, with the tweak (link, wire):
//!
//! row λ = H(W_old with select bit λ) ⊕ W_new for the same value.
//!
//! R is fresh in every run (in `outsourced`, from each circuit's seed). So no hash is computed
//! twice, and a value may be loaded any number of times. Both old labels differ by the old Δ and
//! both new ones by the new Δ: a plain XOR of labels would reveal Δ_old ⊕ Δ_new, while the hash
//! makes the other row meaningless. **Cost**: 256 bits a wire; two hashes to make a gate, one to
//! follow it.

use subtle::ConditionallySelectable as _;
use tacit_kernels::{Block, Construction, Tweak, TweakableHash, Use};
use zeroize::Zeroizing;

use super::SavedCopy;

/// The size of a partial-input gate in bytes.
pub(crate) const GATE_BYTES: usize = 2 * Block::BYTES;

fn tweak(first: usize) -> Tweak {
    Tweak::of(Use::Link, first as u64)
}

/// Appends the gates from the `old` values, given by their labels of 0, to wires with the labels
/// `new` of 0 under `delta`.
pub(crate) fn write_gates<'a>(
    start: Block,
    old: impl Iterator<Item = &'a SavedCopy>,
    new: &[Block],
    delta: Block,
    out: &mut Vec<u8>,
) {
    let hash = TweakableHash::new(Construction::Rekeyed, start);
    let mut first = 0;
    for value in old {
        let count = value.labels.len();
        let mut zeros = Zeroizing::new(value.labels.clone());
        let mut ones = Zeroizing::new(vec![Block::ZERO; count]);
        hash.hash_both(tweak(first), &value.delta, &mut zeros, &mut ones);
        let begin = out.len();
        out.resize(begin + GATE_BYTES * count, 0);
        let (gates, _) = out[begin..].as_chunks_mut::<GATE_BYTES>();
        let hashes = zeros.iter().zip(ones.iter());
        let wires = value.labels.iter().zip(&new[first..first + count]);
        for ((gate, (old, new)), (zero, one)) in gates.iter_mut().zip(wires).zip(hashes) {
            let mut rows = [*zero ^ *new, *one ^ *new ^ delta];
            let [row_0, row_1] = &mut rows;
            Block::conditional_swap(row_0, row_1, old.lsb());
            let (places, _) = gate.as_chunks_mut();
            places.copy_from_slice(&rows.map(Block::to_bytes));
        }
        first += count;
    }
}

/// Returns the labels to which `gates` lead from those of `old`. Any bytes lead to some labels.
pub(crate) fn follow_gates<'a>(
    start: Block,
    old: impl Iterator<Item = &'a SavedCopy>,
    gates: &[u8],
) -> Zeroizing<Vec<Block>> {
    let hash = TweakableHash::new(Construction::Rekeyed, start);
    let (gates, _) = gates.as_chunks::<GATE_BYTES>();
    let mut labels = Zeroizing::new(Vec::with_capacity(gates.len()));
    for value in old {
        let first = labels.len();
        let mut hashes = Zeroizing::new(value.labels.clone());
        hash.hash(tweak(first), &mut hashes);
        let gates = &gates[first..first + value.labels.len()];
        for ((old, hash), gate) in value.labels.iter().zip(hashes.iter()).zip(gates) {
            let (rows, _) = gate.as_chunks::<{ Block::BYTES }>();
            let [row_0, row_1] = [rows[0], rows[1]].map(Block::from_bytes);
            labels.push(*hash ^ Block::conditional_select(&row_0, &row_1, old.lsb()));
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use tacit_kernels::Prg;

    use super::*;

    #[test]
    fn gates_lead_from_each_label_to_the_one_of_the_same_value() {
        let mut prg = Prg::new(Block::ONES);
        let start = prg.next_block();
        let delta = prg.next_block().with_lsb(1.into());
        let old: Vec<SavedCopy> = [3, 1]
            .map(|count| SavedCopy {
                delta: prg.next_block().with_lsb(1.into()),
                labels: (0..count).map(|_| prg.next_block()).collect(),
            })
            .to_vec();
        let new: Vec<Block> = (0..4).map(|_| prg.next_block()).collect();
        let mut gates = Vec::new();
        write_gates(start, old.iter(), &new, delta, &mut gates);
        assert_eq!(gates.len(), 4 * GATE_BYTES);
        for value in [0, 1] {
            let active: Vec<SavedCopy> = old
                .iter()
                .map(|copy| SavedCopy {
                    delta: Block::ZERO,
                    labels: copy
                        .labels
                        .iter()
                        .map(|label| *label ^ copy.delta.and_bit(value.into()))
                        .collect(),
                })
                .collect();
            let found = follow_gates(start, active.iter(), &gates);
            let expected = new.iter().map(|label| *label ^ delta.and_bit(value.into()));
            assert_eq!(*found, expected.collect::<Vec<_>>());
        }
    }
}
