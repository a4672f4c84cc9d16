//! A run of `authenticated` from the stock. It uses one lot, which both parties lease before the
//! run's first byte.

use tacit_function::Role;
use tacit_garble::SchemeId;
use tacit_protocol::authenticated::{LinkedRun, StockedTriples, Terms};
use tacit_protocol::party::Progress;
use tacit_stock::{ComponentDigest, Lease, Tried};
use zeroize::Zeroizing;

use super::leased::LeasedLot;
use super::{LOT_SCHEME, Lot, LotNeeds, LotTerms, is_of_lot, lot_of, ordered};
use crate::cost::{Clock, FromStock};
use crate::driver::{run_script, seed};
use crate::job::{ProtocolOutcome, SecurityScope};
use crate::stock::failure::StockFailure;
use crate::stock::supply::{LeaseOrder, LotLease, lease_of_one_lot};
use crate::stock::tries::{self, TryName};
use crate::stock::{OpenedStock, Stocks, TakenNumbers};
use crate::{Error, Session};

/// One party's side of a run on which both parties have agreed. Both have said that they have
/// something in stock for it.
pub(crate) struct StockedRun<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) opened: &'a mut OpenedStock,
    /// The terms of the run. Their s is the one that was asked for.
    pub(crate) terms: Terms<'a>,
    pub(crate) scheme: SchemeId,
    pub(crate) inputs: &'a [bool],
    /// The start of the run.
    pub(crate) preparation: Clock,
    pub(crate) leases: LeaseOrder<'a>,
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

impl StockedRun<'_> {
    /// Opens the stock in which lots are kept. The first time in a session, the parties' records
    /// meet.
    pub(crate) fn open(
        session: &mut Session,
        stocks: &Stocks,
        role: Role,
    ) -> Result<OpenedStock, Error> {
        OpenedStock::open(session, stocks, role, LOT_SCHEME)
    }

    /// Runs from the next instances of a lot that both parties have, or else from the next triples.
    /// Returns `None` if no lot has enough of either, on which both parties come to the same
    /// answer.
    ///
    /// After an error, the leased material is lost.
    pub(crate) fn run(mut self) -> Result<Option<ProtocolOutcome>, Error> {
        for needs in LotNeeds::of_run(self.terms.function, self.scheme) {
            if let Some(leases) = self.lease(&needs)? {
                return self.run_from(&needs, leases).map(Some);
            }
        }
        Ok(None)
    }

    fn run_from(self, needs: &LotNeeds, leases: Vec<Lease>) -> Result<ProtocolOutcome, Error> {
        let asked = self.asked();
        let name = TryName::in_session(self.session, self.opened.role, Tried::Authenticated)?;
        let opened = &*self.opened;
        let failure = StockFailure::default();
        let kind = leases.first().map(Lease::kind);
        let lot = LeasedLot::open(leases, (needs, asked), &failure)?;
        let made_at_bits = lot.name.made_at_bits;
        let (session, watch) = (self.session, self.watch);
        let given = (self.terms, self.inputs);
        let role = opened.role;
        let (from_stock, ran) = if needs.places.is_empty() {
            let ran = from_triples(session, role, given, lot, watch);
            (FromStock::Triples, ran)
        } else {
            let ran = from_instances(session, role, given, lot, watch);
            (FromStock::Instances, ran)
        };
        // Record the end before the peer learns why: it could take more of the lot meanwhile.
        let ended = |error| after_run(opened, &name, kind, error);
        let (outputs, online) = failure.or(ran).map_err(ended)?;
        Ok(ProtocolOutcome {
            outputs,
            phases: self.preparation.stop_online(&online, session),
            security_scope: Some(SecurityScope::AllRuns { made_at_bits }),
            from_stock: Some(from_stock),
            ..ProtocolOutcome::default()
        })
    }

    fn asked(&self) -> LotTerms {
        LotTerms::at(self.terms.security.get(), self.session.base_ot())
    }

    /// Leases at both parties the material for this run, and for further runs if the evaluator
    /// wants them ahead.
    fn lease(&mut self, needs: &LotNeeds) -> Result<Option<Vec<Lease>>, Error> {
        let asked = self.asked();
        let mut lots = Lot::all(self.opened.agreed_kinds(), asked, &needs.contents);
        lots.retain(|lot| lot.runs(&needs.counts) > 0);
        if lots.is_empty() {
            return Ok(None);
        }
        let lots: Vec<_> = lots.into_iter().map(|lot| lot.kinds).collect();
        let order = LotLease {
            lots: &lots,
            needed: &needs.counts,
            ahead: self.leases.ahead,
            rank,
        };
        let leased = lease_of_one_lot(self.session, self.opened, &order)?;
        let Some(leases) = leased else {
            return Ok(None);
        };
        for (lease, name) in leases.iter().zip(&needs.names) {
            let name = ordered(&lease.kind()).unwrap_or(asked).name(name);
            let epoch = self.opened.stock.epoch();
            (self.leases.watch)(&TakenNumbers::of(lease, name, epoch));
        }
        Ok(Some(leases))
    }
}

