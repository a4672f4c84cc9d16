//! Ports and results of a program, as text and as JSON.

use crate::terminal::escaped;
use std::fmt::Write as _;

use serde_json::Value as Json;
use tacit_language::{PortValue, Signature, TypedFunction};

/// The largest number of rows that are shown as text.
const MAX_ROWS: usize = 1000;

/// Returns results as text: tables as lines and columns, other values on one line each.
pub(crate) fn results_text(signature: &Signature, results: &[(&str, PortValue)]) -> String {
    let mut text = String::new();
    for (name, value) in results {
        match signature.rows(value) {
            Some((names, rows)) => push_table(&mut text, name, &names, &rows),
            None => {
                let _ = writeln!(text, "{name} = {}", signature.text(value));
            }
        }
    }
    text
}

fn push_table(text: &mut String, name: &str, names: &[String], rows: &[Vec<String>]) {
    let shown = &rows[..rows.len().min(MAX_ROWS)];
    let escaped = |cell: &String| escaped(cell);
    let cells: Vec<Vec<String>> = std::iter::once(names)
        .chain(shown.iter().map(Vec::as_slice))
        .map(|row| row.iter().map(escaped).collect())
        .collect();
    let width = |column: usize| {
        let widths = cells.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    let of = match rows.len() {
        1 => "1 row".to_owned(),
        n => format!("{n} rows"),
    };
    let _ = writeln!(text, "{name} ({of})");
    for row in &cells {
        let padded = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        let line = padded.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "  {}", line.trim_end());
    }
    if rows.len() > MAX_ROWS {
        let _ = writeln!(
            text,
            "  … and {} more; --output {name}=FILE.csv has all",
            rows.len() - MAX_ROWS
        );
    }
}

/// Returns the signature of a program as JSON.
pub(crate) fn signature_json(typed: &TypedFunction) -> Json {
    let mut json = typed.signature().to_json();
    json["meaning"] = typed.meaning().to_string().into();
    json
}

/// Returns the signature of a program as text.
pub(crate) fn signature_text(typed: &TypedFunction) -> String {
    let signature = typed.signature();
    let mut text = String::new();
    for line in signature.documentation().lines() {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(
        text,
        "  meaning   {}  names, types and what is computed",
        typed.meaning()
    );
    let party = |number| {
        let (name, role) = (signature.party_name(number), signature.role(number).name());
        format!("{name} ({role})")
    };
    let parties: Vec<String> = (0..signature.parties().count()).map(party).collect();
    let _ = writeln!(text, "parties\n  {}", parties.join(", "));
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(text, "{title}\n  {}", lines.join("\n  "));
        }
    };
    let param = |param: &tacit_language::program::Param| {
        let (name, least, greatest) = (&param.name, &param.minimum, &param.maximum);
        format!("{name} = {}, from {least} to {greatest}", param.value)
    };
    section("params", signature.params().iter().map(param).collect());
    section("types", signature.declarations());
    let inputs = signature.inputs().iter();
    section(
        "inputs",
        inputs.map(|input| signature.input_text(input)).collect(),
    );
    let results = signature.results().iter();
    section(
        "results",
        results
            .map(|result| signature.result_text(result))
            .collect(),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The peer's text cannot change how a row reads.
    #[test]
    fn a_cell_neither_moves_the_cursor_nor_turns_what_follows() {
        let mut text = String::new();
        let row = ["a\u{1b}[2K\r", "\u{202e}999\u{2066}", "é"].map(str::to_owned);
        push_table(
            &mut text,
            "t",
            &["x".to_owned(), "y".to_owned(), "z".to_owned()],
            &[row.into()],
        );
        assert!(
            !text.contains(['\u{1b}', '\r', '\u{202e}', '\u{2066}']),
            "{text:?}"
        );
        assert!(
            text.contains("\\u{202e}999") && text.contains('é'),
            "{text}"
        );
    }
}
