//! The index's record of a lot: which instances it has, and which of them are given up.

use crate::Span;
use crate::codec::{Fields, Malformed};

/// Ranges of one lot that are withdrawn; beyond that the whole lot is withdrawn.
pub(crate) const MAX_WITHDRAWN_RANGES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LotState {
    /// Durable here; whether at the peer is not known.
    Pending,
    /// Durable at both.
    Published,
}

/// A lot: one file of instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LotRecord {
    pub(crate) span: Span,
    pub(crate) state: LotState,
    pub(crate) salt: [u8; 12],
    /// Instances that are damaged at one party and given up by both: in order, apart from each
    /// other, inside the lot, and at most [`MAX_WITHDRAWN_RANGES`].
    pub(crate) withdrawn: Vec<Span>,
}

impl LotRecord {
    pub(crate) fn parse(first: u64, bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes);
        let count = fields.u64()?;
        let span = Span { first, count };
        let mut lot = Self {
            span,
            state: match fields.u8()? {
                0 => LotState::Pending,
                1 => LotState::Published,
                _ => return Err(Malformed::Value("state")),
            },
            salt: fields.array()?,
            withdrawn: Vec::new(),
        };
        while !fields.is_empty() {
            lot.withdraw(Span {
                first: fields.u64()?,
                count: fields.u64()?,
            });
        }
        Ok(lot)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let state = match self.state {
            LotState::Pending => 0,
            LotState::Published => 1,
        };
        let mut bytes = [&self.span.count.to_le_bytes()[..], &[state], &self.salt].concat();
        for span in &self.withdrawn {
            bytes.extend(span.first.to_le_bytes());
            bytes.extend(span.count.to_le_bytes());
        }
        bytes
    }

    /// Gives up the lot's instances in `span`, which may reach beyond the lot.
    pub(crate) fn withdraw(&mut self, span: Span) {
        let Some(lost) = self.span.common(span) else {
            return;
        };
        let apart = |other: &Span| other.end() < lost.first || lost.end() < other.first;
        let (mut first, mut end) = (lost.first, lost.end());
        for near in self.withdrawn.iter().filter(|other| !apart(other)) {
            (first, end) = (first.min(near.first), end.max(near.end()));
        }
        self.withdrawn.retain(apart);
        let count = end - first;
        self.withdrawn.push(Span { first, count });
        self.withdrawn.sort_by_key(|span| span.first);
        if self.withdrawn.len() > MAX_WITHDRAWN_RANGES {
            self.withdrawn = vec![self.span];
        }
    }

    /// Whether it was given up before it was published, where all below `mark` is spent. Its record
    /// stays, by which the parties' records meet, and its file is of no use.
    pub(crate) fn is_given_up(&self, mark: u64) -> bool {
        self.state == LotState::Pending && self.span.end() <= mark
    }

    /// The lot's instances from `mark` on that are not withdrawn.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lot(span: (u64, u64)) -> LotRecord {
        LotRecord {
            span: span_of(span),
            state: LotState::Published,
            salt: [5; 12],
            withdrawn: Vec::new(),
        }
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
