//! Numbers and words of a circuit file, straight from a buffer of bytes.
//!
//! Memory is the buffer alone, however long the lines are. A token is at most [`MAX_TOKEN`]
//! bytes, and at least that many are buffered before one is read, so that the loops over a
//! token's bytes have no refill in them.

use std::io::{ErrorKind, Read};

use crate::CircuitError;
use crate::circuit::GateKind;

/// Longest number or word, in bytes, with the byte behind it. A whole line of a usual gate fits.
const MAX_TOKEN: usize = 64;

const BUFFER: usize = 1 << 16;

/// A line of a gate in its usual form, single spaces and nothing else around the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GateLine {
    /// The wires read; an INV has one, given twice.
    pub(super) inputs: [u32; 2],
    /// The wire driven.
    pub(super) output: u32,
    /// Its kind.
    pub(super) kind: GateKind,
    /// Bytes of the line, its end included.
    length: usize,
}

/// Reads tokens and knows the line.
pub(super) struct Lexer<R> {
    reader: R,
    buffer: Box<[u8]>,
    /// The buffered bytes that are not yet read are `start..end`.
    start: usize,
    end: usize,
    line: u64,
    ended: bool,
}

impl<R: Read> Lexer<R> {
    pub(super) fn new(reader: R) -> Self {
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Self {
            reader,
            buffer,
            start: 0,
            end: 0,
            line: 1,
            ended: false,
        }
    }

    /// The current line, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// A number below 2^32.
    #[inline]
    pub(super) fn number(&mut self, field: &'static str) -> Result<u32, CircuitError> {
        self.skip_blanks()?;
        let mut value = 0_u64;
        let mut length = 0;
        for &byte in &self.buffer[self.start..self.end.min(self.start + 10)] {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = 10 * value + u64::from(digit);
            length += 1;
        }
        let after = self.buffer[..self.end].get(self.start + length).copied();
        let ends = after.is_none_or(|byte| byte.is_ascii_whitespace());
        match u32::try_from(value) {
            Ok(value) if length > 0 && ends => {
                self.start += length;
                Ok(value)
            }
            _ => Err(self.unexpected(field, "a number below 2^32")),
        }
    }

    /// The gate line that stands here, if it has the usual form and is buffered; it stays to be
    /// read. Anything else, an error included, is for the functions that read token by token.
    // Passed in memory, a line would be read in larger parts than it was written in, for which a
    // processor waits.
    #[inline(always)]
    pub(super) fn gate_line(&self) -> Option<GateLine> {
        let window = self.buffer[self.start..self.end].first_chunk()?;
        match window.first_chunk()? {
            b"2 1 " => {
                let (a, at) = short_number(window, 4, b' ')?;
                let (b, at) = short_number(window, at, b' ')?;
                let (output, at) = short_number(window, at, b' ')?;
                let kind = match window.get(at..at + 4)? {
                    b"XOR\n" => GateKind::Xor,
                    b"AND\n" => GateKind::And,
                    _ => return None,
                };
                Some(GateLine {
                    inputs: [a, b],
                    output,
                    kind,
                    length: at + 4,
                })
            }
            b"1 1 " => {
                let (a, at) = short_number(window, 4, b' ')?;
                let (output, at) = short_number(window, at, b' ')?;
                let is_inv = window.get(at..at + 4)? == b"INV\n";
                let (inputs, kind, length) = ([a, a], GateKind::Inv, at + 4);
                is_inv.then_some(GateLine {
                    inputs,
                    output,
                    kind,
                    length,
                })
            }
            _ => None,
        }
    }

    /// Goes past the line that [`Lexer::gate_line`] gave.
    #[inline]
    pub(super) fn finish_gate_line(&mut self, line: &GateLine) {
        self.start += line.length;
        self.line += 1;
    }

