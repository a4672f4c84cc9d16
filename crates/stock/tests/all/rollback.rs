//! Stocks that are restored from old copies, damaged, or of other parties: found, named, never
//! used.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::parties::{self, EPOCH, Ledger, OTS, TABLES, id, open, run};
use tacit_stock::{
    ComponentDigest, EpochId, KindMarks, Limits, MAX_KINDS, Marks, Memory, PeerId, Repair, Role,
    RootKey, Span, Stock, StockError, Stocks, Whose,
};

struct Pair {
    disks: [Memory; 2],
    ledger: Ledger,
}

impl Pair {
    fn new() -> Self {
        let disks = [Memory::new(), Memory::new()];
        let ledger = Ledger::default();
        let mut pair = Self { disks, ledger };
        pair.run(0);
        pair
    }

    fn open(&self) -> [Stock; 2] {
        let roles = Role::BOTH;
        [0, 1].map(|who| {
            let disk = Arc::new(self.disks[who].clone());
            open(disk, Path::new("s"), roles[who]).expect("a stock")
        })
    }

    fn run(&mut self, tag: u64) {
        let [garbler, evaluator] = self.open();
        run(&garbler, &evaluator, &mut self.ledger, tag).expect("all is well");
    }

    fn file(&self, who: usize, name: &str) -> PathBuf {
        let files = self.disks[who].files();
        let has = |file: &&PathBuf| file.to_string_lossy().contains(name);
        files.iter().find(has).expect("such a file").clone()
    }
}

fn rolled_back(result: Result<tacit_stock::Agreement, StockError>) -> Whose {
    match result {
        Err(StockError::RolledBack { whose, .. }) => whose,
        other => panic!("expected a rollback, found {other:?}"),
    }
}

#[test]
fn a_restored_copy_is_seen_by_both() {
    for who in [0, 1] {
        let mut pair = Pair::new();
        let old = pair.disks[who].copy();
        pair.run(50);
        pair.disks[who] = old;
        let stocks = pair.open();
        let marks = [0, 1].map(|who| stocks[who].marks().expect("marks"));
        assert_eq!(
            rolled_back(stocks[who].reconcile(&marks[1 - who])),
            Whose::Ours
        );
        assert_eq!(
            rolled_back(stocks[1 - who].reconcile(&marks[who])),
            Whose::Peers
        );
        assert_eq!(
            stocks[who].marks().expect("marks"),
            marks[who],
            "nothing was changed"
        );
    }
}

#[test]
fn a_new_epoch_is_the_remedy() {
    let pair = Pair::new();
    let [garbler, evaluator] = pair.open();
    let next = EpochId::generate(EPOCH.number).expect("randomness");
    let old = garbler.clone();
    let garbler = garbler
        .new_epoch(next, b"a new offset")
        .expect("a later epoch");
    let marks = evaluator.marks().expect("marks");
    assert!(matches!(
        garbler.reconcile(&marks),
        Err(StockError::UnknownEpoch { .. })
    ));
    assert!(matches!(
        old.lease(&TABLES, 1),
        Err(StockError::EpochEnded { .. })
    ));
    let evaluator = evaluator.new_epoch(next, b"").expect("a later epoch");
    let meeting = garbler
        .reconcile(&evaluator.marks().expect("marks"))
        .expect("they agree");
    assert!(meeting.kinds.is_empty());
    assert!(
        evaluator.new_epoch(EPOCH, b"").is_err(),
        "an epoch does not come back"
    );
    let old: Vec<PathBuf> = pair.disks[0].files();
    let number = format!("epoch-{:020}-03", EPOCH.number);
    assert!(
        !old.iter()
            .any(|file| file.to_string_lossy().contains(&number)),
        "{old:?}"
    );
}

#[test]
fn a_lying_peer_is_told_so() {
    let pair = Pair::new();
    let [garbler, evaluator] = pair.open();
    let honest = evaluator.marks().expect("marks");
    let mut lies: Vec<Marks> = (0..3).map(|_| honest.clone()).collect();
    lies[0].kinds[0].leased = 1 << 30;
    lies[1].kinds[0].chain[0] ^= 1;
    lies[2].kinds[0].published += 1;
    for lie in lies {
        assert!(garbler.reconcile(&lie).is_err());
    }
    garbler.reconcile(&honest).expect("the truth");
    for span in [(100, 1), (0, 1), (u64::MAX, 2), (5, 0), (6, u64::MAX)] {
        let span = Span {
            first: span.0,
            count: span.1,
        };
        assert!(garbler.lease_spans(&TABLES, &[span]).is_err(), "{span}");
    }
}

