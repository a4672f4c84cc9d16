//! The cells of one column of a table, in the form of a key.

use std::io::Read;
use std::num::NonZeroUsize;
use std::ops::Range;

use tacit_circuit::WipedTexts;
use tacit_function::join::KeyNormalization;
use tacit_kernels::map_parts;

use super::records::{CsvError, CsvRecords};
use super::unmarked;

/// The least number of cells for which another thread is worth its start.
const LEAST_CELLS: usize = if cfg!(test) { 1 << 4 } else { 1 << 12 };

/// The cells of a column. Private: they are wiped, and `Debug` prints only their number.
#[derive(Default)]
pub struct ColumnCells {
    /// The cell of each row, as it stands in the table.
    cells: WipedTexts,
    /// The normalized cells, if they are not compared as they stand.
    normalized: Option<WipedTexts>,
    /// The line in which each row begins.
    lines: Vec<u64>,
    /// The number of rows that are not kept.
    elsewhere: usize,
}

/// Says of the cell of a row, without the mark of a text, whether the row is kept.
pub type KeepCell<'k> = &'k (dyn Fn(&str) -> bool + Sync);

impl<R: Read> CsvRecords<R> {
    /// Reads the cells of a column of all further records, on `threads` threads, and keeps those of
    /// which `keep` says so. In a table of one column, an empty line is a row with an empty cell,
    /// which is kept, except at the end.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is not CSV, or a cell of the column is not UTF-8.
    pub fn column(
        &mut self,
        column: usize,
        keep: KeepCell<'_>,
        threads: NonZeroUsize,
    ) -> Result<ColumnCells, CsvError> {
        let mut all = ColumnCells::default();
        // The empty lines at the end of the last block: rows, if a record follows.
        let mut empty = 0;
        let read = |mut records: CsvRecords<&mut dyn Read>| {
            let mut cells = ColumnCells::default();
            let behind = cells.read(&mut records, (column, keep), 0).ok()?;
            Some(((cells, behind), records.line() - 1))
        };
        let is_one_column = self.has_one_column();
        let take = |(cells, behind): (ColumnCells, u64), before: u64| {
            if cells.lines.is_empty() && cells.elsewhere == 0 {
                empty += behind;
                return true;
            }
            if is_one_column {
                all.push_empty(before + 1 - empty..before + 1);
            }
            all.append(&cells, before);
            empty = behind;
            true
        };
        self.blocks(threads, read, take);
        all.read(self, (column, keep), empty)?;
        Ok(all)
    }
}

impl ColumnCells {
    /// Reads the cells of a column of all further records, `empty` lines behind a record or others.
    /// Returns the number of empty lines behind the last.
    fn read<R: Read>(
        &mut self,
        records: &mut CsvRecords<R>,
        (column, keep): (usize, KeepCell<'_>),
        mut empty: u64,
    ) -> Result<u64, CsvError> {
        while records.advance()? {
            let line = records.first_line();
            if records.has_one_column() {
                self.push_empty(line - records.empty_before() - empty..line);
            }
            empty = 0;
            let cell = records.text(column)?;
            if keep(unmarked(cell)) {
                self.cells.push(cell.as_bytes());
                self.lines.push(line);
            } else {
                self.elsewhere += 1;
            }
        }
        Ok(records.empty_before() + empty)
    }

    fn push_empty(&mut self, lines: Range<u64>) {
        for line in lines {
            self.cells.push(b"");
            self.lines.push(line);
        }
    }

    /// Appends the cells of a block with `before` lines before it.
    fn append(&mut self, block: &Self, before: u64) {
        self.cells.append(&block.cells);
        self.lines
            .extend(block.lines.iter().map(|line| before + line));
        self.elsewhere += block.elsewhere;
    }

    /// Returns these cells, which are normalized on `threads` threads for comparison.
    #[must_use]
    pub fn normalized(mut self, how: KeyNormalization, threads: NonZeroUsize) -> Self {
        if how == KeyNormalization::None {
            return self;
        }
        let parts = map_parts(self.len(), threads, LEAST_CELLS, |rows| {
            let mut part = WipedTexts::default();
            rows.for_each(|row| part.push(how.apply(self.compared(row)).as_bytes()));
            part
        });
        let mut normalized = WipedTexts::default();
        parts.iter().for_each(|part| normalized.append(part));
        self.normalized = Some(normalized);
        self
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the number of rows that were not kept.
    #[must_use]
    pub fn elsewhere(&self) -> usize {
        self.elsewhere
    }

    /// Returns the line in which a row begins.
    #[must_use]
    pub fn line(&self, row: usize) -> u64 {
        self.lines[row]
    }

    /// Returns the cell of a row, as it stands in the table.
    #[must_use]
    pub fn text(&self, row: usize) -> &str {
        text(&self.cells, row)
    }

    /// Returns the cell of a row as it is compared: normalized, or without the mark of a text, as a
    /// join reads it.
    #[must_use]
    pub fn compared(&self, row: usize) -> &str {
        match &self.normalized {
            Some(normalized) => text(normalized, row),
            None => unmarked(self.text(row)),
        }
    }
}

impl core::fmt::Debug for ColumnCells {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "ColumnCells({})", self.len())
    }
}

