//! Circuits: gates in topological order with named, typed ports.

mod gates;

use crate::{CircuitError, Promise, Type};
use gates::Gates;

/// The number of a wire. Wires `0..inputs` are the input bits in port order, and gate `i` drives
/// wire `inputs + i`.
pub type Wire = u32;

/// A gate. Its place implies the wire that it drives.
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
    /// The port's name, unique among the circuit's inputs or outputs. An ASCII letter is followed
    /// by up to 63 ASCII letters, digits and underscores.
    pub name: String,
    /// The port's type, which fixes the width in bits.
    pub ty: Type,
    /// A requirement of an input beyond its type. No digest covers it: only the owner of the input
    /// uses it, on its own machine.
    pub promise: Option<Promise>,
}

impl Port {
    /// Creates a port of this name and type. The name is checked when the port becomes part of a
    /// circuit.
    pub fn new(name: impl Into<String>, ty: Type) -> Self {
        Self {
            name: name.into(),
            ty,
            promise: None,
        }
    }

    /// The length of the longest name, in bytes.
    pub const MAX_NAME_BYTES: usize = 64;

    fn has_valid_name(&self) -> bool {
        Self::is_valid_name(&self.name)
    }

    /// Whether a port may have this name.
    pub fn is_valid_name(name: &str) -> bool {
        name.len() <= Self::MAX_NAME_BYTES
            && name.bytes().next().is_some_and(|c| c.is_ascii_alphabetic())
            && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
    }
}

/// A Boolean circuit.
///
/// # Invariants
///
/// - Every gate reads wires of smaller number than its own.
/// - The widths of the input ports add up to the number of input wires, and those of the output
///   ports to the number of output wires.
/// - There is at least one input port and one output port. The names of the input ports are valid
///   and unique, and so are those of the output ports.
/// - There are at most [`Circuit::MAX_WIRES`] wires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    input_bits: u32,
    gates: Gates,
    output_wires: Vec<Wire>,
}

/// The kinds of gates. The values are their numbers in a [`PackedGate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateKind {
    Xor = 0,
    And = 1,
    Inv = 2,
}

impl Gate {
    /// Returns the kind of the gate and its input wires. The second input of an inverter is wire 0.
    #[inline]
    fn parts(self) -> (GateKind, [Wire; 2]) {
        match self {
            Self::Xor(a, b) => (GateKind::Xor, [a, b]),
            Self::And(a, b) => (GateKind::And, [a, b]),
            Self::Inv(a) => (GateKind::Inv, [a, 0]),
        }
    }
}

/// A gate in eight bytes, with the kind in the top two bits of the first word.
///
/// A pass over all gates of a circuit does not branch on their kinds, because no processor predicts
/// such branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedGate([u32; 2]);

impl PackedGate {
    const WIRE: u32 = (1 << 30) - 1;

    /// Packs a gate of this kind, numbered as in [`Self::kind`], with these inputs.
    #[inline]
    fn of_parts(kind: u8, [a, b]: [Wire; 2]) -> Self {
        Self([a | u32::from(kind) << 30, b])
    }

    #[cfg(test)]
    fn pack(gate: Gate) -> Self {
        let (kind, wires) = gate.parts();
        Self::of_parts(kind as u8, wires)
    }

    fn kind(self) -> u8 {
        (self.0[0] >> 30) as u8
    }

    pub(crate) fn unpack(self) -> Gate {
        let (a, b) = (self.0[0] & Self::WIRE, self.0[1]);
        match self.0[0] >> 30 {
            0 => Gate::Xor(a, b),
            1 => Gate::And(a, b),
            _ => Gate::Inv(a),
        }
    }

    pub(crate) fn is_and(self) -> bool {
        self.0[0] >> 30 & 1 == 1
    }

    pub(crate) fn is_inv(self) -> bool {
        self.0[0] >> 31 == 1
    }

    /// Returns the input wires. The second input of an inverter is wire 0, which always exists.
    pub(crate) fn wires(self) -> [u32; 2] {
        [self.0[0] & Self::WIRE, self.0[1]]
    }

    /// Returns the two words in the form that the digest takes.
    #[inline]
    pub(crate) fn to_le_bytes(self) -> [u8; 8] {
        let [a, b] = self.0;
        (u64::from(a) | u64::from(b) << 32).to_le_bytes()
    }
}

impl Circuit {
    /// The greatest number of wires of a circuit. Larger computations are functions of several
    /// calls.
    pub const MAX_WIRES: usize = 1 << 30;

    /// Creates a circuit of these parts.
    ///
    /// # Errors
    ///
    /// The parts break an invariant of [`Circuit`]. The error names the gate or port.
    pub fn new(
        inputs: Vec<Port>,
        outputs: Vec<Port>,
        gates: impl IntoIterator<Item = Gate>,
        output_wires: Vec<Wire>,
    ) -> Result<Self, CircuitError> {
        let mut growing = GrowingCircuit::new(inputs)?;
        let gates = gates.into_iter();
        growing.reserve(gates.size_hint().0);
        for gate in gates {
            growing.push(gate)?;
        }
        growing.finish(outputs, output_wires)
    }

    /// Replaces the names and types of the ports. The nameless `bits[n]` ports of a circuit file
    /// become, for example, a `u64` or `bytes[16]` in this way. The digest changes with the ports.
    ///
    /// # Errors
    ///
    /// The ports break an invariant of [`Circuit`], or their total width is not that of the old
    /// ones.
    pub fn with_ports(self, inputs: Vec<Port>, outputs: Vec<Port>) -> Result<Self, CircuitError> {
        let input_bits = check_ports("input", &inputs)?;
        if input_bits != self.input_bits {
            return Err(CircuitError::PortWidth {
                direction: "input",
                expected: input_bits as usize,
                found: self.input_bits as usize,
            });
        }
        check_outputs(&outputs, &self.output_wires, self.wire_count() as u32)?;
        Ok(Self {
            inputs,
            outputs,
            ..self
        })
    }

