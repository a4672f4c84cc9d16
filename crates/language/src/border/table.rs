//! Values from and to CSV. The first line names the columns, and each later line is a row.

mod blocks;
mod form;

use std::io::Read;
use std::num::NonZeroUsize;

use tacit_circuit::CircuitError;

use super::csv::{self, CsvRecords, CsvTexts};
use super::read::Reader;
use super::strict::Rows;
use super::{BorderError, write};
use crate::elaborate::most_like;
use crate::program::{TypeId, TypeKind, TypeTable};
use form::{SEPARATED, broken, columns_that_are_names, wrong_form};

/// The greatest number of columns of a table.
const MAX_COLUMNS: usize = 1 << 12;

/// A part of a row that takes one cell: its name, such as `address.zip`, and its type.
type Cell = (String, TypeId);

/// Returns the cells of a row, from the first on. Returns `None` if a part has no cell, or if there
/// are too many.
fn cells(types: &TypeTable, ty: TypeId) -> Option<Vec<Cell>> {
    let mut cells = Vec::new();
    push_cells(types, ty, String::new(), &mut cells)?;
    Some(cells)
}

fn push_cells(types: &TypeTable, ty: TypeId, name: String, cells: &mut Vec<Cell>) -> Option<()> {
    let joined = |part: &str| {
        if name.is_empty() {
            part.to_owned()
        } else {
            format!("{name}.{part}")
        }
    };
    match types.kind(ty) {
        TypeKind::Struct(number) => {
            let fields = types.struct_type(*number).fields.iter();
            for (field, ty) in fields {
                push_cells(types, *ty, joined(field.as_str()), cells)?;
            }
        }
        TypeKind::Tuple(parts) => {
            for (number, ty) in parts.iter().enumerate() {
                push_cells(types, *ty, joined(&number.to_string()), cells)?;
            }
        }
        TypeKind::Array(element, n) => {
            for number in 0..*n {
                push_cells(types, *element, joined(&number.to_string()), cells)?;
            }
        }
        TypeKind::Table(..) => return None,
        _ if cells.len() == MAX_COLUMNS => return None,
        _ => cells.push((name, ty)),
    }
    Some(())
}

/// Returns, for a type that suits a table file, the type of a row, the greatest number of rows, and
/// whether there may be fewer.
pub(super) fn rows_of(types: &TypeTable, ty: TypeId) -> Option<(TypeId, u32, bool)> {
    match *types.kind(ty) {
        TypeKind::Array(element, n) => Some((element, n, false)),
        TypeKind::Table(element, n) => Some((element, n, true)),
        _ => None,
    }
}

/// Whether values of a type can be written as CSV.
pub(super) fn is_table(types: &TypeTable, ty: TypeId) -> bool {
    rows_of(types, ty).is_some_and(|(row, ..)| cells(types, row).is_some())
}

/// Whether rows of a type have several cells and no names for them.
pub(super) fn takes_columns_in_order(types: &TypeTable, ty: TypeId) -> bool {
    rows_of(types, ty).is_some_and(|(row, ..)| {
        let is_named = matches!(types.kind(row), TypeKind::Struct(_));
        !is_named && cells(types, row).is_some_and(|cells| cells.len() > 1)
    })
}

/// Whether rows contain only texts, so that any first line may be the names of their columns.
pub(super) fn has_rows_of_texts(types: &TypeTable, ty: TypeId) -> bool {
    rows_of(types, ty).is_some_and(|(row, ..)| {
        let is_named = matches!(types.kind(row), TypeKind::Struct(_));
        let cells = cells(types, row).unwrap_or_default();
        !is_named && !cells.is_empty() && cells.iter().all(|(_, ty)| is_text(types, *ty))
    })
}

/// The treatment of missing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fills {
    /// A table may have fewer rows.
    Table,
    /// An array is filled up with zeros.
    Array,
    /// No rows are missing, since the table is joined.
    NoRow,
}

/// The lines of rows, and those of rows that lack a value, each with the name of the column.
#[derive(Default)]
struct RowLines {
    rows: Vec<u64>,
    lacking: Vec<(u64, String)>,
}

