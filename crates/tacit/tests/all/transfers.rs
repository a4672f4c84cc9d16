//! The OTs of sessions: every extension under every protocol that makes OTs, which one a session
//! takes, and what parties that want different ones are told.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use tacit::{
    BatchPreparation, Category, Cost, Error, Function, FunctionBuilder, Identity, Job, Link,
    Listener, OtExtension, Phase, Preparation, Recipient, Role, Session, Settings, Side, Stocks,
    Type, Value, library, memory,
};
use tempfile::TempDir;

const ROLES: [Role; 2] = [Role::Garbler, Role::Evaluator];

/// A pair of results, the garbler's first.
type Both<T> = [Result<T, Error>; 2];

/// Both parties' `work`, each over its end of one session in memory: the garbler connects.
fn both<T: Send>(work: impl Fn(usize, &mut Session) -> Result<T, Error> + Sync) -> Both<T> {
    let (a, b) = memory::pair();
    let act = |party: usize, channel, side| {
        let mut session = Session::over(channel, side, None)?;
        work(party, &mut session)
    };
    thread::scope(|scope| {
        let garbler = scope.spawn(|| act(0, a, Side::Connecting));
        let evaluator = act(1, b, Side::Listening);
        [garbler.join().expect("no panic"), evaluator]
    })
}

/// Both parties' `work` over a session between two identities, each with stocks of its own.
fn both_with_stocks<T: Send>(
    work: impl Fn(usize, &mut Session, &Stocks) -> Result<T, Error> + Sync,
) -> Both<T> {
    let [a, b] = &[(); 2].map(|()| Identity::generate().expect("randomness"));
    let folders = [(); 2].map(|()| TempDir::new().expect("a folder"));
    let settings = &Settings::default();
    let listener = Listener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_address().to_string();
    let act = |party: usize, mut session: Session| {
        let stocks = Stocks::open(folders[party].path(), 1 << 30)?;
        work(party, &mut session, &stocks)
    };
    thread::scope(|scope| {
        let garbler = scope.spawn(|| act(0, listener.accept(a, &b.fingerprint(), settings)?));
        let evaluator = Session::connect(&address, b, &a.fingerprint(), settings)
            .and_then(|session| act(1, session));
        [garbler.join().expect("no panic"), evaluator]
    })
}

fn millionaires() -> Function {
    let bits = BTreeMap::from([("bits".to_owned(), 32)]);
    library::function("millionaires", &bits).expect("a function")
}

/// This party's job on 41 against 40, to which the answer is 1.
fn job(function: &Function, party: usize) -> Job<'_> {
    let (name, value) = [("a", 41_u32), ("b", 40)][party];
    Job::new(function, ROLES[party]).input(name, value)
}

fn run(job: Job<'_>, session: &mut Session) -> Result<Cost, Error> {
    let outcome = job.run(session)?;
    assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1");
    Ok(outcome.cost)
}

fn phases(cost: &Cost) -> Vec<Phase> {
    cost.phases.iter().map(|one| one.phase).collect()
}

#[test]
fn every_extension_serves_direct() {
    let function = millionaires();
    for extension in OtExtension::NAMED {
        let [garbler, evaluator] = both(|party, session| {
            // The one that listens need not be told, but of silent OT.
            if party == 0 || extension == OtExtension::Silent {
                session.set_ot_extension(extension)?;
            }
            let first = run(job(&function, party), session)?;
            assert_eq!(session.ot_extension(), extension);
            assert_eq!(first.ot_extension, Some(extension));
            Ok([first, run(job(&function, party), session)?])
        })
        .map(|costs| costs.expect("results"));
        for [first, second] in [&garbler, &evaluator] {
            let refilled = extension == OtExtension::Silent;
            assert_eq!(phases(first).contains(&Phase::Refill), refilled);
            // OTs that are made serve the runs after.
            assert_eq!(phases(second), [Phase::Agreement, Phase::Run]);
        }
        // The second run's choices: a block of OTs, or a bit for each.
        let sent = evaluator[1].phases[1].traffic.sent.bytes;
        let expected = match extension {
            OtExtension::SoftSpoken(field) => 5 + 16 * 128 / field.get() as u64,
            OtExtension::Silent => 5 + 32 / 8,
        };
        // And the garbler's result: a bit, a hash and a header.
        assert_eq!(sent, expected + 1 + 32 + 5, "{extension}");
    }
}

#[test]
fn every_extension_serves_preparations() {
    let function = millionaires();
    for extension in OtExtension::NAMED {
        let costs = both_with_stocks(|party, session, stocks| {
            session.set_ot_extension(extension)?;
            let order = Preparation::new(ROLES[party]).enough_for(&function, 1)?;
            let prepared = order.run(session, stocks)?;
            assert_eq!(prepared.ot_extension, Some(extension));
            let cost = run(job(&function, party).prepared(stocks), session)?;
            assert_eq!(cost.ot_extension, None);
            let order = BatchPreparation::new(ROLES[party], &function, 2);
            let order = order.insecure_for_measurements(6);
            let prepared = order.run(session, stocks)?;
            assert_eq!(prepared.ot_extension, Some(extension));
            let job = job(&function, party).batch(stocks);
            run(job.insecure_for_measurements(6), session)
        });
        for cost in costs {
            cost.expect("a result");
        }
    }
}

