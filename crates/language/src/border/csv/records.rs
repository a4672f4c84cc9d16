//! Reads CSV as a stream of records (RFC 4180). Holds one record at a time, and wipes what it read.

use std::io::{self, Read};

use csv_core::ReadFieldResult;
use memchr::{memchr, memchr_iter, memchr2};
use zeroize::Zeroizing;

use super::chunks::Chunks;

/// The room for a record at first.
const RECORD_BYTES: usize = 4 << 10;
/// The most bytes of a record: a missing quotation mark makes one of a whole file.
const MAX_RECORD_BYTES: usize = 64 << 20;

/// The reason that a record cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum CsvError {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// The text is not CSV.
    Malformed(Malformed),
}

/// An error in the form of a file, with its line, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// Bytes that are not UTF-8.
    NoUtf8 {
        /// Their line.
        line: u64,
    },
    /// An empty line in a file whose records have one cell. It may be a record or not.
    Empty {
        /// The line.
        line: u64,
    },
    /// A record with another number of cells than the first.
    Cells {
        /// The line in which the record begins.
        line: u64,
        /// Its number of cells.
        found: usize,
        /// That of the first record.
        first: usize,
    },
    /// A quotation mark that is never closed. All text after it would be one cell.
    Open {
        /// The line in which the record begins.
        line: u64,
    },
    /// A record that is too long.
    TooLong {
        /// The line in which the record begins.
        line: u64,
        /// The most bytes of a record.
        most: usize,
    },
}

impl From<Malformed> for CsvError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// The records of a file, one after another, all of one number of cells.
pub struct CsvRecords<R> {
    chunks: Chunks<R>,
    csv: csv_core::Reader,
    /// The cells of the current record without quotes, one after another.
    text: Zeroizing<Vec<u8>>,
    /// The end of each cell in `text`.
    ends: Vec<usize>,
    /// The number of cells of each record, once there is one.
    width: Option<usize>,
    /// The number of the current line, from 1.
    line: u64,
    /// The line in which the current record begins.
    begins: u64,
    /// The number of empty lines before it.
    empty_before: u64,
    is_first: bool,
    /// Whether the last record ended with a CR, which an LF may still follow.
    after_cr: bool,
    is_ended: bool,
}

impl<R: Read> CsvRecords<R> {
    /// Reads the records of `from`.
    pub fn new(from: R) -> Self {
        Self {
            chunks: Chunks::new(from),
            csv: csv_core::Reader::new(),
            text: Zeroizing::new(vec![0; RECORD_BYTES]),
            ends: Vec::new(),
            width: None,
            line: 1,
            begins: 1,
            empty_before: 0,
            is_first: true,
            after_cr: false,
            is_ended: false,
        }
    }

    /// Takes whole lines of records from the next `most` bytes, so that another thread reads them
    /// as [`RecordForm::records`]. Takes nothing if no line ends in them, if the file has ended or
    /// cannot be read, or before the first record.
    pub(super) fn take_lines(&mut self, most: usize) -> Zeroizing<Vec<u8>> {
        if self.after_cr && self.chunks.held().starts_with(b"\n") {
            self.chunks.take(1);
            self.line += 1;
            self.after_cr = false;
        }
        if self.width.is_none() || self.after_cr || self.is_ended {
            return Zeroizing::default();
        }
        self.chunks.take_lines(most)
    }

    /// Puts taken lines back before what follows them, to be read here.
    pub(super) fn put_back(&mut self, lines: &[Zeroizing<Vec<u8>>]) {
        self.chunks.put_back(lines);
    }

    /// Returns the number of the current line, from 1.
    pub(in crate::border) fn line(&self) -> u64 {
        self.line
    }

    /// Counts lines that were taken and read. They had records.
    pub(super) fn count_lines(&mut self, lines: u64) {
        self.line += lines;
        self.is_first = false;
    }

