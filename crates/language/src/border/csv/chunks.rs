//! The bytes of a file, in chunks and in whole lines.

use std::io::{self, ErrorKind, Read};

use memchr::{memchr2_iter, memrchr};
use zeroize::Zeroizing;

use super::records::CsvError;

/// The number of bytes of one read.
const CHUNK_BYTES: usize = 64 << 10;
/// The byte order mark that some editors put at the start of a text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A reader's bytes, in chunks, without a byte order mark at the start.
pub(super) struct Chunks<R> {
    from: R,
    chunk: Zeroizing<Vec<u8>>,
    at: usize,
    filled: usize,
    has_begun: bool,
    /// The error of a read whose earlier bytes are not read yet.
    failed: Option<io::Error>,
}

impl<R: Read> Chunks<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            chunk: Zeroizing::new(vec![0; CHUNK_BYTES]),
            at: 0,
            filled: 0,
            has_begun: false,
            failed: None,
        }
    }

    /// Returns these chunks as of bytes that do not begin a file: they have no byte order mark.
    pub(super) fn behind_start(self) -> Self {
        Self {
            has_begun: true,
            ..self
        }
    }

    /// Returns the bytes of the chunk that are not taken yet.
    pub(super) fn held(&self) -> &[u8] {
        &self.chunk[self.at..self.filled]
    }

    /// Takes the next bytes of the chunk.
    pub(super) fn take(&mut self, count: usize) {
        self.at += count;
    }

    /// Reads into the chunk, behind what it has. Returns whether anything came.
    fn read(&mut self) -> Result<bool, CsvError> {
        if let Some(error) = self.failed.take() {
            return Err(CsvError::Unreadable(error));
        }
        let count = read(&mut self.from, &mut self.chunk[self.filled..]);
        let count = count.map_err(CsvError::Unreadable)?;
        self.filled += count;
        Ok(count > 0)
    }

    /// Takes whole lines from the next `most` bytes, or all of them if the file ends there. Takes
    /// nothing if no line ends in them, or they cannot be read.
    pub(super) fn take_lines(&mut self, most: usize) -> Zeroizing<Vec<u8>> {
        if self.failed.is_some() {
            return Zeroizing::default();
        }
        let rest = self.held();
        let mut lines = Zeroizing::new(vec![0; most.max(rest.len())]);
        lines[..rest.len()].copy_from_slice(rest);
        let mut filled = rest.len();
        let mut end = None;
        while filled < lines.len() && end.is_none() {
            match read(&mut self.from, &mut lines[filled..]) {
                Ok(0) => end = Some(filled),
                Ok(count) => filled += count,
                Err(error) => {
                    self.failed = Some(error);
                    end = Some(0);
                }
            }
        }
        let end = end.unwrap_or_else(|| lines_end(&lines));
        self.set(&lines[end..filled]);
        lines.truncate(end);
        lines
    }

    /// Puts taken lines back before what follows them.
    pub(super) fn put_back(&mut self, lines: &[Zeroizing<Vec<u8>>]) {
        let rest = self.held();
        let bytes = lines.iter().map(|lines| lines.len()).sum::<usize>() + rest.len();
        let mut all = Zeroizing::new(Vec::with_capacity(bytes));
        lines.iter().for_each(|lines| all.extend_from_slice(lines));
        all.extend_from_slice(rest);
        self.set(&all);
    }

    /// Sets the bytes that are read next.
    fn set(&mut self, next: &[u8]) {
        if next.len() > self.chunk.len() {
            self.chunk = Zeroizing::new(vec![0; next.len()]);
        }
        self.chunk[..next.len()].copy_from_slice(next);
        (self.at, self.filled) = (0, next.len());
    }

    /// Returns the rest of the chunk, or the next chunk. At the end it returns nothing.
    pub(super) fn rest(&mut self) -> Result<&[u8], CsvError> {
        if !self.has_begun {
            self.has_begun = true;
            while self.filled < MARK.len() && self.read()? {}
            self.at = if self.chunk[..self.filled].starts_with(MARK) {
                MARK.len()
            } else {
                0
            };
        }
        if self.at == self.filled {
            (self.at, self.filled) = (0, 0);
            self.read()?;
        }
        Ok(self.held())
    }
}

/// Reads from a reader, again after each interruption.
fn read(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Returns the end of the last line whose end is not between quotation marks. `bytes` begin with a
/// record. As in `csv_core`, a quotation mark opens a cell only at its start, and two of them are
/// one in an open cell.
fn lines_end(bytes: &[u8]) -> usize {
    if !bytes.contains(&b'"') {
        return memrchr(b'\n', bytes).map_or(0, |last| last + 1);
    }
    let (mut end, mut is_open) = (0, false);
    // The place behind the mark that closed the last cell: one that follows there opens it again.
    let mut closed = 0;
    for place in memchr2_iter(b'"', b'\n', bytes) {
        let is_mark = bytes[place] == b'"';
        if is_mark && is_open {
            (is_open, closed) = (false, place + 1);
        } else if is_mark {
            let begins = place.checked_sub(1).map(|before| bytes[before]);
            is_open = place == closed || begins.is_none_or(|before| b",\r\n".contains(&before));
        } else if !is_open {
            end = place + 1;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of the last whole record, as the reader of records finds it.
    #[test]
    fn lines_end_where_records_do() {
        let end = |text: &str| lines_end(text.as_bytes());
        for (text, rest) in [
            ("a,5\" b\nc\nd", "d"),
            ("\"a\nb\"\nc", "c"),
            ("\"a\"\"\nb\"\n\"c\nd", "\"c\nd"),
            ("\"a\" \"\nb\nc", "c"),
            ("a\"\"\nb,\"\"\nc,\"\"\"\"\nd,\"\"\"\ne\"", "d,\"\"\"\ne\""),
            ("a\r\"b\nc\"\n\"\n", "\"\n"),
            ("\u{feff}\"a\nb", "b"),
            ("\"\"\"\n", "\"\"\"\n"),
            ("\"", "\""),
        ] {
            assert_eq!(&text[end(text)..], rest, "{text:?}");
        }
    }
}
