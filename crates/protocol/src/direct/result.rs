//! The garbler's outputs on their way back: select bits, and a hash of the labels that carry them.
//!
//! | bytes | field |
//! |---|---|
//! | ⌈n/8⌉ | select bits of the n output labels, eight a byte, least significant bit first; unused bits zero |
//! | 32 | SHA-256 of the tag `tacit result 1\0`, the run's tag and the n labels |

use sha2::{Digest as _, Sha256};
use tacit_kernels::Block;

use crate::session::RunTag;

/// Size of a result of `outputs` bits, in bytes.
pub(super) fn result_bytes(outputs: usize) -> usize {
    outputs.div_ceil(8) + 32
}

/// The hash that authenticates these labels as the run's result.
pub(super) fn authenticate(tag: &RunTag, labels: &[Block]) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(b"tacit result 1\0").chain_update(tag.as_bytes());
    for label in labels {
        hash.update(label.to_bytes());
    }
    hash.finalize().into()
}
