//! Leases: instances that one process may use, and no other ever after.
//!
//! [`Stock::lease`] moves the mark and the keys forward durably before it returns. The lease holds
//! the keys of its instances in memory and hands them out without the disk. A crash wastes unused
//! leases, but no number is leased twice. docs/stock.md explains why.

mod forward;
mod held;

use std::sync::Arc;

use crate::cover::Cover;
use crate::error::Repair;
use crate::marks::MAX_AHEAD;
use crate::passed::Passed;
use crate::records::{KindRecord, LotRecord, LotState, Records};
use crate::stock::Inner;
use crate::{ComponentDigest, OfProcess, Span, Stock, StockError, lots};

pub(crate) use forward::Forward;
use held::Source;
pub use held::{Instances, Lease, LeasePool};

/// A request for the next instances of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    /// The kind.
    pub kind: ComponentDigest,
    /// The least number. If fewer are available, nothing is leased.
    pub least: u64,
    /// The greatest number, even if more are available.
    pub most: u64,
}

impl Stock {
    /// Leases the next `count` instances of a kind, durably.
    ///
    /// # Errors
    ///
    /// [`StockError::Exhausted`], in which case nothing is leased.
    pub fn lease(&self, kind: &ComponentDigest, count: u64) -> Result<Lease, StockError> {
        let wanted = LeaseRequest {
            kind: *kind,
            least: count,
            most: count,
        };
        self.lease_all(&[wanted]).map(|leases| only(leases, kind))
    }

    /// Leases the next instances of several kinds, durably, in one transaction that costs as much
    /// as one kind's. The leases are in the order of `wanted`. A kind that occurs twice gets later
    /// instances the second time.
    ///
    /// # Errors
    ///
    /// [`StockError::Exhausted`], in which case nothing is leased.
    pub fn lease_all(&self, wanted: &[LeaseRequest]) -> Result<Vec<Lease>, StockError> {
        let inner = &self.inner;
        inner.move_forward(|records, forward| {
            let mut leases = Vec::with_capacity(wanted.len());
            for wanted in wanted {
                let kind = &wanted.kind;
                let Some((record, slot)) = inner.kind(records, kind)? else {
                    next_spans(wanted, 0, &[])?;
                    leases.push(Lease::empty(*kind));
                    continue;
                };
                let published = published(records, kind, record.leased)?;
                let spans = next_spans(wanted, record.leased, &published)?;
                let keys = (&record, &slot.cover);
                leases.push(leased(inner, kind, keys, &spans, &published)?);
                forward.push(inner, records, kind, (record, slot), &spans)?;
            }
            Ok(leases)
        })
    }

    /// Leases the instances that the peer named, durably. The numbers below them stay with this
    /// process, since another session may still be asked for them. For every other process they are
    /// spent.
    ///
    /// # Errors
    ///
    /// [`StockError::Behind`] if some are spent: the caller tells the peer the mark or, if the peer
    /// already knew it, ends the session. [`StockError::PeerMisbehaved`] if they are not in stock
    /// or out of order. Nothing is leased in either case.
    pub fn lease_spans(&self, kind: &ComponentDigest, spans: &[Span]) -> Result<Lease, StockError> {
        let leases = self.lease_named(&[(*kind, spans)]);
        leases.map(|leases| only(leases, kind))
    }

    /// Leases as [`Stock::lease_spans`] does for several kinds, all or none of them, in one
    /// transaction that costs as much as one kind's.
    ///
    /// # Errors
    ///
    /// Those of [`Stock::lease_spans`].
    pub fn lease_named(
        &self,
        named: &[(ComponentDigest, &[Span])],
    ) -> Result<Vec<Lease>, StockError> {
        let inner = &self.inner;
        inner.move_forward(|records, forward| {
            let named = named.iter();
            let leases = named.map(|(kind, spans)| follow(inner, records, forward, kind, spans));
            leases.collect()
        })
    }

