//! The reference's own circuits: gates in order, each driving one new wire.

/// A gate's input or an output: a wire, perhaps negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The wire's number. Wires `0..inputs` are inputs; gate `i` drives wire `inputs + i`.
    pub wire: usize,
    /// Whether the negation of the wire is meant.
    pub negated: bool,
}

impl Pin {
    /// This pin's labels, by value, given the labels of all wires.
    pub(crate) fn labels(self, wires: &[[u128; 2]]) -> [u128; 2] {
        let [zero, one] = wires[self.wire];
        if self.negated {
            [one, zero]
        } else {
            [zero, one]
        }
    }
}

/// A gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Exclusive or of two wires.
    Xor(usize, usize),
    /// Conjunction of two wires, each perhaps negated.
    And(Pin, Pin),
}

/// Where an output comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// From a wire.
    Wire(Pin),
    /// It is constant. The label that the evaluator has is zero.
    Constant(bool),
}

/// A circuit. XOR gates and AND gates are numbered apart, each kind from zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// Number of input wires.
    pub inputs: usize,
    /// The gates, each reading wires that come before its own.
    pub gates: Vec<Gate>,
    /// The outputs.
    pub outputs: Vec<Output>,
}

impl Circuit {
    /// The outputs' labels for the evaluator, given its label of every wire.
    pub(crate) fn output_labels(&self, wires: &[u128]) -> Vec<u128> {
        let label = |output: &Output| match *output {
            Output::Wire(pin) => wires[pin.wire],
            Output::Constant(_) => 0,
        };
        self.outputs.iter().map(label).collect()
    }
}
