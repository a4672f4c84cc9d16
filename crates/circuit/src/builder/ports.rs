//! The ports of a circuit under construction, and its completion.

use super::{Bit, Builder, Bus, Bytes, Handle, Int, UInt};
use crate::circuit::{GateKind, GrowingCircuit};
use crate::netlist::{Literal, Netlist, Node, PackedNode, Sharing};
use crate::{Circuit, CircuitError, Gate, Port, Promise, Type, Wire};

/// The ports that have been declared so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) inputs: Vec<Port>,
    pub(super) outputs: Vec<Port>,
    /// The bits of the outputs.
    pub(super) roots: Vec<Literal>,
}

impl Builder {
    /// Declares an input port of any type and returns its handle.
    ///
    /// # Panics
    ///
    /// If `H` has no values of type `ty`.
    pub fn input<'b, H: Handle<'b>>(&'b self, name: &str, ty: Type) -> H {
        let mut gates = self.gates.borrow_mut();
        let literals = (0..ty.width()).map(|_| gates.input()).collect();
        drop(gates);
        let handle = H::from_bus(&ty, Bus::new(self, literals));
        let handle = handle.unwrap_or_else(|| panic!("input {name} of type {ty} as such a handle"));
        self.draft.borrow_mut().inputs.push(Port::new(name, ty));
        handle
    }

    /// States a requirement of the input port `name` beyond its type. The owner's machine ensures
    /// it before it uses the input.
    ///
    /// # Panics
    ///
    /// If no input port of this name has been declared.
    pub fn promise(&self, name: &str, promise: Promise) {
        let mut draft = self.draft.borrow_mut();
        let port = draft.inputs.iter_mut().find(|port| port.name == name);
        let port = port.unwrap_or_else(|| panic!("a promise of the input {name}, declared before"));
        port.promise = Some(promise);
    }

    /// Declares an input port of type `bit`.
    pub fn bit<'b>(&'b self, name: &str) -> Bit<'b> {
        self.input(name, Type::BIT)
    }

    /// Declares an input port of type `bits[width]`.
    pub fn bus<'b>(&'b self, name: &str, width: usize) -> Bus<'b> {
        self.input(name, Type::bits(width))
    }

    /// Declares an input port that is an unsigned integer of `width` bits.
    pub fn uint<'b>(&'b self, name: &str, width: usize) -> UInt<'b> {
        self.input(name, Type::unsigned(width))
    }

    /// Declares an input port that is a signed integer of `width` bits.
    pub fn int<'b>(&'b self, name: &str, width: usize) -> Int<'b> {
        self.input(name, Type::signed(width))
    }

    /// Declares an input port of type `bytes[len]`.
    pub fn bytes<'b>(&'b self, name: &str, len: usize) -> Bytes<'b> {
        self.input(name, Type::bytes(len))
    }

    /// Declares an output port that reveals `value`.
    ///
    /// # Panics
    ///
    /// If `value` belongs to another builder.
    pub fn output<'b>(&'b self, name: &str, value: &impl Handle<'b>) {
        let bus = value.to_bus();
        self.assert_owns(bus.builder());
        let mut draft = self.draft.borrow_mut();
        draft.outputs.push(Port::new(name, value.ty()));
        let settled = bus.literals().iter().map(|literal| self.settled(*literal));
        draft.roots.extend(settled);
    }
}

/// Makes the circuit of the gates that an output depends on, in their order. A constant at an
/// output becomes `x ⊕ x` of the first input bit. The netlist's memory is reused for the wires of
/// the written gates. The rest of the memory is one byte a node, and the circuit.
pub(super) fn finish(gates: Sharing, draft: Draft) -> Result<Circuit, CircuitError> {
    let netlist = netlist_of(gates)?;
    let live = netlist.live(&draft.roots);
    write(netlist, &live, draft)
}

