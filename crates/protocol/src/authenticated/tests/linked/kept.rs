//! What is kept of instances against its definition.

use std::collections::HashSet;

use tacit_kernels::Block;

use super::*;
use crate::authenticated::walk::{Calls, Rules, Stop, Walk};

/// The instances of a component, one after the other, with what their inputs carry.
struct Alone<'f>(Option<tacit_function::Call<'f>>, Vec<bool>);

impl<'f> Calls<'f, bool> for Alone<'f> {
    fn step(&mut self, _rules: &Rules<bool>) -> tacit_function::Step<'f> {
        let call = self.0.take();
        call.map_or(tacit_function::Step::End, tacit_function::Step::Call)
    }

    fn arguments(&self) -> &[bool] {
        &self.1
    }

    fn finish_call(&mut self, _results: &[bool]) {}
}

/// A bit whose MAC one party holds, and the other the key with its own bit added: their sum is the
/// bit times the other's Δ.
fn opens(mac: Block, key: Block, bit: bool, delta: Block) {
    assert_eq!(mac ^ key, delta.and_bit(u8::from(bit).into()));
}

/// Masks of inputs and of gates are authenticated both ways, and p of a gate is λ_iλ_j ⊕ λ_o. No
/// mask and no label is there twice, in whichever instance.
#[test]
fn what_is_kept_is_what_the_page_says() {
    let function = component("comparator", Recipient::Both);
    let component = &function.components()[0];
    let inputs = component.circuit().input_bits();
    let Stock([ours, theirs], ..) = make(&function, 5);
    let (mut macs, mut labels) = (HashSet::new(), HashSet::new());
    let mut fresh = |mac: Block| assert!(macs.insert(mac.to_bytes()));
    for (number, (a, b)) in ours.0[0].iter().zip(&theirs.0[0]).enumerate() {
        let [a, b] = [a, b].map(|bytes| {
            let blocks = bytes.as_chunks().0.iter();
            blocks.copied().map(Block::from_bytes).collect::<Vec<_>>()
        });
        let deltas = [a[0], b[0]];
        assert_eq!([a[1], b[1]], [Block::from_u128(number as u128); 2]);
        let mut masks = Vec::new();
        let (rows, a) = a[2..].split_at(3 * inputs);
        let (others, b) = b[2..].split_at(2 * inputs);
        for (a, b) in rows.chunks_exact(3).zip(others.chunks_exact(2)) {
            let mask = bool::from(a[0].lsb() ^ b[0].lsb());
            opens(a[0], b[1], mask, deltas[1]);
            opens(b[0], a[1], mask, deltas[0]);
            fresh(a[0]);
            fresh(b[0]);
            assert!(!bool::from(a[2].lsb()) && labels.insert(a[2].to_bytes()));
            masks.push(mask);
        }
        let call = tacit_function::Call {
            number: 0,
            component,
            component_index: 0,
        };
        let rules = Rules {
            constant: false,
            negation: true,
        };
        let mut walk = Walk::over(Alone(Some(call), masks), rules);
        let mut gates = a.chunks_exact(3).zip(b.chunks_exact(6));
        while let Stop::Ands(ands) = walk.next() {
            let outputs: Vec<bool> = (0..ands.count())
                .map(|i| {
                    let (a, b) = gates.next().unwrap();
                    let [first, second] = walk.inputs(ands, i);
                    let output = bool::from(a[0].lsb() ^ b[2].lsb());
                    opens(a[0], b[3], output, deltas[1]);
                    opens(a[1], b[5], first & second ^ output, deltas[1]);
                    fresh(a[0]);
                    fresh(b[2]);
                    assert!(!bool::from(a[2].lsb()) && labels.insert(a[2].to_bytes()));
                    output
                })
                .collect();
            walk.pass(ands, |i| outputs[i]);
        }
        assert!(walk.has_ended() && gates.next().is_none());
    }
}
