//! Stocks of parties with several processes: those of one lane are none of another.

use std::path::Path;
use std::sync::Arc;

use crate::parties::{EPOCH, TABLES, id, prepare_lot};
use tacit_stock::{
    EpochId, LaneId, Limits, MAX_LANES, Marks, Memory, Role, RootKey, Stock, StockError, StockId,
    Stocks, Storage,
};

fn lane(name: &str) -> LaneId {
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    LaneId(bytes)
}

/// Returns the id of the stock that the party with this role shares with the peer's lane.
fn with_lane(role: Role, name: &str) -> StockId {
    let mut id = id(role);
    match role {
        // Only the garbler has several processes.
        Role::Garbler => id.lanes.own = lane(name),
        Role::Evaluator => id.lanes.peer = lane(name),
    }
    id
}

fn folder(storage: &Arc<Memory>, name: &str) -> Stocks {
    let storage: Arc<dyn Storage> = Arc::<Memory>::clone(storage);
    Stocks::open(storage, Path::new(name), RootKey::Beside).expect("a folder")
}

fn create(stocks: &Stocks, id: StockId) -> Stock {
    let created = stocks.create(id, EPOCH, b"the epoch's secret", Limits::default());
    created.expect("a new stock")
}

/// Both lanes even have the same epoch, as no honest process makes it.
#[test]
fn a_stock_of_one_lane_is_refused_as_that_of_another() {
    let storage = Arc::new(Memory::new());
    let own = folder(&storage, "evaluator");
    let [a, b] = ["a", "b"].map(|name| create(&own, with_lane(Role::Evaluator, name)));
    let there = folder(&storage, "lane a");
    let theirs = create(&there, with_lane(Role::Garbler, "a"));
    {
        let both = [&theirs, &a].map(|stock| stock.prepare().expect("nobody prepares"));
        prepare_lot([&both[0], &both[1]], TABLES, (0, 4), 1).expect("room");
    }
    let marks = Marks::parse(&theirs.marks().unwrap().to_bytes()).expect("a record");
    a.reconcile(&marks).expect("its own lane");
    let refused = b.reconcile(&marks).unwrap_err();
    assert!(
        matches!(refused, StockError::PeerMisbehaved { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("lanes"), "{refused}");
    // Nor is it one of a peer that has one process.
    let alone = create(&own, id(Role::Evaluator));
    assert!(alone.reconcile(&marks).is_err());
    assert_eq!(
        (a.available(&TABLES).unwrap(), b.available(&TABLES).unwrap()),
        (4, 0)
    );
}

/// The name of the folder is no secret, and a file of another lane is of no use in it.
#[test]
fn keys_and_lots_are_of_one_lane() {
    let storage = Arc::new(Memory::new());
    let stocks = folder(&storage, "evaluator");
    let ids = ["a", "b"].map(|name| with_lane(Role::Evaluator, name));
    assert_ne!(ids[0].digest(), ids[1].digest());
    assert_ne!(ids[0].digest(), id(Role::Evaluator).digest());
    create(&stocks, ids[0]);
    let missing = stocks.stock(ids[1], Limits::default()).unwrap_err();
    assert!(matches!(missing, StockError::Missing { .. }), "{missing}");
    create(&stocks, ids[1]);
    let of = |lane: &str| {
        let names = storage.names(Path::new("evaluator")).unwrap().into_iter();
        let mut names = names.filter(|name| name.ends_with(lane));
        Path::new("evaluator").join(names.next().expect("its folder"))
    };
    let [a, b] = [
        of("-61000000000000000000000000000000"),
        of("-62000000000000000000000000000000"),
    ];
    // The index says whose it is, and the keys and their seals are of the stock's name.
    let epoch = storage
        .names(&a)
        .unwrap()
        .into_iter()
        .find(|name| name.starts_with("epoch-"));
    let keys = |folder: &Path| folder.join(epoch.as_deref().unwrap()).join("keys");
    let length = storage.open(&keys(&a)).unwrap().len().unwrap();
    let mut bytes = vec![0; usize::try_from(length).unwrap()];
    storage
        .open(&keys(&a))
        .unwrap()
        .read_at(&mut bytes, 0)
        .unwrap();
    storage
        .open(&keys(&b))
        .unwrap()
        .write_at(&bytes, 0)
        .unwrap();
    let refused = stocks.stock(ids[1], Limits::default()).unwrap_err();
    assert!(refused.to_string().contains("keys"), "{refused}");
    stocks.stock(ids[0], Limits::default()).expect("untouched");
}

/// A peer may name any lane, and each would have a stock of its own.
#[test]
fn a_peer_has_a_bounded_number_of_lanes() {
    let storage = Arc::new(Memory::new());
    let stocks = folder(&storage, "evaluator");
    let named = |number: usize| with_lane(Role::Evaluator, &number.to_string());
    for number in 0..MAX_LANES {
        create(&stocks, named(number));
    }
    let epoch = EpochId::generate(0).unwrap();
    let refused = stocks.create(named(MAX_LANES), epoch, b"", Limits::default());
    let refused = refused.expect_err("one too many");
    assert!(
        matches!(refused, StockError::TooManyLanes { .. }),
        "{refused}"
    );
    // Another role is another stock, and a lane that ends makes room.
    create(&stocks, id(Role::Garbler));
    stocks.remove(&named(3)).unwrap();
    create(&stocks, named(MAX_LANES));
    assert_eq!(stocks.lanes(&named(0)).unwrap().len(), MAX_LANES);
    // Lanes that only were asked for leave nothing.
    let before = storage.names(Path::new("evaluator")).unwrap().len();
    for number in 100..200 {
        drop(stocks.try_meet(&named(number)).unwrap());
        assert!(stocks.stock(named(number), Limits::default()).is_err());
    }
    let after = storage.names(Path::new("evaluator")).unwrap().len();
    assert!(after <= before + 1, "{before} names became {after}");
}
