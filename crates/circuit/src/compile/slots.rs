//! Slots: where labels are kept, and when a slot is free again.

use super::operands;
use crate::netlist::{Literal, Netlist};

/// The slots of a program under construction.
///
/// The slot that was freed last is the next to be taken, so that live labels stay in cache. A
/// slot that the open batch has read is not free for the batch's own AND gates, which may then be
/// computed in any order and at any time after the batch's XOR gates began.
#[derive(Debug)]
pub(super) struct Slots {
    /// The slot of each node that was placed so far, else [`Self::NONE`].
    of: Vec<u32>,
    /// Gates that have yet to read each node, and one for each output that it is.
    readers: Vec<u32>,
    /// Free since before the open batch.
    free: Vec<u32>,
    /// Free since a gate of the open batch read it.
    fresh: Vec<u32>,
    count: u32,
}

impl Slots {
    const NONE: u32 = u32::MAX;

    /// Input bit i in slot i; the slots of inputs that nobody reads are free.
    pub(super) fn new(netlist: &Netlist, roots: &[Literal]) -> Self {
        let mut readers = vec![0_u32; netlist.len()];
        let gates = (netlist.inputs()..netlist.len() as u32)
            .flat_map(|number| operands(netlist.node(number)));
        let outputs = roots
            .iter()
            .copied()
            .filter(|root| root.as_constant().is_none());
        for literal in gates.chain(outputs) {
            readers[literal.node() as usize] += 1;
        }
        let mut of = vec![Self::NONE; netlist.len()];
        for (slot, place) in (0..netlist.inputs()).zip(&mut of) {
            *place = slot;
        }
        let free = (0..netlist.inputs())
            .rev()
            .filter(|&input| readers[input as usize] == 0);
        Self {
            free: free.collect(),
            fresh: Vec::new(),
            of,
            readers,
            count: netlist.inputs(),
        }
    }

    /// How many slots there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The slot of `node`, which was placed.
    pub(super) fn slot(&self, node: u32) -> u32 {
        debug_assert!(
            self.of[node as usize] != Self::NONE,
            "node {node} has no slot yet"
        );
        self.of[node as usize]
    }

    /// One reader of `node` less; its slot is free after the last.
    pub(super) fn release(&mut self, node: u32) {
        self.readers[node as usize] -= 1;
        if self.readers[node as usize] == 0 {
            self.fresh.push(self.of[node as usize]);
        }
    }

    /// Gives the output of a XOR gate a slot, perhaps one that it reads itself.
    pub(super) fn place_xor(&mut self, node: u32) -> u32 {
        let slot = self.fresh.pop();
        self.place(node, slot)
    }

    /// Gives the output of an AND gate a slot that no gate of the open batch has read.
    pub(super) fn place_and(&mut self, node: u32) -> u32 {
        self.place(node, None)
    }

    /// Opens the next batch.
    pub(super) fn settle(&mut self) {
        self.free.append(&mut self.fresh);
    }

    fn place(&mut self, node: u32, slot: Option<u32>) -> u32 {
        let slot = slot.or_else(|| self.free.pop()).unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.of[node as usize] = slot;
        slot
    }
}
