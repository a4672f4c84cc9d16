//! The course of a run over a link: when each message arrives, and the work in between.
//!
//! A message enters the link once it is ready and the message before it has entered. It takes its
//! bytes at the link's rate, and arrives one delay later. Work on the message starts once it has
//! arrived and the earlier work is done. So evaluation overlaps with messages that are still on
//! their way. A run of few messages takes the lower bound of `prepared`: a round trip, the bytes
//! that depend on the evaluator's inputs, and evaluation.

use std::time::Duration;

use tacit_net::Link;
use tacit_protocol::batch;
use tacit_protocol::outline::Outline;

use crate::session::{OtExtension, OtNeed};

/// The largest payload of a TLS record, and the overhead of a record.
const RECORD_BYTES: u64 = 1 << 14;
const RECORD_OVERHEAD_BYTES: u64 = 22;

/// The overhead that software adds to a link: sockets, TLS, and threads that wake up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overhead {
    /// The overhead of a message and its answer together.
    pub exchange: Duration,
    /// The overhead of a byte, beyond its time on the link.
    pub seconds_a_byte: f64,
}

/// The parties' work between messages, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StageWork {
    /// The garbler's work for a call of each component before its message leaves.
    pub(super) garbler: Vec<f64>,
    /// The garbler's work after the evaluator has chosen, apart from its calls.
    pub(super) garbler_answer: f64,
    /// The evaluator's work for a call of each component once its message has arrived.
    pub(super) evaluator: Vec<f64>,
    /// The evaluator's work after everything has arrived and is evaluated.
    pub(super) evaluator_end: f64,
}

/// The ends of a run's stages, in seconds from the evaluator's first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Course {
    /// The time at which the evaluator has its result.
    pub(super) evaluator: f64,
    /// The time at which the garbler has its result, if it gets one.
    pub(super) garbler: Option<f64>,
}

/// A link, including the overhead of software.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeasuredLink {
    /// The link, if sessions know it.
    known: Option<Link>,
    /// The OT extension, if sessions are given one.
    stated: Option<OtExtension>,
    delay: f64,
    seconds_a_byte: f64,
    software_a_byte: f64,
}

impl MeasuredLink {
    pub(super) fn new(link: Link, overhead: Overhead, is_known: bool) -> Self {
        Self {
            known: is_known.then_some(link),
            stated: None,
            delay: link.one_way_delay().as_secs_f64() + overhead.exchange.as_secs_f64() / 2.0,
            seconds_a_byte: 8.0 / link.rate_bits_per_s() as f64,
            software_a_byte: overhead.seconds_a_byte,
        }
    }

    /// Sets the OT extension that sessions are given.
    pub(super) fn with_ots(self, stated: Option<OtExtension>) -> Self {
        Self { stated, ..self }
    }

    /// Returns the OT extension that sessions are given.
    pub(super) fn stated(&self) -> Option<OtExtension> {
        self.stated
    }

    /// Returns the OT extension of a session that starts with these OTs.
    pub(super) fn extension(&self, need: OtNeed) -> OtExtension {
        self.stated
            .unwrap_or_else(|| need.extension_over(self.known))
    }

    /// Returns the seconds of a round trip without bytes.
    pub(super) fn round_trip(&self) -> f64 {
        2.0 * self.delay
    }

    /// Returns the seconds that a message of this many bytes takes to enter the link.
    pub(super) fn going_in(&self, bytes: u64) -> f64 {
        let records = bytes.div_ceil(RECORD_BYTES).max(1);
        (bytes + records * RECORD_OVERHEAD_BYTES) as f64 * self.seconds_a_byte
    }

    /// Returns the seconds of `trips` consecutive half round trips. In these one party sends this
    /// many bytes in total, and the other party no more than that.
    pub(super) fn exchanges(&self, trips: u64, bytes: u64) -> f64 {
        let records = bytes.div_ceil(RECORD_BYTES).max(trips);
        let sent = (bytes + records * RECORD_OVERHEAD_BYTES) as f64;
        trips as f64 * self.delay + sent * self.seconds_a_byte + bytes as f64 * self.software_a_byte
    }

    /// Returns the arrival time of a message that is ready at `at` and finds the link free.
    fn there(&self, at: f64, bytes: u64) -> f64 {
        self.arrival(at + self.going_in(bytes), bytes)
    }

    /// Returns the arrival time of a message that has entered the link at `at`.
    fn arrival(&self, at: f64, bytes: u64) -> f64 {
        at + self.delay + bytes as f64 * self.software_a_byte
    }
}

