//! `batch` between two sessions of one process: executions are there for later sessions, used once,
//! and never made on the spot; an attempt that is cut leaves nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tacit::garble::SchemeId;
use tacit::protocols::ThreatModel;
use tacit::{
    BatchPreparation, Category, ComponentDigest, Error, Function, Identity, Job, Listener, Outcome,
    PreparedBatch, Role, Session, Settings, Stocks, Type, Value, library,
};
use tacit_stock::Memory;
use tempfile::TempDir;

/// Low, so that batches are small.
const S: u8 = 6;
const ROLES: [Role; 2] = [Role::Garbler, Role::Evaluator];

/// A pair of results, the garbler's first.
type Both<T> = [Result<T, Error>; 2];

/// Two parties that know each other, each with a folder for its stocks.
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
            max_bytes: [1 << 30; 2],
        }
    }

    fn stocks(&self, party: usize) -> Stocks {
        Stocks::open(self.folders[party].path(), self.max_bytes[party])
            .expect("a folder that is there")
    }

    /// Both parties' `work` over a new session, each over its stocks.
    fn both<T: Send>(
        &self,
        work: impl Fn(usize, &mut Session, &Stocks) -> Result<T, Error> + Sync,
    ) -> Both<T> {
        let [a, b] = &self.identities;
        let settings = &Settings::default();
        let listener = Listener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_address().to_string();
        let act = |party: usize, mut session: Session| {
            let done = work(party, &mut session, &self.stocks(party));
            let _ = session.close();
            done
        };
        thread::scope(|scope| {
            let garbler = scope.spawn(|| act(0, listener.accept(a, &b.fingerprint(), settings)?));
            let evaluator = Session::connect(&address, b, &a.fingerprint(), settings)
                .and_then(|session| act(1, session));
            [garbler.join().expect("no panic"), evaluator]
        })
    }

    fn prepare(&self, function: &Function, executions: u64) -> Both<PreparedBatch> {
        self.both(|party, session, stocks| order(function, party, executions).run(session, stocks))
    }

    /// What can be used at each party.
    fn usable(&self) -> [u64; 2] {
        [0, 1].map(|party| {
            let stocks = self.stocks(party);
            let names = stocks.list().expect("a folder");
            let kinds = names.iter().flat_map(|name| {
                let summary = stocks.summary(name).expect("a stock");
                summary.kinds.into_iter()
            });
            kinds.map(|kind| kind.available + kind.pending).sum()
        })
    }
}

fn order(function: &Function, party: usize, executions: u64) -> BatchPreparation<'_> {
    BatchPreparation::new(ROLES[party], function, executions).insecure_for_measurements(S)
}

fn run(
    function: &Function,
    party: usize,
    session: &mut Session,
    stocks: &Stocks,
    inputs: &[(&str, Value); 2],
) -> Result<Outcome, Error> {
    let (name, value) = &inputs[party];
    Job::new(function, ROLES[party])
        .batch(stocks)
        .insecure_for_measurements(S)
        .input(name, value.clone())
        .run(session)
}

fn millionaires() -> Function {
    let bits = BTreeMap::from([("bits".to_owned(), 8)]);
    library::function("millionaires", &bits).expect("a function")
}

