//! A function by `authenticated`: everything is made during the run.
//!
//! Messages and bytes are exact ([`tacit_protocol::authenticated::outline`]). The work is estimated
//! from a run of AES-128 on this machine, measured once, in proportion to the number of leaky ANDs:
//! they cause nearly all of the work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use rand_core::UnwrapErr;
use tacit_components::library;
use tacit_function::{Function, Recipient, Role};
use tacit_garble::{SchemeId, SchemeInfo};
use tacit_protocol::authenticated::{
    BLOCK_TRIPLES, EpochSetup, EpochTags, LotSize, Terms, blocks_for, outline,
};
use tacit_protocol::io::memory::run_both;
use tacit_protocol::session::{Hello, Proposal, ProtocolId, SessionTag};
use tacit_protocol::setup::OtSettings;
use zeroize::Zeroizing;

use super::alternative::{Candidate, seconds};
use super::course::MeasuredLink;
use super::{Alternative, Calibration, InStock, Need, Offline, PlannedTimes, PlannedTraffic};
use crate::Error;
use crate::authenticated::construction;
use crate::protocols::{Protocol, StatisticalSecurity};
use crate::session::OtNeed;
use crate::stock::LotNeeds;

impl Candidate {
    /// Returns this candidate by `authenticated` under `scheme`. The plan is for a run
    /// that takes nothing from the stock. If the stock has instances or triples, the plan says for
    /// how many runs they are enough.
    pub(super) fn authenticated(
        &self,
        scheme: &'static SchemeInfo,
        (way, calibration): (&MeasuredLink, &mut Calibration),
        stock: Option<&InStock>,
    ) -> Result<Alternative, Error> {
        construction(scheme.id)?;
        let function = &*self.function;
        let security = StatisticalSecurity::DEFAULT.of_lots()?;
        let need = OtNeed::of_lots(function.and_gates(), security);
        let outline = outline(function, security, way.extension(need))?;
        let work = calibration.leaky_and()? * outline.leaky_ands as f64;
        // Messages go one way at a time, and both parties work meanwhile.
        let sending = way.going_in(outline.garbler_bytes) + way.going_in(outline.evaluator_bytes);
        let trips = outline.trips as f64 * way.round_trip() / 2.0;
        let online = trips + sending.max(work);
        let triples = blocks_for(function).saturating_mul(BLOCK_TRIPLES as u64);
        // Triples come last.
        let ways: Vec<_> = LotNeeds::of_run(function, scheme.id).collect();
        let in_stock = stock.filter(|_| triples > 0);
        let in_stock = in_stock.map(|stock| stock.lots(&ways));
        Ok(Alternative {
            protocol: Protocol::Authenticated,
            scheme: Some(scheme),
            ot_extension: way.stated(),
            function: Arc::clone(&self.function),
            traffic: PlannedTraffic::late(outline.garbler_bytes, outline.evaluator_bytes),
            times: PlannedTimes {
                online: seconds(online),
                from_agreement: seconds(way.round_trip() + online),
            },
            offline: Offline::default(),
            runs_in_stock: in_stock.map(|(_, runs)| runs),
            needs: vec![Need {
                name: "triples".to_owned(),
                count: triples,
                in_stock: in_stock.map(|(count, _)| count),
            }],
            online_round_trips: u32::try_from(outline.trips.div_ceil(2)).unwrap_or(u32::MAX),
        })
    }
}

/// Measures the seconds per leaky AND that a party takes for a run, including all other work.
pub(super) fn leaky_and_seconds() -> Result<f64, Error> {
    let circuit = library::find("aes-128", &BTreeMap::new())?;
    let owner = |_: &_| Role::Evaluator;
    let function = Function::of_circuit("aes-128", circuit, owner, |_| Recipient::Both)?;
    let security = StatisticalSecurity::DEFAULT.of_lots()?;
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    let session = SessionTag::new(&[0; 32], (&[1; 32], &a), (&[2; 32], &b));
    let settings = OtSettings::default();
    let tag = |sender| {
        let OtSettings {
            base, extension, ..
        } = settings;
        session.authenticated_setup(Role::Garbler, sender, base, extension)
    };
    let tags = EpochTags {
        garbler: tag(Role::Garbler),
        evaluator: tag(Role::Evaluator),
    };
    let mut rng = UnwrapErr(getrandom::SysRng);
    let garbler = EpochSetup::new(Role::Garbler, settings, tags, &mut rng)?;
    let evaluator = EpochSetup::new(Role::Evaluator, settings, tags, &mut rng)?;
    let (garbler, evaluator) = run_both(
        async |io| garbler.run(io).await?.epoch(),
        async |io| evaluator.run(io).await?.epoch(),
    )?;
    let terms = Terms {
        function: &function,
        tag: session.run(&Proposal {
            statistical_security_bits: StatisticalSecurity::DEFAULT.bits(),
            ..Proposal::first(
                ProtocolId::Authenticated,
                SchemeId::HALF_GATES_TWO_CALL,
                function.digest(),
            )
        }),
        security,
        construction: construction(SchemeId::HALF_GATES_TWO_CALL)?,
    };
    let inputs = vec![false; function.input_bits(Role::Evaluator)];
    let [one, other] = [1, 2].map(|byte| Zeroizing::new([byte; 32]));
    let begun = Instant::now();
    run_both(
        async |io| terms.run(io, &[], garbler, &one).await,
        async |io| terms.run(io, &inputs, evaluator, &other).await,
    )?;
    let size = LotSize::cheapest(function.and_gates(), security);
    // Both parties worked on one thread.
    Ok(begun.elapsed().as_secs_f64() / 2.0 / size.leaky_ands() as f64)
}
