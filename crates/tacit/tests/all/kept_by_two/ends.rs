//! The end of chains, including those in use, with a stock that is destroyed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tacit::protocols::Protocol;
use tacit::stock::{Preparation, Stocks};
use tacit::{Function, Role};
use tacit_stock::Memory;

use super::{BY_TWO, CHAIN, Parties, add, begin_by, both};

/// A party destroys a stock because it suspects that the peer knows its Δ. From the rows that bring
/// a value into a run, that peer would learn the next Δ, too.
#[test]
fn a_chain_ends_with_the_stock_that_is_destroyed() {
    let parties = Parties::in_folders(Protocol::Prepared);
    both(parties.begin(10));
    for party in [0, 1] {
        let stocks = parties.stocks(party).expect("power");
        let names = stocks.list().expect("a list");
        let ended = names
            .iter()
            .flat_map(|name| stocks.end_epoch(name).expect("nobody uses it"));
        assert_eq!(ended.collect::<Vec<_>>(), [CHAIN]);
    }
    for refused in parties.add(1) {
        let error = refused.expect_err("a chain that has ended").to_string();
        assert!(
            error.contains("was destroyed") || error.contains("stopped"),
            "{error}"
        );
    }
}

/// Runs of one chain take turns, whichever party's chain each of them holds first.
#[test]
fn a_second_run_of_a_busy_chain_waits_for_the_first() {
    for protocol in BY_TWO {
        let parties = &Parties::under(protocol);
        both(parties.begin(10));
        std::thread::scope(|scope| {
            let runs = [(); 4].map(|()| scope.spawn(|| both(parties.add(1))));
            for run in runs {
                run.join().expect("it had its turn");
            }
        });
        assert_eq!(parties.look(), 14, "{}", protocol.name());
    }
}

/// A run holds its chain, so that nobody else can open it. The chain is killed all the same. Values
/// that a run starts to keep after its stock is destroyed would be under the Δ that nobody may use
/// again, whether the peer keeps them as well or leaves this party with a pending version.
#[test]
fn a_stock_that_is_destroyed_during_a_run_ends_its_chain() {
    for (begins, breaks) in [(false, false), (true, false), (true, true)] {
        // Only storage in memory can refuse.
        let parties = if breaks {
            Parties::new()
        } else {
            Parties::in_folders(Protocol::Prepared)
        };
        let (function, input) = if begins {
            (begin_by(Role::Evaluator, "u8"), "first")
        } else {
            (add(), "step")
        };
        if !begins {
            both(parties.begin(10));
        }
        let prepared = parties.meet(|party, session, stocks| {
            let order = Preparation::new(Role::BOTH[party]).enough_for(&function, 1)?;
            order.run(session, stocks).map(drop)
        });
        for made in prepared {
            made.expect("room");
        }
        let destroyed = parties.run_as(&function, |party, job| match party {
            0 => {
                let stocks = parties.stocks(0).expect("a folder");
                job.chain(CHAIN).watch_taken(move |_| {
                    for name in stocks.list().expect("a list") {
                        stocks.end_epoch(&name).expect("nobody prepares");
                    }
                })
            }
            _ => {
                let disk = parties.disks[1].clone();
                let job = job.watch_taken(move |_| disk.refuse_commits(breaks));
                job.chain(CHAIN).input(input, 1_u8)
            }
        });
        for ended in destroyed {
            let error = ended.expect_err("no stock").to_string();
            assert!(!error.contains("misbehaved"), "{error}");
        }
        let chains = parties.stocks(0).expect("a folder").chains();
        for chain in chains.expect("a folder") {
            assert!(chain.summary.killed.is_some(), "{begins} {breaks}");
        }
        // No run continues from it either, whatever is left of a chain that was started.
        parties.disks[1].refuse_commits(false);
        for refused in parties.add(1) {
            refused.expect_err("no chain");
        }
    }
}

/// A run in a chain, during which something happens to the garbler.
struct OneRun {
    parties: Parties,
    function: Function,
    /// The evaluator's input.
    input: &'static str,
}

impl OneRun {
    /// Creates two parties with what a run takes that starts a chain, or continues one.
    fn new(begins: bool) -> Self {
        let parties = Parties::new();
        let (function, input) = if begins {
            (begin_by(Role::Evaluator, "u8"), "first")
        } else {
            (add(), "step")
        };
        if !begins {
            both(parties.begin(10));
        }
        let prepared = parties.meet(|party, session, stocks| {
            let order = Preparation::new(Role::BOTH[party]).enough_for(&function, 1)?;
            order.run(session, stocks).map(drop)
        });
        for made in prepared {
            made.expect("room");
        }
        Self {
            parties,
            function,
            input,
        }
    }

    /// Returns the same on disks of their own.
    fn copy(&self) -> Self {
        let parties = self.parties.copy();
        Self {
            parties,
            function: self.function.clone(),
            ..*self
        }
    }

    /// Runs, and calls `during` at the garbler when it has everything that the run takes. Returns,
    /// for each chain that the garbler has after a restart, the reason why it was killed.
    fn run(&self, during: impl Fn(&Stocks, &Memory) + Sync) -> Vec<Option<String>> {
        let disk = &self.parties.disks[0];
        let (during, is_done) = (&during, &AtomicBool::new(false));
        let _ended = self
            .parties
            .run_as(&self.function, |party, job| match party {
                0 => {
                    let stocks = self.parties.stocks(0).expect("a folder");
                    let job = job.chain(CHAIN);
                    job.watch(move |_| {
                        if !is_done.swap(true, Ordering::Relaxed) {
                            during(&stocks, disk);
                        }
                    })
                }
                _ => job.chain(CHAIN).input(self.input, 1_u8),
            });
        let storage = Arc::new(disk.restart());
        let stocks = Stocks::over(storage, Path::new("stocks"), 1 << 30).expect("power");
        let chains = stocks.chains().unwrap_or_default();
        chains
            .into_iter()
            .map(|chain| chain.summary.killed)
            .collect()
    }
}

/// The peer would like a chain under a Δ that it knows. It could get one if the power failed after
/// the run keeps a version and before it looks at its stock.
#[test]
fn a_loss_of_power_leaves_no_chain_under_a_stock_that_was_destroyed() {
    let start = OneRun::new(true);
    for offset in 0..24 {
        let killed = start.copy().run(|stocks, disk| {
            for name in stocks.list().expect("a list") {
                stocks.end_epoch(&name).expect("nobody prepares");
            }
            disk.lose_power_at(disk.points() + offset, offset);
        });
        assert!(killed.iter().all(Option::is_some), "{offset} points later");
    }
}

/// An unreadable stock does not show that the stock was destroyed: the recorded reason for a killed
/// chain must be what happened.
#[test]
fn a_stock_that_cannot_be_read_is_not_one_that_was_destroyed() {
    let start = OneRun::new(false);
    let damaged = AtomicBool::new(true);
    let mut entry = 0;
    while damaged.load(Ordering::Relaxed) {
        let killed = start.copy().run(|_, disk| {
            damaged.store(disk.change_entry(entry, 0, 1), Ordering::Relaxed);
        });
        for why in killed.into_iter().flatten() {
            assert!(!why.contains("was destroyed"), "entry {entry}: {why}");
        }
        entry += 1;
    }
    assert!(entry > 2, "{entry} entries");
}
