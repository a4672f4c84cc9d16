//! Rewriting of parts with up to four inputs, with the fewest AND gates for their function.
//!
//! The pass visits each node, in order, and each of its cuts. It compares the gates that would be
//! removed if the node were computed from the cut's leaves alone with the least number of gates
//! that the function takes. It makes the best change at once, so that the counts of later nodes
//! include it.

use tacit_circuit::netlist::{Literal, Netlist, Node, Sharing};

use super::classes::{Classes, Plan};
use super::cuts::{Cut, Cuts};
use super::{Network, moved};

/// The most nodes whose removal is followed for one change.
const MOST_RELEASED: usize = 256;

/// Runs the pass.
pub(super) fn run(network: &Network, classes: &mut Classes) -> Network {
    let mut rewriting = Rewriting {
        netlist: &network.netlist,
        uses: network.uses(),
        changes: vec![0; network.netlist.node_count()],
        changed: Vec::new(),
        classes,
        log: Vec::new(),
    };
    let mut cuts = Cuts::default();
    for node in 0..network.netlist.node_count() as u32 {
        let cuts = cuts.next(&network.netlist, node);
        rewriting.choose(node, cuts);
    }
    let (sharing, roots) = rewriting.build(&network.roots);
    network.clone().replaced(sharing, roots)
}

/// The computation of a node from a cut's leaves.
struct Change {
    cut: Cut,
    plan: Plan,
}

struct Rewriting<'n> {
    netlist: &'n Netlist,
    /// The present number of reads of each node. A node without reads is removed.
    uses: Vec<u32>,
    /// The number of each node's change plus one, or 0.
    changes: Vec<u32>,
    changed: Vec<Change>,
    classes: &'n mut Classes,
    /// The reads that were taken back, so that they can be restored.
    log: Vec<u32>,
}

impl Rewriting<'_> {
    fn choose(&mut self, node: u32, cuts: &[Cut]) {
        if self.uses[node as usize] == 0 {
            return;
        }
        let mut best = ((0, 0), None);
        for cut in cuts {
            if cut
                .leaves()
                .iter()
                .any(|&leaf| self.uses[leaf as usize] == 0)
            {
                continue;
            }
            let Some(plan) = self.classes.plan(cut.table) else {
                continue;
            };
            let (ands, xors) = self.release(node, cut.leaves());
            self.restore();
            let gain = (
                ands as isize - plan.ands() as isize,
                xors as isize - plan.xors() as isize,
            );
            if gain > best.0 {
                best = (gain, Some((*cut, plan)));
            }
        }
        if let (_, Some((cut, plan))) = best {
            self.release(node, cut.leaves());
            self.log.clear();
            let leaves = cut.leaves().iter();
            leaves.for_each(|&leaf| self.uses[leaf as usize] += 1);
            self.changed.push(Change { cut, plan });
            self.changes[node as usize] = self.changed.len() as u32;
        }
    }

    fn change(&self, node: u32) -> Option<&Change> {
        let number = self.changes[node as usize].checked_sub(1)?;
        self.changed.get(number as usize)
    }

    /// Takes back the reads of `node`, and those of nodes that nothing else reads, down to
    /// `leaves`. Returns the numbers of AND and XOR gates that are removed with it.
    fn release(&mut self, node: u32, leaves: &[u32]) -> (usize, usize) {
        debug_assert!(self.log.is_empty());
        let (mut ands, mut xors) = (0, 0);
        let mut stack = vec![node];
        let mut released = 0;
        while let Some(node) = stack.pop() {
            released += 1;
            let mut read = [0; 4];
            let count = match (self.change(node), self.netlist.node(node)) {
                (Some(change), _) => {
                    ands += change.plan.ands();
                    xors += change.plan.xors();
                    let leaves = change.cut.leaves();
                    read[..leaves.len()].copy_from_slice(leaves);
                    leaves.len()
                }
                (None, Node::Xor(a, b)) => {
                    xors += 1;
                    read[..2].copy_from_slice(&[a.node(), b.node()]);
                    2
                }
                (None, Node::And(a, b)) => {
                    ands += 1;
                    read[..2].copy_from_slice(&[a.node(), b.node()]);
                    2
                }
                (None, Node::Input(_)) => 0,
            };
            for &node in &read[..count] {
                self.uses[node as usize] -= 1;
                self.log.push(node);
                let is_gone = self.uses[node as usize] == 0 && !leaves.contains(&node);
                if is_gone && released + stack.len() < MOST_RELEASED {
                    stack.push(node);
                }
            }
        }
        (ands, xors)
    }

    fn restore(&mut self) {
        while let Some(node) = self.log.pop() {
            self.uses[node as usize] += 1;
        }
    }

    /// Returns which nodes are reachable from the roots.
    fn live(&self, roots: &[Literal]) -> Vec<bool> {
        let mut live = vec![false; self.netlist.node_count()];
        for root in roots.iter().filter(|root| root.as_constant().is_none()) {
            live[root.node() as usize] = true;
        }
        for node in (0..self.netlist.node_count() as u32).rev() {
            if !live[node as usize] {
                continue;
            }
            match (self.change(node), self.netlist.node(node)) {
                (Some(change), _) => {
                    let leaves = change.cut.leaves().iter();
                    leaves.for_each(|&leaf| live[leaf as usize] = true);
                }
                (None, Node::Xor(a, b) | Node::And(a, b)) => {
                    live[a.node() as usize] = true;
                    live[b.node() as usize] = true;
                }
                (None, Node::Input(_)) => {}
            }
        }
        live
    }

    fn build(&self, roots: &[Literal]) -> (Sharing, Vec<Literal>) {
        let live = self.live(roots);
        let mut gates = Sharing::default();
        let mut places = Vec::with_capacity(self.netlist.node_count());
        for node in 0..self.netlist.node_count() as u32 {
            let literal = match (self.change(node), self.netlist.node(node)) {
                (_, Node::Input(_)) => gates.input(),
                // Nothing reads it.
                _ if !live[node as usize] => Literal::FALSE,
                (Some(change), _) => made(&mut gates, change, &places),
                (None, Node::Xor(a, b)) => gates.xor(moved(&places, a), moved(&places, b)),
                (None, Node::And(a, b)) => gates.and(moved(&places, a), moved(&places, b)),
            };
            places.push(literal);
        }
        let roots = roots.iter().map(|&root| moved(&places, root)).collect();
        (gates, roots)
    }
}

/// Builds a node from its cut's leaves.
fn made(gates: &mut Sharing, change: &Change, places: &[Literal]) -> Literal {
    let mut inputs = [Literal::FALSE; 4];
    for (input, &leaf) in inputs.iter_mut().zip(change.cut.leaves()) {
        *input = places[leaf as usize];
    }
    let gates = core::cell::RefCell::new(gates);
    change.plan.build(
        inputs,
        Literal::FALSE,
        |literal| !literal,
        |a, b| gates.borrow_mut().xor(a, b),
        |a, b| gates.borrow_mut().and(a, b),
    )
}