fn compared(a: u64, b: u64) -> [(&'static str, Value); 2] {
    let number = |value: u64| Value::parse(&"u8".parse().expect("a type"), &value.to_string());
    [("a", number(a).expect("u8")), ("b", number(b).expect("u8"))]
}

/// s below 40 is for measurements, and says so.
#[test]
fn fewer_than_40_bits_are_refused_unless_they_are_for_measurements() {
    let (function, parties) = (millionaires(), Parties::new());
    let stocks = &parties.stocks(0);
    let order = || BatchPreparation::new(Role::Garbler, &function, 1);
    let job = || Job::new(&function, Role::Garbler).batch(stocks);
    for few in [1, 39] {
        let planned = order().statistical_security_bits(few).plan().map(drop);
        let checked = job().statistical_security_bits(few).check();
        for refused in [planned, checked] {
            let Err(Error::SecurityBits { found, least, .. }) = refused else {
                panic!("{refused:?}");
            };
            assert_eq!((found, least), (few, 40));
        }
        order()
            .insecure_for_measurements(few)
            .plan()
            .expect("a plan");
        job()
            .insecure_for_measurements(few)
            .check()
            .expect("it can be run");
    }
    order().plan().expect("40 bits");
    job().check().expect("40 bits");
}

#[test]
fn executions_are_there_after_a_restart_and_used_once() {
    let (parties, function) = (Parties::new(), millionaires());
    for prepared in parties.prepare(&function, 3) {
        let prepared = prepared.expect("a batch");
        assert_eq!((prepared.made, prepared.available), (3, 3));
        let plan = prepared.plan.expect("a plan");
        assert_eq!(
            (plan.executions(), plan.statistical_security_bits()),
            (3, S)
        );
    }
    // Both get the result.
    for (a, b, richer) in [(41, 40, "1"), (40, 41, "0")] {
        for outcome in parties
            .both(|party, session, stocks| run(&function, party, session, stocks, &compared(a, b)))
        {
            let outcome = outcome.expect("a result");
            assert_eq!(outcome.outputs["a_is_richer"].to_text(), richer);
            assert_eq!(outcome.threat_model, ThreatModel::Malicious);
            assert_eq!(outcome.statistical_security_bits, Some(S));
        }
    }
    assert_eq!(parties.usable(), [1, 1]);
    // What is there counts, in the same session as well; then nothing is left.
    let outcomes = parties.both(|party, session, stocks| {
        let prepared = order(&function, party, 2).run(session, stocks)?;
        assert_eq!((prepared.made, prepared.available), (1, 2));
        let mut outcomes = Vec::new();
        for _ in 0..3 {
            outcomes.push(run(&function, party, session, stocks, &compared(7, 7)));
        }
        Ok(outcomes)
    });
    for outcomes in outcomes {
        let [first, second, third] = &outcomes.expect("three runs")[..] else {
            panic!("three runs");
        };
        for outcome in [first, second] {
            let outcome = outcome.as_ref().expect("a result");
            assert_eq!(outcome.outputs["a_is_richer"].to_text(), "0");
        }
        let error = third.as_ref().expect_err("nothing is left");
        assert!(matches!(error, Error::NothingChecked { .. }), "{error}");
        assert_eq!(error.category(), Category::Stock);
        assert!(error.to_string().contains("--protocol batch"), "{error}");
    }
    assert_eq!(parties.usable(), [0, 0]);
}

/// FIPS 197, appendix C.1.
#[test]
fn aes_128_under_both_tables() {
    let (parties, aes) = (
        Parties::new(),
        library::function("aes-128", &BTreeMap::new()),
    );
    let function = aes.expect("a function");
    let bytes = |hex: &str| Value::parse(&Type::bytes(16), hex).expect("hex");
    let inputs = [
        ("key", bytes("000102030405060708090a0b0c0d0e0f")),
        ("block", bytes("00112233445566778899aabbccddeeff")),
    ];
    for scheme in [SchemeId::HALF_GATES_TWO_CALL, SchemeId::THREE_HALVES] {
        let outcomes = parties.both(|party, session, stocks| {
            order(&function, party, 1)
                .scheme(scheme)
                .run(session, stocks)?;
            let (name, value) = &inputs[party];
            Job::new(&function, ROLES[party])
                .batch(stocks)
                .scheme(scheme)
                .insecure_for_measurements(S)
                .input(name, value.clone())
                .run(session)
        });
        for outcome in outcomes {
            let outputs = outcome.expect("a result").outputs;
            let ciphertext = outputs["ciphertext"].to_text();
            assert_eq!(ciphertext, "69c4e0d86a7b0430d8cdb78070b4c55a", "{scheme}");
        }
    }
}

#[test]
fn an_attempt_that_fails_leaves_nothing() {
    let (mut parties, function) = (Parties::new(), millionaires());
    // The evaluator's stock takes none of it.
    parties.max_bytes[1] = 10_000;
    let [garbler, evaluator] = parties.prepare(&function, 2);
    let error = evaluator.expect_err("there is no room");
    assert_eq!(error.category(), Category::Stock, "{error}");
    assert!(garbler.is_err());
    assert_eq!(parties.usable(), [0, 0]);
    parties.max_bytes[1] = 1 << 30;
    for prepared in parties.prepare(&function, 1) {
        assert_eq!(prepared.expect("a batch").made, 1);
    }
    assert_eq!(parties.usable(), [1, 1]);
}

/// What a party took: kinds and numbers.
type Taken = BTreeSet<(ComponentDigest, u64)>;

/// The parties over storage that loses power: prepares two executions and runs them.
struct Fragile<'a> {
    identities: &'a [Identity; 2],
    function: &'a Function,
    disks: [Memory; 2],
}

