//! The computation of a party of `gmw` between messages, with masks that already exist: rows of
//! many calls at once, on several numbers of threads.

use std::num::NonZeroUsize;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use tacit::{Function, Role};
use tacit_protocol::gmw::rows::{CrossMasks, CrossOts, OpenedBits, Rows};

use crate::lots::numbers_of_threads;
use crate::spread::Spread;
use crate::table::{Column, Row, number, short, text};
use crate::workload::calls_of_aes;
use crate::{Error, Options, Tell};

/// Calls of a component, evaluated together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowFigures {
    /// The component.
    pub component: String,
    /// The number of calls that are evaluated together.
    pub instances: u64,
    /// The threads of the party.
    pub threads: u64,
    /// AND gates of all calls.
    pub ands: u64,
    /// The time for each AND gate, including gathering and absorbing the opened bits.
    pub and_ns: Spread,
}

impl Row for RowFigures {
    const TITLE: &'static str = "Rows of gmw in memory, masks there, one party";
    const COLUMNS: &'static [Column<Self>] = &[
        text("component", 12, |of| of.component.clone()),
        number("calls", 8, |of| of.instances.to_string()),
        number("threads", 7, |of| of.threads.to_string()),
        number("AND", 10, |of| of.ands.to_string()),
        number("ns an AND", 9, |of| short(of.and_ns.median)),
        number("± %", 5, |of| of.and_ns.deviation_text()),
    ];
}

/// The numbers of calls together: one word of a row, enough for every register, and enough for
/// several threads.
const INSTANCES: [u64; 3] = [64, 4096, 1 << 16];

/// Measures all sizes of groups.
pub(super) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    for instances in INSTANCES {
        for threads in numbers_of_threads() {
            if !options.wants(&format!("gmw rows aes-128 {instances} threads-{threads}")) {
                continue;
            }
            let function = calls_of_aes(instances)?;
            let ands = function.and_gates();
            let seconds = Spread::of(&seconds(options, &function, threads)?);
            tell(
                RowFigures {
                    component: "aes-128".to_owned(),
                    instances,
                    threads: threads as u64,
                    ands,
                    and_ns: seconds.scaled(1e9 / ands as f64),
                }
                .into(),
            )?;
        }
    }
    Ok(())
}

/// Returns the seconds of evaluations of a function.
fn seconds(options: &Options, function: &Function, threads: usize) -> Result<Vec<f64>, Error> {
    let schedule = function.schedule().map_err(tacit::Error::from)?;
    let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
    let (mut ours, mut theirs) = (OpenedBits::default(), Vec::new());
    Ok(options.patience().time(|| {
        let mut rows = Rows::new(&schedule, Role::Garbler, threads, |_| false);
        while let Some(step) = rows.step() {
            let words = step.bits[Role::Evaluator as usize].div_ceil(64) as usize;
            theirs.resize(words, 0);
            rows.open(&Masks, &mut ours);
            rows.absorb(&Masks, &theirs);
        }
    }))
}

/// Masks that are not secret.
struct Masks;

impl CrossMasks for Masks {
    type Room = ();

    fn rows(&self, _: &CrossOts, _: Range<usize>, (): &mut (), into: [&mut [u64]; 2]) {
        let [first, second] = into;
        first.fill(0x5555_5555_5555_5555);
        second.fill(0x3333_3333_3333_3333);
    }
}
