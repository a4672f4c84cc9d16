//! Blocks: the sums of a network, each with its terms.
//!
//! XOR gates that only one other XOR gate reads are part of its sum. The remaining XOR gates are
//! the *roots* of sums: those that AND gates, outputs or several gates read.

use tacit_circuit::netlist::Node;

use super::Network;

/// The most terms of a sum. A gate beyond them stays a term of its own.
const MOST_TERMS: usize = 32;

/// A sum.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The XOR gate that outputs the sum.
    pub(super) root: u32,
    /// The nodes that are added, in ascending order.
    pub(super) terms: Vec<u32>,
}

/// Returns the sums of a network, in the order of their roots.
pub(super) fn blocks(network: &Network) -> Vec<Block> {
    let netlist = &network.netlist;
    let is_xor = |node: u32| matches!(netlist.node(node), Node::Xor(..));
    // The only XOR gate that reads each node, if the node is read once.
    let mut reader = vec![u32::MAX; netlist.node_count()];
    let uses = network.uses();
    for node in 0..netlist.node_count() as u32 {
        if let Node::Xor(a, b) = netlist.node(node) {
            for child in [a.node(), b.node()] {
                if uses[child as usize] == 1 && is_xor(child) {
                    reader[child as usize] = node;
                }
            }
        }
    }
    let mut open: std::collections::HashMap<u32, Vec<u32>> = Default::default();
    let mut blocks = Vec::new();
    for node in 0..netlist.node_count() as u32 {
        let Node::Xor(a, b) = netlist.node(node) else {
            continue;
        };
        let mut terms = Vec::new();
        for child in [a.node(), b.node()] {
            match open.remove(&child) {
                Some(inner) if inner.len() + terms.len() < MOST_TERMS => {
                    terms = difference(&terms, &inner);
                }
                Some(inner) => {
                    blocks.push(Block {
                        root: child,
                        terms: inner,
                    });
                    terms = difference(&terms, &[child]);
                }
                None => terms = difference(&terms, &[child]),
            }
        }
        if reader[node as usize] == u32::MAX {
            blocks.push(Block { root: node, terms });
        } else {
            open.insert(node, terms);
        }
    }
    blocks.sort_unstable_by_key(|block| block.root);
    blocks
}

/// Returns the items that are in exactly one of two ascending lists.
pub(super) fn difference(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut result = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) if x == y => {
                i += 1;
                j += 1;
            }
            (Some(x), Some(y)) if x > y => {
                result.push(*y);
                j += 1;
            }
            (Some(x), _) => {
                result.push(*x);
                i += 1;
            }
            (None, Some(y)) => {
                result.push(*y);
                j += 1;
            }
            (None, None) => {}
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_of_sets() {
        assert_eq!(difference(&[1, 3, 5], &[2, 3, 6]), [1, 2, 5, 6]);
        assert_eq!(difference(&[], &[4]), [4]);
        assert!(difference(&[4], &[4]).is_empty());
    }
}