/// Both parties continue from the higher number. A peer that claims the highest number would end
/// every later preparation of the kind.
#[test]
fn a_peer_does_not_use_up_the_numbers_of_a_kind_by_a_word() {
    let pair = Pair::new();
    let [garbler, evaluator] = pair.open();
    let (honest, before) = (evaluator.marks(), garbler.marks().expect("marks"));
    let honest = honest.expect("marks");
    let mut here = honest.clone();
    here.kinds[0].reserved = 1 << 32;
    let mut absent = honest.clone();
    absent.kinds.push(KindMarks {
        kind: ComponentDigest([0xff; 32]),
        reserved: 1 << 32,
        leased: 0,
        published: 0,
        chain: [0; 32],
        pending: Vec::new(),
        withdrawn: Vec::new(),
    });
    for lie in [here, absent] {
        let refused = garbler.reconcile(&lie).expect_err("no honest number");
        assert!(
            matches!(refused, StockError::PeerMisbehaved { .. }),
            "{refused}"
        );
        assert_eq!(garbler.marks().expect("marks"), before);
    }
    // A lot that only the peer has started.
    let mut ahead = honest;
    ahead.kinds[0].reserved += 1 << 14;
    let agreed = garbler.reconcile(&ahead).expect("a lot that failed");
    assert_eq!(agreed.kinds[0].next_number, ahead.kinds[0].reserved);
}

/// A session reserves memory for the longest record, before it knows the peer.
#[test]
fn the_longest_record_of_all_kinds_fits_a_message() {
    let (pair, spans) = (Pair::new(), |count: u64| {
        let span = |first| Span { first, count: 1 };
        (0..count)
            .map(|number| span(2 * number))
            .collect::<Vec<_>>()
    });
    let mut marks = pair.open()[0].marks().expect("marks");
    let one = marks.kinds[0].clone();
    let kinds = (0..MAX_KINDS as u32).map(|number| {
        let mut kind = [0; 32];
        kind[..4].copy_from_slice(&number.to_be_bytes());
        KindMarks {
            kind: ComponentDigest(kind),
            reserved: 1 << 20,
            // Each of eight kinds has as many ranges as a message may have for one kind, and each
            // kind has some pending lots.
            withdrawn: spans(if number < 8 { 1024 } else { 0 }),
            pending: spans(2),
            ..one.clone()
        }
    });
    marks.kinds = kinds.collect();
    let bytes = marks.to_bytes();
    assert!(bytes.len() <= Marks::MAX_BYTES, "{}", bytes.len());
    assert_eq!(Marks::parse(&bytes).expect("its own message"), marks);
}

#[test]
fn a_message_parses_to_itself_and_no_cut_of_it_does() {
    let marks = Pair::new().open()[0].marks().expect("marks");
    let bytes = marks.to_bytes();
    assert_eq!(Marks::parse(&bytes).expect("its own message"), marks);
    for end in 0..bytes.len() {
        assert!(matches!(
            Marks::parse(&bytes[..end]),
            Err(StockError::PeerMisbehaved { .. })
        ));
    }
    assert!(Marks::parse(&[bytes, vec![0]].concat()).is_err());
}

#[test]
fn a_flipped_bit_is_found_withdrawn_and_never_used() {
    let pair = Pair::new();
    let file = pair.file(1, "lot-0000-0000000004.seg");
    // This bit is in the tables of the lot's second instance.
    assert!(pair.disks[1].flip_bit(&file, 160 + 1532 + 700));
    let [garbler, evaluator] = pair.open();
    let report = evaluator.check().expect("it can be checked");
    let [damage] = &report.damaged[..] else {
        panic!("one byte, found {:?}", report.damaged);
    };
    let one = Span { first: 5, count: 1 };
    assert!(damage.withdrawn);
    assert_eq!(damage.instances, Some((TABLES, one)));
    let message = damage.error.to_string();
    assert!(message.contains("lot-0000-0000000004.seg"), "{message}");
    // A remedy that has been carried out is not advised.
    let repair = Repair::Withdrawn;
    assert!(
        matches!(&damage.error, StockError::Corrupted { repair: found, .. } if *found == repair)
    );
    // The rest of its lot stays, at both parties.
    let agreed = garbler
        .reconcile(&evaluator.marks().expect("marks"))
        .expect("they agree");
    let tables = agreed
        .kinds
        .iter()
        .find(|kind| kind.kind == TABLES)
        .expect("a kind");
    assert_eq!(tables.available, 1);
    assert_eq!(evaluator.available(&TABLES).expect("a count"), 1);
    assert!(matches!(
        evaluator.lease(&TABLES, 2),
        Err(StockError::Exhausted { available: 1, .. })
    ));
    let lease = evaluator.lease(&TABLES, 1).expect("the rest of the lot");
    let spans: Vec<Span> = lease.spans().collect();
    let followed = garbler.lease_spans(&TABLES, &spans).expect("both have it");
    parties::use_both(followed, lease, &mut Ledger::default()).expect("whole");
    evaluator.lease(&OTS, 2).expect("the rest is whole");
    // A second check finds nothing more.
    assert!(evaluator.check().expect("a check").damaged.is_empty());
}

