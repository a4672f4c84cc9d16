//! Protocols of two parties in the report, plans of them, and services.

use tacit_net::Link;

use super::all;
use super::chart::Line;
use super::page::{Grid, Picture, Section, heads};
use crate::Record;
use crate::authenticated::AuthenticatedFigures;
use crate::authenticated::sources::SourceFigures;
use crate::batch::BatchFigures;
use crate::direct::{DirectFigures, full_name};
use crate::lots::LotFigures;
use crate::plan::PlanFigures;
use crate::prepared::PreparedFigures;
use crate::serve::ServeFigures;
use crate::serve::idle::IdleFigures;
use crate::table::short;

/// `prepared` next to `naive` and CompGC's Table 2.
pub(super) fn prepared(records: &[Record]) -> Option<Section> {
    let all = all(records);
    Section::new("Prepared components: CompGC's Table 2")
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
        .grid(Grid::of(
            "Evaluator's milliseconds from its first online byte to its result, over TLS; \
             `tacit-bench prepared`",
            &all,
        ))
        .unless_empty()
}

/// Garbling for the stock, by threads.
pub(super) fn lots(records: &[Record]) -> Option<Section> {
    let lots = all(records);
    Section::new("Garbling for the stock, by threads")
        .text(
            "Instances do not depend on each other, so that each core garbles its own. The limit \
             drawn is the rate of one thread times their number.",
        )
        .picture(against_threads(&lots))
        .grid(Grid::of(
            "Lots garbled in memory, without sending; `tacit-bench prepared --only lot`",
            &lots,
        ))
        .unless_empty()
}

/// Instances a second against threads.
fn against_threads(lots: &[&LotFigures]) -> Option<Picture> {
    let one = lots.iter().find(|of| of.threads == 1)?.instances_per_s;
    let threads = || lots.iter().map(|of| of.threads as f64);
    let measured = threads().zip(lots.iter().map(|of| of.instances_per_s));
    let limit = threads().map(|threads| (threads, one * threads));
    Picture::of_lines(
        "threads",
        "Components garbled in a second against threads.".to_owned(),
        ["threads", "instances a second"],
        vec![
            Line::measured("measured", measured),
            Line::limit("limit", limit),
        ],
    )
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
    Picture::of_lines(
        "round-trip",
        format!("`{name}` at {rate} Mbit/s: the evaluator's time against the round trip."),
        ["round trip, ms", "online, ms"],
        lines,
    )
}

