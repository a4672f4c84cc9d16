//! Plans in the report: what was predicted next to what was measured.

use super::page::{Grid, Section, heads};
use crate::direct::full_name;
use crate::table::short;
use crate::{Figures, Record};

/// Every cut that was run, in the order of its records.
pub(super) fn plans(records: &[Record]) -> Option<Section> {
    let all = records.iter().filter_map(|record| match &record.figures {
        Figures::Plan(figures) => Some(&**figures),
        _ => None,
    });
    let rows = all.map(|of| {
        vec![
            of.asked.clone(),
            of.link.clone(),
            of.protocol.clone(),
            full_name(&of.function, &of.parameters),
            short(of.predicted_ms),
            short(of.online_ms.median),
            format!("{:+.1}", of.error_percent),
            if of.chosen { "chosen" } else { "" }.to_owned(),
            format!("{:.1}", of.behind_percent),
        ]
    });
    Section::new("plans", "Plans beside runs")
        .text(
            "`tacit plan` predicts what each cut of a function takes online over a link and \
             chooses one. Here the cuts were run as well. The error is how much more was predicted \
             than the median; behind is how much slower the median was than that of the fastest \
             cut.",
        )
        .grid(Grid {
            caption: "Evaluator's milliseconds online, under half-gates; `tacit-bench plan`"
                .to_owned(),
            heads: heads(&[
                "asked", "link", "protocol", "cut", "planned", "measured", "error %", "",
                "behind %",
            ]),
            rows: rows.collect(),
        })
        .unless_empty()
}
