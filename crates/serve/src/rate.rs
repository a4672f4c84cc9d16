//! Limits on how often something may happen: token buckets, over a clock that the caller reads.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// A number of times in a period, all of which may come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The number of times.
    pub times: u32,
    /// The period.
    pub per: Duration,
}

impl Rate {
    /// Returns the rate of `times` in a minute.
    #[must_use]
    pub const fn per_minute(times: u32) -> Self {
        let per = Duration::from_secs(60);
        Self { times, per }
    }
}

/// The error of a text that is no [`Rate`], such as `100/1m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rate is a count and a time, such as 100/1m or 5/10s, and neither is zero")]
pub struct NotARate;

impl FromStr for Rate {
    type Err = NotARate;

    fn from_str(text: &str) -> Result<Self, NotARate> {
        let (times, per) = text.split_once('/').ok_or(NotARate)?;
        let times: u32 = times.trim().parse().map_err(|_| NotARate)?;
        let per = per.trim();
        // `100/m` means in one minute.
        let per = if per.starts_with(|c: char| c.is_ascii_digit()) {
            read_time(per)
        } else {
            read_time(&format!("1{per}"))
        };
        match per {
            Some(per) if times > 0 && per >= Duration::from_secs(1) => Ok(Self { times, per }),
            _ => Err(NotARate),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.per.subsec_millis() {
            0 => write!(f, "{}/{}s", self.times, self.per.as_secs()),
            _ => write!(f, "{}/{}ms", self.times, self.per.as_millis()),
        }
    }
}

/// Reads a time with its units: `500ms`, `30s`, `5m`, `1h 30m`, `7d`. The longest is a hundred
/// years.
#[must_use]
pub fn read_time(text: &str) -> Option<Duration> {
    // Of the units that humantime knows, only the unambiguous ones: its `M` is a month.
    let mut units = text.split(|c: char| c.is_ascii_digit() || c == ' ');
    if !units.all(|unit| ["", "ms", "s", "m", "h", "d"].contains(&unit)) {
        return None;
    }
    let time = humantime::parse_duration(text).ok()?;
    (time <= 100 * 366 * Duration::from_hours(24)).then_some(time)
}

/// A token bucket: the rest of a rate.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    rate: Rate,
    /// The number of times left, with fractions. It is negative if more were used than a changed
    /// rate allows.
    left: f64,
    at: Instant,
}

impl Bucket {
    /// Returns a full bucket.
    #[must_use]
    pub fn new(rate: Rate, now: Instant) -> Self {
        let left = f64::from(rate.times);
        Self {
            rate,
            left,
            at: now,
        }
    }

    /// Takes one, if one is left.
    pub fn take(&mut self, now: Instant) -> bool {
        self.refill(now);
        if self.left < 1.0 {
            return false;
        }
        self.left -= 1.0;
        true
    }

    /// Gives back one that was taken.
    pub fn give_back(&mut self) {
        self.left = f64::from(self.rate.times).min(self.left + 1.0);
    }

    /// Returns whether one could be taken.
    pub fn has(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.left >= 1.0
    }

    /// Returns whether all are left.
    pub fn is_full(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.left >= f64::from(self.rate.times)
    }

    /// Changes the rate. Earlier uses still count.
    pub fn change(&mut self, rate: Rate) {
        if rate != self.rate {
            let used = f64::from(self.rate.times) - self.left;
            self.left = f64::from(rate.times) - used;
            self.rate = rate;
        }
    }

    fn refill(&mut self, now: Instant) {
        let times = f64::from(self.rate.times);
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = times.min(self.left + times * passed / self.rate.per.as_secs_f64());
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_rates() {
        assert_eq!("100/1m".parse(), Ok(Rate::per_minute(100)));
        let per = Duration::from_secs(10);
        assert_eq!("5/10s".parse(), Ok(Rate { times: 5, per }));
        assert_eq!("1/d".parse::<Rate>().unwrap().per.as_secs(), 86_400);
        for wrong in [
            "", "5", "5/", "0/1s", "5/0s", "-1/s", "5/10", "1.5/s", "5/10x",
        ] {
            assert_eq!(wrong.parse::<Rate>(), Err(NotARate), "{wrong}");
        }
    }

    #[test]
    fn a_bucket_gives_its_rate_and_no_more() {
        let begun = Instant::now();
        let mut bucket = Bucket::new(Rate::per_minute(3), begun);
        assert!((0..3).all(|_| bucket.take(begun)));
        assert!(!bucket.take(begun) && !bucket.has(begun));
        let later = begun + Duration::from_secs(21);
        assert!(bucket.take(later) && !bucket.take(later));
        bucket.give_back();
        assert!(bucket.take(later) && !bucket.take(later));
        // Unused times do not accumulate.
        let much_later = begun + Duration::from_secs(100_000);
        assert_eq!((0..10).filter(|_| bucket.take(much_later)).count(), 3);
        // A clock that went back adds nothing, and nothing when it is right again.
        assert!(!bucket.take(begun) && !bucket.take(much_later));
    }

    #[test]
    fn another_rate_counts_what_was_used() {
        let begun = Instant::now();
        let mut bucket = Bucket::new(Rate::per_minute(3), begun);
        assert!(bucket.take(begun));
        bucket.change(Rate::per_minute(2));
        assert!(bucket.take(begun) && !bucket.take(begun));
        // What was used is not forgotten under a lower rate.
        bucket.change(Rate::per_minute(1));
        assert!(!bucket.take(begun));
        bucket.change(Rate::per_minute(3));
        assert!(bucket.take(begun) && !bucket.take(begun));
    }
}
