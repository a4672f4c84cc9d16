//! Values from CSV and as CSV: the first line names the columns, and each later line is a row.

use csv::{ReaderBuilder, StringRecord, Trim, WriterBuilder};
use tacit_circuit::CircuitError;

use super::read::Reader;
use super::write;
use crate::program::{TypeId, TypeKind, TypeTable};

/// Most columns of a table.
const MAX_COLUMNS: usize = 1 << 12;

/// A part of a row that is one cell: its name, such as `address.zip`, and its type.
type Cell = (String, TypeId);

/// The cells of a row, from the first on; nothing where a part has no cell, or there are too many.
fn cells(types: &TypeTable, ty: TypeId) -> Option<Vec<Cell>> {
    let mut cells = Vec::new();
    push_cells(types, ty, String::new(), &mut cells)?;
    Some(cells)
}

fn push_cells(types: &TypeTable, ty: TypeId, name: String, cells: &mut Vec<Cell>) -> Option<()> {
    let joined = |part: &str| match name.is_empty() {
        true => part.to_owned(),
        false => format!("{name}.{part}"),
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

/// The type of a row, most rows, and whether there may be fewer, of a type that a table file suits.
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

/// A table file as it is read.
struct Table<'r, 't> {
    reader: &'r mut Reader<'t>,
    types: &'t TypeTable,
    ty: TypeId,
    row: TypeId,
    /// What messages call the file.
    name: &'r str,
    headers: Vec<String>,
    /// The cells of a row in order, and the column that each is in.
    columns: Vec<(Cell, usize)>,
    records: Vec<StringRecord>,
}

/// Reads an array or a table from the text of a CSV file that messages call `name`: all columns
/// that its rows have, or the one column `column`. Of an array that may be `filled`, what is missing
/// is zeros, and how many elements these are is given.
pub(super) fn read<'t>(
    reader: &mut Reader<'t>,
    types: &'t TypeTable,
    ty: TypeId,
    (name, bytes): (&str, &[u8]),
    column: Option<&str>,
    filled: bool,
) -> Result<usize, CircuitError> {
    reader.locate(name.to_owned());
    let Some((row, most, is_table)) = rows_of(types, ty) else {
        let found = "a CSV file, which is for arrays and tables";
        return Err(reader.error(ty, "a value", found));
    };
    let mut table = Table {
        reader,
        types,
        ty,
        row,
        name,
        headers: Vec::new(),
        columns: Vec::new(),
        records: Vec::new(),
    };
    table.parse(bytes, most)?;
    table.choose(column)?;
    let count = table.records.len();
    if is_table {
        table.table(most)?;
        return Ok(0);
    }
    let missing = most as usize - count;
    if missing > 0 && !filled {
        let found = match count {
            1 => "1 row".to_owned(),
            count => format!("{count} rows"),
        };
        return Err(table.reader.error(ty, format!("{most} rows"), found));
    }
    table.rows()?;
    table.reader.zeros(row, missing);
    Ok(missing)
}

impl<'t> Table<'_, 't> {
    fn error(&self, expected: impl Into<String>, found: impl Into<String>) -> CircuitError {
        self.reader.error(self.ty, expected, found)
    }

    fn parse(&mut self, bytes: &[u8], most: u32) -> Result<(), CircuitError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut csv = ReaderBuilder::new().trim(Trim::Headers).from_reader(bytes);
        let headers = csv.headers().map_err(|error| self.broken(&error))?;
        self.headers = headers.iter().map(str::to_owned).collect();
        for record in csv.records() {
            let record = record.map_err(|error| self.broken(&error))?;
            if self.records.len() == most as usize {
                let expected = format!("at most {most} rows");
                let found = format!("more of them, from line {} on", line(&record));
                return Err(self.error(expected, found));
            }
            self.records.push(record);
        }
        Ok(())
    }

    /// What is wrong with the file as CSV, without its text.
    fn broken(&self, error: &csv::Error) -> CircuitError {
        let at = error.position().map_or(0, csv::Position::line);
        let found = match error.kind() {
            csv::ErrorKind::UnequalLengths {
                len, expected_len, ..
            } => {
                format!("{len} cells in line {at} where line 1 has {expected_len}")
            }
            csv::ErrorKind::Utf8 { .. } => format!("bytes that are no UTF-8 in line {at}"),
            _ => format!("something else in line {at}"),
        };
        self.error(
            "CSV in UTF-8, with as many cells in each line as in the first",
            found,
        )
    }

    /// Finds the column of each cell of a row.
    fn choose(&mut self, column: Option<&str>) -> Result<(), CircuitError> {
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
            let place = self.column(column)?;
            self.columns = vec![(cell.clone(), place)];
            return Ok(());
        }
        if is_named {
            for cell in cells {
                let place = self.column(&cell.0)?;
                self.columns.push((cell, place));
            }
            return Ok(());
        }
        if cells.len() != self.headers.len() {
            let expected = match cells.len() {
                1 => "one column, or the name of one as in table.csv:NAME".to_owned(),
                n => format!("{n} columns"),
            };
            return Err(self.error(expected, self.found_columns()));
        }
        self.refuse_values_as_names(&cells)?;
        self.columns = cells.into_iter().zip(0..).collect();
        Ok(())
    }

    /// The place of the column of this name.
    fn column(&self, name: &str) -> Result<usize, CircuitError> {
        let mut places = (0..self.headers.len()).filter(|place| self.headers[*place] == name);
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => {
                Err(self.error(format!("one column {name:?}"), "two columns of that name"))
            }
            (None, _) => {
                let expected = format!("a column {name:?} (the first line names the columns)");
                Err(self.error(expected, self.found_columns()))
            }
        }
    }

    fn found_columns(&self) -> String {
        let shown = |name: &String| format!("{:?}", name.chars().take(64).collect::<String>());
        let names: Vec<String> = self.headers.iter().take(16).map(shown).collect();
        let text = match self.headers.len() {
            0 => "no line".to_owned(),
            1..=16 => names.join(", "),
            n => format!("{} and {} more", names.join(", "), n - 16),
        };
        match &self.headers[..] {
            [only] if only.contains([';', '\t']) => {
                format!("{text}; cells are separated by commas")
            }
            _ => text,
        }
    }

    /// A first line that is a row would be lost: where no names are compared, it must not be one.
    fn refuse_values_as_names(&self, cells: &[Cell]) -> Result<(), CircuitError> {
        let is_value = |(cell, header): (&Cell, &String)| {
            let is_text = matches!(
                self.types.kind(cell.1),
                TypeKind::Text(_) | TypeKind::Bytes(_)
            );
            !is_text
                && Reader::new(self.types, cell.1, "")
                    .text(cell.1, header)
                    .is_ok()
        };
        match cells.iter().zip(&self.headers).any(is_value) {
            false => Ok(()),
            true => {
                let found = "a value there; put a line of names before it";
                Err(self.error("names of the columns in line 1", found))
            }
        }
    }

    fn table(mut self, most: u32) -> Result<(), CircuitError> {
        let (row, count) = (self.row, self.records.len());
        let records = std::mem::take(&mut self.records);
        let (columns, types, name) = (&self.columns, self.types, self.name);
        let items = |reader: &mut Reader<'t>| rows(reader, types, name, columns, &records);
        self.reader.table(row, most, count, items)
    }

    fn rows(&mut self) -> Result<(), CircuitError> {
        rows(
            self.reader,
            self.types,
            self.name,
            &self.columns,
            &self.records,
        )
    }
}