    /// Gives up all instances of some kinds, durably and in one transaction, and returns how many
    /// of them could be leased. Their keys are destroyed, including those of lots that are pending
    /// or being written, and of instances that this process passed over. Instances that another
    /// process passed over are never leased again. It opens no file of a lot, so a damaged or
    /// missing file does not prevent it.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], and [`StockError::Corrupted`] if the keys of a kind cannot be read:
    /// nobody can open anything of that kind, and the others are given up.
    pub fn give_up(&self, kinds: &[ComponentDigest]) -> Result<u64, StockError> {
        let inner = &self.inner;
        let forget = |passed: &mut Passed| kinds.iter().for_each(|kind| passed.forget(kind));
        // Forget them first, in case the disk fails afterwards.
        forget(inner.passed().or_cleared());
        let (count, unreadable) = inner.move_forward(|records, forward| {
            forget(&mut forward.passed);
            let (mut count, mut unreadable) = (0, Ok(()));
            for kind in kinds {
                let Some(mut record) = records.kind(kind)? else {
                    continue;
                };
                record.give_up();
                let (record, slot) = match inner.with_keys(kind, record) {
                    Ok(found) => found,
                    Err(error @ StockError::Corrupted { .. }) => {
                        // A page that is readable again later is behind this.
                        record.spend_to(record.end());
                        records.put_kind(kind, record)?;
                        unreadable = unreadable.and(Err(error));
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let published = published(records, kind, record.leased)?;
                count += available(&published, record.leased);
                let spans: Vec<_> = published.into_iter().map(|(_, span)| span).collect();
                let end = record.end();
                forward.push_to(inner, records, kind, (record, slot), (&spans, end))?;
            }
            Ok((count, unreadable))
        })?;
        unreadable.map(|()| count)
    }

    /// Gives up all instances of kinds below their marks, durably and in one transaction. The marks
    /// are the peer's. They may be further ahead if the peer alone has started a lot since both
    /// met.
    ///
    /// # Errors
    ///
    /// [`StockError::PeerMisbehaved`] if no lot that high can have been started.
    pub fn raise_marks(&self, marks: &[(ComponentDigest, u64)]) -> Result<(), StockError> {
        let inner = &self.inner;
        inner.move_forward(|records, forward| {
            let mut marks = marks.iter();
            marks.try_for_each(|(kind, mark)| {
                raise(inner, records, forward, kind, (*mark, MAX_AHEAD))
            })
        })
    }

    /// Returns how many instances of a kind can be leased.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn available(&self, kind: &ComponentDigest) -> Result<u64, StockError> {
        self.inner.update(|records| {
            let Some(record) = records.kind(kind)? else {
                return Ok(0);
            };
            Ok(available(
                &published(records, kind, record.leased)?,
                record.leased,
            ))
        })
    }
}

/// Returns the only lease, or an empty one of the kind.
fn only(leases: Vec<Lease>, kind: &ComponentDigest) -> Lease {
    let mut leases = leases.into_iter();
    leases.next().unwrap_or_else(|| Lease::empty(*kind))
}

/// Returns the next instances, between `least` and `most` of them.
fn next_spans(
    wanted: &LeaseRequest,
    mark: u64,
    published: &[(LotRecord, Span)],
) -> Result<Vec<Span>, StockError> {
    let mut rest = wanted.most;
    let mut spans = Vec::new();
    for span in published.iter().flat_map(|(lot, _)| lot.usable(mark)) {
        let count = span.count.min(rest);
        rest -= count;
        if count > 0 {
            spans.push(Span { count, ..span });
        }
    }
    if wanted.most - rest < wanted.least {
        return Err(StockError::Exhausted {
            kind: wanted.kind,
            asked: wanted.least,
            available: wanted.most - rest,
        });
    }
    Ok(spans)
}

/// Leases what the peer named of a kind: numbers from the mark on, or numbers that this process
/// passed over.
fn follow(
    inner: &Inner,
    records: &mut Records<'_>,
    forward: &mut Forward,
    kind: &ComponentDigest,
    spans: &[Span],
) -> Result<Lease, StockError> {
    let end = check_order(kind, spans)?;
    publish_named(records, kind, end)?;
    let found = inner.kind(records, kind)?;
    let Some((record, slot)) = found else {
        return match spans.first() {
            None => Ok(Lease::empty(*kind)),
            Some(span) => Err(not_there(kind, *span, 0)),
        };
    };
    let mark = record.leased;
    let (passed, next) = spans.split_at(spans.partition_point(|span| span.first < mark));
    let mut lease = Lease::empty(*kind);
    let all = published(records, kind, 0)?;
    refuse_withdrawn(inner, &record, spans, &all)?;
    for span in passed {
        let is_there = span.first >= record.given_up && covered(*span, &all);
        let keys = if is_there {
            forward.passed.take(inner.epoch, kind, *span)?
        } else {
            None
        };
        let keys = keys.ok_or(StockError::Behind {
            kind: *kind,
            asked: *span,
            mark,
        })?;
        lease.extend(leased(inner, kind, (&record, &keys), &[*span], &all)?)?;
    }
    let ahead = published(records, kind, mark)?;
    if let Some(span) = next.iter().find(|span| !covered(**span, &ahead)) {
        return Err(not_there(kind, *span, mark));
    }
    lease.extend(leased(inner, kind, (&record, &slot.cover), next, &ahead)?)?;
    forward.push(inner, records, kind, (record, slot), next)?;
    Ok(lease)
}

/// Checks that the peer's spans are in order, and returns the end of the last one.
fn check_order(kind: &ComponentDigest, spans: &[Span]) -> Result<u64, StockError> {
    let mut next = 0;
    for span in spans {
        let end = span.first.checked_add(span.count);
        let end = end.filter(|end| span.first >= next && *end > span.first);
        next = end.ok_or_else(|| not_there(kind, *span, next))?;
    }
    Ok(next)
}

/// Refuses instances that are withdrawn here. The peer may not know that yet, so it has not
/// misbehaved. Nothing that it names of them is used.
fn refuse_withdrawn(
    inner: &Inner,
    record: &KindRecord,
    spans: &[Span],
    published: &[(LotRecord, Span)],
) -> Result<(), StockError> {
    for (lot, _) in published {
        let lost = lot.withdrawn.iter();
        let mut lost = lost.flat_map(|lost| spans.iter().filter_map(|span| span.common(*lost)));
        if let Some(span) = lost.next() {
            let file = inner
                .folder
                .join(lots::file_name(record.slot, lot.span.first));
            return Err(StockError::corrupted(
                &file,
                "an instance",
                format!("withdrawn (instances {span})"),
                "one that can be used",
                Repair::Withdrawn,
            ));
        }
    }
    Ok(())
}

fn not_there(kind: &ComponentDigest, span: Span, next: u64) -> StockError {
    StockError::PeerMisbehaved {
        what: "a range of instances",
        found: format!("{span} of {kind}"),
        expected: format!("one that both published, from {next} on"),
    }
}

/// Publishes pending lots up to the one that the peer names. Such a lot is pending here until the
/// peer says that it has it. The peer names only lots that it has published, and its message about
/// that is on its way in another session.
fn publish_named(
    records: &mut Records<'_>,
    kind: &ComponentDigest,
    end: u64,
) -> Result<(), StockError> {
    let lots = records.lots(kind)?.into_iter();
    let mut waiting = lots.filter(|lot| lot.state == LotState::Pending && lot.span.first < end);
    waiting.try_for_each(|lot| lots::publish(records, kind, lot.span.first))
}

/// Returns the lease of these instances, with open files and keys.
fn leased(
    inner: &Inner,
    kind: &ComponentDigest,
    (record, keys): (&KindRecord, &Cover),
    spans: &[Span],
    published: &[(LotRecord, Span)],
) -> Result<Lease, StockError> {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
        return Ok(Lease::empty(*kind));
    };
    let whole = Span {
        first: first.first,
        count: last.end() - first.first,
    };
    let used = |lot: &&LotRecord| spans.iter().any(|span| span.common(lot.span).is_some());
    let lots = published.iter().map(|(lot, _)| lot).filter(used);
    let lots = lots.map(|lot| {
        let file = inner.lot_file(record.slot, lot.span.first)?;
        Ok((lot.clone(), file))
    });
    let source = Arc::new(Source {
        size: record.size,
        lots: lots.collect::<Result<_, StockError>>()?,
        cover: keys.part(whole)?,
    });
    let parts = spans.iter().map(|span| (Arc::clone(&source), *span));
    Ok(Lease {
        kind: *kind,
        parts: OfProcess::new(parts.collect()),
    })
}

