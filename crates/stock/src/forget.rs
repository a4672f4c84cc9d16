//! Kinds that are forgotten because nothing came of them, so that their slots are free again.
//!
//! An epoch has [`MAX_KINDS`](crate::MAX_KINDS) slots. Where every order makes kinds of its own, a
//! peer that orders and breaks off, over and over, would otherwise use them up.
//!
//! A kind is forgotten in two transactions, each durable before the next step:
//!
//! 1. It is given up: no page of the key file opens what was written of it.
//! 2. Its record is removed. From then on another kind may have its slot, whose pages are
//!    overwritten before that kind's own record is durable. In one transaction with that, a crash
//!    between the two would leave a record whose pages are another kind's.
//!
//! After a crash between them the kind is as any that was given up, and is forgotten the next time.
//! The peer may have forgotten the kind or not: a party without a record of it and one with a
//! record of nothing meet either way (`marks`), since neither has published anything.

use crate::records::Records;
use crate::{ComponentDigest, Preparation, StockError};

impl Preparation {
    /// Forgets kinds of which this party has no lot and never published one, durably: their slots
    /// are free for others. Kinds that are not there are passed over.
    ///
    /// The caller has let the records meet by [`Preparation::reconcile`] under this right: a lot
    /// that the peer could still publish is pending here until then. It never begins a kind of the
    /// same name again in this epoch: its numbers would be given twice.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] where a kind has a lot or ever had one published, or a
    /// [`LotWriter`](crate::LotWriter) of this right is still there: nothing is forgotten.
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
