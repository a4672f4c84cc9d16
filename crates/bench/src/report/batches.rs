//! Malicious batches in the report: next to what was published, and against their size.

use super::chart::{Line, Lines};
use super::page::{Grid, Picture, Section, heads};
use crate::batch::BatchFigures;
use crate::direct::full_name;
use crate::table::{mebibytes, short};
use crate::{Figures, Record};

/// Every batch that was measured.
pub(super) fn batches(records: &[Record]) -> Option<Section> {
    let figures = records.iter().map(|record| &record.figures);
    let all: Vec<&BatchFigures> = figures
        .filter_map(|figures| match figures {
            Figures::Batch(figures) => Some(&**figures),
            _ => None,
        })
        .collect();
    let rows = all.iter().map(|of| row(of));
    Section::new("batch", "Malicious batches: Lindell and Riva's figures")
        .text(
            "Many executions are garbled, checked and kept together; each then takes four messages \
             whose size does not depend on the circuit. The paper's figures are of 1024 executions \
             at s = 40 on 9 threads at 2.9 GHz; here both parties share one machine, on this many \
             threads each. The larger the batch, the fewer circuits an execution takes: B are \
             evaluated, and M garbled in all.",
        )
        .picture(against_executions(&all))
        .grid(Grid {
            caption: "Milliseconds an execution, s = 40, over TLS: offline on loopback, online at \
                      the evaluator; `tacit-bench batch`"
                .to_owned(),
            heads: heads(&[
                "function",
                "link",
                "AND",
                "N",
                "B",
                "M",
                "threads",
                "offline",
                "paper",
                "MB",
                "online",
                "paper",
                "with agreement",
                "KB to evaluator",
                "bytes back",
                "MiB garbler",
                "MiB evaluator",
            ]),
            rows: rows.collect(),
        })
        .unless_empty()
}

fn row(of: &BatchFigures) -> Vec<String> {
    let paper = |value: Option<f64>| value.map_or("–".to_owned(), short);
    vec![
        full_name(&of.function, &of.parameters),
        of.link.clone(),
        of.ands.to_string(),
        of.executions.to_string(),
        of.bucket.to_string(),
        of.circuits.to_string(),
        of.threads.to_string(),
        short(of.offline_ms),
        paper(of.paper.map(|paper| paper.offline_ms)),
        short(of.offline_traffic.bytes() as f64 / 1e6),
        of.online_mean_ms.to_string(),
        paper(of.paper.map(|paper| paper.online_ms)),
        short(of.agreed_online_ms.median),
        short(of.online_traffic.garbler_bytes as f64 / 1e3),
        of.online_traffic.evaluator_bytes.to_string(),
        mebibytes(of.memory.garbler_bytes),
        mebibytes(of.memory.evaluator_bytes),
    ]
}

/// Time against N on loopback, a pair of lines a function, on the most threads that were taken.
fn against_executions(all: &[&BatchFigures]) -> Option<Picture> {
    let near: Vec<_> = all.iter().filter(|of| of.link == "loopback").collect();
    let threads = near.iter().map(|of| of.threads).max()?;
    let mut names: Vec<&str> = near.iter().map(|of| of.function.as_str()).collect();
    names.dedup();
    let line = |name: &str, stage: &str, height: fn(&BatchFigures) -> f64| {
        let same = near.iter();
        let same = same.filter(|of| of.function == name && of.threads == threads);
        let mut points: Vec<_> = same.map(|of| (of.executions as f64, height(of))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Line {
            name: format!("{name} {stage}"),
            points,
            limit: false,
        }
    };
    let lines = names.iter().flat_map(|name| {
        [
            line(name, "offline", |of| of.offline_ms),
            line(name, "online", |of| of.online_ms.median),
        ]
    });
    // A line has two points at least.
    let lines: Vec<Line> = lines.filter(|line| line.points.len() > 1).collect();
    Some(Picture {
        name: "batches",
        caption: format!(
            "Milliseconds an execution against the executions of a batch, on loopback, {threads} \
             threads a party."
        ),
        svg: Lines {
            across: "executions prepared together".to_owned(),
            up: "ms an execution".to_owned(),
            lines,
        }
        .svg()?,
    })
}
