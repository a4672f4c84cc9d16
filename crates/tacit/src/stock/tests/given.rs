//! Every number that parties were ever given.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
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

/// The numbers that parties leased or gave up. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct NumbersGiven(Rc<RefCell<Given>>);

#[derive(Debug, Default)]
struct Given {
    /// Whether the numbers that were leased can be used.
    leased: BTreeMap<NumberName, bool>,
    /// The numbers below which all are given up.
    given_up: BTreeSet<NumberName>,
}

impl NumbersGiven {
    fn name(id: &StockId, epoch: EpochId, kind: ComponentDigest, number: u64) -> NumberName {
        NumberName {
            stock: id.digest(),
            epoch: (epoch.number, epoch.nonce),
            kind,
            number,
        }
    }

    /// Records a lease. Returns false if the number was leased before, or given up.
    pub(super) fn lease(
        &self,
        id: &StockId,
        epoch: EpochId,
        kind: ComponentDigest,
        number: u64,
    ) -> bool {
        let name = Self::name(id, epoch, kind, number);
        let mut given = self.0.borrow_mut();
        let end = Self::name(id, epoch, kind, u64::MAX);
        let is_given_up = given
            .given_up
            .range(name..end)
            .any(|below| below.number > number);
        given.leased.insert(name, false).is_none() && !is_given_up
    }

    /// Records that a party gave up all numbers below this one.
    pub(super) fn give_up(&self, id: &StockId, epoch: EpochId, kind: ComponentDigest, below: u64) {
        let below = Self::name(id, epoch, kind, below);
        self.0.borrow_mut().given_up.insert(below);
    }

    /// Records that a number that was leased can be used.
    pub(super) fn hold(&self, id: &StockId, epoch: EpochId, kind: ComponentDigest, number: u64) {
        let name = Self::name(id, epoch, kind, number);
        self.0.borrow_mut().leased.insert(name, true);
    }

    /// Forgets what a party leased and never held. A party that was restored to a copy of the same
    /// meeting may lease it again: it has revealed nothing. It has given nothing up either.
    pub(super) fn restored(&self, id: &StockId) {
        let stock = id.digest();
        let mut given = self.0.borrow_mut();
        given
            .leased
            .retain(|name, is_held| *is_held || name.stock != stock);
        given.given_up.retain(|name| name.stock != stock);
    }

    /// Returns how many numbers a party has leased.
    pub(super) fn count(&self, id: &StockId) -> u64 {
        let stock = id.digest();
        let given = self.0.borrow();
        let leased = given.leased.keys();
        leased.filter(|name| name.stock == stock).count() as u64
    }
}
