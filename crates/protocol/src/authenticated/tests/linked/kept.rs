//! The kept data of instances, compared with its definition.

use std::collections::HashSet;

use tacit_circuit::builder::{Builder, Bus};
use tacit_kernels::Block;

use super::*;

/// The number of bits of each input of the component.
const BITS: usize = 16;

/// Checks a bit. One party holds its MAC, and the other the key with that party's own bit added:
/// their sum is the bit times the other party's Δ.
fn opens(mac: Block, key: Block, bit: bool, delta: Block) {
    assert_eq!(mac ^ key, delta.and_bit(u8::from(bit).into()));
}

/// Masks of inputs and of gates are authenticated in both directions. No mask and no label occurs
/// twice, in the same or in different instances.
#[test]
fn what_is_kept_is_what_the_page_says() {
    // Each output is a gate, so the garbler keeps the mask of each gate.
    let builder = Builder::new();
    let [a, b] = ["a", "b"].map(|name| builder.bus(name, BITS));
    let bits = a.bits().zip(b.bits()).map(|(a, b)| a & b);
    builder.output("both", &Bus::from_bits(&builder, bits));
    let function = of_circuit("ands", builder.finish().unwrap(), Recipient::Both);
    let Stock([ours, theirs], ..) = make(&function, 5);
    let (mut macs, mut labels) = (HashSet::new(), HashSet::new());
    let mut fresh = |mac: Block| assert!(macs.insert(mac.to_bytes()));
    for (number, (a, b)) in ours.0[0].iter().zip(&theirs.0[0]).enumerate() {
        let [a, b] = [a, b].map(|bytes| {
            let blocks = bytes.as_chunks().0.iter();
            blocks.copied().map(Block::from_bytes).collect::<Vec<_>>()
        });
        let deltas = [a[0], b[0]];
        assert_eq!(a[1], b[1]);
        assert_eq!(a[1].to_u128() as u32, number as u32);
        let (a, b) = (&a[2..], &b[2..]);
        // Of an input both parties keep M and K'. Of a gate the garbler keeps its output, and the
        // evaluator keeps both tables followed by M and K' of λ_o and of p.
        let evaluators = b[..4 * BITS].chunks_exact(2);
        let gates = b[4 * BITS..].chunks_exact(6).take(BITS);
        let evaluators = evaluators.chain(gates.map(|gate| &gate[2..4]));
        let garblers = a.chunks_exact(3);
        assert_eq!(garblers.len(), 3 * BITS);
        for (a, b) in garblers.zip(evaluators) {
            let mask = bool::from(a[0].lsb() ^ b[0].lsb());
            opens(a[0], b[1], mask, deltas[1]);
            opens(b[0], a[1], mask, deltas[0]);
            fresh(a[0]);
            fresh(b[0]);
            assert!(!bool::from(a[2].lsb()) && labels.insert(a[2].to_bytes()));
        }
    }
}
