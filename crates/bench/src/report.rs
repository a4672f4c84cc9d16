//! The report: records made into one page for people.
//!
//! [`Report::of`] takes records of any runs, the last of each case, and puts them next to what
//! the papers published and the physical limit. Its page is Markdown, its pictures are SVG.

mod assumptions;
mod chart;
mod kept;
mod markdown;
mod outsourced;
mod page;
mod papers;
mod protocols;
mod transfer;

use std::collections::BTreeMap;
use std::io::BufRead;

use clap::ValueEnum as _;

use crate::record::Measured;
use crate::{Error, Record, Suite};
use page::{Block, Grid, Section, heads};

/// A page of figures, its tables and pictures.
#[derive(Debug)]
pub struct Report {
    sections: Vec<Section>,
}

impl Report {
    /// Lays out the last record of each case. What was not measured is not there; what was
    /// measured on several machines is, with a word on it.
    #[must_use]
    pub fn of(records: &[Record]) -> Self {
        let records = latest(records);
        let sections = [
            assumptions::speed(&records),
            assumptions::published(&records),
            transfer::section(&records),
            protocols::prepared(&records),
            protocols::lots(&records),
            protocols::authenticated(&records),
            protocols::sources(&records),
            protocols::batches(&records),
            outsourced::programs(&records),
            kept::kept(&records),
            protocols::plans(&records),
            protocols::services(&records),
            protocols::workloads(&records),
            assumptions::kernels(&records),
            Some(method(&records)),
        ];
        Self {
            sections: sections.into_iter().flatten().collect(),
        }
    }

    /// Markdown that shows pictures from `folder`, which is relative to the Markdown file.
    #[must_use]
    pub fn markdown(&self, folder: &str) -> String {
        markdown::render(&self.sections, folder)
    }

    /// The pictures, a file name and its SVG each.
    pub fn pictures(&self) -> impl Iterator<Item = (String, &str)> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks.filter_map(|block| match block {
            Block::Picture(picture) => Some((picture.file_name(), picture.svg.as_str())),
            Block::Text(_) | Block::Grid(_) => None,
        })
    }
}

/// The figures of one kind among `records`.
fn all<F: Measured>(records: &[Record]) -> Vec<&F> {
    let figures = records.iter().filter_map(|record| F::of(&record.figures));
    figures.collect()
}

/// Reads the records of the file called `name`, one per line, as `tacit-bench --json` prints them.
/// Empty lines are skipped.
///
/// # Errors
///
/// A line cannot be read or is no record of this version.
pub fn read_records(name: &str, lines: impl BufRead) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    for (index, line) in lines.lines().enumerate() {
        let line = line.map_err(|reason| Error::read(name, reason))?;
        if line.trim().is_empty() {
            continue;
        }
        let record = serde_json::from_str(&line).map_err(|reason| Error::NoRecord {
            file: name.to_owned(),
            line: index + 1,
            reason: reason.to_string(),
        })?;
        records.push(record);
    }
    Ok(records)
}

/// The last record of each case, in the order in which cases came first.
fn latest(records: &[Record]) -> Vec<Record> {
    let mut places = BTreeMap::new();
    let mut latest: Vec<Record> = Vec::new();
    for record in records {
        let line = record.figures.line();
        let place = *places
            .entry((line.title, line.keys))
            .or_insert(latest.len());
        match latest.get_mut(place) {
            Some(earlier) => *earlier = record.clone(),
            None => latest.push(record.clone()),
        }
    }
    latest
}

/// Where the figures are from, and what they are.
fn method(records: &[Record]) -> Section {
    let mut machines: Vec<Vec<String>> = Vec::new();
    for record in records {
        let machine = &record.machine;
        let build = if machine.optimised { "release" } else { "dev" };
        let row = vec![
            machine.cpu.clone(),
            machine.cores.to_string(),
            machine.backends.join(", "),
            machine.platform.clone(),
            machine.commit.clone(),
            build.to_owned(),
            if record.quick { "a first look" } else { "full" }.to_owned(),
        ];
        if !machines.contains(&row) {
            machines.push(row);
        }
    }
    let load = records
        .iter()
        .filter_map(|record| record.machine.load_average);
    let load = load.fold(0.0, f64::max);
    let suites = Suite::value_variants().iter();
    let suites = suites.filter_map(Suite::to_possible_value);
    let suites: Vec<_> = suites.map(|suite| suite.get_name().to_owned()).collect();
    Section::new("Where these figures come from")
        .text(&format!(
            "`tacit-bench --json > records.jsonl` measures, suite by suite ({}); \
             `tacit-bench report records.jsonl --markdown report.md` makes this page. Times are \
             medians; ± is the median absolute deviation, where ± 95 % stands it is half the \
             interval of a mean. The highest load average before a suite was {load:.2}. Shaped \
             links delay and slow bytes and do nothing else: no loss, no slow start; over a real \
             link of that delay and rate nothing is faster. `docs/bench.md` says how each figure \
             is taken.",
            suites.join(", ")
        ))
        .grid(Grid {
            caption: "Machines and builds".to_owned(),
            heads: heads("CPU | cores | backends | platform | commit | build | run"),
            rows: machines,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Figures;

    /// Records that were measured once, of every suite.
    fn records() -> Vec<Record> {
        read_records("records", &include_bytes!("../tests/records.jsonl")[..]).expect("records")
    }

    #[test]
    fn every_record_is_in_the_report() {
        let records = records();
        let report = Report::of(&records);
        let text = report.markdown("pictures");
        for record in &records {
            let words = match &record.figures {
                Figures::Scheme(of) => vec![of.scheme.clone(), of.assumption.clone()],
                other => other.line().keys,
            };
            let row = |line: &str| words.iter().all(|word| line.contains(word));
            assert!(text.lines().any(row), "{words:?}");
        }
        let pictures: Vec<_> = report.pictures().collect();
        assert!(pictures.len() >= 4);
        for (name, svg) in pictures {
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            assert!(text.contains(&format!("pictures/{name}")), "{name}");
        }
    }

    #[test]
    fn the_last_record_of_a_case_counts() {
        let mut records = records();
        let mut again = records[0].clone();
        again.machine.cpu = "another".to_owned();
        records.push(again.clone());
        let latest = latest(&records);
        assert_eq!(latest.len(), records.len() - 1);
        assert_eq!(latest[0], again);
    }

    #[test]
    fn no_records_make_a_page_and_damaged_ones_an_error() {
        assert!(Report::of(&[]).markdown("pictures").starts_with("# "));
        let error = read_records("some", &b"\n{}\n"[..]).unwrap_err();
        assert!(error.to_string().contains("some, line 2"), "{error}");
    }
}
