//! Records for people: a table that grows by a line with each record.

use crate::Record;

/// A column of a table with figures `F`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<F> {
    /// Its head.
    pub(crate) head: &'static str,
    /// Its width in characters.
    width: usize,
    is_text: bool,
    cell: fn(&F) -> String,
}

/// Returns a column of numbers.
pub(crate) const fn number<F>(
    head: &'static str,
    width: usize,
    cell: fn(&F) -> String,
) -> Column<F> {
    let is_text = false;
    Column {
        head,
        width,
        is_text,
        cell,
    }
}

/// Returns a left-aligned column of text.
pub(crate) const fn text<F>(head: &'static str, width: usize, cell: fn(&F) -> String) -> Column<F> {
    let is_text = true;
    Column {
        is_text,
        ..number(head, width, cell)
    }
}

/// Figures that form a line of a table.
pub(crate) trait Row: Sized + 'static {
    /// The sentence above the table.
    const TITLE: &'static str;
    /// The columns.
    const COLUMNS: &'static [Column<Self>];

    /// Returns the line.
    fn line(&self) -> Line {
        let columns = Self::COLUMNS.iter();
        Line {
            title: Self::TITLE,
            heads: join(Self::COLUMNS, columns.clone().map(|of| of.head.to_owned())),
            cells: join(Self::COLUMNS, columns.map(|of| (of.cell)(self))),
        }
    }
}

/// A line of a table.
pub(crate) struct Line {
    /// The sentence above the table.
    pub(crate) title: &'static str,
    heads: String,
    cells: String,
}

/// Prints records one after the other.
#[derive(Debug, Default)]
pub struct Table {
    title: Option<&'static str>,
}

impl Table {
    /// Returns the text for the next record: its line, after the heads if another table starts.
    pub fn add(&mut self, record: &Record) -> String {
        let Line {
            title,
            heads,
            cells,
        } = record.figures.line();
        match self.title.replace(title) {
            Some(last) if last == title => cells,
            Some(_) => format!("\n{title}\n\n{heads}{cells}"),
            None => format!("{title}\n\n{heads}{cells}"),
        }
    }
}

fn join<F>(columns: &[Column<F>], cells: impl Iterator<Item = String>) -> String {
    let mut line = String::new();
    for (Column { width, is_text, .. }, cell) in columns.iter().zip(cells) {
        line += &if *is_text {
            format!("{cell:<width$}  ")
        } else {
            format!("{cell:>width$}  ")
        };
    }
    format!("{}\n", line.trim_end())
}

/// Formats a number with about three digits.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Formats a number in the same way, if there is one.
pub(crate) fn known(value: Option<f64>) -> String {
    value.map_or_else(String::new, short)
}

/// Formats thousands of bytes.
pub(crate) fn kilobytes(bytes: u64) -> String {
    short(bytes as f64 / 1e3)
}

/// Formats mebibytes, if they are known.
pub(crate) fn mebibytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(
        || "?".to_owned(),
        |bytes| format!("{:.0}", bytes as f64 / f64::from(1 << 20)),
    )
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
        for (cells, line) in [
            (["ab", "1.0"], "ab        1.0\n"),
            (["name", "ns"], "name       ns\n"),
        ] {
            assert_eq!(join(&columns, cells.map(str::to_owned).into_iter()), line);
        }
    }
}