/// A table file that messages call `name`.
pub(super) struct TableFile<'f> {
    pub(super) name: &'f str,
    pub(super) from: &'f mut dyn Read,
    /// The only column that is taken, if not all are.
    pub(super) column: Option<&'f str>,
    /// The number of threads that read it.
    pub(super) threads: NonZeroUsize,
}

/// A table file while it is read.
struct Table<'r, 'f, 't> {
    reader: &'r mut Reader<'t>,
    types: &'t TypeTable,
    row: TypeId,
    /// The file's name in messages.
    name: &'r str,
    /// The line of names, followed by one line for each row.
    records: CsvRecords<&'f mut dyn Read>,
    /// The cells of a row in order, with the column of each.
    columns: Vec<(Cell, usize)>,
}

/// Reads an array or a table from a CSV file, row by row. `fills` tells whether zeros replace
/// missing rows. Only tables that are joined are read on several threads: others are small.
pub(super) fn read<'t>(
    reader: &mut Reader<'t>,
    types: &'t TypeTable,
    ty: TypeId,
    file: TableFile<'_>,
    fills: Fills,
) -> Result<Rows, BorderError> {
    let (name, column) = (file.name, file.column);
    reader.locate(name.to_owned());
    let Some((row, most, is_table)) = rows_of(types, ty) else {
        let found = "a CSV file, which is for arrays and tables";
        return Err(reader.error(ty, "a value", found).into());
    };
    let mut table = Table {
        reader,
        types,
        row,
        name,
        records: CsvRecords::new(file.from),
        columns: Vec::new(),
    };
    table.advance()?;
    table.choose(column)?;
    let has_length = is_table && fills != Fills::NoRow;
    let length = has_length.then(|| table.reader.length_to_follow(most));
    let mut lines = RowLines::default();
    if fills == Fills::NoRow {
        table.blocks(most, file.threads, &mut lines);
    }
    table.rows(most, fills, &mut lines)?;
    let count = lines.rows.len();
    let missing = most as usize - count;
    let filled_up = match (fills, length) {
        (Fills::NoRow, _) => 0,
        (_, Some(at)) => {
            table.reader.set_length(at, most, count);
            table.reader.zeros(row, missing);
            0
        }
        (Fills::Array, None) => {
            table.reader.zeros(row, missing);
            missing
        }
        (Fills::Table, None) if missing > 0 => {
            let found = match count {
                1 => "1 row".to_owned(),
                count => format!("{count} rows"),
            };
            let remedy = "; the program sets this number, so both parties change it there";
            return Err(table.error(format!("{most} rows"), found + remedy));
        }
        (Fills::Table, None) => 0,
    };
    Ok(Rows {
        filled_up,
        file: Some(name.to_owned()),
        places: lines.rows,
        missing: lines.lacking,
    })
}

impl<'t> Table<'_, '_, 't> {
    fn error(&self, expected: impl Into<String>, found: impl Into<String>) -> BorderError {
        wrong_form(self.reader, expected, found)
    }

    /// Reads the next line, and returns whether there is one.
    fn advance(&mut self) -> Result<bool, BorderError> {
        let read = self.records.advance();
        let read = read.and_then(|is_there| self.records.check().map(|()| is_there));
        read.map_err(|error| broken(self.reader, self.name, error))
    }

    /// Returns a cell of the current line.
    fn cell(&self, column: usize) -> &str {
        self.records.text(column).unwrap_or_default()
    }

    /// Returns the names of the columns, if the current line is the first.
    fn headers(&self) -> impl Iterator<Item = &str> {
        let columns = 0..self.records.width();
        columns.map(|column| self.cell(column).trim())
    }

