//! What an assumption costs: garbling schemes next to the ceiling and the tables of *Fast
//! Garbling of Circuits Under Standard Assumptions*.

use super::all;
use super::chart::{Bar, Bars};
use super::page::{Grid, Picture, Section, heads};
use super::papers::{FAST_GARBLING, FAST_GARBLING_ANDS, FAST_GARBLING_XORS};
use crate::Record;
use crate::direct::DirectFigures;
use crate::kernels::KernelFigures;
use crate::schemes::SchemeFigures;
use crate::table::short;

/// Garbling and evaluating under each scheme.
pub(super) fn speed(records: &[Record]) -> Option<Section> {
    let all = all(records);
    let backend = fastest_backend(records)?;
    let cases = pairs(&all, &backend);
    let gates = if backend == "portable" {
        "without AES instructions".to_owned()
    } else {
        format!("with {backend}")
    };
    Section::new("What an assumption costs")
        .text(
            "Who trusts AES less pays more: a pseudorandom function alone takes ciphertexts and \
             key schedules for XOR gates too. The mark on a bar is what the bare AES calls of the \
             scheme take on this core, measured around it; no garbler of that scheme can be \
             faster.",
        )
        .picture(speed_picture(&cases, &gates))
        .grid(by_circuit(
            &cases,
            format!(
                "Nanoseconds an AND gate, garble / evaluate, one thread, {gates}; `tacit-bench \
                 schemes`"
            ),
            |of| short(of.and_ns.median),
        ))
        .grid(by_circuit(
            &cases,
            "The same in percent of the ceiling, which is 100 for a garbler that does nothing but \
             AES"
            .to_owned(),
            |of| format!("{:.0}", 100.0 * of.ceiling_share),
        ))
        .grid(backends(&all))
        .unless_empty()
}

/// The fastest backend that schemes were measured on.
fn fastest_backend(records: &[Record]) -> Option<String> {
    let measured: Vec<&SchemeFigures> = all(records);
    let backends = records.iter().flat_map(|record| &record.machine.backends);
    let mut measured = backends.filter(|backend| measured.iter().any(|of| of.backend == **backend));
    measured.next_back().cloned()
}

/// A scheme on a circuit in both roles, where each was measured.
type Pair<'a> = (Option<&'a SchemeFigures>, Option<&'a SchemeFigures>);

fn pairs<'a>(all: &[&'a SchemeFigures], backend: &str) -> Vec<Pair<'a>> {
    let mut pairs: Vec<Pair<'a>> = Vec::new();
    for &of in all.iter().filter(|of| of.backend == backend) {
        let same = |pair: &&mut Pair<'a>| {
            let other = pair.0.or(pair.1).expect("a pair has one at least");
            (&other.scheme, &other.circuit) == (&of.scheme, &of.circuit)
        };
        let garbler = of.role == "garbler";
        match pairs.iter_mut().find(same) {
            Some(pair) if garbler => pair.0 = Some(of),
            Some(pair) => pair.1 = Some(of),
            None if garbler => pairs.push((Some(of), None)),
            None => pairs.push((None, Some(of))),
        }
    }
    pairs
}

/// A row a scheme and a column a circuit, with a figure of the garbler and the evaluator each.
fn by_circuit(cases: &[Pair<'_>], caption: String, figure: fn(&SchemeFigures) -> String) -> Grid {
    let either = |pair: &Pair<'_>| pair.0.or(pair.1).cloned();
    let (mut circuits, mut schemes) = (Vec::new(), Vec::new());
    for of in cases.iter().filter_map(either) {
        if !circuits.contains(&of.circuit) {
            circuits.push(of.circuit);
        }
        if !schemes.contains(&(of.scheme.clone(), of.assumption.clone())) {
            schemes.push((of.scheme, of.assumption));
        }
    }
    let cell = |scheme: &str, circuit: &str| {
        let here = |pair: &&Pair<'_>| {
            either(pair).is_some_and(|of| of.scheme == scheme && of.circuit == circuit)
        };
        let figure = |of: Option<&SchemeFigures>| of.map_or("–".to_owned(), figure);
        let pair = cases.iter().find(here);
        pair.map_or("–".to_owned(), |(garbler, evaluator)| {
            format!("{} / {}", figure(*garbler), figure(*evaluator))
        })
    };
    let rows = schemes.iter().map(|(scheme, assumption)| {
        let figures = circuits.iter().map(|circuit| cell(scheme, circuit));
        [scheme.clone(), assumption.clone()]
            .into_iter()
            .chain(figures)
            .collect()
    });
    let rows = rows.collect();
    let fixed = heads("scheme | rests on AES as");
    Grid {
        caption,
        heads: fixed.into_iter().chain(circuits).collect(),
        rows,
    }
}