impl Fragile<'_> {
    /// What each party's numbers were in its runs, and whether all ended well.
    fn work(&self, taken: &mut [Taken; 2]) -> Result<(), Error> {
        let [a, b] = self.identities;
        let settings = &Settings {
            timeout: Duration::from_secs(60),
            ..Settings::default()
        };
        let listener = Listener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_address().to_string();
        let act = |party: usize, mut session: Session, taken: &mut Taken| {
            let storage = Arc::new(self.disks[party].clone());
            let stocks = Stocks::over(storage, Path::new("stocks"), 1 << 30)?;
            order(self.function, party, 2).run(&mut session, &stocks)?;
            for _ in 0..2 {
                let (name, value) = &compared(2, 1)[party];
                let outcome = Job::new(self.function, ROLES[party])
                    .batch(&stocks)
                    .insecure_for_measurements(S)
                    .input(name, value.clone())
                    .watch_taken(|numbers| {
                        for number in numbers.spans.iter().flat_map(|span| span.first..span.end()) {
                            let new = taken.insert((numbers.digest, number));
                            assert!(new, "party {party} takes {number} twice");
                        }
                    })
                    .run(&mut session)?;
                assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1");
            }
            let _ = session.close();
            Ok(())
        };
        let [garblers, evaluators] = taken;
        let ended = thread::scope(|scope| {
            let garbler = scope.spawn(|| {
                let session = listener.accept(a, &b.fingerprint(), settings)?;
                act(0, session, garblers)
            });
            let evaluator = Session::connect(&address, b, &a.fingerprint(), settings)
                .and_then(|session| act(1, session, evaluators));
            [garbler.join().expect("no panic"), evaluator]
        });
        ended.into_iter().collect()
    }
}

/// At some points of each party, a loss of power in preparation or runs; then both prepare and run
/// again, on numbers that neither took before.
#[test]
fn a_loss_of_power_wastes_and_never_reuses() {
    let identities = [(); 2].map(|()| Identity::generate().expect("randomness"));
    let function = millionaires();
    let with = |disks| Fragile {
        identities: &identities,
        function: &function,
        disks,
    };
    let whole = with([(); 2].map(|()| Memory::new()));
    whole.work(&mut Default::default()).expect("power");
    for party in [0, 1] {
        let points = whole.disks[party].points();
        assert!(points > 30, "{points}");
        for point in (party as u64..points).step_by(points as usize / 7) {
            let mut parties = with([(); 2].map(|()| Memory::new()));
            parties.disks[party].lose_power_at(point, point);
            let mut taken = Default::default();
            // At the last points the parties may have all they need.
            let _ = parties.work(&mut taken);
            parties.disks[party] = parties.disks[party].restart();
            if let Err(error) = parties.work(&mut taken) {
                panic!("party {party}, point {point}: {error}");
            }
        }
    }
}

#[test]
fn what_differs_is_named_and_nothing_less_secure_runs() {
    let (parties, function) = (Parties::new(), millionaires());
    for prepared in parties.prepare(&function, 1) {
        prepared.expect("a batch");
    }
    // Prepared at another s.
    let other = parties.both(|party, session, stocks| {
        let (name, value) = &compared(1, 2)[party];
        Job::new(&function, ROLES[party])
            .batch(stocks)
            .input(name, value.clone())
            .run(session)
    });
    for outcome in other {
        let error = outcome.expect_err("none at s = 40");
        assert!(error.to_string().contains("at s = 40"), "{error}");
    }
    // One party at another s, or by another protocol.
    for weak in [true, false] {
        let differ = parties.both(|party, session, stocks| {
            let (name, value) = &compared(1, 2)[party];
            let job = Job::new(&function, ROLES[party]).input(name, value.clone());
            match (party, weak) {
                (0, true) => job.prepared(stocks).run(session),
                (0, false) => job.batch(stocks).run(session),
                _ => job.batch(stocks).insecure_for_measurements(S).run(session),
            }
        });
        for outcome in differ {
            let error = outcome.expect_err("they differ");
            assert_eq!(error.category(), Category::Incompatible, "{error}");
        }
    }
    assert_eq!(parties.usable(), [1, 1]);
    let prf = order(&function, 0, 1)
        .scheme(SchemeId::PRF_XOR1_AND3)
        .plan();
    let error = prf.expect_err("tables are sent too early for it");
    assert!(matches!(error, Error::SchemeNotForBatch { .. }), "{error}");
    assert_eq!(error.category(), Category::Usage);
}
