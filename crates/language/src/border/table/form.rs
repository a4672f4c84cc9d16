//! The errors in the form of a table file. Names of columns are their only text from the file.

use tacit_circuit::CircuitError;

use crate::border::BorderError;
use crate::border::csv::{CsvError, Malformed};
use crate::border::read::Reader;

/// The most names of columns that an error lists, and the most bytes of each.
const MAX_LISTED: usize = 20;
const MAX_NAME_BYTES: usize = 64;
/// The remedy for a file whose cells are separated in another way.
pub(super) const SEPARATED: &str = "cells are separated by commas: save the file so";

/// Lists the first line if it cannot be a row of numbers, dates or addresses: in a file without
/// names the first line is a row, and secret.
pub(super) fn columns_that_are_names<'h>(headers: impl Iterator<Item = &'h str>) -> Option<String> {
    let mut listed = Vec::new();
    for header in headers {
        let mut characters = header.chars();
        let is_name = characters.next().is_some_and(char::is_alphabetic)
            && characters.all(|c| c.is_alphanumeric() || " _-.".contains(c));
        if !is_name || header.len() > MAX_NAME_BYTES {
            return None;
        }
        listed.push(format!("{header:?}"));
    }
    let more = listed.len().saturating_sub(MAX_LISTED);
    listed.truncate(MAX_LISTED);
    let names = listed.join(", ");
    match (listed.len(), more) {
        (0, _) => None,
        (1, 0) => Some(format!("the column {names}")),
        (_, 0) => Some(format!("the columns {names}")),
        _ => Some(format!("the columns {names} and {more} more")),
    }
}

/// Returns the error of a file in another form than expected.
pub(super) fn wrong_form(
    reader: &Reader<'_>,
    expected: impl Into<String>,
    found: impl Into<String>,
) -> BorderError {
    BorderError::Table {
        at: reader.place().to_owned(),
        expected: expected.into(),
        found: found.into(),
    }
}

/// Describes the error in the form of a CSV file, without its text.
pub(super) fn broken(reader: &Reader<'_>, name: &str, error: CsvError) -> BorderError {
    let malformed = match error {
        CsvError::Malformed(malformed) => malformed,
        CsvError::Unreadable(error) => {
            let (path, message) = (name.to_owned(), error.to_string());
            return CircuitError::Io { path, message }.into();
        }
    };
    let (expected, found) = match malformed {
        Malformed::Cells { line, found, first } => (
            "as many cells in each line as in the first",
            format!(
                "{found} in line {line} where line 1 has {first}; put quotation marks around \
                 cells that have a comma"
            ),
        ),
        Malformed::Open { line } => (
            "a second quotation mark for each",
            format!(
                "one in the row that begins in line {line}, which nothing closes; close it after \
                 the cell, and write two of them for one inside"
            ),
        ),
        Malformed::NoUtf8 { line } => (
            "CSV in UTF-8",
            format!("bytes in line {line} that are not; save the file as CSV in UTF-8"),
        ),
        Malformed::Empty { line } => (
            "a value in each line",
            format!("line {line}, which is empty; write the value, or remove the line"),
        ),
        Malformed::TooLong { line, most } => (
            "short rows",
            format!(
                "more than {most} bytes in the row that begins in line {line}; see whether a \
                 quotation mark is missing"
            ),
        ),
    };
    wrong_form(reader, expected, found)
}