impl Course {
    /// Computes the course of a run of this outline, starting with the evaluator's choices.
    pub(super) fn of(outline: &Outline, work: &StageWork, way: &MeasuredLink) -> Self {
        let mut sent = 0.0;
        let mut there = 0.0;
        for bytes in &outline.choices {
            sent += way.going_in(*bytes);
            there = way.arrival(sent, *bytes);
        }
        // If the evaluator chooses nothing, the garbler does not wait for it.
        let mut ready: f64 = there + work.garbler_answer;
        let (mut gone, mut done): (f64, f64) = (ready, 0.0);
        for part in &outline.late {
            ready += of_calls(&work.garbler, &part.calls);
            gone = gone.max(ready) + way.going_in(part.bytes);
            done = done.max(way.arrival(gone, part.bytes));
            done += of_calls(&work.evaluator, &part.calls);
        }
        if let Some(bytes) = outline.kept {
            done = way.there(way.there(done, bytes), bytes);
        }
        done += work.evaluator_end;
        Self {
            evaluator: done,
            garbler: outline.result.map(|bytes| way.there(done, bytes)),
        }
    }

    /// Computes the course of a run of `batch`: two questions with their answers, one after the
    /// other. The evaluator works for `labels` and `recovery` seconds on the answers.
    pub(super) fn of_checked(
        outline: &batch::outline::Outline,
        [labels, recovery]: [f64; 2],
        way: &MeasuredLink,
    ) -> Self {
        let asked = way.there(0.0, outline.masked_input_bytes);
        let evaluated = way.there(asked, outline.input_labels_bytes) + labels;
        let chosen = way.there(evaluated, outline.recovery_choice_bytes);
        let done = way.there(chosen, outline.recovery_labels_bytes) + recovery;
        let result = outline.masked_result_bytes;
        Self {
            evaluator: done,
            garbler: result.map(|bytes| way.there(done, bytes)),
        }
    }
}

fn of_calls(seconds: &[f64], calls: &[f64]) -> f64 {
    seconds.iter().zip(calls).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use tacit_protocol::outline::Part;

    use super::*;

    fn way() -> MeasuredLink {
        MeasuredLink::new("10ms,8mbit".parse().unwrap(), Overhead::default(), true)
    }

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-9
    }

    #[test]
    fn a_short_run_takes_a_round_trip_its_bytes_and_its_work() {
        let outline = Outline {
            choices: vec![78],
            late: vec![Part {
                bytes: 978,
                calls: vec![2.0],
            }],
            result: Some(78),
            ..Outline::default()
        };
        let work = StageWork {
            garbler: vec![0.0],
            evaluator: vec![0.003],
            ..StageWork::default()
        };
        let course = Course::of(&outline, &work, &way());
        // 100 and 1000 bytes with the overhead of their records, at a microsecond per byte.
        assert!(close(
            course.evaluator,
            0.0001 + 0.01 + 0.001 + 0.01 + 0.006
        ));
        assert!(close(
            course.garbler.unwrap(),
            course.evaluator + 0.0001 + 0.01
        ));
    }

    #[test]
    fn evaluating_overlaps_with_what_is_still_on_its_way() {
        let part = |calls: f64| Part {
            bytes: 10_000 - 22,
            calls: vec![calls],
        };
        let outline = Outline {
            late: vec![part(1.0), part(1.0), part(1.0)],
            ..Outline::default()
        };
        let course = |evaluator: f64, garbler: f64| {
            let work = StageWork {
                evaluator: vec![evaluator],
                garbler: vec![garbler],
                ..StageWork::default()
            };
            Course::of(&outline, &work, &way()).evaluator
        };
        // Each message takes 10 ms to enter the link. Light work is done before the next message
        // arrives, and heavy work adds up.
        assert!(close(course(0.001, 0.0), 0.04 + 0.001));
        assert!(close(course(0.02, 0.0), 0.02 + 0.06));
        assert!(close(course(0.0, 0.02), 0.06 + 0.01 + 0.01));
    }

    #[test]
    fn each_of_many_short_messages_takes_half_a_round_trip() {
        // At a microsecond per byte: each message has 100 bytes and the overhead of a record.
        assert!(close(way().exchanges(3, 300), 0.03 + 0.000_366));
        assert!(close(way().exchanges(0, 0), 0.0));
    }

    #[test]
    fn software_adds_to_each_way_and_each_byte() {
        let overhead = Overhead {
            exchange: Duration::from_millis(2),
            seconds_a_byte: 1e-6,
        };
        let way = MeasuredLink::new("10ms,8mbit".parse().unwrap(), overhead, true);
        assert!(close(way.round_trip(), 0.022));
        assert!(close(way.arrival(0.0, 1000), 0.012));
    }
}
