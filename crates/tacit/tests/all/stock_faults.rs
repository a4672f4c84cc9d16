//! Stocks that cannot be used as they are: found, named, never used, and what is whole is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use tacit::{
    AbortReason, Category, Error, Identity, Job, Listener, Preparation, Role, Session, Settings,
    Stocks, Type, Value, library,
};
use tacit_stock::Memory;
use tempfile::TempDir;

const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const BLOCK: &str = "00112233445566778899aabbccddeeff";
const CIPHERTEXT: &str = "69c4e0d86a7b0430d8cdb78070b4c55a";
const ROOM: u64 = 1 << 30;
const ROLES: [Role; 2] = [Role::Garbler, Role::Evaluator];

/// What a party does with a session and its stocks.
type Act<'a, T> = &'a (dyn Fn(usize, &mut Session, &Stocks) -> Result<T, Error> + Sync);

struct Parties {
    identities: [Identity; 2],
    folders: [TempDir; 2],
    max_bytes: [u64; 2],
}

impl Parties {
    fn new() -> Self {
        Self {
            identities: [(); 2].map(|()| Identity::generate().expect("randomness")),
            folders: [(); 2].map(|()| TempDir::new().expect("a folder")),
            max_bytes: [ROOM; 2],
        }
    }

    fn both<T: Send>(&self, act: Act<'_, T>) -> [Result<T, Error>; 2] {
        let [a, b] = &self.identities;
        let settings = Settings::default();
        let listener = Listener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_address().to_string();
        let with = |party: usize, mut session: Session| {
            let folder = self.folders[party].path();
            let stocks = Stocks::open(folder, self.max_bytes[party])?;
            act(party, &mut session, &stocks)
        };
        thread::scope(|scope| {
            let garbler = scope.spawn(|| with(0, listener.accept(a, &b.fingerprint(), &settings)?));
            let evaluator = Session::connect(&address, b, &a.fingerprint(), &settings)
                .and_then(|session| with(1, session));
            [garbler.join().expect("no panic"), evaluator]
        })
    }

    fn prepare(&self) -> [Result<(), Error>; 2] {
        let function = library::function("aes-128-rounds", &BTreeMap::new()).expect("a function");
        self.both(&|party, session, stocks| {
            let order = Preparation::new(ROLES[party]).enough_for(&function, 2)?;
            order.run(session, stocks).map(drop)
        })
    }

    /// Runs AES; the AND gates that were garbled on the spot.
    fn run(&self) -> [Result<u64, Error>; 2] {
        let function = library::function("aes-128-rounds", &BTreeMap::new()).expect("a function");
        self.both(&|party, session, stocks| {
            let (name, hex) = [("key", KEY), ("block", BLOCK)][party];
            let value = Value::parse(&Type::bytes(16), hex).expect("hex");
            let job = Job::new(&function, ROLES[party]).prepared(stocks);
            let outcome = job.input(name, value).run(session)?;
            assert_eq!(outcome.outputs["ciphertext"].to_text(), CIPHERTEXT);
            Ok(outcome.cost.and_gates_on_the_spot)
        })
    }

    /// The party's only stock.
    fn stock_folder(&self, party: usize) -> PathBuf {
        let inside = entries(self.folders[party].path()).into_iter();
        let mut stocks = inside.filter(|path| path.to_string_lossy().contains("stock-"));
        stocks.next().expect("a stock")
    }