    /// Whether records have one cell each, once the first is read.
    pub(super) fn has_one_column(&self) -> bool {
        self.width == Some(1)
    }

    /// Returns the form of all records, once the first is read.
    pub(super) fn form(&self) -> RecordForm {
        RecordForm { width: self.width }
    }

    /// Reads the next record, and returns whether there is one. Skips empty lines.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not CSV.
    pub fn advance(&mut self) -> Result<bool, CsvError> {
        self.skip_empty_lines()?;
        self.ends.clear();
        if self.plain_record() {
            return self.check_width().map(|()| true);
        }
        let mut filled = 0;
        loop {
            let rest = self.chunks.rest()?;
            // The end of the file ends the last record, as the end of a line ends others.
            let ends = rest.is_empty() && !self.is_ended;
            let next = if ends { b"\n" } else { rest };
            let (result, taken, given) = self.csv.read_field(next, &mut self.text[filled..]);
            filled += given;
            if ends {
                // Without room for it, the end of the line comes once more.
                self.is_ended = !matches!(result, ReadFieldResult::OutputFull);
            } else {
                let taken_bytes = &rest[..taken];
                let lines = taken_bytes.iter().filter(|byte| **byte == b'\n').count();
                self.line += lines as u64;
                self.after_cr = taken_bytes.last() == Some(&b'\r');
                self.chunks.take(taken);
            }
            let line = self.begins;
            match result {
                ReadFieldResult::InputEmpty if ends && given > 0 => {
                    return Err(Malformed::Open { line }.into());
                }
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::OutputFull => self.grow(filled)?,
                ReadFieldResult::End => return Ok(false),
                ReadFieldResult::Field { record_end } => {
                    self.ends.push(filled);
                    if record_end {
                        return self.check_width().map(|()| true);
                    }
                    if filled == self.text.len() || self.ends.len() > MAX_RECORD_BYTES {
                        self.grow(filled)?;
                    }
                }
            }
        }
    }

    /// Reads a record that has no quotation mark and is whole in the chunk, as most are. Returns
    /// whether it did so. The first record, before which `csv` has read nothing, is not read so.
    fn plain_record(&mut self) -> bool {
        let rest = self.chunks.held();
        let Some(end) = memchr(b'\n', rest) else {
            return false;
        };
        let line = &rest[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let is_long = line.len() > self.text.len();
        if self.width.is_none() || is_long || memchr2(b'"', b'\r', line).is_some() {
            return false;
        }
        let (mut begin, mut filled) = (0, 0);
        for comma in memchr_iter(b',', line).chain([line.len()]) {
            let cell = &line[begin..comma];
            self.text[filled..][..cell.len()].copy_from_slice(cell);
            filled += cell.len();
            self.ends.push(filled);
            begin = comma + 1;
        }
        self.chunks.take(end + 1);
        self.line += 1;
        true
    }

    /// Makes room for more of the record, which has `filled` bytes.
    fn grow(&mut self, filled: usize) -> Result<(), CsvError> {
        let (line, most) = (self.begins, MAX_RECORD_BYTES);
        if filled.max(self.ends.len()) >= most {
            return Err(Malformed::TooLong { line, most }.into());
        }
        let mut larger = Zeroizing::new(vec![0; 2 * self.text.len()]);
        larger[..filled].copy_from_slice(&self.text[..filled]);
        self.text = larger;
        Ok(())
    }

    fn check_width(&mut self) -> Result<(), CsvError> {
        let (line, found) = (self.begins, self.ends.len());
        self.is_first = self.width.is_none();
        let first = *self.width.get_or_insert(found);
        if found == first {
            Ok(())
        } else {
            Err(Malformed::Cells { line, found, first }.into())
        }
    }

    fn skip_empty_lines(&mut self) -> Result<(), CsvError> {
        let (mut lines, mut is_first) = (0, true);
        loop {
            let rest = self.chunks.rest()?;
            let ends = rest.iter().take_while(|byte| b"\r\n".contains(byte));
            let taken = ends.clone().count();
            lines += ends.filter(|byte| **byte == b'\n').count() as u64;
            if is_first && self.after_cr && rest.first() == Some(&b'\n') {
                self.line += 1;
                lines -= 1;
            }
            let is_over = taken == 0 || taken < rest.len();
            self.chunks.take(taken);
            is_first = false;
            if is_over {
                break;
            }
        }
        self.after_cr = false;
        self.line += lines;
        (self.begins, self.empty_before) = (self.line, lines);
        Ok(())
    }
}

/// The form of the records behind the first, for other readers of the same file.
pub(super) struct RecordForm {
    width: Option<usize>,
}

impl RecordForm {
    /// Reads records from whole lines that stand behind the first record. Their first line is
    /// line 1.
    pub(super) fn records<R: Read>(&self, lines: R) -> CsvRecords<R> {
        let mut records = CsvRecords::new(lines);
        records.chunks = Chunks::behind_start(records.chunks);
        // The first bytes that this reads may be a byte order mark, which would be left out.
        let _ = records.csv.read_field(b"\n", &mut [0]);
        records.width = self.width;
        records.is_first = false;
        records
    }
}

impl<R> CsvRecords<R> {
    /// Returns the number of cells of the current record.
    #[must_use]
    pub fn width(&self) -> usize {
        self.ends.len()
    }

