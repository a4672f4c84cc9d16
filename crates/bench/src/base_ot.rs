//! Base OTs: 128 of each kind, from the first byte until both parties have their keys.

use core::num::NonZeroUsize;
use std::time::{Duration, Instant};

use getrandom::SysRng;
use rand_core::UnwrapErr;
use serde::{Deserialize, Serialize};
use tacit::Role;
use tacit_net::Channel;
use tacit_ot::base::{self, BaseOt, Key, PART, ml_kem};
use tacit_ot::{Delta, SessionTag};

use crate::parties::{Both, Exchange, Memory, Step, Wire, both};
use crate::record::{Traffic, slower_ms};
use crate::spread::Spread;
use crate::table::{Column, Row, number, short, text};
use crate::{Error, Options, Tell, USUAL_LINKS};

/// A batch of base OTs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaseOtFigures {
    /// The assumption.
    pub kind: String,
    /// The number of base OTs in the batch.
    pub count: usize,
    /// The threads of each party.
    pub threads: usize,
    /// `loopback`, or the link.
    pub link: String,
    /// The time from the common start until both parties have their keys.
    pub elapsed_ms: Spread,
    /// The garbler's own work, without waiting.
    pub garbler_work_ms: Spread,
    /// The evaluator's own work, without waiting.
    pub evaluator_work_ms: Spread,
    /// Bytes and rounds.
    pub traffic: Traffic,
    /// Peak memory of each party.
    pub memory: Memory,
}

impl Row for BaseOtFigures {
    const TITLE: &'static str = "128 base OTs, from the start until both parties have them";
    const COLUMNS: &'static [Column<Self>] = &[
        text("rests on", 12, |of| of.kind.clone()),
        number("threads", 7, |of| of.threads.to_string()),
        text("link", 12, |of| of.link.clone()),
        number("ms", 6, |of| short(of.elapsed_ms.median)),
        number("± %", 5, |of| of.elapsed_ms.deviation_text()),
        number("garbler ms", 10, |of| short(of.garbler_work_ms.median)),
        number("evaluator ms", 12, |of| short(of.evaluator_work_ms.median)),
        number("bytes g→e", 9, |of| of.traffic.garbler_bytes.to_string()),
        number("bytes e→g", 9, |of| {
            of.traffic.evaluator_bytes.to_string()
        }),
        number("rounds", 6, |of| of.traffic.rounds.to_string()),
    ];
}

/// The task of the parties: this many batches, one after the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    kind: String,
    threads: NonZeroUsize,
    batches: usize,
}

#[cfg(test)]
impl Exchanged {
    /// Returns the smallest task.
    pub(crate) fn of_one_batch() -> Self {
        Self {
            kind: BaseOt::default().name().to_owned(),
            threads: NonZeroUsize::MIN,
            batches: 1,
        }
    }
}

/// A party's batches, and its own work in each.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    steps: Vec<Step>,
    work_seconds: Vec<f64>,
}

/// Measures all kinds at all places.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    let one = NonZeroUsize::MIN;
    for place in options.places(&USUAL_LINKS) {
        for kind in BaseOt::ALL {
            for threads in [one, one.saturating_add(1)] {
                let name = format!("base-ot {kind} threads-{threads} {}", place.name());
                if !options.wants(&name) {
                    continue;
                }
                let task = Exchanged {
                    kind: kind.name().to_owned(),
                    threads,
                    batches: if options.quick { 9 } else { 25 },
                };
                let done = both(&task, place, options)?;
                tell(figures(&task, place.name(), done).into())?;
            }
        }
    }
    Ok(())
}

