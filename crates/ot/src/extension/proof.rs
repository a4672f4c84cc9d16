//! The check that the corrections of all trees fit one set of leaves.
//!
//! Source: Roy 2022, section 5 and figure 14. The receiver, which knows all leaves, derives 32
//! bytes t_x from each, and sends their sum for each tree and one hash of them all. The sender,
//! which lacks one leaf per tree, recovers its t from the sum and compares the hash.
//!
//! **Why it holds.** The hash binds all t_x, and a t_x its leaf (256 bits, by collision resistance
//! at 2^128). So all values of Δ under which the check passes give leaves of the same tree. A wrong
//! correction is therefore a guess at the bit of Δ that selects it, and halves the chance to pass.
//! Trees of one level have no corrections and are left out.
//!
//! | part | bytes |
//! |---|---|
//! | for each tree of two or more levels: ⊕_x t_x | 32 |
//! | hash of all t_x, tree by tree, in the order of x | 32 |

use sha2::Digest;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::FieldBits;
use super::tree::Leaves;
use crate::base::Key;
use crate::{Delta, Security, SessionTag};

const LEAF: &[u8; 32] = b"tacit OT extension v1 leaf check";
const ALL: &[u8; 32] = b"tacit OT extension v1 tree check";
const MASK: &[u8; 32] = b"tacit OT extension v1 check mask";

/// The size of t_x and of the hash, in bytes.
const PART_BYTES: usize = 32;

type Part = [u8; PART_BYTES];

/// Returns the size of the part that only the first message carries, in bytes: the corrections, and
/// their proof if there is one.
pub(crate) const fn first_bytes(field: FieldBits, security: Security) -> usize {
    let corrections = super::correction_bytes(field);
    match security {
        Security::SemiHonest => corrections,
        Security::Malicious => corrections + PART_BYTES * (proven_trees(field) + 1),
    }
}

/// Returns the number of trees with corrections.
const fn proven_trees(field: FieldBits) -> usize {
    // Only the last group can be smaller, so for k > 1 only it can have a single level.
    match (field.get(), Delta::BITS % field.get()) {
        (1, _) => 0,
        (_, 1) => field.groups() - 1,
        _ => field.groups(),
    }
}

/// Derives the key of the receiver's masks from both keys of each base OT. The sender lacks half of
/// them.
pub(crate) fn mask_key(tag: &SessionTag, base: &[[Key; 2]]) -> tacit_kernels::Block {
    let mut hash = tag.hash(MASK);
    base.iter()
        .flatten()
        .for_each(|key| hash.update(key.as_bytes()));
    Key::from_bytes(hash.finalize().into()).to_block()
}

/// Appends the receiver's proof for its trees.
pub(crate) fn prove_trees(tag: &SessionTag, trees: &[Leaves], proof: &mut Vec<u8>) {
    let mut all = tag.hash(ALL);
    for (group, leaves) in trees.iter().enumerate().filter(|(_, tree)| tree.len() > 2) {
        let mut sum = [0; PART_BYTES];
        for part in parts(tag, group, leaves).iter() {
            add(&mut sum, part);
            all.update(part);
        }
        proof.extend_from_slice(&sum);
    }
    proof.extend_from_slice(&all.finalize());
}

/// Returns whether the proof fits the sender's punctured trees, which number leaves relative to Δ.
pub(crate) fn verify_trees(
    tag: &SessionTag,
    field: FieldBits,
    trees: &[Leaves],
    delta: &[bool],
    proof: &[u8],
) -> bool {
    let mut all = tag.hash(ALL);
    let (sums, sealed) = proof.split_at(PART_BYTES * proven_trees(field));
    let proven = trees.iter().enumerate().filter(|(_, tree)| tree.len() > 2);
    for ((group, leaves), sum) in proven.zip(sums.chunks_exact(PART_BYTES)) {
        let mut parts = parts(tag, group, leaves);
        let mut missing = [0; PART_BYTES];
        missing.copy_from_slice(sum);
        for part in &parts[1..] {
            add(&mut missing, part);
        }
        parts[0] = missing;
        for (level, &bit) in delta[field.group(group)].iter().enumerate() {
            exchange(&mut parts, 1 << level, Choice::from(u8::from(bit)));
        }
        parts.iter().for_each(|part| all.update(part));
    }
    all.finalize().as_slice().ct_eq(sealed).into()
}

/// Computes t_x of each leaf.
fn parts(tag: &SessionTag, group: usize, leaves: &Leaves) -> Zeroizing<Vec<Part>> {
    let hash = tag.hash(LEAF).chain_update((group as u32).to_le_bytes());
    let part = |leaf: &tacit_kernels::Block| {
        let leaf = Zeroizing::new(leaf.to_bytes());
        hash.clone().chain_update(*leaf).finalize().into()
    };
    Zeroizing::new(leaves.iter().map(part).collect())
}

fn add(sum: &mut Part, part: &Part) {
    for (sum, byte) in sum.iter_mut().zip(part) {
        *sum ^= byte;
    }
}

/// Exchanges x and x ⊕ `distance` for all x, if `choice` is one.
fn exchange(parts: &mut [Part], distance: usize, choice: Choice) {
    for pair in parts.chunks_exact_mut(2 * distance) {
        let (low, high) = pair.split_at_mut(distance);
        for (a, b) in low
            .as_flattened_mut()
            .iter_mut()
            .zip(high.as_flattened_mut())
        {
            u8::conditional_swap(a, b, choice);
        }
    }
}