#[test]
fn ots_are_made_ahead_between_runs() {
    let function = millionaires();
    let costs = both(|party, session| {
        session.set_ot_extension(OtExtension::Silent)?;
        let early = session.make_ots(ROLES[party], 1);
        assert!(matches!(early, Err(Error::ApiMisuse(_))), "{early:?}");
        run(job(&function, party), session)?;
        // In the other roles: from base OTs on.
        session.make_ots(ROLES[1 - party], 1000)?;
        let cost = run(job(&function, 1 - party), session)?;
        assert_eq!(phases(&cost), [Phase::Agreement, Phase::Run]);
        let traffic = session.traffic();
        session.make_ots(ROLES[party], 1000)?;
        assert_eq!(session.traffic(), traffic, "there were as many");
        Ok(())
    });
    for done in costs {
        done.expect("OTs");
    }
}

/// `bytes` bytes of the evaluator's, of which one goes into the result.
fn wide(bytes: u64) -> Function {
    let mut builder = FunctionBuilder::new("wide");
    builder
        .library("add", "adder", &[("bits", "8")])
        .input("x", "bytes[1]", Role::Garbler)
        .input("y", &format!("bytes[{bytes}]"), Role::Evaluator)
        .value("z", "bytes[1]")
        .step("z = add(x, y[0..1])")
        .output("z", "bytes[1]", Recipient::Both, "z");
    let family = builder.finish().expect("a function");
    family.instantiate(&BTreeMap::new()).expect("a function")
}

fn value(hex: &str) -> Value {
    Value::parse(&Type::bytes(hex.len() / 2), hex).expect("hex")
}

/// The extension that a session takes whose connecting party knows this link.
fn over(link: Link, bytes: usize) -> OtExtension {
    let function = wide(bytes as u64);
    let [a, b] = both(|party, session| {
        // What the listening party knows of the link changes nothing.
        let known = [
            link,
            Link::new(Duration::ZERO, 1_000_000_000_000).expect("a link"),
        ];
        session.set_link(known[party]);
        let job = Job::new(&function, ROLES[party]);
        let job = match party {
            0 => job.input("x", value("01")),
            _ => job.input("y", value(&"02".repeat(bytes))),
        };
        let outcome = job.run(session)?;
        assert_eq!(outcome.outputs["z"].to_text(), "03");
        Ok(session.ot_extension())
    })
    .map(|extension| extension.expect("a result"));
    assert_eq!(a, b);
    a
}

#[test]
fn the_connecting_party_chooses_by_the_link() {
    let named = |name| OtExtension::from_name(name).expect("an extension");
    let fast = Link::new(Duration::ZERO, 100_000_000_000).expect("a link");
    let slow = Link::new(Duration::from_millis(30), 1_000_000).expect("a link");
    assert_eq!(over(fast, 10_000), named("softspoken-2"));
    assert_eq!(over(slow, 10_000), named("softspoken-8"));
    // The trees of a large k cost more than few OTs save.
    assert_eq!(over(slow, 8), named("softspoken-2"));
}

/// A run that is made of OTs takes half the bytes of each, also where nobody knows the link.
#[test]
fn runs_of_many_ots_take_a_larger_field() {
    let function = library::function("aes-128", &BTreeMap::new()).expect("a function");
    let taken = both(|party, session| {
        let name = ["key", "block"][party];
        let job = Job::new(&function, ROLES[party]).input(name, value(&"00".repeat(16)));
        job.authenticated().run(session)?;
        Ok(session.ot_extension())
    });
    for extension in taken {
        let extension = extension.expect("a result");
        assert_eq!(extension.to_string(), "softspoken-4");
    }
}

#[test]
fn parties_that_want_different_extensions_are_told_both() {
    let function = millionaires();
    let named = |name| OtExtension::from_name(name).expect("an extension");
    // What the garbler, which connects, and the evaluator are told.
    let cases = [
        (Some("softspoken-4"), Some("softspoken-8")),
        (None, Some("softspoken-4")),
        (Some("silent"), None),
        (None, Some("silent")),
    ];
    for told in cases {
        let ended = both(|party, session| {
            if let Some(name) = [told.0, told.1][party] {
                session.set_ot_extension(named(name))?;
            }
            run(job(&function, party), session)
        });
        let said = [told.0, told.1].map(|name| name.unwrap_or("softspoken-2"));
        for result in ended {
            let error = result.expect_err("a difference");
            let text = error.to_string();
            assert_eq!(error.category(), Category::Incompatible, "{told:?}: {text}");
            let names = said.iter().all(|name| text.contains(name));
            assert!(names && text.contains("--ot-extension"), "{told:?}: {text}");
        }
    }
}

#[test]
fn an_extension_is_chosen_once_a_session() {
    let function = millionaires();
    let done = both(|party, session| {
        run(job(&function, party), session)?;
        let late = session.set_ot_extension(OtExtension::Silent);
        assert!(matches!(late, Err(Error::ApiMisuse(_))), "{late:?}");
        session.set_ot_extension(OtExtension::default())
    });
    for done in done {
        done.expect("what runs already");
    }
}