    /// Returns the line in which the current record begins.
    #[must_use]
    pub fn first_line(&self) -> u64 {
        self.begins
    }

    /// Returns the number of empty lines before the current record.
    #[must_use]
    pub fn empty_before(&self) -> u64 {
        self.empty_before
    }

    /// Returns the bytes of a cell of the current record.
    fn cell(&self, column: usize) -> &[u8] {
        let start = column.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[column]]
    }

    /// Returns a cell of the current record, whose column must exist.
    ///
    /// # Errors
    ///
    /// It is not UTF-8.
    pub fn text(&self, column: usize) -> Result<&str, CsvError> {
        str::from_utf8(self.cell(column)).map_err(|error| {
            let start = column.checked_sub(1).map_or(0, |before| self.ends[before]);
            let before = self.text[..start + error.valid_up_to()].iter();
            let lines = before.filter(|byte| **byte == b'\n').count() as u64;
            Malformed::NoUtf8 {
                line: self.begins + lines,
            }
            .into()
        })
    }

    /// Checks that each cell of the current record is UTF-8, and that no empty line that may be a
    /// record stands before it: the later rows would move up.
    ///
    /// # Errors
    ///
    /// One of these does not hold.
    pub fn check(&self) -> Result<(), CsvError> {
        if self.empty_before > 0 && !self.is_first && self.width == Some(1) {
            let line = self.begins - 1;
            return Err(Malformed::Empty { line }.into());
        }
        (0..self.width()).try_for_each(|column| self.text(column).map(drop))
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

    /// Returns for each record the empty lines before it, its line and its cells.
    fn records(from: impl Read) -> Result<Vec<(u64, u64, Vec<String>)>, Malformed> {
        let mut records = CsvRecords::new(from);
        let mut all = Vec::new();
        let wrong = |error| match error {
            CsvError::Malformed(error) => error,
            CsvError::Unreadable(error) => panic!("{error}"),
        };
        while records.advance().map_err(wrong)? {
            records.check().map_err(wrong)?;
            let cells = (0..records.width()).map(|column| records.text(column).unwrap().to_owned());
            let cells = cells.collect();
            all.push((records.empty_before(), records.first_line(), cells));
        }
        Ok(all)
    }

    fn cells(bytes: &[u8]) -> Result<Vec<Vec<String>>, Malformed> {
        let read = records(bytes)?;
        assert_eq!(records(Slow(bytes)), Ok(read.clone()));
        Ok(read.into_iter().map(|(.., cells)| cells).collect())
    }

    fn owned<const N: usize>(cells: [&str; N]) -> Vec<String> {
        cells.map(str::to_owned).to_vec()
    }

    #[test]
    fn lines_and_cells_are_those_of_people_however_they_come() {
        let text = b"\xef\xbb\xbf\"a\",b\r\n\"c\nd\",\"e,\"\"f\"\"\"\r\n\r\n\ng,h\ni,";
        let expected = vec![
            (0, 1, owned(["a", "b"])),
            (0, 2, owned(["c\nd", "e,\"f\""])),
            (2, 6, owned(["g", "h"])),
            (0, 7, owned(["i", ""])),
        ];
        assert_eq!(records(&text[..]), Ok(expected.clone()));
        assert_eq!(records(Slow(text)), Ok(expected));
        assert_eq!(cells(b""), Ok(vec![]));
        assert_eq!(cells(b"\xef\xbb\xbf"), Ok(vec![]));
        assert_eq!(cells(b"\r\n\n"), Ok(vec![]));
        let odd = Malformed::Cells {
            line: 3,
            found: 1,
            first: 2,
        };
        assert_eq!(cells(b"a,b\nc,d\ne\nf,g").unwrap_err(), odd);
        assert_eq!(
            cells(b"a\n\"b\nc\xff\"").unwrap_err(),
            Malformed::NoUtf8 { line: 3 }
        );
        // Both halves of a character, in two cells.
        assert!(cells(b"\xc3,\xa9\n").is_err());
    }

    /// The rows after the mark would be missing without any sign.
    #[test]
    fn a_quotation_mark_that_is_never_closed_is_refused() {
        let long = format!("a\nb\n\"{}", "x".repeat(RECORD_BYTES));
        assert_eq!(cells(long.as_bytes()), Err(Malformed::Open { line: 3 }));
        for text in [
            "a,b\n1,\"x\n2,y\n3,z\n",
            "a,b\n1,\"x\n2,y",
            "a,b\n1,\"x\"\"\n2,y\n",
            "a\n\"",
        ] {
            let open = Err(Malformed::Open { line: 2 });
            assert_eq!(records(text.as_bytes()), open, "{text:?}");
        }
        assert_eq!(cells(b"a\n\"\""), cells(b"a\n\"\"\n"));
        let rows = cells(b"a,b\n1,\"x\n\"\n2,").map(|rows| rows.len());
        assert_eq!(rows, Ok(3));
    }

    /// An empty line of a column cannot be skipped: the later rows would move up.
    #[test]
    fn an_empty_line_of_a_column_is_refused() {
        for text in ["v\n1\n\n3\n", "v\r\n1\r\n\r\n3"] {
            let empty = Err(Malformed::Empty { line: 3 });
            assert_eq!(records(text.as_bytes()), empty);
        }
        let column = ["v", "1", "3"].map(|cell| owned([cell])).to_vec();
        for text in ["v\n1\n3", "v\r\n1\r\n3\r\n", "\nv\n1\n3\n\n\n"] {
            assert_eq!(cells(text.as_bytes()), Ok(column.clone()), "{text:?}");
        }
        let two = cells(b"a,b\n\n1,2\r\n\r\n3,4");
        assert_eq!(two.map(|records| records.len()), Ok(3));
    }

    /// A record has any length up to the most, and then the reader holds no more of the file.
    #[test]
    fn a_record_is_bounded() {
        let long = "x".repeat(3 * RECORD_BYTES);
        let text = format!("a,b\n{long},{long}\n");
        let read = cells(text.as_bytes()).expect("a long record");
        assert_eq!(read[1], [long.clone(), long]);
        let most = MAX_RECORD_BYTES;
        let endless = b"a\n\"".chain(io::repeat(b'x').take(2 * most as u64));
        let expected = Err(Malformed::TooLong { line: 2, most });
        assert_eq!(records(endless), expected);
    }
}
