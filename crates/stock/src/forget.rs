//! Kinds that are forgotten because they never had any material, so that their slots are free
//! again.
//!
//! An epoch has [`MAX_KINDS`](crate::MAX_KINDS) slots. If every order creates kinds of its own, a
//! peer that orders and breaks off again and again could otherwise use them up.
//!
//! A kind is forgotten in two transactions, each durable before the next step:
//!
//! 1. The kind is given up: no page of the key file opens its instances.
//! 2. Its record is removed. From then on another kind may have its slot. The slot's pages are
//!    overwritten before that kind's own record is durable. If both happened in one transaction, a
//!    crash in between would leave a record whose pages are another kind's.
//!
//! After a crash between the two steps, the kind is like any that was given up, and is forgotten
//! the next time. It does not matter whether the peer has forgotten the kind: a party without a
//! record of it can meet a party with a record of nothing (`marks`), since neither has published
//! anything.

use crate::records::Records;
use crate::{ComponentDigest, Preparation, StockError};

impl Preparation {
    /// Forgets, durably, kinds of which this party has no lot and has never published one. Their
    /// slots are then free for others. Kinds that do not exist are skipped.
    ///
    /// The caller must have let the records meet by [`Preparation::reconcile`] under this right:
    /// until then, a lot that the peer could still publish is pending here. The caller must never
    /// start a kind of the same name again in this epoch, because its numbers would be given twice.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if a kind has a lot or ever had one published, or if a
    /// [`LotWriter`](crate::LotWriter) of this right still exists: nothing is forgotten.
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn forget(&mut self, kinds: &[ComponentDigest]) -> Result<(), StockError> {
        if kinds.is_empty() {
            return Ok(());
        }
        if self.is_writing() {
            return Err(StockError::misuse(
                "kinds are forgotten while a lot is being written; drop its writer first"
                    .to_owned(),
            ));
        }
        let stock = self.stock();
        let check = |records: &mut Records<'_>| {
            let mut kinds = kinds.iter();
            kinds.try_for_each(|kind| check_unused(records, kind))
        };
        stock.inner.update(check)?;
        stock.give_up(kinds)?;
        stock.inner.update(|records| {
            let mut kinds = kinds.iter();
            kinds.try_for_each(|kind| records.remove_kind(kind))
        })
    }
}

/// Refuses a kind that has a lot or ever had one published.
fn check_unused(records: &Records<'_>, kind: &ComponentDigest) -> Result<(), StockError> {
    let Some(record) = records.kind(kind)? else {
        return Ok(());
    };
    let lots = records.lots(kind)?.len();
    if record.published == 0 && lots == 0 {
        return Ok(());
    }
    Err(StockError::misuse(format!(
        "component {kind} is forgotten with {lots} lots, of {} that were published; only kinds of \
         which nothing came are",
        record.published
    )))
}
