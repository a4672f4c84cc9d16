//! The steps of a schedule, one by one.

use core::iter::Peekable;
use core::slice;

use super::{Schedule, add_times};

/// A group that advances one layer in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtWork {
    /// The group's number.
    pub group: u32,
    /// The layer, from 1.
    pub layer: u32,
}

/// The exchange of a step. Arrays have an entry for each [`Role`](crate::Role), by its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepWork {
    /// The step's number, from 0.
    pub number: u32,
    /// The groups at work, in the order of their bits in the messages.
    pub at_work: Vec<AtWork>,
    /// The OTs that earlier steps use, by their sender. This step's numbers start here.
    pub ots_before: [u64; 2],
    /// The OTs that the step uses, by their sender.
    pub ots: [u64; 2],
    /// The part of these OTs that belongs to crosses with one gate.
    pub narrow_ots: [u64; 2],
    /// The bits of the step's message, by its sender.
    pub bits: [u64; 2],
}

/// The steps of a schedule, in order. [`Schedule::steps`] creates it.
#[derive(Clone, Debug)]
pub struct Steps<'s> {
    schedule: &'s Schedule,
    starts: Peekable<slice::Iter<'s, u32>>,
    /// The groups at work, in the order of their numbers.
    at_work: Vec<u32>,
    next: u32,
    ots: [u64; 2],
}

impl<'s> Steps<'s> {
    pub(super) fn new(schedule: &'s Schedule) -> Self {
        Self {
            schedule,
            starts: schedule.starts.iter().peekable(),
            at_work: Vec::new(),
            next: 0,
            ots: [0; 2],
        }
    }
}

impl Iterator for Steps<'_> {
    type Item = StepWork;

    fn next(&mut self) -> Option<StepWork> {
        let (schedule, step) = (self.schedule, self.next);
        if step >= schedule.steps {
            return None;
        }
        self.next += 1;
        let at_work = &mut self.at_work;
        at_work.retain(|number| schedule.group(*number).end() > step);
        let before = at_work.len();
        let starts = |number: &&u32| schedule.group(**number).start() <= step;
        while let Some(number) = self.starts.next_if(starts) {
            if schedule.group(*number).program().depth() > 0 {
                at_work.push(*number);
            }
        }
        if at_work.len() > before {
            at_work.sort_unstable();
        }
        let mut work = StepWork {
            number: step,
            ots_before: self.ots,
            ..StepWork::default()
        };
        for number in at_work {
            let group = schedule.group(*number);
            let layer = step - group.start() + 1;
            let (instances, outline) = (group.instances(), group.program().outline(layer));
            add_times(&mut work.ots, instances, outline.ots);
            add_times(&mut work.narrow_ots, instances, outline.narrow_ots);
            add_times(&mut work.bits, instances, outline.opened_bits);
            work.at_work.push(AtWork {
                group: *number,
                layer,
            });
        }
        add_times(&mut self.ots, 1, work.ots);
        Some(work)
    }
}
