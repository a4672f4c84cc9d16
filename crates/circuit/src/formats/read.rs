//! Reading Bristol files, in one pass and with bounded memory.
//!
//! EQ and EQW have no gate of their own here: EQW gives a wire a second number, and EQ makes
//! the constants from the first input wire as XOR(w, w) and its INV, once each, where the first
//! EQ stands. MAND becomes its AND gates.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::circuit::Growing;
use crate::{Circuit, CircuitError, Gate, Port, Type, Wire};

use super::lexer::{GateKind, GateLine, Lexer};
use super::wires::DrivenWires;
use super::{BitOrder, BristolFormat};

/// How to read a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// The file's format; `None` finds it out from the header.
    pub format: Option<BristolFormat>,
    /// How the file numbers the bits of its values.
    pub order: BitOrder,
    /// What the file may announce.
    pub limits: Limits,
}

/// What a file may announce before any of it is believed. Memory grows with what is read all the
/// same: at most some 40 bytes for a gate line, and 4 for an output bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most gate lines. At this default a file has some 5 GB.
    pub gates: u32,
    /// Most input bits, and most output bits.
    pub port_bits: u32,
    /// Most input values, and most output values.
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

/// The circuit in a Bristol file.
///
/// # Errors
///
/// [`CircuitError::File`] with line and field where the file breaks its format,
/// [`CircuitError::FileLimit`] where it announces too much, [`CircuitError::Io`] where it cannot
/// be read.
pub fn read_bristol(reader: impl Read, import: &Import) -> Result<Circuit, CircuitError> {
    let mut lexer = Lexer::new(reader);
    let header = Header::read(&mut lexer, import)?;
    let mut body = Body::new(lexer, &header, import.order)?;
    for gate in 0..header.gates {
        if body.lexer.skip_empty_lines()? {
            let expected = format!("gate line {} of {}", gate + 1, header.gates);
            return Err(body
                .lexer
                .error("gate", expected, "the end of the file".to_owned()));
        }
        body.gate()?;
    }
    body.finish(&header, import.order)
}

/// [`read_bristol`] from a file.
///
/// # Errors
///
/// As [`read_bristol`]; [`CircuitError::Io`] names the file.
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

/// What the first lines announce, found within the limits.
struct Header {
    /// The line of the counts.
    line: u64,
    gates: u32,
    wires: u32,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    input_bits: u32,
    output_bits: u32,
}

impl Header {
    fn read<R: Read>(lexer: &mut Lexer<R>, import: &Import) -> Result<Self, CircuitError> {
        let limits = &import.limits;
        lexer.skip_empty_lines()?;
        let first_line = lexer.line();
        let gates = lexer.number("number of gates")?;
        check_limit(first_line, "gates", limits.gates, u64::from(gates))?;
        let wires = lexer.number("number of wires")?;
        check_limit(
            first_line,
            "wires",
            Circuit::MAX_WIRES as u32,
            u64::from(wires),
        )?;
        lexer.end_of_line()?;
        lexer.skip_empty_lines()?;
        let second_line = lexer.line();
        let second = numbers(lexer, "input values", limits)?;
        let is_old = match import.format {
            Some(format) => format == BristolFormat::Old,
            None => is_old_header(lexer, &second)?,
        };
        let field = "widths of values";
        let wrong = |expected: &str| {
            let (expected, found) = (expected.to_owned(), format!("{} numbers", second.len()));
            CircuitError::File {
                line: second_line,
                field,
                expected,
                found,
            }
        };
        let mut third_line = second_line;
        let (inputs, outputs) = if is_old {
            let &[first, second, output] = second.as_slice() else {
                return Err(wrong(
                    "3 numbers: the widths of two inputs and of the output",
                ));
            };
            let inputs = [first, second]
                .into_iter()
                .filter(|&width| width != 0)
                .collect();
            (inputs, vec![output])
        } else {
            let inputs = counted(&second)
                .ok_or_else(|| wrong("the number of input values and as many widths"))?;
            lexer.skip_empty_lines()?;
            third_line = lexer.line();
            let third = numbers(lexer, "output values", limits)?;
            let outputs = counted(&third).ok_or_else(|| {
                let expected = "the number of output values and as many widths".to_owned();
                let found = format!("{} numbers", third.len());
                CircuitError::File {
                    line: third_line,
                    field,
                    expected,
                    found,
                }
            })?;
            (inputs, outputs)
        };
        let input_bits = total(second_line, "input bits", &inputs, limits)?;
        let output_bits = total(third_line, "output bits", &outputs, limits)?;
        // Each gate line drives a wire of its own, and outputs are the last wires.
        let least = (u64::from(input_bits) + u64::from(gates)).max(u64::from(output_bits));
        if u64::from(wires) < least {
            return Err(CircuitError::File {
                line: first_line,
                field: "number of wires",
                expected: format!("{least} at least, for the inputs, gates and outputs announced"),
                found: wires.to_string(),
            });
        }
        Ok(Self {
            line: first_line,
            gates,
            wires,
            inputs,
            outputs,
            input_bits,
            output_bits,
        })
    }
}

