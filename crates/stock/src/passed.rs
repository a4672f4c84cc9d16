//! Numbers that the garbler's mark has passed, but that a run in progress may still name.
//!
//! The evaluator leases in one order, and its names may reach the garbler in another: through
//! sessions that overtake each other, or after a meeting whose record already counts those leases.
//! The mark then passes over numbers that nobody has leased here. On the disk they are spent. The
//! process that passed over them keeps the keys of the latest ones in memory for a while. It gives
//! each number once, and nobody gets it afterwards. If it has forgotten a number, the result is
//! [`StockError::Behind`](crate::StockError::Behind), and the evaluator names others.
//!
//! Only the garbler does this: the evaluator chooses its leases.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use crate::cover::Cover;
use crate::{ComponentDigest, EpochId, OfProcess, Span, StockError};

/// The number of ranges kept for a stock. The oldest ones are dropped first.
const MAX_RANGES: usize = 64;

/// The numbers that a process has passed over in one stock, shared by all that have it open in that
/// process.
pub(crate) type SharedPassed = Arc<Mutex<OfProcess<Passed>>>;

/// The same for several stocks, by the digest of the stock.
pub(crate) type PassedOfStocks = Arc<Mutex<BTreeMap<[u8; 32], SharedPassed>>>;

/// The numbers that a process has passed over in one stock.
#[derive(Clone, Default)]
pub(crate) struct Passed(VecDeque<Range>);

#[derive(Clone)]
struct Range {
    epoch: EpochId,
    kind: ComponentDigest,
    span: Span,
    /// The keys of `span`.
    cover: Cover,
}

impl Passed {
    /// Keeps the keys of numbers that are spent on the disk from now on.
    pub(crate) fn add(
        &mut self,
        epoch: EpochId,
        kind: &ComponentDigest,
        span: Span,
        keys: &Cover,
    ) -> Result<(), StockError> {
        if span.count == 0 {
            return Ok(());
        }
        let (kind, cover) = (*kind, keys.part(span)?);
        self.0.push_back(Range {
            epoch,
            kind,
            span,
            cover,
        });
        self.forget_oldest();
        Ok(())
    }

    /// Takes the keys of `span`, which are never given again. Returns `None` if one of them is
    /// missing.
    pub(crate) fn take(
        &mut self,
        epoch: EpochId,
        kind: &ComponentDigest,
        span: Span,
    ) -> Result<Option<Cover>, StockError> {
        let holds = |range: &Range| {
            let inside = range.span.first <= span.first && span.end() <= range.span.end();
            range.epoch == epoch && range.kind == *kind && inside
        };
        let Some(place) = self.0.iter().position(holds) else {
            return Ok(None);
        };
        let Some(range) = self.0.remove(place) else {
            return Ok(None);
        };
        let (whole, keys) = (range.span, range.cover);
        let before = Span {
            first: whole.first,
            count: span.first - whole.first,
        };
        let after = Span {
            first: span.end(),
            count: whole.end() - span.end(),
        };
        for rest in [before, after] {
            self.add(epoch, kind, rest, &keys)?;
        }
        keys.part(span).map(Some)
    }

    /// Destroys the keys of a kind.
    pub(crate) fn forget(&mut self, kind: &ComponentDigest) {
        self.0.retain(|range| range.kind != *kind);
    }

    fn forget_oldest(&mut self) {
        while self.0.len() > MAX_RANGES {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Key;

    const EPOCH: EpochId = EpochId {
        number: 1,
        nonce: [3; 16],
    };
    const KIND: ComponentDigest = ComponentDigest([7; 32]);

    fn span(first: u64, count: u64) -> Span {
        Span { first, count }
    }

    #[test]
    fn a_number_is_given_once_and_the_rest_stays() {
        let (mut passed, keys) = (Passed::default(), Cover::from_root(Key::new([5; 32])));
        passed.add(EPOCH, &KIND, span(10, 8), &keys).expect("keys");
        let mut take = |first, count| {
            let taken = passed.take(EPOCH, &KIND, span(first, count));
            taken.expect("keys").map(|cover| cover.mark())
        };
        assert_eq!(take(12, 3), Some(12));
        for (first, count) in [(12, 1), (11, 2), (14, 2), (9, 1), (17, 2), (10, 8)] {
            assert_eq!(take(first, count), None, "{first} and {count}");
        }
        assert_eq!(take(15, 3), Some(15));
        assert_eq!(take(10, 2), Some(10));
        assert_eq!(take(10, 1), None);
    }

    #[test]
    fn another_epoch_or_kind_has_none_and_the_oldest_are_forgotten() {
        let (mut passed, keys) = (Passed::default(), Cover::from_root(Key::new([5; 32])));
        for first in 0..=MAX_RANGES as u64 {
            let one = span(2 * first, 1);
            passed.add(EPOCH, &KIND, one, &keys).expect("keys");
        }
        let last = span(2 * MAX_RANGES as u64, 1);
        let epoch = EpochId { number: 2, ..EPOCH };
        assert!(passed.take(epoch, &KIND, last).expect("keys").is_none());
        let kind = ComponentDigest([8; 32]);
        assert!(passed.take(EPOCH, &kind, last).expect("keys").is_none());
        let mut take = |one| passed.take(EPOCH, &KIND, one).expect("keys").is_some();
        assert!(!take(span(0, 1)) && take(span(2, 1)) && take(last));
    }
}
