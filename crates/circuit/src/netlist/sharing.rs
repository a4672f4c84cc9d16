//! Structural hashing: an existing gate is never made again.

use super::{FoldedGate, Literal, Netlist, PackedNode, fold_and, fold_xor};
use crate::{Circuit, Gate};

/// A netlist in which no two gates are equal, up to the order of inputs.
///
/// The search for a gate starts with the first two readers of its younger input. That input is
/// mostly a gate that was just made and has no other readers. The search goes on in the `Crowd` of
/// later readers.
#[derive(Debug)]
pub(crate) struct Sharing {
    netlist: Netlist,
    /// For each node, the first two gates that have it as their younger input, or [`NONE`].
    readers: Vec<[u32; 2]>,
    crowd: Crowd,
    most_gates: usize,
    overflow: bool,
}

impl Default for Sharing {
    fn default() -> Self {
        Self::bounded(Netlist::MAX_NODES)
    }
}

/// The absence of a gate.
const NONE: u32 = u32::MAX;

impl Sharing {
    /// Creates a netlist of at most `gates` gates. A constant takes the place of each further gate,
    /// and [`Sharing::into_netlist`] then returns `None`.
    pub(crate) fn bounded(gates: usize) -> Self {
        Self {
            netlist: Netlist::default(),
            readers: Vec::new(),
            crowd: Crowd::default(),
            most_gates: gates,
            overflow: false,
        }
    }

    /// Returns the number of gates.
    pub(crate) fn gate_count(&self) -> usize {
        self.netlist.node_count() - self.netlist.inputs() as usize
    }

    /// Returns the gates so far.
    pub(crate) fn netlist(&self) -> &Netlist {
        &self.netlist
    }

    /// Appends the next input and returns it. Returns a constant once the netlist is full.
    pub(crate) fn input(&mut self) -> Literal {
        if self.is_full() {
            Literal::FALSE
        } else {
            self.readers.push([NONE; 2]);
            self.netlist.push_input()
        }
    }

    /// Returns the exclusive or. In addition to constants, `(p ⊕ q) ⊕ p` folds to `q`.
    pub(crate) fn xor(&mut self, a: Literal, b: Literal) -> Literal {
        let (node, negated) = match fold_xor(a, b) {
            FoldedGate::Literal(literal) => return literal,
            FoldedGate::Gate(node, negated) => (PackedNode::pack(node), negated),
        };
        let [x, y] = node.inputs().expect("a gate");
        let literal = match self.cancel_xor(x, y) {
            Some(literal) => literal,
            None => self.share(node, [x, y]),
        };
        literal.negated_if(negated)
    }

    /// Returns the conjunction. In addition to constants, `(p ∧ q) ∧ p` folds to `p ∧ q`, and
    /// `(p ∧ q) ∧ ¬p` to zero.
    pub(crate) fn and(&mut self, a: Literal, b: Literal) -> Literal {
        let node = match fold_and(a, b) {
            FoldedGate::Literal(literal) => return literal,
            FoldedGate::Gate(node, _) => PackedNode::pack(node),
        };
        let [x, y] = node.inputs().expect("a gate");
        match self.absorb_and(x, y) {
            Some(literal) => literal,
            None => self.share(node, [x, y]),
        }
    }

    /// Appends a whole circuit whose input bits are `wires`, and returns its output bits.
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

    /// Returns the netlist, or `None` if more gates were asked for than it can hold.
    pub(crate) fn into_netlist(self) -> Option<Netlist> {
        (!self.overflow).then_some(self.netlist)
    }

    fn cancel_xor(&self, a: Literal, b: Literal) -> Option<Literal> {
        let into = |gate: Literal, other| self.netlist.packed(gate.node()).xor_partner(other);
        into(a, b).or_else(|| into(b, a))
    }

    fn absorb_and(&self, a: Literal, b: Literal) -> Option<Literal> {
        self.absorb_and_into(a, b)
            .or_else(|| self.absorb_and_into(b, a))
    }

    fn absorb_and_into(&self, gate: Literal, other: Literal) -> Option<Literal> {
        match self.netlist.packed(gate.node()).and_reads(other) {
            Some(reads) if !gate.is_negated() => Some(if reads { gate } else { Literal::FALSE }),
            _ => None,
        }
    }

    /// Returns the gate `node`, which reads `older` and `younger`. Makes the gate if it does not
    /// exist.
    fn share(&mut self, node: PackedNode, [older, younger]: [Literal; 2]) -> Literal {
        if self.is_full() {
            return Literal::FALSE;
        }
        let netlist = &self.netlist;
        let is_it = |number| netlist.packed(number) == node;
        let next = netlist.node_count() as u32;
        let readers = &mut self.readers[younger.node() as usize];
        let place = readers
            .iter_mut()
            .find(|reader| **reader == NONE || is_it(**reader));
        let number = match place {
            Some(reader) => {
                if *reader == NONE {
                    *reader = next;
                }
                *reader
            }
            None => {
                let inputs = [older, younger];
                self.crowd
                    .find_or_insert(netlist, &self.readers, inputs, node)
            }
        };
        if number == next {
            self.readers.push([NONE; 2]);
            self.netlist.push_packed(node);
        }
        Literal::of(number)
    }

