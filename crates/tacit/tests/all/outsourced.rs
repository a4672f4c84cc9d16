//! `outsourced` over TLS on loopback: three parties, kept values, and who may use them.

mod busy;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tacit::outsourced::{OutsourcedJob, OutsourcedParameters};
use tacit::protocols::ThreatModel;
use tacit::stock::{ChainStatus, ChainVersion, StockError, Stocks};
use tacit::{
    Category, Error, Fingerprint, Function, Identity, Listener, Outcome, Session, Settings, library,
};
use tacit_stock::Memory;
use tempfile::TempDir;

const GENERATOR: usize = 0;
const CLOUD: usize = 1;
const CHAIN: &str = "friends";

/// Generator, cloud, and evaluators, which come one after another.
struct Parties {
    identities: Vec<Identity>,
    folders: [TempDir; 2],
}

/// The outcomes of generator, cloud and evaluator in a run.
struct Ran {
    generator: Result<Outcome, Error>,
    cloud: Result<Outcome, Error>,
    evaluator: Result<Outcome, Error>,
}

impl Ran {
    /// Returns the evaluator's result of this name, after a run that succeeded at all parties.
    fn result(self, name: &str) -> String {
        self.generator.expect("the generator's run");
        self.cloud.expect("the cloud's run");
        let evaluator = self.evaluator.expect("the evaluator's run");
        evaluator.outputs[name].to_text()
    }

    fn ends_well(self) -> Outcome {
        self.generator.expect("the generator's run");
        self.cloud.expect("the cloud's run");
        self.evaluator.expect("the evaluator's run")
    }
}

