//! Semi-honest protocols in the report: from the stock, and on the spot.

use tacit_net::Link;

use super::chart::{Line, Lines};
use super::page::{Grid, Picture, Section, heads};
use crate::direct::{DirectFigures, full_name};
use crate::lots::LotFigures;
use crate::prepared::PreparedFigures;
use crate::table::{mebibytes, short};
use crate::{Figures, Record};

/// `prepared` next to `naive` and CompGC's Table 2.
pub(super) fn prepared(records: &[Record]) -> Option<Section> {
    let all = from_stock(records);
    let rows = all.iter().map(|of| {
        let optional = |value: Option<f64>| value.map_or("–".to_owned(), short);
        vec![
            full_name(&of.function, &of.parameters),
            of.link.clone(),
            of.ands.to_string(),
            of.online_mean_ms.to_string(),
            optional(of.floor_ms()),
            optional(of.paper.map(|paper| paper.online_ms)),
            of.naive_mean_ms.to_string(),
            optional(of.paper.map(|paper| paper.naive_ms)),
            short(of.received_bytes as f64 / 1e3),
            optional(of.paper.map(|paper| paper.online_mbit * 1e3 / 8.0)),
            short(of.agreed_online_ms.median),
            short(of.cold_ms),
        ]
    });
    Section::new("prepared", "Prepared components: CompGC's Table 2")
        .text(
            "Components were garbled and sent before; online the evaluator sends where its leases \
             start and a bit for each of its inputs, and gets labels and links back. The floor is \
             one round trip and the bytes that depend on those inputs at the link's rate. `naive` \
             sends the tables online, as `direct` does in an open session. The paper's \"33 ms\" \
             can mean one way or a round trip: the rows have both readings. Its CBC and \
             Levenshtein are cut finer, one component a round or a cell.",
        )
        .picture(against_round_trip(&all))
        .picture(against_rate(&all))
        .grid(Grid {
            caption:
                "Evaluator's milliseconds from its first online byte to its result, mean ± 95 %, \
                      over TLS; `tacit-bench prepared`"
                    .to_owned(),
            heads: heads(&[
                "function",
                "link",
                "AND",
                "online",
                "floor",
                "paper",
                "naive",
                "paper",
                "KB in",
                "paper",
                "with agreement",
                "cold",
            ]),
            rows: rows.collect(),
        })
        .unless_empty()
}

/// Garbling for the stock, by threads.
pub(super) fn lots(records: &[Record]) -> Option<Section> {
    let figures = records.iter().map(|record| &record.figures);
    let lots: Vec<&LotFigures> = figures
        .filter_map(|figures| match figures {
            Figures::Lot(figures) => Some(figures),
            _ => None,
        })
        .collect();
    let rows = lots.iter().map(|of| {
        vec![
            format!("{} × {}", of.instances, of.component),
            of.scheme.clone(),
            of.threads.to_string(),
            short(of.lot_ms.median),
            format!("{:.1}", of.lot_ms.deviation_percent()),
            short(of.instances_per_s),
            short(of.million_ands_per_s),
        ]
    });
    Section::new("threads", "Garbling for the stock, by threads")
        .text(
            "Instances do not depend on each other, so that each core garbles its own. The limit \
             drawn is the rate of one thread times their number.",
        )
        .picture(against_threads(&lots))
        .grid(Grid {
            caption: "Lots garbled in memory, without sending; `tacit-bench prepared --only lot`"
                .to_owned(),
            heads: heads(&[
                "lot",
                "scheme",
                "threads",
                "ms",
                "± %",
                "instances/s",
                "M AND/s",
            ]),
            rows: rows.collect(),
        })
        .unless_empty()
}

/// Instances a second against threads.
fn against_threads(lots: &[&LotFigures]) -> Option<Picture> {
    let one = lots.iter().find(|of| of.threads == 1)?.instances_per_s;
    let line = |name: &str, limit, height: &dyn Fn(&LotFigures) -> f64| Line {
        name: name.to_owned(),
        points: lots
            .iter()
            .map(|of| (of.threads as f64, height(of)))
            .collect(),
        limit,
    };
    let lines = vec![
        line("measured", false, &|of| of.instances_per_s),
        line("limit", true, &|of| one * of.threads as f64),
    ];
    Some(Picture {
        name: "threads",
        caption: "Components garbled in a second against threads.".to_owned(),
        svg: Lines {
            across: "threads".to_owned(),
            up: "instances a second".to_owned(),
            lines,
        }
        .svg()?,
    })
}

fn from_stock(records: &[Record]) -> Vec<&PreparedFigures> {
    let figures = records.iter().map(|record| &record.figures);
    let prepared = figures.filter_map(|figures| match figures {
        Figures::Prepared(figures) => Some(&**figures),
        _ => None,
    });
    prepared.collect()
}

fn link(of: &PreparedFigures) -> Option<Link> {
    of.link.parse().ok()
}

fn round_trip_ms(link: Link) -> f64 {
    2e3 * link.one_way_delay().as_secs_f64()
}

/// The function with the most AND gates that was measured on two links of one rate, and more.
fn against_round_trip(all: &[&PreparedFigures]) -> Option<Picture> {
    let picked = most_links(all, |a, b| a.rate_bits_per_s() == b.rate_bits_per_s())?;
    let rate = link(picked[0])?.rate_bits_per_s() / 1_000_000;
    let lines = three_lines(&picked, round_trip_ms);
    let name = full_name(&picked[0].function, &picked[0].parameters);
    Some(Picture {
        name: "round-trip",
        caption: format!("`{name}` at {rate} Mbit/s: the evaluator's time against the round trip."),
        svg: Lines {
            across: "round trip, ms".to_owned(),
            up: "online, ms".to_owned(),
            lines,
        }
        .svg()?,
    })
}

