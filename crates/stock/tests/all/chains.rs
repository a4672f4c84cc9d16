//! Chains and their kept values: what is kept, who may use it, and a loss of power at every write,
//! sync, rename and commit of either party.

use std::path::Path;
use std::sync::Arc;

use crate::crash::every_point;
use crate::parties::open;
use tacit_stock::{
    Chain, ChainAgreement, ChainMarks, ChainStatus, Memory, Policy, Role, Stock, StockError,
};

const ID: [u8; 16] = [5; 16];
const NAME: &str = "friends";

fn stock_on(disk: &Memory, role: Role) -> Result<Stock, StockError> {
    open(Arc::new(disk.clone()), Path::new("s"), role)
}

fn content(role: Role, what: &str, number: u64) -> Vec<u8> {
    let text = format!("{role:?} {what} {number} ");
    text.repeat(3000 / text.len()).into_bytes()
}

/// The state that was durable when the power failed.
#[derive(Default)]
struct Ledger {
    /// The last attempt that each party started.
    attempts: [u64; 2],
    version: u64,
    /// The number of runs. Each run gives a chain that it starts a different id.
    runs: u8,
}

/// Checks what must hold for a chain at either party between runs.
fn check(chain: &Chain, role: Role, agreed: &ChainAgreement) -> Result<(), StockError> {
    let Some(latest) = agreed.latest else {
        assert_eq!(chain.marks()?.status, ChainStatus::Absent);
        return Ok(());
    };
    let marks = chain.marks()?;
    assert_eq!((marks.latest, marks.pending), (latest, 0));
    assert_eq!(*chain.state()?, content(role, "state", marks.attempt));
    let (version, value) = chain.load("each")?;
    assert_eq!(version, latest);
    assert_eq!(*value, content(role, "each", latest));
    // A value that only some runs save stays at its last version.
    let (version, value) = chain.load("some")?;
    assert_eq!(*value, content(role, "some", version));
    assert!(version <= latest);
    Ok(())
}

/// Runs a meeting, and a run of both parties that saves.
fn once(disks: &[Memory; 2], ledger: &mut Ledger) -> Result<(), StockError> {
    let roles = Role::BOTH;
    let stocks = [
        stock_on(&disks[0], roles[0])?,
        stock_on(&disks[1], roles[1])?,
    ];
    let chains = [stocks[0].chain(NAME)?, stocks[1].chain(NAME)?];
    let told = [chains[0].marks()?, chains[1].marks()?];
    let told = told.map(|marks| ChainMarks::parse(&marks.to_bytes()).expect("as it was written"));
    let agreed = chains[0].reconcile(&told[1])?;
    assert_eq!(
        chains[1].reconcile(&told[0])?,
        agreed,
        "after the parties met"
    );
    assert!(
        agreed.latest.unwrap_or(0) >= ledger.version,
        "what was published is there"
    );
    ledger.runs += 1;
    let id = [ledger.runs; 16];
    for ((chain, role), attempt) in chains.iter().zip(roles).zip(ledger.attempts) {
        check(chain, role, &agreed)?;
        if agreed.latest.is_some() {
            assert!(chain.marks()?.attempt >= attempt, "keys went back");
        }
    }
    let attempt = agreed.next_attempt;
    let version = attempt + 1;
    if agreed.latest.is_some() {
        for ((chain, role), last) in chains.iter().zip(roles).zip(&mut ledger.attempts) {
            chain.begin_attempt(attempt, &content(role, "state", attempt))?;
            *last = attempt;
        }
    }
    for (chain, role) in chains.iter().zip(roles) {
        let mut new = match agreed.latest {
            Some(_) => chain.begin_version(version)?,
            None => chain.create(id, &Policy::default(), None, &content(role, "state", 0))?,
        };
        new.put("each", &content(role, "each", version))?;
        if version % 2 == 1 {
            new.put("some", &content(role, "some", version))?;
        }
        assert_eq!(new.finish()?, version);
    }
    chains[0].publish(version)?;
    ledger.version = version;
    chains[1].publish(version)
}

