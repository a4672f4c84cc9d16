//! The speed at which a stock is used: counts per hour, for people who ask how long the stock will
//! last.
//!
//! Nothing depends on these counts. So they are written some seconds after the runs, without
//! waiting for the disk, and two processes at once may lose some. There is a file for each kind:
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | start of the count, in seconds since 1970, little-endian |
//! | 8..16 | last hour that is counted, in hours since 1970 |
//! | 16..208 | number taken in each hour of a day, indexed by the hour modulo 24 |

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tacit_stock::{ComponentDigest, StockId};

use super::Stocks;

const HOURS: usize = 24;
const BYTES: usize = 16 + 8 * HOURS;
const HOUR_S: u64 = 3600;
/// The longest time for which counts are held in memory while there are runs.
const HELD: Duration = Duration::from_secs(5);

/// The number of instances of a kind that were taken recently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    begun_s: u64,
    hour: u64,
    taken: [u64; HOURS],
}

impl Usage {
    fn new(now_s: u64) -> Self {
        Self {
            begun_s: now_s,
            hour: now_s / HOUR_S,
            taken: [0; HOURS],
        }
    }

    /// Counts what was taken now.
    fn note(&mut self, now_s: u64, count: u64) {
        self.forget(now_s);
        let taken = &mut self.taken[(self.hour % HOURS as u64) as usize];
        *taken = taken.saturating_add(count);
    }

    /// Returns the number taken within a day, and the time span that it covers.
    pub(super) fn recently(mut self, now_s: u64) -> (u64, Duration) {
        self.forget(now_s);
        let taken = self
            .taken
            .iter()
            .fold(0_u64, |sum, taken| sum.saturating_add(*taken));
        // The current hour has only started.
        let window = (HOURS as u64 - 1) * HOUR_S + now_s % HOUR_S;
        let covered = window.min(now_s.saturating_sub(self.begun_s));
        (taken, Duration::from_secs(covered))
    }

    /// Drops the hours that are a day old. If the clock went back, counts go to the last hour.
    fn forget(&mut self, now_s: u64) {
        let hour = now_s / HOUR_S;
        for passed in 0..hour.saturating_sub(self.hour).min(HOURS as u64) {
            self.taken[((hour - passed) % HOURS as u64) as usize] = 0;
        }
        self.hour = self.hour.max(hour);
    }

    fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let numbers = [self.begun_s, self.hour].into_iter().chain(self.taken);
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; BYTES]) -> Self {
        let (numbers, _) = bytes.as_chunks::<8>();
        let number = |place: usize| u64::from_le_bytes(numbers[place]);
        Self {
            begun_s: number(0),
            hour: number(1),
            taken: std::array::from_fn(|hour| number(2 + hour)),
        }
    }
}

/// The material that runs of a session have taken and no file counts yet.
pub(crate) struct Uncounted {
    stocks: Stocks,
    id: StockId,
    taken: BTreeMap<ComponentDigest, u64>,
    counted: Instant,
}

impl Uncounted {
    pub(super) fn new(stocks: &Stocks, id: StockId) -> Self {
        Self {
            stocks: stocks.clone(),
            id,
            taken: BTreeMap::new(),
            counted: Instant::now(),
        }
    }

    /// Counts what a run takes.
    pub(super) fn note(&mut self, kind: ComponentDigest, count: u64) {
        *self.taken.entry(kind).or_default() += count;
        if self.counted.elapsed() >= HELD {
            self.count();
        }
    }

    fn count(&mut self) {
        self.counted = Instant::now();
        for (kind, count) in std::mem::take(&mut self.taken) {
            self.stocks.count_taken(&self.id, &kind, count);
        }
    }
}

impl Drop for Uncounted {
    fn drop(&mut self) {
        if Stocks::ARE_POSSIBLE {
            self.count();
        }
    }
}

/// Returns the seconds since 1970, by a clock that may be wrong.
pub(super) fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

impl Stocks {
    fn usage_file(&self, id: &StockId, kind: &ComponentDigest) -> PathBuf {
        let name: String = id.digest()[..8]
            .iter()
            .chain(&kind.0[..16])
            .map(|byte| format!("{byte:02x}"))
            .collect();
        self.folder.join("usage").join(name)
    }

    /// Returns what was taken of a kind, if it was counted.
    pub(super) fn usage(&self, id: &StockId, kind: &ComponentDigest) -> Option<Usage> {
        let file = self.storage.open(&self.usage_file(id, kind)).ok()?;
        let mut bytes = [0; BYTES];
        file.read_at(&mut bytes, 0).ok()?;
        Some(Usage::from_bytes(&bytes))
    }

    /// Counts what was taken of a kind. It may fail, since nothing depends on the count.
    fn count_taken(&self, id: &StockId, kind: &ComponentDigest, count: u64) {
        // A panic under the lock spoils nothing.
        let _turn = self
            .counting
            .lock()
            .unwrap_or_else(|error| error.into_inner());
        let now_s = now_s();
        let mut usage = self.usage(id, kind).unwrap_or_else(|| Usage::new(now_s));
        usage.note(now_s, count);
        self.note(&self.usage_file(id, kind), &usage.to_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_S: u64 = 24 * HOUR_S;

    #[test]
    fn what_was_taken_counts_for_a_day() {
        let begun = 1_000 * HOUR_S;
        let mut usage = Usage::new(begun);
        usage.note(begun + 10, 5);
        assert_eq!(usage.recently(begun + 10), (5, Duration::from_secs(10)));
        usage.note(begun + 600, 7);
        assert_eq!(
            usage.recently(begun + 1200),
            (12, Duration::from_secs(1200))
        );
        usage.note(begun + 2 * HOUR_S, 1);
        let (taken, time) = usage.recently(begun + 23 * HOUR_S);
        assert_eq!((taken, time.as_secs()), (13, 23 * HOUR_S));
        // After a day the first hour is gone, later everything is.
        assert_eq!(usage.recently(begun + DAY_S).0, 1);
        assert_eq!(usage.recently(begun + 3 * DAY_S).0, 0);
        assert_eq!(usage.recently(u64::MAX).0, 0);
    }

    #[test]
    fn a_clock_that_went_back_loses_nothing() {
        let begun = 1_000 * HOUR_S;
        let mut usage = Usage::new(begun);
        usage.note(begun, 5);
        usage.note(begun - DAY_S, 2);
        assert_eq!(usage.recently(begun).0, 7);
        assert_eq!(usage.recently(0), (7, Duration::ZERO));
        usage.note(begun, u64::MAX);
        assert_eq!(usage.recently(begun).0, u64::MAX);
    }

    #[test]
    fn bytes_go_round() {
        let mut usage = Usage::new(77 * HOUR_S + 5);
        (0..30).for_each(|hour| usage.note((77 + hour) * HOUR_S, hour));
        assert_eq!(Usage::from_bytes(&usage.to_bytes()), usage);
    }
}