#[test]
fn a_lot_that_is_damaged_all_over_is_withdrawn_as_a_whole() {
    let pair = Pair {
        disks: [Memory::new(), Memory::new()],
        ledger: Ledger::default(),
    };
    let [garbler, evaluator] = pair.open();
    let preparations = [&garbler, &evaluator].map(|stock| stock.prepare().expect("free"));
    parties::prepare_lot(preparations.each_ref(), OTS, (0, 100), 1).expect("room");
    let file = pair.file(1, "lot-0000-0000000000.seg");
    for number in (0..100).step_by(4) {
        assert!(pair.disks[1].flip_bit(&file, 160 + number * 32));
    }
    let report = evaluator.check().expect("it can be checked");
    let whole = Span {
        first: 0,
        count: 100,
    };
    let found = report.damaged.iter().map(|damage| damage.instances);
    assert_eq!(found.collect::<Vec<_>>(), [Some((OTS, whole))]);
    assert_eq!(report.whole, 0);
    let marks = evaluator.marks().expect("marks");
    let agreed = garbler.reconcile(&marks).expect("they agree");
    assert_eq!(agreed.kinds[0].available, 0);
}

#[test]
fn an_instance_that_was_withdrawn_since_the_parties_met_is_no_fault_of_the_peers() {
    let pair = Pair::new();
    let [garbler, evaluator] = pair.open();
    let file = pair.file(0, "lot-0000-0000000004.seg");
    assert!(pair.disks[0].flip_bit(&file, 160 + 32 + 3));
    let report = garbler.check().expect("it can be checked");
    assert!(report.damaged[0].withdrawn);
    let lease = evaluator.lease(&TABLES, 1).expect("it knows of nothing");
    let spans: Vec<Span> = lease.spans().collect();
    let refused = garbler.lease_spans(&TABLES, &spans);
    assert!(
        matches!(refused, Err(StockError::Corrupted { .. })),
        "{refused:?}"
    );
}

