//! Records for people: a table that grows by a line with each.

use core::str::FromStr;

use crate::Record;

/// A column of a table of figures `F`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<F> {
    /// Its head.
    pub(crate) head: &'static str,
    /// Its width in characters.
    width: usize,
    is_text: bool,
    /// Whether its cells tell cases apart.
    is_key: bool,
    cell: fn(&F) -> String,
}

/// A column of numbers.
pub(crate) const fn number<F>(
    head: &'static str,
    width: usize,
    cell: fn(&F) -> String,
) -> Column<F> {
    let (is_text, is_key) = (false, false);
    Column {
        head,
        width,
        is_text,
        is_key,
        cell,
    }
}

/// A column of numbers that tell cases apart.
pub(crate) const fn key<F>(head: &'static str, width: usize, cell: fn(&F) -> String) -> Column<F> {
    let is_key = true;
    Column {
        is_key,
        ..number(head, width, cell)
    }
}

/// A column of text that tells cases apart, on the left of it.
pub(crate) const fn text<F>(head: &'static str, width: usize, cell: fn(&F) -> String) -> Column<F> {
    let is_text = true;
    Column {
        is_text,
        ..key(head, width, cell)
    }
}

/// Figures that make a line of a table.
pub(crate) trait Row: Sized + 'static {
    /// What stands above the table, a sentence.
    const TITLE: &'static str;
    /// The columns.
    const COLUMNS: &'static [Column<Self>];

    /// The text for each column.
    fn cells(&self) -> Vec<String> {
        let columns = Self::COLUMNS.iter();
        columns.map(|column| (column.cell)(self)).collect()
    }

    /// The line.
    fn line(&self) -> Line {
        let cells = self.cells();
        let heads = Self::COLUMNS.iter().map(|column| column.head);
        let keys = Self::COLUMNS.iter().zip(&cells);
        let keys = keys.filter(|(column, _)| column.is_key);
        Line {
            title: Self::TITLE,
            heads: join(Self::COLUMNS, heads),
            keys: keys.map(|(_, cell)| cell.clone()).collect(),
            cells: join(Self::COLUMNS, cells.iter().map(String::as_str)),
        }
    }
}

/// A line of a table.
pub(crate) struct Line {
    /// What stands above the table.
    pub(crate) title: &'static str,
    heads: String,
    cells: String,
    /// The cells that tell its case from others of the table.
    pub(crate) keys: Vec<String>,
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
        let Line {
            title,
            heads,
            cells,
            ..
        } = record.figures.line();
        match self.title.replace(title) {
            Some(last) if last == title => cells,
            Some(_) => format!("\n{title}\n\n{heads}{cells}"),
            None => format!("{title}\n\n{heads}{cells}"),
        }
    }
}

fn join<'a, F>(columns: &[Column<F>], cells: impl Iterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (Column { width, is_text, .. }, cell) in columns.iter().zip(cells) {
        line += &match is_text {
            true => format!("{cell:<width$}  "),
            false => format!("{cell:>width$}  "),
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

/// The same, where there is a number.
pub(crate) fn known(value: Option<f64>) -> String {
    value.map_or_else(String::new, short)
}

/// Thousands of bytes.
pub(crate) fn kilobytes(bytes: u64) -> String {
    short(bytes as f64 / 1e3)
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
        let none = |_: &()| String::new();
        let columns = [text("name", 6, none), number("ns", 5, none)];
        assert_eq!(join(&columns, ["ab", "1.0"].into_iter()), "ab        1.0\n");
        assert_eq!(
            join(&columns, ["name", "ns"].into_iter()),
            "name       ns\n"
        );
    }
}
