//! Functions against a malicious party, from nothing.

use super::page::{Grid, Section, heads};
use crate::direct::full_name;
use crate::table::{mebibytes, short};
use crate::{Figures, Record};

/// Every function that was measured.
pub(super) fn section(records: &[Record]) -> Option<Section> {
    let figures = records.iter().filter_map(|record| match &record.figures {
        Figures::Authenticated(figures) => Some(figures),
        _ => None,
    });
    let rows = figures.map(|of| {
        let run = &of.run;
        vec![
            full_name(&run.function, &run.parameters),
            of.statistical_security_bits.to_string(),
            run.link.clone(),
            run.ands.to_string(),
            short(run.setup_ms.median),
            short(run.run_ms.median),
            format!("{:.1}", run.run_ms.deviation_percent()),
            short(of.direct_ms.median),
            short(run.million_ands_per_s),
            short(of.bytes_an_and()),
            run.run_traffic.rounds.to_string(),
            mebibytes(run.memory.garbler_bytes),
            mebibytes(run.memory.evaluator_bytes),
        ]
    });
    Section::new("authenticated", "Against a malicious party, from nothing")
        .text(
            "`authenticated` runs any function once with nothing prepared: a run makes its own \
             triples, and memory does not grow with the circuit's length. Base OTs are made once a \
             session.",
        )
        .grid(Grid {
            caption: "Functions under `authenticated`, one thread a party, in the clear; \
                      `tacit-bench authenticated`"
                .to_owned(),
            heads: heads(&[
                "function",
                "s",
                "link",
                "AND",
                "setup ms",
                "run ms",
                "± %",
                "direct ms",
                "M AND/s",
                "bytes an AND",
                "rounds",
                "MiB garbler",
                "MiB evaluator",
            ]),
            rows: rows.collect(),
        })
        .unless_empty()
}
