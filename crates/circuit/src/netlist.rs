//! Netlists: gates under construction, with constants folded and negations kept on edges.
//!
//! A [`Literal`] names a node or its negation, so that NOT costs no node. XOR nodes move the
//! negations of their inputs to their own literal. This is the representation of XOR-AND graphs in
//! logic synthesis. The builder and the compiler build on it.
//!
//! # Invariants
//!
//! - A node reads only nodes of smaller number.
//! - No node reads a constant.
//! - The two inputs of a node are different nodes.
//! - The inputs of a XOR node are not negated.

mod sharing;

pub(crate) use sharing::Sharing;

/// A node's value, its negation, or a constant. In a builder it may also be a late input or its
/// negation, which is not a node yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal(u32);

impl Literal {
    /// The constant zero.
    pub const FALSE: Self = Self(u32::MAX - 1);
    /// The constant one.
    pub const TRUE: Self = Self(u32::MAX);
    const LATE: u32 = 1 << 31;
    /// The greatest number of late inputs.
    pub(crate) const MAX_LATE: usize = (1 << 30) - 1;

    /// Returns the value of node `node`, which is below `Netlist::MAX_NODES`.
    pub fn of(node: u32) -> Self {
        debug_assert!((node as usize) < Netlist::MAX_NODES);
        Self(node << 1)
    }

    /// Returns the literal with these bits, the inverse of [`Literal::to_bits`].
    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns twice the node's number, plus one for a negation. Only constants and late inputs
    /// have the top bit set.
    pub(crate) fn to_bits(self) -> u32 {
        self.0
    }

    /// Returns the constant `value`.
    pub fn constant(value: bool) -> Self {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// Returns the late input `number`, which is below [`Literal::MAX_LATE`].
    pub(crate) fn late(number: u32) -> Self {
        Self(Self::LATE | number << 1)
    }

    /// Returns the number of the late input, if the literal is a late input or its negation.
    pub fn as_late(self) -> Option<u32> {
        let is_late = self.0 & Self::LATE != 0 && self.as_constant().is_none();
        is_late.then_some((self.0 & !Self::LATE) >> 1)
    }

    /// Returns the number of the literal's node. For a constant or late input, returns a number
    /// that no node has.
    pub fn node(self) -> u32 {
        self.0 >> 1
    }

    /// Whether the literal is the negation of its node.
    pub fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns the constant, if the literal is one.
    pub fn as_constant(self) -> Option<bool> {
        (self.0 >= Self::FALSE.0).then_some(self.is_negated())
    }

    /// Negates the literal if `condition` holds.
    pub fn negated_if(self, condition: bool) -> Self {
        Self(self.0 ^ u32::from(condition))
    }

    /// Returns the same node or constant without its negation.
    fn positive(self) -> Self {
        Self(self.0 & !1)
    }
}

impl core::ops::Not for Literal {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// A node's kind and inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// An input bit, by its number.
    Input(u32),
    /// Exclusive or of two literals, neither negated.
    Xor(Literal, Literal),
    /// Conjunction of two literals.
    And(Literal, Literal),
}

/// A node in eight bytes. The literals of nodes take 31 bits, and the top bit of the first word
/// marks an AND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedNode([u32; 2]);

impl PackedNode {
    const AND: u32 = 1 << 31;
    /// The first word of an input: a negated literal, which no XOR node reads.
    const INPUT: u32 = Self::AND - 1;

    pub(crate) fn pack(node: Node) -> Self {
        match node {
            Node::Input(number) => Self([Self::INPUT, number]),
            Node::Xor(a, b) => Self([a.0, b.0]),
            Node::And(a, b) => Self([a.0 | Self::AND, b.0]),
        }
    }

    pub(crate) fn unpack(self) -> Node {
        let [a, b] = self.0;
        if a == Self::INPUT {
            Node::Input(b)
        } else if a & Self::AND != 0 {
            Node::And(Literal(a & !Self::AND), Literal(b))
        } else {
            Node::Xor(Literal(a), Literal(b))
        }
    }

    /// Returns both inputs of a gate.
    #[inline]
    pub(crate) fn inputs(self) -> Option<[Literal; 2]> {
        let [a, b] = self.0;
        (a != Self::INPUT).then_some([Literal(a & !Self::AND), Literal(b)])
    }

    /// Whether the node is an AND gate.
    #[inline]
    pub(crate) fn is_and(self) -> bool {
        self.0[0] & Self::AND != 0
    }

    /// Returns the other input of a XOR gate that reads `input`.
    #[inline]
    pub(crate) fn xor_partner(self, input: Literal) -> Option<Literal> {
        let [a, b] = self.0.map(Literal);
        // This is rarely true, and no processor predicts the kind of the node.
        if (a != input) & (b != input) {
            return None;
        }
        match self.unpack() {
            Node::Xor(p, q) if p == input => Some(q),
            Node::Xor(p, q) if q == input => Some(p),
            _ => None,
        }
    }

    /// Returns, for an AND gate that reads `input` or its negation, whether it reads `input`.
    #[inline]
    pub(crate) fn and_reads(self, input: Literal) -> Option<bool> {
        let [a, b] = self.0.map(|word| Literal(word & !Self::AND));
        if (a.node() != input.node()) & (b.node() != input.node()) {
            return None;
        }
        match self.unpack() {
            Node::And(p, q) if p == input || q == input => Some(true),
            Node::And(p, q) if p == !input || q == !input => Some(false),
            _ => None,
        }
    }

    /// Creates a node from words that [`Netlist::into_words`] returned.
    pub(crate) fn of_words(words: [u32; 2]) -> Self {
        Self(words)
    }