    /// Finds the column of each cell of a row.
    fn choose(&mut self, column: Option<&str>) -> Result<(), BorderError> {
        let Some(cells) = cells(self.types, self.row) else {
            let expected = "rows whose parts have one cell each";
            let found = format!(
                "a row of type {}; write it as JSON",
                self.types.name(self.row)
            );
            return Err(self.error(expected, found));
        };
        let is_named = matches!(self.types.kind(self.row), TypeKind::Struct(_));
        if let Some(column) = column {
            let [cell] = &cells[..] else {
                let found = format!("the one column {column:?}");
                return Err(self.error(format!("{} columns", cells.len()), found));
            };
            let place = self.column(column, "ask for one that is there")?;
            self.columns = vec![(cell.clone(), place)];
            return Ok(());
        }
        if is_named {
            for cell in cells {
                let remedy = "write the names of the program's fields in line 1";
                let place = self.column(&cell.0, remedy)?;
                self.columns.push((cell, place));
            }
            return Ok(());
        }
        if cells.len() != self.records.width() {
            let expected = match cells.len() {
                1 => "one column, or the name of one as in table.csv:NAME".to_owned(),
                n => format!("{n} columns"),
            };
            let remedy = match (cells.len(), self.has_other_separators()) {
                (_, true) => SEPARATED,
                (1, _) => "name the column that is meant",
                _ => "leave the other columns out",
            };
            return Err(self.error(expected, format!("{}; {remedy}", self.found_columns())));
        }
        self.refuse_values_as_names(&cells)?;
        self.columns = cells.into_iter().zip(0..).collect();
        Ok(())
    }

    /// Returns the index of the column `name`. The error gives `remedy` if there is none.
    fn column(&self, name: &str, remedy: &str) -> Result<usize, BorderError> {
        let named = self.headers().enumerate();
        let mut places = named.filter(|(_, header)| *header == name);
        match (places.next(), places.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some(_), Some(_)) => Err(self.error(
                format!("one column {name:?}"),
                "two columns of that name; give each a name of its own in line 1",
            )),
            (None, _) => {
                let expected = format!("a column {name:?} (the first line names the columns)");
                let mut headers = self.headers();
                let alike = headers.find(|header| header.eq_ignore_ascii_case(name));
                let found = match (alike, columns_that_are_names(self.headers())) {
                    (Some(header), _) => format!("{header:?}, with other capitals; {remedy}"),
                    (None, Some(names)) => match most_like(name, self.headers()) {
                        Some(meant) => format!("{names}; {remedy} (is {meant:?} meant?)"),
                        None => format!("{names}; {remedy}"),
                    },
                    (None, None) if self.has_other_separators() => {
                        format!("{}; {SEPARATED}", self.found_columns())
                    }
                    (None, None) => format!("{}; {remedy}", self.found_columns()),
                };
                Err(self.error(expected, found))
            }
        }
    }

    /// Whether the first line is a single cell that seems to hold several.
    fn has_other_separators(&self) -> bool {
        self.records.width() == 1 && self.cell(0).contains([';', '\t'])
    }

    /// Describes the first line without quoting it. In a file without names it is a row, and
    /// secret.
    fn found_columns(&self) -> String {
        match self.headers().count() {
            0 => "no line".to_owned(),
            1 => "1 cell in line 1".to_owned(),
            count => format!("{count} cells in line 1"),
        }
    }

    /// Checks that the first line is not a row, which would be lost, if no names are compared.
    fn refuse_values_as_names(&self, cells: &[Cell]) -> Result<(), BorderError> {
        let is_value = |(cell, header): (&Cell, &str)| {
            !is_text(self.types, cell.1)
                && Reader::new(self.types, cell.1, "")
                    .text(cell.1, header)
                    .is_ok()
        };
        if cells.iter().zip(self.headers()).any(is_value) {
            let mut found = "a value there; put a line of names before it".to_owned();
            if cells.len() == 1 {
                found += ", or, if it is a name, ask for it as in table.csv:NAME";
            }
            Err(self.error("names of the columns in line 1", found))
        } else {
            Ok(())
        }
    }

    /// Reads all further rows, with the others at most `most`. Adds the line of each, and those of
    /// the rows of a joined table that lack a value, with the column.
    fn rows(&mut self, most: u32, fills: Fills, read: &mut RowLines) -> Result<(), BorderError> {
        let lines = &mut read.rows;
        while self.advance()? {
            let line = self.records.first_line();
            if fills == Fills::NoRow
                && let Some(column) = self.lacks()
            {
                read.lacking.push((line, column));
                continue;
            }
            // Of a part, only a row that has been read shows whether it is one too many.
            if lines.len() == most as usize && !self.reader.is_cut() {
                return Err(self.too_many(most, line));
            }
            for ((cell, ty), column) in &self.columns {
                let text = self.records.text(*column).unwrap_or_default();
                let text = if is_text(self.types, *ty) {
                    csv::unmarked(text)
                } else {
                    text.trim()
                };
                // The place is named only where it is needed: there are millions of cells.
                self.reader.text(*ty, text).map_err(|error| {
                    let name = self.name;
                    let error = if text.is_empty() {
                        empty_cell(error)
                    } else {
                        error
                    };
                    error.at(match cell.as_str() {
                        "" => format!("{name} line {line}"),
                        cell => format!("{name} line {line} column {cell:?}"),
                    })
                })?;
            }
            if !self.reader.end_row() {
                continue;
            }
            if self.reader.is_cut() && lines.len() == most as usize {
                return Err(self.too_many(most, line));
            }
            lines.push(line);
        }
        Ok(())
    }

    /// Returns the error for a row in this line, which is one more than `most`.
    fn too_many(&self, most: u32, line: u64) -> BorderError {
        let found = format!(
            "more of them, from line {line} on; where a param of the program sets this number, \
             both parties give a larger one"
        );
        self.error(format!("at most {most} rows"), found)
    }

    /// Returns the name of the first column in which the current row needs a value and has none.
    fn lacks(&self) -> Option<String> {
        let empty = self.columns.iter().find(|((_, ty), column)| {
            !is_text(self.types, *ty) && self.cell(*column).trim().is_empty()
        });
        empty.map(|((cell, _), _)| format!("{cell:?}"))
    }
}