    /// Stops making gates. There will be no netlist.
    pub(crate) fn overflow(&mut self) {
        self.overflow = true;
    }

    fn is_full(&mut self) -> bool {
        self.overflow |=
            self.netlist.node_count() >= Netlist::MAX_NODES || self.gate_count() >= self.most_gates;
        self.overflow
    }
}

/// Gates that are not among the first two readers of their younger input, by their hash.
///
/// The table is open-addressed, and at most three quarters full. Each place has eight bits of its
/// gate's hash, so that a search reads other gates, which may be anywhere in memory, only one time
/// in 255. If the inputs of two gates are neighbours, the gates have neighbouring places, since
/// such gates are made one after the other: the pairs of bits of a product, or a condition and the
/// bits that it selects. A search stays in one line of the cache until it has seen all of it.
#[derive(Debug, Default)]
struct Crowd {
    /// The numbers of gates.
    table: Vec<u32>,
    /// For each place the tag of its gate, or [`EMPTY`].
    tags: Vec<u8>,
    count: usize,
}

/// The tag of an empty place.
const EMPTY: u8 = 0;

impl Crowd {
    /// The number of places of a group, by two bits of each input.
    const GROUP: usize = 16;
    /// The number of tags in a line of the cache, and of places in the smallest table.
    const LINE: usize = 64;

    /// Returns the number of the gate `packed` with these inputs. If it does not exist, inserts it
    /// as the netlist's next gate.
    fn find_or_insert(
        &mut self,
        netlist: &Netlist,
        readers: &[[u32; 2]],
        inputs: [Literal; 2],
        packed: PackedNode,
    ) -> u32 {
        if (self.count + 1) * 4 > self.tags.len() * 3 {
            self.grow(netlist, readers);
        }
        let tag = tag(packed);
        let is_it = |number| netlist.packed(number) == packed;
        match self.find(inputs, tag, is_it) {
            Ok(number) => number,
            Err(place) => {
                let number = netlist.node_count() as u32;
                (self.table[place], self.tags[place]) = (number, tag);
                self.count += 1;
                number
            }
        }
    }

    /// Finds the gate of this tag for which `is_it` holds, or the empty place where it belongs.
    fn find(
        &self,
        inputs: [Literal; 2],
        tag: u8,
        is_it: impl Fn(u32) -> bool,
    ) -> Result<u32, usize> {
        let mask = self.tags.len() - 1;
        let [a, b] = inputs.map(Literal::node);
        let group = hash(u64::from(a >> 2) << 32 | u64::from(b >> 2)) >> 28;
        let first = group as usize & !(Self::GROUP - 1) & mask;
        let first = first + (a as usize & 3) * 4 + (b as usize & 3);
        let (mut line, place) = (first & !(Self::LINE - 1), first % Self::LINE);
        loop {
            for step in 0..Self::LINE {
                let place = line + (place + step) % Self::LINE;
                match self.tags[place] {
                    EMPTY => return Err(place),
                    found if found == tag && is_it(self.table[place]) => {
                        return Ok(self.table[place]);
                    }
                    _ => {}
                }
            }
            line = (line + Self::LINE) & mask;
        }
    }

    /// Doubles the table and fills it with the gates that are in none of `readers`.
    fn grow(&mut self, netlist: &Netlist, readers: &[[u32; 2]]) {
        let places = (self.tags.len() * 2).max(Self::LINE);
        // Free the old table before the new one is allocated.
        (self.table, self.tags) = Default::default();
        (self.table, self.tags) = (vec![0; places], vec![EMPTY; places]);
        for number in 0..netlist.node_count() as u32 {
            let node = netlist.packed(number);
            let Some([a, b]) = node.inputs() else {
                continue;
            };
            if readers[b.node() as usize].contains(&number) {
                continue;
            }
            let tag = tag(node);
            // No two gates are equal.
            if let Err(place) = self.find([a, b], tag, |_| false) {
                (self.table[place], self.tags[place]) = (number, tag);
            }
        }
    }
}

/// Returns the tag of a gate: bits of its hash that do not determine its place.
fn tag(packed: PackedNode) -> u8 {
    ((hash(packed.word()) >> 56) as u8).max(EMPTY + 1)
}

/// Returns a hash whose upper half is well mixed. It multiplies by a large odd constant, that of
/// the golden ratio.
fn hash(word: u64) -> u64 {
    (word ^ word >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_netlist_makes_no_more_gates_and_is_refused() {
        let mut gates = Sharing::bounded(2);
        let inputs: Vec<Literal> = (0..4).map(|_| gates.input()).collect();
        let first = gates.and(inputs[0], inputs[1]);
        let second = gates.xor(first, inputs[2]);
        assert_eq!(gates.gate_count(), 2);
        assert!(gates.and(second, inputs[3]).as_constant().is_some());
        assert_eq!(gates.gate_count(), 2);
        assert!(gates.into_netlist().is_none());
    }

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
