//! The cost of OTs, and the cheapest extension for a link.
//!
//! Bytes, messages and trips follow from the protocol and are exact. Times are based on one machine
//! (`tacit-bench ot`): they serve to choose between extensions, whose ratio differs little between
//! machines, and predict no more than that.

use core::fmt;
use core::time::Duration;

use super::CHUNK;
use crate::correlated::{MAX_TOTAL, message_bytes};
use crate::extension::{FieldBits, first_bytes};
use crate::security::choices_check_bits;
use crate::silent::{ANSWER_BYTES, BOOTSTRAP, REPLY_BYTES, SECURITY_BITS, Schedule};
use crate::{ApiMisuse, Security};

/// The extension that makes correlated OTs from base OTs. The same on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// SoftSpoken with a small field: 128/k bits for each OT, symmetric cryptography only.
    SoftSpoken(FieldBits),
    /// Ferret: 0.75 bits for each OT, under learning parity with noise.
    Silent,
}

impl Default for Extension {
    /// SoftSpoken with k = 2: the least work.
    fn default() -> Self {
        Self::SoftSpoken(FieldBits::DEFAULT)
    }
}

impl Extension {
    /// The extensions that are worth offering. SoftSpoken also supports the other k from 1 to 8.
    pub const NAMED: [Self; 4] = [
        Self::SoftSpoken(FieldBits::DEFAULT),
        Self::SoftSpoken(FieldBits::MIDDLE),
        Self::SoftSpoken(FieldBits::LARGEST),
        Self::Silent,
    ];

    /// The extension whose check leaves a cheating peer the largest chance: SoftSpoken with k = 1.
    pub const LEAST_CHECKED: Self = Self::SoftSpoken(FieldBits::SMALLEST);