/// The same against the rate, for links of one delay.
fn against_rate(all: &[&PreparedFigures]) -> Option<Picture> {
    let picked = most_links(all, |a, b| a.one_way_delay() == b.one_way_delay())?;
    let trip = round_trip_ms(link(picked[0])?);
    let lines = three_lines(&picked, |link| link.rate_bits_per_s() as f64 / 1e6);
    let name = full_name(&picked[0].function, &picked[0].parameters);
    Picture::of_lines(
        "rate",
        format!("`{name}` at a round trip of {trip} ms: the evaluator's time against the rate."),
        ["rate, Mbit/s", "online, ms"],
        lines,
    )
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

fn three_lines(picked: &[&PreparedFigures], across: fn(Link) -> f64) -> Vec<Line> {
    let points = |height: fn(&PreparedFigures) -> Option<f64>| {
        let point = move |of: &&PreparedFigures| Some((across(link(of)?), height(of)?));
        picked.iter().filter_map(point)
    };
    vec![
        Line::measured("naive", points(|of| Some(of.naive_ms.median))),
        Line::measured("prepared", points(|of| Some(of.online_ms.median))),
        Line::limit("floor", points(PreparedFigures::floor_ms)),
    ]
}

/// The field's usual workloads under `direct`.
pub(super) fn workloads(records: &[Record]) -> Option<Section> {
    let direct = all(records);
    Section::new("Garbled and sent on the spot")
        .text(
            "`direct` garbles, sends and evaluates at once, in memory that does not grow with the \
             circuit's length. Its time is the link's as soon as tables take longer to send than \
             to make.",
        )
        .picture(against_size(&direct, &all(records)))
        .grid(Grid::of(
            "Functions under `direct`, one thread a party, in the clear; `tacit-bench direct`",
            &direct,
        ))
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
    Picture::of_lines(
        "size",
        "Online time on loopback against AND gates, a point a function.".to_owned(),
        ["AND gates", "online, ms"],
        vec![
            Line::measured("direct", direct),
            Line::measured("prepared", prepared),
        ],
    )
}

/// Functions against a malicious party, from nothing.
pub(super) fn authenticated(records: &[Record]) -> Option<Section> {
    Section::new("Against a malicious party, from nothing")
        .text(
            "`authenticated` runs any function once with nothing prepared: a run makes its own \
             triples, and memory does not grow with the circuit's length. Base OTs are made once a \
             session.",
        )
        .grid(Grid::of(
            "Functions under `authenticated`, one thread a party, in the clear; `tacit-bench \
             authenticated`",
            &all::<AuthenticatedFigures>(records),
        ))
        .unless_empty()
}

/// Functions against a malicious party, by what is prepared.
pub(super) fn sources(records: &[Record]) -> Option<Section> {
    Section::new("Against a malicious party, from what is prepared")
        .text(
            "Triples are made before anybody knows the function, instances before anybody knows \
             more of it than its components. B/AND is what it takes to prepare an AND gate, both \
             ways; kept is what each party has of it, in bytes an AND gate. Here it is in memory: \
             a run from the stock agrees, leases and reads a disk as well.",
        )
        .grid(Grid::of(
            "Functions under `authenticated`, s = 40, one thread a party, in the clear; \
             `tacit-bench authenticated --only from-`",
            &all::<SourceFigures>(records),
        ))
        .unless_empty()
}

/// Every batch that was measured.
pub(super) fn batches(records: &[Record]) -> Option<Section> {
    let all = all(records);
    Section::new("Malicious batches: Lindell and Riva's figures")
        .text(
            "Many executions are garbled, checked and kept together; each then takes four messages \
             whose size does not depend on the circuit. The paper's figures are of 1024 executions \
             at s = 40 on 9 threads at 2.9 GHz; here both parties share one machine, on this many \
             threads each. The larger the batch, the fewer circuits an execution takes: B are \
             evaluated, and M garbled in all.",
        )
        .picture(against_executions(&all))
        .grid(Grid::of(
            "Milliseconds an execution, s = 40, over TLS: offline on loopback, online at the \
             evaluator; `tacit-bench batch`",
            &all,
        ))
        .unless_empty()
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
        let points = same.map(|of| (of.executions as f64, height(of)));
        Line::measured(&format!("{name} {stage}"), points)
    };
    let lines = names.iter().flat_map(|name| {
        [
            line(name, "offline", |of| of.offline_ms),
            line(name, "online", |of| of.online_ms.median),
        ]
    });
    // A line has two points at least.
    let lines = lines.filter(|line| line.points.len() > 1).collect();
    let caption = format!(
        "Milliseconds an execution against the executions of a batch, on loopback, {threads} \
         threads a party."
    );
    let axes = ["executions prepared together", "ms an execution"];
    Picture::of_lines("batches", caption, axes, lines)
}

/// Every cut that was run, in the order of its records.
pub(super) fn plans(records: &[Record]) -> Option<Section> {
    Section::new("Plans next to runs")
        .text(
            "`tacit plan` predicts what each cut of a function takes online over a link and \
             chooses one. Here the cuts were run as well. The error is how much more was predicted \
             than the median; behind is how much slower the median was than that of the fastest \
             cut.",
        )
        .grid(Grid::of(
            "Evaluator's milliseconds online, under half-gates; * is the plan's choice; \
             `tacit-bench plan`",
            &all::<PlanFigures>(records),
        ))
        .unless_empty()
}

/// Every service that was loaded, by its offers and all of them together.
pub(super) fn services(records: &[Record]) -> Option<Section> {
    let rows = all::<ServeFigures>(records).into_iter().flat_map(|of| {
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
    Section::new("A service under load")
        .text(
            "`tacit serve` with many peers on one machine, of which one is hostile all the time: \
             times of a run at its peer, in an open session; runs with a wrong result, runs and \
             sessions of honest peers that failed, and what was refused to the hostile one.",
        )
        .grid(Grid {
            caption: "Milliseconds at the peers, over TLS on loopback; `tacit-bench serve`"
                .to_owned(),
            heads: heads("runs of | peers | runs | runs/s | p50 | p99 | wrong | failed | refused"),
            rows: rows.collect(),
        })
        .grid(Grid::of(
            "Idle peers, and what they cost; `tacit-bench serve --idle N`",
            &all::<IdleFigures>(records),
        ))
        .unless_empty()
}
