//! Functions for tests of runs over XOR shares: the frozen ones and random ones, with inputs of
//! either party, shared by both, and public.

mod arrays;
mod frozen;
mod random;

use std::collections::BTreeMap;

use tacit_circuit::{Circuit, Component, Gate, Owners, Port, Type};

use crate::schedule::Limits;
use crate::{Function, FunctionBuilder, Operand, Part, Recipient, Role};
pub use arrays::array_sample;
pub use frozen::{FrozenSchedule, frozen_schedules};
pub use random::random_sample;
#[cfg(test)]
pub(crate) use random::{Draws, OWNERS, circuit};

/// A function over XOR shares, with shares of its inputs.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The function. The owners that its inputs name have no meaning.
    pub function: Function,
    /// The owners of its inputs.
    pub owners: Vec<Owners>,
    /// Both parties' shares of each bit of the inputs, in port order. For a public bit, its value.
    pub shares: Vec<[bool; 2]>,
    /// The limits, which determine J and refills.
    pub limits: Limits,
}

impl Sample {
    /// Iterates over the owners of each bit of the inputs.
    pub fn owners_of_bits(&self) -> impl Iterator<Item = Owners> {
        let inputs = self.function.inputs().iter().zip(&self.owners);
        inputs.flat_map(|(input, owners)| std::iter::repeat_n(*owners, input.port.ty.width()))
    }

    /// Returns the results in the clear, in port order.
    pub fn evaluate(&self) -> Vec<bool> {
        let inputs = self.shares.iter().zip(self.owners_of_bits());
        let value = |([a, b], owners): (&[bool; 2], Owners)| *a ^ (*b && !owners.is_public());
        self.function
            .evaluate(&inputs.map(value).collect::<Vec<_>>())
    }

    /// Returns the numbers of the outputs that go to a party.
    pub fn outputs_to(&self, role: Role) -> Vec<usize> {
        let outputs = self.function.outputs().iter().enumerate();
        let to = outputs.filter(|(_, output)| output.recipient.includes(role));
        to.map(|(number, _)| number).collect()
    }
}

/// The number of a bit of a function. Inputs come first, in port order, followed by the results of
/// each call. The last two numbers are the constants 0 and 1.
type Bit = u32;

const CONSTANTS: [Bit; 2] = [u32::MAX - 1, u32::MAX];

/// A circuit: the widths of its input ports, its gates, and the wires of its output ports.
#[derive(Clone, Debug, Default)]
pub(crate) struct CircuitShape {
    pub(crate) inputs: Vec<u32>,
    gates: Vec<Gate>,
    pub(crate) outputs: Vec<Vec<u32>>,
}

/// A function, described by the bits that it reads.
#[derive(Clone, Debug, Default)]
struct FunctionShape {
    inputs: Vec<(Owners, u32)>,
    circuits: Vec<CircuitShape>,
    /// For each call, its circuit and the bits of each port.
    calls: Vec<(usize, Vec<Vec<Bit>>)>,
    outputs: Vec<(Recipient, Vec<Bit>)>,
}

/// Returns ports of these widths.
fn ports(widths: impl Iterator<Item = u32>) -> Vec<Port> {
    let ports = widths.enumerate();
    ports
        .map(|(i, width)| Port::new(format!("p{i}"), Type::bits(width as usize)))
        .collect()
}

impl CircuitShape {
    pub(crate) fn build(&self) -> Circuit {
        let inputs = ports(self.inputs.iter().copied());
        let outputs = ports(self.outputs.iter().map(|port| port.len() as u32));
        let gates = self.gates.iter().copied();
        Circuit::new(inputs, outputs, gates, self.outputs.concat()).expect("a circuit")
    }
}

impl FunctionShape {
    fn build(&self) -> Function {
        let mut builder = FunctionBuilder::new("sample");
        // Maps the first bit of each value to its name and width.
        let mut values = BTreeMap::new();
        let mut bits = 0;
        for (number, (_, width)) in self.inputs.iter().enumerate() {
            let name = format!("i{number}");
            builder.input(&name, &format!("bits[{width}]"), Role::Garbler);
            values.insert(bits, (name, *width));
            bits += width;
        }
        for (number, circuit) in self.circuits.iter().enumerate() {
            let name = format!("f{number}");
            builder.component(&name, Component::new(&name, circuit.build()));
        }
        for (number, (circuit, arguments)) in self.calls.iter().enumerate() {
            let mut targets = Vec::new();
            let arguments = arguments.iter().map(|bits| operand(&values, bits));
            let arguments: Vec<Operand> = arguments.collect();
            for (port, wires) in self.circuits[*circuit].outputs.iter().enumerate() {
                let (name, width) = (format!("v{number}_{port}"), wires.len() as u32);
                builder.value(&name, &format!("bits[{width}]"));
                targets.push(Part::of(&name));
                values.insert(bits, (name, width));
                bits += width;
            }
            builder.call(targets, &format!("f{circuit}"), arguments);
        }
        for (number, (to, bits)) in self.outputs.iter().enumerate() {
            let (name, ty) = (format!("o{number}"), format!("bits[{}]", bits.len()));
            builder.output(&name, &ty, *to, operand(&values, bits));
        }
        builder.finish().expect("a function")
    }
}

/// Joins these bits into an operand. Bits that are consecutive in a value become one part.
fn operand(values: &BTreeMap<Bit, (String, u32)>, bits: &[Bit]) -> Operand {
    let place = |bit: Bit| {
        let (first, (name, width)) = values.range(..=bit).next_back().expect("a value");
        (name, *width, bit - first)
    };
    let follows = |a: &Bit, b: &Bit| {
        let is_constant = CONSTANTS.contains(a) || CONSTANTS.contains(b);
        !is_constant && a + 1 == *b && place(*b).2 > 0
    };
    let parts = bits.chunk_by(follows).map(|run| match run[0] {
        bit if CONSTANTS.contains(&bit) => {
            Operand::typed(i128::from(bit == CONSTANTS[1]), Type::bits(1))
        }
        bit => {
            let (name, width, at) = place(bit);
            let length = run.len() as u32;
            let part = Part::of(name);
            if length == width {
                part.into()
            } else {
                let (from, to) = (u64::from(at), u64::from(at + length));
                part.range(from, to).into()
            }
        }
    });
    parts.reduce(Operand::then).expect("a bit")
}
