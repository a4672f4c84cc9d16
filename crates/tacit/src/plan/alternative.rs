//! One way to run a function, by one protocol and under one scheme: its messages, times and needs.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tacit_circuit::Component;
use tacit_function::{Function, Role};
use tacit_garble::{Scheme, SchemeInfo, SchemeVisitor, with_scheme};
use tacit_ot::Security;
use tacit_protocol::outline::{FunctionSteps, Outline};
use tacit_protocol::prepared::InstanceSeed;
use tacit_protocol::setup::extension_bytes;
use tacit_protocol::{direct, prepared};

use super::course::{Course, MeasuredLink, StageWork};
use super::{Calibration, InStock};
use crate::Error;
use crate::cost::TimeEstimate;
use crate::protocols::Protocol;
use crate::session::{OtExtension, OtNeed};

/// Bytes of a prepared OT that each party stores.
const OT_BYTES: u64 = 16;
/// The seconds that a run of `prepared` takes apart from evaluation, for each call, each link and
/// each output bit. They are fitted to the runs on loopback in `docs/benchmarks.md`, on Zen 3 at
/// 3.1 GHz. Over any slower link, sending the bytes of a link takes longer than this.
const CALL_S: f64 = 0.9e-6;
const LINK_S: f64 = 35e-9;
const OUTPUT_S: f64 = 50e-9;

/// A way to run a function.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// The protocol.
    pub protocol: Protocol,
    /// The garbling scheme. `None` under `gmw`.
    pub scheme: Option<&'static SchemeInfo>,
    /// The OT extension, if the planner was given one.
    pub ot_extension: Option<OtExtension>,
    /// The function, in the form that suits the protocol.
    pub function: Arc<Function>,
    /// The bytes that a run sends.
    pub traffic: PlannedTraffic,
    /// The times of a run.
    pub times: PlannedTimes,
    /// The material that a run takes from the stock. Empty under `direct`.
    pub needs: Vec<Need>,
    /// The cost of preparing a run.
    pub offline: Offline,
    /// The number of runs for which the stock is enough, if the planner has a stock.
    pub runs_in_stock: Option<u64>,
    /// Round trips from the evaluator's first byte to its result.
    pub online_round_trips: u32,
}

/// The bytes of a run's messages, with their headers, from the agreement on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlannedTraffic {
    /// Bytes from the garbler that do not depend on the evaluator's inputs.
    pub garbler_early_bytes: u64,
    /// Bytes from the garbler after the evaluator has chosen.
    pub garbler_late_bytes: u64,
    /// Bytes from the evaluator.
    pub evaluator_bytes: u64,
}

impl PlannedTraffic {
    /// Returns the traffic of a run that starts once the inputs are known.
    pub(super) const fn late(garbler_bytes: u64, evaluator_bytes: u64) -> Self {
        Self {
            garbler_early_bytes: 0,
            garbler_late_bytes: garbler_bytes,
            evaluator_bytes,
        }
    }
}

impl From<&Outline> for PlannedTraffic {
    fn from(outline: &Outline) -> Self {
        Self {
            garbler_early_bytes: outline.early_bytes(),
            garbler_late_bytes: outline.late_bytes(),
            evaluator_bytes: outline.evaluator_bytes(),
        }
    }
}

/// The predicted times of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlannedTimes {
    /// From the evaluator's first byte to the last result. The function is agreed, and everything
    /// that does not depend on the evaluator's inputs has arrived.
    pub online: Duration,
    /// The same, but also with the agreement, the leases and the messages before it. Disk access is
    /// not included.
    pub from_agreement: Duration,
}

/// The amount of one kind of material that a run takes from the stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The component's name in the function, or `OTs`.
    pub name: String,
    /// The number that a run takes.
    pub count: u64,
    /// The number in stock, if the planner has a stock.
    pub in_stock: Option<u64>,
}

/// The cost of preparing a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offline {
    /// Bytes sent over the link, nearly all to the evaluator.
    pub bytes: u64,
    /// Bytes kept on the evaluator's disk.
    pub evaluator_disk_bytes: u64,
    /// Bytes kept on the garbler's disk.
    pub garbler_disk_bytes: u64,
    /// The time on one thread.
    pub time: Duration,
}

/// The function to plan.
pub(super) struct Candidate {
    pub(super) function: Arc<Function>,
    walk: OnceCell<(FunctionSteps, f64)>,
}

impl Candidate {
    pub(super) fn new(function: Arc<Function>) -> Self {
        let walk = OnceCell::new();
        Self { function, walk }
    }

