//! The crosses that a run by `gmw` takes from the stock. Both parties lease them before the run's
//! first byte.

use core::num::NonZeroUsize;

use tacit_function::{Role, Schedule};
use tacit_kernels::map_each;
use tacit_protocol::gmw::{CrossBlock, CrossDemand, StockedCrosses};
use tacit_stock::{Instance, Lease};
use zeroize::Zeroizing;

use super::{BLOCK_KINDS, BlockKind, Blocks, OtOrigin, blocks_of, kinds_serving, runs};
use crate::driver::flush;
use crate::protocols::Protocol;
use crate::stock::authenticated::LOT_SCHEME;
use crate::stock::failure::StockFailure;
use crate::stock::supply::{LeaseOrder, LotLease, lease_of_one_lot};
use crate::stock::{OpenedStock, Stocks, TakenNumbers};
use crate::{Error, Session};

/// Returns whether both parties have enough in stock for a run with this schedule. Both say so in
/// the session's first run in a role. `stocks` are this party's, if it has any.
pub(crate) fn takes_crosses(
    session: &mut Session,
    stocks: Option<&Stocks>,
    (role, schedule): (Role, &Schedule),
) -> Result<bool, Error> {
    let needed = blocks_of(&CrossDemand::of(schedule));
    if needed == [0; BLOCK_KINDS] {
        return Ok(false);
    }
    let are_there = |session: &Session| match stocks {
        Some(stocks) => stocks.has_crosses(session, role, &needed),
        None => Ok(false),
    };
    session.takes_from_stock((Protocol::Gmw, role), are_there)
}

/// Leases at both parties the blocks for a run with this schedule. Returns `None` if one of them
/// has too few, or if the run takes none. `stocks` are this party's, if it has any.
///
/// After an error, the leased blocks are lost.
pub(crate) fn lease_crosses(
    session: &mut Session,
    stocks: Option<&Stocks>,
    (role, schedule): (Role, &Schedule),
    order: LeaseOrder<'_>,
) -> Result<Option<LeasedCrosses>, Error> {
    let takes = takes_crosses(session, stocks, (role, schedule))?;
    let (true, Some(stocks)) = (takes, stocks) else {
        return Ok(None);
    };
    let needed = blocks_of(&CrossDemand::of(schedule));
    let mut opened = OpenedStock::open(session, stocks, role, LOT_SCHEME)?;
    let leases = lease(session, &mut opened, &needed, order)?;
    session.keep_stock(opened);
    let Some(leases) = leases else {
        session.end_of_stock((Protocol::Gmw, role));
        return Ok(None);
    };
    // The peer opens its blocks while this party opens its own.
    flush(session.channel())?;
    Ok(Some(LeasedCrosses {
        role,
        leases,
        failure: StockFailure::default(),
    }))
}

/// Leases at both parties the blocks for this run, and for further runs if the evaluator wants them
/// ahead.
fn lease(
    session: &mut Session,
    opened: &mut OpenedStock,
    needed: &Blocks,
    order: LeaseOrder<'_>,
) -> Result<Option<Vec<Lease>>, Error> {
    let agreed = |kind| opened.agreed(&kind);
    let lots = kinds_serving(OtOrigin::of(session));
    let lots = lots.filter(|digests| runs(&digests.map(agreed), needed) > 0);
    let lots: Vec<_> = lots.map(Vec::from).collect();
    if lots.is_empty() {
        return Ok(None);
    }
    let of_lots = LotLease {
        lots: &lots,
        needed,
        ahead: order.ahead,
        rank: |_, _| (None, 0),
    };
    let leases = lease_of_one_lot(session, opened, &of_lots)?;
    let leased = leases.iter().flatten().filter(|lease| lease.count() > 0);
    for lease in leased {
        let name = BlockKind::of(&lease.kind()).map_or_else(String::new, BlockKind::name);
        (order.watch)(&TakenNumbers::of(lease, name, opened.stock.epoch()));
    }
    Ok(leases)
}

/// The blocks that a run has leased.
pub(crate) struct LeasedCrosses {
    role: Role,
    /// By kind of block.
    leases: Vec<Lease>,
    failure: StockFailure,
}

impl LeasedCrosses {
    /// Returns the run's masks. Up to `threads` threads open the blocks, as steps need them.
    pub(crate) fn masks(
        &mut self,
        schedule: &Schedule,
        threads: NonZeroUsize,
    ) -> StockedCrosses<'_> {
        let Self {
            role,
            leases,
            failure,
        } = self;
        StockedCrosses::new(schedule, *role, move |crosses, sender, count| {
            let lease = leases.get_mut(BlockKind::place(crosses, sender));
            let lease = lease.ok_or(Error::ApiMisuse("a lease for each kind"));
            let secrets = failure.noted(lease.and_then(|lease| open(lease, count, threads)))?;
            let blocks = secrets.into_iter();
            let block = |bytes| CrossBlock::from_bytes(crosses, sender == *role, bytes);
            blocks.map(block).collect()
        })
    }

    /// Returns the run's result, or the error of the stock that ended it.
    pub(crate) fn or_failure<T>(self, ended: Result<T, Error>) -> Result<T, Error> {
        self.failure.or(ended)
    }
}

/// Opens the next `count` instances of a lease.
fn open(
    lease: &mut Lease,
    count: u64,
    threads: NonZeroUsize,
) -> Result<Vec<Zeroizing<Vec<u8>>>, Error> {
    let share = count.div_ceil(threads.get() as u64).max(1);
    let starts = (0..count).step_by(share as usize);
    let parts = starts.map(|start| lease.take(share.min(count - start)));
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    let opened = map_each(parts, threads, |part| {
        let secrets = part.instances().map(|each| each.map(Instance::into_secret));
        secrets.collect::<Result<Vec<_>, _>>()
    });
    let mut secrets = Vec::with_capacity(count as usize);
    for part in opened {
        secrets.append(&mut part?);
    }
    Ok(secrets)
}