/// The value of each input, by name.
type Inputs<'a> = &'a [(&'a str, u64)];

impl Parties {
    fn new(evaluators: usize) -> Self {
        let identity = |_| Identity::generate().expect("randomness");
        Self {
            identities: (0..2 + evaluators).map(identity).collect(),
            folders: [(); 2].map(|()| TempDir::new().expect("a folder")),
        }
    }

    fn fingerprint(&self, party: usize) -> Fingerprint {
        self.identities[party].fingerprint()
    }

    fn stocks(&self, server: usize) -> Stocks {
        Stocks::open(self.folders[server].path(), 1 << 30).expect("a folder that is there")
    }

    /// Runs generator, cloud and evaluator number `who`, each on the order that `order` makes from
    /// its own.
    fn run(
        &self,
        function: &Function,
        who: usize,
        order: &(dyn Fn(usize, OutsourcedJob<'static>) -> OutsourcedJob<'static> + Sync),
        parameters: OutsourcedParameters,
    ) -> Ran {
        let function: &'static Function = Box::leak(Box::new(function.clone()));
        let who = 2 + who;
        let settings = Settings::default();
        let [at_generator, at_cloud] =
            [(); 2].map(|()| Listener::bind("127.0.0.1:0").expect("a free port"));
        let addresses =
            [&at_generator, &at_cloud].map(|listener| listener.local_address().to_string());
        let accept = |listener: &Listener, server: usize, peer: usize| {
            listener.accept(&self.identities[server], &self.fingerprint(peer), &settings)
        };
        let connect = |address: &str, party: usize, peer: usize| {
            let identity = &self.identities[party];
            let session = Session::connect(address, identity, &self.fingerprint(peer), &settings);
            // The bytes of a run do not include the greetings.
            session.and_then(|mut session| session.greeted().map(|()| session))
        };
        let job = |party| {
            let job = OutsourcedJob::new(function, parameters).patience(Duration::from_secs(60));
            order(party, job)
        };
        thread::scope(|scope| {
            let generator = scope.spawn(|| {
                let mut cloud = accept(&at_generator, GENERATOR, CLOUD)?;
                let mut evaluator = accept(&at_generator, GENERATOR, who)?;
                job(GENERATOR).generate(&mut evaluator, &mut cloud)
            });
            let cloud = scope.spawn(|| {
                let mut generator = connect(&addresses[0], CLOUD, GENERATOR)?;
                let mut evaluator = accept(&at_cloud, CLOUD, who)?;
                job(CLOUD).serve(&mut generator, &mut evaluator)
            });
            let run = || {
                // The generator lets in one peer after the other.
                let mut cloud = connect(&addresses[1], who, CLOUD)?;
                let mut generator = connect(&addresses[0], who, GENERATOR)?;
                job(who).evaluate(&mut generator, &mut cloud)
            };
            let evaluator = run();
            Ran {
                generator: generator.join().expect("no panic"),
                cloud: cloud.join().expect("no panic"),
                evaluator,
            }
        })
    }

    /// Runs in the chain, on these inputs of the generator and of evaluator number `who`.
    fn chained(&self, function: &Function, who: usize, own: Inputs<'_>, theirs: Inputs<'_>) -> Ran {
        let stocks = [self.stocks(GENERATOR), self.stocks(CLOUD)];
        self.chained_in(&stocks, function, who, own, theirs)
    }

    /// Runs as [`Parties::chained`] does, with these stocks of generator and cloud.
    fn chained_in(
        &self,
        stocks: &[Stocks; 2],
        function: &Function,
        who: usize,
        own: Inputs<'_>,
        theirs: Inputs<'_>,
    ) -> Ran {
        // Evaluator 1 is allowed from the start, and evaluator 2 never.
        let allowed: Vec<_> = (2..4)
            .filter(|&party| party < self.identities.len())
            .map(|party| self.fingerprint(party))
            .collect();
        let order = |party: usize, job: OutsourcedJob<'static>| {
            let job = match party {
                GENERATOR | CLOUD => job.chain(&stocks[party], CHAIN, &allowed),
                _ => job,
            };
            let inputs = match party {
                GENERATOR => own,
                CLOUD => &[],
                _ => theirs,
            };
            inputs
                .iter()
                .fold(job, |job, &(name, value)| job.input(name, value))
        };
        self.run(function, who, &order, malicious(7))
    }
}

fn malicious(copies: u32) -> OutsourcedParameters {
    OutsourcedParameters::insecure_for_measurements(copies, 8).expect("parameters")
}

fn function(name: &str, parameters: &[(&str, u64)]) -> Function {
    let parameters = parameters.iter();
    let parameters: BTreeMap<_, _> = parameters.map(|(n, v)| ((*n).to_owned(), *v)).collect();
    library::function(name, &parameters).expect("a function of the library")
}

#[test]
fn two_millionaires_and_a_cloud() {
    let parties = Parties::new(1);
    let function = function("millionaires", &[("bits", 16)]);
    for (parameters, threat_model) in [
        (malicious(16), ThreatModel::MaliciousNonColluding),
        (OutsourcedParameters::SEMI_HONEST, ThreatModel::SemiHonest),
    ] {
        for (a, b) in [(40_000_u64, 39_999_u64), (7, 7)] {
            let order = |party: usize, job: OutsourcedJob<'static>| match party {
                GENERATOR => job.input("a", a),
                CLOUD => job,
                _ => job.input("b", b),
            };
            let ran = parties.run(&function, 0, &order, parameters);
            let generator = ran.generator.expect("the generator's run");
            let cloud = ran.cloud.expect("the cloud's run");
            let evaluator = ran.evaluator.expect("the evaluator's run");
            for outcome in [&generator, &evaluator] {
                let richer = outcome.outputs["a_is_richer"].to_text();
                assert_eq!(richer, if a > b { "1" } else { "0" });
                assert_eq!(outcome.threat_model, threat_model);
            }
            assert!(cloud.outputs.is_empty());
            // The two others receive what the thin client sends.
            let bytes = |outcome: &Outcome| {
                let phases = outcome.cost.phases.iter();
                phases.fold((0, 0), |sum, phase| {
                    let traffic = &phase.traffic;
                    (sum.0 + traffic.sent.bytes, sum.1 + traffic.received.bytes)
                })
            };
            let all = [&generator, &cloud, &evaluator].map(bytes);
            let sent: u64 = all.iter().map(|one| one.0).sum();
            let received: u64 = all.iter().map(|one| one.1).sum();
            assert_eq!(sent, received);
            assert!(
                all[2].0 < sent / 2,
                "the client sends least of all: {all:?}"
            );
        }
    }
}

#[test]
fn friends_meet_on_a_kept_map() {
    let parties = Parties::new(3);
    let cells = [("cells", 6), ("id_bits", 3)];
    let [start, get, set] = ["start", "get", "set"]
        .map(|operation| function(&format!("friend-map-{operation}"), &cells));
    // A value that does not exist cannot be loaded, and nobody keeps anything.
    let ran = parties.chained(&get, 0, &[], &[("cell", 1)]);
    assert!(
        matches!(&ran.generator, Err(Error::Stock(error))
        if matches!(**error, StockError::NoChain { .. })),
        "{:?}",
        ran.generator
    );
    assert!(ran.cloud.is_err() && ran.evaluator.is_err());
    parties.chained(&start, 0, &[], &[]).ends_well();
    let moves = |who: usize, id, cell| {
        let ran = parties.chained(&set, who, &[("id", id)], &[("cell", cell)]);
        ran.result("occupant")
    };
    let at = |who: usize, cell| {
        parties
            .chained(&get, who, &[], &[("cell", cell)])
            .result("occupant")
    };
    assert_eq!(moves(0, 5, 2), "0");
    assert_eq!(moves(1, 3, 2), "5", "the other is there");
    assert_eq!(at(1, 2), "5");
    assert_eq!(moves(1, 3, 4), "0");
    assert_eq!(moves(0, 5, 1), "0");
    assert_eq!([at(0, 1), at(0, 2), at(0, 4)], ["5", "0", "3"]);
    // Evaluator 2 was never allowed, and what others kept is unchanged.
    let ran = parties.chained(&get, 2, &[], &[("cell", 4)]);
    let error = ran.generator.expect_err("nobody let it in");
    assert!(
        error.to_string().contains("may not load \"map\""),
        "{error}"
    );
    assert_eq!(error.category(), Category::Incompatible);
    assert!(ran.cloud.is_err() && ran.evaluator.is_err());
    assert_eq!(at(0, 4), "3");
    for server in [GENERATOR, CLOUD] {
        let chains = parties.stocks(server).chains().expect("a list");
        let summary = &chains[0].summary;
        assert_eq!(summary.name, CHAIN);
        assert_eq!(summary.marks.status, ChainStatus::Live);
        assert_eq!(summary.values.len(), 1, "older versions are gone");
        assert_eq!(chains[0].peer, parties.fingerprint(1 - server));
        parties
            .stocks(server)
            .drop_chain(&chains[0])
            .expect("removed");
        assert!(parties.stocks(server).chains().expect("a list").is_empty());
    }
}

/// The power fails at a server in the middle of a run that saves. Afterwards both servers have the
/// value from before or both have the one from after, and continue. It is the one from after if
/// anyone had a result.
#[test]
fn a_loss_of_power_leaves_one_version_at_both_servers() {
    const EVERY: usize = 5;
    let parties = Parties::new(1);
    let cells = [("cells", 2), ("id_bits", 2)];
    let [start, get, set] = ["start", "get", "set"]
        .map(|operation| function(&format!("friend-map-{operation}"), &cells));
    let on = |disks: &[Memory; 2]| {
        [0, 1].map(|server| {
            let disk = Arc::new(disks[server].clone());
            Stocks::over(disk, Path::new("s"), 1 << 30).expect("a folder")
        })
    };
    let disks = [Memory::new(), Memory::new()];
    parties
        .chained_in(&on(&disks), &start, 0, &[], &[])
        .ends_well();
    let moves = |disks: &[Memory; 2], cell| {
        parties.chained_in(&on(disks), &set, 0, &[("id", 3)], &[("cell", cell)])
    };
    moves(&disks, 0).ends_well();
    let (mut before, mut after) = (0, 0);
    for server in [GENERATOR, CLOUD] {
        for point in (0..1000).step_by(EVERY) {
            let mut disks = [0, 1].map(|server: usize| disks[server].copy());
            let stocks = on(&disks);
            disks[server].lose_power_at(disks[server].points() + point, point);
            let (own, theirs) = ([("id", 3)], [("cell", 1)]);
            let ran = parties.chained_in(&stocks, &set, 0, &own, &theirs);
            let is_past_the_end = ran.generator.is_ok() && ran.cloud.is_ok();
            let ends = [&ran.generator, &ran.cloud, &ran.evaluator];
            let has_result = ends.iter().any(|end| end.is_ok());
            disks[server] = disks[server].restart();
            let stocks = on(&disks);
            let occupants = [0, 1].map(|cell| {
                let ran = parties.chained_in(&stocks, &get, 0, &[], &[("cell", cell)]);
                ran.result("occupant")
            });
            match occupants.each_ref().map(String::as_str) {
                ["3", "0"] if !has_result => before += 1,
                ["0", "3"] => after += 1,
                other => panic!(
                    "server {server}, point {point}: {other:?}, somebody had a result: {has_result}"
                ),
            }
            if is_past_the_end {
                break;
            }
        }
    }
    assert!(before > 3 && after > 3, "{before} before, {after} after");
}

/// Two servers that name the chain differently, or open it to different parties, get an error that
/// says so. The chain of one of them stays.
#[test]
fn servers_that_differ_on_a_chain_are_told_what_differs() {
    let parties = Parties::new(2);
    let cells = [("cells", 2), ("id_bits", 2)];
    let [start, set] =
        ["start", "set"].map(|operation| function(&format!("friend-map-{operation}"), &cells));
    let stocks = [parties.stocks(GENERATOR), parties.stocks(CLOUD)];
    let friend = parties.fingerprint(3);
    let run = |function: &Function, names: [&'static str; 2], allowed: [&[Fingerprint]; 2]| {
        let order = |party: usize, job: OutsourcedJob<'static>| match party {
            GENERATOR => {
                let job = job.chain(&stocks[party], names[party], allowed[party]);
                if function.loads().is_empty() {
                    job
                } else {
                    job.input("id", 1_u64)
                }
            }
            CLOUD => job.chain(&stocks[party], names[party], allowed[party]),
            _ if function.loads().is_empty() => job,
            _ => job.input("cell", 1_u64),
        };
        parties.run(function, 0, &order, malicious(5))
    };
    let told = |ran: Ran, what: &str| {
        let servers = [ran.generator.err(), ran.cloud.err()].map(|end| end.expect("no run"));
        for error in &servers {
            assert_eq!(error.category(), Category::Incompatible, "{error}");
        }
        let texts = servers.map(|error| error.with_advice());
        assert!(texts.iter().any(|text| text.contains(what)), "{texts:?}");
        assert!(ran.evaluator.is_err());
    };
    let same = [CHAIN; 2];
    told(run(&start, same, [&[friend], &[]]), "same policy");
    run(&start, same, [&[friend], &[friend]]).ends_well();
    told(run(&set, [CHAIN, "freinds"], [&[], &[]]), "\"freinds\"");
    told(run(&set, ["freinds", CHAIN], [&[], &[]]), "\"freinds\"");
    run(&set, same, [&[], &[]]).ends_well();
}

