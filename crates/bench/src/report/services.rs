//! Services in the report: what they did under load.

use super::page::{Grid, Section, heads};
use crate::table::short;
use crate::{Figures, Record};

/// Every service that was loaded, by its offers and all of them together.
pub(super) fn services(records: &[Record]) -> Option<Section> {
    let all = records.iter().filter_map(|record| match &record.figures {
        Figures::Serve(figures) => Some(&**figures),
        _ => None,
    });
    let rows = all.flat_map(|of| {
        of.latency.iter().map(|(offer, latency)| {
            vec![
                offer.clone(),
                of.peers.to_string(),
                latency.runs.to_string(),
                short(latency.runs as f64 / of.seconds),
                short(latency.p50_ms),
                short(latency.p99_ms),
                of.wrong_results.to_string(),
                of.failed.to_string(),
                of.refused.to_string(),
            ]
        })
    });
    Section::new("services", "A service under load")
        .text(
            "`tacit serve` with many peers on one machine, of which one is hostile all the time: \
             times of a run at its peer, in an open session; runs with a wrong result, runs and \
             sessions of honest peers that failed, and what was refused to the hostile one.",
        )
        .grid(Grid {
            caption: "Milliseconds at the peers, over TLS on loopback; `tacit-bench serve`"
                .to_owned(),
            heads: heads(&[
                "runs of", "peers", "runs", "runs/s", "p50", "p99", "wrong", "failed", "refused",
            ]),
            rows: rows.collect(),
        })
        .unless_empty()
}
