//! The crosses that a run by `gmw` takes from the stock. Both parties lease them before the run's
//! first byte.

use tacit_function::{Role, Schedule};
use tacit_protocol::gmw::{CrossBlock, CrossDemand, StockedCrosses};
use tacit_stock::Lease;
use zeroize::Zeroizing;

use super::{BLOCK_KINDS, BlockKind, Blocks, OtOrigin, blocks_of, kinds_serving, runs};
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

/// Returns the masks of a run with this schedule, from blocks that both parties have leased.
/// Returns `None` if one of them has too few, or if the run takes none. `stocks` are this party's,
/// if it has any.
///
/// After an error, the leased blocks are lost.
pub(crate) fn lease_crosses(
    session: &mut Session,
    stocks: Option<&Stocks>,
    (role, schedule): (Role, &Schedule),
    order: LeaseOrder<'_>,
) -> Result<Option<StockedCrosses>, Error> {
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
    read(role, schedule, leases).map(Some)
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

const MORE_THAN_LEASED: Error = Error::ApiMisuse("a run reads no more than it leased");

/// Reads the blocks of a run.
fn read(role: Role, schedule: &Schedule, leases: Vec<Lease>) -> Result<StockedCrosses, Error> {
    let failure = StockFailure::default();
    let mut kinds: Vec<_> = leases.into_iter().map(Lease::instances).collect();
    let masks = StockedCrosses::new(schedule, role, |crosses, sender| {
        let instances = kinds.get_mut(BlockKind::place(crosses, sender));
        let block = instances.and_then(Iterator::next);
        let block = failure.noted(block.ok_or(MORE_THAN_LEASED))?;
        let block = failure.noted(block)?;
        let bytes = Zeroizing::new(block.secret().to_vec());
        CrossBlock::from_bytes(crosses, sender == role, bytes)
    });
    failure.or(masks.map_err(Error::from))
}