/// A peer that cheated cannot get what was set aside by naming it.
#[test]
fn a_peer_that_names_what_was_set_aside_does_not_get_it() {
    let pair = Pair::new();
    let [garbler, _] = pair.open();
    let set_aside = garbler.set_aside(&TABLES, 5).expect("a lot");
    assert!(set_aside.is_some());
    for first in [5, 6] {
        let refused = garbler.lease_spans(&TABLES, &[Span { first, count: 1 }]);
        assert!(
            matches!(refused, Err(StockError::Corrupted { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(garbler.set_aside(&TABLES, 5).expect("a lot"), None);
    assert_eq!(garbler.available(&TABLES).expect("a count"), 0);
}

#[test]
fn damage_that_no_check_found_is_found_when_it_is_read() {
    let pair = Pair::new();
    let file = pair.file(1, "lot-0000-0000000004.seg");
    assert!(pair.disks[1].flip_bit(&file, 160 + 1532 + 700));
    let evaluator = &pair.open()[1];
    // Instance 4 was leased. Instance 5 is damaged, and 6 is whole.
    let lease = evaluator.lease(&TABLES, 2).expect("in stock");
    let read: Vec<Result<u64, StockError>> = lease
        .instances()
        .map(|read| read.map(|instance| instance.number()))
        .collect();
    assert!(
        matches!(read[0], Err(StockError::Corrupted { .. })),
        "{read:?}"
    );
    assert!(matches!(read[1], Ok(6)), "{read:?}");
}

#[test]
fn missing_files_are_named() {
    let pair = Pair::new();
    let disk = &pair.disks[1];
    let lot = pair.file(1, "lot-0000-0000000004.seg");
    tacit_stock::Storage::remove(disk, &lot).expect("it was there");
    let [_, evaluator] = pair.open();
    let error = evaluator
        .lease(&TABLES, 1)
        .expect_err("its file is missing");
    assert!(error.to_string().contains("absent"), "{error}");
    assert_eq!(evaluator.check().expect("a check").damaged.len(), 1);
    for name in ["keys", "root.key"] {
        let disk = pair.disks[1].copy();
        tacit_stock::Storage::remove(&disk, &pair.file(1, name)).expect("it was there");
        let error = open(Arc::new(disk), Path::new("s"), Role::Evaluator).expect_err("missing");
        let found = matches!(error, StockError::Corrupted { .. });
        assert!(found && error.to_string().contains(name), "{error}");
    }
}

#[test]
fn damaged_keys_and_other_owners_are_refused() {
    let pair = Pair::new();
    for (name, offset) in [("keys", 0), ("keys", 4100), ("keys", 50), ("root.key", 20)] {
        let disk = pair.disks[1].copy();
        assert!(disk.flip_bit(&pair.file(1, name), offset));
        let error = open(Arc::new(disk), Path::new("s"), Role::Evaluator).expect_err("damaged");
        assert!(matches!(error, StockError::Corrupted { .. }), "{error}");
    }
    // One of the two pages of a kind may be damaged.
    let disk = pair.disks[1].copy();
    assert!(disk.flip_bit(&pair.file(1, "keys"), 8200));
    open(Arc::new(disk), Path::new("s"), Role::Evaluator).expect("the other page");
    let storage = Arc::new(pair.disks[1].copy());
    let stocks = Stocks::open(storage, Path::new("s"), RootKey::Beside).expect("a folder");
    let mut other = id(Role::Evaluator);
    other.own = PeerId([77; 32]);
    let error = stocks
        .stock(other, Limits::default())
        .expect_err("another identity");
    assert!(matches!(error, StockError::Missing { .. }), "{error}");
    let key = zeroize::Zeroizing::new([1; 32]);
    let storage = Arc::new(pair.disks[1].copy());
    let stocks = Stocks::open(storage, Path::new("s"), RootKey::Given(key)).expect("a folder");
    let error = stocks
        .stock(id(Role::Evaluator), Limits::default())
        .expect_err("another key");
    assert!(matches!(error, StockError::Corrupted { .. }), "{error}");
}

#[test]
fn bounds_hold() {
    let disk = Arc::new(Memory::new());
    let stocks = Stocks::open(disk, Path::new("s"), RootKey::Beside).expect("a folder");
    let limits = Limits { max_bytes: 1000 };
    let stock = stocks
        .create(id(Role::Garbler), EPOCH, b"", limits)
        .expect("a stock");
    let preparation = stock.prepare().expect("the lock");
    assert!(matches!(stock.prepare(), Err(StockError::Busy { .. })));
    assert!(!preparation.is_awaited().expect("readable"));
    let waiting = stock.wait_to_prepare().expect("readable");
    assert!(preparation.is_awaited().expect("readable"));
    drop(waiting);
    assert!(!preparation.is_awaited().expect("readable"));
    let size = parties::size(Role::Garbler, &OTS);
    let begin = |first, count| preparation.begin_lot(OTS, size, Span { first, count });
    assert!(matches!(begin(0, 100), Err(StockError::Full { .. })));
    assert!(matches!(begin(0, 0), Err(StockError::ApiMisuse { .. })));
    assert!(matches!(
        begin(u64::MAX, 2),
        Err(StockError::NumbersUsedUp { .. })
    ));
    let lot = begin(0, 2).expect("room");
    lot.put(1, &[1; 16], &[]).expect("room");
    assert!(lot.put(1, &[1; 16], &[]).is_err(), "a key seals once");
    assert!(lot.put(0, &[1; 15], &[]).is_err());
    assert!(lot.put(2, &[1; 16], &[]).is_err());
    assert!(lot.finish().is_err(), "an instance is missing");
    assert!(begin(1, 1).is_err(), "numbers are given once");
    let chain = stock.chain("chain").expect("nobody has it");
    let state = vec![0; 2000];
    let policy = tacit_stock::Policy::default();
    assert!(matches!(
        chain.create([1; 16], &policy, None, &state),
        Err(StockError::Full { .. })
    ));
    assert!(stock.chain("").is_err());
    assert!(stock.lease(&OTS, 0).is_ok_and(|lease| lease.count() == 0));
}
