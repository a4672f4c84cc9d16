//! CSV as records of cells (RFC 4180). Their bytes are a party's inputs or results and are wiped
//! when dropped.
//!
//! A text that a spreadsheet would run as a formula may come from the peer. It is written with an
//! apostrophe before it, which a spreadsheet takes as the mark of a text, and read without it. The
//! characters are those of OWASP's page on CSV injection.

use csv_core::ReadFieldResult;
use zeroize::{Zeroize, Zeroizing};

/// The form of texts that a spreadsheet would run as a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvTexts {
    /// An apostrophe before the text.
    Marked,
    /// The plain text, for programs that compare texts.
    Plain,
}

/// An error in the form of a file, with its line, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    NoUtf8 {
        line: u64,
    },
    /// An empty line in a file whose records have one cell. It may be a record or not.
    Empty {
        line: u64,
    },
    Cells {
        line: u64,
        found: usize,
        first: usize,
    },
    /// A quotation mark that is never closed. All text after it would be one cell.
    Open {
        line: u64,
    },
}

/// The records of a file in order, all of one length.
pub(super) struct Records {
    /// The cells without quotes, one after another.
    text: Zeroizing<Vec<u8>>,
    /// The end of each cell in `text`.
    ends: Vec<usize>,
    /// The line in which each record starts.
    lines: Vec<u64>,
}

impl Records {
    /// Reads `bytes`.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if let Err(error) = str::from_utf8(bytes) {
            let before = bytes[..error.valid_up_to()].iter();
            let line = 1 + before.filter(|byte| **byte == b'\n').count() as u64;
            return Err(Malformed::NoUtf8 { line });
        }
        let mut records = Self {
            // A cell is never longer than its text in the file, so that this buffer never moves and
            // is never full.
            text: Zeroizing::new(vec![0; bytes.len() + 2]),
            ends: Vec::new(),
            lines: Vec::new(),
        };
        let mut reader = csv_core::Reader::new();
        let (mut rest, mut end, mut first) = (bytes, 0, None);
        let (mut line, mut counted, mut begins) = (1, 0, true);
        let mut is_ended = false;
        loop {
            if begins {
                // Empty lines are skipped unless they could be records.
                let next = rest.iter().position(|byte| !b"\r\n".contains(byte));
                let at = bytes.len() - rest.len();
                let start = at + next.unwrap_or(rest.len());
                let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
                // The reader does not consume the LF of the last record's CR LF.
                let is_rest = at > 0 && bytes[..at].ends_with(b"\r") && rest.starts_with(b"\n");
                let empty = lines(&bytes[at..start]) - usize::from(is_rest);
                line += lines(&bytes[counted..start]) as u64;
                (counted, begins) = (start, false);
                if empty > 0 && next.is_some() && first == Some(1) {
                    return Err(Malformed::Empty { line: line - 1 });
                }
            }
            // The last record ends with its line, like all others.
            let ends = rest.is_empty() && !is_ended;
            let next = if ends { b"\n" } else { rest };
            let (result, taken, given) = reader.read_field(next, &mut records.text[end..]);
            rest = rest.get(taken..).unwrap_or_default();
            end += given;
            is_ended |= ends;
            match result {
                ReadFieldResult::InputEmpty if ends && given > 0 => {
                    return Err(Malformed::Open { line });
                }
                // The rest is empty: nothing follows.
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::OutputFull | ReadFieldResult::End => return Ok(records),
                ReadFieldResult::Field { record_end } => {
                    records.ends.push(end);
                    if !record_end {
                        continue;
                    }
                    let before = records.lines.len() * first.unwrap_or(0);
                    let found = records.ends.len() - before;
                    let first = *first.get_or_insert(found);
                    if found != first {
                        return Err(Malformed::Cells { line, found, first });
                    }
                    records.lines.push(line);
                    begins = true;
                }
            }
        }
    }

    /// Returns the number of cells of each record.
    pub(super) fn width(&self) -> usize {
        self.ends.len() / self.lines.len().max(1)
    }

    /// Returns the number of records.
    pub(super) fn count(&self) -> usize {
        self.lines.len()
    }

    /// Returns the line in which a record starts.
    pub(super) fn line(&self, record: usize) -> u64 {
        self.lines[record]
    }

    /// Returns a cell, whose record and column must exist.
    pub(super) fn cell(&self, record: usize, column: usize) -> &str {
        let number = record * self.width() + column;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        str::from_utf8(&self.text[start..self.ends[number]]).unwrap_or_default()
    }
}

/// Whether a spreadsheet takes a text with this start for a formula.
fn begins_formula(text: &str) -> bool {
    let signs = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    text.starts_with(signs)
}

/// Whether a text has or needs the mark of a text. Existing marks are stripped first.
fn is_marked(text: &str) -> bool {
    begins_formula(text.trim_start_matches('\''))
}

/// Returns a text in the form of a cell.
pub(super) fn marked(mut text: String) -> String {
    if is_marked(&text) {
        let cell = format!("'{text}");
        text.zeroize();
        return cell;
    }
    text
}

