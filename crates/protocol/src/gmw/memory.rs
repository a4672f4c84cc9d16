//! The memory of a run, computed without running it.

use std::collections::HashSet;

use tacit_circuit::{Role, RowProgram};
use tacit_function::Schedule;
use tacit_function::schedule::LastRead;
use tacit_kernels::Block;

use super::queue::BitQueue;
use super::rows::row_bits;
use super::stock::CrossKind;
use super::stocked::most_open;

/// Bytes of a row program for each wire of its circuit, and the additional bytes while the largest
/// program is made: [`tacit_circuit::RowProgram`].
const PROGRAM_BYTES: u64 = 12;
const COMPILING_BYTES: u64 = 25;
/// Bytes of a schedule for each group, argument and run, and for each element of the function's
/// arrays while it is made: [`Schedule`].
const GROUP_BYTES: u64 = 32;
const ARGUMENT_BYTES: u64 = 20;
const RUN_BYTES: u64 = 28;
const ELEMENT_BYTES: u64 = 16;

/// Returns an upper bound on the bytes that a party needs for a run of this schedule: the schedule,
/// the rows of active groups, values that are still read, the masks of all crosses, and a step's
/// messages. It does not include the makers of OTs and the function itself.
pub fn memory_bytes(schedule: &Schedule) -> u64 {
    values(schedule)
        .saturating_add(masks(schedule))
        .saturating_add(of_schedule(schedule))
}

/// Returns the largest size of the rows of active groups and the values that are still read, over
/// all steps.
fn values(schedule: &Schedule) -> u64 {
    let mut changes: Vec<(u32, i128)> = Vec::new();
    let mut live = |from: u32, until: u32, bytes: u64| {
        changes.push((from, bytes.into()));
        changes.push((until, -i128::from(bytes)));
    };
    let end = schedule.step_count() + 1;
    let kept_until = |last: LastRead| match last {
        LastRead::Never => None,
        LastRead::Step(step) => Some(step + 1),
        LastRead::Outputs => Some(end),
    };
    for input in schedule.inputs() {
        if let Some(until) = kept_until(input.last_read) {
            let bits = u64::from(input.rows) * row_bits(input.instances as usize) as u64;
            live(0, until, bits.div_ceil(64) * 8);
        }
    }
    for number in 0..schedule.group_count() {
        let group = schedule.group(number);
        let words = group.instances().div_ceil(64) as u64;
        live(
            group.start(),
            group.end() + 1,
            group.program().slots() as u64 * words * 8,
        );
        if let Some(until) = kept_until(group.last_read()) {
            let rows = group.program().results().len() as u64;
            let bits = rows * row_bits(group.instances()) as u64;
            live(group.end(), until.max(group.end()), bits.div_ceil(64) * 8);
        }
    }
    // Rows that start at a step are allocated before those that end at it are freed.
    changes.sort_unstable_by_key(|(step, bytes)| (*step, -bytes));
    let mut now = 0_i128;
    let most = changes.iter().map(|(_, bytes)| {
        now += bytes;
        now
    });
    u64::try_from(most.max().unwrap_or_default()).unwrap_or(u64::MAX)
}

/// Returns the size of the masks of all crosses, which may be made before the first step or come
/// from a stock, and of the longest messages of a step, once as words and once on their way.
fn masks(schedule: &Schedule) -> u64 {
    let (mut opened, mut longest) = ([0_u64; 2], 0);
    for step in schedule.steps() {
        for (all, bits) in opened.iter_mut().zip(step.bits) {
            *all = all.saturating_add(bits);
        }
        longest = step.bits[0].saturating_add(step.bits[1]).max(longest);
    }
    let ots = schedule.total_ots();
    // A cross of width w opens w bits of its sender and one bit of its receiver. For each of the w
    // bits the sender holds two bits; the receiver holds w bits and one.
    let sent = |party: usize| opened[party].saturating_sub(ots[1 - party]);
    let of = |party: usize| 2 * sent(party) + sent(1 - party) + ots[1 - party];
    let made = of(0).max(of(1)).div_ceil(8);
    made.max(stocked(schedule))
        .saturating_add(2 * longest.div_ceil(8))
}

/// Returns an upper bound on the bytes of masks from a stock, the same at both parties: two bits of
/// a narrow cross, and two blocks of a wide one, whatever its number of gates. Wide ones are there
/// twice while more of them are opened.
pub(super) fn stocked(schedule: &Schedule) -> u64 {
    let of = |sender| {
        let [narrow, wide] = CrossKind::ALL.map(|kind| most_open(schedule, kind, sender));
        let wide = wide.saturating_mul(2 * Block::BYTES as u64);
        BitQueue::memory_bytes(narrow).saturating_add(wide)
    };
    let halves = Role::BOTH.map(of).into_iter();
    halves.fold(0, |sum: u64, half| {
        sum.saturating_add(half.saturating_mul(2))
    })
}

/// Returns the size of the schedule and its programs.
fn of_schedule(schedule: &Schedule) -> u64 {
    let (mut known, mut largest, mut bytes) = (HashSet::new(), 0, 0_u64);
    for number in 0..schedule.group_count() {
        let group = schedule.group(number);
        if known.insert(std::ptr::from_ref::<RowProgram>(group.program())) {
            let wires = group.component().circuit().wire_count() as u64;
            largest = wires.max(largest);
            bytes = bytes.saturating_add(PROGRAM_BYTES * wires);
        }
        bytes = bytes.saturating_add(GROUP_BYTES);
        for argument in group.arguments() {
            bytes =
                bytes.saturating_add(ARGUMENT_BYTES + RUN_BYTES * argument.runs().count() as u64);
        }
    }
    bytes
        .saturating_add(ELEMENT_BYTES.saturating_mul(schedule.element_count()))
        .saturating_add(COMPILING_BYTES * largest)
}
