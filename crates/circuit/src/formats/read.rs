//! Reading Bristol files, in one pass and with bounded memory.
//!
//! EQ and EQW do not become gates. EQW gives a wire a second number. The first EQ of each constant
//! makes that constant from the first input wire, as XOR(w, w) or its INV. MAND becomes its AND
//! gates.
//!
//! Public files contain more than the formats allow: OR, which becomes a ⊕ b ⊕ ab; NOT for INV;
//! comments, `# text` or `// text`, in lines of their own or after the content of a line; a byte
//! order mark; and announced wires that nothing drives and nothing reads. The writer produces none
//! of these.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::circuit::{GateKind, GrowingCircuit};
use crate::{Circuit, CircuitError, Gate, Port, Type, Wire};

use super::header::{Header, Values};
use super::lexer::{GateLine, Lexer};
use super::wires::DrivenWires;
use super::{BitOrder, BristolFormat};

/// The options of reading a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// The file's format. With `None`, the header decides.
    pub format: Option<BristolFormat>,
    /// The numbering of the bits of the file's values.
    pub order: BitOrder,
    /// The limits on the sizes that the file announces.
    pub limits: Limits,
}

/// The limits on the sizes that a file announces. They are checked before any announced size is
/// used. Memory still grows only with the part that has been read: at most about 90 bytes for a
/// gate line, and 4 for an output bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The greatest number of gate lines. At this default a file has about 5 GB.
    pub gates: u32,
    /// The greatest number of input bits, and of output bits.
    pub port_bits: u32,
    /// The greatest number of input values, and of output values.
    pub ports: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            gates: 1 << 28,
            port_bits: 1 << 24,
            ports: 1 << 16,
        }
    }
}

/// Reads the circuit of a Bristol file.
///
/// # Errors
///
/// [`CircuitError::File`] with line and field if the file breaks its format,
/// [`CircuitError::FileLimit`] if it announces too much, [`CircuitError::Io`] if it cannot be read.
pub fn read_bristol(reader: impl Read, import: &Import) -> Result<Circuit, CircuitError> {
    let mut lexer = Lexer::new(reader);
    let header = Header::read(&mut lexer, import)?;
    let mut body = Body::new(lexer, &header, import.order)?;
    for gate in 1..=header.gates {
        if body.lexer.skip_empty_lines()? {
            let expected = format!("gate line {gate} of {}", header.gates);
            return Err(body
                .lexer
                .error("gate", expected, "the end of the file".to_owned()));
        }
        body.gate()?;
    }
    body.finish(&header, import.order)
}

/// Reads the circuit of the Bristol file at `path`, like [`read_bristol`].
///
/// # Errors
///
/// Those of [`read_bristol`]. [`CircuitError::Io`] names the file.
pub fn read_bristol_file(path: &Path, import: &Import) -> Result<Circuit, CircuitError> {
    let io = |message: String| CircuitError::Io {
        path: path.display().to_string(),
        message,
    };
    let file = File::open(path).map_err(|error| io(error.to_string()))?;
    read_bristol(file, import).map_err(|error| match error {
        CircuitError::Io { message, .. } => io(message),
        other => other,
    })
}

/// The name at the end of a gate line of two inputs.
enum Binary {
    Xor,
    And,
    Or,
}

/// The name at the end of a gate line of one input.
enum Unary {
    Inv,
    Eq,
    Eqw,
}

/// The gates while they are read.
struct Body<R> {
    lexer: Lexer<R>,
    circuit: GrowingCircuit,
    inputs: InputWires,
    driven: DrivenWires,
    /// The number of wires that the file announces.
    wires: u32,
    /// The wires of the constants 0 and 1, once an EQ has made them.
    constants: [Option<Wire>; 2],
}

impl<R: Read> Body<R> {
    fn new(lexer: Lexer<R>, header: &Header, order: BitOrder) -> Result<Self, CircuitError> {
        Ok(Self {
            lexer,
            circuit: GrowingCircuit::new(ports("in", &header.inputs.widths))?,
            inputs: InputWires::new(&header.inputs, order),
            driven: DrivenWires::new(header.wires - header.inputs.bits),
            wires: header.wires,
            constants: [None; 2],
        })
    }