fn figures(task: &Exchanged, link: String, done: Both<Report>) -> BaseOtFigures {
    let work = |seconds: &[f64]| Spread::of(seconds).scaled(1e3);
    let (garbler_work_ms, evaluator_work_ms) = (
        work(&done.garbler.work_seconds),
        work(&done.evaluator.work_seconds),
    );
    let steps = done.map(|report| report.steps.clone());
    BaseOtFigures {
        kind: task.kind.clone(),
        count: Delta::BITS,
        threads: task.threads.get(),
        link,
        elapsed_ms: Spread::of(&slower_ms(&steps)),
        garbler_work_ms,
        evaluator_work_ms,
        traffic: Traffic::of(&steps.garbler[0], &steps.evaluator[0]),
        memory: done.memory,
    }
}

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, role: Role, mut wire: Wire) -> Result<Report, Error> {
        let kind = BaseOt::from_name(&self.kind).unwrap_or_default();
        let (mut steps, mut work_seconds) = (Vec::new(), Vec::new());
        // The first batch warms up.
        for batch in 0..=self.batches {
            let mut work = WorkClock::default();
            let ((), step) = wire.step(|channel| {
                match role {
                    Role::Garbler => {
                        let delta = Delta::random(&mut UnwrapErr(SysRng));
                        receive(kind, self.threads, &delta, channel, &mut work)?;
                    }
                    Role::Evaluator => {
                        send(kind, self.threads, channel, &mut work)?;
                    }
                }
                Ok(())
            })?;
            if batch > 0 {
                steps.push(step);
                work_seconds.push(work.0.as_secs_f64());
            }
        }
        Ok(Report {
            steps,
            work_seconds,
        })
    }
}

/// A clock that runs while a party works and stops while it waits.
#[derive(Debug, Default)]
pub(crate) struct WorkClock(Duration);

impl WorkClock {
    fn on<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = work();
        self.0 += begun.elapsed();
        done
    }
}

const TAG: SessionTag = SessionTag::new([1; 32]);

/// Plays the garbler's half: the receiver, whose choices are the bits of Δ.
pub(crate) fn receive(
    kind: BaseOt,
    threads: NonZeroUsize,
    delta: &Delta,
    channel: &mut Channel,
    work: &mut WorkClock,
) -> Result<Vec<Key>, Error> {
    let mut rng = UnwrapErr(SysRng);
    let choices = delta.choices();
    if kind == BaseOt::MlKem768 {
        let mut receiver = work.on(|| ml_kem::Receiver::new(&choices, &TAG, &mut rng))?;
        while receiver.left() > 0 {
            channel.send(1, &work.on(|| receiver.offer_on(threads, PART)))?;
            channel.flush()?;
        }
        let answer = channel.receive(receiver.expected_bytes())?;
        return Ok(work.on(|| receiver.finish(threads, answer.payload))?);
    }
    let mut receiver = work.on(|| base::Receiver::new(&choices, &TAG, &mut rng))?;
    while receiver.left() > 0 {
        channel.send(1, &work.on(|| receiver.offer_on(threads, PART)))?;
        channel.flush()?;
    }
    let offer = channel.receive(base::Sender::MESSAGE_BYTES)?;
    Ok(work.on(|| receiver.finish(threads, offer.payload))?)
}

/// Plays the evaluator's half: the sender.
pub(crate) fn send(
    kind: BaseOt,
    threads: NonZeroUsize,
    channel: &mut Channel,
    work: &mut WorkClock,
) -> Result<Vec<[Key; 2]>, Error> {
    let mut rng = UnwrapErr(SysRng);
    if kind == BaseOt::MlKem768 {
        let mut sender = work.on(|| ml_kem::Sender::start(Delta::BITS, &TAG, &mut rng))?;
        while sender.expected_bytes() > 0 {
            let choice = channel.receive(sender.expected_bytes())?;
            work.on(|| sender.take_on(threads, choice.payload))?;
        }
        let (pairs, answer) = sender.into_answers()?;
        channel.send(1, &answer)?;
        return Ok(pairs);
    }
    let (mut sender, offer) = work.on(|| base::Sender::start(Delta::BITS, &TAG, &mut rng))?;
    channel.send(1, &offer)?;
    channel.flush()?;
    while sender.expected_bytes() > 0 {
        let choice = channel.receive(sender.expected_bytes())?;
        work.on(|| sender.take_on(threads, choice.payload))?;
    }
    Ok(sender.into_keys()?)
}