/// Cuts the power at `point` of party `who`, after `before` whole runs, and then makes three whole
/// runs.
fn lose(who: usize, point: u64, before: u64, seed: u64) -> bool {
    let mut disks = [Memory::new(), Memory::new()];
    let mut ledger = Ledger::default();
    for _ in 0..before {
        once(&disks, &mut ledger).expect("no power is lost");
    }
    disks[who].lose_power_at(disks[who].points() + point, seed);
    if once(&disks, &mut ledger).is_ok() {
        return false;
    }
    disks[who] = disks[who].restart();
    if seed & 1 == 1 {
        // The other party's power fails at the same time.
        disks[1 - who] = disks[1 - who].restart();
    }
    for _ in 0..3 {
        if let Err(error) = once(&disks, &mut ledger) {
            panic!("party {who}, point {point}, {before} runs before, seed {seed}: {error}");
        }
    }
    true
}

#[test]
fn a_first_run_survives_a_loss_at_every_point() {
    assert!(every_point(lose, 0, 0..4) >= 100);
}

#[test]
fn later_runs_survive_a_loss_at_every_point() {
    assert!(every_point(lose, 1, 4..6) + every_point(lose, 2, 6..8) >= 200);
}

#[test]
#[ignore = "long: many seeds at every point"]
fn many_seeds_at_every_point() {
    let lost = every_point(lose, 0, 10..60)
        + every_point(lose, 1, 60..110)
        + every_point(lose, 2, 110..160);
    println!("{{\"power_losses\":{lost},\"all_held\":true}}");
}

/// Checks that the chain is whole or killed. Returns whether it is killed.
fn is_killed(disk: &Memory) -> bool {
    let stock = stock_on(disk, Role::Evaluator).expect("a stock");
    let chain = stock.chain(NAME).expect("nobody has it");
    let killed = chain.marks().expect("a record").status == ChainStatus::Killed;
    match chain.load("each") {
        Ok((1, value)) => assert!(!killed && *value == content(Role::Evaluator, "each", 1)),
        Err(StockError::ChainKilled { why, .. }) => assert!(killed && why == "a copy was wrong"),
        other => panic!("{other:?}"),
    }
    killed
}

#[test]
fn a_killed_chain_stays_killed_whenever_the_power_goes() {
    let disks = [Memory::new(), Memory::new()];
    once(&disks, &mut Ledger::default()).expect("a run");
    let (mut lived, mut died) = (0, 0);
    for seed in 0..8 {
        for point in 0..1000 {
            let disk = disks[1].copy();
            let chain = |disk: &Memory| stock_on(disk, Role::Evaluator)?.chain(NAME);
            let whole = chain(&disk).expect("a chain");
            disk.lose_power_at(disk.points() + point, seed);
            let told = whole.kill("a copy was wrong").is_ok();
            drop(whole);
            let disk = disk.restart();
            let killed = is_killed(&disk);
            assert!(killed || !told, "told of a kill that was not durable");
            if killed {
                died += 1
            } else {
                lived += 1
            }
            if killed {
                let values = disk.files().into_iter();
                let left = values.filter(|file| file.to_string_lossy().contains("value-"));
                assert_eq!(left.count(), 0, "a killed chain's values are gone");
                assert!(chain(&disk).expect("a chain").state().is_err());
            }
            if told {
                break;
            }
        }
    }
    assert!(lived > 0 && died > 0, "{lived} lived, {died} died");
}

#[test]
fn a_chain_that_a_full_disk_does_not_let_be_killed_is_of_no_use() {
    let disks = [Memory::new(), Memory::new()];
    let mut ledger = Ledger::default();
    once(&disks, &mut ledger).expect("a run");
    let disk = &disks[1];
    let chain = |disk: &Memory| stock_on(disk, Role::Evaluator)?.chain(NAME);
    disk.refuse_commits(true);
    let error = chain(disk).expect("free").kill("a copy was wrong");
    let error = error.expect_err("the disk is full").to_string();
    assert!(error.contains("a copy was wrong"), "{error}");
    disk.refuse_commits(false);
    // A later user, also after a power failure, finds no state to continue from.
    for disk in [disk.copy(), disk.restart()] {
        let chain = chain(&disk).expect("free");
        for gone in [chain.state().map(drop), chain.load("each").map(drop)] {
            let error = gone.expect_err("destroyed");
            assert!(matches!(error, StockError::Corrupted { .. }), "{error}");
        }
        chain.kill("a copy was wrong").expect("room");
        assert_eq!(chain.marks().expect("a record").status, ChainStatus::Killed);
    }
}