/// Makes the same circuit, and returns for each of its gates the number of gates that the builder
/// had before it made the gate from which this one comes.
pub(super) fn finish_numbered(
    gates: Sharing,
    draft: Draft,
) -> Result<(Circuit, Vec<u32>), CircuitError> {
    let netlist = netlist_of(gates)?;
    let live = netlist.live(&draft.roots);
    let mut numbers = Vec::new();
    let mut inputs_before = 0;
    for (number, &live) in (0..).zip(&live) {
        match netlist.node(number) {
            Node::Input(_) => inputs_before += 1,
            Node::Xor(..) | Node::And(..) if live => numbers.push(number - inputs_before),
            Node::Xor(..) | Node::And(..) => {}
        }
    }
    let circuit = write(netlist, &live, draft)?;
    let mut next = numbers.iter().copied().peekable();
    let last = numbers.last().copied().unwrap_or(0);
    let of_gate = |gate: Gate| match gate {
        // A constant or a negation belongs to the gate after it, which reads it.
        Gate::Inv(_) => next.peek().copied().unwrap_or(last),
        Gate::Xor(a, b) if a == b => next.peek().copied().unwrap_or(last),
        Gate::Xor(..) | Gate::And(..) => next.next().unwrap_or(last),
    };
    let of_gates = circuit.gates().map(of_gate).collect();
    Ok((circuit, of_gates))
}

pub(super) fn netlist_of(gates: Sharing) -> Result<Netlist, CircuitError> {
    let netlist = gates.into_netlist();
    netlist.ok_or_else(|| CircuitError::TooManyWires {
        at: "the circuit under construction".to_owned(),
    })
}

/// Makes the same circuit from the known live gates.
fn write(netlist: Netlist, live: &[bool], draft: Draft) -> Result<Circuit, CircuitError> {
    let mut writer = Writer::new(netlist, draft.inputs)?;
    for (number, _) in live.iter().enumerate().filter(|(_, live)| **live) {
        writer.node(number);
    }
    let wires = draft.roots.iter().map(|&root| writer.literal(root));
    let wires = wires.collect();
    writer.finish(draft.outputs, wires)
}

/// Writes nodes as gates. A negation that is read becomes one INV gate.
struct Writer {
    gates: GrowingCircuit,
    /// For a node that has been written, its wire and the wire of its negation, or `NONE`. For any
    /// other node, the node itself, packed.
    nodes: Vec<[u32; 2]>,
    /// The wire of the constant zero and of the constant one.
    constants: [Option<Wire>; 2],
    /// The error of the first gate that was refused.
    refused: Option<CircuitError>,
}

impl Writer {
    const NONE: Wire = Wire::MAX;

    fn new(netlist: Netlist, inputs: Vec<Port>) -> Result<Self, CircuitError> {
        let mut gates = GrowingCircuit::new(inputs)?;
        gates.reserve(netlist.node_count() - netlist.inputs() as usize);
        Ok(Self {
            gates,
            nodes: netlist.into_words(),
            constants: [None; 2],
            refused: None,
        })
    }

    fn node(&mut self, number: usize) {
        let node = PackedNode::of_words(self.nodes[number]);
        let wire = match (node.inputs(), node.unpack()) {
            (Some(inputs), _) => {
                let wires = inputs.map(|input| self.literal(input));
                let kind = if node.is_and() {
                    GateKind::And
                } else {
                    GateKind::Xor
                };
                self.gate(kind, wires)
            }
            (None, Node::Input(input)) => input,
            (None, _) => unreachable!("a gate has inputs"),
        };
        self.nodes[number] = [wire, Self::NONE];
    }

    /// Adds a gate and returns the wire that it drives. Returns an arbitrary wire once a gate has
    /// been refused.
    fn gate(&mut self, kind: GateKind, wires: [Wire; 2]) -> Wire {
        match self.gates.push_parts(kind, wires) {
            Ok(wire) => wire,
            Err(error) => {
                self.refused.get_or_insert(error);
                0
            }
        }
    }

    fn literal(&mut self, literal: Literal) -> Wire {
        if let Some(value) = literal.as_constant() {
            return self.constant(value);
        }
        let node = literal.node() as usize;
        let [wire, negation] = self.nodes[node];
        if !literal.is_negated() {
            return wire;
        }
        if negation != Self::NONE {
            return negation;
        }
        let negation = self.gate(GateKind::Inv, [wire, 0]);
        self.nodes[node] = [wire, negation];
        negation
    }

    fn constant(&mut self, value: bool) -> Wire {
        if let Some(wire) = self.constants[usize::from(value)] {
            return wire;
        }
        let wire = if value {
            let zero = self.constant(false);
            self.gate(GateKind::Inv, [zero, 0])
        } else {
            self.gate(GateKind::Xor, [0, 0])
        };
        self.constants[usize::from(value)] = Some(wire);
        wire
    }

    fn finish(self, outputs: Vec<Port>, wires: Vec<Wire>) -> Result<Circuit, CircuitError> {
        match self.refused {
            Some(error) => Err(error),
            None => self.gates.finish(outputs, wires),
        }
    }
}
