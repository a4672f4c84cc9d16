//! Structural hashing: a gate that exists is never made again.

use crate::netlist::{Folded, Literal, Netlist, Node, PackedNode, fold_and, fold_xor};
use crate::{Circuit, Gate};

/// A netlist in which no two gates are alike, up to the order of inputs.
///
/// The table is open-addressed with linear probing; an entry is a node's number plus one. It is
/// never more than three quarters full.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    netlist: Netlist,
    table: Vec<u32>,
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
        let place = self.place(packed);
        let number = match self.table[place] {
            0 => {
                let number = self.netlist.push(node).node();
                self.table[place] = number + 1;
                number
            }
            entry => entry - 1,
        };
        Literal::of(number).negated_if(negated)
    }

    /// Where `packed` is in the table, or the empty place where it belongs.
    fn place(&self, packed: PackedNode) -> usize {
        let mask = self.table.len() - 1;
        let mut place = packed.hash() as usize & mask;
        while self.table[place] != 0 && self.netlist.packed(self.table[place] - 1) != packed {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let places = (self.table.len() * 2).max(64);
        // The old table is made again from the netlist, and goes before the new one comes.
        self.table = Vec::new();
        self.table = vec![0; places];
        for number in 0..self.netlist.len() as u32 {
            if !matches!(self.netlist.node(number), Node::Input(_)) {
                let place = self.place(self.netlist.packed(number));
                self.table[place] = number + 1;
            }
        }
    }

    fn is_full(&mut self) -> bool {
        self.overflow |= self.netlist.len() >= Netlist::MAX_NODES;
        self.overflow
    }
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
