//! A synthetic stand-in for the circuit "Min-Cut 250,000" of published benchmarks.
//!
//! The original is not publicly available. Only its size is known: 999,960 AND gates, 2,524,920 XOR
//! gates and 250,000 input bits of the evaluator. This circuit has exactly these numbers and
//! computes *no* minimum cut: its result has no meaning. Its shape imitates such a circuit, which
//! repeats these steps: take an edge's weight from the input, mask it, add it to one node's number,
//! and keep the lesser of the sum and another node's number. So gates form chains of carries, 64
//! numbers of 30 bits stay live, and the input is read bit by bit.
//!
//! 8333 steps of 120 AND and 303 XOR gates and 30 input bits each make 999,960 AND and 2,524,899
//! XOR gates and 249,990 input bits. The last 10 bits and 21 XOR gates complete it. A linear
//! congruential generator determines the nodes of each edge. There is no INV gate.

use tacit_circuit::{Circuit, CircuitError, Gate, Port, Type, Wire};

/// The number of input bits, all of which are the evaluator's.
const INPUT_BITS: u32 = 250_000;
/// The bits of a number.
const BITS: usize = 30;
/// The number of numbers that stay live.
const NODES: usize = 64;
/// The number of steps, each with an edge.
const STEPS: u32 = 8_333;

/// Returns the circuit.
pub(super) fn circuit() -> Result<Circuit, CircuitError> {
    let mut gates = Gates {
        gates: Vec::with_capacity(3_524_880),
    };
    // The numbers start as the first weights.
    let mut nodes: Vec<Vec<Wire>> = (0..NODES as u32).map(weight).collect();
    let mut edges = Edges(1);
    for step in 0..STEPS {
        let [from, mask, to] = edges.next();
        let (shown, carry) = gates.masked_sum(&weight(step), &nodes[from], &nodes[mask]);
        let control = gates.control(&shown, &nodes[to], carry, &nodes[mask]);
        nodes[to] = gates.select(control, &shown, &nodes[to]);
    }
    gates.mix_in_the_last_bits(&mut nodes);
    let inputs = vec![Port::new(
        "synthetic_input",
        Type::bits(INPUT_BITS as usize),
    )];
    let ty = Type::bits(BITS).array(NODES);
    Circuit::new(
        inputs,
        vec![Port::new("synthetic_output", ty)],
        gates.gates,
        nodes.concat(),
    )
}

/// Returns the input wires of the weight of `step`.
fn weight(step: u32) -> Vec<Wire> {
    let start = step * BITS as u32;
    (start..start + BITS as u32).collect()
}

/// A source of the nodes of edges: the linear congruential generator of Knuth's MMIX, upper bits.
struct Edges(u64);

impl Edges {
    /// Returns three different nodes.
    fn next(&mut self) -> [usize; 3] {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let first = (self.0 >> 58) as usize;
        let second = (first + 1 + (self.0 >> 40) as usize % (NODES - 2)) % NODES;
        let mut third = (self.0 >> 52) as usize % NODES;
        while third == first || third == second {
            third = (third + 1) % NODES;
        }
        [first, second, third]
    }
}

struct Gates {
    gates: Vec<Gate>,
}

impl Gates {
    fn push(&mut self, gate: Gate) -> Wire {
        self.gates.push(gate);
        INPUT_BITS + self.gates.len() as u32 - 1
    }

    fn xor(&mut self, a: Wire, b: Wire) -> Wire {
        self.push(Gate::Xor(a, b))
    }

    fn and(&mut self, a: Wire, b: Wire) -> Wire {
        self.push(Gate::And(a, b))
    }

    /// Returns `from` plus ((`weight` ⊕ `from`) ∧ `mask`), and the carry out. The carry in is the
    /// mask's lowest bit. Takes 60 AND and 150 XOR gates.
    fn masked_sum(&mut self, weight: &[Wire], from: &[Wire], mask: &[Wire]) -> (Vec<Wire>, Wire) {
        let mut carry = mask[0];
        let mut sum = Vec::with_capacity(BITS);
        for bit in 0..BITS {
            let mixed = self.xor(weight[bit], from[bit]);
            let masked = self.and(mixed, mask[bit]);
            let (x, y) = (self.xor(masked, carry), self.xor(from[bit], carry));
            sum.push(self.xor(x, from[bit]));
            let both = self.and(x, y);
            carry = self.xor(carry, both);
        }
        (sum, carry)
    }

    /// Returns the carry of a comparison of `a` and `b` that starts with `carry`, plus three bits.
    /// Takes 30 AND and 93 XOR gates.
    fn control(&mut self, a: &[Wire], b: &[Wire], carry: Wire, mask: &[Wire]) -> Wire {
        let mut carry = carry;
        for (&a, &b) in a.iter().zip(b) {
            let (x, y) = (self.xor(a, carry), self.xor(b, carry));
            let both = self.and(x, y);
            carry = self.xor(carry, both);
        }
        [mask[1], mask[2], mask[3]]
            .into_iter()
            .fold(carry, |control, bit| self.xor(control, bit))
    }

    /// Returns `if_one` if `control` is one, and otherwise `if_zero`. Takes 30 AND and 60 XOR
    /// gates.
    fn select(&mut self, control: Wire, if_one: &[Wire], if_zero: &[Wire]) -> Vec<Wire> {
        let pairs = if_one.iter().zip(if_zero);
        pairs
            .map(|(&one, &zero)| {
                let difference = self.xor(one, zero);
                let change = self.and(control, difference);
                self.xor(zero, change)
            })
            .collect()
    }

    /// Adds the last 10 input bits to the first number, and 11 bits of it to the second. Takes 21
    /// XOR gates.
    fn mix_in_the_last_bits(&mut self, nodes: &mut [Vec<Wire>]) {
        let [first, second, ..] = nodes else {
            unreachable!("64 numbers")
        };
        for (bit, input) in first.iter_mut().zip(STEPS * BITS as u32..INPUT_BITS) {
            *bit = self.xor(*bit, input);
        }
        for (bit, &mixed) in second.iter_mut().zip(&first[..11]) {
            *bit = self.xor(*bit, mixed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_exactly_the_published_one() {
        let statistics = circuit().unwrap().statistics();
        assert_eq!(
            (statistics.and, statistics.xor, statistics.inv),
            (999_960, 2_524_920, 0)
        );
        assert_eq!(statistics.input_bits, 250_000);
    }

    #[test]
    fn edges_join_three_different_nodes() {
        let mut edges = Edges(1);
        for _ in 0..STEPS {
            let [a, b, c] = edges.next();
            assert!(a != b && b != c && a != c && a.max(b).max(c) < NODES);
        }
    }
}