    /// Returns the input ports, in order.
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// Returns the output ports, in order.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// Returns the number of input bits.
    pub fn input_bits(&self) -> usize {
        self.input_bits as usize
    }

    /// Returns the number of output bits.
    pub fn output_bits(&self) -> usize {
        self.output_wires.len()
    }

    /// Returns the wires of the output bits, in port order.
    pub fn output_wires(&self) -> &[Wire] {
        &self.output_wires
    }

    /// Returns the number of gates.
    pub fn gate_count(&self) -> usize {
        self.gates.len()
    }

    /// Returns the number of wires, which are the input bits and the gates.
    pub fn wire_count(&self) -> usize {
        self.input_bits() + self.gates.len()
    }

    /// Iterates over the gates, in order.
    pub fn gates(&self) -> impl ExactSizeIterator<Item = Gate> + DoubleEndedIterator + '_ {
        self.gates.iter().map(PackedGate::unpack)
    }

    pub(crate) fn packed_gates(
        &self,
    ) -> impl ExactSizeIterator<Item = PackedGate> + DoubleEndedIterator + Clone + '_ {
        self.gates.iter()
    }
}

/// A circuit whose gates are added one by one. Its gates always satisfy the invariants of
/// [`Circuit`].
pub(crate) struct GrowingCircuit {
    inputs: Vec<Port>,
    input_bits: u32,
    gates: Gates,
}

impl GrowingCircuit {
    pub(crate) fn new(inputs: Vec<Port>) -> Result<Self, CircuitError> {
        let input_bits = check_ports("input", &inputs)?;
        Ok(Self {
            inputs,
            input_bits,
            gates: Gates::new(input_bits),
        })
    }

    /// Reserves room for `gates` more gates. A caller that takes the number from a file bounds it
    /// first.
    pub(crate) fn reserve(&mut self, gates: usize) {
        self.gates.reserve(gates.min(Circuit::MAX_WIRES));
    }

    /// Returns the number of wires so far, which is also the wire that the next gate drives.
    pub(crate) fn wire_count(&self) -> u32 {
        self.input_bits + self.gates.len() as u32
    }

    /// Adds a gate and returns the wire that it drives.
    #[inline]
    pub(crate) fn push(&mut self, gate: Gate) -> Result<Wire, CircuitError> {
        let (kind, wires) = gate.parts();
        self.push_parts(kind, wires)
    }

    /// Adds a gate given by its parts. The second input of an inverter is wire 0.
    #[inline(always)]
    pub(crate) fn push_parts(
        &mut self,
        kind: GateKind,
        wires: [Wire; 2],
    ) -> Result<Wire, CircuitError> {
        let limit = self.wire_count();
        let greatest = wires[0].max(wires[1]);
        if greatest >= limit || limit as usize >= Circuit::MAX_WIRES {
            return Err(self.refusal(greatest));
        }
        self.gates.push(PackedGate::of_parts(kind as u8, wires));
        Ok(limit)
    }

    /// Returns the reason that a gate which reads wires up to `greatest` cannot be the next one.
    #[cold]
    fn refusal(&self, greatest: Wire) -> CircuitError {
        let (gate, limit) = (self.gates.len(), self.wire_count());
        if greatest >= limit {
            let wire = greatest;
            return CircuitError::GateReadsAhead { gate, wire, limit };
        }
        let at = format!("gate {gate}");
        CircuitError::TooManyWires { at }
    }

    pub(crate) fn finish(
        self,
        outputs: Vec<Port>,
        output_wires: Vec<Wire>,
    ) -> Result<Circuit, CircuitError> {
        check_outputs(&outputs, &output_wires, self.wire_count())?;
        let Self {
            inputs,
            input_bits,
            gates,
        } = self;
        Ok(Circuit {
            inputs,
            outputs,
            input_bits,
            gates,
            output_wires,
        })
    }
}

/// Checks the names and the number of the ports and returns their total width.
fn check_ports(direction: &'static str, ports: &[Port]) -> Result<u32, CircuitError> {
    if ports.is_empty() {
        return Err(CircuitError::NoPorts { direction });
    }
    let mut names = std::collections::HashSet::with_capacity(ports.len());
    let mut width = 0;
    for port in ports {
        if !port.has_valid_name() {
            let port = port.name.chars().take(Port::MAX_NAME_BYTES).collect();
            return Err(CircuitError::PortName { port });
        }
        if !names.insert(port.name.as_str()) {
            return Err(CircuitError::DuplicatePort {
                direction,
                port: port.name.clone(),
            });
        }
        width += port.ty.width();
        if width > Circuit::MAX_WIRES {
            return Err(CircuitError::TooManyWires {
                at: format!("{direction} {:?}", port.name),
            });
        }
    }
    Ok(width as u32)
}

fn check_outputs(ports: &[Port], wires: &[Wire], limit: u32) -> Result<(), CircuitError> {
    let expected = check_ports("output", ports)? as usize;
    if expected != wires.len() {
        let found = wires.len();
        return Err(CircuitError::PortWidth {
            direction: "output",
            expected,
            found,
        });
    }
    match wires.iter().position(|&wire| wire >= limit) {
        None => Ok(()),
        Some(bit) => Err(CircuitError::OutputWire {
            bit,
            wire: wires[bit],
            wires: limit,
        }),
    }
}

#[cfg(test)]
mod tests;
