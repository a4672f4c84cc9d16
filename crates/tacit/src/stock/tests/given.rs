//! Every number that parties were ever given.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tacit_stock::{ComponentDigest, EpochId, StockId};

/// A number of a party, by the digest of its stock, which covers the parties, role, scheme and
/// lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NumberName {
    stock: [u8; 32],
    epoch: (u64, [u8; 16]),
    kind: ComponentDigest,
    number: u64,
}

/// The numbers that parties leased, and whether they used them. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct NumbersGiven(Rc<RefCell<BTreeMap<NumberName, bool>>>);

impl NumbersGiven {
    fn name(id: &StockId, epoch: EpochId, kind: ComponentDigest, number: u64) -> NumberName {
        NumberName {
            stock: id.digest(),
            epoch: (epoch.number, epoch.nonce),
            kind,
            number,
        }
    }

    /// Records a lease. Returns false if the number was leased before.
    pub(super) fn lease(
        &self,
        id: &StockId,
        epoch: EpochId,
        kind: ComponentDigest,
        number: u64,
    ) -> bool {
        let name = Self::name(id, epoch, kind, number);
        self.0.borrow_mut().insert(name, false).is_none()
    }

    /// Records that a number that was leased can be used.
    pub(super) fn hold(&self, id: &StockId, epoch: EpochId, kind: ComponentDigest, number: u64) {
        let name = Self::name(id, epoch, kind, number);
        self.0.borrow_mut().insert(name, true);
    }

    /// Forgets what a party leased and never held. A party that was restored to a copy of the same
    /// meeting may lease it again: it has revealed nothing.
    pub(super) fn restored(&self, id: &StockId) {
        let stock = id.digest();
        let mut given = self.0.borrow_mut();
        given.retain(|name, is_held| *is_held || name.stock != stock);
    }

    /// Returns how many numbers a party has leased.
    pub(super) fn count(&self, id: &StockId) -> u64 {
        let stock = id.digest();
        let given = self.0.borrow();
        given.keys().filter(|name| name.stock == stock).count() as u64
    }
}