    /// Returns a walk over all calls and its duration in seconds. A run repeats this walk.
    fn walk(&self) -> &(FunctionSteps, f64) {
        self.walk.get_or_init(|| {
            let begun = Instant::now();
            let walk = FunctionSteps::of(&self.function);
            (walk, begun.elapsed().as_secs_f64())
        })
    }

    /// Returns this candidate by `protocol` under `scheme`. For `batch`, see
    /// [`checked`](Self::checked).
    pub(super) fn alternative(
        &self,
        protocol: Protocol,
        scheme: &'static SchemeInfo,
        (way, calibration): (&MeasuredLink, &mut Calibration),
        stock: Option<&InStock>,
    ) -> Result<Alternative, Error> {
        let function = &*self.function;
        let (walk, walking) = self.walk();
        let need = OtNeed::of_inputs(Security::SemiHonest, function);
        let sketch = Sketch {
            protocol,
            function,
            walk,
            extension: way.extension(need),
        };
        let outline = with_scheme(scheme.id, sketch)
            .map_err(|_| Error::ApiMisuse("this scheme is not offered by any protocol"))??;
        let components = function.components().iter();
        let measured = components.map(|component| calibration.of(scheme.id, component));
        let costs = Costs {
            function,
            times: measured.collect::<Result<Vec<_>, _>>()?,
            walking: *walking,
        };
        let work = match protocol {
            Protocol::Direct => costs.direct(),
            _ => costs.prepared(&outline),
        };
        let course = Course::of(&outline, &work, way);
        let needs = match protocol {
            Protocol::Direct => Vec::new(),
            _ => needs(function, scheme, stock),
        };
        Ok(Alternative {
            protocol,
            scheme: Some(scheme),
            ot_extension: way.stated(),
            function: Arc::clone(&self.function),
            traffic: (&outline).into(),
            times: costs.planned(protocol, &outline, &course, way),
            offline: match protocol {
                Protocol::Direct => Offline::default(),
                _ => costs.offline(scheme, way),
            },
            runs_in_stock: match protocol {
                Protocol::Direct => None,
                _ => runs_in_stock(&needs),
            },
            needs,
            online_round_trips: 1 + u32::from(outline.kept.is_some()),
        })
    }
}

/// The input of a protocol's outline of a function, generic over the scheme.
struct Sketch<'f> {
    protocol: Protocol,
    function: &'f Function,
    walk: &'f FunctionSteps,
    /// The extension that a session over this link uses by default.
    extension: OtExtension,
}

impl SchemeVisitor for Sketch<'_> {
    type Output = Result<Outline, Error>;

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        Ok(match self.protocol {
            Protocol::Direct => direct::outline(scheme, self.function, self.walk, self.extension)?,
            _ => prepared::outline(scheme, self.function, self.walk)?,
        })
    }
}

/// The cost of a function's components on this machine.
pub(super) struct Costs<'f> {
    pub(super) function: &'f Function,
    pub(super) times: Vec<TimeEstimate>,
    /// The seconds that a walk over all calls takes.
    pub(super) walking: f64,
}

