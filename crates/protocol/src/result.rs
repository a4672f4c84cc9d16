//! The end of a run of `direct` and `prepared`. The evaluator decodes its outputs. The garbler's
//! outputs go back to the garbler as select bits and a hash of the labels that carry them.
//!
//! | bytes | field |
//! |---|---|
//! | ⌈n/8⌉ | select bits of the n output labels, eight a byte, least significant bit first; unused bits zero |
//! | 32 | SHA-256 of the tag `tacit result 1\0`, the run's tag and the n labels |

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;
use tacit_function::{Function, Role};
use tacit_garble::{Evaluator, Garbler, Scheme};
use tacit_kernels::Block;
use zeroize::Zeroizing;

use crate::bits::{bit, bytes_for, check_bits, select_bits};
use crate::io::{Io, Message};
use crate::message::{Kind, exactly};
use crate::session::RunTag;
use crate::{Error, Misbehaviour};

/// Returns the size in bytes of a result of `outputs` bits.
fn result_bytes(outputs: usize) -> usize {
    bytes_for(outputs) + 32
}

/// Returns the hash that authenticates these labels as the run's result.
fn authenticate(tag: &RunTag, labels: &[Block]) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(b"tacit result 1\0").chain_update(tag.as_bytes());
    for label in labels {
        hash.update(label.to_bytes());
    }
    hash.finalize().into()
}

/// Writes the evaluator's message to the garbler from the labels of the garbler's outputs.
fn write_result(tag: &RunTag, labels: &[Block], message: &mut Vec<u8>) {
    *message = select_bits(labels);
    message.extend_from_slice(&authenticate(tag, labels));
}

/// Returns the garbler's output bits from the evaluator's message. Only a party that has a label of
/// every wire can make that message.
fn read_result<G: Garbler>(
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

/// From the garbler, at the start of a run: the start point of the hashes and the seed of the
/// public labels.
pub(crate) const GARBLING_START: Message = Message::exactly(Kind::GarblingStart, 2 * Block::BYTES);

/// From the garbler, if the evaluator gets results: the decoding information.
pub(crate) fn decoding<S: Scheme>(scheme: S, function: &Function) -> Option<Message> {
    match function.output_bits(Role::Evaluator) {
        0 => None,
        outputs => Some(Message::exactly(
            Kind::Decoding,
            scheme.decoding_bytes(outputs),
        )),
    }
}

/// From the evaluator, if the garbler gets results: select bits and a hash of their labels.
pub(crate) fn result(function: &Function) -> Option<Message> {
    match function.output_bits(Role::Garbler) {
        0 => None,
        outputs => Some(Message::exactly(Kind::Result, result_bytes(outputs))),
    }
}

/// Runs the end of the garbler's side and returns its output bits. `wires` returns the wires of a
/// party's results.
pub(crate) async fn garblers_results<S: Scheme>(
    io: &mut Io<'_>,
    scheme: S,
    (function, tag): (&Function, &RunTag),
    garbler: &S::Garbler,
    wires: impl Fn(Role) -> Zeroizing<Vec<S::Wire>>,
) -> Result<Zeroizing<Vec<bool>>, Error> {
    if let Some(decoding) = decoding(scheme, function) {
        io.message().clear();
        garbler.decoding(0, &wires(Role::Evaluator), io.message());
        io.send(decoding)?;
    }
    match result(function) {
        None => Ok(Zeroizing::default()),
        Some(result) => {
            let payload = io.receive(result).await?;
            read_result(garbler, &wires(Role::Garbler), tag, payload)
        }
    }
}

/// Runs the end of the evaluator's side and returns its output bits. `labels` returns the labels of
/// a party's results.
pub(crate) async fn evaluators_results<S: Scheme>(
    io: &mut Io<'_>,
    scheme: S,
    (function, tag): (&Function, &RunTag),
    evaluator: &S::Evaluator,
    labels: impl Fn(Role) -> Zeroizing<Vec<Block>>,
) -> Result<Zeroizing<Vec<bool>>, Error> {
    let mut decoded = Zeroizing::default();
    if let Some(decoding) = decoding(scheme, function) {
        let payload = io.receive(decoding).await?;
        let bits = evaluator.decode(0, &labels(Role::Evaluator), payload);
        decoded = bits.map_err(Misbehaviour::Undecodable)?;
    }
    if let Some(result) = result(function) {
        write_result(tag, &labels(Role::Garbler), io.message());
        io.send(result)?;
    }
    Ok(decoded)
}
