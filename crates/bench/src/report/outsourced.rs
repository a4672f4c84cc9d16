//! Outsourced runs in the report: the tables of PartialGC again, and what of ours differs in kind.

use super::all;
use super::page::{Grid, Section, heads};
use crate::Record;
use crate::direct::full_name;
use crate::outsourced::OutsourcedFigures;
use crate::outsourced::published::{COPIES, PUBLISHED, Published, PublishedSeconds};
use crate::table::{mebibytes, short};

/// What a cell without a figure has.
pub(super) const NOTHING: &str = "–";

/// Tables 1 to 4, and every run.
pub(super) fn programs(records: &[Record]) -> Option<Section> {
    let all = all(records);
    Section::new("A thin client and a cloud: PartialGC's tables")
    .text(
        "Generator, evaluator and cloud are three processes of one machine, over TLS on \
             loopback; the paper gave generator and cloud 32 cores each, and the evaluator a phone \
             or a process on the same server. Times are of a whole run with base OTs; sessions are \
             open. At 256 circuits both withstand a malicious generator but for 2^-80.",
    )
    .text(
        "Where ours differs in kind: the consistency check of the generator's input takes \
             hashes of select bits and no gates; the MAC of results is linear over GF(2^64), 729 \
             AND gates for 64 bits, where the paper has AES-CBC in the circuit, so that gate \
             counts fall by more than better circuits explain. CMTB is not run again: its columns \
             are the paper's. `database-lookup` and the friend finder tell their results to the \
             evaluator alone, the other programs to both. `docs/protocols/outsourced.md` lists \
             every deviation.",
    )
    .grid(gates(&all))
    .grid(times(&all))
    .grid(client(&all))
    .grid(Grid::of(
        "Every run, milliseconds: agreement, the kept chain taken up, base OTs, the rest. Memory \
             is over all functions of one chain",
        &all,
    ))
    .unless_empty()
}

/// The published programs that were measured, each with a record of it.
fn measured<'a>(
    all: &'a [&OutsourcedFigures],
) -> impl Iterator<Item = (&'static Published, &'a OutsourcedFigures)> {
    PUBLISHED.iter().filter_map(|published| {
        let of = all
            .iter()
            .find(|of| published.is(&of.function, &of.parameters));
        of.map(|of| (published, *of))
    })
}

fn gates(all: &[&OutsourcedFigures]) -> Grid {
    let count = |gates: Option<u64>| gates.map_or(NOTHING.to_owned(), |gates| gates.to_string());
    let row = |(published, of): (&Published, &OutsourcedFigures)| {
        // A full run of PartialGC has CMTB's gates.
        let [cmtb, partial] = published.gates;
        let share = partial
            .or(cmtb)
            .map(|gates| of.circuit_ands as f64 / gates as f64);
        vec![
            published.name.to_owned(),
            full_name(&of.function, &of.parameters),
            count(cmtb),
            count(partial),
            of.ands.to_string(),
            of.circuit_ands.to_string(),
            share.map_or(NOTHING.to_owned(), |share| format!("{share:.2}")),
        ]
    };
    Grid {
        caption:
            "Table 1: gates that are not XOR, of a circuit. Incremental ones of CMTB leave and \
                  enter sealed (`substring-sealed-next` here)"
                .to_owned(),
        heads: heads(
            "program | function | CMTB | PartialGC | ours, function | ours, with MAC | of \
             PartialGC's",
        ),
        rows: measured(all).map(row).collect(),
    }
}

fn times(all: &[&OutsourcedFigures]) -> Grid {
    let mut rows = Vec::new();
    for published in PUBLISHED.iter() {
        let Some(seconds) = published.seconds else {
            continue;
        };
        for (place, copies) in COPIES.into_iter().enumerate() {
            let mut runs = all.iter().filter(|of| {
                of.copies == copies
                    && of.link == "loopback"
                    && published.is(&of.function, &of.parameters)
            });
            if let Some(of) = runs.next() {
                rows.push(row_of_times(published, of, &seconds, place));
            }
        }
    }
    Grid {
        caption: "Tables 2 and 4: seconds of a run; `tacit-bench outsourced`".to_owned(),
        heads: heads(
            "program | circuits | ours | samples | PartialGC, server | PartialGC, phone | CMTB, \
             server | CMTB, phone | server's over ours",
        ),
        rows,
    }
}

fn row_of_times(
    published: &Published,
    of: &OutsourcedFigures,
    seconds: &PublishedSeconds,
    place: usize,
) -> Vec<String> {
    let ours = of.whole_ms.median / 1e3;
    let columns = [
        seconds.server,
        seconds.phone,
        seconds.cmtb_server,
        seconds.cmtb_phone,
    ];
    let mut row = vec![
        published.name.to_owned(),
        of.copies.to_string(),
        short(ours),
        of.whole_ms.samples.to_string(),
    ];
    row.extend(columns.map(|column| short(column[place])));
    row.push(format!("{:.1}", seconds.server[place] / ours));
    row
}

fn client(all: &[&OutsourcedFigures]) -> Grid {
    let full = all.iter().filter(|of| of.copies == COPIES[2]);
    let full: Vec<&OutsourcedFigures> = full.copied().collect();
    let row = |(published, of): (&Published, &OutsourcedFigures)| {
        let [cmtb, partial] = published.client_bytes?;
        let ours = of.traffic.client_bytes();
        Some(vec![
            published.name.to_owned(),
            ours.to_string(),
            partial.to_string(),
            cmtb.to_string(),
            format!("{:.1}", partial as f64 / ours as f64),
            mebibytes(of.memory.evaluator_bytes),
        ])
    };
    Grid {
        caption: "Table 3: bytes that the thin client sends and receives, 256 circuits".to_owned(),
        heads: heads("program | ours | PartialGC | CMTB | PartialGC's over ours | MiB of memory"),
        rows: measured(&full).filter_map(row).collect(),
    }
}