    /// Adds the gate of a line in its usual form.
    #[inline]
    fn usual_gate(&mut self, gate: &GateLine) -> Result<(), CircuitError> {
        let a = self.wire(gate.inputs[0], "first input wire")?;
        let b = self.wire(gate.inputs[1], "second input wire")?;
        let b = if gate.kind == GateKind::Inv { 0 } else { b };
        let wire = self.circuit.push_parts(gate.kind, [a, b])?;
        self.drive(gate.output, wire)
    }

    /// Returns the circuit's wire for a wire of the file that a gate or an output reads.
    #[inline(always)]
    fn wire(&self, number: u32, field: &'static str) -> Result<Wire, CircuitError> {
        let wire = match number.checked_sub(self.inputs.bits) {
            None => Some(self.inputs.wire(number)),
            Some(index) => self.driven.get(index),
        };
        match wire {
            Some(wire) => Ok(wire),
            None => Err(self.undriven(number, field)),
        }
    }

    /// Returns the reason that a wire cannot be read here.
    #[cold]
    fn undriven(&self, number: u32, field: &'static str) -> CircuitError {
        let expected = if number < self.wires {
            "a wire that the inputs or an earlier line drive (gates stand in topological order)"
                .to_owned()
        } else {
            format!("a wire below {}, the number announced", self.wires)
        };
        let found = format!("wire {number}");
        self.lexer.error(field, expected, found)
    }

    /// Records that the circuit's `wire` drives wire `number` of the file.
    #[inline(always)]
    fn drive(&mut self, number: u32, wire: Wire) -> Result<(), CircuitError> {
        let is_new = number < self.wires
            && number
                .checked_sub(self.inputs.bits)
                .is_some_and(|index| self.driven.drive(index, wire));
        if is_new {
            Ok(())
        } else {
            Err(self.not_to_drive(number))
        }
    }

    /// Returns the reason that a wire cannot be driven here.
    #[cold]
    fn not_to_drive(&self, number: u32) -> CircuitError {
        let (bits, wires) = (self.inputs.bits, self.wires);
        let (expected, found) = if number < bits {
            (
                format!("a wire from {bits} on"),
                format!("wire {number}, which is an input"),
            )
        } else if number < wires {
            let found = format!("wire {number}, which an earlier line drives");
            ("a wire that nothing drives yet".to_owned(), found)
        } else {
            let expected = format!("a wire below {wires}, the number announced");
            (expected, format!("wire {number}"))
        };
        self.lexer.error("output wire", expected, found)
    }

    /// Reads a gate line.
    #[inline]
    fn gate(&mut self) -> Result<(), CircuitError> {
        if let Some(gate) = self.lexer.gate_line() {
            self.usual_gate(&gate)?;
            self.lexer.finish_gate_line(&gate);
            return Ok(());
        }
        let inputs = self.lexer.number("number of inputs")?;
        let outputs = self.lexer.number("number of outputs")?;
        match (inputs, outputs) {
            (2, 1) => self.gate_of_two(),
            (1, 1) => self.gate_of_one(),
            _ if outputs > 0 && inputs / 2 == outputs && inputs % 2 == 0 => self.mand(outputs),
            _ => {
                let expected = "2 inputs and 1 output, 1 and 1, or 2n and n for MAND".to_owned();
                let found = format!("{inputs} and {outputs}");
                Err(self
                    .lexer
                    .error("numbers of inputs and outputs", expected, found))
            }
        }
    }

    fn gate_of_two(&mut self) -> Result<(), CircuitError> {
        let a = self.input("first input wire")?;
        let b = self.input("second input wire")?;
        let output = self.lexer.number("output wire")?;
        let name = self
            .lexer
            .word("name of the gate", "XOR, AND or OR", |word| match word {
                b"XOR" => Some(Binary::Xor),
                b"AND" | b"MAND" => Some(Binary::And),
                b"OR" => Some(Binary::Or),
                _ => None,
            })?;
        let circuit = &mut self.circuit;
        let wire = match name {
            Binary::Xor => circuit.push(Gate::Xor(a, b))?,
            Binary::And => circuit.push(Gate::And(a, b))?,
            Binary::Or => {
                let both = circuit.push(Gate::And(a, b))?;
                let one = circuit.push(Gate::Xor(a, b))?;
                circuit.push(Gate::Xor(one, both))?
            }
        };
        self.drive(output, wire)?;
        self.lexer.end_of_line()
    }

