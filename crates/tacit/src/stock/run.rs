//! A run of `prepared`: what both parties have leased, linked in one round trip.

use rand_core::{Rng, UnwrapErr};
use tacit_circuit::{Function, Role};
use tacit_garble::{Scheme, SchemeVisitor};
use tacit_protocol::party::Progress;
use tacit_protocol::prepared::{Evaluating, Garbling, Gathering};
use tacit_protocol::session::RunTag;
use zeroize::Zeroizing;

use super::{LeaseOrder, OpenedStock, Supplies};
use crate::cost::Clock;
use crate::driver::drive;
use crate::{Error, Session};

/// One party's side of a run, once both have agreed on it.
pub(crate) struct PreparedRun<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) opened: &'a mut OpenedStock,
    pub(crate) function: &'a Function,
    pub(crate) tag: RunTag,
    pub(crate) inputs: &'a [bool],
    pub(crate) leases: LeaseOrder<'a>,
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

/// What a run gave.
pub(crate) struct PreparedOutcome {
    /// This party's output bits in port order.
    pub(crate) outputs: Zeroizing<Vec<bool>>,
    /// The beginning of the online stage: at the evaluator when everything was there that needs no
    /// input of it, at the garbler before it sends that.
    pub(crate) online: Clock,
    /// AND gates that were garbled on the spot.
    pub(crate) ands_on_the_spot: u64,
}

impl SchemeVisitor for PreparedRun<'_> {
    type Output = Result<PreparedOutcome, Error>;

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        let Self {
            session,
            opened,
            function,
            tag,
            inputs,
            leases,
            watch,
        } = self;
        let supplies = Supplies::lease(session, opened, function, tag, leases, watch)?;
        let ands_on_the_spot = supplies.ands_on_the_spot;
        let (online, outputs) = match opened.role {
            Role::Garbler => {
                let delta = opened.delta()?.to_block();
                let (ots, instances) = supplies.garbler(scheme, function, delta)?;
                let mut seed = Zeroizing::new([0; 32]);
                UnwrapErr(getrandom::SysRng).fill_bytes(&mut *seed);
                let offers = (delta, ots);
                let mut party =
                    Garbling::new(scheme, function, tag, inputs, offers, instances, &seed)?;
                let online = Clock::start(session);
                drive(session.channel(), &mut party, watch)?;
                (online, party.finish()?)
            }
            Role::Evaluator => {
                let (ots, instances) = supplies.evaluator(scheme, function)?;
                let mut links = Gathering::new(scheme, function)?;
                drive(session.channel(), &mut links, watch)?;
                let early = links.finish()?;
                let mut party =
                    Evaluating::new(scheme, function, tag, inputs, early, &ots, instances)?;
                let online = Clock::start(session);
                drive(session.channel(), &mut party, watch)?;
                (online, party.finish()?)
            }
        };
        Ok(PreparedOutcome {
            outputs,
            online,
            ands_on_the_spot,
        })
    }
}
