//! CSV as records of cells (RFC 4180). Their bytes are a party's inputs or results and are wiped
//! when dropped.
//!
//! A text that a spreadsheet would run as a formula may come from the peer. It is written with an
//! apostrophe before it, which a spreadsheet takes as the mark of a text, and read without it. The
//! characters are those of OWASP's page on CSV injection.

mod blocks;
mod chunks;
mod column;
mod records;

use zeroize::Zeroize;

pub(super) use blocks::BlockRecords;
pub use column::{ColumnCells, KeepCell};
pub use records::{CsvError, CsvRecords, Malformed};

/// The form of texts that a spreadsheet would run as a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvTexts {
    /// An apostrophe before the text.
    Marked,
    /// The plain text, for programs that compare texts.
    Plain,
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

/// Returns the text of a cell: the cell without the apostrophe that marks a text.
#[must_use]
pub fn unmarked(cell: &str) -> &str {
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
            if needs_quotes || (is_alone && cell.is_empty()) {
                bytes.push(b'"');
                for byte in cell.bytes() {
                    bytes.extend_from_slice(if byte == b'"' { b"\"\"" } else { &[] });
                    bytes.extend((byte != b'"').then_some(byte));
                }
                bytes.push(b'"');
            } else {
                bytes.extend_from_slice(cell.as_bytes())
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

    fn cells(bytes: &[u8]) -> Vec<Vec<String>> {
        let (mut records, mut all) = (CsvRecords::new(bytes), Vec::new());
        while records.advance().expect("a record") {
            let cells = 0..records.width();
            let cells = cells.map(|column| records.text(column).expect("UTF-8").to_owned());
            all.push(cells.collect());
        }
        all
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
        assert_eq!(cells(&write(records.clone())), records);
        let alone = vec![vec![String::new()], vec!["x".to_owned()]];
        assert_eq!(write(alone.clone()), b"\"\"\nx\n");
        assert_eq!(cells(&write(alone.clone())), alone);
    }

    /// This reader splits at commas alone. Spreadsheets of some countries split at other signs, and
    /// would put a text of the peer's into another column.
    #[test]
    fn no_other_reader_splits_a_cell() {
        for sign in [',', ';', '\t', '"', '\n', '\r'] {
            let cell = format!("a{sign}=b");
            let quoted = format!("\"{}\",x\n", cell.replace('"', "\"\""));
            let written = write(vec![vec![cell, "x".to_owned()]]);
            assert_eq!(String::from_utf8(written).as_deref(), Ok(&quoted[..]));
        }
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
