//! Both parties' rows compared with the frozen messages and with evaluation in the clear.

use core::num::NonZeroUsize;
use core::ops::Range;

use proptest::prelude::*;
use tacit_circuit::{Owners, Role};
use tacit_function::Schedule;
use tacit_function::samples::{
    FrozenSchedule, Sample, array_sample, frozen_schedules, random_sample,
};
use tacit_function::schedule::{Limits, StepWork};

use super::{CrossMasks, CrossOts, OpenedBits, Rows};
use crate::bits::pack;
use crate::gmw::tests::functions::wide_function;

/// One party's halves of ideal OTs, as the header of the frozen messages defines them.
struct Dealt(Role);

/// Returns bit `which` (r, α, b) of an OT.
fn dealt(sender: Role, number: u64, gate: u64, which: u64) -> u64 {
    let mixed = number.wrapping_mul(2_654_435_761)
        + gate * 40503 * 65539
        + which * 97003
        + sender as u64 * 7919
        + 12345;
    u64::from((mixed as u32).wrapping_mul(2_246_822_519) >> 31)
}

impl CrossMasks for Dealt {
    type Room = ();

    fn rows(&self, cross: &CrossOts, of: Range<usize>, (): &mut (), into: [&mut [u64]; 2]) {
        let [first, second] = into;
        assert!(of.start.is_multiple_of(128) && of.end <= cross.instances);
        let words = of.len().div_ceil(64);
        let sends = cross.sender == self.0;
        assert_eq!(first.len(), words * if sends { cross.width } else { 1 });
        assert_eq!(second.len(), words * cross.width);
        // Bits after the last instance may have any value.
        first.fill(u64::MAX);
        second.fill(u64::MAX);
        let set = |row: &mut [u64], i: usize, bit: u64| {
            row[i / 64] = row[i / 64] & !(1 << (i % 64)) | bit << (i % 64);
        };
        for (i, number) in (0..of.len()).zip(cross.number + of.start as u64..) {
            let b = dealt(cross.sender, number, 0, 2);
            for gate in 0..cross.width {
                let of = |which| dealt(cross.sender, number, gate as u64, which);
                let rows = gate * words..(gate + 1) * words;
                if sends {
                    set(&mut first[rows.clone()], i, of(0));
                    set(&mut second[rows], i, of(1));
                } else {
                    set(first, i, b);
                    set(&mut second[rows], i, of(0) ^ b & of(1));
                }
            }
        }
    }
}

/// The messages of a run: those of each step, and those with the results for either party.
#[derive(PartialEq)]
struct Sent {
    steps: Vec<(StepWork, [Vec<u8>; 2])>,
    results: [Vec<u8>; 2],
    /// The results of all outputs.
    values: Vec<bool>,
}

fn run(sample: &Sample) -> Sent {
    run_on(sample, [1, 1])
}

/// Runs both parties, each on this number of threads.
fn run_on(sample: &Sample, threads: [usize; 2]) -> Sent {
    let schedule = Schedule::new(&sample.function, &sample.owners, sample.limits).unwrap();
    let mut parties = Role::BOTH.map(|role| {
        let owners = sample.owners_of_bits();
        let shares = sample
            .shares
            .iter()
            .map(|shares| shares[role as usize])
            .zip(owners);
        let mine = shares.filter(|(_, owners)| owners.is_public() || owners.includes(role));
        let mut mine = mine.map(|(share, _)| share);
        let threads = NonZeroUsize::new(threads[role as usize]).unwrap();
        let rows = Rows::new(&schedule, role, threads, |_| mine.next().unwrap());
        assert_eq!(mine.next(), None, "each share is asked for");
        rows
    });
    let mut steps = Vec::new();
    while let Some(step) = parties[0].step().cloned() {
        let sent = Role::BOTH.map(|role| {
            let mut opened = OpenedBits::default();
            parties[role as usize].open(&Dealt(role), &mut opened);
            opened.to_bytes()
        });
        for role in Role::BOTH {
            let peer = words_of_bytes(&sent[role.other() as usize]);
            parties[role as usize].absorb(&Dealt(role), &peer);
        }
        steps.push((step, sent));
    }
    let results = Role::BOTH.map(|role| {
        let shares = parties[role.other() as usize].results(sample.outputs_to(role));
        pack(&shares)
    });
    let all = 0..sample.function.outputs().len();
    let [a, b] = parties.map(|party| party.results(all.clone()));
    let values = a.iter().zip(&*b).map(|(a, b)| a ^ b).collect();
    Sent {
        steps,
        results,
        values,
    }
}

/// Converts bytes to words. The last word is filled up with zeros.
fn words_of_bytes(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if digits.is_empty() {
        "-".to_owned()
    } else {
        digits
    }
}

#[test]
fn messages_are_the_frozen_ones() {
    for FrozenSchedule {
        name,
        sample,
        lines,
    } in frozen_schedules()
    {
        let sent = run(&sample);
        let steps = lines.iter().filter_map(|line| line.split_once(" sent "));
        let mut steps = steps.map(|(_, sent)| sent.to_owned());
        for (step, [a, b]) in &sent.steps {
            let found = format!("{} {}", hex(a), hex(b));
            assert_eq!(Some(found), steps.next(), "{name}, step {}", step.number);
        }
        assert_eq!(steps.next(), None);
        let [a, b] = &sent.results;
        let expected = lines.last().and_then(|line| line.split_once(" results "));
        let expected = expected.expect("messages with results").1;
        assert_eq!(format!("{} {}", hex(a), hex(b)), expected, "{name}");
        assert_eq!(sent.values, sample.evaluate(), "{name}");
    }
}

#[test]
fn elements_at_any_distance_are_gathered() {
    for rows in [1, 1 << 23] {
        let mut sample = array_sample();
        sample.limits.rows = rows;
        assert_eq!(run(&sample).values, sample.evaluate());
    }
}

/// Calls of several parts, whose last one ends within a word: messages, results and values do not
/// depend on the number of threads.
#[test]
fn messages_and_results_are_the_same_on_any_number_of_threads() {
    for calls in [1000, 4097, 9000] {
        let sample = wide_sample(calls);
        let expected = run_on(&sample, [1, 1]);
        assert_eq!(expected.values, sample.evaluate(), "{calls} calls");
        for threads in [[2, 1], [3, 8], [16, 5]] {
            assert!(
                run_on(&sample, threads) == expected,
                "{calls} calls on {threads:?}"
            );
        }
    }
}

fn wide_sample(calls: u64) -> Sample {
    let bit = |number: u32| number.wrapping_mul(2_654_435_761) >> 31 == 1;
    let bits = 8 * calls as u32;
    Sample {
        function: wide_function(calls),
        owners: vec![Owners::of(Role::Garbler), Owners::of(Role::Evaluator)],
        shares: (0..2 * bits)
            .map(|i| [i < bits && bit(i), i >= bits && bit(i)])
            .collect(),
        limits: Limits::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn both_parties_shares_are_of_the_results(seed in any::<u64>()) {
        let sample = random_sample(seed);
        let sent = run(&sample);
        prop_assert_eq!(sent.values, sample.evaluate());
        for (step, messages) in sent.steps {
            for role in Role::BOTH {
                let bits = step.bits[role as usize];
                let message = &messages[role as usize];
                prop_assert_eq!(message.len() as u64, bits.div_ceil(8));
                let padding = message.last().map_or(0, |byte| byte >> ((bits - 1) % 8) >> 1);
                prop_assert_eq!(padding, 0, "bits behind the last instance are sent");
            }
        }
    }
}