/// Ranks a lot for the evaluator: among those of the lowest s, the smallest that has enough. Runs
/// that ask for a higher s and larger functions can then use the other lots.
fn rank(lot: &[ComponentDigest], available: &[u64]) -> (Option<u8>, u64) {
    let bits = lot.first().and_then(ordered);
    let bits = bits.map(|ordered| ordered.statistical_security_bits);
    (bits, available.iter().sum())
}

/// Runs from triples.
fn from_triples<'a>(
    session: &mut Session,
    role: Role,
    (terms, inputs): (Terms<'a>, &[bool]),
    lot: LeasedLot<'a>,
    watch: &mut dyn FnMut(Progress),
) -> Result<(Zeroizing<Vec<bool>>, Clock), Error> {
    let triples = StockedTriples::new(lot.name.id, Box::new(lot))?;
    let (online, seed) = (Clock::start(session), seed());
    let outputs = run_script(session.channel(), watch, async |io| {
        let run = terms.run_from_stock(io, role, inputs, triples, &seed);
        run.await
    })?;
    Ok((outputs, online))
}

/// Runs from instances.
fn from_instances(
    session: &mut Session,
    role: Role,
    (terms, inputs): (Terms<'_>, &[bool]),
    lot: LeasedLot<'_>,
    watch: &mut dyn FnMut(Progress),
) -> Result<(Zeroizing<Vec<bool>>, Clock), Error> {
    let run = LinkedRun {
        terms,
        id: lot.name.id,
        ordered_at: lot.ordered.ordered_at()?,
    };
    let online = Clock::start(session);
    let outputs = run_script(session.channel(), watch, async |io| match role {
        Role::Garbler => run.garble(io, inputs, lot).await,
        Role::Evaluator => run.evaluate(io, inputs, lot).await,
    })?;
    Ok((outputs, online))
}

/// Destroys the rest of a lot if the run ended because the peer was caught, or because the peer
/// says that it has caught this party: these Δ must not be used again. Returns the run's error, or
/// the reason why the end could not be recorded.
fn after_run(
    opened: &OpenedStock,
    name: &TryName,
    kind: Option<ComponentDigest>,
    error: Error,
) -> Error {
    let destroy = || {
        let destroyed = destroy(opened, kind);
        let noted = tries::note_cheat(&opened.stocks, name);
        destroyed.and(noted)
    };
    tries::after_run(error, "its lot could not be destroyed", destroy)
}

/// Destroys the rest of the lot of `kind`, in all its kinds, even if the lot is published only in
/// part: a kind that is published later would be under the same Δ.
fn destroy(opened: &OpenedStock, kind: Option<ComponentDigest>) -> Result<(), Error> {
    let lot = kind.as_ref().map(lot_of);
    let there = opened.stock.marks()?.kinds.into_iter();
    let there = there.map(|marks| marks.kind);
    let of_lot = there.filter(|kind| is_of_lot(kind) && Some(lot_of(kind)) == lot);
    opened.stock.give_up(&of_lot.collect::<Vec<_>>())?;
    Ok(())
}