/// Returns a text by its number: only texts are pushed.
fn text(texts: &WipedTexts, number: usize) -> &str {
    str::from_utf8(texts.get(number)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::Malformed;
    use super::*;

    /// Returns the line and the cell of each row that is kept, and the number of the others, or the
    /// error. Rows whose cells have a length that leaves `part` divided by three are not kept.
    fn column(
        text: &[u8],
        (place, part): (usize, usize),
        threads: usize,
    ) -> Result<(Vec<(u64, String)>, usize), Malformed> {
        let threads = NonZeroUsize::new(threads).unwrap();
        let mut records = CsvRecords::new(text);
        let wrong = |error| match error {
            CsvError::Malformed(error) => error,
            CsvError::Unreadable(error) => panic!("{error}"),
        };
        assert!(records.advance().map_err(wrong)?);
        let is_kept = |cell: &str| cell.is_empty() || cell.len() % 3 != part;
        let cells = records.column(place, &is_kept, threads).map_err(wrong)?;
        let plain = (0..cells.len()).map(|row| (cells.line(row), cells.text(row).to_owned()));
        let plain: Vec<_> = plain.collect();
        let cells = cells.normalized(KeyNormalization::Email, threads);
        for (row, (_, text)) in plain.iter().enumerate() {
            let expected = KeyNormalization::Email.apply(unmarked(text));
            assert_eq!(cells.compared(row), *expected);
        }
        Ok((plain, cells.elsewhere()))
    }

    /// Rows of odd cells, among which every `every`th is one that `odd` names.
    fn table(head: &str, odd: &[u8], every: usize) -> Vec<u8> {
        let mut text = format!("{head}\n").into_bytes();
        for row in 0..90 {
            if row % every == every - 1 {
                text.extend_from_slice(odd);
            } else {
                text.extend_from_slice(format!("Person {row} of many").as_bytes());
                text.extend_from_slice(if head == "k" { b"\n" } else { b",x\r\n" });
            }
        }
        text
    }

    /// Several threads find the cells, lines and errors of one.
    #[test]
    fn threads_read_a_column_as_one_does() {
        let mut read_well = 0;
        for every in [1, 2, 5, 17, 60, 89, 90, 91] {
            for odd in [
                "",
                "\n",
                "\n\n\n",
                "\r\n\r\n",
                "\"\"\n",
                "\"a\nb\"\n",
                "5\" a\n",
                "\"a",
                "b\rc\n",
                "'=1\n",
                "\u{feff}\n",
                "É\u{301}\n",
                "\u{e9},\n",
                "a,b,c\n",
                "\"x\ny\",\"\n\n\"\n",
            ] {
                for (head, place, part) in [("k", 0, 3), ("k", 0, 1), ("k,v", 0, 2), ("k,v", 1, 3)]
                {
                    let mut text = table(head, odd.as_bytes(), every);
                    if every == 17 {
                        text.extend_from_slice(b"\xff\n");
                    }
                    let expected = column(&text, (place, part), 1);
                    read_well += usize::from(expected.is_ok());
                    for threads in [2, 5] {
                        let text_shown = String::from_utf8_lossy(&text);
                        let found = column(&text, (place, part), threads);
                        assert_eq!(found, expected, "{threads} threads: {text_shown:?}");
                    }
                }
            }
        }
        assert!((130..400).contains(&read_well), "{read_well} have no error");
    }
}
