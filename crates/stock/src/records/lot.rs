//! The index's record of a lot: its instances, and which of them are given up.

use std::ops::Deref;

use super::Records;
use crate::codec::{Fields, Malformed};
use crate::storage::Entry;
use crate::{ComponentDigest, Span, StockError};

/// The most withdrawn ranges of one lot. If there are more, the whole lot is withdrawn.
pub(crate) const MAX_WITHDRAWN_RANGES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LotState {
    /// Durable here. It is unknown whether it is durable at the peer.
    Pending,
    /// Durable at both parties.
    Published,
}

/// A lot: one file of instances. It is pending until [`KindRecord::publish`](super::KindRecord).
/// Withdrawn instances stay withdrawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LotRecord(LotFields);

/// The fields of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LotFields {
    pub(crate) span: Span,
    pub(crate) state: LotState,
    pub(crate) salt: [u8; 12],
    /// Instances that are damaged at one party and given up by both. The ranges are in order, not
    /// adjacent, inside the lot, and at most [`MAX_WITHDRAWN_RANGES`].
    pub(crate) withdrawn: Vec<Span>,
}

impl Deref for LotRecord {
    type Target = LotFields;

    fn deref(&self) -> &LotFields {
        &self.0
    }
}

impl LotRecord {
    /// Creates a lot that is durable here.
    pub(crate) fn pending(span: Span, salt: [u8; 12]) -> Self {
        Self(LotFields {
            span,
            state: LotState::Pending,
            salt,
            withdrawn: Vec::new(),
        })
    }

    pub(super) fn published(self) -> Self {
        Self(LotFields {
            state: LotState::Published,
            ..self.0
        })
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.state == LotState::Pending
    }

    fn parse(first: u64, bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes);
        let count = fields.u64()?;
        let is_published = fields.flag("state")?;
        let mut lot = Self::pending(Span { first, count }, fields.array()?);
        if is_published {
            lot = lot.published();
        }
        while !fields.is_empty() {
            lot.withdraw(fields.span()?);
        }
        Ok(lot)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let state = u8::from(!self.is_pending());
        let mut bytes = [&self.span.count.to_le_bytes()[..], &[state], &self.salt].concat();
        for span in &self.withdrawn {
            bytes.extend(span.first.to_le_bytes());
            bytes.extend(span.count.to_le_bytes());
        }
        bytes
    }

    /// Gives up the lot's instances in `span`, which may extend beyond the lot.
    pub(crate) fn withdraw(&mut self, span: Span) {
        let Some(lost) = self.span.common(span) else {
            return;
        };
        let apart = |other: &Span| other.end() < lost.first || lost.end() < other.first;
        let (mut first, mut end) = (lost.first, lost.end());
        for near in self.withdrawn.iter().filter(|other| !apart(other)) {
            (first, end) = (first.min(near.first), end.max(near.end()));
        }
        let (count, whole) = (end - first, self.span);
        let withdrawn = &mut self.0.withdrawn;
        withdrawn.retain(apart);
        withdrawn.push(Span { first, count });
        withdrawn.sort_by_key(|span| span.first);
        if withdrawn.len() > MAX_WITHDRAWN_RANGES {
            *withdrawn = vec![whole];
        }
    }

    /// Whether the lot was given up before it was published, if every number below `mark` is spent.
    /// Its record stays, since the meeting of the parties' records needs it. Its file has no use.
    pub(crate) fn is_given_up(&self, mark: u64) -> bool {
        self.is_pending() && self.span.end() <= mark
    }

    /// Returns the lot's instances from `mark` on that are not withdrawn.
    pub(crate) fn usable(&self, mark: u64) -> Vec<Span> {
        let mut usable = Vec::new();
        let mut next = self.span.first.max(mark);
        let ends = self.withdrawn.iter().map(|span| (span.first, span.end()));
        for (until, after) in ends.chain([(self.span.end(), self.span.end())]) {
            if next < until {
                let count = until - next;
                usable.push(Span { first: next, count });
            }
            next = next.max(after);
        }
        usable
    }
}

fn key(kind: &ComponentDigest, first: u64) -> Vec<u8> {
    [b"l", &kind.0[..], &first.to_be_bytes()].concat()
}

impl Records<'_> {
    pub(crate) fn lot(
        &self,
        kind: &ComponentDigest,
        first: u64,
    ) -> Result<Option<LotRecord>, StockError> {
        self.get(&key(kind, first), |bytes| LotRecord::parse(first, bytes))
    }

    pub(crate) fn put_lot(
        &mut self,
        kind: &ComponentDigest,
        lot: &LotRecord,
    ) -> Result<(), StockError> {
        self.put(&key(kind, lot.span.first), &lot.to_bytes())
    }

    pub(crate) fn remove_lot(
        &mut self,
        kind: &ComponentDigest,
        first: u64,
    ) -> Result<(), StockError> {
        self.remove(&key(kind, first))
    }

    /// Returns the lots of a kind, by number.
    pub(crate) fn lots(&self, kind: &ComponentDigest) -> Result<Vec<LotRecord>, StockError> {
        let parse = |(key, value): Entry| {
            let first = u64::from_be_bytes(self.tail(&key)?);
            self.parsed(&key, &value, |bytes| LotRecord::parse(first, bytes))
        };
        let lots = self.scan(&[b"l", &kind.0[..]].concat())?;
        lots.into_iter().map(parse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lot(span: (u64, u64)) -> LotRecord {
        LotRecord::pending(span_of(span), [5; 12]).published()
    }

    fn span_of((first, count): (u64, u64)) -> Span {
        Span { first, count }
    }

    fn pairs(spans: &[Span]) -> Vec<(u64, u64)> {
        spans.iter().map(|span| (span.first, span.count)).collect()
    }

    #[test]
    fn what_is_withdrawn_is_not_usable_and_the_rest_is() {
        let mut lot = lot((10, 20));
        for (lost, withdrawn, usable) in [
            ((0, 10), vec![], vec![(10, 20)]),
            ((15, 1), vec![(15, 1)], vec![(10, 5), (16, 14)]),
            ((16, 2), vec![(15, 3)], vec![(10, 5), (18, 12)]),
            ((28, 9), vec![(15, 3), (28, 2)], vec![(10, 5), (18, 10)]),
            ((14, 15), vec![(14, 16)], vec![(10, 4)]),
            ((0, u64::MAX), vec![(10, 20)], vec![]),
        ] {
            lot.withdraw(span_of(lost));
            assert_eq!(pairs(&lot.withdrawn), withdrawn, "{lost:?}");
            assert_eq!(pairs(&lot.usable(0)), usable, "{lost:?}");
            assert_eq!(LotRecord::parse(10, &lot.to_bytes()), Ok(lot.clone()));
        }
    }

    #[test]
    fn usable_instances_begin_at_the_mark() {
        let mut lot = lot((10, 20));
        lot.withdraw(span_of((12, 3)));
        for (mark, usable) in [
            (11, vec![(11, 1), (15, 15)]),
            (13, vec![(15, 15)]),
            (29, vec![(29, 1)]),
            (30, vec![]),
        ] {
            assert_eq!(pairs(&lot.usable(mark)), usable, "{mark}");
        }
    }

    #[test]
    fn a_peer_cannot_make_the_record_grow() {
        let mut lot = lot((0, 1000));
        for first in (0..1000).step_by(2) {
            lot.withdraw(span_of((first, 1)));
            assert!(lot.withdrawn.len() <= MAX_WITHDRAWN_RANGES);
        }
        assert_eq!(pairs(&lot.withdrawn), [(0, 1000)]);
    }
}