/// The same against the rate, for links of one delay.
fn against_rate(all: &[&PreparedFigures]) -> Option<Picture> {
    let picked = most_links(all, |a, b| a.one_way_delay() == b.one_way_delay())?;
    let trip = round_trip_ms(link(picked[0])?);
    let lines = three_lines(&picked, |link| link.rate_bits_per_s() as f64 / 1e6);
    let name = full_name(&picked[0].function, &picked[0].parameters);
    Some(Picture {
        name: "rate",
        caption: format!(
            "`{name}` at a round trip of {trip} ms: the evaluator's time against the rate."
        ),
        svg: Lines {
            across: "rate, Mbit/s".to_owned(),
            up: "online, ms".to_owned(),
            lines,
        }
        .svg()?,
    })
}

/// The records of one function on the most links that are alike: the largest such function.
fn most_links<'a>(
    all: &[&'a PreparedFigures],
    alike: impl Fn(Link, Link) -> bool,
) -> Option<Vec<&'a PreparedFigures>> {
    let mut best: Option<Vec<&PreparedFigures>> = None;
    for first in all {
        let Some(one) = link(first) else { continue };
        let same = |of: &&&PreparedFigures| {
            (&of.function, &of.parameters) == (&first.function, &first.parameters)
                && link(of).is_some_and(|other| alike(one, other))
        };
        let picked: Vec<&PreparedFigures> = all.iter().filter(same).copied().collect();
        let size = |picked: &[&PreparedFigures]| (picked.len(), picked[0].ands);
        if picked.len() > 1 && best.as_ref().is_none_or(|best| size(&picked) > size(best)) {
            best = Some(picked);
        }
    }
    best
}

fn three_lines(picked: &[&PreparedFigures], across: impl Fn(Link) -> f64) -> Vec<Line> {
    type Height = fn(&PreparedFigures) -> Option<f64>;
    let lines: [(&str, bool, Height); 3] = [
        ("naive", false, |of| Some(of.naive_ms.median)),
        ("prepared", false, |of| Some(of.online_ms.median)),
        ("floor", true, PreparedFigures::floor_ms),
    ];
    let line = |(name, limit, height): (&str, bool, Height)| {
        let point = |of: &&PreparedFigures| Some((across(link(of)?), height(of)?));
        let mut points: Vec<(f64, f64)> = picked.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let name = name.to_owned();
        Line {
            name,
            points,
            limit,
        }
    };
    lines.into_iter().map(line).collect()
}

/// The field's usual workloads under `direct`.
pub(super) fn workloads(records: &[Record]) -> Option<Section> {
    let figures = records.iter().map(|record| &record.figures);
    let all: Vec<&DirectFigures> = figures
        .filter_map(|figures| match figures {
            Figures::Direct(figures) => Some(figures),
            _ => None,
        })
        .collect();
    let rows = all.iter().map(|of| {
        vec![
            full_name(&of.function, &of.parameters),
            of.scheme.clone(),
            of.link.clone(),
            of.ands.to_string(),
            short(of.run_ms.median),
            format!("{:.1}", of.run_ms.deviation_percent()),
            short(of.million_ands_per_s),
            short(of.run_traffic.bytes() as f64 / 1e6),
            of.run_traffic.rounds.to_string(),
            mebibytes(of.memory.garbler_bytes),
            mebibytes(of.memory.evaluator_bytes),
        ]
    });
    Section::new("direct", "Garbled and sent on the spot")
        .text(
            "`direct` garbles, sends and evaluates at once, in memory that does not grow with the \
             circuit's length. Its time is the link's as soon as tables take longer to send than \
             to make.",
        )
        .picture(against_size(&all, &from_stock(records)))
        .grid(Grid {
            caption: "Functions under `direct`, one thread a party, in the clear; `tacit-bench \
                direct`"
                .to_owned(),
            heads: heads(&[
                "function",
                "scheme",
                "link",
                "AND",
                "run ms",
                "± %",
                "M AND/s",
                "MB",
                "rounds",
                "MiB garbler",
                "MiB evaluator",
            ]),
            rows: rows.collect(),
        })
        .unless_empty()
}

/// Online time against the function's size, on loopback.
fn against_size(direct: &[&DirectFigures], prepared: &[&PreparedFigures]) -> Option<Picture> {
    let default = tacit::garble::SchemeId::HALF_GATES_TWO_CALL.to_string();
    let direct = direct
        .iter()
        .filter(|of| of.link == "loopback" && of.scheme == default)
        .map(|of| (of.ands as f64, of.run_ms.median));
    let prepared = prepared
        .iter()
        .filter(|of| of.link == "loopback")
        .map(|of| (of.ands as f64, of.online_ms.median));
    let line = |name: &str, points: Vec<(f64, f64)>| {
        let mut points = points;
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Line {
            name: name.to_owned(),
            points,
            limit: false,
        }
    };
    let lines = vec![
        line("direct", direct.collect()),
        line("prepared", prepared.collect()),
    ];
    Some(Picture {
        name: "size",
        caption: "Online time on loopback against AND gates, a point a function.".to_owned(),
        svg: Lines {
            across: "AND gates".to_owned(),
            up: "online, ms".to_owned(),
            lines,
        }
        .svg()?,
    })
}
