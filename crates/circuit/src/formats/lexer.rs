//! Numbers and words of a circuit file, straight from a buffer of bytes.
//!
//! The buffer is all the memory, however long the lines are. A token has at most [`MAX_TOKEN`]
//! bytes, and at least that many are buffered before a token is read, so that the loops over a
//! token's bytes never refill the buffer.

use std::io::{ErrorKind, Read};

use crate::CircuitError;
use crate::circuit::GateKind;

/// The length of the longest number or word, in bytes, including the byte after it. A whole line of
/// a usual gate fits.
const MAX_TOKEN: usize = 64;

const BUFFER: usize = 1 << 16;

/// The line of a gate in its usual form: single spaces between the tokens, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GateLine {
    /// The wires that the gate reads. The one input of an INV is given twice.
    pub(super) inputs: [u32; 2],
    /// The wire that the gate drives.
    pub(super) output: u32,
    /// The gate's kind.
    pub(super) kind: GateKind,
    /// The number of bytes of the line, including its end.
    length: usize,
}

/// Reads tokens and tracks the line number.
pub(super) struct Lexer<R> {
    reader: R,
    buffer: Box<[u8]>,
    /// The start of the unread bytes in the buffer, which are `start..end`.
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

    /// Returns the number of the current line, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Reads a number below 2^32.
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

    /// Returns the gate line at the current position if it has the usual form and is buffered. The
    /// line is not consumed. Any other line, and any error, is left to the functions that read
    /// token by token.
    // A line passed in memory would be read in larger parts than it was written, and a processor
    // stalls on such reads.
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

    /// Consumes the line that [`Lexer::gate_line`] returned.
    #[inline]
    pub(super) fn finish_gate_line(&mut self, line: &GateLine) {
        self.start += line.length;
        self.line += 1;
    }

    /// Reads a word, which must be one of those that `expected` lists.
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

    /// Consumes the end of the line, or of the file.
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

    /// Whether the line has nothing more but a comment, which is skipped.
    #[inline]
    pub(super) fn is_end_of_line(&mut self) -> Result<bool, CircuitError> {
        self.skip_blanks()?;
        match self.buffer[self.start..self.end].first() {
            None | Some(b'\n') => Ok(true),
            Some(b'#' | b'/') => self.skip_comment(),
            Some(_) => Ok(false),
        }
    }

    /// Skips a comment at the current position, `# text` or `// text`, to the end of the line.
    /// Returns whether there was one.
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

    /// Skips lines that hold only a comment. Like missing lines, they do not help to tell the
    /// formats apart.
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

    /// Skips the byte order mark that some editors write at the start of a text.
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

    /// Whether the buffered part of this line contains a letter. Then the line is a gate, not a
    /// header.
    pub(super) fn line_has_a_letter(&mut self) -> Result<bool, CircuitError> {
        self.fill(BUFFER)?;
        let rest = self.buffer[self.start..self.end].iter();
        Ok(rest
            .take_while(|byte| !matches!(byte, b'\n' | b'#' | b'/'))
            .any(u8::is_ascii_alphabetic))
    }

    /// Creates an error about the token at the current position.
    #[cold]
    pub(super) fn unexpected(&self, field: &'static str, expected: &str) -> CircuitError {
        let found = match self.buffer[self.start..self.end].first() {
            None => "the end of the file".to_owned(),
            Some(b'\n') => "the end of the line".to_owned(),
            Some(_) => format!("{:?}", String::from_utf8_lossy(self.token())),
        };
        self.error(field, expected.to_owned(), found)
    }

    /// Creates an error at the current line.
    #[cold]
    pub(super) fn error(
        &self,
        field: &'static str,
        expected: String,
        found: String,
    ) -> CircuitError {
        CircuitError::File {
            line: self.line,
            field,
            expected,
            found,
        }
    }

    /// Returns the text at the current position up to white space, cut to [`MAX_TOKEN`] bytes. At
    /// the end of the file it is empty.
    fn token(&self) -> &[u8] {
        let rest = &self.buffer[self.start..self.end.min(self.start + MAX_TOKEN)];
        let length = rest.iter().position(u8::is_ascii_whitespace);
        &rest[..length.unwrap_or(rest.len())]
    }

    /// Skips white space within the line. Afterwards a whole token is buffered.
    #[inline]
    fn skip_blanks(&mut self) -> Result<(), CircuitError> {
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

    /// Buffers at least `bytes` bytes, or the rest of the file.
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

/// Reads the number of one to nine digits at `start`, which `end` must follow. Returns the number
/// and the position after `end`.
///
/// Eight bytes are handled at once. The first byte that is not a digit ends the digits. These are
/// moved to the upper bytes and added up in pairs, fours and eights. Only the largest circuits need
/// a ninth digit.
#[inline(always)]
fn short_number(window: &[u8; MAX_TOKEN], start: usize, end: u8) -> Option<(u32, usize)> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let bytes = u64::from_le_bytes(*window.get(start..)?.first_chunk()?);
    let digits = bytes ^ (ONES * 0x30);
    // A byte from 0 to 9 plus 0x76 stays below 0x80. A carry affects later bytes only.
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

/// Returns the number of these digits, one a byte, the most significant in the lowest byte.
#[inline(always)]
fn eight_digits(digits: u64) -> u32 {
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) as u32
}

#[cfg(test)]
mod tests;
