//! Structural hashing: a gate that exists is never made again.

use crate::netlist::{Folded, Literal, Netlist, Node, PackedNode, fold_and, fold_xor};
use crate::{Circuit, Gate};

/// A netlist in which no two gates are alike, up to the order of inputs.
///
/// The table is open-addressed with linear probing, and never more than three quarters full. Each
/// place has eight bits of its node's hash, so that a search reads other nodes, which are anywhere
/// in memory, one time in 255.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    netlist: Netlist,
    /// The numbers of nodes.
    table: Vec<u32>,
    /// For each place the tag of its node, or [`EMPTY`].
    tags: Vec<u8>,
    overflow: bool,
}

impl Sharing {
    pub(crate) fn gate_count(&self) -> usize {
        self.netlist.len() - self.netlist.inputs() as usize
    }

    /// Appends the next input; a constant once the netlist is full.
    pub(crate) fn input(&mut self) -> Literal {
        if self.is_full() {
            Literal::FALSE
        } else {
            self.netlist.push_input()
        }
    }

    /// The exclusive or. Besides constants, `(p ⊕ q) ⊕ p` folds to `q`.
    pub(crate) fn xor(&mut self, a: Literal, b: Literal) -> Literal {
        let folded = match fold_xor(a, b) {
            Folded::Gate(Node::Xor(x, y), negated) => match self.cancel_xor(x, y) {
                Some(literal) => Folded::Literal(literal.negated_if(negated)),
                None => Folded::Gate(Node::Xor(x, y), negated),
            },
            folded => folded,
        };
        self.share(folded)
    }

    /// The conjunction. Besides constants, `(p ∧ q) ∧ p` folds to `p ∧ q`, and `(p ∧ q) ∧ ¬p`
    /// to zero.
    pub(crate) fn and(&mut self, a: Literal, b: Literal) -> Literal {
        let folded = match fold_and(a, b) {
            Folded::Gate(Node::And(x, y), negated) => match self.absorb_and(x, y) {
                Some(literal) => Folded::Literal(literal),
                None => Folded::Gate(Node::And(x, y), negated),
            },
            folded => folded,
        };
        self.share(folded)
    }

    /// Appends a whole circuit on `wires`, its input bits, and gives its output bits.
    pub(crate) fn splice(&mut self, circuit: &Circuit, mut wires: Vec<Literal>) -> Vec<Literal> {
        wires.reserve(circuit.gate_count());
        for gate in circuit.gates() {
            let literal = match gate {
                Gate::Xor(a, b) => self.xor(wires[a as usize], wires[b as usize]),
                Gate::And(a, b) => self.and(wires[a as usize], wires[b as usize]),
                Gate::Inv(a) => !wires[a as usize],
            };
            wires.push(literal);
        }
        circuit
            .output_wires()
            .iter()
            .map(|&wire| wires[wire as usize])
            .collect()
    }

    /// The netlist, or nothing where more gates were asked for than one holds.
    pub(crate) fn into_netlist(self) -> Option<Netlist> {
        (!self.overflow).then_some(self.netlist)
    }

    fn cancel_xor(&self, a: Literal, b: Literal) -> Option<Literal> {
        self.cancel_xor_into(a, b)
            .or_else(|| self.cancel_xor_into(b, a))
    }

    fn cancel_xor_into(&self, gate: Literal, other: Literal) -> Option<Literal> {
        match self.netlist.node(gate.node()) {
            Node::Xor(p, q) if p == other => Some(q),
            Node::Xor(p, q) if q == other => Some(p),
            _ => None,
        }
    }

    fn absorb_and(&self, a: Literal, b: Literal) -> Option<Literal> {
        self.absorb_and_into(a, b)
            .or_else(|| self.absorb_and_into(b, a))
    }

    fn absorb_and_into(&self, gate: Literal, other: Literal) -> Option<Literal> {
        match self.netlist.node(gate.node()) {
            _ if gate.is_negated() => None,
            Node::And(p, q) if p == other || q == other => Some(gate),
            Node::And(p, q) if p == !other || q == !other => Some(Literal::FALSE),
            _ => None,
        }
    }

