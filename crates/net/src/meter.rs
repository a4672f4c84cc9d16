//! The meter: the traffic of a channel, and the time that it has waited.

use std::ops::{Add, Sub};
use std::time::Duration;

/// The traffic in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The number of frames.
    pub frames: u64,
    /// The bytes of frames, headers included.
    pub bytes: u64,
    /// The bytes on the transport below: the frames and, under TLS, the handshake and the records'
    /// overhead. Sent bytes count when the transport takes them, and received ones when it returns
    /// them, which may be before their frame is requested.
    pub wire_bytes: u64,
}

/// A snapshot of a channel's costs since it was opened. The difference of two snapshots is the cost
/// of the time between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// The traffic from here to the peer.
    pub sent: Traffic,
    /// The traffic from the peer to here.
    pub received: Traffic,
    /// The number of maximal series of frames in one direction, in the order in which this end sent
    /// and received them. A message and its answer are two rounds. If both ends send at once, each
    /// counts the order that it saw, so their counts may differ.
    pub rounds: u64,
    /// The time inside the transport's read and write calls: waiting for the peer, and the copying
    /// that the operating system does in these calls. Encryption is not included.
    pub waiting: Duration,
}

impl Traffic {
    fn with(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        Self {
            frames: join(self.frames, other.frames),
            bytes: join(self.bytes, other.bytes),
            wire_bytes: join(self.wire_bytes, other.wire_bytes),
        }
    }
}

impl Add for Meter {
    type Output = Self;

    /// Adds the costs of two channels.
    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent.with(other.sent, u64::saturating_add),
            received: self.received.with(other.received, u64::saturating_add),
            rounds: self.rounds.saturating_add(other.rounds),
            waiting: self.waiting.saturating_add(other.waiting),
        }
    }
}

impl Sub for Meter {
    type Output = Self;

    /// Returns the costs since `earlier`, a snapshot of the same channel.
    fn sub(self, earlier: Self) -> Self {
        Self {
            sent: self.sent.with(earlier.sent, u64::saturating_sub),
            received: self.received.with(earlier.received, u64::saturating_sub),
            rounds: self.rounds.saturating_sub(earlier.rounds),
            waiting: self.waiting.saturating_sub(earlier.waiting),
        }
    }
}

/// The direction of the last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Out,
    In,
}

/// Counts frames and the changes of direction between them.
#[derive(Debug, Default)]
pub(crate) struct FrameCounter {
    sent: Traffic,
    received: Traffic,
    rounds: u64,
    last: Option<Direction>,
}

impl FrameCounter {
    pub(crate) fn count_sent(&mut self, bytes: usize) {
        self.sent.frames += 1;
        self.sent.bytes += bytes as u64;
        self.turn(Direction::Out);
    }

    pub(crate) fn count_received(&mut self, bytes: usize) {
        self.received.frames += 1;
        self.received.bytes += bytes as u64;
        self.turn(Direction::In);
    }

    /// Makes the next frame begin a round.
    pub(crate) fn forget_direction(&mut self) {
        self.last = None;
    }

    fn turn(&mut self, direction: Direction) {
        if self.last != Some(direction) {
            self.rounds += 1;
            self.last = Some(direction);
        }
    }

    /// Returns the frames counted here together with the transport's counts.
    pub(crate) fn snapshot(&self, wire: &WireCounter) -> Meter {
        Meter {
            sent: Traffic {
                wire_bytes: wire.sent_bytes,
                ..self.sent
            },
            received: Traffic {
                wire_bytes: wire.received_bytes,
                ..self.received
            },
            rounds: self.rounds,
            waiting: wire.waiting,
        }
    }
}

/// The counts of a transport.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WireCounter {
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) waiting: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_runs_of_one_direction() {
        let mut counter = FrameCounter::default();
        let wire = WireCounter::default();
        assert_eq!(counter.snapshot(&wire).rounds, 0);
        counter.count_sent(10);
        counter.count_sent(20);
        assert_eq!(counter.snapshot(&wire).rounds, 1);
        counter.count_received(5);
        counter.count_received(5);
        let earlier = counter.snapshot(&wire);
        assert_eq!(earlier.rounds, 2);
        counter.count_sent(7);
        let cost = counter.snapshot(&wire) - earlier;
        assert_eq!((cost.rounds, cost.sent.frames, cost.sent.bytes), (1, 1, 7));
        assert_eq!(cost.received, Traffic::default());
        counter.forget_direction();
        let earlier = counter.snapshot(&wire);
        counter.count_sent(7);
        assert_eq!((counter.snapshot(&wire) - earlier).rounds, 1);
    }
}
