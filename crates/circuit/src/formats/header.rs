//! The first lines of a Bristol file: the announced sizes, checked against limits.

use std::io::Read;

use crate::CircuitError;

use super::lexer::Lexer;
use super::{BristolFormat, Import, Limits};

/// The greatest number of wires that a file may announce. A circuit with that many wires and as
/// many outputs compiles.
const MAX_FILE_WIRES: u32 = 1 << 28;

/// The sizes that a file announces.
pub(super) struct Header {
    /// The number of gate lines.
    pub(super) gates: u32,
    /// The number of wires, including those of the inputs.
    pub(super) wires: u32,
    pub(super) inputs: Values,
    pub(super) outputs: Values,
}

/// The input values or the output values.
pub(super) struct Values {
    /// The width of each value in bits, at least 1.
    pub(super) widths: Vec<u32>,
    /// The sum of the widths.
    pub(super) bits: u32,
}

impl Header {
    pub(super) fn read<R: Read>(
        lexer: &mut Lexer<R>,
        import: &Import,
    ) -> Result<Self, CircuitError> {
        lexer.skip_mark()?;
        lexer.skip_empty_lines()?;
        let line = lexer.line();
        let gates = lexer.number("number of gates")?;
        check_limit(line, "gates", import.limits.gates, u64::from(gates))?;
        let wires = lexer.number("number of wires")?;
        check_limit(line, "wires", MAX_FILE_WIRES, u64::from(wires))?;
        lexer.end_of_line()?;
        let (inputs, outputs) = read_values(lexer, import)?;
        // Each gate line drives a new wire, and outputs are the last wires.
        let least = (u64::from(inputs.bits) + u64::from(gates)).max(u64::from(outputs.bits));
        if u64::from(wires) < least {
            let field = "number of wires";
            let expected = format!("{least} at least, for the inputs, gates and outputs announced");
            return Err(CircuitError::File {
                line,
                field,
                expected,
                found: wires.to_string(),
            });
        }
        Ok(Self {
            gates,
            wires,
            inputs,
            outputs,
        })
    }
}

/// Reads the lines with the widths of the values: two in Bristol Fashion, one in the old format.
fn read_values<R: Read>(
    lexer: &mut Lexer<R>,
    import: &Import,
) -> Result<(Values, Values), CircuitError> {
    let limits = &import.limits;
    let (line, first) = read_numbers(lexer, "input values", limits)?;
    let is_old = match import.format {
        Some(format) => format == BristolFormat::Old,
        None => is_old_header(lexer, &first)?,
    };
    if is_old {
        let &[one, two, output] = first.as_slice() else {
            let expected = "3 numbers: the widths of two inputs and of the output";
            return Err(wrong_values(line, expected, &first));
        };
        // Width 0 marks an input that is absent.
        let inputs = [one, two].into_iter().filter(|&width| width != 0).collect();
        let inputs = Values::new(line, "input bits", inputs, limits)?;
        Ok((
            inputs,
            Values::new(line, "output bits", vec![output], limits)?,
        ))
    } else {
        let inputs = counted(&first).ok_or_else(|| wrong_values(line, COUNTED, &first))?;
        let inputs = Values::new(line, "input bits", inputs, limits)?;
        let (line, second) = read_numbers(lexer, "output values", limits)?;
        let outputs = counted(&second).ok_or_else(|| wrong_values(line, COUNTED, &second))?;
        Ok((inputs, Values::new(line, "output bits", outputs, limits)?))
    }
}

impl Values {
    fn new(
        line: u64,
        what: &'static str,
        widths: Vec<u32>,
        limits: &Limits,
    ) -> Result<Self, CircuitError> {
        if widths.is_empty() || widths.contains(&0) {
            let expected = "at least one value, and no value without bits";
            return Err(wrong_values(line, expected, &widths));
        }
        let bits = widths.iter().map(|&width| u64::from(width)).sum();
        check_limit(line, what, limits.port_bits, bits)?;
        Ok(Self {
            widths,
            bits: bits as u32,
        })
    }
}

/// Reads all numbers of the next line that has any, and returns them with the line.
fn read_numbers<R: Read>(
    lexer: &mut Lexer<R>,
    field: &'static str,
    limits: &Limits,
) -> Result<(u64, Vec<u32>), CircuitError> {
    lexer.skip_empty_lines()?;
    let line = lexer.line();
    let mut numbers = vec![lexer.number(field)?];
    while !lexer.is_end_of_line()? {
        check_limit(line, "values", limits.ports, numbers.len() as u64)?;
        numbers.push(lexer.number(field)?);
    }
    lexer.end_of_line()?;
    Ok((line, numbers))
}

const COUNTED: &str = "the number of values and as many widths";

/// Returns the widths in a line that starts with their number.
fn counted(numbers: &[u32]) -> Option<Vec<u32>> {
    let (&count, widths) = numbers.split_first()?;
    (count as usize == widths.len()).then(|| widths.to_vec())
}

/// Whether a header is of the old format, by its second line. If that line fits both formats, the
/// next line decides: in Bristol Fashion it holds only numbers.
fn is_old_header<R: Read>(lexer: &mut Lexer<R>, second: &[u32]) -> Result<bool, CircuitError> {
    let is_undecided = second.len() == 3 && counted(second).is_some();
    if !is_undecided {
        return Ok(second.len() == 3);
    }
    lexer.skip_comment_lines()?;
    Ok(lexer.is_end_of_line()? || lexer.line_has_a_letter()?)
}

fn wrong_values(line: u64, expected: &str, numbers: &[u32]) -> CircuitError {
    let (field, expected) = ("widths of values", expected.to_owned());
    let found = match numbers {
        few if few.len() <= 8 => format!("{few:?}"),
        many => format!("{} numbers", many.len()),
    };
    CircuitError::File {
        line,
        field,
        expected,
        found,
    }
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
