//! A run of `authenticated` from triples in stock: blocks of one lot, leased at both parties before
//! the run's first byte.

use core::ops::RangeInclusive;

use tacit_function::Role;
use tacit_protocol::authenticated::{
    AuthenticatedParty, BLOCK_BYTES, Evaluator, Garbler, StockedTriples, Terms, TripleBlocks,
    blocks_for,
};
use tacit_protocol::party::Progress;
use tacit_protocol::prepared::MAX_RUNS_AHEAD;
use tacit_stock::{ComponentDigest, Instance, Instances, Lease, Span, Tried};
use zeroize::Zeroizing;

use super::{
    HEADER_BYTES, HOME, LotTerms, kind_of, lots_in_stock, name_of, ordered, serves, triples,
};
use crate::cost::Clock;
use crate::driver::{drive, seed};
use crate::stock::failure::StockFailure;
use crate::stock::supply::{LeaseOrder, lease_of_one_kind};
use crate::stock::tries::{self, TryName};
use crate::stock::{OpenedStock, Stocks, TakenNumbers};
use crate::{Error, Session};

/// One party's side of a run, once both have agreed on it and both have said that they have
/// triples.
pub(crate) struct StockedRun<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) opened: &'a mut OpenedStock,
    /// Its s is the one that the run was asked for at.
    pub(crate) terms: Terms<'a>,
    pub(crate) inputs: &'a [bool],
    pub(crate) leases: LeaseOrder<'a>,
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

/// What a run gave.
pub(crate) struct StockedOutcome {
    /// This party's output bits in port order.
    pub(crate) outputs: Zeroizing<Vec<bool>>,
    /// The beginning of the online stage.
    pub(crate) online: Clock,
    /// The s that the triples were made at.
    pub(crate) made_at_bits: u8,
}

impl StockedRun<'_> {
    /// The stock that triples lie in, which the parties let meet the first time in a session.
    pub(crate) fn open(
        session: &mut Session,
        stocks: &Stocks,
        role: Role,
    ) -> Result<OpenedStock, Error> {
        OpenedStock::open(session, stocks, role, HOME)
    }

    /// Runs from the next blocks that both have; nothing where no lot has enough of them, which
    /// both parties find alike.
    ///
    /// # Errors
    ///
    /// Whatever ends the run. The blocks are then lost.
    pub(crate) fn run(mut self) -> Result<Option<StockedOutcome>, Error> {
        let Some((kind, lease)) = self.lease()? else {
            return Ok(None);
        };
        let name = TryName::in_session(self.session, self.opened.role, Tried::Authenticated)?;
        let opened = &*self.opened;
        let failure = StockFailure::default();
        let blocks = Blocks::open(lease, (&kind, self.asked()), &failure)?;
        let made_at_bits = blocks.header[0];
        let (session, watch) = (self.session, self.watch);
        let given = (self.terms, self.inputs);
        let ran = match opened.role {
            Role::Garbler => execute::<Garbler<'_>>(session, given, blocks, watch),
            Role::Evaluator => execute::<Evaluator<'_>>(session, given, blocks, watch),
        };
        // Before the peer hears why: it could take other blocks meanwhile.
        let ended = |error| after_run(opened, &name, &kind, error);
        let (outputs, online) = failure.or(ran).map_err(ended)?;
        Ok(Some(StockedOutcome {
            outputs,
            online,
            made_at_bits,
        }))
    }

    fn asked(&self) -> LotTerms {
        LotTerms::at(self.terms.security.get(), self.session.base_ot())
    }

    /// Leases at both parties the blocks of a run, and of as many more as the evaluator wants
    /// ahead.
    fn lease(&mut self) -> Result<Option<(ComponentDigest, Lease)>, Error> {
        let asked = self.asked();
        let needed = blocks_for(self.terms.function);
        let lots = lots_in_stock(self.opened, asked);
        if lots.is_empty() {
            return Ok(None);
        }
        let ahead = self.leases.ahead;
        let wanted = |opened: &OpenedStock| wanted(opened, &lots, needed, ahead);
        let leased = lease_of_one_kind(self.session, self.opened, &lots, needed, wanted)?;
        if let Some((lot, lease)) = &leased {
            let spans = lease.spans().map(|span| Span {
                first: triples(span.first),
                count: triples(span.count),
            });
            (self.leases.watch)(&TakenNumbers {
                name: name_of(ordered(lot).unwrap_or(asked)),
                digest: *lot,
                spans: spans.collect(),
            });
        }
        Ok(leased)
    }
}

