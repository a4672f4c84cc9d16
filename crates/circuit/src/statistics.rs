//! The cost of a circuit: gates of each kind and depths.

use crate::Circuit;

/// The counts and depths of a [`Circuit`], over the gates as given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Statistics {
    /// The number of input bits.
    pub input_bits: usize,
    /// The number of output bits.
    pub output_bits: usize,
    /// The number of AND gates.
    pub and: usize,
    /// The number of XOR gates.
    pub xor: usize,
    /// The number of INV gates.
    pub inv: usize,
    /// The number of gates on the longest path from an input to any gate.
    pub depth: u32,
    /// The greatest number of AND gates on a path from an input to any gate.
    pub and_depth: u32,
}

impl Circuit {
    /// Returns the circuit's statistics. Takes one pass and eight bytes of memory a wire.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics {
            input_bits: self.input_bits(),
            output_bits: self.output_bits(),
            ..Statistics::default()
        };
        // The depth and the AND depth of each wire.
        let mut depths = vec![(0_u32, 0_u32); self.input_bits()];
        depths.reserve_exact(self.gate_count());
        for gate in self.packed_gates() {
            let and = u32::from(gate.is_and());
            statistics.and += and as usize;
            statistics.inv += usize::from(gate.is_inv());
            // An inverter's second input is wire 0, at depth 0.
            let [a, b] = gate.wires().map(|wire| depths[wire as usize]);
            let (depth, and_depth) = (a.0.max(b.0) + 1, a.1.max(b.1) + and);
            statistics.depth = statistics.depth.max(depth);
            statistics.and_depth = statistics.and_depth.max(and_depth);
            depths.push((depth, and_depth));
        }
        statistics.xor = self.gate_count() - statistics.and - statistics.inv;
        statistics
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gate, Port, Type};

    #[test]
    fn counts_and_depths_of_a_small_circuit() {
        let gates = [
            Gate::Xor(0, 1),
            Gate::And(2, 0),
            Gate::Inv(3),
            Gate::And(4, 3),
            Gate::Xor(1, 0),
            Gate::Inv(6),
        ];
        let ports = |name: &str, bits| vec![Port::new(name, Type::bits(bits))];
        let circuit = Circuit::new(ports("a", 2), ports("b", 1), gates, vec![6]).unwrap();
        let expected = Statistics {
            input_bits: 2,
            output_bits: 1,
            and: 2,
            xor: 2,
            inv: 2,
            depth: 4,
            and_depth: 2,
        };
        assert_eq!(circuit.statistics(), expected);
    }
}