#[test]
fn a_kill_reaches_the_other_party_when_they_meet() {
    let disks = [Memory::new(), Memory::new()];
    let mut ledger = Ledger::default();
    once(&disks, &mut ledger).expect("a run");
    let stock = stock_on(&disks[0], Role::Garbler).expect("a stock");
    stock
        .chain(NAME)
        .expect("free")
        .kill("its \ncopy was wrong")
        .expect("durable");
    let error = once(&disks, &mut ledger).expect_err("killed");
    assert!(error.to_string().contains("its copy was wrong"), "{error}");
    // The evaluator's side of the meeting above did not happen. The marks show it.
    let own = stock.chain(NAME).expect("free").marks().expect("a record");
    let other = stock_on(&disks[1], Role::Evaluator).expect("a stock");
    let other = other.chain(NAME).expect("free");
    // If the peer killed another chain of this name before it lost its disk, that ends nothing.
    let another = ChainMarks { id: [6; 16], ..own };
    let error = other.reconcile(&another).expect_err("another chain");
    assert!(matches!(error, StockError::ChainsDiffer { .. }), "{error}");
    assert_eq!(other.marks().expect("a record").status, ChainStatus::Live);
    let error = other.reconcile(&own).expect_err("killed");
    assert!(matches!(error, StockError::ChainKilled { .. }), "{error}");
    assert_eq!(other.marks().expect("a record").status, ChainStatus::Killed);
    assert!(matches!(
        other.begin_attempt(9, b""),
        Err(StockError::ChainKilled { .. })
    ));
    assert!(matches!(
        other.create(ID, &Policy::default(), None, b""),
        Err(StockError::ChainKilled { .. })
    ));
    // Owners who remove it can start again.
    other.remove().expect("removed");
    stock.chain(NAME).expect("free").remove().expect("removed");
    drop(other);
    once(&disks, &mut Ledger::default()).expect("a new chain");
}

#[test]
fn a_chain_that_went_back_is_refused() {
    let mut disks = [Memory::new(), Memory::new()];
    let mut ledger = Ledger::default();
    once(&disks, &mut ledger).expect("a run");
    let old = disks[1].copy();
    for _ in 0..2 {
        once(&disks, &mut ledger).expect("a run");
    }
    disks[1] = old;
    let error = once(&disks, &mut ledger).expect_err("an old copy");
    assert!(matches!(error, StockError::ChainsDiffer { .. }), "{error}");
    assert!(error.to_string().contains("version 3") && error.to_string().contains("version 1"));
    disks[1] = Memory::new();
    let error = once(&disks, &mut ledger).expect_err("no chain");
    assert!(error.to_string().contains("absent"), "{error}");
}

#[test]
fn a_chain_is_for_the_program_that_it_was_left_to_last() {
    let disk = Memory::new();
    let stock = stock_on(&disk, Role::Garbler).expect("a stock");
    let chain = stock.chain(NAME).expect("free");
    assert!(chain.set_program(Some([1; 32])).is_err(), "there is none");
    for program in [None, Some([1; 32])] {
        let new = chain.create(ID, &Policy::default(), program, b"state");
        new.expect("room").finish().expect("durable");
        assert_eq!(chain.program().expect("a chain"), program);
        chain.set_program(Some([2; 32])).expect("a chain");
        assert_eq!(chain.program().expect("a chain"), Some([2; 32]));
        chain.remove().expect("a chain");
    }
}

