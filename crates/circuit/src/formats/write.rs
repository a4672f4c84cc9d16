//! Writing Bristol files.
//!
//! A file's outputs are its last wires, each driven by a separate gate. Gates keep their order, and
//! the wires of outputs move to the end. Two INV gates copy an output that is an input, or the same
//! wire as an earlier output, since XOR, AND and INV are the only gates that every reader knows. A
//! circuit that needs no copies is unchanged when it is read again.

use std::io::Write;

use crate::{Circuit, CircuitError, Gate, Port};

use super::{BitOrder, BristolFormat};

/// Writes `circuit` to a Bristol file. Port names and types are lost.
///
/// # Errors
///
/// [`CircuitError::Unwritable`] if the old format cannot represent the circuit's ports,
/// [`CircuitError::Io`] if `writer` fails.
pub fn write_bristol(
    circuit: &Circuit,
    writer: impl Write,
    format: BristolFormat,
    order: BitOrder,
) -> Result<(), CircuitError> {
    let header = header(circuit, format)?;
    let numbering = Numbering::new(circuit, order);
    let mut lines = Lines {
        writer,
        buffer: Vec::with_capacity(2 * BUFFER),
    };
    let gates = circuit.gate_count() + 2 * numbering.copies.len();
    let mut write = || -> std::io::Result<()> {
        let wires = circuit.input_bits() + gates;
        lines
            .buffer
            .extend(format!("{gates} {wires}\n{header}\n\n").bytes());
        for (gate, &output) in circuit
            .gates()
            .zip(&numbering.wires[circuit.input_bits()..])
        {
            let wire = |wire: u32| numbering.wires[wire as usize];
            match gate {
                Gate::Xor(a, b) => lines.gate(b"2 1 ", &[wire(a), wire(b), output], b"XOR\n"),
                Gate::And(a, b) => lines.gate(b"2 1 ", &[wire(a), wire(b), output], b"AND\n"),
                Gate::Inv(a) => lines.gate(b"1 1 ", &[wire(a), output], b"INV\n"),
            }?;
        }
        for &[wire, negated, copy] in &numbering.copies {
            lines.gate(b"1 1 ", &[wire, negated], b"INV\n")?;
            lines.gate(b"1 1 ", &[negated, copy], b"INV\n")?;
        }
        lines.writer.write_all(&lines.buffer)?;
        lines.writer.flush()
    };
    write().map_err(|error| CircuitError::stream(&error))
}

const BUFFER: usize = 1 << 16;

/// Writes gate lines, a buffer at a time.
struct Lines<W> {
    writer: W,
    buffer: Vec<u8>,
}

impl<W: Write> Lines<W> {
    #[inline]
    fn gate(&mut self, counts: &[u8], wires: &[u32], name: &[u8]) -> std::io::Result<()> {
        self.buffer.extend_from_slice(counts);
        wires.iter().for_each(|&wire| self.number(wire));
        self.buffer.extend_from_slice(name);
        if self.buffer.len() >= BUFFER {
            self.writer.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes a number and a space. The formatting machinery would take most of the time.
    #[inline]
    fn number(&mut self, mut number: u32) {
        let mut text = [b' '; 11];
        let mut start = 10;
        loop {
            start -= 1;
            text[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.buffer.extend_from_slice(&text[start..]);
    }
}

/// Returns the lines with the widths of the values.
fn header(circuit: &Circuit, format: BristolFormat) -> Result<String, CircuitError> {
    let widths = |ports: &[Port]| -> String {
        ports
            .iter()
            .map(|port| format!(" {}", port.ty.width()))
            .collect()
    };
    let (inputs, outputs) = (circuit.inputs(), circuit.outputs());
    match format {
        BristolFormat::Fashion => Ok(format!(
            "{}{}\n{}{}",
            inputs.len(),
            widths(inputs),
            outputs.len(),
            widths(outputs)
        )),
        BristolFormat::Old if inputs.len() <= 2 && outputs.len() == 1 => {
            let second = inputs.get(1).map_or(0, |port| port.ty.width());
            let output = outputs[0].ty.width();
            Ok(format!("{} {second} {output}", inputs[0].ty.width()))
        }
        BristolFormat::Old => Err(CircuitError::Unwritable {
            format: "the old Bristol format",
            expected: "one or two input ports and one output port",
            found: format!("{} and {}", inputs.len(), outputs.len()),
        }),
    }
}

/// The file's numbers for the circuit's wires.
struct Numbering {
    /// The file's number for each wire of the circuit.
    wires: Vec<u32>,
    /// For each output that needs a copy, the file's numbers of its wire, of the negation, and of
    /// the output.
    copies: Vec<[u32; 3]>,
}

impl Numbering {
    fn new(circuit: &Circuit, order: BitOrder) -> Self {
        const UNSET: u32 = u32::MAX;
        let inputs = circuit.input_bits();
        let mut wires = vec![UNSET; circuit.wire_count()];
        for (wire, place) in places(circuit.inputs(), order).enumerate() {
            wires[wire] = place;
        }
        // First the output of each wire, then, once the copies are counted, the numbers.
        let places: Vec<u32> = places(circuit.outputs(), order).collect();
        let mut copied = Vec::new();
        for (&wire, &place) in circuit.output_wires().iter().zip(&places) {
            match &mut wires[wire as usize] {
                number if *number == UNSET => *number = UNSET - 1 - place,
                _ => copied.push((wire, place)),
            }
        }
        let total = circuit.wire_count() + 2 * copied.len();
        let first_output = (total - places.len()) as u32;
        let mut next = inputs as u32;
        let is_output = |number: u32| number >= UNSET - (places.len() as u32);
        for number in &mut wires[inputs..] {
            if *number == UNSET {
                *number = next;
                next += 1;
            } else if is_output(*number) {
                *number = first_output + (UNSET - 1 - *number);
            }
        }
        let copy = |(wire, place): (u32, u32)| {
            next += 1;
            [wires[wire as usize], next - 1, first_output + place]
        };
        let copies = copied.into_iter().map(copy).collect();
        Self { wires, copies }
    }
}

/// Returns for each bit of the ports its place in the file, counted over all ports.
fn places(ports: &[Port], order: BitOrder) -> impl Iterator<Item = u32> {
    let mut first = 0;
    ports.iter().flat_map(move |port| {
        let (start, width) = (first, port.ty.width() as u32);
        first += width;
        (0..width).map(move |index| start + order.place(index, width))
    })
}
