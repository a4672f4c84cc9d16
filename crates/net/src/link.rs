//! The description of a link: its delay and its rate.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A link with a one-way delay and a rate, the same in both directions, such as `33ms,50mbit` or
/// `500us,1gbit`.
///
/// It models only what a long pipe does to messages: no loss, no slow start, no queue that drops. A
/// round trip over it takes two delays longer than without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    one_way_delay: Duration,
    rate_bits_per_s: u64,
}

/// The error of a text or of values that describe no link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotALink {
    /// The text has another form.
    #[error(
        "a link is written DELAY,RATE with whole numbers, such as 33ms,50mbit or 500us,1gbit \
         (units us, ms, s and bit, kbit, mbit, gbit)"
    )]
    Form,
    /// The delay is longer than [`Link::MAX_DELAY`].
    #[error("a link's one-way delay is at most 10 s")]
    Delay,
    /// The rate lies outside [`Link::MIN_RATE_BITS_PER_S`] to [`Link::MAX_RATE_BITS_PER_S`].
    #[error("a link's rate is between 1 kbit and 1000 gbit a second")]
    Rate,
}

const DELAY_UNITS: [(&str, u64); 3] = [("us", 1), ("ms", 1_000), ("s", 1_000_000)];
const RATE_UNITS: [(&str, u64); 4] = [
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("bit", 1),
];

impl Link {
    /// The longest delay.
    pub const MAX_DELAY: Duration = Duration::from_secs(10);
    /// The lowest rate.
    pub const MIN_RATE_BITS_PER_S: u64 = 1_000;
    /// The highest rate.
    pub const MAX_RATE_BITS_PER_S: u64 = 1_000_000_000_000;

    /// Returns a link. The delay is rounded down to whole microseconds.
    ///
    /// # Errors
    ///
    /// A value lies outside its bounds.
    pub fn new(one_way_delay: Duration, rate_bits_per_s: u64) -> Result<Self, NotALink> {
        if one_way_delay > Self::MAX_DELAY {
            return Err(NotALink::Delay);
        }
        if !(Self::MIN_RATE_BITS_PER_S..=Self::MAX_RATE_BITS_PER_S).contains(&rate_bits_per_s) {
            return Err(NotALink::Rate);
        }
        let micros = u64::try_from(one_way_delay.as_micros()).map_err(|_| NotALink::Delay)?;
        Ok(Self {
            one_way_delay: Duration::from_micros(micros),
            rate_bits_per_s,
        })
    }

    /// Returns the time that a byte travels.
    pub fn one_way_delay(&self) -> Duration {
        self.one_way_delay
    }

    /// Returns the rate in bits per second.
    pub fn rate_bits_per_s(&self) -> u64 {
        self.rate_bits_per_s
    }

    /// Returns the time that `bytes` take to enter the link.
    pub fn time_for(&self, bytes: usize) -> Duration {
        let nanos = bytes as u128 * 8_000_000_000 / u128::from(self.rate_bits_per_s);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Returns the number of whole bytes that enter the link in `time`.
    pub fn bytes_in(&self, time: Duration) -> usize {
        let bytes = time.as_nanos() * u128::from(self.rate_bits_per_s) / 8_000_000_000;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

/// Parses a whole number and one of `units` into a number of the smallest unit.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Formats `value` with the largest of `units` that divides it.
fn with_unit(value: u64, units: &[(&str, u64)]) -> String {
    let fitting = units
        .iter()
        .filter(|(_, factor)| value.is_multiple_of(*factor));
    match fitting.max_by_key(|(_, factor)| *factor) {
        Some((name, factor)) if value > 0 => format!("{}{name}", value / factor),
        _ => format!("{value}{}", units[0].0),
    }
}

impl FromStr for Link {
    type Err = NotALink;

    fn from_str(text: &str) -> Result<Self, NotALink> {
        let (delay, rate) = text.split_once(',').ok_or(NotALink::Form)?;
        let micros = quantity(delay.trim(), &DELAY_UNITS).ok_or(NotALink::Form)?;
        let rate = quantity(rate.trim(), &RATE_UNITS).ok_or(NotALink::Form)?;
        Self::new(Duration::from_micros(micros), rate)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = u64::try_from(self.one_way_delay.as_micros()).unwrap_or(u64::MAX);
        let delay = with_unit(micros, &DELAY_UNITS);
        let rate = with_unit(self.rate_bits_per_s, &RATE_UNITS);
        write!(f, "{delay},{rate}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_texts() {
        let link: Link = "33ms,50mbit".parse().unwrap();
        assert_eq!(link.one_way_delay(), Duration::from_millis(33));
        assert_eq!(link.rate_bits_per_s(), 50_000_000);
        assert_eq!(link.to_string(), "33ms,50mbit");
        assert_eq!(link.time_for(6_250_000), Duration::from_secs(1));
        assert_eq!(link.bytes_in(Duration::from_secs(1)), 6_250_000);
        let near: Link = "0ms, 1gbit".parse().unwrap();
        assert_eq!(near.to_string(), "0us,1gbit");
        assert_eq!(
            "1500us,1500bit".parse::<Link>().unwrap().to_string(),
            "1500us,1500bit"
        );
    }

    #[test]
    fn texts_that_are_none() {
        for text in [
            "",
            "33ms",
            "ms,50mbit",
            "33,50mbit",
            "33ms,50",
            "-1ms,50mbit",
            "1.5ms,1mbit",
        ] {
            assert_eq!(text.parse::<Link>(), Err(NotALink::Form), "{text}");
        }
        assert_eq!("11s,1mbit".parse::<Link>(), Err(NotALink::Delay));
        assert_eq!("1s,0mbit".parse::<Link>(), Err(NotALink::Rate));
        assert_eq!("1s,2000gbit".parse::<Link>(), Err(NotALink::Rate));
        assert_eq!(
            "1s,99999999999999999999bit".parse::<Link>(),
            Err(NotALink::Form)
        );
        assert_eq!(
            "18446744073709551615s,1mbit".parse::<Link>(),
            Err(NotALink::Form)
        );
    }

    proptest! {
        #[test]
        fn text_form_goes_round(micros in 0u64..=10_000_000, rate in 1_000u64..=1_000_000_000_000) {
            let link = Link::new(Duration::from_micros(micros), rate).unwrap();
            prop_assert_eq!(link.to_string().parse::<Link>(), Ok(link));
        }
    }
}