#[test]
fn values_of_every_length_come_back_and_damage_shows() {
    const PIECE: usize = 1 << 20;
    let disk = Memory::new();
    let stock = stock_on(&disk, Role::Garbler).expect("a stock");
    let chain = stock.chain(NAME).expect("free");
    let lengths = [0, 1, 511, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7];
    let value = |length: usize| -> Vec<u8> { (0..length).map(|at| (at % 251) as u8).collect() };
    let mut new = chain
        .create(ID, &Policy::default(), None, b"state")
        .expect("room");
    for length in lengths {
        new.put(&length.to_string(), &value(length)).expect("room");
    }
    assert!(new.put("0", b"twice").is_err());
    assert!(new.put("", b"").is_err());
    new.finish().expect("durable");
    assert!(
        matches!(chain.load("0"), Err(StockError::NoValue { .. })),
        "not published"
    );
    assert!(chain.publish(2).is_err());
    chain.publish(1).expect("pending");
    for length in lengths {
        assert_eq!(
            *chain.load(&length.to_string()).expect("whole").1,
            value(length)
        );
    }
    let stolen = disk.stolen();
    assert!(
        !stolen.windows(64).any(|bytes| bytes == &value(64)[..]),
        "values lie unsealed"
    );
    assert!(stock.check().expect("readable").damaged.is_empty());
    let files = disk.files().into_iter();
    let mut files = files.filter(|file| file.to_string_lossy().contains("value-"));
    let file = files.find(|file| disk.flip_bit(file, 4096 + 24 + PIECE + 16 + 30));
    assert!(file.is_some(), "a value of two pieces");
    let found = lengths.map(|length| chain.load(&length.to_string()).is_ok());
    assert_eq!(
        found.iter().filter(|whole| !**whole).count(),
        1,
        "{found:?}"
    );
    assert_eq!(stock.check().expect("readable").damaged.len(), 1);
}

#[test]
fn one_process_at_a_time_has_a_chain() {
    let disk = Memory::new();
    let stock = stock_on(&disk, Role::Garbler).expect("a stock");
    let chain = stock.chain(NAME).expect("free");
    assert!(matches!(stock.chain(NAME), Err(StockError::Busy { .. })));
    assert!(stock.chain("another").is_ok());
    drop(chain);
    let chain = stock.chain(NAME).expect("free again");
    assert!(matches!(chain.state(), Err(StockError::NoChain { .. })));
    assert!(matches!(
        chain.begin_version(1),
        Err(StockError::NoChain { .. })
    ));
    chain.kill("it is not there").expect("nothing to do");
    assert_eq!(stock.chains().expect("a list"), []);
}

#[test]
fn attempts_and_versions_only_grow() {
    let disks = [Memory::new(), Memory::new()];
    let mut ledger = Ledger::default();
    for _ in 0..3 {
        once(&disks, &mut ledger).expect("a run");
    }
    let stock = stock_on(&disks[0], Role::Garbler).expect("a stock");
    let chain = stock.chain(NAME).expect("free");
    for attempt in [0, 1, 2] {
        let error = chain
            .begin_attempt(attempt, b"")
            .expect_err("an old attempt");
        assert!(matches!(error, StockError::ApiMisuse { .. }), "{error}");
    }
    assert!(chain.begin_version(3).is_err());
    let summary = &stock.chains().expect("a list")[0];
    let values = &summary.values;
    let shown: Vec<_> = values
        .iter()
        .map(|value| (value.0.as_str(), value.1))
        .collect();
    assert_eq!(shown, [("each", 3), ("some", 3)], "older versions are gone");
    assert_eq!(summary.name, NAME);
    let who = tacit_stock::PeerId([8; 32]);
    let policy = Policy::open_to(&[who]).expect("a policy");
    chain.set_policy(&policy).expect("durable");
    assert_eq!(chain.policy().expect("a chain"), policy);
}

#[test]
fn marks_of_a_strange_peer_are_refused() {
    let marks = ChainMarks {
        status: ChainStatus::Live,
        id: ID,
        attempt: 4,
        latest: 3,
        pending: 5,
    };
    let bytes = marks.to_bytes();
    assert_eq!(bytes.len(), ChainMarks::BYTES);
    assert_eq!(ChainMarks::parse(&bytes).expect("whole"), marks);
    for cut in 0..bytes.len() {
        assert!(ChainMarks::parse(&bytes[..cut]).is_err());
    }
    let changed = |at: usize, to: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = to;
        ChainMarks::parse(&bytes)
    };
    for (at, to) in [(0, 9), (1, 3), (1, 0), (34, 3)] {
        let error = changed(at, to).expect_err("no correct peer's");
        assert!(
            matches!(error, StockError::PeerMisbehaved { .. }),
            "{error}"
        );
    }
    assert!(ChainMarks::parse(&[bytes, vec![0]].concat()).is_err());
}
