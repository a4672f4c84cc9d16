//! Correlated OTs by every extension, on one thread per party.
//!
//! Each case is set up several times: base OTs, and OTs until both parties hold their first. Then
//! the last setup's source is refilled, once to warm memory up and then several times under the
//! clock.

mod half;

use serde::{Deserialize, Serialize};
use tacit::Role;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use tacit_ot::{FieldBits, Security};

use self::half::{EvaluatorHalf, GarblerHalf};
use crate::parties::{Both, Exchange, Memory, PartyLink, Step, Wire, both};
use crate::record::{Traffic, slower_ms};
use crate::spread::Spread;
use crate::table::{Column, Row, mebibytes, number, short, text};
use crate::{Error, Options, Tell, USUAL_LINKS};

/// Figures of correlated OTs by an extension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtFigures {
    /// The extension: `softspoken-2`, `silent`.
    pub extension: String,
    /// The adversaries that it withstands: `semi-honest` or `malicious`.
    pub security: String,
    /// The assumption of the base OTs: `ristretto255` or `ml-kem-768`.
    pub base: String,
    /// `loopback`, or the link.
    pub link: String,
    /// The number of OTs that are requested.
    pub count: usize,
    /// The number of OTs that a refill makes: more than requested if an extension makes many at a
    /// time.
    pub made: u64,
    /// The time from nothing until both parties hold their first correlated OT, base OTs included.
    pub setup_ms: Spread,
    /// Its bytes and rounds.
    pub setup_traffic: Traffic,
    /// The time of a refill.
    pub making_ms: Spread,
    /// Its bytes and rounds.
    pub making_traffic: Traffic,
    /// Millions of correlated OTs per second, from the median.
    pub made_million_per_s: f64,
    /// The bits on the link, both ways, for each OT that is made.
    pub made_bits_per_ot: f64,
    /// The time that the garbler's thread was on a core in a refill, if the system reports it.
    pub garbler_busy_ms: Option<Spread>,
    /// The time that the evaluator's thread was on a core in a refill, if the system reports it.
    pub evaluator_busy_ms: Option<Spread>,
    /// Peak memory of each party.
    pub memory: Memory,
}

impl Row for OtFigures {
    const TITLE: &'static str =
        "Correlated OTs, one thread a party; setup from nothing to the first OT";
    const COLUMNS: &'static [Column<Self>] = &[
        text("extension", 12, |of| of.extension.clone()),
        text("security", 11, |of| of.security.clone()),
        text("base OTs", 12, |of| of.base.clone()),
        text("link", 12, |of| of.link.clone()),
        number("OTs", 8, |of| of.count.to_string()),
        number("setup ms", 8, |of| short(of.setup_ms.median)),
        number("KB", 5, |of| short(of.setup_traffic.bytes() as f64 / 1e3)),
        number("made M/s", 8, |of| short(of.made_million_per_s)),
        number("± %", 4, |of| of.making_ms.deviation_text()),
        number("bits", 6, |of| short(of.made_bits_per_ot)),
        number("rounds", 6, |of| of.making_traffic.rounds.to_string()),
        number("MiB g", 5, |of| mebibytes(of.memory.garbler_bytes)),
        number("MiB e", 5, |of| mebibytes(of.memory.evaluator_bytes)),
    ];
}

/// The task of the parties.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    /// The extension's number ([`Extension::id`]).
    extension: u8,
    malicious: bool,
    /// The base OTs' name.
    base: String,
    count: usize,
    setups: usize,
    refills: usize,
}

/// A party's steps.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    setups: Vec<Step>,
    making: Vec<Step>,
    made: u64,
}

/// Measures every extension, and the usual one on every kind of base OTs.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    for place in options.places(&USUAL_LINKS) {
        for (base, extension) in bases_and_extensions() {
            for malicious in [false, true] {
                let case = Case {
                    base,
                    extension,
                    malicious,
                    place,
                };
                if options.wants(&case.name()) {
                    tell(case.measure(options)?.into())?;
                }
            }
        }
    }
    Ok(())
}

/// Returns the measured extensions, with what their base OTs rest on.
fn bases_and_extensions() -> impl Iterator<Item = (BaseOt, Extension)> {
    let fields = [1, 2, 4, 8]
        .into_iter()
        .filter_map(|k| FieldBits::new(k).ok());
    let soft_spoken = fields.map(Extension::SoftSpoken);
    let usual = soft_spoken.chain([Extension::Silent]);
    let usual = usual.map(|extension| (BaseOt::default(), extension));
    let default = Extension::SoftSpoken(FieldBits::DEFAULT);
    usual.chain([(BaseOt::MlKem768, default)])
}

