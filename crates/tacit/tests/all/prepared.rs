//! `prepared` between two sessions of one process: what is prepared is used, used once, and what is
//! missing is made on the spot; stocks that do not fit are refused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tacit::garble::{LADDER, SchemeId};
use tacit::{
    Category, Error, Function, Identity, Job, Listener, NetError, Outcome, Preparation, Prepared,
    Role, Session, Settings, Stocks, Type, Value, library,
};
use tacit_stock::Memory;
use tempfile::TempDir;

const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const BLOCK: &str = "00112233445566778899aabbccddeeff";
const CIPHERTEXT: &str = "69c4e0d86a7b0430d8cdb78070b4c55a";

/// Two parties that know each other, each with a folder for its stocks.
struct Parties {
    identities: [Identity; 2],
    folders: [TempDir; 2],
    /// Where their stocks are instead of on the disk, if they are to be copied.
    memories: Option<[Memory; 2]>,
    max_bytes: [u64; 2],
}

/// A pair of results, the garbler's first.
type Both<T> = (Result<T, Error>, Result<T, Error>);

impl Parties {
    fn new() -> Self {
        Self {
            identities: [(); 2].map(|()| Identity::generate().expect("randomness")),
            folders: [(); 2].map(|()| TempDir::new().expect("a folder")),
            memories: None,
            max_bytes: [1 << 30; 2],
        }
    }

    fn stocks(&self, party: usize) -> Stocks {
        let (folder, max_bytes) = (self.folders[party].path(), self.max_bytes[party]);
        let stocks = match &self.memories {
            Some(memories) => Stocks::over(Arc::new(memories[party].clone()), folder, max_bytes),
            None => Stocks::open(folder, max_bytes),
        };
        stocks.expect("a folder that is there")
    }

    /// Sessions over TLS: the garbler's first.
    fn meet(&self) -> (Session, Session) {
        let [a, b] = &self.identities;
        let settings = Settings::default();
        let listener = Listener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_address().to_string();
        thread::scope(|scope| {
            let accepted = scope.spawn(|| listener.accept(a, &b.fingerprint(), &settings));
            let connected = Session::connect(&address, b, &a.fingerprint(), &settings);
            let accepted = accepted.join().expect("no panic");
            (accepted.expect("a session"), connected.expect("a session"))
        })
    }

