//! Correlated OTs by every extension, in every form, on one thread per party.
//!
//! Each case is set up several times: base OTs on ristretto255, and OTs until both parties hold
//! their first. Then the last setup's source is refilled, once to warm memory up and then several
//! times under the clock. The OTs of a refill are taken out in parts, which leaves the source its
//! memory, and converted to the case's form.

mod form;
mod half;

use serde::{Deserialize, Serialize};
use tacit::Role;
use tacit_ot::source::Extension;
use tacit_ot::{FieldBits, Security};

pub use form::Form;

use self::half::{EvaluatorHalf, GarblerHalf};
use crate::parties::{Both, Exchange, Memory, PartyLink, Step, Wire, both};
use crate::record::{Traffic, slower_ms};
use crate::spread::Spread;
use crate::table::{Column, Row, mebibytes, number, short, text};
use crate::{Error, Options, Tell, USUAL_LINKS};

/// Figures of correlated OTs by an extension, and of a form of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtFigures {
    /// The extension: `softspoken-2`, `silent`.
    pub extension: String,
    /// The adversaries that it withstands: `semi-honest` or `malicious`.
    pub security: String,
    /// The form in which the OTs are used.
    pub form: Form,
    /// `loopback`, or the link.
    pub link: String,
    /// The number of OTs that are requested and used.
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
    /// The time to convert the OTs to their form; for correlated OTs, to take them out of the
    /// source.
    pub using_ms: Spread,
    /// Its bytes and rounds.
    pub using_traffic: Traffic,
    /// Millions of correlated OTs per second, from the median.
    pub made_million_per_s: f64,
    /// Millions of OTs per second in their form, making included.
    pub used_million_per_s: f64,
    /// The bits on the link, both ways, for each OT that is made.
    pub made_bits_per_ot: f64,
    /// The bits on the link, both ways, for each OT in its form, making included.
    pub used_bits_per_ot: f64,
    /// The time that the garbler's thread was on a core in a refill, if the system reports it.
    pub garbler_busy_ms: Option<Spread>,
    /// The time that the evaluator's thread was on a core in a refill, if the system reports it.
    pub evaluator_busy_ms: Option<Spread>,
    /// Peak memory of each party.
    pub memory: Memory,
}

impl Row for OtFigures {
    const TITLE: &'static str = "Correlated OTs, one thread a party; setup from nothing to the \
                                 first OT, on ristretto255; rates and bits of the form include \
                                 making";
    const COLUMNS: &'static [Column<Self>] = &[
        text("extension", 12, |of| of.extension.clone()),
        text("security", 11, |of| of.security.clone()),
        text("form", 10, |of| of.form.name().to_owned()),
        text("link", 12, |of| of.link.clone()),
        number("OTs", 8, |of| of.count.to_string()),
        number("setup ms", 8, |of| short(of.setup_ms.median)),
        number("KB", 5, |of| short(of.setup_traffic.bytes() as f64 / 1e3)),
        number("made M/s", 8, |of| short(of.made_million_per_s)),
        number("± %", 4, |of| of.making_ms.deviation_text()),
        number("bits", 6, |of| short(of.made_bits_per_ot)),
        number("form M/s", 8, |of| short(of.used_million_per_s)),
        number("bits", 6, |of| short(of.used_bits_per_ot)),
        number("rounds", 6, |of| {
            (of.making_traffic.rounds + of.using_traffic.rounds).to_string()
        }),
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
    form: Form,
    count: usize,
    setups: usize,
    refills: usize,
}

/// A party's steps.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    setups: Vec<Step>,
    making: Vec<Step>,
    using: Vec<Step>,
    made: u64,
}

