//! The garbler's outputs on their way back: select bits, and a hash of the labels that carry them.
//!
//! | bytes | field |
//! |---|---|
//! | ⌈n/8⌉ | select bits of the n output labels, eight a byte, least significant bit first; unused bits zero |
//! | 32 | SHA-256 of the tag `tacit result 1\0`, the run's tag and the n labels |

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;
use tacit_garble::Garbler;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use crate::bits::{bit, bytes_for, check_bits, select_bits};
use crate::message::{Kind, exactly};
use crate::session::RunTag;
use crate::{Error, Misbehaviour};

/// Size of a result of `outputs` bits, in bytes.
pub(crate) fn result_bytes(outputs: usize) -> usize {
    bytes_for(outputs) + 32
}

/// The hash that authenticates these labels as the run's result.
fn authenticate(tag: &RunTag, labels: &[Block]) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(b"tacit result 1\0").chain_update(tag.as_bytes());
    for label in labels {
        hash.update(label.to_bytes());
    }
    hash.finalize().into()
}

/// The evaluator's message to the garbler, from the labels of the garbler's outputs.
pub(crate) fn write_result(tag: &RunTag, labels: &[Block], message: &mut Vec<u8>) {
    *message = select_bits(labels);
    message.extend_from_slice(&authenticate(tag, labels));
}

/// The garbler's output bits from the evaluator's message, which only someone with a label of
/// every wire can make.
///
/// # Errors
///
/// The message is malformed, or its hash is not that of the labels that it selects.
pub(crate) fn read_result<G: Garbler>(
    garbler: &G,
    wires: &[G::Wire],
    tag: &RunTag,
    payload: &[u8],
) -> Result<Zeroizing<Vec<bool>>, Error> {
    exactly(Kind::Result, payload, result_bytes(wires.len()))?;
    let (selects, hash) = payload.split_at(bytes_for(wires.len()));
    check_bits(Kind::Result, selects, wires.len())?;
    let mut labels = Zeroizing::new(Vec::with_capacity(wires.len()));
    let mut outputs = Zeroizing::new(Vec::with_capacity(wires.len()));
    for (i, wire) in wires.iter().enumerate() {
        let (label, value) = garbler.label_with_select(wire, bit(selects, i));
        labels.push(label);
        outputs.push(value);
    }
    if !bool::from(authenticate(tag, &labels).as_slice().ct_eq(hash)) {
        return Err(Misbehaviour::ForgedResult.into());
    }
    Ok(outputs)
}