    fn prepare(
        &self,
        (a, b): &mut (Session, Session),
        order: impl Fn(Preparation<'static>) -> Preparation<'static>,
    ) -> Both<Prepared> {
        let [garbler, evaluator] =
            [Role::Garbler, Role::Evaluator].map(|role| order(Preparation::new(role)));
        let stocks = [self.stocks(0), self.stocks(1)];
        thread::scope(|scope| {
            let garbler = scope.spawn(|| garbler.run(a, &stocks[0]));
            let evaluator = evaluator.run(b, &stocks[1]);
            (garbler.join().expect("no panic"), evaluator)
        })
    }

    fn run(
        &self,
        (a, b): &mut (Session, Session),
        function: &Function,
        scheme: SchemeId,
    ) -> Both<Outcome> {
        let [garbler, evaluator] =
            [(Role::Garbler, 0), (Role::Evaluator, 1)].map(|(role, party)| {
                let job = Job::new(function, role)
                    .scheme(scheme)
                    .prepared(&self.stocks(party));
                function
                    .inputs()
                    .iter()
                    .filter(|input| input.owner == role)
                    .fold(job, |job, input| {
                        let hex = if input.port.name == "key" { KEY } else { BLOCK };
                        job.input(&input.port.name, bytes(hex))
                    })
            });
        thread::scope(|scope| {
            let garbler = scope.spawn(|| garbler.run(a));
            let evaluator = evaluator.run(b);
            (garbler.join().expect("no panic"), evaluator)
        })
    }

    /// Runs AES and returns the AND gates that were garbled on the spot at each party.
    fn aes(
        &self,
        sessions: &mut (Session, Session),
        function: &Function,
        scheme: SchemeId,
    ) -> [u64; 2] {
        let (a, b) = self.run(sessions, function, scheme);
        [a, b].map(|outcome| {
            let outcome = outcome.expect("a result");
            assert_eq!(
                outcome.outputs["ciphertext"].to_text(),
                CIPHERTEXT,
                "{scheme}"
            );
            outcome.cost.and_gates_on_the_spot
        })
    }
}

fn bytes(hex: &str) -> Value {
    Value::parse(&Type::bytes(hex.len() / 2), hex).expect("hex")
}

fn aes_128() -> Function {
    library::function("aes-128-rounds", &BTreeMap::new()).expect("a function")
}

#[test]
fn what_is_prepared_is_used_once_and_what_is_missing_is_made_on_the_spot() {
    let (parties, function) = (Parties::new(), aes_128());
    let scheme = SchemeId::HALF_GATES_TWO_CALL;
    let enough = |order: Preparation<'static>| order.enough_for(&aes_128(), 2).expect("no saves");
    let mut sessions = parties.meet();
    let (a, b) = parties.prepare(&mut sessions, enough);
    let (a, b) = (a.expect("the garbler's"), b.expect("the evaluator's"));
    assert_eq!(a.kinds, b.kinds);
    let ots = a.kinds.iter().find(|kind| kind.name == "OTs").expect("OTs");
    assert_eq!((ots.made, ots.available), (256, 256));
    assert_eq!(
        a.kinds
            .iter()
            .map(|kind| kind.made * kind.and_gates)
            .sum::<u64>(),
        12_800
    );

    // Nothing is missing, so that nothing is made; and the stock outlives the session.
    let (again, _) = parties.prepare(&mut sessions, enough);
    assert!(
        again
            .expect("the garbler's")
            .kinds
            .iter()
            .all(|kind| kind.made == 0)
    );
    assert_eq!(parties.aes(&mut sessions, &function, scheme), [0, 0]);
    drop(sessions);
    let mut sessions = parties.meet();
    assert_eq!(parties.aes(&mut sessions, &function, scheme), [0, 0]);
    // Now the stock is empty.
    assert_eq!(parties.aes(&mut sessions, &function, scheme), [6400, 6400]);
    let name = parties.stocks(0).list().expect("a folder")[0];
    let summary = parties.stocks(0).summary(&name).expect("a stock");
    assert!(
        summary
            .kinds
            .iter()
            .any(|kind| kind.name == "aes-128-rounds/round"),
        "{summary:?}"
    );
    assert!(
        summary.kinds.iter().all(|kind| kind.available == 0),
        "{summary:?}"
    );
}

#[test]
fn a_function_runs_under_one_scheme_by_every_protocol_where_none_is_named() {
    let chain = library::function("millionaires", &[("bits".to_owned(), 8)].into());
    let chain = chain.expect("a function");
    for (function, scheme) in [
        (&chain, SchemeId::HALF_GATES_REKEYED),
        (&aes_128(), SchemeId::HALF_GATES_TWO_CALL),
    ] {
        let parties = Parties::new();
        let (a, b) = parties.prepare(&mut parties.meet(), |order| {
            order.enough_for(function, 1).expect("no saves")
        });
        assert!(a.is_ok() && b.is_ok(), "{a:?} {b:?}");
        let stocks = parties.stocks(0);
        let schemes: Vec<_> = stocks.list().expect("a folder").into_iter().collect();
        assert_eq!(schemes.len(), 1);
        assert_eq!(schemes[0].scheme, scheme);
        let job = || Job::new(function, Role::Garbler);
        for job in [
            job(),
            job().prepared(&stocks),
            job().batch(&stocks),
            job().authenticated(),
        ] {
            assert_eq!(job.scheme_id(), scheme);
        }
    }
    // One preparation fills the stock of one scheme.
    let both = |order: Preparation<'static>| order.enough_for(&chain, 1)?.enough_for(&aes_128(), 1);
    assert!(matches!(
        both(Preparation::new(Role::Garbler)),
        Err(Error::ApiMisuse(_))
    ));
    let named = Preparation::new(Role::Garbler).scheme(SchemeId::THREE_HALVES);
    assert!(both(named).is_ok());
}

#[test]
fn sessions_that_take_and_fill_at_once_all_run() {
    let (parties, function) = (Parties::new(), aes_128());
    let scheme = SchemeId::HALF_GATES_TWO_CALL;
    // Each opens the folders for itself, as processes do: what one makes others take.
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2 {
                    let mut sessions = parties.meet();
                    parties.aes(&mut sessions, &function, scheme);
                    parties.aes(&mut sessions, &function, scheme);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..3 {
                let (a, b) = parties.prepare(&mut parties.meet(), |order| {
                    order.enough_for(&aes_128(), 1).expect("no saves")
                });
                assert!(a.is_ok() && b.is_ok(), "{a:?} {b:?}");
            }
        });
    });
}

#[test]
fn what_is_made_on_the_spot_has_names_too() {
    let (parties, function) = (Parties::new(), aes_128());
    let scheme = SchemeId::HALF_GATES_TWO_CALL;
    assert_eq!(
        parties.aes(&mut parties.meet(), &function, scheme),
        [6400, 6400]
    );
    let name = parties.stocks(1).list().expect("a folder")[0];
    let summary = parties.stocks(1).summary(&name).expect("a stock");
    let mut names: Vec<_> = summary
        .kinds
        .iter()
        .map(|kind| kind.name.as_str())
        .collect();
    names.sort_unstable();
    let components = ["expand", "last_round", "round"].map(|name| format!("aes-128-rounds/{name}"));
    assert_eq!(names[..1], ["OTs"]);
    assert_eq!(names[1..], components);
}