/// All numbers of a line.
fn numbers<R: Read>(
    lexer: &mut Lexer<R>,
    field: &'static str,
    limits: &Limits,
) -> Result<Vec<u32>, CircuitError> {
    let mut numbers = vec![lexer.number(field)?];
    while !lexer.is_end_of_line()? {
        check_limit(lexer.line(), "values", limits.ports, numbers.len() as u64)?;
        numbers.push(lexer.number(field)?);
    }
    lexer.end_of_line()?;
    Ok(numbers)
}

/// The widths in a line that starts with their number.
fn counted(numbers: &[u32]) -> Option<Vec<u32>> {
    let (&count, widths) = numbers.split_first()?;
    (count as usize == widths.len()).then(|| widths.to_vec())
}

/// Whether a header is of the old format, by its second line and, where that could be either,
/// the next: in Bristol Fashion it has numbers alone.
fn is_old_header<R: Read>(lexer: &mut Lexer<R>, second: &[u32]) -> Result<bool, CircuitError> {
    if counted(second).is_none() {
        return Ok(second.len() == 3);
    }
    Ok(second.len() == 3 && (lexer.is_end_of_line()? || lexer.line_has_a_letter()?))
}

fn check_limit(line: u64, what: &'static str, limit: u32, found: u64) -> Result<(), CircuitError> {
    if found > u64::from(limit) {
        return Err(CircuitError::FileLimit {
            line,
            what,
            limit: u64::from(limit),
            found,
        });
    }
    Ok(())
}

/// The sum of the widths of values, none of which is 0.
fn total(
    line: u64,
    what: &'static str,
    widths: &[u32],
    limits: &Limits,
) -> Result<u32, CircuitError> {
    if widths.is_empty() || widths.contains(&0) {
        let expected = "at least one value, and no value without bits".to_owned();
        let found = format!("widths {widths:.4?}").chars().take(64).collect();
        return Err(CircuitError::File {
            line,
            field: "widths of values",
            expected,
            found,
        });
    }
    let sum = widths.iter().map(|&width| u64::from(width)).sum();
    check_limit(line, what, limits.port_bits, sum)?;
    Ok(sum as u32)
}

/// What stands at the end of a gate line of one output.
#[derive(Clone, Copy)]
enum Name {
    Xor,
    And,
    Inv,
    Eq,
    Eqw,
}

/// The gates, as they are read.
struct Body<R> {
    lexer: Lexer<R>,
    circuit: Growing,
    inputs: InputWires,
    driven: DrivenWires,
    /// Wires announced.
    wires: u32,
    /// The wires of the constants 0 and 1 once there was an EQ.
    constants: [Option<Wire>; 2],
}

impl<R: Read> Body<R> {
    fn new(lexer: Lexer<R>, header: &Header, order: BitOrder) -> Result<Self, CircuitError> {
        Ok(Self {
            lexer,
            circuit: Growing::new(ports("in", &header.inputs))?,
            inputs: InputWires::new(&header.inputs, header.input_bits, order),
            driven: DrivenWires::new(),
            wires: header.wires,
            constants: [None; 2],
        })
    }

