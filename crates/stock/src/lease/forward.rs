//! The step by which marks and keys move forward together.

use super::published;
use crate::keys::{Move, Slot};
use crate::passed::Passed;
use crate::records::{KindRecord, LotRecord, Records};
use crate::stock::Inner;
use crate::{ComponentDigest, Role, Span, StockError};

/// Kinds whose marks and keys move forward in one transaction, and the numbers that this process
/// may still give out afterwards.
pub(crate) struct Forward {
    moves: Vec<Move>,
    pub(super) passed: Passed,
}

impl Forward {
    /// Moves a kind's mark behind `spans`, which are leased, and schedules the move of its keys.
    /// `kind` may occur again.
    pub(super) fn push(
        &mut self,
        inner: &Inner,
        records: &mut Records<'_>,
        kind: &ComponentDigest,
        found: (KindRecord, Slot),
        spans: &[Span],
    ) -> Result<(), StockError> {
        match spans.last() {
            Some(last) => self.push_to(inner, records, kind, found, (spans, last.end())),
            None => Ok(()),
        }
    }

    pub(super) fn push_to(
        &mut self,
        inner: &Inner,
        records: &mut Records<'_>,
        kind: &ComponentDigest,
        (mut record, slot): (KindRecord, Slot),
        (spans, mark): (&[Span], u64),
    ) -> Result<(), StockError> {
        if inner.id.role == Role::Garbler {
            for span in left_out(&published(records, kind, record.leased)?, spans, mark) {
                self.passed.add(inner.epoch, kind, span, &slot.cover)?;
            }
        }
        record.spend_to(mark);
        records.put_kind(kind, record)?;
        let cover = slot.cover.forward(mark)?;
        match self.moves.iter_mut().find(|moved| moved.kind == *kind) {
            Some(moved) => moved.cover = cover,
            None => {
                let moved = Move::from(&slot, record.slot, kind, cover);
                self.moves.push(moved);
            }
        }
        Ok(())
    }
}

impl Inner {
    /// Runs `work`, which moves marks, as [`Inner::update`] does. The keys are gone once the marks
    /// are durable.
    pub(crate) fn move_forward<T>(
        &self,
        mut work: impl FnMut(&mut Records<'_>, &mut Forward) -> Result<T, StockError>,
    ) -> Result<T, StockError> {
        let mut passed = self.passed();
        let (done, left) = self.update(|records| {
            let mut forward = Forward {
                moves: Vec::new(),
                passed: passed.or_cleared().clone(),
            };
            let done = work(records, &mut forward)?;
            self.keys.write(&forward.moves)?;
            Ok((done, forward.passed))
        })?;
        *passed.or_cleared() = left;
        Ok(done)
    }
}

/// Returns the parts of what is published below `end` that are in none of `spans`. Everything is in
/// order.
fn left_out(published: &[(LotRecord, Span)], spans: &[Span], end: u64) -> Vec<Span> {
    let mut left = Vec::new();
    for (_, part) in published {
        let mut first = part.first;
        let inside = spans.iter().filter(|span| span.common(*part).is_some());
        let bounds = inside.map(|span| (span.first, span.end()));
        for (until, next) in bounds.chain([(part.end().min(end), part.end())]) {
            if first < until {
                let count = until - first;
                left.push(Span { first, count });
            }
            first = first.max(next);
        }
    }
    left
}