fn line(record: &StringRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

fn rows(
    reader: &mut Reader<'_>,
    types: &TypeTable,
    name: &str,
    columns: &[(Cell, usize)],
    records: &[StringRecord],
) -> Result<(), CircuitError> {
    for record in records {
        let line = line(record);
        for ((cell, ty), column) in columns {
            reader.locate(match cell.as_str() {
                "" => format!("{name} line {line}"),
                cell => format!("{name} line {line} column {cell:?}"),
            });
            let text = record.get(*column).unwrap_or_default();
            let is_text = matches!(types.kind(*ty), TypeKind::Text(_));
            reader.text(*ty, if is_text { text } else { text.trim() })?;
        }
    }
    Ok(())
}

/// An array or table as CSV, whose columns are called after the port unless its rows are structs;
/// nothing where a value is none or has no cells.
pub(super) fn write(types: &TypeTable, ty: TypeId, port: &str, bits: &[bool]) -> Option<Vec<u8>> {
    let (names, rows) = rows_as_text(types, ty, port, bits)?;
    let mut csv = WriterBuilder::new().from_writer(Vec::new());
    csv.write_record(&names).ok()?;
    for row in rows {
        csv.write_record(&row).ok()?;
    }
    csv.into_inner().ok()
}

/// The names of the columns, and the cells of each row.
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