fn speed_picture(cases: &[Pair<'_>], gates: &str) -> Option<Picture> {
    let bar = |of: Option<&SchemeFigures>| {
        of.map(|of| Bar {
            value: of.and_ns.median,
            limit: Some(of.and_ns.median * of.ceiling_share),
        })
    };
    let of_circuit = |circuit: &str| -> Vec<(String, Vec<Option<Bar>>)> {
        let cases = cases.iter().filter_map(|(garbler, evaluator)| {
            let of = garbler.or(*evaluator)?;
            let bars = vec![bar(*garbler), bar(*evaluator)];
            (of.circuit == circuit).then(|| (of.scheme.clone(), bars))
        });
        cases.collect()
    };
    let groups = of_circuit("aes-128");
    (!groups.is_empty()).then(|| Picture {
        name: "assumptions",
        caption: format!(
            "AES-128 garbled and evaluated under each scheme, one thread, {gates}: nanoseconds an \
             AND gate, XOR gates included. Shorter is better."
        ),
        svg: Bars {
            quantity: "ns an AND gate".to_owned(),
            series: heads("garble | evaluate"),
            limit: Some("AES alone".to_owned()),
            groups,
        }
        .svg(),
    })
}

/// What each backend makes of the default scheme.
fn backends(all: &[&SchemeFigures]) -> Grid {
    let default = tacit::garble::SchemeId::HALF_GATES_TWO_CALL.to_string();
    let of_default = all.iter().filter(|of| of.scheme == default);
    Grid::of(
        &format!("`{default}` on each backend of this CPU"),
        &of_default.copied().collect::<Vec<_>>(),
    )
}

/// The paper's circuits by our names.
const CIRCUITS: [&str; 3] = ["aes-128", "sha-256-compress", "min-cut-250k"];

/// The tables of the paper next to ours.
pub(super) fn published(records: &[Record]) -> Option<Section> {
    Section::new("Fast garbling's tables")
        .text(&format!(
            "Gueron, Lindell, Nof and Pinkas say that giving up the public random permutation \
             costs a protocol next to nothing, since the network is slower than AES. Their \
             circuits have {} AND and {} XOR gates; ours are smaller for AES and SHA-256 (6,400 \
             and 22,271 AND), and a synthetic one of the same size for Min-Cut, so that absolute \
             figures differ in kind and ratios are what to compare. Their Tables 1 and 5 are \
             sizes, too; of Tables 2 and 6 the text that we have holds no figures.",
            FAST_GARBLING_ANDS.map(thousands).join(", "),
            FAST_GARBLING_XORS.map(thousands).join(", "),
        ))
        .grid(sizes(records))
        .grid(executions(records))
        .grid(ratios(records))
        .grid(thousand_aes(records))
        .unless_empty()
}

/// Table 8.
fn sizes(records: &[Record]) -> Grid {
    let measured: Vec<&SchemeFigures> = all(records);
    let ours = |scheme: &str, circuit: &str| {
        let of = measured
            .iter()
            .find(|of| (of.scheme.as_str(), of.circuit.as_str()) == (scheme, circuit));
        of.map_or("–".to_owned(), |of| {
            format!("{:.2}", of.table_bytes as f64 / f64::from(1 << 20))
        })
    };
    let rows = FAST_GARBLING.iter().filter_map(|row| {
        let ours = CIRCUITS.map(|circuit| ours(row.scheme, circuit));
        ours.iter().any(|cell| cell != "–").then(|| {
            let [a, b, c] = ours;
            let [p, q, r] = row.table_mib.map(|mib| format!("{mib:.2}"));
            vec![
                row.assumption.to_owned(),
                row.name.to_owned(),
                row.scheme.to_owned(),
                p,
                a,
                q,
                b,
                r,
                c,
            ]
        })
    });
    Grid {
        caption: "Table 8: MiB of a garbled circuit, published and ours".to_owned(),
        heads: heads(
            "assumption | in the paper | scheme | AES | ours | SHA-256 | ours | Min-Cut | ours",
        ),
        rows: rows.collect(),
    }
}

fn direct<'a>(
    all: &[&'a DirectFigures],
    scheme: &str,
    circuit: &str,
    link: &str,
) -> Option<&'a DirectFigures> {
    let starts = |of: &&&DirectFigures| {
        of.scheme == scheme && of.function.starts_with(circuit) && of.parameters.is_empty()
    };
    all.iter()
        .filter(starts)
        .find(|of| of.link == link)
        .copied()
}

/// The links that stand for the paper's two, its parties near and far.
const NEAR: &str = "500us,1gbit";
const FAR: &str = "40ms,100mbit";