struct Case {
    base: BaseOt,
    extension: Extension,
    malicious: bool,
    place: PartyLink,
}

impl Case {
    fn security(&self) -> &'static str {
        if self.malicious {
            "malicious"
        } else {
            "semi-honest"
        }
    }

    fn name(&self) -> String {
        let (base, place) = (self.base.name(), self.place.name());
        format!("ot {} {} {base} {place}", self.extension, self.security())
    }

    fn exchanged(&self, options: &Options) -> Exchanged {
        let loopback = self.place == PartyLink(None);
        let (log_count, samples) = match (options.quick, loopback) {
            (true, _) => (19, 3),
            (false, true) => (23, 9),
            (false, false) => (20, 6),
        };
        Exchanged {
            extension: self.extension.id(),
            malicious: self.malicious,
            base: self.base.name().to_owned(),
            count: 1 << log_count,
            setups: samples,
            refills: samples,
        }
    }

    fn measure(&self, options: &Options) -> Result<OtFigures, Error> {
        let task = self.exchanged(options);
        let done = both(&task, self.place, options)?;
        let made = done.garbler.made;
        let last = |steps: &Both<Vec<Step>>| match (steps.garbler.last(), steps.evaluator.last()) {
            (Some(garbler), Some(evaluator)) => Traffic::of(garbler, evaluator),
            _ => Traffic::default(),
        };
        let setups = done.map(|report| report.setups.clone());
        let making = done.map(|report| report.making.clone());
        let [setup_ms, making_ms] = [&setups, &making].map(|steps| Spread::of(&slower_ms(steps)));
        let [setup_traffic, making_traffic] = [&setups, &making].map(last);
        Ok(OtFigures {
            extension: self.extension.to_string(),
            security: self.security().to_owned(),
            base: task.base,
            link: self.place.name(),
            count: task.count,
            made,
            setup_ms,
            setup_traffic,
            making_ms,
            making_traffic,
            made_million_per_s: made as f64 / making_ms.median / 1e3,
            made_bits_per_ot: 8.0 * making_traffic.bytes() as f64 / made as f64,
            garbler_busy_ms: busy_ms(&making.garbler),
            evaluator_busy_ms: busy_ms(&making.evaluator),
            memory: done.memory,
        })
    }
}

fn busy_ms(steps: &[Step]) -> Option<Spread> {
    let busy: Option<Vec<f64>> = steps.iter().map(|step| step.busy_seconds).collect();
    busy.map(|busy| Spread::of(&busy).scaled(1e3))
}

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, role: Role, mut wire: Wire) -> Result<Report, Error> {
        let extension = Extension::from_id(self.extension).map_err(tacit_ot::Error::from)?;
        let security = if self.malicious {
            Security::Malicious
        } else {
            Security::SemiHonest
        };
        let base = BaseOt::from_name(&self.base).unwrap_or_default();
        match role {
            Role::Garbler => self.steps(&mut wire, |channel: &mut _| {
                GarblerHalf::set_up(base, extension, security, channel)
            }),
            Role::Evaluator => self.steps(&mut wire, |channel: &mut _| {
                EvaluatorHalf::set_up(base, extension, security, channel)
            }),
        }
    }
}

#[cfg(test)]
impl Exchanged {
    /// Returns the smallest task.
    pub(crate) fn least() -> Self {
        Self {
            extension: Extension::default().id(),
            malicious: false,
            base: BaseOt::default().name().to_owned(),
            count: 1,
            setups: 1,
            refills: 1,
        }
    }
}

impl Exchanged {
    /// Returns one party's steps, given the function that sets it up.
    fn steps<H: half::Half>(
        &self,
        wire: &mut Wire,
        set_up: impl Fn(&mut tacit_net::Channel) -> Result<H, Error>,
    ) -> Result<Report, Error> {
        let mut report = Report {
            setups: Vec::new(),
            making: Vec::new(),
            made: 0,
        };
        // The first setup is a warm-up, and so is the first refill.
        let (mut half, _) = wire.step(&set_up)?;
        for _ in 0..self.setups {
            let (again, step) = wire.step(&set_up)?;
            half = again;
            report.setups.push(step);
        }
        for refill in 0..=self.refills {
            half.drop_all()?;
            let before = half.end();
            let ((), making) = wire.step(|channel| half::refill(&mut half, self.count, channel))?;
            report.made = half.end() - before;
            if refill > 0 {
                report.making.push(making);
            }
        }
        Ok(report)
    }
}
