//! `tacit inspect --check`: public circuit files against known answers.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value as Json, json};
use tacit::circuit::formats::{FileReport, Finding, Limits, check_directory};

use crate::failure::Failure;
use crate::output;
use crate::report::{JSON_VERSION, pretty};

/// Runs the check.
///
/// # Errors
///
/// The folder cannot be listed or holds no circuit file, or a file is not what its name says.
pub(crate) fn check(folder: &Path, json: bool) -> Result<(), Failure> {
    let reports = check_directory(folder, &Limits::default()).map_err(tacit::Error::from)?;
    if reports.is_empty() {
        return Err(Failure::Input(format!(
            "{} holds no file whose name ends in .txt or .bristol; give the folder with the \
             circuit files",
            folder.display()
        )));
    }
    let files: Json = reports.iter().map(self::json).collect();
    let failed = reports.iter().filter(|report| !report.is_good()).count();
    if !json {
        output::print(text(&reports).as_bytes())?;
    } else if failed == 0 {
        let json = json!({ "version": JSON_VERSION, "files": files });
        output::print(pretty(&json).as_bytes())?;
    }
    if failed > 0 {
        let is_unreadable = |report: &&FileReport| matches!(report.finding, Finding::Unreadable(_));
        let unreadable = reports.iter().filter(is_unreadable).count();
        return Err(Failure::Unproven {
            wrong: failed - unreadable,
            unreadable,
            checked: reports.len(),
            // With the error, one object of JSON.
            fields: Map::from_iter([("files".to_owned(), files)]),
        });
    }
    Ok(())
}

/// The finding in a word, and what is to be said of it.
fn finding(report: &FileReport) -> (&'static str, Option<String>) {
    match &report.finding {
        Finding::Correct { cases } => ("correct", Some(format!("{cases} known answers"))),
        Finding::Wrong { case } => ("wrong", Some(format!("known answer {case} differs"))),
        Finding::OtherPorts(error) => ("other-ports", Some(error.to_string())),
        Finding::NoKnownAnswer => ("no-known-answer", None),
        Finding::Unreadable(_) if is_empty(&report.path) => {
            ("unreadable", Some("the file is empty".to_owned()))
        }
        Finding::Unreadable(error) => ("unreadable", Some(error.to_string())),
        _ => ("unknown", None),
    }
}

fn is_empty(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0)
}

fn file_name(report: &FileReport) -> String {
    match report.path.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => report.path.display().to_string(),
    }
}

fn text(reports: &[FileReport]) -> String {
    let mut text = String::new();
    for report in reports {
        let (word, detail) = finding(report);
        let detail = detail
            .map(|detail| format!(" ({detail})"))
            .unwrap_or_default();
        let _ = writeln!(text, "{}: {word}{detail}", file_name(report));
        if let Some((digest, statistics)) = &report.circuit {
            let _ = writeln!(
                text,
                "  {digest}\n  {} AND, {} XOR, {} INV; bit order {}",
                statistics.and, statistics.xor, statistics.inv, report.order
            );
        }
    }
    text
}

fn json(report: &FileReport) -> Json {
    let (word, detail) = finding(report);
    let mut json = json!({
        "file": file_name(report),
        "finding": word,
        "detail": detail,
        "good": report.is_good(),
        "bit_order": report.order.to_string(),
    });
    if let Some((digest, statistics)) = &report.circuit {
        json["circuit_digest"] = json!(digest.to_string());
        json["gates"] =
            json!({ "and": statistics.and, "xor": statistics.xor, "inv": statistics.inv });
    }
    json
}