/// What the evaluator leases: from the smallest lot that has enough, so that larger functions find
/// the larger ones.
fn wanted(
    opened: &OpenedStock,
    lots: &[ComponentDigest],
    needed: u64,
    ahead: u64,
) -> Result<Vec<RangeInclusive<u64>>, Error> {
    let ahead = ahead.min(MAX_RUNS_AHEAD);
    let mut enough = Vec::new();
    for (place, lot) in lots.iter().enumerate() {
        let available = opened.stock.available(lot)?;
        enough.extend((available >= needed).then_some((available, place)));
    }
    let Some((available, place)) = enough.into_iter().min() else {
        // More than there is of any, which is found to be short.
        return Ok(vec![needed..=needed; lots.len()]);
    };
    let runs = (available / needed.max(1)).min(1 + ahead);
    let mut bounds = vec![0..=0; lots.len()];
    bounds[place] = needed..=needed * runs;
    Ok(bounds)
}

/// Runs from `blocks`.
fn execute<'a, P: AuthenticatedParty<'a>>(
    session: &mut Session,
    (terms, inputs): (Terms<'a>, &[bool]),
    blocks: Blocks<'a>,
    watch: &mut dyn FnMut(Progress),
) -> Result<(Zeroizing<Vec<bool>>, Clock), Error> {
    let triples = StockedTriples::new(blocks.id, Box::new(blocks))?;
    let mut party = P::from_stock(terms, inputs, triples, &seed())?;
    let online = Clock::start(session);
    drive(session.channel(), &mut party, watch)?;
    Ok((party.finish()?.0, online))
}

/// Blocks of a lease, all of one lot.
struct Blocks<'a> {
    first: Option<Instance>,
    others: Instances,
    header: [u8; HEADER_BYTES],
    /// The epoch of the lot.
    id: [u8; 32],
    failure: &'a StockFailure,
}

impl<'a> Blocks<'a> {
    /// Those of a lease of the lot `kind`, for a run that asks for this.
    fn open(
        lease: Lease,
        (kind, asked): (&ComponentDigest, LotTerms),
        failure: &'a StockFailure,
    ) -> Result<Self, Error> {
        let mut instances = lease.instances();
        let first = instances.next().transpose()?;
        let first = first.ok_or(Error::ApiMisuse("a lease of blocks is not empty"))?;
        let header: [u8; HEADER_BYTES] = first.tables().try_into().map_err(|_| broken())?;
        let (made_at_bits, id) = header.split_first().ok_or_else(broken)?;
        let id = id.try_into().map_err(|_| broken())?;
        let ordered = ordered(kind).ok_or_else(broken)?;
        let is_of_run = serves(kind, asked)
            && *made_at_bits >= ordered.statistical_security_bits
            && kind_of(ordered, &id) == *kind;
        match is_of_run {
            true => Ok(Self {
                first: Some(first),
                others: instances,
                header,
                id,
                failure,
            }),
            false => Err(broken()),
        }
    }

    fn read(&mut self) -> Result<Instance, Error> {
        let next = self.first.take().map(Ok).or_else(|| self.others.next());
        let next = next.ok_or(Error::ApiMisuse(
            "a run reads no more blocks than it leased",
        ))??;
        match next.tables() == self.header && next.secret().len() == BLOCK_BYTES {
            true => Ok(next),
            false => Err(broken()),
        }
    }
}