    /// Returns the one of [`NAMED`](Self::NAMED) with this name on the command line and in
    /// configuration.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMED
            .into_iter()
            .find(|extension| extension.to_string() == name)
    }

    /// Returns the number that both sides compare, as one byte: k, or 18 for silent. (16 and 17
    /// were silent OT under other LPN parameters.)
    #[must_use]
    pub const fn id(self) -> u8 {
        match self {
            Self::SoftSpoken(field) => field.get() as u8,
            Self::Silent => 18,
        }
    }

    /// Returns the extension with this [`id`](Self::id).
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::UnknownExtension`].
    pub fn from_id(id: u8) -> Result<Self, ApiMisuse> {
        match (id, FieldBits::new(id.into())) {
            (18, _) => Ok(Self::Silent),
            (_, Ok(field)) => Ok(Self::SoftSpoken(field)),
            _ => Err(ApiMisuse::UnknownExtension { id }),
        }
    }

    /// Returns the bits of security of its instances of learning parity with noise, if it uses any:
    /// no known attack takes less work than two to this number.
    #[must_use]
    pub const fn lpn_bits(self) -> Option<u32> {
        match self {
            Self::SoftSpoken(_) => None,
            Self::Silent => Some(SECURITY_BITS),
        }
    }

    /// Returns the bits of security of the checks of the maliciously secure extension: a peer that
    /// asks the random oracle W times makes a cheat pass with probability at most W · 2^-bits.
    /// Guesses at Δ or at places of noise are separate: n bits are guessed right with probability
    /// 2^-n, and a wrong guess ends the session.
    #[must_use]
    pub fn check_bits(self) -> f64 {
        // Ferret's check has one hash and no pairs, so it has 128 bits: more than that of silent
        // OT's first OTs.
        choices_check_bits(self.field())
    }

    /// Returns the probability, as a power of two and at most 0, that a cheat passes the checks of
    /// the maliciously secure extension if the peer asks the random oracle two to `work_log2`
    /// times. For a bound on a peer's gain in a session, use
    /// [`PEER_WORK_LOG2`](crate::PEER_WORK_LOG2).
    #[must_use]
    pub fn cheating_log2(self, work_log2: u32) -> f64 {
        (f64::from(work_log2) - self.check_bits()).min(0.0)
    }

    /// Returns whether OTs of this extension may be used in a session whose parties agreed on
    /// `asked`. A session that did not agree on silent OT excludes everything that rests on LPN.
    #[must_use]
    pub const fn serves(self, asked: Self) -> bool {
        self.lpn_bits().is_none() || asked.lpn_bits().is_some()
    }

    /// Returns the number of OTs that a set of base OTs gives at most.
    #[must_use]
    pub const fn most_ots(self) -> u64 {
        match self {
            Self::SoftSpoken(_) => MAX_TOTAL,
            Self::Silent => u64::MAX,
        }
    }

    /// Returns the field of the first correlated OTs.
    pub(super) const fn field(self) -> FieldBits {
        match self {
            Self::SoftSpoken(field) => field,
            Self::Silent => FieldBits::LARGEST,
        }
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SoftSpoken(field) => write!(f, "softspoken-{}", field.get()),
            Self::Silent => f.write_str("silent"),
        }
    }
}

/// The cost of a refill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of OTs that it makes: the requested number, or more.
    pub made: u64,
    /// The bytes from the sender.
    pub sender_bytes: u64,
    /// The bytes from the receiver.
    pub receiver_bytes: u64,
    /// The messages from the sender.
    pub sender_messages: u64,
    /// The messages from the receiver.
    pub receiver_messages: u64,
    /// The number of times that a message has to wait for one from the other side, including the
    /// first: half round trips.
    pub trips: u64,
}

impl Cost {
    /// Returns the cost of the first refill of a source, for `count` OTs, without base OTs.
    #[must_use]
    pub fn first_refill(extension: Extension, security: Security, count: usize) -> Self {
        let field = extension.field();
        let first = first_bytes(field, security);
        match extension {
            Extension::SoftSpoken(_) => Self::soft_spoken(field, security, first, count),
            Extension::Silent => {
                let mut cost = Self {
                    receiver_bytes: (first + message_bytes(field, security, BOOTSTRAP.inputs()))
                        as u64,
                    receiver_messages: 1,
                    trips: 1,
                    ..Self::default()
                };
                cost.add_batches(Schedule::START, security, count);
                cost
            }
        }
    }

    pub(super) fn soft_spoken(
        field: FieldBits,
        security: Security,
        first_bytes: usize,
        count: usize,
    ) -> Self {
        let (whole, rest) = (count / CHUNK, count % CHUNK);
        let mut bytes = first_bytes + whole * message_bytes(field, security, CHUNK);
        if rest > 0 {
            bytes += message_bytes(field, security, rest);
        }
        Self {
            made: count as u64,
            receiver_bytes: bytes as u64,
            receiver_messages: count.div_ceil(CHUNK) as u64,
            trips: 1,
            ..Self::default()
        }
    }

    /// Adds the batches that make `count` OTs from `schedule` on.
    pub(super) fn add_batches(&mut self, mut schedule: Schedule, security: Security, count: usize) {
        let before = self.sender_messages;
        while self.made < count as u64 {
            self.made += schedule.next_count() as u64;
            self.sender_bytes += schedule.trees_bytes() as u64;
            self.sender_messages += 1;
            if security == Security::Malicious {
                self.sender_bytes += ANSWER_BYTES as u64;
                self.receiver_bytes += REPLY_BYTES as u64;
                self.sender_messages += 1;
                self.receiver_messages += 1;
                self.trips += 2;
            }
            schedule.advance();
        }
        // The last answer, or all trees one after the other.
        self.trips += u64::from(self.sender_messages > before);
    }
}

/// A link between the parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The time of a round trip.
    pub round_trip: Duration,
    /// The rate in each direction, in bits per second.
    pub bits_per_s: u64,
}

/// An extension that was chosen by its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The extension.
    pub extension: Extension,
    /// Its cost.
    pub cost: Cost,
    /// Its approximate time.
    pub time: Duration,
}

impl Choice {
    /// Returns the extension that makes `count` OTs in the shortest time over `link`, without base
    /// OTs. Considers silent OT only if `allow_lpn` accepts its assumption.
    #[must_use]
    pub fn fastest(link: Link, security: Security, count: usize, allow_lpn: bool) -> Self {
        let mut best = Self::told(Extension::default(), link, security, count);
        let fields = [FieldBits::MIDDLE, FieldBits::LARGEST].map(Extension::SoftSpoken);
        for extension in fields
            .into_iter()
            .chain(allow_lpn.then_some(Extension::Silent))
        {
            let other = Self::told(extension, link, security, count);
            if other.time < best.time {
                best = other;
            }
        }
        best
    }

    /// Returns the choice of a given extension.
    #[must_use]
    pub fn told(extension: Extension, link: Link, security: Security, count: usize) -> Self {
        let cost = Cost::first_refill(extension, security, count);
        let (start_ns, ns_per_ot) = compute_ns(extension, security);
        let computing = start_ns + ns_per_ot * cost.made as f64;
        let bits = 8.0 * cost.sender_bytes.max(cost.receiver_bytes) as f64;
        let sending = bits * 1e9 / link.bits_per_s.max(1) as f64;
        let waiting = link.round_trip.as_secs_f64() * 1e9 / 2.0 * cost.trips as f64;
        let seconds = (computing.max(sending) + waiting) / 1e9;
        let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Self {
            extension,
            cost,
            time,
        }
    }
}

/// Returns the nanoseconds to start and for each OT, of the slower party, on an EPYC of the third
/// generation at 2.2 GHz with one thread per party. Silent OT was measured with rounds twice as
/// large.
fn compute_ns(extension: Extension, security: Security) -> (f64, f64) {
    let malicious = security == Security::Malicious;
    match extension {
        Extension::Silent => (60e6, if malicious { 55.0 } else { 50.0 }),
        Extension::SoftSpoken(field) => {
            let streams = f64::from(1u32 << field.get()) / field.get() as f64;
            let check = if malicious { 5.0 } else { 0.0 };
            (1e4 * streams, 6.0 + streams + check)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(round_trip_ms: u64, bits_per_s: u64) -> Link {
        let round_trip = Duration::from_millis(round_trip_ms);
        Link {
            round_trip,
            bits_per_s,
        }
    }

    #[test]
    fn fast_links_take_few_calls_and_slow_ones_few_bytes() {
        let security = Security::SemiHonest;
        let best = |link, count, lpn| Choice::fastest(link, security, count, lpn).extension.id();
        let (fast, slow) = (link(0, 20_000_000_000), link(60, 20_000_000));
        assert_eq!(best(fast, 1 << 23, true), 2);
        assert_eq!(best(slow, 1 << 23, true), Extension::Silent.id());
        assert_eq!(best(slow, 1 << 23, false), 8);
        // For few OTs, silent OT is not worth its start.
        assert_ne!(best(slow, 10_000, true), Extension::Silent.id());
        assert_eq!(best(link(1, 2_000_000_000), 1 << 20, false), 4);
    }

    #[test]
    fn a_dead_link_takes_for_ever_and_does_not_panic() {
        let choice = Choice::fastest(link(u64::MAX, 0), Security::Malicious, 1 << 24, true);
        assert!(choice.time > Duration::from_secs(1 << 30));
    }

    #[test]
    fn silent_ots_take_three_quarters_of_a_bit() {
        for security in [Security::SemiHonest, Security::Malicious] {
            let cost = Cost::first_refill(Extension::Silent, security, 1 << 23);
            let setup = Cost::first_refill(Extension::Silent, security, 1);
            let bits = |cost: Cost| 8.0 * (cost.sender_bytes + cost.receiver_bytes) as f64;
            assert!(bits(cost) / (cost.made as f64) < 1.0, "{cost:?}");
            let later = (bits(cost) - bits(setup)) / (cost.made - setup.made) as f64;
            assert!(later < 0.75, "{later}");
        }
    }

    #[test]
    fn ids_name_every_extension_once() {
        let known = (0..=255).filter_map(|id| Extension::from_id(id).ok().map(|e| (id, e.id())));
        let known: Vec<_> = known.collect();
        assert_eq!(known.len(), 9);
        assert!(known.iter().all(|(id, again)| id == again));
    }

    #[test]
    fn names_lead_back_to_their_extensions() {
        for extension in Extension::NAMED {
            let name = extension.to_string();
            assert_eq!(Extension::from_name(&name), Some(extension), "{name}");
        }
        assert_eq!(Extension::from_name("softspoken-9"), None);
    }
}
