//! Stocks that were restored from a copy, on a machine that has seen later states: they are
//! refused, whatever the peer says. Tries are taken from the notes.

use std::path::Path;
use std::sync::Arc;

use crate::parties::{self, EPOCH, TABLES, id};
use tacit_stock::{
    Chain, ChainMarks, ChainStatus, EpochId, Limits, Memory, Policy, Role, RootKey, Span, Stock,
    StockError, Stocks, Tried, TryKey, TryRecord, Witness,
};

/// A machine: the disk with the stocks, and the storage outside of their folder.
struct Machine {
    stocks: Memory,
    outside: Memory,
}

impl Machine {
    fn new() -> Self {
        Self {
            stocks: Memory::new(),
            outside: Memory::new(),
        }
    }

    /// Returns the machine with an older copy of the stocks.
    fn with(&self, copy: &Memory) -> Self {
        Self {
            stocks: copy.copy(),
            outside: self.outside.clone(),
        }
    }

    fn open(&self) -> Stocks {
        let outside = Arc::new(self.outside.clone());
        let witness = Witness::open(outside, Path::new("witness")).expect("room");
        let disk = Arc::new(self.stocks.clone());
        let stocks = Stocks::open(disk, Path::new("s"), RootKey::Beside).expect("room");
        stocks.witnessed(witness)
    }

    fn stock(&self, role: Role) -> Result<Stock, StockError> {
        self.open().stock(id(role), Limits::default())
    }

    /// Creates a machine with a stock of four instances.
    fn stocked(role: Role) -> Self {
        let machine = Self::new();
        let stocks = machine.open();
        let stock = stocks.create(id(role), EPOCH, b"an offset", Limits::default());
        let stock = stock.expect("room");
        publish(&stock, role);
        machine
    }
}

/// Puts four instances into a stock.
fn publish(stock: &Stock, role: Role) {
    let preparation = stock.prepare().expect("the lock");
    let size = parties::size(role, &TABLES);
    let span = Span { first: 0, count: 4 };
    let lot = preparation.begin_lot(TABLES, size, span).expect("a lot");
    let tables = vec![6; 4 * size.table_bytes as usize];
    lot.put(0, &[5; 64], &tables).expect("room");
    lot.finish().expect("a sync");
    stock.publish(&TABLES, 0).expect("pending");
}

fn is_refused(opened: Result<Stock, StockError>) -> bool {
    matches!(opened, Err(StockError::Restored { .. }))
}

/// Both parties go back to the same day, so that their records agree.
#[test]
fn both_stocks_restored_to_one_day_are_refused() {
    for role in Role::BOTH {
        let machine = Machine::stocked(role);
        let stock = machine.stock(role).expect("as it was left");
        let backup = machine.stocks.copy();
        // One lease is enough, without any meeting after it.
        drop(stock.lease(&TABLES, 1).expect("in stock"));
        drop(machine.stock(role).expect("as it was left"));
        let restored = machine.with(&backup);
        assert!(is_refused(restored.stock(role)), "{role:?}");
        // It is still refused after others have tried, until it is dropped.
        assert!(is_refused(restored.stock(role)), "{role:?}");
        let stocks = restored.open();
        stocks.remove(&id(role)).expect("unlocked");
        let gone = restored.stock(role);
        assert!(matches!(gone, Err(StockError::Missing { .. })));
        // Another machine knows nothing about it.
        let moved = Machine {
            outside: Memory::new(),
            stocks: backup,
        };
        drop(moved.stock(role).expect("as it was left"));
    }
}

/// An epoch that ended because the peer may know Δ does not come back, even if nothing was used
/// since the copy.
#[test]
fn an_epoch_that_has_ended_does_not_come_back() {
    let machine = Machine::stocked(Role::Garbler);
    let backup = machine.stocks.copy();
    machine.open().remove(&id(Role::Garbler)).expect("unlocked");
    assert!(is_refused(machine.with(&backup).stock(Role::Garbler)));
    let machine = Machine::stocked(Role::Garbler);
    let (backup, stock) = (machine.stocks.copy(), machine.stock(Role::Garbler));
    let next = EpochId { number: 2, ..EPOCH };
    let stock = stock.expect("as it was left").new_epoch(next, b"another");
    drop(stock.expect("room"));
    drop(machine.stock(Role::Garbler).expect("as it was left"));
    assert!(is_refused(machine.with(&backup).stock(Role::Garbler)));
}

