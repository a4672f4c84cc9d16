//! Values that stay, in the report: the figures of PartialGC again.

use super::all;
use super::chart::{Bar, Bars, Line};
use super::outsourced::NOTHING;
use super::page::{Grid, Picture, Section, heads};
use crate::Record;
use crate::outsourced::OutsourcedFigures;
use crate::outsourced::cases::{LOAD, SAVE};
use crate::outsourced::published::{COPIES, friend_finder_seconds};
use crate::table::short;

/// Figures 4, 5 and 7: what keeping values is worth.
pub(super) fn kept(records: &[Record]) -> Option<Section> {
    let all = all(records);
    let (four, winners) = figure_4(&all);
    Section::new("Values that stay: PartialGC's figures")
        .text(
            "One more symbol for the longest common substring: from the kept state \
             (`incremental`), from a state that left the run under a one-time pad with a MAC and \
             enters again (`sealed`, the paper's CMTB-Inc), or from the start (`full`, CMTB-Full). \
             Ours of all three run under one protocol, so that what differs is keeping alone; in \
             the paper the last two run under CMTB. Its figures are pictures without numbers.",
        )
        .picture(four)
        .grid(winners)
        .text(
            "Saving a bit is a label cut and written at both servers for every circuit; loading \
             one reads it and makes and follows a partial-input gate. A function that does nothing \
             else shows it; a bit is what time grows by between the fewest bits and the most.",
        )
        .picture(figure_5(&all))
        .grid(by_bits(&all))
        .picture(figure_7(&all))
        .grid(friends(&all))
        .unless_empty()
}

/// The three ways to go on, as Figure 4 names them here.
const WAYS: [(&str, &str, &str); 3] = [
    ("incremental", "substring-next", "length"),
    ("sealed", "substring-sealed-next", "length"),
    ("full", "longest-common-substring", "x_symbols"),
];

/// The runs of a way with this many circuits, by length.
fn of_way(
    all: &[&OutsourcedFigures],
    (_, function, parameter): (&str, &str, &str),
    copies: u32,
) -> Vec<(f64, f64)> {
    let runs = all
        .iter()
        .filter(|of| of.copies == copies && of.link == "loopback");
    let runs = runs.filter(|of| of.function == function);
    let point = |of: &&OutsourcedFigures| {
        let length = of.parameters.get(parameter)?;
        Some((*length as f64, of.whole_ms.median / 1e3))
    };
    runs.filter_map(point).collect()
}

fn figure_4(all: &[&OutsourcedFigures]) -> (Option<Picture>, Grid) {
    let sealed = all.iter().filter(|of| of.function == WAYS[1].1);
    let copies = sealed.map(|of| of.copies).max().unwrap_or(0);
    let ways = WAYS.map(|way| of_way(all, way, copies));
    let mut lengths: Vec<f64> = ways.iter().flatten().map(|(length, _)| *length).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.dedup();
    let row = |length: &f64| {
        let times = ways.each_ref().map(|points| {
            let mut points = points.iter();
            points.find(|point| point.0 == *length).map(|point| point.1)
        });
        let known = WAYS.iter().zip(times);
        let known = known.filter_map(|(way, time)| Some((way.0, time?)));
        let fastest = known.min_by(|a, b| a.1.total_cmp(&b.1));
        let mut row = vec![length.to_string()];
        row.extend(times.map(|time| time.map_or(NOTHING.to_owned(), short)));
        row.push(fastest.map_or(NOTHING.to_owned(), |(way, _)| way.to_owned()));
        row
    };
    let grid = Grid {
        caption: format!("Figure 4: seconds of one more symbol, {copies} circuits; who wins"),
        heads: heads("symbols | incremental | sealed | full | fastest"),
        rows: lengths.iter().map(row).collect(),
    };
    let lines = WAYS.iter().zip(ways);
    let lines = lines.map(|(way, points)| Line::measured(way.0, points.into_iter()));
    let picture = Picture::of_lines(
        "one-more-symbol",
        format!("Figure 4: one more symbol, {copies} circuits, against the text's length."),
        ["symbols of the text", "seconds"],
        lines.filter(|line| line.points.len() > 1).collect(),
    );
    (picture, grid)
}

/// Runs that only save or only load, with the most circuits there are, by bits.
fn only<'a>(all: &[&'a OutsourcedFigures], function: &str) -> Vec<(f64, &'a OutsourcedFigures)> {
    let runs = all
        .iter()
        .filter(|of| of.function == function && of.link == "loopback");
    let runs: Vec<&OutsourcedFigures> = runs.copied().collect();
    let copies = runs.iter().map(|of| of.copies).max();
    let runs = runs.into_iter().filter(|of| Some(of.copies) == copies);
    let mut runs: Vec<_> = runs
        .map(|of| (of.saved_bits.max(of.loaded_bits) as f64, of))
        .collect();
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    runs
}