#[test]
fn every_scheme_links_from_the_stock() {
    let (parties, function) = (Parties::new(), aes_128());
    let mut sessions = parties.meet();
    for rung in LADDER {
        let (a, b) = parties.prepare(&mut sessions, |order| {
            order
                .scheme(rung.id)
                .enough_for(&aes_128(), 1)
                .expect("no saves")
        });
        a.and(b).expect("both prepare");
        assert_eq!(
            parties.aes(&mut sessions, &function, rung.id),
            [0, 0],
            "{}",
            rung.id
        );
    }
}

#[test]
fn a_stock_restored_from_an_old_copy_is_refused() {
    for restored in [0, 1] {
        let (mut parties, function) = (Parties::new(), aes_128());
        let scheme = SchemeId::HALF_GATES_TWO_CALL;
        let mut memories = [Memory::new(), Memory::new()];
        parties.memories = Some(memories.clone());
        let (a, b) = parties.prepare(&mut parties.meet(), |order| {
            order.enough_for(&aes_128(), 2).expect("no saves")
        });
        a.and(b).expect("both prepare");
        let old = memories[restored].copy();
        assert_eq!(parties.aes(&mut parties.meet(), &function, scheme), [0, 0]);
        memories[restored] = old;
        parties.memories = Some(memories);
        let (a, b) = parties.run(&mut parties.meet(), &function, scheme);
        let errors = [a, b].map(|outcome| outcome.expect_err("an old copy"));
        assert!(
            errors
                .iter()
                .any(|error| error.category() == Category::Stock
                    && error.to_string().contains("old copy")),
            "{errors:?}"
        );
    }
}

#[test]
fn a_stock_that_only_one_party_has_is_named() {
    for lost in [0, 1] {
        let (parties, function) = (Parties::new(), aes_128());
        let (a, b) = parties.prepare(&mut parties.meet(), |order| order.ots(64));
        a.and(b).expect("both prepare");
        let folder = parties.folders[lost].path();
        std::fs::remove_dir_all(folder).expect("a folder");
        let scheme = SchemeId::HALF_GATES_TWO_CALL;
        let (a, b) = parties.run(&mut parties.meet(), &function, scheme);
        for error in [a, b].map(|outcome| outcome.expect_err("half a stock")) {
            let text = error.to_string();
            assert!(
                error.category() == Category::Stock && text.contains("new-epoch")
                    || matches!(error, Error::PeerAborted(_)),
                "{text}"
            );
        }
    }
}

#[test]
fn orders_that_differ_are_refused() {
    let parties = Parties::new();
    let (mut a, mut b) = parties.meet();
    let stocks = [parties.stocks(0), parties.stocks(1)];
    let (garbler, evaluator) = thread::scope(|scope| {
        let garbler = Preparation::new(Role::Garbler).ots(64);
        let garbler = scope.spawn(|| garbler.run(&mut a, &stocks[0]));
        let evaluator = Preparation::new(Role::Evaluator)
            .ots(128)
            .run(&mut b, &stocks[1]);
        (garbler.join().expect("no panic"), evaluator)
    });
    for error in [garbler, evaluator].map(|prepared| prepared.expect_err("orders differ")) {
        assert_eq!(error.category(), Category::Incompatible, "{error}");
    }
}

#[test]
fn a_full_disk_at_one_party_leaves_both_in_step() {
    let mut parties = Parties::new();
    let function = aes_128();
    parties.max_bytes[1] = 4096;
    let mut sessions = parties.meet();
    let (a, b) = parties.prepare(&mut sessions, |order| {
        order.enough_for(&function, 1).expect("no saved values")
    });
    assert_eq!(b.expect_err("no room").category(), Category::Stock);
    a.expect_err("the peer stopped");
    parties.max_bytes[1] = 1 << 30;
    let mut sessions = parties.meet();
    let (a, b) = parties.prepare(&mut sessions, |order| {
        order.enough_for(&function, 1).expect("no saved values")
    });
    a.and(b).expect("room enough");
    let scheme = SchemeId::HALF_GATES_TWO_CALL;
    assert_eq!(parties.aes(&mut sessions, &function, scheme), [0, 0]);
}

#[test]
fn sessions_at_once_share_a_stock() {
    let parties = Parties::new();
    let function = aes_128();
    let scheme = SchemeId::HALF_GATES_TWO_CALL;
    let mut sessions = parties.meet();
    let (a, b) = parties.prepare(&mut sessions, |order| {
        order.enough_for(&function, 30).expect("no saved values")
    });
    a.and(b).expect("prepared");
    // Each session begins with a meeting of the records, which the others overtake.
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let mut sessions = parties.meet();
                    assert_eq!(parties.aes(&mut sessions, &function, scheme), [0, 0]);
                }
            });
        }
    });
}

#[test]
fn a_preparation_ends_at_its_time_limit() {
    let parties = Parties::new();
    let (mut a, _b) = parties.meet();
    let order = Preparation::new(Role::Garbler)
        .ots(1)
        .time_limit(Duration::from_millis(50));
    let error = order.run(&mut a, &parties.stocks(0)).expect_err("no peer");
    assert!(
        matches!(error, Error::Network(NetError::TimeLimit { .. })),
        "{error}"
    );
}
