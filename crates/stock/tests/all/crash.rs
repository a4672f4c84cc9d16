//! Power lost at every write, sync, rename and commit of either party.

use std::path::Path;
use std::sync::Arc;

use crate::parties::{Ledger, open, run};
use tacit_stock::{Memory, Role, StockError};

/// Runs once from a state of two disks. Errors are those of the power failure.
fn once(disks: &[Memory; 2], ledger: &mut Ledger, tag: u64) -> Result<(), StockError> {
    let open = |disk: &Memory, role| open(Arc::new(disk.clone()), Path::new("s"), role);
    let garbler = open(&disks[0], Role::Garbler)?;
    let evaluator = open(&disks[1], Role::Evaluator)?;
    run(&garbler, &evaluator, ledger, tag)
}

/// Cuts the power at `point` of party `who`, after `before` whole runs, and then makes two whole
/// runs.
fn lose(who: usize, point: u64, before: u64, seed: u64) -> bool {
    let mut disks = [Memory::new(), Memory::new()];
    let mut ledger = Ledger::default();
    for tag in 0..before {
        once(&disks, &mut ledger, 10 * tag).expect("no power is lost");
    }
    let start = disks[who].points();
    disks[who].lose_power_at(start + point, seed);
    if once(&disks, &mut ledger, 100).is_ok() {
        return false;
    }
    disks[who] = disks[who].restart();
    if seed & 1 == 1 {
        // The other party's power fails at the same time.
        disks[1 - who] = disks[1 - who].restart();
    }
    for tag in [200, 220] {
        let used = ledger.used;
        let result = once(&disks, &mut ledger, tag);
        if let Err(error) = result {
            panic!("party {who}, point {point}, {before} runs before, seed {seed}: {error}");
        }
        assert_eq!(ledger.used, used + 4);
    }
    true
}

/// Cuts the power with `lose` at every point of a run of either party, after `before` whole runs.
/// Returns the number of points. `lose` returns whether the run was cut.
pub(crate) fn every_point(
    lose: fn(usize, u64, u64, u64) -> bool,
    before: u64,
    seeds: std::ops::Range<u64>,
) -> u64 {
    let mut lost = 0;
    for who in [0, 1] {
        for seed in seeds.clone() {
            // The run ends long before this many points.
            let points = (0..5000)
                .take_while(|point| lose(who, *point, before, seed))
                .count();
            assert!((20..5000).contains(&points), "{points} points");
            lost += points as u64;
        }
    }
    lost
}

#[test]
fn a_first_run_survives_a_loss_at_every_point() {
    assert!(every_point(lose, 0, 0..3) >= 200);
}

#[test]
fn a_later_run_survives_a_loss_at_every_point() {
    assert!(every_point(lose, 1, 3..6) >= 200);
}

#[test]
#[ignore = "long: many seeds at every point"]
fn many_seeds_at_every_point() {
    let lost = every_point(lose, 0, 10..60) + every_point(lose, 2, 60..110);
    println!("{{\"power_losses\":{lost},\"all_held\":true}}");
}

#[test]
fn a_full_disk_is_said_and_leaves_the_stock_whole() {
    let disks = [Memory::new(), Memory::new()];
    let mut ledger = Ledger::default();
    once(&disks, &mut ledger, 0).expect("room");
    for room in [10_000, 30_000, 40_000] {
        disks[1].limit_bytes(Some(room));
        let error = once(&disks, &mut ledger, 20).expect_err("no room");
        assert!(matches!(error, StockError::DiskFull { .. }), "{error}");
        disks[1].limit_bytes(None);
        once(&disks, &mut ledger, 40).expect("room again");
    }
}