    fn gate_of_one(&mut self) -> Result<(), CircuitError> {
        let a = self.lexer.number("input wire")?;
        let output = self.lexer.number("output wire")?;
        let name = self
            .lexer
            .word("name of the gate", "INV, EQ or EQW", |word| match word {
                b"INV" | b"NOT" => Some(Unary::Inv),
                b"EQ" => Some(Unary::Eq),
                b"EQW" => Some(Unary::Eqw),
                _ => None,
            })?;
        let wire = match name {
            Unary::Eq => self.constant(a)?,
            Unary::Eqw => self.wire(a, "input wire")?,
            Unary::Inv => {
                let a = self.wire(a, "input wire")?;
                self.circuit.push(Gate::Inv(a))?
            }
        };
        self.drive(output, wire)?;
        self.lexer.end_of_line()
    }

    /// Reads a MAND line, which is many ANDs: all first inputs, all second inputs, all outputs.
    /// None reads another's output.
    fn mand(&mut self, outputs: u32) -> Result<(), CircuitError> {
        let mut first = Vec::new();
        for _ in 0..outputs {
            first.push(self.input("first input wires")?);
        }
        let mut gates = Vec::new();
        for a in first {
            gates.push(Gate::And(a, self.input("second input wires")?));
        }
        for gate in gates {
            let output = self.lexer.number("output wires")?;
            let wire = self.circuit.push(gate)?;
            self.drive(output, wire)?;
        }
        let mand = |word: &[u8]| (word == b"MAND").then_some(());
        self.lexer.word("name of the gate", "MAND", mand)?;
        self.lexer.end_of_line()
    }

    #[inline]
    fn input(&mut self, field: &'static str) -> Result<Wire, CircuitError> {
        let number = self.lexer.number(field)?;
        self.wire(number, field)
    }

    fn constant(&mut self, value: u32) -> Result<Wire, CircuitError> {
        if value > 1 {
            let found = value.to_string();
            return Err(self.lexer.error("constant", "0 or 1".to_owned(), found));
        }
        if let Some(wire) = self.constants[value as usize] {
            return Ok(wire);
        }
        let wire = match value {
            0 => self.circuit.push(Gate::Xor(0, 0))?,
            _ => {
                let zero = self.constant(0)?;
                self.circuit.push(Gate::Inv(zero))?
            }
        };
        self.constants[value as usize] = Some(wire);
        Ok(wire)
    }

    fn finish(mut self, header: &Header, order: BitOrder) -> Result<Circuit, CircuitError> {
        if !self.lexer.skip_empty_lines()? {
            let expected = format!("the end of the file after {} gate lines", header.gates);
            return Err(self.lexer.unexpected("end of file", &expected));
        }
        let mut output_wires = Vec::with_capacity(header.outputs.bits as usize);
        let mut first = header.wires - header.outputs.bits;
        for &width in &header.outputs.widths {
            for index in 0..width {
                let number = first + order.place(index, width);
                output_wires.push(self.wire(number, "output value")?);
            }
            first += width;
        }
        self.circuit
            .finish(ports("out", &header.outputs.widths), output_wires)
    }
}

/// The circuit's wires for a file's input wires, given the bit order.
struct InputWires {
    /// The first wire of each value, and the width of the value.
    values: Vec<(u32, u32)>,
    bits: u32,
    order: BitOrder,
}

impl InputWires {
    fn new(inputs: &Values, order: BitOrder) -> Self {
        let mut first = 0;
        let value = |&width: &u32| {
            first += width;
            (first - width, width)
        };
        Self {
            values: inputs.widths.iter().map(value).collect(),
            bits: inputs.bits,
            order,
        }
    }

    fn wire(&self, number: u32) -> Wire {
        let value = self.values.partition_point(|&(first, _)| first <= number) - 1;
        let (first, width) = self.values[value];
        first + self.order.place(number - first, width)
    }
}

/// Returns numbered ports. The widths are at least 1 and add up to at most [`Circuit::MAX_WIRES`].
fn ports(prefix: &str, widths: &[u32]) -> Vec<Port> {
    let port =
        |(i, &width): (usize, &u32)| Port::new(format!("{prefix}{i}"), Type::bits(width as usize));
    widths.iter().enumerate().map(port).collect()
}

#[cfg(test)]
mod tests;