fn figure_5(all: &[&OutsourcedFigures]) -> Option<Picture> {
    let line = |name, function| {
        let runs = only(all, function).into_iter();
        Line::measured(name, runs.map(|(bits, of)| (bits, of.whole_ms.median)))
    };
    let copies = only(all, SAVE).first()?.1.copies;
    Picture::of_lines(
        "kept-bits",
        format!("Figure 5: a run that only saves or loads, {copies} circuits."),
        ["bits", "ms"],
        vec![line("save", SAVE), line("load", LOAD)],
    )
}

fn by_bits(all: &[&OutsourcedFigures]) -> Grid {
    let rows = [("save", SAVE), ("load", LOAD)].map(|(name, function)| {
        let runs = only(all, function);
        let ([first, .., last], copies) = (&runs[..], runs.first().map(|run| run.1.copies)) else {
            return None;
        };
        let ms = last.1.whole_ms.median - first.1.whole_ms.median;
        Some(vec![
            name.to_owned(),
            copies.unwrap_or_default().to_string(),
            first.0.to_string(),
            short(first.1.whole_ms.median),
            last.0.to_string(),
            short(last.1.whole_ms.median),
            short(1e3 * ms / (last.0 - first.0)),
        ])
    });
    Grid {
        caption: "Figure 5: milliseconds of a run, and microseconds that a bit adds".to_owned(),
        heads: heads(" | circuits | bits | ms | bits, most | ms | µs a bit"),
        rows: rows.into_iter().flatten().collect(),
    }
}

/// The friend finder's operations.
const OPERATIONS: [&str; 3] = ["friend-map-start", "friend-map-set", "friend-map-get"];

/// Maps, each with its operations: by cells, with the most circuits there are.
fn maps<'a>(all: &[&'a OutsourcedFigures]) -> Vec<(u64, [Option<&'a OutsourcedFigures>; 3])> {
    let runs = all.iter().filter(|of| of.link == "loopback");
    let runs = runs.filter(|of| OPERATIONS.contains(&of.function.as_str()));
    let runs: Vec<&OutsourcedFigures> = runs.copied().collect();
    let cells = |of: &OutsourcedFigures| of.parameters.get("cells").copied().unwrap_or(0);
    let copies = runs.iter().map(|of| of.copies).max().unwrap_or(0);
    let mut sizes: Vec<u64> = runs.iter().map(|of| cells(of)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let of_size = |size: u64| {
        let operation = |name: &str| {
            let mut found = runs.iter();
            let is = |of: &&&OutsourcedFigures| {
                of.function == name && of.copies == copies && cells(of) == size
            };
            found.find(is).copied()
        };
        (size, OPERATIONS.map(operation))
    };
    sizes.into_iter().map(of_size).collect()
}

fn figure_7(all: &[&OutsourcedFigures]) -> Option<Picture> {
    let maps = maps(all);
    let copies = maps.first()?.1.into_iter().flatten().next()?.copies;
    let bar = |of: Option<&OutsourcedFigures>| {
        of.map(|of| Bar {
            value: of.whole_ms.median,
            limit: None,
        })
    };
    let groups = maps
        .into_iter()
        .map(|(cells, operations)| (format!("{cells} cells"), operations.map(bar).into()));
    let bars = Bars {
        quantity: "ms of an operation".to_owned(),
        series: OPERATIONS.map(str::to_owned).into(),
        limit: None,
        groups: groups.collect(),
    };
    Some(Picture {
        name: "friend-finder",
        caption: format!("Figure 7: the friend finder's operations, {copies} circuits."),
        svg: bars.svg(),
    })
}

fn friends(all: &[&OutsourcedFigures]) -> Grid {
    let row = |(cells, operations): (u64, [Option<&OutsourcedFigures>; 3])| {
        let copies = operations.iter().flatten().next().map(|of| of.copies);
        let paper = friend_finder_seconds(cells).filter(|_| copies == Some(COPIES[2]));
        let mut row = vec![cells.to_string(), copies.unwrap_or_default().to_string()];
        let seconds = |of: &OutsourcedFigures| short(of.whole_ms.median / 1e3);
        row.extend(operations.map(|of| of.map_or(NOTHING.to_owned(), seconds)));
        row.push(paper.map_or(NOTHING.to_owned(), |seconds| format!("about {seconds}")));
        row
    };
    Grid {
        caption: "Figure 7: seconds of an operation of the friend finder; the paper's as its text \
                  has them, for any of the three"
            .to_owned(),
        heads: heads("cells | circuits | MapStart | MapSet | MapGet | paper, each"),
        rows: maps(all).into_iter().map(row).collect(),
    }
}