    /// The largest of its lots.
    fn largest_lot(&self, party: usize) -> PathBuf {
        let epoch = entries(&self.stock_folder(party)).into_iter();
        let epoch = epoch
            .filter(|path| path.is_dir())
            .flat_map(|path| entries(&path));
        let lots = epoch.filter(|path| path.extension().is_some_and(|end| end == "seg"));
        let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
        lots.max_by_key(size).expect("a lot")
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

fn ran(results: [Result<u64, Error>; 2], on_the_spot: bool) {
    for result in results {
        assert_eq!(result.expect("a result") > 0, on_the_spot);
    }
}

#[test]
fn a_full_disk_is_said_and_wastes_nothing_else() {
    for full in [0, 1] {
        let mut parties = Parties::new();
        parties.max_bytes[full] = 4500;
        let mut results = parties.prepare();
        let error = std::mem::replace(&mut results[full], Ok(())).expect_err("no room");
        assert_eq!(error.category(), Category::Stock, "{error}");
        assert!(error.to_string().contains("limit is 4500"), "{error}");
        let told = results[1 - full]
            .as_ref()
            .expect_err("the peer has no room");
        assert!(
            matches!(told, Error::PeerAborted(AbortReason::NoRoom)),
            "{told}"
        );
        parties.max_bytes[full] = ROOM;
        for result in parties.prepare() {
            result.expect("room");
        }
        ran(parties.run(), false);
    }
}

#[test]
fn the_peer_of_a_full_disk_hears_why_and_does_not_try_again() {
    for full in [0, 1] {
        let parties = Parties::new();
        let disk = Memory::new();
        let function = library::function("aes-128-rounds", &BTreeMap::new()).expect("a function");
        let prepare = |room_bytes: Option<u64>| {
            disk.limit_bytes(room_bytes);
            parties.both(&|party, session, stocks| {
                let small = Stocks::over(Arc::new(disk.clone()), Path::new("s"), ROOM)?;
                let stocks = if party == full { &small } else { stocks };
                let order = Preparation::new(ROLES[party]).enough_for(&function, 2)?;
                order.run(session, stocks).map(drop)
            })
        };
        let results = prepare(Some(10_000));
        let error = results[full].as_ref().expect_err("no room");
        assert_eq!(error.category(), Category::Stock, "{error}");
        let said = error.to_string();
        assert!(said.contains("the disk is full; free some space"), "{said}");
        let told = results[1 - full]
            .as_ref()
            .expect_err("the peer has no room");
        let reason = Error::PeerAborted(AbortReason::DiskFull);
        assert_eq!(told.to_string(), reason.to_string());
        // `tacit prepare` meets again after what the network did, and only then.
        assert_ne!(told.category(), Category::Network);
        for result in prepare(None) {
            result.expect("room");
        }
    }
}

#[test]
fn a_missing_file_is_named_and_the_rest_goes_on() {
    let parties = Parties::new();
    for result in parties.prepare() {
        result.expect("room");
    }
    let lot = parties.largest_lot(1);
    std::fs::remove_file(&lot).expect("it was there");
    let [_, evaluator] = parties.run();
    let error = evaluator.expect_err("a file is missing");
    assert_eq!(error.category(), Category::Stock, "{error}");
    let name = lot
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert!(error.to_string().contains(&name), "{error}");
    // Checked, it is withdrawn, and what it had is garbled on the spot.
    let stocks = Stocks::open(parties.folders[1].path(), ROOM).expect("a folder");
    let stock = stocks.list().expect("a folder")[0];
    let report = stocks.check(&stock).expect("a stock");
    assert!(report.damaged.iter().any(|damage| damage.withdrawn));
    ran(parties.run(), true);
}

#[test]
fn another_identity_has_another_stock() {
    let mut parties = Parties::new();
    for result in parties.prepare() {
        result.expect("room");
    }
    let other = Identity::generate().expect("randomness");
    let first = std::mem::replace(&mut parties.identities[0], other);
    let own = parties.stock_folder(0);
    ran(parties.run(), true);
    // The one's stock in the place of the other's is noticed.
    let inside = entries(parties.folders[0].path()).into_iter();
    let mut stocks = inside.filter(|path| path.to_string_lossy().contains("stock-"));
    let others = stocks.find(|path| *path != own).expect("another stock");
    std::fs::remove_dir_all(&others).expect("a stock");
    std::fs::rename(&own, &others).expect("a stock");
    let [garbler, _] = parties.run();
    let error = garbler.expect_err("somebody else's stock");
    assert_eq!(error.category(), Category::Stock, "{error}");
    assert!(error.to_string().contains("identity"), "{error}");
    std::fs::rename(&others, &own).expect("a stock");
    parties.identities[0] = first;
    ran(parties.run(), false);
}