    /// Reads a gate line.
    #[inline]
    fn gate(&mut self) -> Result<(), CircuitError> {
        if let Some(line) = self.lexer.gate_line() {
            return self.usual_gate(&line);
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

    #[inline]
    fn usual_gate(&mut self, line: &GateLine) -> Result<(), CircuitError> {
        let a = self.wire(line.inputs[0], "first input wire")?;
        let b = self.wire(line.inputs[1], "second input wire")?;
        let wire = self.circuit.push(match line.kind {
            GateKind::Xor => Gate::Xor(a, b),
            GateKind::And => Gate::And(a, b),
            GateKind::Inv => Gate::Inv(a),
        })?;
        self.drive(line.output, wire)?;
        self.lexer.finish_gate_line(line);
        Ok(())
    }

    fn gate_of_two(&mut self) -> Result<(), CircuitError> {
        let a = self.input("first input wire")?;
        let b = self.input("second input wire")?;
        let output = self.lexer.number("output wire")?;
        let name = self
            .lexer
            .word("name of the gate", "XOR or AND", |word| match word {
                b"XOR" => Some(Name::Xor),
                b"AND" | b"MAND" => Some(Name::And),
                _ => None,
            })?;
        let gate = if matches!(name, Name::Xor) {
            Gate::Xor(a, b)
        } else {
            Gate::And(a, b)
        };
        let wire = self.circuit.push(gate)?;
        self.drive(output, wire)?;
        self.lexer.end_of_line()
    }

    fn gate_of_one(&mut self) -> Result<(), CircuitError> {
        let a = self.lexer.number("input wire")?;
        let output = self.lexer.number("output wire")?;
        let name = self
            .lexer
            .word("name of the gate", "INV, EQ or EQW", |word| match word {
                b"INV" => Some(Name::Inv),
                b"EQ" => Some(Name::Eq),
                b"EQW" => Some(Name::Eqw),
                _ => None,
            })?;
        let wire = match name {
            Name::Eq => self.constant(a)?,
            Name::Eqw => self.wire(a, "input wire")?,
            _ => {
                let a = self.wire(a, "input wire")?;
                self.circuit.push(Gate::Inv(a))?
            }
        };
        self.drive(output, wire)?;
        self.lexer.end_of_line()
    }

    /// Many ANDs: all first inputs, all second inputs, all outputs. None reads another's output.
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

    /// The circuit's wire for a file's wire that is read.
    #[inline]
    fn wire(&self, number: u32, field: &'static str) -> Result<Wire, CircuitError> {
        let wire = match number.checked_sub(self.inputs.bits) {
            None => Some(self.inputs.wire(number)),
            Some(index) => self.driven.get(index),
        };
        wire.ok_or_else(|| {
            let expected = if number < self.wires {
                "a wire that the inputs or an earlier line drive (gates stand in topological order)"
                    .to_owned()
            } else {
                format!("a wire below {}, the number announced", self.wires)
            };
            self.lexer.error(field, expected, format!("wire {number}"))
        })
    }

    /// Notes that a file's wire is driven by the circuit's.
    #[inline]
    fn drive(&mut self, number: u32, wire: Wire) -> Result<(), CircuitError> {
        let is_new = number < self.wires
            && number
                .checked_sub(self.inputs.bits)
                .is_some_and(|index| self.driven.drive(index, wire));
        if is_new {
            return Ok(());
        }
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
        Err(self.lexer.error("output wire", expected, found))
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
        let driven = u64::from(header.input_bits) + u64::from(self.driven.count());
        if driven != u64::from(header.wires) {
            return Err(CircuitError::File {
                line: header.line,
                field: "number of wires",
                expected: format!("{driven}, which the inputs and gates drive"),
                found: header.wires.to_string(),
            });
        }
        let mut output_wires = Vec::with_capacity(header.output_bits as usize);
        let mut first = header.wires - header.output_bits;
        for &width in &header.outputs {
            for index in 0..width {
                let number = first + order.place(index, width);
                output_wires.push(self.wire(number, "output value")?);
            }
            first += width;
        }
        self.circuit
            .finish(ports("out", &header.outputs), output_wires)
    }
}

/// The circuit's wires for a file's input wires, by the bit order.
struct InputWires {
    /// The first wire of each value, and its width.
    values: Vec<(u32, u32)>,
    bits: u32,
    order: BitOrder,
}

impl InputWires {
    fn new(widths: &[u32], bits: u32, order: BitOrder) -> Self {
        let mut first = 0;
        let value = |&width: &u32| {
            first += width;
            (first - width, width)
        };
        Self {
            values: widths.iter().map(value).collect(),
            bits,
            order,
        }
    }

    fn wire(&self, number: u32) -> Wire {
        let value = self.values.partition_point(|&(first, _)| first <= number) - 1;
        let (first, width) = self.values[value];
        first + self.order.place(number - first, width)
    }
}

/// Ports named by number; the widths are at least 1 and in all at most [`Circuit::MAX_WIRES`].
fn ports(prefix: &str, widths: &[u32]) -> Vec<Port> {
    let port =
        |(i, &width): (usize, &u32)| Port::new(format!("{prefix}{i}"), Type::bits(width as usize));
    widths.iter().enumerate().map(port).collect()
}

#[cfg(test)]
mod tests;