/// Says that a cell without the value that it needs is empty.
fn empty_cell(mut error: CircuitError) -> CircuitError {
    if let CircuitError::Value { found, .. } = &mut error {
        "an empty cell; fill it in, or remove the row".clone_into(found);
    }
    error
}

fn is_text(types: &TypeTable, ty: TypeId) -> bool {
    matches!(types.kind(ty), TypeKind::Text(_) | TypeKind::OpenText)
}

/// Writes an array or table as CSV. The columns are named after the port unless the rows are
/// structs. Returns `None` if the value is neither an array nor a table, or has parts that are not
/// cells.
pub(super) fn write(
    types: &TypeTable,
    ty: TypeId,
    port: &str,
    bits: &[bool],
    texts: CsvTexts,
) -> Option<Vec<u8>> {
    let (names, rows) = rows_as_text(types, ty, port, bits)?;
    let (row, ..) = rows_of(types, ty)?;
    let cells = cells(types, row)?;
    let rows = rows.into_iter().map(|row| {
        let marked = row.into_iter().zip(&cells).map(|(text, (_, ty))| {
            if texts == CsvTexts::Marked && is_text(types, *ty) {
                csv::marked(text)
            } else {
                text
            }
        });
        marked.collect()
    });
    Some(csv::write(std::iter::once(names).chain(rows).collect()))
}

/// Returns the names of the columns, and the cells of each row.
pub(super) fn rows_as_text(
    types: &TypeTable,
    ty: TypeId,
    port: &str,
    bits: &[bool],
) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    let (row, ..) = rows_of(types, ty)?;
    let cells = cells(types, row)?;
    let is_struct = matches!(types.kind(row), TypeKind::Struct(_));
    let named = |(name, _): &Cell| match name.as_str() {
        "" => port.to_owned(),
        name if is_struct => name.to_owned(),
        name => format!("{port}.{name}"),
    };
    let names = cells.iter().map(named).collect();
    let rows = write::parts(types, ty, bits)
        .into_iter()
        .map(|(_, mut bits)| {
            let cells = cells.iter().map(|(_, ty)| {
                let (cell, after) = bits.split_at(types.width(*ty) as usize);
                bits = after;
                match types.kind(*ty) {
                    TypeKind::Text(_) => write::characters(cell),
                    _ => write::text(types, *ty, cell),
                }
            });
            cells.collect()
        });
    Some((names, rows.collect()))
}