/// Measures every extension in every form.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    for place in options.places(&USUAL_LINKS) {
        for form in Form::ALL {
            for extension in extensions() {
                for malicious in [false, true] {
                    let case = Case {
                        extension,
                        malicious,
                        form,
                        place,
                    };
                    if case.is_usual(options) && options.wants(&case.name()) {
                        tell(case.measure(options)?.into())?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Returns the measured extensions.
fn extensions() -> impl Iterator<Item = Extension> {
    let fields = [1, 2, 4, 8]
        .into_iter()
        .filter_map(|k| FieldBits::new(k).ok());
    let soft_spoken = fields.map(Extension::SoftSpoken);
    soft_spoken.chain([Extension::Silent])
}

struct Case {
    extension: Extension,
    malicious: bool,
    form: Form,
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
        let (form, place) = (self.form.name(), self.place.name());
        format!("ot {} {} {form} {place}", self.extension, self.security())
    }

    /// Returns whether a case belongs to a usual run. Forms do not depend on the extension, and
    /// links matter only for making OTs. So a first look takes forms of one extension, and no run
    /// takes them over links unless asked to.
    fn is_usual(&self, options: &Options) -> bool {
        let told = !options.only.is_empty() || !options.links.is_empty();
        let default = self.extension == Extension::SoftSpoken(FieldBits::DEFAULT);
        self.form == Form::Correlated
            || told
            || self.place == PartyLink(None) && (!options.quick || default && !self.malicious)
    }

    fn exchanged(&self, options: &Options) -> Exchanged {
        let loopback = self.place == PartyLink(None);
        let log_count = match (options.quick, self.form) {
            (false, Form::Correlated) if loopback => 23,
            (true, _) => 19,
            _ => 20,
        };
        let (setups, refills) = match (options.quick, loopback) {
            (true, _) => (3, 3),
            (false, true) => (9, 9),
            (false, false) => (6, 6),
        };
        Exchanged {
            extension: self.extension.id(),
            malicious: self.malicious,
            form: self.form,
            count: 1 << log_count,
            setups,
            refills,
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
        let using = done.map(|report| report.using.clone());
        let [setup_ms, making_ms, using_ms] =
            [&setups, &making, &using].map(|steps| Spread::of(&slower_ms(steps)));
        let [setup_traffic, making_traffic, using_traffic] = [&setups, &making, &using].map(last);
        let share = task.count as f64 / made as f64;
        let made_bits_per_ot = 8.0 * making_traffic.bytes() as f64 / made as f64;
        let using_bits_per_ot = 8.0 * using_traffic.bytes() as f64 / task.count as f64;
        Ok(OtFigures {
            extension: self.extension.to_string(),
            security: self.security().to_owned(),
            form: self.form,
            link: self.place.name(),
            count: task.count,
            made,
            setup_ms,
            setup_traffic,
            making_ms,
            making_traffic,
            using_ms,
            using_traffic,
            made_million_per_s: made as f64 / making_ms.median / 1e3,
            used_million_per_s: task.count as f64
                / (making_ms.median * share + using_ms.median)
                / 1e3,
            made_bits_per_ot,
            used_bits_per_ot: made_bits_per_ot + using_bits_per_ot,
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
        match role {
            Role::Garbler => {
                let set_up = |channel: &mut _| GarblerHalf::set_up(extension, security, channel);
                let use_up = |half: &mut GarblerHalf, channel: &mut _| {
                    form::send(self.form, half, self.count, channel)
                };
                self.steps(&mut wire, set_up, use_up)
            }
            Role::Evaluator => {
                let set_up = |channel: &mut _| EvaluatorHalf::set_up(extension, security, channel);
                let use_up = |half: &mut EvaluatorHalf, channel: &mut _| {
                    form::receive(self.form, half, self.count, channel)
                };
                self.steps(&mut wire, set_up, use_up)
            }
        }
    }
}

impl Exchanged {
    /// Returns one party's steps, given the functions that set it up and that use its OTs.
    fn steps<H: half::Half>(
        &self,
        wire: &mut Wire,
        set_up: impl Fn(&mut tacit_net::Channel) -> Result<H, Error>,
        use_up: impl Fn(&mut H, &mut tacit_net::Channel) -> Result<(), Error>,
    ) -> Result<Report, Error> {
        let mut report = Report {
            setups: Vec::new(),
            making: Vec::new(),
            using: Vec::new(),
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
            let ((), using) = wire.step(|channel| use_up(&mut half, channel))?;
            if refill > 0 {
                report.making.push(making);
                report.using.push(using);
            }
        }
        Ok(report)
    }
}
