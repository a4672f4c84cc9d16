//! Trees of seeds: the receiver of the extension has all leaves, the sender all except one.
//!
//! Source: Roy 2022, figure 6, the construction of Goldreich, Goldwasser and Micali from OTs (also
//! Boyle et al., CCS 2019). A tree has as many levels as its group has bits; leaf x has bit b of x
//! from level b. The two nodes of level 0 are the keys of the group's first base OT, exchanged:
//! node 1 is r_0 and node 0 is r_1, so that the sender, which has r_Δ, knows the node off its path.
//! For every further level the receiver sends both sums of its nodes, the sum of the nodes that end
//! in 0 under r_1 and that of those that end in 1 under r_0. The sender decrypts the one off its
//! path and subtracts the nodes that it knows.
//!
//! The sender numbers nodes by y = x ⊕ Δ. The unknown node is at y = 0 on every level, so no index
//! depends on Δ. Only the order of two children does, and a masked exchange establishes it.
//!
//! | correction of a level | bytes |
//! |---|---|
//! | sum of the nodes that end in 0, ⊕ r_1 | 0..16 |
//! | sum of the nodes that end in 1, ⊕ r_0 | 16..32 |
//!
//! Cost: 2^k hashes per group and party, once; 32 (128 − ⌈128/k⌉) bytes.

use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable};
use tacit_kernels::Block;
use zeroize::{Zeroize, Zeroizing};

use super::FieldBits;
use crate::base::Key;
use crate::{Delta, SessionTag};

/// The size of one level's correction, in bytes.
pub(crate) const CORRECTION_BYTES: usize = 2 * Block::BYTES;

const CHILDREN: &[u8; 32] = b"tacit OT extension v1 children  ";

/// Returns the size of the corrections of all trees together, in bytes.
pub(crate) const fn correction_bytes(field: FieldBits) -> usize {
    (Delta::BITS - field.groups()) * CORRECTION_BYTES
}

/// The leaves of one tree. The sender does not know leaf 0, which holds zero.
pub(crate) type Leaves = Zeroizing<Vec<Block>>;

/// Grows a whole tree, at the receiver, from the base OTs of its group, and appends its
/// corrections.
pub(crate) fn grow(
    tag: &SessionTag,
    group: usize,
    keys: &[[Key; 2]],
    corrections: &mut Vec<u8>,
) -> Leaves {
    let hash = hash_of_group(tag, group);
    let mut nodes = Zeroizing::new(vec![keys[0][1].to_block(), keys[0][0].to_block()]);
    for (level, pair) in keys.iter().enumerate().skip(1) {
        let mut next = Zeroizing::new(vec![Block::ZERO; 2 * nodes.len()]);
        let mut sums = [pair[1].to_block(), pair[0].to_block()];
        for (x, &node) in nodes.iter().enumerate() {
            let pair = children(&hash, level, node);
            for (bit, child) in pair.into_iter().enumerate() {
                next[x + bit * nodes.len()] = child;
                sums[bit] ^= child;
            }
        }
        for sum in &mut sums {
            corrections.extend_from_slice(&sum.to_bytes());
            sum.zeroize();
        }
        nodes = next;
    }
    nodes
}

/// Grows a tree without leaf 0 (in y = x ⊕ Δ), at the sender, from the base OTs of its group, their
/// choices, which are bits of Δ, and the corrections, one for each level after the first.
pub(crate) fn grow_punctured(
    tag: &SessionTag,
    group: usize,
    keys: &[Key],
    choices: &[bool],
    corrections: &[u8],
) -> Leaves {
    let hash = hash_of_group(tag, group);
    let mut nodes = Zeroizing::new(vec![Block::ZERO, keys[0].to_block()]);
    let levels = keys.iter().zip(choices).enumerate().skip(1);
    for ((level, (key, &choice)), sums) in levels.zip(corrections.chunks_exact(CORRECTION_BYTES)) {
        let choice = Choice::from(u8::from(choice));
        let mut next = Zeroizing::new(vec![Block::ZERO; 2 * nodes.len()]);
        // In terms of y, the child of the unknown node that is off the path ends in 1.
        let (sum_0, sum_1) = sums.split_at(Block::BYTES);
        let mut off_path = key.to_block();
        off_path ^= Block::conditional_select(&block(sum_1), &block(sum_0), choice);
        for (y, &node) in nodes.iter().enumerate().skip(1) {
            let [mut child_0, mut child_1] = children(&hash, level, node);
            Block::conditional_swap(&mut child_0, &mut child_1, choice);
            off_path ^= child_1;
            next[y] = child_0;
            next[y + nodes.len()] = child_1;
        }
        next[nodes.len()] = off_path;
        nodes = next;
    }
    nodes
}

fn block(bytes: &[u8]) -> Block {
    let mut array = [0; Block::BYTES];
    array.copy_from_slice(bytes);
    Block::from_bytes(array)
}

fn hash_of_group(tag: &SessionTag, group: usize) -> Sha256 {
    tag.hash(CHILDREN)
        .chain_update((group as u32).to_le_bytes())
}

/// Returns the two children of `node` on `level`.
fn children(hash: &Sha256, level: usize, node: Block) -> [Block; 2] {
    let mut bytes = node.to_bytes();
    let hash = hash.clone().chain_update((level as u32).to_le_bytes());
    let mut digest = hash.chain_update(bytes).finalize();
    bytes.zeroize();
    let pair = [block(&digest[..16]), block(&digest[16..])];
    digest.as_mut_slice().zeroize();
    pair
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(i: usize, x: usize) -> Key {
        Key::from_bytes(Sha256::digest([i as u8, x as u8]).into())
    }

    #[test]
    fn the_sender_has_every_leaf_but_its_own() {
        let tag = SessionTag::new([3; 32]);
        for width in 1..=FieldBits::MAX {
            let keys: Vec<_> = (0..width).map(|i| [key(i, 0), key(i, 1)]).collect();
            let mut corrections = Vec::new();
            let whole = grow(&tag, 5, &keys, &mut corrections);
            assert_eq!(whole.len(), 1 << width);
            assert_eq!(corrections.len(), (width - 1) * CORRECTION_BYTES);
            for delta in 0..1 << width {
                let choices: Vec<_> = (0..width).map(|b| delta >> b & 1 == 1).collect();
                let chosen: Vec<_> = (0..width).map(|i| key(i, delta >> i & 1)).collect();
                let most = grow_punctured(&tag, 5, &chosen, &choices, &corrections);
                assert_eq!(most[0], Block::ZERO);
                assert!((1..1 << width).all(|y| most[y] == whole[y ^ delta]));
            }
        }
    }

    #[test]
    fn groups_and_tags_have_their_own_trees() {
        let keys: Vec<_> = (0..2).map(|i| [key(i, 0), key(i, 1)]).collect();
        let leaf = |tag, group| grow(&SessionTag::new([tag; 32]), group, &keys, &mut Vec::new())[3];
        assert_ne!(leaf(0, 0), leaf(0, 1));
        assert_ne!(leaf(0, 0), leaf(1, 0));
    }
}
