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

    /// Whether nothing more stands in this line.
    #[inline]
    pub(super) fn is_end_of_line(&mut self) -> Result<bool, CircuitError> {
        self.skip_blanks()?;
        Ok(self.start == self.end || self.buffer[self.start] == b'\n')
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
            .take_while(|&&byte| byte != b'\n')
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
mod tests {
    use super::*;

    /// Gives one byte at each read.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            buffer[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn tokens_and_lines_come_out_however_the_bytes_come_in() {
        let text = b"12 4294967295\tAND \r\n\n \n7";
        let mut lexer = Lexer::new(Trickle(text));
        assert_eq!(lexer.number("a"), Ok(12));
        assert_eq!(lexer.number("b"), Ok(u32::MAX));
        assert_eq!(
            lexer.word("c", "AND", |word| (word == b"AND").then_some(1)),
            Ok(1)
        );
        assert_eq!(lexer.end_of_line(), Ok(()));
        assert_eq!(lexer.skip_empty_lines(), Ok(false));
        assert_eq!(lexer.line(), 4);
        assert_eq!(lexer.number("d"), Ok(7));
        assert_eq!(lexer.skip_empty_lines(), Ok(true));
        let error = lexer.number("e").unwrap_err().to_string();
        assert_eq!(
            error,
            "line 4, e: expected a number below 2^32, found the end of the file"
        );
    }

    #[test]
    fn lines_longer_than_the_buffer_are_read() {
        let text = format!(
            "{}5{}6\n7",
            " ".repeat(3 * BUFFER),
            " ".repeat(2 * BUFFER - 1)
        );
        let mut lexer = Lexer::new(text.as_bytes());
        assert_eq!((lexer.number("a"), lexer.number("b")), (Ok(5), Ok(6)));
        assert_eq!(lexer.end_of_line(), Ok(()));
        assert_eq!((lexer.number("c"), lexer.line()), (Ok(7), 2));
    }

    #[test]
    fn what_is_no_number_is_named() {
        let cases = [
            ("4294967296", "\"4294967296\""),
            ("99999999999", "\"99999999999\""),
            ("-1", "\"-1\""),
            ("0x1", "\"0x1\""),
            ("12a", "\"12a\""),
            ("\n", "the end of the line"),
            ("\u{7f}\u{e9}", "\"\\u{7f}é\""),
            (&"1".repeat(100), &format!("\"{}\"", "1".repeat(64))),
        ];
        for (text, found) in cases {
            let error = Lexer::new(text.as_bytes())
                .number("gates")
                .unwrap_err()
                .to_string();
            assert_eq!(
                error,
                format!("line 1, gates: expected a number below 2^32, found {found}")
            );
        }
    }

    #[test]
    fn gate_lines_of_the_usual_form_are_read_whole() {
        let line = |text: &str| {
            let mut lexer = Lexer::new(
                format!("{text}{}", " ".repeat(MAX_TOKEN))
                    .into_bytes()
                    .leak() as &[u8],
            );
            lexer.skip_empty_lines().unwrap();
            lexer
                .gate_line()
                .map(|line| (line.inputs, line.output, line.kind, line.length))
        };
        let known = [
            ("2 1 0 9 10 XOR\n", [0, 9], 10, GateKind::Xor),
            (
                "2 1 1234567 98 7654321 AND\n",
                [1_234_567, 98],
                7_654_321,
                GateKind::And,
            ),
            (
                "2 1 12345678 123456789 999999999 XOR\n",
                [12_345_678, 123_456_789],
                999_999_999,
                GateKind::Xor,
            ),
            (
                "1 1 100 9999999 INV\n",
                [100, 100],
                9_999_999,
                GateKind::Inv,
            ),
        ];
        for (text, inputs, output, kind) in known {
            assert_eq!(
                line(text),
                Some((inputs, output, kind, text.len())),
                "{text}"
            );
        }
        let others = [
            "2 1 0 1 1234567890 XOR\n",
            "2 1 0 1 2 XOR \n",
            "2 1 0 1 2 XOR\r\n",
            "2 1 0  1 2 XOR\n",
            "2 1 0 1 2 INV\n",
            "1 1 0 2 XOR\n",
            "1 1 0 1 2 INV\n",
            "2 1 0 a 2 XOR\n",
            "2 1 : 1 2 XOR\n",
            "2 1 / 1 2 XOR\n",
            "4 2 0 1 2 3 4 5 MAND\n",
            "2 1 1\u{ff} 1 2 XOR\n",
            "2 1 ",
        ];
        for text in others {
            assert_eq!(line(text), None, "{text:?}");
        }
    }

    #[test]
    fn short_numbers_of_every_length() {
        let digits = "9182736450";
        for length in 1..=10 {
            let mut window = [b' '; MAX_TOKEN];
            window[3..3 + length].copy_from_slice(&digits.as_bytes()[..length]);
            let value = digits[..length].parse().unwrap_or(0);
            let expected = (length <= 9).then_some((value, length + 4));
            assert_eq!(short_number(&window, 3, b' '), expected);
            assert_eq!(short_number(&window, 3, b'\n'), None);
        }
    }

    #[test]
    fn a_failing_reader_is_an_error() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("the disk is gone"))
            }
        }
        let error = Lexer::new(Failing).number("gates").unwrap_err();
        assert!(matches!(error, CircuitError::Io { .. }), "{error}");
        assert!(error.to_string().contains("the disk is gone"), "{error}");
    }
}
