//! The measured parties, two or three: a process or a thread each, joined by a link.
//!
//! Each party has two connections to the first, both plain TCP on loopback. One is measured, and
//! shaped if a link is imitated; the other, which is not measured, lets them start each step
//! together. A step takes as long as its slowest party. A process is started anew for each task, so
//! that its peak memory is the task's; threads, which tests use, share one figure.

mod launch;
mod task;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tacit::Role;
use tacit_net::{Channel, Meter, NetError};

pub use launch::party;
pub(crate) use launch::{LastWord, PartyLink, all, both, pin};
pub(crate) use task::Task;

use crate::Error;

/// The actions of both parties, and their reports.
pub(crate) trait Exchange: Clone + Into<Task> {
    /// One party's report.
    type Report: Serialize + for<'de> Deserialize<'de>;

    /// Plays one party.
    fn play(&self, role: Role, wire: Wire) -> Result<Self::Report, Error>;
}

/// The reports of both parties.
#[derive(Debug)]
pub(crate) struct Both<R> {
    pub(crate) garbler: R,
    pub(crate) evaluator: R,
    pub(crate) memory: Memory,
}

impl<R> Both<R> {
    /// Returns a part of both reports.
    pub(crate) fn map<S>(&self, part: impl Fn(&R) -> S) -> Both<S> {
        Both {
            garbler: part(&self.garbler),
            evaluator: part(&self.evaluator),
            memory: self.memory,
        }
    }
}

/// The most memory that each party's process held, in bytes, if the system reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The garbler's.
    pub garbler_bytes: Option<u64>,
    /// The evaluator's.
    pub evaluator_bytes: Option<u64>,
}

/// A party's connections to the other.
pub(crate) struct Wire {
    /// The measured connection.
    pub(crate) channel: Channel,
    /// The connection that lets steps start together.
    control: Control,
}

/// The connection that lets steps start together.
pub(crate) struct Control(Channel);

impl Control {
    /// Waits until the other party is here too.
    pub(crate) fn meet(&mut self) -> Result<(), NetError> {
        self.0.send(1, &[])?;
        // The other party's message may be here already, and then nothing waits for a flush.
        self.0.flush()?;
        self.0.receive(1)?;
        Ok(())
    }
}

/// The longest wait of a party for the other: a step over a slow link takes minutes.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The cost of one step for one party.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Step {
    /// The time from the common start to this party's end.
    pub(crate) seconds: f64,
    /// The bytes that it sent.
    pub(crate) sent_bytes: u64,
    /// The number of series of messages in one direction, as this party saw them.
    pub(crate) rounds: u64,
    /// The time that this party's thread was on a core, if the system reports it.
    pub(crate) busy_seconds: Option<f64>,
}

impl Wire {
    fn new(channel: Channel, control: Channel) -> Self {
        let mut ends = [channel, control];
        for end in &mut ends {
            end.set_timeout(TIMEOUT);
        }
        let [channel, control] = ends;
        let control = Control(control);
        Self { channel, control }
    }

    /// Returns the two connections separately, for a party that does its own measurements.
    pub(crate) fn split(self) -> (Channel, Control) {
        (self.channel, self.control)
    }

    /// Does `work` once both parties are here, and measures it.
    pub(crate) fn step<T>(
        &mut self,
        work: impl FnOnce(&mut Channel) -> Result<T, Error>,
    ) -> Result<(T, Step), Error> {
        self.control.meet()?;
        let (meter, busy, begun) = (self.channel.mark(), busy(), Instant::now());
        let done = work(&mut self.channel)?;
        self.channel.flush()?;
        let seconds = begun.elapsed().as_secs_f64();
        let busy_seconds = self::busy().zip(busy);
        let Meter { sent, rounds, .. } = self.channel.meter() - meter;
        let step = Step {
            seconds,
            sent_bytes: sent.bytes,
            rounds,
            busy_seconds: busy_seconds.map(|(now, then)| (now - then).as_secs_f64()),
        };
        Ok((done, step))
    }
}

/// Returns the time that this thread has been on a core.
fn busy() -> Option<Duration> {
    let read = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = read.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}