    fn share(&mut self, folded: Folded) -> Literal {
        let (node, negated) = match folded {
            Folded::Literal(literal) => return literal,
            Folded::Gate(node, negated) => (node, negated),
        };
        if self.is_full() {
            return Literal::FALSE;
        }
        if (self.gate_count() + 1) * 4 > self.table.len() * 3 {
            self.grow();
        }
        let packed = PackedNode::pack(node);
        let hash = packed.hash();
        let is_it = |number| self.netlist.packed(number) == packed;
        let number = match self.find(hash, is_it) {
            Ok(number) => number,
            Err(place) => {
                let number = self.netlist.push(node).node();
                (self.table[place], self.tags[place]) = (number, tag(hash));
                number
            }
        };
        Literal::of(number).negated_if(negated)
    }

    /// The node of this hash for which `is_it` holds, or the empty place where it belongs.
    fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let mask = self.tags.len() - 1;
        let mut place = (hash >> 32) as usize & mask;
        loop {
            match self.tags[place] {
                EMPTY => return Err(place),
                found if found == tag(hash) && is_it(self.table[place]) => {
                    return Ok(self.table[place]);
                }
                _ => place = (place + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        let places = (self.table.len() * 2).max(64);
        // The old table is made again from the netlist, and goes before the new one comes.
        (self.table, self.tags) = Default::default();
        (self.table, self.tags) = (vec![0; places], vec![EMPTY; places]);
        for number in 0..self.netlist.len() as u32 {
            if !matches!(self.netlist.node(number), Node::Input(_)) {
                let hash = self.netlist.packed(number).hash();
                // No two nodes are alike.
                if let Err(place) = self.find(hash, |_| false) {
                    (self.table[place], self.tags[place]) = (number, tag(hash));
                }
            }
        }
    }

    fn is_full(&mut self) -> bool {
        self.overflow |= self.netlist.len() >= Netlist::MAX_NODES;
        self.overflow
    }
}

/// The tag of a place without a node.
const EMPTY: u8 = 0;

/// The tag of a node: bits of its hash that do not say its place.
fn tag(hash: u64) -> u8 {
    ((hash >> 24) as u8).max(EMPTY + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_gates_are_one() {
        let mut gates = Sharing::default();
        let (x, y) = (gates.input(), gates.input());
        assert_eq!(gates.and(x, !y), gates.and(!y, x));
        assert_eq!(gates.xor(x, y), !gates.xor(!y, x));
        assert_ne!(gates.and(x, y), gates.and(x, !y));
        assert_eq!(gates.gate_count(), 3);
    }

    #[test]
    fn repeated_inputs_cancel() {
        let mut gates = Sharing::default();
        let (x, y) = (gates.input(), gates.input());
        let (sum, product) = (gates.xor(x, y), gates.and(x, !y));
        assert_eq!(gates.xor(sum, !x), !y);
        assert_eq!(gates.xor(y, sum), x);
        assert_eq!(gates.and(product, x), product);
        assert_eq!(gates.and(y, product), Literal::FALSE);
        let before = gates.gate_count();
        gates.and(!product, x);
        assert_eq!(gates.gate_count(), before + 1);
    }

    #[test]
    fn the_table_survives_growing() {
        let mut gates = Sharing::default();
        let inputs: Vec<_> = (0..40).map(|_| gates.input()).collect();
        let make = |gates: &mut Sharing| -> Vec<Literal> {
            let pairs = (0..40).flat_map(|i| (0..i).map(move |j| (i, j)));
            pairs
                .map(|(i, j)| gates.and(inputs[i], inputs[j]))
                .collect()
        };
        let first = make(&mut gates);
        assert_eq!(gates.gate_count(), 780);
        assert_eq!(make(&mut gates), first);
        assert_eq!(gates.gate_count(), 780);
    }
}