/// A crash behind the commit that begins the next epoch leaves the end of the last one to be noted.
#[test]
fn an_epoch_that_ended_in_a_crash_does_not_come_back() {
    let next = EpochId { number: 2, ..EPOCH };
    let mut ended = 0;
    for point in 0.. {
        let machine = Machine::stocked(Role::Garbler);
        let backup = machine.stocks.copy();
        let stock = machine.stock(Role::Garbler).expect("as it was left");
        let now = machine.stocks.points();
        machine.stocks.lose_power_at(now + point, point);
        if stock.new_epoch(next, b"another").is_ok() {
            break;
        }
        let restarted = machine.with(&machine.stocks.restart());
        let stock = restarted
            .stock(Role::Garbler)
            .expect("as the crash left it");
        if stock.epoch() == next {
            ended += 1;
            let back = machine.with(&backup).stock(Role::Garbler);
            assert!(is_refused(back), "power lost at {point}");
        }
    }
    assert!(ended > 0, "no crash behind the commit");
}

/// A stock whose index is damaged is dropped, and a copy of it comes back.
#[test]
fn a_damaged_stock_that_was_dropped_does_not_come_back() {
    let mut damaged = 0;
    for entry in 0.. {
        let machine = Machine::stocked(Role::Garbler);
        let backup = machine.stocks.copy();
        if !machine.stocks.change_entry(entry, 0, 0xff) {
            break;
        }
        damaged += usize::from(machine.stock(Role::Garbler).is_err());
        machine.open().remove(&id(Role::Garbler)).expect("unlocked");
        let back = machine.with(&backup).stock(Role::Garbler);
        assert!(is_refused(back), "entry {entry}");
    }
    assert!(damaged > 1, "{damaged} entries stop a stock");
}

/// The garbler names the epoch that both begin. It might name an old one, once its record is gone.
#[test]
fn an_epoch_that_was_is_not_begun_again() {
    let (machine, id) = (Machine::new(), id(Role::Evaluator));
    drop(machine.open());
    let dropped = machine.stocks.copy();
    let create = |machine: &Machine, epoch| {
        let stocks = machine.open();
        stocks.create(id, epoch, b"", Limits::default())
    };
    drop(create(&machine, EPOCH).expect("room"));
    machine.open().remove(&id).expect("unlocked");
    let machine = machine.with(&dropped);
    let refused = create(&machine, EPOCH);
    let is_refused = matches!(refused, Err(StockError::PeerMisbehaved { .. }));
    assert!(is_refused, "{refused:?}");
    // Nothing was started that would block another epoch.
    let next = EpochId { number: 2, ..EPOCH };
    drop(create(&machine, next).expect("another epoch"));
    drop(machine.stock(Role::Evaluator).expect("as it was left"));
}

/// A peer without a record has another epoch started each time it connects.
#[test]
fn epochs_that_came_to_nothing_leave_no_notes() {
    let machine = Machine::new();
    let id = id(Role::Evaluator);
    let notes = || machine.outside.files().len();
    let mut stock = machine
        .open()
        .create(id, EPOCH, b"", Limits::default())
        .expect("room");
    drop(machine.stock(Role::Evaluator).expect("as it was left"));
    let one = notes();
    for number in 2..20 {
        let next = EpochId { number, ..EPOCH };
        stock = stock.new_epoch(next, b"").expect("room");
    }
    assert!(notes() <= one, "{:?}", machine.outside.files());
}