/// A run that would discard what the chain keeps is refused, unless both servers allow it. Each run
/// tells the evaluator what to pin.
#[test]
fn nothing_kept_is_discarded_without_a_word() {
    let parties = Parties::new(1);
    let cells = [("cells", 2), ("id_bits", 2)];
    let [start, get] =
        ["start", "get"].map(|operation| function(&format!("friend-map-{operation}"), &cells));
    let stocks = [parties.stocks(GENERATOR), parties.stocks(CLOUD)];
    let run = |function: &Function, replaces: [bool; 2], pin: Option<ChainVersion>| {
        let order = |party: usize, job: OutsourcedJob<'static>| match party {
            GENERATOR | CLOUD => {
                let job = job.chain(&stocks[party], CHAIN, &[]);
                if replaces[party] {
                    job.replacing()
                } else {
                    job
                }
            }
            _ => {
                let job = pin.iter().fold(job, |job, pin| job.pin(*pin));
                if function.loads().is_empty() {
                    job
                } else {
                    job.input("cell", 0_u64)
                }
            }
        };
        parties.run(function, 0, &order, malicious(5))
    };
    let begun = parties_chain(run(&start, [false; 2], None));
    assert_eq!(begun.version, 1);
    for replaces in [[false; 2], [true, false], [false, true]] {
        let ran = run(&start, replaces, None);
        let ends = [ran.generator.err(), ran.cloud.err()];
        let is_told = |end: &Option<Error>| matches!(end, Some(Error::Replaces { .. }));
        assert!(ends.iter().any(is_told), "{ends:?}");
        assert!(ran.evaluator.is_err());
    }
    assert_eq!(parties_chain(run(&get, [false; 2], Some(begun))), begun);
    let replaced = parties_chain(run(&start, [true; 2], Some(begun)));
    assert!(
        replaced.id == begun.id && replaced.version > 1,
        "{replaced}"
    );
    let later = ChainVersion {
        version: replaced.version + 1,
        ..replaced
    };
    let ran = run(&get, [false; 2], Some(later));
    let error = ran.evaluator.expect_err("the servers are behind the pin");
    assert!(error.to_string().contains("is pinned"), "{error}");
    assert_eq!(error.category(), Category::Incompatible);
    assert!(ran.generator.is_err() && ran.cloud.is_err());
    assert_eq!(
        parties_chain(run(&get, [false; 2], Some(replaced))),
        replaced
    );
}