impl TripleBlocks for Blocks<'_> {
    fn next(&mut self, block: &mut [u8; BLOCK_BYTES]) -> Result<u64, tacit_protocol::Error> {
        let instance = self.read().map_err(|error| self.failure.note(error))?;
        block.copy_from_slice(instance.secret());
        Ok(instance.number())
    }
}

/// Destroys what is left of a lot whose run ended because the peer was caught, or says that it has
/// caught this party: no more is used under these Δ. Returns the error of the run, or why that
/// could not be recorded.
fn after_run(opened: &OpenedStock, name: &TryName, kind: &ComponentDigest, error: Error) -> Error {
    let destroy = || {
        let destroyed = opened.stock.give_up(kind).map_err(Error::from);
        let noted = tries::note_cheat(&opened.stocks, name);
        destroyed.and(noted)
    };
    tries::after_run(error, "its lot of triples could not be destroyed", destroy)
}

fn broken() -> Error {
    Error::Material(
        "a block of triples in the stock is not as it was kept; run `tacit stock check`".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tacit_ot::base::BaseOt;
    use tacit_stock::{
        EpochId, Limits, Memory, PeerId, Role, RootKey, SchemeId, Stock, StockId, Stocks,
    };

    use super::super::SHAPE;
    use super::*;

    const ID: [u8; 32] = [7; 32];

    /// A stock with a lot of this kind, whose blocks say this of themselves.
    fn stock(kind: ComponentDigest, headers: &[[u8; HEADER_BYTES]]) -> Stock {
        let stocks = Stocks::open(Arc::new(Memory::new()), Path::new("s"), RootKey::Beside);
        let id = StockId {
            own: PeerId([1; 32]),
            peer: PeerId([2; 32]),
            role: Role::Garbler,
            scheme: SchemeId(*b"test"),
        };
        let (epoch, limits) = (EpochId::generate(0).expect("randomness"), Limits::default());
        let stock = stocks.and_then(|stocks| stocks.create(id, epoch, &[], limits));
        let stock = stock.expect("room");
        let count = headers.len() as u64;
        let preparation = stock.prepare().expect("nobody prepares");
        let lot = preparation.begin_lot(kind, SHAPE, Span { first: 0, count });
        let lot = lot.expect("room");
        let secrets = vec![5; headers.len() * BLOCK_BYTES];
        lot.put(0, &secrets, headers.as_flattened()).expect("room");
        lot.finish().expect("room");
        stock.publish(&kind, 0).expect("it waits");
        stock
    }

    fn header(made_at_bits: u8, id: [u8; 32]) -> [u8; HEADER_BYTES] {
        let mut header = [made_at_bits; HEADER_BYTES];
        header[1..].copy_from_slice(&id);
        header
    }

    /// Whether a run at s = 40 has all blocks of such a lot.
    fn is_taken(kind: ComponentDigest, headers: &[[u8; HEADER_BYTES]]) -> bool {
        let lease = stock(kind, headers).lease(&kind, headers.len() as u64);
        let (failure, asked) = (StockFailure::default(), LotTerms::at(40, BaseOt::default()));
        let Ok(mut blocks) = Blocks::open(lease.expect("in stock"), (&kind, asked), &failure)
        else {
            return false;
        };
        headers.iter().all(|_| blocks.read().is_ok())
    }

    /// What a block says of its lot is what the run is promised: s, and whose Δ it is under.
    #[test]
    fn a_block_that_says_it_is_of_another_lot_is_not_taken() {
        let ordered = |bits| kind_of(LotTerms::at(bits, BaseOt::MlKem768), &ID);
        let (kind, good) = (ordered(40), header(40, ID));
        assert!(is_taken(kind, &[good; 2]));
        assert!(is_taken(kind, &[header(43, ID); 2]));
        assert!(!is_taken(ordered(39), &[good; 2]), "ordered at less");
        let mut other = ID;
        other[0] ^= 1;
        for wrong in [header(39, ID), header(40, other)] {
            assert!(!is_taken(kind, &[wrong; 2]));
            assert!(!is_taken(kind, &[good, wrong]));
        }
    }
}