/// Returns the text of a cell.
pub(super) fn unmarked(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if is_marked(text) => text,
        _ => cell,
    }
}

/// Writes records and wipes them.
pub(super) fn write(records: Vec<Vec<String>>) -> Vec<u8> {
    let cells = records.iter().flatten();
    // The capacity suffices if every character is a quotation mark, so that the buffer never moves.
    let most: usize = cells.map(|cell| 2 * cell.len() + 3).sum();
    let mut bytes = Vec::with_capacity(most + records.len());
    for record in records {
        let is_alone = record.len() == 1;
        for (place, mut cell) in record.into_iter().enumerate() {
            if place > 0 {
                bytes.push(b',');
            }
            let needs_quotes = cell.contains([',', ';', '\t', '"', '\n', '\r']);
            match needs_quotes || (is_alone && cell.is_empty()) {
                true => {
                    bytes.push(b'"');
                    for byte in cell.bytes() {
                        bytes.extend_from_slice(if byte == b'"' { b"\"\"" } else { &[] });
                        bytes.extend((byte != b'"').then_some(byte));
                    }
                    bytes.push(b'"');
                }
                false => bytes.extend_from_slice(cell.as_bytes()),
            }
            cell.zeroize();
        }
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(bytes: &[u8]) -> Result<Vec<Vec<String>>, Malformed> {
        let records = Records::parse(bytes)?;
        let cell = |record, column| records.cell(record, column).to_owned();
        let record = |record| {
            (0..records.width())
                .map(|column| cell(record, column))
                .collect()
        };
        Ok((0..records.count()).map(record).collect())
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        let records = [
            ["a", "b,c", "\"d\""],
            ["", "é\ne", "\r"],
            [" f ", "'", "\"\"\""],
        ];
        let records = records
            .map(|record| record.map(str::to_owned).to_vec())
            .to_vec();
        assert_eq!(cells(&write(records.clone())), Ok(records));
        let alone = vec![vec![String::new()], vec!["x".to_owned()]];
        assert_eq!(write(alone.clone()), b"\"\"\nx\n");
        assert_eq!(cells(&write(alone.clone())), Ok(alone));
    }

    #[test]
    fn lines_are_counted_as_people_count_them() {
        let records = Records::parse(b"\xef\xbb\xbfa,b\r\n\"c\nd\",e\r\nf,g").expect("records");
        let lines: Vec<_> = (0..3).map(|record| records.line(record)).collect();
        assert_eq!((lines, records.cell(2, 1)), (vec![1, 2, 4], "g"));
        assert_eq!(cells(b""), Ok(vec![]));
        let odd = Malformed::Cells {
            line: 3,
            found: 1,
            first: 2,
        };
        assert_eq!(cells(b"a,b\nc,d\ne\nf,g"), Err(odd));
        assert_eq!(cells(b"a\nb\xff"), Err(Malformed::NoUtf8 { line: 2 }));
    }

    /// The rows after the mark would be missing without any sign.
    #[test]
    fn a_quotation_mark_that_is_never_closed_is_refused() {
        for text in [
            "a,b\n1,\"x\n2,y\n3,z\n",
            "a,b\n1,\"x\n2,y",
            "a,b\n1,\"x\"\"\n2,y\n",
        ] {
            let open = Err(Malformed::Open { line: 2 });
            assert_eq!(cells(text.as_bytes()), open, "{text:?}");
        }
        assert_eq!(cells(b"a\n\""), Err(Malformed::Open { line: 2 }));
        assert_eq!(cells(b"a\n\"\""), cells(b"a\n\"\"\n"));
        let rows = cells(b"a,b\n1,\"x\n\"\n2,").map(|rows| rows.len());
        assert_eq!(rows, Ok(3));
    }

    /// An empty line of a column cannot be skipped: the later rows would move up.
    #[test]
    fn an_empty_line_of_a_column_is_refused() {
        for text in ["v\n1\n\n3\n", "v\r\n1\r\n\r\n3"] {
            assert_eq!(cells(text.as_bytes()), Err(Malformed::Empty { line: 3 }));
        }
        let column = ["v", "1", "3"].map(|cell| vec![cell.to_owned()]).to_vec();
        for text in ["v\n1\n3", "v\r\n1\r\n3\r\n", "\nv\n1\n3\n\n\n"] {
            assert_eq!(cells(text.as_bytes()), Ok(column.clone()), "{text:?}");
        }
        let two = cells(b"a,b\n\n1,2\r\n\r\n3,4");
        assert_eq!(two.map(|records| records.len()), Ok(3));
    }

    /// A spreadsheet runs no text from the peer, and written texts are read back unchanged.
    #[test]
    fn no_cell_is_a_formula() {
        for text in [
            "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "''-x",
        ] {
            let cell = marked(text.to_owned());
            assert!(cell.starts_with('\'') && cell != text, "{text:?}");
            assert_eq!(unmarked(&cell), text);
        }
        for text in ["", "a=1", " =1", "'", "'quoted'", "O'Neill", "1-2", "''"] {
            assert_eq!(marked(text.to_owned()), text);
            assert_eq!(unmarked(text), text);
        }
    }
}
