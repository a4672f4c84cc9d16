//! Cuts: for each node, sets of up to four nodes that determine it, and the functions by which they
//! do.
//!
//! The cuts of a gate are the unions of cuts of its two inputs (J. Cong, C. Wu, Y. Ding, "Cut
//! Ranking and Pruning", FPGA 1999). The [`MOST_CUTS`] with the fewest leaves are kept. Cuts stay
//! within a window of gates, which bounds their memory whatever the circuit's size: the only cut of
//! a node before the window is the node itself.

use tacit_circuit::netlist::{Literal, Netlist, Node};

use super::classes::{INPUTS, Table};

/// The most leaves of a cut.
pub(super) const LEAVES: usize = 4;
/// The most cuts that are kept for a node, without the node itself.
const MOST_CUTS: usize = 10;
/// The most cuts that are kept at a time, 24 bytes each.
const WINDOW_CUTS: usize = 1 << 22;

/// Nodes, in ascending order, that determine a node, and the function by which they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    leaves: [u32; LEAVES],
    count: u8,
    /// The node's value as a function of the leaves.
    pub(super) table: Table,
}

impl Cut {
    /// Returns the cut that is the node itself.
    fn trivial(node: u32) -> Self {
        let mut leaves = [0; LEAVES];
        leaves[0] = node;
        Self {
            leaves,
            count: 1,
            table: INPUTS[0],
        }
    }

    /// Returns the leaves.
    pub(super) fn leaves(&self) -> &[u32] {
        &self.leaves[..usize::from(self.count)]
    }

    /// Returns the union of both cuts' leaves, or `None` if there are too many. The caller must set
    /// the table.
    fn union(&self, other: &Self) -> Option<Self> {
        let (mut a, mut b) = (
            self.leaves().iter().peekable(),
            other.leaves().iter().peekable(),
        );
        let mut union = Self {
            leaves: [0; LEAVES],
            count: 0,
            table: 0,
        };
        loop {
            let next = match (a.peek(), b.peek()) {
                (None, None) => return Some(union),
                (Some(&&x), Some(&&y)) if x == y => {
                    a.next();
                    b.next();
                    x
                }
                (Some(&&x), Some(&&y)) if x < y => {
                    a.next();
                    x
                }
                (Some(&&x), None) => {
                    a.next();
                    x
                }
                (_, Some(&&y)) => {
                    b.next();
                    y
                }
            };
            if usize::from(union.count) == LEAVES {
                return None;
            }
            union.leaves[usize::from(union.count)] = next;
            union.count += 1;
        }
    }

    /// Returns the table over the leaves of `union`, which include these leaves.
    fn table_in(&self, union: &Self, negated: bool) -> Table {
        let mut table = self.table;
        let mut place = union.leaves().len();
        for (j, leaf) in self.leaves().iter().enumerate().rev() {
            place = union.leaves()[..place]
                .iter()
                .rposition(|other| other == leaf)
                .unwrap_or(j);
            if place != j {
                table = swapped(table, j, place);
            }
        }
        if negated { !table } else { table }
    }

    /// Whether all leaves of `self` are leaves of `other`.
    fn is_within(&self, other: &Self) -> bool {
        self.leaves()
            .iter()
            .all(|leaf| other.leaves().contains(leaf))
    }
}

/// Returns the table with inputs `low` and `high` exchanged.
fn swapped(table: Table, low: usize, high: usize) -> Table {
    let only_low = INPUTS[low] & !INPUTS[high];
    let shift = (1 << high) - (1 << low);
    let moved = (table & only_low) << shift;
    let back = table >> shift & only_low;
    table & !(only_low | only_low << shift) | moved | back
}

/// The cuts of the nodes of a window that moves forward through the netlist.
#[derive(Default)]
pub(super) struct Cuts {
    cuts: Vec<Cut>,
    /// The start of the cuts of each node of the window.
    starts: Vec<u32>,
    /// The first node of the window.
    first: u32,
    buffer: Vec<Cut>,
}

impl Cuts {
    /// Finds the cuts of the next node and returns them, without the node itself.
    pub(super) fn next(&mut self, netlist: &Netlist, node: u32) -> &[Cut] {
        if self.cuts.len() + MOST_CUTS > WINDOW_CUTS {
            self.cuts.clear();
            self.starts.clear();
            self.first = node;
        }
        self.starts.push(self.cuts.len() as u32);
        let start = self.cuts.len();
        let (a, b, is_and) = match netlist.node(node) {
            Node::Input(_) => return &[],
            Node::Xor(a, b) => (a, b, false),
            Node::And(a, b) => (a, b, true),
        };
        self.buffer.clear();
        let mut buffer = std::mem::take(&mut self.buffer);
        for x in self.of(a.node(), start) {
            for y in self.of(b.node(), start) {
                add(&mut buffer, (&x, a), (&y, b), is_and);
            }
        }
        buffer.sort_by_key(|cut| cut.count);
        self.cuts.extend(buffer.iter().take(MOST_CUTS));
        self.buffer = buffer;
        &self.cuts[start..]
    }

    /// Iterates over the cuts of a node before the one that starts at `end`, and the node itself.
    fn of(&self, node: u32, end: usize) -> impl Iterator<Item = Cut> + '_ {
        let range = match node.checked_sub(self.first) {
            Some(index) => {
                let index = index as usize;
                let start = self.starts[index] as usize;
                let next = self
                    .starts
                    .get(index + 1)
                    .map_or(end, |&next| next as usize);
                start..next
            }
            None => 0..0,
        };
        self.cuts[range].iter().copied().chain([Cut::trivial(node)])
    }
}

/// Adds the union of two cuts, unless a subset of it is already present.
fn add(cuts: &mut Vec<Cut>, x: (&Cut, Literal), y: (&Cut, Literal), is_and: bool) {
    let Some(mut union) = x.0.union(y.0) else {
        return;
    };
    if cuts.iter().any(|known| known.is_within(&union)) {
        return;
    }
    let tables = [x, y].map(|(cut, literal)| cut.table_in(&union, literal.is_negated()));
    union.table = if is_and {
        tables[0] & tables[1]
    } else {
        tables[0] ^ tables[1]
    };
    cuts.retain(|known| !union.is_within(known));
    cuts.push(union);
}

#[cfg(test)]
mod tests {
    use tacit_circuit::netlist::Sharing;

    use super::*;

    #[test]
    fn exchanging_inputs_exchanges_their_tables() {
        for (high, &above) in INPUTS.iter().enumerate() {
            for (low, &below) in INPUTS[..high].iter().enumerate() {
                assert_eq!(swapped(below, low, high), above);
                assert_eq!(swapped(above, low, high), below);
            }
        }
        assert_eq!(swapped(INPUTS[0] & INPUTS[1], 1, 3), INPUTS[0] & INPUTS[3]);
    }

    #[test]
    fn a_full_adder_is_determined_by_its_three_inputs() {
        let mut gates = Sharing::default();
        let [a, b, c] = [(); 3].map(|()| gates.input());
        let sum = gates.xor(a, b);
        let one = gates.and(a, b);
        let other = gates.and(!c, sum);
        let carry = gates.xor(one, other);
        let netlist = gates.into_netlist().unwrap();
        let mut cuts = Cuts::default();
        (0..carry.node()).for_each(|node| {
            cuts.next(&netlist, node);
        });
        let found = cuts.next(&netlist, carry.node());
        let [a, b, c, _] = INPUTS;
        let cut = found.iter().find(|cut| cut.leaves() == [0, 1, 2]).unwrap();
        assert_eq!(cut.table, (a & b) ^ (!c & (a ^ b)));
    }
}