    /// A word, which must be one of those that `expected` tells.
    #[inline]
    pub(super) fn word<T>(
        &mut self,
        field: &'static str,
        expected: &str,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<T, CircuitError> {
        self.skip_blanks()?;
        let word = self.token();
        let length = word.len();
        match parse(word) {
            Some(parsed) => {
                self.start += length;
                Ok(parsed)
            }
            None => Err(self.unexpected(field, expected)),
        }
    }

    /// The end of the line, or of the file.
    #[inline]
    pub(super) fn end_of_line(&mut self) -> Result<(), CircuitError> {
        if !self.is_end_of_line()? {
            return Err(self.unexpected("end of line", "nothing more in this line"));
        }
        if self.start < self.end {
            self.start += 1;
            self.line += 1;
        }
        Ok(())
    }

    /// Whether nothing more stands in this line but a comment, behind which it then goes.
    #[inline]
    pub(super) fn is_end_of_line(&mut self) -> Result<bool, CircuitError> {
        self.skip_blanks()?;
        match self.buffer[self.start..self.end].first() {
            None | Some(b'\n') => Ok(true),
            Some(b'#' | b'/') => self.skip_comment(),
            Some(_) => Ok(false),
        }
    }

    /// Goes to the end of the line if a comment stands here, `# text` or `// text`; whether one
    /// does.
    #[cold]
    fn skip_comment(&mut self) -> Result<bool, CircuitError> {
        let rest = &self.buffer[self.start..self.end];
        if !(rest.starts_with(b"#") || rest.starts_with(b"//")) {
            return Ok(false);
        }
        loop {
            let mut rest = self.buffer[self.start..self.end].iter();
            if let Some(end) = rest.position(|byte| *byte == b'\n') {
                self.start += end;
                return Ok(true);
            }
            self.start = self.end;
            if self.ended {
                return Ok(true);
            }
            self.fill(MAX_TOKEN)?;
        }
    }

    /// Skips lines that hold a comment alone, which tell the formats no more apart than no line.
    pub(super) fn skip_comment_lines(&mut self) -> Result<(), CircuitError> {
        loop {
            self.skip_blanks()?;
            if !self.skip_comment()? {
                return Ok(());
            }
            self.end_of_line()?;
            if self.start == self.end {
                return Ok(());
            }
        }
    }

    /// Skips the byte order mark that some editors put before a text.
    pub(super) fn skip_mark(&mut self) -> Result<(), CircuitError> {
        self.fill(MAX_TOKEN)?;
        let starts = self.buffer[self.start..self.end].starts_with("\u{feff}".as_bytes());
        self.start += if starts { '\u{feff}'.len_utf8() } else { 0 };
        Ok(())
    }

    /// Skips empty lines; returns whether the file has ended.
    #[inline]
    pub(super) fn skip_empty_lines(&mut self) -> Result<bool, CircuitError> {
        while self.is_end_of_line()? {
            if self.start == self.end {
                return Ok(true);
            }
            self.start += 1;
            self.line += 1;
        }
        Ok(false)
    }

    /// Whether a letter stands in what is buffered of this line: it is a gate, not a header.
    pub(super) fn line_has_a_letter(&mut self) -> Result<bool, CircuitError> {
        self.fill(BUFFER)?;
        let rest = self.buffer[self.start..self.end].iter();
        Ok(rest
            .take_while(|byte| !matches!(byte, b'\n' | b'#' | b'/'))
            .any(u8::is_ascii_alphabetic))
    }

    /// An error about what stands here.
    #[cold]
    pub(super) fn unexpected(&self, field: &'static str, expected: &str) -> CircuitError {
        let found = match self.buffer[self.start..self.end].first() {
            None => "the end of the file".to_owned(),
            Some(b'\n') => "the end of the line".to_owned(),
            Some(_) => format!("{:?}", String::from_utf8_lossy(self.token())),
        };
        self.error(field, expected.to_owned(), found)
    }

    /// An error at the current line.
    #[cold]
    pub(super) fn error(
        &self,
        field: &'static str,
        expected: String,
        found: String,
    ) -> CircuitError {
        error(self.line, field, expected, found)
    }

    /// What stands here up to white space, cut to [`MAX_TOKEN`] bytes. Nothing if the file ends.
    fn token(&self) -> &[u8] {
        let rest = &self.buffer[self.start..self.end.min(self.start + MAX_TOKEN)];
        let length = rest.iter().position(u8::is_ascii_whitespace);
        &rest[..length.unwrap_or(rest.len())]
    }

    /// Skips white space within the line; afterwards a whole token is buffered.
    #[inline]
    pub(super) fn skip_blanks(&mut self) -> Result<(), CircuitError> {
        loop {
            let rest = &self.buffer[self.start..self.end];
            let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
            let blanks = rest
                .iter()
                .position(|byte| !is_blank(byte))
                .unwrap_or(rest.len());
            self.start += blanks;
            if self.end - self.start >= MAX_TOKEN || self.ended {
                return Ok(());
            }
            self.fill(MAX_TOKEN)?;
        }
    }

    /// Buffers at least `bytes`, or all that there is.
    #[cold]
    fn fill(&mut self, bytes: usize) -> Result<(), CircuitError> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < bytes && !self.ended {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(CircuitError::stream(&error)),
            }
        }
        Ok(())
    }
}

/// An error at a line.
#[cold]
pub(super) fn error(
    line: u64,
    field: &'static str,
    expected: String,
    found: String,
) -> CircuitError {
    CircuitError::File {
        line,
        field,
        expected,
        found,
    }
}

/// The number of one to nine digits at `start`, which `end` must follow, and where that ends.
///
/// Eight bytes at once: the digits are found by the first byte that is none, moved to the upper
/// bytes, and added up in pairs, fours and eights. A ninth digit is for the largest circuits.
#[inline(always)]
fn short_number(window: &[u8; MAX_TOKEN], start: usize, end: u8) -> Option<(u32, usize)> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let bytes = u64::from_le_bytes(*window.get(start..)?.first_chunk()?);
    let digits = bytes ^ (ONES * 0x30);
    // A byte from 0 to 9 plus 0x76 stays below 0x80. A carry reaches later bytes only.
    let others = (digits.wrapping_add(ONES * 0x76) | digits) & (ONES * 0x80);
    let bits = others.trailing_zeros() & !7;
    let length = bits as usize / 8;
    if bits == 0 {
        return None;
    }
    let value = eight_digits(digits << (64 - bits));
    let next = *window.get(start + length)?;
    if next == end {
        return Some((value, start + length + 1));
    }
    let ninth = next.wrapping_sub(b'0');
    let ends = length == 8 && ninth <= 9 && *window.get(start + 9)? == end;
    ends.then_some((10 * value + u32::from(ninth), start + 10))
}

/// The number of these digits, a byte each, the most significant in the lowest byte.
#[inline(always)]
fn eight_digits(digits: u64) -> u32 {
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) as u32
}

#[cfg(test)]
mod tests;
