//! Reads a CSV file as a stream of cells. Wipes what it has read.

use std::io::{self, ErrorKind, Read};

use csv_core::ReadFieldResult;
use zeroize::Zeroizing;

use crate::failure::{Failure, input};

/// The number of bytes of one read.
const CHUNK_BYTES: usize = 64 << 10;

/// The longest cell, in bytes.
const MAX_CELL_BYTES: usize = 1 << 20;

/// A reader's bytes, in chunks.
struct Chunks<R> {
    from: R,
    chunk: Zeroizing<Vec<u8>>,
    at: usize,
    filled: usize,
}

impl<R: Read> Chunks<R> {
    fn new(from: R) -> Self {
        Self {
            from,
            chunk: Zeroizing::new(vec![0; CHUNK_BYTES]),
            at: 0,
            filled: 0,
        }
    }

    /// Returns the rest of the chunk, or the next chunk. At the end it returns nothing.
    fn rest(&mut self) -> io::Result<&[u8]> {
        while self.at == self.filled {
            match self.from.read(&mut self.chunk) {
                Ok(filled) => {
                    (self.at, self.filled) = (0, filled);
                    break;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.chunk[self.at..self.filled])
    }
}

/// The records of a file, read cell by cell.
pub(super) struct Records<'n, R> {
    chunks: Chunks<R>,
    csv: csv_core::Reader,
    /// The file's name in messages.
    name: &'n str,
    cell: Zeroizing<Vec<u8>>,
    cell_bytes: usize,
    /// The number of the current line, from 1.
    line: u64,
    /// Whether the last record ended with a CR, which an LF may still follow.
    after_cr: bool,
    is_ended: bool,
}

impl<'n, R: Read> Records<'n, R> {
    /// Reads the records of `from`, without a byte order mark at the start.
    pub(super) fn new(from: R, name: &'n str) -> Self {
        Self {
            chunks: Chunks::new(from),
            csv: csv_core::Reader::new(),
            name,
            cell: Zeroizing::new(vec![0; MAX_CELL_BYTES]),
            cell_bytes: 0,
            line: 1,
            after_cr: false,
            is_ended: false,
        }
    }

    /// Returns the last cell that was read.
    pub(super) fn cell(&self) -> &[u8] {
        &self.cell[..self.cell_bytes]
    }

    /// Returns the current line: after [`begin`](Self::begin), the one in which a record begins.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Skips empty lines up to the next record, and returns their number.
    pub(super) fn begin(&mut self) -> Result<u64, Failure> {
        let (mut lines, mut is_first) = (0, true);
        loop {
            let rest = self.chunks.rest();
            let rest = rest.map_err(|error| Failure::read(self.name, error))?;
            let ends = rest.iter().take_while(|byte| b"\r\n".contains(byte));
            let taken = ends.clone().count();
            lines += ends.filter(|byte| **byte == b'\n').count() as u64;
            if is_first && self.after_cr && rest.first() == Some(&b'\n') {
                self.line += 1;
                lines -= 1;
            }
            let is_over = taken == 0 || taken < rest.len();
            self.chunks.at += taken;
            is_first = false;
            if is_over {
                break;
            }
        }
        self.after_cr = false;
        self.line += lines;
        Ok(lines)
    }

    /// Reads the next cell, and returns whether it is the last of its record. At the end of the
    /// file it returns nothing.
    pub(super) fn next_cell(&mut self) -> Result<Option<bool>, Failure> {
        self.cell_bytes = 0;
        let begun = self.line;
        loop {
            let rest = self.chunks.rest();
            let rest = rest.map_err(|error| Failure::read(self.name, error))?;
            // The end of the file ends the last record, as the end of a line ends others.
            let ends = rest.is_empty() && !self.is_ended;
            let next = if ends { b"\n" } else { rest };
            let room = &mut self.cell[self.cell_bytes..];
            let (result, taken, given) = self.csv.read_field(next, room);
            self.cell_bytes += given;
            if ends {
                self.is_ended = true;
            } else {
                let taken_bytes = &rest[..taken];
                let lines = taken_bytes.iter().filter(|byte| **byte == b'\n').count();
                self.line += lines as u64;
                self.after_cr = taken_bytes.last() == Some(&b'\r');
                self.chunks.at += taken;
            }
            match result {
                ReadFieldResult::InputEmpty if ends && given > 0 => {
                    return Err(input!(
                        "{}: a quotation mark is opened in line {begun} and never closed",
                        self.name;
                        "write two where a cell has one, and one behind the cell"
                    ));
                }
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::OutputFull => {
                    return Err(input!(
                        "{}: the cell that begins in line {begun} has more than \
                         {MAX_CELL_BYTES} bytes", self.name;
                        "see whether a quotation mark is missing before it"
                    ));
                }
                ReadFieldResult::End => return Ok(None),
                ReadFieldResult::Field { record_end } => return Ok(Some(record_end)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives one byte per read.
    struct Slow<'b>(&'b [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            (into[0], self.0) = (*first, rest);
            Ok(1)
        }
    }

    type Record = (u64, u64, Vec<String>);

    /// Returns for each record the empty lines before it, its line and its cells.
    fn records(from: impl Read) -> Result<Vec<Record>, Failure> {
        let mut records = Records::new(from, "t.csv");
        let mut all = Vec::new();
        loop {
            let empty = records.begin()?;
            let (line, mut cells) = (records.line(), Vec::new());
            loop {
                let Some(is_last) = records.next_cell()? else {
                    return Ok(all);
                };
                cells.push(String::from_utf8_lossy(records.cell()).into_owned());
                if is_last {
                    break;
                }
            }
            all.push((empty, line, cells));
        }
    }

    #[test]
    fn lines_and_cells_are_those_of_people_however_they_come() {
        let text = b"a,b\r\n\"c\nd\",\"e,\"\"f\"\"\"\r\n\r\n\ng,h\ni,";
        let record =
            |empty, line, cells: [&str; 2]| (empty, line, cells.map(str::to_owned).to_vec());
        let expected = [
            record(0, 1, ["a", "b"]),
            record(0, 2, ["c\nd", "e,\"f\""]),
            record(2, 6, ["g", "h"]),
            record(0, 7, ["i", ""]),
        ];
        assert_eq!(records(&text[..]).expect("records"), expected);
        assert_eq!(records(Slow(text)).expect("records"), expected);
        assert_eq!(records(&b""[..]).expect("records"), []);
        assert_eq!(records(&b"\r\n\n"[..]).expect("records"), []);
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for text in ["a\n\"b\nc\n", "a\n\"b", "a\n\""] {
            let refused = records(text.as_bytes()).expect_err("an open mark");
            assert!(refused.to_string().contains("line 2"), "{text:?} {refused}");
        }
        let long = [b"a\n".to_vec(), vec![b'x'; MAX_CELL_BYTES + 1]].concat();
        let refused = records(&long[..]).expect_err("a cell that is too long");
        assert!(refused.to_string().contains("line 2"), "{refused}");
    }
}
