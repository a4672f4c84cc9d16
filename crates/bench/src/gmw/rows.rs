//! The computation of a party of `gmw` between messages, with masks that already exist: rows of
//! many calls at once, on one thread.

use serde::{Deserialize, Serialize};
use tacit::{Function, Role};
use tacit_protocol::gmw::rows::{CrossMasks, CrossOts, Rows};

use super::calls_of_aes;
use crate::spread::Spread;
use crate::table::{Column, Row, number, short, text};
use crate::{Error, Options, Tell};

/// Calls of a component, evaluated together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowFigures {
    /// The component.
    pub component: String,
    /// The number of calls that are evaluated together.
    pub instances: u64,
    /// AND gates of all calls.
    pub ands: u64,
    /// The time for each AND gate, including gathering and absorbing the opened bits.
    pub and_ns: Spread,
}

impl Row for RowFigures {
    const TITLE: &'static str = "Rows of gmw in memory, masks there, one party on one thread";
    const COLUMNS: &'static [Column<Self>] = &[
        text("component", 12, |of| of.component.clone()),
        number("calls", 8, |of| of.instances.to_string()),
        number("AND", 10, |of| of.ands.to_string()),
        number("ns an AND", 9, |of| short(of.and_ns.median)),
        number("± %", 5, |of| of.and_ns.deviation_text()),
    ];
}

/// The numbers of calls together: one word of a row, and enough for every register.
const INSTANCES: [u64; 2] = [64, 4096];

/// Measures all sizes of groups.
pub(super) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    for instances in INSTANCES {
        if !options.wants(&format!("gmw rows aes-128 {instances}")) {
            continue;
        }
        let function = calls_of_aes(instances)?;
        let ands = function.and_gates();
        let seconds = Spread::of(&seconds(options, &function)?);
        tell(
            RowFigures {
                component: "aes-128".to_owned(),
                instances,
                ands,
                and_ns: seconds.scaled(1e9 / ands as f64),
            }
            .into(),
        )?;
    }
    Ok(())
}

/// Returns the seconds of evaluations of a function.
fn seconds(options: &Options, function: &Function) -> Result<Vec<f64>, Error> {
    let schedule = function.schedule().map_err(tacit::Error::from)?;
    Ok(options.patience().time(|| {
        let mut rows = Rows::new(&schedule, Role::Garbler, |_| false);
        while let Some(step) = rows.step() {
            let theirs = vec![0; step.bits[Role::Evaluator as usize].div_ceil(8) as usize];
            std::hint::black_box(rows.open(&mut Masks));
            rows.absorb(&mut Masks, &theirs);
        }
    }))
}

/// Masks that are not secret.
struct Masks;

impl CrossMasks for Masks {
    fn rows(&mut self, _cross: &CrossOts, first: &mut [u64], second: &mut [u64]) {
        first.fill(0x5555_5555_5555_5555);
        second.fill(0x3333_3333_3333_3333);
    }
}
