//! Whole functions under `authenticated`, from nothing and against a malicious party, each next to
//! the same function under `direct`. The suite `batch` has the figures for many executions of one
//! function that are prepared together.
//!
//! A run from nothing makes its own triples. The base OTs belong to the session and are measured
//! separately.

use serde::{Deserialize, Serialize};
use tacit::garble::SchemeId;

use crate::direct::{DirectFigures, Exchanged, figures};
use crate::parties::{PartyLink, both};
use crate::spread::Spread;
use crate::table::{Column, Row, mebibytes, number, short, text};
use crate::workload::Case;
use crate::{Error, Figures, Options, Tell, USUAL_LINKS};

/// A function under `authenticated`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuthenticatedFigures {
    /// The run, with the figures of a run by `direct`.
    pub run: DirectFigures,
    /// s.
    pub statistical_security_bits: u8,
    /// The same function under `direct`.
    pub direct_ms: Spread,
}

impl AuthenticatedFigures {
    /// Returns the bytes of an AND gate, both ways.
    pub fn bytes_an_and(&self) -> f64 {
        self.run.run_traffic.bytes() as f64 / self.run.ands.max(1) as f64
    }
}

impl Row for AuthenticatedFigures {
    const TITLE: &'static str = "Functions under authenticated, malicious, from nothing, in the \
                                 clear on loopback; setup once a session";
    const COLUMNS: &'static [Column<Self>] = &[
        text("function", 38, |of| of.run.workload.to_string()),
        number("s", 2, |of| of.statistical_security_bits.to_string()),
        text("link", 12, |of| of.run.link.clone()),
        number("AND", 9, |of| of.run.ands.to_string()),
        number("setup ms", 8, |of| short(of.run.setup_ms.median)),
        number("run ms", 8, |of| short(of.run.run_ms.median)),
        number("± %", 5, |of| of.run.run_ms.deviation_text()),
        number("direct ms", 9, |of| short(of.direct_ms.median)),
        number("M AND/s", 7, |of| short(of.run.million_ands_per_s)),
        number("B/AND", 6, |of| short(of.bytes_an_and())),
        number("rounds", 6, |of| of.run.run_traffic.rounds.to_string()),
        number("MiB g", 5, |of| mebibytes(of.run.memory.garbler_bytes)),
        number("MiB e", 5, |of| mebibytes(of.run.memory.evaluator_bytes)),
    ];
}

/// The functions, starting with those of a first look. The last two have 10 and 100 million AND
/// gates.
const FUNCTIONS: [Case; 5] = [
    ("aes-128", &[]),
    ("sha-256-compress", &[]),
    ("edit-distance", &[("x_symbols", 128), ("y_symbols", 128)]),
    ("sha-256-chain", &[("n", 476)]),
    ("sha-256-chain", &[("n", 4757)]),
];
const QUICK_FUNCTIONS: usize = 2;

/// s.
const SECURITY_BITS: [u8; 2] = [40, 64];

/// From this many AND gates on, a function runs only on loopback and at the first s.
const LARGE_ANDS: u64 = 5_000_000;
/// The number of runs of such a large function.
const LARGE_RUNS: usize = 2;

/// Measures all functions at all places.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    for place in options.places(&USUAL_LINKS) {
        for case in cases(options) {
            for bits in SECURITY_BITS {
                measure(case, bits, place, options, tell)?;
            }
        }
    }
    Ok(())
}

fn cases(options: &Options) -> &'static [Case] {
    if options.quick && options.only.is_empty() {
        &FUNCTIONS[..QUICK_FUNCTIONS]
    } else {
        &FUNCTIONS
    }
}

/// Measures a function at a place, if that case is wanted.
fn measure(
    case: &Case,
    bits: u8,
    place: PartyLink,
    options: &Options,
    tell: Tell<'_>,
) -> Result<(), Error> {
    let runs = if options.quick { 3 } else { 15 };
    let direct = Exchanged::new(*case, SchemeId::HALF_GATES_TWO_CALL, runs);
    let name = &direct.workload;
    let name = format!("authenticated {name} s-{bits} {}", place.name());
    if !options.wants(&name) {
        return Ok(());
    }
    let ands = direct.function()?.and_gates();
    let is_large = ands >= LARGE_ANDS;
    if is_large && (place.0.is_some() || bits != SECURITY_BITS[0]) {
        return Ok(());
    }
    let direct = direct.at_most(if is_large { LARGE_RUNS } else { runs });
    let task = direct.clone().against_malicious(bits, place);
    let done = both(&task, place, options)?;
    let run = figures(task, ands, place.name(), done);
    let done = both(&direct, place, options)?;
    let direct_ms = figures(direct, ands, place.name(), done).run_ms;
    tell(Figures::from(AuthenticatedFigures {
        run,
        statistical_security_bits: bits,
        direct_ms,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_one_of_the_library() {
        for case in &FUNCTIONS {
            let task = Exchanged::new(*case, SchemeId::HALF_GATES_TWO_CALL, 1);
            let ands = task.function().expect("a function").and_gates();
            assert!(case.0 != "sha-256-chain" || ands > 10_000_000, "{ands}");
        }
    }
}
