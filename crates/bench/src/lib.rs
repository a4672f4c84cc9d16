//! Measurements of Tacit: a command for every published figure.
//!
//! A [`Suite`] measures one layer and produces [`Record`]s, one per case, which carry the machine,
//! the build and every parameter, so that records of many machines and days can be combined.
//!
//! | suite | measurements |
//! |---|---|
//! | [`kernels`] | AES, hashes, generators and transpose on each backend: the upper limit of everything else |
//! | [`schemes`] | garbling and evaluating under each scheme, and the share of that limit |
//! | [`ot`] | oblivious transfer: each extension and security, and each kind of base OTs |
//! | [`direct`] | whole functions between two parties |
//! | [`gmw`] | functions on XOR shares next to `direct`, and their parts |
//! | [`authenticated`] | the same against a malicious party, from nothing |
//! | [`lots`] | components garbled for the stock, by threads |
//! | [`prepared`] | the same from the stock, next to `naive`: CompGC's table |
//! | [`batch`] | the same against a malicious party: Lindell and Riva's figures |
//! | [`outsourced`] | functions of three parties, with kept values: PartialGC's tables |
//! | [`plan`] | the predictions of `tacit plan` next to the times of runs, and whether its choice is the fastest |
//!
//! | module | contents |
//! |---|---|
//! | [`measure`], [`spread`] | the clock, and the statistics of a set of samples |
//! | [`machine`], [`record`], [`table`] | the origin of a figure, and its form for programs and people |
//! | [`parties`] | two or three parties as processes, pinned if wanted, over loopback or a shaped link |
//!
//! The shaped link only delays and slows bytes: no loss, no slow start, no queue that drops. Over a
//! real link of that delay and rate nothing is faster than here.
#![forbid(unsafe_code)]

pub mod authenticated;
pub mod batch;
pub mod direct;
mod error;
pub mod gmw;
pub mod kernels;
pub mod lots;
pub mod machine;
pub mod measure;
mod meeting;
pub mod ot;
pub mod outsourced;
pub mod parties;
pub mod plan;
pub mod prepared;
pub mod record;
pub mod schemes;
pub mod spread;
pub mod table;
pub mod workload;

use std::ffi::OsString;

use clap::ValueEnum;
pub use error::Error;
pub use machine::Machine;
pub use record::{Figures, Record};
use tacit_net::Link;

use crate::measure::Patience;
use crate::parties::PartyLink;

/// A set of measurements, listed from the lowest layer up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    /// The kernels on each backend
    Kernels,
    /// Garbling schemes
    Schemes,
    /// Oblivious transfer
    Ot,
    /// Functions under `direct`
    Direct,
    /// Functions under `gmw` next to `direct`
    Gmw,
    /// Functions under `authenticated`
    Authenticated,
    /// Functions under `prepared`
    Prepared,
    /// Functions under `batch`
    Batch,
    /// Functions under `outsourced`
    Outsourced,
    /// Predictions of plans
    Plan,
}

/// The settings of a measurement.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether to measure few cases in short runs, for a first look.
    pub quick: bool,
    /// The links to imitate instead of a suite's own.
    pub links: Vec<Link>,
    /// Words that must all occur in a case's name for it to be measured.
    pub only: Vec<String>,
    /// The cores to which the garbler and the evaluator are pinned. `kernels` and `schemes` use the
    /// first, and a cloud uses the evaluator's.
    pub pin: Option<[usize; 2]>,
    /// The command of a process that calls [`parties::party`] on its standard input and output.
    /// Without it the parties are threads of this process and share one figure of peak memory.
    pub party_command: Option<Vec<OsString>>,
}

impl Options {
    fn patience(&self) -> Patience {
        if self.quick {
            Patience::QUICK
        } else {
            Patience::FULL
        }
    }

    /// Returns whether a case of this name is wanted.
    fn wants(&self, name: &str) -> bool {
        self.only.iter().all(|word| name.contains(word.as_str()))
    }

    /// Returns the requested links; or loopback, and in a full run also `usual`.
    fn places(&self, usual: &[&str]) -> Vec<PartyLink> {
        if !self.links.is_empty() {
            return self
                .links
                .iter()
                .map(|link| PartyLink(Some(*link)))
                .collect();
        }
        let usual = usual.iter().filter(|_| !self.quick);
        let usual = usual.map(|link| PartyLink(link.parse().ok()));
        [PartyLink(None)].into_iter().chain(usual).collect()
    }
}

/// The links that papers in the field measure over: a local network, and two wide ones.
const USUAL_LINKS: [&str; 3] = ["500us,1gbit", "40ms,100mbit", "33ms,50mbit"];

/// Measures `suite` and passes each record to `tell` as soon as it exists.
///
/// # Errors
///
/// A party failed, or `tell` did.
pub fn run(
    suite: Suite,
    options: &Options,
    tell: &mut dyn FnMut(Record) -> Result<(), Error>,
) -> Result<(), Error> {
    if let (Suite::Kernels | Suite::Schemes, Some([core, _])) = (suite, options.pin) {
        parties::pin(core)?;
    }
    let machine = Machine::this();
    let quick = options.quick;
    let tell = &mut |figures: Figures| {
        tell(Record {
            version: record::VERSION,
            machine: machine.clone(),
            quick,
            figures,
        })
    };
    match suite {
        Suite::Kernels => kernels::run(options, tell),
        Suite::Schemes => schemes::run(options, tell),
        Suite::Ot => ot::run(options, tell),
        Suite::Direct => direct::run(options, tell),
        Suite::Gmw => gmw::run(options, tell),
        Suite::Authenticated => authenticated::run(options, tell),
        Suite::Prepared => lots::run(options, tell).and_then(|()| prepared::run(options, tell)),
        Suite::Batch => batch::run(options, tell),
        Suite::Outsourced => outsourced::run(options, tell),
        Suite::Plan => plan::run(options, tell),
    }
}

/// The function to which a suite passes its figures.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(Figures) -> Result<(), Error>;