impl Costs<'_> {
    /// Returns the seconds for a call of each component, including its share of the walk.
    fn a_call(&self, of: impl Fn(&TimeEstimate) -> Duration) -> Vec<f64> {
        let inputs = |component: &Component| component.circuit().input_bits() as f64;
        let components = self.function.components().iter();
        let calls = self.function.component_calls().iter();
        let bits: f64 = components
            .clone()
            .zip(calls)
            .map(|(component, calls)| inputs(component) * f64::from(*calls))
            .sum();
        components
            .zip(&self.times)
            .map(|(component, time)| {
                of(time).as_secs_f64() + self.walking * inputs(component) / bits.max(1.0)
            })
            .collect()
    }

    /// Returns the seconds of all calls together.
    pub(super) fn all_calls(&self, of: impl Fn(&TimeEstimate) -> Duration) -> f64 {
        let calls = self.function.component_calls().iter();
        let seconds = calls.zip(&self.times);
        seconds
            .map(|(calls, time)| f64::from(*calls) * of(time).as_secs_f64())
            .sum()
    }

    fn direct(&self) -> StageWork {
        StageWork {
            garbler: self.a_call(|time| time.garbler),
            evaluator: self.a_call(|time| time.evaluator),
            ..StageWork::default()
        }
    }

    fn prepared(&self, outline: &Outline) -> StageWork {
        let components = self.function.components().iter();
        let evaluator = components.zip(&self.times).map(|(component, time)| {
            let links = component.circuit().input_bits() as f64;
            time.evaluator.as_secs_f64() + CALL_S + LINK_S * links
        });
        let outputs = self.function.outputs().iter();
        let outputs: usize = outputs.map(|output| output.port.ty.width()).sum();
        let outputs = outputs as f64;
        StageWork {
            garbler: Vec::new(),
            // The garbler's half of a link takes about as long as the evaluator's.
            garbler_answer: LINK_S * outline.late_links as f64 + OUTPUT_S * outputs,
            evaluator: evaluator.collect(),
            evaluator_end: OUTPUT_S * outputs,
        }
    }

    fn planned(
        &self,
        protocol: Protocol,
        outline: &Outline,
        course: &Course,
        way: &MeasuredLink,
    ) -> PlannedTimes {
        // A result for the garbler alone is the last of the run.
        let online = match course.garbler {
            Some(garbler) if self.function.output_bits(Role::Evaluator) == 0 => garbler,
            _ => course.evaluator,
        };
        let round_trip = way.round_trip();
        let early = way.going_in(outline.early_bytes());
        let before = match protocol {
            Protocol::Direct => round_trip,
            // Before linking, the garbler garbles the run's instances again.
            _ => 2.0 * round_trip + early + self.all_calls(|time| time.garbler),
        };
        PlannedTimes {
            online: seconds(online),
            from_agreement: seconds(before + online),
        }
    }

    fn offline(&self, scheme: &SchemeInfo, way: &MeasuredLink) -> Offline {
        let components = self.function.components().iter();
        let calls = self.function.component_calls().iter();
        let tables: u64 = components
            .zip(calls)
            .map(|(component, calls)| {
                let tables = scheme.program_cost(component.program()).table_bytes + 16;
                tables.saturating_mul((*calls).into())
            })
            .fold(0, u64::saturating_add);
        let ots = self.function.input_bits(Role::Evaluator) as u64;
        let need = OtNeed::of(Security::Malicious, ots);
        let extension = way.extension(need);
        let transfers = extension_bytes(extension, need.security, ots as usize);
        let bytes = tables + transfers;
        let garbling = self.all_calls(|time| time.garbler);
        Offline {
            bytes,
            evaluator_disk_bytes: tables + OT_BYTES * ots,
            garbler_disk_bytes: InstanceSeed::BYTES as u64 * u64::from(self.function.call_count())
                + OT_BYTES * ots,
            time: seconds(garbling.max(way.going_in(bytes))),
        }
    }
}

pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// Returns the amount of each kind that a run takes. Equal components are added up.
fn needs(function: &Function, scheme: &SchemeInfo, stock: Option<&InStock>) -> Vec<Need> {
    let mut needs: Vec<(Option<&Component>, Need)> = Vec::new();
    let ots = function.input_bits(Role::Evaluator) as u64;
    if ots > 0 {
        let need = Need {
            name: "OTs".to_owned(),
            count: ots,
            in_stock: stock.map(|stock| stock.ots(scheme.id)),
        };
        needs.push((None, need));
    }
    let components = function.components().iter();
    for (component, calls) in components.zip(function.component_calls()) {
        let same = |known: &(Option<&Component>, Need)| {
            known
                .0
                .is_some_and(|known| known.digest() == component.digest())
        };
        if *calls == 0 {
            continue;
        }
        match needs.iter_mut().find(|known| same(known)) {
            Some((_, need)) => need.count += u64::from(*calls),
            None => {
                let need = Need {
                    name: component.name().to_owned(),
                    count: (*calls).into(),
                    in_stock: stock.map(|stock| stock.instances(scheme.id, component)),
                };
                needs.push((Some(component), need));
            }
        }
    }
    needs.into_iter().map(|(_, need)| need).collect()
}

/// Returns the number of runs for which the stock is enough. OTs are leased 64 at a time.
pub(super) fn runs_in_stock(needs: &[Need]) -> Option<u64> {
    let runs = needs.iter().map(|need| {
        let unit = if need.name == "OTs" { 64 } else { 1 };
        Some(need.in_stock? / need.count.next_multiple_of(unit).max(1))
    });
    runs.collect::<Option<Vec<_>>>()?.into_iter().min()
}

impl Alternative {
    /// Returns the number of round trips in an open session without an agreement: for the
    /// agreement, the leases, and the run.
    pub fn round_trips(&self) -> u32 {
        let leases = u32::from(self.takes_crosses() || !self.protocol.is_from_nothing());
        1 + leases + self.online_round_trips
    }

    /// Whether this is a run by `gmw` whose crosses are in stock.
    pub fn takes_crosses(&self) -> bool {
        self.protocol == Protocol::Gmw && self.runs_in_stock.is_some()
    }
}
