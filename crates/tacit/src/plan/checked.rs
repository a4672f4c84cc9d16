//! A function by `batch`: an execution that was prepared and checked together with many others.
//!
//! Messages and hashes are exact ([`tacit_protocol::batch::outline`]). The work consists of
//! garbling, evaluating, commitments and hashes, each measured on this machine. Other work
//! (generators, copies) is a few percent of that. Each party uses one thread.

use std::sync::Arc;
use std::time::Instant;

use tacit_function::{Function, Role};
use tacit_garble::{Scheme, SchemeInfo};
use tacit_kernels::Block;
use tacit_protocol::batch::outline::{Outline, PartyWork, Preparation};
use tacit_protocol::batch::plan::MAX_EXECUTIONS;
use tacit_protocol::batch::{Batch, Plan};

use super::alternative::{Candidate, Costs, runs_in_stock, seconds};
use super::calibration::HashTimes;
use super::course::{Course, MeasuredLink};
use super::{Alternative, Calibration, InStock, Need, Offline, PlannedTimes, PlannedTraffic};
use crate::Error;
use crate::protocols::Protocol;
use crate::scheme::{BlockVisitor, with_block_scheme};
use crate::stock::{BatchPreparation, NAME_BYTES};

impl Candidate {
    /// Returns this candidate by `batch` under `scheme`, with this many runs prepared
    /// together.
    pub(super) fn checked(
        &self,
        scheme: &'static SchemeInfo,
        (way, calibration): (&MeasuredLink, &mut Calibration),
        runs: u64,
        stock: Option<&InStock>,
    ) -> Result<Alternative, Error> {
        let function = &*self.function;
        let executions = runs.clamp(1, MAX_EXECUTIONS);
        let order = BatchPreparation::new(Role::Garbler, function, executions).scheme(scheme.id);
        let plan = order.plan()?;
        let outline = with_block_scheme(scheme.id, Protocol::Batch, Sketch { function, plan })??;
        let components = function.components().iter();
        let measured = components.map(|component| calibration.of(scheme.id, component));
        let times = measured.collect::<Result<Vec<_>, _>>()?;
        let machine = Machine::of(function, times, calibration.hashes());
        let work = machine.online(&outline);
        let course = Course::of_checked(&outline, work, way);
        let needs = vec![Need {
            name: "checked executions".to_owned(),
            count: 1,
            in_stock: stock.map(|stock| stock.executions(scheme.id, function)),
        }];
        Ok(Alternative {
            protocol: Protocol::Batch,
            scheme: Some(scheme),
            ot_extension: way.stated(),
            function: Arc::clone(&self.function),
            traffic: traffic(&outline),
            times: machine.planned(&outline, &course, way),
            offline: machine.offline(&outline.preparation, way),
            runs_in_stock: runs_in_stock(&needs),
            needs,
            online_round_trips: 2,
        })
    }
}

/// The input of the outline of an execution, generic over the scheme.
struct Sketch<'f> {
    function: &'f Function,
    plan: Plan,
}

impl BlockVisitor for Sketch<'_> {
    type Output = Result<Outline, Error>;

    fn visit<S: Scheme<Wire = Block>>(self, scheme: S) -> Self::Output {
        let batch = Batch::named(scheme, self.function, self.plan, [0; NAME_BYTES])?;
        Ok(batch.outline())
    }
}

fn traffic(outline: &Outline) -> PlannedTraffic {
    PlannedTraffic {
        garbler_early_bytes: outline.ready_bytes,
        garbler_late_bytes: outline.input_labels_bytes + outline.recovery_labels_bytes,
        evaluator_bytes: outline.masked_input_bytes
            + outline.recovery_choice_bytes
            + outline.masked_result_bytes.unwrap_or(0),
    }
}

/// The times of this machine, in seconds.
struct Machine<'f> {
    function: &'f Function,
    /// Garbling one circuit, and evaluating one.
    garbling: f64,
    evaluating: f64,
    /// Computing the function in the clear, which the evaluator does in every run.
    in_the_clear: f64,
    hashes: HashTimes,
}

impl<'f> Machine<'f> {
    fn of(
        function: &'f Function,
        times: Vec<crate::cost::TimeEstimate>,
        hashes: HashTimes,
    ) -> Self {
        let costs = Costs {
            function,
            times,
            walking: 0.0,
        };
        let bits: usize = Role::BOTH
            .map(|role| function.input_bits(role))
            .iter()
            .sum();
        let zeros = vec![false; bits];
        let begun = Instant::now();
        std::hint::black_box(function.evaluate(&zeros));
        Self {
            function,
            in_the_clear: begun.elapsed().as_secs_f64(),
            garbling: costs.all_calls(|time| time.garbler),
            evaluating: costs.all_calls(|time| time.evaluator),
            hashes,
        }
    }

    /// Returns the evaluator's work on each of the garbler's messages.
    fn online(&self, outline: &Outline) -> [f64; 2] {
        [
            self.evaluating * outline.circuits as f64 + self.hashes.of(&outline.labels),
            self.in_the_clear + self.hashes.of(&outline.recovery),
        ]
    }

    fn planned(&self, outline: &Outline, course: &Course, way: &MeasuredLink) -> PlannedTimes {
        // A result for the garbler alone is the last of the run.
        let online = match course.garbler {
            Some(garbler) if self.function.output_bits(Role::Evaluator) == 0 => garbler,
            _ => course.evaluator,
        };
        // The agreement and the leases. Then the garbler garbles the bucket again.
        let before = 2.0 * way.round_trip() + self.garbling * outline.circuits as f64;
        PlannedTimes {
            online: seconds(online),
            from_agreement: seconds(before + online),
        }
    }

    fn offline(&self, of: &Preparation, way: &MeasuredLink) -> Offline {
        let time = |work: &PartyWork| self.garbling * work.circuits + self.hashes.of(&work.hashing);
        // One party checks while the other waits. The circuits that are kept are made, sent and
        // compared at the same time.
        let sending = way.going_in(of.garbler_bytes);
        let publishing = time(&of.publishing).max(time(&of.comparing)).max(sending);
        let all = time(&of.digesting) + time(&of.checking) + publishing + time(&of.opening);
        Offline {
            bytes: of.garbler_bytes,
            evaluator_disk_bytes: of.evaluator_kept_bytes,
            garbler_disk_bytes: of.garbler_kept_bytes,
            time: seconds(all),
        }
    }
}
