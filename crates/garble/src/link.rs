//! Links: they turn the label of one garbling's output into the label of another's input.
//!
//! *Under one Δ*, for schemes with free XOR: W_out^0 ⊕ W_in^0, one label. Both wires have the same
//! offset, so the sum maps either label to the one of the same value. It tells the evaluator no
//! more than a free XOR does: on both wires the labels that it lacks differ by Δ from those that it
//! has. If a garbler knows both labels of its wires, it checks that their offset is Δ
//! ([`share_offset`]).
//!
//! *Without a shared Δ*: two ciphertexts in the order of the select bit. Row λ is `AES_k(tweak) ⊕
//! label`, where k is bits 1 to 127 of the output's label whose select bit is λ, and `label` the
//! input's label for the same value. The tweak names the link (its start point and number) and λ,
//! so that a wire that is linked twice never repeats a pad. A plain XOR of two labels would reveal
//! the difference of two offsets. Assumption: AES under a random key is a pseudorandom function.
//! Cost: 256 bits, two cipher calls for the garbler, one for the evaluator.

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use tacit_kernels::{Block, Cpu, Tweak, Use, encrypt_each, wiping_stack};
use zeroize::Zeroizing;

use crate::prf_calls::KEY;
use crate::{Garbler, LabelPair, StartPoint};

/// The size of a link between wires that share Δ, in bytes.
pub(crate) const OFFSET_LINK_BYTES: usize = Block::BYTES;
/// The size of a link between any two wires, in bytes.
pub(crate) const HASHED_LINK_BYTES: usize = 2 * Block::BYTES;

/// Returns whether the two labels of every wire differ by `delta`.
pub(crate) fn share_offset(wires: &[LabelPair], delta: Block) -> Choice {
    let have = |wire: &LabelPair| (wire.of(false) ^ wire.of(true)).ct_eq(&delta);
    wires
        .iter()
        .map(have)
        .fold(Choice::from(1), |all, this| all & this)
}

/// Appends the links from the wires with labels `from` for 0 to those with labels `to`, all under
/// one Δ.
pub(crate) fn offset_links(from: &[Block], to: &[Block], out: &mut Vec<u8>) {
    assert_eq!(from.len(), to.len(), "a wire is linked to one wire");
    for (from, to) in from.iter().zip(to) {
        out.extend_from_slice(&(*from ^ *to).to_bytes());
    }
}

/// Follows links under one Δ, in place.
pub(crate) fn follow_offset_links(labels: &mut [Block], links: &[u8]) {
    let (links, rest) = links.as_chunks::<OFFSET_LINK_BYTES>();
    assert!(
        links.len() == labels.len() && rest.is_empty(),
        "one link a label"
    );
    for (label, link) in labels.iter_mut().zip(links) {
        *label ^= Block::from_bytes(*link);
    }
}

/// Appends the hashed links from number `first` on under `start` from the wires `from` to the wires
/// `to`.
pub(crate) fn hashed_links<G: Garbler + ?Sized>(
    garbler: &G,
    start: StartPoint,
    first: u64,
    from: &[G::Wire],
    to: &[G::Wire],
    out: &mut Vec<u8>,
) {
    assert_eq!(from.len(), to.len(), "a wire is linked to one wire");
    let mut keys = Zeroizing::new(Vec::with_capacity(2 * from.len()));
    let mut targets = Zeroizing::new(Vec::with_capacity(2 * from.len()));
    let mut rows = Vec::with_capacity(2 * from.len());
    for (number, (from, to)) in (first..).zip(from.iter().zip(to)) {
        let (with_0, value_of_0) = garbler.label_with_select(to, false);
        let (with_1, _) = garbler.label_with_select(to, true);
        for select in [false, true] {
            let (label, value) = garbler.label_with_select(from, select);
            let other = Choice::from(u8::from(value)) ^ Choice::from(u8::from(value_of_0));
            keys.push(label & KEY);
            targets.push(Block::conditional_select(&with_0, &with_1, other));
            rows.push(point(start, number, u8::from(select)));
        }
    }
    let cpu = Cpu::detect();
    wiping_stack(|| encrypt_each(cpu, &keys, &mut rows));
    for (row, target) in rows.iter().zip(&*targets) {
        out.extend_from_slice(&(*row ^ *target).to_bytes());
    }
}

/// Follows the hashed links from number `first` on under `start`, in place.
pub(crate) fn follow_hashed_links(
    start: StartPoint,
    first: u64,
    labels: &mut [Block],
    links: &[u8],
) {
    let (links, rest) = links.as_chunks::<HASHED_LINK_BYTES>();
    assert!(
        links.len() == labels.len() && rest.is_empty(),
        "one link a label"
    );
    let keys: Vec<_> = labels.iter().map(|label| *label & KEY).collect();
    let keys = Zeroizing::new(keys);
    let pads = (first..)
        .zip(&*labels)
        .map(|(number, label)| point(start, number, label.lsb().unwrap_u8()));
    let mut pads = Zeroizing::new(pads.collect::<Vec<_>>());
    let cpu = Cpu::detect();
    wiping_stack(|| encrypt_each(cpu, &keys, &mut pads));
    for ((label, pad), link) in labels.iter_mut().zip(&*pads).zip(links) {
        let (rows, _) = link.as_chunks::<{ Block::BYTES }>();
        let [row_0, row_1] = [rows[0], rows[1]].map(Block::from_bytes);
        *label = *pad ^ Block::conditional_select(&row_0, &row_1, label.lsb());
    }
}

fn point(start: StartPoint, number: u64, select: u8) -> Block {
    let tweak = Tweak {
        usage: Use::Link,
        instance: 0,
        number,
        a: select,
        b: 0,
    };
    start ^ tweak.to_block()
}
