//! Each message of each protocol, from either side, under each fault.
//!
//! It is a program of its own, since these tests occupy a machine with many threads: other tests at
//! the same time would exceed their limits.

mod direct;
mod kept;
mod liar;
mod malicious;
mod outsourced;
mod prepared;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The number of cases at once: most of them wait for a timeout or for a disk.
const THREADS: usize = 24;

/// The lock of the test whose cases run: the cases of two tests would wait for each other.
static ALONE: Mutex<()> = Mutex::new(());

/// Judges all cases, the last first. There must be at least `least`. `judge` returns the problem of
/// a case, if there is one, and a description of its end.
fn judge_each<C: Send>(
    cases: Vec<C>,
    least: usize,
    judge: impl Fn(&C) -> (Option<String>, String) + Sync,
) {
    let total = cases.len();
    assert!(total >= least, "only {total} cases");
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (queue, wrong) = (Mutex::new(cases), Mutex::new(Vec::new()));
    let tally = Mutex::new(BTreeMap::<String, usize>::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(case) = pop(&queue) {
                    let (failure, ended) = judge(&case);
                    wrong.lock().expect("no panic").extend(failure);
                    *tally.lock().expect("no panic").entry(ended).or_default() += 1;
                }
            });
        }
    });
    let tally = tally.into_inner().expect("no panic");
    println!("{total} cases: {tally:#?}");
    let wrong = wrong.into_inner().expect("no panic");
    assert!(
        wrong.is_empty(),
        "{} of {total}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(tally.values().sum::<usize>(), total);
}

fn pop<T>(queue: &Mutex<Vec<T>>) -> Option<T> {
    queue.lock().ok()?.pop()
}