/// Returns the published instances of a kind from `mark` on, including withdrawn ones: the lots,
/// and which instances of each.
fn published(
    records: &Records<'_>,
    kind: &ComponentDigest,
    mark: u64,
) -> Result<Vec<(LotRecord, Span)>, StockError> {
    let lots = records.lots(kind)?.into_iter();
    let published = lots.filter(|lot| lot.state == LotState::Published && lot.span.end() > mark);
    let rest = published.map(|lot| {
        let first = lot.span.first.max(mark);
        let count = lot.span.end() - first;
        (lot, Span { first, count })
    });
    Ok(rest.collect())
}

/// Returns how many instances from `mark` on are not withdrawn.
fn available(published: &[(LotRecord, Span)], mark: u64) -> u64 {
    let usable = published.iter().flat_map(|(lot, _)| lot.usable(mark));
    usable.map(|span| span.count).sum()
}

/// Whether every number of `span` is in the lots, which must be in order.
fn covered(span: Span, published: &[(LotRecord, Span)]) -> bool {
    let Some(end) = span.first.checked_add(span.count) else {
        return false;
    };
    let mut next = span.first;
    for (_, part) in published {
        if part.contains(next) {
            next = part.end();
        }
    }
    next >= end
}

/// Raises a mark to the peer's, but not beyond the end of the numbers that were started here. A
/// peer misbehaves if it says more than `beyond` above that end.
pub(crate) fn raise(
    inner: &Inner,
    records: &mut Records<'_>,
    forward: &mut Forward,
    kind: &ComponentDigest,
    (mark, beyond): (u64, u64),
) -> Result<(), StockError> {
    let found = inner.kind(records, kind)?;
    let record = found.as_ref().map(|(record, _)| record);
    let leased = record.map_or(0, |record| record.leased);
    let end = record.map_or(0, |record| record.end());
    let most = end.saturating_add(beyond);
    match found {
        _ if mark <= leased => Ok(()),
        Some(_) if end == leased && mark <= most => Ok(()),
        Some(found) if mark <= most => {
            forward.push_to(inner, records, kind, found, (&[], mark.min(end)))
        }
        _ => Err(StockError::PeerMisbehaved {
            what: "the mark of a component",
            found: format!("{mark} of {kind}"),
            expected: format!("at most {most}"),
        }),
    }
}
