//! The reference's own circuits: gates in order, each driving one new wire; and the walk over them
//! with free XOR.

use crate::{Garbled, times};

/// A gate's input or an output: a wire, perhaps negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The wire's number. Wires `0..inputs` are inputs; gate `i` drives wire `inputs + i`.
    pub wire: usize,
    /// Whether the pin is the negation of the wire.
    pub negated: bool,
}

impl Pin {
    /// Returns this pin's labels, by value, given the labels of all wires.
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

/// The source of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A wire.
    Wire(Pin),
    /// A constant. The evaluator's label is zero.
    Constant(bool),
}

/// A circuit. XOR gates and AND gates are numbered separately, each kind from zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// The number of input wires.
    pub inputs: usize,
    /// The gates. Each reads only wires before its own.
    pub gates: Vec<Gate>,
    /// The outputs.
    pub outputs: Vec<Output>,
}

impl Circuit {
    /// Garbles with free XOR under offset `delta`, given the inputs' labels for zero. `and` gets an
    /// AND gate's number, both labels of its inputs and the tables so far; it appends the gate's
    /// table and returns its output's label for zero.
    pub(crate) fn garble(
        &self,
        delta: u128,
        inputs: &[u128],
        and: impl Fn(u64, [u128; 2], [u128; 2], &mut Vec<u8>) -> u128,
    ) -> Garbled {
        let mut wires: Vec<[u128; 2]> = inputs.iter().map(|&zero| [zero, zero ^ delta]).collect();
        let (mut tables, mut gate) = (Vec::new(), 0);
        for g in &self.gates {
            let zero = match *g {
                Gate::Xor(a, b) => wires[a][0] ^ wires[b][0],
                Gate::And(a, b) => {
                    gate += 1;
                    and(gate - 1, a.labels(&wires), b.labels(&wires), &mut tables)
                }
            };
            wires.push([zero, zero ^ delta]);
        }
        let labels = |output: &Output| match *output {
            Output::Wire(pin) => pin.labels(&wires),
            Output::Constant(bit) => [times(bit, delta), times(!bit, delta)],
        };
        let outputs = self.outputs.iter().map(labels).collect();
        Garbled {
            wires,
            outputs,
            tables,
        }
    }

    /// Evaluates a garbling by [`Circuit::garble`]. `and` gets the labels of an AND gate's inputs
    /// and returns its output's. Returns the outputs' labels.
    pub(crate) fn evaluate(
        &self,
        inputs: &[u128],
        and: impl Fn(u64, u128, u128) -> u128,
    ) -> Vec<u128> {
        let (mut wires, mut gate) = (inputs.to_vec(), 0);
        for g in &self.gates {
            let label = match *g {
                Gate::Xor(a, b) => wires[a] ^ wires[b],
                Gate::And(a, b) => {
                    gate += 1;
                    and(gate - 1, wires[a.wire], wires[b.wire])
                }
            };
            wires.push(label);
        }
        self.output_labels(&wires)
    }

    /// Returns the outputs' labels for the evaluator, given its label of every wire.
    pub(crate) fn output_labels(&self, wires: &[u128]) -> Vec<u128> {
        let label = |output: &Output| match *output {
            Output::Wire(pin) => wires[pin.wire],
            Output::Constant(_) => 0,
        };
        self.outputs.iter().map(label).collect()
    }
}