/// Returns what the evaluator learns about the chain, after a run that succeeded.
fn parties_chain(ran: Ran) -> ChainVersion {
    ran.ends_well().chain.expect("a chain")
}

#[test]
fn a_text_is_searched_symbol_by_symbol() {
    let parties = Parties::new(1);
    let length = [("length", 8), ("symbol_bits", 2)];
    let (start, next) = (
        function("substring-start", &length),
        function("substring-next", &length),
    );
    let text = [1_u64, 2, 3, 0, 1, 2, 2, 3];
    let ty = "u2[8]".parse().expect("a type");
    let bits = text
        .map(|symbol| [symbol & 1 == 1, symbol >> 1 == 1])
        .concat();
    let text = tacit::Value::from_bits(&ty, &bits).expect("as many bits");
    let stocks = [parties.stocks(GENERATOR), parties.stocks(CLOUD)];
    let order = |party: usize, job: OutsourcedJob<'static>| match party {
        GENERATOR => job
            .chain(&stocks[party], "text", &[])
            .input("text", text.clone()),
        CLOUD => job.chain(&stocks[party], "text", &[]),
        _ => job,
    };
    parties.run(&start, 0, &order, malicious(5)).ends_well();
    for (symbol, longest) in [(3_u64, "1"), (0, "2"), (2, "2"), (2, "2"), (3, "3")] {
        let order = |party: usize, job: OutsourcedJob<'static>| match party {
            GENERATOR | CLOUD => job.chain(&stocks[party], "text", &[]),
            _ => job.input("symbol", symbol),
        };
        let ran = parties.run(&next, 0, &order, malicious(5));
        assert_eq!(ran.result("result"), longest, "after {symbol}");
    }
}

#[test]
fn what_does_not_fit_is_said_by_all() {
    let parties = Parties::new(1);
    let millionaires = function("millionaires", &[("bits", 4)]);
    // The evaluator gets a smaller number of circuits.
    let order = |party: usize, job: OutsourcedJob<'static>| match party {
        GENERATOR => job.input("a", 1_u64),
        CLOUD => job,
        _ => OutsourcedJob::new(
            Box::leak(Box::new(function("millionaires", &[("bits", 4)]))),
            malicious(5),
        )
        .input("b", 1_u64),
    };
    let ran = parties.run(&millionaires, 0, &order, malicious(7));
    for error in [ran.generator.err(), ran.cloud.err(), ran.evaluator.err()] {
        let error = error.expect("no result");
        assert_eq!(error.category(), Category::Incompatible, "{error}");
    }
    // A chain is for a function that keeps something, and needs a name at both servers.
    let start = function("friend-map-start", &[("cells", 2)]);
    let ran = parties.run(&start, 0, &|_, job| job, malicious(5));
    assert_eq!(
        ran.generator.expect_err("no chain").category(),
        Category::Usage
    );
    assert!(ran.cloud.is_err() && ran.evaluator.is_err());
}
