//! The keyed BLAKE3 of many blocks on several threads. The digest does not depend on their number.
//!
//! BLAKE3 is a tree: its input is cut into chunks, and a subtree of 2^n chunks can be hashed alone
//! (section 2.1 of the BLAKE3 paper). Each thread hashes subtrees, and the caller joins them.

use std::ops::Range;

use blake3::Hasher;
use blake3::hazmat::{
    ChainingValue, HasherExt as _, Mode, merge_subtrees_non_root, merge_subtrees_root,
};
use tacit_kernels::{Block, share_out};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::columns::ROWS;
use super::leaky::{CHUNK, zero_blocks};
use super::lot::pieces;
use super::oracle::{BUFFERED, Digest};
use crate::bits::append_blocks;

/// The blocks of a subtree that is hashed alone: 64 KiB, a power of two of BLAKE3's chunks.
const SUBTREE_BLOCKS: usize = CHUNK;

/// A thread that hashes blocks.
struct Worker<W> {
    write: W,
    rows: Outputs,
    bytes: Zeroizing<Vec<u8>>,
}

impl<W: FnMut(Range<usize>, &mut [Block])> Worker<W> {
    /// Returns the state of BLAKE3 under `key` after the blocks of a subtree.
    fn hashed(&mut self, key: &Digest, range: Range<usize>) -> Zeroizing<Hasher> {
        let mut hash = Zeroizing::new(Hasher::new_keyed(key));
        hash.set_input_offset((range.start * Block::BYTES) as u64);
        for at_once in pieces(range, BUFFERED / Block::BYTES) {
            self.bytes.clear();
            for range in pieces(at_once, ROWS) {
                let rows = &mut self.rows[..range.len()];
                (self.write)(range, rows);
                append_blocks(&mut self.bytes, rows);
            }
            hash.update(&self.bytes);
        }
        hash
    }
}

/// Returns the BLAKE3 hash of `count` blocks under `key`. Each thread has a writer, which writes
/// the blocks of a range, at most [`ROWS`].
///
/// # Panics
///
/// If there is no writer.
pub(super) fn hash_blocks<W: FnMut(Range<usize>, &mut [Block]) + Send>(
    key: &Digest,
    count: usize,
    writers: impl IntoIterator<Item = W>,
) -> Digest {
    let workers = writers.into_iter().map(|write| Worker {
        write,
        rows: zero_blocks(ROWS),
        bytes: Zeroizing::new(Vec::with_capacity(BUFFERED)),
    });
    let mut workers: Vec<_> = workers.collect();
    if count <= SUBTREE_BLOCKS {
        return workers[0].hashed(key, 0..count).finalize().into();
    }
    let mut subtrees = vec![ChainingValue::default(); count.div_ceil(SUBTREE_BLOCKS)];
    let parts = subtrees.iter_mut().enumerate();
    share_out(&mut workers, parts, |worker, (number, subtree)| {
        let first = number * SUBTREE_BLOCKS;
        let range = first..count.min(first + SUBTREE_BLOCKS);
        *subtree = worker.hashed(key, range).finalize_non_root();
    });
    let (left, right) = halves(&subtrees);
    let [left, right] = [left, right].map(|half| joined(half, key));
    merge_subtrees_root(&left, &right, Mode::KeyedHash(key)).into()
}

/// Returns the value of the tree over `subtrees`, below the root.
fn joined(subtrees: &[ChainingValue], key: &Digest) -> ChainingValue {
    match subtrees {
        [one] => *one,
        _ => {
            let (left, right) = halves(subtrees);
            let [left, right] = [left, right].map(|half| joined(half, key));
            merge_subtrees_non_root(&left, &right, Mode::KeyedHash(key))
        }
    }
}

/// Cuts two or more subtrees as BLAKE3 does: the left part is the largest power of two that leaves
/// a right part.
fn halves(subtrees: &[ChainingValue]) -> (&[ChainingValue], &[ChainingValue]) {
    subtrees.split_at(subtrees.len().next_power_of_two() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacit_kernels::Prg;

    #[test]
    fn the_hash_is_that_of_all_blocks_in_one_piece() {
        let key = [9; 32];
        let mut blocks = vec![Block::ZERO; 7 * SUBTREE_BLOCKS + 77];
        Prg::new(Block::from_u128(3)).fill_blocks(&mut blocks);
        let counts = (1..=7).flat_map(|n| [n * SUBTREE_BLOCKS - 1, n * SUBTREE_BLOCKS + 1]);
        for count in counts.chain([0, 1, 64, SUBTREE_BLOCKS, 4 * SUBTREE_BLOCKS, blocks.len()]) {
            let mut bytes = Vec::new();
            append_blocks(&mut bytes, &blocks[..count]);
            let expected: Digest = Hasher::new_keyed(&key).update(&bytes).finalize().into();
            for threads in [1, 2, 5] {
                let write = |rows: Range<usize>, into: &mut [Block]| {
                    into.copy_from_slice(&blocks[rows]);
                };
                let found = hash_blocks(&key, count, [write; 5].into_iter().take(threads));
                assert_eq!(found, expected, "{count} blocks on {threads} threads");
            }
        }
    }
}
