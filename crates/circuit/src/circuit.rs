//! Circuits: gates in topological order with named, typed ports.

mod gates;

use crate::{CircuitError, Promise, Type};
use gates::Gates;

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
    /// Its name, unique among the circuit's inputs or among its outputs: an ASCII letter and
    /// then up to 63 ASCII letters, digits and underscores.
    pub name: String,
    /// Its type, which fixes its width in bits.
    pub ty: Type,
    /// What an input needs beyond its type. No digest covers it: it is for the owner of an input,
    /// on its own machine.
    pub promise: Option<Promise>,
}

impl Port {
    /// A port of this name and type. The name is checked where the port comes to stand in a
    /// circuit.
    pub fn new(name: impl Into<String>, ty: Type) -> Self {
        Self {
            name: name.into(),
            ty,
            promise: None,
        }
    }

    /// Longest name, in bytes.
    pub const MAX_NAME_BYTES: usize = 64;

    fn has_valid_name(&self) -> bool {
        Self::is_valid_name(&self.name)
    }

    /// Whether a port may have this name.
    #[must_use]
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
/// Every gate reads wires of smaller number than its own; the widths of the input ports add up
/// to the number of input wires, those of the output ports to the number of output wires; there
/// is at least one port each way, and port names are valid and unique each way; there are at
/// most [`Circuit::MAX_WIRES`] wires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    input_bits: u32,
    gates: Gates,
    output_wires: Vec<Wire>,
}

/// The kinds of gates, by their numbers in a [`PackedGate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateKind {
    Xor = 0,
    And = 1,
    Inv = 2,
}

impl Gate {
    /// Its kind and the wires of its inputs; an inverter's second is wire 0.
    #[inline]
    fn parts(self) -> (GateKind, [Wire; 2]) {
        match self {
            Self::Xor(a, b) => (GateKind::Xor, [a, b]),
            Self::And(a, b) => (GateKind::And, [a, b]),
            Self::Inv(a) => (GateKind::Inv, [a, 0]),
        }
    }
}

/// A gate in eight bytes: the kind in the top two bits of the first word.
///
/// What passes over all gates of a circuit does not branch on their kinds, which no processor
/// foresees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedGate([u32; 2]);

impl PackedGate {
    const WIRE: u32 = (1 << 30) - 1;

    /// The gate of this kind, as [`Self::kind`] has it, and these inputs.
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

    /// The wires of its inputs; an inverter's second is one that is there, wire 0.
    pub(crate) fn wires(self) -> [u32; 2] {
        [self.0[0] & Self::WIRE, self.0[1]]
    }

    /// The two words, as the digest takes them.
    #[inline]
    pub(crate) fn to_le_bytes(self) -> [u8; 8] {
        let [a, b] = self.0;
        (u64::from(a) | u64::from(b) << 32).to_le_bytes()
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
        let mut growing = Growing::new(inputs)?;
        let gates = gates.into_iter();
        growing.reserve(gates.size_hint().0);
        for gate in gates {
            growing.push(gate)?;
        }
        growing.finish(outputs, output_wires)
    }

    /// The same gates under other port names and types: how the nameless `bits[n]` ports of a
    /// circuit file become a `u64` or `bytes[16]`. The digest changes with them.
    ///
    /// # Errors
    ///
    /// The ports break an invariant of [`Circuit`], or are not as wide in all as the old ones.
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

    /// Number of output bits.
    #[must_use]
    pub fn output_bits(&self) -> usize {
        self.output_wires.len()
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

    /// Number of wires: input bits and gates.
    #[must_use]
    pub fn wire_count(&self) -> usize {
        self.input_bits() + self.gates.len()
    }

    /// The gates, in order.
    pub fn gates(&self) -> impl ExactSizeIterator<Item = Gate> + DoubleEndedIterator + '_ {
        self.gates.iter().map(PackedGate::unpack)
    }

    pub(crate) fn packed_gates(
        &self,
    ) -> impl ExactSizeIterator<Item = PackedGate> + DoubleEndedIterator + Clone + '_ {
        self.gates.iter()
    }
}

/// A circuit whose gates come one by one. Its gates always satisfy the invariants of [`Circuit`].
pub(crate) struct Growing {
    inputs: Vec<Port>,
    input_bits: u32,
    gates: Gates,
}

impl Growing {
    pub(crate) fn new(inputs: Vec<Port>) -> Result<Self, CircuitError> {
        let input_bits = check_ports("input", &inputs)?;
        Ok(Self {
            inputs,
            input_bits,
            gates: Gates::new(input_bits),
        })
    }

    /// Makes room for `gates` more; a caller who has the number from a file bounds it first.
    pub(crate) fn reserve(&mut self, gates: usize) {
        self.gates.reserve(gates.min(Circuit::MAX_WIRES));
    }

    /// Number of wires so far, which is the wire that the next gate drives.
    pub(crate) fn wire_count(&self) -> u32 {
        self.input_bits + self.gates.len() as u32
    }

    /// Adds a gate; returns the wire that it drives.
    #[inline]
    pub(crate) fn push(&mut self, gate: Gate) -> Result<Wire, CircuitError> {
        let (kind, wires) = gate.parts();
        self.push_parts(kind, wires)
    }

    /// The same by the gate's parts; an inverter's second input is wire 0.
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

    /// Why a gate that reads wires up to `greatest` is not the next one.
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

/// The ports' width together, after their names and number were found right.
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
