//! Circuits: gates in topological order with named, typed ports.

use crate::{CircuitError, Type};

/// A wire's number. Wires `0..inputs` are the input bits in port order; gate `i` drives wire
/// `inputs + i`.
pub type Wire = u32;

/// A gate; the wire that it drives is implied by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Exclusive or of two wires.
    Xor(Wire, Wire),
    /// Conjunction of two wires.
    And(Wire, Wire),
    /// Negation of a wire.
    Inv(Wire),
}

/// A named, typed port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name, unique among the circuit's inputs or among its outputs.
    pub name: String,
    /// Its type, which fixes its width in bits.
    pub ty: Type,
}

/// A Boolean circuit.
///
/// # Invariants
///
/// Every gate reads wires of smaller number than its own; the widths of the input ports add up
/// to the number of input wires, those of the output ports to the number of output wires; there
/// are at most [`Circuit::MAX_WIRES`] wires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    input_bits: u32,
    gates: Vec<PackedGate>,
    output_wires: Vec<Wire>,
}

/// A gate in eight bytes: the kind in the top two bits of the first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PackedGate([u32; 2]);

impl PackedGate {
    const WIRE: u32 = (1 << 30) - 1;

    fn pack(gate: Gate) -> Self {
        match gate {
            Gate::Xor(a, b) => Self([a, b]),
            Gate::And(a, b) => Self([a | 1 << 30, b]),
            Gate::Inv(a) => Self([a | 2 << 30, 0]),
        }
    }

    fn unpack(self) -> Gate {
        let (a, b) = (self.0[0] & Self::WIRE, self.0[1]);
        match self.0[0] >> 30 {
            0 => Gate::Xor(a, b),
            1 => Gate::And(a, b),
            _ => Gate::Inv(a),
        }
    }
}

impl Circuit {
    /// Most wires that a circuit may have; larger computations are functions of several calls.
    pub const MAX_WIRES: usize = 1 << 30;

    /// A circuit of these parts.
    ///
    /// # Errors
    ///
    /// The parts break an invariant of [`Circuit`]; the error names the gate or port.
    pub fn new(
        inputs: Vec<Port>,
        outputs: Vec<Port>,
        gates: impl IntoIterator<Item = Gate>,
        output_wires: Vec<Wire>,
    ) -> Result<Self, CircuitError> {
        let _ = (inputs, outputs, gates.into_iter().map(PackedGate::pack), output_wires);
        todo!("helper circuit-core")
    }

    /// The input ports, in order.
    #[must_use]
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// The output ports, in order.
    #[must_use]
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// Number of input bits.
    #[must_use]
    pub fn input_bits(&self) -> usize {
        self.input_bits as usize
    }

    /// The wires of the output bits, in port order.
    #[must_use]
    pub fn output_wires(&self) -> &[Wire] {
        &self.output_wires
    }

    /// Number of gates.
    #[must_use]
    pub fn gate_count(&self) -> usize {
        self.gates.len()
    }

    /// The gates, in order.
    pub fn gates(&self) -> impl ExactSizeIterator<Item = Gate> + '_ {
        self.gates.iter().map(|gate| gate.unpack())
    }
}
