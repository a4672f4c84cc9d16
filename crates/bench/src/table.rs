//! Records for people: a table that grows by a line with each.

use core::str::FromStr;

use crate::{Figures, Record};

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its head.
    pub head: &'static str,
    /// Its width in characters; text is on the left of it where this is negative.
    pub width: i8,
}

/// A column of numbers.
pub(crate) const fn number(head: &'static str, width: i8) -> Column {
    Column { head, width }
}

/// A column of text.
pub(crate) const fn text(head: &'static str, width: i8) -> Column {
    let width = -width;
    Column { head, width }
}

/// Figures that make a line of a table.
pub(crate) trait Row {
    /// What stands above the table, a sentence.
    const TITLE: &'static str;
    /// The columns.
    const COLUMNS: &'static [Column];

    /// The text for each.
    fn cells(&self) -> Vec<String>;
}

/// Prints records one after the other.
#[derive(Debug, Default)]
pub struct Table {
    title: Option<&'static str>,
}

impl Table {
    /// The text for the next record: its line, after the heads where another table begins.
    #[must_use]
    pub fn add(&mut self, record: &Record) -> String {
        match &record.figures {
            Figures::Kernel(figures) => self.line(figures),
            Figures::Scheme(figures) => self.line(figures),
            Figures::BaseOt(figures) => self.line(figures),
            Figures::Ot(figures) => self.line(&**figures),
            Figures::Direct(figures) => self.line(figures),
            Figures::Authenticated(figures) => self.line(&**figures),
            Figures::Lot(figures) => self.line(figures),
            Figures::Prepared(figures) => self.line(&**figures),
            Figures::Batch(figures) => self.line(&**figures),
            Figures::Outsourced(figures) => self.line(&**figures),
            Figures::Plan(figures) => self.line(&**figures),
            Figures::Serve(figures) => self.line(&**figures),
        }
    }

    fn line<R: Row>(&mut self, row: &R) -> String {
        let mut out = String::new();
        if self.title != Some(R::TITLE) {
            let gap = if self.title.is_some() { "\n" } else { "" };
            self.title = Some(R::TITLE);
            out = format!("{gap}{}\n\n", R::TITLE);
            out += &join(R::COLUMNS, R::COLUMNS.iter().map(|column| column.head));
        }
        let cells = row.cells();
        debug_assert_eq!(cells.len(), R::COLUMNS.len());
        out + &join(R::COLUMNS, cells.iter().map(String::as_str))
    }
}

fn join<'a>(columns: &[Column], cells: impl Iterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (column, cell) in columns.iter().zip(cells) {
        let width = usize::from(column.width.unsigned_abs());
        line += &if column.width < 0 {
            format!("{cell:<width$}  ")
        } else {
            format!("{cell:>width$}  ")
        };
    }
    format!("{}\n", line.trim_end())
}

/// A number with about three digits.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Mebibytes, where they are known.
pub(crate) fn mebibytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(
        || "?".to_owned(),
        |bytes| format!("{:.0}", bytes as f64 / f64::from(1 << 20)),
    )
}

/// The numbers of a published table, with spaces between them.
pub(crate) fn numbers<T: FromStr, const N: usize>(text: &str) -> [T; N] {
    let numbers: Vec<T> = text.split(' ').flat_map(str::parse).collect();
    let numbers = numbers.try_into().ok();
    numbers.unwrap_or_else(|| panic!("{text:?} is {N} numbers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let known = [
            (1234.5, "1234"),
            (12.34, "12.3"),
            (1.234, "1.23"),
            (0.1234, "0.123"),
        ];
        for (value, text) in known {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn columns_are_aligned() {
        let columns = [text("name", 6), number("ns", 5)];
        assert_eq!(join(&columns, ["ab", "1.0"].into_iter()), "ab        1.0\n");
        assert_eq!(
            join(&columns, ["name", "ns"].into_iter()),
            "name       ns\n"
        );
    }
}
