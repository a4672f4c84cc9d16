//! Crosses made for the stock, by each kind of OT: of one direction and of both, the latter on
//! several numbers of threads. Both parties work in memory, one after the other, so that a party's
//! time is half of all.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use tacit::Role;
use tacit::session::OtExtension;
use tacit_ot::Security;
use tacit_ot::source::Cost;
use tacit_protocol::gmw::{CrossDemand, CrossKind, DirectionSetup, prepare};
use tacit_protocol::io::memory::run_both;
use tacit_protocol::session::{Hello, SessionTag};
use tacit_protocol::setup::OtSettings;
use zeroize::Zeroizing;

use super::extensions;
use crate::lots::numbers_of_threads;
use crate::spread::Spread;
use crate::table::{Column, Row, number, short, text};
use crate::{Error, Options, Tell};

/// Figures of crosses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossFigures {
    /// The OT extension.
    pub extension: String,
    /// The number of directions that are made together: 1 or 2.
    pub directions: u64,
    /// Threads of each party, which work while the other party's wait.
    pub threads: u64,
    /// Crosses of each direction.
    pub count: u64,
    /// The time of a party for a cross of each direction, without base OTs.
    pub cross_ns: Spread,
    /// The bits on the link, both ways, for a cross of a direction.
    pub bits_per_cross: f64,
}

impl Row for CrossFigures {
    const TITLE: &'static str = "Crosses of gmw in memory, a party's share: half of the time";
    const COLUMNS: &'static [Column<Self>] = &[
        text("OTs", 12, |of| of.extension.clone()),
        number("directions", 10, |of| of.directions.to_string()),
        number("threads", 7, |of| of.threads.to_string()),
        number("crosses", 9, |of| of.count.to_string()),
        number("ns a cross", 10, |of| short(of.cross_ns.median)),
        number("± %", 5, |of| of.cross_ns.deviation_text()),
        number("bits", 6, |of| short(of.bits_per_cross)),
    ];
}

/// The blocks of a direction: a million crosses; in a first look, a silent batch.
const BLOCKS: u64 = 32;
const QUICK_BLOCKS: u64 = 4;

/// Measures all kinds of OT.
pub(super) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    let blocks = if options.quick { QUICK_BLOCKS } else { BLOCKS };
    for extension in extensions() {
        let both = numbers_of_threads().into_iter().map(|threads| (2, threads));
        for (directions, threads) in [(1, 1)].into_iter().chain(both) {
            let name = format!("gmw crosses {extension} {directions} threads-{threads}");
            if !options.wants(&name) {
                continue;
            }
            let demand = CrossDemand {
                narrow: [blocks, if directions == 2 { blocks } else { 0 }],
                ..CrossDemand::default()
            };
            let count = blocks * CrossKind::Narrow.crosses() as u64;
            let times = if options.quick { 3 } else { 7 };
            let seconds = (0..times).map(|_| seconds(extension, threads, &demand));
            let seconds = Spread::of(&seconds.collect::<Result<Vec<_>, _>>()?);
            let cost = Cost::first_refill(extension, Security::SemiHonest, count as usize);
            let bytes = cost.sender_bytes + cost.receiver_bytes;
            tell(
                CrossFigures {
                    extension: extension.to_string(),
                    directions,
                    threads: threads as u64,
                    count,
                    cross_ns: seconds.scaled(1e9 / 2.0 / count as f64),
                    bits_per_cross: 8.0 * bytes as f64 / cost.made as f64,
                }
                .into(),
            )?;
        }
    }
    Ok(())
}

/// Returns the seconds of both parties to make these crosses, starting with base OTs.
fn seconds(extension: OtExtension, threads: usize, demand: &CrossDemand) -> Result<f64, Error> {
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    let session = SessionTag::new(&[0; 32], (&[1; 32], &a), (&[2; 32], &b));
    let settings = OtSettings {
        extension,
        threads: NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN),
        ..OtSettings::default()
    };
    let setup = |role| DirectionSetup::new(&session, (role, Role::Garbler), settings);
    let seed = |byte: u8| Zeroizing::new([byte; 32]);
    let (garbler, evaluator) = run_both(
        async |io| setup(Role::Garbler).run(io, &seed(1)).await,
        async |io| setup(Role::Evaluator).run(io, &seed(2)).await,
    )
    .map_err(tacit::Error::from)?;
    let begun = std::time::Instant::now();
    run_both(
        async |io| prepare(io, garbler, demand, &seed(3), |_, _, _| Ok(())).await,
        async |io| prepare(io, evaluator, demand, &seed(4), |_, _, _| Ok(())).await,
    )
    .map_err(tacit::Error::from)?;
    Ok(begun.elapsed().as_secs_f64())
}