/// An operator, or a peer that is caught, ends epoch after epoch.
#[test]
fn epochs_that_ended_leave_one_file_and_none_comes_back() {
    let machine = Machine::stocked(Role::Garbler);
    let notes = || machine.outside.files().len();
    let mut copies = Vec::new();
    let mut counts = Vec::new();
    for number in 2..8 {
        copies.push(machine.stocks.copy());
        let stock = machine.stock(Role::Garbler).expect("as it was left");
        let next = EpochId { number, ..EPOCH };
        publish(
            &stock.new_epoch(next, b"another").expect("room"),
            Role::Garbler,
        );
        counts.push(notes());
    }
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    for copy in &copies {
        assert!(is_refused(machine.with(copy).stock(Role::Garbler)));
    }
    drop(machine.stock(Role::Garbler).expect("as it was left"));
}

#[test]
fn a_restored_folder_brings_no_tries_back() {
    let machine = Machine::new();
    let key = TryKey {
        own: id(Role::Garbler).own,
        peer: id(Role::Garbler).peer,
        role: Role::Garbler,
        tried: Tried::Authenticated,
    };
    let add = |machine: &Machine| {
        let changed = machine
            .open()
            .change_tries(key, |record| record.unfinished += 1);
        changed.expect("room").unfinished
    };
    let found = |machine: &Machine| {
        let record = machine.open().change_tries(key, |_| ());
        record.expect("a record")
    };
    drop(machine.open());
    let backups = [0, 1].map(|before| {
        assert_eq!(found(&machine).unfinished, before);
        let backup = machine.stocks.copy();
        add(&machine);
        backup
    });
    assert_eq!((add(&machine), add(&machine)), (3, 4));
    for backup in &backups {
        let restored = machine.with(backup);
        assert_eq!(found(&restored).unfinished, 4);
        let listed = restored.open().tries().expect("records");
        assert!(listed.iter().all(|(_, record)| record.unfinished == 4));
    }
    let restored = machine.with(&backups[1]);
    assert_eq!(add(&restored), 5);
    assert_eq!(found(&restored).unfinished, 5);
    // An operator's clearing holds, here and in an earlier copy.
    let cleared = restored.open().change_tries(key, |record| {
        record.clear();
    });
    cleared.expect("room");
    let due = TryRecord {
        clearings: 1,
        ..TryRecord::default()
    };
    assert_eq!(found(&restored), due);
    assert_eq!(found(&machine.with(&backups[0])), due);
}

#[test]
fn a_restored_folder_gives_no_answered_keys_back() {
    let machine = Machine::new();
    let parties = [id(Role::Garbler).own, id(Role::Garbler).peer];
    let answer = |machine: &Machine, day, keys| {
        let answered = machine.open().answer_keys(parties, day, (keys, 100));
        answered.expect("room")
    };
    let count = |machine: &Machine, day| {
        let counted = machine.open().answered_keys(parties, day);
        counted.expect("a record")
    };
    assert!(answer(&machine, 7, 60));
    let backup = machine.stocks.copy();
    assert!(answer(&machine, 7, 40));
    assert!(!answer(&machine, 7, 1));
    let restored = machine.with(&backup);
    assert_eq!(count(&restored, 7), 100);
    assert!(!answer(&restored, 7, 1));
    // Another day begins with none, a clock that goes back has what was counted since, and a peer
    // of the other name has its own.
    assert!(answer(&restored, 8, 99) && !answer(&restored, 7, 2));
    assert_eq!([count(&restored, 7), count(&restored, 9)], [99, 0]);
    let others = restored
        .open()
        .answer_keys([parties[1], parties[0]], 8, (100, 100));
    assert!(others.expect("room"));
    // More than can be counted is more than any limit but the greatest.
    let most = restored
        .open()
        .answer_keys(parties, 8, (u64::MAX, u64::MAX - 1));
    assert!(!most.expect("a record"));
}