/// Table 7.
fn executions(records: &[Record]) -> Grid {
    let all = all(records);
    let ours = |scheme: &str, circuit: &str, link: &str| {
        let of = direct(&all, scheme, circuit, link);
        of.map_or("–".to_owned(), |of| {
            short(of.setup_ms.median + of.run_ms.median)
        })
    };
    let rows = FAST_GARBLING.iter().filter_map(|row| {
        let published = row.execution_ms.map_or([const { String::new() }; 5], |ms| {
            ms.map(|ms| ms.to_string())
        });
        let cases = [(0, NEAR), (0, FAR), (1, NEAR), (1, FAR), (2, NEAR)];
        let ours = cases.map(|(circuit, link)| ours(row.scheme, CIRCUITS[circuit], link));
        ours.iter().any(|cell| cell != "–").then(|| {
            let figures = published.into_iter().zip(ours).flat_map(|(a, b)| [a, b]);
            [row.assumption.to_owned(), row.scheme.to_owned()]
                .into_iter()
                .chain(figures)
                .collect()
        })
    });
    Grid {
        caption: format!(
            "Table 7: milliseconds of a whole semi-honest execution, session to result, published \
             and ours. Near: one data centre, ours {NEAR}; far: Virginia and Ireland, ours {FAR}. \
             No protocol of Tacit offers the fixed-key schemes"
        ),
        heads: heads(
            "assumption | scheme | AES near | ours | AES far | ours | SHA-256 near | ours | \
             SHA-256 far | ours | Min-Cut near | ours",
        ),
        rows: rows.collect(),
    }
}

/// What each assumption costs a whole run.
fn ratios(records: &[Record]) -> Grid {
    let all: Vec<&DirectFigures> = all(records);
    let default = tacit::garble::SchemeId::HALF_GATES_TWO_CALL.to_string();
    let mut rows = Vec::new();
    for of in all
        .iter()
        .filter(|of| of.scheme == default && of.parameters.is_empty())
    {
        let ratio = |scheme: &str| {
            let other = direct(&all, scheme, &of.function, &of.link);
            other.map_or("–".to_owned(), |other| {
                short(other.run_ms.median / of.run_ms.median)
            })
        };
        let row = [
            "prf",
            "related-key-safemon1",
            "circular-half-gates",
            "three-halves",
        ]
        .map(ratio);
        if row.iter().any(|cell| cell != "–") {
            let case = [
                of.function.clone(),
                of.link.clone(),
                short(of.run_ms.median),
            ];
            rows.push(case.into_iter().chain(row).collect());
        }
    }
    Grid {
        caption: "What a weaker assumption costs a run: its time by that of the default, \
                  `half-gates` in the ideal-cipher model"
            .to_owned(),
        heads: heads("function | link | default, ms | prf | related-key | circular | three-halves"),
        rows,
    }
}

/// Table 3.
fn thousand_aes(records: &[Record]) -> Grid {
    let measured: Vec<&SchemeFigures> = all(records);
    let backend = fastest_backend(records).unwrap_or_default();
    let ours = |scheme: &str, role: &str| {
        let of = measured.iter().find(|of| {
            of.scheme == scheme
                && of.circuit == "aes-128"
                && of.role == role
                && of.backend == backend
        });
        of.map(|of| short(of.and_ns.median * of.ands as f64 / 1e3))
    };
    let rows = [
        ("fixed key, pipelined", "400", "hazmat-fixed-key-and3"),
        (
            "a key a gate, key schedules pipelined",
            "744",
            "circular-and3",
        ),
    ];
    let rows = rows.into_iter().filter_map(|(name, published, scheme)| {
        let cells = [name, published, scheme].map(str::to_owned);
        let ours = [ours(scheme, "garbler")?, ours(scheme, "evaluator")?];
        Some(cells.into_iter().chain(ours).collect())
    });
    Grid {
        caption:
            "Table 3: milliseconds for 1000 AES circuits with free XOR and three rows. Of the \
                  paper's garbling times its text has these two; Haswell at 2.6 GHz, and 6,800 AND \
                  gates where we have 6,400"
                .to_owned(),
        heads: heads("in the paper | garble | scheme | ours, garble | ours, evaluate"),
        rows: rows.collect(),
    }
}

/// The ceiling of everything.
pub(super) fn kernels(records: &[Record]) -> Option<Section> {
    Section::new("The ceiling: AES on this core")
        .text(
            "Garbling is AES and little else, so that the AES unit is the limit of every scheme: \
             under one key for all, with a key schedule for each block, with one for two.",
        )
        .grid(Grid::of(
            "Kernels, one thread; `tacit-bench kernels`",
            &all::<KernelFigures>(records),
        ))
        .unless_empty()
}

/// A number with commas.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