    /// Returns both words as one.
    pub(crate) fn word(self) -> u64 {
        u64::from(self.0[0]) << 32 | u64::from(self.0[1])
    }
}

/// The result of folding a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoldedGate {
    /// No gate, but this literal.
    Literal(Literal),
    /// This gate, whose output is negated if the flag is set.
    Gate(Node, bool),
}

/// Returns the exclusive or of `a` and `b`, without a gate if constants or equal inputs allow that.
#[inline]
pub(crate) fn fold_xor(a: Literal, b: Literal) -> FoldedGate {
    let negated = a.is_negated() != b.is_negated();
    let (a, b) = (a.positive(), b.positive());
    if a == b {
        FoldedGate::Literal(Literal::constant(negated))
    } else if a.as_constant().is_some() {
        FoldedGate::Literal(b.negated_if(negated))
    } else if b.as_constant().is_some() {
        FoldedGate::Literal(a.negated_if(negated))
    } else {
        FoldedGate::Gate(Node::Xor(a.min(b), a.max(b)), negated)
    }
}

/// Returns the conjunction of `a` and `b`, without a gate if constants or equal inputs allow that.
#[inline]
pub(crate) fn fold_and(a: Literal, b: Literal) -> FoldedGate {
    let literal = match (a.as_constant(), b.as_constant()) {
        (Some(false), _) | (_, Some(false)) => Literal::FALSE,
        (Some(true), _) => b,
        (_, Some(true)) => a,
        _ if a == b => a,
        _ if a == !b => Literal::FALSE,
        _ => return FoldedGate::Gate(Node::And(a.min(b), a.max(b)), false),
    };
    FoldedGate::Literal(literal)
}

/// Nodes in topological order.
#[derive(Clone, Debug, Default)]
pub struct Netlist {
    nodes: Vec<PackedNode>,
    inputs: u32,
}

impl Netlist {
    /// The greatest number of nodes of a netlist.
    pub(crate) const MAX_NODES: usize = 1 << 30;

    /// Returns the number of nodes, including inputs.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the number of inputs.
    pub(crate) fn inputs(&self) -> u32 {
        self.inputs
    }

    /// Returns node `node`.
    pub fn node(&self, node: u32) -> Node {
        self.nodes[node as usize].unpack()
    }

    /// Returns node `node` in its stored form.
    pub(crate) fn packed(&self, node: u32) -> PackedNode {
        self.nodes[node as usize]
    }

    /// Appends the next input.
    pub(crate) fn push_input(&mut self) -> Literal {
        let number = self.inputs;
        self.inputs += 1;
        self.push(Node::Input(number))
    }

    /// Appends a node unchanged. The caller has folded it.
    pub(crate) fn push(&mut self, node: Node) -> Literal {
        self.push_packed(PackedNode::pack(node))
    }

    /// Appends a node in its stored form.
    #[inline]
    pub(crate) fn push_packed(&mut self, node: PackedNode) -> Literal {
        assert!(
            self.nodes.len() < Self::MAX_NODES,
            "a netlist has at most 2^30 nodes"
        );
        let number = self.nodes.len() as u32;
        self.nodes.push(node);
        Literal::of(number)
    }

    /// Returns all nodes, packed, in the netlist's own memory.
    pub(crate) fn into_words(self) -> Vec<[u32; 2]> {
        self.nodes.into_iter().map(|node| node.0).collect()
    }

    /// Returns for each node whether it is an input or a root depends on it.
    pub fn live(&self, roots: &[Literal]) -> Vec<bool> {
        let mut live = vec![false; self.nodes.len()];
        for root in roots.iter().filter(|root| root.as_constant().is_none()) {
            live[root.node() as usize] = true;
        }
        for number in (0..self.nodes.len()).rev() {
            match self.nodes[number].inputs() {
                None => live[number] = true,
                Some(inputs) if live[number] => {
                    for input in inputs {
                        live[input.node() as usize] = true;
                    }
                }
                Some(_) => {}
            }
        }
        live
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_equal_inputs_fold() {
        let (x, y) = (Literal::of(0), Literal::of(1));
        let (zero, one) = (Literal::FALSE, Literal::TRUE);
        assert_eq!(fold_xor(x, x), FoldedGate::Literal(zero));
        assert_eq!(fold_xor(x, !x), FoldedGate::Literal(one));
        assert_eq!(fold_xor(one, x), FoldedGate::Literal(!x));
        assert_eq!(fold_xor(!x, zero), FoldedGate::Literal(!x));
        assert_eq!(fold_xor(one, one), FoldedGate::Literal(zero));
        assert_eq!(fold_xor(!y, x), FoldedGate::Gate(Node::Xor(x, y), true));
        assert_eq!(fold_and(x, x), FoldedGate::Literal(x));
        assert_eq!(fold_and(!x, x), FoldedGate::Literal(zero));
        assert_eq!(fold_and(one, !x), FoldedGate::Literal(!x));
        assert_eq!(fold_and(x, zero), FoldedGate::Literal(zero));
        assert_eq!(fold_and(!y, x), FoldedGate::Gate(Node::And(x, !y), false));
    }

    #[test]
    fn packing_loses_nothing() {
        let last = Literal::of(Netlist::MAX_NODES as u32 - 1);
        for node in [
            Node::Input(0),
            Node::Input(u32::MAX),
            Node::Xor(Literal::of(0), last),
            Node::And(!Literal::of(0), !last),
            Node::And(!last, last),
        ] {
            assert_eq!(PackedNode::pack(node).unpack(), node);
        }
    }
}