/// What was counted is there after a loss of power at any later point, and a loss while it is
/// counted leaves the count before or after.
#[test]
fn answered_keys_are_durable() {
    let parties = [id(Role::Garbler).own, id(Role::Garbler).peer];
    let machine = Machine::new();
    drop(machine.open());
    let before = machine.stocks.points();
    let answered = machine.open().answer_keys(parties, 7, (60, 100));
    assert!(answered.expect("room"));
    let points = machine.stocks.points() - before;
    assert!(points > 0);
    for (seed, point) in (0..4).flat_map(|seed| (0..=points).map(move |point| (seed, point))) {
        let machine = Machine::new();
        let stocks = machine.open();
        let at = machine.stocks.points() + point;
        machine.stocks.lose_power_at(at, seed);
        let answered = stocks.answer_keys(parties, 7, (60, 100));
        let restarted = Machine {
            stocks: machine.stocks.restart(),
            outside: Memory::new(),
        };
        let counted = restarted.open().answered_keys(parties, 7);
        let counted = counted.expect("a record");
        assert!(
            counted == 60 || (answered.is_err() && counted == 0),
            "{point}"
        );
    }
}

const NAME: &str = "total";

/// Opens a stock for chains, which works whatever was restored.
fn chain(machine: &Machine) -> Chain {
    let outside = Arc::new(machine.outside.clone());
    let witness = Witness::open(outside, Path::new("witness")).expect("room");
    let disk = Arc::new(machine.stocks.clone());
    let stocks = Stocks::open(disk, Path::new("s"), RootKey::Beside).expect("room");
    let stocks = stocks.witnessed(witness.of_chains());
    let (id, limits) = (id(Role::Garbler), Limits::default());
    let stock = match stocks.stock(id, limits) {
        Err(StockError::Missing { .. }) => stocks.create(id, EPOCH, b"", limits),
        stock => stock,
    };
    stock.expect("room").chain(NAME).expect("free")
}

fn begin(machine: &Machine, id: u8) -> ChainMarks {
    let chain = chain(machine);
    let new = chain.create([id; 16], &Policy::default(), None, b"a split");
    let version = new.expect("room").finish().expect("room");
    chain.publish(version).expect("room");
    chain.marks().expect("a record")
}

/// Both keepers of a chain go back to the same day, or one of them lies about its own record.
#[test]
fn a_restored_chain_is_refused_and_can_be_dropped() {
    let machine = Machine::new();
    let marks = begin(&machine, 7);
    let backup = machine.stocks.copy();
    chain(&machine).reconcile(&marks).expect("they agree");
    chain(&machine).begin_attempt(2, b"a state").expect("room");
    let restored = machine.with(&backup);
    let refused = chain(&restored).reconcile(&marks);
    assert!(matches!(refused, Err(StockError::ChainRolledBack { .. })));
    chain(&restored).remove().expect("unlocked");
    let marks = begin(&restored, 8);
    chain(&restored).reconcile(&marks).expect("another chain");
}

/// A peer that leaves each first run leaves a chain that both start again.
#[test]
fn chains_that_came_to_nothing_leave_no_notes() {
    let machine = Machine::new();
    let absent = chain(&machine).marks().expect("none");
    let mut notes = Vec::new();
    for id in 0..20 {
        let chain = chain(&machine);
        let new = chain.create([id; 16], &Policy::default(), None, b"a split");
        // The version is durable here, and the peer never hears of it.
        new.expect("room").finish().expect("room");
        chain.reconcile(&absent).expect("they begin anew");
        assert_eq!(chain.marks().expect("none").status, ChainStatus::Absent);
        notes.push(machine.outside.files().len());
    }
    assert_eq!(notes.first(), notes.last());
}

/// The peer was caught and the chain killed. Then its keepers restore a copy.
#[test]
fn a_killed_chain_does_not_come_back() {
    for is_removed in [false, true] {
        let machine = Machine::new();
        let marks = begin(&machine, 7);
        let backup = machine.stocks.copy();
        let ended = if is_removed {
            chain(&machine).remove()
        } else {
            chain(&machine).kill("a check failed")
        };
        ended.expect("room");
        let restored = machine.with(&backup);
        let there = chain(&restored);
        assert_eq!(there.marks().expect("a record").status, ChainStatus::Live);
        let refused = there.reconcile(&marks);
        assert!(matches!(refused, Err(StockError::ChainRolledBack { .. })));
    }
}
