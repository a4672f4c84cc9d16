//! The size of the batches in which an order is made.
//!
//! A batch holds the right to prepare, and a run that finds too little in stock waits for it. So a
//! batch should take some seconds, on a slow link too. The garbler measures how long a batch takes
//! until both have it on disk, and tells the size of the next one before it.

use std::time::Duration;

use tacit_function::Role;
use tacit_protocol::Misbehaviour;
use tacit_protocol::message::Kind;

use super::messages::{self, BATCH_BYTES};
use crate::{Error, Session};

/// The approximate bytes of a lot's tables: few enough that a broken connection costs little.
pub(super) const LOT_BYTES: u64 = 64 << 20;
/// The first batch of an order, which shows how fast the parties are.
const FIRST_BYTES: u64 = 4 << 20;
/// The least bytes of a batch, and the most. Each batch costs some milliseconds, in which no table
/// moves.
const LEAST_BYTES: u64 = 1 << 20;
const MOST_BYTES: u64 = 4 * LOT_BYTES;
/// The time that a batch should take.
const BATCH_TIME: Duration = Duration::from_secs(2);

/// The size of the next batch of an order, at either party.
pub(super) struct Pace {
    bytes: u64,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { bytes: FIRST_BYTES }
    }

    /// Returns the bytes of tables that are enough for the next batch, as the garbler tells them.
    pub(super) fn agree(&self, session: &mut Session, role: Role) -> Result<u64, Error> {
        if role == Role::Garbler {
            let told = self.bytes.to_le_bytes();
            // The peer begins its lots with this message, while this party makes tables.
            session.script(async |io| messages::send(io, BATCH_BYTES, &told))?;
            return Ok(self.bytes);
        }
        let told = session.exchange(async |io| Ok(io.receive(BATCH_BYTES).await?.to_vec()))?;
        let told = told.try_into().map(u64::from_le_bytes).ok();
        let told = told.filter(|bytes| (LEAST_BYTES..=MOST_BYTES).contains(bytes));
        told.ok_or_else(|| Misbehaviour::invalid(Kind::BatchBytes, "bytes").into())
    }

    /// Notes that a batch of these bytes took this time. `made` is what the order has by now: a
    /// broken connection should cost at most half of it, and a lot.
    pub(super) fn took(&mut self, bytes: u64, time: Duration, made: u64) {
        let times = BATCH_TIME.as_secs_f64() / time.as_secs_f64().max(1e-6);
        // A float beyond the range becomes the largest number.
        let wanted = (bytes as f64 * times) as u64;
        let most = MOST_BYTES.min(made.max(LOT_BYTES));
        self.bytes = wanted.clamp(LEAST_BYTES, most);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tacit_net::memory;

    use super::*;
    use crate::driver::flush;
    use crate::session::Side;

    /// Returns the sizes of batches, and their times in seconds, over a link with this many bytes a
    /// second.
    fn batches(speed: u64) -> Vec<(u64, f64)> {
        let (mut pace, mut made) = (Pace::new(), 0);
        let batches = (0..8).map(|_| {
            let bytes = pace.bytes;
            let time = Duration::from_secs_f64(bytes as f64 / speed as f64);
            made += bytes;
            pace.took(bytes, time, made);
            (bytes, time.as_secs_f64())
        });
        batches.collect()
    }

    #[test]
    fn a_batch_takes_seconds_on_any_link() {
        // 10 Mbit/s, 100 Mbit/s and 1 GB/s.
        for (speed, largest) in [
            (1_250_000, 4 << 20),
            (12_500_000, 25_000_000),
            (1 << 30, 256 << 20),
        ] {
            let batches = batches(speed);
            assert!(batches.iter().all(|(_, time)| *time < 4.0), "{batches:?}");
            let most = batches.iter().map(|(bytes, _)| *bytes).max();
            assert_eq!(most, Some(largest));
        }
        // A fast link is slowed down once, by the first batch.
        assert!(batches(1 << 30)[1].0 >= LOT_BYTES);
    }

    #[test]
    fn a_batch_is_never_tiny_and_never_larger_than_the_order_before() {
        let mut pace = Pace::new();
        pace.took(4 << 20, Duration::from_secs(3600), 4 << 20);
        assert_eq!(pace.bytes, LEAST_BYTES);
        pace.took(4 << 20, Duration::ZERO, 4 << 20);
        assert_eq!(pace.bytes, LOT_BYTES);
        pace.took(u64::MAX, Duration::ZERO, u64::MAX);
        assert_eq!(pace.bytes, MOST_BYTES);
    }

    #[test]
    fn a_garbler_tells_no_tiny_and_no_endless_batch() {
        for (bytes, is_right) in [
            (1, false),
            (LEAST_BYTES - 1, false),
            (LEAST_BYTES, true),
            (MOST_BYTES, true),
            (MOST_BYTES + 1, false),
            (u64::MAX, false),
        ] {
            let (listening, connecting) = memory::pair();
            let mut here = thread::scope(|scope| {
                scope.spawn(|| {
                    let there = Session::over(connecting, Side::Connecting, None);
                    let mut there = there.expect("a peer");
                    let told = Pace { bytes }.agree(&mut there, Role::Garbler);
                    assert_eq!(told.expect("sent"), bytes);
                    flush(there.channel()).expect("sent");
                });
                Session::over(listening, Side::Listening, None).expect("a peer")
            });
            let agreed = Pace::new().agree(&mut here, Role::Evaluator);
            assert_eq!(agreed.ok(), is_right.then_some(bytes));
        }
    }
}
